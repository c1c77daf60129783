/*
 * The calls that compute-sanitizer watches: of those of walk.h as few and as small ones as launch every kernel in each
 * of its ways (in clusters of so many blocks, on a boundary or off it). choose_calls finds them out
 * as the tests are built, by the library's own dispatch, and cuts them into parts of about the same work.
 */
#ifndef WARP_REDUCE_TESTS_CHOSEN_WALK_H
#define WARP_REDUCE_TESTS_CHOSEN_WALK_H

#include "walk.h"

/* Calls of a part of the walk by their numbers, which grow. */
typedef struct chosen_part {
    const char *name, *walk_part;
    size_t count;
    const unsigned short *numbers;
} chosen_part;

/* The one with the most work first. */
extern const chosen_part chosen_parts[];
extern const size_t chosen_part_count;

/* Returns whether there is such a part. Not for several threads at a time. */
int chosen_walk(const char *name, const walker *by);

#endif
