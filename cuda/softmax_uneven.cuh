// Softmax of rows of many lengths: ragged rows, and rows cut off by lengths or the causal limit. A block of threads has
// a group of rows. Their base blocks are dealt out to its warps one after the other, so that every warp has the same
// share whatever the rows' lengths; the warps that hold a row's blocks wait for each other alone. Rows of more base
// blocks than there are warps are read twice, by all of them.
#pragma once

#include "cuda/kernel_address.cuh"
#include "cuda/softmax_realigned.cuh"
#include "cuda/softmax_short_vectors.cuh"
#include "cuda/softmax_uneven.h"
#include "numerics/softmax_rows.h"

namespace wr::cuda {

// Vectors on their boundaries for blocks that lie at any address. What stands behind a block's end is anything at all.
template <class T>
struct RealignedPlaces : VectorPlaces<T> {
    static constexpr bool realigned = true;
};

// A barrier in shared memory that is used once: complete when `count` warps have arrived.
class RowBarrier {
  public:
    __device__ __forceinline__ void initialise(int count) {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(address()), "r"(count) : "memory");
#endif
    }
    __device__ __forceinline__ void arrive() {
#if __CUDA_ARCH__ >= 900
        asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address()) : "memory");
#endif
    }
    __device__ __forceinline__ void wait() {
#if __CUDA_ARCH__ >= 900
        unsigned done = 0;
        while (done == 0) {
            asm volatile("{\n"
                         ".reg .pred complete;\n"
                         "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], 0;\n"
                         "selp.u32 %0, 1, 0, complete;\n"
                         "}"
                         : "=r"(done)
                         : "r"(address())
                         : "memory");
        }
#endif
    }

  private:
    __device__ __forceinline__ unsigned address() const {
        return static_cast<unsigned>(__cvta_generic_to_shared(&bits_));
    }
    std::uint64_t bits_;
};

struct UnevenRow {
    std::ptrdiff_t input; // its first element
    std::size_t output;
    std::size_t count, taken; // elements, and how many leading ones take part
    int blocks;               // of those
    int first_job;            // what its first block has for a number; below 0 where that is not dealt out now
};

// What is dealt out: rows that stay in registers, the states of a long row's blocks, or its outputs.
enum class UnevenPass : int { rows, states, outputs };

template <class Float, class Sum>
struct UnevenGroup {
    BlockState<Float, Sum> states[uneven_most_jobs];
    RowBarrier arrivals[uneven_most_rows];
    UnevenRow rows[uneven_most_rows];
    int end[uneven_most_rows]; // jobs of the rows up to this one
    Hull hull;
    UnevenPass pass;
    int jobs;
    unsigned long_rows; // one bit each, of which the lowest is dealt out now where the pass is not `rows`
    RowState<Float, Sum> total;
    TreeCounter<StateMerge<Float, Sum>, 40> merged; // of a long row's runs of uneven_most_jobs blocks
};

template <class T>
using UnevenGroupOf = UnevenGroup<typename SoftmaxArithmetic<T>::Float, typename SoftmaxArithmetic<T>::Sum>;

template <class T>
__device__ __forceinline__ UnevenGroupOf<T> &uneven_group() {
    __shared__ alignas(16) unsigned char bytes[sizeof(UnevenGroupOf<T>)];
    return *reinterpret_cast<UnevenGroupOf<T> *>(bytes);
}

template <class T, class Places>
    requires Places::realigned
__device__ __forceinline__ void load_block_vectors(const SoftmaxArguments &, const T *data, int count,
                                                   uint4 (&vectors)[lane_vectors<T>]) {
    load_realigned(data, count, uneven_group<T>().hull, vectors);
}

// What is the same in all lanes, known to be so: branches by it need no code for lanes that part.
__device__ __forceinline__ int same_in_warp(int value) { return __reduce_max_sync(whole_warp, value); }

__device__ __forceinline__ int block_warps() { return static_cast<int>(blockDim.x) / warp_lanes; }

