// Finishing an output on the GPU: the common case in line, all others behind one call, so that kernels stay small.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "numerics/finish.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace wr::cuda {

template <class Accumulator>
__device__ __noinline__ void finish_any(Accumulator value, std::uint64_t count, const Finish &finish, void *output,
                                        std::size_t index) {
    finish_accumulator(value, count, finish, output, index);
}

template <class Accumulator>
__device__ __forceinline__ void finish_result(const Accumulator &value, std::uint64_t count, const Finish &finish,
                                              void *output, std::size_t index) {
    finish_any(value, count, finish, output, index);
}

// Whether finishing a float is no more than storing it as that.
__device__ __forceinline__ bool is_plain(const Finish &finish, std::uint64_t count, ElementType type) {
    return finish.op == Operator::sum && finish.output_type == type && count != 0 && !finish.add_to_output;
}
__device__ __forceinline__ float with_canonical_nan(float value) {
    return is_nan(value) ? bit_cast<float>(canonical_nan_f32) : value;
}
__device__ __forceinline__ unsigned short pattern_of(float value, BF16) {
    return is_nan(value) ? canonical_nan_bf16 : __bfloat16_as_ushort(__float2bfloat16_rn(value));
}
__device__ __forceinline__ unsigned short pattern_of(float value, F16) {
    return is_nan(value) ? canonical_nan_f16 : __half_as_ushort(__float2half_rn(value));
}

// Whether a finished float goes by one instruction into its output's type, over what was there.
__device__ __forceinline__ bool is_stored_plainly(const Finish &finish) {
    return !finish.add_to_output && (finish.output_type == ElementType::f32 ||
                                     finish.output_type == ElementType::bf16 || finish.output_type == ElementType::f16);
}
__device__ __forceinline__ void store_plainly(float value, const Finish &finish, void *output, std::size_t index) {
    if (finish.output_type == ElementType::f32) {
        static_cast<float *>(output)[index] = with_canonical_nan(value);
    } else {
        static_cast<unsigned short *>(output)[index] =
            finish.output_type == ElementType::bf16 ? pattern_of(value, BF16()) : pattern_of(value, F16());
    }
}
__device__ __forceinline__ bool is_plain_mean(const Finish &finish) {
    return finish.op == Operator::mean && is_stored_plainly(finish);
}

// Means, products and norms.
__device__ __noinline__ inline void finish_any(float value, std::uint64_t count, const Finish &finish, void *output,
                                               std::size_t index) {
    if (is_stored_plainly(finish)) {
        const bool mean = finish.op == Operator::mean; // asked first: of short rows it is what takes the time
        store_plainly(mean ? value / static_cast<float>(count) : finished_float(value, finish.op, count), finish,
                      output, index);
    } else {
        finish_accumulator(value, count, finish, output, index);
    }
}
template <>
__device__ __noinline__ inline void finish_any(Scaled<float> value, std::uint64_t count, const Finish &finish,
                                               void *output, std::size_t index) {
    if (is_stored_plainly(finish)) {
        store_plainly(scaled_root(value), finish, output, index);
    } else {
        finish_accumulator(value, count, finish, output, index);
    }
}

__device__ __forceinline__ void finish_result(float value, std::uint64_t count, const Finish &finish, void *output,
                                              std::size_t index) {
    if (is_plain(finish, count, ElementType::f32)) {
        static_cast<float *>(output)[index] = with_canonical_nan(value);
    } else if (is_plain(finish, count, ElementType::bf16)) {
        static_cast<unsigned short *>(output)[index] = pattern_of(value, BF16());
    } else if (is_plain(finish, count, ElementType::f16)) {
        static_cast<unsigned short *>(output)[index] = pattern_of(value, F16());
    } else {
        finish_any(value, count, finish, output, index);
    }
}

