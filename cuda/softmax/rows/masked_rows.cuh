// Rows of which a mask, lengths or the causal limit leave elements out, by blocks and by clusters.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax/rows/masked_rows_tile.cuh"

namespace wr::cuda {

// Where a lane's vectors lie among its logits.
template <class Half, class Load>
__device__ __forceinline__ unsigned *words_of(VectorRowsLogits<Half, Load> &x) {
    return x.pairs;
}
template <class Load>
__device__ __forceinline__ float *words_of(Logits<float, Load> &x) {
    return x.x;
}

// Mask bytes from the low ones' number `skew` on, as many as `low` has.
__device__ __forceinline__ unsigned joined(unsigned low, unsigned high, unsigned skew) {
    return __funnelshift_r(low, high, 8 * skew);
}
__device__ __forceinline__ uint2 joined(uint2 low, uint2 high, unsigned skew) {
    constexpr unsigned word = sizeof(unsigned);
    const bool later = skew >= word;
    const unsigned first = later ? low.y : low.x, second = later ? high.x : low.y, third = later ? high.y : high.x;
    return {joined(first, second, skew % word), joined(second, third, skew % word)};
}

// The mask's bytes beside a lane's vectors of a tile, 0 behind its first `count` elements.
template <class T>
struct LaneMask {
    static constexpr int elements = vector_elements<T>, distance = warp_lanes * elements;
    using Bytes = std::conditional_t<elements == 8, uint2, unsigned>; // of a vector
    Bytes bytes[lane_vectors<T>];

    LaneMask() = default;

    // Where there is no mask.
    __device__ __forceinline__ explicit LaneMask(int count) {
        memset(bytes, 1, sizeof(bytes));
        end_after(count);
    }

    // On the boundaries of such words.
    __device__ __forceinline__ LaneMask(const std::uint8_t *mask, int count) {
        const Bytes *mine = reinterpret_cast<const Bytes *>(mask) + lane_index();
        const int left = count - lane_index() * elements;
        if (count == static_cast<int>(softmax_block)) {
#pragma unroll
            for (int v = 0; v < lane_vectors<T>; ++v) {
                bytes[v] = mine[v * warp_lanes];
            }
            return;
        }
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            bytes[v] = Bytes();
            if (v * distance < left) {
                bytes[v] = mine[v * warp_lanes];
            }
        }
        if (count % elements != 0) {
            end_after(count);
        }
    }

    // Anywhere, of an array with the bytes from `begin` to `end`: words that reach beyond these are not read.
    __device__ __forceinline__ LaneMask(const std::uint8_t *mask, int count, const std::uint8_t *begin,
                                        const std::uint8_t *end) {
        const auto skew = static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(mask) % sizeof(Bytes));
        const std::uint8_t *first = mask - skew;
        const int there = static_cast<int>(skew) + count;
        if (first < begin || first + divide_up(there, elements) * elements > end) {
            *this = byte_by_byte(mask, count);
            return;
        }
        const Bytes *mine = reinterpret_cast<const Bytes *>(first) + lane_index();
        const int left = there - lane_index() * elements;
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            Bytes low = Bytes(), high = Bytes();
            if (v * distance < left) {
                low = mine[v * warp_lanes];
            }
            if (skew != 0 && v * distance + elements < left) { // the next lane reads it too, and the first-level cache
                high = mine[v * warp_lanes + 1];
            }
            bytes[v] = joined(low, high, skew);
        }
        if (count != static_cast<int>(softmax_block)) {
            end_after(count);
        }
    }

    __device__ __noinline__ static LaneMask byte_by_byte(const std::uint8_t *mask, int count) {
        LaneMask made;
#pragma unroll 1
        for (int v = 0; v < lane_vectors<T>; ++v) {
            std::uint8_t of_vector[elements];
#pragma unroll 1
            for (int i = 0; i < elements; ++i) {
                const int at = v * distance + lane_index() * elements + i;
                of_vector[i] = at < count ? mask[at] : std::uint8_t{0};
            }
            memcpy(made.bytes + v, of_vector, sizeof(of_vector));
        }
        return made;
    }

    __device__ __forceinline__ void end_after(int count) {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            end_vector_after(count - lane_index() * elements - v * distance, bytes[v]);
        }
    }
    __device__ __forceinline__ static void end_vector_after(int left, unsigned &of_vector) {
        of_vector &= ~bits_from(larger(8 * left, 0));
    }
    __device__ __forceinline__ static void end_vector_after(int left, uint2 &of_vector) {
        end_vector_after(left, of_vector.x);
        end_vector_after(left - 4, of_vector.y);
    }

    // Puts the filler in the place of what is left out.
    template <class Logits>
    __device__ __forceinline__ void apply(Logits &x, unsigned filler) const {
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            auto *const mine = words_of(x) + v * (vector_bytes / sizeof(unsigned));
            uint4 vector;
            memcpy(&vector, mine, sizeof(vector));
            vector = without_masked(vector, bytes[v], filler);
            memcpy(mine, &vector, sizeof(vector));
        }
    }
};

