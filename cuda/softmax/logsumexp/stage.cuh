// How a warp brings a tile of rows into its part of shared memory, where it lies as it did in memory: by the 16-byte
// vectors on their boundaries that hold it.
#pragma once

#include "cuda/rowwise/unaligned_vectors.cuh"
#include "cuda/softmax/logsumexp/walk.cuh"

namespace wr::cuda {

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

} // namespace wr::cuda
