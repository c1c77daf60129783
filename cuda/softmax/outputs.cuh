// The outputs of a tile whose logits were read by vectors, as elements of another type than the input's: f32,
// f16, bf16, or f8 where no output is a logarithm.
#pragma once

#include "cuda/rowwise/pack.cuh"
#include "cuda/softmax/tile.cuh"

namespace wr::cuda {

// Calls act(To()) for an output type that is not that of the input, which kernels of T read.
template <class T, class Act>
__device__ __forceinline__ void with_other_type(ElementType output_type, Act act) {
    if (!std::is_same_v<T, float> && output_type == ElementType::f32) {
        act(float());
    } else if (!std::is_same_v<T, BF16> && output_type == ElementType::bf16) {
        act(BF16());
    } else if (output_type == ElementType::f16) { // of F16: the input has 8 bits
        act(F16());
    } else if (output_type == ElementType::f8_e4m3) {
        act(E4M3());
    } else {
        act(E5M2());
    }
}

__device__ __forceinline__ void store_words(void *to, const unsigned (&w)[1]) {
    asm volatile("st.global.b32 [%0], %1;" ::"l"(to), "r"(w[0]) : "memory");
}
__device__ __forceinline__ void store_words(void *to, const unsigned (&w)[2]) { store_half_vector(to, {w[0], w[1]}); }
template <int Words>
__device__ __forceinline__ void store_words(void *to, const unsigned (&w)[Words]) {
#pragma unroll
    for (int i = 0; i < Words; i += 4) {
        store_vector(static_cast<unsigned *>(to) + i, {w[i], w[i + 1], w[i + 2], w[i + 3]});
    }
}

// A lane's outputs, `left` vectors of the input of which exist from its first place on.
template <class T, class To>
__device__ __forceinline__ void store_lane_as(To *own, int left, const float *y) {
    constexpr int each = vector_elements<T>;
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        if (v * warp_lanes < left) {
            store_words(own + v * warp_lanes * each, RunWords<To, each>(y + v * each).of);
        }
    }
}

// The first `count` outputs of a tile, from element `first` of the output on.
template <class T>
__device__ __forceinline__ void store_converted_tile(const SoftmaxArguments &a, std::size_t first, int count,
                                                     const float (&y)[lane_elements]) {
    constexpr int each = vector_elements<T>;
    const std::size_t place = first + static_cast<std::size_t>(lane_index() * each);
    const int left = count / each - lane_index();
    with_other_type<T>(a.output_type,
                       [&]<class To>(To) { store_lane_as<T>(static_cast<To *>(a.output) + place, left, y); });
}

// Load one run of a lane's outputs in shared memory.
template <int Words>
__device__ __forceinline__ void stage_words(void *to, const unsigned (&w)[Words]) {
    if constexpr (Words == 1) {
        *static_cast<unsigned *>(to) = w[0];
    } else if constexpr (Words == 2) {
        *static_cast<uint2 *>(to) = {w[0], w[1]};
    } else {
#pragma unroll
        for (int i = 0; i < Words; i += 4) {
            static_cast<uint4 *>(to)[i / 4] = {w[i], w[i + 1], w[i + 2], w[i + 3]};
        }
    }
}

// Writes what lies in a warp's stage, elements of Storage's size, to any address. Behind a call, which nothing but an
// address and a count waits for.
template <class Storage, int Elements>
__device__ __noinline__ void copy_stage(void *output, int count, const uint4 *stage) {
    copy_from_stage<Storage, Elements>(static_cast<Storage *>(output), count, stage, 0);
}

