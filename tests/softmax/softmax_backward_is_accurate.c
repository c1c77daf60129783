/*
 * The gradients of softmax and log-softmax are within the bounds that docs/numerics.md proves, for every type, from
 * saved outputs and from logits with their logsumexp, on and off boundaries, whatever is left out, in place, added, or
 * strided, in rows of up to 3000001 elements and in one made so that its sum comes near to the bound; and their bits
 * are those of the formula with wr_dot's and wr_reduce's sums.
 */
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if LDBL_MANT_DIG < 64
#error "the reference needs a long double of at least 64 bits"
#endif

static const wr_dtype float_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
enum { FLOAT_TYPES = 6 };

/* How a job differs from the plain one. */
enum {
    FROM_LOGITS = 1,
    LOG = 2,
    MASKED = 4,
    WITH_LENGTHS = 8,
    CAUSAL = 16,
    ADDED = 32,
    IN_PLACE = 64,
    SCALED = 128,
    RAGGED = 256,
    WIDE_GRADIENTS = 512,
    STRIDED = 1024,
    ON_BOUNDARIES = 2048
};

typedef struct job {
    wr_softmax_backward_args args;
    /* what the forward call was given: logits, and their softmax */
    image logits, outputs, sums, gradient, result, before, mask, lengths, offsets;
    backward_images images;
    size_t elements, rows;
    int kind;
} job;

static double worst[WR_F8_E5M2 + 1];

static wr_dtype gradient_dtype(wr_dtype dtype, int kind) {
    return (kind & WIDE_GRADIENTS) && dtype != WR_F64 ? WR_F32 : dtype;
}

static void fill_selection(job *of, uint64_t *state) {
    int64_t *lengths = (int64_t *)(void *)of->lengths.payload, *offsets = (int64_t *)(void *)of->offsets.payload;
    size_t i;
    for (i = 0; i < of->elements; ++i) {
        of->mask.payload[i] = (unsigned char)(random_below(state, 4) != 0);
    }
    for (i = 0; i < of->rows; ++i) {
        lengths[i] = (int64_t)random_below(state, of->elements / of->rows + 3) - 1;
    }
    for (i = 0; i <= of->rows; ++i) {
        offsets[i] = of->rows == 0 ? 0 : (int64_t)(of->elements * i * i / (of->rows * of->rows));
    }
}

static job job_new(wr_dtype dtype, size_t outer, size_t axis, size_t inner, int kind, uint64_t seed) {
    job made;
    wr_dtype gradients = gradient_dtype(dtype, kind), state_dtype = softmax_state_dtype(dtype);
    int off_boundaries = (kind & ON_BOUNDARIES) == 0;
    uint64_t state = seed;
    size_t i;
    memset(&made, 0, sizeof made);
    made.kind = kind;
    made.elements = kind & RAGGED ? axis : outer * axis * inner;
    made.rows = outer * inner;
    made.args = backward_args(dtype, outer, axis, inner);
    made.args.output_gradient_dtype = gradients;
    made.args.input_gradient_dtype = gradients;
    made.args.log = (kind & LOG) != 0;
    made.args.add_to_input_gradient = (kind & ADDED) != 0;
    made.args.scale = kind & SCALED ? 0.37 : 0.0;
    made.logits = image_new(made.elements * reference_size(dtype), off_boundaries ? reference_size(dtype) : 0);
    made.outputs = image_new(made.elements * reference_size(dtype), 0);
    made.sums = image_new(made.rows * reference_size(state_dtype), 0);
    /* strided: [outer][inner][axis + 1], read along the last */
    made.gradient = image_new((made.elements + (kind & STRIDED ? made.rows : 0)) * reference_size(gradients), 0);
    made.result = image_new(made.elements * reference_size(gradients), off_boundaries ? reference_size(gradients) : 0);
    made.mask = image_new(made.elements, 3);
    made.lengths = image_new(made.rows * sizeof(int64_t), 0);
    made.offsets = image_new((made.rows + 1) * sizeof(int64_t), 0);
    for (i = 0; i < made.elements; ++i) {
        reference_put(dtype, made.logits.payload, i, 10.0 * random_unit(&state) - 5.0);
        reference_put(gradients, made.result.payload, i, 2.0 * random_unit(&state) - 1.0);
    }
    for (i = 0; i < made.gradient.payload_bytes / reference_size(gradients); ++i) {
        reference_put(gradients, made.gradient.payload, i, 2.0 * random_unit(&state) - 1.0);
    }
    fill_selection(&made, &state);
    return made;
}

