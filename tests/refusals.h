/* A call that is refused: it says why, and no byte of the memory around it has changed. */
#ifndef WARP_REDUCE_TESTS_REFUSALS_H
#define WARP_REDUCE_TESTS_REFUSALS_H

#include "places.h"
#include "warp_reduce.h"

/* One block of memory in a place, that a faulty call's pointers point into. */
enum { ARENA_BYTES = 16384, ARENA_INPUT = 0, ARENA_OUTPUT = 4096, ARENA_EXTRA = 8192, ARENA_WORKSPACE = 12288 };

typedef struct arena {
    const place *where;
    unsigned char *memory;
    unsigned char *before;
} arena;

arena arena_new(const place *where);
void arena_free(arena *used);

/* The call is to be refused with `expected`, and the arena to be as it was. */
void expect_refusal(const arena *around, wr_status expected, wr_status got, const char *label);

/* Puts the arena back to its first state. */
void arena_reset(const arena *used);

#endif
