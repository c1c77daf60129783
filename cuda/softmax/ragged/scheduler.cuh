// Tiles at any address, read by whole vectors.
#pragma once

#include "cuda/rowwise/large_rows.cuh"
#include "cuda/rowwise/unaligned_vectors.cuh"
#include "cuda/softmax/partial_tile.cuh"
#include "cuda/softmax/rows.h"
#include "cuda/softmax/sub_warp/vectors.cuh"
#include "numerics/softmax_rows.h"

namespace wr::cuda {

// Vectors on their boundaries for blocks that lie at any address. What stands behind a block's end is anything at all.
template <class T>
struct RealignedLoad : VectorLoad<T> {
    static constexpr bool realigned = true;
};

// The same with outputs of another type than the input.
template <class T>
struct ConvertingRealignedLoad : RealignedLoad<T> {
    static constexpr bool converted = true;
};

// The same elements one at a time.
template <class T>
struct RaggedSingles : StridedLoad<T> {
    static constexpr bool masked = true;
};

// The mask's byte for the logit at `data`: outputs and mask lie as the input does.
template <class T>
__device__ __forceinline__ const std::uint8_t *mask_at(const RaggedSoftmaxArguments &a, const T *data) {
    return a.selection.mask + (data - static_cast<const T *>(a.input));
}

// Of a lane's vectors those elements that the mask leaves out become -infinity, once they are scaled.
template <class T>
__device__ __forceinline__ void leave_out_of_vectors(const RaggedSoftmaxArguments &a, const T *data, int count,
                                                     uint4 (&vectors)[lane_vectors<T>]) {
    constexpr int each = vector_elements<T>;
    const std::uint8_t *mask = mask_at(a, data) + lane_index() * each;
    const int left = count - lane_index() * each;
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        T elements[each];
        memcpy(elements, vectors + v, sizeof(uint4));
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int at = v * warp_lanes * each + i;
            if (at < left && mask[at] == 0) {
                elements[i] = filler<T>(a.scale < 0);
            }
        }
        memcpy(vectors + v, elements, sizeof(uint4));
    }
}

// Likewise of a lane's elements one at a time.
template <class T, class Load>
    requires Load::masked
__device__ __forceinline__ void leave_out(const SoftmaxArguments &arguments, const T *data, int count,
                                          T (&x)[lane_elements]) {
    const auto &a = static_cast<const RaggedSoftmaxArguments &>(arguments);
    if (a.selection.mask != nullptr) {
        leave_out_of_singles(mask_at(a, data), count, a.scale < 0, x);
    }
}

// Softmax of ragged rows: which rows a block of threads has, and how their tiles are dealt out to its
// warps.

// A barrier in shared memory that is used once: complete when `count` warps have arrived. Its place may be another's
// after it is invalidated.
class RowBarrier {
  public:
    __device__ __forceinline__ void initialise(int count) {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(count) : "memory");
#endif
    }
    __device__ __forceinline__ void invalidate() {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.inval.shared::cta.b64 [%0];" ::"r"(address()) : "memory");
#endif
    }
    __device__ __forceinline__ void arrive() {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
#endif
    }
    __device__ __forceinline__ void wait() {
#if __CUDA_ARCH__ >= 900
        unsigned done = 0;
        while (done == 0) {
            asm volatile("{\n"
                         ".reg .pred complete;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], 0;\n"
                         "selp.u32 %0, 1, 0, complete;\n"
                         "}"
                         : "=r"(done)
                         : "r"(address())
                         : "memory");
        }
#endif
    }

  private:
    __device__ __forceinline__ unsigned address() const {
        return static_cast<unsigned>(__cvta_generic_to_shared(&bits_));
    }
    std::uint64_t bits_;
};

struct RaggedRow {
    std::size_t index;
    std::ptrdiff_t input; // its first element
    std::size_t output;
    std::size_t count, taken; // elements, and how many leading ones take part
    int blocks;               // of those
    int first_job;            // what its first block has for a number; below 0 where that is not dealt out now
};

