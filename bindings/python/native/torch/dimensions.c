#include "torch/dimensions.h"

#include "geometry.h"

Dimensions all_dimensions(int rank) {
    Dimensions all = {rank == MOST_DIMENSIONS ? ~UINT64_C(0) : (UINT64_C(1) << rank) - 1, 0, 0, 0};
    return all;
}

void add_one_dimension(Dimensions *found, int rank, int64_t dimension) {
    int64_t end = rank > 0 ? rank : 1;
    if (dimension < -end || dimension >= end) {
        found->wrong = 1;
        found->dimension = dimension;
        return;
    }
    uint64_t bit = UINT64_C(1) << (dimension < 0 ? dimension + end : dimension);
    found->twice |= (found->chosen & bit) != 0;
    found->chosen |= bit;
}

Dimensions one_dimension(int64_t dimension, int given, int rank) {
    Dimensions found = {0, 0, 0, 0};
    if (!given) {
        return all_dimensions(rank);
    }
    add_one_dimension(&found, rank, dimension);
    found.chosen &= all_dimensions(rank).chosen;
    return found;
}

int index_of(Dimensions found) {
    int dimension = 0;
    while (found.chosen >> dimension > 1) {
        ++dimension;
    }
    return dimension;
}
