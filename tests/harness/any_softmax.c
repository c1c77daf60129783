#include "harness/any_softmax.h"

#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "harness/softmax_jobs.h"
#include "harness/unusual_logits.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 1024, ROWS_ALONE = 3 };

typedef struct memory {
    const any_softmax *job;
    size_t rows, elements;
    int64_t causal_first;
    size_t causal_rows;
    image first, second, third, mask, lengths, offsets, sums, maxima, scales;
} memory;

static int64_t *integers(const image *of) { return (int64_t *)(void *)of->payload; }
static int has(const any_softmax *job, unsigned what) { return (job->what & what) != 0; }
static int is_from_logits(const any_softmax *job) { return job->call == CALL_GRADIENT && has(job, SUMS); }

static size_t count_of(const memory *m, size_t row) {
    const int64_t *offsets = integers(&m->offsets);
    return m->job->ragged ? (size_t)(offsets[row + 1] - offsets[row]) : m->job->axis;
}

/* The number of an element among all, and in the first array. */
static size_t place_of(const memory *m, size_t row, size_t i) {
    size_t inner = m->job->inner;
    return m->job->ragged ? (size_t)integers(&m->offsets)[row] + i
                          : (row / inner * m->job->axis + i) * inner + row % inner;
}
static size_t first_place_of(const memory *m, size_t row, size_t i) {
    return place_of(m, row, i) * (has(m->job, STRIDED) ? 2 : 1);
}

/* Leading elements that take part, but for what the mask leaves out. */
static size_t kept(const memory *m, size_t row) {
    size_t count = count_of(m, row), outer = row / m->job->inner;
    int64_t least = (int64_t)count;
    if (has(m->job, CUT_OFF) && integers(&m->lengths)[row] < least) {
        least = integers(&m->lengths)[row];
    }
    if (has(m->job, CAUSAL) && m->causal_rows != 0 && (int64_t)(outer % m->causal_rows) + m->causal_first < least) {
        least = (int64_t)(outer % m->causal_rows) + m->causal_first;
    }
    return least < 0 ? 0 : (size_t)least;
}

/* Around vectors, base blocks and the row's end, by turns with any number. */
static int64_t length_of(size_t row, size_t count) {
    static const int around[] = {-1, 0, 1, 7, 8, 9, 255, 256, 257};
    size_t boundary = row / 9 % (count / BLOCK + 2) * BLOCK;
    switch (row % 4) {
    case 0:
        return (int64_t)(row * 2654435761u % (count + 1));
    case 1:
        return row % 8 == 1 ? INT64_MAX - (int64_t)row : (int64_t)count;
    case 2:
        return row % 16 == 2 ? INT64_MIN : row % 16 == 6 ? 0 : (int64_t)count - (int64_t)(row % 67);
    default:
        return (int64_t)boundary + around[row / 4 % 9];
    }
}

/* Whether an element stays, as a byte: any but 0. The pattern changes with the base block and the row. */
static uint8_t mask_of(size_t row, size_t at) {
    static const uint8_t taken[] = {1, 2, 0x7F, 0x80, 0xFF};
    size_t hash = (row * 40503u + at) * 2654435761u >> 7;
    uint8_t any = taken[hash % 5];
    switch ((row + at / BLOCK) % 7) {
    case 0:
        return any;
    case 1:
        return at % 8 == row % 8 ? any : 0;
    case 2:
        return 0;
    case 3:
        return row % 8 == 3 ? 0 : hash % 4 == 0 ? any : 0;
    default:
        return row % 16 == 9 ? 0 : hash % 4 != 0 ? any : 0;
    }
}

/* Ragged rows: empty ones, edges at which a row gets more room, a few far longer, and any. */
static size_t ragged_length(uint64_t *state, size_t row, size_t usual) {
    static const size_t edges[] = {1, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 1023, 1024, 1025, 2049};
    size_t any = random_below(state, usual + 1);
    if (row == 77) {
        return 9000;
    }
    if (row % 61 == 5) {
        return edges[row / 61 % (sizeof edges / sizeof *edges)];
    }
    return row % 7 == 6 ? 0 : usual % 2 == 1 && row % 5 == 2 ? BLOCK + any : any;
}