// A sum of words of a 31-bit field modulo its prime, whichever it is. The quotient is at most 1 too small.
__device__ __forceinline__ std::uint32_t reduced_word(std::uint64_t sum, std::uint32_t prime,
                                                      std::uint64_t reciprocal) {
    const auto quotient = static_cast<std::uint32_t>(__umul64hi(sum, reciprocal));
    const std::uint32_t rest = static_cast<std::uint32_t>(sum) - quotient * prime;
    return rest >= prime ? rest - prime : rest;
}
template <class Word>
inline constexpr std::uint64_t reciprocal_of_prime = ~std::uint64_t{0} / Field<Word>::prime; // 2^64 / p, rounded down

// Integer sums, counts and the like that are stored as they are, and sums of words of 31-bit fields.
__device__ __forceinline__ void finish_result(std::uint64_t value, std::uint64_t count, const Finish &finish,
                                              void *output, std::size_t index) {
    const bool plain = finish.op == Operator::sum && !finish.add_to_output;
    if (plain && (finish.output_type == ElementType::i64 || finish.output_type == ElementType::u64)) {
        static_cast<std::uint64_t *>(output)[index] = value;
    } else if (plain && (finish.output_type == ElementType::i32 || finish.output_type == ElementType::u32)) {
        static_cast<std::uint32_t *>(output)[index] = static_cast<std::uint32_t>(value);
    } else if (plain && finish.output_type >= ElementType::koalabear && finish.output_type <= ElementType::mersenne31) {
        const bool koalabear = finish.output_type == ElementType::koalabear;
        const bool babybear = finish.output_type == ElementType::babybear;
        const std::uint32_t prime = koalabear  ? Field<KoalaBear>::prime
                                    : babybear ? Field<BabyBear>::prime
                                               : Field<Mersenne31>::prime;
        const std::uint64_t reciprocal = koalabear  ? reciprocal_of_prime<KoalaBear>
                                         : babybear ? reciprocal_of_prime<BabyBear>
                                                    : reciprocal_of_prime<Mersenne31>;
        static_cast<std::uint32_t *>(output)[index] = reduced_word(value, prime, reciprocal);
    } else {
        finish_any(value, count, finish, output, index);
    }
}

// Whether an extreme or a largest magnitude of floats goes into their own type, and is not that of nothing.
__device__ __forceinline__ bool is_plain_key(std::int32_t key, const Finish &finish) {
    return finish.input_type == finish.output_type && !finish.add_to_output && key != Extreme<std::int32_t>::identity();
}
__device__ __forceinline__ float plain_value_of_key(std::int32_t key, const Finish &finish) {
    const float value = value_of_key(key ^ static_cast<std::int32_t>(finish.flip));
    return key == Extreme<std::int32_t>::nan_key ? bit_cast<float>(canonical_nan_f32) : value;
}

__device__ __forceinline__ void finish_result(std::int32_t key, std::uint64_t count, const Finish &finish, void *output,
                                              std::size_t index) {
    const bool plain = is_plain_key(key, finish);
    if (plain && finish.output_type == ElementType::f32) {
        static_cast<float *>(output)[index] = plain_value_of_key(key, finish);
    } else if (plain && finish.output_type == ElementType::bf16) {
        static_cast<unsigned short *>(output)[index] = pattern_of(plain_value_of_key(key, finish), BF16());
    } else if (plain && finish.output_type == ElementType::f16) {
        static_cast<unsigned short *>(output)[index] = pattern_of(plain_value_of_key(key, finish), F16());
    } else {
        finish_any(key, count, finish, output, index);
    }
}

// Where an extreme stands, and nothing beside it.
template <class Key>
__device__ __forceinline__ void finish_result(const KeyAt<Key> &found, std::uint64_t count, const Finish &finish,
                                              void *output, std::size_t index) {
    if (finish.values == nullptr && finish.output_type == ElementType::i64) {
        static_cast<std::uint64_t *>(output)[index] = found.position;
    } else {
        finish_any(found, count, finish, output, index);
    }
}

