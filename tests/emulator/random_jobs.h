// What random jobs for the emulated GPU are made of.
#pragma once

#include "warp_reduce.h"

#include <cstdint>
#include <cstring>
#include <random>

using Random = std::mt19937_64;

inline std::size_t below(Random &random, std::size_t end) {
    return std::uniform_int_distribution<std::size_t>(0, end - 1)(random);
}
inline bool one_in(Random &random, std::size_t count) { return below(random, count) == 0; }

template <class T, std::size_t Count>
T any_of(Random &random, const T (&values)[Count]) {
    return values[below(random, Count)];
}

inline CUstream_st *emulated_stream() { return reinterpret_cast<CUstream_st *>(std::uintptr_t{16}); }

inline constexpr int dtypes = WR_BABYBEAR_X4;

inline std::size_t alignment_of(wr_dtype dtype) {
    return dtype == WR_KOALABEAR_X4 || dtype == WR_BABYBEAR_X4 ? 4 : wr_dtype_size(dtype);
}

inline std::uint64_t modulus_of(wr_dtype dtype) {
    switch (dtype) {
    case WR_KOALABEAR:
    case WR_KOALABEAR_X4:
        return 0x7F000001;
    case WR_BABYBEAR:
    case WR_BABYBEAR_X4:
        return 0x78000001;
    case WR_MERSENNE31:
        return 0x7FFFFFFF;
    default:
        return 0xFFFFFFFF00000001;
    }
}

// Words that fields may have, any bits of others; floats mostly of moderate size, so that sums are not all infinities.
inline void fill(Random &random, wr_dtype dtype, unsigned char *data, std::size_t count) {
    const std::size_t size = wr_dtype_size(dtype);
    if (dtype >= WR_KOALABEAR) {
        const std::size_t word = dtype == WR_GOLDILOCKS ? 8 : 4;
        for (std::size_t i = 0; i < count * size / word; ++i) {
            std::uint64_t value = random() % modulus_of(dtype);
            if (one_in(random, 10) && (dtype == WR_GOLDILOCKS || dtype == WR_MERSENNE31)) {
                value = modulus_of(dtype) + (dtype == WR_GOLDILOCKS ? random() % 3 * (random() >> 32) / 2 : 0);
            }
            std::memcpy(data + i * word, &value, word);
        }
        return;
    }
    const bool wild = one_in(random, 4);
    for (std::size_t i = 0; i < count; ++i) {
        std::uint64_t bits = random();
        if (dtype == WR_F32 && !wild) {
            const float value = static_cast<float>(static_cast<std::int32_t>(bits >> 32)) * 0x1p-20f;
            std::memcpy(&bits, &value, sizeof(value));
        } else if (dtype == WR_F64 && !wild) {
            const double value = static_cast<double>(static_cast<std::int64_t>(bits)) * 0x1p-40;
            std::memcpy(&bits, &value, sizeof(value));
        } else if (dtype == WR_BF16 && !wild) {
            bits = (bits & 0x83FF) | 0x3C00;
        }
        if (one_in(random, 5)) {
            bits = 0;
        }
        std::memcpy(data + i * size, &bits, size);
    }
}

inline constexpr std::size_t edges[] = {
    1,   2,    3,    4,    5,    6,    7,    8,    9,    12,   15,   16,   17,   24,   31,   32,   33,   47,   48,  63,
    64,  65,   66,   96,   100,  127,  128,  129,  130,  192,  255,  256,  257,  300,  384,  511,  512,  513,  600, 640,
    768, 1000, 1001, 1023, 1024, 1025, 1028, 1500, 1536, 1900, 2047, 2048, 2049, 3000, 3072, 4096, 5000, 8192, 9000};
