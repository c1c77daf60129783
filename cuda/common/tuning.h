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

// Softmax of long rows: blocks a multiprocessor should get before warps take more than one base block each.
inline constexpr int softmax_blocks_a_multiprocessor = 8;

// Softmax of long rows, read twice: so many bytes of their end, which the second reading begins with, stay in the
// second-level cache rather than others (H200, 1 x 2^27 f32, us: all bytes alike 397.8, 40 MB 394.6, 25 MB 393.5).
inline constexpr std::ptrdiff_t softmax_cached_end_bytes = 25'000'000;

// Softmax: rows of up to so many base blocks (of f32 and f64, of 16-bit elements) are one block's on GPUs with clusters
// too. Beyond, blocks of 8 warps share a row of up to so many base blocks, blocks of 16 a longer one (H200, f32 of
// 65536 by blocks of 8 and of 16: 3.92 and 4.17 TB/s; bf16 3.75 and 3.57).
inline constexpr std::size_t softmax_row_warps = 8;
inline constexpr std::size_t softmax_narrow_row_warps = 8;
inline constexpr std::size_t softmax_short_cluster_row = 32;
inline constexpr std::size_t softmax_narrow_short_cluster_row = 64;
inline constexpr std::size_t softmax_cluster_warps = 8;
inline constexpr std::size_t softmax_long_cluster_warps = 16;

// Blocks of clusters for f32 rows of up to 32 base blocks have no fewer warps than this: there is room for a small
// block more often (by blocks of 8 and of 4 warps: rows off the boundaries of 16384 and 32768 3.88 and 4.02, 3.80
// and 3.90, but of 10000, with two of 12 warps idle, 3.32 and 3.19; of 32768 masked 4.05 and 4.19, lengths 3.89
// and 3.95, causal 3.84 and 3.89, masked log-softmax 3.47 and 3.62; but bf16 lengths 3.01 and 2.77).
inline constexpr std::size_t softmax_least_cluster_warps = 4;

// f32 rows with masks, lengths, the causal limit or maxima of more base blocks than this are a cluster's (6144 by one
// block and by two: lengths 3.90 and 3.88, with maximum 3.92 and 3.83; 8192 3.82 and 3.99, 3.77 and 4.09).
inline constexpr std::size_t softmax_selected_row_warps = 7;

// The lengths of rows that so many elements lie ahead are asked for beforehand (f32 of 4096 and 32768 without it, with
// 2^22 and with 2^21: 3.68, 3.79, 3.82 and 3.72, 3.78, 3.79).
inline constexpr std::size_t softmax_length_ahead = std::size_t{1} << 21;

// Softmax: with fewer base blocks a multiprocessor than this, rows of more than softmax_small_row_warps are spread over
// as many blocks as a cluster has. With as many or more, the blocks of clusters go where there is room, instead of as
// far apart as they can, of 16-bit rows, rows off the boundaries or into another type, and rows with masks or lengths
// (H200, TB/s, apart and where there is room, in turn: bf16 of 32768 3.64 and 3.81, of 65536 3.84 and 3.95, of
// 262144 3.14 and 3.28, of 32000 3.32 and 3.49, of 50257 2.61 and 2.68; lengths of 32768 f32 3.61 and 3.70, bf16 2.59
// and 2.75, causal 3.54 and 3.72, 2.57 and 2.74; 64 x 131072 bf16 10.83 and 10.29 us; but bf16 of 131072 3.38 and 3.34,
// f32 of 65536 4.17 and 4.14, of 262144 3.98 and 3.95, and 1 x 131072 f32 3.64 and 3.99 us from a graph).
inline constexpr std::size_t softmax_few_blocks = 16;
inline constexpr std::size_t softmax_small_row_warps = 4;

// Softmax: 16 blocks share a row, where the GPU can have such clusters, of more base blocks than this where there are
// fewer base blocks a multiprocessor than softmax_wide_blocks (H200, 1 x 131072 f32: 4.4 us in a graph, with 8 blocks
// 5.3; 64 x 131072: 23.5 us and 26), and of more than softmax_wide_long_row_blocks in any case: two blocks of 16 warps
// to a multiprocessor instead of one of 32 (262144 f32: 3.74 TB/s, with 8 blocks 3.45; bf16 3.26 and 3.15).
inline constexpr std::size_t softmax_wide_cluster_blocks = 16;
inline constexpr std::size_t softmax_wide_blocks = 128;
inline constexpr std::size_t softmax_wide_row_blocks = 32;
inline constexpr std::size_t softmax_wide_long_row_blocks = 128;

