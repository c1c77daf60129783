// The softmax kernels of vector_kernels.h: where the rows of a panel lie, and whether each is computed alone or all
// side by side.
#pragma once

#include "host/reduce/panel_reduction.h"
#include "host/softmax/lanes.h"
#include "host/softmax/row.h"
#include "numerics/softmax_rows.h"

namespace wr::host::WR_ISA {
namespace {

template <class Element>
struct PanelSoftmax : SoftmaxTypes<Element> {
    using typename SoftmaxTypes<Element>::Float;
    using typename SoftmaxTypes<Element>::Sum;
    using typename SoftmaxTypes<Element>::State;
    using typename SoftmaxTypes<Element>::Counter;
    using Row = RowSoftmax<Element>;
    using Lanes = LaneSoftmax<Element>;

    static std::ptrdiff_t input_offset(const SoftmaxJob &job, const Panel &panel, std::size_t first) {
        return static_cast<std::ptrdiff_t>(panel.outer) * job.shape.outer_stride +
               static_cast<std::ptrdiff_t>(first) * job.shape.axis_stride +
               static_cast<std::ptrdiff_t>(panel.inner) * job.shape.inner_stride;
    }

    static std::size_t output_offset(const SoftmaxJob &job, const Panel &panel, std::size_t first) {
        return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(panel.outer) * job.output_outer_stride +
                                        static_cast<std::ptrdiff_t>(first) * job.output_axis_stride +
                                        static_cast<std::ptrdiff_t>(panel.inner) * job.output_inner_stride);
    }

    static std::size_t row_number(const SoftmaxJob &job, const Panel &panel, std::size_t k) {
        return panel.outer * job.shape.inner + panel.inner + k;
    }

    // How many of a piece's elements lie before the row's end or limit.
    static std::size_t elements_before(const SoftmaxJob &job, std::size_t row, std::size_t row_count, std::size_t first,
                                       std::size_t count) {
        const std::size_t outer = job.selection.causal ? row / job.rows_an_outer : 0;
        const std::size_t limit = leading_elements_of_piece(job.selection, row, outer, job.axis_first, row_count);
        return smaller(count, limit - smaller(limit, first));
    }

    static StoredLogits<Element> logits_at(const SoftmaxJob &job, std::ptrdiff_t first) {
        return {job.input, job.input_type, first};
    }

    static typename Row::Row row_at(const SoftmaxJob &job, std::size_t row, std::ptrdiff_t first, std::size_t output,
                                    std::size_t taken, std::size_t count) {
        const std::uint8_t *mask = job.selection.mask == nullptr ? nullptr : job.selection.mask + output;
        return {logits_at(job, first), output, taken, count - taken, mask, scale_of_row<Float>(job, row)};
    }

    static typename Row::Row row_of(const SoftmaxJob &job, Panel panel, std::size_t k, std::size_t first,
                                    std::size_t count) {
        const std::size_t row = row_number(job, panel, k);
        panel.inner += k;
        return row_at(job, row, input_offset(job, panel, first), output_offset(job, panel, first),
                      elements_before(job, row, job.shape.axis, first, count), count);
    }

    static typename Row::Row ragged_row_of(const SoftmaxJob &job, std::size_t row) {
        const RowSpan span = ragged_row(job.selection, job.shape.inner, job.shape.axis, row);
        return row_at(job, row, static_cast<std::ptrdiff_t>(span.first), span.first,
                      elements_before(job, row, span.count, 0, span.count), span.count);
    }

    static typename Lanes::Rows rows_of(const SoftmaxJob &job, const Panel &panel, std::size_t first,
                                        std::size_t count) {
        const Selection &selection = job.selection;
        typename Lanes::Rows rows{logits_at(job, input_offset(job, panel, first)),
                                  job.shape.axis_stride,
                                  job.shape.inner_stride,
                                  {output_offset(job, panel, first), job.output_axis_stride, job.output_inner_stride},
                                  panel.width,
                                  count,
                                  selection.mask,
                                  selection.mask != nullptr || selection.lengths != nullptr || selection.causal,
                                  {},
                                  static_cast<Float>(job.scale),
                                  job.scales != nullptr,
                                  {}};
        for (std::size_t k = 0; rows.own_scales && k < panel.width; ++k) {
            rows.scales[k] = scale_of_row<Float>(job, row_number(job, panel, k));
        }
        rows.scale = rows.own_scales ? Float(1) : rows.scale;
        for (std::size_t k = 0; rows.selective && k < panel.width; ++k) {
            rows.limits[k] = elements_before(job, row_number(job, panel, k), job.shape.axis, first, count);
        }
        return rows;
    }

