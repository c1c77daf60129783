// The gradient of softmax, row by row as numerics/softmax_backward.h defines it.
#pragma once

#include "host/common/store_runs.h"
#include "host/reduce/reduce_kernels.h"
#include "host/softmax/plain_gradients.h"
#include "numerics/saved_logarithms.h"
#include "numerics/softmax_backward.h"
#include "numerics/softmax_rows.h"

namespace wr::host::WR_ISA {
namespace {

template <class Float, class Element>
void widen_elements(const Element *x, std::ptrdiff_t stride, std::size_t count, Float *__restrict wide) {
    if (stride == 1) {
        using Widen = FloatSum<Float>;
        const std::size_t vectors_end = count - count % lanes_of<Float>;
        for (std::size_t i = 0; i < vectors_end; i += lanes_of<Float>) {
            store_vector(wide + i, load_mapped<Widen>(x + i, Mapping{}));
        }
        for (std::size_t i = vectors_end; i < count; ++i) {
            wide[i] = Widen::map(x[i], Mapping{});
        }
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        wide[i] = static_cast<Float>(widen(x[static_cast<std::ptrdiff_t>(i) * stride]));
    }
}

// Elements of an array whose type is known at run time, from the one at `offset` on.
inline void widen_run(const void *array, ElementType type, std::ptrdiff_t offset, std::ptrdiff_t stride,
                      std::size_t count, double *wide) {
    (void)type; // f64 goes with f64 alone
    widen_elements(static_cast<const double *>(array) + offset, stride, count, wide);
}

inline void widen_run(const void *array, ElementType type, std::ptrdiff_t offset, std::ptrdiff_t stride,
                      std::size_t count, float *wide) {
    switch (type) {
    case ElementType::f32:
        widen_elements(static_cast<const float *>(array) + offset, stride, count, wide);
        break;
    case ElementType::f16:
        widen_elements(static_cast<const F16 *>(array) + offset, stride, count, wide);
        break;
    case ElementType::bf16:
        widen_elements(static_cast<const BF16 *>(array) + offset, stride, count, wide);
        break;
    case ElementType::f8_e4m3:
        widen_elements(static_cast<const E4M3 *>(array) + offset, stride, count, wide);
        break;
    default:
        widen_elements(static_cast<const E5M2 *>(array) + offset, stride, count, wide);
        break;
    }
}

// Whether log-softmax gave -infinity in each place of a row that takes part.
inline bool nothing_was_left(const SoftmaxBackwardProblem &p, std::size_t row) {
    const RowPlaces of = places_of_row(p.selection, p.shape, row);
    std::size_t at = 0;
    while (at < of.taken && !shows_that_something_was_left(p, of, at)) {
        ++at;
    }
    return at >= of.taken;
}

template <class Float>
SavedRow<Float> saved_row_of(const SoftmaxBackwardProblem &p, std::size_t row) {
    const auto scale = scale_of_row<Float>(p, row);
    if (may_have_empty_rows(p)) {
        return saved_logarithms(scale, nothing_was_left(p, row));
    }
    if (p.output != nullptr) {
        return saved_row(p.log ? SavedAs::logarithms : SavedAs::weights, p.log, scale, Float(0), p.empty_row_zero);
    }
    return saved_row(SavedAs::logits, p.log, scale, static_cast<const Float *>(p.logsumexp)[row], p.empty_row_zero);
}

// What the input's gradients were; their type may be narrower than Float.
template <class Float>
void load_stored_gradients(const SoftmaxBackwardProblem &p, std::ptrdiff_t first, std::ptrdiff_t stride,
                           std::size_t count, Float *old) {
    for (std::size_t i = 0; i < count; ++i) {
        const auto place = static_cast<std::size_t>(first + static_cast<std::ptrdiff_t>(i) * stride);
        old[i] = static_cast<Float>(load_float(p.input_gradient_dtype, p.input_gradient, place));
    }
}

// What elements bring to their rows' trees, into the weights' place.
template <class Float>
void form_terms(bool log, std::size_t count, Float *__restrict weights, const Float *__restrict gradients) {
    if (log) {
        std::memcpy(weights, gradients, count * sizeof(Float));
    } else if (any_small_factor(count, weights)) {
        multiply_small(count, weights, gradients, Float(1), weights);
    } else {
        for (std::size_t i = 0; i < count; ++i) {
            weights[i] = gradient_term(false, weights[i], gradients[i]);
        }
    }
}

template <class Float>
struct RowBackward {
    using Job = SoftmaxBackwardJob;
    using Plain = PlainGradient<Float>;

