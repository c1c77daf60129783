// What a lane holds of a row that is spread over lanes.
#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax/outputs.cuh"
#include "cuda/softmax/rows.h"
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

// Rows spread over lanes, so that the way from a load to a store is short. Where a warp's logits are small it forms
// exponentials in the frame N = 0 and waits for no maximum; any other goes one other way, whatever it is.

// What the warps of a row's block tell each other.
template <class Sum>
struct SpreadRow {
    float maxima[most_spread_warps];
    Sum sums[most_spread_warps];
};

// What a row comes to, and the maximum of the tile that a lane's elements are in. Plain: their exponentials have frame
// N = 0, and so has the sum; of softmax alone nobody knows the maxima then.
template <class Sum>
struct SpreadTotal {
    RowState<float, Sum> row;
    float tile_maximum;
    bool plain;
};

// Whether the frame of all of a warp's exponentials may be N = 0, and a lane's largest logit, where that is wanted.
template <class T, class Run>
__device__ __forceinline__ bool is_plain_warp(const SpreadRowsArguments &a, const Run &run, bool wants_maximum,
                                              float &largest) {
    constexpr float range = zero_exponent_range<T>;
    const bool within = wants_maximum ? run.is_within(range, largest) : run.is_within(range);
    return __all_sync(whole_warp, within && !(sizeof(T) == 2 && a.scaled)) != 0;
}

__device__ __forceinline__ float maximum_of_lanes(int log_lanes, float largest) {
    return log_lanes == log2_of(warp_lanes) ? warp_maximum(largest)
                                            : tree_over_lanes<LargestWithNan<float>>(largest, 1 << log_lanes);
}

template <class Sum, class Run>
__device__ __forceinline__ Sum plain_sum_of(const SpreadRowsArguments &a, const Run &run, int log_lanes,
                                            float (&e)[Run::elements]) {
    return sum_of_spread<Sum, true>(
        a, run, log_lanes, e, [&](int i) { return scaled_exponential(run[i], ExponentialConstants<float>::magic); });
}

// The exponentials in the frame of a tile of this maximum, and their tree over a row's lanes.
template <class Sum, class Run>
__device__ __forceinline__ Sum framed_sum_of(const SpreadRowsArguments &a, const Run &run, int log_lanes, float maximum,
                                             float (&e)[Run::elements]) {
    const Frame<float> frame = frame_of(maximum);
    return sum_of_spread<Sum, false>(a, run, log_lanes, e,
                                     [&](int i) { return exponential_in(frame, run.scaled(a, i)); });
}

template <class Sum, class Run>
__device__ __forceinline__ SpreadTotal<Sum> any_total_of_lanes(const SpreadRowsArguments &a, const Run &run,
                                                               float (&e)[Run::elements]) {
    const float maximum = maximum_of_lanes(a.log_lanes, run.largest_scaled(a));
    const Sum sum = framed_sum_of<Sum>(a, run, a.log_lanes, maximum, e);
    return {{maximum, settle_block_sum(maximum, sum)}, maximum, false};
}

// The same of a block's row. A lane stands for the warp of its number, and where the row is one tile for others, too.
template <class Sum, class Run>
__device__ __forceinline__ SpreadTotal<Sum> any_total_of_block(const SpreadRowsArguments &a, SpreadRow<Sum> &shared,
                                                               const Run &run, float (&e)[Run::elements]) {
    constexpr int tile_warps = lane_elements / Run::elements;
    const bool is_one_tile = a.axis <= softmax_block;
    const int warp = warp_index(), of_warp = is_one_tile ? lane_index() % tile_warps : lane_index();
    const bool is_there = of_warp < static_cast<int>(blockDim.x / warp_lanes);
    const float maximum_of_warp = warp_maximum(run.largest_scaled(a));
    __syncthreads(); // all have seen that one is not plain
    if (lane_index() == 0) {
        shared.maxima[warp] = maximum_of_warp;
    }
    __syncthreads();
    float of_tile = is_there ? shared.maxima[of_warp] : -std::numeric_limits<float>::infinity();
    const float of_row = warp_maximum(of_tile);
#pragma unroll
    for (int distance = 1; distance < tile_warps; distance *= 2) {
        of_tile = larger_with_nan(of_tile, from_lane_xor(of_tile, distance));
    }
    const float own = is_one_tile ? of_row : __shfl_sync(whole_warp, of_tile, warp);
    const Sum sum_of_warp = framed_sum_of<Sum>(a, run, log2_of(warp_lanes), own, e);
    if (lane_index() == 0) {
        shared.sums[warp] = sum_of_warp;
    }
    __syncthreads();
    Sum sum = is_there ? shared.sums[of_warp] : Sum(0);
#pragma unroll
    for (int distance = 1; distance < tile_warps; distance *= 2) {
        sum = sum + from_lane_xor(sum, distance);
    }
    sum = settle_block_sum(of_tile, sum);
    if (!is_one_tile) {
        const bool is_absent = of_tile == -std::numeric_limits<float>::infinity();
        sum = scale_by_power(sum, is_absent ? beyond_any_sum : frame_gap(of_tile, of_row));
#pragma unroll
        for (int distance = tile_warps; distance < warp_lanes; distance *= 2) {
            sum = sum + from_lane_xor(sum, distance);
        }
    }
    return {{of_row, sum}, own, false};
}

