#include "harness/jobs.h"

#include "harness/harness.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 256 };

image image_new(size_t payload_bytes, size_t misalignment) {
    image made;
    made.size = (MARGIN + misalignment + payload_bytes + MARGIN + 255) / 256 * 256;
    made.base = aligned_alloc(256, made.size);
    if (made.base == NULL) {
        give_up("no memory");
    }
    memset(made.base, IMAGE_POISON, made.size);
    made.payload = made.base + MARGIN + misalignment;
    made.payload_bytes = payload_bytes;
    return made;
}

image image_copy(const image *original) {
    size_t misalignment = (size_t)(original->payload - original->base) - MARGIN;
    image made = image_new(original->payload_bytes, misalignment);
    memcpy(made.base, original->base, original->size);
    return made;
}

void image_free(image *used) {
    free(used->base);
    used->base = NULL;
}

int image_equal(const image *a, const image *b) { return a->size == b->size && memcmp(a->base, b->base, a->size) == 0; }

placed put_in_place(const place *where, const image *original) {
    placed copy = {where, original, NULL};
    if (original != NULL) {
        copy.memory = place_allocate(where, original->size);
        place_write(where, copy.memory, original->base, original->size);
    }
    return copy;
}

void *moved(const placed *copy, const void *pointer) {
    if (pointer == NULL || copy->original == NULL) {
        return NULL;
    }
    return copy->memory + ((const unsigned char *)pointer - copy->original->base);
}

void read_back(const placed *copy, image *result) {
    if (copy->original != NULL) {
        place_read(copy->where, copy->memory, result->base, result->size);
    }
}

void check_unchanged(const placed *copy) {
    image after;
    if (copy->original == NULL) {
        return;
    }
    after = image_copy(copy->original);
    read_back(copy, &after);
    CHECK(image_equal(copy->original, &after), "%s: the input was written to", copy->where->name);
    image_free(&after);
}

void remove_from_place(placed *copy) {
    if (copy->memory != NULL) {
        place_free(copy->where, copy->memory);
    }
}

image workspace_image(int wanted, size_t bytes) { return image_new(wanted ? bytes : 0, 0); }

void check_workspace_margin(const placed *copy) {
    image after = image_copy(copy->original);
    size_t past_end = MARGIN + copy->original->payload_bytes;
    read_back(copy, &after);
    CHECK(memcmp(copy->original->base, after.base, MARGIN) == 0, "written before the workspace");
    CHECK(memcmp(copy->original->base + past_end, after.base + past_end, after.size - past_end) == 0,
          "written past the workspace");
    image_free(&after);
}

typedef wr_status reduce_call(const wr_reduce_args *args, struct CUstream_st *stream);

static wr_status run_reduce(reduce_call *call, const place *where, const wr_reduce_args *args,
                            const reduce_images *images) {
    image lent = workspace_image(args->workspace != NULL, args->workspace_bytes);
    int in_place = images->input == images->output;
    placed in = put_in_place(where, images->input);
    placed out = in_place ? in : put_in_place(where, images->output);
    placed weights = put_in_place(where, images->weights);
    placed values = put_in_place(where, images->values);
    placed workspace = put_in_place(where, &lent);
    wr_reduce_args placed_args = *args;
    wr_status status;
    placed_args.input = moved(&in, args->input);
    placed_args.output = moved(&out, args->output);
    placed_args.weights = moved(&weights, args->weights);
    placed_args.values = moved(&values, args->values);
    placed_args.workspace = args->workspace == NULL ? NULL : moved(&workspace, lent.payload);
    status = call(&placed_args, where->stream);
    read_back(&out, images->output);
    read_back(&values, images->values);
    if (!in_place) {
        check_unchanged(&in);
        remove_from_place(&in);
    }
    check_unchanged(&weights);
    check_workspace_margin(&workspace);
    remove_from_place(&out);
    remove_from_place(&weights);
    remove_from_place(&values);
    remove_from_place(&workspace);
    image_free(&lent);
    return status;
}