// A logit whose exponential is 0 in the place of -infinity, which has none; others stay.
template <class Load>
__device__ __forceinline__ float vanishing_value(const VectorRowsLogits<BF16, Load> &x, int i) {
    constexpr unsigned vanishing = bit_cast<std::uint32_t>(ExponentialConstants<float>::vanishing);
    static_assert(vanishing % 0x10000u == 0);
    return x.half_of(larger_pair(x.pairs[i / 2], vanishing | vanishing >> 16, BF16()), i);
}
template <class Logits>
__device__ __forceinline__ float vanishing_value(const Logits &x, int i) {
    return fmaxf(x.plain_value(i), ExponentialConstants<float>::vanishing);
}

// Written down before the exponentials are formed, so that no register holds them.
template <class Sum>
__device__ __forceinline__ void note_frame(TileState<float, Sum> *state, float maximum, std::int32_t n) {
    if (lane_index() == 0) {
        state->maximum = maximum;
        state->n = n;
    }
}

// Takes out of x what the mask leaves out, and forms the exponentials of the rest, in the frame that is noted at
// `state`; their sum, in every lane. The extremes of all that was read tell whether no exponential needs a test: then
// what is left out needs none either. Where n is special_n the exponentials are zeros.
template <class Rows, bool Log, class Data, class Logits>
__device__ __forceinline__ typename Rows::Sum
masked_tile_sum(const MaskedRowsArguments &a, const Data &data, const LaneMask<typename Rows::Element> &mask, int count,
                Logits &x, float (&e)[lane_elements], TileState<float, typename Rows::Sum> *state) {
    using T = typename Rows::Element;
    using Sum = typename Rows::Sum;
    using C = ExponentialConstants<float>;
    constexpr float infinity = std::numeric_limits<float>::infinity();
    const bool scaled_later = sizeof(T) == 2 && a.scaled; // others are already
    float lowest, maximum;
    x.extremes(false, lowest, maximum);
    lowest = is_nan(maximum) ? -infinity : lowest; // which says nothing where there is a NaN
    mask.apply(x, filler_vector<T>(sizeof(T) == 2 && a.scale < 0).x);
    const auto vanishing_sum = [&](float magic_less_n) {
        return sum_of_exponentials<Rows, Sum>(
            x, e, [&](int i) { return scaled_exponential(vanishing_value(x, i), magic_less_n); });
    };
    if constexpr (!Log) {
        const bool plain = !scaled_later && !wants_row_values(a) && reaches_outputs<T, Rows>(a.output_type);
        const bool at_zero_exponent = plain && maximum < zero_exponent_range<T> && lowest > -zero_exponent_range<T>;
        if (__all_sync(whole_warp, at_zero_exponent) != 0) {
            const Sum sum = vanishing_sum(C::magic);
            const bool absent = sum == Sum(0);
            note_frame(state, absent ? -infinity : 0.0f, absent ? absent_n : 0);
            return sum;
        }
    }
    float least_taken;
    x.extremes(a.scaled, least_taken, maximum);
    maximum = warp_maximum(maximum);
    if (is_special(maximum)) {
        zero(e);
        note_frame(state, maximum, state_n(maximum));
        return special_tile_sum<T, Rows, float, Sum>(a, address_in(data), count, maximum);
    }
    const bool absent = maximum == -infinity;
    const std::int32_t nearest = nearest_exponent(maximum);
    const float bound = absent ? infinity : maximum - C::reach;
    const float magic_less_n = C::magic - static_cast<float>(nearest);
    note_frame(state, maximum, absent ? absent_n : nearest);
    if (__all_sync(whole_warp, !scaled_later && lowest > bound) != 0) {
        return vanishing_sum(magic_less_n);
    }
    return sum_of_exponentials<Rows, Sum>(x, e, [&](int i) {
        const float value = x[i];
        const float result = scaled_exponential(value, magic_less_n);
        return value > bound ? result : 0.0f;
    });
}

