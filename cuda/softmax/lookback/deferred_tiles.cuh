// A tile's exponentials, or its logits for log-softmax, while they wait in shared memory for their row's total,
// and how outputs are made of them and stored, on the boundaries and off them.
#pragma once

#include "cuda/softmax/outputs.cuh"

namespace wr::cuda {

// Of what waits for factors of exponentials, or for the pieces of a logsumexp.
template <class T>
__device__ __forceinline__ float deferred_output(float e, BlockFactor<float> factor) {
    return sizeof(T) < sizeof(float) ? softmax_narrow_output(e, factor) : softmax_output(e, factor);
}
template <class T>
__device__ __forceinline__ float deferred_output(float x, LogPieces<float> logsumexp) {
    return log_softmax_output(x, logsumexp);
}

// A tile's own frame N, by its largest exponential in frame N = 0: that is e^r 2^N with r up to half of ln 2, so that
// the root of 2 parts one N from the next. special_n so near to it that roundings decide (64 units in the last place;
// N is rounded from a product that is wrong by 8 at most, an exponential by 2).
__device__ __forceinline__ std::int32_t frame_by_largest(float largest) {
    constexpr std::uint32_t mantissa_bits = 23, bias = 127, root_of_2 = 0x3504F3, unsure = 64;
    const std::uint32_t bits = __float_as_uint(largest), mantissa = bits & ((1u << mantissa_bits) - 1);
    if (mantissa - (root_of_2 - unsure) <= 2 * unsure) {
        return special_n;
    }
    return static_cast<std::int32_t>((bits >> mantissa_bits) - bias) + (mantissa > root_of_2 ? 1 : 0);
}

// A warp's. Load: of vectors, or staged for rows off the boundaries.
template <class T, class Load>
struct DeferredTile {
    static constexpr int vectors = lane_elements / 4; // of a lane

    float4 *memory; // vectors * warp_lanes of them

    __device__ __forceinline__ void put(const float (&e)[lane_elements]) const {
#pragma unroll
        for (int v = 0; v < vectors; ++v) {
            memory[quad(v)] = {e[4 * v], e[4 * v + 1], e[4 * v + 2], e[4 * v + 3]};
        }
        if constexpr (is_staged<Load>) {
            __syncwarp(); // other lanes will write them
        }
    }

    // Of the lane's.
    __device__ __forceinline__ float one() const { return memory[quad(0)].x; }

    // Of exponentials in frame N = 0 that are to be multiplied by a factor too small for that: puts them into the
    // tile's own frame, in which none of them leaves the normal range. That frame; special_n where it cannot be told.
    __device__ __noinline__ static std::int32_t put_into_own_frame(DeferredTile block) {
        float largest = 0;
#pragma unroll 1
        for (int v = 0; v < vectors; ++v) {
            const float4 own = block.memory[quad(v)];
            largest = fmaxf(largest, fmaxf(fmaxf(own.x, own.y), fmaxf(own.z, own.w)));
        }
        const unsigned of_warp = __reduce_max_sync(whole_warp, __float_as_uint(largest));
        const std::int32_t n = frame_by_largest(__uint_as_float(of_warp));
        const float unit = power_of_two_f32(n == special_n ? 0 : -n);
#pragma unroll 1
        for (int v = 0; v < vectors; ++v) {
            const float4 own = block.memory[quad(v)];
            block.memory[quad(v)] = {own.x * unit, own.y * unit, own.z * unit, own.w * unit};
        }
        __syncwarp(); // other lanes may write them
        return n;
    }

    // The first `count` outputs. Of: a factor of exponentials, or the pieces of a logsumexp. Skew: of a rotated tile.
    template <class Of>
    __device__ __forceinline__ void store(T *output, int count, Of of, int skew) const {
        if constexpr (in_order) {
            store_unaligned(output, count, of);
        } else if constexpr (is_rotated<Load>) {
            if (elements_before(output) != skew) {
                store_through_stage(output, count, of, skew);
            } else if (count == static_cast<int>(softmax_block)) {
                store_rotated(output, skew, of);
            } else {
                store_short_rotated(output, count, skew, of);
            }
        } else {
            uint4 *to = reinterpret_cast<uint4 *>(output) + lane_index();
            const int left = count / Load::run - lane_index();
#pragma unroll
            for (int v = 0; v < lane_vectors<T>; ++v) { // without branches: each would compute its addresses again
                store_vector_if(v * warp_lanes < left, to + v * warp_lanes, outputs_of_vector(v, of));
            }
        }
        if constexpr (is_staged<Load>) {
            __syncwarp(); // the place is free
        }
    }

  private:
    // Elements that are stored as they wait, shifted. Narrower outputs are put together first and shifted then.
    static constexpr bool in_order = is_staged<Load> && sizeof(T) == sizeof(float);

    // Where four of a lane's elements wait: in their order, or so that lanes meet different banks.
    __device__ __forceinline__ static int quad(int number) {
        constexpr int quads = Load::run / 4; // of neighbours
        return in_order ? (number / quads * warp_lanes + lane_index()) * quads + number % quads
                        : number * warp_lanes + lane_index();
    }

