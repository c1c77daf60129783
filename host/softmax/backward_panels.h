// The gradient of softmax of several rows side by side, neighbours in memory: a panel, read some elements of all its
// rows at a time. The bits are those of backward_rows.h.
#pragma once

#include "host/common/row_counter.h"
#include "host/softmax/backward_rows.h"
#include "host/softmax/plain_gradients.h"

namespace wr::host::WR_ISA {
namespace {

template <class Float>
struct PanelBackward {
    using Job = SoftmaxBackwardJob;

    static constexpr std::size_t lanes = 64 / sizeof(Float);
    static constexpr std::size_t most_width = 16 * lanes;
    static_assert(most_width <= PlainGradient<Float>::most_across);
    // A power of two, so that the elements of a block are a subtree.
    static constexpr std::size_t block_rows = 8;

    struct Block {
        alignas(64) Float weights[block_rows * most_width], gradients[block_rows * most_width];
    };

    // A piece of the axis of neighbouring rows: where its first element lies in each array, and what differs between
    // the rows, or is set of the first alone where nothing does.
    struct Panel {
        std::ptrdiff_t saved, gradient, result;
        std::size_t width, pitch, count;
        bool selective; // some elements may take no part
        SavedAs saved_as;
        bool own_scales;                                   // gradients have their rows'
        Float scale;                                       // of all gradients
        std::size_t limits[most_width];                    // how many leading elements of each row take part
        Float scales[most_width], logit_scale[most_width]; // of a row's gradients, of its saved logits
        Float logsumexp[most_width], special[most_width];
        bool is_finite[most_width];
    };

    static Panel panel_at(const Job &job, std::size_t number, std::size_t first, std::size_t count) {
        const SoftmaxBackwardProblem &p = job.problem;
        const std::size_t outer = number / job.panels.per_outer;
        const std::size_t inner = number % job.panels.per_outer * job.panels.width;
        const auto o = static_cast<std::ptrdiff_t>(outer), i = static_cast<std::ptrdiff_t>(inner);
        const auto a = static_cast<std::ptrdiff_t>(first);
        Panel panel;
        panel.saved = o * p.shape.outer_stride + a * p.shape.axis_stride + i;
        panel.gradient = o * p.gradient_outer_stride + a * p.gradient_axis_stride + i;
        panel.result = o * job.result_outer_stride + a * job.result_axis_stride + i;
        panel.width = smaller(job.panels.width, p.shape.inner - inner);
        panel.pitch = divide_up(panel.width, lanes) * lanes;
        panel.count = count;
        panel.own_scales = p.scales != nullptr;
        panel.scale = panel.own_scales ? Float(1) : static_cast<Float>(p.scale);
        panel.selective = p.selection.mask != nullptr || p.selection.lengths != nullptr || p.selection.causal;
        const bool are_alike = p.output != nullptr && !may_have_empty_rows(p) && !panel.own_scales && !panel.selective;
        for (std::size_t k = 0; k < (are_alike ? 1 : panel.width); ++k) {
            const std::size_t row = outer * p.shape.inner + inner + k;
            const SavedRow<Float> saved = saved_row_of<Float>(p, row);
            panel.saved_as = saved.saved_as;
            panel.scales[k] = scale_of_row<Float>(p, row);
            panel.logit_scale[k] = saved.scale;
            panel.logsumexp[k] = saved.logsumexp;
            panel.special[k] = saved.special;
            panel.is_finite[k] = saved.logsumexp - saved.logsumexp == Float(0);
            if (panel.selective) {
                const std::size_t limit = leading_elements(p.selection, row, outer, p.shape.axis);
                panel.limits[k] = smaller(count, limit - smaller(limit, first));
            }
        }
        return panel;
    }

    static bool takes_part(const Job &job, const Panel &panel, std::size_t at, std::size_t k) {
        const std::uint8_t *mask = job.problem.selection.mask;
        const std::ptrdiff_t row = panel.result + static_cast<std::ptrdiff_t>(at) * job.result_axis_stride;
        return at < panel.limits[k] && (mask == nullptr || mask[row + static_cast<std::ptrdiff_t>(k)] != 0);
    }

    // What stands for the elements of a block that take no part.
    static void leave_out(const Job &job, const Panel &panel, std::size_t done, std::size_t count, Float value,
                          Float *block) {
        for (std::size_t r = 0; panel.selective && r < count; ++r) {
            for (std::size_t k = 0; k < panel.width; ++k) {
                Float &each = block[r * panel.pitch + k];
                each = takes_part(job, panel, done + r, k) ? each : value;
            }
        }
    }

    // What is done to some elements of a panel straight from memory.
    template <class Element>
    struct PlainPart {
        using Plain = PlainGradient<Float, Element>;

        typename Plain::Array weights, gradients;
        Element *results;
        std::ptrdiff_t result_stride;