// Where all outputs of a call have an axis of one length.
template <class Accumulator>
__device__ __forceinline__ void finish_result(const Accumulator &value, const Finish &finish, void *output,
                                              std::size_t index) {
    finish_result(value, finish.axis, finish, output, index);
}

// Neighbouring outputs of a call, a multiple of Count from the first on: by whole words, if they lie for it. False: not
// done.
template <class T, int Count>
__device__ __forceinline__ bool store_words(const T (&stored)[Count], void *output, std::size_t index) {
    constexpr int bytes = Count * static_cast<int>(sizeof(T));
    using Word = std::conditional_t<bytes % 16 == 0, uint4, std::conditional_t<bytes % 8 == 0, uint2, unsigned>>;
    if constexpr (bytes % sizeof(unsigned) != 0) {
        return false;
    } else {
        T *at = static_cast<T *>(output) + index;
        if (reinterpret_cast<std::uintptr_t>(at) % sizeof(Word) != 0) {
            return false;
        }
        Word words[bytes / sizeof(Word)];
        memcpy(words, stored, sizeof(words));
#pragma unroll
        for (int i = 0; i < static_cast<int>(bytes / sizeof(Word)); ++i) {
            reinterpret_cast<Word *>(at)[i] = words[i];
        }
        return true;
    }
}

// Of floats that are stored as they are.
template <class T, int Count>
__device__ __forceinline__ bool store_neighbours(const float (&values)[Count], void *output, std::size_t index) {
    T stored[Count];
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        if constexpr (sizeof(T) == sizeof(float)) {
            stored[i] = with_canonical_nan(values[i]);
        } else {
            stored[i] = T{pattern_of(values[i], T())};
        }
    }
    return store_words(stored, output, index);
}
template <int Count>
__device__ __forceinline__ bool store_neighbours(const float (&values)[Count], ElementType type, void *output,
                                                 std::size_t index) {
    switch (type) {
    case ElementType::f32:
        return store_neighbours<float>(values, output, index);
    case ElementType::bf16:
        return store_neighbours<BF16>(values, output, index);
    case ElementType::f16:
        return store_neighbours<F16>(values, output, index);
    default:
        return false;
    }
}

template <class Accumulator>
inline constexpr bool is_scaled = false;
template <class Float>
inline constexpr bool is_scaled<Scaled<Float>> = true;

// Whether neighbouring outputs may be stored together.
template <class Accumulator>
inline constexpr bool has_place = false;
template <class Key>
inline constexpr bool has_place<KeyAt<Key>> = true;
template <class Accumulator>
inline constexpr bool finishes_side_by_side =
    std::is_floating_point_v<Accumulator> || std::is_same_v<Accumulator, std::int32_t> || is_scaled<Accumulator> ||
    has_place<Accumulator>;

__device__ __noinline__ inline float quotient_of(float sum, float count) { return sum / count; }

// sum / count by the reciprocal of count: one step of Newton's iteration from a quotient that is off by an ulp gives
// the rounded one (Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", 1990), as
// long as nothing on the way leaves the normal range.
__device__ __forceinline__ float quotient_of(float sum, float count, float reciprocal) {
    constexpr unsigned least = (127 - 60) << 23, most = (127 + 125) << 23; // 2^-60, 2^125
    if ((bit_cast<unsigned>(sum) & 0x7FFFFFFFu) - least >= most - least) {
        return quotient_of(sum, count);
    }
    const float near = sum * reciprocal;
    return __fmaf_rn(__fmaf_rn(-near, count, sum), reciprocal, near);
}

// Of f64 that are stored as they are.
template <int Count>
__device__ __forceinline__ bool store_neighbours(const double (&values)[Count], ElementType type, void *output,
                                                 std::size_t index) {
    double stored[Count];
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        stored[i] = is_nan(values[i]) ? bit_cast<double>(canonical_nan_f64) : values[i];
    }
    return type == ElementType::f64 && store_words(stored, output, index);
}

