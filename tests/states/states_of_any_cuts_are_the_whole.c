/*
 * However an axis is cut, and in whatever order its pieces' states are merged, the state is that of the whole axis,
 * byte by byte, and finishes as one call does: every operator, type, option and layout, in every place. Arguments: the
 * place, how many random problems (1500), the seed (1), how many rows are many for a GPU (4500; 0: none).
 */
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_PIECES = 12, LABEL_BYTES = 160, MOST_OUTPUTS = 30, MANY_ROWS = 30 };

static uint64_t state_of_numbers;
static char label[LABEL_BYTES];

static size_t below(size_t bound) { return random_below(&state_of_numbers, bound); }

/* A reduction of one whole axis, and the host's answers. */
typedef struct problem {
    wr_reduce_args args; /* with pointers into host memory */
    unsigned char *input, *weights;
    size_t input_bytes, weights_bytes, output_bytes, values_bytes, state_bytes;
    size_t most_bytes; /* of any piece's state */
    unsigned char *output, *values, *state;
} problem;

typedef struct piece {
    size_t first, count;
    unsigned char *state;
} piece;

static wr_state_args state_args(const problem *of, size_t first, size_t count) {
    wr_state_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = of->args.op;
    args.dtype = of->args.dtype;
    args.output_dtype = of->args.output_dtype;
    args.accumulate_dtype = of->args.accumulate_dtype;
    args.nan_mode = of->args.nan_mode;
    args.weights_dtype = of->args.weights_dtype;
    args.outer = of->args.outer;
    args.inner = of->args.inner;
    args.first = first;
    args.count = count;
    return args;
}

static size_t state_size(const problem *of, size_t first, size_t count) {
    wr_state_args args = state_args(of, first, count);
    size_t bytes = 0;
    wr_status status = wr_state_size(&args, &bytes, NULL);
    CHECK(status == WR_SUCCESS, "%s: the size: %s", label, wr_status_name(status));
    return bytes;
}

static void check_status(wr_status status, const char *what) {
    CHECK(status == WR_SUCCESS, "%s: %s: %s", label, what, wr_status_name(status));
}

/* ---- one place */

/* Memory of a place that is taken piece by piece, every state on 16 bytes and no more. */
typedef struct arena {
    const place *where;
    unsigned char *memory;
    size_t bytes, used;
} arena;

static void *take(arena *from, size_t bytes) {
    void *taken = from->memory + from->used;
    from->used += (bytes + 31) / 32 * 32 + 16;
    if (from->used > from->bytes) {
        give_up("the arena is too small");
    }
    return taken;
}

typedef struct placed_problem {
    const problem *of;
    arena memory;
    unsigned char *input, *weights;
    int32_t *check;
} placed_problem;

static void reduce_piece(placed_problem *p, piece *made) {
    const wr_reduce_args *whole = &p->of->args;
    wr_state_args args = state_args(p->of, made->first, made->count);
    int32_t told = -1;
    ptrdiff_t step = whole->strides_given ? whole->axis_stride : (ptrdiff_t)whole->inner;
    ptrdiff_t size = (ptrdiff_t)wr_dtype_size(whole->dtype);
    args.input = p->input + ((const unsigned char *)whole->input - p->of->input) + (ptrdiff_t)made->first * step * size;
    args.weights = p->weights == NULL ? NULL : p->weights + made->first * wr_dtype_size(whole->weights_dtype);
    args.strides_given = whole->strides_given;
    args.outer_stride = whole->outer_stride;
    args.axis_stride = whole->axis_stride;
    args.inner_stride = whole->inner_stride;
    if (!whole->strides_given && whole->outer > 1) { /* the rows of the whole array go on behind the piece */
        args.strides_given = 1;
        args.outer_stride = (ptrdiff_t)(whole->axis * whole->inner);
        args.axis_stride = (ptrdiff_t)whole->inner;
        args.inner_stride = 1;
    }
    args.state = made->state;
    args.state_bytes = state_size(p->of, made->first, made->count);
    args.check = p->check;
    if (below(3) == 0) {
        size_t bytes = 0;
        check_status(wr_state_size(&args, &args.state_bytes, &bytes), "the workspace");
        args.workspace = take(&p->memory, bytes + 16);
        args.workspace_bytes = bytes;
    }
    if (p->check != NULL) {
        place_write(p->memory.where, p->check, &told, sizeof told);
    }
    check_status(wr_state_reduce(&args, p->memory.where->stream), "a piece");
    if (p->check != NULL) {
        place_read(p->memory.where, p->check, &told, sizeof told);
        CHECK(told == WR_SUCCESS, "%s: on %s a piece's check says %d", label, p->memory.where->name, (int)told);
    }
}

