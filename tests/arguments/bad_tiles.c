/* Tile functions. */
#include "arguments/bad_arguments.h"
#include "harness/harness.h"

#include <string.h>

/* The arguments of all four calls; each takes what it has. */
typedef struct arguments {
    int what; /* operator, mode, vote or match */
    int dtype;
    const void *input;
    void *output;
    size_t count;
    uint32_t width, operand, members;
} arguments;

static wr_status reduce(const void *args) {
    const arguments *of = args;
    return wr_tile_reduce((wr_op)of->what, (wr_dtype)of->dtype, of->input, of->output, of->count, of->width,
                          around.where->stream);
}
static wr_status shuffle(const void *args) {
    const arguments *of = args;
    return wr_tile_shuffle((wr_shuffle)of->what, (wr_dtype)of->dtype, of->input, of->output, of->count, of->width,
                           of->operand, around.where->stream);
}
static wr_status vote(const void *args) {
    const arguments *of = args;
    return wr_tile_vote((wr_vote)of->what, of->input, of->output, of->count, of->width, of->members,
                        around.where->stream);
}
static wr_status match(const void *args) {
    const arguments *of = args;
    return wr_tile_match((wr_match)of->what, (wr_dtype)of->dtype, of->input, of->output, of->count, of->width,
                         of->members, around.where->stream);
}

/* 100 lanes of i32 in tiles of 8. The first value of each enum is 1. */
static void put_valid(void *args) {
    arguments made = {1, WR_I32, NULL, NULL, 100, 8, 3, 0x7F};
    made.input = at(ARENA_INPUT);
    made.output = at(ARENA_OUTPUT);
    memcpy(args, &made, sizeof made);
}

enum { REDUCE, SHUFFLE, VOTE, MATCH, FUNCTIONS };
static const struct {
    subject of;
    int last_what;
    wr_status no_such_what;
    int has_dtype;
} functions[FUNCTIONS] = {
    {{{reduce, NULL, sizeof(arguments)}, put_valid}, WR_DOT_EXACT, WR_ERROR_INVALID_OP, 1},
    {{{shuffle, NULL, sizeof(arguments)}, put_valid}, WR_SHUFFLE_INDEX, WR_ERROR_INVALID_OPTION, 1},
    {{{vote, NULL, sizeof(arguments)}, put_valid}, WR_VOTE_BALLOT, WR_ERROR_INVALID_OPTION, 0},
    {{{match, NULL, sizeof(arguments)}, put_valid}, WR_MATCH_ALL, WR_ERROR_INVALID_OPTION, 1},
};

#define T(field, to) SET(arguments, field, to)
#define T_AT(field, byte) AT(arguments, field, byte)
#define T_FROM(from, to) T_AT(input, from), T_AT(output, to)

static const bad_call of_each_function[] = {
    FINE("the call that the others are made from", T(width, 8)),
    FINE("in place", T_AT(output, ARENA_INPUT)),
    CALL(NULL_POINTER, "input is NULL", T(input, 0)),
    CALL(NULL_POINTER, "output is NULL", T(output, 0)),
    CALL(MISALIGNED, "input", T_AT(input, ARENA_INPUT + 1)),
    CALL(MISALIGNED, "input", T_AT(input, ARENA_INPUT + 2)),
    CALL(MISALIGNED, "input", T_AT(input, ARENA_INPUT + 3)),
    CALL(MISALIGNED, "output", T_AT(output, ARENA_OUTPUT + 1)),
    CALL(MISALIGNED, "output", T_AT(output, ARENA_OUTPUT + 2)),
    CALL(MISALIGNED, "output", T_AT(output, ARENA_OUTPUT + 3)),
    CALL(OVERLAP, "output an element on", T_FROM(ARENA_OUTPUT, ARENA_OUTPUT + 4)),
    CALL(OVERLAP, "output an element before", T_FROM(ARENA_OUTPUT, ARENA_OUTPUT - 4)),
    CALL(OVERLAP, "output on the last element", T_FROM(ARENA_OUTPUT, ARENA_OUTPUT + 396)),
    CALL(OVERLAP, "output's last element on the first", T_FROM(ARENA_OUTPUT, ARENA_OUTPUT - 396)),
    CALL(OVERLAP, "output in the middle", T_FROM(ARENA_OUTPUT, ARENA_OUTPUT + 200)),
    FINE("output right behind the input", T_FROM(ARENA_OUTPUT, ARENA_OUTPUT + 400)),
    CALL(SIZE_OVERFLOW, "the largest count", T(count, SIZE_MAX)),
    CALL(SIZE_OVERFLOW, "2^64 bytes", T(count, SIZE_MAX / 4 + 1)),
    CALL(SIZE_OVERFLOW, "2^63 bytes", T(count, SIZE_MAX / 8 + 1)),
    CALL(SIZE_OVERFLOW, "beyond the end of the address space", T(input, UINTPTR_MAX - 7)),
    FINE("no lanes and no pointers", T(count, 0), T(input, 0), T(output, 0)),
    FINE("no lanes, any pointers", T(count, 0), T_FROM(1, 1)),
};
static const bad_call of_match[] = {
    CALL(OVERLAP, "masks into 8-byte elements", T(dtype, WR_F64), T_AT(output, ARENA_INPUT)),
    CALL(OVERLAP, "masks into bytes", T(dtype, WR_U8), T_AT(output, ARENA_INPUT)),
};

