// Many rows that are too long for a multiprocessor: a block on each stays to the end, and all of them go through memory
// together, a turn at a time. Every warp takes a tile a turn, neighbours side by side; what a group of warps
// comes to is published, and the exponentials (the logits for log-softmax) wait in shared memory, some turns, until
// their row's total is known. Nobody waits for another multiprocessor meanwhile: one warp of each block publishes, one
// puts the totals together.
#pragma once

#include "cuda/softmax/kernels.h"
#include "cuda/softmax/lookback/deferred_tiles.cuh"
#include "cuda/softmax/lookback/scheduler.cuh"
#include "cuda/softmax/rows/cluster_rows.cuh"

namespace wr::cuda {

// What a tile has in shared memory: a slot for logits, a vector more where they lie off the boundaries.
template <class T, class Load>
inline constexpr std::size_t lookback_slot_bytes = softmax_block * sizeof(T) + (is_staged<Load> ? vector_bytes : 0);
template <class T, class Load, class Shape>
inline constexpr std::size_t lookback_warp_bytes =
    Shape::ahead * lookback_slot_bytes<T, Load> + Shape::deferred * softmax_block * sizeof(float);

// In every lane the same, and known to be.
__device__ __forceinline__ int uniform_warp_index() { return __shfl_sync(whole_warp, warp_index(), 0); }

// For exponentials that are not formed: those of the turn before would otherwise have to live through all rare calls
// between, which the compiler pays for on every path. Volatile, so that it stays where it is: ahead of the branch it
// would be a twentieth of what a turn takes.
__device__ __forceinline__ void forget(float (&e)[lane_elements]) {
#pragma unroll
    for (float &one : e) {
        asm volatile("mov.b32 %0, 0;" : "=f"(one));
    }
}

// Where a block's exponentials go while something rare is called: without it the compiler keeps them in memory from the
// start on every path, for a called function leaves few registers alone.
class PutAside {
  public:
    __device__ __forceinline__ explicit PutAside(const float (&e)[lane_elements]) {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            values_[i] = e[i];
        }
    }
    __device__ __forceinline__ void take_back(float (&e)[lane_elements]) const {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            e[i] = values_[i];
        }
    }

  private:
    volatile float values_[lane_elements];
};

// What `count` published states come to, whatever they are, in every lane. All of them are there.
template <class Sum>
__device__ __noinline__ RowState<float, Sum> merge_published(const std::uint64_t *words, int count) {
    const auto state_of = [&](int at) {
        SeenState<Sum> seen;
        seen.clear();
        if (at < count) {
            seen.look(words + at * published_words<Sum>);
        }
        return seen.state();
    };
    float maximum = -std::numeric_limits<float>::infinity();
#pragma unroll 1
    for (int first = 0; first < count; first += warp_lanes) {
        maximum = larger_with_nan(maximum, state_of(first + lane_index()).maximum);
    }
    maximum = warp_maximum(maximum);
    TreeCounter<FloatSum<Sum>, 4> runs; // of 32 states
    static_assert(softmax_lookback_states <= warp_lanes << 3);
#pragma unroll 1
    for (int first = 0; first < count; first += warp_lanes) {
        const RowState<float, Sum> one = state_of(first + lane_index());
        runs.push(tree_over_lanes<FloatSum<Sum>>(scale_by_power(one.sum, frame_gap(one.maximum, maximum)), warp_lanes));
    }
    return {maximum, runs.result()};
}

__device__ __noinline__ inline float small_factor_by_call(float sum, std::int32_t gap) {
    return small_factor(sum, gap);
}

// What lane 0 knows of a row, in every lane.
template <class Base>
__device__ __forceinline__ PlainRow<Base> from_first_lane(const PlainRow<Base> &row) {
    return {__shfl_sync(whole_warp, row.base, 0), __shfl_sync(whole_warp, row.n, 0)};
}
__device__ __forceinline__ LogRow<float> from_first_lane(const LogRow<float> &row) {
    const std::int32_t kind = __shfl_sync(whole_warp, static_cast<std::int32_t>(row.kind), 0);
    return {static_cast<RowKind>(kind),
            {__shfl_sync(whole_warp, row.splits.high, 0), __shfl_sync(whole_warp, row.splits.low, 0)}};
}

// Load: of vectors, or staged for rows off the boundaries.
template <class T, class Load, bool Log, class Shape>
class Lookback {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using State = RowState<float, Sum>;
    using Row = std::conditional_t<Log, LogRow<float>, PlainRow<Sum>>;
    using Turns = LookbackTurns<T, is_staged<Load>, Shape>;

