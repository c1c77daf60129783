// Columns of whole vectors that threads walk downwards: where a thread's run of rows is, the tree over what it comes
// to, and who puts the runs of a tile together.
#pragma once

#include "cuda/rowwise/column_plan.h"
#include "cuda/softmax/tile.cuh"

namespace wr::cuda {

inline constexpr int two_pass_column_run_rows = static_cast<int>(softmax_block) / two_pass_column_runs;

// Blocks of threads that a multiprocessor should hold: what is on its way to them is several times what memory needs.
inline constexpr int two_pass_column_resident_blocks = 3;

// The run of a thread in its block's tile.
template <class T>
struct TwoPassColumnPlace {
    static constexpr int each = vector_elements<T>;
    std::size_t outer, inner, first; // the first of its columns, its first row
    int count;                       // its rows; 0 where there are none

    // Of arrays [axis][columns].
    __device__ __forceinline__ TwoPassColumnPlace(const TwoPassColumnTiles &tiles, std::size_t axis,
                                                  std::size_t columns, std::uint32_t tile) {
        const auto x = static_cast<unsigned>(threadIdx.x);
        const std::uint32_t line = tile / tiles.across; // of tiles
        outer = line / tiles.down;
        inner = (static_cast<std::size_t>(tile - line * tiles.across) << tiles.log_across) * each +
                (x & ((1u << tiles.log_across) - 1)) * each;
        const std::size_t runs = two_pass_column_threads >> tiles.log_across; // of a tile
        first = (line % tiles.down * runs + (x >> tiles.log_across)) * two_pass_column_run_rows;
        count = inner < columns && first < axis
                    ? static_cast<int>(smaller<std::size_t>(axis - first, two_pass_column_run_rows))
                    : 0;
    }

    // Its first vector in an array of these strides.
    __device__ __forceinline__ const T *in(const void *array, std::ptrdiff_t outer_stride,
                                           std::ptrdiff_t axis_stride) const {
        return static_cast<const T *>(array) + static_cast<std::ptrdiff_t>(outer) * outer_stride +
               static_cast<std::ptrdiff_t>(first) * axis_stride + static_cast<std::ptrdiff_t>(inner);
    }
    // The same in a contiguous array.
    __device__ __forceinline__ T *in_output(void *array, std::size_t axis, std::size_t columns) const {
        return static_cast<T *>(array) + (outer * axis + first) * columns + inner;
    }

    // The number of one of its columns among all.
    __device__ __forceinline__ std::size_t column(std::size_t columns, int which) const {
        return outer * columns + inner + static_cast<unsigned>(which);
    }
};

// A column of one of the tile's tiles, which this thread finishes.
template <class T>
struct TwoPassColumnItem {
    static constexpr int each = vector_elements<T>;
    bool exists;
    std::size_t split; // among the splits of all columns, a tile each
    int first, step;   // where the tile's runs left what belongs to it

    __device__ __forceinline__ TwoPassColumnItem(const TwoPassColumnTiles &tiles, std::size_t columns,
                                                 std::size_t splits, std::uint32_t tile) {
        const auto x = static_cast<unsigned>(threadIdx.x), side = static_cast<unsigned>(each) << tiles.log_across;
        const unsigned own = x / side, column = x % side;
        const std::uint32_t line = tile / tiles.across;
        const std::size_t inner = static_cast<std::size_t>(tile - line * tiles.across) * side + column;
        const std::size_t base = static_cast<std::size_t>(line % tiles.down) * (warp_lanes >> tiles.log_across) + own;
        exists = x < static_cast<unsigned>(warp_lanes * each) && inner < columns && base < splits;
        split = (line / tiles.down * columns + inner) * splits + base;
        first = static_cast<int>(own * two_pass_column_runs * side + column);
        step = static_cast<int>(side);
    }

    // The natural tree over what the tile's runs left of the column.
    template <class Sum>
    __device__ __forceinline__ Sum tree(const Sum *sums) const {
        Sum of_runs[two_pass_column_runs];
#pragma unroll
        for (int run = 0; run < two_pass_column_runs; ++run) {
            of_runs[run] = sums[first + run * step];
        }
        return run_sum<two_pass_column_runs, Sum>(of_runs);
    }
};

// Some rows of a vector of columns, asked for at once; behind the last of `left` stands that one again.
template <class T, int Rows>
__device__ __forceinline__ void load_two_pass_column_rows(const T *from, std::ptrdiff_t stride, int left,
                                                          uint4 (&v)[Rows]) {
#pragma unroll
    for (int i = 0; i < Rows; ++i) {
        v[i] = load_vector(from);
        from += i + 1 < left ? stride : 0;
    }
}

// Behind all loads of a group: else the compiler asks for some of them when it is done with others.
__device__ __forceinline__ void all_are_asked_for() { __syncwarp(__activemask()); }

// The natural tree over the groups of a run, in each column. What waits for its neighbour waits in shared memory: as
// many registers would keep loads from being asked for together.
template <class Sum, int Columns, int Group>
class TwoPassColumnTree {
    static constexpr int levels = log2_of(two_pass_column_run_rows / Group);

  public:
    using Memory = Sum[levels][Columns][two_pass_column_threads]; // that of a whole run takes the first place

    __device__ __forceinline__ explicit TwoPassColumnTree(Memory &shared) : waiting(shared) {}

    __device__ __forceinline__ void push(Sum (&sums)[Columns]) {
        const auto x = static_cast<int>(threadIdx.x);
        int level = 0;
#pragma unroll 1
        for (; ((groups >> level) & 1) != 0; ++level) {
#pragma unroll
            for (int c = 0; c < Columns; ++c) {
                sums[c] = waiting[level][c][x] + sums[c];
            }
        }
#pragma unroll
        for (int c = 0; c < Columns; ++c) {
            waiting[level % levels][c][x] = sums[c];
        }
        ++groups;
    }

    __device__ __forceinline__ Sum result(int column) const {
        Sum sum = Sum(-0.0); // which changes nothing
#pragma unroll 1
        for (int level = 0; level <= levels; ++level) {
            if (((groups >> level) & 1) != 0) {
                sum = waiting[level % levels][column][threadIdx.x] + sum;
            }
        }
        return sum;
    }

  private:
    Memory &waiting;
    int groups = 0;
};

} // namespace wr::cuda