__device__ __forceinline__ UnevenRow uneven_row(const UnevenSoftmaxArguments &a, std::size_t row) {
    UnevenRow found{};
    if (a.selection.ragged) {
        const RowSpan span = ragged_row(a.selection, a.outer, a.axis, row);
        found.input = static_cast<std::ptrdiff_t>(span.first);
        found.output = span.first;
        found.count = span.count;
    } else {
        found.input = static_cast<std::ptrdiff_t>(row) * a.outer_stride;
        found.output = row * a.axis;
        found.count = a.axis;
    }
    found.taken = leading_elements(a.selection, row, row, found.count);
    found.blocks = static_cast<int>(divide_up(found.taken, softmax_block));
    return found;
}

template <class T>
__device__ __forceinline__ Hull uneven_hull(const UnevenSoftmaxArguments &a) {
    if (!a.selection.ragged) {
        return {a.hull_begin, a.hull_end};
    }
    const RowSpan last = ragged_row(a.selection, a.outer, a.axis, a.outer - 1);
    const T *input = static_cast<const T *>(a.input);
    return {reinterpret_cast<const char *>(input + ragged_row(a.selection, a.outer, a.axis, 0).first),
            reinterpret_cast<const char *>(input + last.first + last.count)};
}

// By the first warp: a row to each lane.
template <class T>
__device__ __forceinline__ void deal_out_rows(const UnevenSoftmaxArguments &a, UnevenGroupOf<T> &group) {
    const int lane = lane_index();
    const std::size_t row = blockIdx.x * static_cast<std::size_t>(a.group_rows) + static_cast<std::size_t>(lane);
    const bool there = lane < a.group_rows && row < a.outer;
    UnevenRow mine = there ? uneven_row(a, row) : UnevenRow{};
    const bool is_long = mine.blocks > block_warps();
    const int jobs = is_long ? 0 : mine.blocks;
    int end = jobs;
#pragma unroll
    for (int distance = 1; distance < warp_lanes; distance *= 2) {
        const int before = __shfl_up_sync(whole_warp, end, distance);
        end += lane >= distance ? before : 0;
    }
    mine.first_job = end - jobs;
    group.rows[lane] = mine;
    group.end[lane] = end;
    if (jobs > 1) {
        group.arrivals[lane].initialise(jobs);
    }
    const unsigned long_rows = __ballot_sync(whole_warp, is_long);
    if (lane == warp_lanes - 1) {
        group.hull = uneven_hull<T>(a);
        group.pass = UnevenPass::rows;
        group.jobs = end;
        group.long_rows = long_rows;
    }
}

// A warp's base block, found again wherever it is wanted again.
struct UnevenPlace {
    const UnevenRow *row;
    int number; // of the row in its group
    int block;  // of the row

    template <class Group>
    __device__ __forceinline__ UnevenPlace(const Group &group, int job)
        : number(__popc(__ballot_sync(whole_warp, group.end[lane_index()] <= job))) {
        row = &group.rows[number];
        block = job - row->first_job;
    }

    __device__ __forceinline__ std::size_t first() const { return static_cast<std::size_t>(block) * softmax_block; }
    // Of the row's first `elements`, how many are the block's.
    __device__ __forceinline__ int count(std::size_t elements) const {
        return static_cast<int>(smaller(elements - first(), softmax_block));
    }
    template <class T>
    __device__ __forceinline__ const T *data(const SoftmaxArguments &a) const {
        return static_cast<const T *>(a.input) + row->input + first();
    }
};

// Writes `count` elements of one value.
template <class T, class Float>
__device__ __forceinline__ void fill_outputs(T *output, std::size_t count, Float value) {
    const T element = narrow_one(value, T());
    constexpr int elements = vector_elements<T>;
    const T *const end = output + count;
    if ((reinterpret_cast<std::uintptr_t>(output) | reinterpret_cast<std::uintptr_t>(end)) % vector_bytes == 0) {
        T copies[elements];
#pragma unroll
        for (T &copy : copies) {
            copy = element;
        }
        uint4 vector;
        memcpy(&vector, copies, sizeof(vector));
#pragma unroll 1
        for (T *at = output + lane_index() * elements; at < end; at += warp_lanes * elements) {
            store_vector(at, vector);
        }
    } else {
#pragma unroll 1
        for (T *at = output + lane_index(); at < end; at += warp_lanes) {
            *at = element;
        }
    }
}

