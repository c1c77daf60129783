// What random jobs hardly meet: ways of softmax's kernels that few lengths, values or places in memory lead to, each
// asked for once. The emulated kernels give the bits of the host device, and touch nothing beside the arrays.
#include "array_ends.h"
#include "check.h"
#include "guarded_memory.h"
#include "random_jobs.h"

#include "warp_reduce.h"

#include <cstdint>
#include <cstring>
#include <vector>

namespace {

// The logits of a row, by their place in it.
enum class Logits {
    ordinary,     // between -8 and 8
    at_the_reach, // 0 above, and as far below as exponentials are formed: 86 (f64: 708), and its neighbours
    far_below,    // 0 above, and -95 to -300
    second_block, // about -14, and after 1024 elements about -97: factors below the normal range
    one_huge      // one in seven 1e30, the last one too
};

enum class LeftOut { nothing, last, every_third, causal };

struct Job {
    wr_dtype dtype, output;
    std::size_t outer, axis, inner;
    Logits logits;
    LeftOut left_out;
    double scale;
    std::size_t offset; // elements off the boundary; 0: the array ends at a page that nobody may touch
};

double logit(Logits kind, wr_dtype dtype, std::size_t i, std::size_t axis, Random &random) {
    const double ordinary = static_cast<double>(random() % 4096) / 256 - 8;
    const double reach = dtype == WR_F64 ? 708 : 86;
    switch (kind) {
    case Logits::ordinary:
        return ordinary;
    case Logits::at_the_reach: {
        const double choice[] = {0, -reach, -reach - 0.5, -reach + 0.5, ordinary - 8};
        return choice[i % 5];
    }
    case Logits::far_below:
        return i == 0 ? 0 : i % 3 == 0 ? ordinary - 8 : -95 - static_cast<double>(random() % 205);
    case Logits::second_block:
        return (i < 1024 ? -14 : -97) + ordinary / 64;
    default:
        return i % 7 == 3 || i + 1 == axis ? 1e30 : ordinary;
    }
}

void put(wr_dtype dtype, unsigned char *at, double value) {
    if (dtype == WR_F64) {
        std::memcpy(at, &value, sizeof(value));
        return;
    }
    const auto single = static_cast<float>(value);
    std::uint32_t bits = 0;
    std::memcpy(&bits, &single, sizeof(bits));
    if (dtype == WR_BF16) {
        bits >>= 16;
    }
    std::memcpy(at, &bits, wr_dtype_size(dtype));
}

// A job's arrays but the results, and its arguments but these.
template <class Args>
struct Prepared {
    GuardedMemory input, mask;
    Args args;