// The first `count` outputs of a tile whose logits lay at any address, to any address, by way of the stage that the
// kernels of unaligned loads have: in as many parts as make it hold them.
template <class T>
__device__ __forceinline__ void store_unaligned_converted(const SoftmaxArguments &a, std::size_t first, int count,
                                                          const float (&y)[lane_elements]) {
    uint4 *stage = own_stage<T>();
    with_other_type<T>(a.output_type, [&]<class To>(To) {
        using Storage = std::conditional_t<sizeof(To) == 4, float, std::conditional_t<sizeof(To) == 2, F16, E4M3>>;
        constexpr int each = vector_elements<T>;
        constexpr int parts = sizeof(To) > sizeof(T) ? static_cast<int>(sizeof(To) / sizeof(T)) : 1;
        constexpr int part_vectors = lane_vectors<T> / parts, elements = part_vectors * warp_lanes * each;
        static_assert(stage_bytes<To, elements> <= stage_bytes<T, staged_elements<T>>);
#pragma unroll
        for (int part = 0; part < parts; ++part) {
            __syncwarp();
#pragma unroll
            for (int v = 0; v < part_vectors; ++v) {
                stage_words(reinterpret_cast<To *>(stage) + (v * warp_lanes + lane_index()) * each,
                            RunWords<To, each>(y + (part * part_vectors + v) * each).of);
            }
            __syncwarp();
            copy_stage<Storage, elements>(static_cast<To *>(a.output) + first + part * elements,
                                          smaller(larger(count - part * elements, 0), elements), stage);
        }
    });
}

// The outputs of a tile: factors, packing, stores.

// A lane's outputs, every 32nd element from `own` on, as elements of To.
template <class To>
__device__ __forceinline__ void store_every_32nd(To *own, int left, const float *y) {
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
        if (i * warp_lanes < left) {
            own[i * warp_lanes] = narrow_one(y[i], To());
        }
    }
}

// The same of a type that is known only here, from element `place` on; false where it is none of the common ones.
__device__ __noinline__ inline bool store_singles_as(ElementType type, void *output, std::size_t place, int left,
                                                     const float *y) {
    switch (type) {
    case ElementType::f32:
        store_every_32nd(static_cast<float *>(output) + place, left, y);
        return true;
    case ElementType::f16:
        store_every_32nd(static_cast<F16 *>(output) + place, left, y);
        return true;
    case ElementType::bf16:
        store_every_32nd(static_cast<BF16 *>(output) + place, left, y);
        return true;
    default:
        return false;
    }
}
template <class Float>
__device__ __forceinline__ bool store_as(ElementType type, void *output, std::size_t place, int left,
                                         const Float (&y)[lane_elements]) {
    if constexpr (sizeof(Float) == sizeof(float)) {
        float called_with[lane_elements]; // what a call is given lies in memory, where y would be slow
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            called_with[i] = y[i];
        }
        return store_singles_as(type, output, place, left, called_with);
    } else {
        return false;
    }
}

// Writes the tile's outputs, the first `count` of them from element `first` of the output on.
template <class T, class Load, class Float>
__device__ __forceinline__ void store_tile(const SoftmaxArguments &a, std::size_t first, int count,
                                           const Float (&y)[lane_elements]) {
    if constexpr (converts<Load> && Load::unaligned) {
        store_unaligned_converted<T>(a, first, count, y);
    } else if constexpr (converts<Load>) {
        store_converted_tile<T>(a, first, count, y);
    } else if constexpr (is_staged<Load>) { // seldom: what is common is stored by its kernel
        T *own = static_cast<T *>(a.output) + first + first_place<Load>();
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            const int place = i / Load::run * run_distance<Load> + i % Load::run;
            if (place < count - first_place<Load>()) {
                own[place] = narrow_one(y[i], T());
            }
        }
    } else if constexpr (Load::vectors) {
        uint4 vectors[lane_vectors<T>];
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = pack(y + v * Load::run, T());
        }
        if constexpr (Load::unaligned && sizeof(T) == 2) {
            store_rotating(static_cast<T *>(a.output) + first, count, vectors);
        } else if constexpr (Load::unaligned) {
            store_unaligned_tile(static_cast<T *>(a.output) + first, count, vectors);
        } else {
            store_aligned_tile(static_cast<T *>(a.output) + first, count, vectors);
        }
    } else {
        const std::size_t place = first + static_cast<std::size_t>(lane_index());
        const int left = count - lane_index();
        T *own = static_cast<T *>(a.output) + place;
        if (a.output_type == ElementTypeOf<T>::type) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                if (i * warp_lanes < left) {
                    own[i * warp_lanes] = narrow_one(y[i], T());
                }
            }
        } else if (!store_as(a.output_type, a.output, place, left, y)) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                if (i * warp_lanes < left) {
                    store_any(y[i], a.output_type, a.output, place + static_cast<std::size_t>(i * warp_lanes));
                }
            }
        }
    }
}

