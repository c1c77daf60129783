/* Reductions of segments in every place, as jobs.h has reductions. */
#ifndef WARP_REDUCE_TESTS_SEGMENT_JOBS_H
#define WARP_REDUCE_TESTS_SEGMENT_JOBS_H

#include "harness/jobs.h"

/* Zeroed, with struct_size. */
wr_reduce_segments_args segments_args(wr_op op, wr_dtype dtype, size_t segments);

typedef struct segment_images {
    const image *input, *offsets;
    image *output, *values;
} segment_images;

/* Like reduce_images_at, with wr_reduce_segments_ex. values may be NULL. */
wr_status segments_at(const place *where, const wr_reduce_segments_args *args, const segment_images *images);

/* Like check_reduce: args->input and args->offsets point into the images. */
void check_segments(const wr_reduce_segments_args *args, const image *input, const image *offsets,
                    size_t output_misalignment, const char *label);

#endif
