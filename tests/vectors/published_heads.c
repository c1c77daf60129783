/* What the heads of the published vectors' lines say. */
#include "vectors/published_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

double double_of_word(uint64_t word) {
    double value;
    memcpy(&value, &word, sizeof value);
    return value;
}

enum { NAME_SIZE = 16 };

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
    for (number = WR_SUM; number <= WR_DOT_EXACT; ++number) {
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
    to->op = WR_SUM;
    to->dtype = dtype_named(dtype);
    to->right_dtype = dtype_named(right);
    to->output_dtype = dtype_named(output);
    to->outer = to->inner = to->step = 1;
    return to->right_dtype != 0 && parse_accumulate(accumulate, to);
}

static int parse_exact_dot(const char *head, test_case *to) {
    char dtype[NAME_SIZE], output[NAME_SIZE];
    if (sscanf(head, "dot_exact %15s %15s %zu", dtype, output, &to->axis) != 3) {
        return 0;
    }
    to->about = DOT_PRODUCT;
    to->op = WR_SUM_EXACT;
    to->dtype = to->right_dtype = dtype_named(dtype);
    to->output_dtype = dtype_named(output);
    to->outer = to->inner = to->step = 1;
    return 1;
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

int parse_head(const char *head, size_t line, test_case *to) {
    memset(to, 0, sizeof *to);
    to->line = line;
    if (!parse_reduce(head, to) && !parse_dot(head, to) && !parse_exact_dot(head, to) && !parse_segments(head, to) &&
        !parse_softmax(head, to) && !parse_gradient(head, to) && !parse_approximate(head, to) &&
        !parse_selected(head, to)) {
        return 0;
    }
    return to->dtype != 0 && to->output_dtype != 0 && to->step != 0;
}
