#include "simple_calls.h"

#include "filling.h"
#include "framework_array.h"
#include "geometry.h"
#include "simple_support.h"

static int result_shape(const Shape *shape, uint64_t reduced, int keepdims, ptrdiff_t *lengths) {
    int rank = 0;
    for (int d = 0; d < shape->rank; ++d) {
        if ((reduced >> d & 1) == 0) {
            lengths[rank++] = shape->lengths[d];
        } else if (keepdims) {
            lengths[rank++] = 1;
        }
    }
    return rank;
}

int takes_any_order(wr_op op, wr_dtype dtype) {
    switch (op) {
    case WR_SUM:
    case WR_PRODUCT:
        return dtype >= WR_I8;
    case WR_MIN:
    case WR_MAX:
    case WR_NORM_MAX:
    case WR_ANY:
    case WR_ALL:
    case WR_COUNT_NONZERO:
    case WR_SUM_EXACT:
        return 1;
    default:
        return 0;
    }
}

static int gives_nothing_of_nothing(wr_op op) {
    return op == WR_MIN || op == WR_MAX || op == WR_ARGMIN || op == WR_ARGMAX;
}

static Args reduction(wr_op op, const ArrayView *x, const Plan *plan, int output) {
    Args args = empty_args(CALL_REDUCE);
    wr_reduce_args *reduce = &args.reduce;
    reduce->op = op;
    reduce->dtype = (wr_dtype)x->dtype;
    reduce->output_dtype = (wr_dtype)output;
    if (is_summed_in_f64(op, x->dtype, output)) {
        reduce->accumulate_dtype = WR_F64;
    }
    reduce->input = x->data;
    SET_PLAN(reduce, plan);
    return args;
}

/* Of `args` without an output. */
static PyObject *run_reduction(Args *args, PyObject *x, const ArrayView *view, PyObject *out, int rank,
                               const ptrdiff_t *lengths, Result result) {
    ArrayView target;
    PyObject *array = place_for_result(x, view, out, rank, lengths, result, &target);
    if (array == NULL) {
        return PyErr_Occurred() != NULL ? NULL : not_simple();
    }
    args->reduce.output = target.data;
    return finished_result(run_beside(x, view, CALL_REDUCE, args), array, out, &target);
}

/* What is asked for, but for the array. */
typedef struct Reduction {
    wr_op op;
    PyObject *axis;
    int keepdims;
    PyObject *dtype, *out;
} Reduction;

static PyObject *reduce_view(const Reduction *job, PyObject *x, const ArrayView *view) {
    wr_op op = job->op;
    uint64_t reduced = 0;
    Plan plan;
    ptrdiff_t lengths[MOST_DIMENSIONS];
    Result result = result_asked_for(op, view, job->dtype);
    if (view->dtype == 0 || result.dtype == 0 || !reduced_dimensions(job->axis, view->shape.rank, &reduced) ||
        !plan_reduction(&view->shape, reduced, takes_any_order(op, (wr_dtype)view->dtype), &plan) || !plan.natural ||
        (plan.axis == 0 && gives_nothing_of_nothing(op))) {
        return not_simple();
    }
    int rank = result_shape(&view->shape, reduced, job->keepdims, lengths);
    Args args = reduction(op, view, &plan, result.dtype);
    return run_reduction(&args, x, view, job->out, rank, lengths, result);
}

/* A mean counts what takes part, and 8-bit floats without infinities have no identity of a logsumexp. */
static int can_be_filled(wr_op op, const ArrayView *x) {
    return op != WR_MEAN && x->dtype != 0 && !(op == WR_LOGSUMEXP && x->dtype == WR_F8_E4M3);
}

static PyObject *reduce_filled(const Reduction *job, PyObject *x, const ArrayView *view, const ArrayView *mask) {
    ArrayView filled;
    if (fill_view(job->op, view, mask, &filled) != 0) {
        return not_simple();
    }
    PyObject *result = reduce_view(job, x, &filled);
    free_filled(&filled);
    return result;
}

/* By a kernel of the framework's. */
static PyObject *reduce_filled_beside(const Reduction *job, PyObject *x, const ArrayView *view, PyObject *where,
                                      const ArrayView *mask) {
    ArrayView filled;
    int64_t identity = 0;
    if (find_identity(job->op, view, &identity) != 0) {
        return not_simple();
    }
    PyObject *array = filled_framework_array(x, view, where, mask, identity, &filled);
    if (array == NULL) {
        return PyErr_Occurred() != NULL ? NULL : not_simple();
    }
    PyObject *result = reduce_view(job, array, &filled);
    release(&filled);
    Py_DecRef(array);
    return result;
}

/* Which fills in on a GPU, and on all cores where that pays. */
static int is_for_its_framework(const ArrayView *x) {
    enum { MANY = 1 << 16 };
    ptrdiff_t count = 1;
    for (int d = 0; d < x->shape.rank && count <= MANY; ++d) {
        count *= x->shape.lengths[d];
    }
    return x->framework != NULL && (x->device >= 0 || count > MANY);
}

