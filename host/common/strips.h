// How a job is divided: into strips of neighbouring outputs, and those, where they are few, into pieces of the axis.
#pragma once

#include "host/common/vector_kernels.h"

namespace wr::host {

// With inner 1, outer takes its place: the same job, and outputs that are neighbours are known to be.
void make_inner_the_neighbours(Shape &shape);

Strips strips_of(const Shape &shape, std::size_t width);

// The axis in equal pieces, but for the last.
struct Pieces {
    std::size_t length; // a power of two, or the whole axis
    std::size_t count;
};

// Enough pieces to keep the threads busy where strips alone do not; one piece where they do.
Pieces pieces_for(std::size_t axis, std::size_t strips, std::size_t threads);

} // namespace wr::host