static void merge(placed_problem *p, piece *left, const piece *right) {
    wr_state_args args = state_args(p->of, left->first, left->count);
    args.right_count = right->count;
    args.state = left->state;
    args.state_bytes = state_size(p->of, left->first, left->count);
    args.right = right->state;
    args.right_bytes = state_size(p->of, right->first, right->count);
    args.merged_bytes = state_size(p->of, left->first, left->count + right->count);
    args.merged = below(2) == 0 ? left->state : take(&p->memory, p->of->most_bytes);
    args.check = p->check;
    check_status(wr_state_merge(&args, p->memory.where->stream), "merging");
    left->state = args.merged;
    left->count += right->count;
}

static void finish(placed_problem *p, const piece *whole) {
    wr_state_args args = state_args(p->of, 0, whole->count);
    unsigned char *output = take(&p->memory, p->of->output_bytes), *values = NULL;
    unsigned char *result = calloc(1, p->of->output_bytes + p->of->values_bytes + 1);
    int32_t check = -1;
    args.state = whole->state;
    args.state_bytes = state_size(p->of, 0, whole->count);
    args.output = output;
    if (p->of->values_bytes != 0) {
        values = take(&p->memory, p->of->values_bytes);
        args.values = values;
    }
    args.check = p->check;
    check_status(wr_state_finish(&args, p->memory.where->stream), "finishing");
    place_read(p->memory.where, p->check, &check, sizeof check);
    CHECK(check == WR_SUCCESS, "%s: on %s the check says %d", label, p->memory.where->name, (int)check);
    place_read(p->memory.where, output, result, p->of->output_bytes);
    CHECK(memcmp(result, p->of->output, p->of->output_bytes) == 0, "%s: on %s the result differs from one call's",
          label, p->memory.where->name);
    if (values != NULL) {
        place_read(p->memory.where, values, result, p->of->values_bytes);
        CHECK(memcmp(result, p->of->values, p->of->values_bytes) == 0, "%s: on %s the values differ", label,
              p->memory.where->name);
    }
    free(result);
}

/* Cuts crowd about the ends of subtrees and beside other cuts: some pieces are empty, some are single elements. */
static size_t random_cut(size_t axis, size_t other) {
    switch (below(5)) {
    case 0:
        return below(axis + 1);
    case 1:
        return other < axis ? other + 1 : axis;
    case 2:
        return below(axis + 1) & ~(size_t)1023;
    case 3:
        return below(axis + 1) & ~(((size_t)1 << below(12)) - 1);
    default:
        return axis - below(axis < 5 ? axis + 1 : 5);
    }
}

static int by_size(const void *a, const void *b) {
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;
    return x < y ? -1 : x > y;
}

static size_t cut(size_t axis, piece *pieces) {
    size_t cuts[MOST_PIECES + 1], count = 1 + below(MOST_PIECES), i;
    cuts[0] = 0;
    for (i = 1; i < count; ++i) {
        cuts[i] = random_cut(axis, cuts[i - 1]);
    }
    cuts[count] = axis;
    qsort(cuts + 1, count - 1, sizeof *cuts, by_size);
    for (i = 0; i < count; ++i) {
        pieces[i].first = cuts[i];
        pieces[i].count = cuts[i + 1] - cuts[i];
    }
    return count;
}

static void check_state(const placed_problem *p, const piece *whole) {
    unsigned char *bytes = malloc(p->of->state_bytes);
    place_read(p->memory.where, whole->state, bytes, p->of->state_bytes);
    CHECK(memcmp(bytes, p->of->state, p->of->state_bytes) == 0, "%s: on %s the state differs from the whole axis's",
          label, p->memory.where->name);
    free(bytes);
}

static void check_in(const place *where, const problem *of) {
    piece pieces[MOST_PIECES], uncut;
    size_t count = cut(of->args.axis, pieces), i;
    placed_problem p;
    p.of = of;
    p.memory.where = where;
    p.memory.used = 0;
    p.memory.bytes = of->input_bytes + of->weights_bytes + (2 * MOST_PIECES + 1) * (of->most_bytes + 64) +
                     (MOST_PIECES + 1) * 2000000;
    p.memory.memory = place_allocate(where, p.memory.bytes);
    p.input = take(&p.memory, of->input_bytes + 1);
    place_write(where, p.input, of->input, of->input_bytes);
    p.weights = NULL;
    if (of->weights != NULL) {
        p.weights = take(&p.memory, of->weights_bytes + 1);
        place_write(where, p.weights, of->weights, of->weights_bytes);
    }
    p.check = take(&p.memory, sizeof *p.check);
    uncut.first = 0;
    uncut.count = of->args.axis;
    uncut.state = take(&p.memory, of->most_bytes);
    reduce_piece(&p, &uncut);
    check_state(&p, &uncut);
    for (i = 0; i < count; ++i) {
        pieces[i].state = take(&p.memory, of->most_bytes); /* room for any merge in place */
        reduce_piece(&p, &pieces[i]);
    }
    while (count > 1) {
        size_t at = below(count - 1);
        merge(&p, &pieces[at], &pieces[at + 1]);
        memmove(pieces + at + 1, pieces + at + 2, (count - at - 2) * sizeof *pieces);
        --count;
    }
    check_state(&p, &pieces[0]);
    finish(&p, &pieces[0]);
    place_free(where, p.memory.memory);
}