// Softmax: clusters may take their places before the kernel in front of them has finished where there are fewer base
// blocks a multiprocessor than the first or at least as many as the second (H200, calls back to back, without and with
// it: 1 x 131072 f32 5.26 and 4.54 us, bf16 5.33 and 4.69; 64 x 131072 bf16 13.9 and 12.4; but 32 x 32000 f32 5.35 and
// 6.58, and bf16 in a graph 3.46 and 4.72).
inline constexpr std::size_t softmax_dependent_few_blocks = 4;
inline constexpr std::size_t softmax_dependent_many_blocks = 32;

// Softmax of f32 rows of more base blocks than the first is shared by all multiprocessors, where there are enough of
// them, but of more than the second up to the third, which clusters have just the warps for (H200, TB/s, and in
// clusters: 32768 4.15 and 4.18, 33792 4.12 and 3.79, 40960 4.14 and 4.00, 50304 4.14 and 3.98, 55296 4.14 and 4.10,
// 59392 4.13 and 4.15, 65536 4.15 and 4.18; before turns were drawn, 131072 4.07 and 4.06, 262144 4.06 and 3.99, 1
// Mi 4.05 and 3.29).
inline constexpr std::size_t softmax_relay_row_blocks = 32;
inline constexpr std::size_t softmax_relay_cluster_row_least = 56;
inline constexpr std::size_t softmax_relay_cluster_row_most = 64;

// Log-softmax of f32 rows of more than this is, and softmax with its logsumexp of more than the second: a logarithm
// holds up whole clusters (log f32 24576 3.89 and 3.95, 25600 3.97 and 3.61, 30720 4.01 and 3.55, 65536 4.06 and 3.32,
// 1 Mi 3.97 and 2.64; with logsumexp 32768 4.02 and 4.20, 40000 4.01 and 3.47, 65536 4.05 and 3.80, 1 Mi 3.97
// and 2.62).
inline constexpr std::size_t softmax_relay_logarithm_row_blocks = 24;
inline constexpr std::size_t softmax_relay_logsumexp_row_blocks = 32;

// 16-bit rows of more than the first are too, where clusters would leave warps without a base block, and of more than
// the second where they would not (bf16 22528 3.89 and 3.97, 26624 3.90 and, before, 3.46; full clusters, 32768 3.99
// and 4.11, 49152 3.95 and 3.92, 57344 3.95 and 3.87, 65536 4.01 and 3.94). Rows of more than the third that are no
// longer than the short ones of clusters are left to these whatever they leave without work (28672 3.96 and 3.98,
// 30720 3.94 and 3.97; off the boundaries 3.03 and 3.26).
inline constexpr std::size_t softmax_relay_narrow_row_blocks = 24;
inline constexpr std::size_t softmax_relay_narrow_full_row_blocks = 40;
inline constexpr std::size_t softmax_relay_narrow_cluster_row_least = 28;

// Log-softmax of them of more than the first is; and with their maxima or logsumexp those of more than the second where
// clusters would not be full, else of more than the third (log bf16 20480 4.00 and 4.01, 22528 3.63 and
// 3.54, 26624 3.68 and 3.35, 32768 3.86 and 3.70; with logsumexp 32768 3.49 and 3.97, 40960 3.87 and 3.83, 57344 3.62
// and 3.78, 65536 3.67 and 3.74).
inline constexpr std::size_t softmax_relay_narrow_logarithm_row_blocks = 20;
inline constexpr std::size_t softmax_relay_narrow_values_row_blocks = 32;
inline constexpr std::size_t softmax_relay_narrow_values_full_row_blocks = 64;

// And 16-bit rows that are just a turn of all warps of a multiprocessor, or a base block less (bf16 19456, 20480 4.02,
// 4.08 and 3.79, 3.90, log 3.84, 3.98 and 3.34, 3.43, with logsumexp 3.72, 3.89 and 3.68, 3.79).
inline constexpr std::size_t softmax_relay_turn_row_least = 18;
inline constexpr std::size_t softmax_relay_turn_row_most = 20;

