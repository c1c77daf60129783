// The words that let one definition serve the CPU and the GPU, and the few operations that each spells differently.
#pragma once

#include "numerics/plain_arithmetic.h"

#include <cstddef>
#include <cstdint>

// WR_HD_RARE is for paths that hardly any data takes, or that are long: on the GPU they stay behind a call, so that the
// common path keeps its registers and kernels stay small. On the host every function is inlined wherever it is used:
// the vector kernels are compiled once for each instruction set, and a shared copy of a function could hold
// instructions that another processor lacks.
#if defined(__CUDACC__)
#define WR_HD __host__ __device__ __forceinline__
#define WR_HD_RARE __host__ __device__ __noinline__ inline
#else
#define WR_HD inline __attribute__((always_inline))
#define WR_HD_RARE WR_HD
#endif

namespace wr {

template <class To, class From>
WR_HD constexpr To bit_cast(From from) {
    static_assert(sizeof(To) == sizeof(From));
    return __builtin_bit_cast(To, from);
}

// One rounding. Every fused operation of the contract is written with these; nothing else may be contracted.
WR_HD float fused(float a, float b, float c) { return __builtin_fmaf(a, b, c); }
WR_HD double fused(double a, double b, double c) { return __builtin_fma(a, b, c); }

// Correctly rounded.
WR_HD float square_root(float x) { return __builtin_sqrtf(x); }
WR_HD double square_root(double x) { return __builtin_sqrt(x); }

template <class T>
WR_HD constexpr T smaller(T a, T b) {
    return b < a ? b : a;
}

template <class T>
WR_HD constexpr T larger(T a, T b) {
    return a < b ? b : a;
}

template <class T>
WR_HD constexpr T divide_up(T a, T b) {
    return a / b + (a % b != 0);
}

} // namespace wr