/* ---- problems */

/* The host's state of the whole axis in one piece, and its result by one call. */
static void answer(problem *p) {
    piece whole;
    placed_problem here;
    wr_reduce_args args = p->args;
    args.output = p->output;
    args.values = p->values_bytes != 0 ? p->values : NULL;
    args.weights = p->weights;
    check_status(wr_reduce_ex(&args, wr_host_stream()), "one call");
    here.of = p;
    here.input = p->input;
    here.weights = p->weights;
    here.check = NULL;
    here.memory.where = place_at(0);
    here.memory.bytes = 4000000;
    here.memory.used = 0;
    here.memory.memory = place_allocate(here.memory.where, here.memory.bytes);
    whole.first = 0;
    whole.count = args.axis;
    whole.state = p->state;
    reduce_piece(&here, &whole);
    place_free(here.memory.where, here.memory.memory);
}

static void lay_out(problem *p) {
    wr_reduce_args *args = &p->args;
    ptrdiff_t outer = (ptrdiff_t)args->outer, axis = (ptrdiff_t)args->axis, inner = (ptrdiff_t)args->inner;
    size_t size = wr_dtype_size(args->dtype);
    args->input = p->input;
    switch (args->outer > MOST_OUTPUTS ? 2 : below(5)) { /* rows that are many lie as they are */
    case 0:                                              /* the axis from its end */
        args->strides_given = 1;
        args->outer_stride = axis * inner;
        args->axis_stride = -inner;
        args->inner_stride = 1;
        args->input = p->input + (axis > 0 ? (size_t)(axis - 1) * (size_t)inner * size : 0);
        break;
    case 1: /* [inner][axis][outer] */
        args->strides_given = 1;
        args->outer_stride = 1;
        args->axis_stride = outer;
        args->inner_stride = axis * outer;
        break;
    default:
        break;
    }
}

static void check_problem(wr_reduce_args args, data_kind kind, int with_values) {
    problem p;
    size_t i, outputs = args.outer * args.inner;
    memset(&p, 0, sizeof p);
    p.args = args;
    p.input_bytes = outputs * args.axis * wr_dtype_size(args.dtype);
    p.input = malloc(p.input_bytes + 16);
    fill_random(args.dtype, kind, random_next(&state_of_numbers), p.input, outputs * args.axis);
    if (args.weights_dtype != 0) {
        p.weights_bytes = args.axis * wr_dtype_size(args.weights_dtype);
        p.weights = malloc(p.weights_bytes + 16);
        fill_random(args.weights_dtype, DATA_UNIFORM, random_next(&state_of_numbers), p.weights, args.axis);
        args.weights = p.weights;
    }
    lay_out(&p);
    p.output_bytes = outputs * wr_dtype_size(reference_output_dtype(&args));
    p.values_bytes = with_values ? outputs * wr_dtype_size(args.dtype) : 0;
    p.output = calloc(1, p.output_bytes + 1);
    p.values = calloc(1, p.values_bytes + 1);
    sprintf(label, "%s of %s, output %d, weights %d, nan %d, kept in %d, %zu x %zu x %zu of %s", op_name(args.op),
            dtype_name(args.dtype), (int)args.output_dtype, (int)args.weights_dtype, (int)args.nan_mode,
            (int)args.accumulate_dtype, args.outer, args.axis, args.inner, data_kind_name(kind));
    p.state_bytes = state_size(&p, 0, args.axis);
    p.most_bytes = p.state_bytes + 32 * 16 * outputs; /* more nodes than 2 log2 of any axis here */
    p.state = aligned_alloc(16, (p.state_bytes + 15) / 16 * 16);
    answer(&p);
    for (i = 0; i < place_count(); ++i) {
        check_in(place_at(i), &p);
    }
    free(p.input);
    free(p.weights);
    free(p.output);
    free(p.values);
    free(p.state);
}

static wr_op random_op(void) {
    static const wr_op more[] = {WR_SUM, WR_MEAN, WR_NORM_L2, WR_SUM_EXACT, WR_ARGMIN, WR_ARGMAX};
    return below(3) == 0 ? more[below(sizeof more / sizeof *more)] : (wr_op)(1 + below(LAST_REDUCTION));
}

static size_t random_axis(void) {
    switch (below(4)) {
    case 0:
        return below(20);
    case 1:
        return below(6000);
    case 2:
        return ((size_t)1 << below(13)) + below(3) - 1;
    default:
        return below(500);
    }
}