// The base blocks of a row of which nothing takes part, this warp's share of them.
template <class T, class Float>
__device__ __forceinline__ void fill_behind(const UnevenSoftmaxArguments &a, const UnevenPlace &place, Float value) {
    T *output = static_cast<T *>(a.output) + place.row->output;
    for (std::size_t first = place.first() + static_cast<std::size_t>(place.row->blocks) * softmax_block;
         first < place.row->count; first += static_cast<std::size_t>(place.row->blocks) * softmax_block) {
        fill_outputs(output + first, smaller(place.row->count - first, softmax_block), value);
    }
}

template <class Float, class Sum>
__device__ __noinline__ void store_uneven_values(const UnevenSoftmaxArguments &a, std::size_t row,
                                                 RowState<Float, Sum> total) {
    if (lane_index() == 0 && a.logsumexp != nullptr) {
        store_row_logsumexp(total, a.logsumexp, row);
    }
    if (lane_index() == 0 && a.maximum != nullptr) {
        store_maximum(total.maximum, a.maximum, row);
    }
}

// Rows of which nothing takes part.
template <class T>
__device__ __noinline__ void finish_empty_rows(const UnevenSoftmaxArguments &a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    const UnevenGroupOf<T> &group = uneven_group<T>();
    const Float value = special_output<Float>(RowKind::empty, a.log, a.empty_row_zero);
    for (int number = warp_index(); number < a.group_rows; number += block_warps()) {
        const UnevenRow &row = group.rows[number];
        const std::size_t index = blockIdx.x * static_cast<std::size_t>(a.group_rows) + static_cast<unsigned>(number);
        if (row.blocks != 0 || index >= a.outer) {
            continue;
        }
        for (std::size_t at = static_cast<std::size_t>(lane_index()); at < row.count; at += warp_lanes) {
            store_any(value, a.output_type, a.output, row.output + at);
        }
        store_uneven_values(a, index, StateMerge<Float, Sum>::identity());
    }
}

// The total of the row, of which the lanes take a block's state each, or which has been merged.
template <class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> uneven_total(const UnevenGroup<Float, Sum> &group, int job) {
    const UnevenPlace place(group, job);
    if (group.pass == UnevenPass::outputs) {
        return group.total;
    }
    RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
    if (lane_index() < place.row->blocks) {
        const BlockState<Float, Sum> &own = group.states[place.row->first_job + lane_index()];
        mine = {own.maximum, own.sum};
    }
    return place.row->blocks == 1 ? RowState<Float, Sum>{group.states[job].maximum, group.states[job].sum}
                                  : merge_any_lanes(mine);
}

// The same as a plain row's blocks see it.
template <class Float, class Sum>
__device__ __forceinline__ RowView<Sum> uneven_view(const UnevenGroup<Float, Sum> &group, int job) {
    if (same_in_warp(static_cast<int>(group.pass)) == static_cast<int>(UnevenPass::outputs)) {
        return {group.total.sum, state_n(group.total.maximum)};
    }
    const UnevenPlace place(group, job);
    if (same_in_warp(place.row->blocks) == 1) {
        return {group.states[job].sum, group.states[job].n};
    }
    std::int32_t n = absent_n;
    Sum sum = Sum(0);
    if (lane_index() < place.row->blocks) {
        const BlockState<Float, Sum> &own = group.states[place.row->first_job + lane_index()];
        n = own.n;
        sum = own.sum;
    }
    const std::int32_t row_n = __reduce_max_sync(whole_warp, n);
    return {tree_over_lanes<FloatSum<Sum>>(scale_by_power(sum, n - row_n), warp_lanes), row_n};
}

