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
#include "vectors/published_lines.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_INPUTS = 5 };

/* A line in its three parts, and the second one's inputs, the absent ones empty. */
typedef struct parts {
    const char *head, *inputs[MOST_INPUTS], *output;
} parts;

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
    wr_reduce_args args = reduce_args(of->op, of->dtype, 1, of->axis, 1);
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
