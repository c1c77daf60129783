/*
 * Every line of the published vectors, whose path is the second argument: reductions, dot products, segments, softmax
 * and its gradients must give the file's bits in every place, approximate lines must lie within their tolerance, with
 * the same bits in every place. README.md beside this file describes the lines.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/segment_jobs.h"
#include "harness/softmax_jobs.h"
#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 16 };

/* What a line is about. */
typedef enum subject { REDUCTION, DOT_PRODUCT, SEGMENTS, SOFTMAX, GRADIENT } subject;

/* What a head says. A dot product's count is its axis, and so is that of all segments' elements together. */
typedef struct test_case {
    size_t line;
    subject about;
    wr_op op;
    wr_nan_mode nan_mode;
    wr_dtype right_dtype;
    size_t segments;
    wr_dtype dtype, output_dtype, accumulate_dtype;
    int log, wants_logsumexp, is_approximate, causal;
    wr_empty_row empty_row;
    int64_t causal_first;
    size_t causal_rows;
    double scale, tolerance;
    size_t outer, axis, inner, step;
} test_case;

enum { MOST_INPUTS = 5 };

/* A line in its three parts, and the second one's inputs, the absent ones empty. */
typedef struct parts {
    const char *head, *inputs[MOST_INPUTS], *output;
} parts;

