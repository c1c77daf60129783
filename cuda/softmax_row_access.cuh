// A row of any shape, strides and types, of which some elements may take no part, as the 32 elements of a base block
// that each lane of a warp holds: element i of lane l stands at position 32 i + l.
#pragma once

#include "cuda/kernel_address.cuh"
#include "cuda/softmax_general_arguments.h"
#include "cuda/warp_tree.cuh"
#include "numerics/operators.h"
#include "numerics/softmax.h"
#include "numerics/softmax_rows.h"
#include "numerics/tree.h"

namespace wr::cuda::general {

inline constexpr int lane_elements = static_cast<int>(softmax_block) / warp_lanes;

template <class Float>
__device__ __noinline__ void store_any(Float value, ElementType type, void *output, std::size_t index) {
    store_float(value, type, output, index);
}

// A row's place: of its first element in an array with strides, and among contiguous outputs.
struct RowPlace {
    std::size_t row, outer, inner;
    std::size_t first;        // index of its first element in outputs and mask
    std::size_t first_stride; // from one of its elements to the next there
    std::size_t count;        // elements
    std::size_t taken;        // leading elements that take part, but for those that the mask leaves out
};

__device__ __forceinline__ RowPlace row_place(const Shape &s, const Selection &selection, std::size_t row) {
    if (selection.ragged) {
        const RowSpan span = ragged_row(selection, s.outer, s.axis, row);
        return {row, 0, 0, span.first, 1, span.count, leading_elements(selection, row, row, span.count)};
    }
    const std::size_t outer = s.inner == 1 ? row : row / s.inner;
    const std::size_t inner = row - outer * s.inner;
    return {row,
            outer,
            inner,
            outer * s.axis * s.inner + inner,
            s.inner,
            s.axis,
            leading_elements(selection, row, outer, s.axis)};
}

// Calls act(place, warps, warp) for each row of a block of threads, `warp` being this warp's number among the `warps`
// that share the row. Rows of one length are shared by all warps of the block, or, where blockDim.y runs over rows, by
// one. Of ragged rows a block takes as many at a time as it has warps: each warp one of up to a base block by itself,
// then all warps together each of the longer ones.
template <class Act>
__device__ __forceinline__ void for_each_row(const Shape &s, const Selection &selection, Act act) {
    const std::size_t rows = s.outer * s.inner;
    const int warps = static_cast<int>(blockDim.x) / warp_lanes;
    const std::size_t group = selection.ragged ? static_cast<std::size_t>(warps) : blockDim.y;
    for (std::size_t first = blockIdx.x * group; first < rows; first += gridDim.x * group) {
        unsigned shared = 1u << threadIdx.y;
        bool own = false;
        if (selection.ragged) {
            const std::size_t row = first + static_cast<std::size_t>(lane_index());
            const bool there = lane_index() < warps && row < rows;
            const bool is_long = there && ragged_row(selection, s.outer, s.axis, row).count > softmax_block;
            shared = __ballot_sync(whole_warp, is_long);
            own = ((__ballot_sync(whole_warp, there && !is_long) >> warp_index()) & 1u) != 0;
        }
        while (own || shared != 0) {
            const int member = own ? warp_index() : __ffs(static_cast<int>(shared)) - 1;
            const std::size_t row = first + static_cast<std::size_t>(member);
            if (row < rows) {
                act(row_place(s, selection, row), own ? 1 : warps, own ? 0 : warp_index());
            }
            shared = own ? shared : shared & (shared - 1);
            own = false;
        }
    }
}

// Goes over the `count` elements of a row in steps: load(done) what follows the first `done`, take in what it comes to,
// told whether it is the row's last, and then write(done) the outputs, which wait for the whole row. A row of one step
// is loaded once, longer ones twice, in the same few lines of code: what a load takes would else be there three times.
template <class Load, class TakeIn, class Write>
__device__ __forceinline__ void for_each_step(std::size_t count, std::size_t step, bool writes, Load load,
                                              TakeIn take_in, Write write) {
    const int writing_pass = count <= step ? 0 : 1;
#pragma unroll 1
    for (int pass = 0; pass == 0 || (writes && pass == writing_pass); ++pass) {
#pragma unroll 1
        for (std::size_t done = 0; done == 0 || done < count; done += step) {
            load(done);
            if (pass == 0) {
                take_in(done + step >= count);
            }
            if (writes && pass == writing_pass) {
                write(done);
            }
        }
    }
}

// The index of element `at` of a row in an array with strides.
__device__ __forceinline__ std::ptrdiff_t strided_index(const RowPlace &place, bool ragged, std::ptrdiff_t outer_stride,
                                                        std::ptrdiff_t axis_stride, std::ptrdiff_t inner_stride,
                                                        std::size_t at) {
    const auto along = static_cast<std::ptrdiff_t>(at) * axis_stride;
    return ragged ? static_cast<std::ptrdiff_t>(place.first) + along
                  : static_cast<std::ptrdiff_t>(place.outer) * outer_stride +
                        static_cast<std::ptrdiff_t>(place.inner) * inner_stride + along;
}

__device__ __forceinline__ bool takes_part(const Selection &selection, const RowPlace &place, std::size_t at) {
    return at < place.taken &&
           (selection.mask == nullptr || selection.mask[place.first + at * place.first_stride] != 0);
}

// Which of a lane's elements of the block that begins with element `begin` are there at all, one bit each.
__device__ __forceinline__ unsigned present_elements(std::size_t count, std::size_t begin) {
    const int left = static_cast<int>(smaller(count - smaller(count, begin), softmax_block)) - lane_index();
    const int mine = left <= 0 ? 0 : (left + warp_lanes - 1) / warp_lanes;
    return mine == 32 ? 0xFFFFFFFFu : (1u << mine) - 1u;
}

// Which of them take part.
__device__ __forceinline__ unsigned taken_elements(const Selection &selection, const RowPlace &place,
                                                   std::size_t begin) {
    unsigned taken = present_elements(place.taken, begin);
    if (selection.mask != nullptr) {
        const std::uint8_t *mask =
            selection.mask + place.first + (begin + static_cast<std::size_t>(lane_index())) * place.first_stride;
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            const bool wanted = ((taken >> i) & 1u) != 0;
            if (wanted && mask[static_cast<std::size_t>(i * warp_lanes) * place.first_stride] == 0) {
                taken &= ~(1u << i);
            }
        }
    }
    return taken;
}