// The outputs of a block whose maximum, or whose row's, is unusual.
template <class T>
__device__ __noinline__ void finish_unusual_uneven(const UnevenSoftmaxArguments &a, int job) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Places = SinglePlaces<T>;
    const UnevenGroupOf<T> &group = uneven_group<T>();
    const auto total = uneven_total(group, job);
    const UnevenPlace place(group, job);
    const RowKind kind = row_kind(total.maximum);
    const Float left_out = left_out_output<Float>(kind, a.log, a.empty_row_zero);
    const std::size_t first = place.row->output + place.first();
    const int taken = place.count(place.row->taken);
    if (kind == RowKind::ordinary) {
        const Float maximum = group.states[job % uneven_most_jobs].maximum;
        BlockAgain<T, Places> block(a, place.data<T>(a), taken, maximum);
        finish_softmax<T, Places>(a, block_factor(maximum, total.maximum, total.sum), first, taken, block.e);
    } else {
        store_special<Float>(a, first, taken, kind);
    }
    const std::size_t step = static_cast<std::size_t>(place.row->blocks) * softmax_block;
    for (int at = taken + lane_index(); at < place.count(place.row->count); at += warp_lanes) {
        store_any(left_out, a.output_type, a.output, first + static_cast<std::size_t>(at));
    }
    for (std::size_t begin = place.first() + step; begin < place.row->count; begin += step) {
        const std::size_t end = smaller(begin + softmax_block, place.row->count);
        for (std::size_t at = begin + static_cast<std::size_t>(lane_index()); at < end; at += warp_lanes) {
            store_any(left_out, a.output_type, a.output, place.row->output + at);
        }
    }
}

// A lane's logits of a block, vector by vector: putting others in the place of what stands behind the block's end, and
// the extremes. The lower one says nothing about NaN.
struct WideParts {
    using Block = BlockLogits<float, RealignedPlaces<float>>;
    using Filling = float;
    using Extreme = float;
    static constexpr int elements = vector_elements<float>;

    __device__ __forceinline__ static float first(const Block &x) { return __shfl_sync(whole_warp, x.x[0], 0); }
    __device__ __forceinline__ static void fill(Block &x, int v, int left, float value) {
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            x.x[v * elements + i] = i < left ? x.x[v * elements + i] : value;
        }
    }
    __device__ __forceinline__ static void take(const Block &x, int v, float &least, float &largest) {
#pragma unroll
        for (int i = 0; i < elements; ++i) {
            largest = v + i == 0 ? x.x[0] : larger_with_nan(largest, x.x[v * elements + i]);
            least = v + i == 0 ? x.x[0] : fminf(least, x.x[v * elements + i]);
        }
    }
    __device__ __forceinline__ static void settle(const Block &, bool, float least, float largest, float &lowest,
                                                  float &highest) {
        lowest = least;
        highest = largest;
    }
};
template <class Half>
struct PackedParts {
    using Block = BlockLogits<Half, RealignedPlaces<Half>>;
    using Filling = unsigned; // a pair
    using Extreme = unsigned;
    static constexpr int words = vector_elements<Half> / 2;

    __device__ __forceinline__ static unsigned first(const Block &x) {
        return __byte_perm(__shfl_sync(whole_warp, x.pairs[0], 0), 0, 0x1010);
    }
    __device__ __forceinline__ static void fill(Block &x, int v, int left, unsigned value) {
#pragma unroll
        for (int i = 0; i < words; ++i) {
            const unsigned kept = left > 2 * i + 1 ? 0xFFFFFFFFu : left > 2 * i ? 0xFFFFu : 0u;
            unsigned &pair = x.pairs[v * words + i];
            pair = (pair & kept) | (value & ~kept);
        }
    }
    __device__ __forceinline__ static void take(const Block &x, int v, unsigned &least, unsigned &largest) {
#pragma unroll
        for (int i = 0; i < words; ++i) {
            largest = v + i == 0 ? x.pairs[0] : larger_pair(largest, x.pairs[v * words + i], Half());
            least = v + i == 0 ? x.pairs[0] : smaller_pair(least, x.pairs[v * words + i], Half());
        }
    }
    __device__ __forceinline__ static void settle(const Block &x, bool scaled, unsigned least, unsigned largest,
                                                  float &lowest, float &highest) {
        highest = larger_with_nan(Block::half_of(largest, 0), Block::half_of(largest, 1));
        lowest = fminf(Block::half_of(least, 0), Block::half_of(least, 1));
        if (scaled) {
            const float one = highest * x.scale, other = lowest * x.scale;
            highest = larger_with_nan(one, other);
            lowest = fminf(one, other);
        }
    }
};
template <class T>
using PartsOf = std::conditional_t<sizeof(T) == 2, PackedParts<T>, WideParts>;

