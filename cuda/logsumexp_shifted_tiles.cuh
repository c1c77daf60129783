// The tiles of rows wherever they start and end: the whole vectors that hold a row are brought into shared memory, and
// each lane shifts what it takes from there. (Shifting sums instead, of which few cross from lane to lane, is slower:
// every exponential then waits for the last; 50257 f32 on an H200 2.60 TB/s, 2.79 so.)
#pragma once

#include "cuda/logsumexp_tiles.cuh"
#include "cuda/softmax_realigned.cuh"

namespace wr::cuda {

// What a tile holds of one row, in memory.
template <class T>
struct RowInTile {
    const char *first; // the vector of the first element
    int before;        // elements of that vector that lie before the row
    int vectors;

    __device__ __forceinline__ RowInTile(const char *data, int count) {
        before = elements_of_vector_before(reinterpret_cast<const T *>(data));
        first = data - before * static_cast<int>(sizeof(T));
        vectors = divide_up(before + count, vector_elements<T>);
    }
};

// What begins `Distance` words further on.
template <int Distance, int Count, int Room>
__device__ __forceinline__ void drop_words(unsigned (&words)[Room]) {
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        words[i] = words[i + Distance];
    }
}

template <class Type>
struct ShiftedTiles {
    using T = Type;
    static constexpr int elements = vector_elements<T>;
    // Each row has a vector more than its elements need where they start on a boundary.
    static constexpr int stage_vectors = warp_lanes * (chunk_vectors<T> + 1);
    // 16 bits, with 4: 50257 bf16 1.90 TB/s on an H200, with 3 2.19; f32, with 2: 2.93, with 3 3.02.
    static constexpr int resident_blocks = 3;

    // Starts the copies of a tile.
    __device__ __forceinline__ static void start(const LogSumExpArguments &a, const TileWalk &walk,
                                                 const Stage &stage) {
        if (is_cut(a, walk)) {
            copy_cut_tile(walk.data, a.gapped ? rows_of_tile(a, walk) : 1, a.short_row_bytes, elements_of_row(a, walk),
                          row_room(a), a.hull, stage.vectors);
        } else if (a.gapped) {
            start_rows(a, walk.data, rows_of_tile(a, walk), stage.vectors);
        } else {
            start_row(walk, stage);
        }
    }

    // Makes what the copies have brought a tile: behind a row's end stands something else yet, if only of the tile
    // before.
    __device__ __forceinline__ static void finish(const LogSumExpArguments &a, const TileWalk &walk,
                                                  const Stage &stage) {
        const int count = elements_of_row(a, walk);
        if (count == static_cast<int>(softmax_block)) {
            return;
        }
        if (lane_index() < rows_of_stage(a)) {
            const RowInTile<T> row(row_data(a, walk, lane_index()), count);
            const int end = (a.gapped ? a.row_vectors : row.vectors) * elements;
            const int first = lane_index() * row_room(a);
            for (int i = row.before + count; i < end; ++i) {
                reinterpret_cast<T *>(stage.vectors + staged_place(first + i / elements))[i % elements] =
                    filler<T>(false);
            }
        }
        __syncwarp();
    }

    __device__ __forceinline__ static Chunk<T> chunk(const LogSumExpArguments &a, const TileWalk &walk,
                                                     const Stage &stage) {
        constexpr int count = chunk_words<T>;
        const int row = lane_index() / a.row_lanes;
        unsigned words[count + 4];
#pragma unroll
        for (int j = 0; j <= chunk_vectors<T>; ++j) {
            const uint4 vector = stage.vectors[staged_place(lane_index() * chunk_vectors<T> + row + j)];
            memcpy(words + 4 * j, &vector, sizeof(vector));
        }
        const int shift = elements_of_vector_before(reinterpret_cast<const T *>(row_data(a, walk, row)));
        const int dropped = shift * static_cast<int>(sizeof(T)) / 4;
        if ((dropped & 2) != 0) {
            drop_words<2, count + 2>(words);
        }
        if ((dropped & 1) != 0) {
            drop_words<1, count + 1>(words);
        }
        Chunk<T> taken;
#pragma unroll
        for (int i = 0; i < count; ++i) {
            taken.words[i] = words[i];
            if constexpr (sizeof(T) == 2) {
                taken.words[i] = __funnelshift_r(words[i], words[i + 1], static_cast<unsigned>(shift) % 2 * 16);
            }
        }
        return taken;
    }

