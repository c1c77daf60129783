/*
 * A state that is damaged, foreign, of another reduction or of other elements is refused with its own status, in every
 * place: on the host device by the call, on a GPU by what it writes to `check`; nothing else is written, but that a
 * GPU's merged state becomes one that is refused in turn. What the arguments alone show is refused at once.
 */
#include "harness/harness.h"
#include "harness/places.h"

#include <string.h>

enum { HEADER = 128, LEFT = 5, RIGHT = 11, OUTER = 2, INNER = 3, OUTPUTS = OUTER * INNER, ROOM = 8192, POISON = 0x5A };

static const place *here;

/* Places in one allocation. */
typedef struct memory {
    unsigned char *base;
    unsigned char *input, *left, *right, *merged, *output;
    int32_t *check;
} memory;
static memory m;

static wr_state_args args_of(wr_op op, wr_dtype dtype) {
    wr_state_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = dtype;
    args.outer = OUTER;
    args.inner = INNER;
    args.count = LEFT;
    args.right_count = RIGHT;
    args.input = m.input;
    args.state = m.left;
    args.state_bytes = ROOM;
    args.right = m.right;
    args.right_bytes = ROOM;
    args.merged = m.merged;
    args.merged_bytes = ROOM;
    args.output = m.output;
    args.check = m.check;
    return args;
}

static void reduce(wr_state_args args, size_t first, size_t count, void *state) {
    args.first = first;
    args.count = count;
    args.state = state;
    CHECK(wr_state_reduce(&args, here->stream) == WR_SUCCESS, "a piece of %d", (int)args.op);
}

static void poison(void *where, size_t bytes) {
    unsigned char block[ROOM];
    memset(block, POISON, sizeof block);
    place_write(here, where, block, bytes);
}

static int is_poison(const void *where, size_t bytes) {
    unsigned char block[ROOM];
    size_t i;
    place_read(here, where, block, bytes);
    for (i = 0; i < bytes && block[i] == POISON; ++i) {
    }
    return i == bytes;
}

static wr_status told(wr_status returned) {
    int32_t check = -1;
    place_read(here, m.check, &check, sizeof check);
    CHECK(here->on_gpu ? returned == WR_SUCCESS : (int32_t)returned == check, "%s: returned %s, and the check says %d",
          here->name, wr_status_name(returned), (int)check);
    return (wr_status)check;
}

static wr_status merged(const wr_state_args *args) {
    wr_status status;
    poison(m.check, sizeof *m.check);
    poison(m.merged, ROOM);
    status = told(wr_state_merge(args, here->stream));
    if (status != WR_SUCCESS) {
        wr_state_args after = *args;
        CHECK(here->on_gpu || is_poison(m.merged, ROOM), "host: the merged state of a refused one is written");
        CHECK(is_poison(m.merged + HEADER, ROOM - HEADER), "%s: a payload of a refused state is written", here->name);
        after.state = m.merged;
        after.first = 0;
        after.count = LEFT + RIGHT;
        CHECK(told(wr_state_finish(&after, here->stream)) == WR_ERROR_INVALID_STATE, "%s: refused once, but not again",
              here->name);
    }
    return status;
}

static wr_status finished(const wr_state_args *args) {
    wr_status status;
    poison(m.check, sizeof *m.check);
    poison(m.output, ROOM);
    status = told(wr_state_finish(args, here->stream));
    CHECK(status == WR_SUCCESS || is_poison(m.output, ROOM), "%s: the output of a refused state is written",
          here->name);
    return status;
}

static void make_pieces(const wr_state_args *args) {
    reduce(*args, 0, LEFT, m.left);
    reduce(*args, LEFT, RIGHT, m.right);
}

#define EXPECT(expected, call)                                                                                         \
    do {                                                                                                               \
        wr_status got = (call);                                                                                        \
        CHECK(got == (expected), "%s: %s, not %s", here->name, wr_status_name(got), wr_status_name(expected));         \
    } while (0)

static void damaged_headers(void) {
    wr_state_args args = args_of(WR_SUM, WR_F32);
    int i, side;
    make_pieces(&args);
    EXPECT(WR_SUCCESS, merged(&args));
    for (side = 0; side < 2; ++side) {
        unsigned char *state = side == 0 ? m.left : m.right;
        for (i = 0; i < HEADER; ++i) {
            unsigned char byte, flipped;
            place_read(here, state + i, &byte, 1);
            flipped = (unsigned char)(byte ^ (1 << i % 8));
            place_write(here, state + i, &flipped, 1);
            EXPECT(WR_ERROR_INVALID_STATE, merged(&args));
            if (side == 0) {
                EXPECT(WR_ERROR_INVALID_STATE, finished(&args));
            }
            place_write(here, state + i, &byte, 1);
        }
    }
    EXPECT(WR_SUCCESS, merged(&args));
    EXPECT(WR_SUCCESS, finished(&args));
}

static void other_reductions(void) {
    wr_state_args args = args_of(WR_SUM, WR_F32), other;
    make_pieces(&args);
#define OTHER(change)                                                                                                  \
    do {                                                                                                               \
        other = args;                                                                                                  \
        change;                                                                                                        \
        EXPECT(WR_ERROR_STATE_MISMATCH, merged(&other));                                                               \
        EXPECT(WR_ERROR_STATE_MISMATCH, finished(&other));                                                             \
    } while (0)
    OTHER(other.op = WR_MEAN);
    OTHER(other.op = WR_MAX);
    OTHER(other.op = WR_SUM_EXACT);
    OTHER(other.dtype = WR_I32);
    OTHER(other.dtype = WR_F16);
    OTHER(other.accumulate_dtype = WR_F64);
    OTHER(other.nan_mode = WR_NAN_IGNORE);
    OTHER(other.weights_dtype = WR_F32);
    OTHER((other.outer = INNER, other.inner = OUTER));
    other = args;
    other.output_dtype = WR_BF16; /* is finish's alone where the accumulators are the same */
    EXPECT(WR_SUCCESS, finished(&other));
    args = args_of(WR_MAX, WR_F32);
    make_pieces(&args);
    OTHER(other.nan_mode = WR_NAN_IGNORE); /* of the same kind */
#undef OTHER
}

static void other_elements(void) {
    wr_state_args args = args_of(WR_SUM, WR_F32), other;
    make_pieces(&args);
    other = args;
    other.first = 1;
    EXPECT(WR_ERROR_NOT_NEIGHBOUR, merged(&other));
    other = args;
    other.count = LEFT + 1;
    EXPECT(WR_ERROR_NOT_NEIGHBOUR, merged(&other));
    EXPECT(WR_ERROR_NOT_NEIGHBOUR, finished(&other));
    other = args;
    other.right_count = RIGHT - 1;
    EXPECT(WR_ERROR_NOT_NEIGHBOUR, merged(&other));
    other = args;
    other.state = m.right;
    other.right = m.left;
    EXPECT(WR_ERROR_NOT_NEIGHBOUR, merged(&other));
    other.first = LEFT;
    other.count = RIGHT;
    CHECK(wr_state_finish(&other, here->stream) == WR_ERROR_NOT_NEIGHBOUR, "a piece that does not begin at 0");
}

static void exact_sums_lie_nowhere(void) {
    wr_state_args args = args_of(WR_SUM_EXACT, WR_F32);
    make_pieces(&args);
    args.first = 77;
    args.right_count = 3;
    EXPECT(WR_SUCCESS, merged(&args));
    args.state = m.right;
    args.right = m.left;
    EXPECT(WR_SUCCESS, merged(&args));
    EXPECT(WR_SUCCESS, finished(&args));
}

