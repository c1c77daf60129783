// Rows of up to 1024 elements, of any types and anywhere in memory, in a warp's registers: as many rows as there is
// room for, each in a power of two of slots. Register i of lane l is slot 32 i + l. What kind of row it is, its types
// included, is known at run time alone: one kernel serves all.
#pragma once

#include "cuda/device/warp_tree.cuh"
#include "cuda/rowwise/arguments.h"
#include "cuda/rowwise/element_patterns.cuh"
#include "cuda/softmax/outputs.cuh"
#include "numerics/operators.h"
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

// Short rows of neighbouring elements, one behind the other, of one length or ragged, several a warp: a row has one or
// more neighbouring lanes, each of which holds a run of up to 32 of its elements in registers. Memory is read and
// written in the order in which elements lie there, by way of shared memory. Types are known at run time alone.

inline constexpr int blocked_run_elements = 32;
static_assert(blocked_run_elements * warp_lanes == slots_of_warp);
inline constexpr int row_run_group = 8; // elements that are passed over together where no lane has so many

// The elements of a warp's rows, one row behind the other. A place of its own follows each 32, for runs of 32 or 16
// elements would else all begin in the same banks. Lanes read beyond what there is.
inline constexpr int run_margin = 256;
struct RunBuffer {
    float elements[(slots_of_warp + run_margin) / warp_lanes * (warp_lanes + 1)];
};

// Shared memory by its address there: the compiler would find a reference's out again for every element.
__device__ __forceinline__ unsigned shared_address_of(int place) {
    return static_cast<unsigned>(place + place / warp_lanes) * static_cast<unsigned>(sizeof(float));
}
__device__ __forceinline__ float load_shared(unsigned address) {
    float value;
    asm volatile("ld.shared.f32 %0, [%1];" : "=f"(value) : "r"(address) : "memory");
    return value;
}
// Where bit `number` is set.
__device__ __forceinline__ void store_shared_if(unsigned bits, int number, unsigned address, float value) {
    asm volatile("{\n.reg .pred p;\n.reg .b32 bit;\nand.b32 bit, %2, %3;\nsetp.ne.u32 p, bit, 0;\n"
                 "@p st.shared.f32 [%0], %1;\n}" ::"r"(address),
                 "f"(value), "r"(bits), "r"(1u << number)
                 : "memory");
}

// The lowest so many bits, up to 32.
__device__ __forceinline__ unsigned lowest_bits(int count) {
    return count <= 0 ? 0 : ~0u >> (blocked_run_elements - count);
}

struct BlockedTile {
    std::size_t row;         // this lane's
    int log_lanes;           // log2 of the lanes that a row has
    bool is_first_of_row;    // whether the lane has the row's first elements; of a row that is done here
    unsigned present, taken; // of its run, a bit each: whether there is an element, and whether it takes part
    int longest;             // of the warp's runs

