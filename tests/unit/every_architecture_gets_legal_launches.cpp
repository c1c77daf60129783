// GPUs of other architectures than the one whose numbers were measured get plain ones, and no launch asks any for more
// than it has: clusters, shared memory, threads. Softmax, its gradients and the logsumexp of shapes of every kind.
#include "check.h"
#include "softmax_cases.h"

#include <random>

namespace {

using enum Job;

struct Architecture {
    const char *name;
    fake::Gpu gpu;
};

constexpr Architecture architectures[] = {
    {"8.0", {108, 8, 163 * 1024, 1}},          {"8.9", {128, 8, 99 * 1024, 1}},     {"9.0", {132, 9, 227 * 1024, 16}},
    {"a part of 9.0", {16, 9, 227 * 1024, 8}}, {"10.0", {148, 10, 227 * 1024, 16}}, {"12.0", {188, 12, 99 * 1024, 8}},
};

// By the numbers of 9.0, and by plain ones: on 10.0, on 12.0, whose blocks have half the shared memory, and on 8.0 and
// 8.9, which have no clusters.
struct Choice {
    SoftmaxCase of;
    const char *measured, *plain, *of_less_memory, *without_clusters;
};

constexpr std::size_t k = 1024;

// clang-format off
constexpr Choice choices[] = {
    {{log_softmax, WR_F32, 8, 1500, 1, 0, {}}, "softmax_spread_rows_of_block", "softmax_rows", "softmax_rows", "softmax_rows"},
    {{softmax, WR_BF16, 65536, 1000, 1, 0, {}}, "softmax_sub_warp_vectors", "softmax_rows", "softmax_rows", "softmax_rows"},
    {{log_softmax, WR_BF16, 100000, 20 * k, 1, 0, {}}, "fill_words softmax_lookback_rows", "softmax_cluster", "softmax_cluster", "softmax_rows"},
    {{softmax, WR_F32, 100000, 60 * k, 1, 0, {}}, "fill_words softmax_lookback_rows", "fill_words softmax_lookback_rows", "softmax_cluster", "softmax_apply softmax_split_states softmax_totals"},
    {{softmax, WR_BF16, 8, 1000, 1, 0, {}}, "softmax_spread_rows_of_block", "softmax_spread_rows_of_block", "softmax_spread_rows_of_block", "softmax_spread_rows_of_block"},
};
// clang-format on

void check_choices(const Architecture &on) {
    const fake::Gpu &gpu = on.gpu;
    const auto wanted_of = [&](const Choice &choice) {
        return gpu.compute_major == 9          ? choice.measured
               : gpu.compute_major < 9         ? choice.without_clusters
               : gpu.shared_bytes < 128 * 1024 ? choice.of_less_memory
                                               : choice.plain;
    };
    for (const Choice &choice : choices) {
        const std::string given = kernels_given(choice.of, gpu), wanted = wanted_of(choice);
        CHECK(given == wanted, "%s, [%zu][%zu][%zu]: %s, not %s", on.name, choice.of.outer, choice.of.axis,
              choice.of.inner, given.c_str(), wanted.c_str());
    }
}

std::size_t random_size(std::mt19937_64 &random, unsigned most_bits) {
    const std::size_t power = std::size_t{1} << random() % (most_bits + 1);
    return random() % 3 == 0 ? power + random() % 2 * 8 : power + random() % power;
}

SoftmaxCase random_case(std::mt19937_64 &random) {
    constexpr wr_dtype types[] = {WR_F32, WR_BF16, WR_F16, WR_F64};
    constexpr unsigned options[] = {0, 0, 0, off_by_one, with_logsumexp, masked, with_lengths, causal, own_scales};
    SoftmaxCase of{};
    of.job = static_cast<Job>(random() % 5);
    of.dtype = types[random() % 4];
    of.output = of.job <= log_softmax && random() % 4 == 0 ? types[random() % 4] : wr_dtype{};
    of.axis = random_size(random, 19);
    of.inner = random() % 3 == 0 ? random_size(random, 12) : 1;
    of.outer = random_size(random, 16);
    of.options = of.job == logsumexp ? random() % 2 * off_by_one : options[random() % std::size(options)];
    return of;
}

} // namespace

int main() {
    fake::install();
    for (const Architecture &on : architectures) {
        check_choices(on);
        std::mt19937_64 random(20260102);
        for (int round = 0; round < 20000; ++round) {
            const SoftmaxCase of = random_case(random);
            const std::string given = kernels_given(of, on.gpu);
            const std::string &misuse = fake::runtime().misuse;
            CHECK(misuse.empty() && given.rfind("WR_ERROR", 0) != 0,
                  "%s, job %d of %d of [%zu][%zu][%zu], options %u: %s %s", on.name, static_cast<int>(of.job),
                  static_cast<int>(of.dtype), of.outer, of.axis, of.inner, of.options, given.c_str(), misuse.c_str());
        }
    }
    return check_report("every_architecture_gets_legal_launches");
}