    // A piece of a row: where its first element lies in each array.
    struct Piece {
        std::ptrdiff_t saved, gradient, result;
        std::size_t count; // elements that take part, but for those that the mask leaves out
        std::size_t past;  // elements behind them
        SavedRow<Float> row;
        Float scale; // of gradients
    };

    struct Block {
        alignas(64) Float weights[softmax_block], gradients[softmax_block];
    };

    static Piece ragged_piece(const SoftmaxBackwardProblem &p, std::size_t row) {
        const RowSpan span = ragged_row(p.selection, p.shape.outer, p.shape.axis, row);
        const std::size_t taken = leading_elements(p.selection, row, row, span.count);
        const auto first = static_cast<std::ptrdiff_t>(span.first);
        return {
            first, first, first, taken, span.count - taken, saved_row_of<Float>(p, row), scale_of_row<Float>(p, row)};
    }

    static Piece piece_at(const Job &job, std::size_t row, std::size_t first, std::size_t count) {
        const SoftmaxBackwardProblem &p = job.problem;
        const std::size_t outer = row / p.shape.inner;
        const auto o = static_cast<std::ptrdiff_t>(outer), i = static_cast<std::ptrdiff_t>(row % p.shape.inner);
        const auto a = static_cast<std::ptrdiff_t>(first);
        const std::size_t limit = leading_elements(p.selection, row, outer, p.shape.axis);
        const std::size_t taken = smaller(count, limit - smaller(limit, first));
        return {o * p.shape.outer_stride + a * p.shape.axis_stride + i * p.shape.inner_stride,
                o * p.gradient_outer_stride + a * p.gradient_axis_stride + i * p.gradient_inner_stride,
                o * job.result_outer_stride + a * job.result_axis_stride + i * job.result_inner_stride,
                taken,
                count - taken,
                saved_row_of<Float>(p, row),
                scale_of_row<Float>(p, row)};
    }

    static Piece whole_row(const Job &job, std::size_t row) {
        return job.problem.selection.ragged ? ragged_piece(job.problem, row)
                                            : piece_at(job, row, 0, job.problem.shape.axis);
    }

    static bool takes_part(const Job &job, const Piece &piece, std::size_t at) {
        const std::uint8_t *mask = job.problem.selection.mask;
        return mask == nullptr || mask[piece.result + static_cast<std::ptrdiff_t>(at) * job.result_axis_stride] != 0;
    }

    // The weights and the output's gradients of a block.
    static void load(const Job &job, const Piece &piece, std::size_t done, std::size_t count, Block &block) {
        const SoftmaxBackwardProblem &p = job.problem;
        const auto at = static_cast<std::ptrdiff_t>(done);
        widen_run(p.output != nullptr ? p.output : p.input, p.dtype, piece.saved + at * p.shape.axis_stride,
                  p.shape.axis_stride, count, block.weights);
        widen_run(p.output_gradient, p.output_gradient_dtype, piece.gradient + at * p.gradient_axis_stride,
                  p.gradient_axis_stride, count, block.gradients);
        if (piece.row.saved_as != SavedAs::weights) {
            const SavedRow<Float> row = piece.row;
            for (std::size_t i = 0; i < count; ++i) {
                block.weights[i] = weight_of(row, block.weights[i]);
            }
        }
    }

    static bool is_plain(const Job &job) {
        const SoftmaxBackwardProblem &p = job.problem;
        return Plain::is_possible(p) && p.selection.mask == nullptr && p.shape.axis_stride == 1 &&
               p.gradient_axis_stride == 1 && job.result_axis_stride == 1;
    }
    static const Float *plain_weights(const Job &job, const Piece &piece, std::size_t done) {
        return static_cast<const Float *>(job.problem.output) + piece.saved + done;
    }
    static const Float *plain_gradients(const Job &job, const Piece &piece, std::size_t done) {
        return static_cast<const Float *>(job.problem.output_gradient) + piece.gradient + done;
    }

