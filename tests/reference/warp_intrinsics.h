/* CUDA's warp functions themselves, called lane by lane: what the tiles are held against. Only in a build with CUDA. */
#ifndef WARP_REDUCE_TESTS_WARP_INTRINSICS_H
#define WARP_REDUCE_TESTS_WARP_INTRINSICS_H

#include "harness/tile_calls.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Whether there is a warp function for this call. */
int warp_intrinsic_exists(const tile_call *call);

/*
 * Puts the call on a CUDA stream, on memory of its GPU; returns 0 or CUDA's error. Lanes that are no members of their
 * tile write 0. A lane whose source is absent has no defined value.
 */
int warp_intrinsic_run(const tile_call *call, const void *input, void *output, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif
