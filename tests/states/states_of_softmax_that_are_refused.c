/*
 * A state of softmax that is not what a call says, in any byte of its header, is refused with a status of its own: on
 * the host by the call, on a GPU by *check; then outputs are as they were, and what was to be merged is refused in
 * turn. Arguments that are wrong whatever the bytes have their own codes everywhere.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, LEFT = 1500, RIGHT = 1100, WHOLE = LEFT + RIGHT, HEADER = 128, POISON = 0x5A };

/* States of [0, LEFT), [LEFT, WHOLE), [0, WHOLE), and room for outputs, in a place. */
typedef struct states {
    const place *where;
    float *input, *output;
    unsigned char *left, *right, *whole, *merged;
    size_t left_bytes, right_bytes, whole_bytes;
    int32_t *check;
} states;

static wr_state_args state_args(const states *of, size_t first, size_t count) {
    wr_state_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = WR_LOGSUMEXP;
    args.dtype = WR_F32;
    args.outer = ROWS;
    args.inner = 1;
    args.first = first;
    args.count = count;
    args.scale = 0.5;
    args.check = of->check;
    return args;
}

static wr_state_args merge_args(const states *of) {
    wr_state_args args = state_args(of, 0, LEFT);
    args.right_count = RIGHT;
    args.state = of->left;
    args.state_bytes = of->left_bytes;
    args.right = of->right;
    args.right_bytes = of->right_bytes;
    args.merged = of->merged;
    args.merged_bytes = of->whole_bytes;
    return args;
}

static wr_state_args finish_args(const states *of) {
    wr_state_args args = state_args(of, 0, WHOLE);
    args.state = of->whole;
    args.state_bytes = of->whole_bytes;
    args.output = of->output;
    return args;
}

static wr_softmax_args piece_args(const states *of, size_t first, size_t count) {
    wr_softmax_args args = softmax_args(WR_F32, ROWS, count, 1);
    args.input = of->input + first;
    args.output = of->output;
    args.scale = 0.5;
    args.strides_given = 1;
    args.outer_stride = WHOLE;
    args.axis_stride = 1;
    args.inner_stride = 1;
    return args;
}

static wr_status write_state(const states *of, size_t first, size_t count, unsigned char *state, size_t bytes) {
    wr_softmax_args args = piece_args(of, first, count);
    return wr_softmax_state(&args, first, state, bytes, of->check, of->where->stream);
}

/* The right piece's outputs. */
static wr_status write_outputs(const states *of) {
    wr_softmax_args args = piece_args(of, LEFT, RIGHT);
    return wr_softmax_from_state(&args, LEFT, WHOLE, of->whole, of->left, NULL, of->check, of->where->stream);
}

static size_t size_of(const states *of, size_t first, size_t count) {
    wr_state_args args = state_args(of, first, count);
    size_t bytes = 0;
    CHECK(wr_state_size(&args, &bytes, NULL) == WR_SUCCESS, "size");
    return bytes;
}

static void fill(const place *where, void *memory, int byte, size_t bytes) {
    unsigned char *filler = malloc(bytes);
    if (filler == NULL) {
        give_up("no memory");
    }
    memset(filler, byte, bytes);
    place_write(where, memory, filler, bytes);
    free(filler);
}

static int is_filled(const place *where, const void *memory, int byte, size_t bytes) {
    unsigned char *found = malloc(bytes);
    size_t i;
    if (found == NULL) {
        give_up("no memory");
    }
    place_read(where, memory, found, bytes);
    for (i = 0; i < bytes && found[i] == byte; ++i) {
    }
    free(found);
    return i == bytes;
}

static void open_states(states *of, const place *where) {
    float input[ROWS * WHOLE];
    size_t i;
    of->where = where;
    of->check = place_allocate(where, sizeof *of->check);
    of->input = place_allocate(where, sizeof input);
    of->output = place_allocate(where, sizeof input);
    of->left_bytes = size_of(of, 0, LEFT);
    of->right_bytes = size_of(of, LEFT, RIGHT);
    of->whole_bytes = size_of(of, 0, WHOLE);
    of->left = place_allocate(where, of->left_bytes);
    of->right = place_allocate(where, of->right_bytes);
    of->whole = place_allocate(where, of->whole_bytes + 16);
    of->merged = place_allocate(where, of->whole_bytes);
    for (i = 0; i < ROWS * WHOLE; ++i) {
        input[i] = (float)(i * 37 % 101) / 8.0f;
    }
    place_write(where, of->input, input, sizeof input);
    CHECK(write_state(of, 0, LEFT, of->left, of->left_bytes) == WR_SUCCESS &&
              write_state(of, LEFT, RIGHT, of->right, of->right_bytes) == WR_SUCCESS &&
              write_state(of, 0, WHOLE, of->whole, of->whole_bytes) == WR_SUCCESS,
          "states in %s", where->name);
}