    __device__ __forceinline__ BlockedTile(const Shape &s, const Selection &selection, int log_lanes_of_row,
                                           RunBuffer &own)
        : log_lanes(log_lanes_of_row), buffer_(static_cast<unsigned>(__cvta_generic_to_shared(&own))) {
        asm("" : "+r"(buffer_));
        const int part = lane_index() & ((1 << log_lanes) - 1);
        const std::size_t warp =
            blockIdx.x * static_cast<std::size_t>(striped_block_warps) + static_cast<std::size_t>(warp_index());
        row = (warp * warp_lanes + static_cast<std::size_t>(lane_index())) >> log_lanes;
        const bool there = row < s.outer;
        const RowSpan span =
            selection.ragged ? ragged_row(selection, s.outer, s.axis, there ? row : 0) : RowSpan{row * s.axis, s.axis};
        const bool is_here = there && span.count <= static_cast<std::size_t>(blocked_run_elements << log_lanes);
        const int row_count = is_here ? static_cast<int>(span.count) : 0, begin = part * blocked_run_elements;
        is_first_of_row = is_here && part == 0;
        int end = part == 0 ? row_count : 0; // of the rows up to this one, in the buffer
#pragma unroll
        for (int distance = 1; distance < warp_lanes; distance *= 2) {
            const int before = __shfl_up_sync(whole_warp, end, distance);
            end += lane_index() >= distance ? before : 0;
        }
        row_place_ = end - row_count;
        row_first_ = span.first;
        run_first_ = span.first + static_cast<std::size_t>(begin);
        const int count = smaller(larger(row_count - begin, 0), blocked_run_elements);
        const int place = count == 0 ? row_place_ : row_place_ + begin;
        run_ = buffer_ + shared_address_of(place);
        before_gap_ = warp_lanes - place % warp_lanes;
        all_ = __shfl_sync(whole_warp, end, warp_lanes - 1);
        longest = __reduce_max_sync(whole_warp, count);
        present = lowest_bits(count);
        taken = present;
        if (there && (selection.lengths != nullptr || selection.causal)) {
            const std::size_t leading = leading_elements(selection, row, row, static_cast<std::size_t>(row_count));
            taken = lowest_bits(smaller(static_cast<int>(leading) - begin, count));
        }
        if (selection.mask != nullptr) {
            const std::uint8_t *mask = selection.mask + run_first_;
            taken = bits_where([&](int i) { return load_if(taken, i, mask + i) != 0; });
        }
    }

    // Whether there is nothing to do.
    __device__ __forceinline__ bool is_empty() const { return __any_sync(whole_warp, is_first_of_row) == 0; }

    __device__ __forceinline__ bool has(int i) const { return ((taken >> i) & 1u) != 0; }

    // Calls act(i) for the elements that any lane may have.
    template <class Act>
    __device__ __forceinline__ void for_each_element(Act act) const {
#pragma unroll
        for (int first = 0; first < blocked_run_elements; first += row_run_group) {
            if (first < longest) {
#pragma unroll
                for (int i = first; i < first + row_run_group; ++i) {
                    act(i);
                }
            }
        }
    }

    // What the lanes of a row have, put together in their order, in each of them.
    template <class Op>
    __device__ __forceinline__ typename Op::Accumulator over_row(typename Op::Accumulator value) const {
        return tree_over_lanes<Op>(value, 1 << log_lanes);
    }

    // The natural tree over term(i), which gives `absent` for elements that are not there.
    template <class Op, class Term>
    __device__ __forceinline__ typename Op::Accumulator tree(typename Op::Accumulator absent, Term term) const {
        using Accumulator = typename Op::Accumulator;
        Accumulator groups[blocked_run_elements / row_run_group];
#pragma unroll
        for (int g = 0; g < blocked_run_elements / row_run_group; ++g) {
            groups[g] = absent;
            if (g * row_run_group < longest) {
                Accumulator terms[row_run_group];
#pragma unroll
                for (int i = 0; i < row_run_group; ++i) {
                    terms[i] = term(g * row_run_group + i);
                }
                groups[g] = tree_of_elements<Op>(terms);
            }
        }
        return over_row<Op>(tree_of_elements<Op>(groups));
    }

    // Element i of this lane's run, in the first of the warp's buffers or another one.
    __device__ __forceinline__ float element(int i, int of_buffer = 0) const {
        return load_shared(address_of(i) + distance_to(of_buffer));
    }
    __device__ __forceinline__ void set_element(int i, float value) const {
        store_shared_if(present, i, address_of(i), value);
    }

    // Asks the second-level cache for what the lane's run has in an array, which is read in several steps.
    __device__ __forceinline__ void ask_for(ElementType type, const void *array) const {
        if (present == 0) {
            return;
        }
        const auto bytes = static_cast<std::size_t>(traits_of(type).size);
        const char *first = static_cast<const char *>(array) + run_first_ * bytes;
        const char *last = first + (static_cast<std::size_t>(__popc(present)) - 1) * bytes;
        asm volatile("prefetch.global.L2 [%0];\n\tprefetch.global.L2 [%1];" ::"l"(first), "l"(last));
    }