template <class Float>
__device__ __noinline__ Float root_of(Float x) {
    return square_root(x);
}

// What Op's results are in the end, if no old output is asked for and nothing but Op itself left them. False: not done.
template <class Op, class Float, int Count>
__device__ __forceinline__ bool finish_floats(Float (&values)[Count], const Finish &finish) {
    if constexpr (std::is_same_v<Op, MappedFloatSum<Float>>) {
        if (finish.op != Operator::norm_l1 && finish.op != Operator::sum_of_squares && finish.op != Operator::norm_l2) {
            return false;
        }
#pragma unroll
        for (Float &value : values) {
            value = finish.op == Operator::norm_l2 ? root_of(magnitude_of(value)) : magnitude_of(value);
        }
        return true;
    } else if constexpr (std::is_same_v<Op, FloatProduct<Float>>) {
        return true;
    } else if constexpr (std::is_same_v<Float, double>) {
        return finish.op == Operator::sum && finish.axis != 0;
    } else {
        if (is_plain_mean(finish)) {
            const float count = static_cast<float>(finish.axis), reciprocal = __frcp_rn(count);
#pragma unroll
            for (float &value : values) {
                value = quotient_of(value, count, reciprocal);
            }
            return true;
        }
        return is_plain(finish, finish.axis, finish.output_type);
    }
}

template <class Op, class Accumulator, int Count>
__device__ __forceinline__ bool finishes_plainly(const Accumulator (&values)[Count], const Finish &finish, void *output,
                                                 std::size_t index) {
    [[maybe_unused]] float floats[Count];
    if constexpr (has_place<Accumulator>) {
        std::uint64_t places[Count];
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            places[i] = values[i].position;
        }
        return finish.values == nullptr && finish.output_type == ElementType::i64 && store_words(places, output, index);
    } else if constexpr (std::is_floating_point_v<Accumulator>) {
        Accumulator finished[Count];
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            finished[i] = values[i];
        }
        return !finish.add_to_output && finish_floats<Op>(finished, finish) &&
               store_neighbours(finished, finish.output_type, output, index);
    } else if constexpr (is_scaled<Accumulator>) {
        decltype(Accumulator::value) roots[Count];
        bool plain = !finish.add_to_output;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            plain = plain && values[i].range == 0;
            roots[i] = square_root(magnitude_of(values[i].value));
        }
        return plain && store_neighbours(roots, finish.output_type, output, index);
    } else if constexpr (std::is_same_v<Accumulator, std::int32_t>) {
        bool plain = true;
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            plain = plain & is_plain_key(values[i], finish);
            floats[i] = plain_value_of_key(values[i], finish);
        }
        return plain && store_neighbours(floats, finish.output_type, output, index);
    } else {
        return false;
    }
}

// One output of Op, of those whose common ways finish_result leaves to a call.
__device__ __forceinline__ bool store_float_as(float value, ElementType type, void *output, std::size_t index) {
    if (type == ElementType::f32) {
        static_cast<float *>(output)[index] = with_canonical_nan(value);
    } else if (type == ElementType::bf16) {
        static_cast<unsigned short *>(output)[index] = pattern_of(value, BF16());
    } else if (type == ElementType::f16) {
        static_cast<unsigned short *>(output)[index] = pattern_of(value, F16());
    } else {
        return false;
    }
    return true;
}
template <class Op, class Accumulator>
__device__ __forceinline__ bool finishes_one_plainly(const Accumulator &value, const Finish &finish, void *output,
                                                     std::size_t index) {
    if constexpr (std::is_same_v<Op, MappedFloatSum<float>> || std::is_same_v<Op, FloatProduct<float>>) {
        float values[1] = {value};
        return !finish.add_to_output && finish_floats<Op>(values, finish) &&
               store_float_as(values[0], finish.output_type, output, index);
    } else if constexpr (std::is_same_v<Accumulator, Scaled<float>>) {
        return !finish.add_to_output && value.range == 0 &&
               store_float_as(square_root(magnitude_of(value.value)), finish.output_type, output, index);
    } else {
        return false;
    }
}