template <class T, class Float>
__device__ __forceinline__ void load_elements_as(const void *array, std::ptrdiff_t index, std::ptrdiff_t stride,
                                                 unsigned wanted, Float (&x)[lane_elements]) {
    const T *mine = static_cast<const T *>(array) + index + lane_index() * stride;
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
        x[i] = ((wanted >> i) & 1u) != 0 ? static_cast<Float>(widen(mine[i * warp_lanes * stride])) : Float(0);
    }
}

// A lane's elements of the block whose first element has this index; 0 for those that are not wanted, which are not
// read.
__device__ __forceinline__ void load_any(ElementType, const void *array, std::ptrdiff_t index, std::ptrdiff_t stride,
                                         unsigned wanted, double (&x)[lane_elements]) {
    load_elements_as<double>(array, index, stride, wanted, x); // f64 goes with f64 alone
}
__device__ __forceinline__ void load_any(ElementType type, const void *array, std::ptrdiff_t index,
                                         std::ptrdiff_t stride, unsigned wanted, float (&x)[lane_elements]) {
    switch (type) {
    case ElementType::f32:
        load_elements_as<float>(array, index, stride, wanted, x);
        break;
    case ElementType::f16:
        load_elements_as<F16>(array, index, stride, wanted, x);
        break;
    case ElementType::bf16:
        load_elements_as<BF16>(array, index, stride, wanted, x);
        break;
    case ElementType::f8_e4m3:
        load_elements_as<E4M3>(array, index, stride, wanted, x);
        break;
    default:
        load_elements_as<E5M2>(array, index, stride, wanted, x);
        break;
    }
}

// Writes a lane's elements of the block that begins with element `begin` of the row, each rounded once.
template <class Float>
__device__ __forceinline__ void store_elements(ElementType type, void *output, const RowPlace &place, std::size_t begin,
                                               unsigned present, const Float (&y)[lane_elements]) {
    const std::size_t index = place.first + (begin + static_cast<std::size_t>(lane_index())) * place.first_stride;
    const std::size_t distance = static_cast<std::size_t>(warp_lanes) * place.first_stride;
    constexpr ElementType own = sizeof(Float) == 4 ? ElementType::f32 : ElementType::f64;
    if (type == own) {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            if (((present >> i) & 1u) != 0) {
                store_float(y[i], own, output, index + static_cast<std::size_t>(i) * distance);
            }
        }
        return;
    }
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
        if (((present >> i) & 1u) != 0) {
            store_any(y[i], type, output, index + static_cast<std::size_t>(i) * distance);
        }
    }
}

} // namespace wr::cuda::general
