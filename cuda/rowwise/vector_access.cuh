// How a warp reads a tile of 1024 elements and writes its outputs: 32 elements a lane, in 16-byte vectors
// whatever the row's alignment, and never a byte outside the caller's arrays.
#pragma once

#include "cuda/rowwise/staged_access.cuh"
#include "numerics/float_formats.h"
#include "numerics/softmax.h"

namespace wr::cuda {

inline constexpr int lane_elements = static_cast<int>(softmax_block) / warp_lanes;

// The 16-byte vectors of a lane's elements: vector v of lane l is number 32 v + l of the tile.
template <class T>
inline constexpr int lane_vectors = lane_elements / vector_elements<T>;

// Where a lane's elements stand in the tile. Vectors: 16 bytes at a time, for rows that start and end on 16-byte
// boundaries. Shifted: likewise, for neighbouring elements wherever they start and end. Converted: as vectors, the
// outputs of another type than the input; as unaligned loads, likewise. Strided: one at a time, for any strides and
// output types.
template <class T>
struct VectorLoad {
    static constexpr bool vectors = true;
    static constexpr bool unaligned = false;
    static constexpr int run = vector_elements<T>; // neighbours that a lane holds
};
template <class T>
struct UnalignedLoad {
    static constexpr bool vectors = true;
    static constexpr bool unaligned = true;
    static constexpr int run = vector_elements<T>;
};
// Like vectors, of a block that stands in shared memory as far off a boundary as it stood in the input; of 16-bit
// elements rotated (rotated_vectors.cuh).
template <class T>
struct StagedLoad : VectorLoad<T> {
    static constexpr bool staged = true;
    static constexpr bool rotated = sizeof(T) == 2;
};
template <class T>
struct ConvertingLoad : VectorLoad<T> {
    static constexpr bool converted = true;
};
template <class T>
struct ConvertingUnalignedLoad : UnalignedLoad<T> {
    static constexpr bool converted = true;
};
template <class T>
struct StridedLoad {
    static constexpr bool vectors = false;
    static constexpr bool unaligned = false;
    static constexpr int run = 1;
};

template <class Load>
inline constexpr bool is_staged = requires { Load::staged; };
template <class Load>
inline constexpr bool is_rotated = requires { requires Load::rotated; };
// How a tile is read and written that is rare: in its order.
template <class Load>
struct InOrder {
    using Type = Load;
};
template <class Load>
using LoadInOrder = typename InOrder<Load>::Type;
template <class Load>
inline constexpr bool converts = requires { requires Load::converted; };
// Whether outputs may be of another type than the input.
template <class Load>
inline constexpr bool has_any_output = !Load::vectors || converts<Load>;
template <class Load>
inline constexpr bool keeps_vectors = Load::vectors && !Load::unaligned && !converts<Load>;

// Of a lane's place in a tile: its first element, and how far each further run of it lies behind the one before.
template <class Load>
__device__ __forceinline__ int first_place() {
    return lane_index() * Load::run;
}
template <class Load>
inline constexpr int run_distance = warp_lanes * Load::run;

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

// A tile whose rows start and end on 16-byte boundaries; the first `count` elements exist.
template <class T>
__device__ __forceinline__ void load_vector_tile(const T *data, int count, bool negative_scale,
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

// What crosses a warp's stage at once on its way out: a tile, or half of one of f64.
template <class T>
inline constexpr int staged_vectors = lane_vectors<T> < 8 ? lane_vectors<T> : 8; // of a lane
template <class T>
inline constexpr int staged_elements = staged_vectors<T> * warp_lanes * vector_elements<T>;

// The stages of a block's warps, which the launcher gives the kernels of unaligned loads: stage_bytes each.
extern __shared__ uint4 unaligned_stages[];

template <class T>
__device__ __forceinline__ uint4 *own_stage() {
    const unsigned warp = (threadIdx.y * blockDim.x + threadIdx.x) / warp_lanes;
    return unaligned_stages + warp * (stage_bytes<T, staged_elements<T>> / vector_bytes);
}

// A lane's vectors of a tile at an end of the caller's array, where those that hold the first or the last element
// reach beyond it.
template <class T>
struct LaneVectors {
    uint4 of[lane_vectors<T>];
};
template <class T>
__device__ __noinline__ LaneVectors<T> load_end_tile(const T *data, int count, bool negative_scale) {
    LaneVectors<T> vectors;
#pragma unroll 1
    for (int v = 0; v < lane_vectors<T>; ++v) {
        const int first = (v * warp_lanes + lane_index()) * vector_elements<T>;
        T elements[vector_elements<T>];
#pragma unroll
        for (int i = 0; i < vector_elements<T>; ++i) {
            elements[i] = first + i < count ? data[first + i] : filler<T>(negative_scale);
        }
        memcpy(vectors.of + v, elements, sizeof(uint4));
    }
    return vectors;
}

// What stands behind the last element of a tile off the boundaries: elements that take no part, or anything at all.
enum class Behind { filler, anything };

// A tile at any address.
template <Behind Rest = Behind::filler, class T>
__device__ __forceinline__ void load_unaligned_tile(const ReadableRange &readable_range,
                                                    const ReadableRange &vector_safe_range, const T *data, int count,
                                                    bool negative_scale, uint4 (&vectors)[lane_vectors<T>]) {
    const int lane = lane_index();
    if (count <= 0 || !is_tile_readable(readable_range, vector_safe_range, data, count)) {
        const LaneVectors<T> loaded = load_end_tile(data, count, negative_scale);
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = loaded.of[v];
        }
    } else if (count == static_cast<int>(softmax_block)) {
        load_vectors(
            data, vectors, [&](int v) { return v * warp_lanes + lane; },
            [&](int v) { return v * warp_lanes + lane + 1; });
    } else {
        const int last = (elements_before(data) + count - 1) / vector_elements<T>;
        load_vectors(
            data, vectors, [&](int v) { return smaller(v * warp_lanes + lane, last); },
            [&](int v) { return smaller(v * warp_lanes + lane + 1, last); });
        if constexpr (Rest == Behind::filler) {
#pragma unroll
            for (int v = 0; v < lane_vectors<T>; ++v) {
                vectors[v] =
                    fill_from<T>(vectors[v], count - (v * warp_lanes + lane) * vector_elements<T>, negative_scale);
            }
        }
    }
}

// A block in shared memory, where more may be read than there is of it.
template <class T>
__device__ __forceinline__ void load_staged_tile(const T *data, int count, bool negative_scale,
                                                 uint4 (&vectors)[lane_vectors<T>]) {
    const int lane = lane_index();
    load_vectors(
        data, vectors, [&](int v) { return v * warp_lanes + lane; }, [&](int v) { return v * warp_lanes + lane + 1; });
    if (count != static_cast<int>(softmax_block)) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = fill_from<T>(vectors[v], count - (v * warp_lanes + lane) * vector_elements<T>, negative_scale);
        }
    }
}