// Off the boundaries f32 rows of more than the first are, but for those that clusters of small blocks hold just so (off
// by one 16384, 20480, 24576 4.04, 4.01, 3.99 and 4.13, 4.10, 4.09, 28672, 32768 3.99, 4.00 and 3.55, 4.02), of their
// logarithms those of more than the second (off by one 11264, 14336, 24576 4.07, 4.03, 4.02 and 3.25, 2.86, 3.31), and
// 16-bit ones of more than the third (bf16 off by one 20480, 24576, 32768, 65536 3.75, 3.63, 3.64, 3.62 and 3.14, 3.37,
// 3.39, 3.08, log 20480, 32768, 131072 3.39, 3.38, 3.18 and 2.66, 2.98, 2.44).
inline constexpr std::size_t softmax_relay_shifted_row_blocks = 24;
inline constexpr std::size_t softmax_relay_shifted_logarithm_row_blocks = 10;
inline constexpr std::size_t softmax_relay_shifted_narrow_row_blocks = 18;

// Of 16-bit rows that are, those of more base blocks than this have fewer warps a multiprocessor, whose exponentials
// wait longer for their row's total.
inline constexpr std::size_t softmax_relay_long_row_blocks = 192;

// Rows of no more than this publish a state for every two base blocks, so that few warps are left without one at a
// row's end; longer ones, whose states would be more than a warp's lanes, for every 4.
inline constexpr std::size_t softmax_relay_pairs_row_blocks = 64;

// How many base blocks a multiprocessor there have to be: of rows longer than that, of f32, of 16 bits (TB/s, and
// otherwise: 262144 with 31 f32 1.85 and 1.79, bf16 1.39 and 1.30; f32 100000 with 62 2.75 and 2.79, with 93 3.18 and
// 3.05; bf16 131072 with 124 2.37 and 2.77, with 186 2.77 and 2.67).
inline constexpr std::size_t softmax_relay_long_blocks = 24;
inline constexpr std::size_t softmax_relay_blocks = 80;
inline constexpr std::size_t softmax_relay_narrow_blocks = 192;

// Off the boundaries: of rows that are read twice otherwise, of f32, and of 16-bit rows where clusters would leave
// warps without work and where they would not (262144 off by one with 12, 15 f32 0.96, 1.35 and 0.94, 1.17, bf16 0.62,
// 0.94 and 0.62, 0.80; f32 50257 with 25, 35 1.88, 2.45 and 2.09, 1.75, log 1.81, 2.32 and 1.74, 1.48; bf16 50257 with
// logsumexp with 100 1.98 and 1.88; 36864 off by one with 100, 200 2.09, 2.60 and 2.12, 2.37; 32768 with 200, 400,
// 800 2.62, 3.00, 3.31 and 2.82, 3.05, 3.22).
inline constexpr std::size_t softmax_relay_shifted_long_blocks = 12;
inline constexpr std::size_t softmax_relay_shifted_blocks = 50;
inline constexpr std::size_t softmax_relay_shifted_narrow_blocks = 100;
inline constexpr std::size_t softmax_relay_shifted_full_blocks = 300;

// Softmax of rows that all multiprocessors hold together: where their blocks have all the warps that a block may have,
// there is at most one idle multiprocessor in so many (H200, 1 x 3000000 f32, 40 of 132 idle: 14.4 us, by three
// launches 13.1; 1 x 4 Mi, 4 idle: 15.2 and 17.5).
inline constexpr std::size_t softmax_grid_busy_for_an_idle = 4;

// The gradient of softmax: rows of more base blocks than this go through clusters that stay.
inline constexpr std::size_t softmax_backward_resident_row_blocks = 128;

// Gradients of many rows off the boundaries: of 16 bits those of more base blocks than this are by the clusters with
// the fewest warps, as all f32 rows of more than a block are; others by blocks of 8 warps (H200, us of 1 GiB an array,
// by blocks of 8 and so: f32 9001, 11265, 20001, 50257 847, 993, 931, 1057 and 810, 818, 828, 1008; bf16 20001, 50257,
// 100003 936, 964, 1117 and 835, 939, 1078, but 9001 895 and 927).
inline constexpr std::size_t softmax_backward_narrow_cluster_row = 16;

