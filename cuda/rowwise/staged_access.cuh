// Neighbouring elements wherever they start: a warp reads them by the whole vectors that hold them, and writes them by
// way of a stage in shared memory, so that no line of 128 bytes is written in parts but at a run's ends.
#pragma once

#include "cuda/reduce/tile_load.cuh"
#include "cuda/softmax/arguments.h"
#include "numerics/softmax.h"

namespace wr::cuda {

// Plain loads: other warps of the launch may write the same memory where softmax works in place, and streaming hints
// cost 4 % where a kernel writes as much as it reads.
__device__ __forceinline__ uint4 load_vector(const void *at) { return *static_cast<const uint4 *>(at); }

// One 16-byte store, which the compiler would otherwise take apart again.
__device__ __forceinline__ void store_vector(void *at, uint4 v) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
                 : "memory");
}

__device__ __forceinline__ void store_half_vector(void *at, uint2 v) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(at), "r"(v.x), "r"(v.y) : "memory");
}

// A whole one, or nothing: without a branch, so that what is stored is formed among other things.
__device__ __forceinline__ void store_vector_if(bool wanted, void *at, uint4 v) {
    asm volatile("{\n"
                 ".reg .pred wanted;\n"
                 "setp.ne.u32 wanted, %5, 0;\n"
                 "@wanted st.global.v4.b32 [%0], {%1, %2, %3, %4};\n"
                 "}" ::"l"(at),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(static_cast<unsigned>(wanted))
                 : "memory");
}

__device__ __forceinline__ void store_staged_if(bool wanted, void *shared, uint4 v) {
    asm volatile("{\n"
                 ".reg .pred wanted;\n"
                 "setp.ne.u32 wanted, %5, 0;\n"
                 "@wanted st.shared.v4.b32 [%0], {%1, %2, %3, %4};\n"
                 "}" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(shared))),
                 "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w), "r"(static_cast<unsigned>(wanted))
                 : "memory");
}

// The 16 bytes that start Words words, and `bits` bits more where elements are narrower, behind the start of the first
// of two neighbouring vectors.
template <class T, int Words>
__device__ __forceinline__ uint4 across_vectors(uint4 first, uint4 second, unsigned bits) {
    const unsigned w[8] = {first.x, first.y, first.z, first.w, second.x, second.y, second.z, second.w};
    unsigned moved[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        moved[k] = sizeof(T) < 4 ? __funnelshift_r(w[Words + k], w[Words + k + 1], bits) : w[Words + k];
    }
    return {moved[0], moved[1], moved[2], moved[3]};
}

// Calls work with the words that are in `bytes`, below 16 and of whole elements, as a constant.
template <class T, class Work>
__device__ __forceinline__ void with_words(unsigned bytes, Work work) {
    switch (bytes / 4) {
    case 0:
        work(std::integral_constant<int, 0>());
        break;
    case 1:
        if constexpr (sizeof(T) < 8) {
            work(std::integral_constant<int, 1>());
        }
        break;
    case 2:
        work(std::integral_constant<int, 2>());
        break;
    default:
        if constexpr (sizeof(T) < 8) {
            work(std::integral_constant<int, 3>());
        }
        break;
    }
}

// The same of two vectors in memory, where elements are of whole words: the vector that holds most of them, and what is
// lacking of the other. All registers of both would be too many.
template <class T, int Words>
__device__ __forceinline__ uint4 load_across(const uint4 *first, const uint4 *second) {
    if constexpr (Words == 3) {
        const unsigned low = reinterpret_cast<const unsigned *>(first)[3];
        const uint4 rest = load_vector(second);
        return {low, rest.x, rest.y, rest.z};
    } else if constexpr (Words == 2) {
        const uint4 rest = load_vector(first);
        const uint2 high = *reinterpret_cast<const uint2 *>(second);
        return {rest.z, rest.w, high.x, high.y};
    } else {
        const uint4 rest = load_vector(first);
        return {rest.y, rest.z, rest.w, reinterpret_cast<const unsigned *>(second)[0]};
    }
}

// Vectors of the elements from `data` on, at any address. Vector v starts in number(v) of those that lie on the
// boundaries from the one that holds `data` on, and ends in number_behind(v).
template <class T, int Vectors, class Number, class NumberBehind>
__device__ __forceinline__ void load_vectors(const T *data, uint4 (&vectors)[Vectors], Number number,
                                             NumberBehind number_behind) {
    const unsigned offset = offset_in_vector(data);
    const uint4 *base = reinterpret_cast<const uint4 *>(reinterpret_cast<const char *>(data) - offset);
    if (sizeof(T) < 4 || offset == 0) {
#pragma unroll
        for (int v = 0; v < Vectors; ++v) {
            vectors[v] = load_vector(base + number(v));
        }
    }
    if (offset != 0) {
        uint4 behind[Vectors];
        if constexpr (sizeof(T) < 4) {
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                behind[v] = load_vector(base + number_behind(v));
            }
        }
        with_words<T>(offset, [&](auto words) {
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                if constexpr (sizeof(T) < 4) {
                    vectors[v] = across_vectors<T, words>(vectors[v], behind[v], offset % 4 * 8);
                } else {
                    vectors[v] = load_across<T, words>(base + number(v), base + number_behind(v));
                }
            }
        });
    }
}

// An address to which constants are added is added up once and not for each of them.
__device__ __forceinline__ void keep_as_it_is(char *&address) { asm volatile("" : "+l"(address)); }