// Writes one value to `count` neighbouring outputs, whole vectors where they can be.
template <class Float>
__device__ __noinline__ void fill_any_outputs(ElementType type, void *output, std::size_t first, std::size_t count,
                                              Float value) {
    constexpr unsigned vector_size = vector_bytes;
    const auto bytes = static_cast<unsigned>(traits_of(type).size);
    std::uint64_t pattern = 0;
    store_any(value, type, &pattern, 0);
#pragma unroll 1
    for (unsigned known = bytes; known < sizeof(pattern); known *= 2) {
        pattern |= pattern << known * 8;
    }
    const auto low = static_cast<unsigned>(pattern), high = static_cast<unsigned>(pattern >> 32);
    const uint4 vector{low, high, low, high};
    char *const from = static_cast<char *>(output) + first * bytes;
    const unsigned before = (0u - static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(from))) % vector_size;
    const std::size_t end = count * bytes, head = smaller<std::size_t>(before, end);
    std::size_t at = head + vector_size * static_cast<unsigned>(lane_index());
#pragma unroll 1
    for (; at + vector_size <= end; at += vector_size * warp_lanes) {
        store_vector(from + at, vector);
    }
    // What is left at either end is shorter than a vector: a byte a lane.
    const std::size_t tail = head + (end - head) / vector_size * vector_size;
    if (lane_index() < vector_bytes) {
        const auto own = static_cast<unsigned>(lane_index());
        const char byte = reinterpret_cast<const char *>(&vector)[own];
        if (own < head) {
            from[own] = byte;
        }
        if (tail + own < end) {
            from[tail + own] = byte;
        }
    }
}

// The same to all of the tile's elements: a row that is not ordinary.
template <class Float>
__device__ __forceinline__ void store_special(const SoftmaxArguments &a, std::size_t first, int count, RowKind kind) {
    const Float value = special_output<Float>(kind, a.log, a.empty_row_zero);
    fill_any_outputs(a.output_type, a.output, first, static_cast<std::size_t>(larger(count, 0)), value);
}

// Whether this tile writes outputs of two pieces: where elements go out as they came in, their type decides.
template <class T, class Load>
__device__ __forceinline__ bool block_takes_two_pieces(const SoftmaxArguments &a) {
    return has_any_output<Load> ? takes_two_pieces(a.output_type) : sizeof(T) >= sizeof(float);
}

// Whether factors come of a division in f64, which has both pieces; or, of 16-bit logits, only where the output type
// wants these.
template <class T>
inline constexpr bool divides_in_f64 = sizeof(T) >= sizeof(float);
template <class T, class Load>
inline constexpr bool divides_either_way = !divides_in_f64<T> && Load::vectors && has_any_output<Load>;

// What rows' sums are divided as.
template <class T, class Load>
using Divisor =
    std::conditional_t<divides_in_f64<T> || divides_either_way<T, Load>, double, typename SoftmaxArithmetic<T>::Sum>;

// Whether plain_factor has the pieces that outputs of this type take.
template <class T, class Load>
__device__ __forceinline__ bool has_plain_factor(const SoftmaxArguments &a) {
    return divides_in_f64<T> || divides_either_way<T, Load> || !block_takes_two_pieces<T, Load>(a);
}

// 1 / x, rounded to nearest, for x as sums of ordinary rows are, well within the normal range: Newton's steps without
// the compiler's call for what lies outside, around which a lane's exponentials would have to find room.
__device__ __forceinline__ float reciprocal_of_sum(float x) {
    float y;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return fused(y, -fused(y, x, -1.0f), y);
}
__device__ __forceinline__ double reciprocal_of_sum(double x) {
    double y;
    asm("rcp.approx.ftz.f64 %0, %1;" : "=d"(y) : "d"(x));
    double rest = fused(-x, y, 1.0);
    rest = fused(rest, rest, rest);
    y = fused(y, rest, y);
    y = fused(y, fused(-x, y, 1.0), y);
    return fused(y, fused(-x, y, 1.0), y);
}

// Whether inverse * 2^gap, as one product, is the factor of a tile, `inverse` being 1 / the row's sum: a normal
// number, or so small that all outputs of 16 bits are 0. Sums are below 2^61, and above 0.7 but where the row has frame
// N = 0.
__device__ __forceinline__ bool is_plain_factor(float inverse, std::int32_t gap) {
    constexpr std::int32_t safe_gap = -64, zero_gap = -136, least_at_zero_exponent = -47;
    return gap >= safe_gap || gap <= zero_gap + least_at_zero_exponent || (gap <= zero_gap && inverse < 1.5f) ||
           inverse * power_of_two_f32(gap) >= 0x1p-126f;
}