static void select_elements(job *of) {
    int kind = of->kind;
    of->args.mask = kind & MASKED ? of->mask.payload : NULL;
    of->args.lengths = kind & WITH_LENGTHS ? (const int64_t *)(const void *)of->lengths.payload : NULL;
    of->args.offsets = kind & RAGGED ? (const int64_t *)(const void *)of->offsets.payload : NULL;
    of->args.causal = (kind & CAUSAL) != 0;
    of->args.causal_first = kind & CAUSAL ? (int64_t)(of->args.axis / 2) : 0;
    of->args.causal_rows = kind & CAUSAL ? 5 : 0;
}

/* The forward call on the host, and the arguments of the backward one. */
static void job_prepare(job *of) {
    wr_softmax_args forward = softmax_args(of->args.dtype, of->args.outer, of->args.axis, of->args.inner);
    wr_status status;
    select_elements(of);
    forward.log = of->args.log;
    forward.scale = of->args.scale;
    forward.input = of->logits.payload;
    forward.output = of->outputs.payload;
    forward.logsumexp = of->sums.payload;
    forward.mask = of->args.mask;
    forward.lengths = of->args.lengths;
    forward.offsets = of->args.offsets;
    forward.causal = of->args.causal;
    forward.causal_first = of->args.causal_first;
    forward.causal_rows = of->args.causal_rows;
    status = wr_softmax_ex(&forward, wr_host_stream());
    CHECK(status == WR_SUCCESS, "forward: %s", wr_status_name(status));
    if (of->kind & FROM_LOGITS) {
        of->args.input = of->logits.payload;
        of->args.logsumexp = of->sums.payload;
    } else {
        of->args.output = of->outputs.payload;
    }
    if (of->kind & STRIDED) {
        of->args.gradient_outer_stride = (ptrdiff_t)(of->args.inner * (of->args.axis + 1));
        of->args.gradient_inner_stride = (ptrdiff_t)(of->args.axis + 1);
        of->args.gradient_axis_stride = 1;
        say_strides_of_both(&of->args);
    }
    if (of->kind & IN_PLACE) {
        memcpy(of->result.payload, of->gradient.payload, of->result.payload_bytes);
    }
    of->args.output_gradient = of->kind & IN_PLACE ? of->result.payload : of->gradient.payload;
    of->args.input_gradient = of->result.payload;
    of->images.saved = of->kind & FROM_LOGITS ? &of->logits : &of->outputs;
    of->images.logsumexp = of->kind & FROM_LOGITS ? &of->sums : NULL;
    of->images.output_gradient = of->kind & IN_PLACE ? &of->result : &of->gradient;
    of->images.input_gradient = &of->result;
    of->images.mask = &of->mask;
    of->images.lengths = &of->lengths;
    of->images.offsets = &of->offsets;
    of->before = image_copy(&of->result);
}

static void job_free(job *of) {
    image_free(&of->logits);
    image_free(&of->outputs);
    image_free(&of->sums);
    image_free(&of->gradient);
    image_free(&of->result);
    image_free(&of->before);
    image_free(&of->mask);
    image_free(&of->lengths);
    image_free(&of->offsets);
}

typedef struct row {
    size_t index, outer, first, stride, count, limit;
} row;

static row row_of(const job *of, size_t index) {
    const wr_softmax_backward_args *args = &of->args;
    row found = {index, index / args->inner, 0, args->inner, args->axis, 0};
    int64_t limit;
    found.first = found.outer * args->axis * args->inner + index % args->inner;
    if (args->offsets != NULL) {
        found.first = (size_t)args->offsets[index];
        found.count = (size_t)(args->offsets[index + 1] - args->offsets[index]);
    }
    limit = (int64_t)found.count;
    if (args->lengths != NULL) {
        limit = args->lengths[index] < limit ? args->lengths[index] : limit;
    }
    if (args->causal) {
        int64_t seen = (int64_t)(found.outer % args->causal_rows) + args->causal_first;
        limit = seen < limit ? seen : limit;
    }
    found.limit = limit < 0 ? 0 : (size_t)limit;
    return found;
}

static int takes_part(const job *of, const row *in, size_t i) {
    return i < in->limit && (of->args.mask == NULL || of->args.mask[in->first + i * in->stride] != 0);
}

static double gradient_at(const job *of, const row *in, size_t i) {
    size_t at = of->kind & STRIDED ? in->index * (of->args.axis + 1) + i : in->first + i * in->stride;
    const image *from = of->kind & IN_PLACE ? &of->before : &of->gradient;
    return reference_get(of->args.output_gradient_dtype, from->payload, at);
}