        PlainPart(const Job &job, const Panel &panel, std::size_t done)
            : weights{static_cast<const Element *>(job.problem.output) + panel.saved, job.problem.shape.axis_stride},
              gradients{static_cast<const Element *>(job.problem.output_gradient) + panel.gradient,
                        job.problem.gradient_axis_stride},
              results(static_cast<Element *>(job.problem.input_gradient) + panel.result),
              result_stride(job.result_axis_stride) {
            const auto at = static_cast<std::ptrdiff_t>(done);
            weights.first += at * weights.stride;
            gradients.first += at * gradients.stride;
            results += at * result_stride;
        }

        // False: not where products may be below the normal range.
        WR_HD bool sum_eight(const Panel &panel, Float *sums) const {
            if (Plain::any_small_factor(weights, block_rows, panel.width)) {
                return false;
            }
            Plain::sum_eight(weights, gradients, panel.width, sums);
            return true;
        }
        WR_HD bool write(const Panel &panel, std::size_t count, const Float *totals, bool past_caches) const {
            if (Plain::any_small_factor(weights, count, panel.width)) {
                return false;
            }
            for (std::size_t r = 0; r < count; ++r) {
                Plain::write_across(weights.run(r), gradients.run(r), panel.width, totals, panel.scale,
                                    results + static_cast<std::ptrdiff_t>(r) * result_stride, past_caches);
            }
            return true;
        }
    };

    // Gives use(part) of the type that all arrays have, or false.
    template <class Use>
    WR_HD static bool with_plain_part(const Job &job, const Panel &panel, std::size_t done, const Use &use) {
        const SoftmaxBackwardProblem &p = job.problem;
        if (PlainGradient<Float>::is_possible(p)) {
            return use(PlainPart<Float>(job, panel, done));
        }
        if constexpr (sizeof(Float) == sizeof(float)) {
            if (PlainGradient<Float, BF16>::is_possible(p)) {
                return use(PlainPart<BF16>(job, panel, done));
            }
            if (PlainGradient<Float, F16>::is_possible(p)) {
                return use(PlainPart<F16>(job, panel, done));
            }
        }
        return false;
    }

    // Asks for a row's part, which is too short for the processor to see the next one coming.
    static void ask_for(const void *array, ElementType type, std::ptrdiff_t first, std::size_t width) {
        const auto size = static_cast<std::ptrdiff_t>(traits_of(type).size);
        const auto bytes = static_cast<std::ptrdiff_t>(width) * size;
        for (std::ptrdiff_t at = 0; at < bytes; at += static_cast<std::ptrdiff_t>(cache_line)) {
            prefetch_far(array, first * size + at);
        }
    }

    // Asks for the block that follows.
    static void ask_for_next(const Job &job, const Panel &panel, std::size_t done) {
        const SoftmaxBackwardProblem &p = job.problem;
        const void *saved = p.output != nullptr ? p.output : p.input;
        for (std::size_t r = block_rows; r < 2 * block_rows; ++r) {
            const auto at = static_cast<std::ptrdiff_t>(done + r);
            ask_for(saved, p.dtype, panel.saved + at * p.shape.axis_stride, panel.width);
            if (p.output_gradient != saved) {
                ask_for(p.output_gradient, p.output_gradient_dtype, panel.gradient + at * p.gradient_axis_stride,
                        panel.width);
            }
        }
    }

    // The weights and the output's gradients of a block. Lanes without a row hold zeros.
    static void load(const Job &job, const Panel &panel, std::size_t done, std::size_t count, Block &block) {
        const SoftmaxBackwardProblem &p = job.problem;
        for (std::size_t r = 0; r < count; ++r) {
            const auto at = static_cast<std::ptrdiff_t>(done + r);
            Float *const weights = block.weights + r * panel.pitch, *const gradients =
                                                                        block.gradients + r * panel.pitch;
            widen_run(p.output != nullptr ? p.output : p.input, p.dtype, panel.saved + at * p.shape.axis_stride, 1,
                      panel.width, weights);
            widen_run(p.output_gradient, p.output_gradient_dtype, panel.gradient + at * p.gradient_axis_stride, 1,
                      panel.width, gradients);
            for (std::size_t k = panel.width; k < panel.pitch; ++k) {
                weights[k] = gradients[k] = Float(0);
            }
        }
        if (panel.saved_as == SavedAs::logarithms) {
            for (std::size_t i = 0; i < count * panel.pitch; ++i) {
                block.weights[i] = weight_of_difference(block.weights[i], Float(0));
            }
        } else if (panel.saved_as == SavedAs::logits) {
            for (std::size_t r = 0; r < count; ++r) {
                weigh_logits(panel, block.weights + r * panel.pitch);
            }
        }
    }