static double double_of_word(uint64_t word) {
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

/* ---- heads */

/* Zero for "-" and for what is no type. */
static wr_dtype dtype_named(const char *name) {
    int number;
    for (number = WR_F32; number <= WR_BABYBEAR_X4; ++number) {
        if (strcmp(name, dtype_name((wr_dtype)number)) == 0) {
            return (wr_dtype)number;
        }
    }
    return (wr_dtype)0;
}

/* Zero for what is no operator. */
static wr_op op_named(const char *name) {
    int number;
    for (number = WR_SUM; number <= WR_LOGSUMEXP; ++number) {
        if (strcmp(name, op_name((wr_op)number)) == 0) {
            return (wr_op)number;
        }
    }
    return (wr_op)0;
}

static int parse_accumulate(const char *name, test_case *to) {
    to->accumulate_dtype = dtype_named(name);
    return to->accumulate_dtype != 0 || strcmp(name, "-") == 0;
}

static int parse_reduce(const char *head, test_case *to) {
    char kind[NAME_SIZE], op[NAME_SIZE], dtype[NAME_SIZE], accumulate[NAME_SIZE], output[NAME_SIZE];
    if (sscanf(head, "%15s %15s %15s %15s %15s %zu %zu %zu", kind, op, dtype, accumulate, output, &to->outer, &to->axis,
               &to->inner) != 8) {
        return 0;
    }
    to->nan_mode = strcmp(kind, "ignore") == 0 ? WR_NAN_IGNORE : WR_NAN_PROPAGATE;
    to->op = op_named(op);
    to->dtype = dtype_named(dtype);
    to->output_dtype = dtype_named(output);
    to->step = 1;
    return to->op != 0 && parse_accumulate(accumulate, to) &&
           (to->nan_mode == WR_NAN_IGNORE || strcmp(kind, "reduce") == 0);
}

static int parse_dot(const char *head, test_case *to) {
    char dtype[NAME_SIZE], right[NAME_SIZE], accumulate[NAME_SIZE], output[NAME_SIZE];
    if (sscanf(head, "dot %15s %15s %15s %15s %zu", dtype, right, accumulate, output, &to->axis) != 5) {
        return 0;
    }
    to->about = DOT_PRODUCT;
    to->dtype = dtype_named(dtype);
    to->right_dtype = dtype_named(right);
    to->output_dtype = dtype_named(output);
    to->outer = to->inner = to->step = 1;
    return to->right_dtype != 0 && parse_accumulate(accumulate, to);
}

static int parse_segments(const char *head, test_case *to) {
    char op[NAME_SIZE], dtype[NAME_SIZE], output[NAME_SIZE];
    if (sscanf(head, "segments %15s %15s %15s %zu %zu", op, dtype, output, &to->segments, &to->axis) != 5) {
        return 0;
    }
    to->about = SEGMENTS;
    to->op = op_named(op);
    to->dtype = dtype_named(dtype);
    to->output_dtype = dtype_named(output);
    to->outer = to->inner = to->step = 1;
    return to->op != 0;
}

static int parse_empty_row(const char *name, test_case *to) {
    to->empty_row = strcmp(name, "zero") == 0 ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
    return to->empty_row == WR_EMPTY_ROW_ZERO || strcmp(name, "nan") == 0;
}

/* Which function of the softmax family, and its types. */
static int parse_function(const char *name, const char *dtype, const char *output, test_case *to) {
    to->about = SOFTMAX;
    to->dtype = dtype_named(dtype);
    to->output_dtype = dtype_named(output);
    to->log = strcmp(name, "log_softmax") == 0;
    to->wants_logsumexp = strcmp(name, "logsumexp") == 0;
    return to->log || to->wants_logsumexp || strcmp(name, "softmax") == 0;
}

static int parse_softmax(const char *head, test_case *to) {
    char dtype[NAME_SIZE], output[NAME_SIZE], empty_row[NAME_SIZE];
    uint64_t scale;
    if (sscanf(head, "softmax %15s %15s %15s %" SCNx64 " %zu %zu %zu %zu", dtype, output, empty_row, &scale, &to->outer,
               &to->axis, &to->inner, &to->step) != 8) {
        return 0;
    }
    to->scale = double_of_word(scale);
    return parse_function("softmax", dtype, output, to) && parse_empty_row(empty_row, to);
}

/* The gradient's form, and its types. */
static int parse_form(const char *name, const char *dtype, const char *gradient, test_case *to) {
    to->about = GRADIENT;
    to->dtype = dtype_named(dtype);
    to->output_dtype = dtype_named(gradient);
    to->log = strcmp(name, "log_softmax") == 0;
    return to->log || strcmp(name, "softmax") == 0;
}

static int parse_gradient(const char *head, test_case *to) {
    char form[NAME_SIZE], dtype[NAME_SIZE], gradient[NAME_SIZE];
    uint64_t scale;
    if (sscanf(head, "gradient %15s %15s %15s %" SCNx64 " %zu %zu %zu %zu", form, dtype, gradient, &scale, &to->outer,
               &to->axis, &to->inner, &to->step) != 8) {
        return 0;
    }
    to->scale = double_of_word(scale);
    return parse_form(form, dtype, gradient, to);
}

/* `selected` or `backward`: heads that end with the causal limit, `-` or its first and rows. */
static int parse_selected(const char *head, test_case *to) {
    char kind[NAME_SIZE], name[NAME_SIZE], dtype[NAME_SIZE], output[NAME_SIZE], empty_row[NAME_SIZE], causal[NAME_SIZE];
    uint64_t scale;
    if (sscanf(head, "%15s %15s %15s %15s %15s %" SCNx64 " %zu %zu %zu %zu %15s", kind, name, dtype, output, empty_row,
               &scale, &to->outer, &to->axis, &to->inner, &to->step, causal) != 11) {
        return 0;
    }
    to->scale = double_of_word(scale);
    to->causal = strcmp(causal, "-") != 0;
    if (to->causal && sscanf(causal, "%" SCNd64 "/%zu", &to->causal_first, &to->causal_rows) != 2) {
        return 0;
    }
    if (!parse_empty_row(empty_row, to)) {
        return 0;
    }
    return strcmp(kind, "selected") == 0 ? parse_function(name, dtype, output, to)
                                         : strcmp(kind, "backward") == 0 && parse_form(name, dtype, output, to);
}

static int parse_approximate(const char *head, test_case *to) {
    char function[NAME_SIZE], dtype[NAME_SIZE], output[NAME_SIZE];
    uint64_t scale;
    if (sscanf(head, "approx %15s %15s %15s %" SCNx64 " %zu %zu %zu %zu %lf", function, dtype, output, &scale,
               &to->outer, &to->axis, &to->inner, &to->step, &to->tolerance) != 9) {
        return 0;
    }
    to->is_approximate = 1;
    to->scale = double_of_word(scale);
    return parse_function(function, dtype, output, to);
}

/* 0 where the head is none that README.md describes. */
static int parse_head(const char *head, size_t line, test_case *to) {
    memset(to, 0, sizeof *to);
    to->line = line;
    if (!parse_reduce(head, to) && !parse_dot(head, to) && !parse_segments(head, to) && !parse_softmax(head, to) &&
        !parse_gradient(head, to) && !parse_approximate(head, to) && !parse_selected(head, to)) {
        return 0;
    }
    return to->dtype != 0 && to->output_dtype != 0 && to->step != 0;
}

/* ---- inputs */

static uint32_t hash32(uint32_t x) {
    x ^= x >> 16;
    x *= UINT32_C(0x7feb352d);
    x ^= x >> 15;
    x *= UINT32_C(0x846ca68b);
    return x ^ x >> 16;
}

static uint64_t draw(uint32_t seed, size_t i) {
    uint32_t first = seed + 2 * (uint32_t)i;
    return (uint64_t)hash32(first) << 32 | hash32(first + 1);
}

/* A generator and its parameters, the absent ones zero. */
typedef struct generator {
    char name[NAME_SIZE];
    uint32_t seed;
    int exponent;
    double drop, start;
} generator;

static double line_value(const generator *with, wr_dtype dtype, uint64_t r) {
    static const int bits_of[] = {0, 24, 53, 11, 8, 4, 3};
    int bits = bits_of[dtype];
    int64_t integer = (int64_t)(r >> (64 - bits)) - ((int64_t)1 << (bits - 1));
    return ldexp((double)integer, with->exponent);
}

static double block_value(const generator *with, size_t i, uint64_t r) {
    size_t block = i / 1024;
    return ldexp((double)(r >> 59), with->exponent) - (double)block * with->drop + with->start;
}

static uint64_t wide_bits(wr_dtype dtype, uint64_t r) {
    switch ((int)dtype) {
    case WR_F32:
        return r >> 63 << 31 | (107 + (r >> 32 & 31)) << 23 | (r & 0x7fffff);
    case WR_F64:
        return r >> 63 << 63 | (1003 + (r >> 52 & 63)) << 52 | (r & UINT64_C(0xfffffffffffff));
    case WR_F16:
        return r >> 63 << 15 | (5 + (r >> 32 & 15)) << 10 | (r & 0x3ff);
    case WR_F8_E4M3:
        return r >> 63 << 7 | (4 + (r >> 32 & 7)) << 3 | (r & 7);
    case WR_F8_E5M2:
        return r >> 63 << 7 | (8 + (r >> 32 & 15)) << 2 | (r & 3);
    default:
        return r >> 63 << 15 | (107 + (r >> 32 & 31)) << 7 | (r & 0x7f);
    }
}

/* The type of the words that the file has: an element of an extension is four of them. */
static wr_dtype word_dtype(wr_dtype dtype) { return reference_degree(dtype) > 1 ? WR_U32 : dtype; }

static void put_integers(wr_dtype dtype, uint32_t seed, image *input, size_t count) {
    size_t words = count * (size_t)reference_degree(dtype), bits = 8 * reference_size(word_dtype(dtype)), i;
    for (i = 0; i < words; ++i) {
        uint64_t word = draw(seed, i) >> (64 - bits);
        reference_put_bits(word_dtype(dtype), input->payload, i,
                           reference_is_field(dtype) ? word % reference_prime(dtype) : word);
    }
}

static int generate(const char *text, wr_dtype dtype, image *input, size_t count) {
    generator with;
    size_t i;
    memset(&with, 0, sizeof with);
    if (sscanf(text, " @%15s %" SCNu32 " %d %lf %lf", with.name, &with.seed, &with.exponent, &with.drop, &with.start) <
        2) {
        return 0;
    }
    if (strcmp(with.name, "integers") == 0) {
        put_integers(dtype, with.seed, input, count);
        return 1;
    }
    for (i = 0; i < count; ++i) {
        uint64_t r = draw(with.seed, i);
        if (strcmp(with.name, "mask") == 0) {
            reference_put_bits(dtype, input->payload, i, r >> 62 != 0);
        } else if (strcmp(with.name, "line") == 0) {
            reference_put(dtype, input->payload, i, line_value(&with, dtype, r));
        } else if (strcmp(with.name, "blocks") == 0) {
            reference_put(dtype, input->payload, i, block_value(&with, i, r));
        } else if (strcmp(with.name, "wide") == 0) {
            reference_put_bits(dtype, input->payload, i, wide_bits(dtype, r));
        } else {
            return 0;
        }
    }
    return 1;
}

static int is_blank(const char *text) {
    while (*text == ' ' || *text == '\n') {
        ++text;
    }
    return *text == '\0';
}

/* The next of `word` or `word*times`; 0 at the end of the part. */
static int next_item(const char **text, uint64_t *word, size_t *times) {
    char *end;
    *word = strtoull(*text, &end, 16);
    if (end == *text) {
        return 0;
    }
    *times = 1;
    if (*end == '*') {
        *times = strtoull(end + 1, &end, 10);
    }
    *text = end;
    return 1;
}

static int read_words(const char *text, wr_dtype dtype, image *input, size_t count) {
    uint64_t word;
    size_t times, filled = 0, words = count * (size_t)reference_degree(dtype);
    while (next_item(&text, &word, &times)) {
        for (; times > 0 && filled < words; --times) {
            reference_put_bits(word_dtype(dtype), input->payload, filled++, word);
        }
        if (times > 0) {
            return 0;
        }
    }
    return filled == words && is_blank(text);
}

static int fill_input(const char *text, wr_dtype dtype, image *input, size_t count) {
    return strchr(text, '@') != NULL ? generate(text, dtype, input, count) : read_words(text, dtype, input, count);
}

static image new_input(const test_case *of, wr_dtype dtype, size_t count, const char *text) {
    image input = image_new(count * reference_size(dtype), 0);
    CHECK(fill_input(text, dtype, &input, count), "line %zu: not an input of %zu elements", of->line, count);
    return input;
}

/* ---- outputs */

/* The spacing of a type's numbers at a magnitude, at least the smallest subnormal. */
static double spacing(wr_dtype dtype, double magnitude) {
    int precision = dtype == WR_F64 ? 53 : dtype == WR_F32 ? 24 : dtype == WR_F16 ? 11 : 8;
    int lowest = dtype == WR_F64 ? -1074 : dtype == WR_F32 ? -149 : dtype == WR_F16 ? -24 : -133;
    int exponent;
    frexp(magnitude, &exponent);
    return ldexp(1.0, exponent - precision > lowest ? exponent - precision : lowest);
}

static int close_enough(const test_case *of, double got, double exact) {
    int is_softmax = !of->log && !of->wants_logsumexp;
    double magnitude = is_softmax ? fabs(exact) : fmax(fabs(exact), 1.0);
    double floor_of_softmax = of->output_dtype == WR_F64 ? 0x1p-960 : 0x1p-120;
    if (isinf(exact)) {
        return got == exact;
    }
    if (is_softmax && exact < floor_of_softmax) {
        return fabs(got - exact) <= 2.0 * floor_of_softmax;
    }
    return fabs(got - exact) <= of->tolerance * spacing(of->output_dtype, magnitude);
}

static void check_element(const test_case *of, const image *output, size_t index, uint64_t expected,
                          const char *where) {
    uint64_t bits = reference_bits(word_dtype(of->output_dtype), output->payload, index);
    if (of->is_approximate) {
        double got = reference_get(of->output_dtype, output->payload, index), exact = double_of_word(expected);
        CHECK(close_enough(of, got, exact), "line %zu on %s: element %zu is %a, exactly it is %a", of->line, where,
              index, got, exact);
    } else {
        CHECK(bits == expected, "line %zu on %s: element %zu has the bits %#" PRIx64 ", expected %#" PRIx64, of->line,
              where, index, bits, expected);
    }
}

/* Elements 0, step, 2 step, ... against the words of the line's last part. */
static void check_output(const test_case *of, const image *output, size_t count, const char *text, const char *where) {
    uint64_t word;
    size_t times, index = 0;
    count *= (size_t)reference_degree(of->output_dtype);
    while (next_item(&text, &word, &times) && index < count) {
        check_element(of, output, index, word, where);
        index += of->step;
    }
    CHECK(index >= count && is_blank(text), "line %zu: not as many outputs as elements", of->line);
}

/* ---- jobs */

static void check_reduction(const test_case *of, const parts *line) {
    wr_reduce_args args = reduce_args(of->op, of->dtype, of->outer, of->axis, of->inner);
    size_t outputs = of->outer * of->inner, i;
    image input = new_input(of, of->dtype, of->outer * of->axis * of->inner, line->inputs[0]);
    args.output_dtype = of->output_dtype;
    args.accumulate_dtype = of->accumulate_dtype;
    args.nan_mode = of->nan_mode;
    args.input = input.payload;
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        image output = image_new(outputs * reference_size(of->output_dtype), 0);
        wr_status status;
        args.output = output.payload;
        status = reduce_at(where, &args, &input, &output);
        CHECK(status == WR_SUCCESS, "line %zu on %s: %s", of->line, where->name, wr_status_name(status));
        check_output(of, &output, outputs, line->output, where->name);
        image_free(&output);
    }
    image_free(&input);
}