/* Softmax's output as the backward call is given it. */
static long double weight_at(const job *of, const row *in, size_t i) {
    wr_dtype dtype = of->args.dtype;
    size_t at = in->first + i * in->stride;
    if (of->kind & FROM_LOGITS) {
        double x = reference_get(dtype, of->logits.payload, at);
        double scale = of->args.scale == 0.0 ? 1.0 : of->args.scale;
        double logit = dtype == WR_F64 ? x * scale : (double)((float)x * (float)scale);
        double sum = reference_get(softmax_state_dtype(dtype), of->sums.payload, in->index);
        return expl((long double)logit - sum);
    }
    if (of->kind & LOG) {
        return expl(reference_get(dtype, of->outputs.payload, at));
    }
    return reference_get(dtype, of->outputs.payload, at);
}

static double rounded(wr_dtype dtype, long double value) {
    uint64_t element = 0;
    double nearest = (double)value;
    reference_put(dtype, &element, 0, nearest);
    return reference_get(dtype, &element, 0);
}

static long double rounding_of(wr_dtype dtype) { return dtype == WR_F64 ? 0x1p-53L : 0x1p-24L; }

static int levels_of_tree(size_t count) {
    int levels = 0;
    while (((size_t)1 << levels) < count) {
        ++levels;
    }
    return levels;
}

/* What docs/numerics.md proves, in units of the magnitude. */
static long double bound_of(wr_dtype dtype, size_t count, int kind) {
    int of_weight = kind & FROM_LOGITS ? 3 : kind & LOG ? 2 : 0;
    int roundings = levels_of_tree(count) + (kind & LOG ? 1 + of_weight : 3 + 2 * of_weight) + (kind & SCALED ? 1 : 0);
    long double first = (long double)roundings * rounding_of(dtype);
    return first * (1.0L + first);
}

static void check_element(const job *of, const row *in, size_t i, long double exact, long double magnitude,
                          const char *label) {
    wr_dtype dtype = of->args.input_gradient_dtype;
    size_t at = in->first + i * in->stride;
    double got = reference_get(dtype, of->result.payload, at);
    long double allowed = magnitude * bound_of(of->args.dtype, in->count, of->kind);
    double low, high;
    if (of->kind & ADDED) {
        double old = reference_get(dtype, of->before.payload, at);
        exact += old;
        allowed += (fabsl(exact) + allowed) * rounding_of(of->args.dtype);
    }
    low = rounded(dtype, exact - allowed);
    high = rounded(dtype, exact + allowed);
    CHECK(got >= low && got <= high, "%s: row %zu, element %zu: %a, exactly %La", label, in->index, i, got, exact);
    if (magnitude > 0.0L && !(of->kind & ADDED) && (dtype == WR_F32 || dtype == WR_F64)) {
        worst[of->args.dtype] = fmax(worst[of->args.dtype], (double)(fabsl(got - exact) / magnitude));
    }
}

/* A sum with what its roundings lost, so that a long row's is as good as a short one's. */
typedef struct long_sum {
    long double high, low;
} long_sum;

static void add(long_sum *to, long double term) {
    long double sum = to->high + term, added = sum - to->high;
    to->low += (to->high - (sum - added)) + (term - added);
    to->high = sum;
}

static void check_row(const job *of, const row *in, const char *label) {
    long_sum terms = {0.0L, 0.0L};
    long double sum, magnitude = 0.0L;
    long double scale = of->args.scale == 0.0 ? 1.0L : (long double)(of->args.dtype == WR_F64 ? 0.37 : (double)0.37f);
    int log = of->args.log;
    size_t i;
    for (i = 0; i < in->count; ++i) {
        if (takes_part(of, in, i)) {
            long double term = log ? gradient_at(of, in, i) : weight_at(of, in, i) * gradient_at(of, in, i);
            add(&terms, term);
            magnitude += fabsl(term);
        }
    }
    sum = terms.high + terms.low;
    for (i = 0; i < in->count; ++i) {
        long double y, dy;
        if (!takes_part(of, in, i)) {
            check_element(of, in, i, 0.0L, 0.0L, label);
            continue;
        }
        y = weight_at(of, in, i);
        dy = gradient_at(of, in, i);
        if (log) {
            check_element(of, in, i, scale * (dy - y * sum), scale * (fabsl(dy) + y * magnitude), label);
        } else {
            check_element(of, in, i, scale * y * (dy - sum), scale * y * (fabsl(dy) + magnitude), label);
        }
    }
}

