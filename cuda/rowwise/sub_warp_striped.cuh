// Rows of up to 1024 elements, of any types and anywhere in memory, in a warp's registers: as many rows as there is
// room for, each in a power of two of slots. Register i of lane l is slot 32 i + l. What kind of row it is, its types
// included, is known at run time alone: one kernel serves all.
#pragma once

#include "cuda/device/warp_tree.cuh"
#include "cuda/rowwise/element_patterns.cuh"
#include "cuda/rowwise/sub_warp_arguments.h"
#include "cuda/softmax/outputs.cuh"
#include "numerics/softmax_rows.h"

namespace wr::cuda {

inline constexpr int lane_slots = lane_patterns;
static_assert(slots_of_warp == lane_slots * warp_lanes);
inline constexpr int slot_steps = 5; // of the exchange, whatever a row's slots

// What differs from register to register and is the same in all lanes of a warp, in shared memory: a few reads of four
// such values each, where a shuffle would be wanted for every one.
struct SlotTable {
    alignas(16) int offsets[lane_slots]; // from a lane's element of register 0 to that of each
    alignas(16) float values[4][lane_slots];
};

// The rows of a warp, in arrays that are contiguous.
struct StripedTile {
    SlotTable &table;
    std::size_t first_row;
    int rows;                // 0: the warp has none
    int log_registers;       // log2 of the registers that a row's slots take in each lane
    std::size_t first;       // index of this lane's element of register 0
    unsigned present, taken; // a bit a register: whether there is an element, and whether it takes part

    __device__ __forceinline__ StripedTile(const Shape &s, const Selection &selection, const StripedRows &of_tile,
                                           SlotTable &of_warp)
        : table(of_warp), log_registers(of_tile.log_registers) {
        const std::size_t warp =
            blockIdx.x * static_cast<std::size_t>(striped_block_warps) + static_cast<std::size_t>(warp_index());
        const std::size_t all = s.outer * s.inner;
        const int room = lane_slots >> log_registers;
        first_row = warp * static_cast<std::size_t>(room);
        rows = same_in_warp(first_row < all ? static_cast<int>(smaller<std::size_t>(all - first_row, room)) : 0);
        const auto axis = static_cast<int>(s.axis), stride = static_cast<int>(s.inner);
        const auto outer =
            static_cast<std::size_t>(static_cast<std::uint32_t>(first_row) / static_cast<std::uint32_t>(stride));
        first = outer * s.axis * s.inner + static_cast<std::size_t>(lane_index() * stride);
        const int row = row_of(lane_index());
        const int inner = static_cast<int>(first_row - outer * s.inner) + row;
        const int outers = inner / stride;
        const int before = lane_index() % (1 << log_registers) * warp_lanes; // elements of the row
        table.offsets[lane_index()] = (outers * axis + before) * stride + (inner - outers * stride);
        __syncwarp();
        present = present_of(axis, of_tile.begins);
        taken = present;
        if (rows != 0 && (selection.lengths != nullptr || selection.causal)) {
            const auto last = static_cast<std::size_t>(smaller(row, rows - 1));
            const int leading = taken_of_row(selection, s.axis, first_row + last,
                                             static_cast<std::uint32_t>(outer) + static_cast<std::uint32_t>(outers)) -
                                before;
            taken &= bits_where([&](int i) { return lane_index() < __shfl_sync(whole_warp, leading, i); });
        }
        if (selection.mask != nullptr) {
            const std::uint8_t *mask = selection.mask + first;
            unsigned bytes[lane_slots];
#pragma unroll
            for (int i = 0; i < lane_slots; ++i) {
                bytes[i] = load_if(taken, i, mask + offset_of(i));
            }
            taken = bits_where([&](int i) { return bytes[i] != 0; });
        }
    }

    __device__ __forceinline__ static bool has(unsigned bits, int i) { return ((bits >> i) & 1u) != 0; }

    // From `first` to the element of register i.
    __device__ __forceinline__ int offset_of(int i) const { return table.offsets[i]; }
    // The row of the tile that register i belongs to.
    __device__ __forceinline__ int row_of(int i) const { return i >> log_registers; }

    // Once the values of all registers are exchanged, a lane holds what belongs to this register.
    __device__ __forceinline__ static int held_register() {
        return exchanged_register<slot_steps, lane_slots>(lane_index());
    }
    // And this row of the tile, which it is the first to hold, or not.
    __device__ __forceinline__ int held_row() const { return row_of(held_register()); }
    __device__ __forceinline__ bool is_first_holder() const {
        return held_register() % (1 << log_registers) == 0 && held_row() < rows;
    }

