// What masks, lengths and the causal limit leave of short columns in whole vectors.
#pragma once

#include "cuda/rowwise/column_tile.cuh"
#include "cuda/rowwise/select.cuh"

#include <type_traits>

namespace wr::cuda {

// A byte for each of a thread's columns, whose top bit tells what takes part.
template <class T>
using BytesOfColumns = std::conditional_t<sizeof(T) == 2, uint2, unsigned>;

// What a mask's bytes say; of row `i` bytes that say how many leading rows take part, below 128; and both.
__device__ __forceinline__ unsigned taken_by_mask(unsigned mask) { return taken_bytes(mask); }
__device__ __forceinline__ uint2 taken_by_mask(uint2 mask) { return {taken_bytes(mask.x), taken_bytes(mask.y)}; }
__device__ __forceinline__ unsigned taken_by_leading(unsigned leading, int i) {
    return leading + (0x7Fu - static_cast<unsigned>(i)) * 0x01010101u;
}
__device__ __forceinline__ uint2 taken_by_leading(uint2 leading, int i) {
    return {taken_by_leading(leading.x, i), taken_by_leading(leading.y, i)};
}
__device__ __forceinline__ unsigned taken_by_both(unsigned one, unsigned other) { return one & other; }
__device__ __forceinline__ uint2 taken_by_both(uint2 one, uint2 other) { return {one.x & other.x, one.y & other.y}; }

// Whether column c is among them.
__device__ __forceinline__ bool is_taken(unsigned taken, int c) { return (taken >> (8 * c + 7) & 1u) != 0; }
__device__ __forceinline__ bool is_taken(uint2 taken, int c) { return is_taken(c < 4 ? taken.x : taken.y, c & 3); }

// For each of a thread's columns how many of its leading rows lengths and the causal limit leave.
template <class T, int Rows>
__device__ __forceinline__ BytesOfColumns<T> leading_rows(const Selection &selection,
                                                          const ColumnTilePart<T, Rows, true> &part, std::size_t axis,
                                                          std::size_t columns) {
    const std::size_t most = within_causal_limit(selection, part.outer, axis);
    std::uint8_t rows[vector_elements<T>];
#pragma unroll
    for (int c = 0; c < vector_elements<T>; ++c) {
        rows[c] = 0;
        if (part.count > 0) {
            std::size_t leading = most;
            if (selection.lengths != nullptr) {
                leading = no_more_than(most, selection.lengths[part.column(columns, c)]);
            }
            const auto behind = static_cast<std::ptrdiff_t>(leading) - part.first;
            rows[c] = static_cast<std::uint8_t>(larger<std::ptrdiff_t>(smaller<std::ptrdiff_t>(behind, part.count), 0));
        }
    }
    BytesOfColumns<T> packed;
    static_assert(sizeof(packed) == sizeof(rows));
    memcpy(&packed, rows, sizeof(rows));
    return packed;
}

// What takes part of a thread's rows: of those that it does not have, nothing.
template <class T, int Rows>
struct TakenOfColumns {
    using Bytes = BytesOfColumns<T>;
    Bytes of[Rows];

    __device__ __forceinline__ TakenOfColumns(const Selection &selection, const ColumnTilePart<T, Rows, true> &part,
                                              std::size_t axis, std::size_t columns) {
        if (selection.mask != nullptr) {
            const std::size_t row = part.outer * axis + static_cast<unsigned>(part.first);
            load(selection.mask + row * columns + part.inner, columns, part.count);
        }
        const Bytes leading = leading_rows(selection, part, axis, columns);
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            const Bytes by_limits = taken_by_leading(leading, i);
            of[i] = selection.mask != nullptr ? taken_by_both(by_limits, taken_by_mask(of[i])) : by_limits;
        }
    }

  private:
    __device__ __forceinline__ void load(const std::uint8_t *from, std::size_t columns, int count) {
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            of[i] = Bytes();
            if (i < count) {
                of[i] = *reinterpret_cast<const Bytes *>(from);
            }
            from += columns;
        }
    }
};

// The same to keep through the arithmetic: a bit of a byte for each row.
template <class T>
struct KeptOfColumns {
    BytesOfColumns<T> bits;

    template <int Rows>
    __device__ __forceinline__ void keep(const TakenOfColumns<T, Rows> &taken) {
        static_assert(Rows <= 8);
        bits = BytesOfColumns<T>();
#pragma unroll
        for (int i = 0; i < Rows; ++i) {
            bits = with_row(bits, taken.of[i], i);
        }
    }
    // Row i's bytes, whose top bit tells.
    __device__ __forceinline__ BytesOfColumns<T> of(int i) const { return unaligned(bits, i); }

  private:
    __device__ __forceinline__ static unsigned with_row(unsigned rows, unsigned taken, int i) {
        return rows | (taken & 0x80808080u) >> i;
    }
    __device__ __forceinline__ static uint2 with_row(uint2 rows, uint2 taken, int i) {
        return {with_row(rows.x, taken.x, i), with_row(rows.y, taken.y, i)};
    }
    __device__ __forceinline__ static unsigned unaligned(unsigned rows, int i) { return rows << i; }
    __device__ __forceinline__ static uint2 unaligned(uint2 rows, int i) { return {rows.x << i, rows.y << i}; }
};

} // namespace wr::cuda