  public:
    struct Shared {
        typename Turns::Shared turns;
        Mbarrier loaded[Shape::warps][Shape::ahead];
        Mbarrier taken[Shape::kept];    // all warps' states of the turn are there
        Mbarrier gathered[Shape::kept]; // the publisher has read and published them
        Mbarrier totalled[Shape::kept]; // the totals of the turn's rows are there
        State own[Shape::kept][Shape::warps];
        Row totals[Shape::kept][2]; // of the row of the block's first group, and of the next
    };

    __device__ __forceinline__ Lookback(const SoftmaxArguments &arguments, unsigned char *memory, Shared &all)
        : a(arguments), shared(all), warp(uniform_warp_index()), rows(arguments),
          turns(rows, all.turns, reinterpret_cast<unsigned *>(a.published + (a.published_words - 1)), warp) {
        slots = memory + warp * static_cast<int>(lookback_warp_bytes<T, Load, Shape>);
        deferred = reinterpret_cast<float4 *>(slots + Shape::ahead * slot_bytes);
    }

    __device__ __forceinline__ void set_up() {
        if (warp < Shape::warps && lane_index() < Shape::ahead) {
            shared.loaded[warp][lane_index()].initialise();
        }
        if (threadIdx.x < Shape::kept) {
            shared.taken[threadIdx.x].initialise(Shape::warps);
            shared.gathered[threadIdx.x].initialise(Shape::warps);
            shared.totalled[threadIdx.x].initialise();
            shared.turns.initialise(threadIdx.x);
        }
        __syncthreads();
    }

    __device__ __forceinline__ void work() {
        if (warp == Shape::publisher) {
            publish_all();
        } else if (warp == Shape::merger) {
            merge_all();
        } else {
            take_and_finish_all();
        }
    }

  private:
    static constexpr int block_elements = static_cast<int>(softmax_block), each = vector_elements<T>;
    static constexpr unsigned slot_bytes = unsigned{lookback_slot_bytes<T, Load>};

    __device__ __forceinline__ const T *input_of(const LookbackTask &task) const {
        return rows.template input<T>(task.row, task.block());
    }
    __device__ __forceinline__ std::size_t output_of(const LookbackTask &task) const {
        return task.row * static_cast<std::size_t>(static_cast<std::uint32_t>(a.axis)) +
               static_cast<std::size_t>(task.block()) * softmax_block;
    }
    __device__ __forceinline__ std::uint64_t *published(std::uint32_t row) const {
        return a.published + static_cast<std::size_t>(row) * rows.row_groups * published_words<Sum>;
    }
    __device__ __forceinline__ unsigned char *slot_of(unsigned turn) const {
        return slots + turn % Shape::ahead * slot_bytes;
    }
    // Of a slot, where the block's first element stands: as far off a boundary as in the input.
    __device__ __forceinline__ const T *logits_of(unsigned turn, const LookbackTask &task) const {
        return reinterpret_cast<const T *>(slot_of(turn) + (is_staged<Load> ? task.skew() : 0));
    }
    // Elements of its first vector that lie before a block.
    __device__ __forceinline__ static int skew_of(const LookbackTask &task) {
        return static_cast<int>(task.skew() / unsigned{sizeof(T)});
    }
    __device__ __forceinline__ DeferredTile<T, Load> deferred_of(unsigned turn) const {
        return {deferred + turn % Shape::deferred * static_cast<unsigned>(DeferredTile<T, Load>::vectors * warp_lanes)};
    }
    // The logits of this turn, the next that is to be loaded, in its slot.
    __device__ __forceinline__ void load(unsigned turn) {
        const LookbackTask task = turns.loading();
        if (task.count() == 0) {
            return;
        }
        Mbarrier &loaded = shared.loaded[warp][turn % Shape::ahead];
        if constexpr (is_staged<Load>) {
            if (!task.is_readable()) {
                load_end_of_array(a, input_of(task), task.count(), slot_of(turn));
                if (lane_index() == 0) {
                    loaded.arrive();
                }
                return;
            }
        }
        if (lane_index() == 0) {
            const unsigned bytes = task.skew() + static_cast<unsigned>(task.count()) * unsigned{sizeof(T)};
            constexpr unsigned vector = vector_bytes;
            loaded.copy(slot_of(turn), turns.load_from(turn), (bytes + vector - 1) / vector * vector);
        }
    }