template <class Sum>
__device__ __noinline__ BlockFactor<float> special_factor(float tile_maximum, RowState<float, Sum> row) {
    return block_factor(tile_maximum, row.maximum, row.sum);
}

// What the exponentials of a tile of an ordinary row are multiplied by.
template <class Sum>
__device__ __forceinline__ BlockFactor<float> factor_in_total(const SpreadTotal<Sum> &total) {
    if (total.plain) {
        return factor_of_sum(total.row.sum, float());
    }
    if (is_ordinary(total.tile_maximum) && is_ordinary(total.row.maximum)) {
        const std::int32_t gap = nearest_exponent(total.tile_maximum) - nearest_exponent(total.row.maximum);
        return factor_of(factor_base(total.row.sum, float()), gap, float());
    }
    return special_factor(total.tile_maximum, total.row);
}

// A row's logsumexp and maximum, where they are wanted, by the lane that has its first element.
template <class T>
__device__ __forceinline__ void store_spread_values(const SpreadRowsArguments &a, std::uint32_t row, float logsumexp,
                                                    float maximum) {
    if (a.logsumexp != nullptr && a.logsumexp_type == ElementType::f32 && !is_nan(logsumexp)) {
        static_cast<float *>(a.logsumexp)[row] = logsumexp;
    } else if (a.logsumexp != nullptr && a.logsumexp_type == ElementTypeOf<T>::type && !is_nan(logsumexp)) {
        static_cast<T *>(a.logsumexp)[row] = narrow_one(logsumexp, T());
    } else if (a.logsumexp != nullptr) {
        store_any(logsumexp, a.logsumexp_type, a.logsumexp, row);
    }
    if (a.maximum != nullptr) {
        store_maximum(maximum, a.maximum, row);
    }
}

// From a row's total to what is written. `e` are the exponentials.
template <class T, bool Log, class Run, class Sum>
__device__ __forceinline__ void finish_spread(const SpreadRowsArguments &a, const Run &run,
                                              const SpreadTotal<Sum> &total, float (&e)[Run::elements]) {
    const RowKind kind = total.plain ? RowKind::ordinary : row_kind(total.row.maximum);
    LogPieces<float> splits{total.row.maximum, 0}; // of rows that are not ordinary the logsumexp
    if ((Log || a.logsumexp != nullptr) && kind == RowKind::ordinary) {
        splits = total.plain ? logsumexp_at_zero_exponent(total.row.maximum, total.row.sum)
                             : row_logsumexp(total.row.maximum, total.row.sum);
    }
    if (a.output != nullptr && kind != RowKind::ordinary) {
        run.fill(a, special_output<float>(kind, Log, a.empty_row_zero));
    } else if (a.output != nullptr) {
        const BlockFactor<float> factor = Log ? BlockFactor<float>{0, 0} : factor_in_total(total);
#pragma unroll
        for (int i = 0; i < Run::elements; ++i) {
            if constexpr (Log) {
                const float x = sizeof(T) == 2 && !total.plain ? run[i] * a.narrow_scale : run[i];
                e[i] = log_softmax_output(x, splits);
            } else {
                e[i] = sizeof(T) >= sizeof(float) ? softmax_output(e[i], factor) : softmax_narrow_output(e[i], factor);
            }
        }
        run.store(a, e);
    }
    if (run.first == 0 && run.is_there) {
        store_spread_values<T>(a, run.row, splits.high, total.row.maximum);
    }
}

