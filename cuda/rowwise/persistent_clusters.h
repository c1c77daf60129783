// Which rows each cluster of the pipeline takes: a function of how many rows there are and how many clusters the GPU
// holds at a time, for host and GPU alike.
#pragma once

#include "numerics/host_device.h"

namespace wr::cuda {

// Rows that a cluster takes at least: what it costs to start one is that of a few.
inline constexpr std::uint32_t pipeline_least_rows = 4;

// Rows first, first + clusters, first + 2 clusters and so on.
struct PipelineRun {
    std::uint32_t first, rows;
};

// Clusters come in rounds of as many as the GPU holds. Those of a round share half of what is left: some
// multiprocessors are slower than others by a third where all wait for memory, and so take fewer of the later clusters.
WR_HD std::uint32_t pipeline_share(std::uint32_t rows_left, std::uint32_t clusters) {
    return larger(rows_left / 2 / clusters, pipeline_least_rows);
}

WR_HD PipelineRun pipeline_run(std::uint32_t rows, std::uint32_t clusters, std::uint32_t number) {
    std::uint32_t first = 0;
    for (; number >= clusters; number -= clusters) {
        first += clusters * pipeline_share(rows - first, clusters);
    }
    const std::uint32_t share = pipeline_share(rows - first, clusters);
    first += number;
    return {first, smaller(share, (rows - first + clusters - 1) / clusters)};
}

// All clusters, each of which has a row.
WR_HD std::uint32_t pipeline_clusters(std::uint32_t rows, std::uint32_t clusters) {
    std::uint32_t all = 0;
    for (std::uint32_t first = 0; first < rows; first += clusters * pipeline_share(rows - first, clusters)) {
        all += smaller(clusters, rows - first);
    }
    return all;
}

} // namespace wr::cuda