// Softmax of rows of which elements are left out: the row in the registers of a block's warps.
// Those whose tiles are left out write their outputs and end.

template <class Rows>
__device__ __forceinline__ LaneMask<typename Rows::Element> mask_of_tile(const MaskedRowsArguments &a,
                                                                         const MaskedTile &mine) {
    if (a.mask == nullptr) {
        return LaneMask<typename Rows::Element>(mine.count);
    }
    const std::uint8_t *const mask = mine.in(a.mask, static_cast<std::ptrdiff_t>(a.axis));
    if constexpr (Rows::anywhere) {
        return {mask, mine.count, a.mask, a.mask + a.outer * a.axis};
    } else {
        return {mask, mine.count};
    }
}

// Whether tiles of rows without a mask are not taken as if there were one: 16-bit ones are short of instructions (H200,
// us: bf16, lengths of 1024 28.8, else 32.0; log-softmax of 1024 into f32 53.3 and 57.3; but softmax of 4096 into
// f32 62.3 and 56.3, lengths of f32 53.6 and 53.5).
template <class Rows, bool Log>
inline constexpr bool has_way_without_mask =
    sizeof(typename Rows::Element) == 2 && !Rows::anywhere && converts<Rows> == Log;

// The exponentials of a block of which something takes part, and its state at `state`. The sum, in every lane.
template <class Rows, bool Log, class Data, class Logits>
__device__ __forceinline__ typename Rows::Sum
masked_row_state(const MaskedRowsArguments &a, const Data &data, const MaskedTile &mine, Logits &x,
                 float (&e)[lane_elements], TileState<float, typename Rows::Sum> *state) {
    using T = typename Rows::Element;
    using Sum = typename Rows::Sum;
    if constexpr (has_way_without_mask<Rows, Log>) {
        if (a.mask == nullptr && !Log && mine.count == static_cast<int>(softmax_block)) {
            return tile_state<T, Rows, float, Sum, ZeroExponent::without_row_values>(a, data, mine.count, x, e, state);
        }
        if (a.mask == nullptr) {
            zero(e);
            const bool plain = !Log && !wants_row_values(a) && reaches_outputs<T, Rows>(a.output_type);
            return partial_tile_state<T, Rows, Sum>(a, data, mine.count, x, e, state, plain);
        }
    }
    const Sum sum = masked_tile_sum<Rows, Log>(a, data, mask_of_tile<Rows>(a, mine), mine.count, x, e, state);
    if (lane_index() == 0) {
        state->sum = sum;
    }
    return sum;
}