template <class T, bool Log, class Access, int Accesses>
__global__ void __launch_bounds__(spread_block_warps *warp_lanes)
    softmax_spread_rows(const __grid_constant__ SpreadRowsArguments a) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using Run = SpreadRun<T, Access, Accesses>;
    pdl_wait_and_release(a);
    Run run = Run::of_lanes(a);
    run.load(a);
    const bool knows_maximum = Log || wants_row_values(a);
    float largest = 0, e[Run::elements];
    if (is_plain_warp<T>(a, run, knows_maximum, largest)) {
        const Sum sum = plain_sum_of<Sum>(a, run, a.log_lanes, e);
        const float maximum = knows_maximum ? maximum_of_lanes(a.log_lanes, largest) : 0.0f;
        finish_spread<T, Log>(a, run, SpreadTotal<Sum>{{maximum, sum}, maximum, true}, e);
    } else {
        finish_spread<T, Log>(a, run, any_total_of_lanes<Sum>(a, run, e), e);
    }
}

template <class T, bool Log, int Accesses>
__global__ void __launch_bounds__(most_spread_warps *warp_lanes)
    softmax_spread_rows_of_block(const __grid_constant__ SpreadRowsArguments a) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using Run = SpreadRun<T, uint4, Accesses>;
    constexpr int log_lanes = log2_of(warp_lanes);
    __shared__ SpreadRow<Sum> shared;
    pdl_wait_and_release(a);
    Run run = Run::of_block(a);
    run.load(a);
    const bool knows_maximum = Log || wants_row_values(a);
    float largest = 0, e[Run::elements];
    Sum of_warp = std::numeric_limits<Sum>::quiet_NaN(); // not plain
    if (is_plain_warp<T>(a, run, knows_maximum, largest)) {
        of_warp = plain_sum_of<Sum>(a, run, log_lanes, e);
    }
    const float maximum_of_warp = knows_maximum ? warp_maximum(largest) : 0.0f;
    if (lane_index() == 0) {
        shared.sums[warp_index()] = of_warp;
        shared.maxima[warp_index()] = maximum_of_warp;
    }
    __syncthreads();
    const int warps = static_cast<int>(blockDim.x / warp_lanes);
    Sum sum = lane_index() < warps ? shared.sums[lane_index()] : Sum(0);
    if (__any_sync(whole_warp, is_nan(sum)) != 0) {
        finish_spread<T, Log>(a, run, any_total_of_block<Sum>(a, shared, run, e), e);
        return;
    }
    if (a.output == nullptr && warp_index() != 0) {
        return;
    }
    for (int distance = 1; distance < warps; distance *= 2) {
        sum = sum + from_lane_xor(sum, distance);
    }
    sum = __shfl_sync(whole_warp, sum, 0);
    float maximum = 0;
    if (knows_maximum) {
        maximum =
            warp_maximum(lane_index() < warps ? shared.maxima[lane_index()] : -std::numeric_limits<float>::infinity());
    }
    finish_spread<T, Log>(a, run, SpreadTotal<Sum>{{maximum, sum}, maximum, true}, e);
}

template <class T, class Access, int Accesses>
void set_spread_lanes(const void *(&kernels)[2]) {
    kernels[0] = address_of(softmax_spread_rows<T, false, Access, Accesses>);
    kernels[1] = address_of(softmax_spread_rows<T, true, Access, Accesses>);
}
template <class T, int Accesses>
void set_spread_block(const void *(&kernels)[2]) {
    kernels[0] = address_of(softmax_spread_rows_of_block<T, false, Accesses>);
    kernels[1] = address_of(softmax_spread_rows_of_block<T, true, Accesses>);
}

template <class T>
SpreadRowsKernels make_spread_rows_kernels() {
    SpreadRowsKernels kernels{};
    set_spread_lanes<T, uint4, 1>(kernels.one_vector);
    set_spread_lanes<T, uint4, 2>(kernels.two_vectors);
    if constexpr (sizeof(T) == sizeof(float)) {
        set_spread_lanes<T, uint4, 4>(kernels.four_vectors);
    } else {
        set_spread_lanes<T, unsigned, 4>(kernels.four_words);
    }
    set_spread_block<T, spread_few_elements / vector_elements<T>>(kernels.block_of_few);
    set_spread_block<T, spread_more_elements / vector_elements<T>>(kernels.block_of_more);
    return kernels;
}

template <class T>
const SpreadRowsKernels &spread_rows_kernels() {
    static const SpreadRowsKernels kernels = make_spread_rows_kernels<T>();
    return kernels;
}

template const SpreadRowsKernels &spread_rows_kernels<float>();
template const SpreadRowsKernels &spread_rows_kernels<F16>();
template const SpreadRowsKernels &spread_rows_kernels<BF16>();

} // namespace wr::cuda
