// Many rows of up to 1024 base blocks: clusters that stay and go from row to row, as those of softmax_pipeline.cuh do,
// with several base blocks a warp. A row's exponentials wait for its total in registers and, where these do not hold
// them, where their logits were; whatever else the shared memory has room for is on its way there from the next row.
#pragma once

#include "cuda/softmax_kernels.h"
#include "cuda/softmax_pipeline.cuh"

namespace wr::cuda {

inline constexpr int resident_block_warps = static_cast<int>(softmax_resident_warps); // of a block at most

// Base blocks that a warp takes of a row. The exponentials of the first and the last of them wait in registers, and
// their logits share a slot of shared memory; the others have one each, for their logits and then their exponentials.
inline constexpr int resident_warp_blocks = static_cast<int>(softmax_resident_blocks);
inline constexpr int resident_slots = resident_warp_blocks - 1;

// Rows whose states are kept at a time. A warp sends states of row i + 2 once all warps of the cluster have sent those
// of row i + 1, before which they have finished with row i.
inline constexpr unsigned resident_rows = 2;

template <class T>
std::size_t resident_shared_bytes(std::size_t warps, std::size_t row_states) {
    using State = RowState<typename SoftmaxArithmetic<T>::Float, typename SoftmaxArithmetic<T>::Sum>;
    return warps * resident_slots * softmax_block * sizeof(T) +
           resident_rows * static_cast<std::size_t>(state_place(static_cast<int>(row_states))) * sizeof(State);
}

// merge_row_states for a warp whose registers are taken: a state a lane at a time.
template <class Float, class Sum>
__device__ __forceinline__ RowView<Sum> merge_in_few_registers(const RowState<Float, Sum> *states, int count) {
    std::int32_t largest = absent_n;
#pragma unroll 1
    for (int at = lane_index(); at < count; at += warp_lanes) {
        largest = larger(largest, state_n(states[state_place(at)].maximum));
    }
    const std::int32_t row_n = __reduce_max_sync(whole_warp, largest);
    Sum one = Sum(0), two = Sum(0), four = Sum(0), all = Sum(0); // trees over so many times 32 states
    static_assert(most_cluster_states == 8 * warp_lanes);
#pragma unroll 1
    for (int run = 0; run * warp_lanes < count || (run & (run - 1)) != 0; ++run) {
        const int at = run * warp_lanes + lane_index();
        Sum scaled = Sum(0);
        if (at < count) {
            const RowState<Float, Sum> state = states[state_place(at)];
            scaled = scale_by_power(state.sum, state_n(state.maximum) - row_n);
        }
        all = tree_over_lanes<FloatSum<Sum>>(scaled, warp_lanes);
        if ((run & 1) == 0) {
            one = all;
        } else {
            all = one + all;
            if ((run & 2) == 0) {
                two = all;
            } else {
                all = two + all;
                if ((run & 4) == 0) {
                    four = all;
                } else {
                    all = four + all;
                }
            }
        }
    }
    return {all, row_n};
}

// One warp's part in its cluster's rows, number i of which is row first_row + i * a.pieces of the input.
template <class T>
class ResidentRows {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using Places = VectorPlaces<T>;
    using State = RowState<Float, Sum>;
    using Row = PlainRow<Sum>;
    // A total is read for the last time two rows before another takes its place.
    static constexpr unsigned total_places = 2 * resident_rows;

  public:
    struct Shared {
        ArrivalBarrier arrived[resident_rows]; // the states of a row
        ArrivalBarrier merged[resident_rows];
        ArrivalBarrier loaded[resident_block_warps][softmax_resident_blocks - 1];
        Row totals[total_places];
        State own[resident_block_warps][softmax_resident_blocks];
    };

