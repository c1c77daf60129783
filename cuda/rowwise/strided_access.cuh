// A row of any shape, strides and types, of which some elements may take no part, as the 32 elements of a tile
// that each lane of a warp holds: element i of lane l stands at position 32 i + l.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/device/warp_tree.cuh"
#include "cuda/rowwise/arguments.h"
#include "cuda/rowwise/element_patterns.cuh"
#include "cuda/rowwise/large_rows.cuh"
#include "cuda/softmax/arguments.h"
#include "numerics/operators.h"
#include "numerics/softmax.h"
#include "numerics/softmax_rows.h"
#include "numerics/tree.h"

namespace wr::cuda::strided {

inline constexpr int lane_elements = lane_patterns;
static_assert(softmax_block == lane_elements * warp_lanes);

// Blocks that a multiprocessor should hold: enough warps for the latency of loads, none of which waits for another.
template <class Float>
inline constexpr int strided_resident_blocks = sizeof(Float) == 4 ? 2 : 1;

// A row's place: of its first element in an array with strides, and among contiguous outputs. Where warps take
// tiles of it, first_stride is 1: columns are the threads' that walk them.
struct StridedRow {
    std::size_t row, outer, inner;
    std::size_t first;        // index of its first element in outputs and mask
    std::size_t first_stride; // from one of its elements to the next there
    std::size_t count;        // elements
    std::size_t taken;        // leading elements that take part, but for those that the mask leaves out
};

__device__ __forceinline__ StridedRow row_place(const Shape &s, const Selection &selection, std::size_t row) {
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

// Of f64 no other kernels do the shorter ones.
template <class Float>
__device__ __forceinline__ LargeRows large_rows_for(const LargeRows &longer) {
    return sizeof(Float) == sizeof(double) ? LargeRows{} : longer;
}

// Calls act(place, warps, warp) for each row of a block of threads, `warp` being this warp's number among the `warps`
// that share the row. Rows of one length are shared by all warps of the block, or, where blockDim.y runs over rows, by
// one. Of ragged rows, or of the longer ones among them, a block takes as many at a time as it has warps: each warp one
// of up to a tile by itself, then all warps together each of the longer ones.
template <class Act>
__device__ __forceinline__ void for_each_row(const Shape &s, const Selection &selection, const LargeRows &longer,
                                             Act act) {
    __shared__ LargeRowList list;
    const bool lists = longer.least != 0;
    const int warps = static_cast<int>(blockDim.x) / warp_lanes;
    const std::size_t group = selection.ragged ? static_cast<std::size_t>(warps) : blockDim.y;
    const std::size_t origin = blockIdx.x * static_cast<std::size_t>(longer.among); // of what is listed
    std::size_t first = blockIdx.x * group, end = s.outer * s.inner, step = gridDim.x * group;
    if (lists) {
        list.find(selection, longer, origin, end, s.axis);
        first = 0;
        end = static_cast<std::size_t>(list.count);
        step = group;
    }
    for (; first < end; first += step) {
        unsigned shared = 1u << threadIdx.y;
        bool own = false;
        if (selection.ragged) {
            std::size_t row = first + static_cast<std::size_t>(lane_index());
            const bool there = lane_index() < warps && row < end;
            if (lists && there) {
                row = origin + list.numbers[row];
            }
            const bool is_long = there && ragged_row(selection, s.outer, s.axis, row).count > softmax_block;
            shared = __ballot_sync(whole_warp, is_long);
            own = ((__ballot_sync(whole_warp, there && !is_long) >> warp_index()) & 1u) != 0;
        }
        while (own || shared != 0) {
            const int member = own ? warp_index() : __ffs(static_cast<int>(shared)) - 1;
            std::size_t row = first + static_cast<std::size_t>(member);
            if (row < end) {
                if (lists) {
                    row = origin + list.numbers[row];
                }
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
__device__ __forceinline__ std::ptrdiff_t strided_index(const StridedRow &place, bool ragged,
                                                        std::ptrdiff_t outer_stride, std::ptrdiff_t axis_stride,
                                                        std::ptrdiff_t inner_stride, std::size_t at) {
    const auto along = static_cast<std::ptrdiff_t>(at) * axis_stride;
    return ragged ? static_cast<std::ptrdiff_t>(place.first) + along
                  : static_cast<std::ptrdiff_t>(place.outer) * outer_stride +
                        static_cast<std::ptrdiff_t>(place.inner) * inner_stride + along;
}

// Which of a lane's elements of the tile that begins with element `begin` are among the first `count` of the row, one
// bit each.
__device__ __forceinline__ unsigned present_elements(std::size_t count, std::size_t begin) {
    const int left = static_cast<int>(smaller(count - smaller(count, begin), softmax_block)) - lane_index();
    const int mine = left <= 0 ? 0 : (left + warp_lanes - 1) / warp_lanes;
    return mine == 32 ? 0xFFFFFFFFu : (1u << mine) - 1u;
}

// Which elements of a tile take part.
struct TakenElements {
    unsigned leading;            // of this lane: those that the row's end, its length and the causal limit leave
    unsigned bits;               // of these, those that the mask leaves
    bool none, all_leading, all; // of the whole warp

    TakenElements() = default;
    __device__ __forceinline__ TakenElements(const Selection &selection, const StridedRow &place, std::size_t begin)
        : leading(present_elements(place.taken, begin)), bits(leading), none(begin >= place.taken),
          all_leading(begin + softmax_block <= place.taken), all(all_leading) {
        if (selection.mask != nullptr && !none) {
            unsigned bytes[lane_elements]; // which lie as outputs do
            load_patterns<std::uint8_t>(selection.mask, static_cast<std::ptrdiff_t>(place.first + begin), 1, bytes);
            bits = bits_where([&](int i) { return bytes[i] != 0; });
            all = __all_sync(whole_warp, bits == ~0u) != 0;
        }
    }

    __device__ __forceinline__ bool has(int i) const { return ((bits >> i) & 1u) != 0; }

    // A lane's patterns of the tile whose first element has this index; 0 beyond the leading ones, which are not read.
    // Whole tiles of neighbours, the most common ones, are spared all the asking.
    template <class Pattern, class Loaded>
    __device__ __forceinline__ void load_patterns(const void *array, std::ptrdiff_t index, std::ptrdiff_t stride,
                                                  Loaded (&patterns)[lane_elements]) const {
        const Pattern *mine = static_cast<const Pattern *>(array) + index + lane_index() * stride;
        if (all_leading && stride == 1) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                patterns[i] = mine[i * warp_lanes];
            }
        } else if (all_leading) {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                patterns[i] = mine[i * (warp_lanes * stride)];
            }
        } else {
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                patterns[i] = load_if(leading, i, mine + i * (warp_lanes * stride));
            }
        }
    }
};

template <class Float, int Elements>
__device__ __forceinline__ void fill(Float (&values)[Elements], Float value) {
#pragma unroll
    for (int i = 0; i < Elements; ++i) {
        values[i] = value;
    }
}

// All elements of a tile that are there at all.
__device__ __forceinline__ TakenElements elements_there(const StridedRow &place, std::size_t begin) {
    StridedRow all = place;
    all.taken = all.count;
    return {Selection{}, all, begin};
}

// A lane's elements of a tile as they lie in memory: those of f64 are values already.
template <class Float>
struct LoadedElements;

template <>
struct LoadedElements<float> {
    unsigned of[lane_elements];

    __device__ __forceinline__ void load(ElementType type, const void *array, std::ptrdiff_t index,
                                         std::ptrdiff_t stride, const TakenElements &taken) {
        with_pattern_of(type, [&]<class Pattern>(Pattern) { taken.load_patterns<Pattern>(array, index, stride, of); });
    }
    __device__ __forceinline__ void widen_to(ElementType type, float (&x)[lane_elements]) const {
        widen_patterns(type, of, x);
    }
};

template <>
struct LoadedElements<double> {
    double of[lane_elements];

    __device__ __forceinline__ void load(ElementType, const void *array, std::ptrdiff_t index, std::ptrdiff_t stride,
                                         const TakenElements &taken) {
        taken.load_patterns<double>(array, index, stride, of); // f64 goes with f64 alone
    }
    __device__ __forceinline__ void widen_to(ElementType, double (&x)[lane_elements]) const {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            x[i] = of[i];
        }
    }
};

// Whether elements of this type are read and written in one go; what is left is f64 beside narrower types.
template <class Float>
__device__ __forceinline__ bool is_common(ElementType type) {
    return (sizeof(Float) == sizeof(double)) == (type == ElementType::f64);
}

template <class Pattern, class Value>
__device__ __forceinline__ void store_patterns(void *output, std::size_t index, const TakenElements &present,
                                               const Value (&patterns)[lane_elements]) {
    Pattern *to = static_cast<Pattern *>(output) + index + static_cast<std::size_t>(lane_index());
    if (present.all_leading) {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            to[i * warp_lanes] = static_cast<Pattern>(patterns[i]);
        }
    } else {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            store_if(present.leading, i, to + i * warp_lanes, patterns[i]);
        }
    }
}