/* As a sum of one row with weights: wr_dot has the same bits, which weights_and_dots.c checks. */
static void check_dot_product(const test_case *of, const parts *line) {
    wr_reduce_args args = reduce_args(WR_SUM, of->dtype, 1, of->axis, 1);
    image left = new_input(of, of->dtype, of->axis, line->inputs[0]);
    image right = new_input(of, of->right_dtype, of->axis, line->inputs[1]);
    size_t i;
    args.output_dtype = of->output_dtype;
    args.accumulate_dtype = of->accumulate_dtype;
    args.weights_dtype = of->right_dtype;
    args.input = left.payload;
    args.weights = right.payload;
    for (i = 0; i < place_count(); ++i) {
        image output = image_new(reference_size(of->output_dtype), 0);
        reduce_images images = {&left, &right, &output, NULL};
        wr_status status;
        args.output = output.payload;
        status = reduce_images_at(place_at(i), &args, &images);
        CHECK(status == WR_SUCCESS, "line %zu on %s: %s", of->line, place_at(i)->name, wr_status_name(status));
        check_output(of, &output, 1, line->output, place_at(i)->name);
        image_free(&output);
    }
    image_free(&left);
    image_free(&right);
}

static image new_integers(const test_case *of, size_t count, const char *text) {
    image integers = image_new(count * sizeof(int64_t), 0);
    size_t i;
    for (i = 0; i < count; ++i) {
        char *end;
        reference_put_bits(WR_I64, integers.payload, i, (uint64_t)strtoll(text, &end, 10));
        CHECK(end != text, "line %zu: not %zu integers", of->line, count);
        text = end;
    }
    CHECK(is_blank(text), "line %zu: more than %zu integers", of->line, count);
    return integers;
}