static double logit(const memory *m, uint64_t *state, size_t row, size_t i) {
    static const double masks[] = {-INFINITY, -1e4, -1048575.0, -1048577.0, -2097151.0, -2097168.0, -1e9, -3e38};
    const size_t axis = m->job->axis, inner = m->job->inner;
    const double small = 4.0 * random_unit(state) - 2.0, far = (double)(row * 37 % 1040) / 4.0;
    switch (m->job->logits) {
    case LOGITS_NARROW:
        return 2.0 * small;
    case LOGITS_WIDE:
        return 30.0 * small;
    case LOGITS_ONE_ABOVE:
        return i == row * 37 % axis ? small + far : small;
    case LOGITS_IN_STEPS: /* about 0, where a frame is left out, about 40, where it is not, and below */
        return small +
               (row % 4 == 0   ? far
                : row % 4 == 1 ? 40.0
                : row % 4 == 2 ? -12.0
                               : -25.0) -
               (i / BLOCK == row % 3 ? 0.0 : (double)((row * 2 + i / BLOCK * 31) % 1040) / 4.0);
    case LOGITS_MASKED_OFF:
        return row % 11 == 3                    ? masks[(i / BLOCK % 2 == 0 ? row : row / 8) % 8]
               : i < row * 131 % (axis + BLOCK) ? small
                                                : masks[row % 8];
    case LOGITS_PART_UNUSUAL:
        return row % inner % 340 < 40 ? unusual_logit(state, row, i, axis, m->job->first) : 6.0 * small;
    default:
        return unusual_logit(state, row, i, axis, m->job->first);
    }
}

/* Outputs, or their logarithms: the gradient takes whatever it is given. */
static double saved_output(const memory *m, uint64_t *state, size_t row, size_t i) {
    const double unit = random_unit(state);
    if (row % 8 == 3 && i % 4099 == 17) {
        return (double)NAN;
    }
    if (has(m->job, LOG)) {
        return row % 8 == 7 || (row % 8 == 5 && i % 27 == 5) ? -(double)INFINITY : -20.0 * unit;
    }
    return row % 8 == 5 && i % 27 == 5 ? 0.0 : row % 8 == 6 && i % 53 == 9 ? ldexp(unit, -120) : unit;
}

static void put_row(memory *m, size_t row, uint64_t *state) {
    const any_softmax *job = m->job;
    const size_t count = count_of(m, row), left = kept(m, row);
    size_t i;
    for (i = 0; i < count; ++i) {
        const size_t at = place_of(m, row, i);
        const uint8_t taken = mask_of(row, i);
        const int is_output = job->call == CALL_GRADIENT && !is_from_logits(job);
        double value = is_output ? saved_output(m, state, row, i) : logit(m, state, row, i);
        double gradient = row % 8 == 2 && i + 1 == count ? (double)INFINITY : 2.0 * random_unit(state) - 1.0;
        if (i >= left || (has(job, MASKED) && taken == 0 && row % 3 != 0)) {
            value = i >= left || row % 3 == 1 ? (double)NAN : 6e4;
            gradient = (double)NAN;
        }
        m->mask.payload[at] = taken;
        reference_put(job->first, m->first.payload, first_place_of(m, row, i), value);
        if (job->call == CALL_GRADIENT) {
            reference_put(job->second, m->second.payload, at, gradient);
            reference_put(job->third, m->third.payload, at, random_unit(state));
        }
    }
}

static wr_dtype sum_type(const any_softmax *job) { return softmax_state_dtype(job->first); }

static void lay_rows_out(memory *m, uint64_t *state) {
    const any_softmax *job = m->job;
    int64_t at = job->ragged ? 3 : 0;
    size_t row;
    m->offsets = image_new((m->rows + 1) * sizeof(int64_t), 8);
    m->lengths = image_new(m->rows * sizeof(int64_t), 8);
    for (row = 0; row < m->rows; ++row) {
        size_t count = job->ragged ? ragged_length(state, row, job->axis) : job->axis;
        integers(&m->offsets)[row] = at;
        integers(&m->lengths)[row] = length_of(row, count);
        at += (int64_t)count;
    }
    integers(&m->offsets)[m->rows] = at;
    m->elements = (size_t)at + (job->ragged ? 2 : 0);
    m->causal_rows = job->axis + 5 < job->outer ? job->axis + 5 : job->outer;
    m->causal_first = job->outer > job->axis / 2 ? -2 : (int64_t)(job->axis / 2);
}

/* 0 is 1; every sign and size, and rarely numbers that are no scale. */
static double scale_of(size_t row) {
    static const double rare[] = {(double)NAN, (double)INFINITY, -(double)INFINITY, 0x1p-140, -0x1p-126, 0x1p100};
    static const double usual[] = {1.0, -0.75, 2.5, 0.0, 0.125, -1.0, 0.7, -0.0, 0x1p-20, 13.0};
    return row % 29 == 11 ? rare[row / 29 % 6] : usual[row * 7 % 10];
}