// Softmax: rows up to so many elements that touch each other share a warp (f32 of 128: 4.11 TB/s on an H200, 2.45
// before); of whole vectors of 16-bit elements, longer ones are taken by the same kernel where those that give each row
// a warp are no quicker (bf16 of 800, 1000: 3.62, 4.13, by softmax_rows 3.34, 4.01; off the boundaries 600,
// 1000 2.72, 3.78 and 2.50, 3.61, log 600 2.06 and 1.95; but 520, 768 2.88, 3.86 and 2.85, 4.10, log 1000 3.41
// and 3.65, with logsumexp 800, 1000 2.84, 3.48 and 3.21, 3.88, and off the boundaries 600, 1000 1.94, 2.85
// and 2.36, 3.47).
inline constexpr std::size_t softmax_short_row = 512;
inline constexpr std::size_t softmax_narrow_packed_row = 1008;

// Short 16-bit rows that no kernel packs: a warp waits for two stages' worth of them together where each multiprocessor
// has so many warps (TB/s on an H200, bf16 of 50, 100, 301 2.85 for 2.34, 2.79 for 2.31, 2.40 for 2.20; but 20000 rows
// of 301 15.9 us for 14.0). Of one stage's worth in turn only while so many are left (us, one turn and all: bf16 10000
// x 301 8.7 and 9.5, f32 100000 x 5 4.5 and 7.9, with lanes 1000 x 3 4.5 and 12.1; but with 48 here bf16 300000 x 17
// 11.2 and 9.5), and rows have more lanes each until there are so many (masked f32, 4224 x 33 4.9 and 8.0 with one
// lane, 4224 x 5 4.2 and 15.5; with 8 here 30000 x 17 6.9 and 5.5).
inline constexpr std::size_t softmax_staged_warps = 48;
inline constexpr std::size_t softmax_staged_least_warps = 24;
inline constexpr std::size_t softmax_staged_few_warps = 4;

// Rows of f32 off the boundaries of so many elements, a power of two, of which some take no part, are not staged: the
// lanes that hold them would all ask the same banks of shared memory (TB/s, and element by element: 16, 32, 64 1.70,
// 1.01, 1.73 and 2.24, 2.58, 2.59, but 128 2.64 and 2.58).
inline constexpr std::size_t softmax_staged_least_clash = 16;
inline constexpr std::size_t softmax_staged_most_clash = 64;

// Softmax of short rows that no kernels of whole vectors pack: up to so many elements share a warp element by element;
// of 16-bit rows into their own type, of rows narrower than f32 into another, and where kernels of whole vectors have a
// warp or a block for each row, up to the other numbers (TB/s on an H200, and by the others: masked f32 of 401 2.09 and
// 1.71, lengths 2.34 and 2.05, masked of 513 1.60 and 2.03, of 1001 2.60 and 2.53; bf16, masked of 255, 257, 301 1.30,
// 0.78, 0.88 and 0.83, 0.84, 0.98, lengths of 255, 300, 401, 500 1.50, 0.97, 1.20, 1.46 and 1.33, 1.60, 1.86, 2.49;
// E4M3, whole vectors, of 256 0.78 and 0.68, of 512 0.77 and 0.93).
inline constexpr std::size_t softmax_slot_row = 512;
inline constexpr std::size_t softmax_slot_narrow_row = 256;
inline constexpr std::size_t softmax_slot_converted_row = 256;
inline constexpr std::size_t softmax_slot_vector_row = 256;

// The same of columns: so many side by side at most (H200, 1 GiB, TB/s, and held by threads: masked f32 21 x 2, 100 x
// 2, 300 x 3 1.64, 1.83, 1.42 and 1.19, 1.09, 1.14, but 20 x 4, 100 x 4, 100 x 8, 500 x 16 1.56, 1.41, 0.88, 0.84
// and 1.90, 1.57, 1.69, 1.27; f32 into bf16 100 x 16 0.65 and 1.90; bf16 20 x 3, 64 x 13 0.89, 0.53 and 0.68, 1.14;
// gradients, masked, f32 20 x 4, 100 x 16 2.03, 1.00 and 2.37, 2.45; but bf16 21 x 5 1.22 and 1.00, logsumexp bf16 64 x
// 13 0.97 and 0.89).
inline constexpr std::size_t softmax_slot_columns = 3;

// The same: rows that a multiprocessor should have at least where other kernels keep to registers (gradients of 33, us:
// 16 rows of f32 5.24 and 4.54, of bf16 5.45 and 6.85; 32 5.49 and 8.18, 5.76 and 8.01). Of masked rows off the
// boundaries and of columns one is enough (5.5 and 6.6 us, 5.7 and 11.5).
inline constexpr std::size_t softmax_slot_rows_a_multiprocessor = 32;

