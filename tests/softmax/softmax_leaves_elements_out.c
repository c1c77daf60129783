/*
 * Masks, lengths, the causal limit and ragged rows: what is left out gives 0 (in log-softmax -infinity), and the rest
 * has the bits of a softmax in which logits of -infinity stand where elements are left out, or of the shorter row
 * alone. What is left out is never read as a number: it is NaN here.
 */
#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const wr_dtype float_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
enum { FLOAT_TYPES = 6 };

/* One job: [outer][axis][inner], contiguous but for the ragged ones. */
typedef struct job {
    wr_softmax_args args;
    image input, output, sums, maxima, mask, lengths, offsets;
    softmax_images images;
    size_t elements, rows;
} job;

static uint64_t bits_of(wr_dtype dtype, double value) {
    uint64_t bits = 0;
    reference_put(dtype, &bits, 0, value);
    return bits;
}

static job job_new(wr_dtype dtype, wr_dtype output_dtype, size_t outer, size_t axis, size_t inner, int ragged) {
    job made;
    wr_dtype state = softmax_state_dtype(dtype);
    memset(&made, 0, sizeof made);
    made.elements = ragged ? axis : outer * axis * inner;
    made.rows = outer * inner;
    made.args = softmax_args(dtype, outer, axis, inner);
    made.args.output_dtype = output_dtype;
    made.input = image_new(made.elements * reference_size(dtype), reference_size(dtype));
    made.output = image_new(made.elements * reference_size(output_dtype), reference_size(output_dtype));
    made.sums = image_new(made.rows * reference_size(state), 0);
    made.maxima = image_new(made.rows * reference_size(state), 0);
    made.mask = image_new(made.elements, 1);
    made.lengths = image_new(made.rows * sizeof(int64_t), 8);
    made.offsets = image_new((outer + 1) * sizeof(int64_t), 8);
    return made;
}

/* Once the job lies where it stays. */
static void job_point(job *of, int masked, int with_lengths, int ragged) {
    of->args.input = of->input.payload;
    of->args.output = of->output.payload;
    of->args.logsumexp = of->sums.payload;
    of->args.maximum = of->maxima.payload;
    of->args.mask = masked ? of->mask.payload : NULL;
    of->args.lengths = with_lengths ? (const int64_t *)(const void *)of->lengths.payload : NULL;
    of->args.offsets = ragged ? (const int64_t *)(const void *)of->offsets.payload : NULL;
    of->images.input = &of->input;
    of->images.output = &of->output;
    of->images.logsumexp = &of->sums;
    of->images.maximum = &of->maxima;
    of->images.mask = &of->mask;
    of->images.lengths = &of->lengths;
    of->images.offsets = &of->offsets;
}

static void job_free(job *of) {
    image_free(&of->input);
    image_free(&of->output);
    image_free(&of->sums);
    image_free(&of->maxima);
    image_free(&of->mask);
    image_free(&of->lengths);
    image_free(&of->offsets);
}

static int64_t *lengths_of(job *of) { return (int64_t *)(void *)of->lengths.payload; }
static int64_t *offsets_of(job *of) { return (int64_t *)(void *)of->offsets.payload; }

typedef struct row {
    size_t first, stride, count, limit;
} row;

static row row_of(const job *of, size_t index) {
    const wr_softmax_args *args = &of->args;
    size_t outer = index / args->inner;
    row found = {outer * args->axis * args->inner + index % args->inner, args->inner, args->axis, 0};
    int64_t limit;
    if (args->offsets != NULL) {
        found.first = (size_t)args->offsets[index];
        found.stride = 1;
        found.count = (size_t)(args->offsets[index + 1] - args->offsets[index]);
    }
    limit = (int64_t)found.count;
    if (args->lengths != NULL && args->lengths[index] < limit) {
        limit = args->lengths[index];
    }
    if (args->causal) {
        int64_t seen =
            (int64_t)(outer % (args->causal_rows == 0 ? args->axis : args->causal_rows)) + args->causal_first;
        limit = seen < limit ? seen : limit;
    }
    found.limit = limit < 0 ? 0 : (size_t)limit;
    return found;
}

static int takes_part(const job *of, const row *in, size_t i) {
    return i < in->limit && (of->args.mask == NULL || of->args.mask[in->first + i * in->stride] != 0);
}

