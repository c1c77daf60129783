// Which kernels softmax, its gradient and a logsumexp are given, shape by shape, on a GPU that is not there: the tables
// of cuda/README.md as a test. What a kernel is called is what it registers by.
#include "check.h"
#include "fake_runtime.h"

#include "warp_reduce.h"

#include <bit>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <map>
#include <set>
#include <string>

namespace {

std::map<const void *, std::string> &kernels() {
    static std::map<const void *, std::string> all;
    return all;
}

// The function's own name: the last identifier of the mangled one before its template's arguments.
std::string plain_name(const std::string &mangled) {
    std::string found;
    for (std::size_t i = mangled.find("wr4cuda"); i < mangled.size();) {
        if (std::isdigit(static_cast<unsigned char>(mangled[i])) == 0) {
            if (!found.empty() && (mangled[i] == 'I' || mangled[i] == 'E')) {
                break;
            }
            ++i;
            continue;
        }
        std::size_t length = 0;
        while (std::isdigit(static_cast<unsigned char>(mangled[i])) != 0) {
            length = length * 10 + static_cast<std::size_t>(mangled[i++] - '0');
        }
        found = mangled.substr(i, length);
        i += length;
    }
    return found;
}

void *memory(unsigned place, std::size_t moved = 0) {
    return std::bit_cast<void *>((std::uintptr_t{place} << 58) + moved);
}

CUstream_st *stream() { return std::bit_cast<CUstream_st *>(std::uintptr_t{4096}); }

enum class Job { softmax, log_softmax, logsumexp, gradient, gradient_from_logits };
using enum Job;

enum : unsigned {
    with_logsumexp = 1,
    masked = 2,
    with_lengths = 4,
    causal = 8,
    by_offsets = 16,
    off_by_one = 32,
    apart = 64,
    own_scales = 128
};

struct Case {
    Job job;
    wr_dtype dtype;
    std::size_t outer, axis, inner;
    unsigned options;
    wr_dtype output;     // 0: the input's
    const char *kernels; // in alphabetical order
};

constexpr std::size_t k = 1024;
constexpr wr_dtype own{};

// clang-format off
constexpr Case cases[] = {
    // Rows, everything taking part.
    {softmax, WR_F32, 8, 1000, 1, 0, own, "softmax_spread_rows"},
    {softmax, WR_BF16, 30000, 10, 1, 0, own, "softmax_spread_rows"},
    {softmax, WR_F32, 8, 1500, 1, 0, own, "softmax_rows"},
    {log_softmax, WR_F32, 8, 1500, 1, off_by_one, own, "softmax_spread_rows"},
    {softmax, WR_F32, 100000, 128, 1, 0, own, "softmax_sub_warp_vectors"},
    {softmax, WR_BF16, 100000, 768, 1, 0, own, "softmax_rows"},
    {softmax, WR_F32, 100000, 10, 1, 0, own, "softmax_thread_rows"},
    {softmax, WR_F32, 100000, 100, 1, off_by_one, own, "softmax_sub_warp_vectors"},
    {softmax, WR_F32, 100000, 197, 1, 0, own, "softmax_short_rows"},
    {softmax, WR_BF16, 100000, 201, 1, 0, WR_F16, "softmax_blocked_rows"},
    {softmax, WR_F32, 4096, 4096, 1, 0, own, "softmax_rows"},
    {softmax, WR_F32, 4096, 4097, 1, 0, own, "softmax_rows"},
    {softmax, WR_F32, 1000, 32000, 1, 0, own, "softmax_cluster_within"},
    {softmax, WR_F32, 1, 131072, 1, 0, own, "softmax_cluster"},
    {softmax, WR_F32, 1, 1000 * k, 1, 0, own, "softmax_apply softmax_split_states softmax_totals"},
    {softmax, WR_F32, 4096, 50257, 1, 0, own, "fill_words softmax_lookback_rows"},
    {softmax, WR_F32, 4096, 50176, 1, 0, own, "fill_words softmax_lookback_rows"},
    {log_softmax, WR_BF16, 4096, 128256, 1, 0, own, "fill_words softmax_lookback_rows"},
    {softmax, WR_BF16, 1, 16 * k * k, 1, 0, own, "softmax_apply softmax_split_states softmax_totals"},
    {softmax, WR_BF16, 4096, 4096, 1, 0, WR_F32, "softmax_masked"},
    {softmax, WR_F32, 4096, 4096, 1, 0, WR_BF16, "softmax_rows"},
    {log_softmax, WR_F32, 4096, 3001, 1, 0, own, "softmax_masked_within"},
    {softmax, WR_F32, 1000, 3000, 1, apart, own, "strided_whole_rows"},
    {softmax, WR_F64, 1000, 3000, 1, 0, WR_F32, "strided_rows"},
    // Columns.
    {softmax, WR_F32, 8, 21, 65536, 0, own, "softmax_column_tiles"},
    {softmax, WR_BF16, 8, 150, 16384, 0, own, "softmax_column_tiles"},
    {softmax, WR_F32, 1, k, 65536, 0, own, "softmax_column_tiles"},
    {softmax, WR_F32, 1, k, 65536, with_logsumexp, own, "softmax_column_tiles"},
    {softmax, WR_BF16, 1, 2 * k, 65536, 0, own, "softmax_totals softmax_two_pass_column_outputs softmax_two_pass_column_states"},
    {softmax, WR_F32, 1, 8 * k, 65536, 0, own, "fill_words softmax_lookback_columns softmax_totals softmax_two_pass_column_outputs softmax_two_pass_column_states"},
    {log_softmax, WR_F32, 1, 8 * k, 65536, 0, own, "softmax_totals softmax_two_pass_column_outputs softmax_two_pass_column_states"},
    {softmax, WR_F64, 3, 500, 1000, 0, own, "softmax_register_tiles"},
    {softmax, WR_F32, 1000, 100, 2, 0, own, "softmax_striped_rows"},
    {softmax, WR_F64, 3, 50000, 1000, 0, own, "strided_columns strided_totals"},
    // Elements left out.
    {softmax, WR_F32, 100000, 128, 1, masked, own, "softmax_masked_sub_warp_vectors"},
    {softmax, WR_F32, 100000, 197, 1, masked, own, "softmax_masked_short_rows"},
    {softmax, WR_F32, 4096, 4096, 1, causal, own, "softmax_masked_within"},
    {softmax, WR_BF16, 4096, 4096, 1, with_lengths, own, "softmax_masked"},
    {softmax, WR_BF16, 4096, 4097, 1, masked, own, "softmax_masked"},
    {softmax, WR_F32, 100, 128 * k, 1, masked, own, "softmax_masked_within"},
    {softmax, WR_F32, 100000, 4 * k, 1, by_offsets, own, "softmax_ragged"},
    {softmax, WR_F32, 8, 21, 65536, masked, own, "softmax_masked_column_tiles"},
    {softmax, WR_F8_E4M3, 1000, 300, 1, 0, own, "softmax_blocked_rows"},
    // A scale for each row.
    {softmax, WR_F32, 4096, 4096, 1, own_scales, own, "softmax_scaled_within"},
    {softmax, WR_F32, 100, 128 * k, 1, own_scales | causal, own, "softmax_scaled_within"},
    {log_softmax, WR_BF16, 4096, 4096, 1, own_scales | with_lengths, own, "softmax_scaled_within"},
    {softmax, WR_F32, 4096, 4097, 1, own_scales, own, "strided_whole_rows"},
    {softmax, WR_F32, 4096, 4096, 1, own_scales | masked, own, "strided_whole_rows"},
    {softmax, WR_F32, 100000, 128, 1, own_scales, own, "softmax_blocked_rows"},
    {gradient, WR_F32, 4096, 4096, 1, own_scales, own, "backward_scaled_vectors"},
    {gradient, WR_F32, 4096, 4096, 1, own_scales | masked, own, "backward_whole_rows"},
    // The logsumexp alone.
    {logsumexp, WR_F32, 8, 3000, 1, 0, own, "softmax_spread_rows"},
    {logsumexp, WR_F32, 1, 50257, 1, 0, own, "softmax_cluster"},
    {logsumexp, WR_F32, 4096, 50257, 1, 0, own, "logsumexp_rows"},
    {logsumexp, WR_F32, 4096, 128256, 1, 0, own, "logsumexp_rows softmax_totals"},
    {logsumexp, WR_BF16, 1000000, 21, 1, 0, own, "softmax_thread_rows"},
    {logsumexp, WR_F32, 100000, 301, 1, 0, own, "logsumexp_rows"},
    {logsumexp, WR_F32, 100000, 1000, 1, 0, own, "softmax_rows"},
    {logsumexp, WR_F64, 100000, 1000, 1, 0, own, "softmax_rows"},
    {logsumexp, WR_F32, 1, 16 * k * k, 1, 0, own, "softmax_split_states softmax_totals"},
    {logsumexp, WR_F32, 8, 21, 65536, 0, own, "softmax_column_tiles"},
    {logsumexp, WR_F32, 1, 8 * k, 65536, 0, own, "softmax_two_pass_column_states strided_totals"},
    // Gradients.
    {gradient, WR_F32, 100000, 128, 1, 0, own, "backward_sub_warp_rows"},
    {gradient, WR_F32, 100000, 10, 1, 0, own, "backward_sub_warp_rows"},
    {gradient, WR_F32, 16, 197, 1, 0, own, "backward_vectors"},
    {gradient, WR_F32, 100000, 197, 1, masked, own, "softmax_striped_backward"},
    {gradient, WR_F32, 8, 4096, 1, 0, own, "backward_vectors"},
    {gradient, WR_F32, 4096, 4096, 1, 0, own, "backward_vectors"},
    {gradient, WR_F32, 4096, 4096, 1, masked, own, "backward_masked_vectors"},
    {gradient, WR_F32, 4096, 65536, 1, masked, own, "backward_masked_vectors"},
    {gradient, WR_F32, 1000, 3001, 1, masked, own, "backward_whole_rows"},
    {gradient_from_logits, WR_BF16, 4096, 50257, 1, 0, own, "backward_vectors"},
    {gradient, WR_F32, 1000, 256 * k, 1, 0, own, "backward_persistent"},
    {gradient, WR_F32, 8, 21, 65536, 0, own, "backward_column_tiles"},
    {gradient, WR_F32, 8, 21, 65536, masked, own, "backward_masked_column_tiles"},
    {gradient, WR_F32, 1, 8 * k, 65536, 0, own, "backward_totals backward_two_pass_column_gradients backward_two_pass_column_sums"},
};
// clang-format on

std::size_t moved(const Case &of, wr_dtype dtype) { return (of.options & off_by_one) != 0 ? wr_dtype_size(dtype) : 0; }

template <class Args>
void select(Args &args, const Case &of) {
    args.mask = (of.options & masked) != 0 ? static_cast<const std::uint8_t *>(memory(5)) : nullptr;
    args.lengths = (of.options & with_lengths) != 0 ? static_cast<const std::int64_t *>(memory(6)) : nullptr;
    args.offsets = (of.options & by_offsets) != 0 ? static_cast<const std::int64_t *>(memory(6)) : nullptr;
    args.causal = (of.options & causal) != 0 ? 1 : 0;
    args.scales = (of.options & own_scales) != 0 ? memory(7) : nullptr;
    args.outer = of.outer;
    args.axis = (of.options & by_offsets) != 0 ? of.outer * of.axis : of.axis;
    args.inner = of.inner;
}

wr_status run_reduction(const Case &of) {
    wr_reduce_args args{};
    args.struct_size = sizeof args;
    args.op = WR_LOGSUMEXP;
    args.dtype = of.dtype;
    args.input = memory(1, moved(of, of.dtype));
    args.output = memory(2);
    args.outer = of.outer;
    args.axis = of.axis;
    args.inner = of.inner;
    return wr_reduce_ex(&args, stream());
}

wr_status run_gradient(const Case &of) {
    wr_softmax_backward_args args{};
    args.struct_size = sizeof args;
    args.dtype = of.dtype;
    select(args, of);
    const bool from_logits = of.job == gradient_from_logits;
    (from_logits ? args.input : args.output) = memory(1, moved(of, of.dtype));
    args.logsumexp = from_logits ? memory(3) : nullptr;
    args.output_gradient = memory(4, moved(of, of.dtype));
    args.input_gradient = memory(2, moved(of, of.dtype));
    return wr_softmax_backward_ex(&args, stream());
}

wr_status run_softmax(const Case &of) {
    wr_softmax_args args{};
    args.struct_size = sizeof args;
    args.dtype = of.dtype;
    args.output_dtype = of.output;
    args.log = of.job == log_softmax ? 1 : 0;
    select(args, of);
    args.input = memory(1, moved(of, of.dtype));
    args.output = memory(2, moved(of, of.output == own ? of.dtype : of.output));
    args.logsumexp = (of.options & with_logsumexp) != 0 ? memory(3) : nullptr;
    if ((of.options & apart) != 0) {
        args.strides_given = 1;
        args.outer_stride = static_cast<std::ptrdiff_t>(3 * of.axis);
        args.axis_stride = 3;
        args.inner_stride = 1;
    }
    return wr_softmax_ex(&args, stream());
}

std::string kernels_given(const Case &of) {
    fake::reset(fake::Gpu{}, 0, 0);
    const wr_status status = of.job == logsumexp                                    ? run_reduction(of)
                             : of.job == gradient || of.job == gradient_from_logits ? run_gradient(of)
                                                                                    : run_softmax(of);
    if (status != WR_SUCCESS) {
        return wr_status_name(status);
    }
    std::set<std::string> names;
    for (const fake::Launched &how : fake::runtime().launched) {
        names.insert(plain_name(kernels()[how.kernel]));
    }
    std::string all;
    for (const std::string &name : names) {
        all += (all.empty() ? "" : " ") + name;
    }
    return all;
}

} // namespace

// In the place of the runtime's: what a kernel is registered by before main.
extern "C" void __real___cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *,
                                              void *, int *);
extern "C" void __wrap___cudaRegisterFunction(void **module, const char *kernel, char *device_name, const char *name,
                                              int thread_limit, void *a, void *b, void *c, void *d, int *e) {
    kernels()[kernel] = name;
    __real___cudaRegisterFunction(module, kernel, device_name, name, thread_limit, a, b, c, d, e);
}

int main() {
    fake::install();
    int number = 0;
    for (const Case &of : cases) {
        const std::string given = kernels_given(of);
        CHECK(given == of.kernels, "case %d, job %d of [%zu][%zu][%zu], options %u: %s, not %s", number,
              static_cast<int>(of.job), of.outer, of.axis, of.inner, of.options, given.c_str(), of.kernels);
        ++number;
    }
    return check_report("each_shape_gets_its_kernel");
}