// The same of the gradient of rows off the boundaries: of f32 and from logits, and of narrower outputs (f32 of 301 2.32
// and 1.89, from logits 1.89 and 1.33, of 1001 2.86 and 4.14; bf16 of 301 1.10 and 1.19, from logits 0.89 and 0.70).
inline constexpr std::size_t softmax_slot_gradient = 512;
inline constexpr std::size_t softmax_slot_narrow_gradient = 256;

// The gradient of softmax of rows of whole vectors: up to so many elements share a warp.
inline constexpr std::size_t softmax_packed_gradient = 512;

// Softmax of ragged rows and its gradient: rows of up to so many elements share a warp where the mean length is a
// little more than half of what a row has room for (TB/s on an H200, and with a warp or a block for each, rows of 0 to
// 400, 550, 700: f32 1.28 and 1.06, 1.50 and 1.37, 1.12 and 1.66, bf16 0.67 and 0.66, 0.81 and 0.86, 0.59 and 1.04;
// gradients of 550 1.62 and 1.34, 0.80 and 0.61, of 1024 1.59 and 2.24, 0.79 and 1.12). Of the longer ones each
// multiprocessor gets so many blocks of threads.
inline constexpr std::size_t softmax_slot_ragged_row = 512;
inline constexpr std::size_t longer_row_blocks = 8;

// Softmax of ragged rows: warps of a block at least, and as many groups of rows as give every multiprocessor so many
// warps, some of which wait for others to finish (TB/s on an H200, ragged rows of 0 to 4096 in 128 MB, groups of 2, 8,
// 32: f32 2.13, 2.45, 2.06, bf16 1.57, 1.82, 1.79).
inline constexpr std::size_t uneven_least_warps = 8;
inline constexpr std::size_t uneven_warps_a_multiprocessor = 128;
// Offsets are asked for so many groups ahead, a little more than are at work.
inline constexpr std::size_t uneven_groups_ahead = 1024;

// Short columns, of which the registers of a block or a cluster hold a tile: threads that blocks should have which have
// tiles to themselves, of softmax and of its gradient (H200, TB/s, by 256 and 128 threads: f32 of 4 3.91 and 4.07, 16
// 3.79 and 3.81, bf16 of 8 and 21 2.99, 2.93 and 3.06, 3.03; the gradient of bf16 21 3.40 and 3.27); up to how many a
// tile is one block's, where there are clusters, and where threads have more registers (f32 of 200, 256, whose 400 and
// 512 threads leave a multiprocessor room for one or two blocks, 2.83, 3.29, in clusters 3.51, 3.68; but bf16 of 200
// 2.80 and 2.44); threads that a cluster's blocks should have, and half of it where that leaves fewer of them without
// rows.
inline constexpr std::size_t softmax_short_column_threads = 128;
inline constexpr std::size_t softmax_backward_short_column_threads = 256;
inline constexpr std::size_t short_column_lone_threads = 512;
inline constexpr std::size_t short_column_lone_threads_of_more_registers = 384;
inline constexpr std::size_t short_column_cluster_threads = 256;

// Threads side by side in a tile at least, of columns that are whole vectors; of 16-bit ones and of f32 ones'
// logarithms and values; of columns off the boundaries (with 16 and 8: f32 of 150, 256, 512 3.57, 3.50, 3.58
// and 3.34, 3.28, 3.35; bf16 2.11, 2.48, 2.24 and 2.57, 2.66, 2.36; log f32 200, 384 2.96, 3.19 and 3.36, 3.48, with
// logsumexp 200, 300 2.63, 2.87 and 3.00, 3.03).
inline constexpr std::size_t short_column_lanes = 16;
inline constexpr std::size_t short_column_narrow_lanes = 8;
inline constexpr std::size_t short_column_single_lanes = 32;

// Columns off the boundaries side by side, more than which are done so: fewer leave lanes without columns (TB/s, and
// held by threads or, longer ones, in tiles: f32 21 x 5, 21 x 13, 64 x 13 log, 21 x 17 1.02, 1.84, 1.72, 2.05
// and 1.80, 2.25, 2.60, 2.29, but 300 x 19 2.47 and 1.52, 300 x 50 3.03 and 1.96; bf16 21 x 17, 100 x 33, 300 x 50
// 0.83, 0.99, 1.26 and 1.16, 1.06, 0.96).
inline constexpr std::size_t short_column_single_columns = 16;