    // From memory to the buffer, as floats, and back.
    __device__ __forceinline__ void read(ElementType type, const void *array, int into_buffer = 0) const {
        with_float_type(type, [&]<class T>(T) {
            move(
                static_cast<const PatternOf<T> *>(array), buffer_ + distance_to(into_buffer),
                [](const auto *from, unsigned bits, int i, unsigned) { return load_if(bits, i, from); },
                [](const auto *, unsigned bits, int i, unsigned address, unsigned pattern) {
                    store_shared_if(bits, i, address, value_of(pattern, T()));
                });
        });
        __syncwarp();
    }
    __device__ __forceinline__ void write(ElementType type, void *array) const {
        __syncwarp();
        with_float_type(type, [&]<class T>(T) {
            move(
                static_cast<PatternOf<T> *>(array), buffer_,
                [](auto *, unsigned, int, unsigned address) { return load_shared(address); },
                [](auto *to, unsigned bits, int i, unsigned, float y) { store_if(bits, i, to, pattern_of(y, T())); });
        });
    }

  private:
    unsigned buffer_, run_;             // addresses of it and of this lane's run
    int before_gap_;                    // elements of the run before a place that is left out
    int row_place_, all_;               // the row's place in the buffer; elements of all rows
    std::size_t row_first_, run_first_; // index of the first element in memory

    __device__ __forceinline__ static unsigned distance_to(int number) {
        return static_cast<unsigned>(number) * static_cast<unsigned>(sizeof(RunBuffer));
    }
    __device__ __forceinline__ unsigned address_of(int i) const {
        constexpr unsigned bytes = sizeof(float);
        return (i < before_gap_ ? run_ : run_ + bytes) + static_cast<unsigned>(i) * bytes;
    }

    template <class T>
    using PatternOf = std::conditional_t<sizeof(T) == 4, std::uint32_t,
                                         std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint8_t>>;

    // Calls put(memory, bits, i, address, take(memory, bits, i, address)) for all elements, of which lanes have some at
    // a time and `bits` says which are there: neighbours by neighbouring lanes. In memory rows lie one behind the
    // other, but where one is not done here.
    template <class Pattern, class Take, class Put>
    __device__ __forceinline__ void move(Pattern *array, unsigned buffer, Take take, Put put) const {
        constexpr int at_a_time = 8; // all are asked for before any is waited for
        const auto from_buffer = static_cast<std::ptrdiff_t>(row_first_) - row_place_;
        const std::ptrdiff_t before = __shfl_up_sync(whole_warp, from_buffer, 1);
        unsigned begins = __ballot_sync(whole_warp, lane_index() == 0 || from_buffer != before);
        while (begins != 0) {
            const int lane = __ffs(static_cast<int>(begins)) - 1;
            begins &= begins - 1;
            const int next = __ffs(static_cast<int>(begins)) - 1;
            const int next_place = __shfl_sync(whole_warp, row_place_, next & (warp_lanes - 1));
            const int end = next < 0 ? all_ : next_place;
            int first = __shfl_sync(whole_warp, row_place_, lane) + lane_index();
            Pattern *memory = array + __shfl_sync(whole_warp, from_buffer, lane) + first;
            for (unsigned address = buffer + shared_address_of(first); first < end; first += at_a_time * warp_lanes) {
                const unsigned bits = lowest_bits(smaller((end - first + warp_lanes - 1) / warp_lanes, at_a_time));
                decltype(take(memory, bits, 0, address)) taken_along[at_a_time];
#pragma unroll
                for (int i = 0; i < at_a_time; ++i) {
                    taken_along[i] =
                        take(memory + i * warp_lanes, bits, i, address + shared_address_of(i * warp_lanes));
                }
#pragma unroll
                for (int i = 0; i < at_a_time; ++i) {
                    put(memory + i * warp_lanes, bits, i, address + shared_address_of(i * warp_lanes), taken_along[i]);
                }
                memory += at_a_time * warp_lanes;
                address += shared_address_of(at_a_time * warp_lanes);
            }
        }
    }
};

} // namespace wr::cuda