static wr_status short_reduce_call(const wr_reduce_args *args, struct CUstream_st *stream) {
    return wr_reduce(args->op, args->dtype, args->input, args->output, args->outer, args->axis, args->inner, stream);
}

wr_status reduce_images_at(const place *where, const wr_reduce_args *args, const reduce_images *images) {
    return run_reduce(wr_reduce_ex, where, args, images);
}

wr_status reduce_at(const place *where, const wr_reduce_args *args, const image *input, image *output) {
    reduce_images images = {input, NULL, output, NULL};
    return run_reduce(wr_reduce_ex, where, args, &images);
}

wr_status reduce_short_at(const place *where, const wr_reduce_args *args, const image *input, image *output) {
    reduce_images images = {input, NULL, output, NULL};
    return run_reduce(short_reduce_call, where, args, &images);
}

typedef wr_status softmax_call(const wr_softmax_args *args, struct CUstream_st *stream);

static wr_status run_softmax(softmax_call *call, const place *where, const wr_softmax_args *args, const image *input,
                             image *output, image *logsumexp) {
    image lent = workspace_image(args->workspace != NULL, args->workspace_bytes);
    placed in = put_in_place(where, input);
    placed out = input == output ? in : put_in_place(where, output);
    placed sums = put_in_place(where, logsumexp);
    placed workspace = put_in_place(where, &lent);
    wr_softmax_args placed_args = *args;
    wr_status status;
    placed_args.input = moved(&in, args->input);
    placed_args.output = moved(&out, args->output);
    placed_args.logsumexp = logsumexp == NULL ? NULL : moved(&sums, args->logsumexp);
    placed_args.workspace = args->workspace == NULL ? NULL : moved(&workspace, lent.payload);
    status = call(&placed_args, where->stream);
    if (input != output) {
        check_unchanged(&in);
        remove_from_place(&in);
    }
    read_back(&out, output);
    if (logsumexp != NULL) {
        read_back(&sums, logsumexp);
    }
    check_workspace_margin(&workspace);
    remove_from_place(&out);
    remove_from_place(&sums);
    remove_from_place(&workspace);
    image_free(&lent);
    return status;
}

static wr_status short_softmax_call(const wr_softmax_args *args, struct CUstream_st *stream) {
    if (args->log != 0) {
        return wr_log_softmax(args->dtype, args->input, args->output, args->outer, args->axis, args->inner, stream);
    }
    return wr_softmax(args->dtype, args->input, args->output, args->outer, args->axis, args->inner, stream);
}

wr_status softmax_at(const place *where, const wr_softmax_args *args, const image *input, image *output,
                     image *logsumexp) {
    return run_softmax(wr_softmax_ex, where, args, input, output, logsumexp);
}

wr_status softmax_short_at(const place *where, const wr_softmax_args *args, const image *input, image *output) {
    return run_softmax(short_softmax_call, where, args, input, output, NULL);
}

wr_reduce_args reduce_args(wr_op op, wr_dtype dtype, size_t outer, size_t axis, size_t inner) {
    wr_reduce_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = dtype;
    args.outer = outer;
    args.axis = axis;
    args.inner = inner;
    return args;
}

wr_softmax_args softmax_args(wr_dtype dtype, size_t outer, size_t axis, size_t inner) {
    wr_softmax_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = dtype;
    args.outer = outer;
    args.axis = axis;
    args.inner = inner;
    return args;
}

void say_strides(int32_t *given, ptrdiff_t *outer, ptrdiff_t *along, ptrdiff_t *inner, size_t axis, size_t inner_size) {
    if (*given == 0 && *outer == 0 && *along == 0 && *inner == 0) {
        return;
    }
    *given = 1;
    *outer = *outer != 0 ? *outer : (ptrdiff_t)(axis * inner_size);
    *along = *along != 0 ? *along : (ptrdiff_t)inner_size;
    *inner = *inner != 0 ? *inner : 1;
}

void say_strides_of_both(wr_softmax_backward_args *args) {
    SAY_STRIDES(args);
    say_strides(&args->strides_given, &args->gradient_outer_stride, &args->gradient_axis_stride,
                &args->gradient_inner_stride, args->axis, args->inner);
    SAY_STRIDES(args);
}