static memory memory_new(const any_softmax *job) {
    const size_t steps = has(job, STRIDED) ? 2 : 1, gradients = job->call == CALL_GRADIENT;
    const size_t size = reference_size(job->first), sum_size = reference_size(sum_type(job));
    memory m;
    uint64_t state = job->axis + job->what;
    size_t row;
    m.job = job;
    m.rows = job->outer * job->inner;
    lay_rows_out(&m, &state);
    m.first = image_new(m.elements * steps * size, job->off[0] * size);
    m.second = image_new(m.elements * reference_size(job->second), job->off[1] * reference_size(job->second));
    m.third = image_new(gradients * m.elements * reference_size(job->third), 0);
    m.mask = image_new(m.elements, job->off[2]);
    m.sums = image_new(m.rows * sum_size, sum_size);
    m.maxima = image_new(m.rows * sum_size, 0);
    m.scales = image_new(m.rows * sum_size, sum_size);
    memset(m.first.payload, 0, m.first.payload_bytes);
    memset(m.second.payload, 0, m.second.payload_bytes);
    memset(m.third.payload, 0, m.third.payload_bytes);
    memset(m.mask.payload, 1, m.mask.payload_bytes);
    for (row = 0; row < m.rows; ++row) {
        put_row(&m, row, &state);
        reference_put(sum_type(job), m.scales.payload, row, scale_of(row));
        reference_put(sum_type(job), m.sums.payload, row, row % 8 == 7 ? -(double)INFINITY : 9.0 + (double)(row % 16));
    }
    return m;
}

static memory memory_copy(const memory *of) {
    memory made = *of;
    made.first = image_copy(&of->first);
    made.second = image_copy(&of->second);
    made.third = image_copy(&of->third);
    made.mask = image_copy(&of->mask);
    made.lengths = image_copy(&of->lengths);
    made.offsets = image_copy(&of->offsets);
    made.sums = image_copy(&of->sums);
    made.maxima = image_copy(&of->maxima);
    made.scales = image_copy(&of->scales);
    return made;
}

static void memory_free(memory *m) {
    image_free(&m->first);
    image_free(&m->second);
    image_free(&m->third);
    image_free(&m->mask);
    image_free(&m->lengths);
    image_free(&m->offsets);
    image_free(&m->sums);
    image_free(&m->maxima);
    image_free(&m->scales);
}

/* Both structs have these by the same names. */
#define SELECT(args, m)                                                                                                \
    do {                                                                                                               \
        const any_softmax *of = (m)->job;                                                                              \
        (args)->log = has(of, LOG);                                                                                    \
        (args)->scale = has(of, OWN_SCALES) ? 0.0 : of->scale;                                                         \
        (args)->scales = has(of, OWN_SCALES) ? (m)->scales.payload : NULL;                                             \
        (args)->empty_row = has(of, ZERO_ROWS) ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;                                 \
        (args)->mask = has(of, MASKED) ? (m)->mask.payload : NULL;                                                     \
        (args)->lengths = has(of, CUT_OFF) ? integers(&(m)->lengths) : NULL;                                           \
        (args)->offsets = of->ragged ? integers(&(m)->offsets) : NULL;                                                 \
        (args)->causal = has(of, CAUSAL);                                                                              \
        (args)->causal_first = has(of, CAUSAL) ? (m)->causal_first : 0;                                                \
        (args)->causal_rows = has(of, CAUSAL) ? (m)->causal_rows : 0;                                                  \
        (args)->workspace_bytes = has(of, LENDS) ? LEND_WORKSPACE : 0;                                                 \
        if (has(of, STRIDED)) {                                                                                        \
            (args)->outer_stride = (ptrdiff_t)(2 * of->axis * of->inner);                                              \
            (args)->axis_stride = (ptrdiff_t)(2 * of->inner);                                                          \
            (args)->inner_stride = 2;                                                                                  \
        }                                                                                                              \
    } while (0)

static size_t axis_of(const memory *m) { return m->job->ragged ? m->elements : m->job->axis; }