// 2^gap / x of the same, however small. Below the normal range it is the nearest multiple of 2^-149 to the true
// quotient, which may lie on the other side of a middle between two of these than its inverse as it is rounded.
__device__ __forceinline__ float small_factor(float x, std::int32_t gap) {
    constexpr std::int32_t unit = -149, half = -64;
    const float inverse = reciprocal_of_sum(x), units = inverse * power_of_two_f32(gap - unit);
    if (units >= 0x1p23f) {
        return inverse * power_of_two_f32(gap - half) * power_of_two_f32(half);
    }
    float nearest = rintf(units);
    if (fabsf(units - nearest) == 0.5f) {
        const float rest = fused(-inverse, x, 1.0f);
        nearest = rest > 0.0f ? units + 0.5f : rest < 0.0f ? units - 0.5f : nearest;
    }
    return __uint_as_float(static_cast<unsigned>(nearest)); // so many units
}

// The factor of a tile in a plain row, whose frame is `gap` above the row's. Where one piece of it will do and sums
// are f32, dividing in f32 has the bits of dividing in f64 and rounding (f64 has more than twice f32's bits and two to
// spare), and a power of two within the normal range commutes with both.
__device__ __forceinline__ BlockFactor<float> plain_factor(float row_sum, std::int32_t gap, float) {
    const float inverse = reciprocal_of_sum(row_sum);
    return {is_plain_factor(inverse, gap) ? inverse * power_of_two_f32(gap) : small_factor(row_sum, gap), 0.0f};
}
template <class Float>
__device__ __forceinline__ BlockFactor<Float> plain_factor(double row_sum, std::int32_t gap, Float) {
    return factor_in_pieces(power_of_two_f64(gap), row_sum, Float());
}

// 1 / the sum of a plain row; where that is f64, about as much.
template <class Sum>
__device__ __forceinline__ float inverse_of_sum(const RowView<Sum> &row) {
    return reciprocal_of_sum(static_cast<float>(row.sum));
}

// What the factors of a row's tiles are made of. Of f64 sums for f32 outputs their inverse: dividing a power of two by
// the sum has the bits of multiplying it by the inverse, but where the factor is 0 either way.
__device__ __forceinline__ float factor_base(float sum, float) { return sum; }
__device__ __forceinline__ double factor_base(double sum, float) { return reciprocal_of_sum(sum); }
__device__ __forceinline__ double factor_base(double sum, double) { return sum; }

__device__ __forceinline__ BlockFactor<float> factor_of(float base, std::int32_t gap, float) {
    return plain_factor(base, gap, float());
}
__device__ __forceinline__ BlockFactor<float> factor_of(double base, std::int32_t gap, float) {
    const double factor = base * power_of_two_f64(gap);
    const float high = static_cast<float>(factor);
    return {high, static_cast<float>(factor - static_cast<double>(high))};
}
__device__ __forceinline__ BlockFactor<double> factor_of(double base, std::int32_t gap, double) {
    return factor_in_pieces(power_of_two_f64(gap), base, double());
}

// plain_factor and factor_base of a row's sum, for outputs of any type.
template <class T, class Load, class Sum>
__device__ __forceinline__ Divisor<T, Load> base_for_output(Sum sum) {
    return factor_base(static_cast<Divisor<T, Load>>(sum), typename SoftmaxArithmetic<T>::Float());
}
template <class T, class Load, class Float, class Sum>
__device__ __forceinline__ BlockFactor<Float> factor_for_output(Sum sum, std::int32_t gap, Float) {
    if constexpr (divides_either_way<T, Load>) {
        return factor_of(factor_base(static_cast<double>(sum), Float()), gap, Float());
    } else {
        return plain_factor(static_cast<Divisor<T, Load>>(sum), gap, Float());
    }
}

