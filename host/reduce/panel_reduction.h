// The kernels of vector_kernels.h in terms of a way to reduce: a struct with an Operator, `accumulate`, which reduces
// part of a panel's axis (never nothing), and `segment`, which reduces a contiguous run (never nothing).
#pragma once

#include "host/common/row_counter.h"
#include "host/common/store_runs.h"
#include "numerics/state_kinds.h"
#include "numerics/stored_elements.h"

namespace wr::host::WR_ISA {
namespace {

// Of any panel.
template <class Op>
constexpr std::size_t most_outputs = most_columns<Op>;

constexpr std::size_t most_gathered = 16;

// Elements that an order-free operator combines before it settles.
constexpr std::size_t settle_length = std::size_t{1} << 20;

struct Panel {
    std::size_t outer, inner, width;
};

template <class Job>
Panel panel_at(const Job &job, std::size_t index) {
    const std::size_t inner = index % job.panels.per_outer * job.panels.width;
    return {index / job.panels.per_outer, inner, smaller(job.panels.width, job.shape.inner - inner)};
}

// Elements from the input's first one to element `first` of the axis of the panel's first output.
WR_HD std::ptrdiff_t offset_of(const Shape &s, const Panel &panel, std::size_t first) {
    return static_cast<std::ptrdiff_t>(panel.outer) * s.outer_stride +
           static_cast<std::ptrdiff_t>(first) * s.axis_stride +
           static_cast<std::ptrdiff_t>(panel.inner) * s.inner_stride;
}

// Keys of floats as the floats that they stand for.
inline void store_keys(const Finish &finish, const std::int32_t *keys, std::size_t count, void *output,
                       std::size_t index) {
    using Op = Extreme<std::int32_t>;
    constexpr std::size_t at_once = 256;
    const float nothing = float_of_key(Op::identity(), finish);
    const auto flip = static_cast<std::int32_t>(finish.flip);
    for (std::size_t done = 0; done < count; done += at_once) {
        alignas(64) float values[at_once];
        const std::size_t some = smaller(at_once, count - done);
        for (std::size_t k = 0; k < some; ++k) {
            const std::int32_t key = keys[done + k];
            const float value = key == Op::nan_key ? std::numeric_limits<float>::quiet_NaN() : value_of_key(key ^ flip);
            values[k] = key == Op::identity() ? nothing : value;
        }
        store_run(values, some, finish.output_type, output, index + done);
    }
}

// One copy for all operators with these accumulators: finishing knows every output type.
template <class Accumulator>
__attribute__((noinline)) void store_results(const Finish &how, const Accumulator *results, std::size_t count,
                                             void *output, std::size_t index) {
    const Finish finish = how; // which no output can be thought to overwrite
    if constexpr (std::is_floating_point_v<Accumulator>) {
        const bool are_finished = finish.op == Operator::product || (finish.op == Operator::sum && finish.axis != 0);
        if (are_finished && !finish.add_to_output) {
            return store_run(results, count, finish.output_type, output, index);
        }
    }
    if constexpr (std::is_same_v<Accumulator, std::int32_t>) {
        if (traits_of(finish.input_type).is_float && !finish.add_to_output) {
            return store_keys(finish, results, count, output, index);
        }
    }
    for (std::size_t k = 0; k < count; ++k) {
        finish_accumulator(results[k], finish, output, index + k);
    }
}

template <class Op>
__attribute__((noinline)) void store_nodes(const typename Op::Accumulator *results, std::size_t count, void *nodes,
                                           std::size_t index) {
    for (std::size_t k = 0; k < count; ++k) {
        store_node(Op::settle(results[k]), nodes, index + k);
    }
}

template <class Op>
void store_panel(const ReduceJob &job, const Panel &panel, const typename Op::Accumulator *results) {
    const std::size_t first = panel.outer * job.shape.inner + panel.inner;
    if (job.as_state) {
        store_nodes<Op>(results, panel.width, job.output, first);
    } else {
        store_results(job.finish, results, panel.width, job.output, first);
    }
}

// As the kernels' `merge`.
template <class Op>
void merge_pieces(const ReduceJob &job, std::size_t index, std::size_t pieces, const void *accumulators) {
    const Panel panel = panel_at(job, index);
    const auto *partial = static_cast<const typename Op::Accumulator *>(accumulators);
    alignas(64) typename Op::Accumulator results[most_outputs<Op>];
    alignas(64) typename Op::Accumulator levels[column_levels_bytes / sizeof(typename Op::Accumulator)];
    RowCounter<Op> counter(panel.width, levels);
    for (std::size_t p = 0; p < pieces; ++p) {
        for (std::size_t k = 0; k < panel.width; ++k) {
            results[k] = Op::settle(partial[p * job.panels.width + k]);
        }
        counter.push(results);
    }
    counter.result(results);
    store_panel<Op>(job, panel, results);
}

template <class Way>
struct PanelReduction {
    using Op = typename Way::Operator;
    using Accumulator = typename Op::Accumulator;

    static void accumulate(const ReduceJob &job, const Panel &panel, std::size_t first, std::size_t count,
                           Accumulator *results) {
        if (count != 0) {
            Way::accumulate(job, panel, first, count, results);
            return;
        }
        for (std::size_t k = 0; k < panel.width; ++k) {
            results[k] = Op::identity();
        }
    }

    static void reduce(const ReduceJob &job, std::size_t first, std::size_t last) {
        alignas(64) Accumulator results[most_outputs<Op>];
        for (std::size_t index = first; index < last; ++index) {
            const Panel panel = panel_at(job, index);
            accumulate(job, panel, 0, job.shape.axis, results);
            store_panel<Op>(job, panel, results);
        }
    }

    static void piece(const ReduceJob &job, std::size_t index, std::size_t first, std::size_t count,
                      void *accumulators) {
        accumulate(job, panel_at(job, index), first, count, static_cast<Accumulator *>(accumulators));
    }

    static void segments(const SegmentsJob &job, std::size_t first, std::size_t last) {
        Finish finish = job.finish;
        std::uint64_t end = load_integer(job.offsets_type, job.offsets, first);
        for (std::size_t s = first; s < last; ++s) {
            const std::uint64_t start = end;
            end = load_integer(job.offsets_type, job.offsets, s + 1);
            finish.axis = end - start;
            const Accumulator result =
                finish.axis == 0 ? Op::identity() : Way::segment(job.input, start, finish.axis, job.mapping);
            store_results(finish, &result, 1, job.output, s);
        }
    }
};

template <class Way>
constexpr ReduceKernel kernel_of{sizeof(typename Way::Operator::Accumulator), PanelReduction<Way>::reduce,
                                 PanelReduction<Way>::piece, merge_pieces<typename Way::Operator>,
                                 PanelReduction<Way>::segments};

} // namespace
} // namespace wr::host::WR_ISA