// Vector v's exponentials and their tree; 0 behind the end of `count` elements.
template <class T, bool Normal, class Sum, class Exponential>
__device__ __forceinline__ Sum vector_of_exponentials(int v, int count, float (&e)[lane_elements],
                                                      Exponential exponential) {
    constexpr int elements = vector_elements<T>;
#pragma unroll
    for (int i = v * elements; i < (v + 1) * elements; ++i) {
        e[i] = exponential(i);
    }
    if ((v + 1) * warp_lanes * elements <= count) {
        return run_sum<elements, Sum, Normal>(e + v * elements);
    }
    const int left = count - (v * warp_lanes + lane_index()) * elements;
#pragma unroll
    for (int i = 0; i < elements; ++i) {
        e[v * elements + i] = i < left ? e[v * elements + i] : 0.0f;
    }
    return run_sum<elements, Sum>(e + v * elements);
}

// The natural tree over the exponentials of `count` elements. Vectors behind them are not looked at; their exponentials
// are 0 already.
template <class T, bool Normal, class Sum, class Exponential>
__device__ __forceinline__ Sum partial_sum_of_exponentials(int count, float (&e)[lane_elements],
                                                           Exponential exponential) {
    constexpr int half = lane_vectors<T> / 2, distance = warp_lanes * vector_elements<T>;
    Sum sums[half];
#pragma unroll
    for (int v = 0; v < half; ++v) {
        Sum low = Sum(0), high = Sum(0);
        if (v * distance < count) {
            low = vector_of_exponentials<T, Normal, Sum>(v, count, e, exponential);
        }
        if ((v + half) * distance < count) {
            high = vector_of_exponentials<T, Normal, Sum>(v + half, count, e, exponential);
        }
        sums[v] = exchange_pair<FloatSum<Sum>, 0>(low, high);
    }
    return warp_tree<FloatSum<Sum>, 1>(sums);
}

// The exponentials of a block of `count` elements, and its state at `state`. Where n is unusual_n there are none.
template <class T, class Sum>
__device__ __forceinline__ void uneven_block_state(const UnevenSoftmaxArguments &a, const T *data, int count,
                                                   typename PartsOf<T>::Block &x, float (&e)[lane_elements],
                                                   BlockState<float, Sum> *state) {
    using C = ExponentialConstants<float>;
    using Parts = PartsOf<T>;
    constexpr int distance = warp_lanes * vector_elements<T>;
    typename Parts::Extreme least, largest;
    const typename Parts::Filling value = Parts::first(x);
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        if (v == 0 || v * distance < count) {
            if ((v + 1) * distance > count) {
                Parts::fill(x, v, count - v * distance - lane_index() * vector_elements<T>, value);
            }
            Parts::take(x, v, least, largest);
        }
    }
    float lowest, maximum;
    Parts::settle(x, a.scaled, least, largest, lowest, maximum);
    maximum = warp_maximum(maximum);
    const bool absent = maximum == -std::numeric_limits<float>::infinity();
    const bool unusual = !is_ordinary(maximum) && !absent;
    const std::int32_t nearest = nearest_exponent(maximum);
    if (lane_index() == 0) {
        state->maximum = maximum;
        state->n = unusual ? unusual_n : absent ? absent_n : nearest;
    }
    Sum sum;
    if (unusual) {
        sum = unusual_block_sum<T, SinglePlaces<T>, float, Sum>(a, data, count, maximum);
    } else {
        const float bound = absent ? std::numeric_limits<float>::infinity() : maximum - C::reach;
        const float magic_less_n = C::magic - static_cast<float>(nearest);
        if (!(sizeof(T) == 2 && a.scaled) && __all_sync(whole_warp, lowest > bound) != 0) {
            sum = partial_sum_of_exponentials<T, true, Sum>(
                count, e, [&](int i) { return scaled_exponential(x.plain_value(i), magic_less_n); });
        } else {
            sum = partial_sum_of_exponentials<T, false, Sum>(count, e, [&](int i) {
                const float logit = x[i];
                const float result = scaled_exponential(logit, magic_less_n);
                return logit > bound ? result : 0.0f;
            });
        }
    }
    if (lane_index() == 0) {
        state->sum = sum;
    }
}

