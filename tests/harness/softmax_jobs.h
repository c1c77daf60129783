/* Softmax with elements left out, and its gradient, in every place, as jobs.h has plain softmax. */
#ifndef WARP_REDUCE_TESTS_SOFTMAX_JOBS_H
#define WARP_REDUCE_TESTS_SOFTMAX_JOBS_H

#include "harness/jobs.h"

/* The memory that the arguments' pointers of these names point into; NULL where a pointer is NULL. An output that is
 * also an input is the job in place. */
typedef struct softmax_images {
    const image *input, *mask, *lengths, *offsets;
    image *output, *logsumexp, *maximum;
    const image *scales;
} softmax_images;

typedef struct backward_images {
    /* `saved` is output or input */
    const image *saved, *logsumexp, *output_gradient, *mask, *lengths, *offsets;
    image *input_gradient;
    const image *scales;
} backward_images;

/* As workspace_bytes of no workspace: one of as many bytes as the query says is lent. */
enum { LEND_WORKSPACE = 1 };

/* Runs on the host, and checks that every other place gives the same bytes. */
void run_softmax_everywhere(const wr_softmax_args *args, const softmax_images *images, const char *label);
void run_backward_everywhere(const wr_softmax_backward_args *args, const backward_images *images, const char *label);

/* Runs in one place. The outputs come back into their images; the inputs must come back unchanged. */
wr_status softmax_with_images_at(const place *where, const wr_softmax_args *args, const softmax_images *images);
wr_status backward_with_images_at(const place *where, const wr_softmax_backward_args *args,
                                  const backward_images *images);

/* Zeroed, with struct_size and the shape set. */
wr_softmax_backward_args backward_args(wr_dtype dtype, size_t outer, size_t axis, size_t inner);

/* f64 for f64, f32 for all others: the type of logsumexp and maximum. */
wr_dtype softmax_state_dtype(wr_dtype dtype);

#endif
