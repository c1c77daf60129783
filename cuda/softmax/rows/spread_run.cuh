// What a lane holds of a row that is spread over lanes.
#pragma once

#include "cuda/softmax/outputs.cuh"
#include "cuda/softmax/rows/spread_rows.h"
#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

// A lane's elements: so many accesses to memory, each of some neighbours, `distance` elements apart. Behind the row's
// end the last ones are read again.
template <class T, class Access, int Accesses>
struct SpreadRun {
    static constexpr int accesses = Accesses, run = static_cast<int>(sizeof(Access) / sizeof(T));
    static constexpr int elements = accesses * run, words = elements * static_cast<int>(sizeof(T)) / 4;
    static constexpr bool may_be_unaligned = sizeof(Access) == vector_bytes;
    std::uint32_t row;
    int first, distance, axis;
    bool is_there;      // the row
    unsigned of[words]; // f32: scaled

    __device__ __forceinline__ SpreadRun(const SpreadRowsArguments &a, std::uint32_t row_of_lane, int part,
                                         int log_lanes)
        : row(row_of_lane), first(part * run), distance(run << log_lanes), axis(static_cast<int>(a.axis)),
          is_there(row_of_lane < a.outer) {}

    // Of 2^a.log_lanes lanes a row.
    __device__ __forceinline__ static SpreadRun of_lanes(const SpreadRowsArguments &a) {
        const unsigned lane = blockIdx.x * blockDim.x + threadIdx.x;
        return {a, lane >> a.log_lanes, static_cast<int>(lane & ((1u << a.log_lanes) - 1)), a.log_lanes};
    }
    // Of a row that the block has.
    __device__ __forceinline__ static SpreadRun of_block(const SpreadRowsArguments &a) {
        return {a, blockIdx.x, warp_index() * accesses * warp_lanes + lane_index(), log2_of(warp_lanes)};
    }

    __device__ __forceinline__ int place(int v) const { return first + v * distance; } // of access v, in the row
    // Its elements that exist, none where that is not above 0.
    __device__ __forceinline__ int count(int v) const { return is_there ? axis - place(v) : 0; }
    __device__ __forceinline__ std::size_t output_place() const {
        return row * static_cast<std::size_t>(axis) + static_cast<unsigned>(first);
    }

    __device__ __forceinline__ void load(const SpreadRowsArguments &a) {
        const auto last_row = static_cast<std::uint32_t>(a.outer) - 1;
        const T *const data =
            static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(smaller(row, last_row)) * a.outer_stride;
        Access all[accesses];
        const bool are_whole = !may_be_unaligned || a.on_boundaries;
        if (are_whole) {
#pragma unroll
            for (int v = 0; v < accesses; ++v) {
                all[v] = *reinterpret_cast<const Access *>(data + smaller(place(v), axis - run));
            }
        }
        if constexpr (may_be_unaligned) {
            if (!are_whole) {
                load_elements(data, all);
            }
        }
        memcpy(of, all, sizeof(all));
        if constexpr (sizeof(T) == sizeof(float)) {
            if (a.scaled) {
#pragma unroll
                for (unsigned &word : of) {
                    word = __float_as_uint(__uint_as_float(word) * a.narrow_scale);
                }
            }
        }
    }

    // Unscaled where it has 16 bits.
    __device__ __forceinline__ float operator[](int i) const {
        if constexpr (sizeof(T) == sizeof(float)) {
            return __uint_as_float(of[i]);
        } else {
            return widen(T{static_cast<std::uint16_t>(i % 2 == 0 ? of[i / 2] & 0xFFFFu : of[i / 2] >> 16)});
        }
    }
    // -infinity behind the row's end.
    __device__ __forceinline__ float scaled(const SpreadRowsArguments &a, int i) const {
        const float x = sizeof(T) == sizeof(float) ? (*this)[i] : (*this)[i] * a.narrow_scale;
        return i % run < count(i / run) ? x : -std::numeric_limits<float>::infinity();
    }

    // Whether all magnitudes are below the bound, unscaled where they have 16 bits.
    __device__ __forceinline__ bool is_within(float bound) const {
        if constexpr (sizeof(T) == sizeof(float)) {
            float largest = 0;
#pragma unroll
            for (const unsigned word : of) {
                largest = larger_with_nan(largest, fabsf(__uint_as_float(word)));
            }
            return largest < bound;
        } else {
            unsigned largest = of[0];
#pragma unroll
            for (int i = 1; i < words; ++i) {
                largest = larger_magnitudes(largest, of[i], T());
            }
            return magnitude_of_pair<T>(largest) < bound;
        }
    }
    // The same, and the largest.
    __device__ __forceinline__ bool is_within(float bound, float &largest) const {
        if constexpr (sizeof(T) == sizeof(float)) {
            float lowest = largest = __uint_as_float(of[0]);
#pragma unroll
            for (int i = 1; i < words; ++i) {
                largest = larger_with_nan(largest, __uint_as_float(of[i]));
                lowest = lower_below_zero(lowest, __uint_as_float(of[i]));
            }
            return largest < bound && fminf(lowest, 0.0f) > -bound;
        } else {
            unsigned pair = of[0];
#pragma unroll
            for (int i = 1; i < words; ++i) {
                pair = larger_pair(pair, of[i], T());
            }
            largest = upper_of_pair<T>(pair);
            return is_within(bound);
        }
    }
    __device__ __forceinline__ float largest_scaled(const SpreadRowsArguments &a) const {
        float largest = scaled(a, 0);
#pragma unroll
        for (int i = 1; i < elements; ++i) {
            largest = larger_with_nan(largest, scaled(a, i));
        }
        return largest;
    }

