// Softmax of ragged rows. A block of threads has a group of rows. Their tiles are dealt out to its warps one
// after the other, so that every warp has the same share whatever the rows' lengths; the warps that hold a row's blocks
// wait for each other alone. Rows of more tiles than there are warps are read twice, by all of them.
#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax/ragged/scheduler.cuh"

namespace wr::cuda {

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

// The tiles of a row of which nothing takes part, this warp's share of them.
template <class T, class Load, class Float>
__device__ __forceinline__ void fill_behind(const RaggedSoftmaxArguments &a, const RaggedPlace &place, Float value) {
    const std::size_t step = static_cast<std::size_t>(place.row->blocks) * softmax_block;
    for (std::size_t at = place.first() + step; at < place.row->count; at += step) {
        const std::size_t first = place.row->output + at, count = smaller(place.row->count - at, softmax_block);
        if constexpr (converts<Load>) {
            fill_any_outputs(a.output_type, a.output, first, count, value);
        } else {
            fill_outputs(static_cast<T *>(a.output) + first, count, value);
        }
    }
}

template <class Float, class Sum>
__device__ __noinline__ void store_ragged_values(const RaggedSoftmaxArguments &a, std::size_t row,
                                                 RowState<Float, Sum> total) {
    if (lane_index() == 0) {
        store_row_values(a, total, row);
    }
}

// Rows of which nothing takes part.
template <class T>
__device__ __noinline__ void finish_empty_rows(const RaggedSoftmaxArguments &a) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    const RaggedGroupOf<T> &group = ragged_group<T>();
    const Float value = special_output<Float>(RowKind::empty, a.log, a.empty_row_zero);
    for (int number = warp_index(); number < warp_lanes; number += block_warps()) {
        if ((group.empty_rows >> number & 1) == 0) {
            continue;
        }
        const RaggedRow &row = group.rows[number];
        fill_any_outputs(a.output_type, a.output, row.output, row.count, value);
        store_ragged_values(a, row.index, StateMerge<Float, Sum>::identity());
    }
}

// The total of the row, of which the lanes take a tile's state each, or which has been merged.
template <class Float, class Sum>
__device__ __noinline__ RowState<Float, Sum> ragged_total(const RaggedGroup<Float, Sum> &group, int job) {
    const RaggedPlace place(group, job);
    if (group.pass == RaggedPass::outputs) {
        return group.total;
    }
    RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
    if (lane_index() < place.row->blocks) {
        const TileState<Float, Sum> &own = group.states[place.row->first_job + lane_index()];
        mine = {own.maximum, own.sum};
    }
    return place.row->blocks == 1 ? RowState<Float, Sum>{group.states[job].maximum, group.states[job].sum}
                                  : merge_any_lanes(mine);
}

// The same as a plain row's tiles see it.
template <class Float, class Sum>
__device__ __forceinline__ RowView<Sum> ragged_view(const RaggedGroup<Float, Sum> &group, int job) {
    if (same_in_warp(static_cast<int>(group.pass)) == static_cast<int>(RaggedPass::outputs)) {
        return {group.total.sum, state_n(group.total.maximum)};
    }
    const RaggedPlace place(group, job);
    if (same_in_warp(place.row->blocks) == 1) {
        return {group.states[job].sum, group.states[job].n};
    }
    std::int32_t n = absent_n;
    Sum sum = Sum(0);
    if (lane_index() < place.row->blocks) {
        const TileState<Float, Sum> &own = group.states[place.row->first_job + lane_index()];
        n = own.n;
        sum = own.sum;
    }
    const std::int32_t row_n = __reduce_max_sync(whole_warp, n);
    return {tree_over_lanes<FloatSum<Sum>>(scale_by_power(sum, n - row_n), warp_lanes), row_n};
}