static void check_ragged(const test_case *of, const parts *line) {
    wr_reduce_segments_args args = segments_args(of->op, of->dtype, of->segments);
    image offsets = new_integers(of, of->segments + 1, line->inputs[0]),
          input = new_input(of, of->dtype, of->axis, line->inputs[1]);
    size_t i;
    args.output_dtype = of->output_dtype;
    args.input = input.payload;
    args.offsets = offsets.payload;
    for (i = 0; i < place_count(); ++i) {
        image output = image_new(of->segments * reference_size(of->output_dtype), 0);
        segment_images images = {&input, &offsets, &output, NULL};
        wr_status status;
        args.output = output.payload;
        status = segments_at(place_at(i), &args, &images);
        CHECK(status == WR_SUCCESS, "line %zu on %s: %s", of->line, place_at(i)->name, wr_status_name(status));
        check_output(of, &output, of->segments, line->output, place_at(i)->name);
        image_free(&output);
    }
    image_free(&offsets);
    image_free(&input);
}

/* What a line leaves out; the images of parts that are empty are not given to the call. */
typedef struct selection {
    image mask, lengths;
    int has_mask, has_lengths;
} selection;

static selection new_selection(const test_case *of, const char *mask, const char *lengths) {
    size_t rows = of->outer * of->inner;
    selection made;
    made.has_mask = !is_blank(mask);
    made.has_lengths = !is_blank(lengths);
    made.mask = made.has_mask ? new_input(of, WR_U8, rows * of->axis, mask) : image_new(0, 0);
    made.lengths = made.has_lengths ? new_integers(of, rows, lengths) : image_new(0, 0);
    return made;
}