// Threads of a block of such kernels at most that have more registers for each: softmax of f32 in whole vectors where
// blocks have their tiles to themselves, and the logarithms and values of f32, by threads of all rows (H200, TB/s, with
// 64 registers and 80: softmax 21, 150 3.61, 3.72 and 3.80, 3.82, but in clusters 512 3.75 and 3.57, off the boundaries
// 21 3.51 and 3.39; log 21, 150, 1000 2.97, 3.08, 2.52 and 3.54, 3.39, 2.80; by threads of 4 rows softmax 4.09
// and 3.79, log 3.07 and 2.97; bf16, with 64 and 72, 150 3.03 and 2.49).
inline constexpr int short_column_threads_of_more_registers = 768;

// Softmax of columns of up to so many elements is done so; of f32 ones in whole vectors all but those that clusters
// have just the threads for (TB/s, and by other kernels: f32 1000 x 512K 3.51 and 3.39, but 1024 x 512K 3.68 and 3.80,
// many of 1024 x 4096 3.75 and 3.89; log 1024 3.15 and 2.50; 1000 x 1001 2.81 and 1.94; bf16 800, 1024 2.33, 2.59
// and 1.94, 2.47).
inline constexpr std::size_t softmax_short_column_axis = 1024;
inline constexpr std::size_t softmax_short_whole_column_axis = 1023;

// Of 16-bit ones with their logarithms, logsumexp or maximum, or off the boundaries; of f32 ones with logsumexp or
// maximum, and those off the boundaries (bf16 log 800 1.98 and 2.10, with logsumexp 800 1.66 and 1.79, 1000 x 1001 1.39
// and 1.48; f32 with logsumexp 600, 768, 800, 1024 2.72, 2.80, 2.52, 2.83 and 2.43, 2.40, 2.65, 3.29, 600 x 1001 1.35
// and 2.33).
inline constexpr std::size_t softmax_narrow_short_column_values_axis = 768;
inline constexpr std::size_t softmax_short_column_values_axis = 768;
inline constexpr std::size_t softmax_short_single_column_values_axis = 512;

// Of any of one base block in whole vectors of which masks, lengths or the causal limit leave elements out (masked, and
// held or walked by threads each: f32 21, 512, 1024 2.89, 2.87, 2.69 and 1.49, 1.15, 0.96; bf16 2.23, 2.35, 2.25 and
// 0.80, 0.61, 0.43).
inline constexpr std::size_t softmax_selected_short_column_axis = 1024;

// Logsumexp alone likewise, of f32, of 16 bits, and off the boundaries (TB/s, and by other kernels: f32 150, 256, 384,
// 400 2.43, 2.75, 2.64, 1.87 and 1.40, 1.98, 2.43, 2.50, 600 x 1001 0.89 and 0.26; bf16 256, 257 1.72, 1.09 and 1.28,
// 1.27, 300 x 1001 0.75 and 0.18).
inline constexpr std::size_t logsumexp_short_column_axis = 384;
inline constexpr std::size_t logsumexp_narrow_short_column_axis = 256;
inline constexpr std::size_t logsumexp_short_single_column_axis = 1024;

// Its gradient likewise, elements left out or not (masked, and by other kernels: f32 21, 512, 4096 4.10, 3.68, 2.98 and
// 2.42, 1.85, 1.83; bf16 2.84, 2.61, 1.71 and 0.90, 0.74, 0.68; but f32 64 x 64 causal 4.13 and 4.75).
inline constexpr std::size_t softmax_backward_short_column_axis = 4096;

// Softmax of columns of at least so many elements goes through clusters that share tiles; shorter ones would leave
// threads of their blocks idle. TB/s on an H200, and by softmax_column_tiles: f32 1024 x 512K 3.86 and 2.39, 4096 x
// 128K 3.42 and 2.18, 32768 x 16K 2.15 and 1.31; bf16 1024 x 1M 2.49 and 1.42, 4096 x 256K 2.07 and 1.25.
inline constexpr std::size_t softmax_column_cluster_axis = 769;