/* The softmax of one row by itself, in memory of its own: of its first `count` logits, -infinity where left out. */
static void row_alone(const job *of, const row *in, size_t count, void *output, void *sum, void *maximum) {
    size_t size = reference_size(of->args.dtype), i;
    unsigned char *logits = malloc(size * (count + 1));
    wr_softmax_args args = softmax_args(of->args.dtype, 1, count, 1);
    double toward = of->args.scale < 0.0 ? (double)INFINITY : -(double)INFINITY;
    wr_status status;
    if (logits == NULL) {
        give_up("no memory");
    }
    for (i = 0; i < count; ++i) {
        if (takes_part(of, in, i)) {
            reference_copy_element(of->args.dtype, logits, i, of->args.input, in->first + i * in->stride);
        } else {
            reference_put(of->args.dtype, logits, i, toward);
        }
    }
    args.output_dtype = of->args.output_dtype;
    args.log = of->args.log;
    args.empty_row = of->args.empty_row;
    args.scale = of->args.scale;
    args.input = logits;
    args.output = output;
    args.logsumexp = sum;
    args.maximum = maximum;
    status = wr_softmax_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "a row alone: %s", wr_status_name(status));
    free(logits);
}

static int has_masked(const job *of, const row *in) {
    size_t i;
    for (i = 0; i < in->limit; ++i) {
        if (!takes_part(of, in, i)) {
            return 1;
        }
    }
    return 0;
}

/* E4M3 has no infinity to stand for an element that is left out. */
static int can_stand_alone(const job *of, const row *in) { return of->args.dtype != WR_F8_E4M3 || !has_masked(of, in); }

static void check_row(const job *of, size_t index, const char *label) {
    row in = row_of(of, index);
    wr_dtype dtype = of->args.output_dtype, state = softmax_state_dtype(of->args.dtype);
    unsigned char *expected = malloc(reference_size(dtype) * (in.limit + 1));
    uint64_t sum = 0, maximum = 0, left_out = bits_of(dtype, of->args.log ? -(double)INFINITY : 0.0);
    size_t i, wrong = 0;
    int is_empty;
    if (expected == NULL) {
        give_up("no memory");
    }
    row_alone(of, &in, in.limit, expected, &sum, &maximum);
    is_empty = sum == bits_of(state, -(double)INFINITY);
    if (is_empty && of->args.empty_row == WR_EMPTY_ROW_NAN) {
        left_out = bits_of(dtype, (double)NAN);
    }
    for (i = 0; i < in.count; ++i) {
        uint64_t bits = reference_bits(dtype, of->output.payload, in.first + i * in.stride);
        wrong += bits != (takes_part(of, &in, i) ? reference_bits(dtype, expected, i) : left_out);
    }
    CHECK(wrong == 0, "%s: %zu of %zu elements of row %zu are wrong", label, wrong, in.count, index);
    CHECK(reference_bits(state, of->sums.payload, index) == sum, "%s: logsumexp of row %zu: %#llx, alone %#llx", label,
          index, (unsigned long long)reference_bits(state, of->sums.payload, index), (unsigned long long)sum);
    CHECK(of->args.maximum == NULL || reference_bits(state, of->maxima.payload, index) == maximum,
          "%s: maximum of row %zu", label, index);
    free(expected);
}

/* NaN wherever nothing is to be read, of both signs by turns. */
static void poison_left_out(job *of) {
    const size_t size = reference_size(of->args.dtype);
    size_t index, i;
    for (index = 0; index < of->rows; ++index) {
        row in = row_of(of, index);
        for (i = 0; i < in.count; ++i) {
            if (!takes_part(of, &in, i)) {
                const size_t element = in.first + i * in.stride;
                reference_put(of->args.dtype, of->input.payload, element, (double)NAN);
                of->input.payload[(element + 1) * size - 1] |= (unsigned char)(i % 2 << 7); /* its sign */
            }
        }
    }
}

static void run_and_check(job *of, const char *label) {
    size_t index;
    poison_left_out(of);
    run_softmax_everywhere(&of->args, &of->images, label);
    for (index = 0; index < of->rows; ++index) {
        row in = row_of(of, index);
        if (can_stand_alone(of, &in)) {
            check_row(of, index, label);
        }
    }
}

