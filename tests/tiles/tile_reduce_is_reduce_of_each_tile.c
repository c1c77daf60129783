/*
 * Every lane of a tile gets what its operator gives for the lanes of its tile alone, for every operator and type: the
 * bits of the reference, and of wr_reduce. Where wr_reduce refuses a combination, so does the tile. On a GPU 32-bit
 * integers are held against the warp's own functions too.
 */
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/tile_calls.h"
#include "reference/lanes.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <string.h>

enum { MANY_LANES = (1 << 20) + 77 };

static unsigned char *input, *expected;

static void make_room(void) {
    input = malloc((size_t)MANY_LANES * 16);
    expected = malloc((size_t)MANY_LANES * 16);
    if (input == NULL || expected == NULL) {
        give_up("no memory");
    }
}

typedef void reduce_one(const tile_call *call, const unsigned char *first, size_t lanes, unsigned char *result);

static void by_reference(const tile_call *call, const unsigned char *first, size_t lanes, unsigned char *result) {
    reference_lanes(call->what, call->dtype, first, lanes, result);
}

static void by_library(const tile_call *call, const unsigned char *first, size_t lanes, unsigned char *result) {
    wr_status status = wr_reduce((wr_op)call->what, call->dtype, first, result, 1, lanes, 1, wr_host_stream());
    CHECK(status == WR_SUCCESS, "operator %d of type %d alone: %s", call->what, (int)call->dtype,
          wr_status_name(status));
}

/* One tile after another, each lane. */
static void expect_each_tile(const tile_call *call, reduce_one *reduce) {
    size_t in = tile_dtype_bytes(call->dtype), out = tile_output_bytes(call), first, lane;
    for (first = 0; first < call->count; first += call->width) {
        unsigned char result[16];
        size_t lanes = tile_lanes_present(call, first);
        reduce(call, input + first * in, lanes, result);
        for (lane = 0; lane < lanes; ++lane) {
            memcpy(expected + (first + lane) * out, result, out);
        }
    }
}

static void check_tiles(const tile_call *call) {
    expect_each_tile(call, by_reference);
    tile_check(call, input, expected);
}

static int is_float(wr_dtype dtype) { return dtype <= WR_F8_E5M2; }
static int is_field(wr_dtype dtype) { return dtype >= WR_KOALABEAR; }

/* Any canonical word, and often the ends of the range. */
static void fill_words(wr_dtype dtype, size_t kind, size_t count, uint64_t *state) {
    size_t bytes = lanes_word_bytes(dtype), words = count * tile_dtype_bytes(dtype) / bytes, i;
    uint64_t prime = lanes_prime(dtype);
    for (i = 0; i < words; ++i) {
        uint64_t word = random_next(state) % prime;
        if (kind > 0) {
            size_t choice = random_below(state, 2 * kind + 1);
            word = choice == 0 ? word : choice == 1 ? 0 : prime - 1;
        }
        memcpy(input + i * bytes, &word, bytes);
    }
}

enum { FILLS = 4 };

/* Any bits, or few of them set so that zeros and equal elements are frequent; floats that round in every sum. */
static void fill(wr_dtype dtype, size_t kind, size_t count, uint64_t seed) {
    size_t bytes = tile_dtype_bytes(dtype), i;
    uint64_t state = seed;
    if (is_field(dtype)) {
        fill_words(dtype, kind, count, &state);
        return;
    }
    for (i = 0; i < count * bytes; ++i) {
        uint64_t random = random_next(&state);
        input[i] = (unsigned char)(kind == 0 ? random : random & random >> 8 & random >> 16 & random >> 24);
    }
    if (dtype <= WR_BF16 && kind >= 2) {
        fill_random(dtype, kind == 2 ? DATA_WIDE : DATA_CANCELLING, seed, input, count);
    }
    for (i = 0; is_float(dtype) && dtype > WR_BF16 && kind >= 2 && i < count; ++i) {
        reference_put(dtype, input, i, (double)random_below(&state, 33) / 8 - 2);
    }
}

static void check_refused(int op, wr_dtype dtype) {
    wr_status alone = wr_reduce((wr_op)op, dtype, input, expected, 1, 1, 1, wr_host_stream());
    wr_status tile = wr_tile_reduce((wr_op)op, dtype, input, expected, 1, 32, wr_host_stream());
    int refused_in_tiles_alone = (op == WR_LOGSUMEXP || op == WR_SUM_EXACT) && reference_is_float(dtype);
    CHECK(alone == (refused_in_tiles_alone ? WR_SUCCESS : WR_ERROR_UNSUPPORTED) && tile == WR_ERROR_UNSUPPORTED,
          "operator %d on type %d: %s alone, %s in a tile", op, (int)dtype, wr_status_name(alone),
          wr_status_name(tile));
}