    __device__ __forceinline__ ResidentRows(const SoftmaxArguments &arguments, unsigned char *memory, Shared &all)
        : a(arguments), shared(all), warp(uniform_warp_index()) {
        const int warps = static_cast<int>(blockDim.x / warp_lanes);
        const int before = static_cast<int>(block_in_cluster()) * warps;
        slots = reinterpret_cast<uint4 *>(memory) + warp * resident_slots * slot_vectors;
        states = reinterpret_cast<State *>(reinterpret_cast<uint4 *>(memory) + warps * resident_slots * slot_vectors);
        row_states = static_cast<int>(divide_up(a.axis, resident_warp_blocks * softmax_block));
        state = before + warp;
        left = static_cast<int>(a.axis) - first_element();
        final_block = smaller((left - 1) / block_elements, last);
        working_warps = smaller(warps, row_states - before);
        const PipelineRun run =
            pipeline_run(static_cast<std::uint32_t>(a.outer), static_cast<std::uint32_t>(a.pieces), cluster_number());
        first_row = run.first;
        rows = run.rows;
    }

    __device__ __forceinline__ void set_up() {
        if (threadIdx.x < resident_rows) {
            shared.arrived[threadIdx.x].initialise();
            shared.merged[threadIdx.x].initialise();
        }
        if (lane_index() < resident_slots) {
            shared.loaded[warp][lane_index()].initialise();
        }
        __syncwarp(); // all lanes' barriers are initialised one after the other
        if (threadIdx.x < resident_rows) {
            expect_states(threadIdx.x);
        }
    }

    __device__ __forceinline__ void work() {
        if (left <= 0 || rows == 0) {
            return;
        }
#pragma unroll
        for (int b = 0; b < resident_slots; ++b) {
            load(0, b);
        }
#pragma unroll 1
        for (unsigned i = 0; i < rows; ++i) {
            // Set, so that nothing of the row before has to live through this one's rare calls.
            Float first_e[lane_elements] = {}, e[lane_elements] = {};
#pragma unroll 1
            for (int b = 0;; ++b) {
                take(i, b, e);
                if (b == final_block) {
                    break;
                }
                if (b == 0) {
#pragma unroll
                    for (int v = 0; v < lane_elements; ++v) {
                        first_e[v] = e[v];
                    }
                } else {
                    park(b, e);
                }
            }
            __syncwarp();
            // Nothing is called where exponentials wait in registers: a call leaves few of these alone, and the
            // compiler would keep the exponentials in memory from the start.
            const State own = own_state();
            const std::int32_t n = state_n(own.maximum);
            const std::int32_t largest = __reduce_max_sync(whole_warp, n);
            bool plain = largest != unusual_n;
            if (plain) {
                const Sum sum =
                    tree_over_lanes<FloatSum<Sum>>(scale_by_power(own.sum, n - largest), resident_warp_blocks);
                send(i, {warp_maximum(own.maximum), __shfl_sync(whole_warp, sum, 0)});
                const Row row = total(i);
                plain = row.plain();
                if (plain) {
#pragma unroll 1
                    for (int b = 1; b < final_block; ++b) {
                        finish_parked(i, b, row);
                        order_with_copies();
                        load(i + 1, b);
                    }
                    finish(i, final_block, row, e);
                    if (final_block != 0) {
                        finish(i, 0, row, first_e);
                    }
                }
            } else {
                send_unusual(*this, i);
            }
            if (!plain) {
                finish_unusual(*this, i);
                order_with_copies();
                for (int b = 1; b < final_block; ++b) {
                    load(i + 1, b);
                }
            }
            __syncwarp(); // before the states of the next row's blocks are written down
        }
    }

  private:
    static constexpr int last = resident_warp_blocks - 1;
    static constexpr int block_elements = static_cast<int>(softmax_block);
    static constexpr int slot_vectors = block_elements / Places::run;

    __device__ __forceinline__ int first_element() const { return state * resident_warp_blocks * block_elements; }
    __device__ __forceinline__ bool has(int b) const { return b * block_elements < left; }
    __device__ __forceinline__ static int slot_of(int b) { return b < last ? b : 0; }
    __device__ __forceinline__ uint4 *slot(int b) const { return slots + slot_of(b) * slot_vectors; }
    __device__ __forceinline__ int count_of(int b) const { return smaller(left - b * block_elements, block_elements); }
    __device__ __forceinline__ std::uint32_t row_number(unsigned i) const {
        return first_row + i * static_cast<std::uint32_t>(a.pieces);
    }
    __device__ __forceinline__ const T *input_of(unsigned i, int b) const {
        return static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row_number(i)) * a.outer_stride +
               (first_element() + b * block_elements);
    }
    __device__ __forceinline__ std::size_t output_of(unsigned i, int b) const {
        return row_number(i) * static_cast<std::size_t>(static_cast<std::uint32_t>(a.axis)) +
               static_cast<std::size_t>(static_cast<unsigned>(first_element() + b * block_elements));
    }

