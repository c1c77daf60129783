// The logsumexp of rows of any length and alignment: a warp takes tiles of 1024 elements through shared memory, and the
// next one is on its way while it works on the one before.
#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax/logsumexp/stage.cuh"

namespace wr::cuda {

// Which of a tile's rows a lane takes part in, and what of it. Lanes that have none are part number 32 of row 0.
struct LaneShare {
    int row, part;

    __device__ __forceinline__ explicit LaneShare(const LogSumExpArguments &a)
        : row(lane_from_register() / a.row_lanes), part(lane_from_register() % a.row_lanes) {
        if (row >= a.tile_rows) {
            row = 0;
            part = warp_lanes;
        }
    }

    // Of the row.
    __device__ __forceinline__ int first_lane() const { return lane_from_register() - part; }
    __device__ __forceinline__ int last_lane(int row_lanes) const { return first_lane() + row_lanes - 1; }

    // Of so many elements of the row, how many are the lane's.
    __device__ __forceinline__ int count(int elements) const {
        return larger(smaller(elements - part * lane_elements, lane_elements), 0);
    }

    // From the row's first element to the lane's.
    template <class T>
    __device__ __forceinline__ int bytes_of_row_before() const {
        return part % warp_lanes * static_cast<int>(lane_elements * sizeof(T));
    }

    // From the tile's first element in the stage to the lane's. Of rows that lie apart: of those alone.
    template <class T>
    __device__ __forceinline__ int place(const LogSumExpArguments &a) const {
        const int row_place = a.apart ? row * a.row_vectors * static_cast<int>(vector_bytes) : row * a.row_bytes;
        return row_place + bytes_of_row_before<T>();
    }
};

// The same in registers that wait for every tile.
struct ChunkPlace {
    unsigned address, turn;

    template <class T>
    __device__ __forceinline__ static ChunkPlace in_stage(const LogSumExpArguments &a, const LaneShare &lane,
                                                          const uint4 *stage) {
        ChunkPlace at{shared_address(stage) + static_cast<unsigned>(lane.place<T>(a)),
                      turn_of_lane<T>() * static_cast<unsigned>(vector_bytes)};
        asm("" : "+r"(at.address), "+r"(at.turn)); // the compiler would compute them again
        return at;
    }

    template <Alignment Where>
    __device__ __forceinline__ unsigned of_tile(const LogSumExpArguments &a, const LaneShare &lane,
                                                const char *data) const {
        if constexpr (Where == Alignment::vector) {
            return address;
        }
        const char *own = a.apart ? data + lane.row * a.row_bytes : data;
        return address + static_cast<unsigned>(bytes_before(own));
    }
};

// The natural tree over a lane's exponentials.
template <class T, class Sum, class Exponential>
__device__ __forceinline__ Sum chunk_sum(Exponential exponential) {
    constexpr int run = vector_elements<T>;
    Sum sums[lane_elements / run];
#pragma unroll
    for (int r = 0; r < lane_elements / run; ++r) {
        float e[run];
#pragma unroll
        for (int i = 0; i < run; ++i) {
            e[i] = exponential(r * run + i);
        }
        sums[r] = run_sum<run, Sum>(e);
    }
    return run_sum<lane_elements / run, Sum>(sums);
}

// A lane that takes part in a row adds what the lane `distance` after it brings, if that one is of the row, too.
__device__ __forceinline__ void add_of_lane_after(float &sum, int distance, int last_lane) {
    asm volatile("{\n"
                 ".reg .pred there;\n"
                 ".reg .f32 other;\n"
                 "shfl.sync.down.b32 other|there, %0, %1, %2, 0xFFFFFFFF;\n"
                 "@there add.rn.f32 %0, %0, other;\n"
                 "}"
                 : "+f"(sum)
                 : "r"(distance), "r"(last_lane));
}
__device__ __forceinline__ void add_of_lane_after(double &sum, int distance, int last_lane) {
    asm volatile("{\n"
                 ".reg .pred there;\n"
                 ".reg .b32 low, high;\n"
                 ".reg .f64 other;\n"
                 "mov.b64 {low, high}, %0;\n"
                 "shfl.sync.down.b32 low|there, low, %1, %2, 0xFFFFFFFF;\n"
                 "shfl.sync.down.b32 high|there, high, %1, %2, 0xFFFFFFFF;\n"
                 "mov.b64 other, {low, high};\n"
                 "@there add.rn.f64 %0, %0, other;\n"
                 "}"
                 : "+d"(sum)
                 : "r"(distance), "r"(last_lane));
}

// The natural tree over what the lanes of a row bring: each of them gets it.
template <class Sum>
__device__ __forceinline__ Sum sum_over_row(Sum sum, const LaneShare &lane, int row_lanes) {
    if (row_lanes == warp_lanes) {
        return tree_over_lanes<FloatSum<Sum>>(sum, warp_lanes);
    }
#pragma unroll
    for (int distance = 1; distance < warp_lanes / 2; distance *= 2) {
        if (distance >= row_lanes) {
            break;
        }
        add_of_lane_after(sum, distance, lane.last_lane(row_lanes));
    }
    return row_lanes == 1 ? sum : __shfl_sync(whole_warp, sum, lane.first_lane());
}

// The row's maximum in each of its lanes.
__device__ __forceinline__ float maximum_over_row(float maximum, const LaneShare &lane, int row_lanes) {
    if (row_lanes == warp_lanes) {
        return warp_maximum(maximum);
    }
#pragma unroll
    for (int distance = 1; distance < warp_lanes / 2; distance *= 2) {
        if (distance >= row_lanes) {
            break;
        }
        float other; // the lane's own where there is none
        asm volatile("shfl.sync.down.b32 %0, %1, %2, %3, 0xFFFFFFFF;"
                     : "=f"(other)
                     : "f"(maximum), "r"(distance), "r"(lane.last_lane(row_lanes)));
        maximum = larger_with_nan(maximum, other);
    }
    return row_lanes == 1 ? maximum : __shfl_sync(whole_warp, maximum, lane.first_lane());
}

// The sum of a tile's rows where one has a special maximum: each lane's elements from memory again, `count` of them.
template <class T>
__device__ __noinline__ typename SoftmaxArithmetic<T>::Sum special_column_sum(const T *mine, int count, float maximum,
                                                                              LaneShare lane, int row_lanes) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    const Frame<float> frame = frame_of(maximum);
    TreeCounter<FloatSum<Sum>, 6> counter;
#pragma unroll 1
    for (int i = 0; i < lane_elements; ++i) {
        counter.push(i < count ? static_cast<Sum>(exponential_in(frame, static_cast<float>(widen(mine[i])))) : Sum(0));
    }
    return settle_block_sum(maximum, sum_over_row(counter.result(), lane, row_lanes));
}

