// Results have their bits only where the compiler computes what is written. cmake/PlainArithmetic.cmake tells it so;
// this says where it was not heard, as far as compilers tell.
#pragma once

#include <cfloat>

#if defined(__FAST_MATH__) || (defined(__FINITE_MATH_ONLY__) && __FINITE_MATH_ONLY__) ||                               \
    defined(__ASSOCIATIVE_MATH__) || defined(__RECIPROCAL_MATH__) || defined(__NO_SIGNED_ZEROS__) ||                   \
    defined(__ROUNDING_MATH__) || defined(__SUPPORT_SNAN__)
#error "warp_reduce: the compiler was told to change floating-point arithmetic (-ffast-math or a flag like it)"
#endif

static_assert(FLT_EVAL_METHOD == 0, "warp_reduce: float and double must be computed as such (-mfpmath=sse)");