    // Of the phases of a slot's loads: the first's has two a row where the last block is there.
    __device__ __forceinline__ unsigned parity_of(unsigned i, int b) const {
        return slot_of(b) == 0 && final_block == last ? (b == last ? 1u : 0u) : i & 1u;
    }

    __device__ __forceinline__ void expect_states(unsigned row) {
        shared.arrived[row].announce(static_cast<unsigned>(row_states) * static_cast<unsigned>(sizeof(State)));
    }

    __device__ __forceinline__ void load(unsigned i, int b) {
        if (lane_index() == 0 && i < rows && has(b)) {
            shared.loaded[warp][slot_of(b)].copy(slot(b), input_of(i, b),
                                                 static_cast<unsigned>(count_of(b)) * static_cast<unsigned>(sizeof(T)));
        }
    }

    // What takes the place of the logits of block b of row i, where their exponentials do not.
    __device__ __forceinline__ void load_behind(unsigned i, int b) {
        if (b == 0 && final_block == last) {
            load(i, last);
        } else if (b == 0 || b == final_block) {
            load(i + 1, slot_of(b));
        }
    }

    // The exponentials of block b of row i, if it is not unusual, and what it comes to.
    __device__ __forceinline__ void take(unsigned i, int b, Float (&e)[lane_elements]) {
        shared.loaded[warp][slot_of(b)].wait(parity_of(i, b));
        const BlockLogits<T, Places> x(a, reinterpret_cast<const T *>(slot(b)), count_of(b));
        Float lowest, maximum;
        x.extremes(a.scaled, lowest, maximum);
        maximum = warp_maximum(maximum);
        __syncwarp(); // all lanes have their logits
        load_behind(i, b);
        Sum sum = 0;
        if (is_unusual(maximum)) {
            forget(e);
        } else {
            sum = ordinary_block_sum<T, Places, Float, Sum>(a, x, lowest, maximum, e,
                                                            [](Float, std::int32_t, std::int32_t) {});
        }
        if (lane_index() == 0) {
            shared.own[warp][b] = {maximum, sum};
        }
    }

