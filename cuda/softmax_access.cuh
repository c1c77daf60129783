// How a warp reads a base block of 1024 elements and writes its outputs: 32 elements a lane, in 16-byte vectors
// whatever the row's alignment, and never a byte outside the caller's arrays.
#pragma once

#include "cuda/softmax_arguments.h"
#include "cuda/tile_load.cuh"
#include "numerics/float_formats.h"
#include "numerics/softmax.h"

namespace wr::cuda {

inline constexpr int lane_elements = static_cast<int>(softmax_block) / warp_lanes;

// The 16-byte vectors of a lane's elements: vector v of lane l is number 32 v + l of the block.
template <class T>
inline constexpr int lane_vectors = lane_elements / vector_elements<T>;

// Where a lane's elements stand in the block. Vectors: 16 bytes at a time, for rows that start and end on 16-byte
// boundaries. Shifted: likewise, for neighbouring elements wherever they start and end. Singles: one at a time, for any
// strides and output types.
template <class T>
struct VectorPlaces {
    static constexpr bool vectors = true;
    static constexpr bool shifted = false;
    static constexpr int run = vector_elements<T>; // neighbours that a lane holds
};
template <class T>
struct ShiftedPlaces {
    static constexpr bool vectors = true;
    static constexpr bool shifted = true;
    static constexpr int run = vector_elements<T>;
};
template <class T>
struct SinglePlaces {
    static constexpr bool vectors = false;
    static constexpr bool shifted = false;
    static constexpr int run = 1;
};

// Of a lane's place in a block: its first element, and how far each further run of it lies behind the one before.
template <class Places>
__device__ __forceinline__ int first_place() {
    return lane_index() * Places::run;
}
template <class Places>
inline constexpr int run_distance = warp_lanes * Places::run;

// Plain loads: other warps of the launch may write the same memory where softmax works in place, and streaming hints
// cost 4 % where a kernel writes as much as it reads.
__device__ __forceinline__ uint4 load_vector(const void *at) { return *static_cast<const uint4 *>(at); }

// One 16-byte store, which the compiler would otherwise take apart again.
__device__ __forceinline__ void store_vector(void *at, uint4 v) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

// What stands behind the end of a row: -infinity, once it is scaled.
template <class T>
__device__ __forceinline__ T filler(bool negative_scale);
template <>
__device__ __forceinline__ float filler<float>(bool negative_scale) {
    return negative_scale ? std::numeric_limits<float>::infinity() : -std::numeric_limits<float>::infinity();
}
template <>
__device__ __forceinline__ double filler<double>(bool negative_scale) {
    return negative_scale ? std::numeric_limits<double>::infinity() : -std::numeric_limits<double>::infinity();
}
template <>
__device__ __forceinline__ F16 filler<F16>(bool negative_scale) {
    return {static_cast<std::uint16_t>(negative_scale ? 0x7C00u : 0xFC00u)};
}
template <>
__device__ __forceinline__ BF16 filler<BF16>(bool negative_scale) {
    return {static_cast<std::uint16_t>(negative_scale ? 0x7F80u : 0xFF80u)};
}

template <class T>
__device__ __forceinline__ uint4 filler_vector(bool negative_scale) {
    T elements[vector_elements<T>];
#pragma unroll
    for (int i = 0; i < vector_elements<T>; ++i) {
        elements[i] = filler<T>(negative_scale);
    }
    uint4 vector;
    memcpy(&vector, elements, sizeof(vector));
    return vector;
}

// A block whose rows start and end on 16-byte boundaries; the first `count` elements exist.
template <class T>
__device__ __forceinline__ void load_aligned_block(const T *data, int count, bool negative_scale,
                                                   uint4 (&vectors)[lane_vectors<T>]) {
    const uint4 *mine = reinterpret_cast<const uint4 *>(data) + lane_index();
    if (count == static_cast<int>(softmax_block)) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = load_vector(mine + v * warp_lanes);
        }
    } else {
        const int left = count / vector_elements<T> - lane_index();
        const uint4 behind = filler_vector<T>(negative_scale);
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = behind;
            if (v * warp_lanes < left) {
                vectors[v] = load_vector(mine + v * warp_lanes);
            }
        }
    }
}

