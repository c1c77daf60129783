// Storing consecutive results: the bits of store_float, in loops that become vectors for the usual types.
#pragma once

#include "host/common/vectors.h"

namespace wr::host::WR_ISA {
namespace {

inline void store_as_f32(const float *__restrict values, std::size_t count, std::uint32_t *__restrict out) {
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = is_nan(values[i]) ? canonical_nan_f32 : bit_cast<std::uint32_t>(values[i]);
    }
}

inline void store_as_f64(const double *__restrict values, std::size_t count, std::uint64_t *__restrict out) {
    for (std::size_t i = 0; i < count; ++i) {
        out[i] = is_nan(values[i]) ? canonical_nan_f64 : bit_cast<std::uint64_t>(values[i]);
    }
}

// bf16 is the upper half of f32: adding just under half a unit of it, and one more where it is odd, carries into it.
inline void store_as_bf16(const float *__restrict values, std::size_t count, std::uint16_t *__restrict out) {
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bits = bit_cast<std::uint32_t>(values[i]);
        const std::uint32_t rounded = (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
        out[i] = static_cast<std::uint16_t>(is_nan(values[i]) ? canonical_nan_bf16 : rounded);
    }
}

// Where a magnitude is normal in f16, its bits are rounded in place and the bias changed; where it is not, adding 0.5
// rounds it to a multiple of 2^-24 in the sum's low bits. The largest values all become infinity.
inline void store_as_f16(const float *__restrict values, std::size_t count, std::uint16_t *__restrict out) {
    constexpr std::uint32_t bias_change = (127u - 15u) << 23, beyond = 143u << 23, smallest_normal = 113u << 23;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint32_t bits = bit_cast<std::uint32_t>(values[i]);
        const std::uint32_t magnitude = bits & 0x7FFFFFFFu;
        const std::uint32_t normal = (magnitude - bias_change + 0xFFFu + ((magnitude >> 13) & 1u)) >> 13;
        const std::uint32_t small =
            bit_cast<std::uint32_t>(bit_cast<float>(magnitude) + 0.5f) - bit_cast<std::uint32_t>(0.5f);
        std::uint32_t narrowed = magnitude < smallest_normal ? small : normal;
        narrowed = magnitude >= beyond ? 0x7C00u : narrowed;
        narrowed |= (bits >> 16) & 0x8000u;
        narrowed = magnitude > 0x7F800000u ? canonical_nan_f16 : narrowed;
        out[i] = static_cast<std::uint16_t>(narrowed);
    }
}

template <class Float>
void store_each(const Float *values, std::size_t count, ElementType type, void *output, std::size_t index) {
    for (std::size_t i = 0; i < count; ++i) {
        store_float(values[i], type, output, index + i);
    }
}

inline void store_run(const float *values, std::size_t count, ElementType type, void *output, std::size_t index) {
    switch (type) {
    case ElementType::f32:
        store_as_f32(values, count, static_cast<std::uint32_t *>(output) + index);
        break;
    case ElementType::f16:
        store_as_f16(values, count, static_cast<std::uint16_t *>(output) + index);
        break;
    case ElementType::bf16:
        store_as_bf16(values, count, static_cast<std::uint16_t *>(output) + index);
        break;
    default:
        store_each(values, count, type, output, index);
        break;
    }
}

inline void store_run(const double *values, std::size_t count, ElementType type, void *output, std::size_t index) {
    if (type == ElementType::f64) {
        store_as_f64(values, count, static_cast<std::uint64_t *>(output) + index);
    } else {
        store_each(values, count, type, output, index);
    }
}

} // namespace
} // namespace wr::host::WR_ISA
