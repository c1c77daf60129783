/*
 * The calls among which those are chosen that compute-sanitizer watches (chosen_walk.h): each kind of operator over
 * each kind of type in each regime, with weights and in segments, and all of softmax. Shapes are as small as their
 * regime allows on a GPU of 132 multiprocessors; the test walk_reaches_every_kernel says whether some kernel of the
 * library is left out.
 */
#ifndef WARP_REDUCE_TESTS_WALK_H
#define WARP_REDUCE_TESTS_WALK_H

#include "harness/tile_calls.h"
#include "warp_reduce.h"

/* Sums of floats may be kept in a type that is not the usual one, and integers go into a float: into f64 where
 * `accumulate` is that. 0: neither. */
typedef struct reduction {
    wr_op op;
    wr_dtype dtype, accumulate;
    int ignore_nan;
} reduction;

/* The sum of a type's elements with weights: WR_SUM or WR_SUM_EXACT. */
typedef struct weighting {
    wr_op op;
    wr_dtype dtype, weights, accumulate;
} weighting;

/* [outer][axis][inner]. Elements along the axis are `axis_stride` apart, and `gap` more lie between rows. */
typedef struct shape {
    const char *regime;
    size_t outer, axis, inner, axis_stride, gap;
} shape;

int shape_is_contiguous(const shape *of);
/* From the first element to the last, gaps counted; and from row to row. */
size_t shape_elements(const shape *of);
size_t shape_row(const shape *of);

/* How many segments, the most elements of one, and those of the one in the middle. */
typedef struct ragged {
    const char *regime;
    size_t segments, most, huge;
} ragged;

enum { HAS_ONE_SCALE = 1, HAS_OWN_SCALES /* each row */ };

/* A softmax call: every third element left out where it is masked; a scale that is not 1 where it is scaled; no
 * logsumexp where it is alone. Output type 0: the input's. */
typedef struct softmax_kind {
    wr_dtype dtype;
    int log, masked, scaled;
    wr_dtype output_dtype;
    int is_alone;
} softmax_kind;

/* Of softmax or log-softmax, from its outputs or from logits and their logsumexp. Ragged: a shape's elements are spread
 * over as many rows of every length. */
typedef struct gradient_kind {
    wr_dtype dtype;
    int log, from_logits, is_ragged, masked, scaled;
} gradient_kind;

/* Softmax of rows that end early, or lie one behind the other, each of its own length. */
typedef struct uneven_kind {
    wr_dtype dtype, output_dtype;
    int log, is_ragged;
    int moved; /* the input begins one element behind a boundary */
    size_t most, rows;
    size_t crowded; /* so many of the first rows are longer than that */
} uneven_kind;

enum { CROWDED_ROW = 1100 };

/* What is done with each call. `moved`: the arrays begin one element (of an extension: one word) behind the start of an
 * allocation, and are no longer on its boundary. */
typedef struct walker {
    void (*reduce)(const reduction *, const shape *, int moved);
    void (*weigh)(const weighting *, const shape *, int moved);
    void (*segments)(const reduction *, const ragged *, int moved);
    void (*softmax)(const softmax_kind *, const shape *, int moved);
    void (*gradient)(const gradient_kind *, const shape *, int moved);
    void (*logsumexp)(wr_dtype, const shape *, int moved);
    void (*uneven)(const uneven_kind *);
    /* Without logsumexp, so many rows or columns that clusters go from one to the next. */
    void (*many)(wr_dtype, int log, const shape *);
    void (*tiles)(const tile_call *);
    /* Contiguous rows or columns in two pieces, by their states. */
    void (*softmax_in_pieces)(wr_dtype, const shape *);
    /* The state of a piece that begins within the axis, with weights or (0) without. */
    void (*nodes)(const reduction *, wr_dtype weights, const shape *);
} walker;

/* With which element. */
enum { NODES_BEGIN = 12345 };

/* The names of the parts; NULL behind the last. "large" is what only large arrays do. */
const char *walk_part(size_t number);

/* Whether every tool is shown it; which are not shown the others, prove_on_gpu.sh says. */
int walk_part_is_for_every_tool(size_t number);

/* Makes the calls of a part, always in the same order. Returns whether there is such a part. */
int walk(const char *part, const walker *by);

#endif