// A warp's tile, of which something takes part, of a row that its block has; whether it is ordinary, and written.
template <class Rows, bool Log, class Data, class Logits>
__device__ __forceinline__ bool do_tile_of_block(const MaskedRowsArguments &a, const Data &data, const MaskedTile &mine,
                                                 Logits &x, TileState<float, typename Rows::Sum> *states,
                                                 LogRow<float> *log_rows) {
    using Sum = typename Rows::Sum;
    float e[lane_elements];
    const Sum sum = masked_row_state<Rows, Log>(a, data, mine, x, e, states + mine.block);
    const auto row_total = [&] {
        if (mine.blocks == 1) {
            __syncwarp();
            if constexpr (Log) {
                return log_row(RowState<float, Sum>{states[mine.block].maximum, sum});
            } else {
                return RowView<Sum>{sum, states[mine.block].n};
            }
        }
        wait_at_row_barrier(mine.row_of_block, mine.blocks);
        if constexpr (Log) {
            if (mine.block == 0) {
                find_log_row(states, mine.blocks, log_rows + mine.row_of_block);
            }
            wait_at_row_barrier(mine.row_of_block, mine.blocks);
            return log_rows[mine.row_of_block];
        } else {
            return merge_states<1, masked_rows_warps>(states, mine.blocks);
        }
    };
    const auto total = row_total();
    if constexpr (Log) {
        return finish_masked_log<Rows>(a, mine, total, x);
    } else {
        return finish_masked<Rows>(a, mine, states[mine.block].n, total, e);
    }
}

// blockDim.y rows a block, of up to masked_rows_warps tiles together. One warp of each row takes its logarithm
// (bf16, 2 GiB: masked 8192 1283 us, by each warp 1326, lengths of 4096 879 and 901).
template <class Rows>
__device__ __forceinline__ void softmax_masked_rows_of_block(const MaskedRowsArguments &a) {
    using T = typename Rows::Element;
    __shared__ TileState<float, typename Rows::Sum> states_of_rows[masked_rows_warps];
    __shared__ LogRow<float> log_rows[most_shared_rows];
    pdl_wait_and_release();
    const int row_of_block = same_in_warp(thread_y_again());
    const std::uint32_t row = RowTile::job_again() * blockDim.y + static_cast<unsigned>(row_of_block);
    if (row >= static_cast<std::uint32_t>(a.outer)) {
        return;
    }
    const MaskedTile mine(a, row, row_of_block, same_in_warp(warp_again()));
    if (mine.count <= 0) {
        if (mine.blocks == 0) {
            finish_empty_masked<T>(a, mine);
            return;
        }
        store_left_out<Rows>(a, mine);
        leave_word_at_row_barrier(mine.row_of_block, mine.row_warps);
        return;
    }
    auto *const states = states_of_rows + mine.row_of_block * mine.row_warps;
    const auto data = [&] { return mine.in(static_cast<const T *>(a.input), a.outer_stride); };
    TileLogits<T, Rows> x(a, data(), mine.count);
    const bool finished = a.log ? do_tile_of_block<Rows, true>(a, data, mine, x, states, log_rows)
                                : do_tile_of_block<Rows, false>(a, data, mine, x, states, log_rows);
    // Seldom: where the states are is found again, instead of kept.
    const auto states_again = [&] {
        return states_of_rows + thread_y_again() * static_cast<int>(blockDim.x / warp_lanes);
    };
    if (!finished) {
        finish_special_masked<Rows, false>(a, mine, states_again());
    }
    if (wants_row_values(a) && mine.block == 0) {
        store_row_values(a, merge_any_states(states_again(), mine.blocks), mine.row);
    }
}

// The same rows by clusters of a.cluster_blocks blocks, a row each. Blocks of which nothing is left are not told of the
// others, and do not stay to be.

// Of this block's warps those that have a tile of its row's `blocks`.
__device__ __forceinline__ int warps_present(int blocks) {
    const int warps = static_cast<int>(blockDim.x / warp_lanes);
    return smaller(warps, blocks - static_cast<int>(block_in_cluster()) * warps);
}

// The row of `count` tiles by PerLane states a lane, which are read twice: a lane's exponentials leave registers for no
// more.
template <int PerLane, class State>
__device__ __forceinline__ auto merge_read_twice(const State *states, int count) {
    using Sum = decltype(State::sum);
    const int first = lane_index() * PerLane;
    static_assert(state_place(PerLane - 1) == PerLane - 1); // a lane's are neighbours
    const State *const own = states + state_place(first);
    std::int32_t largest = absent_n;
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
        largest = first + i < count ? larger(largest, own[i].n) : largest;
    }
    const std::int32_t row_n = __reduce_max_sync(whole_warp, largest);
    asm volatile("" ::: "memory");
    Sum sums[PerLane];
