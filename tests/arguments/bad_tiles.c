/* Tile functions. */
#include "arguments/bad_arguments.h"
#include "harness/harness.h"

#include <stdint.h>

/* The arguments of all four calls; each takes what it has. */
typedef struct arguments {
    int what;
    int dtype;
    const void *input;
    void *output;
    size_t count;
    uint32_t width, operand, members;
} arguments;

typedef wr_status tile_function(const arguments *given);

static wr_status reduce(const arguments *given) {
    return wr_tile_reduce((wr_op)given->what, (wr_dtype)given->dtype, given->input, given->output, given->count,
                          given->width, around.where->stream);
}

static wr_status shuffle(const arguments *given) {
    return wr_tile_shuffle((wr_shuffle)given->what, (wr_dtype)given->dtype, given->input, given->output, given->count,
                           given->width, given->operand, around.where->stream);
}

static wr_status vote(const arguments *given) {
    return wr_tile_vote((wr_vote)given->what, given->input, given->output, given->count, given->width, given->members,
                        around.where->stream);
}

static wr_status match(const arguments *given) {
    return wr_tile_match((wr_match)given->what, (wr_dtype)given->dtype, given->input, given->output, given->count,
                         given->width, given->members, around.where->stream);
}

typedef struct function {
    const char *name;
    tile_function *call;
    /* values of the first argument that there are not, and their code */
    int first_what, last_what;
    wr_status no_such_what;
    int has_dtype;
} function;

static const function functions[] = {
    {"reduce", reduce, WR_SUM, WR_DOT_EXACT, WR_ERROR_INVALID_OP, 1},
    {"shuffle", shuffle, WR_SHUFFLE_UP, WR_SHUFFLE_INDEX, WR_ERROR_INVALID_OPTION, 1},
    {"vote", vote, WR_VOTE_ANY, WR_VOTE_BALLOT, WR_ERROR_INVALID_OPTION, 0},
    {"match", match, WR_MATCH_ANY, WR_MATCH_ALL, WR_ERROR_INVALID_OPTION, 1},
};
enum { FUNCTIONS = sizeof functions / sizeof *functions };

/* A call that would succeed: 100 lanes in tiles of 8. The first value of each enum is 1. */
static arguments valid(void) {
    arguments given = {1, WR_U32, NULL, NULL, 100, 8, 3, 0x7F};
    given.input = at(ARENA_INPUT);
    given.output = at(ARENA_OUTPUT);
    return given;
}

static void expect(wr_status expected, const function *of, const arguments *given, const char *label) {
    wr_status got = of->call(given);
    CHECK(got == expected, "%s: %s", of->name, label);
    expect_refusal(expected, got, label);
}

static void check_valid_call_succeeds(const function *of) {
    arguments given = valid();
    given.dtype = WR_I32;
    CHECK(of->call(&given) == WR_SUCCESS, "%s: the call that the others are made from", of->name);
    given.output = at(ARENA_INPUT);
    CHECK(of->call(&given) == WR_SUCCESS, "%s: in place", of->name);
    arena_reset();
}

static void check_enums(const function *of) {
    static const int bad_dtypes[] = {0, 21, 999, -1, INT32_MIN, WR_DTYPE_FORCE_INT32};
    int bad_whats[] = {0, 0, 999, -1, INT32_MIN, WR_OP_FORCE_INT32};
    size_t i;
    arguments given;
    bad_whats[1] = of->last_what + 1;
    for (i = 0; i < sizeof bad_whats / sizeof *bad_whats; ++i) {
        given = valid();
        given.what = bad_whats[i];
        expect(of->no_such_what, of, &given, "operator, mode, vote or match");
    }
    for (i = 0; i < sizeof bad_dtypes / sizeof *bad_dtypes && of->has_dtype; ++i) {
        given = valid();
        given.dtype = bad_dtypes[i];
        expect(WR_ERROR_INVALID_DTYPE, of, &given, "dtype");
    }
}

static void check_widths(const function *of) {
    static const uint32_t bad[] = {0, 1, 3, 5, 6, 7, 9, 12, 24, 31, 33, 64, 0x80000000, 0xFFFFFFFF};
    size_t i;
    for (i = 0; i < sizeof bad / sizeof *bad; ++i) {
        arguments given = valid();
        given.dtype = WR_I32;
        given.width = bad[i];
        given.members = 0;
        given.operand = 0;
        expect(WR_ERROR_INVALID_OPTION, of, &given, "width");
        given.count = 0;
        expect(WR_ERROR_INVALID_OPTION, of, &given, "width, of no lanes");
    }
}

static void check_operands(void) {
    const function *of = &functions[1];
    arguments given = valid();
    uint32_t width;
    given.what = WR_SHUFFLE_XOR;
    for (width = 2; width <= 32; width *= 2) {
        given.width = width;
        given.operand = width;
        expect(WR_ERROR_INVALID_OPTION, of, &given, "XOR with the width");
        given.operand = width + 1;
        expect(WR_ERROR_INVALID_OPTION, of, &given, "XOR beyond the width");
        given.operand = 0xFFFFFFFF;
        expect(WR_ERROR_INVALID_OPTION, of, &given, "XOR far beyond the width");
        given.operand = width - 1;
        CHECK(of->call(&given) == WR_SUCCESS, "XOR with the last lane");
        arena_reset();
    }
}