/* Nothing that the short call cannot say. */
static int short_call_suffices(const wr_reduce_args *args) {
    return (int)args->output_dtype == 0 && (int)args->accumulate_dtype == 0 && args->strides_given == 0 &&
           args->workspace == NULL && args->nan_mode == WR_NAN_PROPAGATE && args->add_to_output == 0 &&
           args->weights == NULL && args->values == NULL;
}

/* SIZE_MAX where the difference lies outside the elements. */
static size_t first_difference(wr_dtype dtype, const image *a, const image *b) {
    size_t size = reference_size(dtype), i;
    for (i = 0; i < a->payload_bytes / size; ++i) {
        if (memcmp(a->payload + i * size, b->payload + i * size, size) != 0) {
            return i;
        }
    }
    return SIZE_MAX;
}

void check_same_elements(wr_status status, const place *where, wr_dtype dtype, const image *expected,
                         const image *result, const char *label) {
    size_t at;
    CHECK(status == WR_SUCCESS, "%s on %s: %s", label, where->name, wr_status_name(status));
    if (status != WR_SUCCESS) {
        return;
    }
    if (image_equal(expected, result)) {
        check_passed();
        return;
    }
    at = first_difference(dtype, expected, result);
    if (at == SIZE_MAX) {
        CHECK(0, "%s on %s: written beside the output", label, where->name);
    } else {
        CHECK(0, "%s on %s: element %zu of %zu has the bits %#llx, expected %#llx", label, where->name, at,
              expected->payload_bytes / reference_size(dtype),
              (unsigned long long)reference_bits(dtype, result->payload, at),
              (unsigned long long)reference_bits(dtype, expected->payload, at));
    }
}

enum { DESCRIPTION_BYTES = 400 };

static void describe(const wr_reduce_args *args, const char *call, const char *label, char *text) {
    snprintf(text, DESCRIPTION_BYTES,
             "%s: %s %s of %s to %s (kept in %s, NaN mode %d, add %d, weights %s), [%zu][%zu][%zu] strides %td %td %td",
             label, call, op_name(args->op), dtype_name(args->dtype), dtype_name(reference_output_dtype(args)),
             dtype_name(args->accumulate_dtype), (int)args->nan_mode, (int)args->add_to_output,
             args->weights == NULL ? "none" : dtype_name(args->weights_dtype), args->outer, args->axis, args->inner,
             args->outer_stride, args->axis_stride, args->inner_stride);
}

image output_image(wr_op op, wr_dtype output_dtype, int32_t add_to_output, size_t count, size_t misalignment) {
    image made = image_new(count * reference_size(output_dtype), misalignment);
    if (add_to_output != 0) {
        data_kind kind = op == WR_ANY || op == WR_ALL ? DATA_FEW_VALUES
                         : op == WR_PRODUCT           ? DATA_NEAR_ONE
                                                      : DATA_INTEGERS;
        fill_random(output_dtype, kind, count + (uint64_t)op, made.payload, count);
    }
    return made;
}

/* What a reduction writes. */
typedef struct results {
    image output, values;
} results;

static results results_new(const wr_reduce_args *args, size_t misalignment) {
    size_t count = args->outer * args->inner;
    results made;
    made.output = output_image(args->op, reference_output_dtype(args), args->add_to_output, count, misalignment);
    made.values = image_new(args->values == NULL ? 0 : count * reference_size(args->dtype),
                            misalignment % 4 * reference_size(args->dtype));
    return made;
}

static void results_free(results *used) {
    image_free(&used->output);
    image_free(&used->values);
}

static wr_reduce_args writing_to(const wr_reduce_args *args, results *to) {
    wr_reduce_args job = *args;
    job.output = to->output.payload;
    job.values = args->values == NULL ? NULL : to->values.payload;
    return job;
}

