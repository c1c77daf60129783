// The natural tree over a run of terms that a lane holds.
#pragma once

namespace wr::cuda {

// An exponential as a term of a sum. Normal: it is known to be a positive normal number, which is widened by integer
// instructions; the conversion's unit takes eight cycles for a warp.
template <class Sum, bool Normal, class Float>
__device__ __forceinline__ Sum term(Float e) {
    if constexpr (Normal && sizeof(Float) == 4 && sizeof(Sum) == 8) {
        constexpr unsigned more_mantissa = 1u << (52 - 23);
        constexpr long long bias_difference = (1023LL - 127) << 52;
        long long bits;
        asm("mad.wide.u32 %0, %1, %2, %3;"
            : "=l"(bits)
            : "r"(__float_as_uint(e)), "n"(more_mantissa), "n"(bias_difference));
        return __longlong_as_double(bits);
    } else {
        return static_cast<Sum>(e);
    }
}

// The same where it is +0 or such a number.
template <class Sum, class Float>
__device__ __forceinline__ Sum term_or_zero(Float e) {
    const Sum normal = term<Sum, true>(e);
    if constexpr (sizeof(Float) == 4 && sizeof(Sum) == 8) {
        return __hiloint2double(e == Float(0) ? 0 : __double2hiint(normal), __double2loint(normal));
    }
    return normal;
}

// The natural tree over a lane's neighbours, a power of two of them.
template <int Run, class Sum, bool Normal = false, class Float>
__device__ __forceinline__ Sum run_sum(const Float *e) {
    Sum part[Run];
#pragma unroll
    for (int j = 0; j < Run; ++j) {
        part[j] = term<Sum, Normal>(e[j]);
    }
#pragma unroll
    for (int width = 1; width < Run; width *= 2) {
#pragma unroll
        for (int j = 0; j < Run; j += 2 * width) {
            part[j] = part[j] + part[j + width];
        }
    }
    return part[0];
}

} // namespace wr::cuda
