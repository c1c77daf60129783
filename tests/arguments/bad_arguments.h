/*
 * Calls that are refused, as one table of text. A function has arguments with which it succeeds; a row sets some of
 * them to what is wrong, and says what must come of it. Settings stand behind each other, `dtype=f64 input=@i+4`.
 *
 * a,b: each of the values in turn. x | y: the one, then the other; with `p : x | y` what stands before the colon holds
 * for both. @o+4: the fifth byte of the arena's output (@i its input, @x what is extra, @w its workspace, @ alone its
 * begin). [@w]=1/5: no argument, but int64_t that lie there. 2^31-1: a sum; `needed` are the bytes of workspace that
 * the query asks for, `long` is the least length so that there are any. f32, sum: an element type, an operator. `scale`
 * takes what strtod does.
 */
#ifndef WARP_REDUCE_TESTS_BAD_ARGUMENTS_H
#define WARP_REDUCE_TESTS_BAD_ARGUMENTS_H

#include "harness/refusals.h"
#include "warp_reduce.h"

#include <stddef.h>

/* In the order of `functions`. */
enum {
    REDUCE = 1,
    REDUCE_SHORT = 2,
    DOT = 4,
    DOT_SHORT = 8,
    SEGMENTS = 0x10,
    SEGMENTS_SHORT = 0x20,
    SOFTMAX = 0x40,
    SOFTMAX_SHORT = 0x80,
    LOG_SOFTMAX_SHORT = 0x100,
    GRADIENT = 0x200,
    GRADIENT_SHORT = 0x400,
    LOG_GRADIENT_SHORT = 0x800,
    STATE = 0x1000,
    MERGE = 0x2000,
    FINISH = 0x4000,
    SOFTMAX_STATE = 0x8000,
    SOFTMAX_OUTPUTS = 0x10000,
    TILE_REDUCE = 0x20000,
    TILE_SHUFFLE = 0x40000,
    TILE_VOTE = 0x80000,
    TILE_MATCH = 0x100000,
    FUNCTIONS = 21
};

typedef struct field {
    const char *name;
    size_t at, size;
} field;

typedef struct function {
    const char *name;
    call_of_struct call; /* without a query: NULL */
    const field *fields; /* up to one without a name */
    const char *valid;   /* what makes a call that succeeds, but for MERGE and FINISH, whose states are none */
} function;

extern const function functions[FUNCTIONS];

typedef enum outcome {
    QUERY,  /* refused, and by the workspace query too if the function has one, which follows no pointer */
    CALL,   /* refused; of success: nothing is written */
    HOST,   /* refused, or allowed, by the host device; a GPU does not look at it, and is not asked */
    NEEDED, /* refused, where the query says that a workspace is needed, as it must on a GPU */
    ASKED,  /* the query takes it */
    SIZED,  /* a valid call: NULL and any other struct_size are refused */
    FINE    /* it is allowed */
} outcome;

typedef struct bad_call {
    int of; /* bits of functions */
    outcome what;
    wr_status status;
    const char *settings;
} bad_call;

extern const bad_call bad_calls[];
extern const size_t bad_call_count;

#endif
