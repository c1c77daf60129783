/* Running one job in every place, on copies of the test's memory, and comparing what comes back byte by byte. */
#ifndef WARP_REDUCE_TESTS_JOBS_H
#define WARP_REDUCE_TESTS_JOBS_H

#include "places.h"
#include "warp_reduce.h"

/*
 * Host memory with a margin around its payload. Everything starts as POISON; a job runs on a copy of the whole, at
 * the same alignment, and the whole comes back, so a write outside the payload shows.
 */
typedef struct image {
    unsigned char *base;
    size_t size;
    unsigned char *payload;
    size_t payload_bytes;
} image;

enum { IMAGE_POISON = 0xA5 };

/* payload is `misalignment` bytes past a multiple of 256. */
image image_new(size_t payload_bytes, size_t misalignment);
image image_copy(const image *original);
void image_free(image *used);
int image_equal(const image *a, const image *b);

/*
 * Runs wr_reduce_ex on copies of the images in `where`; args' pointers point into the images and are moved to the
 * copies. `output` comes back; `input` must come back unchanged, unless both are the same image. workspace too is
 * given as a size alone: with args->workspace non-NULL an aligned workspace of workspace_bytes is lent.
 */
wr_status reduce_at(const place *where, const wr_reduce_args *args, const image *input, image *output);

/* Likewise with the short call: args' operator, type, pointers, sizes. */
wr_status reduce_short_at(const place *where, const wr_reduce_args *args, const image *input, image *output);

/* Likewise wr_softmax_ex; logsumexp may be NULL. */
wr_status softmax_at(const place *where, const wr_softmax_args *args, const image *input, image *output,
                     image *logsumexp);

/* Likewise wr_softmax or wr_log_softmax, by args->log. */
wr_status softmax_short_at(const place *where, const wr_softmax_args *args, const image *input, image *output);

/* Zeroed, with struct_size and the shape set. */
wr_reduce_args reduce_args(wr_op op, wr_dtype dtype, size_t outer, size_t axis, size_t inner);
wr_softmax_args softmax_args(wr_dtype dtype, size_t outer, size_t axis, size_t inner);

/* Checks the job against the reference in every place. args->input points into the image. The output is placed
 * `output_misalignment` bytes past a multiple of 256. */
void check_reduce(const wr_reduce_args *args, const image *input, size_t output_misalignment, const char *label);

/* Runs on the host into output (and logsumexp, if not NULL), and checks that every other place agrees. */
void softmax_everywhere(const wr_softmax_args *args, const image *input, image *output, image *logsumexp,
                        const char *label);

const char *dtype_name(wr_dtype dtype);

#endif