// The same, element by element, from any address: the ends of the caller's array.
template <class T>
__device__ __noinline__ void load_block_by_elements(const T *data, int count, bool negative_scale, uint4 *vectors) {
#pragma unroll 1
    for (int v = 0; v < lane_vectors<T>; ++v) {
        T elements[vector_elements<T>];
        const int first = (v * warp_lanes + lane_index()) * vector_elements<T>;
#pragma unroll
        for (int i = 0; i < vector_elements<T>; ++i) {
            elements[i] = filler<T>(negative_scale);
            if (first + i < count) {
                elements[i] = data[first + i];
            }
        }
        memcpy(vectors + v, elements, sizeof(uint4));
    }
}

// Vectors are read and written on 128-byte lines, eight lanes to a line: on other boundaries half as many bytes cross
// to the cache and back in the same time.
inline constexpr int line_bytes = 128;
inline constexpr int line_vectors = line_bytes / vector_bytes;

__device__ __forceinline__ unsigned offset_in_line(const void *at) {
    return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(at) % line_bytes);
}

// Of two registers' vectors, `low` numbers 0 to 31 and `high` numbers 32 to 63, in each lane the 16 bytes that begin
// `lanes` vectors, Words 32-bit words and `bits` bits behind the lane's own place.
template <int Words, bool SubWord>
__device__ __forceinline__ uint4 moved_vector(uint4 low, uint4 high, int lanes, unsigned bits) {
    const int lane = lane_index();
    const unsigned lows[4] = {low.x, low.y, low.z, low.w}, highs[4] = {high.x, high.y, high.z, high.w};
    unsigned w[5] = {0, 0, 0, 0, 0};
#pragma unroll
    for (int j = 0; j < 4 + (SubWord ? 1 : 0); ++j) {
        const int word = (Words + j) % 4, distance = lanes + (Words + j) / 4;
        w[j] = __shfl_sync(whole_warp, lane < distance ? highs[word] : lows[word], lane + distance);
    }
    if constexpr (SubWord) {
#pragma unroll
        for (int j = 0; j < 4; ++j) {
            w[j] = __funnelshift_r(w[j], w[j + 1], bits);
        }
    }
    return {w[0], w[1], w[2], w[3]};
}

// Calls act(move) with move(low, high) moving by `bytes`, the same in all lanes, a multiple of the element's size.
template <class T, class Act>
__device__ __forceinline__ void with_move(unsigned bytes, Act act) {
    constexpr bool sub_word = sizeof(T) < 4;
    const int lanes = static_cast<int>(bytes / vector_bytes);
    const unsigned bits = bytes % 4 * 8;
    switch (bytes / 4 % 4) {
    case 0:
        act([=](uint4 low, uint4 high) { return moved_vector<0, sub_word>(low, high, lanes, bits); });
        break;
    case 1:
        if constexpr (sizeof(T) < 8) {
            act([=](uint4 low, uint4 high) { return moved_vector<1, sub_word>(low, high, lanes, bits); });
        }
        break;
    case 2:
        act([=](uint4 low, uint4 high) { return moved_vector<2, sub_word>(low, high, lanes, bits); });
        break;
    default:
        if constexpr (sizeof(T) < 8) {
            act([=](uint4 low, uint4 high) { return moved_vector<3, sub_word>(low, high, lanes, bits); });
        }
        break;
    }
}

// Elements from number `left` on become the filler.
template <class T>
__device__ __forceinline__ uint4 fill_from(uint4 vector, int left, bool negative_scale) {
    T elements[vector_elements<T>];
    memcpy(elements, &vector, sizeof(vector));
#pragma unroll
    for (int i = 0; i < vector_elements<T>; ++i) {
        elements[i] = i < left ? elements[i] : filler<T>(negative_scale);
    }
    memcpy(&vector, elements, sizeof(vector));
    return vector;
}

// A block at any address: vectors from the lines that hold it, moved to where the row's own vectors lie.
template <class T>
__device__ __forceinline__ void load_shifted_block(const SoftmaxArguments &a, const T *data, int count,
                                                   bool negative_scale, uint4 (&vectors)[lane_vectors<T>]) {
    const unsigned offset = offset_in_line(data);
    const char *base = reinterpret_cast<const char *>(data) - offset;
    const int begin = static_cast<int>(offset) / vector_bytes; // the first vector that holds something of the block
    const int end = (static_cast<int>(offset) + count * static_cast<int>(sizeof(T)) + vector_bytes - 1) / vector_bytes;
    if (base + begin * vector_bytes < a.hull_begin || base + end * vector_bytes > a.hull_end) {
        uint4 slow[lane_vectors<T>];
        load_block_by_elements(data, count, negative_scale, slow);
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = slow[v];
        }
        return;
    }
    const char *mine = base + lane_index() * vector_bytes;
    uint4 lines[lane_vectors<T> + 1];
