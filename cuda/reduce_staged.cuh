// Short rows of any width, and columns where inner is narrow: a block copies a contiguous piece of the array into
// shared memory by whole vectors, and each thread takes runs of up to 32 elements of it, however they lie.
#pragma once

#include "cuda/reduce_rows.cuh"
#include "cuda/run_tree.cuh"

namespace wr::cuda {

inline constexpr int staged_threads = 256;
inline constexpr int staged_vectors_a_thread = stage_bytes / vector_bytes / staged_threads;

// Runs that start a power of two apart would all begin in one bank of shared memory: every 2^shift bytes are followed
// by a gap, so that those of neighbouring threads do not.
template <class T>
struct Stage {
    static constexpr unsigned gap = sizeof(T) == 8 ? 8 : 4;
    static constexpr unsigned bytes = stage_bytes + 2 * vector_bytes;
    static constexpr unsigned gapped = bytes + (bytes >> least_gap_shift) * gap;

    unsigned char *memory;
    int shift;

    __device__ __forceinline__ unsigned char *at(unsigned offset) const {
        return memory + offset + (offset >> shift) * gap;
    }

    __device__ __forceinline__ void put(unsigned offset, const uint4 &vector) const {
        const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
        for (unsigned k = 0; k < 4; k += gap / 4) {
            memcpy(__builtin_assume_aligned(at(offset + 4 * k), gap), words + k, gap);
        }
    }

    // Elements of 16 bytes lie in four words.
    __device__ __forceinline__ T get(unsigned offset) const {
        T element;
        if constexpr (sizeof(T) == 16) {
            unsigned words[4];
#pragma unroll
            for (unsigned k = 0; k < 4; ++k) {
                memcpy(words + k, __builtin_assume_aligned(at(offset + 4 * k), 4), 4);
            }
            memcpy(&element, words, sizeof(T));
        } else {
            memcpy(&element, __builtin_assume_aligned(at(offset), sizeof(T)), sizeof(T));
        }
        return element;
    }
};

// A vector that reaches beyond the caller's array: only the elements within.
template <class T>
__device__ __noinline__ uint4 load_vector_within(const char *at, Hull hull) {
    uint4 vector{0, 0, 0, 0};
    T elements[vector_elements<T>];
    memcpy(elements, &vector, sizeof(vector));
#pragma unroll
    for (int e = 0; e < vector_elements<T>; ++e) {
        const char *element = at + e * static_cast<int>(sizeof(T));
        if (element >= hull.begin && element + sizeof(T) <= hull.end) {
            elements[e] = *reinterpret_cast<const T *>(element);
        }
    }
    memcpy(&vector, elements, sizeof(vector));
    return vector;
}

// Elements of 16 bytes need not lie on boundaries of vectors: word by word.
__device__ __noinline__ inline uint4 load_words_within(const char *at, Hull hull) {
    unsigned words[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        const char *word = at + 4 * k;
        words[k] = word >= hull.begin && word < hull.end ? *reinterpret_cast<const unsigned *>(word) : 0;
    }
    return uint4{words[0], words[1], words[2], words[3]};
}

template <class T>
__device__ __forceinline__ uint4 load_staged_vector(const char *at, Hull hull) {
    if (at >= hull.begin && at + vector_bytes <= hull.end) {
        return load_streaming(at);
    }
    if constexpr (sizeof(T) == 16) {
        return load_words_within(at, hull);
    } else {
        return load_vector_within<T>(at, hull);
    }
}

// Copies the vectors that hold [data, data + bytes) to the stage; returns where the first element then is.
template <class T>
__device__ __forceinline__ unsigned fill_stage(const Stage<T> &stage, const char *data, unsigned bytes, Hull hull) {
    const unsigned offset = offset_in_vector(data);
    const char *base = data - offset;
    const unsigned vectors = (offset + bytes + vector_bytes - 1) / vector_bytes;
    uint4 loaded[staged_vectors_a_thread];
#pragma unroll
    for (int i = 0; i < staged_vectors_a_thread; ++i) {
        const unsigned v = threadIdx.x + static_cast<unsigned>(i) * staged_threads;
        if (v < vectors) {
            loaded[i] = load_staged_vector<T>(base + v * vector_bytes, hull);
        }
    }
#pragma unroll
    for (int i = 0; i < staged_vectors_a_thread; ++i) {
        const unsigned v = threadIdx.x + static_cast<unsigned>(i) * staged_threads;
        if (v < vectors) {
            stage.put(v * vector_bytes, loaded[i]);
        }
    }
    // An unaligned piece of full length has one vector more.
    const unsigned last = threadIdx.x + staged_vectors_a_thread * staged_threads;
    if (last < vectors) {
        stage.put(last * vector_bytes, load_staged_vector<T>(base + last * vector_bytes, hull));
    }
    return offset;
}

// Where an item, a.rows rows of one outer index, starts on its axis, and how many rows it has.
struct StagedItem {
    std::size_t outer, first_row;

