// How a job is divided: into panels of neighbouring outputs, and those, where they are few, into pieces of the axis.
#pragma once

#include "host/common/parallel.h"
#include "host/common/vector_kernels.h"

#include <algorithm>

namespace wr::host {

// With inner 1, outer takes its place: the same job, and outputs that are neighbours are known to be.
void make_inner_the_neighbours(Shape &shape);

Panels panels_of(const Shape &shape, std::size_t width);

// The axis in equal pieces, but for the last.
struct Pieces {
    std::size_t length; // a power of two, or the whole axis
    std::size_t count;
};

// Tasks of each thread, so that one that starts late or runs slowly does not hold up the call.
inline constexpr std::size_t tasks_per_thread = 4;

// Calls act(first, last) so that every panel is in one such range, on up to so many threads. The ranges differ by one
// panel at most.
template <class Do>
void for_panels(std::size_t panels, std::size_t threads, Do &&act) {
    const std::size_t tasks = threads == 1 ? 1 : std::min(panels, tasks_per_thread * threads);
    parallel_for(tasks, threads, [&](std::size_t task) { act(panels * task / tasks, panels * (task + 1) / tasks); });
}

// Enough pieces to keep the threads busy where panels alone do not; one piece where they do. None is shorter than
// `shortest`, a power of two: what a piece costs apart from its elements must not show.
Pieces pieces_for(std::size_t axis, std::size_t panels, std::size_t threads, std::size_t shortest);

} // namespace wr::host
