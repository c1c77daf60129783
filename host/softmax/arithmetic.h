// What softmax by blocks, as numerics/softmax.h defines it, needs wherever the elements of a row lie: its types, its
// logits, and what decides its outputs once its state is known.
#pragma once

#include "host/common/vector_kernels.h"
#include "host/common/vectors.h"
#include "numerics/softmax.h"
#include "numerics/tree.h"

namespace wr::host::WR_ISA {
namespace {

// Every row of a call is finished by one of these.
template <class Float>
struct RowFinish {
    RowKind kind;
    Float special;           // each output of a row that is not ordinary
    Float left_out;          // the output of an element that takes no part
    LogPieces<Float> pieces; // of logsumexp; for log-softmax of ordinary rows
};

// Stands for the formats narrower than f32: which of them an input has is known at run time, for they differ in nothing
// but how they are read.
struct NarrowFloat {};

// Elements of an input, from its element `first` on.
template <class Element>
struct StoredLogits {
    const void *array;
    ElementType type;
    std::ptrdiff_t first;

    const Element *elements() const { return static_cast<const Element *>(array) + first; }

    // Calls use(x) with the address of the first as that of what they are.
    template <class Use>
    void read(Use use) const {
        if constexpr (!std::is_same_v<Element, NarrowFloat>) {
            use(elements());
            return;
        }
        switch (type) {
        case ElementType::f16:
            return use(static_cast<const F16 *>(array) + first);
        case ElementType::bf16:
            return use(static_cast<const BF16 *>(array) + first);
        case ElementType::f8_e4m3:
            return use(static_cast<const E4M3 *>(array) + first);
        default:
            return use(static_cast<const E5M2 *>(array) + first);
        }
    }
};

template <class Element>
struct SoftmaxTypes {
    using Float = typename SoftmaxArithmetic<Element>::Float;
    using Sum = typename SoftmaxArithmetic<Element>::Sum;
    using State = RowState<Float, Sum>;
    using Counter = TreeCounter<StateMerge<Float, Sum>, 53>;
};

template <class Float, class Sum>
RowFinish<Float> row_finish(const SoftmaxJob &job, const RowState<Float, Sum> &row) {
    RowFinish<Float> finish{row_kind(row.maximum), Float(0), Float(0), {Float(0), Float(0)}};
    finish.left_out = left_out_output<Float>(finish.kind, job.log, job.empty_row_zero);
    if (finish.kind != RowKind::ordinary) {
        finish.special = special_output<Float>(finish.kind, job.log, job.empty_row_zero);
    } else if (job.log) {
        finish.pieces = row_logsumexp(row.maximum, row.sum);
    }
    return finish;
}

inline bool takes_both_pieces(ElementType output) { return output == ElementType::f32 || output == ElementType::f64; }

// Pieces start at multiples of it.
constexpr std::size_t block_length(std::size_t axis, std::size_t done) { return smaller(softmax_block, axis - done); }

template <class Element, class Float>
void load_logits(const Element *x, std::size_t count, Float scale, Float *__restrict logits) {
    // Multiplying by 1 changes nothing but a signalling NaN's bit, and no output shows a NaN's bits.
    using Widen = FloatSum<Float>;
    const std::size_t vectors_end = count - count % lanes_of<Float>;
    for (std::size_t i = 0; i < vectors_end; i += lanes_of<Float>) {
        store_vector(logits + i, load_mapped<Widen>(x + i, Mapping{}) * scale);
    }
    for (std::size_t i = vectors_end; i < count; ++i) {
        logits[i] = Widen::map(x[i], Mapping{}) * scale;
    }
}

} // namespace
} // namespace wr::host::WR_ISA
