// Where one regime ends and the next begins: every number that was chosen by measuring.
#pragma once

#include <cstddef>

namespace wr::cuda::tuning {

// Multiprocessors beyond this are not asked for more blocks, so that a workspace query can answer for every GPU.
inline constexpr int most_multiprocessors = 512;

// Blocks of a cluster: what every GPU with clusters promises. The 16 that some offer have to be asked for at each
// launch.
inline constexpr int cluster_blocks = 8;

// Blocks of a cluster on GPUs of compute capability 9.0, where they are asked for.
inline constexpr int wide_cluster_blocks = 16;

// Tiles (4 KiB) that a warp takes of a long row. More give fewer partial results, fewer keep small arrays parallel.
inline constexpr int tiles_a_warp = 8;

// Blocks a multiprocessor should get before warps take more than one tile each.
inline constexpr int blocks_a_multiprocessor = 8;

// Blocks that a multiprocessor holds of the kernels that take rows by tiles (H200, 2^22 f32 from a graph: 5.31 us by
// 256 blocks of 2 tiles a warp, 6.24 by 512; 2^23: 10.5 by 1024 blocks, 11.4 by 512, 11.1 by 256).
inline constexpr int blocks_at_a_time = 3;

// Rows up to this many tiles are finished by one cluster in one launch: 1 MiB; 2 MiB by wide clusters. Of wide clusters
// those for up to the first number have blocks of 8 warps, the others of 16 (H200, 2^18 f32 from a graph: 3.02 us with
// 8, 3.51 with 16, by clusters of 8 blocks 3.81). 2^19 by two launches takes 3.0 us from a graph, by a cluster 4.0, but
// in a stream 0.8 to 5 more than the cluster does; 2^20 by a cluster of 16 warps a block takes 6.35.
inline constexpr std::size_t cluster_tiles = 256;
inline constexpr std::size_t wide_cluster_tiles = 512;

// The same for operators whose kernels of rows run as clusters, of 8 warps a block: of one row; of several (H200, one
// row of 128 KB, 256 KB, 512 KB, 1 MB in a stream, by two launches and by a cluster: f32 norm 6.60 and 4.16 us, 6.56
// and 4.33, 6.46 and 4.65, 6.40 and 5.68, from a graph 3.87 and 3.93, 3.91 and 4.11, 3.97 and 4.48, 4.03 and 5.48; 8
// argmax of bf16 rows of 256 and 512 KB 7.13 and 6.88, 7.84 and 9.67).
inline constexpr std::size_t general_cluster_tiles = 128;
inline constexpr std::size_t general_cluster_tiles_of_several = 64;

// Rows of 2 to this many tiles, if they are not a power of two of whole ones, are a warp's each where there are so many
// rows a multiprocessor, twice what it holds (H200, f32, TB/s, and with the warps of a block sharing a row: 3000 4.63
// and 3.39, 5000 4.59 and 3.06, 8000 4.63 and 3.70, 10000 4.61 and 3.85, 16000 4.60 and 4.52; but 15000 4.61 and 4.66,
// 31000 4.57 and 4.66).
inline constexpr std::size_t single_warp_tiles = 16;
inline constexpr std::size_t single_warp_shifted_tiles = 8; // of rows off the boundaries (12001: 4.18, sharing 4.30)
inline constexpr std::size_t single_warps_a_multiprocessor = 48;

// Rows from this many tiles on update one accumulator, where the operator is exact in any order, instead of leaving a
// partial result a block: 1 GiB.
inline constexpr std::size_t shared_row_tiles = 262144;

// Columns: blocks a multiprocessor should get before threads take long runs of rows.
inline constexpr int column_blocks_a_multiprocessor = 4;

// Columns: vectors (16 bytes) that a block takes side by side at least. Where a row has few of them, a line of 128
// bytes leaves more of the block for the rows and saves a stage (2M x 128 f32: 4.33 TB/s); else 512 bytes.
inline constexpr std::size_t few_column_vectors = 64;
inline constexpr std::size_t vectors_across_few = 8;
inline constexpr std::size_t vectors_across_many = 32;

// Rows that touch each other are staged in shared memory up to this many bytes each; beyond, a warp takes a row by
// itself.
inline constexpr std::size_t staged_row_bytes = 2048;

// The same of rows that are whole vectors, of which a block stages only the trees over them.
inline constexpr std::size_t staged_vector_row_bytes = 8192;

// Rows up to this length are read by plain loads, for the outputs are no small part of what moves (rows of 2, 4, 8 f32:
// 4.36, 4.42, 4.42 TB/s; by streaming loads 4.00, 4.09, 4.20).
inline constexpr std::size_t plainly_loaded_axis = 8;

// Columns of 1, 2 or 4 vectors a row, and 3 and 6 columns of words, are staged where a multiprocessor would have fewer
// blocks of the kernels made for them than this, two rounds of what it holds (H200, f32, 3 columns of 2 GiB at 1.6 GHz:
// 4.42 TB/s, staged 4.11 to 4.20; 6 columns at 1.7 GHz 4.38, staged 4.19 to 4.29).
inline constexpr std::size_t narrow_column_blocks_a_multiprocessor = 6;

// Columns: where few rows have so many vectors side by side, each thread takes several.
inline constexpr std::size_t few_rows_vectors_across = 1024;

// Columns are staged where inner has fewer bytes: a line, where threads could read vectors of columns; more where they
// would have to take single columns.
inline constexpr std::size_t staged_line_bytes_of_vectors = 128;
inline constexpr std::size_t staged_line_bytes = 512;

// Columns that are staged: items of fewer rows would leave too many partial results.
inline constexpr std::size_t least_staged_rows = 64;

// Segments: what one costs beside its elements, in elements of work (one of 2^29 elements among 10^5 of 0 to 8: 3.63
// TB/s with 8, 3.90 with 16, before other changes; 515 us with 16, 513 with 32 and 64).
inline constexpr std::size_t segment_work = 32;

// Segments: elements of the shortest window. Segments up to a window's length are one warp's.
inline constexpr std::size_t least_segment_window = 2048;

// Segments: blocks a multiprocessor; 6 are there at a time. The more, the smaller is what the last warps end with; the
// fewer, the less often one begins. Microseconds (H200, the kernel alone) with 12, 18, 24 and 30: one of 2^29 among
// 10^5 of 0 to 8 527, 513, 508 and 510; 10^6 of 0 to 1024 554, 522, 523 and 529; 10^7 of 1 to 8 105, 109, 115 and 121,
// so there are half as many where segments have fewer elements than tiny_segment on average.
inline constexpr std::size_t segment_blocks_a_multiprocessor = 24;
inline constexpr std::size_t tiny_segment = 16;

// Segments: where they have so many elements on average, their shares fall by the eighth power of 1 minus so much of
// those taken, instead of the square (microseconds of the kernel alone for one of 2^29 among 10^5 of 0 to 8: 487 for
// 491; but for 10^6 of 0 to 1024 529 for 524).
inline constexpr std::size_t long_segment = 2048;
inline constexpr float long_segment_shares_fall = 0.375f;

} // namespace wr::cuda::tuning
