// The bytes of an array that may be read. Plain data: host and GPU share it.
#pragma once

#include "numerics/problem.h"

#include <cstddef>

namespace wr::cuda {

// From the lowest to behind the highest element of the caller's array: vectors are read within them only.
struct ReadableRange {
    const char *begin, *end;
};

ReadableRange readable_range_of(const void *array, const Shape &shape, std::size_t element_bytes);

} // namespace wr::cuda