static void close_states(states *of) {
    place_free(of->where, of->check);
    place_free(of->where, of->input);
    place_free(of->where, of->output);
    place_free(of->where, of->left);
    place_free(of->where, of->right);
    place_free(of->where, of->whole);
    place_free(of->where, of->merged);
}

/* What the call says on the host, and *check on a GPU, where the call itself succeeds. */
static void check_refused(const states *of, wr_status returned, wr_status wanted, const char *what, size_t byte) {
    int32_t told = -1;
    place_read(of->where, of->check, &told, sizeof told);
    CHECK(told == (int32_t)wanted && returned == (of->where->on_gpu ? WR_SUCCESS : wanted),
          "%s in %s, byte %lu: %s, told %d instead of %d", what, of->where->name, (unsigned long)byte,
          wr_status_name(returned), (int)told, (int)wanted);
    CHECK(is_filled(of->where, of->output, POISON, sizeof(float) * ROWS * WHOLE), "%s in %s: output is written", what,
          of->where->name);
}

/* Every call that reads `state`, when one byte of its header is another one. */
static void check_damaged(const states *of, unsigned char *state, size_t byte, int is_left, int is_right) {
    unsigned char good, bad;
    wr_state_args merge = merge_args(of), finish = finish_args(of);
    place_read(of->where, state + byte, &good, 1);
    bad = (unsigned char)(good ^ (1u << byte % 8));
    place_write(of->where, state + byte, &bad, 1);
    fill(of->where, of->merged, POISON, of->whole_bytes);
    if (is_left || is_right) {
        check_refused(of, wr_state_merge(&merge, of->where->stream), WR_ERROR_INVALID_STATE, "merge", byte);
        if (of->where->on_gpu) { /* what was merged is refused in turn */
            finish.state = of->merged;
            check_refused(of, wr_state_finish(&finish, of->where->stream), WR_ERROR_INVALID_STATE, "merged", byte);
        } else {
            CHECK(is_filled(of->where, of->merged, POISON, of->whole_bytes), "merge, byte %lu: written",
                  (unsigned long)byte);
        }
    } else {
        check_refused(of, wr_state_finish(&finish, of->where->stream), WR_ERROR_INVALID_STATE, "finish", byte);
    }
    if (!is_right) {
        check_refused(of, write_outputs(of), WR_ERROR_INVALID_STATE, "outputs", byte);
    }
    place_write(of->where, state + byte, &good, 1);
}

/* Sound states, but of something else. */
static void check_others(const states *of) {
    wr_state_args args = finish_args(of);
    wr_softmax_args piece = piece_args(of, LEFT, RIGHT);
    args.scale = 0.25;
    check_refused(of, wr_state_finish(&args, of->where->stream), WR_ERROR_STATE_MISMATCH, "another scale", 0);
    args = finish_args(of);
    args.dtype = WR_F16;
    args.output_dtype = WR_F32;
    check_refused(of, wr_state_finish(&args, of->where->stream), WR_ERROR_STATE_MISMATCH, "another type", 0);
    args = finish_args(of);
    args.outer = 1;
    args.inner = ROWS;
    check_refused(of, wr_state_finish(&args, of->where->stream), WR_ERROR_STATE_MISMATCH, "another shape", 0);
    args = finish_args(of);
    args.count = WHOLE - 1;
    check_refused(of, wr_state_finish(&args, of->where->stream), WR_ERROR_NOT_NEIGHBOUR, "another count", 0);
    args = merge_args(of);
    args.right = of->left;
    args.right_bytes = of->left_bytes;
    args.right_count = 400;
    args.merged_bytes = size_of(of, 0, LEFT + 400);
    args.merged = place_allocate(of->where, args.merged_bytes);
    check_refused(of, wr_state_merge(&args, of->where->stream), WR_ERROR_NOT_NEIGHBOUR, "the left one as the right one",
                  0);
    place_free(of->where, args.merged);
    check_refused(of,
                  wr_softmax_from_state(&piece, LEFT, WHOLE, of->whole, of->whole, NULL, of->check, of->where->stream),
                  WR_ERROR_NOT_NEIGHBOUR, "another neighbour", 0);
}

/* Said by the call itself in every place; nothing is written. */
#define SAYS(call, wanted) CHECK((call) == (wanted), "%s in %s", #call, of->where->name)