// What a row that is not ordinary gives the elements of a tile that take part, and those that the mask leaves out.
template <class T>
__device__ __forceinline__ void store_special_ragged(const RaggedSoftmaxArguments &a, const T *data, std::size_t first,
                                                     int count, RowKind kind) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    const Float special = special_output<Float>(kind, a.log, a.empty_row_zero);
    const Float left_out = left_out_output<Float>(kind, a.log, a.empty_row_zero);
    for (int at = lane_index(); at < count; at += warp_lanes) {
        const bool takes_part = a.selection.mask == nullptr || mask_at(a, data)[at] != 0;
        store_any(takes_part ? special : left_out, a.output_type, a.output, first + static_cast<std::size_t>(at));
    }
}

// The outputs of a tile whose maximum, or whose row's, is special.
template <class T>
__device__ __noinline__ void finish_special_ragged(const RaggedSoftmaxArguments &a, int job) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Load = RaggedSingles<T>;
    const RaggedGroupOf<T> &group = ragged_group<T>();
    const auto total = ragged_total(group, job);
    const RaggedPlace place(group, job);
    const RowKind kind = row_kind(total.maximum);
    const Float left_out = left_out_output<Float>(kind, a.log, a.empty_row_zero);
    const std::size_t first = place.row->output + place.first();
    const int taken = place.count(place.row->taken);
    if (kind == RowKind::ordinary) {
        const Float maximum = group.states[job % ragged_most_jobs].maximum;
        finish_special_softmax<T, Load>(a, place.data<T>(a), first, taken, maximum, total);
    } else {
        store_special_ragged<T>(a, place.data<T>(a), first, taken, kind);
    }
    const std::size_t step = static_cast<std::size_t>(place.row->blocks) * softmax_block;
    const auto behind = static_cast<std::size_t>(larger(place.count(place.row->count) - taken, 0));
    fill_any_outputs(a.output_type, a.output, first + static_cast<std::size_t>(taken), behind, left_out);
    for (std::size_t begin = place.first() + step; begin < place.row->count; begin += step) {
        const std::size_t count = smaller(place.row->count - begin, softmax_block);
        fill_any_outputs(a.output_type, a.output, place.row->output + begin, count, left_out);
    }
}

// A lane's outputs, as elements of another type than T: each by itself, for no boundary of vectors is one of theirs.
template <class T, class To>
__device__ __forceinline__ void store_neighbours_as(To *own, int left, const float *y) {
    constexpr int each = vector_elements<T>;
#pragma unroll 1
    for (int v = 0; v < lane_vectors<T>; ++v) {
#pragma unroll
        for (int i = 0; i < each; ++i) {
            const int at = v * warp_lanes * each + i;
            if (at < left) {
                own[at] = narrow_one(y[v * each + i], To());
            }
        }
    }
}
template <class T>
__device__ __noinline__ void store_realigned_as(ElementType type, void *output, std::size_t first, int count,
                                                const float *y) {
    const int before = lane_index() * vector_elements<T>;
    with_other_type<T>(type, [&]<class To>(To) {
        store_neighbours_as<T>(static_cast<To *>(output) + first + before, count - before, y);
    });
}

template <class T, class Load>
__device__ __forceinline__ void store_ragged_tile(const RaggedSoftmaxArguments &a, const RaggedGroupOf<T> &group,
                                                  int job, const float (&y)[lane_elements]) {
    if constexpr (converts<Load>) {
        float called_with[lane_elements]; // what a call is given lies in memory, where y would be slow
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            called_with[i] = y[i];
        }
        const RaggedPlace to(group, job);
        store_realigned_as<T>(a.output_type, a.output, to.row->output + to.first(), to.count(to.row->count),
                              called_with);
    } else {
        uint4 vectors[lane_vectors<T>];
#pragma unroll
        for (int v = 0; v < lane_vectors<T>; ++v) {
            vectors[v] = pack(y + v * vector_elements<T>, T());
        }
        const RaggedPlace to(group, job);
        store_realigned(static_cast<T *>(a.output) + to.row->output + to.first(), to.count(to.row->count), vectors);
    }
}

