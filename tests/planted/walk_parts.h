/* The parts of the walk that softmax has. */
#ifndef WARP_REDUCE_TESTS_WALK_PARTS_H
#define WARP_REDUCE_TESTS_WALK_PARTS_H

#include "walk.h"

/* Whether arrays begin where allocations do. */
enum { START, MOVED };

void walk_many_columns(const walker *by);
void walk_softmax_of_wide(const walker *by);
void walk_softmax_of_16_bits(const walker *by);
void walk_many_rows(const walker *by);
void walk_many_gradients(const walker *by);
void walk_softmax_of_8_bits(const walker *by);
void walk_uneven_rows(const walker *by);
void walk_softmax_in_pieces(const walker *by);
void walk_many_wide_clusters(const walker *by);
void walk_large(const walker *by);

#endif
