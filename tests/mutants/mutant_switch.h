/* Included before every source of a tree of mutants: which of them is alive. */
#ifndef WARP_REDUCE_TESTS_MUTANT_SWITCH_H
#define WARP_REDUCE_TESTS_MUTANT_SWITCH_H

#if defined(__cplusplus)

#include <cstdlib>
#include <optional>

/* The number in WR_MUTANT; 0 is none. */
inline const int wr_living_mutant = std::getenv("WR_MUTANT") == nullptr ? 0 : std::atoi(std::getenv("WR_MUTANT"));

/* In what is computed by the compiler no mutant lives. On the emulated GPU the number is an environment register. */
#if defined(__CUDACC__)
__host__ __device__ __forceinline__
#else
__attribute__((always_inline)) inline
#endif
    constexpr bool wr_mutant(int number) {
    if (__builtin_is_constant_evaluated()) {
        return false;
    }
#if defined(__CUDA_ARCH__)
    int living = 0;
    asm("mov.u32 %0, %%envreg3;" : "=r"(living));
    return living == number;
#else
    return wr_living_mutant == number;
#endif
}

#endif

#endif