static void check_members(const function *of) {
    uint32_t width;
    for (width = 2; width <= 16; width *= 2) {
        arguments given = valid();
        given.width = width;
        given.members = UINT32_C(1) << width;
        expect(WR_ERROR_INVALID_OPTION, of, &given, "the first member beyond the width");
        given.members = 0x80000000;
        expect(WR_ERROR_INVALID_OPTION, of, &given, "a member far beyond the width");
        given.members = 0xFFFFFFFF;
        expect(WR_ERROR_INVALID_OPTION, of, &given, "all 32 members");
    }
}

static void check_pointers(const function *of) {
    arguments given = valid();
    size_t i;
    given.dtype = WR_I32;
    given.input = NULL;
    expect(WR_ERROR_NULL_POINTER, of, &given, "input is NULL");
    given.input = at(ARENA_INPUT);
    given.output = NULL;
    expect(WR_ERROR_NULL_POINTER, of, &given, "output is NULL");
    for (i = 1; i < 4; ++i) {
        given.input = at(ARENA_INPUT + i);
        given.output = at(ARENA_OUTPUT);
        expect(WR_ERROR_MISALIGNED, of, &given, "input");
        given.input = at(ARENA_INPUT);
        given.output = at(ARENA_OUTPUT + i);
        expect(WR_ERROR_MISALIGNED, of, &given, "output");
    }
}

static void check_overlap(const function *of) {
    static const ptrdiff_t distances[] = {4, -4, 396, -396, 200};
    arguments given = valid();
    size_t i;
    given.dtype = WR_I32;
    given.input = at(ARENA_OUTPUT);
    for (i = 0; i < sizeof distances / sizeof *distances; ++i) {
        given.output = at((size_t)(ARENA_OUTPUT + distances[i]));
        expect(WR_ERROR_OVERLAP, of, &given, "output shifted against the input");
    }
    given.output = at(ARENA_OUTPUT + 400);
    CHECK(of->call(&given) == WR_SUCCESS, "%s: output right behind the input", of->name);
    arena_reset();
}

static void check_overlap_of_unlike_elements(void) {
    arguments given = valid();
    given.output = at(ARENA_INPUT);
    given.dtype = WR_F64;
    expect(WR_ERROR_OVERLAP, &functions[3], &given, "masks into 8-byte elements");
    given.dtype = WR_U8;
    expect(WR_ERROR_OVERLAP, &functions[3], &given, "masks into bytes");
}

static void check_sizes(const function *of) {
    static const size_t bad[] = {SIZE_MAX, SIZE_MAX / 4 + 1, SIZE_MAX / 8 + 1};
    arguments given = valid();
    size_t i;
    given.dtype = WR_I32;
    for (i = 0; i < sizeof bad / sizeof *bad; ++i) {
        given.count = bad[i];
        expect(WR_ERROR_SIZE_OVERFLOW, of, &given, "count");
    }
    given.count = 100;
    given.input = (const void *)(UINTPTR_MAX - 7);
    expect(WR_ERROR_SIZE_OVERFLOW, of, &given, "beyond the end of the address space");
}

static void check_no_lanes(const function *of) {
    arguments given = valid();
    given.dtype = WR_I32;
    given.count = 0;
    given.input = given.output = NULL;
    CHECK(of->call(&given) == WR_SUCCESS, "%s: no lanes and no pointers", of->name);
    given.input = at(1);
    given.output = at(1);
    CHECK(of->call(&given) == WR_SUCCESS, "%s: no lanes, any pointers", of->name);
}

static void check_combinations(void) {
    static const int pairs[][2] = {{WR_BIT_AND, WR_F32},       {WR_BIT_XOR, WR_F16},   {WR_MIN, WR_KOALABEAR},
                                   {WR_ARGMAX, WR_GOLDILOCKS}, {WR_MEAN, WR_I32},      {WR_MEAN, WR_U8},
                                   {WR_MEAN, WR_BABYBEAR},     {WR_LOGSUMEXP, WR_I64}, {WR_SUM_EXACT, WR_I32},
                                   {WR_SUM_EXACT, WR_F32},     {WR_DOT_EXACT, WR_F32}};
    size_t i;
    for (i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        arguments given = valid();
        given.what = pairs[i][0];
        given.dtype = pairs[i][1];
        expect(WR_ERROR_UNSUPPORTED, &functions[0], &given, "an operator that means nothing for the type");
    }
}

static void check_function(const function *of) {
    check_valid_call_succeeds(of);
    check_enums(of);
    check_widths(of);
    check_pointers(of);
    check_overlap(of);
    check_sizes(of);
    check_no_lanes(of);
}

void check_bad_tiles(void) {
    size_t i;
    for (i = 0; i < FUNCTIONS; ++i) {
        check_function(&functions[i]);
    }
    check_operands();
    check_members(&functions[2]);
    check_members(&functions[3]);
    check_overlap_of_unlike_elements();
    check_combinations();
}