static void fill(job *of, uint64_t seed) {
    uint64_t state = seed;
    size_t i, row_elements = of->rows == 0 ? 1 : of->elements / of->rows + 2;
    for (i = 0; i < of->elements; ++i) {
        /* Some so far down that their exponentials count as 0. */
        const double down = random_below(&state, 8) == 0 ? 80.0 + 120.0 * random_unit(&state) : 0.0;
        reference_put(of->args.dtype, of->input.payload, i, 12.0 * random_unit(&state) - 6.0 - down);
        of->mask.payload[i] = (unsigned char)(random_below(&state, 3) * 127);
    }
    for (i = 0; i < of->rows; ++i) {
        lengths_of(of)[i] = (int64_t)random_below(&state, row_elements + 3) - 2;
    }
    if (of->rows > 1) {
        lengths_of(of)[0] = INT64_MIN;
        lengths_of(of)[of->rows - 1] = INT64_MAX;
    }
}

enum { KINDS = 8 };

/* All combinations of mask, lengths and causal limit, in rows and columns. */
static void check_kind(wr_dtype dtype, wr_dtype output_dtype, int kind, size_t outer, size_t axis, size_t inner) {
    char label[200];
    int options;
    for (options = 0; options < 4; ++options) {
        job of = job_new(dtype, output_dtype, outer, axis, inner, 0);
        fill(&of, axis + (uint64_t)kind);
        job_point(&of, kind & 1, kind & 2, 0);
        of.args.log = options & 1;
        of.args.empty_row = options & 2 ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
        of.args.scale = options & 2 ? -0.75 : 0.0;
        if (kind & 4) {
            of.args.causal = 1;
            of.args.causal_first = (int64_t)(axis / 3) - 1;
            of.args.causal_rows = options & 1 ? 3 : 0;
        }
        snprintf(label, sizeof label, "%s to %s, [%zu][%zu][%zu], mask %d, lengths %d, causal %d, log %d",
                 dtype_name(dtype), dtype_name(output_dtype), outer, axis, inner, kind & 1, (kind & 2) / 2,
                 (kind & 4) / 4, of.args.log);
        run_and_check(&of, label);
        job_free(&of);
    }
}

static void check_shapes(wr_dtype dtype) {
    static const size_t lengths[] = {1, 2, 31, 63, 64, 65, 1023, 1024, 1025, 2048, 3000, 8192, 8193, 20000};
    size_t n;
    int kind;
    for (n = 0; n < sizeof lengths / sizeof *lengths; ++n) {
        for (kind = 0; kind < KINDS; ++kind) {
            size_t rows = lengths[n] < 100 ? 19 : 4;
            check_kind(dtype, dtype, kind, rows, lengths[n], 1);
            check_kind(dtype, n % 2 ? WR_BF16 : WR_F32, kind, rows, lengths[n], 1);
            if (lengths[n] <= 3000) {
                check_kind(dtype, dtype, kind, 2, lengths[n], rows);
            }
        }
    }
    check_kind(dtype, dtype, 7, 1, 150000, 1);
}

/* Rows so short that many may be done together, some with logits that are large or none, in all combinations; nothing
 * is asked for but outputs and their logsumexp. */
static void check_short(wr_dtype dtype, size_t axis, int kind) {
    enum { ROWS = 45 };
    static const double unusual[] = {4e6, (double)NAN, -(double)INFINITY, (double)INFINITY, -4e6};
    char label[200];
    int options;
    for (options = 0; options < 16; ++options) {
        job of = job_new(dtype, dtype, ROWS, axis, 1, 0);
        size_t i;
        fill(&of, 16 * axis + (uint64_t)options);
        for (i = 0; i < ROWS * axis && (options & 8) != 0; i += 7 * axis + 3) {
            reference_put(dtype, of.input.payload, i, unusual[i % 5]);
        }
        job_point(&of, kind & 1, kind & 2, 0);
        of.args.maximum = NULL;
        of.args.log = options & 1;
        of.args.empty_row = options & 2 ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
        of.args.scale = options & 4 ? -0.75 : 0.0;
        if (kind & 4) {
            of.args.causal = 1;
            of.args.causal_first = options & 2 ? 0 : 1;
            of.args.causal_rows = options & 4 ? 7 : 0;
        }
        snprintf(label, sizeof label, "%s, 45 rows of %zu, mask %d, lengths %d, causal %d, options %d",
                 dtype_name(dtype), axis, kind & 1, (kind & 2) / 2, (kind & 4) / 4, options);
        run_and_check(&of, label);
        job_free(&of);
    }
}

static void check_all_short(wr_dtype dtype) {
    static const size_t lengths[] = {4, 8, 12, 16, 20, 24, 32, 36, 40, 72, 96, 100, 128, 256, 264, 500, 504, 512};
    size_t n;
    int kind;
    for (n = 0; n < sizeof lengths / sizeof *lengths; ++n) {
        for (kind = 1; kind < KINDS; ++kind) {
            check_short(dtype, lengths[n], kind);
        }
    }
}