// Where a lane's elements of the tile lie in memory, and how many there are.
template <class T>
__device__ __forceinline__ typename SoftmaxArithmetic<T>::Sum
special_sum(const LogSumExpArguments &a, const TileWalk &walk, const LaneShare &lane, float maximum) {
    int count = walk.count();
    if (a.tile_rows > 1) {
        count = lane.row < walk.rows(a) ? static_cast<int>(a.axis) : 0;
    }
    const T *data =
        reinterpret_cast<const T *>(walk.data + lane.row * a.row_bytes + lane.template bytes_of_row_before<T>());
    return special_column_sum(data, lane.count(count), maximum, lane, a.row_lanes);
}

// The state of the row that each lane's elements belong to, as far as the tile holds it.
template <class T>
__device__ __forceinline__ RowState<float, typename SoftmaxArithmetic<T>::Sum>
logsumexp_tile_state(const LogSumExpArguments &a, const TileWalk &walk, const LaneShare &lane, const Chunk<T> &x) {
    using C = ExponentialConstants<float>;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    float lowest, maximum;
    x.extremes(lowest, maximum);
    maximum = maximum_over_row(maximum, lane, a.row_lanes);
    const bool absent = maximum == -std::numeric_limits<float>::infinity();
    if (__any_sync(whole_warp, !is_ordinary(maximum) && !absent) != 0) {
        return {maximum, special_sum<T>(a, walk, lane, maximum)};
    }
    const float bound = absent ? std::numeric_limits<float>::infinity() : maximum - C::reach;
    const float magic_less_n = C::magic - static_cast<float>(nearest_exponent(maximum));
    Sum sum;
    if (__all_sync(whole_warp, lowest > bound) != 0) { // no element needs a test
        sum = chunk_sum<T, Sum>([&](int i) { return scaled_exponential(x[i], magic_less_n); });
    } else {
        sum = chunk_sum<T, Sum>([&](int i) {
            const float value = x[i];
            const float e = scaled_exponential(value, magic_less_n);
            return value > bound ? e : 0.0f;
        });
    }
    return {maximum, sum_over_row(sum, lane, a.row_lanes)};
}

template <class Sum>
__device__ __noinline__ void write_state(const LogSumExpArguments &a, RowState<float, Sum> state, std::size_t place) {
    if (a.states != nullptr) {
        a.states[place] = {static_cast<double>(state.maximum), static_cast<double>(state.sum)};
    } else {
        store_float(logsumexp_of(state.maximum, state.sum), a.output_type, a.output, place);
    }
}

// What a warp has found and not yet written, in shared memory: no register waits for what is written once in a while.
template <class Sum>
struct WarpStates {
    RowState<float, Sum> of_blocks[warp_lanes]; // of the row at hand
    RowState<float, Sum> of_rows[warp_lanes];   // one for each lane, of `kept` units