// Softmax of f32 columns of whole vectors of more elements than this is shared by all multiprocessors, where there are
// so many tiles of 128 rows of 64 columns a multiprocessor, or, of columns of more elements than clusters of a few
// blocks hold, fewer (H200, TB/s, and by clusters or read twice: 1100 x 488064 3.70 and 2.54, 2048 x 256K 3.73
// and 3.22, 4096 x 128K 3.68 and 3.43, 8192 x 64K 3.66 and 3.20, 16384 x 32K 3.69 and 2.97, 32768 x 16K 3.75 and 2.61;
// 2048 x 6400, 12 tiles, 2.41 and 2.19, 4096 x 1664, 6 tiles, 1.91 and 1.96, 8192 x 1280, 10 tiles, 2.16 and 2.14,
// 16384 x 256, 4 tiles, 1.55 and 1.17).
inline constexpr std::size_t softmax_shared_column_axis = 1024;
inline constexpr std::size_t softmax_shared_column_tiles = 10;
inline constexpr std::size_t softmax_shared_long_column = 8192;
inline constexpr std::size_t softmax_shared_long_column_tiles = 4;

// A strip of 64 columns has so many tiles a multiprocessor at most: of more, exponentials would wait longer for their
// columns' sums than there is room for (49152 x 10880 3.54 and 2.64, 57344 x 9344 2.79 and 2.64, 65536 x 8K 2.10 and
// 2.64).
inline constexpr std::size_t softmax_shared_column_most_tiles = 3;

// Tiles a multiprocessor whose sums have room: twice as many as it may have drawn and not put together.
inline constexpr std::size_t softmax_shared_column_ring = 24;

// Blocks a multiprocessor that look for columns such a job has left, and take them.
inline constexpr std::size_t softmax_left_column_blocks = 3;

// Softmax of shorter columns that have no kernels of their own (f64, scaled 16 bits) leaves most threads of a tile
// without elements: threads hold them as they hold those with every knob (H200, 1 GiB, TB/s, and by tiles: f64 2, 21,
// 64, 100 0.83, 2.04, 2.63, 2.05 and 0.02, 0.23, 0.68, 1.30, but 200 1.53 and 2.32; bf16, scaled, 21, 64 1.08, 1.24 and
// 0.14, 0.41, but 200 0.97 and 1.01).
inline constexpr std::size_t softmax_tile_axis = 129;

// Columns of up to so many elements, however many there are, want no memory for states, which would be larger than they
// are: what no other kernel takes in one launch a thread does by itself.
inline constexpr std::size_t softmax_whole_column_axis = 256;

// Softmax of columns of whole vectors that clusters do not serve: of at least so many elements, and with so many blocks
// of threads a multiprocessor at least, they are read twice; else in one launch, as long as a cluster's registers hold
// them.
inline constexpr std::size_t softmax_tall_axis = 769;
inline constexpr std::size_t softmax_tall_tiles = 3;

// logsumexp: base blocks that a warp reads one after the other, as long as that leaves so many jobs, several for every
// warp that a GPU holds (an earlier kernel, rows of 1024 f32 4.52 TB/s on an H200; with 2, 4, 16 and
// 32 4.14, 4.25, 4.41 and 4.20; this one, bf16 of 1024 with 2, 3, 4, 8 838, 765, 742, 688 us of 2 GiB).
inline constexpr std::size_t logsumexp_run = 8;
inline constexpr std::size_t logsumexp_warp_units = 12288;

// logsumexp: f32 rows on the 16-byte boundaries that are quicker by shorter runs, and how long these are, where the
// second-level cache is told to keep nothing of what is read: results have more room there (H200, us of 2 GiB, with
// runs of 8 and so: 64, 128, 256 529, 515, 506 and 522, 494, 497; but 32, 100, 512 531, 672, 497 and 533, 695, 500).
inline constexpr std::size_t logsumexp_short_run_row_least = 32; // longer than this,
inline constexpr std::size_t logsumexp_short_run_row_most = 256; // up to this
inline constexpr std::size_t logsumexp_short_run = 3;

// logsumexp: rows of so many base blocks may be one warp's (4.45 TB/s of f32); longer ones are a block's.
inline constexpr std::size_t logsumexp_warp_blocks = 16;

// logsumexp of longer or fewer rows, by blocks of threads: as many jobs as there should be, before rows of more base
// blocks than logsumexp_one_launch_blocks are cut into pieces, which take a second launch.
inline constexpr std::size_t logsumexp_block_units = 1536;
inline constexpr std::size_t logsumexp_one_launch_blocks = 64;

} // namespace wr::cuda::tuning