static void check_arguments_of_softmax(const states *of) {
    struct CUstream_st *stream = of->where->stream;
    wr_softmax_args args = piece_args(of, LEFT, RIGHT);
    const int64_t offsets[2] = {0, 0};
    SAYS(wr_softmax_state(NULL, 0, of->right, of->right_bytes, NULL, stream), WR_ERROR_NULL_POINTER);
    SAYS(wr_softmax_state(&args, LEFT, NULL, of->right_bytes, NULL, stream), WR_ERROR_NULL_POINTER);
    SAYS(wr_softmax_state(&args, LEFT, of->right, of->right_bytes - 1, NULL, stream), WR_ERROR_INVALID_STATE);
    SAYS(wr_softmax_state(&args, LEFT, of->right + 8, of->right_bytes, NULL, stream), WR_ERROR_MISALIGNED);
    SAYS(wr_softmax_state(&args, LEFT, of->input, of->right_bytes, NULL, stream), WR_ERROR_OVERLAP);
    SAYS(wr_softmax_state(&args, LEFT, of->right, of->right_bytes, (int32_t *)of->right, stream), WR_ERROR_OVERLAP);
    SAYS(wr_softmax_state(&args, (size_t)1 << 63, of->right, of->right_bytes, NULL, stream), WR_ERROR_SIZE_OVERFLOW);
    SAYS(wr_softmax_from_state(&args, LEFT, WHOLE, NULL, of->left, NULL, NULL, stream), WR_ERROR_NULL_POINTER);
    SAYS(wr_softmax_from_state(&args, LEFT, WHOLE, of->whole, NULL, NULL, NULL, stream), WR_ERROR_NULL_POINTER);
    SAYS(wr_softmax_from_state(&args, LEFT, WHOLE + 1, of->whole, of->left, NULL, NULL, stream), WR_ERROR_NULL_POINTER);
    SAYS(wr_softmax_from_state(&args, LEFT, WHOLE - 1, of->whole, of->left, NULL, NULL, stream),
         WR_ERROR_NOT_NEIGHBOUR);
    args.output = of->whole;
    SAYS(wr_softmax_from_state(&args, LEFT, WHOLE, of->whole, of->left, NULL, NULL, stream), WR_ERROR_OVERLAP);
    args = piece_args(of, LEFT, RIGHT);
    args.offsets = offsets;
    SAYS(wr_softmax_state(&args, LEFT, of->right, of->right_bytes, NULL, stream), WR_ERROR_UNSUPPORTED);
    args = piece_args(of, LEFT, RIGHT);
    args.causal = 1; /* of matrices whose rows nobody has counted */
    SAYS(wr_softmax_state(&args, LEFT, of->right, of->right_bytes, NULL, stream), WR_ERROR_INVALID_OPTION);
    args = piece_args(of, LEFT, RIGHT);
    args.scale = (double)INFINITY;
    SAYS(wr_softmax_state(&args, LEFT, of->right, of->right_bytes, NULL, stream), WR_ERROR_INVALID_OPTION);
    args = piece_args(of, LEFT, RIGHT);
    args.dtype = WR_I32;
    SAYS(wr_softmax_state(&args, LEFT, of->right, of->right_bytes, NULL, stream), WR_ERROR_UNSUPPORTED);
    args = piece_args(of, LEFT, RIGHT);
    args.struct_size = 1;
    SAYS(wr_softmax_state(&args, LEFT, of->right, of->right_bytes, NULL, stream), WR_ERROR_STRUCT_SIZE);
}

static void check_arguments_of_states(const states *of) {
    struct CUstream_st *stream = of->where->stream;
    wr_state_args args = merge_args(of);
    size_t bytes = 0;
    args.right = NULL;
    SAYS(wr_state_merge(&args, stream), WR_ERROR_NULL_POINTER);
    args = merge_args(of);
    args.right_bytes -= 4;
    SAYS(wr_state_merge(&args, stream), WR_ERROR_INVALID_STATE);
    args = merge_args(of);
    args.merged_bytes -= 4;
    SAYS(wr_state_merge(&args, stream), WR_ERROR_INVALID_STATE);
    args = merge_args(of);
    args.merged = of->right;
    args.merged_bytes = of->whole_bytes;
    SAYS(wr_state_merge(&args, stream), WR_ERROR_OVERLAP);
    args = finish_args(of);
    args.first = LEFT;
    args.count = RIGHT;
    args.state = of->right;
    args.state_bytes = of->right_bytes;
    SAYS(wr_state_finish(&args, stream), WR_ERROR_NOT_NEIGHBOUR);
    args = finish_args(of);
    args.output = NULL;
    SAYS(wr_state_finish(&args, stream), WR_ERROR_NULL_POINTER);
    args = finish_args(of);
    args.nan_mode = WR_NAN_IGNORE;
    SAYS(wr_state_finish(&args, stream), WR_ERROR_UNSUPPORTED);
    args = finish_args(of);
    args.first = (size_t)1 << 62;
    args.count = (size_t)1 << 62;
    SAYS(wr_state_size(&args, &bytes, NULL), WR_ERROR_SIZE_OVERFLOW);
    SAYS(wr_state_size(&args, NULL, NULL), WR_ERROR_NULL_POINTER);
}