    // A tile's, which is block `block` of `blocks` of the unit's. Last: no more follow.
    __device__ __forceinline__ void keep(const LogSumExpArguments &a, const LaneShare &lane, const TileWalk &tile,
                                         RowState<float, Sum> state, bool last, int &kept) {
        if (tile.blocks > 1) {
            if (lane_from_register() == 0) {
                of_blocks[tile.block] = state;
            }
            if (tile.block + 1 < tile.blocks) {
                return;
            }
            __syncwarp();
            state = merge_any_lanes(lane_from_register() < tile.blocks ? of_blocks[lane_from_register()]
                                                                       : StateMerge<float, Sum>::identity());
        }
        if (lane.part == kept) {
            of_rows[lane_from_register()] = state;
        }
        ++kept;
        if (kept == a.row_lanes || last) {
            write(a, lane, tile.unit, kept);
            kept = 0;
        }
    }

  private:
    // The logarithms of these are taken together.
    __device__ __forceinline__ void write(const LogSumExpArguments &a, const LaneShare &lane, std::uint32_t last_unit,
                                          int units) const {
        const std::size_t unit =
            last_unit + 1 - static_cast<std::uint32_t>(units) + static_cast<std::size_t>(lane.part);
        const std::size_t row = unit * static_cast<std::size_t>(a.tile_rows) + static_cast<std::size_t>(lane.row);
        if (lane.part < units && row < a.rows) {
            write_state(a, of_rows[lane_from_register()], row);
        }
    }
};

// A unit that a block of threads shares.
template <class Sum, int Count>
__device__ __forceinline__ void write_shared_unit(const LogSumExpArguments &a,
                                                  const TileState<float, Sum> (&states)[Count]) {
    __syncthreads();
    if (warp_index() == 0) {
        const int blocks = TileWalk::unit_tiles(a, blockIdx.x % a.splits);
        const RowState<float, Sum> total = merge_any_states(states, blocks);
        if (lane_from_register() == 0) {
            write_state(a, total, blockIdx.x);
        }
    }
}

template <class T, Alignment Where>
__global__ void __launch_bounds__(logsumexp_block_warps *warp_lanes, sizeof(T) == 4 ? 3 : 4)
    logsumexp_rows(const __grid_constant__ LogSumExpArguments a) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    pdl_wait();
    pdl_release();
    __shared__ uint4 stages[logsumexp_block_warps][tile_stage_vectors<T>];
    __shared__ TileState<float, Sum> block_states[state_place(logsumexp_most_unit_tiles)];
    __shared__ WarpStates<Sum> warp_states[logsumexp_block_warps];
    const TileStage<T, Where> stage(stages[warp_index()]);
    const LaneShare lane(a);
    const ChunkPlace at = ChunkPlace::in_stage<T>(a, lane, stage.vectors);
    const unsigned present = a.partial ? present_bits<T>(lane.count(static_cast<int>(a.axis))) : ~0u;
    TileWalk walk{};
    bool more = walk.enter<T>(a);
    const std::uint32_t end = smaller(walk.unit + a.units_a_warp, a.units);
    if (more) {
        stage.start(a, walk);
    }
    int kept = 0;
    while (more) {
        await_copies();
        __syncwarp();
        if (a.tile_rows == 1 && walk.elements < TileWalk::block_elements) {
            stage.fill_behind(walk.data, walk.elements);
        }
        Chunk<T> x = read_chunk<T, Where>(at.template of_tile<Where>(a, lane, walk.data), at.turn);
        if (a.partial) {
            x.leave(present);
        }
        __syncwarp();
        TileWalk next = walk;
        more = next.advance<T>(a, end);
        if (more) {
            stage.start(a, next);
        }
        const RowState<float, Sum> state = logsumexp_tile_state<T>(a, walk, lane, x);
        const TileWalk done = walk;
        if constexpr (Where == Alignment::vector) {
            walk = next;
        } else { // no registers for both (f32 of 1001: 641 us, so 632)
            walk.forget();
            walk.advance<T>(a, end);
        }
        if (!a.by_blocks) {
            warp_states[warp_index()].keep(a, lane, done, state, !more, kept);
        } else if (lane_from_register() == 0) {
            block_states[state_place(done.block)] = {state.maximum, 0, state.sum};
        }
    }
    if (a.by_blocks) {
        write_shared_unit(a, block_states);
    }
}

template <class T>
const void *logsumexp_rows_kernel(bool aligned) {
    return aligned ? address_of(logsumexp_rows<T, Alignment::vector>)
                   : address_of(logsumexp_rows<T, Alignment::element>);
}

// logsumexp of rows. Lanes know their numbers from their registers: f32 of 1024 3.95 TB/s, else 3.37.

template const void *logsumexp_rows_kernel<float>(bool);
template const void *logsumexp_rows_kernel<F16>(bool);
template const void *logsumexp_rows_kernel<BF16>(bool);

} // namespace wr::cuda