    static Float sum(const Job &job, const Piece &piece) {
        TreeCounter<FloatSum<Float>, 53> counter;
        Block block;
        const bool plain = is_plain(job);
        for (std::size_t done = 0; done < piece.count; done += softmax_block) {
            const std::size_t count = smaller(softmax_block, piece.count - done);
            if (plain) {
                const Float *const weights = plain_weights(job, piece, done);
                if (!Plain::any_small_factor({weights, 0}, 1, count)) {
                    Plain::form_terms(weights, plain_gradients(job, piece, done), count, block.weights);
                    counter.push(run_tree<FloatSum<Float>>(block.weights, count, Mapping{}));
                    continue;
                }
            }
            load(job, piece, done, count, block);
            form_terms(job.problem.log, count, block.weights, block.gradients);
            if (job.problem.selection.mask != nullptr) {
                for (std::size_t i = 0; i < count; ++i) {
                    block.weights[i] = takes_part(job, piece, done + i) ? block.weights[i] : Float(-0.0);
                }
            }
            counter.push(run_tree<FloatSum<Float>>(block.weights, count, Mapping{}));
        }
        return counter.result();
    }

    // Stores gradients, the first of which belongs to element `done` of the piece.
    static void store(const Job &job, const Piece &piece, std::size_t done, std::size_t count, Float *gradients) {
        const SoftmaxBackwardProblem &p = job.problem;
        const std::ptrdiff_t stride = job.result_axis_stride;
        const std::ptrdiff_t first = piece.result + static_cast<std::ptrdiff_t>(done) * stride;
        if (p.add_to_input_gradient) {
            alignas(64) Float old[softmax_block];
            load_stored_gradients(p, first, stride, count, old);
            for (std::size_t i = 0; i < count; ++i) {
                gradients[i] = old[i] + gradients[i];
            }
        }
        if (stride == 1) {
            store_run(gradients, count, p.input_gradient_dtype, p.input_gradient, static_cast<std::size_t>(first));
            return;
        }
        for (std::size_t i = 0; i < count; ++i) {
            store_float(gradients[i], p.input_gradient_dtype, p.input_gradient,
                        static_cast<std::size_t>(first + static_cast<std::ptrdiff_t>(i) * stride));
        }
    }

    // From the output's gradients of a block to the input's.
    static void form_gradients(bool log, Float total, Float scale, std::size_t count, Block &block) {
        if (log) {
            for (std::size_t i = 0; i < count; ++i) {
                const Float gradient = softmax_gradient(true, block.weights[i], block.gradients[i], total);
                block.gradients[i] = unless_nothing_was_left(block.weights[i], gradient) * scale;
            }
            return;
        }
        if (!any_small_factor(count, block.weights)) {
            for (std::size_t i = 0; i < count; ++i) {
                block.gradients[i] = softmax_gradient(false, block.weights[i], block.gradients[i], total) * scale;
            }
            return;
        }
        for (std::size_t i = 0; i < count; ++i) {
            block.gradients[i] = block.gradients[i] - total;
        }
        multiply_small(count, block.weights, block.gradients, scale, block.gradients);
    }

    static void write(const Job &job, const Piece &piece, Float total) {
        Block block;
        const bool plain = is_plain(job);
        for (std::size_t done = 0; done < piece.count; done += softmax_block) {
            const std::size_t count = smaller(softmax_block, piece.count - done);
            if (plain) {
                const Float *const weights = plain_weights(job, piece, done);
                if (!Plain::any_small_factor({weights, 0}, 1, count)) {
                    Plain::write(weights, plain_gradients(job, piece, done), count, total, piece.scale,
                                 static_cast<Float *>(job.problem.input_gradient) + piece.result + done);
                    continue;
                }
            }
            load(job, piece, done, count, block);
            form_gradients(job.problem.log, total, piece.scale, count, block);
            for (std::size_t i = 0; job.problem.selection.mask != nullptr && i < count; ++i) {
                block.gradients[i] = takes_part(job, piece, done + i) ? block.gradients[i] : Float(0);
            }
            store(job, piece, done, count, block.gradients);
        }
        for (std::size_t done = 0; done < piece.past; done += softmax_block) {
            const std::size_t count = smaller(softmax_block, piece.past - done);
            for (std::size_t i = 0; i < count; ++i) {
                block.gradients[i] = Float(0);
            }
            store(job, piece, piece.count + done, count, block.gradients);
        }
    }
};

} // namespace
} // namespace wr::host::WR_ISA
