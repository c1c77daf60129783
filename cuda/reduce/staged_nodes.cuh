// The nodes of rows of states that are very short and many: a block copies rows into shared memory, and a thread takes
// one node of one of them after the other.
#pragma once

#include "cuda/device/dynamic_shared_memory.cuh"
#include "cuda/reduce/node_rows.cuh"
#include "cuda/reduce/run_tree.cuh"
#include "cuda/reduce/stage.cuh"

namespace wr::cuda {

// `length` elements, a power of two; Length is the same where it is known, or 0.
template <class Op, int Length, class Element>
__device__ __forceinline__ typename Op::Accumulator node_tree(const Element &element, unsigned length, const Mapping &m,
                                                              std::size_t position) {
    static_assert(most_staged_node == 2 * most_run_elements);
    if constexpr (Length != 0) {
        return part_tree<Op, Length>(element, 0, m, position);
    }
    const auto first = run_tree<Op>(element, static_cast<int>(length), m, position);
    return length <= static_cast<unsigned>(most_run_elements)
               ? first
               : Op::combine(first, run_tree<Op>([&](int i) { return element(i + most_run_elements); },
                                                 most_run_elements, m, position + most_run_elements));
}

// Calls take(length, first element of the row, number) for each node of a row.
template <class Take>
__device__ __forceinline__ void for_each_node_of_row(const RowNodes &nodes, Take &&take) {
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
        const NodeSide side(nodes, i == 0);
#pragma unroll 1
        for (unsigned bits = side.nodes; bits != 0; bits &= bits - 1) {
            const unsigned length = bits & (0u - bits);
            take(length, static_cast<unsigned>(side.first) + side.node_begin(length) - side.begin,
                 side.node_number(length));
        }
    }
}

// Copies the rows, `pitch` elements from one to the next, and returns where the first one is.
template <class T>
__device__ __forceinline__ const unsigned char *stage_rows(const RowArguments &a, std::size_t first_row, unsigned rows,
                                                           unsigned pitch, unsigned char *memory) {
    const auto axis = static_cast<unsigned>(a.axis), count = rows * axis;
    const T *const data = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(first_row) * a.outer_stride;
    const bool touch = a.outer_stride == static_cast<std::ptrdiff_t>(axis);
    if (touch && pitch == axis) {
        return memory + fill_stage<T>(data, count, {}, a.readable_range, memory);
    }
    if (touch && offset_in_vector(data) == 0) { // of whole vectors, as all that have gaps
        const unsigned row_vectors = axis * static_cast<unsigned>(sizeof(T)) / vector_bytes;
        for_each_staged_vector(
            reinterpret_cast<const char *>(data), rows * row_vectors,
            [&](unsigned v, const uint4 &vector) { reinterpret_cast<uint4 *>(memory)[v + v / row_vectors] = vector; });
        return memory;
    }
#pragma unroll 8
    for (unsigned e = threadIdx.x; e < count; e += row_block_threads) {
        const unsigned row = e / axis, at = e - row * axis;
        const T element = data[static_cast<std::ptrdiff_t>(row) * a.outer_stride + static_cast<std::ptrdiff_t>(at)];
        memcpy(memory + (row * pitch + at) * sizeof(T), &element, sizeof(T));
    }
    return memory;
}

// Blocks of threads that a multiprocessor should hold: as many as leave little spilled.
template <class Op>
inline constexpr int staging_resident_blocks = has_quick_way<Op> ? 4 : 5;

// A block's rows, of which warps take nodes of 32 in turn.
template <class T, class Op>
struct StagedNodes {
    const RowArguments &a;
    const unsigned char *elements;
    std::size_t first_row;
    unsigned pitch, rows, groups, group;

    // Of one node: what gives its accumulator by an operator and what maps an element.
    template <int Length>
    __device__ __forceinline__ auto work(const unsigned char *own, unsigned length, unsigned first) const {
        return [=, &m = a.mapping](auto way, const auto &of) {
            return node_tree<decltype(way), Length>(
                [&](int i) { return of(staged_element<T>(own + i * static_cast<int>(sizeof(T)))); }, length, m, first);
        };
    }

    // One node of each, a power of two of elements; Length is the same where it is known, or 0.
    template <int Length>
    __device__ __forceinline__ void take(unsigned length, unsigned first, std::size_t number) {
#pragma unroll 1
        for (; group < groups; group += row_block_warps) {
            const unsigned row = group * warp_lanes + static_cast<unsigned>(lane_index());
            if (row >= rows) {
                continue;
            }
            const unsigned char *const own = elements + (row * pitch + first) * static_cast<unsigned>(sizeof(T));
            const auto value =
                by_plain_squares<Op>(a.mapping, work<Length>(own, length, first), work<0>(own, length, first));
            store_node(Op::settle(value), a.nodes.accumulators, number * a.rows + first_row + row);
        }
        group -= groups;
    }
    __device__ __forceinline__ void operator()(unsigned length, unsigned first, std::size_t number) {
        switch (length) {
        case 1:
            return take<1>(length, first, number);
        case 2:
            return take<2>(length, first, number);
        case 4:
            return take<4>(length, first, number);
        case 8:
            return take<8>(length, first, number);
        default:
            return take<0>(length, first, number);
        }
    }
};

// a.tiles rows a block.
template <class T, class Op>
__global__ void __launch_bounds__(row_block_threads, staging_resident_blocks<Op>)
    reduce_staged_nodes(const __grid_constant__ RowArguments a) {
    pdl_wait_and_release();
    const auto axis = static_cast<unsigned>(a.axis), rows_a_block = static_cast<unsigned>(a.tiles);
    const unsigned pitch = axis + gap_of_staged_rows(axis, sizeof(T));
    const std::size_t first_row = a.first_row + static_cast<std::size_t>(blockIdx.x) * rows_a_block;
    const auto rows = static_cast<unsigned>(smaller<std::size_t>(a.rows - first_row, rows_a_block));
    const unsigned char *const elements = stage_rows<T>(a, first_row, rows, pitch, launched_memory());
    __syncthreads();
    for_each_node_of_row(a.nodes, StagedNodes<T, Op>{a, elements, first_row, pitch, rows,
                                                     divide_up(rows, static_cast<unsigned>(warp_lanes)),
                                                     static_cast<unsigned>(warp_index())});
}

} // namespace wr::cuda
