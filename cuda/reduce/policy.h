// The tuning numbers of reductions: one set for each architecture that was measured, plain ones for the others. No bit
// depends on them. What the workspace query has to know of every GPU stands beside the plans.
#pragma once

#include "cuda/common/gpu_facts.h"

#include <cstddef>

namespace wr::cuda {

// The figures are an H200's, us by the rule and, behind the semicolon, without it. "A multiprocessor": as many for
// each.
struct ReducePolicy {
    // Rows of one tile that are no more a multiprocessor may have a warp of their own each.
    std::size_t few_rows = 8;

    // Rows that touch each other are staged in shared memory up to so many bytes each, more off the boundaries where
    // they are many (sums of 36928 x 577 f32 25.1; 40.9, products 27.6; 48.9); where places are looked for, whole
    // vectors are warps' own from this length on (16384 x 1024 bf16 20.6; 31.1, but of 512 19.2; 17.0). Of whole
    // vectors the trees over them are staged; of norms up to the last (L2 norms of 16384 x 1000 bf16 14.3; 18.8, but of
    // f32 25.9; 18.6, of 640 17.6; 14.7, L1 21.7; 19.6, 14.3; 15.7).
    std::size_t staged_row_bytes = 2048;
    std::size_t staged_unaligned_row_bytes = 4096;
    std::size_t staged_row_bytes_of_places = 2048;
    std::size_t staged_vector_row_bytes = 8192;
    std::size_t staged_vector_row_bytes_of_norms = 2048;
    // Columns are staged where inner has fewer bytes: where threads could read vectors of columns, and where they would
    // have to take single ones.
    std::size_t staged_line_bytes_of_vectors = 128;
    std::size_t staged_line_bytes = 512;
    // Blocks a multiprocessor that a small array is spread over, of so many bytes each at least: places of 16384 x 8
    // bf16 2.8; 11.4 by 8 blocks.
    std::size_t staged_blocks = 2;
    std::size_t least_staged_bytes = 2048;

    // Columns of up to 4 rows: with fewer blocks a multiprocessor more loads of a thread would leave some idle.
    std::size_t short_axis_blocks = 3;

    // Columns: blocks that are enough where each takes the whole axis, in tenths of a multiprocessor's (max of 32 x 512
    // x 1024 f32 19.5; 22.0 by 256 in all), of float sums, products and norms, which have 16 rows on their way, fewer,
    // all of which are there at a time (means of it bf16 10.9; 12.8 by 512), and where several share the axis (sums of
    // 16384 x 1024 bf16 11.2; 14.3 by 512).
    std::size_t column_blocks_in_tenths = 20;
    std::size_t sum_column_blocks_in_tenths = 20;
    std::size_t column_part_blocks_in_tenths = 15;
    // Columns of these go 8 rows at a time where no more blocks a multiprocessor would: 1024 x 4096 bf16 4.8; 7.8, but
    // means of 32 x 512 x 1024, where there are more, 12.1; 10.8. 0: it is not known how many are there at a time.
    std::size_t few_row_blocks = 0;

    // A cluster finishes rows of up to so many tiles in one launch: 2^18 f32 3.02; 3.81 from a graph, 2^19 3.0; 4.0,
    // but in a stream 0.8 to 5 less. Up to the second by clusters of 16 blocks, of more than the first with 16 warps
    // each.
    std::size_t cluster_tiles = 256;
    std::size_t wide_cluster_tiles = 512;
    // More rows have a pair of blocks each, of up to so many tiles: sums of 64 x 50257 f32 6.3; 7.3 from a graph
    // and 6.8; 9.3 in a stream, argmax 9.1; 9.6 and 9.7; 10.5, norms 9.0; 8.7 and 9.4; 10.9.
    std::size_t cluster_pair_tiles = 0;
    // The same of operators whose kernels of rows run as clusters, of one row and of several: in a stream f32 norm of
    // 256 KB 4.33; 6.56, of 1 MB 5.68; 6.40, but from a graph 5.48; 4.03; 8 argmax of bf16 256 KB 6.88; 7.13, 512
    // KB 9.67; 7.84.
    std::size_t general_cluster_tiles = 64;
    std::size_t general_cluster_tiles_of_several = 64;

    // Rows of 2 to so many tiles, no power of two of whole ones, are a warp's each, on the boundaries and off them,
    // where there are so many a multiprocessor: TB/s, f32 3000 4.63; 3.39, 16000 4.60; 4.52, but 31000 4.57; 4.66; off
    // them 12001 4.18; 4.30.
    std::size_t warp_tiles = 16;
    std::size_t warp_unaligned_tiles = 8;
    std::size_t warp_rows = 48;

    // Blocks that a multiprocessor holds of the kernels that take rows by tiles: as many, rather than a few that begin
    // when these end; 0: it is not known. 2^22 f32 from a graph 5.31; 6.24, 2^23 10.5; 11.4.
    std::size_t blocks_at_a_time = 0;

    // Warps that a multiprocessor holds of these; 0: it is not known. With so many rows for each, rows that would have
    // several blocks have their tiles dealt to the warps of one: L1 norms of 1024 x 50257 bf16 34.5; 49.4,
    // of 1024 x 32000 f32 33.9; 43.5.
    std::size_t warps_at_a_time = 0;
    std::size_t dealt_rows = 4;

    // Nodes of states. A warp takes rows of up to so many elements, where there are so many rows a multiprocessor, the
    // more the longer: one for each so many elements (300 x 1000 f32 from element 12345 of the axis on 5.6; 8.5, 4000 x
    // 16000 98; 190, but 2000 x 30000 from element 0 on 100; 74).
    std::size_t node_warp_axis = 16384;
    std::size_t node_warp_rows = 2;
    std::size_t node_warp_elements = 1024;
    // Short rows are staged where there are so many a multiprocessor (1000000 x 60 f32 98; 657), by as many blocks of
    // it, where a few could have everything.
    std::size_t staged_node_rows = 128;
    std::size_t staged_node_blocks = 4;
};

inline constexpr ReducePolicy plain_reduce_policy{};
inline constexpr ReducePolicy h200_reduce_policy{.staged_row_bytes_of_places = 1024,
                                                 .sum_column_blocks_in_tenths = 14,
                                                 .few_row_blocks = 3,
                                                 .cluster_pair_tiles = 64,
                                                 .general_cluster_tiles = 128,
                                                 .blocks_at_a_time = 3,
                                                 .warps_at_a_time = 24};

inline const ReducePolicy &reduce_policy(const GpuFacts &gpu) {
    return gpu.compute_major == 9 ? h200_reduce_policy : plain_reduce_policy;
}

} // namespace wr::cuda
