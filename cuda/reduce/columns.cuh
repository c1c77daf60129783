// Columns: a thread owns the columns of one vector and a run of rows, in tree order; the threads of a block that stand
// below each other combine through shared memory.
#pragma once

#include "cuda/reduce/rows.cuh"

namespace wr::cuda {

inline constexpr int column_block_threads = 256;

// Rows that a thread asks for at once: of single columns more, for want of bytes.
template <class Columns>
inline constexpr int column_rows_in_flight = Columns::elements == 1 ? 16 : 8;

// Bytes of a vector of columns: as many as leave a thread's accumulators in registers.
template <class T, class Op>
inline constexpr int column_vector_bytes = smaller(
    vector_bytes, larger(static_cast<int>(sizeof(T)),
                         static_cast<int>(sizeof(T)) * (32 / static_cast<int>(sizeof(typename Op::Accumulator)))));

template <int Bytes>
struct LoadedBytes;
template <>
struct LoadedBytes<16> {
    using Type = uint4;
};
template <>
struct LoadedBytes<8> {
    using Type = uint2;
};
template <>
struct LoadedBytes<4> {
    using Type = unsigned;
};
template <>
struct LoadedBytes<2> {
    using Type = unsigned short;
};
template <>
struct LoadedBytes<1> {
    using Type = unsigned char;
};

// What a thread loads from each row: a vector of columns that lies on its boundary, or one column.
template <class T, int Bytes>
struct VectorColumns {
    static constexpr int elements = Bytes / static_cast<int>(sizeof(T));
    T values[elements];

    __device__ __forceinline__ void load(const T *at) {
        using Loaded = typename LoadedBytes<Bytes>::Type;
        const Loaded loaded = __ldcs(reinterpret_cast<const Loaded *>(at));
        memcpy(values, &loaded, sizeof(values));
    }
};
// The same by plain loads.
template <class Columns>
struct PlainlyLoaded : Columns {
    template <class T>
    __device__ __forceinline__ void load(const T *at) {
        using Loaded = typename LoadedBytes<sizeof(Columns)>::Type;
        const Loaded loaded = *reinterpret_cast<const Loaded *>(at);
        memcpy(this->values, &loaded, sizeof(this->values));
    }
};
template <class T>
struct SingleColumn {
    static constexpr int elements = 1;
    T values[1];