static void selection_free(selection *of) {
    image_free(&of->mask);
    image_free(&of->lengths);
}

static const int64_t *lengths_of(const selection *of) {
    return of->has_lengths ? (const int64_t *)(const void *)of->lengths.payload : NULL;
}

static void check_softmax(const test_case *of, const parts *line) {
    wr_softmax_args args = softmax_args(of->dtype, of->outer, of->axis, of->inner);
    wr_dtype output_dtype = of->wants_logsumexp ? of->dtype : of->output_dtype;
    size_t rows = of->outer * of->inner, elements = rows * of->axis;
    image input = new_input(of, of->dtype, elements, line->inputs[0]);
    image output = image_new(elements * reference_size(output_dtype), 0);
    image logsumexp = image_new(rows * reference_size(softmax_state_dtype(of->dtype)), 0);
    selection chosen = new_selection(of, line->inputs[1], line->inputs[2]);
    softmax_images images;
    char label[32];
    snprintf(label, sizeof label, "line %zu", of->line);
    memset(&images, 0, sizeof images);
    images.input = &input;
    images.output = &output;
    images.logsumexp = of->wants_logsumexp ? &logsumexp : NULL;
    images.mask = &chosen.mask;
    images.lengths = &chosen.lengths;
    args.output_dtype = output_dtype;
    args.log = of->log;
    args.empty_row = of->empty_row;
    args.scale = of->scale;
    args.input = input.payload;
    args.output = output.payload;
    args.logsumexp = of->wants_logsumexp ? logsumexp.payload : NULL;
    args.mask = chosen.has_mask ? chosen.mask.payload : NULL;
    args.lengths = lengths_of(&chosen);
    args.causal = of->causal;
    args.causal_first = of->causal_first;
    args.causal_rows = of->causal_rows;
    run_softmax_everywhere(&args, &images, label);
    check_output(of, of->wants_logsumexp ? &logsumexp : &output, of->wants_logsumexp ? rows : elements, line->output,
                 "every place");
    image_free(&input);
    image_free(&output);
    image_free(&logsumexp);
    selection_free(&chosen);
}