static void run_softmax(memory *m, int alone, const char *label) {
    const any_softmax *job = m->job;
    const int in_place = has(job, IN_PLACE) && job->first == job->second && !has(job, STRIDED);
    image *output = in_place ? &m->first : &m->second;
    wr_softmax_args args = softmax_args(job->first, job->outer, axis_of(m), job->inner);
    softmax_images images = {&m->first, &m->mask, &m->lengths, &m->offsets, output, NULL, NULL, &m->scales};
    SELECT(&args, m);
    SAY_STRIDES(&args);
    args.output_dtype = job->second;
    args.input = m->first.payload;
    args.output = output->payload;
    if (has(job, SUMS)) {
        args.logsumexp = m->sums.payload;
        images.logsumexp = &m->sums;
    }
    if (has(job, MAXIMA)) {
        args.maximum = m->maxima.payload;
        images.maximum = &m->maxima;
    }
    if (alone) {
        CHECK(softmax_with_images_at(place_at(0), &args, &images) == WR_SUCCESS, "%s, a row alone", label);
    } else {
        run_softmax_everywhere(&args, &images, label);
    }
    if (in_place) {
        memcpy(m->second.payload, m->first.payload, m->second.payload_bytes);
    }
}

static void run_gradient(memory *m, int alone, const char *label) {
    const any_softmax *job = m->job;
    const int in_place = has(job, IN_PLACE) && job->second == job->third && !has(job, ADDED);
    image *result = in_place ? &m->second : &m->third;
    wr_softmax_backward_args args = backward_args(job->first, job->outer, axis_of(m), job->inner);
    backward_images images = {
        &m->first, is_from_logits(job) ? &m->sums : NULL, &m->second, &m->mask, &m->lengths, &m->offsets, result,
        &m->scales};
    SELECT(&args, m);
    say_strides_of_both(&args);
    args.output_gradient_dtype = job->second;
    args.input_gradient_dtype = job->third;
    args.add_to_input_gradient = has(job, ADDED);
    (*(is_from_logits(job) ? &args.input : &args.output)) = m->first.payload;
    args.logsumexp = is_from_logits(job) ? m->sums.payload : NULL;
    args.output_gradient = m->second.payload;
    args.input_gradient = result->payload;
    if (alone) {
        CHECK(backward_with_images_at(place_at(0), &args, &images) == WR_SUCCESS, "%s, a row alone", label);
    } else {
        run_backward_everywhere(&args, &images, label);
    }
    if (in_place) {
        memcpy(m->third.payload, m->second.payload, m->third.payload_bytes);
    }
}

/* Of segments, with offsets of 32 bits and of 64, where rows are ragged. */
static wr_status logsumexp_at(const place *where, memory *m, int short_offsets, image *result) {
    const any_softmax *job = m->job;
    wr_reduce_args args = reduce_args(WR_LOGSUMEXP, job->first, job->outer, job->axis, job->inner);
    wr_reduce_segments_args segments = segments_args(WR_LOGSUMEXP, job->first, m->rows);
    image numbers;
    segment_images images = {&m->first, &numbers, result, NULL};
    wr_status status;
    size_t i;
    args.output_dtype = segments.output_dtype = sum_type(job);
    args.input = segments.input = m->first.payload;
    args.output = segments.output = result->payload;
    if (!job->ragged) {
        size_t bytes = 0;
        CHECK(!has(job, LENDS) || wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "query");
        args.workspace = bytes != 0 ? m->second.payload : NULL;
        args.workspace_bytes = bytes;
        return reduce_at(where, &args, &m->first, result);
    }
    numbers = image_new((m->rows + 1) * sizeof(int32_t), 4);
    for (i = 0; i <= m->rows; ++i) {
        ((int32_t *)(void *)numbers.payload)[i] = (int32_t)integers(&m->offsets)[i];
    }
    segments.offsets_dtype = short_offsets ? WR_I32 : WR_I64;
    segments.offsets = short_offsets ? numbers.payload : m->offsets.payload;
    segments.input_count = m->elements;
    images.offsets = short_offsets ? &numbers : &m->offsets;
    status = segments_at(where, &segments, &images);
    image_free(&numbers);
    return status;
}

static void run_logsumexp(memory *m, int alone, const char *label) {
    size_t p;
    for (p = 0; p < (alone ? 1 : place_count()); ++p) {
        image result = image_new(m->sums.payload_bytes, 0);
        wr_status status = logsumexp_at(place_at(p), m, p > 0 && has(m->job, LOG), &result);
        CHECK(status == WR_SUCCESS, "%s on %s: %s", label, place_at(p)->name, wr_status_name(status));
        CHECK(p == 0 || memcmp(result.payload, m->sums.payload, result.payload_bytes) == 0,
              "%s on %s: not the host's logsumexp", label, place_at(p)->name);
        if (p == 0) {
            memcpy(m->sums.payload, result.payload, result.payload_bytes);
        }
        image_free(&result);
    }
}

