/*
 * Shuffles, votes and matches give every lane what the header says, for every width, in short tiles, with members left
 * out, wherever they run; and on a GPU that is what the warp's own functions give.
 */
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/tile_calls.h"

#include <stdlib.h>
#include <string.h>

/* One of each size. */
static const wr_dtype sizes[] = {WR_U8, WR_BF16, WR_F32, WR_F64, WR_KOALABEAR_X4};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Enough lanes that the host device takes several threads and a GPU all its multiprocessors. */
enum { MANY_LANES = (1 << 20) + 77 };

static unsigned char *input, *expected;

static void make_room(void) {
    input = malloc((size_t)MANY_LANES * 16);
    expected = malloc((size_t)MANY_LANES * 16);
    if (input == NULL || expected == NULL) {
        give_up("no memory");
    }
}

static void check(const tile_call *call) {
    tile_reference(call, input, expected);
    tile_check(call, input, expected);
}

/* Any bits: NaNs with payloads, words that are not canonical. */
static void fill_bits(size_t bytes, uint64_t seed) {
    size_t i;
    for (i = 0; i < bytes; ++i) {
        input[i] = (unsigned char)(random_next(&seed) >> 56);
    }
}

/* Elements of few values, so that lanes match; they differ in one byte, each time another one. */
static void fill_values(wr_dtype dtype, size_t count, size_t values, uint64_t seed) {
    size_t bytes = tile_dtype_bytes(dtype), i;
    memset(input, 0x42, count * bytes);
    for (i = 0; i < count; ++i) {
        size_t value = random_below(&seed, values);
        input[i * bytes + value % bytes] ^= (unsigned char)value;
    }
}

static void check_shuffles(wr_dtype dtype, size_t count, uint32_t width) {
    static const uint32_t far[] = {31, 32, 33, 63, 64, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF};
    tile_call call = {TILE_SHUFFLE, WR_SHUFFLE_UP, dtype, count, width, 0};
    size_t i;
    fill_bits(count * tile_dtype_bytes(dtype), count * width + (uint64_t)dtype);
    for (call.what = WR_SHUFFLE_UP; call.what <= WR_SHUFFLE_INDEX; ++call.what) {
        for (call.argument = 0; call.argument < width; ++call.argument) {
            check(&call);
        }
        for (i = 0; i < sizeof far / sizeof *far && call.what != WR_SHUFFLE_XOR; ++i) {
            call.argument = far[i];
            check(&call);
        }
    }
}

static uint32_t mask_of_width(uint32_t width) { return width == 32 ? 0xFFFFFFFF : (UINT32_C(1) << width) - 1; }

enum { MEMBER_SETS = 8 };

static uint32_t members_at(size_t index, uint32_t width) {
    static const uint32_t sets[MEMBER_SETS] = {0xFFFFFFFF, 0,          1,          0x55555555,
                                               0xAAAAAAAA, 0x80000000, 0x7FFFFFFE, 0x93C5A61B};
    uint32_t members = sets[index] & mask_of_width(width);
    return sets[index] == 0x80000000 ? UINT32_C(1) << (width - 1) : members;
}

enum { PREDICATE_KINDS = 5 };

/* What counts is whether any bit is set, whichever it is. */
static int32_t predicate_at(size_t kind, uint64_t random) {
    static const int32_t truths[] = {1, -1, INT32_MIN, 256};
    int32_t truth = truths[random % 4];
    switch (kind) {
    case 0:
        return 0;
    case 1:
        return truth;
    case 2:
        return random >> 8 & 1 ? truth : 0;
    case 3:
        return (random >> 8) % 16 == 0 ? truth : 0;
    default:
        return (random >> 8) % 16 == 0 ? 0 : truth;
    }
}

static void fill_predicates(size_t kind, size_t count, uint64_t seed) {
    size_t i;
    for (i = 0; i < count; ++i) {
        int32_t predicate = predicate_at(kind, random_next(&seed));
        memcpy(input + i * sizeof predicate, &predicate, sizeof predicate);
    }
}

static void check_votes(size_t count, uint32_t width) {
    tile_call call = {TILE_VOTE, WR_VOTE_ANY, WR_I32, count, width, 0};
    size_t kind, set;
    for (kind = 0; kind < PREDICATE_KINDS; ++kind) {
        fill_predicates(kind, count, count * width + kind);
        for (set = 0; set < MEMBER_SETS; ++set) {
            call.argument = members_at(set, width);
            for (call.what = WR_VOTE_ANY; call.what <= WR_VOTE_BALLOT; ++call.what) {
                check(&call);
            }
        }
    }
}