static void check_job(wr_dtype dtype, size_t outer, size_t axis, size_t inner, int kind) {
    job of = job_new(dtype, outer, axis, inner, kind, axis + (uint64_t)kind);
    char label[200];
    size_t index;
    snprintf(label, sizeof label, "%s [%zu][%zu][%zu], kind %d", dtype_name(dtype), outer, axis, inner, kind);
    job_prepare(&of);
    run_backward_everywhere(&of.args, &of.images, label);
    for (index = 0; index < of.rows; ++index) {
        row in = row_of(&of, index);
        check_row(&of, &in, label);
    }
    job_free(&of);
}

static void check_type(wr_dtype dtype) {
    static const int kinds[] = {0,
                                FROM_LOGITS,
                                FROM_LOGITS | SCALED,
                                MASKED,
                                WITH_LENGTHS | FROM_LOGITS,
                                CAUSAL,
                                MASKED | WITH_LENGTHS | CAUSAL | FROM_LOGITS | ADDED,
                                ADDED,
                                IN_PLACE,
                                IN_PLACE | MASKED | SCALED,
                                WIDE_GRADIENTS,
                                WIDE_GRADIENTS | FROM_LOGITS,
                                STRIDED,
                                ON_BOUNDARIES,
                                ON_BOUNDARIES | FROM_LOGITS,
                                ON_BOUNDARIES | FROM_LOGITS | SCALED,
                                ON_BOUNDARIES | FROM_LOGITS | IN_PLACE};
    static const size_t lengths[] = {1, 2, 3, 33, 64, 1000, 1024, 1025, 2500, 8192, 9000};
    size_t kind, n;
    int log;
    for (n = 0; n < sizeof lengths / sizeof *lengths; ++n) {
        for (kind = 0; kind < sizeof kinds / sizeof *kinds; ++kind) {
            for (log = 0; log <= LOG; log += LOG) {
                check_job(dtype, lengths[n] < 100 ? 13 : 2, lengths[n], 1, kinds[kind] | log);
                if (lengths[n] <= 2500) {
                    check_job(dtype, 2, lengths[n], 5, kinds[kind] | log);
                }
            }
        }
    }
    for (log = 0; log <= LOG; log += LOG) {
        check_job(dtype, 9, 3000, 1, RAGGED | log);
        check_job(dtype, 9, 90000, 1, RAGGED | MASKED | FROM_LOGITS | log);
        check_job(dtype, 1, 100001, 1, FROM_LOGITS | log);
        check_job(dtype, 2, 70000, 1, IN_PLACE | WITH_LENGTHS | log);
        check_job(dtype, 2, 100000, 1, ON_BOUNDARIES | FROM_LOGITS | log);
        check_job(dtype, 3, 140000, 1, ON_BOUNDARIES | FROM_LOGITS | SCALED | log);
    }
}

static void check_very_long_rows(wr_dtype dtype) {
    int log;
    for (log = 0; log <= LOG; log += LOG) {
        check_job(dtype, 1, (size_t)1 << 20, 1, WIDE_GRADIENTS | log);
        check_job(dtype, 1, 3000001, 1, WIDE_GRADIENTS | FROM_LOGITS | SCALED | log);
    }
}

/*
 * Number i of a row in whose sum every second addition is a tie that rounds downwards: the numbers are 1 + 2 u j,
 * two neighbours of an even sum j give j and j + 1, of an odd one j - 1 and j + 1. (Of f64 the exact sum of 2^10 is all
 * that a long double holds.)
 */
static uint64_t last_places_of(size_t i, int levels) {
    uint64_t j = 0;
    while (levels-- > 0) {
        j = i >> levels & 1 ? j + 1 : j - (j & 1);
    }
    return j;
}

