#include "harness/dot_jobs.h"

#include "harness/harness.h"
#include "reference/reference.h"

#include <stdio.h>
#include <string.h>

wr_dot_args dot_args(wr_dtype dtype, size_t count) {
    wr_dot_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = dtype;
    args.count = count;
    return args;
}

typedef wr_status dot_call(const wr_dot_args *args, struct CUstream_st *stream);

static wr_status run_dot(dot_call *call, const place *where, const wr_dot_args *args, const image *left,
                         const image *right, image *output) {
    image lent = workspace_image(args->workspace != NULL, args->workspace_bytes);
    placed left_copy = put_in_place(where, left);
    placed right_copy = left == right ? left_copy : put_in_place(where, right);
    placed out = put_in_place(where, output);
    placed workspace = put_in_place(where, &lent);
    wr_dot_args placed_args = *args;
    wr_status status;
    placed_args.left = moved(&left_copy, args->left);
    placed_args.right = moved(&right_copy, args->right);
    placed_args.output = moved(&out, args->output);
    placed_args.workspace = args->workspace == NULL ? NULL : moved(&workspace, lent.payload);
    status = call(&placed_args, where->stream);
    read_back(&out, output);
    check_unchanged(&left_copy);
    check_unchanged(&right_copy);
    check_workspace_margin(&workspace);
    remove_from_place(&left_copy);
    if (left != right) {
        remove_from_place(&right_copy);
    }
    remove_from_place(&out);
    remove_from_place(&workspace);
    image_free(&lent);
    return status;
}

static wr_status short_call(const wr_dot_args *args, struct CUstream_st *stream) {
    return wr_dot(args->dtype, args->left, args->right, args->output, args->count, stream);
}

static int short_call_suffices(const wr_dot_args *args) {
    return (int)args->right_dtype == 0 && (int)args->output_dtype == 0 && (int)args->accumulate_dtype == 0 &&
           args->add_to_output == 0 && args->workspace == NULL && (int)args->op == 0;
}

wr_dtype dot_output_dtype(const wr_dot_args *args) {
    wr_dtype right = (int)args->right_dtype == 0 ? args->dtype : args->right_dtype;
    if ((int)args->output_dtype != 0) {
        return args->output_dtype;
    }
    return reference_degree(right) > reference_degree(args->dtype) ? right : args->dtype;
}

static void check_call(dot_call *call, const char *name, const place *where, const wr_dot_args *args, const image *left,
                       const image *right, const image *expected, size_t misalignment, const char *label) {
    wr_dtype output_dtype = dot_output_dtype(args);
    image result = output_image(WR_SUM, output_dtype, args->add_to_output, 1, misalignment);
    wr_dot_args job = *args;
    wr_status status;
    char text[300];
    job.output = result.payload;
    status = run_dot(call, where, &job, left, right, &result);
    snprintf(text, sizeof text, "%s: %s of %zu %s and %s to %s (kept in %s, add %d)", label, name, args->count,
             dtype_name(args->dtype), dtype_name(args->right_dtype), dtype_name(output_dtype),
             dtype_name(args->accumulate_dtype), (int)args->add_to_output);
    check_same_elements(status, where, output_dtype, expected, &result, text);
    image_free(&result);
}

void check_dot(const wr_dot_args *args, const image *left, const image *right, size_t output_misalignment,
               const char *label) {
    image expected = output_image(WR_SUM, dot_output_dtype(args), args->add_to_output, 1, output_misalignment);
    wr_dot_args job = *args;
    size_t i;
    job.output = expected.payload;
    reference_dot(&job);
    for (i = 0; i < place_count(); ++i) {
        check_call(wr_dot_ex, "wr_dot_ex", place_at(i), args, left, right, &expected, output_misalignment, label);
        if (short_call_suffices(args)) {
            check_call(short_call, "wr_dot", place_at(i), args, left, right, &expected, output_misalignment, label);
        }
    }
    image_free(&expected);
}