// Whether the frame n of a tile of 16-bit elements is so near its row's, which is one, that its factor is the plain
// product whatever the sum is, with the bits of the one in a frame of its own. Nearly all are.
template <class T>
__device__ __forceinline__ bool is_near_row(std::int32_t n, std::int32_t row_n) {
    constexpr unsigned reach = zero_exponent_gap<T>;
    return is_frame(row_n) && static_cast<unsigned>(n) - static_cast<unsigned>(row_n) + reach <= 2 * reach;
}
__device__ __forceinline__ float normal_power_of_two(std::int32_t k) {
    return __uint_as_float(static_cast<unsigned>(k + 127) << 23);
}

// The sum of a plain row of 16-bit elements.
__device__ __forceinline__ float sum_of(const RowView<float> &row) { return row.sum; }

// Whether the factor of a tile of 16-bit elements, which are short of instructions, needs none of the tests that
// others do, and what it is.
template <class T, class Row>
__device__ __forceinline__ bool has_near_factor(std::int32_t n, const Row &row, BlockFactor<float> &factor) {
    if constexpr (!divides_in_f64<T>) {
        if (is_near_row<T>(n, row.n)) {
            factor = {reciprocal_of_sum(sum_of(row)) * normal_power_of_two(n - row.n), 0.0f};
            return true;
        }
    }
    return false;
}

// Whether a tile's exponentials, which have frame n, only have to be multiplied to be its outputs, and by what. `one`
// is one of the lane's; factor_of_gap(gap) makes the factor. MayTakeZeroExponent: the frame may be N = 0 for no other
// reason than that the logits are small.
template <class T, class Load, bool MayTakeZeroExponent, class Row, class Float, class Factor>
__device__ __forceinline__ bool has_factor_in_row(const SoftmaxArguments &a, std::int32_t n, const Row &row, Float one,
                                                  BlockFactor<Float> &factor, Factor factor_of_gap) {
    if (!has_plain_factor<T, Load>(a)) {
        return false;
    }
    if constexpr (std::is_same_v<Divisor<T, Load>, float>) {
        if (has_near_factor<T>(n, row, factor)) {
            return true;
        }
    }
    if (!has_exponentials<T>(n) || !row.plain() || (MayTakeZeroExponent && !reaches_row<T>(n, row, one))) {
        return false;
    }
    factor = factor_of_gap(n - row.n);
    return true;
}

// What log-softmax needs to know of any row.
template <class Float>
struct LogRow {
    RowKind kind;
    LogPieces<Float> splits; // where the kind is ordinary
};

// Whether every warp that shares a row takes its logarithm itself, instead of one that tells the others: f32 has
// instructions to spare (log-softmax of 32768 on an H200: 3.85 TB/s, else 3.78; of 8192 4.15 and 4.12).
template <class T>
inline constexpr bool each_takes_logarithm = sizeof(T) == sizeof(float);

template <class Float, class Sum>
__device__ __noinline__ LogRow<Float> log_row(RowState<Float, Sum> total) {
    const RowKind kind = row_kind(total.maximum);
    return {kind, kind == RowKind::ordinary ? row_logsumexp(total.maximum, total.sum) : LogPieces<Float>{0, 0}};
}

// Its logarithm without a call, and the factor of a row of one tile; 0 for rows that are not ordinary.
template <class Float, class Sum>
__device__ __forceinline__ LogPieces<Float> splits_of_row(const RowState<Float, Sum> &total) {
    return row_kind(total.maximum) == RowKind::ordinary ? row_logsumexp(total.maximum, total.sum)
                                                        : LogPieces<Float>{0, 0};
}
template <class Float, class Sum>
__device__ __forceinline__ LogRow<Float> log_row_of(const RowState<Float, Sum> &total) {
    return {row_kind(total.maximum), splits_of_row(total)};
}
template <class Float, class Sum>
__device__ __forceinline__ BlockFactor<Float> factor_of_row(const RowState<Float, Sum> &total) {
    return row_kind(total.maximum) == RowKind::ordinary ? block_factor(total.maximum, total.maximum, total.sum)
                                                        : BlockFactor<Float>{0, 0};
}

// The logsumexp of a row whose exponentials, and their sum, have frame N = 0.
template <class Float, class Sum>
__device__ __forceinline__ LogPieces<Float> logsumexp_at_zero_exponent(Float maximum, Sum sum) {
    return logsumexp_in_units(maximum, sum,
                              term<Sum, true>(scaled_exponential(maximum, ExponentialConstants<Float>::magic)));
}

