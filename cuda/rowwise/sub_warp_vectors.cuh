// Where short rows of whole vectors, one behind the other, lie in a warp's registers.
#pragma once

#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

// Of a tile of vectors, number 32 v + l being register v of lane l.
template <class T>
struct VectorRowsTile {
    static constexpr int registers = lane_vectors<T>;
    static constexpr int steps = log2_of(registers); // of the exchange: its lowest lane bits
    static constexpr int fewest_slots = registers;   // of a row
    static constexpr unsigned rare_row = 1u << 31;

    int shift;                   // log2 of a row's slots
    int row_vectors;             // that fill the first of them
    unsigned sources[registers]; // the vectors to read: behind a row's end its last one, behind the last row that again
    unsigned filled_places;      // a bit a register; the highest: the row that the lane holds is rare

    template <class Arguments>
    __device__ __forceinline__ VectorRowsTile(const Arguments &a, int row_shift, int rows)
        : shift(row_shift), row_vectors(static_cast<int>(a.axis) / vector_elements<T>) {
        const bool dense = rows << shift == registers * warp_lanes && row_vectors == a.row_lanes;
        filled_places = dense ? (1u << registers) - 1 : 0;
#pragma unroll
        for (int v = 0; v < registers; ++v) {
            sources[v] = static_cast<unsigned>(v * warp_lanes + lane_index());
        }
        if (!dense) {
#pragma unroll
            for (int v = 0; v < registers; ++v) {
                const int slot = v * warp_lanes + lane_index(), row = slot >> shift, place = slot & (a.row_lanes - 1);
                filled_places |= place < row_vectors && row < rows ? 1u << v : 0;
                sources[v] =
                    static_cast<unsigned>(smaller(row, rows - 1) * row_vectors + smaller(place, row_vectors - 1));
            }
        }
    }

    // The row that register v of this lane belongs to.
    __device__ __forceinline__ int row_of(int v) const { return (v * warp_lanes + lane_index()) >> shift; }
    __device__ __forceinline__ bool filled(int v) const { return (filled_places >> v & 1) != 0; }
    // Whether any lane may have register v filled: the last one is where a row's places are all of a tile's.
    __device__ __forceinline__ bool used(int v) const {
        return v + 1 < registers || shift < log2_of(registers * warp_lanes) || row_vectors > v * warp_lanes;
    }

    // Once the values of all registers are exchanged, a lane holds what belongs to this place of the tile.
    __device__ __forceinline__ int held_place() const {
        return exchanged_register<steps, registers>(lane_index()) * warp_lanes + (lane_index() & ~(registers - 1));
    }
    // Takes the rows of which the lanes that hold them say that they are rare out of what is filled: their outputs are
    // formed elsewhere, and nobody needs to know what their exponentials are.
    // Whether there are any.
    __device__ __forceinline__ bool leave_out_rare(bool held_row_is_rare) {
        if (__any_sync(whole_warp, held_row_is_rare) == 0) {
            return false;
        }
        const unsigned rare = __ballot_sync(whole_warp, held_row_is_rare);
#pragma unroll
        for (int v = 0; v < registers; ++v) {
            filled_places &= ~((rare >> holder_of(v) & 1) << v);
        }
        filled_places |= held_row_is_rare ? rare_row : 0;
        return true;
    }
    __device__ __forceinline__ bool held_row_is_rare() const { return (filled_places & rare_row) != 0; }

    // The row whose total this lane has then, and whether it is the one that speaks for it, of so many rows.
    __device__ __forceinline__ int held_row() const { return held_place() >> shift; }
    __device__ __forceinline__ bool holds_row(int rows) const {
        return held_row() < rows && (held_place() & ((1 << shift) - 1)) == 0;
    }
    // And what belongs to register v of a lane is found in this one.
    __device__ __forceinline__ static int holder_of(int v) {
        return (lane_index() & ~(registers - 1)) | exchanged_register<steps, registers>(v);
    }

    // From what the exchange has left in each lane to its row's.
    template <class Op>
    __device__ __forceinline__ typename Op::Accumulator over_row(typename Op::Accumulator value) const {
#pragma unroll
        for (int level = steps; level < 5 + steps; ++level) {
            if (level < shift) {
                value = Op::combine(value, from_lane_xor(value, distance_of_level<registers>(level)));
            }
        }
        return value;
    }
};

} // namespace wr::cuda
