// Which tiles of 1024 elements of rows a warp takes, and where they lie in memory.
#pragma once

#include "cuda/common/vectors.h"
#include "cuda/rowwise/unaligned_vectors.cuh"
#include "cuda/softmax/arguments.h"
#include "cuda/softmax/outputs.cuh"

namespace wr::cuda {

// Each warp reads a run of neighbouring tiles: a share of the tiles of its block's one unit, or units of its own.
// (Warps that take neighbouring tiles in turn are slower: 4.15 instead of 4.32 TB/s on an H200.)
struct TileWalk {
    std::uint32_t unit;
    int block, blocks; // of the unit, as far as it is the warp's
    const char *data;
    int elements; // from `data` on to the end of the unit, where rows touch each other

    // Whether there is a tile for this warp.
    template <class T>
    __device__ __forceinline__ bool enter(const LogSumExpArguments &a) {
        if (a.by_blocks) {
            unit = blockIdx.x;
            const std::uint32_t row = unit / a.splits, split = unit - row * a.splits;
            const int all = unit_tiles(a, split), each = divide_up(all, logsumexp_block_warps);
            block = warp_index() * each;
            blocks = smaller(block + each, all);
            elements = (split + 1 == a.splits ? a.last_elements : a.unit_elements) - block * block_elements;
            data = static_cast<const char *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.row_step +
                   (static_cast<std::ptrdiff_t>(split) * a.unit_tiles + block) * block_bytes<T>;
            return block < blocks;
        }
        unit = (blockIdx.x * static_cast<std::uint32_t>(logsumexp_block_warps) +
                static_cast<std::uint32_t>(warp_index())) *
               a.units_a_warp;
        block = 0;
        blocks = a.unit_tiles;
        elements = unit + 1 == a.units ? a.last_elements : a.unit_elements;
        data = static_cast<const char *>(a.input) + static_cast<std::ptrdiff_t>(unit) * a.row_step;
        return unit < a.units;
    }

    template <class T>
    __device__ __forceinline__ bool advance(const LogSumExpArguments &a, std::uint32_t end) {
        if (++block < blocks) {
            data += block_bytes<T>;
            elements -= block_elements;
            return true;
        }
        if (a.by_blocks) {
            return false;
        }
        ++unit;
        block = 0;
        elements = unit + 1 == a.units ? a.last_elements : a.unit_elements;
        data += a.unit_step;
        return unit < end;
    }

    // What the compiler has worked out of the tiles behind is worked out again: else it waits in registers.
    __device__ __forceinline__ void forget() { asm volatile("" : "+r"(unit), "+r"(block), "+r"(elements), "+l"(data)); }

    // Of the tile.
    __device__ __forceinline__ int count() const { return smaller(elements, block_elements); }

    // Where short rows share it.
    __device__ __forceinline__ int rows(const LogSumExpArguments &a) const {
        return static_cast<int>(
            smaller<std::size_t>(a.rows - unit * static_cast<std::size_t>(a.tile_rows), a.tile_rows));
    }

    __device__ __forceinline__ static int unit_tiles(const LogSumExpArguments &a, std::uint32_t split) {
        return split + 1 == a.splits ? a.last_tiles : a.unit_tiles;
    }

    template <class T>
    static constexpr int block_bytes = static_cast<int>(softmax_block * sizeof(T));
    static constexpr int block_elements = static_cast<int>(softmax_block);
};

// How a warp brings a tile of rows into its part of shared memory, where it lies as it did in memory: by the 16-byte
// vectors on their boundaries that hold it.

// Vectors of the elements that a lane takes.
template <class T>
inline constexpr int chunk_vectors = lane_elements / vector_elements<T>;

// Of a warp's stage. Rows that lie apart have a vector more each than their elements need where they begin on a
// boundary.
template <class T>
inline constexpr int tile_stage_vectors = warp_lanes * (chunk_vectors<T> + 1);

__device__ __forceinline__ unsigned shared_address(const void *place) {
    return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

// To an address in shared memory.
__device__ __forceinline__ void copy_vector_async(unsigned to, const char *from) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void await_copies() { asm volatile("cp.async.wait_all;" ::: "memory"); }

// Bytes of its first vector that lie before an address.
__device__ __forceinline__ int bytes_before(const char *address) {
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(address) % vector_bytes);
}

template <class T, Alignment Where>
struct TileStage {
    static constexpr int elements = vector_elements<T>, lane_stride = warp_lanes * vector_bytes;
    uint4 *vectors;
    unsigned own;        // the lane's first vector, an address in shared memory,
    unsigned lane_bytes; // and how far it lies from the warp's