/* A square matrix of scores, each row seeing what is not behind it, against the definition written out. */
static void check_causal_square(void) {
    enum { SIDE = 70, MATRICES = 3 };
    job of = job_new(WR_F32, WR_F32, MATRICES * SIDE, SIDE, 1, 0);
    size_t r, i, wrong = 0;
    fill(&of, 5);
    for (i = 0; i < of.elements; ++i) {
        reference_put(WR_F32, of.input.payload, i, (double)(i % 13) - 6.0);
    }
    job_point(&of, 0, 0, 0);
    of.args.causal = 1;
    of.args.causal_first = 1;
    run_softmax_everywhere(&of.args, &of.images, "causal");
    for (r = 0; r < MATRICES * SIDE; ++r) {
        for (i = 0; i < SIDE; ++i) {
            double y = reference_get(WR_F32, of.output.payload, r * SIDE + i);
            wrong += (i <= r % SIDE) != (y > 0.0);
        }
    }
    CHECK(wrong == 0, "causal: %zu weights are on the wrong side of the diagonal", wrong);
    job_free(&of);
}

static void check_ragged(wr_dtype dtype, size_t longest, int kind) {
    enum { ROWS = 23 };
    uint64_t state = longest;
    int64_t counts[ROWS], total = 3;
    char label[100];
    job of;
    size_t r;
    for (r = 0; r < ROWS; ++r) {
        counts[r] = r % 5 == 0 ? 0 : (int64_t)random_below(&state, longest + 1);
        total += counts[r];
    }
    of = job_new(dtype, dtype, ROWS, (size_t)total + 2, 1, 1);
    fill(&of, longest);
    offsets_of(&of)[0] = 3;
    for (r = 0; r < ROWS; ++r) {
        offsets_of(&of)[r + 1] = offsets_of(&of)[r] + counts[r];
    }
    job_point(&of, kind & 1, kind & 2, 1);
    of.args.log = kind & 1;
    memset(of.output.payload, IMAGE_POISON, of.output.payload_bytes);
    snprintf(label, sizeof label, "%s, ragged to %zu, kind %d", dtype_name(dtype), longest, kind);
    run_and_check(&of, label);
    for (r = 0; r < 3 * reference_size(dtype); ++r) {
        CHECK(of.output.payload[r] == IMAGE_POISON, "%s: written before the first row", label);
    }
    for (r = 1; r <= 2 * reference_size(dtype); ++r) {
        CHECK(of.output.payload[of.output.payload_bytes - r] == IMAGE_POISON, "%s: written behind the last row", label);
    }
    job_free(&of);
}

/* A NaN among those that take part spoils them, and leaves what is left out what it is. */
static void check_nan_and_left_out(int form) {
    job of = job_new(WR_F32, WR_F32, 1, 4, 1, 0);
    static const double logits[] = {1.0, 0.0, 2.0, 3.0};
    double left_out = form ? -(double)INFINITY : 0.0;
    size_t i;
    for (i = 0; i < 4; ++i) {
        reference_put(WR_F32, of.input.payload, i, i == 2 ? (double)NAN : logits[i]);
        of.mask.payload[i] = i != 1;
    }
    lengths_of(&of)[0] = 3;
    job_point(&of, 1, 1, 0);
    of.args.log = form;
    run_softmax_everywhere(&of.args, &of.images, "a NaN among others");
    for (i = 0; i < 4; ++i) {
        double expected = i == 0 || i == 2 ? (double)NAN : left_out;
        CHECK(reference_bits(WR_F32, of.output.payload, i) == bits_of(WR_F32, expected), "NaN, log %d, element %zu: %g",
              form, i, reference_get(WR_F32, of.output.payload, i));
    }
    job_free(&of);
}

int main(int argc, char **argv) {
    size_t type;
    int kind;
    places_open(argc, argv);
    for (type = 0; type < FLOAT_TYPES; ++type) {
        check_shapes(float_types[type]);
        check_all_short(float_types[type]);
        for (kind = 0; kind < 4; ++kind) {
            check_ragged(float_types[type], 5, kind);
            check_ragged(float_types[type], 300, kind);
            check_ragged(float_types[type], 20000, kind);
        }
    }
    check_causal_square();
    check_nan_and_left_out(0);
    check_nan_and_left_out(1);
    places_close();
    return check_report("softmax_leaves_elements_out");
}