  private:
    __device__ __forceinline__ static int rows_of_stage(const LogSumExpArguments &a) {
        return warp_lanes / a.row_lanes;
    }
    // Vectors of the stage from a row to the next.
    __device__ __forceinline__ static int row_room(const LogSumExpArguments &a) {
        return a.row_lanes * chunk_vectors<T> + 1;
    }
    __device__ __forceinline__ static int elements_of_row(const LogSumExpArguments &a, const TileWalk &walk) {
        return a.gapped ? static_cast<int>(a.axis) : smaller(walk.elements, static_cast<int>(softmax_block));
    }
    __device__ __forceinline__ static const char *row_data(const LogSumExpArguments &a, const TileWalk &walk, int row) {
        return walk.data + row * a.short_row_bytes;
    }

    // Whether vectors may reach beyond what may be read.
    __device__ __forceinline__ static bool is_cut(const LogSumExpArguments &a, const TileWalk &walk) {
        const int high = a.gapped
                             ? a.tile_high
                             : smaller(walk.elements, static_cast<int>(softmax_block)) * static_cast<int>(sizeof(T));
        return walk.data + a.tile_low < a.whole_vectors.begin || walk.data + high > a.whole_vectors.end;
    }

    // By value, for what has an address waits in memory.
    __device__ __noinline__ static void copy_cut_tile(const char *data, int rows, int row_bytes, int count, int room,
                                                      Hull hull, uint4 *stage) {
        for (int number = 0; number < rows; ++number) {
            const RowInTile<T> row(data + number * row_bytes, count);
            for (int v = lane_index(); v < room; v += warp_lanes) {
                stage[staged_place(number * room + v)] =
                    v < row.vectors ? load_within_hull(reinterpret_cast<const T *>(row.first) + v * elements, hull)
                                    : filler_vector<T>(false);
            }
        }
    }

    __device__ __noinline__ static void start_rows(const LogSumExpArguments &a, const char *data, int rows,
                                                   uint4 *stage) {
#pragma unroll
        for (int j = 0; j <= chunk_vectors<T>; ++j) {
            const int g = j * warp_lanes + lane_index();
            const int number = g * a.row_reciprocal >> 16, v = g - number * a.row_vectors;
            const RowInTile<T> row(data + number * a.short_row_bytes, static_cast<int>(a.axis));
            if (number < rows && v < row.vectors) {
                copy_vector_async(stage + staged_place(number * row_room(a) + v), row.first + v * vector_bytes);
            }
        }
    }

    __device__ __forceinline__ static void start_row(const TileWalk &walk, const Stage &stage) {
        constexpr int whole = warp_lanes * chunk_vectors<T>;
        const RowInTile<T> row(walk.data, smaller(walk.elements, static_cast<int>(softmax_block)));
        const char *mine = row.first + lane_index() * vector_bytes;
        if (row.vectors >= whole) {
#pragma unroll
            for (int j = 0; j < chunk_vectors<T>; ++j) {
                copy_vector_async(stage.place(j), mine + j * warp_lanes * vector_bytes);
            }
            if (lane_index() == 0) {
                if (row.vectors > whole) {
                    copy_vector_async(stage.vectors + whole, mine + whole * vector_bytes);
                } else {
                    stage.vectors[whole] = filler_vector<T>(false); // a shifted row may end just before it
                }
            }
        } else {
            const int left = row.vectors - lane_index();
#pragma unroll
            for (int j = 0; j < chunk_vectors<T>; ++j) {
                if (j * warp_lanes < left) {
                    copy_vector_async(stage.place(j), mine + j * warp_lanes * vector_bytes);
                } else {
                    *stage.place(j) = filler_vector<T>(false);
                }
            }
            if (lane_index() == 0) {
                stage.vectors[whole] = filler_vector<T>(false);
            }
        }
    }
};

} // namespace wr::cuda