    __device__ __forceinline__ void store(const SpreadRowsArguments &a, const float (&y)[elements]) const {
        T *const mine = static_cast<T *>(a.output) + output_place();
        if constexpr (may_be_unaligned) {
            if (!a.on_boundaries) {
#pragma unroll
                for (int i = 0; i < elements; ++i) {
                    if (i % run < count(i / run)) {
                        mine[i / run * distance + i % run] = narrow_one(y[i], T());
                    }
                }
                return;
            }
        }
#pragma unroll
        for (int v = 0; v < accesses; ++v) {
            if constexpr (sizeof(Access) == vector_bytes) {
                store_vector_if(count(v) > 0, mine + v * distance, pack(y + v * run, T()));
            } else if (count(v) > 0) {
                store_words(mine + v * distance, RunWords<T, run>(y + v * run).of);
            }
        }
    }

    // The outputs of a row that is not ordinary.
    __device__ __forceinline__ void fill(const SpreadRowsArguments &a, float value) const {
#pragma unroll 1
        for (int v = 0; v < accesses; ++v) {
#pragma unroll 1
            for (int i = 0; i < smaller(count(v), run); ++i) {
                store_any(value, a.output_type, a.output, output_place() + static_cast<unsigned>(v * distance + i));
            }
        }
    }

  private:
    __device__ __forceinline__ void load_elements(const T *data, Access (&all)[accesses]) const {
#pragma unroll
        for (int v = 0; v < accesses; ++v) {
            T own[run];
#pragma unroll
            for (int i = 0; i < run; ++i) {
                own[i] = data[smaller(place(v) + i, axis - 1)];
            }
            memcpy(all + v, own, sizeof(own));
        }
    }
};

// The exponentials of a lane's access, of which those behind the row's end count as 0, and the tree over them.
template <class Sum, bool Normal, class Run, class Exponential>
__device__ __forceinline__ Sum sum_of_access(const SpreadRowsArguments &a, const Run &run, int v, float *e,
                                             Exponential exponential) {
    const int count = run.count(v);
#pragma unroll
    for (int i = 0; i < Run::run; ++i) {
        e[i] = exponential(v * Run::run + i);
    }
    if constexpr (Run::may_be_unaligned) {
        if (!a.on_boundaries) {
#pragma unroll
            for (int i = 0; i < Run::run; ++i) {
                e[i] = i < count ? e[i] : 0.0f;
            }
            return run_sum<Run::run, Sum>(e);
        }
    }
    const Sum sum = run_sum<Run::run, Sum, Normal>(e);
    return count > 0 ? sum : Sum(0);
}

// The natural tree over the exponentials of the 2^log_lanes lanes that hold them, in each of these. There are at least
// as many lanes as accesses.
template <class Sum, bool Normal, class Run, class Exponential>
__device__ __forceinline__ Sum sum_of_spread(const SpreadRowsArguments &a, const Run &run, int log_lanes,
                                             float (&e)[Run::elements], Exponential exponential) {
    constexpr int all = Run::accesses, steps = log2_of(all);
    const auto of_access = [&](int v) { return sum_of_access<Sum, Normal>(a, run, v, e + v * Run::run, exponential); };
    Sum sum;
    if constexpr (all == 1) {
        sum = of_access(0);
    } else {
        Sum sums[all / 2];
#pragma unroll
        for (int v = 0; v < all / 2; ++v) {
            const Sum low = of_access(v), high = of_access(v + all / 2);
            sums[v] = exchange_pair<FloatSum<Sum>, 0>(low, high);
        }
        exchange_halves<FloatSum<Sum>, steps, 1>(sums);
        sum = sums[0];
    }
#pragma unroll
    for (int level = steps; level < log2_of(warp_lanes) + steps; ++level) {
        if (level < log_lanes || level >= log2_of(warp_lanes)) {
            sum = sum + from_lane_xor(sum, distance_of_level<all>(level));
        }
    }
    return sum;
}

} // namespace wr::cuda
