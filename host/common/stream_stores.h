// Stores that go to memory past the caches: of more than these have room for, so that memory is not read first in order
// to be overwritten, and what is in the caches stays there.
#pragma once

#include "host/common/vectors.h"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

namespace wr::host::WR_ISA {
namespace {

// A register of this instruction set; `to` is aligned as it is.
template <class V>
WR_HD void stream_vector(void *to, V v) {
    static_assert(sizeof v == vector_bytes);
#if defined(__AVX512F__)
    _mm512_stream_si512(static_cast<__m512i *>(to), bit_cast<__m512i>(v));
#elif defined(__AVX2__)
    _mm256_stream_si256(static_cast<__m256i *>(to), bit_cast<__m256i>(v));
#elif defined(__SSE2__)
    _mm_stream_si128(static_cast<__m128i *>(to), bit_cast<__m128i>(v));
#else
    store_vector(to, v);
#endif
}

// Once a thread has streamed all that others will read.
WR_HD void end_streams() {
#if defined(__SSE2__)
    _mm_sfence();
#endif
}

} // namespace
} // namespace wr::host::WR_ISA