// What is dealt out: rows that stay in registers, the states of a long row's blocks, or its outputs.
enum class RaggedPass : int { rows, states, outputs };

template <class Float, class Sum>
struct RaggedGroup {
    TileState<Float, Sum> states[ragged_most_jobs];
    RowBarrier arrivals[ragged_most_rows];
    RaggedRow rows[ragged_most_rows];
    int end[ragged_most_rows]; // jobs of the rows up to this one
    ReadableRange readable_range;
    RaggedPass pass;
    int jobs;
    unsigned two_pass_rows; // one bit each, of which the lowest is dealt out now where the pass is not `rows`
    unsigned empty_rows;    // one bit each: nothing of them takes part, and there is something to be written
    unsigned awaited;       // one bit each: their arrivals are counted
    LargeRowList longer;    // where these are looked for
    int dealt_rows;         // of those
    RowState<Float, Sum> total;
    TreeCounter<StateMerge<Float, Sum>, 40> merged; // of a long row's runs of ragged_most_jobs blocks
};

template <class T>
using RaggedGroupOf = RaggedGroup<typename SoftmaxArithmetic<T>::Float, typename SoftmaxArithmetic<T>::Sum>;

template <class T>
__device__ __forceinline__ RaggedGroupOf<T> &ragged_group() {
    __shared__ alignas(16) unsigned char bytes[sizeof(RaggedGroupOf<T>)];
    return *reinterpret_cast<RaggedGroupOf<T> *>(bytes);
}

template <class T, class Load>
    requires Load::realigned
__device__ __forceinline__ void load_tile_vectors(const SoftmaxArguments &arguments, const T *data, int count,
                                                  uint4 (&vectors)[lane_vectors<T>]) {
    load_realigned(data, count, ragged_group<T>().readable_range, vectors);
    const auto &a = static_cast<const RaggedSoftmaxArguments &>(arguments);
    if (a.selection.mask != nullptr) {
        leave_out_of_vectors(a, data, count, vectors);
    }
}

__device__ __forceinline__ int block_warps() { return static_cast<int>(blockDim.x) / warp_lanes; }

// Asks the second-level cache for what a later block of threads reads first: its warps would wait for memory with
// nothing else to do.
template <class Number>
__device__ __forceinline__ void ask_for_number_ahead(const Number *numbers, std::size_t row, std::size_t rows) {
    if (row < rows) {
        asm volatile("prefetch.global.L2 [%0];" ::"l"(numbers + row));
    }
}
__device__ __forceinline__ void ask_for_rows_ahead(const RaggedSoftmaxArguments &a, std::size_t row) {
    const std::size_t later = row + a.rows_ahead;
    if (a.selection.offsets_type == ElementType::i64) {
        ask_for_number_ahead(static_cast<const std::int64_t *>(a.selection.offsets), later, a.outer);
    } else {
        ask_for_number_ahead(static_cast<const std::int32_t *>(a.selection.offsets), later, a.outer);
    }
}

__device__ __forceinline__ RaggedRow row_of_ragged(const RaggedSoftmaxArguments &a, RowSpan all, std::size_t row) {
    RaggedRow found{};
    found.index = row;
    const RowSpan span = ragged_row(a.selection, all, row);
    found.input = static_cast<std::ptrdiff_t>(span.first);
    found.output = span.first;
    found.count = span.count;
    found.taken = leading_elements(a.selection, row, row, found.count);
    found.blocks = static_cast<int>(divide_up(found.taken, softmax_block));
    return found;
}

template <class T>
__device__ __forceinline__ ReadableRange ragged_range(const RaggedSoftmaxArguments &a, RowSpan all) {
    const T *first = static_cast<const T *>(a.input) + all.first;
    return {reinterpret_cast<const char *>(first), reinterpret_cast<const char *>(first + all.count)};
}

