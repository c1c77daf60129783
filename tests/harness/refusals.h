/* A call that is refused: it says why, and no byte of the memory around it has changed. */
#ifndef WARP_REDUCE_TESTS_REFUSALS_H
#define WARP_REDUCE_TESTS_REFUSALS_H

#include "harness/places.h"
#include "warp_reduce.h"

/* One block of memory in a place, that a faulty call's pointers point into. */
enum { ARENA_BYTES = 16384, ARENA_INPUT = 0, ARENA_OUTPUT = 4096, ARENA_EXTRA = 8192, ARENA_WORKSPACE = 12288 };

typedef struct arena {
    const place *where;
    unsigned char *memory;
    unsigned char *before;
} arena;

/* That of the place where calls are being tried. */
extern arena around;

/* The arena's byte of that number. */
void *at(size_t offset);

/* Puts the arena back to its first state. */
void arena_reset(void);

/* The whole of such a test: tries the calls in every place, each with an arena of its own, and reports. */
int try_refusals(int argc, char **argv, void (*try_all)(void), const char *name);

/* The call is to be refused with `expected`, and the arena to be as it was. */
void expect_refusal(wr_status expected, wr_status got, const char *label);

/* A call by way of its struct, and its workspace query; the struct begins with its own size. */
typedef struct call_of_struct {
    wr_status (*run)(const void *args);
    wr_status (*query)(const void *args, size_t *bytes);
    size_t struct_size;
} call_of_struct;

void expect_call_refused(const call_of_struct *call, wr_status expected, const void *args, const char *label);

/* What is wrong without looking at a pointer: the workspace query refuses it too, and leaves its result alone. */
void expect_query_refused_too(const call_of_struct *call, wr_status expected, const void *args, const char *label);

/* Puts the arena back afterwards. */
void expect_call_allowed(const call_of_struct *call, const void *args, const char *label);

/* NULL, and every size but the struct's own, in arguments that are valid otherwise. */
void check_struct_sizes(const call_of_struct *call, const void *valid);

#endif
