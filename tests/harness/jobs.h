/* Running one job in every place, on copies of the test's memory, and comparing what comes back byte by byte. */
#ifndef WARP_REDUCE_TESTS_JOBS_H
#define WARP_REDUCE_TESTS_JOBS_H

#include "harness/places.h"
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

/* The memory of a reduction. Where input and output are the same image the job is in place; weights and values may be
 * NULL. */
typedef struct reduce_images {
    const image *input, *weights;
    image *output, *values;
} reduce_images;

/*
 * Runs wr_reduce_ex on copies of the images in `where`; args' pointers point into the images and are moved to the
 * copies. `output` and `values` come back; `input` and `weights` must come back unchanged. workspace too is given as a
 * size alone: with args->workspace non-NULL an aligned workspace of workspace_bytes is lent.
 */
wr_status reduce_images_at(const place *where, const wr_reduce_args *args, const reduce_images *images);

/* Likewise without weights and values. */
wr_status reduce_at(const place *where, const wr_reduce_args *args, const image *input, image *output);

/* Likewise with the short call: args' operator, type, pointers, sizes. */
wr_status reduce_short_at(const place *where, const wr_reduce_args *args, const image *input, image *output);

/* Likewise wr_softmax_ex; logsumexp may be NULL. */
wr_status softmax_at(const place *where, const wr_softmax_args *args, const image *input, image *output,
                     image *logsumexp);

/* Likewise wr_softmax or wr_log_softmax, by args->log. */
wr_status softmax_short_at(const place *where, const wr_softmax_args *args, const image *input, image *output);

/* Gives the strides of a struct that are zero their contiguous values, and says that all are given; of a struct without
 * any it leaves everything as it is. */
#define SAY_STRIDES(args)                                                                                              \
    say_strides(&(args)->strides_given, &(args)->outer_stride, &(args)->axis_stride, &(args)->inner_stride,            \
                (args)->axis, (args)->inner)
void say_strides(int32_t *given, ptrdiff_t *outer, ptrdiff_t *along, ptrdiff_t *inner, size_t axis, size_t inner_size);
/* Likewise both triples of a gradient's. */
void say_strides_of_both(wr_softmax_backward_args *args);

/* Zeroed, with struct_size and the shape set. */
wr_reduce_args reduce_args(wr_op op, wr_dtype dtype, size_t outer, size_t axis, size_t inner);
wr_softmax_args softmax_args(wr_dtype dtype, size_t outer, size_t axis, size_t inner);

/*
 * Checks the job against the reference in every place. args->input points into the image. The output is placed
 * `output_misalignment` bytes past a multiple of 256; where it is added to, it holds random elements before. With
 * args->values non-NULL the values are asked for and checked, in memory of their own.
 */
void check_reduce(const wr_reduce_args *args, const image *input, size_t output_misalignment, const char *label);

/* Likewise; args->weights points into `weights`. */
void check_weighted_reduce(const wr_reduce_args *args, const image *input, const image *weights,
                           size_t output_misalignment, const char *label);

/* An image for `count` outputs with what they are to hold before the call. */
image output_image(wr_op op, wr_dtype output_dtype, int32_t add_to_output, size_t count, size_t misalignment);

/* Checks that the call succeeded and gave the same bytes; names the first element of `dtype` that differs. */
void check_same_elements(wr_status status, const place *where, wr_dtype dtype, const image *expected,
                         const image *result, const char *label);

/* An image's copy in a place, for calls of other shapes than these. The image may be NULL. */
typedef struct placed {
    const place *where;
    const image *original;
    unsigned char *memory;
} placed;

placed put_in_place(const place *where, const image *original);
/* The pointer into the copy that points where `pointer` does in the image; NULL stays NULL. */
void *moved(const placed *copy, const void *pointer);
void read_back(const placed *copy, image *result);
/* Checks that the copy is still what the image is. */
void check_unchanged(const placed *copy);
void remove_from_place(placed *copy);

/* A workspace of args->workspace_bytes between two margins that must stay as they are; none where it is not wanted. */
image workspace_image(int wanted, size_t bytes);
void check_workspace_margin(const placed *copy);

/* Runs on the host into output (and logsumexp, if not NULL), and checks that every other place agrees. */
void softmax_everywhere(const wr_softmax_args *args, const image *input, image *output, image *logsumexp,
                        const char *label);

const char *dtype_name(wr_dtype dtype);
const char *op_name(wr_op op);

#endif
