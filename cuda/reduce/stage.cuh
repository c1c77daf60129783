// A block's stage: a contiguous piece of the array in shared memory, filled by whole vectors. Its cells are elements,
// or the trees over vectors of them.
#pragma once

#include "cuda/reduce/arguments.h"
#include "cuda/reduce/tile_load.cuh"

namespace wr::cuda {

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