template <class T>
__device__ __forceinline__ void store_uneven_block(const UnevenSoftmaxArguments &a, const UnevenGroupOf<T> &group,
                                                   int job, const float (&y)[lane_elements]) {
    uint4 vectors[lane_vectors<T>];
#pragma unroll
    for (int v = 0; v < lane_vectors<T>; ++v) {
        vectors[v] = pack(y + v * vector_elements<T>, T());
    }
    const UnevenPlace to(group, job);
    store_realigned(static_cast<T *>(a.output) + to.row->output + to.first(), to.count(to.row->count), vectors);
}

// One base block, from the row's memory to its outputs, or to its state.
template <class T, bool Log>
__device__ __forceinline__ void do_uneven_job(const UnevenSoftmaxArguments &a, UnevenGroupOf<T> &group, int job) {
    using Places = RealignedPlaces<T>;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    BlockState<float, Sum> *const state = &group.states[job % uneven_most_jobs];
    const UnevenPlace from(group, job);
    const int taken = same_in_warp(from.count(from.row->taken));
    typename PartsOf<T>::Block x(a, from.data<T>(a), taken);
    const UnevenPass pass = static_cast<UnevenPass>(same_in_warp(static_cast<int>(group.pass)));
    const bool outputs = pass != UnevenPass::states;
    if (outputs && same_in_warp(from.row->taken < from.row->count ? 1 : 0) != 0) {
        fill_behind<T>(a, from, left_out_output<float>(RowKind::ordinary, a.log, a.empty_row_zero));
    }
    float e[lane_elements] = {}; // where none are formed, a value that the loop over jobs need not carry
    uneven_block_state<T>(a, from.data<T>(a), taken, x, e, state);
    __syncwarp();
    if (!outputs) {
        return;
    }
    if (pass == UnevenPass::rows) {
        const UnevenPlace own(group, job);
        if (same_in_warp(own.row->blocks) > 1) {
            if (lane_index() == 0) {
                group.arrivals[own.number].arrive();
            }
            group.arrivals[own.number].wait();
        }
    }
    bool finished = false;
    if constexpr (Log) {
        const LogRow<float> row = log_row(uneven_total(group, job));
        if (row.kind == RowKind::ordinary) {
            float y[lane_elements];
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                y[i] = log_softmax_output(x[i], row.pieces);
            }
            const UnevenPlace to(group, job);
            if (same_in_warp(to.row->taken < to.row->count ? 1 : 0) != 0) { // what takes no part is in the block, too
#pragma unroll
                for (int i = 0; i < lane_elements; ++i) {
                    const int at = (i / Places::run * warp_lanes + lane_index()) * Places::run + i % Places::run;
                    y[i] = at < to.count(to.row->taken) ? y[i] : -std::numeric_limits<float>::infinity();
                }
            }
            store_uneven_block<T>(a, group, job, y);
            finished = true;
        }
    } else {
        const RowView<Sum> view = uneven_view(group, job);
        const std::int32_t n = state->n;
        if (n != unusual_n && view.plain() && has_plain_factor<T, Places>(a, n - view.n)) {
            const BlockFactor<float> factor = plain_factor(view.sum, n - view.n, float());
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                e[i] = sizeof(T) >= sizeof(float) ? softmax_output(e[i], factor) : softmax_narrow_output(e[i], factor);
            }
            store_uneven_block<T>(a, group, job, e);
            finished = true;
        }
    }
    if (!finished) {
        finish_unusual_uneven<T>(a, job);
    }
    const UnevenPlace to(group, job);
    if (to.block == 0 && group.pass == UnevenPass::rows && (a.logsumexp != nullptr || a.maximum != nullptr)) {
        const std::size_t row = blockIdx.x * static_cast<std::size_t>(a.group_rows) + static_cast<unsigned>(to.number);
        store_uneven_values(a, row, uneven_total(group, job));
    }
}