    __device__ __forceinline__ void load(const T *at) { values[0] = *at; }
};

template <class Op, class Columns>
struct ColumnSums {
    typename Op::Accumulator values[Columns::elements];
};

template <class Op, class Columns>
__device__ __forceinline__ void combine_columns(ColumnSums<Op, Columns> &a, const ColumnSums<Op, Columns> &b) {
#pragma unroll
    for (int e = 0; e < Columns::elements; ++e) {
        a.values[e] = Op::combine(a.values[e], b.values[e]);
    }
}

// The tree over the first `valid` of Rows rows; rows behind them count as the identity.
template <class T, class Op, class Columns, int Rows>
__device__ __forceinline__ ColumnSums<Op, Columns> column_tree(const T *first, std::ptrdiff_t stride, int valid,
                                                               const Mapping &m, std::size_t position) {
    constexpr int at_once = column_rows_in_flight<Columns>;
    if constexpr (Rows > at_once && Columns::elements == 1) {
        // A loop, whose one copy of the code leaves room for more threads.
        static_assert(Rows == 2 * at_once);
        ColumnSums<Op, Columns> sums{Op::identity()};
#pragma unroll 1
        for (int row = 0; row < valid; row += at_once) {
            combine_columns<Op, Columns>(sums,
                                         column_tree<T, Op, Columns, at_once>(first, stride, valid - row, m, position));
            first += at_once * stride;
            position += at_once;
        }
        return sums;
    } else if constexpr (Rows > at_once) {
        constexpr int half = Rows / 2;
        auto sums = column_tree<T, Op, Columns, half>(first, stride, valid, m, position);
        if (valid <= half) {
            return sums;
        }
        combine_columns<Op, Columns>(
            sums, column_tree<T, Op, Columns, half>(first + half * stride, stride, valid - half, m, position + half));
        return sums;
    } else {
        Columns loaded[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
            if (r < valid) {
                loaded[r].load(first + r * stride);
            }
        }
        ColumnSums<Op, Columns> sums[Rows];
#pragma unroll
        for (int r = 0; r < Rows; ++r) {
#pragma unroll
            for (int e = 0; e < Columns::elements; ++e) {
                sums[r].values[e] =
                    r < valid ? map_element<Op>(loaded[r].values[e], m, position + static_cast<std::size_t>(r))
                              : Op::identity();
            }
        }
#pragma unroll
        for (int width = 1; width < Rows; width *= 2) {
#pragma unroll
            for (int r = 0; r < Rows; r += 2 * width) {
                combine_columns<Op, Columns>(sums[r], sums[r + width]);
            }
        }
        return sums[0];
    }
}

// Accumulators that the threads of a block hand to each other.
template <class Op, class Columns>
struct HandedOver {
    typename Op::Accumulator values[Columns::elements * column_block_threads];
};

// The threads_down threads of one column vector lie threads_across apart; the topmost, whose `down` is 0, gets the tree
// over all of them.
template <class Op, class Columns>
__device__ __forceinline__ void combine_down_block(ColumnSums<Op, Columns> &sums, HandedOver<Op, Columns> &handed,
                                                   int threads_across, int threads_down, int down) {
    constexpr int elements = Columns::elements;
    const int thread = static_cast<int>(threadIdx.x);
    for (int distance = 1; distance < threads_down; distance *= 2) {
        const bool takes_part = (down & (distance - 1)) == 0;
        const bool gives = (down & distance) != 0;
        if (takes_part && gives) {
#pragma unroll
            for (int e = 0; e < elements; ++e) {
                handed.values[e * column_block_threads + thread] = sums.values[e];
            }
        }
        __syncthreads();
        if (takes_part && !gives) {
            const int below = thread + distance * threads_across;
#pragma unroll
            for (int e = 0; e < elements; ++e) {
                sums.values[e] = Op::combine(sums.values[e], handed.values[e * column_block_threads + below]);
            }
        }
        __syncthreads();
    }
}

template <class Op>
__device__ __forceinline__ void deliver_column(const ColumnArguments &a, const typename Op::Accumulator &value,
                                               std::size_t outer, std::size_t group, std::size_t column) {
    if (a.destination == Destination::output) {
        finish_result(value, a.finish, a.output, outer * a.inner + column);
    } else {
        store_partial<Op>(value, a.output, (outer * a.groups + group) * a.inner + column);
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
template <class Op, class Columns>
inline constexpr int column_blocks_resident = sizeof(ColumnSums<Op, Columns>) <= 16   ? 3
                                              : sizeof(ColumnSums<Op, Columns>) <= 32 ? 2
                                                                                      : 1;

// A block is threads_across column vectors, threads_down runs of Rows rows, and as many outer indices as find room in
// 256 threads. inner is a multiple of a vector's elements, and every vector is aligned.
template <class T, class Op, class Columns, int Rows>
__global__ void __launch_bounds__(column_block_threads, (column_blocks_resident<Op, Columns>))
    reduce_columns(const __grid_constant__ ColumnArguments a) {
    take_place_on_stream(a.destination);
    constexpr int elements = Columns::elements;
    const unsigned above = a.by_across.divide(threadIdx.x);
    const unsigned across = threadIdx.x - above * static_cast<unsigned>(a.threads_across);
    const unsigned down = above & static_cast<unsigned>(a.threads_down - 1);
    const unsigned slot = above / static_cast<unsigned>(a.threads_down);
    const unsigned slots = static_cast<unsigned>(a.outer_a_block);
    const ColumnJob job = a.few_jobs ? column_job(a, blockIdx.x) : column_job_by_64_bits(a, a.first_job + blockIdx.x);
    const std::size_t outer = job.outer_group * slots + slot;
    const std::size_t column = (job.column_tile * static_cast<std::size_t>(a.threads_across) + across) * elements;
    const std::size_t row = (job.group * static_cast<std::size_t>(a.threads_down) + down) * Rows;
    const bool inside = column < a.inner && outer < a.outer;
    const int valid = inside && row < a.axis ? static_cast<int>(smaller<std::size_t>(a.axis - row, Rows)) : 0;
    const T *first = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(outer) * a.outer_stride +
                     static_cast<std::ptrdiff_t>(row) * a.axis_stride + static_cast<std::ptrdiff_t>(column);
    auto sums = column_tree<T, Op, Columns, Rows>(first, a.axis_stride, valid, a.mapping, row);
    __shared__ HandedOver<Op, Columns> handed;
    combine_down_block<Op, Columns>(sums, handed, a.threads_across, a.threads_down, static_cast<int>(down));
    if constexpr (elements == 1) {
        if (inside && down == 0) {
            deliver_column<Op>(a, sums.values[0], outer, job.group, column);
        }
    } else {
        // Column by column, so that neighbouring threads write neighbouring results.
        const unsigned width = static_cast<unsigned>(a.threads_across * elements);
        if (down == 0) {
#pragma unroll
            for (int e = 0; e < elements; ++e) {
                handed.values[slot * width + across * elements + static_cast<unsigned>(e)] = sums.values[e];
            }
        }
        __syncthreads();
        for (unsigned i = threadIdx.x; i < slots * width; i += blockDim.x) {
            const unsigned of_slot = slots == 1 ? 0 : i / width;
            const std::size_t at_outer = job.outer_group * slots + of_slot;
            const std::size_t at_column = job.column_tile * width + i - of_slot * width;
            if (at_outer < a.outer && at_column < a.inner) {
                deliver_column<Op>(a, handed.values[i], at_outer, job.group, at_column);
            }
        }
    }
}

// Axes of up to few_rows_axis elements: a thread takes several vectors side by side, so that enough loads are on their
// way. a.column_tiles counts blocks, of which each finishes its outputs.
template <class T, class Op, class Columns>
__global__ void __launch_bounds__(column_block_threads, 2) reduce_few_rows(const __grid_constant__ ColumnArguments a) {
    constexpr int elements = Columns::elements;
    constexpr std::size_t width = std::size_t{column_block_threads} * elements;
    take_place_on_stream(a.destination);
    const ColumnJob job = a.few_jobs ? column_job(a, blockIdx.x) : column_job_by_64_bits(a, a.first_job + blockIdx.x);
    const std::size_t outer = job.outer_group, first = job.column_tile * width * few_rows_vectors;
    const T *data = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(outer) * a.outer_stride;
    // Where as much is written, plain loads are the quicker ones.
    PlainlyLoaded<Columns> loaded[few_rows_vectors][few_rows_axis];
#pragma unroll
    for (int k = 0; k < few_rows_vectors; ++k) {
        const std::size_t column = first + k * width + threadIdx.x * elements;
#pragma unroll
        for (int r = 0; r < few_rows_axis; ++r) {
            if (column < a.inner && static_cast<std::size_t>(r) < a.axis) {
                loaded[k][r].load(data + r * a.axis_stride + column);
            }
        }
    }
    typename Op::Accumulator sums[few_rows_vectors][elements];
#pragma unroll
    for (int k = 0; k < few_rows_vectors; ++k) {
#pragma unroll
        for (int e = 0; e < elements; ++e) {
            typename Op::Accumulator rows[few_rows_axis];
#pragma unroll
            for (int r = 0; r < few_rows_axis; ++r) {
                rows[r] = static_cast<std::size_t>(r) < a.axis
                              ? map_element<Op>(loaded[k][r].values[e], a.mapping, static_cast<std::size_t>(r))
                              : Op::identity();
            }
            sums[k][e] = Op::combine(Op::combine(rows[0], rows[1]), Op::combine(rows[2], rows[3]));
        }
    }
    if (stores_plainly(sums[0], a.finish, a.output, outer * a.inner)) {
#pragma unroll
        for (int k = 0; k < few_rows_vectors; ++k) {
            const std::size_t column = first + k * width + threadIdx.x * elements;
            if (column < a.inner) {
                store_plainly(sums[k], a.output, outer * a.inner + column);
            }
        }
        return;
    }
    // By way of shared memory, so that nothing waits in registers for the calls.
    __shared__ typename Op::Accumulator shared[few_rows_vectors * width];
#pragma unroll
    for (int k = 0; k < few_rows_vectors; ++k) {
#pragma unroll
        for (int e = 0; e < elements; ++e) {
            shared[k * width + threadIdx.x * elements + static_cast<unsigned>(e)] = sums[k][e];
        }
    }
    __syncthreads();
#pragma unroll 1
    for (std::size_t at = threadIdx.x; at < few_rows_vectors * width && first + at < a.inner;
         at += column_block_threads) {
        finish_result(shared[at], a.finish, a.output, outer * a.inner + first + at);
    }
}

} // namespace wr::cuda
