// Rows of up to 512 neighbouring elements, one behind the other: a warp takes as many as give each lane up to 64
// elements of one row, through shared memory, whatever their length and alignment.
#pragma once

#include "cuda/softmax_column_tiles.cuh"

namespace wr::cuda {

inline constexpr int short_run = 64;      // elements of a lane
inline constexpr int short_row_lanes = 8; // of a row, at most
inline constexpr int most_short_row = short_run * short_row_lanes;

template <class T>
inline constexpr int short_row_warps = sizeof(T) == 8 ? 2 : 4; // of a block

// Elements in shared memory, one place in 33 left out, so that lanes that walk rows of even lengths meet different
// banks.
template <class Float>
struct SkewedElements {
    static constexpr int capacity = short_run * warp_lanes + line_bytes;
    Float places[capacity + capacity / 32];

    __device__ __forceinline__ Float &operator[](int i) { return places[i + (static_cast<unsigned>(i) >> 5)]; }
};

// The rows that a warp works on, as one run of elements.
struct ShortRows {
    std::uint64_t first; // row
    int rows, count;     // rows present and their elements

    __device__ __forceinline__ ShortRows(const SoftmaxArguments &a, int rows_of_warp, int warps_of_block) {
        first = (blockIdx.x * static_cast<std::uint64_t>(warps_of_block) + static_cast<std::uint64_t>(warp_again())) *
                static_cast<std::uint64_t>(rows_of_warp);
        rows = first < a.outer ? static_cast<int>(smaller<std::uint64_t>(a.outer - first, rows_of_warp)) : 0;
        count = rows * static_cast<int>(a.axis);
    }
};

// From global to shared memory; element i of the run becomes number skipped + i, `skipped` elements of the run's first
// line lying before it.
template <class T, class Float>
__device__ __forceinline__ void load_run(const SoftmaxArguments &a, const T *data, int count, int skipped,
                                         SkewedElements<Float> &elements) {
    constexpr int each = vector_elements<T>;
    const T *lines = data - skipped;
    const int end = skipped + count;
#pragma unroll 4
    for (int at = lane_index() * each; at < end; at += warp_lanes * each) {
        T raw[each];
        const char *bytes = reinterpret_cast<const char *>(lines + at);
        if (bytes >= a.hull_begin && bytes + vector_bytes <= a.hull_end) {
            const uint4 vector = load_vector(bytes);
            memcpy(raw, &vector, sizeof(vector));
        } else {
#pragma unroll
            for (int j = 0; j < each; ++j) {
                raw[j] = T{};
                if (at + j >= skipped && at + j < end) {
                    raw[j] = lines[at + j];
                }
            }
        }
#pragma unroll
        for (int j = 0; j < each; ++j) {
            const Float x = static_cast<Float>(widen(raw[j]));
            elements[at + j] = a.scaled ? x * static_cast<Float>(a.scale) : x;
        }
    }
}

// And back, where the output begins `skipped` elements behind a line and the run in shared memory `from` behind its
// start.
template <class T, class Float>
__device__ __forceinline__ void store_run(T *output, int count, int skipped, int from,
                                          SkewedElements<Float> &elements) {
    constexpr int each = vector_elements<T>;
    T *lines = output - skipped;
    const int end = skipped + count;
#pragma unroll 4
    for (int at = lane_index() * each; at < end; at += warp_lanes * each) {
        const int place = at - skipped + from;
        if (at >= skipped && at + each <= end) {
            Float y[each];
#pragma unroll
            for (int j = 0; j < each; ++j) {
                y[j] = elements[place + j];
            }
            store_vector(lines + at, pack(y, T()));
        } else {
#pragma unroll
            for (int j = 0; j < each; ++j) {
                if (at + j >= skipped && at + j < end) {
                    lines[at + j] = narrow_one(elements[place + j], T());
                }
            }
        }
    }
}

template <class T, bool Log>
__global__ void __launch_bounds__(short_row_warps<T> *warp_lanes)
    softmax_short_rows(const __grid_constant__ SoftmaxArguments a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    __shared__ SkewedElements<Float> elements_of_block[short_row_warps<T>];
    SkewedElements<Float> &elements = elements_of_block[warp_again()];
    const int lanes_of_row = a.blocks_a_warp; // a power of two
    const int axis = static_cast<int>(a.axis);
    const ShortRows rows(a, warp_lanes / lanes_of_row, short_row_warps<T>);
    const T *data = static_cast<const T *>(a.input) + rows.first * a.axis;
    const int skipped = static_cast<int>(offset_in_line(data) / sizeof(T));
    load_run(a, data, rows.count, skipped, elements);
    __syncwarp();

    const int row = lane_index() / lanes_of_row;
    const int column = lane_index() % lanes_of_row * short_run;
    const int count = row < rows.rows ? smaller(axis - column, short_run) : 0;
    const int first = skipped + row * axis + column;
    Float maximum = -std::numeric_limits<Float>::infinity();
#pragma unroll 8
    for (int i = 0; i < count; ++i) {
        maximum = larger_with_nan(maximum, elements[first + i]);
    }
    for (int distance = 1; distance < lanes_of_row; distance *= 2) {
        maximum = larger_with_nan(maximum, from_lane_xor(maximum, distance));
    }
    const Frame<Float> frame = frame_of(maximum);
    constexpr int group = 8;
    Sum levels[4];
#pragma unroll
    for (int g = 0; g < short_run / group; ++g) {
        Sum sum = 0;
        if (g * group < count) {
            Float e[group];
#pragma unroll
            for (int j = 0; j < group; ++j) {
                const int i = g * group + j;
                e[j] = 0;
                if (i < count) {
                    e[j] = exponential_in(frame, elements[first + i]);
                    if constexpr (!Log) {
                        elements[first + i] = e[j];
                    }
                }
            }
            sum = run_sum<group, Sum>(e);
        }
        int level = 0;
#pragma unroll
        for (; level < 3; ++level) {
            if (((g >> level) & 1) == 0) {
                break;
            }
            sum = levels[level] + sum;
        }
        levels[level] = sum;
    }
    Sum sum = levels[3];
    for (int distance = 1; distance < lanes_of_row; distance *= 2) {
        sum = sum + from_lane_xor(sum, distance);
    }
    const std::int32_t n = state_n(maximum);
    if (n == unusual_n) {
        sum = settle_any_sum(maximum, sum);
    }
    const RowState<Float, Sum> total{maximum, sum};
    const RowKind kind = row_kind(maximum);
    if (kind != RowKind::ordinary) {
        const Float special = special_output<Float>(kind, a.log, a.empty_row_zero);
        for (int i = 0; i < count; ++i) {
            elements[first + i] = special;
        }
    } else if constexpr (Log) {
        const LogPieces<Float> pieces = log_row(total).pieces;
#pragma unroll 8
        for (int i = 0; i < count; ++i) {
            elements[first + i] = log_softmax_output(elements[first + i], pieces);
        }
    } else {
        const BlockFactor<Float> factor =
            n == unusual_n ? any_factor(maximum, total) : factor_in_pieces(1.0, total.sum, Float());
#pragma unroll 8
        for (int i = 0; i < count; ++i) {
            elements[first + i] = sizeof(T) >= sizeof(float) ? softmax_output(elements[first + i], factor)
                                                             : softmax_narrow_output(elements[first + i], factor);
        }
    }
    __syncwarp();
    T *output = static_cast<T *>(a.output) + rows.first * a.axis;
    store_run(output, rows.count, static_cast<int>(offset_in_line(output) / sizeof(T)), skipped, elements);
    __syncwarp();
    if (sizeof(T) == 2 && kind != RowKind::ordinary) { // packing does not give the canonical NaN
        const Float special = special_output<Float>(kind, a.log, a.empty_row_zero);
        const std::uint64_t place = (rows.first + static_cast<std::uint64_t>(row)) * a.axis;
        for (int i = 0; i < count; ++i) {
            store_any(special, a.output_type, a.output, place + static_cast<std::uint64_t>(column + i));
        }
    }
    if (a.logsumexp != nullptr && row < rows.rows && column == 0) {
        store_row_logsumexp(total, a.logsumexp, rows.first + static_cast<std::uint64_t>(row));
    }
}

} // namespace wr::cuda
