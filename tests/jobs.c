#include "jobs.h"

#include "harness.h"
#include "reference.h"

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

/* An image's copy in a place. */
typedef struct placed {
    const place *where;
    const image *original;
    unsigned char *memory;
} placed;

static placed put_in_place(const place *where, const image *original) {
    placed copy = {where, original, NULL};
    if (original != NULL) {
        copy.memory = place_allocate(where, original->size);
        place_write(where, copy.memory, original->base, original->size);
    }
    return copy;
}

static void *moved(const placed *copy, const void *pointer) {
    if (pointer == NULL) {
        return NULL;
    }
    return copy->memory + ((const unsigned char *)pointer - copy->original->base);
}

static void read_back(placed *copy, image *result) {
    place_read(copy->where, copy->memory, result->base, result->size);
}

static void check_unchanged(placed *copy) {
    image after = image_copy(copy->original);
    read_back(copy, &after);
    CHECK(image_equal(copy->original, &after), "%s: the input was written to", copy->where->name);
    image_free(&after);
}

static void remove_from_place(placed *copy) {
    if (copy->memory != NULL) {
        place_free(copy->where, copy->memory);
    }
}

/* A lent workspace, between two margins that must stay as they are. */
static image workspace_image(int wanted, size_t bytes) { return image_new(wanted ? bytes : 0, 0); }

static void check_workspace_margin(placed *copy) {
    image after = image_copy(copy->original);
    size_t past_end = MARGIN + copy->original->payload_bytes;
    read_back(copy, &after);
    CHECK(memcmp(copy->original->base, after.base, MARGIN) == 0, "written before the workspace");
    CHECK(memcmp(copy->original->base + past_end, after.base + past_end, after.size - past_end) == 0,
          "written past the workspace");
    image_free(&after);
}

typedef wr_status reduce_call(const wr_reduce_args *args, struct CUstream_st *stream);

static wr_status run_reduce(reduce_call *call, const place *where, const wr_reduce_args *args, const image *input,
                            image *output) {
    image lent = workspace_image(args->workspace != NULL, args->workspace_bytes);
    placed in = put_in_place(where, input);
    placed out = input == output ? in : put_in_place(where, output);
    placed workspace = put_in_place(where, &lent);
    wr_reduce_args placed_args = *args;
    wr_status status;
    placed_args.input = moved(&in, args->input);
    placed_args.output = moved(&out, args->output);
    placed_args.workspace = args->workspace == NULL ? NULL : moved(&workspace, lent.payload);
    status = call(&placed_args, where->stream);
    if (input != output) {
        check_unchanged(&in);
        remove_from_place(&in);
    }
    read_back(&out, output);
    check_workspace_margin(&workspace);
    remove_from_place(&out);
    remove_from_place(&workspace);
    image_free(&lent);
    return status;
}

static wr_status short_reduce_call(const wr_reduce_args *args, struct CUstream_st *stream) {
    return wr_reduce(args->op, args->dtype, args->input, args->output, args->outer, args->axis, args->inner, stream);
}

wr_status reduce_at(const place *where, const wr_reduce_args *args, const image *input, image *output) {
    return run_reduce(wr_reduce_ex, where, args, input, output);
}

wr_status reduce_short_at(const place *where, const wr_reduce_args *args, const image *input, image *output) {
    return run_reduce(short_reduce_call, where, args, input, output);
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

/* Nothing that the short call cannot say. */
static int short_call_suffices(const wr_reduce_args *args) {
    return (int)args->output_dtype == 0 && (int)args->accumulate_dtype == 0 && args->outer_stride == 0 &&
           args->axis_stride == 0 && args->inner_stride == 0 && args->workspace == NULL;
}

static void check_reduce_result(wr_status status, const place *where, const wr_reduce_args *args, const image *expected,
                                const image *result, const char *call, const char *label) {
    CHECK(status == WR_SUCCESS, "%s: %s on %s: %s", label, call, where->name, wr_status_name(status));
    CHECK(image_equal(expected, result),
          "%s: %s on %s: op %d, %s to %s, [%zu][%zu][%zu]: first output bits %#llx, expected %#llx", label, call,
          where->name, (int)args->op, dtype_name(args->dtype), dtype_name(reference_output_dtype(args)), args->outer,
          args->axis, args->inner, (unsigned long long)reference_bits(reference_output_dtype(args), result->payload, 0),
          (unsigned long long)reference_bits(reference_output_dtype(args), expected->payload, 0));
}

void check_reduce(const wr_reduce_args *args, const image *input, size_t output_misalignment, const char *label) {
    size_t output_bytes = args->outer * args->inner * reference_size(reference_output_dtype(args));
    image expected = image_new(output_bytes, output_misalignment);
    wr_reduce_args job = *args;
    size_t i;
    job.output = expected.payload;
    reference_reduce(&job);
    for (i = 0; i < place_count(); ++i) {
        image result = image_new(output_bytes, output_misalignment);
        wr_status status;
        job.output = result.payload;
        status = reduce_at(place_at(i), &job, input, &result);
        check_reduce_result(status, place_at(i), args, &expected, &result, "wr_reduce_ex", label);
        if (short_call_suffices(args)) {
            memset(result.base, IMAGE_POISON, result.size);
            status = reduce_short_at(place_at(i), &job, input, &result);
            check_reduce_result(status, place_at(i), args, &expected, &result, "wr_reduce", label);
        }
        image_free(&result);
    }
    image_free(&expected);
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
    static const char *const names[] = {"default", "f32", "f64", "f16", "bf16", "e4m3", "e5m2", "i8",
                                        "i16",     "i32", "i64", "u8",  "u16",  "u32",  "u64",  "koalabear"};
    return (unsigned)dtype < sizeof names / sizeof *names ? names[dtype] : "another type";
}
