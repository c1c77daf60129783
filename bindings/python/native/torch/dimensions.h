/* Dimensions as PyTorch's operators are given them. */
#pragma once

#include <stdint.h>

/* Those of a tensor, and the first that is none. */
typedef struct Dimensions {
    uint64_t chosen;
    int wrong, twice;
    int64_t dimension;
} Dimensions;

Dimensions all_dimensions(int rank);

/* A tensor without dimensions lets itself be asked for its only one. */
void add_one_dimension(Dimensions *found, int rank, int64_t dimension);

/* All of them where none is given. */
Dimensions one_dimension(int64_t dimension, int given, int rank);

/* The number of the only one; 0 of a tensor without dimensions. */
int index_of(Dimensions found);
