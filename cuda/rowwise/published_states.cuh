// The states of a row's blocks in global memory, as multiprocessors tell each other while a kernel runs: words that say
// themselves whether they are there, so that whoever waits for a state needs no flag and no fence beside it.
#pragma once

#include "cuda/common/fill_words.h"
#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/tile_load.cuh"
#include "cuda/softmax/arguments.h"
#include "numerics/softmax.h"

#include <cstdint>

namespace wr::cuda {

// Two words at once, 16-byte aligned.
__device__ __forceinline__ void publish_words(std::uint64_t *to, std::uint64_t first, std::uint64_t second) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second) : "memory");
}
__device__ __forceinline__ std::uint64_t look_at_word(const std::uint64_t *from) {
    std::uint64_t word;
    asm volatile("ld.relaxed.gpu.global.u64 %0, [%1];" : "=l"(word) : "l"(from) : "memory");
    return word;
}
__device__ __forceinline__ void look_at_words(const std::uint64_t *from, std::uint64_t (&words)[2]) {
    asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                 : "=l"(words[0]), "=l"(words[1])
                 : "l"(from)
                 : "memory");
}

// Whoever asks again and again is in the way of all memory traffic.
__device__ __forceinline__ void rest_before_looking_again() {
    constexpr unsigned nanoseconds = 40;
    __nanosleep(nanoseconds);
}

// A maximum and an f32 sum share a word; beside an f64 sum the maximum has one to itself.
template <class Sum>
inline constexpr int published_words = sizeof(Sum) == sizeof(float) ? 1 : 2;

template <class Sum>
__device__ __forceinline__ void publish(std::uint64_t *to, const RowState<float, Sum> &state) {
    const std::uint64_t maximum = __float_as_uint(state.maximum);
    if constexpr (published_words<Sum> == 1) {
        const std::uint64_t word = maximum << 32 | __float_as_uint(state.sum);
        asm volatile("st.relaxed.gpu.global.u64 [%0], %1;" ::"l"(to), "l"(word) : "memory");
    } else {
        const auto sum = static_cast<std::uint64_t>(__double_as_longlong(state.sum));
        publish_words(to, maximum, sum);
    }
}

// What others add to while the kernel runs, as it was last seen.
__device__ __forceinline__ unsigned look_at(const unsigned *counter) {
    unsigned seen;
    asm volatile("ld.relaxed.gpu.global.u32 %0, [%1];" : "=r"(seen) : "l"(counter) : "memory");
    return seen;
}

// A state as it was last seen.
template <class Sum>
class SeenState {
  public:
    __device__ __forceinline__ void look(const std::uint64_t *from) {
        if constexpr (published_words<Sum> == 1) {
            words_[0] = look_at_word(from);
        } else {
            look_at_words(from, words_);
        }
    }

    // Instead of looking, for a state that is not: -infinity and 0.
    __device__ __forceinline__ void clear() {
        constexpr std::uint64_t lowest = 0xFF800000u;
        if constexpr (published_words<Sum> == 1) {
            words_[0] = lowest << 32;
        } else {
            words_[0] = lowest;
            words_[1] = 0;
        }
    }

    __device__ __forceinline__ bool is_there() const {
        return words_[0] != absent_word && words_[published_words<Sum> - 1] != absent_word;
    }

    __device__ __forceinline__ RowState<float, Sum> state() const {
        if constexpr (published_words<Sum> == 1) {
            return {__uint_as_float(static_cast<unsigned>(words_[0] >> 32)),
                    __uint_as_float(static_cast<unsigned>(words_[0]))};
        } else {
            return {__uint_as_float(static_cast<unsigned>(words_[0])),
                    __longlong_as_double(static_cast<long long>(words_[1]))};
        }
    }

  private:
    std::uint64_t words_[published_words<Sum>];
};

// What a kernel has left of columns to those behind it.

// Whether a kernel before did all that this one is for.
__device__ __forceinline__ bool is_nothing_left(const ColumnsLeft &left) {
    return left.any != nullptr && *left.any == absent_word;
}

// Whether the vector of columns that holds this one is this kernel's to do.
__device__ __forceinline__ bool is_left(const ColumnsLeft &left, std::size_t outer, std::size_t inner) {
    if (left.any == nullptr) {
        return true;
    }
    constexpr std::size_t each = vector_elements<float>;
    const std::uint64_t word = left.factors[outer * left.columns + inner / each * each];
    return is_nan(__uint_as_float(static_cast<unsigned>(word >> 32)));
}

} // namespace wr::cuda