#pragma unroll
    for (int i = 0; i < PerLane; ++i) {
        sums[i] = first + i < count ? scale_by_power(own[i].sum, own[i].n - row_n) : Sum(0);
    }
    return RowView<Sum>{tree_over_lanes<FloatSum<Sum>>(run_sum<PerLane, Sum>(sums), warp_lanes), row_n};
}

// A warp's tile, of which something takes part; whether it is ordinary, and written.
template <class Rows, bool Log, class Data, class Logits>
__device__ __forceinline__ bool
do_tile_of_cluster(const MaskedRowsArguments &a, const Data &data, const MaskedTile &mine, Logits &x,
                   Mbarrier &arrivals, TileState<float, typename Rows::Sum> *states,
                   TileState<float, typename Rows::Sum> *own, LogRow<float> *log_row_of_block) {
    using Sum = typename Rows::Sum;
    float e[lane_elements];
    masked_row_state<Rows, Log>(a, data, mine, x, e, own);
    __syncwarp();
    await_cluster();
    if (lane_index() * static_cast<int>(blockDim.x / warp_lanes) < mine.blocks) {
        arrivals.send(static_cast<unsigned>(lane_index()), states + state_place(mine.block), *own);
    }
    if constexpr (Log && converts<Rows>) {
        arrivals.wait();
        return finish_masked_log<Rows>(a, mine, log_row(merge_any_states(states, mine.blocks)), x);
    } else if constexpr (Log) { // by one warp of each block
        if (thread_x_again() < static_cast<int>(warp_lanes)) {
            arrivals.wait();
            find_log_row(states, mine.blocks, log_row_of_block);
        }
        wait_at_row_barrier(0, warps_present(mine.blocks));
        return finish_masked_log<Rows>(a, mine, *log_row_of_block, x);
    } else {
        arrivals.wait();
        const RowView<Sum> row = mine.blocks <= warp_lanes ? merge_states<1, warp_lanes>(states, mine.blocks)
                                 : mine.blocks <= 4 * warp_lanes
                                     ? merge_read_twice<4>(states, mine.blocks)
                                     : merge_read_twice<masked_cluster_states / warp_lanes>(states, mine.blocks);
        return finish_masked<Rows>(a, mine, own->n, row, e);
    }
}

template <class Rows>
__device__ __forceinline__ void softmax_masked_row_of_cluster(const MaskedRowsArguments &a) {
#if __CUDA_ARCH__ >= 900
    using T = typename Rows::Element;
    using State = TileState<float, typename Rows::Sum>;
    __shared__ State states[state_place(masked_cluster_states)], own[masked_cluster_warps];
    __shared__ Mbarrier arrivals;
    __shared__ LogRow<float> log_row_of_block;
    if (thread_x_again() == 0) {
        arrivals.initialise();
    }
    __syncwarp(); // the warp may initialise by any lane: racecheck wants to see that they meet
    pdl_wait_and_release();
    const int warps = static_cast<int>(blockDim.x / warp_lanes), warp = same_in_warp(warp_again());
    const MaskedTile mine(a, cluster_number(), 0, static_cast<int>(block_in_cluster()) * warps + warp);
    join_cluster();
    if (mine.count <= 0) {
        if (mine.blocks == 0) {
            finish_empty_masked<T>(a, mine);
        } else if constexpr (!deals_out_left_out<Rows>) {
            store_left_out<Rows>(a, mine);
            __threadfence(); // others may overwrite these outputs
            await_cluster();
        }
        return;
    }
    if (thread_x_again() == 0) {
        arrivals.announce(static_cast<unsigned>(mine.blocks) * static_cast<unsigned>(sizeof(State)));
    }
    const auto data = [&] { return mine.in(static_cast<const T *>(a.input), a.outer_stride); };
    TileLogits<T, Rows> x(a, data(), mine.count);
    if constexpr (deals_out_left_out<Rows>) {
        store_dealt_out<Rows>(a, mine);
    }
    const bool finished =
        a.log ? do_tile_of_cluster<Rows, true>(a, data, mine, x, arrivals, states, own + warp, &log_row_of_block)
              : do_tile_of_cluster<Rows, false>(a, data, mine, x, arrivals, states, own + warp, &log_row_of_block);
    if (!finished) {
        finish_special_masked<Rows, true>(a, mine, states);
    }
    if (wants_row_values(a) && mine.block == 0) {
        store_row_values(a, merge_any_states(states, mine.blocks), mine.row);
    }
#endif
}

