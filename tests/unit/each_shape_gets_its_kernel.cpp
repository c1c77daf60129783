// Which kernels softmax, its gradient and a logsumexp are given, shape by shape, on a GPU that is not there: the tables
// of cuda/README.md as a test.
#include "check.h"
#include "softmax_cases.h"

namespace {

using enum Job;

struct Case {
    SoftmaxCase of;
    const char *kernels; // in alphabetical order
};

constexpr std::size_t k = 1024;
constexpr wr_dtype own{};

// clang-format off
constexpr Case cases[] = {
    // Rows, everything taking part.
    {{softmax, WR_F32, 8, 1000, 1, 0, own}, "softmax_spread_rows_of_block"},
    {{softmax, WR_BF16, 30000, 10, 1, 0, own}, "softmax_spread_rows"},
    {{log_softmax, WR_BF16, 8192, 100, 1, 0, own}, "softmax_spread_rows"},
    {{log_softmax, WR_F32, 16384, 128, 1, 0, own}, "softmax_spread_rows"},
    {{softmax, WR_F32, 8, 1500, 1, 0, own}, "softmax_spread_rows_of_block"},
    {{softmax, WR_F32, 8, 1501, 1, 0, own}, "softmax_rows"},
    {{log_softmax, WR_F32, 8, 1500, 1, off_by_one, own}, "softmax_spread_rows_of_block"},
    {{log_softmax, WR_BF16, 64, 8 * k, 1, 0, own}, "softmax_spread_rows_of_block"},
    {{softmax, WR_F32, 1, 8 * k, 1, 0, own}, "softmax_cluster_within"},
    {{softmax, WR_F32, 100000, 128, 1, 0, own}, "softmax_sub_warp_vectors"},
    {{softmax, WR_BF16, 100000, 768, 1, 0, own}, "softmax_sub_warp_vectors"},
    {{log_softmax, WR_BF16, 100000, 768, 1, 0, own}, "softmax_rows"},
    {{softmax, WR_BF16, 4096, 32000, 1, 0, own}, "softmax_cluster"},
    {{log_softmax, WR_BF16, 4096, 20 * k, 1, 0, own}, "fill_words softmax_lookback_rows"},
    {{softmax, WR_F32, 100000, 10, 1, 0, own}, "softmax_thread_rows"},
    {{softmax, WR_F32, 1000000, 3, 1, 0, own}, "softmax_tiny_rows"},
    {{log_softmax, WR_BF16, 1000000, 7, 1, 0, own}, "softmax_tiny_rows"},
    {{softmax, WR_F32, 100000, 100, 1, off_by_one, own}, "softmax_sub_warp_vectors"},
    {{softmax, WR_F32, 100000, 197, 1, 0, own}, "softmax_short_rows"},
    {{softmax, WR_BF16, 100000, 201, 1, 0, WR_F16}, "softmax_blocked_rows"},
    {{softmax, WR_F32, 4096, 4096, 1, 0, own}, "softmax_rows"},
    {{softmax, WR_F32, 4096, 4097, 1, 0, own}, "softmax_rows"},
    {{softmax, WR_F32, 1000, 32000, 1, 0, own}, "softmax_cluster_within"},
    {{softmax, WR_F32, 1, 131072, 1, 0, own}, "softmax_cluster"},
    {{softmax, WR_F32, 1, 1000 * k, 1, 0, own}, "softmax_apply softmax_split_states softmax_totals"},
    {{softmax, WR_F32, 4096, 50257, 1, 0, own}, "fill_words softmax_lookback_rows"},
    {{softmax, WR_F32, 4096, 50176, 1, 0, own}, "fill_words softmax_lookback_rows"},
    {{softmax, WR_F32, 64, 128256, 1, 0, own}, "softmax_cluster"},
    {{log_softmax, WR_BF16, 4096, 128256, 1, 0, own}, "fill_words softmax_lookback_rows"},
    {{softmax, WR_BF16, 1, 16 * k * k, 1, 0, own}, "softmax_apply softmax_split_states softmax_totals"},
    {{softmax, WR_BF16, 4096, 4096, 1, 0, WR_F32}, "softmax_masked"},
    {{softmax, WR_F32, 4096, 4096, 1, 0, WR_BF16}, "softmax_masked_within"},
    {{softmax, WR_F32, 64, 65536, 1, 0, WR_BF16}, "softmax_cluster"},
    {{log_softmax, WR_F32, 64, 65536, 1, 0, WR_BF16}, "softmax_cluster"},
    {{log_softmax, WR_F32, 4096, 3001, 1, 0, own}, "softmax_masked_within"},
    {{softmax, WR_F32, 1000, 3000, 1, apart, own}, "strided_whole_rows"},
    {{softmax, WR_F64, 1000, 3000, 1, 0, WR_F32}, "strided_rows"},
    {{softmax, WR_BF16, 8 * k * k * k, 1000, 1, 0, own}, "strided_rows"}, // more than one launch has blocks for
    // Columns.
    {{softmax, WR_F32, 8, 21, 65536, 0, own}, "softmax_column_tiles"},
    {{softmax, WR_BF16, 8, 150, 16384, 0, own}, "softmax_column_tiles"},
    {{softmax, WR_F32, 1, k, 65536, 0, own}, "softmax_column_tiles"},
    {{softmax, WR_F32, 1, k, 65536, with_logsumexp, own}, "softmax_column_tiles"},
    {{softmax, WR_BF16, 1, 2 * k, 65536, 0, own}, "softmax_totals softmax_two_pass_column_outputs softmax_two_pass_column_states"},
    {{softmax, WR_F32, 1, 8 * k, 65536, 0, own}, "fill_words softmax_lookback_columns softmax_totals softmax_two_pass_column_outputs softmax_two_pass_column_states"},
    {{log_softmax, WR_F32, 1, 8 * k, 65536, 0, own}, "softmax_totals softmax_two_pass_column_outputs softmax_two_pass_column_states"},
    {{softmax, WR_F64, 3, 500, 1000, 0, own}, "softmax_register_tiles"},
    {{softmax, WR_F32, 1000, 100, 2, 0, own}, "softmax_striped_rows"},
    {{softmax, WR_F64, 3, 50000, 1000, 0, own}, "strided_columns strided_totals"},
    // Elements left out.
    {{softmax, WR_F32, 100000, 128, 1, masked, own}, "softmax_masked_sub_warp_vectors"},
    {{softmax, WR_F32, 100000, 197, 1, masked, own}, "softmax_masked_short_rows"},
    {{softmax, WR_F32, 4096, 4096, 1, causal, own}, "softmax_masked_within"},
    {{softmax, WR_BF16, 4096, 4096, 1, with_lengths, own}, "softmax_masked"},
    {{softmax, WR_BF16, 4096, 4097, 1, masked, own}, "softmax_masked"},
    {{softmax, WR_F32, 100, 128 * k, 1, masked, own}, "softmax_masked_within"},
    {{softmax, WR_F32, 100000, 4 * k, 1, by_offsets, own}, "softmax_ragged"},
    {{softmax, WR_F32, 8, 21, 65536, masked, own}, "softmax_masked_column_tiles"},
    {{softmax, WR_F8_E4M3, 1000, 300, 1, 0, own}, "softmax_blocked_rows"},
    // A scale for each row.
    {{softmax, WR_F32, 4096, 4096, 1, own_scales, own}, "softmax_scaled_within"},
    {{softmax, WR_F32, 100, 128 * k, 1, own_scales | causal, own}, "softmax_scaled_within"},
    {{log_softmax, WR_BF16, 4096, 4096, 1, own_scales | with_lengths, own}, "softmax_scaled_within"},
    {{softmax, WR_F32, 4096, 4097, 1, own_scales, own}, "strided_whole_rows"},
    {{softmax, WR_F32, 4096, 4096, 1, own_scales | masked, own}, "strided_whole_rows"},
    {{softmax, WR_F32, 100000, 128, 1, own_scales, own}, "softmax_blocked_rows"},
    {{gradient, WR_F32, 4096, 4096, 1, own_scales, own}, "backward_scaled_vectors"},
    {{gradient, WR_F32, 4096, 4096, 1, own_scales | masked, own}, "strided_whole_rows"},
    // The logsumexp alone.
    {{logsumexp, WR_F32, 8, 3000, 1, 0, own}, "softmax_spread_rows_of_block"},
    {{logsumexp, WR_F32, 1, 8 * k, 1, 0, own}, "softmax_spread_rows_of_block"},
    {{logsumexp, WR_F32, 1, 50257, 1, 0, own}, "softmax_cluster"},
    {{logsumexp, WR_F32, 4096, 50257, 1, 0, own}, "logsumexp_rows"},
    {{logsumexp, WR_F32, 4096, 128256, 1, 0, own}, "logsumexp_rows softmax_totals"},
    {{logsumexp, WR_BF16, 1000000, 21, 1, 0, own}, "softmax_thread_rows"},
    {{logsumexp, WR_F32, 100000, 301, 1, 0, own}, "logsumexp_rows"},
    {{logsumexp, WR_F32, 100000, 1000, 1, 0, own}, "softmax_rows"},
    {{logsumexp, WR_F64, 100000, 1000, 1, 0, own}, "softmax_rows"},
    {{logsumexp, WR_F32, 1, 16 * k * k, 1, 0, own}, "softmax_split_states softmax_totals"},
    {{logsumexp, WR_F32, 8, 21, 65536, 0, own}, "softmax_column_tiles"},
    {{logsumexp, WR_F32, 1, 8 * k, 65536, 0, own}, "softmax_two_pass_column_states strided_totals"},
    // Gradients.
    {{gradient, WR_F32, 100000, 128, 1, 0, own}, "backward_sub_warp_rows"},
    {{gradient, WR_F32, 10000, 10, 1, 0, own}, "backward_sub_warp_rows"},
    {{gradient, WR_F32, 100000, 10, 1, 0, own}, "backward_flat_rows"},
    {{gradient_from_logits, WR_BF16, 100000, 1001, 1, 0, own}, "backward_flat_rows"},
    {{gradient, WR_F32, 16, 197, 1, 0, own}, "backward_vectors"},
    {{gradient, WR_F32, 100000, 197, 1, masked, own}, "softmax_striped_backward"},
    {{gradient, WR_F32, 8, 4096, 1, 0, own}, "backward_vectors"},
    {{gradient, WR_F32, 4096, 4096, 1, 0, own}, "backward_vectors"},
    {{gradient, WR_F32, 4096, 4096, 1, masked, own}, "backward_masked_vectors"},
    {{gradient, WR_F32, 4096, 65536, 1, masked, own}, "backward_masked_vectors"},
    {{gradient, WR_F32, 1000, 3001, 1, masked, own}, "strided_whole_rows"},
    {{gradient, WR_F32, 4096, 4097, 1, 0, own}, "backward_anywhere"},
    {{gradient_from_logits, WR_BF16, 4096, 50257, 1, 0, own}, "backward_vectors"},
    {{gradient, WR_F32, 1000, 256 * k, 1, 0, own}, "backward_persistent"},
    {{gradient, WR_F32, 8, 21, 65536, 0, own}, "backward_column_tiles"},
    {{gradient, WR_F32, 8, 21, 65536, masked, own}, "backward_masked_column_tiles"},
    {{gradient, WR_F32, 1, 8 * k, 65536, 0, own}, "backward_two_pass_column_gradients backward_two_pass_column_sums strided_totals"},
};
// clang-format on

} // namespace

int main() {
    fake::install();
    int number = 0;
    for (const Case &of : cases) {
        const std::string given = kernels_given(of.of, fake::Gpu{});
        CHECK(given == of.kernels, "case %d, job %d of [%zu][%zu][%zu], options %u: %s, not %s", number,
              static_cast<int>(of.of.job), of.of.outer, of.of.axis, of.of.inner, of.of.options, given.c_str(),
              of.kernels);
        ++number;
    }
    return check_report("each_shape_gets_its_kernel");
}
