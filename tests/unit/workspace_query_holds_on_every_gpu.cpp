// No GPU wants more workspace for a job than the query says, whatever its size and generation.
#include "check.h"
#include "fake_runtime.h"
#include "gpu_jobs.h"

#include <random>

namespace {

const fake::Gpu gpus[] = {{1, 8},   {14, 8},   {46, 8},   {108, 8},  {144, 8}, {16, 9},   {99, 9},   {100, 9},
                          {132, 9}, {148, 10}, {160, 10}, {188, 12}, {24, 12}, {512, 10}, {2000, 13}};

void check_job(const jobs::Job &job, const std::string &described) {
    const std::size_t stated = job.workspace_bytes();
    for (const fake::Gpu &gpu : gpus) {
        fake::reset(gpu, 0, 0);
        const wr_status status = job.run(jobs::some_stream());
        const fake::Runtime &r = fake::runtime();
        CHECK(status == WR_SUCCESS, "%s: %s", described.c_str(), wr_status_name(status));
        CHECK(r.allocated_bytes <= stated, "%s: %zu bytes stated, %zu taken with %d multiprocessors, generation %d",
              described.c_str(), stated, r.allocated_bytes, gpu.multiprocessors, gpu.compute_major);
        CHECK(r.misuse.empty(), "%s: %s", described.c_str(), r.misuse.c_str());
        fake::reset(gpu, 0, 0);
        CHECK(job.run_with_workspace(jobs::some_stream()) == WR_SUCCESS && fake::runtime().allocations == 0,
              "%s: memory allocated beside what was asked for, with %d multiprocessors, generation %d",
              described.c_str(), gpu.multiprocessors, gpu.compute_major);
    }
}

// Sizes from every order of magnitude, powers of two and their neighbours more often than others.
std::size_t random_size(std::mt19937_64 &random, int most_bits) {
    const int bits = std::uniform_int_distribution<int>(1, most_bits)(random);
    const std::size_t power = std::size_t{1} << bits;
    switch (random() % 4) {
    case 0:
        return power;
    case 1:
        return power + 1;
    case 2:
        return power - 1;
    default:
        return power + random() % power;
    }
}

std::string describe(const char *what, wr_dtype dtype, std::size_t outer, std::size_t axis, std::size_t inner) {
    return std::string(what) + " of type " + std::to_string(dtype) + ", [" + std::to_string(outer) + "][" +
           std::to_string(axis) + "][" + std::to_string(inner) + "]";
}

// More than any memory holds; beyond, a job is launched in so many parts that the test takes minutes.
bool is_too_large(std::size_t outer, std::size_t axis, std::size_t inner) {
    constexpr std::size_t most_elements = std::size_t{1} << 44;
    return axis > most_elements / outer / inner;
}

void check_random_jobs(std::mt19937_64 &random) {
    constexpr wr_dtype reduced[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_I32, WR_I64, WR_KOALABEAR};
    constexpr wr_dtype floats[] = {WR_F32, WR_F64, WR_F16, WR_BF16};
    for (int round = 0; round < 3000; ++round) {
        const std::size_t outer = random_size(random, 14), axis = random_size(random, round % 3 == 0 ? 36 : 22);
        const std::size_t inner = round % 2 == 0 ? 1 : random_size(random, 14);
        if (is_too_large(outer, axis, inner)) {
            continue;
        }
        const wr_dtype dtype = reduced[random() % 7];
        const std::string reduction = describe("sum", dtype, outer, axis, inner);
        const jobs::Job sum = jobs::Job::reduction(reduction, WR_SUM, dtype, outer, axis, inner);
        check_job(sum, reduction);
        check_job(sum.shifted_by(1), reduction + ", shifted");
        check_job(sum.with_axis_stride(5), reduction + ", strided");
        const wr_dtype softmax_type = floats[random() % 4];
        const std::string softmax = describe("softmax", softmax_type, outer, axis, inner);
        const jobs::Job probabilities = jobs::Job::softmax(softmax, softmax_type, outer, axis, inner);
        check_job(probabilities, softmax + ", with logsumexp");
        check_job(probabilities.without_logsumexp(), softmax);
        check_job(probabilities.without_logsumexp().of_logarithms(), softmax + ", logarithms");
        check_job(probabilities.with_maxima(), softmax + ", with maxima");
        check_job(probabilities.with_a_mask(), softmax + ", masked");
        const std::string logsumexp = describe("logsumexp", softmax_type, outer, axis, inner);
        const jobs::Job sums = jobs::Job::reduction(logsumexp, WR_LOGSUMEXP, softmax_type, outer, axis, inner);
        check_job(sums, logsumexp);
        check_job(sums.shifted_by(1), logsumexp + ", shifted");
        const std::string exact = describe("exact sum", softmax_type, outer, axis, inner);
        check_job(jobs::Job::reduction(exact, WR_SUM_EXACT, softmax_type, outer, axis, inner), exact);
    }
}

} // namespace

int main() {
    fake::install();
    std::mt19937_64 random(20240608);
    check_random_jobs(random);
    return check_report("workspace_query_holds_on_every_gpu");
}
