// Columns: a thread owns the columns of one vector and a run of rows, in tree order; the threads of a block that stand
// below each other combine through shared memory.
#pragma once

#include "cuda/reduce_rows.cuh"

namespace wr::cuda {

inline constexpr int column_block_threads = 256;
inline constexpr int column_rows_in_flight = 8;

// A vector of `Bytes` bytes of columns: what a thread loads from each row.
template <class T, int Bytes>
struct ColumnVector {
    static constexpr int elements = Bytes / static_cast<int>(sizeof(T));
    T values[elements];
};

template <class T, int Bytes>
__device__ __forceinline__ ColumnVector<T, Bytes> load_columns(const T *at) {
    ColumnVector<T, Bytes> loaded;
    if constexpr (Bytes == vector_bytes) {
        const uint4 vector = load_streaming(reinterpret_cast<const char *>(at));
        memcpy(&loaded, &vector, sizeof(loaded));
    } else {
        static_assert(Bytes == sizeof(T));
        loaded.values[0] = *at;
    }
    return loaded;
}

template <class T, class Op, int Bytes>
struct ColumnSums {
    typename Op::Accumulator values[ColumnVector<T, Bytes>::elements];
};

template <class T, class Op, int Bytes>
__device__ __forceinline__ void combine_columns(ColumnSums<T, Op, Bytes> &a, const ColumnSums<T, Op, Bytes> &b) {
#pragma unroll
    for (int e = 0; e < ColumnVector<T, Bytes>::elements; ++e) {
        a.values[e] = Op::combine(a.values[e], b.values[e]);
    }
}

// The tree over the first `valid` of Rows rows; rows behind them count as the identity.
template <class T, class Op, int Bytes, int Rows>
__device__ __forceinline__ ColumnSums<T, Op, Bytes> column_tree(const T *first, std::ptrdiff_t stride, int valid,
                                                                std::uint64_t flip) {
    if constexpr (Rows > column_rows_in_flight) {
        auto sums = column_tree<T, Op, Bytes, Rows / 2>(first, stride, valid, flip);
        combine_columns<T, Op, Bytes>(
            sums, column_tree<T, Op, Bytes, Rows / 2>(first + Rows / 2 * stride, stride, valid - Rows / 2, flip));
        return sums;
    } else {
        ColumnVector<T, Bytes> loaded[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            if (r < valid) {
                loaded[r] = load_columns<T, Bytes>(first + r * stride);
            }
        }
        ColumnSums<T, Op, Bytes> sums[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
#pragma unroll
            for (int e = 0; e < ColumnVector<T, Bytes>::elements; ++e) {
                sums[r].values[e] = r < valid ? Op::map(loaded[r].values[e], flip) : Op::identity();
            }
        }
#pragma unroll
        for (int width = 1; width < Rows; width *= 2) {
#pragma unroll
            for (int r = 0; r < Rows; r += 2 * width) {
                combine_columns<T, Op, Bytes>(sums[r], sums[r + width]);
            }
        }
        return sums[0];
    }
}

// The threads_down threads of one column vector lie threads_across apart; the topmost gets the tree over all of them.
template <class T, class Op, int Bytes>
__device__ __forceinline__ void combine_down_block(ColumnSums<T, Op, Bytes> &sums, int threads_across,
                                                   int threads_down) {
    constexpr int elements = ColumnVector<T, Bytes>::elements;
    __shared__ typename Op::Accumulator handed[elements][column_block_threads];
    const int thread = static_cast<int>(threadIdx.x);
    for (int distance = 1; distance < threads_down; distance *= 2) {
        const int down = thread / threads_across % threads_down;
        const bool takes_part = down % distance == 0;
        const bool gives = down / distance % 2 == 1;
        if (takes_part && gives) {
#pragma unroll
            for (int e = 0; e < elements; ++e) {
                handed[e][thread] = sums.values[e];
            }
        }
        __syncthreads();
        if (takes_part && !gives) {
#pragma unroll
            for (int e = 0; e < elements; ++e) {
                sums.values[e] = Op::combine(sums.values[e], handed[e][thread + distance * threads_across]);
            }
        }
        __syncthreads();
    }
}

template <class T, class Op, int Bytes>
__device__ __forceinline__ void deliver_columns(const ColumnArguments &a, const ColumnSums<T, Op, Bytes> &sums,
                                                std::size_t outer, std::size_t group, std::size_t column) {
#pragma unroll
    for (int e = 0; e < ColumnVector<T, Bytes>::elements; ++e) {
        const std::size_t at = column + static_cast<std::size_t>(e);
        if (a.destination == Destination::output) {
            finish_result(sums.values[e], a.finish, a.output, outer * a.inner + at);
        } else {
            static_cast<typename Op::Accumulator *>(a.output)[(outer * a.groups + group) * a.inner + at] =
                Op::settle(sums.values[e]);
        }
    }
}

// Which part of the array a block takes.
struct ColumnJob {
    std::size_t column_tile, group, outer_group;
};

__device__ __forceinline__ ColumnJob column_job(const ColumnArguments &a, unsigned job) {
    const unsigned column_tiles = static_cast<unsigned>(a.column_tiles), groups = static_cast<unsigned>(a.groups);
    return {job % column_tiles, job / column_tiles % groups, job / column_tiles / groups};
}

inline __device__ __noinline__ ColumnJob column_job_by_64_bits(const ColumnArguments &a, std::size_t job) {
    return {job % a.column_tiles, job / a.column_tiles % a.groups, job / a.column_tiles / a.groups};
}

// Blocks that a multiprocessor should hold: what a thread keeps of its tree decides.
template <class T, class Op, int Bytes>
inline constexpr int column_blocks_resident = sizeof(ColumnSums<T, Op, Bytes>) <= 16   ? 3
                                              : sizeof(ColumnSums<T, Op, Bytes>) <= 32 ? 2
                                                                                       : 1;

// A block is threads_across column vectors, threads_down runs of Rows rows, and as many outer indices as are left of
// its 256 threads. inner is a multiple of a vector's elements, and every vector is aligned.
template <class T, class Op, int Bytes, int Rows>
__global__ void __launch_bounds__(column_block_threads, (column_blocks_resident<T, Op, Bytes>))
    reduce_columns(const __grid_constant__ ColumnArguments a) {
    take_place_in_call(a.destination, a.follows);
    constexpr int elements = ColumnVector<T, Bytes>::elements;
    const unsigned across = threadIdx.x & static_cast<unsigned>(a.threads_across - 1);
    const unsigned above = threadIdx.x / static_cast<unsigned>(a.threads_across);
    const unsigned down = above & static_cast<unsigned>(a.threads_down - 1);
    const unsigned slot = above / static_cast<unsigned>(a.threads_down);
    const unsigned slots = static_cast<unsigned>(column_block_threads / a.threads_across / a.threads_down);
    const ColumnJob job = a.few_jobs ? column_job(a, blockIdx.x) : column_job_by_64_bits(a, a.first_job + blockIdx.x);
    const std::size_t outer = job.outer_group * slots + slot;
    const std::size_t column = (job.column_tile * static_cast<std::size_t>(a.threads_across) + across) * elements;
    const std::size_t row = (job.group * static_cast<std::size_t>(a.threads_down) + down) * Rows;
    const bool inside = column < a.inner && outer < a.outer;
    const int valid = inside && row < a.axis ? static_cast<int>(smaller<std::size_t>(a.axis - row, Rows)) : 0;
    const T *first = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(outer) * a.outer_stride +
                     static_cast<std::ptrdiff_t>(row) * a.axis_stride + static_cast<std::ptrdiff_t>(column);
    auto sums = column_tree<T, Op, Bytes, Rows>(first, a.axis_stride, valid, a.flip);
    combine_down_block<T, Op, Bytes>(sums, a.threads_across, a.threads_down);
    if (inside && down == 0) {
        deliver_columns<T, Op, Bytes>(a, sums, outer, job.group, column);
    }
}

} // namespace wr::cuda