static void check_widths_and_counts(int op, wr_dtype dtype) {
    tile_call call = {TILE_REDUCE, op, dtype, 0, 0, 0};
    size_t i, j, kind;
    for (i = 0; i < TILE_WIDTHS; ++i) {
        for (j = 0; j < TILE_COUNTS; ++j) {
            call.width = tile_widths[i];
            call.count = tile_count_at(j, call.width);
            for (kind = 0; kind < FILLS; ++kind) {
                fill(dtype, kind, call.count, call.count * 131 + call.width + kind);
                check_tiles(&call);
            }
        }
    }
}

/* wr_reduce itself, tile by tile. */
static void check_reduce_agrees(int op, wr_dtype dtype) {
    tile_call call = {TILE_REDUCE, op, dtype, 333, 16, 0};
    size_t kind;
    for (kind = 0; kind < FILLS; ++kind) {
        fill(dtype, kind, call.count, kind);
        expect_each_tile(&call, by_library);
        tile_check(&call, input, expected);
    }
}

static void check_every_operator(void) {
    int op, dtype;
    for (op = WR_SUM; op <= WR_DOT_EXACT; ++op) {
        for (dtype = WR_F32; dtype <= WR_BABYBEAR_X4; ++dtype) {
            if (reference_lanes_offered(op, (wr_dtype)dtype)) {
                check_widths_and_counts(op, (wr_dtype)dtype);
                check_reduce_agrees(op, (wr_dtype)dtype);
            } else {
                check_refused(op, (wr_dtype)dtype);
            }
        }
    }
}

/* KoalaBear elements, not Montgomery words: 0x34167c58 times 0x61f3207b is 0x54b46b81. */
static void check_known_product(void) {
    static const uint64_t prime = 0x7F000001, elements[2] = {0x34167C58, 0x61F3207B}, product = 0x54B46B81;
    tile_call call = {TILE_REDUCE, WR_PRODUCT, WR_KOALABEAR, 2, 2, 0};
    uint32_t words[2], result;
    size_t i;
    for (i = 0; i < 2; ++i) {
        words[i] = (uint32_t)((elements[i] << 32) % prime);
    }
    result = (uint32_t)((product << 32) % prime);
    memcpy(input, words, sizeof words);
    memcpy(expected, &result, 4);
    memcpy(expected + 4, &result, 4);
    tile_check(&call, input, expected);
}

/* Each special value at each lane of a tile of width 32 and of one that is one lane short. */
static void check_special_floats(int op) {
    static const uint32_t bits[] = {0x80000000, 0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC12345, 0x00000001};
    tile_call call = {TILE_REDUCE, op, WR_F32, 63, 32, 0};
    size_t i, lane;
    for (i = 0; i < sizeof bits / sizeof *bits && reference_lanes_offered(op, WR_F32); ++i) {
        for (lane = 0; lane < call.count; ++lane) {
            fill_random(WR_F32, DATA_INTEGERS, lane, input, call.count);
            memcpy(input + lane * 4, &bits[i], 4);
            check_tiles(&call);
        }
    }
}

static void check_many_lanes(void) {
    static const tile_call calls[] = {
        {TILE_REDUCE, WR_SUM, WR_F32, MANY_LANES, 32, 0},
        {TILE_REDUCE, WR_MEAN, WR_BF16, MANY_LANES, 8, 0},
        {TILE_REDUCE, WR_MAX, WR_I64, MANY_LANES, 16, 0},
        {TILE_REDUCE, WR_SUM, WR_KOALABEAR, MANY_LANES, 2, 0},
    };
    size_t i;
    for (i = 0; i < sizeof calls / sizeof *calls; ++i) {
        fill(calls[i].dtype, 2, MANY_LANES, i);
        check_tiles(&calls[i]);
    }
}

int main(int argc, char **argv) {
    int op;
    places_open(argc, argv);
    make_room();
    check_every_operator();
    check_known_product();
    for (op = WR_SUM; op <= WR_DOT_EXACT; ++op) {
        check_special_floats(op);
    }
    check_many_lanes();
    free(input);
    free(expected);
    tile_calls_close();
    places_close();
    return check_report("tile_reduce_is_reduce_of_each_tile");
}
