// Neighbouring elements that start or end off the 16-byte boundaries: a warp's copies between the caller's arrays and a
// stage in shared memory, where vectors lie as the rows want them. Words cross at 32 a line of 128 bytes, so that no
// line is asked for or written in parts but at a run's ends.
#pragma once

#include "cuda/softmax_arguments.h"
#include "cuda/tile_load.cuh"

namespace wr::cuda {

inline constexpr int line_bytes = 128;

// What is copied at once: 4 bytes, or an element where it is wider.
template <class T>
struct StageUnit {
    using Type = std::uint32_t;
};
template <>
struct StageUnit<double> {
    using Type = std::uint64_t;
};

// Elements of a run that lie in its first unit before the run's first element: 1 or 0.
template <class T>
__device__ __forceinline__ int elements_before(const T *at) {
    using Unit = typename StageUnit<T>::Type;
    return static_cast<int>(reinterpret_cast<std::uintptr_t>(at) % sizeof(Unit) / sizeof(T));
}

// Asynchronous, from global to shared memory.
__device__ __forceinline__ void copy_unit(unsigned to, const std::uint32_t *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void copy_unit(unsigned to, const std::uint64_t *from) {
    asm volatile("cp.async.ca.shared.global [%0], [%1], 8;" ::"r"(to), "l"(from) : "memory");
}
__device__ __forceinline__ void wait_for_copies() {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncwarp();
}

// The units from number `begin` (0 or 1) to `end` of those that start at `units`, as a lane of a warp sees them that
// takes them line by line: number first + 32 i for each i. Lines hold 32 units at most, so that in all but the first
// every unit is behind the begin.
struct UnitsByLine {
    int first, left;
    bool in_first_line;

    template <class Unit>
    __device__ __forceinline__ UnitsByLine(const Unit *units, int begin, int end)
        : first(lane_index() - static_cast<int>(reinterpret_cast<std::uintptr_t>(units) % line_bytes / sizeof(Unit))),
          left(end - first), in_first_line(first >= begin && first < end) {}
    __device__ __forceinline__ bool has(int i) const { return i == 0 ? in_first_line : i * warp_lanes < left; }
};

// Writes units of which at most Most lie between the start of the first one's line and their end: read(i) gives number
// first + 32 i. Some are read before the first of these is written.
template <int Most, class Unit, class Read>
__device__ __forceinline__ void write_by_line(Unit *units, const UnitsByLine &mine, Read read) {
    Unit *to = units + mine.first;
    constexpr int together = 8;
#pragma unroll
    for (int i = 0; i < divide_up(Most, warp_lanes); i += together) {
        Unit read_units[together];
#pragma unroll
        for (int j = 0; j < together && i + j < divide_up(Most, warp_lanes); ++j) {
            if (mine.has(i + j)) {
                read_units[j] = read((i + j) * warp_lanes);
            }
        }
#pragma unroll
        for (int j = 0; j < together && i + j < divide_up(Most, warp_lanes); ++j) {
            if (mine.has(i + j)) {
                to[(i + j) * warp_lanes] = read_units[j];
            }
        }
    }
}

// Units that a run of so many elements takes, with what may lie before it in its first line.
template <class T, int Elements>
inline constexpr int most_units =
    (Elements * static_cast<int>(sizeof(T)) + line_bytes) / static_cast<int>(sizeof(typename StageUnit<T>::Type));

// Bytes of a stage for so many elements: one unit more for the halves around, one vector for reading across the end.
template <class T, int Elements>
inline constexpr int stage_bytes = Elements * static_cast<int>(sizeof(T)) + vector_bytes;

// Starts copying `count` elements, of up to Elements, to the stage: element i becomes number elements_before(data) + i.
template <class T, int Elements>
__device__ __forceinline__ void copy_to_stage(const SoftmaxArguments &a, const T *data, int count, void *stage) {
    using Unit = typename StageUnit<T>::Type;
    const int before = elements_before(data);
    const Unit *units = reinterpret_cast<const Unit *>(data - before);
    Unit *staged = static_cast<Unit *>(stage);
    constexpr int each = static_cast<int>(sizeof(Unit) / sizeof(T));
    int begin = 0, end = (before + count + each - 1) / each;
    if constexpr (each > 1) { // words that reach out of the caller's array
        const bool cut_low = reinterpret_cast<const char *>(units) < a.hull_begin;
        const bool cut_high = reinterpret_cast<const char *>(units + end) > a.hull_end;
        if (cut_low || cut_high) {
            begin = cut_low ? 1 : 0;
            end -= cut_high ? 1 : 0;
            T *elements = static_cast<T *>(stage) + before;
            if (lane_index() == 0 && count > 0 && cut_low) {
                elements[0] = data[0];
            }
            if (lane_index() == 0 && count > 0 && cut_high) {
                elements[count - 1] = data[count - 1];
            }
        }
    }
    const UnitsByLine mine(units, begin, end);
    const Unit *from = units + mine.first;
    const unsigned to = static_cast<unsigned>(__cvta_generic_to_shared(staged)) +
                        static_cast<unsigned>(mine.first) * static_cast<unsigned>(sizeof(Unit));
#pragma unroll
    for (int i = 0; i < divide_up(most_units<T, Elements>, warp_lanes); ++i) {
        if (mine.has(i)) {
            copy_unit(to + static_cast<unsigned>(i * warp_lanes) * static_cast<unsigned>(sizeof(Unit)),
                      from + i * warp_lanes);
        }
    }
}

// Gives elements `begin` to `end` of the stage the one value, and perhaps one behind them.
template <class T>
__device__ __forceinline__ void fill_stage(void *stage, int begin, int end, T value) {
    using Unit = typename StageUnit<T>::Type;
    constexpr int each = static_cast<int>(sizeof(Unit) / sizeof(T));
    T values[each];
#pragma unroll
    for (T &v : values) {
        v = value;
    }
    Unit unit;
    memcpy(&unit, values, sizeof(unit));
    if (begin % each != 0 && lane_index() == 0) {
        static_cast<T *>(stage)[begin] = value;
    }
    for (int u = divide_up(begin, each) + lane_index(); u < divide_up(end, each); u += warp_lanes) {
        static_cast<Unit *>(stage)[u] = unit;
    }
}

// Writes elements `before` to `before + count` of the stage to the output.
template <class T, int Elements>
__device__ __forceinline__ void copy_from_stage(T *output, int count, const void *stage, int before) {
    using Unit = typename StageUnit<T>::Type;
    const int out_before = elements_before(output);
    Unit *units = reinterpret_cast<Unit *>(output - out_before);
    const Unit *staged = static_cast<const Unit *>(stage);
    constexpr int most = most_units<T, Elements>;
    if constexpr (sizeof(Unit) == sizeof(T)) {
        const UnitsByLine mine(units, 0, count);
        const Unit *from = staged + mine.first;
        write_by_line<most>(units, mine, [&](int i) { return from[i]; });
    } else {
        const UnitsByLine mine(units, out_before, (count + out_before) / 2); // words that are the run's alone
        const Unit *low = staged + mine.first, *high = low + before;
        if (before == out_before) {
            write_by_line<most>(units, mine, [&](int i) { return low[i]; });
        } else {
            low -= out_before;
            write_by_line<most>(units, mine, [&](int i) { return __funnelshift_r(low[i], high[i], 16); });
        }
        const T *elements = static_cast<const T *>(stage) + before;
        if (lane_index() == 0 && out_before == 1 && count > 0) {
            output[0] = elements[0];
        }
        if (lane_index() == 0 && (count + out_before) % 2 == 1 && count > 0) {
            output[count - 1] = elements[count - 1];
        }
    }
}

// The 16 bytes from element `before` of the stage's vector `number` on.
template <class T>
__device__ __forceinline__ uint4 staged_vector(const void *stage, int number, int before) {
    uint4 vector = static_cast<const uint4 *>(stage)[number];
    if constexpr (sizeof(T) == 2) {
        if (before != 0) {
            const unsigned next = static_cast<const unsigned *>(stage)[(number + 1) * 4];
            vector = {__funnelshift_r(vector.x, vector.y, 16), __funnelshift_r(vector.y, vector.z, 16),
                      __funnelshift_r(vector.z, vector.w, 16), __funnelshift_r(vector.w, next, 16)};
        }
    }
    return vector;
}

} // namespace wr::cuda