// Of a row's logsumexp and maximum what is wanted.
template <class Float, class Sum>
__device__ __noinline__ void store_row_values(const SoftmaxArguments &a, RowState<Float, Sum> row, std::size_t index) {
    if (a.logsumexp != nullptr) {
        store_float(logsumexp_of(row.maximum, row.sum), a.logsumexp_type, a.logsumexp, index);
    }
    if (a.maximum != nullptr) {
        store_maximum(row.maximum, a.maximum, index);
    }
}
template <class Float, class Sum>
__device__ __noinline__ void store_row_logsumexp(RowState<Float, Sum> row, const SoftmaxArguments &a,
                                                 std::size_t index) {
    store_float(logsumexp_of(row.maximum, row.sum), a.logsumexp_type, a.logsumexp, index);
}

// From a tile's exponentials to its outputs, in their place and in memory.
template <class T, class Load, class Float>
__device__ __forceinline__ void form_outputs(const SoftmaxArguments &a, BlockFactor<Float> factor,
                                             Float (&e)[lane_elements]) {
    if (block_takes_two_pieces<T, Load>(a)) {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            e[i] = softmax_output(e[i], factor);
        }
    } else {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            e[i] = softmax_narrow_output(e[i], factor);
        }
    }
}
template <class T, class Load, class Float>
__device__ __forceinline__ void finish_softmax(const SoftmaxArguments &a, BlockFactor<Float> factor, std::size_t first,
                                               int count, Float (&e)[lane_elements]) {
    form_outputs<T, Load>(a, factor, e);
    store_tile<T, Load>(a, first, count, e);
}

// Whether a tile of low logits has no part in its row, which is ordinary: all of its outputs are 0.
template <class Float>
__device__ __forceinline__ bool is_out_of_row(Float maximum, Float row_maximum) {
    return maximum < Float(lowest_logit) && is_ordinary(row_maximum);
}

// The outputs of a tile whose maximum, or whose row's, is special. A maximum of 0 may be that of a zero-exponent
// tile.
template <class T, class Load, class Float, class Sum>
__device__ __noinline__ void finish_special_softmax(const SoftmaxArguments &a, const T *data, std::size_t first,
                                                    int count, Float maximum, RowState<Float, Sum> total) {
    const RowKind kind = row_kind(total.maximum);
    if (kind != RowKind::ordinary) {
        store_special<Float>(a, first, count, kind);
        return;
    }
    if (is_out_of_row(maximum, total.maximum)) {
        fill_any_outputs(a.output_type, a.output, first, static_cast<std::size_t>(larger(count, 0)), Float(0));
        return;
    }
    if (maximum == Float(0)) {
        maximum = maximum_again<T, Load, Float>(a, data, count);
    }
    TileAgain<T, LoadInOrder<Load>> block(a, data, count, maximum);
    finish_softmax<T, LoadInOrder<Load>>(a, block_factor(maximum, total.maximum, total.sum), first, count, block.e);
}

// What log-softmax needs to know of a row of `count` states, by one warp for those that share it, which wait: of few
// states in one piece, in which the steps of either chain fill the other's gaps.
template <template <class, class> class State, class Float, class Sum>
__device__ __noinline__ void find_log_row(const State<Float, Sum> *states, int count, LogRow<Float> *found) {
    LogRow<Float> row;
    if (count <= warp_lanes) {
        RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
        if (lane_index() < count) {
            const State<Float, Sum> &own = states[state_place(lane_index())];
            mine = {own.maximum, own.sum};
        }
        row = log_row_of(merge_one_a_lane(mine));
    } else {
        row = log_row(merge_any_states(states, count));
    }
    if (lane_index() == 0) {
        *found = row;
    }
}

// From a tile's logits to its outputs of log-softmax.
template <class T, class Load, class Logits, class Float>
__device__ __forceinline__ void finish_log_softmax(const SoftmaxArguments &a, const LogRow<Float> &row,
                                                   std::size_t first, int count, const Logits &x) {
    if (row.kind != RowKind::ordinary) {
        store_special<Float>(a, first, count, row.kind);
        return;
    }
    Float y[lane_elements];
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
        y[i] = log_softmax_output(x[i], row.splits);
    }
    store_tile<T, Load>(a, first, count, y);
}

} // namespace wr::cuda
