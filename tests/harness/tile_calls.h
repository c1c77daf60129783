/*
 * The calls of tiles as data, what shuffles, votes and matches must give, lane by lane from the header's words alone,
 * and the check of a call in every place.
 */
#ifndef WARP_REDUCE_TESTS_TILE_CALLS_H
#define WARP_REDUCE_TESTS_TILE_CALLS_H

#include "harness/places.h"
#include "warp_reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tile_kind { TILE_REDUCE, TILE_SHUFFLE, TILE_VOTE, TILE_MATCH } tile_kind;

typedef struct tile_call {
    tile_kind kind;
    /* of wr_op, wr_shuffle, wr_vote or wr_match */
    int what;
    /* WR_I32 for votes */
    wr_dtype dtype;
    size_t count;
    uint32_t width;
    /* operand or members, as the kind has them */
    uint32_t argument;
} tile_call;

enum { TILE_WIDTHS = 5, TILE_COUNTS = 16 };
extern const uint32_t tile_widths[TILE_WIDTHS];

/* Counts around every boundary of tiles, warps and blocks. */
size_t tile_count_at(size_t index, uint32_t width);

size_t tile_dtype_bytes(wr_dtype dtype);
/* Of an element of the output; a reduction's as wr_reduce has it. */
size_t tile_output_bytes(const tile_call *call);
/* Lanes that are present in the tile of lane `index`. */
size_t tile_lanes_present(const tile_call *call, size_t index);

wr_status tile_run(const tile_call *call, const void *input, void *output, struct CUstream_st *stream);

/* The result of a shuffle, a vote or a match. */
void tile_reference(const tile_call *call, const unsigned char *input, unsigned char *output);

/*
 * Runs the call in every place, on pointers with no more than their element's alignment, and in place as well where the
 * sizes of elements agree: the output must be `expected`, and nothing else be written. On a GPU the warp's own
 * function, where there is one for the call, must give the same to every lane that CUDA defines a value for.
 */
void tile_check(const tile_call *call, const unsigned char *input, const unsigned char *expected);

/* Gives the places' memory back. */
void tile_calls_close(void);

#ifdef __cplusplus
}
#endif

#endif