/* All refused before anything is launched. */
static void wrong_arguments(void) {
    wr_state_args args = args_of(WR_SUM, WR_F32), wrong;
    size_t bytes = 0, whole = 0;
    make_pieces(&args);
    CHECK(wr_state_size(&args, &bytes, NULL) == WR_SUCCESS && bytes == HEADER + 2 * OUTPUTS * 4, "the size is %zu",
          bytes);
    args.count = LEFT + RIGHT;
    CHECK(wr_state_size(&args, &whole, NULL) == WR_SUCCESS && whole == HEADER + OUTPUTS * 4, "the whole's is %zu",
          whole);
    args.count = LEFT;
#define REFUSED(expected, call, change)                                                                                \
    do {                                                                                                               \
        wrong = args;                                                                                                  \
        change;                                                                                                        \
        EXPECT(expected, call);                                                                                        \
    } while (0)
#define REDUCE wr_state_reduce(&wrong, here->stream)
#define MERGE wr_state_merge(&wrong, here->stream)
#define FINISH wr_state_finish(&wrong, here->stream)
    EXPECT(WR_ERROR_NULL_POINTER, wr_state_reduce(NULL, here->stream));
    EXPECT(WR_ERROR_NULL_POINTER, wr_state_merge(NULL, here->stream));
    EXPECT(WR_ERROR_NULL_POINTER, wr_state_finish(NULL, here->stream));
    EXPECT(WR_ERROR_NULL_POINTER, wr_state_size(&args, NULL, NULL));
    REFUSED(WR_ERROR_STRUCT_SIZE, REDUCE, wrong.struct_size -= 8);
    REFUSED(WR_ERROR_STRUCT_SIZE, MERGE, wrong.struct_size += 8);
    REFUSED(WR_ERROR_INVALID_OP, REDUCE, wrong.op = (wr_op)0);
    REFUSED(WR_ERROR_INVALID_DTYPE, MERGE, wrong.dtype = (wr_dtype)99);
    REFUSED(WR_ERROR_INVALID_OPTION, REDUCE, wrong.nan_mode = (wr_nan_mode)2);
    REFUSED(WR_ERROR_INVALID_OPTION, REDUCE, wrong.axis_stride = 1);
    REFUSED(WR_ERROR_INVALID_OPTION, FINISH, wrong.scale = 2);
    REFUSED(WR_ERROR_UNSUPPORTED, REDUCE, wrong.op = WR_DOT_EXACT);
    REFUSED(WR_ERROR_UNSUPPORTED, FINISH, wrong.values = m.merged);
    REFUSED(WR_ERROR_NULL_POINTER, REDUCE, wrong.input = NULL);
    REFUSED(WR_ERROR_NULL_POINTER, REDUCE, wrong.state = NULL);
    REFUSED(WR_ERROR_NULL_POINTER, REDUCE, wrong.weights_dtype = WR_F32);
    REFUSED(WR_ERROR_NULL_POINTER, MERGE, wrong.right = NULL);
    REFUSED(WR_ERROR_NULL_POINTER, MERGE, wrong.merged = NULL);
    REFUSED(WR_ERROR_NULL_POINTER, FINISH, wrong.output = NULL);
    REFUSED(WR_ERROR_MISALIGNED, REDUCE, wrong.state = m.left + 8);
    REFUSED(WR_ERROR_MISALIGNED, MERGE, wrong.right = m.right + 4);
    REFUSED(WR_ERROR_MISALIGNED, FINISH, wrong.check = (int32_t *)(m.merged + 2));
    REFUSED(WR_ERROR_INVALID_STATE, REDUCE, wrong.state_bytes = bytes - 1);
    REFUSED(WR_ERROR_INVALID_STATE, MERGE, wrong.state_bytes = bytes - 1);
    REFUSED(WR_ERROR_INVALID_STATE, MERGE, wrong.merged_bytes = whole - 1);
    REFUSED(WR_ERROR_INVALID_STATE, FINISH, wrong.state_bytes = HEADER);
    REFUSED(WR_ERROR_SIZE_OVERFLOW, REDUCE, wrong.first = (size_t)1 << 63);
    REFUSED(WR_ERROR_SIZE_OVERFLOW, MERGE, wrong.right_count = (size_t)-1);
    REFUSED(WR_ERROR_SIZE_OVERFLOW, FINISH, wrong.outer = (size_t)1 << 62);
    REFUSED(WR_ERROR_OVERLAP, REDUCE, wrong.state = m.input);
    REFUSED(WR_ERROR_OVERLAP, REDUCE, wrong.check = (int32_t *)m.left);
    REFUSED(WR_ERROR_OVERLAP, MERGE, wrong.merged = m.left + 16);
    REFUSED(WR_ERROR_OVERLAP, MERGE, wrong.merged = m.right);
    REFUSED(WR_ERROR_OVERLAP, MERGE, wrong.check = (int32_t *)m.right);
    REFUSED(WR_ERROR_OVERLAP, FINISH, wrong.output = m.left);
    EXPECT(WR_SUCCESS, merged(&args));
    wrong = args;
    wrong.check = NULL;
    EXPECT(WR_SUCCESS, MERGE);
}

int main(int argc, char **argv) {
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < place_count(); ++i) {
        here = place_at(i);
        m.base = place_allocate(here, 6 * ROOM);
        m.input = m.base;
        m.left = m.base + ROOM;
        m.right = m.left + ROOM;
        m.merged = m.right + ROOM;
        m.output = m.merged + ROOM;
        m.check = (int32_t *)(m.output + ROOM);
        poison(m.input, ROOM);
        damaged_headers();
        other_reductions();
        other_elements();
        exact_sums_lie_nowhere();
        wrong_arguments();
        place_free(here, m.base);
    }
    places_close();
    return check_report("wrong_states_are_refused");
}