    __device__ __forceinline__ explicit TileStage(uint4 *of_warp)
        : vectors(of_warp), own(shared_address(of_warp + lane_from_register())),
          lane_bytes(static_cast<unsigned>(lane_from_register()) * vector_bytes) {
        asm("" : "+r"(own), "+r"(lane_bytes)); // the compiler would compute them again for each tile
    }

    // Starts the copies of a tile.
    __device__ __forceinline__ void start(const LogSumExpArguments &a, const TileWalk &walk) const {
        if constexpr (Where == Alignment::vector) {
            start_whole(walk);
        } else if (may_be_masked(a, walk) && is_masked(a, walk.data, walk.count() * static_cast<int>(sizeof(T)))) {
            if (a.apart) {
                copy_masked_rows(walk.data, walk.rows(a), a.row_bytes, static_cast<int>(a.axis), a.row_vectors,
                                 a.readable_range, vectors);
            } else {
                copy_masked_rows(walk.data, 1, 0, walk.count(), tile_stage_vectors<T>, a.readable_range, vectors);
            }
        } else if (a.apart) {
            start_rows(a, walk.data, walk.rows(a), vectors);
        } else {
            start_whole(walk);
        }
    }

    // What stands behind a row's last elements, where a warp has the tile for them alone.
    __device__ __forceinline__ void fill_behind(const char *data, int count) const {
        const unsigned before = Where == Alignment::vector ? 0 : static_cast<unsigned>(bytes_before(data)) / sizeof(T);
        const unsigned lane = lane_bytes / vector_bytes, end = before + static_cast<unsigned>(count),
                       first = divide_up(end, unsigned{elements});
        if (end + lane < first * elements) {
            reinterpret_cast<T *>(vectors)[end + lane] = filler<T>(false);
        }
#pragma unroll 1
        for (unsigned v = first + lane; v <= warp_lanes * chunk_vectors<T>; v += warp_lanes) {
            vectors[v] = filler_vector<T>(false);
        }
        __syncwarp();
    }

  private:
    // Whether vectors may reach beyond what may be read. Where rows do not share elements and come one behind the other
    // they do so in the first unit and in the last two alone, of which the last may be a single element.
    __device__ __forceinline__ static bool may_be_masked(const LogSumExpArguments &a, const TileWalk &walk) {
        return a.any_may_be_masked || walk.unit == 0 || walk.unit + 2 >= a.units;
    }
    __device__ __forceinline__ static bool is_masked(const LogSumExpArguments &a, const char *data, int bytes) {
        const bool several = a.tile_rows > 1;
        return data + (several ? a.tile_low : 0) < a.whole_vectors.begin ||
               data + (several ? a.tile_high : bytes) > a.whole_vectors.end;
    }

    // A tile in one piece.
    __device__ __forceinline__ void start_whole(const TileWalk &walk) const {
        constexpr int whole = lane_stride * chunk_vectors<T>, middle = whole / 2;
        const unsigned before = Where == Alignment::vector ? 0 : static_cast<unsigned>(bytes_before(walk.data));
        // A copy reaches 2 KiB either way, so that all share one address.
        const char *mine = walk.data - before + lane_bytes + middle;
        asm("" : "+l"(mine));
        bool has_more = before != 0;
        if (walk.elements < TileWalk::block_elements) {
            const unsigned bytes = before + static_cast<unsigned>(walk.elements) * static_cast<unsigned>(sizeof(T));
            const int left = static_cast<int>(bytes - lane_bytes);
#pragma unroll
            for (int v = 0; v < chunk_vectors<T>; ++v) {
                if (v * lane_stride < left) {
                    copy_vector_async(own + v * lane_stride, mine + (v * lane_stride - middle));
                }
            }
            has_more = bytes > whole;
        } else {
#pragma unroll
            for (int v = 0; v < chunk_vectors<T>; ++v) {
                copy_vector_async(own + v * lane_stride, mine + (v * lane_stride - middle));
            }
        }
        if (Where == Alignment::element && has_more && lane_bytes == 0) {
            copy_vector_async(own + whole, mine + middle);
        }
    }

