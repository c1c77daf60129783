// The softmax kernels of vector_kernels.h: where the rows of a strip lie, and whether each is computed alone or all
// side by side.
#pragma once

#include "host/reduce/strip_reduction.h"
#include "host/softmax/lanes.h"
#include "host/softmax/row.h"
#include "numerics/softmax_rows.h"

namespace wr::host::WR_ISA {
namespace {

template <class Element>
struct StripSoftmax : SoftmaxTypes<Element> {
    using typename SoftmaxTypes<Element>::Float;
    using typename SoftmaxTypes<Element>::Sum;
    using typename SoftmaxTypes<Element>::State;
    using typename SoftmaxTypes<Element>::Counter;
    using Row = RowSoftmax<Element>;
    using Lanes = LaneSoftmax<Element>;

    static std::ptrdiff_t input_offset(const SoftmaxJob &job, const Strip &strip, std::size_t first) {
        return static_cast<std::ptrdiff_t>(strip.outer) * job.shape.outer_stride +
               static_cast<std::ptrdiff_t>(first) * job.shape.axis_stride +
               static_cast<std::ptrdiff_t>(strip.inner) * job.shape.inner_stride;
    }

    static std::size_t output_offset(const SoftmaxJob &job, const Strip &strip, std::size_t first) {
        return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(strip.outer) * job.output_outer_stride +
                                        static_cast<std::ptrdiff_t>(first) * job.output_axis_stride +
                                        static_cast<std::ptrdiff_t>(strip.inner) * job.output_inner_stride);
    }

    static std::size_t row_number(const SoftmaxJob &job, const Strip &strip, std::size_t k) {
        return strip.outer * job.shape.inner + strip.inner + k;
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

    static typename Row::Row row_at(const SoftmaxJob &job, std::ptrdiff_t first, std::size_t output, std::size_t taken,
                                    std::size_t count) {
        const std::uint8_t *mask = job.selection.mask == nullptr ? nullptr : job.selection.mask + output;
        return {logits_at(job, first), output, taken, count - taken, mask, static_cast<Float>(job.scale)};
    }

    static typename Row::Row row_of(const SoftmaxJob &job, Strip strip, std::size_t k, std::size_t first,
                                    std::size_t count) {
        const std::size_t row = row_number(job, strip, k);
        strip.inner += k;
        return row_at(job, input_offset(job, strip, first), output_offset(job, strip, first),
                      elements_before(job, row, job.shape.axis, first, count), count);
    }

    static typename Row::Row ragged_row_of(const SoftmaxJob &job, std::size_t row) {
        const RowSpan span = ragged_row(job.selection, job.shape.inner, job.shape.axis, row);
        return row_at(job, static_cast<std::ptrdiff_t>(span.first), span.first,
                      elements_before(job, row, span.count, 0, span.count), span.count);
    }

    static typename Lanes::Rows rows_of(const SoftmaxJob &job, const Strip &strip, std::size_t first,
                                        std::size_t count) {
        const Selection &selection = job.selection;
        typename Lanes::Rows rows{logits_at(job, input_offset(job, strip, first)),
                                  job.shape.axis_stride,
                                  job.shape.inner_stride,
                                  {output_offset(job, strip, first), job.output_axis_stride, job.output_inner_stride},
                                  strip.width,
                                  count,
                                  selection.mask,
                                  selection.mask != nullptr || selection.lengths != nullptr || selection.causal,
                                  {},
                                  static_cast<Float>(job.scale)};
        for (std::size_t k = 0; rows.selective && k < strip.width; ++k) {
            rows.limits[k] = elements_before(job, row_number(job, strip, k), job.shape.axis, first, count);
        }
        return rows;
    }

    static void store_sums(const SoftmaxJob &job, const Strip &strip, const State *states) {
        for (std::size_t k = 0; k < strip.width; ++k) {
            const std::size_t row = row_number(job, strip, k);
            if (job.logsumexp != nullptr) {
                store_float(logsumexp_of(states[k].maximum, states[k].sum), job.logsumexp_type, job.logsumexp, row);
            }
            if (job.maximum != nullptr) {
                store_maximum(states[k].maximum, job.maximum, row);
            }
        }
    }

    static void softmax_strip(const SoftmaxJob &job, const Strip &strip) {
        State states[Lanes::most_lanes];
        if (job.access == Access::rows) {
            for (std::size_t k = 0; k < strip.width; ++k) {
                states[k] = Row::softmax(job, job.selection.ragged ? ragged_row_of(job, strip.inner + k)
                                                                   : row_of(job, strip, k, 0, job.shape.axis));
            }
        } else {
            Lanes::softmax(job, rows_of(job, strip, 0, job.shape.axis), states);
        }
        store_sums(job, strip, states);
    }

    static void softmax(const SoftmaxJob &job, std::size_t first, std::size_t last) {
        for (std::size_t index = first; index < last; ++index) {
            softmax_strip(job, strip_at(job, index));
        }
    }

    static void piece(const SoftmaxJob &job, std::size_t index, std::size_t first, std::size_t count, void *states) {
        const Strip strip = strip_at(job, index);
        auto *results = static_cast<State *>(states);
        if (job.access == Access::rows) {
            for (std::size_t k = 0; k < strip.width; ++k) {
                results[k] = Row::state(row_of(job, strip, k, first, count));
            }
        } else {
            Lanes::state(rows_of(job, strip, first, count), results);
        }
    }

    static void merge(const SoftmaxJob &job, std::size_t index, std::size_t pieces, void *states) {
        const Strip strip = strip_at(job, index);
        auto *all = static_cast<State *>(states);
        for (std::size_t k = 0; k < strip.width; ++k) {
            Counter counter;
            for (std::size_t p = 0; p < pieces; ++p) {
                counter.push(all[p * job.strips.width + k]);
            }
            all[k] = counter.result();
        }
        store_sums(job, strip, all);
    }

    static void write(const SoftmaxJob &job, std::size_t index, std::size_t first, std::size_t count,
                      const void *states) {
        const Strip strip = strip_at(job, index);
        const auto *whole = static_cast<const State *>(states);
        if (job.access == Access::rows) {
            for (std::size_t k = 0; k < strip.width; ++k) {
                Row::write(job, row_of(job, strip, k, first, count), whole[k]);
            }
        } else {
            Lanes::write(job, rows_of(job, strip, first, count), whole);
        }
    }
};

template <class Element>
constexpr SoftmaxKernel softmax_kernel{sizeof(typename SoftmaxTypes<Element>::State),
                                       LaneSoftmax<Element>::lanes,
                                       StripSoftmax<Element>::softmax,
                                       StripSoftmax<Element>::piece,
                                       StripSoftmax<Element>::merge,
                                       StripSoftmax<Element>::write};

} // namespace
} // namespace wr::host::WR_ISA