// The kernels for rows that lengths, the causal limit or a mask cut, and the registers of each.

// 16-bit rows have registers for 40 warps (H200, bf16 log-softmax, lengths of 1024, 4096, 32768, 2 GiB: 980, 921, 995
// us, by 32 warps 1008, 947, 1031), for 32 where outputs are of another type (bf16 into f32, 4096: lengths 1399, by 40
// warps 1466, masked 1896 and 2051).
template <class Rows>
inline constexpr int narrow_masked_warps = converts<Rows> ? 32 : 40;
template <class Rows>
inline constexpr int narrow_masked_registers = narrow_masked_warps<Rows> == 40 ? 48 : 64; // for as many

// f32 rows in blocks of 4 warps, of which 28 have 72 registers each (lengths, masked of 32768 819, 1146 us; 64 spill:
// 836, 1200), where these do: outputs of another type (into bf16, lengths of 4096, 32768 673, 679, with 72 729, 794)
// and rows anywhere spill.
template <class Rows>
inline constexpr int wide_masked_registers = Rows::anywhere || converts<Rows> ? 80 : 72;

// Rows of a block or a row of a cluster, with as many registers as leave room for so many warps on a multiprocessor,
// and with so many.
template <class Rows, bool ByCluster>
__device__ __forceinline__ void softmax_of_masked_rows(const MaskedRowsArguments &a) {
    if constexpr (ByCluster) {
        softmax_masked_row_of_cluster<Rows>(a);
    } else {
        softmax_masked_rows_of_block<Rows>(a);
    }
}
template <class Rows, bool ByCluster, int ResidentWarps>
__global__ void __launch_bounds__(masked_rows_warps *warp_lanes, ResidentWarps / masked_rows_warps)
    softmax_masked(const __grid_constant__ MaskedRowsArguments a) {
    softmax_of_masked_rows<Rows, ByCluster>(a);
}
template <class Rows, bool ByCluster, int Registers>
__global__ void __maxnreg__(Registers) softmax_masked_within(const __grid_constant__ MaskedRowsArguments a) {
    softmax_of_masked_rows<Rows, ByCluster>(a);
}

template <class Rows, bool ByCluster>
const void *masked_kernel() {
    if constexpr (sizeof(typename Rows::Element) == 4) {
        return address_of(softmax_masked_within<Rows, ByCluster, wide_masked_registers<Rows>>);
    } else if constexpr (ByCluster) { // whose blocks may have more warps
        return address_of(softmax_masked_within<Rows, true, narrow_masked_registers<Rows>>);
    } else {
        return address_of(softmax_masked<Rows, false, narrow_masked_warps<Rows>>);
    }
}

template <class Rows>
const MaskedRowsKernels &make_masked_rows_kernels() {
    static const MaskedRowsKernels kernels = {masked_kernel<Rows, false>(), masked_kernel<Rows, true>()};
    return kernels;
}

template <class T, Alignment Where>
const MaskedRowsKernels &masked_rows_kernels() {
    return make_masked_rows_kernels<MaskedRows<T, Where>>();
}
template <class T>
const MaskedRowsKernels &converting_masked_kernels() {
    return make_masked_rows_kernels<MaskedRows<T, Alignment::vector, true>>();
}

} // namespace wr::cuda
