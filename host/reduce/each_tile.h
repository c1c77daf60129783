// Walking over tiles on the machine's cores.
#pragma once

#include "host/common/parallel.h"
#include "numerics/tiles.h"

#include <algorithm>

namespace wr::host {

// Calls work(first lane, lanes that are present) once for each tile, in any order. bytes_a_lane, read and written, tell
// how many threads the job is worth.
template <class Work>
void for_each_tile(Tiles tiles, std::size_t bytes_a_lane, Work &&work) {
    const std::size_t threads = threads_for(tiles.count * bytes_a_lane);
    const std::size_t all = divide_up<std::size_t>(tiles.count, tiles.width);
    const std::size_t tasks = threads == 1 ? 1 : std::min(all, 4 * threads);
    const std::size_t each = divide_up(all, tasks);
    parallel_for(tasks, threads, [&](std::size_t task) {
        const std::size_t end = std::min((task + 1) * each, all);
        for (std::size_t tile = task * each; tile < end; ++tile) {
            const std::size_t first = tile * tiles.width;
            work(first, lanes_of_tile(tiles, first));
        }
    });
}

} // namespace wr::host