/* An operator that means nothing for the type, or in a tile. */
#define NOT_OF(op, type) CALL(UNSUPPORTED, "an operator that is not for the type", T(what, op), T(dtype, type))
static const bad_call of_reduce[] = {
    NOT_OF(WR_BIT_AND, WR_F32),       NOT_OF(WR_BIT_XOR, WR_F16),   NOT_OF(WR_MIN, WR_KOALABEAR),
    NOT_OF(WR_ARGMAX, WR_GOLDILOCKS), NOT_OF(WR_MEAN, WR_I32),      NOT_OF(WR_MEAN, WR_U8),
    NOT_OF(WR_MEAN, WR_BABYBEAR),     NOT_OF(WR_LOGSUMEXP, WR_I64), NOT_OF(WR_SUM_EXACT, WR_I32),
    NOT_OF(WR_SUM_EXACT, WR_F32),     NOT_OF(WR_DOT_EXACT, WR_F32),
};

static void check_call(int function, bad_call call) { check_bad_calls(&functions[function].of, &call, 1); }

static void check_enums(int function) {
    static const int bad_dtypes[] = {0, 21, 999, -1, INT32_MIN, WR_DTYPE_FORCE_INT32};
    const int bad_whats[] = {0, functions[function].last_what + 1, 999, -1, INT32_MIN, WR_OP_FORCE_INT32};
    size_t i;
    for (i = 0; i < COUNT_OF(bad_whats); ++i) {
        const bad_call call = {BY_CALL, functions[function].no_such_what, "what", {T(what, bad_whats[i])}};
        check_call(function, call);
    }
    for (i = 0; i < COUNT_OF(bad_dtypes) && functions[function].has_dtype; ++i) {
        const bad_call call = CALL(INVALID_DTYPE, "dtype", T(dtype, bad_dtypes[i]));
        check_call(function, call);
    }
}

static void check_widths(int function) {
    static const uint32_t bad[] = {0, 1, 3, 5, 6, 7, 9, 12, 24, 31, 33, 64, 0x80000000, 0xFFFFFFFF};
    size_t i, lanes;
    for (i = 0; i < COUNT_OF(bad); ++i) {
        for (lanes = 0; lanes <= 100; lanes += 100) {
            const bad_call call =
                CALL(INVALID_OPTION, "width", T(width, bad[i]), T(members, 0), T(operand, 0), T(count, lanes));
            check_call(function, call);
        }
    }
}

/* Lanes and members beyond the width. */
static void check_operands_and_members(void) {
    uint32_t width, i;
    for (width = 2; width <= 32; width *= 2) {
        const uint32_t operands[] = {width, width + 1, 0xFFFFFFFF},
                       members[] = {1u << (width & 31), 0x80000000, 0xFFFFFFFF};
        const bad_call last =
            FINE("XOR with the last lane", T(what, WR_SHUFFLE_XOR), T(width, width), T(operand, width - 1));
        for (i = 0; i < 3; ++i) {
            const bad_call lane = CALL(INVALID_OPTION, "XOR beyond the width", T(what, WR_SHUFFLE_XOR), T(width, width),
                                       T(operand, operands[i]));
            const bad_call member =
                CALL(INVALID_OPTION, "a member beyond the width", T(width, width), T(members, members[i]));
            check_call(SHUFFLE, lane);
            if (width < 32) {
                check_call(VOTE, member);
                check_call(MATCH, member);
            }
        }
        check_call(SHUFFLE, last);
    }
}

void check_bad_tiles(void) {
    int function;
    for (function = 0; function < FUNCTIONS; ++function) {
        check_bad_calls(&functions[function].of, of_each_function, COUNT_OF(of_each_function));
        check_enums(function);
        check_widths(function);
    }
    check_operands_and_members();
    check_bad_calls(&functions[MATCH].of, of_match, COUNT_OF(of_match));
    check_bad_calls(&functions[REDUCE].of, of_reduce, COUNT_OF(of_reduce));
}