    __device__ __forceinline__ void park(int b, const Float (&e)[lane_elements]) const {
        uint4 *to = slot(b) + lane_index();
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            to[v * warp_lanes] = pack(e + v * Places::run, T());
        }
    }
    __device__ __forceinline__ State *states_of(unsigned i) const {
        return states + i % resident_rows * static_cast<unsigned>(state_place(row_states));
    }

    // What a lane's block comes to.
    __device__ __forceinline__ State own_state() const {
        return lane_index() < resident_warp_blocks && has(lane_index()) ? shared.own[warp][lane_index()]
                                                                        : StateMerge<Float, Sum>::identity();
    }

    // What the warp's blocks of row i come to, to all blocks of the cluster.
    __device__ __forceinline__ void send(unsigned i, const State &all) {
        if (lane_index() < a.cluster_blocks) {
            shared.arrived[i % resident_rows].send(static_cast<unsigned>(lane_index()),
                                                   states_of(i) + state_place(state), all);
        }
    }

    // What row i comes to, which one warp of the block finds out.
    __device__ __forceinline__ Row total(unsigned i) {
        const unsigned place = i % resident_rows, parity = (i / resident_rows) & 1u;
        if (static_cast<int>(i % static_cast<unsigned>(working_warps)) == warp) { // each in turn: it is late afterwards
            shared.arrived[place].wait(parity);
            const Row row = plain_row<Float, Sum>(merge_in_few_registers(states_of(i), row_states));
            if (lane_index() == 0) {
                shared.totals[i % total_places] = row;
                expect_states(place);
                shared.merged[place].arrive();
            }
        }
        shared.merged[place].wait(parity);
        __syncwarp(); // the barrier tells of another warp's total; this one's own lanes meet here
        const Row row = shared.totals[i % total_places];
        __syncwarp();
        return row;
    }

    // The same where a block is unusual.
    __device__ __noinline__ static void send_unusual(ResidentRows self, unsigned i) {
        State all = StateMerge<Float, Sum>::identity();
        for (int b = 0; b < resident_warp_blocks && self.has(b); ++b) {
            State one = self.shared.own[self.warp][b];
            if (is_unusual(one.maximum)) {
                one.sum = unusual_block_sum<T, Places, Float, Sum>(self.a, self.input_of(i, b), self.count_of(b),
                                                                   one.maximum);
            }
            if (lane_index() == b) {
                all = one;
            }
        }
        self.send(i, merge_any_lanes(all));
        self.total(i);
    }

    // The outputs of the warp's blocks of a row in which a block is unusual, or nothing is there but -infinity.
    __device__ __noinline__ static void finish_unusual(ResidentRows self, unsigned i) {
        self.shared.arrived[i % resident_rows].wait((i / resident_rows) & 1u); // which another warp may have waited for
        const State all = merge_any_states(self.states_of(i), self.row_states);
        for (int b = 0; b < resident_warp_blocks && self.has(b); ++b) {
            finish_unusual_softmax<T, Places>(self.a, self.input_of(i, b), self.output_of(i, b), self.count_of(b),
                                              self.shared.own[self.warp][b].maximum, all);
        }
    }

    __device__ __forceinline__ BlockFactor<Float> factor_of_block(int b, const Row &row) const {
        return factor_of(row.base, state_n(shared.own[warp][b].maximum) - row.n, Float());
    }

    __device__ __forceinline__ void finish(unsigned i, int b, const Row &row, const Float (&e)[lane_elements]) const {
        Float y[lane_elements];
#pragma unroll
        for (int v = 0; v < lane_elements; ++v) {
            y[v] = e[v];
        }
        finish_softmax<T, Places>(a, factor_of_block(b, row), output_of(i, b), count_of(b), y);
    }

    // A block whose exponentials are where its logits were.
    __device__ __forceinline__ void finish_parked(unsigned i, int b, const Row &row) const {
        const BlockFactor<Float> factor = factor_of_block(b, row);
        const uint4 *from = slot(b) + lane_index();
        uint4 *to = reinterpret_cast<uint4 *>(static_cast<T *>(a.output) + output_of(i, b)) + lane_index();
        const int vectors = count_of(b) / Places::run - lane_index();
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            if (v * warp_lanes < vectors) {
                const uint4 vector = from[v * warp_lanes];
                Float y[Places::run];
                memcpy(y, &vector, sizeof(vector));
#pragma unroll
                for (Float &one : y) {
                    one = softmax_output(one, factor);
                }
                store_vector(to + v * warp_lanes, pack(y, T()));
            }
        }
    }

    const SoftmaxArguments &a;
    Shared &shared;
    int warp;
    uint4 *slots;
    State *states;
    int row_states, state; // of a row, and which of them is this warp's
    int left;              // elements of a row from this warp's first on
    int final_block;       // the last that this warp takes
    int working_warps;     // of this block
    std::uint32_t first_row, rows;
};

// a.cluster_blocks blocks of any number of warps form a cluster; a.pieces clusters are in a round.
template <class T>
__global__ void __launch_bounds__(resident_block_warps *warp_lanes, 1)
    softmax_resident_rows(const __grid_constant__ SoftmaxArguments a) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char memory[];
    __shared__ typename ResidentRows<T>::Shared shared;
    ResidentRows<T> rows(a, memory, shared);
    rows.set_up();
    take_place_on_stream();
    synchronise_cluster(); // no block is written to before its barriers are set up,
    rows.work();
    synchronise_cluster(); // nor after its end
#endif
}

} // namespace wr::cuda