    __device__ __forceinline__ StagedItem(const StagedArguments &a, std::size_t number) {
        outer = number;
        first_row = 0;
        if (a.groups != 1) {
            outer = number / a.groups;
            first_row = number % a.groups * static_cast<std::size_t>(a.rows);
        }
    }
    __device__ __forceinline__ std::size_t rows(const StagedArguments &a) const {
        return smaller(a.axis - first_row, static_cast<std::size_t>(a.rows));
    }
    __device__ __forceinline__ std::size_t first_element(const StagedArguments &a) const {
        return (outer * a.axis + first_row) * a.inner;
    }
};

// A block takes a.items_a_block items, which touch each other in memory. Outputs or partial results are numbered by
// item and column.
template <class T, class Op>
__global__ void __launch_bounds__(staged_threads, sizeof(typename Op::Accumulator) <= 8 ? 5 : 2)
    reduce_staged(const __grid_constant__ StagedArguments a) {
    __shared__ alignas(16) unsigned char memory[Stage<T>::gapped];
    take_place_in_call(a.destination, a.follows);
    const std::size_t first_item = a.first_item + blockIdx.x * static_cast<std::size_t>(a.items_a_block);
    const std::size_t items = smaller(a.items - first_item, static_cast<std::size_t>(a.items_a_block));
    const StagedItem first(a, first_item), last(a, first_item + items - 1);
    const std::size_t first_element = first.first_element(a);
    const std::size_t end_element = last.first_element(a) + last.rows(a) * a.inner;
    const Stage<T> stage{memory, a.gap_shift};
    const unsigned start =
        fill_stage<T>(stage, reinterpret_cast<const char *>(static_cast<const T *>(a.input) + first_element),
                      static_cast<unsigned>((end_element - first_element) * sizeof(T)), Hull{a.hull_begin, a.hull_end});
    __syncthreads();
    const unsigned inner = static_cast<unsigned>(a.inner), lanes = 1u << a.lanes_log2;
    const unsigned groups = static_cast<unsigned>(items) * inner, tasks = groups << a.lanes_log2;
    const unsigned rest = threadIdx.x % warp_lanes;
    for (unsigned warp_task = threadIdx.x - rest; warp_task < tasks; warp_task += staged_threads) {
        const unsigned task = warp_task + rest, group = task >> a.lanes_log2, run = (task & (lanes - 1)) * run_elements;
        auto value = Op::identity();
        const unsigned item = inner == 1 ? group : group / inner, column = group - item * inner;
        if (group < groups) {
            const StagedItem here(a, first_item + item);
            const int valid = static_cast<int>(here.rows(a)) - static_cast<int>(run);
            const unsigned element =
                static_cast<unsigned>(here.first_element(a) - first_element) + run * inner + column;
            const unsigned offset = start + element * static_cast<unsigned>(sizeof(T));
            const unsigned stride = inner * static_cast<unsigned>(sizeof(T));
            value = run_tree<Op>([&](int i) { return stage.get(offset + static_cast<unsigned>(i) * stride); }, valid,
                                 a.mapping, here.first_row + run);
        }
        value = tree_over_lanes<Op>(value, static_cast<int>(lanes));
        if (group < groups && run == 0) {
            const std::size_t result = (first_item + item) * a.inner + column;
            if (a.destination == Destination::output) {
                finish_result(value, a.finish, a.output, result);
            } else {
                store_partial<Op>(value, a.output, result);
            }
        }
    }
}

} // namespace wr::cuda