/* More outputs than a block of threads takes. */
static void many_outputs(void) {
    wr_reduce_args args = reduce_args(WR_MEAN, WR_F32, 3, 1100, 400);
    check_problem(args, DATA_UNIFORM, 0);
    args.op = WR_ARGMAX;
    check_problem(args, DATA_UNIFORM, 1);
}

/* Of so many rows, or, where that is 0, of a few of any length or columns. */
static void random_problem(size_t rows) {
    wr_reduce_args args;
    type_list outputs;
    data_kind kind = (data_kind)below(ALL_DATA_KINDS);
    wr_op op;
    wr_dtype dtype;
    do {
        op = random_op();
        dtype = (wr_dtype)(1 + below(LAST_DTYPE));
        outputs = offered_outputs(op, dtype);
    } while (outputs.count == 0);
    args = reduce_args(op, dtype, 1, random_axis(), 1);
    args.output_dtype = outputs.types[below(outputs.count)];
    if (below(2) == 0) {
        args.inner = 1 + below(MOST_OUTPUTS);
    }
    if (below(2) == 0) {
        args.outer = 1 + below(4);
    }
    if (rows != 0) {
        args.outer = rows;
        args.inner = 1;
        args.axis = below(below(3) == 0 ? 4000 : 1200);
        if (below(2) == 0) {
            args.outer = 4 * rows;
            args.axis = below(300);
        }
    } else if (below(16) == 0) { /* rows of which a GPU's blocks have parts */
        args.axis = 20000 + below(80000);
        args.inner = 1;
    }
    if (takes_accumulate_dtype(op, dtype) && below(2) == 0) {
        args.accumulate_dtype = WR_F64;
    }
    if ((op == WR_SUM || op == WR_SUM_EXACT) && below(2) == 0) {
        type_list weights = offered_weights(dtype);
        if (weights.count != 0) {
            args.weights_dtype = weights.types[below(weights.count)];
            outputs = offered_weighted_outputs(dtype, args.weights_dtype);
            args.output_dtype = outputs.types[below(outputs.count)];
            if (op == WR_SUM_EXACT) {
                args.output_dtype = 0;
            }
        }
    } else if (below(3) == 0) {
        args.nan_mode = WR_NAN_IGNORE;
    }
    check_problem(args, kind, (op == WR_ARGMIN || op == WR_ARGMAX) && below(2) == 0);
}

/* Every operator on every type that it takes. */
static void every_operator(size_t axis) {
    int op, dtype;
    for (op = 1; op <= WR_SUM_EXACT; ++op) {
        for (dtype = 1; dtype <= LAST_DTYPE; ++dtype) {
            type_list outputs =
                op == WR_LOGSUMEXP ? offered_outputs(WR_DOT_EXACT, WR_I8) : offered_outputs((wr_op)op, (wr_dtype)dtype);
            if (outputs.count != 0) {
                wr_reduce_args args = reduce_args((wr_op)op, (wr_dtype)dtype, 1, axis, 2);
                args.output_dtype = outputs.types[0];
                check_problem(args, DATA_WIDE, op == WR_ARGMIN || op == WR_ARGMAX);
            }
        }
    }
}

/* So many rows that a GPU's warps, or its threads, take one each: with weights, and with squares beyond the range of
 * what they are added up in. */
static void many_rows(size_t rows) {
    wr_reduce_args longer = reduce_args(WR_SUM, WR_F32, rows, 700, 1),
                   shorter = reduce_args(WR_SUM, WR_F32, 4 * rows, 190, 1);
    long i;
    longer.weights_dtype = shorter.weights_dtype = WR_F32;
    check_problem(longer, DATA_UNIFORM, 0);
    check_problem(shorter, DATA_UNIFORM, 0);
    longer = reduce_args(WR_NORM_L2, WR_F32, rows, 300, 1);
    shorter = reduce_args(WR_NORM_L2, WR_F32, 4 * rows, 96, 1);
    check_problem(longer, DATA_ANY_FINITE, 0);
    check_problem(shorter, DATA_ANY_FINITE, 0);
    for (i = 0; i < MANY_ROWS; ++i) {
        random_problem(rows);
    }
}

int main(int argc, char **argv) {
    long problems = argc > 2 ? atol(argv[2]) : 1500, i;
    size_t rows = argc > 4 ? (size_t)atol(argv[4]) : 4500;
    places_open(argc, argv);
    state_of_numbers = argc > 3 ? strtoull(argv[3], NULL, 10) : 1;
    every_operator(71);
    many_outputs();
    for (i = 0; i < problems; ++i) {
        random_problem(0);
    }
    if (rows != 0) {
        many_rows(rows);
    }
    places_close();
    return check_report("states_of_any_cuts_are_the_whole");
}