static void check_matches(wr_dtype dtype, size_t count, uint32_t width) {
    static const size_t values[] = {1, 2, 7, 200};
    tile_call call = {TILE_MATCH, WR_MATCH_ANY, dtype, count, width, 0};
    size_t i, set;
    for (i = 0; i < sizeof values / sizeof *values; ++i) {
        fill_values(dtype, count, values[i], count * width + i);
        for (set = 0; set < MEMBER_SETS; ++set) {
            call.argument = members_at(set, width);
            for (call.what = WR_MATCH_ANY; call.what <= WR_MATCH_ALL; ++call.what) {
                check(&call);
            }
        }
    }
}

/* In a tile of one value with one exception, the exception is no member: all members agree. */
static void check_all_match_without_the_other(wr_dtype dtype, uint32_t width) {
    tile_call call = {TILE_MATCH, WR_MATCH_ALL, dtype, 4 * (size_t)width, width, 0};
    uint32_t other;
    for (other = 0; other < width; ++other) {
        size_t bytes = tile_dtype_bytes(dtype);
        memset(input, 0, call.count * bytes);
        memset(input + (width + other) * bytes, 1, bytes);
        call.argument = mask_of_width(width) & ~(UINT32_C(1) << other);
        check(&call);
        call.argument = mask_of_width(width);
        check(&call);
    }
}

static void check_sizes(uint32_t width) {
    size_t i, j;
    for (i = 0; i < TILE_COUNTS; ++i) {
        size_t count = tile_count_at(i, width);
        check_votes(count, width);
        for (j = 0; j < SIZES; ++j) {
            check_shuffles(sizes[j], count, width);
            check_matches(sizes[j], count, width);
        }
    }
    for (j = 0; j < SIZES; ++j) {
        check_all_match_without_the_other(sizes[j], width);
    }
}

/* -0 and +0 are two values, NaNs of the same bits one. */
static void check_floats_match_as_bits(void) {
    static const uint32_t bits[8] = {0, 0x80000000, 0x7FC00000, 0x7FC00000, 0x7FC00001, 0, 0x3F800000, 0xFFC00000};
    static const uint32_t matched[8] = {0x21, 0x02, 0x0C, 0x0C, 0x10, 0x21, 0x40, 0x80};
    tile_call call = {TILE_MATCH, WR_MATCH_ANY, WR_F32, 8, 8, 0xFF};
    memcpy(input, bits, sizeof bits);
    tile_check(&call, input, (const unsigned char *)matched);
}

static void check_every_type(void) {
    tile_call shuffle = {TILE_SHUFFLE, WR_SHUFFLE_XOR, WR_F32, 100, 16, 5};
    tile_call match = {TILE_MATCH, WR_MATCH_ANY, WR_F32, 100, 16, 0xFF0F};
    int dtype;
    for (dtype = WR_F32; dtype <= WR_BABYBEAR_X4; ++dtype) {
        shuffle.dtype = match.dtype = (wr_dtype)dtype;
        fill_bits(1600, (uint64_t)dtype);
        check(&shuffle);
        fill_values(match.dtype, 100, 3, (uint64_t)dtype);
        check(&match);
    }
}

static void check_many_lanes(void) {
    tile_call call = {TILE_SHUFFLE, WR_SHUFFLE_DOWN, WR_F32, MANY_LANES, 8, 3};
    fill_bits((size_t)MANY_LANES * 4, 11);
    check(&call);
    call.dtype = WR_U8;
    check(&call);
    call.dtype = WR_BABYBEAR_X4;
    fill_bits((size_t)MANY_LANES * 16, 12);
    check(&call);
    call.kind = TILE_VOTE;
    call.what = WR_VOTE_BALLOT;
    call.dtype = WR_I32;
    call.argument = 0x7B;
    fill_predicates(2, MANY_LANES, 13);
    check(&call);
    call.kind = TILE_MATCH;
    call.what = WR_MATCH_ANY;
    fill_values(WR_I32, MANY_LANES, 3, 14);
    check(&call);
}

int main(int argc, char **argv) {
    size_t i;
    places_open(argc, argv);
    make_room();
    for (i = 0; i < TILE_WIDTHS; ++i) {
        check_sizes(tile_widths[i]);
    }
    check_floats_match_as_bits();
    check_every_type();
    check_many_lanes();
    free(input);
    free(expected);
    tile_calls_close();
    places_close();
    return check_report("tiles_are_what_warps_do");
}