template <class Accumulator>
__device__ __noinline__ void finish_one(Accumulator value, const Finish &finish, void *output, std::size_t index) {
    finish_result(value, finish, output, index);
}

// Count outputs from `index` on, Step apart, of which those behind the first `left` are not there. What type they have
// is asked once, so that few instructions are run through.
template <class T, int Count, int Step>
__device__ __forceinline__ void store_apart(const float *values, int left, void *output, std::size_t index) {
    T *const at = static_cast<T *>(output) + index;
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        if (i * Step < left) {
            if constexpr (sizeof(T) == sizeof(float)) {
                at[i * Step] = with_canonical_nan(values[i]);
            } else {
                at[i * Step] = T{pattern_of(values[i], T())};
            }
        }
    }
}
template <int Count, int Step, class Accumulator, int Registers>
__device__ __forceinline__ void finish_apart(const Accumulator (&values)[Registers], int left, const Finish &finish,
                                             void *output, std::size_t index) {
    if constexpr (std::is_same_v<Accumulator, float>) {
        if (is_plain(finish, finish.axis, finish.output_type)) {
            switch (finish.output_type) {
            case ElementType::f32:
                return store_apart<float, Count, Step>(values, left, output, index);
            case ElementType::bf16:
                return store_apart<BF16, Count, Step>(values, left, output, index);
            case ElementType::f16:
                return store_apart<F16, Count, Step>(values, left, output, index);
            default:
                break;
            }
        }
    }
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        if (i * Step < left) {
            if constexpr (std::is_same_v<Accumulator, float>) {
                finish_one(values[i], finish, output, index + static_cast<std::size_t>(i * Step));
            } else {
                finish_result(values[i], finish, output, index + static_cast<std::size_t>(i * Step));
            }
        }
    }
}

// Neighbouring outputs of Op from `index` on, a multiple of Count.
template <class Op, class Accumulator, int Count>
__device__ __forceinline__ void finish_neighbours(const Accumulator (&values)[Count], const Finish &finish,
                                                  void *output, std::size_t index) {
    if (!finishes_plainly<Op>(values, finish, output, index)) {
#pragma unroll
        for (int i = 0; i < Count; ++i) {
            finish_one(values[i], finish, output, index + static_cast<std::size_t>(i));
        }
    }
}

// Several times Count neighbouring outputs of Op, number r of them from index_of(r) on, which are multiples of Count:
// what type they have is asked once. False: not done.
template <class T, int Runs, int Count, class IndexOf>
__device__ __forceinline__ bool store_runs(const float (&values)[Runs][Count], void *output, const IndexOf &index_of) {
    bool stored = true;
#pragma unroll
    for (int r = 0; r < Runs; ++r) {
        stored = stored && store_neighbours<T>(values[r], output, index_of(r)); // all lie alike for it
    }
    return stored;
}
template <class Op, int Runs, int Count, class IndexOf>
__device__ __forceinline__ bool finish_runs(float (&values)[Runs][Count], const Finish &finish, void *output,
                                            const IndexOf &index_of) {
    bool plain = !finish.add_to_output;
#pragma unroll
    for (int r = 0; r < Runs; ++r) {
        plain = plain && finish_floats<Op>(values[r], finish);
    }
    if (!plain) {
        return false;
    }
    switch (finish.output_type) {
    case ElementType::f32:
        return store_runs<float>(values, output, index_of);
    case ElementType::bf16:
        return store_runs<BF16>(values, output, index_of);
    case ElementType::f16:
        return store_runs<F16>(values, output, index_of);
    default:
        return false;
    }
}

} // namespace wr::cuda