// One tile, from the row's memory to its outputs, or to its state.
template <class T, bool Log, class Load>
__device__ __forceinline__ void do_ragged_job(const RaggedSoftmaxArguments &a, RaggedGroupOf<T> &group, int job) {
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    TileState<float, Sum> *const state = &group.states[job % ragged_most_jobs];
    const RaggedPlace from(group, job);
    const int taken = same_in_warp(from.count(from.row->taken));
    TileLogits<T, Load> x(a, from.data<T>(a), taken);
    const RaggedPass pass = static_cast<RaggedPass>(same_in_warp(static_cast<int>(group.pass)));
    const bool outputs = pass != RaggedPass::states;
    if (outputs && same_in_warp(from.row->taken < from.row->count ? 1 : 0) != 0) {
        fill_behind<T, Load>(a, from, left_out_output<float>(RowKind::ordinary, a.log, a.empty_row_zero));
    }
    float e[lane_elements] = {}; // where none are formed, a value that the loop over jobs need not carry
    const bool plain = !Log && !wants_row_values(a) && reaches_outputs<T, Load>(a.output_type);
    partial_tile_state<T, RaggedSingles<T>, Sum>(a, from.data<T>(a), taken, x, e, state, plain);
    __syncwarp();
    if (!outputs) {
        return;
    }
    if (pass == RaggedPass::rows) {
        const RaggedPlace own(group, job);
        if (same_in_warp(own.row->blocks) > 1) {
            if (lane_index() == 0) {
                group.arrivals[own.number].arrive();
            }
            group.arrivals[own.number].wait();
        }
    }
    bool finished = false;
    if constexpr (Log) {
        const LogRow<float> row = log_row(ragged_total(group, job));
        if (row.kind == RowKind::ordinary) {
            float y[lane_elements];
#pragma unroll
            for (int i = 0; i < lane_elements; ++i) {
                y[i] = log_softmax_output(x[i], row.splits);
            }
            const RaggedPlace to(group, job);
            if (same_in_warp(to.row->taken < to.row->count ? 1 : 0) != 0) { // what takes no part is in the tile, too
#pragma unroll
                for (int i = 0; i < lane_elements; ++i) {
                    const int at = (i / Load::run * warp_lanes + lane_index()) * Load::run + i % Load::run;
                    y[i] = at < to.count(to.row->taken) ? y[i] : -std::numeric_limits<float>::infinity();
                }
            }
            store_ragged_tile<T, Load>(a, group, job, y);
            finished = true;
        }
    } else {
        const RowView<Sum> view = ragged_view(group, job);
        const std::int32_t n = state->n;
        BlockFactor<float> factor;
        if (has_factor_in_row<T, Load, true>(a, n, view, e[0], factor, [&](std::int32_t gap) {
                return factor_for_output<T, Load>(view.sum, gap, float());
            })) {
            form_outputs<T, Load>(a, factor, e);
            store_ragged_tile<T, Load>(a, group, job, e);
            finished = true;
        }
    }
    if (!finished) {
        finish_special_ragged<T>(a, job);
    }
    const RaggedPlace to(group, job);
    if (to.block == 0 && group.pass == RaggedPass::rows && wants_row_values(a)) {
        store_ragged_values(a, to.row->index, ragged_total(group, job));
    }
}

