/* Goldilocks words whose sum is the prime itself, or next to it, on every way that a sum can take. */
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "reference/reference.h"

#include <string.h>

#define PRIME UINT64_C(0xFFFFFFFF00000001)

enum { MOST_PAIRS = 600 };

/* 0, 1, 2^32 - 1, 2^32, (p + 1) / 2 and random words; and what is missing to the prime. */
static uint64_t word_at(size_t index, uint64_t *state) {
    static const uint64_t words[] = {0,        1, 2, 0xFFFFFFFE, 0xFFFFFFFF, UINT64_C(0x100000000), (PRIME - 1) / 2,
                                     PRIME - 1};
    return index < 8 ? words[index] : random_next(state) % PRIME;
}

static uint64_t rest_of(uint64_t word) { return word == 0 ? 0 : PRIME - word; }

/* Each of `rows` rows is `pairs` pairs that sum to the prime, and `more` behind them. */
static void check_rows(size_t rows, size_t pairs, uint64_t more, int columns) {
    const size_t axis = 2 * pairs + 1;
    image input = image_new(rows * axis * 8, 0), output = image_new(rows * 8, 0);
    wr_reduce_args args = reduce_args(WR_SUM, WR_GOLDILOCKS, columns ? 1 : rows, axis, columns ? rows : 1);
    uint64_t state = pairs;
    size_t row, i, p;
    for (row = 0; row < rows; ++row) {
        for (i = 0; i < axis; ++i) {
            const size_t at = columns ? i * rows + row : row * axis + i;
            const uint64_t word = word_at((row + i / 2) % 12, &state);
            uint64_t element = i + 1 == axis ? more : word;
            if (i % 2 == 1) {
                const size_t left = columns ? (i - 1) * rows + row : at - 1;
                element = rest_of(reference_bits(WR_GOLDILOCKS, input.payload, left));
            }
            reference_put_bits(WR_GOLDILOCKS, input.payload, at, element);
        }
    }
    args.input = input.payload;
    args.output = output.payload;
    for (p = 0; p < place_count(); ++p) {
        const wr_status status = reduce_at(place_at(p), &args, &input, &output);
        CHECK(status == WR_SUCCESS, "%s", wr_status_name(status));
        for (row = 0; row < rows; ++row) {
            const uint64_t got = reference_bits(WR_GOLDILOCKS, output.payload, row);
            CHECK(got == more, "row %zu of %zu, %zu pairs and %llu, columns %d: %llX", row, rows, pairs,
                  (unsigned long long)more, columns, (unsigned long long)got);
        }
    }
    image_free(&input);
    image_free(&output);
}

/* What is added to the output, a dot product and a segment: a + (p - a) = 0. */
static void check_pair(uint64_t word, struct CUstream_st *stream) {
    const uint64_t pair[2] = {word, rest_of(word)}, ones[2] = {1, 1}, factors[2] = {1, PRIME - 1},
                   same[2] = {word, word};
    const int64_t offsets[2] = {0, 2};
    uint64_t result = rest_of(word);
    wr_reduce_args args = reduce_args(WR_SUM, WR_GOLDILOCKS, 1, 1, 1);
    uint64_t tile[2];
    args.input = pair;
    args.output = &result;
    args.add_to_output = 1;
    CHECK(wr_reduce_ex(&args, stream) == WR_SUCCESS && result == 0, "added to the output: %llX",
          (unsigned long long)result);
    CHECK(wr_dot(WR_GOLDILOCKS, pair, ones, &result, 2, stream) == WR_SUCCESS && result == 0, "dot with ones: %llX",
          (unsigned long long)result);
    CHECK(wr_dot(WR_GOLDILOCKS, same, factors, &result, 2, stream) == WR_SUCCESS && result == 0,
          "dot with 1 and -1: %llX", (unsigned long long)result);
    CHECK(wr_reduce_segments(WR_SUM, WR_GOLDILOCKS, pair, &result, offsets, 1, stream) == WR_SUCCESS && result == 0,
          "segment: %llX", (unsigned long long)result);
    CHECK(wr_tile_reduce(WR_SUM, WR_GOLDILOCKS, pair, tile, 2, 2, stream) == WR_SUCCESS && tile[0] == 0 && tile[1] == 0,
          "tile: %llX", (unsigned long long)tile[0]);
}

int main(int argc, char **argv) {
    static const size_t pairs[] = {1, 2, 3, 4, 8, 16, 33, 64, 100, MOST_PAIRS};
    static const uint64_t more[] = {0, 1, 0xFFFFFFFF, PRIME - 1};
    uint64_t state = 3;
    size_t i, k;
    places_open(argc, argv);
    for (i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        for (k = 0; k < 4; ++k) {
            check_rows(1, pairs[i], more[k], 0);
            check_rows(13, pairs[i], more[k], 0);
            check_rows(13, pairs[i], more[k], 1);
            check_rows(70, pairs[i], more[k], 1);
        }
    }
    for (i = 0; i < 200; ++i) {
        check_pair(word_at(i, &state), wr_host_stream());
    }
    places_close();
    return check_report("goldilocks_at_its_prime");
}