    static void weigh_logits(const Panel &panel, Float *__restrict x) {
        for (std::size_t k = 0; k < panel.width; ++k) {
            const Float weight = weight_of_logit(panel.logit_scale[k], panel.logsumexp[k], x[k]);
            x[k] = panel.is_finite[k] ? weight : panel.special[k];
        }
    }

    static void sum(const Job &job, const Panel &panel, Float *sums) {
        Block block;
        alignas(64) Float levels[most_width * 64];
        RowCounter<FloatSum<Float>> counter(panel.width, levels);
        for (std::size_t done = 0; done < panel.count; done += block_rows) {
            const std::size_t count = smaller(block_rows, panel.count - done), cells = count * panel.pitch;
            ask_for_next(job, panel, done);
            const auto sum_eight = [&](const auto &part) { return part.sum_eight(panel, sums); };
            if (!panel.selective && count == block_rows && with_plain_part(job, panel, done, sum_eight)) {
                counter.push(sums);
                continue;
            }
            load(job, panel, done, count, block);
            form_terms(job.problem.log, cells, block.weights, block.gradients);
            leave_out(job, panel, done, count, Float(-0.0), block.weights);
            reduce_columns<FloatSum<Float>>(block.weights, static_cast<std::ptrdiff_t>(panel.pitch), panel.width, count,
                                            Mapping{}, sums);
            counter.push(sums);
        }
        counter.result(sums);
    }

    static void subtract_totals(const Panel &panel, std::size_t count, const Float *totals, Block &block) {
        for (std::size_t r = 0; r < count; ++r) {
            for (std::size_t k = 0; k < panel.width; ++k) {
                block.gradients[r * panel.pitch + k] = block.gradients[r * panel.pitch + k] - totals[k];
            }
        }
    }

    // From the output's gradients of a block to the input's.
    static void form_gradients(const Job &job, const Panel &panel, std::size_t count, const Float *totals,
                               Block &block) {
        if (job.problem.log) {
            form<true>(panel, count, totals, block);
        } else if (!any_small_factor(count * panel.pitch, block.weights)) {
            form<false>(panel, count, totals, block);
        } else {
            subtract_totals(panel, count, totals, block);
            multiply_small(count * panel.pitch, block.weights, block.gradients, panel.scale, block.gradients);
        }
    }

    template <bool log>
    static void form(const Panel &panel, std::size_t count, const Float *__restrict totals, Block &block) {
        for (std::size_t r = 0; r < count; ++r) {
            const Float *__restrict weights = block.weights + r * panel.pitch;
            Float *__restrict gradients = block.gradients + r * panel.pitch;
            for (std::size_t k = 0; k < panel.width; ++k) {
                const Float gradient = softmax_gradient(log, weights[k], gradients[k], totals[k]);
                gradients[k] = (log ? unless_nothing_was_left(weights[k], gradient) : gradient) * panel.scale;
            }
        }
    }

    static void scale_rows(const Panel &panel, std::size_t count, Block &block) {
        for (std::size_t r = 0; panel.own_scales && r < count; ++r) {
            for (std::size_t k = 0; k < panel.width; ++k) {
                block.gradients[r * panel.pitch + k] = block.gradients[r * panel.pitch + k] * panel.scales[k];
            }
        }
    }

    static void store(const Job &job, const Panel &panel, std::size_t done, std::size_t count, Block &block) {
        const SoftmaxBackwardProblem &p = job.problem;
        for (std::size_t r = 0; r < count; ++r) {
            Float *const gradients = block.gradients + r * panel.pitch;
            const std::ptrdiff_t first = panel.result + static_cast<std::ptrdiff_t>(done + r) * job.result_axis_stride;
            if (p.add_to_input_gradient) {
                alignas(64) Float old[most_width];
                load_stored_gradients(p, first, 1, panel.width, old);
                for (std::size_t k = 0; k < panel.width; ++k) {
                    gradients[k] = old[k] + gradients[k];
                }
            }
            store_run(gradients, panel.width, p.input_gradient_dtype, p.input_gradient,
                      static_cast<std::size_t>(first));
        }
    }

    static void write(const Job &job, const Panel &panel, const Float *totals) {
        Block block;
        for (std::size_t done = 0; done < panel.count; done += block_rows) {
            const std::size_t count = smaller(block_rows, panel.count - done);
            ask_for_next(job, panel, done);
            const auto write = [&](const auto &part) { return part.write(panel, count, totals, job.past_caches); };
            if (!panel.selective && !panel.own_scales && with_plain_part(job, panel, done, write)) {
                continue;
            }
            load(job, panel, done, count, block);
            form_gradients(job, panel, count, totals, block);
            scale_rows(panel, count, block);
            leave_out(job, panel, done, count, Float(0), block.gradients);
            store(job, panel, done, count, block);
        }
    }
};

} // namespace
} // namespace wr::host::WR_ISA
