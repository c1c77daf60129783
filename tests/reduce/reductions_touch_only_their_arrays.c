/* Reductions, segments, dot products and tiles read and write their arrays and nothing beside them. */
#include "harness/dot_jobs.h"
#include "harness/guarded_calls.h"
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "reference/reference.h"

#include <string.h>

/* ---- reductions */

typedef struct reduction {
    wr_reduce_args args;
    size_t origin_bytes;
} reduction;

static wr_status run_reduction(const void *call, unsigned char *const *arrays) {
    const reduction *of = call;
    wr_reduce_args args = of->args;
    args.input = arrays[0] + of->origin_bytes;
    args.output = arrays[1];
    args.weights = args.weights == NULL ? NULL : arrays[2];
    args.values = args.values == NULL ? NULL : arrays[3];
    return wr_reduce_ex(&args, wr_host_stream());
}

static void check_reduction(reduction *of, int layout, int variant) {
    shape size = {of->args.outer, of->args.axis, of->args.inner};
    strides by = guarded_strides(size, layout);
    wr_dtype weights = (int)of->args.weights_dtype == 0 ? of->args.dtype : of->args.weights_dtype;
    size_t bytes = reference_size(of->args.dtype), outputs = size.outer * size.inner, origin;
    size_t extent = extent_of(size, by, &origin);
    guarded_array arrays[4];
    char label[GUARDED_LABEL_BYTES];
    if (extent > GUARDED_ELEMENTS) {
        return;
    }
    memset(arrays, 0, sizeof arrays);
    of->args.outer_stride = layout == 0 ? 0 : by.outer;
    of->args.axis_stride = layout == 0 ? 0 : by.axis;
    of->args.inner_stride = layout == 0 ? 0 : by.inner;
    of->args.strides_given = layout != 0;
    of->origin_bytes = origin * bytes;
    arrays[0].content = guarded_elements(of->args.dtype);
    arrays[0].bytes = extent * bytes;
    arrays[1].bytes = outputs * reference_size(reference_output_dtype(&of->args));
    if (of->args.weights != NULL) {
        arrays[2].content = guarded_elements(weights);
        arrays[2].bytes = size.axis * reference_size(weights);
    }
    if (of->args.values != NULL) {
        arrays[3].bytes = outputs * bytes;
    }
    describe_guarded(label, layout == 0 ? "contiguous" : "strided", op_name(of->args.op), of->args.dtype, size,
                     variant);
    check_guarded_call(run_reduction, of, arrays, 4, label);
}

/* What a call can ask for beside the plain reduction, each in turn. */
static int set_variant(wr_reduce_args *args, int variant, size_t turn) {
    type_list outputs = offered_outputs(args->op, args->dtype);
    switch (variant) {
    case 0:
        return has_default_output(args->op, args->dtype);
    case 1:
        args->output_dtype = outputs.types[turn % outputs.count];
        return args->op != WR_ARGMIN && args->op != WR_ARGMAX;
    case 2:
        args->nan_mode = WR_NAN_IGNORE;
        return reference_is_float(args->dtype) && args->op != WR_LOGSUMEXP;
    case 3:
        args->add_to_output = 1;
        return takes_add_to_output(args->op) && has_default_output(args->op, args->dtype);
    case 4:
        args->values = args;
        return args->op == WR_ARGMIN || args->op == WR_ARGMAX;
    case 5:
        args->accumulate_dtype = WR_F64;
        return takes_accumulate_dtype(args->op, args->dtype);
    default: {
        type_list weights = offered_weights(args->dtype);
        args->weights_dtype = weights.types[turn % weights.count];
        args->weights = args;
        return args->op == WR_SUM || args->op == WR_SUM_EXACT;
    }
    }
}
enum { VARIANTS = 7 };