// The block's first row.
__device__ __forceinline__ std::size_t first_row_of_block(const RaggedSoftmaxArguments &a) {
    return blockIdx.x * static_cast<std::size_t>(a.longer.least == 0 ? a.group_rows : a.longer.among);
}

// From there to the row that is dealt out to this lane; below 0: none.
template <class T>
__device__ __forceinline__ int next_row(const RaggedSoftmaxArguments &a, const RaggedGroupOf<T> &group) {
    if (a.longer.least == 0) {
        return lane_index() < a.group_rows ? lane_index() : -1;
    }
    const int place = group.dealt_rows + lane_index();
    return lane_index() < a.group_rows && place < group.longer.count ? group.longer.numbers[place] : -1;
}

// By the first warp: a row to each lane.
template <class T>
__device__ __forceinline__ void deal_out_rows(const RaggedSoftmaxArguments &a, RaggedGroupOf<T> &group) {
    const int lane = lane_index(), next = next_row<T>(a, group);
    const std::size_t row = first_row_of_block(a) + static_cast<std::size_t>(larger(next, 0));
    const bool there = next >= 0 && row < a.outer;
    const RowSpan all = all_ragged_rows(a.selection, a.outer, a.axis);
    // Rows that are not there are the first one, so that all the numbers are asked for before any is waited for.
    RaggedRow mine = row_of_ragged(a, all, there ? row : 0);
    if (!there) {
        mine = {};
    }
    if (a.longer.least == 0) {
        if (next >= 0) {
            ask_for_rows_ahead(a, row);
        }
    } else if (group.dealt_rows != 0 && (group.awaited >> lane & 1) != 0) {
        group.arrivals[lane].invalidate();
    }
    const bool is_long = mine.blocks > block_warps();
    const int jobs = is_long ? 0 : mine.blocks;
    int end = jobs;
#pragma unroll
    for (int distance = 1; distance < warp_lanes; distance *= 2) {
        const int before = __shfl_up_sync(whole_warp, end, distance);
        end += lane >= distance ? before : 0;
    }
    mine.first_job = end - jobs;
    group.rows[lane] = mine;
    group.end[lane] = end;
    if (jobs > 1) {
        group.arrivals[lane].initialise(jobs);
    }
    const unsigned two_pass_rows = __ballot_sync(whole_warp, is_long), awaited = __ballot_sync(whole_warp, jobs > 1);
    const unsigned empty_rows =
        __ballot_sync(whole_warp, there && mine.blocks == 0 && (mine.count != 0 || wants_row_values(a)));
    if (lane == warp_lanes - 1) {
        group.readable_range = ragged_range<T>(a, all);
        group.pass = RaggedPass::rows;
        group.jobs = end;
        group.two_pass_rows = two_pass_rows;
        group.empty_rows = empty_rows;
        group.awaited = awaited;
        if (a.longer.least != 0) {
            group.dealt_rows += a.group_rows;
        }
    }
}

// A warp's tile, found again wherever it is wanted again.
struct RaggedPlace {
    const RaggedRow *row;
    int number; // of the row in its group
    int block;  // of the row

    template <class Group>
    __device__ __forceinline__ RaggedPlace(const Group &group, int job)
        : number(__popc(__ballot_sync(whole_warp, group.end[lane_index()] <= job))) {
        row = &group.rows[number];
        block = job - row->first_job;
    }

    __device__ __forceinline__ std::size_t first() const { return static_cast<std::size_t>(block) * softmax_block; }
    // Of the row's first `elements`, how many are the block's.
    __device__ __forceinline__ int count(std::size_t elements) const {
        return static_cast<int>(smaller(elements - first(), softmax_block));
    }
    template <class T>
    __device__ __forceinline__ const T *data(const SoftmaxArguments &a) const {
        return static_cast<const T *>(a.input) + row->input + first();
    }
};

} // namespace wr::cuda
