// Short contiguous rows of 3 times a power of two elements, up to three vectors: a thread takes three vectors that
// touch each other, which hold one row or several.
#pragma once

#include "cuda/reduce/rows.cuh"
#include "cuda/reduce/run_tree.cuh"

namespace wr::cuda {

// Triples of vectors that a thread takes, a block's threads apart: as many as leave all in registers.
template <class T, class Op>
inline constexpr int triples_a_thread = sizeof(typename Op::Accumulator) <= 4 && sizeof(T) == 4 ? 2 : 1;

// Rows of 3 * 2^Levels elements.
template <class T, class Op, int Levels>
__device__ __forceinline__ void deliver_triple(const RowArguments &a, const uint4 (&vectors)[3],
                                               std::size_t first_row) {
    constexpr int elements = 3 * vector_elements<T>, rows = vector_elements<T> >> Levels, part = 1 << Levels;
    T raw[elements];
    memcpy(raw, vectors, sizeof(raw));
    typename Op::Accumulator values[elements], results[rows];
#pragma unroll
    for (int e = 0; e < elements; ++e) {
        values[e] = Op::map(raw[e], a.mapping);
    }
#pragma unroll
    for (int width = 1; width < part; width *= 2) {
#pragma unroll
        for (int e = 0; e < elements; e += 2 * width) {
            values[e] = Op::combine(values[e], values[e + width]);
        }
    }
#pragma unroll
    for (int r = 0; r < rows; ++r) {
        const int first = 3 * part * r;
        results[r] = Op::combine(Op::combine(values[first], values[first + part]), values[first + 2 * part]);
    }
    finish_neighbours(results, a.finish, a.output, first_row);
}

template <class T, class Op, int Levels = 0>
__device__ __forceinline__ void deliver_any_triple(const RowArguments &a, const uint4 (&vectors)[3],
                                                   std::size_t first_row) {
    if constexpr (1 << Levels <= vector_elements<T>) {
        if (a.axis == std::size_t{3} << Levels) {
            deliver_triple<T, Op, Levels>(a, vectors, first_row);
        } else {
            deliver_any_triple<T, Op, Levels + 1>(a, vectors, first_row);
        }
    }
}

// The rows of a triple that is not whole.
template <class T, class Op>
__device__ __noinline__ void reduce_rows_of_last_triple(const RowArguments &a, std::size_t first_row) {
    for (std::size_t row = first_row; row < a.rows; ++row) {
        const T *data = static_cast<const T *>(a.input) + row * a.axis;
        const auto value = run_tree<Op>([&](int i) { return data[i]; }, static_cast<int>(a.axis), a.mapping, 0);
        finish_result(value, a.finish, a.output, row);
    }
}

// The rows touch each other and the first starts on a 16-byte boundary. Plain loads: a thread's three share sectors,
// and as much as a third of what moves is written.
template <class T, class Op>
__global__ void __launch_bounds__(row_block_threads, 4)
    reduce_three_vector_rows(const __grid_constant__ RowArguments a) {
    static_assert(!Op::positional);
    constexpr int triples = triples_a_thread<T, Op>;
    pdl_wait_and_release();
    const unsigned rows_a_triple = 3 * vector_elements<T> / static_cast<unsigned>(a.axis);
    const std::size_t first =
        a.first_row + (blockIdx.x * std::size_t{row_block_threads * triples} + threadIdx.x) * rows_a_triple;
    const unsigned step = row_block_threads * rows_a_triple;
    uint4 vectors[triples][3];
#pragma unroll
    for (int t = 0; t < triples; ++t) {
        const std::size_t row = first + static_cast<unsigned>(t) * step;
        if (row + rows_a_triple <= a.rows) {
            const auto *at = reinterpret_cast<const uint4 *>(static_cast<const T *>(a.input) + row * a.axis);
#pragma unroll
            for (int v = 0; v < 3; ++v) {
                vectors[t][v] = at[v];
            }
        }
    }
    __syncwarp(); // or the compiler asks for the second once it has used the first
#pragma unroll
    for (int t = 0; t < triples; ++t) {
        const std::size_t row = first + static_cast<unsigned>(t) * step;
        if (row + rows_a_triple <= a.rows) {
            deliver_any_triple<T, Op>(a, vectors[t], row);
        } else if (row < a.rows) {
            reduce_rows_of_last_triple<T, Op>(a, row);
        }
    }
}

} // namespace wr::cuda