static void check_reductions(wr_op op, wr_dtype dtype) {
    size_t index;
    int variant;
    for (index = 0; index < guarded_shapes(); ++index) {
        shape size = guarded_shape(index);
        for (variant = 0; variant < VARIANTS; ++variant) {
            reduction of;
            of.args = reduce_args(op, dtype, size.outer, size.axis, size.inner);
            if ((variant > 1 && index % 3 != (size_t)variant % 3) || !set_variant(&of.args, variant, index)) {
                continue;
            }
            check_reduction(&of, 0, variant);
            if (variant < 2 && elements_of(size) > 0) {
                check_reduction(&of, 1 + (int)(index % 3), variant);
            }
        }
    }
}

static void check_all_reductions(void) {
    int op, dtype;
    for (op = WR_SUM; op <= LAST_OP; ++op) {
        for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
            if (offered_outputs((wr_op)op, (wr_dtype)dtype).count > 0) {
                check_reductions((wr_op)op, (wr_dtype)dtype);
            }
        }
    }
}

/* ---- segments */

enum { MOST_SEGMENTS = 30 };

static wr_status run_segments(const void *call, unsigned char *const *arrays) {
    wr_reduce_segments_args args = *(const wr_reduce_segments_args *)call;
    args.input = arrays[0];
    args.output = arrays[1];
    args.offsets = arrays[2];
    args.values = args.values == NULL ? NULL : arrays[3];
    return wr_reduce_segments_ex(&args, wr_host_stream());
}

static void check_segments_of(wr_op op, wr_dtype dtype, size_t segments, uint64_t seed) {
    static const size_t longest[] = {2, 9, 33, 150};
    wr_reduce_segments_args args = segments_args(op, dtype, segments);
    wr_reduce_args each = reduce_args(op, dtype, 1, 1, 1);
    int64_t wide[MOST_SEGMENTS + 1] = {0};
    int32_t narrow[MOST_SEGMENTS + 1] = {0};
    guarded_array arrays[4];
    char label[GUARDED_LABEL_BYTES];
    shape size = {1, 0, 1};
    size_t i;
    for (i = 1; i <= segments; ++i) {
        wide[i] = wide[i - 1] + (int64_t)random_below(&seed, longest[seed % 4]);
        narrow[i] = (int32_t)wide[i];
    }
    memset(arrays, 0, sizeof arrays);
    size.axis = (size_t)wide[segments];
    arrays[0].content = guarded_elements(dtype);
    arrays[0].bytes = size.axis * reference_size(dtype);
    arrays[1].bytes = segments * reference_size(reference_output_dtype(&each));
    args.offsets_dtype = seed % 2 == 0 ? WR_I32 : WR_I64;
    arrays[2].content = seed % 2 == 0 ? (const void *)narrow : wide;
    arrays[2].bytes = (segments + 1) * reference_size(args.offsets_dtype);
    if ((op == WR_ARGMIN || op == WR_ARGMAX) && seed % 3 == 0) {
        args.values = &args;
        arrays[3].bytes = segments * reference_size(dtype);
    }
    describe_guarded(label, "segments", op_name(op), dtype, size, (int)segments);
    check_guarded_call(run_segments, &args, arrays, 4, label);
}

static void check_all_segments(void) {
    int op, dtype;
    size_t segments;
    for (op = WR_SUM; op <= LAST_OP; ++op) {
        for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
            for (segments = 1; segments <= MOST_SEGMENTS && is_offered_in_pieces((wr_op)op) &&
                               has_default_output((wr_op)op, (wr_dtype)dtype);
                 ++segments) {
                check_segments_of((wr_op)op, (wr_dtype)dtype, segments, (uint64_t)(op * 20 + dtype) * 100 + segments);
            }
        }
    }
}

/* ---- dot products */

static wr_status run_dot(const void *call, unsigned char *const *arrays) {
    wr_dot_args args = *(const wr_dot_args *)call;
    args.left = arrays[0];
    args.right = arrays[1];
    args.output = arrays[2];
    return wr_dot_ex(&args, wr_host_stream());
}