typedef void run_call(memory *m, int alone, const char *label);
static run_call *const calls[SOFTMAX_CALLS] = {run_softmax, run_gradient, run_logsumexp};

static void copy_element(image *to, size_t to_index, const image *from, size_t index, wr_dtype dtype) {
    const size_t size = reference_size(dtype);
    memcpy(to->payload + to_index * size, from->payload + index * size, size);
}

/* Of a job of one row that has a scale of its own: as the one scale of a call, where it may be that. */
static void scale_row(any_softmax *job, double scale) {
    if ((job->what & OWN_SCALES) != 0 && isfinite(scale)) {
        job->what &= ~(unsigned)OWN_SCALES;
        job->scale = scale;
    }
}

/* One row by itself, from what the arrays held before the call, is what it is among the others: however it lies, and
 * whatever a mask, lengths and the causal limit leave out. */
static void check_alone(const memory *before, const memory *after, size_t row, const char *label) {
    any_softmax job = *before->job;
    const size_t count = count_of(before, row);
    const wr_dtype result = job.call == CALL_GRADIENT ? job.third : job.second;
    const size_t size = reference_size(result), sum_size = reference_size(sum_type(&job));
    memory own;
    size_t i, wrong = 0;
    job.outer = job.inner = 1;
    job.axis = count;
    job.ragged = 0;
    job.what = (job.what & ~(unsigned)(STRIDED | CAUSAL | IN_PLACE)) | (job.call == CALL_LOGSUMEXP ? 0 : CUT_OFF);
    memset(job.off, 0, sizeof job.off);
    scale_row(&job, reference_get(sum_type(&job), before->scales.payload, row));
    own = memory_new(&job);
    copy_element(&own.scales, 0, &before->scales, row, sum_type(&job));
    integers(&own.lengths)[0] = (int64_t)kept(before, row);
    copy_element(&own.sums, 0, &before->sums, row, sum_type(&job));
    for (i = 0; i < count; ++i) {
        const size_t at = place_of(before, row, i);
        copy_element(&own.first, i, &before->first, first_place_of(before, row, i), job.first);
        own.mask.payload[i] = before->mask.payload[at];
        if (job.call == CALL_GRADIENT) {
            copy_element(&own.second, i, &before->second, at, job.second);
            copy_element(&own.third, i, &before->third, at, job.third);
        }
    }
    calls[job.call](&own, 1, label);
    for (i = 0; job.call != CALL_LOGSUMEXP && i < count; ++i) {
        const image *mine = job.call == CALL_GRADIENT ? &own.third : &own.second;
        const image *theirs = job.call == CALL_GRADIENT ? &after->third : &after->second;
        wrong += memcmp(mine->payload + i * size, theirs->payload + place_of(before, row, i) * size, size) != 0;
    }
    wrong += memcmp(own.sums.payload, after->sums.payload + row * sum_size, sum_size) != 0;
    wrong += job.call == CALL_SOFTMAX && has(&job, MAXIMA) &&
             memcmp(own.maxima.payload, after->maxima.payload + row * sum_size, sum_size) != 0;
    CHECK(wrong == 0, "%s: row %zu has %zu other results alone", label, row, wrong);
    memory_free(&own);
}

void check_any_softmax(const any_softmax *job) {
    static const char *const names[SOFTMAX_CALLS] = {"softmax", "gradient", "logsumexp"};
    memory after = memory_new(job), before = memory_copy(&after);
    char label[200];
    size_t k;
    snprintf(label, sizeof label, "%s [%zu][%zu][%zu]%s %s, %s, %s, options %X, logits %d, off %zu %zu %zu, scale %g",
             names[job->call], job->outer, job->axis, job->inner, job->ragged ? " ragged" : "", dtype_name(job->first),
             dtype_name(job->second), dtype_name(job->third), job->what, (int)job->logits, job->off[0], job->off[1],
             job->off[2], job->scale);
    calls[job->call](&after, 0, label);
    for (k = 0; k < ROWS_ALONE && k < after.rows; ++k) {
        const size_t row = (k * (after.rows - 1) + (k == 1 ? 7 : 0)) / 2 % after.rows;
        if (count_of(&before, row) != 0) {
            check_alone(&before, &after, row, label);
        }
    }
    memory_free(&after);
    memory_free(&before);
}