    // Each row from a vector of its own on.
    __device__ __noinline__ static void start_rows(const LogSumExpArguments &a, const char *data, int rows,
                                                   uint4 *stage) {
#pragma unroll 1
        for (int number = lane_from_register(); number < rows * a.row_vectors; number += warp_lanes) {
            const int row = number * a.row_reciprocal >> 16, v = number - row * a.row_vectors;
            const char *first = data + row * a.row_bytes;
            const int before = bytes_before(first), bytes = static_cast<int>(a.axis * sizeof(T));
            if (v * static_cast<int>(vector_bytes) < before + bytes) {
                copy_vector_async(shared_address(stage + number), first - before + v * static_cast<int>(vector_bytes));
            }
        }
    }

    // The same, and of one row, without reading beyond the readable range. By value, for what has an address waits in
    // memory.
    __device__ __noinline__ static void copy_masked_rows(const char *data, int rows, int row_bytes, int count, int room,
                                                         ReadableRange readable_range, uint4 *stage) {
        for (int row = 0; row < rows; ++row) {
            const char *first = data + row * row_bytes;
            const int before = bytes_before(first),
                      there = divide_up(before + count * static_cast<int>(sizeof(T)), static_cast<int>(vector_bytes));
            for (int v = lane_from_register(); v < smaller(there, room); v += warp_lanes) {
                stage[row * room + v] =
                    load_within_range(reinterpret_cast<const T *>(first - before) + v * elements, readable_range);
            }
        }
    }
};

// How each lane takes its 32 neighbours of a row out of a warp's stage: a row of up to 32 elements is one lane's, and a
// tile all lanes'.

// The elements of a lane as words: vectors of its elements in an order in which lanes that read side by side meet
// different banks. Each stands in the place of the one whose number differs by the lane's turn in binary, so that only
// left and right change places in the tree over them.
template <class T>
inline constexpr int chunk_words = chunk_vectors<T> * 4;
template <class T>
__device__ __forceinline__ unsigned turn_of_lane() {
    constexpr unsigned vectors_of_banks = 8; // that a warp can read at a time without meeting
    return static_cast<unsigned>(lane_from_register()) * chunk_vectors<T> / vectors_of_banks % chunk_vectors<T>;
}

// One bit for each of a lane's elements, of which the first `count` are there, in the chunk's order.
template <class T>
__device__ __forceinline__ unsigned present_bits(int count) {
    unsigned bits = ~bits_from(larger(count, 0));
    const unsigned turn = turn_of_lane<T>();
    if constexpr (vector_elements<T> == 4) {
        constexpr unsigned low_nibbles = 0x0F0F0F0F;
        bits = (turn & 1) != 0 ? (bits & low_nibbles) << 4 | (bits >> 4 & low_nibbles) : bits;
    }
    const unsigned of_bytes = turn * vector_elements<T> / 8;
    return __byte_perm(bits, 0, 0x3210u ^ of_bytes * 0x1111u);
}

// Word number Word from an address in shared memory on.
template <int Word>
__device__ __forceinline__ unsigned shared_word(unsigned address) {
    unsigned word;
    asm volatile("ld.shared.u32 %0, [%1 + %2];" : "=r"(word) : "r"(address), "n"(4 * Word) : "memory");
    return word;
}

template <class T>
struct Chunk {
    unsigned words[chunk_words<T>];

    __device__ __forceinline__ float operator[](int i) const { return __uint_as_float(words[i]); }