// Whether the whole vectors that hold these elements lie within what may be read.
template <class T>
__device__ __forceinline__ bool is_readable(const ReadableRange &readable_range, const T *data, int count) {
    const char *first = reinterpret_cast<const char *>(data), *end = reinterpret_cast<const char *>(data + count);
    return first - offset_in_vector(first) >= readable_range.begin &&
           end + (vector_bytes - offset_in_vector(end)) % vector_bytes <= readable_range.end;
}

// The same of no more than a tile, asked in the way that nearly all answer.
template <class T>
__device__ __forceinline__ bool is_tile_readable(const ReadableRange &readable_range,
                                                 const ReadableRange &vector_safe_range, const T *data, int count) {
    const char *first = reinterpret_cast<const char *>(data);
    return (first >= vector_safe_range.begin && first < vector_safe_range.end) ||
           is_readable(readable_range, data, count);
}

__device__ __forceinline__ void copy_vector(unsigned to, const uint4 *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
}

// Bytes of a stage for so many elements: one vector more, for those before the first one and for reading across the
// end.
template <class T, int Elements>
inline constexpr int stage_bytes = Elements * static_cast<int>(sizeof(T)) + vector_bytes;

// Elements that lie in the vector of a run's first element before it.
template <class T>
__device__ __forceinline__ int elements_before(const T *data) {
    return static_cast<int>(offset_in_vector(data) / sizeof(T));
}

// Copies elements of a run's first and last vector: those below `head`, and those from `tail` to `count`, of which
// there are fewer than a vector has each.
template <class T>
__device__ __forceinline__ void copy_ends(T *to, const T *from, int head, int tail, int count) {
    constexpr int each = vector_elements<T>;
    const bool in_head = lane_index() < each;
    const int i = in_head ? lane_index() : tail + lane_index() - each;
    if (lane_index() < 2 * each && i < (in_head ? head : count)) {
        to[i] = from[i];
    }
}

// Starts copying `count` elements, of up to Elements, to the stage: element i becomes number elements_before(data) + i.
// Readable: the whole vectors that hold them may be read.
template <class T, int Elements>
__device__ __forceinline__ void copy_to_stage(bool readable, const T *data, int count, void *stage) {
    constexpr int each = vector_elements<T>;
    const int before = elements_before(data);
    const uint4 *vectors = reinterpret_cast<const uint4 *>(data - before);
    int begin = 0, end = divide_up(before + count, each);
    if (!readable) {
        const int head = smaller(each - before, count), tail = larger((end - 1) * each - before, head);
        copy_ends(static_cast<T *>(stage) + before, data, head, tail, count);
        ++begin;
        --end;
    }
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(stage));
#pragma unroll
    for (int i = 0; i < divide_up(stage_bytes<T, Elements> / vector_bytes, warp_lanes); ++i) {
        const int number = i * warp_lanes + lane_index();
        if (number >= begin && number < end) {
            copy_vector(to + static_cast<unsigned>(number * vector_bytes), vectors + number);
        }
    }
}
template <class T, int Elements>
__device__ __forceinline__ void copy_to_stage(const SoftmaxArguments &a, const T *data, int count, void *stage) {
    const bool readable = Elements <= static_cast<int>(softmax_block)
                              ? is_tile_readable(a.readable_range, a.vector_safe_range, data, count)
                              : is_readable(a.readable_range, data, count);
    copy_to_stage<T, Elements>(readable, data, count, stage);
}

// Writes elements `before` to `before + count` of the stage to the output. Together: the vectors of a lane that are
// read before the first of them is written.
template <class T, int Elements, int Together = 3>
__device__ __forceinline__ void copy_from_stage(T *output, int count, const void *stage, int before) {
    constexpr unsigned element = sizeof(T), vector = vector_bytes, line = line_bytes;
    constexpr int rounds = static_cast<int>(Elements * element / vector) / warp_lanes + 1;
    const unsigned bytes = static_cast<unsigned>(count) * element;
    const unsigned in_line = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(output)) % line;
    const unsigned first = (in_line + vector - 1) / vector; // of the line's vectors, the first that the run may fill
    const unsigned head = smaller((0u - in_line) % vector, bytes);
    const unsigned whole = (bytes - head) / vector;
    const unsigned skipped = head + static_cast<unsigned>(before) * element;
    const unsigned own = static_cast<unsigned>(lane_index()) - first; // of those that it may, and each 32nd behind it
    const uint4 *from = static_cast<const uint4 *>(stage) + static_cast<int>(skipped / vector + own);
    char *to = reinterpret_cast<char *>(output) + (lane_index() * vector_bytes - static_cast<int>(in_line));
    if constexpr (sizeof(T) < sizeof(float)) { // f32 loses by it (H200, 128 off by one: 4.02 TB/s, with it 3.90)
        keep_as_it_is(to);
    }
    const unsigned offset = skipped % vector;
    with_words<T>(offset, [&](auto words) {
#pragma unroll
        for (int i = 0; i < rounds; i += Together) {
            uint4 vectors[Together];
#pragma unroll
            for (int j = 0; j < Together && i + j < rounds; ++j) {
                if (own + static_cast<unsigned>((i + j) * warp_lanes) < whole) {
                    vectors[j] = across_vectors<T, words>(from[(i + j) * warp_lanes], from[(i + j) * warp_lanes + 1],
                                                          offset % 4 * 8);
                }
            }
#pragma unroll
            for (int j = 0; j < Together && i + j < rounds; ++j) {
                if (own + static_cast<unsigned>((i + j) * warp_lanes) < whole) {
                    store_vector(to + (i + j) * warp_lanes * vector_bytes, vectors[j]);
                }
            }
        }
    });
    const unsigned tail = (head + whole * vector) / element;
    copy_ends(output, static_cast<const T *>(stage) + before, static_cast<int>(head / element), static_cast<int>(tail),
              count);
}

} // namespace wr::cuda