static void check_gradient(const test_case *of, const parts *line) {
    wr_softmax_backward_args args = backward_args(of->dtype, of->outer, of->axis, of->inner);
    size_t rows = of->outer * of->inner, elements = rows * of->axis;
    int from_logits = !is_blank(line->inputs[2]);
    image saved = new_input(of, of->dtype, elements, line->inputs[0]);
    image gradient = new_input(of, of->output_dtype, elements, line->inputs[1]);
    image logsumexp =
        from_logits ? new_input(of, softmax_state_dtype(of->dtype), rows, line->inputs[2]) : image_new(0, 0);
    image result = image_new(elements * reference_size(of->output_dtype), 0);
    selection chosen = new_selection(of, line->inputs[3], line->inputs[4]);
    backward_images images;
    char label[32];
    snprintf(label, sizeof label, "line %zu", of->line);
    memset(&images, 0, sizeof images);
    images.saved = &saved;
    images.logsumexp = from_logits ? &logsumexp : NULL;
    images.output_gradient = &gradient;
    images.input_gradient = &result;
    images.mask = &chosen.mask;
    images.lengths = &chosen.lengths;
    args.output_gradient_dtype = args.input_gradient_dtype = of->output_dtype;
    args.log = of->log;
    args.empty_row = of->empty_row;
    args.scale = of->scale;
    args.output = from_logits ? NULL : saved.payload;
    args.input = from_logits ? saved.payload : NULL;
    args.logsumexp = from_logits ? logsumexp.payload : NULL;
    args.output_gradient = gradient.payload;
    args.input_gradient = result.payload;
    args.mask = chosen.has_mask ? chosen.mask.payload : NULL;
    args.lengths = lengths_of(&chosen);
    args.causal = of->causal;
    args.causal_first = of->causal_first;
    args.causal_rows = of->causal_rows;
    run_backward_everywhere(&args, &images, label);
    check_output(of, &result, elements, line->output, "every place");
    image_free(&saved);
    image_free(&gradient);
    image_free(&logsumexp);
    image_free(&result);
    selection_free(&chosen);
}