    // The lower one says nothing about NaN, and is 0 where no element is below.
    __device__ __forceinline__ void extremes(float &lowest, float &highest) const {
        float least = highest = __uint_as_float(words[0]);
#pragma unroll
        for (int i = 1; i < lane_elements; ++i) {
            highest = larger_with_nan(highest, __uint_as_float(words[i]));
            least = lower_below_zero(least, __uint_as_float(words[i]));
        }
        lowest = fminf(least, 0.0f);
    }

    // -infinity where a bit is 0.
    __device__ __forceinline__ void leave(unsigned present) {
#pragma unroll
        for (int v = 0; v < chunk_vectors<T>; ++v) {
            unsigned bits = present >> v * 4;
            asm("" : "+r"(bits)); // so that a vector's tests come from one register at a time
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                words[v * 4 + i] = (bits & 1u << i) != 0 ? words[v * 4 + i] : __float_as_uint(filler<float>(false));
            }
        }
    }

    // The words of a vector that stands at `at`.
    __device__ __forceinline__ static uint4 read(unsigned at, unsigned) {
        return {shared_word<0>(at), shared_word<1>(at), shared_word<2>(at), shared_word<3>(at)};
    }
};
template <class Half>
    requires(sizeof(Half) == 2)
struct Chunk<Half> {
    unsigned words[chunk_words<Half>];

    __device__ __forceinline__ static float half_of(unsigned pair, int i) {
        return widen(Half{static_cast<std::uint16_t>(i % 2 == 0 ? pair & 0xFFFFu : pair >> 16)});
    }
    __device__ __forceinline__ float operator[](int i) const { return half_of(words[i / 2], i); }

    __device__ __forceinline__ void extremes(float &lowest, float &highest) const {
        unsigned largest = words[0], least = words[0];
#pragma unroll
        for (int i = 1; i < lane_elements / 2; ++i) {
            largest = larger_pair(largest, words[i], Half());
            least = smaller_pair(least, words[i], Half());
        }
        highest = larger_with_nan(half_of(largest, 0), half_of(largest, 1));
        lowest = fminf(half_of(least, 0), half_of(least, 1));
    }

    __device__ __forceinline__ void leave(unsigned present) {
        const unsigned one = filler<Half>(false).bits;
#pragma unroll
        for (int v = 0; v < chunk_vectors<Half>; ++v) {
            unsigned bits = present >> v * 8;
            asm("" : "+r"(bits));
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                const unsigned first = (bits & 1u << 2 * i) != 0 ? words[v * 4 + i] : one << 16 | one;
                words[v * 4 + i] = (bits & 2u << 2 * i) != 0 ? first : (first & 0xFFFFu) | one << 16;
            }
        }
    }

    // Of a vector that begins `bits` behind `at`.
    __device__ __forceinline__ static uint4 read(unsigned at, unsigned bits) {
        const unsigned w[5] = {shared_word<0>(at), shared_word<1>(at), shared_word<2>(at), shared_word<3>(at),
                               shared_word<4>(at)};
        return {__funnelshift_r(w[0], w[1], bits), __funnelshift_r(w[1], w[2], bits), __funnelshift_r(w[2], w[3], bits),
                __funnelshift_r(w[3], w[4], bits)};
    }
};

// The chunk that begins at an address in shared memory. `turn`: the lane's, in bytes.
template <class T, Alignment Where>
__device__ __forceinline__ Chunk<T> read_chunk(unsigned address, unsigned turn) {
    Chunk<T> taken;
#pragma unroll
    for (int v = 0; v < chunk_vectors<T>; ++v) {
        const unsigned turned = turn ^ v * static_cast<unsigned>(vector_bytes);
        uint4 vector;
        if constexpr (Where == Alignment::vector) {
            asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
                         : "=r"(vector.x), "=r"(vector.y), "=r"(vector.z), "=r"(vector.w)
                         : "r"(address + turned)
                         : "memory");
        } else {
            vector = Chunk<T>::read((address & ~3u) + turned, address % 4 * 8);
        }
        memcpy(taken.words + 4 * v, &vector, sizeof(vector));
    }
    return taken;
}

} // namespace wr::cuda
