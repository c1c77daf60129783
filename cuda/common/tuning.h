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