// By the first warp: the states of some neighbouring tiles of a long row join its total.
template <class Float, class Sum>
__device__ __forceinline__ void merge_run_of_states(RaggedGroup<Float, Sum> &group) {
    TreeCounter<StateMerge<Float, Sum>, 4> runs; // of 32 states
    for (int first = 0; first < group.jobs; first += warp_lanes) {
        RowState<Float, Sum> mine = StateMerge<Float, Sum>::identity();
        if (first + lane_index() < group.jobs) {
            const TileState<Float, Sum> &own = group.states[first + lane_index()];
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
__device__ __noinline__ void deal_out_long_row(const RaggedSoftmaxArguments &a, RaggedGroup<Float, Sum> &group) {
    int number = __ffs(static_cast<int>(group.two_pass_rows)) - 1, begin = 0;
    RaggedPass pass = RaggedPass::states;
    if (group.pass == RaggedPass::states) {
        merge_run_of_states(group);
        begin = group.jobs - group.rows[number].first_job;
        if (begin == group.rows[number].blocks) {
            pass = RaggedPass::outputs;
            begin = 0;
        }
    } else if (group.pass == RaggedPass::outputs) {
        number = __ffs(static_cast<int>(group.two_pass_rows & (group.two_pass_rows - 1))) - 1;
    }
    __syncwarp();
    if (lane_index() == 0) {
        if (group.pass == RaggedPass::outputs) {
            group.two_pass_rows &= group.two_pass_rows - 1;
        }
        if (pass == RaggedPass::states && begin == 0) {
            group.merged = {};
        }
        if (number >= 0) {
            const int left = group.rows[number].blocks - begin;
            group.jobs = pass == RaggedPass::states ? smaller(left, ragged_most_jobs) : left;
            group.rows[number].first_job = -begin;
        }
        group.pass = pass;
        if (pass == RaggedPass::outputs) {
            group.total = group.merged.result();
        }
    }
    __syncwarp();
    group.end[lane_index()] = lane_index() >= number ? group.jobs : 0;
    if (pass == RaggedPass::outputs) {
        store_ragged_values(a, group.rows[number].index, group.total);
    }
}

// What has been dealt out, and one after the other the long rows among it.
template <class T, bool Log, class Load>
__device__ __forceinline__ void do_dealt_rows(const RaggedSoftmaxArguments &a, RaggedGroupOf<T> &group) {
    for (;;) {
        const int jobs = same_in_warp(group.jobs);
        for (int job = same_in_warp(warp_index()); job < jobs; job += block_warps()) {
            do_ragged_job<T, Log, Load>(a, group, job);
        }
        if (group.two_pass_rows == 0) {
            return;
        }
        __syncthreads();
        if (warp_index() == 0) {
            deal_out_long_row(a, group);
        }
        __syncthreads();
        if (group.two_pass_rows == 0) {
            return;
        }
    }
}

template <class T, bool Log, class Load>
__global__ void __launch_bounds__(ragged_warps_of<T> *warp_lanes, 1)
    softmax_ragged(const __grid_constant__ RaggedSoftmaxArguments a) {
    pdl_wait_and_release();
    RaggedGroupOf<T> &group = ragged_group<T>();
    if (a.longer.least != 0) {
        if (threadIdx.x == 0) {
            group.dealt_rows = 0;
        }
        group.longer.find(a.selection, a.longer, first_row_of_block(a), a.outer, a.axis); // which waits for all threads
        if (group.longer.count == 0) {
            return;
        }
    }
    for (;;) {
        if (warp_index() == 0) {
            deal_out_rows<T>(a, group);
        }
        __syncthreads();
        if (group.empty_rows != 0) {
            finish_empty_rows<T>(a);
        }
        do_dealt_rows<T, Log, Load>(a, group);
        if (a.longer.least == 0 || group.dealt_rows >= group.longer.count) {
            return;
        }
        __syncthreads();
    }
}

template <class T>
const RaggedSoftmaxKernels &ragged_softmax_kernels() {
    using Load = RealignedLoad<T>;
    static const RaggedSoftmaxKernels kernels = {
        {address_of(softmax_ragged<T, false, Load>), address_of(softmax_ragged<T, true, Load>)}, ragged_warps_of<T>};
    return kernels;
}

template <class T>
const RaggedSoftmaxKernels &converting_ragged_kernels() {
    static const RaggedSoftmaxKernels kernels = {
        {address_of(softmax_ragged<T, false, ConvertingRealignedLoad<T>>), nullptr}, ragged_warps_of<T>};
    return kernels;
}

// Softmax of ragged rows, into their own type and into others: near copies, which compress together.

template const RaggedSoftmaxKernels &ragged_softmax_kernels<float>();
template const RaggedSoftmaxKernels &ragged_softmax_kernels<F16>();
template const RaggedSoftmaxKernels &ragged_softmax_kernels<BF16>();

template const RaggedSoftmaxKernels &converting_ragged_kernels<float>();
template const RaggedSoftmaxKernels &converting_ragged_kernels<F16>();
template const RaggedSoftmaxKernels &converting_ragged_kernels<BF16>();

} // namespace wr::cuda