/* wr_state_reduce makes the same state; a long axis is no reason for a large one. */
static void check_sizes(const states *of) {
    wr_state_args args = state_args(of, 0, WHOLE);
    size_t bytes = 0;
    args.input = of->input;
    args.state = of->merged;
    args.state_bytes = of->whole_bytes;
    SAYS(wr_state_reduce(&args, of->where->stream), WR_SUCCESS);
    {
        unsigned char *a = malloc(of->whole_bytes), *b = malloc(of->whole_bytes);
        if (a == NULL || b == NULL) {
            give_up("no memory");
        }
        place_read(of->where, of->merged, a, of->whole_bytes);
        place_read(of->where, of->whole, b, of->whole_bytes);
        CHECK(memcmp(a, b, of->whole_bytes) == 0, "wr_state_reduce in %s: another state", of->where->name);
        free(a);
        free(b);
    }
    args.first = 1024;
    args.count = ((size_t)1 << 50) - 1024;
    CHECK(wr_state_size(&args, &bytes, NULL) == WR_SUCCESS && bytes == HEADER + ROWS * 40 * 16, "%lu bytes",
          (unsigned long)bytes);
}

/* Outputs from a state that is none: of so many rows, or of columns, that another
 * kernel of a GPU writes them than the one that judges. */
static void check_outputs_of(const place *where, size_t outer, size_t axis, size_t inner, wr_dtype output_dtype) {
    size_t elements = outer * axis * inner, bytes = 0;
    wr_softmax_args args = softmax_args(WR_F32, outer, axis, inner);
    wr_state_args sized;
    void *input = place_allocate(where, elements * sizeof(float)),
         *output = place_allocate(where, elements * sizeof(float)), *whole;
    int32_t *check = place_allocate(where, sizeof *check), told = 0;
    memset(&sized, 0, sizeof sized);
    sized.struct_size = sizeof sized;
    sized.op = WR_LOGSUMEXP;
    sized.dtype = WR_F32;
    sized.outer = outer;
    sized.inner = inner;
    sized.count = axis;
    CHECK(wr_state_size(&sized, &bytes, NULL) == WR_SUCCESS, "size");
    whole = place_allocate(where, bytes);
    fill(where, input, 0, elements * sizeof(float));
    fill(where, output, POISON, elements * sizeof(float));
    fill(where, whole, POISON, bytes);
    args.input = input;
    args.output = output;
    args.output_dtype = output_dtype;
    (void)wr_softmax_from_state(&args, 0, axis, whole, NULL, NULL, check, where->stream);
    place_read(where, check, &told, sizeof told);
    CHECK(told == WR_ERROR_INVALID_STATE, "in %s the check says %d", where->name, (int)told);
    CHECK(is_filled(where, output, POISON, elements * sizeof(float)), "%lu x %lu x %lu in %s: outputs are written",
          (unsigned long)outer, (unsigned long)axis, (unsigned long)inner, where->name);
    place_free(where, input);
    place_free(where, output);
    place_free(where, whole);
    place_free(where, check);
}

static void check_place(const place *where) {
    states of;
    wr_state_args merge;
    size_t byte;
    open_states(&of, where);
    fill(where, of.output, POISON, sizeof(float) * ROWS * WHOLE);
    for (byte = 0; byte < HEADER; ++byte) {
        check_damaged(&of, of.left, byte, 1, 0);
        check_damaged(&of, of.right, byte, 0, 1);
        check_damaged(&of, of.whole, byte, 0, 0);
    }
    check_others(&of);
    check_arguments_of_softmax(&of);
    check_arguments_of_states(&of);
    CHECK(is_filled(where, of.output, POISON, sizeof(float) * ROWS * WHOLE), "output in %s is written", where->name);
    check_sizes(&of);
    merge = merge_args(&of);
    CHECK(wr_state_merge(&merge, where->stream) == WR_SUCCESS && write_outputs(&of) == WR_SUCCESS, "all is well in %s",
          where->name);
    CHECK(!is_filled(where, of.output, POISON, sizeof(float) * ROWS * WHOLE), "output in %s", where->name);
    close_states(&of);
    check_outputs_of(where, 1300, 1024, 1, WR_F32);
    check_outputs_of(where, 1300, 1024, 1, WR_BF16);
    check_outputs_of(where, 1, 1500, 3, WR_F32);
}

int main(int argc, char **argv) {
    size_t p;
    places_open(argc, argv);
    for (p = 0; p < place_count(); ++p) {
        check_place(place_at(p));
    }
    places_close();
    return check_report("states_of_softmax_that_are_refused");
}