static void check_results(wr_status status, const place *where, const wr_reduce_args *args, const results *expected,
                          const results *result, const char *call, const char *label) {
    char text[DESCRIPTION_BYTES];
    describe(args, call, label, text);
    check_same_elements(status, where, reference_output_dtype(args), &expected->output, &result->output, text);
    if (args->values != NULL && status == WR_SUCCESS) {
        describe(args, "values of", label, text);
        check_same_elements(status, where, args->dtype, &expected->values, &result->values, text);
    }
}

void check_weighted_reduce(const wr_reduce_args *args, const image *input, const image *weights,
                           size_t output_misalignment, const char *label) {
    results expected = results_new(args, output_misalignment);
    wr_reduce_args job = writing_to(args, &expected);
    size_t i;
    reference_reduce(&job);
    for (i = 0; i < place_count(); ++i) {
        results result = results_new(args, output_misalignment);
        reduce_images images = {input, weights, &result.output, args->values == NULL ? NULL : &result.values};
        wr_status status;
        job = writing_to(args, &result);
        status = reduce_images_at(place_at(i), &job, &images);
        check_results(status, place_at(i), args, &expected, &result, "wr_reduce_ex", label);
        if (short_call_suffices(args)) {
            memset(result.output.base, IMAGE_POISON, result.output.size);
            status = reduce_short_at(place_at(i), &job, input, &result.output);
            check_results(status, place_at(i), args, &expected, &result, "wr_reduce", label);
        }
        results_free(&result);
    }
    results_free(&expected);
}

void check_reduce(const wr_reduce_args *args, const image *input, size_t output_misalignment, const char *label) {
    check_weighted_reduce(args, input, NULL, output_misalignment, label);
}

void softmax_everywhere(const wr_softmax_args *args, const image *input, image *output, image *logsumexp,
                        const char *label) {
    image output_before = image_copy(output);
    image sums_before = logsumexp == NULL ? image_new(0, 0) : image_copy(logsumexp);
    int in_place = input == output;
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        image result = image_copy(&output_before);
        image sums = image_copy(&sums_before);
        wr_softmax_args job = *args;
        wr_status status;
        job.input = !in_place ? args->input : result.base + ((const unsigned char *)args->input - output->base);
        job.output = result.base + ((unsigned char *)args->output - output->base);
        job.logsumexp = logsumexp == NULL ? NULL : sums.base + ((unsigned char *)args->logsumexp - logsumexp->base);
        status = softmax_at(place_at(i), &job, in_place ? &result : input, &result, logsumexp == NULL ? NULL : &sums);
        CHECK(status == WR_SUCCESS, "%s: %s", label, wr_status_name(status));
        if (i == 0) {
            memcpy(output->base, result.base, result.size);
            if (logsumexp != NULL) {
                memcpy(logsumexp->base, sums.base, sums.size);
            }
        } else {
            CHECK(image_equal(output, &result), "%s: %s differs from the host", label, place_at(i)->name);
            CHECK(logsumexp == NULL || image_equal(logsumexp, &sums), "%s: logsumexp on %s differs from the host",
                  label, place_at(i)->name);
        }
        image_free(&result);
        image_free(&sums);
    }
    image_free(&output_before);
    image_free(&sums_before);
}

const char *dtype_name(wr_dtype dtype) {
    static const char *const names[] = {
        "default", "f32",       "f64",      "f16",        "bf16",       "e4m3",         "e5m2",
        "i8",      "i16",       "i32",      "i64",        "u8",         "u16",          "u32",
        "u64",     "koalabear", "babybear", "mersenne31", "goldilocks", "koalabear_x4", "babybear_x4"};
    return (unsigned)dtype < sizeof names / sizeof *names ? names[dtype] : "another type";
}

const char *op_name(wr_op op) {
    static const char *const names[] = {"none",      "sum",       "product",        "min",     "max",     "argmin",
                                        "argmax",    "mean",      "sum_of_squares", "norm_l1", "norm_l2", "norm_max",
                                        "any",       "all",       "count_nonzero",  "bit_and", "bit_or",  "bit_xor",
                                        "logsumexp", "sum_exact", "dot_exact"};
    return (unsigned)op < sizeof names / sizeof *names ? names[op] : "another operator";
}