__device__ __forceinline__ void store_common(ElementType type, void *output, std::size_t index,
                                             const TakenElements &present, const float (&y)[lane_elements]) {
    unsigned patterns[lane_elements];
    narrow_patterns(type, y, patterns);
    with_pattern_of(type, [&]<class Pattern>(Pattern) { store_patterns<Pattern>(output, index, present, patterns); });
}
__device__ __forceinline__ void store_common(ElementType, void *output, std::size_t index, const TakenElements &present,
                                             const double (&y)[lane_elements]) {
    double canonical[lane_elements];
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
        canonical[i] = is_nan(y[i]) ? bit_cast<double>(canonical_nan_f64) : y[i];
    }
    store_patterns<double>(output, index, present, canonical);
}

// f64 beside narrower types, which is rare: one at a time.
template <class Float>
__device__ __noinline__ void store_rare(ElementType type, void *output, std::size_t index, unsigned present,
                                        const Float *y) {
#pragma unroll 1
    for (int i = 0; i < lane_elements; ++i) {
        if (((present >> i) & 1u) != 0) {
            store_any(y[i], type, output, index + static_cast<std::size_t>(i * warp_lanes));
        }
    }
}
template <class Float>
__device__ __noinline__ void load_rare(ElementType type, const void *array, std::size_t index, unsigned present,
                                       Float *x) {
#pragma unroll 1
    for (int i = 0; i < lane_elements; ++i) {
        x[i] = Float(0);
        if (((present >> i) & 1u) != 0) {
            x[i] = static_cast<Float>(load_float(type, array, index + static_cast<std::size_t>(i * warp_lanes)));
        }
    }
}

