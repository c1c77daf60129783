/* Filling in on a GPU what takes no part in a reduction: the adapter's one kernel. Frameworks have operators that do
 * it, of which each call takes longer than the reduction. */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct CUstream_st;

/* Whether what is put on the stream now may become part of a graph, or the driver does not say. */
int may_be_captured(struct CUstream_st *stream);

/* made[i] = where[i] ? x[i] : word, of `count` elements of `item_size` bytes in order, on the current GPU. 0, or
 * nothing was started: without a driver, or while a capture is the first that wants it. */
int fill_on_gpu(const void *x, const void *where, void *made, int64_t word, size_t count, ptrdiff_t item_size,
                struct CUstream_st *stream);
