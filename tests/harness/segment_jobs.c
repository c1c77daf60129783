#include "harness/segment_jobs.h"

#include "harness/harness.h"
#include "reference/reference.h"

#include <stdio.h>
#include <string.h>

wr_reduce_segments_args segments_args(wr_op op, wr_dtype dtype, size_t segments) {
    wr_reduce_segments_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = dtype;
    args.segments = segments;
    return args;
}

typedef wr_status segments_call(const wr_reduce_segments_args *args, struct CUstream_st *stream);

static wr_status run_segments(segments_call *call, const place *where, const wr_reduce_segments_args *args,
                              const segment_images *images) {
    image lent = workspace_image(args->workspace != NULL, args->workspace_bytes);
    placed in = put_in_place(where, images->input);
    placed offsets = put_in_place(where, images->offsets);
    placed out = put_in_place(where, images->output);
    placed values = put_in_place(where, images->values);
    placed workspace = put_in_place(where, &lent);
    wr_reduce_segments_args placed_args = *args;
    wr_status status;
    placed_args.input = moved(&in, args->input);
    placed_args.offsets = moved(&offsets, args->offsets);
    placed_args.output = moved(&out, args->output);
    placed_args.values = moved(&values, args->values);
    placed_args.workspace = args->workspace == NULL ? NULL : moved(&workspace, lent.payload);
    status = call(&placed_args, where->stream);
    read_back(&out, images->output);
    read_back(&values, images->values);
    check_unchanged(&in);
    check_unchanged(&offsets);
    check_workspace_margin(&workspace);
    remove_from_place(&in);
    remove_from_place(&offsets);
    remove_from_place(&out);
    remove_from_place(&values);
    remove_from_place(&workspace);
    image_free(&lent);
    return status;
}

static wr_status short_call(const wr_reduce_segments_args *args, struct CUstream_st *stream) {
    return wr_reduce_segments(args->op, args->dtype, args->input, args->output, args->offsets, args->segments, stream);
}

wr_status segments_at(const place *where, const wr_reduce_segments_args *args, const segment_images *images) {
    return run_segments(wr_reduce_segments_ex, where, args, images);
}

static int short_call_suffices(const wr_reduce_segments_args *args) {
    return (int)args->output_dtype == 0 && (int)args->accumulate_dtype == 0 && args->nan_mode == WR_NAN_PROPAGATE &&
           args->add_to_output == 0 && args->offsets_dtype != WR_I32 && args->values == NULL && args->workspace == NULL;
}

static wr_dtype output_dtype_of(const wr_reduce_segments_args *args) {
    wr_reduce_args each = reduce_args(args->op, args->dtype, 1, 0, 1);
    each.output_dtype = args->output_dtype;
    return reference_output_dtype(&each);
}

enum { DESCRIPTION_BYTES = 300 };

static void describe(const wr_reduce_segments_args *args, const char *call, const char *label, char *text) {
    snprintf(text, DESCRIPTION_BYTES, "%s: %s %s of %s to %s (kept in %s, NaN mode %d, add %d), %zu segments by %s",
             label, call, op_name(args->op), dtype_name(args->dtype), dtype_name(output_dtype_of(args)),
             dtype_name(args->accumulate_dtype), (int)args->nan_mode, (int)args->add_to_output, args->segments,
             args->offsets_dtype == WR_I32 ? "i32" : "i64");
}

/* What the segments' results are written to. */
typedef struct results {
    image output, values;
} results;

static results results_new(const wr_reduce_segments_args *args, size_t misalignment) {
    results made;
    made.output = output_image(args->op, output_dtype_of(args), args->add_to_output, args->segments, misalignment);
    made.values =
        image_new(args->values == NULL ? 0 : args->segments * reference_size(args->dtype), reference_size(args->dtype));
    return made;
}

static void results_free(results *used) {
    image_free(&used->output);
    image_free(&used->values);
}

static wr_reduce_segments_args writing_to(const wr_reduce_segments_args *args, results *to) {
    wr_reduce_segments_args job = *args;
    job.output = to->output.payload;
    job.values = args->values == NULL ? NULL : to->values.payload;
    return job;
}

static void check_results(wr_status status, const place *where, const wr_reduce_segments_args *args,
                          const results *expected, const results *result, const char *call, const char *label) {
    char text[DESCRIPTION_BYTES];
    describe(args, call, label, text);
    check_same_elements(status, where, output_dtype_of(args), &expected->output, &result->output, text);
    if (args->values != NULL && status == WR_SUCCESS) {
        describe(args, "values of", label, text);
        check_same_elements(status, where, args->dtype, &expected->values, &result->values, text);
    }
}

static void check_call(segments_call *call, const char *name, const place *where, const wr_reduce_segments_args *args,
                       const image *input, const image *offsets, const results *expected, size_t misalignment,
                       const char *label) {
    results result = results_new(args, misalignment);
    segment_images images = {input, offsets, &result.output, args->values == NULL ? NULL : &result.values};
    wr_reduce_segments_args job = writing_to(args, &result);
    wr_status status = run_segments(call, where, &job, &images);
    check_results(status, where, args, expected, &result, name, label);
    results_free(&result);
}

void check_segments(const wr_reduce_segments_args *args, const image *input, const image *offsets,
                    size_t output_misalignment, const char *label) {
    results expected = results_new(args, output_misalignment);
    wr_reduce_segments_args job = writing_to(args, &expected);
    size_t i;
    reference_segments(&job);
    for (i = 0; i < place_count(); ++i) {
        check_call(wr_reduce_segments_ex, "wr_reduce_segments_ex", place_at(i), args, input, offsets, &expected,
                   output_misalignment, label);
        if (short_call_suffices(args)) {
            check_call(short_call, "wr_reduce_segments", place_at(i), args, input, offsets, &expected,
                       output_misalignment, label);
        }
    }
    results_free(&expected);
}