    static void store_sums(const SoftmaxJob &job, const Panel &panel, const State *states) {
        if (job.logsumexp == nullptr && job.maximum == nullptr) {
            return;
        }
        const std::size_t row = row_number(job, panel, 0);
        RowTotals<Float, Sum, Lanes::most_lanes> rows;
        rows.take(states, panel.width);
        if (job.logsumexp != nullptr) {
            Float high[Lanes::most_lanes], low[Lanes::most_lanes];
            rows.logsumexps(panel.width, high, low);
            store_run(high, panel.width, job.logsumexp_type, job.logsumexp, row);
        }
        for (std::size_t k = 0; job.maximum != nullptr && k < panel.width; ++k) {
            store_maximum(rows.maxima[k], job.maximum, row + k);
        }
    }

    static void softmax_panel(const SoftmaxJob &job, const Panel &panel) {
        State states[Lanes::most_lanes];
        if (job.access == Access::rows) {
            for (std::size_t k = 0; k < panel.width; ++k) {
                states[k] = Row::softmax(job, job.selection.ragged ? ragged_row_of(job, panel.inner + k)
                                                                   : row_of(job, panel, k, 0, job.shape.axis));
            }
        } else {
            Lanes::softmax(job, rows_of(job, panel, 0, job.shape.axis), states);
        }
        store_sums(job, panel, states);
    }

    static void softmax(const SoftmaxJob &job, std::size_t first, std::size_t last) {
        for (std::size_t index = first; index < last; ++index) {
            softmax_panel(job, panel_at(job, index));
        }
        end_streams();
    }

    static void piece(const SoftmaxJob &job, std::size_t index, std::size_t first, std::size_t count, void *states) {
        const Panel panel = panel_at(job, index);
        auto *results = static_cast<State *>(states);
        if (job.access == Access::rows) {
            for (std::size_t k = 0; k < panel.width; ++k) {
                results[k] = Row::state(row_of(job, panel, k, first, count));
            }
        } else {
            Lanes::state(rows_of(job, panel, first, count), results);
        }
    }

    static void merge(const SoftmaxJob &job, std::size_t index, std::size_t pieces, const void *states, void *whole) {
        const Panel panel = panel_at(job, index);
        const auto *all = static_cast<const State *>(states);
        auto *results = static_cast<State *>(whole);
        for (std::size_t k = 0; k < panel.width; ++k) {
            Counter counter;
            for (std::size_t p = 0; p < pieces; ++p) {
                counter.push(all[p * job.panels.width + k]);
            }
            results[k] = counter.result();
        }
        store_sums(job, panel, results);
    }

    static void write(const SoftmaxJob &job, std::size_t index, std::size_t first, std::size_t count,
                      const void *totals, const void *states) {
        const Panel panel = panel_at(job, index);
        const auto *whole = static_cast<const State *>(totals);
        if (job.access == Access::rows) {
            for (std::size_t k = 0; k < panel.width; ++k) {
                Row::write(job, row_of(job, panel, k, first, count), whole[k]);
            }
        } else {
            Lanes::write(job, rows_of(job, panel, first, count), whole, static_cast<const State *>(states));
        }
        end_streams();
    }
};

template <class Element>
constexpr SoftmaxKernel softmax_kernel{sizeof(typename SoftmaxTypes<Element>::State),
                                       LaneSoftmax<Element>::lanes,
                                       PanelSoftmax<Element>::softmax,
                                       PanelSoftmax<Element>::piece,
                                       PanelSoftmax<Element>::merge,
                                       PanelSoftmax<Element>::write};

} // namespace
} // namespace wr::host::WR_ISA