template <class T, class Load>
__device__ __forceinline__ void load_tile_vectors(const SoftmaxArguments &a, const T *data, int count,
                                                  uint4 (&vectors)[lane_vectors<T>]) {
    if constexpr (is_staged<Load>) {
        load_staged_tile(data, count, a.scale < 0, vectors);
    } else if constexpr (Load::unaligned) {
        load_unaligned_tile(a.readable_range, a.vector_safe_range, data, count, a.scale < 0, vectors);
    } else {
        load_vector_tile(data, count, a.scale < 0, vectors);
    }
}

// A lane's elements of a tile, one at a time.
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

// Of a tile's elements so held, those that mask bytes of 0 leave out become the filler. `mask` is the first element's.
template <class T>
__device__ __forceinline__ void leave_out_of_singles(const std::uint8_t *mask, int count, bool negative_scale,
                                                     T (&x)[lane_elements]) {
    const std::uint8_t *mine = mask + lane_index();
    const int left = count - lane_index();
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
        if (i * warp_lanes < left && mine[i * warp_lanes] == 0) {
            x[i] = filler<T>(negative_scale);
        }
    }
}

template <class T>
__device__ __forceinline__ void store_aligned_tile(T *output, int count, const uint4 (&vectors)[lane_vectors<T>]) {
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

// At any address.
template <class T>
__device__ __forceinline__ void store_unaligned_tile(T *output, int count, const uint4 (&vectors)[lane_vectors<T>]) {
    constexpr int elements = staged_elements<T>;
    uint4 *stage = own_stage<T>();
#pragma unroll
    for (int part = 0; part < lane_vectors<T> / staged_vectors<T>; ++part) {
        __syncwarp();
#pragma unroll
        for (int v = 0; v < staged_vectors<T>; ++v) {
            stage[v * warp_lanes + lane_index()] = vectors[part * staged_vectors<T> + v];
        }
        __syncwarp();
        copy_from_stage<T, elements>(output + part * elements, smaller(larger(count - part * elements, 0), elements),
                                     stage, 0);
    }
}

} // namespace wr::cuda