#pragma unroll
    for (int v = 0; v <= lane_vectors<T>; ++v) {
        const int number = v * warp_lanes + lane_index();
        lines[v] = uint4{0, 0, 0, 0};
        if ((v > 0 || number >= begin) && number < end) {
            lines[v] = load_vector(mine + v * warp_lanes * vector_bytes);
        }
    }
    with_move<T>(offset, [&](auto move) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = move(lines[v], lines[v + 1]);
        }
    });
    if (count < static_cast<int>(softmax_block)) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            const int left = count - (v * warp_lanes + lane_index()) * vector_elements<T>;
            vectors[v] = fill_from<T>(vectors[v], left, negative_scale);
        }
    }
}

template <class T, class Places>
__device__ __forceinline__ void load_block_vectors(const SoftmaxArguments &a, const T *data, int count,
                                                   uint4 (&vectors)[lane_vectors<T>]) {
    if constexpr (Places::shifted) {
        load_shifted_block(a, data, count, a.scale < 0, vectors);
    } else {
        load_aligned_block(data, count, a.scale < 0, vectors);
    }
}

// A lane's elements of a block, one at a time.
template <class T>
__device__ __forceinline__ void load_singles(const T *data, std::ptrdiff_t stride, int count, bool negative_scale,
                                             T (&x)[lane_elements]) {
    const int left = count - lane_index();
    const T *mine = data + lane_index() * stride;
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
        x[i] = i * warp_lanes < left ? mine[i * warp_lanes * stride] : filler<T>(negative_scale);
    }
}

template <class T>
__device__ __forceinline__ void store_aligned_block(T *output, int count, const uint4 (&vectors)[lane_vectors<T>]) {
    uint4 *mine = reinterpret_cast<uint4 *>(output) + lane_index();
    if (count == static_cast<int>(softmax_block)) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            store_vector(mine + v * warp_lanes, vectors[v]);
        }
    } else {
        const int left = count / vector_elements<T> - lane_index();
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            if (v * warp_lanes < left) {
                store_vector(mine + v * warp_lanes, vectors[v]);
            }
        }
    }
}

// The elements of a vector from number `from` up to `to`, one at a time.
template <class T>
__device__ __forceinline__ void store_part_of_vector(T *at, uint4 vector, int from, int to) {
    const unsigned words[4] = {vector.x, vector.y, vector.z, vector.w};
#pragma unroll
    for (int i = 0; i < vector_elements<T>; ++i) {
        if (i >= from && i < to) {
            if constexpr (sizeof(T) == 2) {
                at[i] = T{static_cast<std::uint16_t>(words[i / 2] >> (i % 2 * 16))};
            } else if constexpr (sizeof(T) == 4) {
                at[i] = __uint_as_float(words[i]);
            } else {
                at[i] = __hiloint2double(static_cast<int>(words[2 * i + 1]), static_cast<int>(words[2 * i]));
            }
        }
    }
}

// At any address: vectors on the lines that the block reaches into, each made of two that lie across it; of the first
// and the last only the block's own elements, one at a time.
template <class T>
__device__ __forceinline__ void store_shifted_block(T *output, int count, const uint4 (&vectors)[lane_vectors<T>]) {
    constexpr int elements = vector_elements<T>;
    const unsigned offset = offset_in_line(output);
    const int skipped = static_cast<int>(offset / sizeof(T)); // elements of the first line that are not the block's
    T *mine = output - skipped + lane_index() * elements;
    const int first = skipped - lane_index() * elements; // of this lane's vectors
    const int end = first + count;
    with_move<T>(warp_lanes * vector_bytes - offset, [&](auto move) {
        uint4 tail{0, 0, 0, 0};
        int tail_place = 0, tail_count = 0;
#pragma unroll
        for (int v = 0; v <= lane_vectors<T>; ++v) {
            const int place = v * warp_lanes * elements;
            const uint4 low = vectors[v > 0 ? v - 1 : 0], high = vectors[v < lane_vectors<T> ? v : 0];
            const uint4 vector = move(low, high);
            if ((v > 0 || place >= first) && place + elements <= end) {
                store_vector(mine + place, vector);
            } else if (v == 0) {
                store_part_of_vector(mine, vector, larger(first, 0), smaller(end, elements));
            } else if (place < end) {
                tail = vector;
                tail_place = place;
                tail_count = end - place;
            }
        }
        if (tail_count > 0) {
            store_part_of_vector(mine + tail_place, tail, 0, tail_count);
        }
    });
}

} // namespace wr::cuda
