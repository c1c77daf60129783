// Where the data are small, a call is one launch, and takes no memory where none is lent to it.
#include "check.h"
#include "fake_runtime.h"
#include "gpu_jobs.h"

namespace {

constexpr std::size_t k = 1024;

// What a job of `bytes` takes, on the boundaries of vectors and off them.
void check_bytes(const jobs::Job &job, std::size_t bytes) {
    for (const std::size_t shift : {std::size_t{0}, std::size_t{1}}) {
        fake::reset(fake::Gpu{}, 0, 0);
        const wr_status status = job.shifted_by(shift).run(jobs::some_stream());
        const fake::Runtime &r = fake::runtime();
        CHECK(status == WR_SUCCESS, "%s: %s", job.name().c_str(), wr_status_name(status));
        CHECK(r.launches == 1, "%s of %zu bytes, %zu elements off the boundaries: %d launches", job.name().c_str(),
              bytes, shift, r.launches);
        CHECK(r.allocations == 0, "%s of %zu bytes, %zu elements off the boundaries: %d allocations",
              job.name().c_str(), bytes, shift, r.allocations);
    }
}

// A row's lengths up to `most` bytes, a power of two: the powers and what is between them.
template <class Check>
void for_lengths(std::size_t most, wr_dtype dtype, Check check) {
    for (std::size_t bytes = 16; bytes <= most; bytes *= 2) {
        check(bytes, bytes / wr_dtype_size(dtype));
        check(bytes / 2 + bytes / 4, (bytes / 2 + bytes / 4) / wr_dtype_size(dtype));
    }
}

struct Reduction {
    const char *name;
    wr_op op;
    wr_dtype dtype;
    bool weights;
    std::size_t most; // bytes
};

const Reduction reductions[] = {{"a sum of f32", WR_SUM, WR_F32, false, 2048 * k},
                                {"a sum of bf16", WR_SUM, WR_BF16, false, 2048 * k},
                                {"a sum of KoalaBear words", WR_SUM, WR_KOALABEAR, false, 2048 * k},
                                {"a sum of i64", WR_SUM, WR_I64, false, 2048 * k},
                                {"the smallest i32", WR_MIN, WR_I32, false, 2048 * k},
                                {"the largest f32", WR_MAX, WR_F32, false, 2048 * k},
                                {"the largest f16", WR_MAX, WR_F16, false, 2048 * k},
                                {"a sum of f64", WR_SUM, WR_F64, false, 2048 * k},
                                {"a norm of f32", WR_NORM_L2, WR_F32, false, 512 * k},
                                {"a norm of f16", WR_NORM_L2, WR_F16, false, 512 * k},
                                {"a norm of f64", WR_NORM_L1, WR_F64, false, 512 * k},
                                {"a sum of f32 with weights", WR_SUM, WR_F32, true, 512 * k},
                                {"a sum of bf16 with weights", WR_SUM, WR_BF16, true, 512 * k},
                                {"a sum of KoalaBear words with weights", WR_SUM, WR_KOALABEAR, true, 512 * k},
                                {"the place of the largest f32", WR_ARGMAX, WR_F32, false, 512 * k},
                                {"the place of the largest bf16", WR_ARGMAX, WR_BF16, false, 512 * k},
                                {"the smallest f64", WR_MIN, WR_F64, false, 512 * k},
                                {"a sum of Goldilocks words", WR_SUM, WR_GOLDILOCKS, false, 512 * k},
                                {"a sum of elements of an extension", WR_SUM, WR_BABYBEAR_X4, false, 512 * k},
                                {"a sum of Goldilocks words with weights", WR_SUM, WR_GOLDILOCKS, true, 512 * k},
                                {"the place of the smallest i16", WR_ARGMIN, WR_I16, false, 512 * k},
                                {"the largest i64", WR_MAX, WR_I64, false, 512 * k},
                                {"a product of f32", WR_PRODUCT, WR_F32, false, 32 * k},
                                {"elements that are not 0", WR_COUNT_NONZERO, WR_U8, false, 32 * k},
                                {"bits", WR_BIT_OR, WR_U64, false, 32 * k},
                                {"squares of words", WR_SUM_OF_SQUARES, WR_MERSENNE31, false, 32 * k},
                                {"a sum of f8", WR_SUM, WR_F8_E4M3, false, 32 * k}};

void check_reduction(const Reduction &what) {
    for_lengths(what.most, what.dtype, [&](std::size_t bytes, std::size_t elements) {
        const jobs::Job job = jobs::Job::reduction(what.name, what.op, what.dtype, 1, elements, 1);
        check_bytes(what.weights ? job.with_weights() : job, bytes);
    });
}

void check_softmax(const char *name, wr_dtype dtype, std::size_t most) {
    for_lengths(most, dtype, [&](std::size_t bytes, std::size_t elements) {
        check_bytes(jobs::Job::softmax(name, dtype, 1, elements, 1), bytes);
        check_bytes(jobs::Job::softmax(name, dtype, 50, elements, 1), bytes);
    });
}

} // namespace

int main() {
    fake::install();
    for (const Reduction &what : reductions) {
        check_reduction(what);
    }
    check_softmax("softmax of f32", WR_F32, 512 * k);
    check_softmax("softmax of bf16", WR_BF16, 256 * k);
    check_softmax("softmax of f16", WR_F16, 256 * k);
    check_softmax("softmax of f64", WR_F64, 512 * k);
    return check_report("small_data_take_one_launch");
}