// By the first warp: the states of some neighbouring blocks of a long row join its total.
template <class Float, class Sum>
__device__ __forceinline__ void merge_run_of_states(UnevenGroup<Float, Sum> &group) {
    TreeCounter<StateMerge<Float, Sum>, 4> runs; // of 32 states
    for (int first = 0; first < group.jobs; first += warp_lanes) {
        RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
        if (first + lane_index() < group.jobs) {
            const BlockState<Float, Sum> &own = group.states[first + lane_index()];
            mine = {own.maximum, own.sum};
        }
        runs.push(merge_any_lanes(mine));
    }
    if (lane_index() == 0) {
        group.merged.push(runs.result());
    }
}

// By the first warp: what is dealt out next. False where there is nothing more.
template <class Float, class Sum>
__device__ __noinline__ void deal_out_long_row(const UnevenSoftmaxArguments &a, UnevenGroup<Float, Sum> &group) {
    int number = __ffs(static_cast<int>(group.long_rows)) - 1, begin = 0;
    UnevenPass pass = UnevenPass::states;
    if (group.pass == UnevenPass::states) {
        merge_run_of_states(group);
        begin = group.jobs - group.rows[number].first_job;
        if (begin == group.rows[number].blocks) {
            pass = UnevenPass::outputs;
            begin = 0;
        }
    } else if (group.pass == UnevenPass::outputs) {
        number = __ffs(static_cast<int>(group.long_rows & (group.long_rows - 1))) - 1;
    }
    __syncwarp();
    if (lane_index() == 0) {
        if (group.pass == UnevenPass::outputs) {
            group.long_rows &= group.long_rows - 1;
        }
        if (pass == UnevenPass::states && begin == 0) {
            group.merged = {};
        }
        if (number >= 0) {
            const int left = group.rows[number].blocks - begin;
            group.jobs = pass == UnevenPass::states ? smaller(left, uneven_most_jobs) : left;
            group.rows[number].first_job = -begin;
        }
        group.pass = pass;
        if (pass == UnevenPass::outputs) {
            group.total = group.merged.result();
        }
    }
    __syncwarp();
    group.end[lane_index()] = lane_index() >= number ? group.jobs : 0;
    if (pass == UnevenPass::outputs) {
        const std::size_t row = blockIdx.x * static_cast<std::size_t>(a.group_rows) + static_cast<unsigned>(number);
        store_uneven_values(a, row, group.total);
    }
}

template <class T, bool Log>
__global__ void __launch_bounds__(uneven_most_warps *warp_lanes, 1)
    softmax_uneven(const __grid_constant__ UnevenSoftmaxArguments a) {
    UnevenGroupOf<T> &group = uneven_group<T>();
    if (warp_index() == 0) {
        deal_out_rows<T>(a, group);
    }
    __syncthreads();
    finish_empty_rows<T>(a);
    for (;;) {
        const int jobs = same_in_warp(group.jobs);
        for (int job = same_in_warp(warp_index()); job < jobs; job += block_warps()) {
            do_uneven_job<T, Log>(a, group, job);
        }
        if (group.long_rows == 0) {
            return;
        }
        __syncthreads();
        if (warp_index() == 0) {
            deal_out_long_row(a, group);
        }
        __syncthreads();
        if (group.long_rows == 0) {
            return;
        }
    }
}

template <class T>
const UnevenSoftmaxKernels &uneven_softmax_kernels() {
    static const UnevenSoftmaxKernels kernels{
        {address_of(softmax_uneven<T, false>), address_of(softmax_uneven<T, true>)}, static_cast<int>(sizeof(T))};
    return kernels;
}

} // namespace wr::cuda