/* From log-softmax outputs of 0, so that each gradient is the element less the sum: the bound is nearly reached. */
static void check_row_that_rounds_downwards(wr_dtype dtype, int levels) {
    size_t count = (size_t)1 << levels, size = reference_size(dtype), i;
    wr_softmax_backward_args args = backward_args(dtype, 1, count, 1);
    image saved = image_new(count * size, 0), gradient = image_new(count * size, 0),
          result = image_new(count * size, 0);
    long double step = 2.0L * rounding_of(dtype), sum = (long double)count, farthest = 0.0L;
    backward_images images;
    memset(&images, 0, sizeof images);
    memset(saved.payload, 0, saved.payload_bytes);
    for (i = 0; i < count; ++i) {
        long double more = step * (long double)last_places_of(i, levels);
        reference_put(dtype, gradient.payload, i, (double)(1.0L + more));
        sum += more;
    }
    args.log = 1;
    args.output = saved.payload;
    args.output_gradient = gradient.payload;
    args.input_gradient = result.payload;
    images.saved = &saved;
    images.output_gradient = &gradient;
    images.input_gradient = &result;
    run_backward_everywhere(&args, &images, "a row that rounds downwards");
    for (i = 0; i < count; ++i) {
        long double exact = (long double)reference_get(dtype, gradient.payload, i) - sum;
        long double error = fabsl((long double)reference_get(dtype, result.payload, i) - exact) / (sum + 1.0L);
        farthest = error > farthest ? error : farthest;
    }
    CHECK(farthest <= bound_of(dtype, count, LOG), "2^%d elements that round downwards: %Lg", levels, farthest);
    CHECK(farthest >= (long double)levels * 2.0L / 3.0L * rounding_of(dtype),
          "2^%d elements that round downwards: only %Lg, so the bound may be too large", levels, farthest);
    image_free(&saved);
    image_free(&gradient);
    image_free(&result);
}

/* The formula with the library's own sums, operation by operation. */
static void check_bits(size_t axis) {
    job of = job_new(WR_F32, 1, axis, 1, 0, axis);
    volatile float total;
    float sum = 0.0f;
    size_t i, wrong = 0;
    wr_status status;
    job_prepare(&of);
    run_backward_everywhere(&of.args, &of.images, "bits");
    status = wr_dot(WR_F32, of.outputs.payload, of.gradient.payload, &sum, axis, wr_host_stream());
    CHECK(status == WR_SUCCESS, "dot: %s", wr_status_name(status));
    total = sum;
    for (i = 0; i < axis; ++i) {
        float y = (float)reference_get(WR_F32, of.outputs.payload, i);
        volatile float difference = (float)reference_get(WR_F32, of.gradient.payload, i) - total;
        volatile float expected = y * difference;
        float got = (float)reference_get(WR_F32, of.result.payload, i);
        wrong += memcmp(&got, (const void *)&expected, sizeof got) != 0;
    }
    CHECK(wrong == 0, "axis %zu: %zu gradients are not those of the formula with wr_dot", axis, wrong);
    job_free(&of);
}

static void check_log_bits(size_t axis) {
    job of = job_new(WR_F64, 1, axis, 1, LOG, axis);
    double sum = 0.0;
    uint64_t state = axis;
    size_t i, wrong = 0;
    wr_status status;
    job_prepare(&of);
    /* log-softmax outputs of 0 and -infinity have the weights 1 and 0 exactly */
    for (i = 0; i < axis; ++i) {
        reference_put(WR_F64, of.outputs.payload, i, random_below(&state, 2) ? 0.0 : -(double)INFINITY);
    }
    run_backward_everywhere(&of.args, &of.images, "bits of log-softmax");
    status = wr_reduce(WR_SUM, WR_F64, of.gradient.payload, &sum, 1, axis, 1, wr_host_stream());
    CHECK(status == WR_SUCCESS, "sum: %s", wr_status_name(status));
    for (i = 0; i < axis; ++i) {
        double dy = reference_get(WR_F64, of.gradient.payload, i);
        double weight = reference_get(WR_F64, of.outputs.payload, i) == 0.0 ? 1.0 : 0.0;
        wrong += reference_get(WR_F64, of.result.payload, i) != dy - weight * sum;
    }
    CHECK(wrong == 0, "axis %zu: %zu gradients are not those of the formula with WR_SUM", axis, wrong);
    job_free(&of);
}

int main(int argc, char **argv) {
    size_t type, axis;
    places_open(argc, argv);
    for (type = 0; type < FLOAT_TYPES; ++type) {
        check_type(float_types[type]);
    }
    check_very_long_rows(WR_F32);
    check_very_long_rows(WR_F64);
    check_row_that_rounds_downwards(WR_F32, 20);
    check_row_that_rounds_downwards(WR_F64, 10);
    for (axis = 1; axis < 40000; axis = axis * 2 + axis % 3) {
        check_bits(axis);
        check_log_bits(axis);
    }
    printf("worst gradient error, in units of its magnitude: f32 2^%.1f, f64 2^%.1f\n", log2(worst[WR_F32]),
           log2(worst[WR_F64]));
    places_close();
    return check_report("softmax_backward_is_accurate");
}