    // Hands up to four values of each row from the lanes that hold it to all lanes.
    template <class... Values>
    __device__ __forceinline__ void share(Values... values) const {
        __syncwarp();
        int number = 0;
        ((table.values[number++][held_register()] = values), ...);
        __syncwarp();
    }
    __device__ __forceinline__ float shared(int number, int i) const { return table.values[number][i]; }

    // Rows' own scales, where they have such, become shared(1, i): of softmax, or of its gradient.
    template <class Problem>
    __device__ __forceinline__ void share_scales(const Problem &p) const {
        if (p.scales != nullptr) {
            const auto row = static_cast<std::size_t>(smaller(row_of(lane_index()), rows - 1));
            table.values[1][lane_index()] = scale_of_row<float>(p, first_row + row);
            __syncwarp();
        }
    }
    template <class Problem>
    __device__ __forceinline__ void scale_rows(const Problem &p, float (&x)[lane_slots]) const {
        if (p.scales != nullptr) {
#pragma unroll
            for (int i = 0; i < lane_slots; ++i) {
                x[i] = x[i] * shared(1, i);
            }
        }
    }

    // The natural tree over each row of value(i), in the lanes that hold the row.
    template <class Op, class Value>
    __device__ __forceinline__ typename Op::Accumulator over_rows(Value value) const {
        constexpr int half = lane_slots / 2;
        typename Op::Accumulator values[half];
#pragma unroll
        for (int i = 0; i < half; ++i) {
            values[i] = exchange_pair<Op, 0>(value(i), value(i + half));
        }
        exchange_halves<Op, slot_steps, 1>(values);
        typename Op::Accumulator result = values[0];
#pragma unroll
        for (int level = slot_steps; level < 2 * slot_steps; ++level) {
            if (level < slot_steps + log_registers) {
                result = Op::combine(result, from_lane_xor(result, distance_of_level<lane_slots>(level)));
            }
        }
        return result;
    }

  private:
    // A row's elements of this lane are in the first of its registers.
    __device__ __forceinline__ unsigned present_of(int axis, unsigned begins) const {
        const int of_row = larger((axis - lane_index() + warp_lanes - 1) / warp_lanes, 0);
        const unsigned bits_of_row = of_row >= lane_slots ? ~0u : (1u << of_row) - 1;
        const int registers = rows << log_registers;
        return bits_of_row * begins & (registers >= lane_slots ? ~0u : (1u << registers) - 1);
    }

    // How many leading elements of a row take part, but for those that the mask leaves out.
    __device__ __forceinline__ static int taken_of_row(const Selection &selection, std::size_t axis, std::size_t row,
                                                       std::uint32_t outer) {
        std::size_t taken = axis;
        if (selection.lengths != nullptr) {
            taken = no_more_than(taken, selection.lengths[row]);
        }
        if (selection.causal) { // both terms of the sum are below 2^62
            taken =
                no_more_than(taken, selection.causal_first + outer % static_cast<std::uint32_t>(selection.causal_rows));
        }
        return static_cast<int>(taken);
    }
};

// The patterns of a tile's elements; 0 for those that are not wanted, which are not read.
struct SlotPatterns {
    unsigned of[lane_slots];

    __device__ __forceinline__ void load(const StripedTile &tile, ElementType type, const void *array,
                                         unsigned wanted) {
        with_pattern_of(type, [&]<class Pattern>(Pattern) {
            const Pattern *patterns = static_cast<const Pattern *>(array) + tile.first;
#pragma unroll
            for (int i = 0; i < lane_slots; ++i) {
                of[i] = load_if(wanted, i, patterns + tile.offset_of(i));
            }
        });
    }

    __device__ __forceinline__ void widen_to(ElementType type, float (&x)[lane_slots]) const {
        widen_patterns(type, of, x);
    }
};

// Writes what is there of a tile's rows.
__device__ __forceinline__ void store_slots(const StripedTile &tile, ElementType type, void *array,
                                            const float (&y)[lane_slots]) {
    unsigned patterns[lane_slots];
    narrow_patterns(type, y, patterns);
    with_pattern_of(type, [&]<class Pattern>(Pattern) {
        Pattern *to = static_cast<Pattern *>(array) + tile.first;
#pragma unroll
        for (int i = 0; i < lane_slots; ++i) {
            store_if(tile.present, i, to + tile.offset_of(i), patterns[i]);
        }
    });
}

} // namespace wr::cuda
