// A sum of squares of extension elements over so many of them that 64 bits would overflow if partial results were not
// reduced on the way. The elements are one page of memory over and over.
#include "check.h"

#include "host/common/run.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>

namespace {

using namespace wr;

// BabyBear's prime, 2^-32 modulo it, and -1 / p modulo 2^32.
constexpr std::uint64_t prime = 2013265921, inverse_of_r = 943718400, negative_inverse = 2013265919;
constexpr std::size_t page_bytes = std::size_t{2} << 20, pages = 1500;

// Of words near the prime, one whose square is large before it is reduced: (w^2 + q p) / 2^32 with the q that makes the
// division exact.
std::uint32_t word_with_large_square() {
    std::uint32_t best = 0;
    std::uint64_t largest = 0;
    for (std::uint64_t word = prime - 1; word > prime - 100000; --word) {
        const std::uint64_t quotient = (word * word * negative_inverse) & 0xFFFFFFFFu;
        const std::uint64_t product = (word * word + quotient * prime) >> 32;
        if (product > largest) {
            largest = product;
            best = static_cast<std::uint32_t>(word);
        }
    }
    return best;
}

// `pages` times the same page, in a row.
void *repeated_page(std::FILE *file) {
    if (file == nullptr || ftruncate(fileno(file), page_bytes) != 0) {
        give_up("no file");
    }
    void *all = mmap(nullptr, page_bytes * pages, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (all == MAP_FAILED) {
        give_up("no address space");
    }
    for (std::size_t i = 0; i < pages; ++i) {
        if (mmap(static_cast<char *>(all) + i * page_bytes, page_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 fileno(file), 0) == MAP_FAILED) {
            give_up("no mapping");
        }
    }
    return all;
}

} // namespace

int main() {
    std::FILE *file = std::tmpfile();
    auto *words = static_cast<std::uint32_t *>(repeated_page(file));
    const std::uint32_t word = word_with_large_square();
    for (std::size_t i = 0; i < page_bytes / sizeof word; ++i) {
        words[i] = word;
    }
    const std::size_t count = page_bytes * pages / 16;
    std::uint32_t result[4] = {};
    ReduceProblem problem{};
    problem.what.op = Operator::sum_of_squares;
    problem.what.dtype = problem.what.output_dtype = ElementType::babybear_x4;
    problem.input = words;
    problem.output = result;
    const auto axis = static_cast<std::ptrdiff_t>(count);
    problem.shape = {1, count, 1, axis, 1, 1};
    const Status status = host::run_reduce(problem, host::best_kernels(), 1);
    CHECK(status == Status::success, "status %d", static_cast<int>(status));
    // (w + w x + w x^2 + w x^3)^2 = w^2 (1 + 2 x + 3 x^2 + 4 x^3 + 3 x^4 + 2 x^5 + x^6), and x^4 is 11.
    const std::uint64_t times[4] = {1 + 11 * 3, 2 + 11 * 2, 3 + 11 * 1, 4};
    const std::uint64_t square = static_cast<std::uint64_t>(word) * word % prime * inverse_of_r % prime;
    for (int k = 0; k < 4; ++k) {
        const std::uint64_t expected = square * times[k] % prime * (count % prime) % prime;
        CHECK(result[k] == expected, "coordinate %d: %u for %llu", k, result[k],
              static_cast<unsigned long long>(expected));
    }
    munmap(words, page_bytes * pages);
    std::fclose(file);
    return check_report("long_field_sums_never_overflow");
}