static void check_all_dots(void) {
    size_t i, w;
    int dtype;
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        const type_list rights = offered_weights((wr_dtype)dtype);
        for (i = 0; i < guarded_lengths(); ++i) {
            for (w = 0; w < rights.count; ++w) {
                wr_dot_args args = dot_args((wr_dtype)dtype, guarded_length(i));
                guarded_array arrays[3] = {{NULL, 0}, {NULL, 0}, {NULL, 0}};
                shape size = {1, guarded_length(i), 1};
                char label[GUARDED_LABEL_BYTES];
                args.right_dtype = rights.types[w];
                arrays[0].content = guarded_elements(dtype);
                arrays[0].bytes = guarded_length(i) * reference_size((wr_dtype)dtype);
                arrays[1].content = guarded_elements(rights.types[w]);
                arrays[1].bytes = guarded_length(i) * reference_size(rights.types[w]);
                arrays[2].bytes = reference_size(dot_output_dtype(&args));
                describe_guarded(label, "dot", "", (wr_dtype)dtype, size, (int)w);
                check_guarded_call(run_dot, &args, arrays, 3, label);
            }
        }
    }
}

/* ---- tiles */

typedef struct tile_job {
    int what; /* an operator, or 0 a shuffle, -1 a vote, -2 a match */
    wr_dtype dtype;
    size_t count;
    uint32_t width;
} tile_job;

static wr_status run_tiles(const void *call, unsigned char *const *arrays) {
    const tile_job *of = call;
    const uint32_t members = of->width == 32 ? 0xFFFFFFFFU : (1U << of->width) - 1U;
    struct CUstream_st *host = wr_host_stream();
    switch (of->what) {
    case 0:
        return wr_tile_shuffle(WR_SHUFFLE_DOWN, of->dtype, arrays[0], arrays[1], of->count, of->width, 1, host);
    case -1:
        return wr_tile_vote(WR_VOTE_BALLOT, (const int32_t *)(const void *)arrays[0], (uint32_t *)(void *)arrays[1],
                            of->count, of->width, members, host);
    case -2:
        return wr_tile_match(WR_MATCH_ANY, of->dtype, arrays[0], (uint32_t *)(void *)arrays[1], of->count, of->width,
                             members, host);
    default:
        return wr_tile_reduce((wr_op)of->what, of->dtype, arrays[0], arrays[1], of->count, of->width, host);
    }
}

static size_t tile_result_bytes(const tile_job *of) {
    wr_reduce_args each = reduce_args((wr_op)of->what, of->dtype, 1, 1, 1);
    return of->what > 0    ? reference_size(reference_output_dtype(&each))
           : of->what == 0 ? reference_size(of->dtype)
                           : sizeof(uint32_t);
}

static void check_tiles(int what, wr_dtype dtype) {
    tile_job of = {what, dtype, 0, 2};
    for (; of.width <= 32; of.width *= 2) {
        for (of.count = 1; of.count < 70; of.count += 1 + of.count / 20) {
            guarded_array arrays[2] = {{NULL, 0}, {NULL, 0}};
            shape size = {1, of.count, 1};
            char label[GUARDED_LABEL_BYTES];
            arrays[0].content = guarded_elements(dtype);
            arrays[0].bytes = of.count * reference_size(dtype);
            arrays[1].bytes = of.count * tile_result_bytes(&of);
            describe_guarded(label, "tiles", what > 0 ? op_name((wr_op)what) : "exchange", dtype, size, (int)of.width);
            check_guarded_call(run_tiles, &of, arrays, 2, label);
        }
    }
}

static void check_all_tiles(void) {
    int what, dtype;
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        for (what = -2; what <= LAST_REDUCTION; ++what) {
            if (what <= 0 ? (what != -1 || dtype == WR_I32) : has_default_output((wr_op)what, (wr_dtype)dtype)) {
                check_tiles(what, (wr_dtype)dtype);
            }
        }
    }
}

int main(int argc, char **argv) {
    places_open(argc, argv);
    guarded_calls_open();
    check_all_reductions();
    check_all_segments();
    check_all_dots();
    check_all_tiles();
    guarded_calls_close();
    places_close();
    return check_report("reductions_touch_only_their_arrays");
}