// Writes a lane's elements of the tile that begins with element `begin` of the row, each rounded once.
template <class Float>
__device__ __forceinline__ void store_elements(ElementType type, void *output, const StridedRow &place,
                                               std::size_t begin, const TakenElements &present,
                                               const Float (&y)[lane_elements]) {
    const std::size_t index = place.first + begin;
    if (is_common<Float>(type)) {
        store_common(type, output, index, present, y);
    } else {
        Float called_with[lane_elements]; // what a call is given lies in memory, where y would be slow
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            called_with[i] = y[i];
        }
        store_rare(type, output, index + static_cast<std::size_t>(lane_index()), present.leading, called_with);
    }
}

// What outputs hold, to be read as they are written; 0 where there is none.
template <class Float>
__device__ __forceinline__ void load_written(ElementType type, const void *output, const StridedRow &place,
                                             std::size_t begin, const TakenElements &present,
                                             Float (&x)[lane_elements]) {
    const std::size_t index = place.first + begin;
    if (is_common<Float>(type)) {
        LoadedElements<Float> loaded;
        loaded.load(type, output, static_cast<std::ptrdiff_t>(index), 1, present);
        loaded.widen_to(type, x);
    } else {
        Float returned[lane_elements];
        load_rare(type, output, index + static_cast<std::size_t>(lane_index()), present.leading, returned);
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            x[i] = returned[i];
        }
    }
}

// Calls work(row, begin, end, lanes, first) for rows of which each has so many splits, by as many lanes as a row has:
// each takes the splits from `begin` to `end`, a run of 2^k where they are more than a warp's lanes. `first`: whether
// the lane is its row's first, and there is such a row.
template <class Work>
__device__ __forceinline__ void for_each_total(std::size_t rows, std::size_t splits, const Work &work) {
    const auto rows_a_warp = static_cast<std::size_t>(rows_of_totals_warp(splits));
    const int lanes = warp_lanes / static_cast<int>(rows_a_warp), own = lane_index() & (lanes - 1);
    std::size_t run = 1;
    while (run * warp_lanes < splits) {
        run *= 2;
    }
    const std::size_t first_warp =
        blockIdx.x * static_cast<std::size_t>(strided_block_warps) + static_cast<std::size_t>(warp_index());
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * strided_block_warps * rows_a_warp;
    for (std::size_t first_row = first_warp * rows_a_warp; first_row < rows; first_row += step) {
        const std::size_t row = first_row + static_cast<std::size_t>(lane_index() / lanes);
        const std::size_t begin = static_cast<std::size_t>(own) * run;
        work(row, begin, row < rows ? smaller(begin + run, splits) : 0, lanes, own == 0 && row < rows);
    }
}

} // namespace wr::cuda::strided