    // A block whose first or last vector holds bytes that are not the caller's. All other blocks wait for its row: what
    // is not in these goes by whole vectors.
    __device__ __noinline__ static void load_end_of_array(const SoftmaxArguments &a, const T *data, int count,
                                                          unsigned char *slot) {
        copy_to_stage<T, block_elements>(a, data, count, slot);
        wait_for_copies();
    }
    // What is rarely read at all.
    __device__ __noinline__ static void copy_singly(T *to, const T *data, int count) {
#pragma unroll 8
        for (int i = lane_index(); i < count; i += warp_lanes) {
            to[i] = data[i];
        }
        __syncwarp();
    }

    __device__ __forceinline__ void take_and_finish_all() {
#pragma unroll
        for (unsigned turn = 0; turn < Shape::ahead; ++turn) {
            turns.look_at_next(turn);
            load(turn);
            turns.go_on();
        }
        float e[lane_elements];
#pragma unroll 1
        for (unsigned turn = 0; turns.goes_on(turn); ++turn) {
            const bool takes = turns.takes();
            if (takes) {
                take(turn, e);
            } else {
                forget(e);
            }
            turns.go_on();
            if (turn >= Shape::deferred) {
                finish(turn - Shape::deferred, e);
            }
            if (takes) {
                deferred_of(turn).put(e);
            }
        }
    }

    // What waits of the warp's block, and what it comes to.
    __device__ __forceinline__ void take(unsigned turn, float (&kept)[lane_elements]) {
        turns.look_at_next(turn + Shape::ahead);
        const LookbackTask task = turns.taking();
        State own = StateMerge<float, Sum>::identity();
        if (task.count() != 0) {
            const unsigned slot = turn % Shape::ahead;
            shared.loaded[warp][slot].wait(loads_seen >> slot & 1u);
            loads_seen ^= 1u << slot;
            own = take_block(turn, logits_of(turn, task), task.count(), kept);
        } else {
            forget(kept);
        }
        if (task.count() == 0 || is_special(own.maximum)) {
            order_with_copies();
            load(turn + Shape::ahead);
        }
        if (lane_index() == 0) {
            shared.own[Shape::kept_at(turn)][warp] = own;
            shared.taken[Shape::kept_at(turn)].arrive();
        }
    }

    // The same of a block, after which the next one's logits are on their way, but where it is special: then no
    // exponentials are formed, and the logits are read again.
    __device__ __forceinline__ State take_block(unsigned turn, const T *logits, int count,
                                                float (&kept)[lane_elements]) {
        State own;
        const TileLogits<T, Load> x(a, logits, count);
        const auto note = [&](float maximum, std::int32_t, std::int32_t) {
            __syncwarp(); // all lanes have their logits
            own.maximum = maximum;
            if (!is_special(maximum)) {
                load(turn + Shape::ahead);
            } else if constexpr (!Log) {
                forget(kept);
            }
        };
        if constexpr (Log) {
            float e[lane_elements];
            own.sum = tile_sum<T, Load, float, Sum>(a, logits, count, x, e, note);
            if (is_special(own.maximum)) {
                keep(TileLogits<T, Load>(a, logits, count), kept);
            } else {
                keep(x, kept);
            }
        } else {
            own.sum = tile_sum<T, Load, float, Sum, ZeroExponent::without_row_values>(a, logits, count, x, kept, note);
        }
        return own;
    }

