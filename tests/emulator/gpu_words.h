// CUDA's own words for kernels that are compiled as plain C++ and run by the emulator. Included before everything else.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_runtime_api.h>

#include <array>
#include <cstdint>
#include <cstring>

#undef __device__
#undef __global__
#undef __host__
#undef __shared__
#undef __grid_constant__
#undef __launch_bounds__
#undef __noinline__
#undef __forceinline__
#define __device__
#define __global__
#define __host__
#define __grid_constant__
#define __launch_bounds__(...)
#define __noinline__
#define __forceinline__ inline __attribute__((always_inline))
// One block runs at a time, its threads by turns in one thread of the processor.
#define __shared__ static

namespace emulator {

struct Index {
    unsigned x = 0, y = 0, z = 0;
};

inline constexpr int lanes = 32;

// What all lanes of a warp brought to the same collective call. A lane waits until all that have not ended are there.
using Words = std::array<std::uint64_t, lanes>;
struct Gathered {
    Words words;
    std::uint32_t present;
};
const Gathered &gather(std::uint64_t word);

void synchronise_block();

int lane();

} // namespace emulator

inline emulator::Index threadIdx, blockIdx, blockDim, gridDim;

inline void __syncthreads() { emulator::synchronise_block(); }
// Threads run by turns: one word serves all of the block.
inline int __syncthreads_or(int predicate) {
    static int any;
    emulator::synchronise_block();
    any = 0;
    emulator::synchronise_block();
    any |= predicate;
    emulator::synchronise_block();
    return any;
}
inline void __syncwarp(unsigned = 0xFFFFFFFFu) { emulator::gather(0); }

template <class T>
inline std::uint64_t word_of(T value) {
    static_assert(sizeof(T) <= sizeof(std::uint64_t));
    std::uint64_t word = 0;
    std::memcpy(&word, &value, sizeof(value));
    return word;
}
template <class T>
inline T value_of(std::uint64_t word) {
    T value;
    std::memcpy(&value, &word, sizeof(value));
    return value;
}

// A lane that has ended gives whatever: the emulator gives a pattern that no test expects.
template <class T>
inline T __shfl_sync(unsigned, T value, int from) {
    return value_of<T>(emulator::gather(word_of(value)).words[static_cast<unsigned>(from) % emulator::lanes]);
}
template <class T>
inline T __shfl_xor_sync(unsigned, T value, int mask) {
    return value_of<T>(emulator::gather(word_of(value)).words[static_cast<unsigned>(emulator::lane() ^ mask)]);
}
template <class T>
inline T __shfl_up_sync(unsigned, T value, int by) {
    const int from = emulator::lane() - by;
    const auto &all = emulator::gather(word_of(value));
    return from < 0 ? value : value_of<T>(all.words[static_cast<unsigned>(from)]);
}
inline unsigned __ballot_sync(unsigned, int predicate) {
    const emulator::Gathered &all = emulator::gather(predicate != 0 ? 1 : 0);
    unsigned mask = 0;
    for (unsigned l = 0; l < emulator::lanes; ++l) {
        mask |= (all.present >> l & 1u) != 0 && all.words[l] != 0 ? 1u << l : 0u;
    }
    return mask;
}
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate == 0) == 0 ? 1 : 0; }
template <class T>
inline T __reduce_max_sync(unsigned, T value) {
    const emulator::Gathered &all = emulator::gather(word_of(value));
    for (unsigned l = 0; l < emulator::lanes; ++l) {
        const T other = value_of<T>(all.words[l]);
        value = (all.present >> l & 1u) != 0 && other > value ? other : value;
    }
    return value;
}
template <class T>
inline T __reduce_min_sync(unsigned, T value) {
    const emulator::Gathered &all = emulator::gather(word_of(value));
    for (unsigned l = 0; l < emulator::lanes; ++l) {
        const T other = value_of<T>(all.words[l]);
        value = (all.present >> l & 1u) != 0 && other < value ? other : value;
    }
    return value;
}

inline int __ffs(int word) { return __builtin_ffs(word); }
inline int __clz(int word) { return word == 0 ? 32 : __builtin_clz(static_cast<unsigned>(word)); }
inline int __popc(unsigned word) { return __builtin_popcount(word); }
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned by) {
    return static_cast<unsigned>((std::uint64_t{high} << 32 | low) >> (by & 31u));
}
inline std::uint64_t __umul64hi(std::uint64_t a, std::uint64_t b) {
    __extension__ using Whole = unsigned __int128;
    return static_cast<std::uint64_t>((Whole{a} * b) >> 64);
}

// Byte number i is the one of low and high, eight together, that digit number i of `which` says.
inline unsigned __byte_perm(unsigned low, unsigned high, unsigned which) {
    const std::uint64_t both = std::uint64_t{high} << 32 | low;
    unsigned word = 0;
    for (unsigned i = 0; i < 4; ++i) {
        word |= static_cast<unsigned>(both >> (which >> 4 * i & 7u) * 8 & 0xFFu) << 8 * i;
    }
    return word;
}

template <class T>
inline T __ldcs(const T *at) {
    return *at;
}
template <class T>
inline T __ldg(const T *at) {
    return *at;
}

template <class Small, class Large>
inline Large dot_of_bytes(Large a, Large b, Large sum) {
    for (int i = 0; i < 4; ++i) {
        sum +=
            static_cast<Large>(static_cast<Small>(a >> (8 * i))) * static_cast<Large>(static_cast<Small>(b >> (8 * i)));
    }
    return sum;
}
inline int __dp4a(int a, int b, int sum) { return dot_of_bytes<std::int8_t>(a, b, sum); }
inline unsigned __dp4a(unsigned a, unsigned b, unsigned sum) { return dot_of_bytes<std::uint8_t>(a, b, sum); }

// The halves of a with the lower two bytes of b.
inline int __dp2a_lo(int a, int b, int sum) {
    return sum + static_cast<std::int16_t>(a) * static_cast<std::int8_t>(b) +
           static_cast<std::int16_t>(a >> 16) * static_cast<std::int8_t>(b >> 8);
}
inline unsigned __dp2a_lo(unsigned a, unsigned b, unsigned sum) {
    return sum + (a & 0xFFFFu) * (b & 0xFFu) + (a >> 16) * (b >> 8 & 0xFFu);
}