    explicit Prepared(const Job &job)
        : input(elements(job) * wr_dtype_size(job.dtype), job.offset == 0, job.offset * wr_dtype_size(job.dtype)),
          mask(elements(job), job.offset == 0, job.offset) {
        Random random(job.axis * 31 + job.outer);
        std::memset(&args, 0, sizeof(args));
        args.struct_size = sizeof(args);
        args.dtype = job.dtype;
        args.outer = job.outer;
        args.axis = job.axis;
        args.inner = job.inner;
        args.scale = job.scale;
        for (std::size_t e = 0; e < elements(job); ++e) {
            const std::size_t i = e / job.inner % job.axis;
            put(job.dtype, input.data() + e * wr_dtype_size(job.dtype),
                logit(job.logits, job.dtype, i, job.axis, random));
            mask.data()[e] = job.left_out == LeftOut::last ? i + 1 != job.axis : i % 3 != 0;
        }
        if (job.left_out == LeftOut::last || job.left_out == LeftOut::every_third) {
            args.mask = mask.data();
        }
        if (job.left_out == LeftOut::causal) {
            args.causal = 1;
            args.causal_first = 1;
            args.causal_rows = 5;
        }
    }
    static std::size_t elements(const Job &job) { return job.outer * job.axis * job.inner; }
};

template <class Run>
void check_on_both(const Job &job, const char *what, const GuardedMemory &input, std::size_t bytes, Run run) {
    std::vector<unsigned char> of_host(bytes), of_kernels(bytes);
    const wr_status expected = run(of_host.data(), wr_host_stream());
    emulator::guard_ends(input.data(), job.outer * job.axis * job.inner * wr_dtype_size(job.dtype));
    const wr_status status = run(of_kernels.data(), emulated_stream());
    emulator::guard_ends(nullptr, 0);
    CHECK(expected == WR_SUCCESS && status == WR_SUCCESS, "%s: %s on the host, %s", what, wr_status_name(expected),
          wr_status_name(status));
    CHECK(of_host == of_kernels, "%s of type %d, [%zu][%zu][%zu], logits %d, left out %d, %zu off: other bits", what,
          static_cast<int>(job.dtype), job.outer, job.axis, job.inner, static_cast<int>(job.logits),
          static_cast<int>(job.left_out), job.offset);
}

void check_softmax(const Job &job, bool log) {
    Prepared<wr_softmax_args> prepared(job);
    auto &args = prepared.args;
    args.input = prepared.input.data();
    args.output_dtype = job.output;
    args.log = log ? 1 : 0;
    const std::size_t size = wr_dtype_size(job.output != wr_dtype{} ? job.output : job.dtype);
    check_on_both(job, log ? "log-softmax" : "softmax", prepared.input, prepared.elements(job) * size,
                  [&](unsigned char *results, CUstream_st *stream) {
                      args.output = results;
                      return wr_softmax_ex(&args, stream);
                  });
}

// From logits, whose logsumexp is near 0.
void check_gradient(const Job &job) {
    Prepared<wr_softmax_backward_args> prepared(job);
    auto &args = prepared.args;
    const std::size_t size = wr_dtype_size(job.dtype);
    std::vector<unsigned char> gradients(prepared.elements(job) * size);
    Random random(job.axis);
    for (std::size_t e = 0; e < prepared.elements(job); ++e) {
        put(job.dtype, gradients.data() + e * size, logit(Logits::ordinary, job.dtype, e, job.axis, random));
    }
    std::vector<float> logsumexp(job.outer * job.inner, 0.25F);
    args.input = prepared.input.data();
    args.logsumexp = logsumexp.data();
    args.output_gradient = gradients.data();
    check_on_both(job, "gradient", prepared.input, gradients.size(), [&](unsigned char *results, CUstream_st *stream) {
        args.input_gradient = results;
        return wr_softmax_backward_ex(&args, stream);
    });
}

void check_logsumexp(const Job &job) {
    const Prepared<wr_softmax_args> prepared(job);
    wr_reduce_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = WR_LOGSUMEXP;
    args.dtype = job.dtype;
    args.outer = job.outer;
    args.axis = job.axis;
    args.inner = job.inner;
    args.input = prepared.input.data();
    check_on_both(job, "logsumexp", prepared.input, job.outer * job.inner * wr_dtype_size(job.dtype),
                  [&](unsigned char *results, CUstream_st *stream) {
                      args.output = results;
                      return wr_reduce_ex(&args, stream);
                  });
}

constexpr wr_dtype same{};

constexpr Job softmax_jobs[] = {
    // Few rows, spread over lanes.
    {WR_F32, same, 2, 1024, 1, Logits::at_the_reach, LeftOut::nothing, 0, 0},
    {WR_BF16, same, 3, 1001, 1, Logits::one_huge, LeftOut::nothing, 0.5, 1},
    {WR_BF16, same, 2, 2043, 1, Logits::second_block, LeftOut::nothing, 0, 0},
    {WR_F32, same, 40, 7, 1, Logits::far_below, LeftOut::nothing, 0, 0},
    // A warp's or a block's rows, where exponentials end.
    {WR_F32, same, 5, 1024, 1, Logits::at_the_reach, LeftOut::nothing, 0, 0},
    {WR_F32, same, 5, 1001, 1, Logits::at_the_reach, LeftOut::nothing, 0, 1},
    {WR_BF16, same, 9, 1024, 1, Logits::at_the_reach, LeftOut::nothing, 0, 0},
    {WR_F64, same, 2, 1024, 1, Logits::at_the_reach, LeftOut::nothing, 0, 0},
    // Rows of a lane each: shorter than its registers, as long, and with elements behind these.
    {WR_F32, same, 2100, 7, 1, Logits::far_below, LeftOut::nothing, 0, 0},
    {WR_F32, same, 1200, 33, 1, Logits::ordinary, LeftOut::nothing, 0, 0},
    {WR_F32, same, 1200, 35, 1, Logits::far_below, LeftOut::nothing, 0, 0},
    {WR_BF16, same, 1200, 39, 1, Logits::far_below, LeftOut::nothing, 0, 0},
    {WR_BF16, same, 2100, 13, 1, Logits::far_below, LeftOut::nothing, 0.5, 0},
    // Of no whole vectors.
    {WR_F32, same, 300, 30, 1, Logits::ordinary, LeftOut::nothing, 0, 0},
    {WR_F32, same, 300, 125, 1, Logits::ordinary, LeftOut::nothing, 0, 1},
    {WR_BF16, same, 300, 61, 1, Logits::ordinary, LeftOut::nothing, 0, 0},
    {WR_BF16, WR_F32, 300, 60, 1, Logits::ordinary, LeftOut::nothing, 0, 0},
    // One element at a time.
    {WR_F32, WR_F64, 2, 1001, 1, Logits::ordinary, LeftOut::nothing, 0.5, 0},
    // Blocks far below their row's others.
    {WR_BF16, same, 5, 2048, 1, Logits::second_block, LeftOut::nothing, 0, 0},
    {WR_BF16, same, 5, 2043, 1, Logits::second_block, LeftOut::nothing, 0, 1},
    // The last element of rows with large logits is left out.
    {WR_F32, same, 2, 1023, 1, Logits::one_huge, LeftOut::last, 0, 1},
    {WR_F32, same, 2, 1024, 1, Logits::one_huge, LeftOut::last, 0, 0},
    {WR_BF16, same, 2, 1001, 1, Logits::one_huge, LeftOut::last, 0, 1},
    {WR_F32, same, 2, 1001, 1, Logits::ordinary, LeftOut::every_third, 0, 0},
    {WR_BF16, same, 3, 1003, 1, Logits::ordinary, LeftOut::every_third, 0, 0},
    // Columns of which few lie side by side, more of them than the causal limit has rows.
    {WR_F32, same, 12, 21, 2, Logits::ordinary, LeftOut::causal, 0, 0},
    {WR_BF16, same, 12, 40, 3, Logits::ordinary, LeftOut::causal, 0, 0},
    {WR_F32, WR_BF16, 12, 100, 2, Logits::ordinary, LeftOut::causal, 0.7, 0},
    {WR_F32, same, 12, 21, 1, Logits::ordinary, LeftOut::causal, 0.7, 1},
};

constexpr Job gradient_jobs[] = {
    {WR_F32, same, 1, 5000, 32, Logits::far_below, LeftOut::nothing, 0, 0},
    {WR_BF16, same, 1, 5000, 32, Logits::far_below, LeftOut::nothing, 0, 0},
    {WR_F32, same, 12, 40, 2, Logits::ordinary, LeftOut::causal, 0, 0},
    {WR_BF16, same, 12, 40, 1, Logits::ordinary, LeftOut::causal, 0, 0},
    {WR_F32, same, 2, 1001, 1, Logits::ordinary, LeftOut::every_third, 0, 0},
};

constexpr Job logsumexp_jobs[] = {
    {WR_F32, same, 1, 400, 1, Logits::ordinary, LeftOut::nothing, 0, 0},
    {WR_BF16, same, 1, 1400, 1, Logits::ordinary, LeftOut::nothing, 0, 0},
    {WR_F32, same, 3, 20, 1, Logits::at_the_reach, LeftOut::nothing, 0, 0},
    {WR_F32, same, 20, 400, 1, Logits::ordinary, LeftOut::nothing, 0, 0},
    {WR_BF16, same, 70, 1400, 1, Logits::ordinary, LeftOut::nothing, 0, 0},
    {WR_F32, same, 140, 20, 1, Logits::at_the_reach, LeftOut::nothing, 0, 0},
};

} // namespace

int main() {
    for (const Job &job : softmax_jobs) {
        check_softmax(job, false);
        check_softmax(job, true);
    }
    for (const Job &job : gradient_jobs) {
        check_gradient(job);
    }
    for (const Job &job : logsumexp_jobs) {
        check_logsumexp(job);
    }
    return check_report("rare_ways_of_softmax_are_those_of_the_host");
}