    __device__ __forceinline__ static void keep(const TileLogits<T, Load> &x, float (&kept)[lane_elements]) {
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            kept[i] = x[i];
        }
    }

    // What each group of the block comes to, to all blocks. Each lane that reads a state says so itself: racecheck does
    // not see that lanes of a warp have met.
    __device__ __forceinline__ void publish_all() {
        turns.draw_first();
#pragma unroll 1
        for (unsigned turn = 0; turns.has_another(turn); ++turn) {
            const unsigned at = Shape::kept_at(turn);
            State own = StateMerge<float, Sum>::identity();
            shared.taken[at].wait(Shape::parity_of(turn));
            if (lane_index() < Shape::warps) {
                own = shared.own[at][lane_index()];
            }
            __syncwarp();
            float maximum = larger_with_nan(own.maximum, own.maximum);
            over_group([&](int distance) { maximum = larger_with_nan(maximum, from_lane_xor(maximum, distance)); });
            Sum sum = scale_by_power(own.sum, frame_gap(own.maximum, maximum));
            over_group([&](int distance) { sum = sum + from_lane_xor(sum, distance); });
            const std::uint32_t group = turns.first_group() + rows.group_of(lane_index());
            const bool begins_group = lane_index() % rows.group_tiles() == 0;
            if (lane_index() < Shape::warps && begins_group && group < rows.groups) {
                publish(a.published + static_cast<std::size_t>(group) * published_words<Sum>, State{maximum, sum});
            }
            if (lane_index() < Shape::warps) {
                shared.gathered[at].arrive();
            }
            __syncwarp();
            turns.draw_behind(turn);
        }
    }

    // The distances at which lanes of a group exchange, one after the other: unrolled, as a loop up to a number that is
    // known at run time is not.
    template <class Exchange>
    __device__ __forceinline__ void over_group(Exchange exchange) const {
#pragma unroll
        for (int distance = 1; distance < static_cast<int>(softmax_lookback_largest_group); distance *= 2) {
            if (distance < rows.group_tiles()) {
                exchange(distance);
            }
        }
    }

    // What a row comes to, once all of its states are there: Each of them for each lane. Its logsumexp and maximum
    // are written by the block that begins it.
    template <int Each>
    __device__ __forceinline__ Row total_of(std::uint32_t row, bool begins) const {
        const std::uint64_t *words = published(row);
        const unsigned first = static_cast<unsigned>(lane_index()) * Each;
        SeenState<Sum> seen[Each];
        for (;;) {
            bool all = true;
#pragma unroll
            for (unsigned i = 0; i < Each; ++i) {
                seen[i].clear();
                if (first + i < rows.row_groups) {
                    seen[i].look(words + (first + i) * published_words<Sum>);
                }
            }
#pragma unroll
            for (unsigned i = 0; i < Each; ++i) {
                all = all && seen[i].is_there();
            }
            if (__all_sync(whole_warp, all) != 0) {
                break;
            }
            rest_before_looking_again();
        }
        std::int32_t largest = absent_n;
#pragma unroll
        for (const SeenState<Sum> &one : seen) {
            largest = larger(largest, state_n(one.state().maximum));
        }
        const std::int32_t row_n = __reduce_max_sync(whole_warp, largest);
        Sum sums[Each];
#pragma unroll
        for (int i = 0; i < Each; ++i) {
            const State one = seen[i].state();
            sums[i] = scale_by_power(one.sum, state_n(one.maximum) - row_n);
        }
        const Sum sum = tree_over_lanes<FloatSum<Sum>>(run_sum<Each, Sum>(sums), warp_lanes);
        if (Log || wants_row_values(a)) {
            State total{largest_of(seen), sum};
            if (row_n == special_n || row_n == low_n) {
                total = merge_published<Sum>(words, static_cast<int>(rows.row_groups));
            }
            if (wants_row_values(a) && begins && lane_index() == 0) {
                store_row_values(a, total, row);
            }
            if constexpr (Log) {
                return log_row(total);
            }
        }
        if constexpr (!Log) {
            return {factor_base(sum, float()), row_n};
        }
    }

    template <int Each>
    __device__ __forceinline__ static float largest_of(const SeenState<Sum> (&seen)[Each]) {
        float maximum = -std::numeric_limits<float>::infinity();
#pragma unroll
        for (const SeenState<Sum> &one : seen) {
            maximum = larger_with_nan(maximum, one.state().maximum);
        }
        return warp_maximum(maximum);
    }

    // The totals of the rows that the block has groups of: two at most, for no row has fewer groups than a turn.
    __device__ __forceinline__ void merge_all() {
        std::uint32_t known_row = ~std::uint32_t{0};
        Row known{};
#pragma unroll 1
        for (unsigned turn = 0; turns.has_another(turn); ++turn) {
            const unsigned at = Shape::kept_at(turn);
            shared.gathered[at].wait(Shape::parity_of(turn)); // by then all warps have read the totals kept here before
            const std::uint32_t first = turns.first_group(), first_row = first / rows.row_groups;
            const std::uint32_t behind = (first + rows.groups_of_turn<Shape>() - 1) / rows.row_groups + 1;
#pragma unroll 1
            for (std::uint32_t row = first_row; row < smaller(behind, rows.count()); ++row) {
                if (row != known_row) {
                    constexpr int most_a_lane = static_cast<int>(softmax_lookback_states) / warp_lanes;
                    const bool begins = row * rows.row_groups >= first;
                    known_row = row;
                    known =
                        rows.row_groups <= warp_lanes ? total_of<1>(row, begins) : total_of<most_a_lane>(row, begins);
                }
                if (lane_index() == 0) {
                    shared.totals[at][row - first_row] = known;
                }
            }
            if (lane_index() == 0) {
                shared.totalled[at].arrive();
            }
        }
    }

    // What the row of a task comes to, the block's first row where no group before the warp's begins another. Read by
    // the one lane that says later that it has been.
    __device__ __forceinline__ Row total_in(unsigned turn, const LookbackTask &task) const {
        const unsigned at = Shape::kept_at(turn);
        shared.totalled[at].wait(Shape::parity_of(turn));
        Row total{};
        if (lane_index() == 0) {
            total = shared.totals[at][task.block() >= warp ? 0 : 1];
        }
        return from_first_lane(total);
    }

    // Writes the outputs of a turn whose exponentials or logits are deferred. Those of a later turn are in `next`: they
    // stay in registers wherever nothing is called.
    __device__ __forceinline__ void finish(unsigned turn, float (&next)[lane_elements]) {
        const LookbackTask task = turns.finishing();
        const Row row = total_in(turn, task);
        if (task.count() == 0) {
            return;
        }
        if constexpr (Log) {
            if (row.kind == RowKind::ordinary) {
                deferred_of(turn).store(static_cast<T *>(a.output) + output_of(task), task.count(), row.splits,
                                        skew_of(task));
            } else {
                const PutAside aside(next);
                store_special<float>(a, output_of(task), task.count(), row.kind);
                aside.take_back(next);
            }
        } else {
            const float maximum = shared.own[Shape::kept_at(turn)][warp].maximum;
            BlockFactor<float> factor{0, 0};
            if (!has_near_factor<T>(state_n(maximum), row, factor) &&
                !has_far_factor(turn, maximum, row, factor, next)) {
                const PutAside aside(next);
                finish_special_softmax<T, Load>(
                    a, logits_again(turn, task), output_of(task), task.count(), maximum,
                    merge_published<Sum>(published(task.row), static_cast<int>(rows.row_groups)));
                aside.take_back(next);
                return;
            }
            deferred_of(turn).store(static_cast<T *>(a.output) + output_of(task), task.count(), factor, skew_of(task));
        }
    }

    // Whether a turn's exponentials, put into their own frame where that is needed, have only to be multiplied, and by
    // what.
    __device__ __forceinline__ bool has_far_factor(unsigned turn, float maximum, const Row &row,
                                                   BlockFactor<float> &factor, float (&next)[lane_elements]) {
        std::int32_t n = state_n(maximum);
        if (!row.plain()) {
            return false;
        }
        if (!reaches_row<T>(n, row, deferred_of(turn).one())) {
            const PutAside aside(next);
            n = DeferredTile<T, Load>::put_into_own_frame(deferred_of(turn));
            aside.take_back(next);
        }
        if (n == special_n) {
            return false;
        }
        factor = factor_beside(next, row, n - row.n);
        return true;
    }

    // The factor of a block in its row. Small ones are behind a call, around which exponentials are put aside.
    __device__ __forceinline__ static BlockFactor<float> factor_beside(float (&next)[lane_elements],
                                                                       const PlainRow<Sum> &row, std::int32_t gap) {
        if constexpr (divides_in_f64<T>) {
            return factor_of(row.base, gap, float());
        } else {
            const float inverse = inverse_of_sum(row);
            float factor = inverse * power_of_two_f32(gap);
            if (!is_plain_factor(inverse, gap)) {
                const PutAside aside(next);
                factor = small_factor_by_call(row.base, gap);
                aside.take_back(next);
            }
            return {factor, 0.0f};
        }
    }

    // Off the boundaries they take the place of the exponentials, of which there are none or which nobody needs.
    __device__ __forceinline__ const T *logits_again(unsigned turn, const LookbackTask &task) const {
        if constexpr (!is_staged<Load>) {
            return input_of(task);
        }
        T *const here = reinterpret_cast<T *>(deferred_of(turn).memory);
        copy_singly(here, input_of(task), task.count());
        return here;
    }

    const SoftmaxArguments &a;
    Shared &shared;
    int warp;
    unsigned char *slots;
    float4 *deferred;
    LookbackRows rows;
    Turns turns;
    unsigned loads_seen = 0; // a bit for each slot: the parity of its next load
};

// A block for each multiprocessor, all of which run at the same time.
template <class T, class Load, bool Log, class Shape>
__global__ void __launch_bounds__(Shape::all_warps *warp_lanes, 1)
    softmax_lookback_rows(const __grid_constant__ SoftmaxArguments a) {
#if __CUDA_ARCH__ >= 900
    extern __shared__ __align__(128) unsigned char aligned_memory[];
    using Rows = Lookback<T, Load, Log, Shape>;
    __shared__ typename Rows::Shared shared;
    Rows rows(a, aligned_memory, shared);
    rows.set_up();
    rows.work();
#endif
}

} // namespace wr::cuda