static PyObject *reduce_where(const Reduction *job, PyObject *x, PyObject *where) {
    ArrayView view, mask;
    PyObject *result = NULL;
    int viewed = view_both(x, &view, where, &mask);
    if (viewed != 1) {
        return viewed == 0 ? not_simple() : NULL;
    }
    if (!can_be_filled(job->op, &view) || !is_mask_of(&view, &mask)) {
        result = not_simple();
    } else if (is_for_its_framework(&view)) {
        result = reduce_filled_beside(job, x, &view, where, &mask);
    } else {
        result = reduce_filled(job, x, &view, &mask);
    }
    release(&mask);
    release(&view);
    return result;
}

PyObject *reduce_simple(PyObject *module, PyObject *arguments) {
    int op = 0;
    Reduction job;
    PyObject *x = NULL, *where = NULL;
    ArrayView view;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iOOpOOO", &op, &x, &job.axis, &job.keepdims, &job.dtype, &job.out, &where)) {
        return NULL;
    }
    job.op = (wr_op)op;
    if (where != Py_True) {
        return reduce_where(&job, x, where);
    }
    int viewed = view_array(x, &view);
    if (viewed != 1) {
        return viewed == 0 ? not_simple() : NULL;
    }
    PyObject *result = reduce_view(&job, x, &view);
    release(&view);
    return result;
}

static PyObject *dot_views(PyObject *x, const ArrayView *left, const ArrayView *right, PyObject *out) {
    Plan plan;
    int rank = left->shape.rank - 1;
    Result result = result_of(WR_SUM, left);
    if (!lie_together(left, right) || left->dtype == 0 || left->dtype != right->dtype || left->is_bool ||
        right->is_bool || result.dtype == 0 || rank < 0 || right->shape.rank != 1 || !right->contiguous ||
        left->shape.lengths[rank] != right->shape.lengths[0] ||
        !plan_reduction(&left->shape, UINT64_C(1) << rank, 0, &plan) || !plan.natural) {
        return not_simple();
    }
    Args args = reduction(WR_SUM, left, &plan, result.dtype);
    args.reduce.weights = right->data;
    args.reduce.weights_dtype = (wr_dtype)right->dtype;
    return run_reduction(&args, x, left, out, rank, left->shape.lengths, result);
}

PyObject *dot_simple(PyObject *module, PyObject *arguments) {
    PyObject *x = NULL, *y = NULL, *out = NULL;
    ArrayView left, right;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OOO", &x, &y, &out)) {
        return NULL;
    }
    int viewed = view_both(x, &left, y, &right);
    if (viewed != 1) {
        return viewed == 0 ? not_simple() : NULL;
    }
    PyObject *result = dot_views(x, &left, &right, out);
    release(&right);
    release(&left);
    return result;
}

static PyObject *reduce_segments(wr_op op, PyObject *x, const ArrayView *view, const ArrayView *offsets) {
    Result result = result_of(op, view);
    if (!lie_together(view, offsets) || view->dtype == 0 || result.dtype == 0 || offsets->dtype != WR_I64 ||
        view->shape.rank != 1 || offsets->shape.rank != 1 || !view->contiguous || !offsets->contiguous ||
        view->shape.lengths[0] == 0 || offsets->shape.lengths[0] == 0) {
        return not_simple();
    }
    Args args = empty_args(CALL_SEGMENTS);
    args.segments.op = op;
    args.segments.dtype = (wr_dtype)view->dtype;
    args.segments.output_dtype = (wr_dtype)result.dtype;
    args.segments.input = view->data;
    args.segments.offsets = offsets->data;
    args.segments.segments = (size_t)offsets->shape.lengths[0] - 1;
    args.segments.input_count = (size_t)view->shape.lengths[0];
    ArrayView target;
    ptrdiff_t length = offsets->shape.lengths[0] - 1;
    PyObject *array = place_for_result(x, view, Py_None, 1, &length, result, &target);
    if (array == NULL) {
        return PyErr_Occurred() != NULL ? NULL : not_simple();
    }
    args.segments.output = target.data;
    return finished_result(run_beside(x, view, CALL_SEGMENTS, &args), array, Py_None, &target);
}

PyObject *segments_simple(PyObject *module, PyObject *arguments) {
    int op = 0;
    PyObject *x = NULL, *starts = NULL;
    ArrayView view, offsets;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iOO", &op, &x, &starts)) {
        return NULL;
    }
    int viewed = view_both(x, &view, starts, &offsets);
    if (viewed != 1) {
        return viewed == 0 ? not_simple() : NULL;
    }
    PyObject *result = reduce_segments((wr_op)op, x, &view, &offsets);
    release(&offsets);
    release(&view);
    return result;
}