    // Of the vector of outputs, number v of the lane.
    template <class Of>
    __device__ __forceinline__ uint4 outputs_of_vector(int v, Of of) const {
        constexpr int quads = Load::run / 4; // of what is deferred, that they come of
        float y[Load::run];
#pragma unroll
        for (int q = 0; q < quads; ++q) {
            take_quad<0>(memory + quad(v * quads + q), y + 4 * q);
        }
        return outputs_of(y, of);
    }

    // A whole rotated tile to where it is as far off the boundaries as its logits were. The vector that holds its ends
    // goes by single elements: its other places are the neighbours'.
    template <class Of>
    __device__ __forceinline__ void store_rotated(T *output, int skew, Of of) const {
        uint4 *const to = reinterpret_cast<uint4 *>(output - skew) + lane_index();
        const bool is_whole = lane_index() != 0 || skew == 0;
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            store_vector_if(v > 0 || is_whole, to + v * warp_lanes, outputs_of_vector(v, of));
        }
        if (skew != 0 && lane_index() < Load::run) {
            T *const at = output + (lane_index() - skew);
            at[lane_index() < skew ? static_cast<int>(softmax_block) : 0] = output_at(lane_index(), of);
        }
    }

    // The same of a tile that is not whole.
    template <class Of>
    __device__ __forceinline__ void store_short_rotated(T *output, int count, int skew, Of of) const {
        uint4 *const to = reinterpret_cast<uint4 *>(output - skew) + lane_index();
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            store_vector_if(fills_vector(skew, count, v * warp_lanes + lane_index()), to + v * warp_lanes,
                            outputs_of_vector(v, of));
        }
        const RotatedEnd own(skew, count);
        if (own.exists) {
            output[own.place - skew] = output_at(own.place % static_cast<int>(softmax_block), of);
        }
    }

    // That of a place of the tile, whichever lane has it.
    template <class Of>
    __device__ __forceinline__ T output_at(int place, Of of) const {
        const int vector = place / Load::run, i = place % Load::run;
        const int number = vector / warp_lanes * (Load::run / 4) + i / 4; // as quad() has it of that lane
        const float4 *const quad = memory + number * warp_lanes + vector % warp_lanes;
        return narrow_one(deferred_output<T>(reinterpret_cast<const float *>(quad)[i % 4], of), T());
    }

    // To any address, by way of the place where their exponentials waited.
    template <class Of>
    __device__ __forceinline__ void store_through_stage(T *output, int count, Of of, int skew) const {
        static_assert(stage_bytes<T, static_cast<int>(softmax_block)> <= sizeof(float4) * vectors * warp_lanes);
        uint4 y[lane_vectors<T>];
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            y[v] = outputs_of_vector(v, of);
        }
        uint4 *const stage = reinterpret_cast<uint4 *>(memory);
        __syncwarp(); // all lanes have theirs
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            stage[v * warp_lanes + lane_index()] = y[v];
        }
        if (lane_index() == 0) {
            stage[lane_vectors<T> * warp_lanes] = y[0]; // which holds the last elements
        }
        __syncwarp();
        copy_from_stage<T, static_cast<int>(softmax_block), 1>(output, count, stage, skew); // few registers are left
    }

    template <class Of>
    __device__ __forceinline__ static uint4 outputs_of(float (&y)[Load::run], Of of) {
#pragma unroll
        for (float &one : y) {
            one = deferred_output<T>(one, of);
        }
        return pack(y, T());
    }

    // Of elements that wait in their order, to any address. Lanes take such vectors that the warp writes whole lines.
    template <class Of>
    __device__ __forceinline__ void store_unaligned(T *output, int count, Of of) const {
        constexpr int each = Load::run;
        constexpr int bytes = static_cast<int>(vector_bytes);
        const float4 *const deferred = memory;
        const auto in_line = static_cast<int>(reinterpret_cast<std::uintptr_t>(output) % line_bytes);
        const int first = divide_up(in_line, bytes); // of the line's vectors, the first that the tile may fill
        const int head = smaller((first * bytes - in_line) / static_cast<int>(sizeof(T)), count);
        const int whole = (count - head) / each;
        with_words<float>(static_cast<unsigned>(head) % 4 * sizeof(float), [&](auto words) {
            const int own = lane_index() - first;
            const float4 *from = deferred + (head / 4 + own * (each / 4));
            T *to = output + (head + own * each);
#pragma unroll 1
            for (int number = own; number < whole; number += warp_lanes) {
                if (number >= 0) {
                    float y[each];
#pragma unroll
                    for (int q = 0; q < each / 4; ++q) {
                        take_quad<words>(from + q, y + 4 * q);
                    }
                    store_vector(to, outputs_of(y, of));
                }
                from += warp_lanes * (each / 4);
                to += warp_lanes * each;
            }
        });
        const int tail = head + whole * each;
        const bool in_head = lane_index() < each;
        const int i = in_head ? lane_index() : tail + lane_index() - each;
        if (lane_index() < 2 * each && i < (in_head ? head : count)) {
            output[i] = narrow_one(deferred_output<T>(reinterpret_cast<const float *>(deferred)[i], of), T());
        }
    }

    // Four neighbours, of which the first is number Words of the first quad.
    template <int Words>
    __device__ __forceinline__ static void take_quad(const float4 *from, float *y) {
        const float4 low = from[0], high = Words == 0 ? float4{} : from[1];
        const float both[8] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            y[i] = both[Words + i];
        }
    }
};

} // namespace wr::cuda
