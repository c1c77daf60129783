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

// Whether finishing a float is no more than storing it, as what.
__device__ __forceinline__ bool is_plain(const Finish &finish, std::uint64_t count, ElementType type) {
    return finish.op == Operator::sum && finish.output_type == type && count != 0 && !finish.add_to_output;
}
__device__ __forceinline__ float with_canonical_nan(float value) {
    return is_nan(value) ? bit_cast<float>(canonical_nan_f32) : value;
}

__device__ __forceinline__ void finish_result(float value, std::uint64_t count, const Finish &finish, void *output,
                                              std::size_t index) {
    if (is_plain(finish, count, ElementType::f32)) {
        static_cast<float *>(output)[index] = with_canonical_nan(value);
    } else if (is_plain(finish, count, ElementType::bf16)) {
        const auto rounded = __bfloat16_as_ushort(__float2bfloat16_rn(value));
        static_cast<unsigned short *>(output)[index] = is_nan(value) ? canonical_nan_bf16 : rounded;
    } else if (is_plain(finish, count, ElementType::f16)) {
        const auto rounded = __half_as_ushort(__float2half_rn(value));
        static_cast<unsigned short *>(output)[index] = is_nan(value) ? canonical_nan_f16 : rounded;
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

// The largest or smallest of floats.
__device__ __forceinline__ void finish_result(std::int32_t key, std::uint64_t count, const Finish &finish, void *output,
                                              std::size_t index) {
    const bool plain = finish.input_type == ElementType::f32 && finish.output_type == ElementType::f32 &&
                       !finish.add_to_output && key != Extreme<std::int32_t>::nan_key &&
                       key != Extreme<std::int32_t>::identity();
    if (plain) {
        static_cast<float *>(output)[index] = value_of_key(key ^ static_cast<std::int32_t>(finish.flip));
    } else {
        finish_any(key, count, finish, output, index);
    }
}

// Where all outputs of a call have an axis of one length.
template <class Accumulator>
__device__ __forceinline__ void finish_result(const Accumulator &value, const Finish &finish, void *output,
                                              std::size_t index) {
    finish_result(value, finish.axis, finish, output, index);
}

// How Count neighbouring floats are stored where finishing them is no more than that.
template <int Count>
struct PlainVector {
    using Type = std::conditional_t<Count % 4 == 0, float4, float2>;
    static constexpr int elements = sizeof(Type) / sizeof(float);
};

// Whether all outputs from `index` on that stand a multiple of Count apart may be written by store_plainly.
template <class Accumulator, int Count>
__device__ __forceinline__ bool stores_plainly(const Accumulator (&)[Count], const Finish &finish, const void *output,
                                               std::size_t index) {
    if constexpr (std::is_same_v<Accumulator, float> && Count % 2 == 0) {
        const float *at = static_cast<const float *>(output) + index;
        return is_plain(finish, finish.axis, ElementType::f32) &&
               reinterpret_cast<std::uintptr_t>(at) % sizeof(typename PlainVector<Count>::Type) == 0;
    } else {
        return false;
    }
}
template <class Accumulator, int Count>
__device__ __forceinline__ void store_plainly(const Accumulator (&values)[Count], void *output, std::size_t index) {
    if constexpr (std::is_same_v<Accumulator, float> && Count % 2 == 0) {
        using Vector = typename PlainVector<Count>::Type;
        constexpr int elements = PlainVector<Count>::elements;
        float *at = static_cast<float *>(output) + index;
#pragma unroll
        for (int i = 0; i < Count; i += elements) {
            float finished[elements];
#pragma unroll
            for (int e = 0; e < elements; ++e) {
                finished[e] = with_canonical_nan(values[i + e]);
            }
            Vector vector;
            memcpy(&vector, finished, sizeof(vector));
            *reinterpret_cast<Vector *>(at + i) = vector;
        }
    }
}

// Neighbouring outputs from `index` on, a multiple of Count.
template <class Accumulator, int Count>
__device__ __forceinline__ void finish_neighbours(const Accumulator (&values)[Count], const Finish &finish,
                                                  void *output, std::size_t index) {
    if (stores_plainly(values, finish, output, index)) {
        store_plainly(values, output, index);
        return;
    }
#pragma unroll
    for (int i = 0; i < Count; ++i) {
        finish_result(values[i], finish, output, index + static_cast<std::size_t>(i));
    }
}

} // namespace wr::cuda
