// Rows staged in shared memory: how they come there, and the tree over a run that one thread takes by itself.
#pragma once

#include "cuda/device/warp_tree.cuh"
#include "cuda/reduce/arguments.h"
#include "cuda/reduce/tile_load.cuh"
#include "numerics/operators.h"

namespace wr::cuda {

inline constexpr int run_part = 8;

// The tree over Count (a power of two) elements from number `first` of the run on.
template <class Op, int Count, class Element>
__device__ __forceinline__ typename Op::Accumulator part_tree(const Element &element, int first, const Mapping &m,
                                                              std::size_t position) {
    typename Op::Accumulator values[Count];
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        values[i] = map_element<Op>(element(first + i), m, position + static_cast<std::size_t>(first + i));
    }
    return tree_of_elements<Op>(values);
}

// Fewer elements than a part's: the tree cuts off the largest power of two again and again.
template <class Op, class Element>
__device__ __forceinline__ typename Op::Accumulator rest_tree(const Element &element, int first, int count,
                                                              const Mapping &m, std::size_t position) {
    auto value = Op::identity();
    if ((count & 1) != 0) {
        value = part_tree<Op, 1>(element, first + (count & 6), m, position);
    }
    if ((count & 2) != 0) {
        value = Op::combine(part_tree<Op, 2>(element, first + (count & 4), m, position), value);
    }
    if ((count & 4) != 0) {
        value = Op::combine(part_tree<Op, 4>(element, first, m, position), value);
    }
    return value;
}

// element(i) is element number i of the run, the first of which stands at `position`; the run ends behind the first
// `count`, and is empty where that is below 1. A loop over parts of eight, so that kernels stay small.
template <class Op, class Element>
__device__ __forceinline__ typename Op::Accumulator run_tree(const Element &element, int count, const Mapping &m,
                                                             std::size_t position) {
    static_assert(most_run_elements == 8 * run_part);
    const int parts = smaller(larger(count, 0), most_run_elements) / run_part;
    auto one = Op::identity(), two = Op::identity(), four = Op::identity();
#pragma unroll 1
    for (int p = 0; p < parts; ++p) {
        auto value = part_tree<Op, run_part>(element, p * run_part, m, position);
        if ((p & 1) == 0) {
            one = value;
            continue;
        }
        value = Op::combine(one, value);
        if ((p & 2) == 0) {
            two = value;
            continue;
        }
        value = Op::combine(two, value);
        if ((p & 4) != 0) {
            return Op::combine(four, value);
        }
        four = value;
    }
    auto value = rest_tree<Op>(element, parts * run_part, count < 0 ? 0 : count % run_part, m, position);
    value = (parts & 1) != 0 ? Op::combine(one, value) : value;
    value = (parts & 2) != 0 ? Op::combine(two, value) : value;
    return (parts & 4) != 0 ? Op::combine(four, value) : value;
}

// A block's stage: a contiguous piece of the array in shared memory, filled by whole vectors. Its cells are elements,
// or the trees over vectors of them.

inline constexpr int staged_threads = 256; // at most
inline constexpr int block_stage_vectors = block_stage_bytes / vector_bytes;
inline constexpr int staged_vectors_a_thread = block_stage_vectors / staged_threads;

// Behind every `unit` cells some places are left out, so that threads that walk side by side meet different banks.
struct StageLayout {
    SmallDivisor unit;
    unsigned gap;

    __device__ __forceinline__ unsigned place(unsigned cell) const { return cell + unit.divide(cell) * gap; }
};

// An element of a stage. Of 16 bytes, it need not lie on a boundary of vectors.
template <class T>
__device__ __forceinline__ T staged_element(const unsigned char *at) {
    T element;
    if constexpr (sizeof(T) == vector_bytes) {
        unsigned words[4];
#pragma unroll
        for (unsigned k = 0; k < 4; ++k) {
            memcpy(words + k, __builtin_assume_aligned(at + 4 * k, 4), 4);
        }
        memcpy(&element, words, sizeof(T));
    } else {
        memcpy(&element, __builtin_assume_aligned(at, sizeof(T)), sizeof(T));
    }
    return element;
}

// Calls work(v, vector) for the `count` vectors from base on, all of a thread's asked for before the first is used.
// Threads without one read the last again: loads on a condition would have the registers of all others hold what was
// there before.
template <class Work>
__device__ __forceinline__ void for_each_staged_vector(const char *base, unsigned count, Work work) {
    uint4 loaded[staged_vectors_a_thread];
#pragma unroll
    for (int i = 0; i < staged_vectors_a_thread; ++i) {
        const unsigned v = threadIdx.x + static_cast<unsigned>(i) * blockDim.x;
        loaded[i] = load_streaming(base + smaller(v, count - 1) * vector_bytes);
    }
#pragma unroll
    for (int i = 0; i < staged_vectors_a_thread; ++i) {
        const unsigned v = threadIdx.x + static_cast<unsigned>(i) * blockDim.x;
        if (v < count) {
            work(v, loaded[i]);
        }
    }
}

// Element by element: where gaps do not fall between vectors, and at the ends of the caller's array, where the vectors
// that hold the first or the last element reach beyond it.
template <class T>
__device__ __noinline__ void fill_stage_singly(const T *data, unsigned count, StageLayout layout,
                                               unsigned char *memory) {
#pragma unroll 8
    for (unsigned e = threadIdx.x; e < count; e += blockDim.x) {
        const T element = data[e];
        memcpy(memory + layout.place(e) * sizeof(T), &element, sizeof(T));
    }
}

// Fills the stage with elements; returns where in it the first one then is, in bytes. A gap is of whole vectors, and so
// is a unit where there are gaps.
template <class T>
__device__ __forceinline__ unsigned fill_stage(const T *data, unsigned count, StageLayout layout,
                                               ReadableRange readable_range, unsigned char *memory) {
    const unsigned offset = offset_in_vector(data);
    const char *base = reinterpret_cast<const char *>(data) - offset;
    const unsigned bytes = offset + count * static_cast<unsigned>(sizeof(T));
    const unsigned vectors = (bytes + vector_bytes - 1) / static_cast<unsigned>(vector_bytes);
    const bool readable = base >= readable_range.begin && base + vectors * vector_bytes <= readable_range.end;
    if (!readable || (offset != 0 && layout.gap != 0)) {
        fill_stage_singly(data, count, layout, memory);
        return 0;
    }
    const auto put = [&](unsigned v, const uint4 &vector) {
        const unsigned place = layout.gap == 0 ? v * vector_elements<T> : layout.place(v * vector_elements<T>);
        memcpy(__builtin_assume_aligned(memory + place * sizeof(T), vector_bytes), &vector, sizeof(vector));
    };
    for_each_staged_vector(base, vectors, put);
    // An unaligned piece of full length has one vector more.
    const unsigned last = threadIdx.x + staged_vectors_a_thread * blockDim.x;
    if (last < vectors) {
        put(last, load_streaming(base + last * vector_bytes));
    }
    return offset;
}

// Fills the stage with the trees over `count` vectors, which lie on their boundaries and within the array.
template <class T, class Op>
__device__ __forceinline__ void fill_stage_with_trees(const T *data, unsigned count, StageLayout layout,
                                                      const Mapping &m, typename Op::Accumulator *cells) {
    for_each_staged_vector(reinterpret_cast<const char *>(data), count, [&](unsigned v, const uint4 &vector) {
        cells[layout.place(v)] = vector_tree<T, Op>(vector, m);
    });
}

} // namespace wr::cuda