static void check_case(const test_case *of, const parts *line) {
    switch (of->about) {
    case REDUCTION:
        check_reduction(of, line);
        break;
    case DOT_PRODUCT:
        check_dot_product(of, line);
        break;
    case SEGMENTS:
        check_ragged(of, line);
        break;
    case SOFTMAX:
        check_softmax(of, line);
        break;
    case GRADIENT:
        check_gradient(of, line);
        break;
    }
}

/* Cuts the text at the next such sign, and gives what follows it; NULL where there is none. */
static char *cut(char *text, char sign) {
    char *found = strchr(text, sign);
    if (found == NULL) {
        return NULL;
    }
    *found = '\0';
    return found + 1;
}

/* Cuts the line at its two colons, and between the inputs. */
static int split(char *line, parts *into) {
    char *input = cut(line, ':');
    char *output = input == NULL ? NULL : cut(input, ':');
    size_t i;
    if (output == NULL) {
        return 0;
    }
    into->head = line;
    into->output = output;
    for (i = 0; i < MOST_INPUTS; ++i) {
        char *next = input == NULL ? NULL : cut(input, ';');
        into->inputs[i] = input == NULL ? "" : input;
        input = next;
    }
    return input == NULL;
}

static void check_line(char *text, size_t number) {
    parts line;
    test_case of;
    if (text[0] == '#') {
        return;
    }
    if (split(text, &line) && parse_head(line.head, number, &of)) {
        check_case(&of, &line);
    } else {
        CHECK(0, "line %zu is none that README.md describes", number);
    }
}

int main(int argc, char **argv) {
    FILE *file;
    char *text = NULL;
    size_t room = 0, number = 0;
    if (argc < 3) {
        give_up("usage: published_vectors host|gpu vectors.txt");
    }
    file = fopen(argv[2], "r");
    if (file == NULL) {
        give_up("the file of vectors cannot be opened");
    }
    places_open(argc, argv);
    while (getline(&text, &room, file) != -1) {
        check_line(text, ++number);
    }
    free(text);
    fclose(file);
    places_close();
    return check_report("published_vectors");
}
