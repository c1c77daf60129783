/*
 * Softmax's rows that are cut into pieces, and the states of the pieces in a place: made there with a margin behind
 * them, read back, and what their check tells.
 */
#ifndef WARP_REDUCE_TESTS_SOFTMAX_STATES_H
#define WARP_REDUCE_TESTS_SOFTMAX_STATES_H
#include "harness/harness.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_PIECES = 12, MARGIN = 64, POISON = 0xE7, BLOCK = 1024 };

/* Whole rows, and where they are cut: piece i is [cuts[i], cuts[i + 1]). */
typedef struct cut_job {
    wr_softmax_args args;
    size_t cuts[MOST_PIECES + 1];
    size_t pieces;
    uint64_t seed;
    size_t input_elements; /* of the strided array */
    size_t origin;         /* of the element [0][0][0] in it */
    char label[240];
} cut_job;

/* What one call on the host gives, and its arrays. */
typedef struct whole_job {
    unsigned char *input, *mask, *output, *state;
    int64_t *lengths;
    unsigned char *logsumexp;
    size_t state_bytes;
} whole_job;

static void *allocated(size_t bytes) {
    void *memory = malloc(bytes + 1);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

static size_t rows_of(const cut_job *job) { return job->args.outer * job->args.inner; }
static size_t output_size(const cut_job *job) { return reference_size(job->args.output_dtype); }

static wr_state_args state_args(const cut_job *job, size_t first, size_t count) {
    wr_state_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = WR_LOGSUMEXP;
    args.dtype = job->args.dtype;
    args.output_dtype = softmax_state_dtype(job->args.dtype);
    args.outer = job->args.outer;
    args.inner = job->args.inner;
    args.first = first;
    args.count = count;
    args.scale = job->args.scale;
    return args;
}

static size_t bytes_of_state(const cut_job *job, size_t first, size_t count) {
    wr_state_args args = state_args(job, first, count);
    size_t bytes = 0;
    CHECK(wr_state_size(&args, &bytes, NULL) == WR_SUCCESS, "%s: size of %lu + %lu", job->label, (unsigned long)first,
          (unsigned long)count);
    return bytes;
}

/* A state in a place, with room behind it that must stay as it is. */
typedef struct placed_state {
    size_t first, count, bytes;
    unsigned char *memory;
} placed_state;

static placed_state new_state(const place *where, const cut_job *job, size_t first, size_t count, size_t room) {
    placed_state state;
    unsigned char *poison;
    size_t all;
    state.first = first;
    state.count = count;
    state.bytes = bytes_of_state(job, first, count);
    all = (state.bytes > room ? state.bytes : room) + MARGIN;
    state.memory = place_allocate(where, all);
    poison = allocated(all);
    memset(poison, POISON, all);
    place_write(where, state.memory, poison, all);
    free(poison);
    return state;
}

/* Its bytes on the host; the margin behind them is as it was. */
static unsigned char *state_bytes(const place *where, const cut_job *job, const placed_state *state) {
    unsigned char *bytes = allocated(state->bytes + MARGIN);
    size_t i;
    place_read(where, state->memory, bytes, state->bytes + MARGIN);
    for (i = 0; i < MARGIN && bytes[state->bytes + i] == POISON; ++i) {
    }
    CHECK(i == MARGIN, "%s in %s: written behind the state of %lu + %lu", job->label, where->name,
          (unsigned long)state->first, (unsigned long)state->count);
    return bytes;
}

static void check_told(const place *where, const int32_t *check, const cut_job *job, const char *what) {
    int32_t told = -1;
    place_read(where, check, &told, sizeof told);
    CHECK(told == WR_SUCCESS, "%s in %s: %s told %d", job->label, where->name, what, (int)told);
}

#endif
