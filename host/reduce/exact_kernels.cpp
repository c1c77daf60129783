// Exact sums of one instruction set, WR_ISA: the terms of a piece of a strip, block by block, into the words of its
// outputs.
#ifndef WR_ISA
#define WR_ISA baseline
#endif

#include "host/reduce/find_exact.h"

#include "host/reduce/exact_block.h"

namespace wr::host::WR_ISA {

namespace {

// Terms that one output's words take before their carries go up.
constexpr std::size_t terms_between_carries = std::size_t{1} << 28;

// Elements of a block of each output, where outputs are gathered side by side.
constexpr std::size_t gathered_block = exact_block / exact_strip;

// Elements and weights of one output, or terms.
struct ExactBuffer {
    alignas(vector_bytes) double values[exact_block];
};

template <class T>
WR_HD void widen_neighbours(const T *from, std::size_t count, double *to) {
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = static_cast<double>(widen(from[i]));
    }
}

template <class T>
WR_HD void widen_apart(const T *from, std::ptrdiff_t stride, std::size_t count, double *to, std::size_t apart) {
    for (std::size_t i = 0; i < count; ++i) {
        to[i * apart] = static_cast<double>(widen(from[static_cast<std::ptrdiff_t>(i) * stride]));
    }
}

// What every product of such factors needs to be the sum of two f64: 0, or no further from 1 than this.
constexpr std::int64_t most_exponent_of_factors = 480;
WR_HD bool has_product_of_two(const double *values, std::size_t count) {
    bool all = true;
    for (std::size_t i = 0; i < count; ++i) {
        const std::int64_t magnitude = bit_cast<std::int64_t>(values[i]) & all_but_the_sign;
        const std::int64_t exponent = (magnitude >> 52) - 1023;
        all = all &
              ((magnitude == 0) | ((exponent >= -most_exponent_of_factors) & (exponent <= most_exponent_of_factors)));
    }
    return all;
}

// Both are used up.
WR_HD void add_f64_products(double *values, double *weights, std::size_t count, ExactLayout layout,
                            std::int64_t *words) {
    if (!has_product_of_two(values, count) || !has_product_of_two(weights, count)) {
        for (std::size_t i = 0; i < count; ++i) {
            const std::uint32_t marks = marks_of_product(values[i], weights[i]);
            for (int kind = 0; kind < exact_marks; ++kind) {
                words[layout.limbs + kind] += marks >> kind & 1u;
            }
            if ((marks & finite_marks) != 0) {
                add_product_exactly(words, values[i], weights[i]);
            }
        }
        return;
    }
    for (std::size_t i = 0; i < count; ++i) {
        const double product = values[i] * weights[i];
        weights[i] = fused(values[i], weights[i], -product);
        values[i] = product;
    }
    add_block_exactly(values, count, layout, false, words);
    add_rounds(weights, count, facts_of_block(weights, count).largest, layout, words);
}

WR_HD void add_terms(const ExactJob &job, double *values, double *weights, std::size_t count, std::int64_t *words) {
    if (job.weights != nullptr && job.type == ElementType::f64) {
        add_f64_products(values, weights, count, job.layout, words);
        return;
    }
    if (job.weights != nullptr) {
        for (std::size_t i = 0; i < count; ++i) {
            values[i] *= weights[i];
        }
    }
    add_block_exactly(values, count, job.layout, job.ignore_nan, words);
}

struct StripOfOutputs {
    std::ptrdiff_t start; // of its first output, from the input's first element
    std::size_t outputs;
};

StripOfOutputs strip_of(const ExactJob &job, std::size_t strip) {
    const std::size_t first = strip % job.strips.per_outer * job.strips.width;
    return {static_cast<std::ptrdiff_t>(strip / job.strips.per_outer) * job.shape.outer_stride +
                static_cast<std::ptrdiff_t>(first) * job.shape.inner_stride,
            smaller(job.strips.width, job.shape.inner - first)};
}

template <class T>
void add_rows(const ExactJob &job, const StripOfOutputs &of, std::size_t first, std::size_t count,
              std::int64_t *words) {
    ExactBuffer values, weights;
    for (std::size_t output = 0; output < of.outputs; ++output, words += exact_words(job.layout)) {
        const T *row =
            static_cast<const T *>(job.input) + of.start + static_cast<std::ptrdiff_t>(output) * job.shape.inner_stride;
        for (std::size_t done = 0; done < count; done += exact_block) {
            const std::size_t here = smaller(exact_block, count - done);
            widen_neighbours(row + first + done, here, values.values);
            if (job.weights != nullptr) {
                widen_neighbours(static_cast<const T *>(job.weights) + first + done, here, weights.values);
            }
            add_terms(job, values.values, weights.values, here, words);
            if (done % terms_between_carries == terms_between_carries - exact_block) {
                settle_words(words, job.layout);
            }
        }
    }
}

template <class T>
void add_columns(const ExactJob &job, const StripOfOutputs &of, std::size_t first, std::size_t count,
                 std::int64_t *words) {
    ExactBuffer values, weights;
    for (std::size_t done = 0; done < count; done += gathered_block) {
        const std::size_t here = smaller(gathered_block, count - done);
        for (std::size_t i = 0; i < here; ++i) {
            const T *across = static_cast<const T *>(job.input) + of.start +
                              static_cast<std::ptrdiff_t>(first + done + i) * job.shape.axis_stride;
            widen_apart(across, job.shape.inner_stride, of.outputs, values.values + i, gathered_block);
        }
        for (std::size_t output = 0; output < of.outputs; ++output) {
            std::int64_t *of_output = words + output * static_cast<std::size_t>(exact_words(job.layout));
            if (job.weights != nullptr) {
                widen_neighbours(static_cast<const T *>(job.weights) + first + done, here, weights.values);
            }
            add_terms(job, values.values + output * gathered_block, weights.values, here, of_output);
            if (done % terms_between_carries == terms_between_carries - gathered_block) {
                settle_words(of_output, job.layout);
            }
        }
    }
}

template <class T>
void add_piece(const ExactJob &job, std::size_t strip, std::size_t first, std::size_t count, std::int64_t *words) {
    const StripOfOutputs of = strip_of(job, strip);
    if (job.shape.axis_stride == 1 || job.shape.axis <= 1) {
        add_rows<T>(job, of, first, count, words);
    } else {
        add_columns<T>(job, of, first, count, words);
    }
}

} // namespace

void add_exact_piece(const ExactJob &job, std::size_t strip, std::size_t first, std::size_t count,
                     std::int64_t *words) {
    switch (job.type) {
    case ElementType::f32:
        return add_piece<float>(job, strip, first, count, words);
    case ElementType::f64:
        return add_piece<double>(job, strip, first, count, words);
    case ElementType::f16:
        return add_piece<F16>(job, strip, first, count, words);
    case ElementType::bf16:
        return add_piece<BF16>(job, strip, first, count, words);
    case ElementType::f8_e4m3:
        return add_piece<E4M3>(job, strip, first, count, words);
    default:
        return add_piece<E5M2>(job, strip, first, count, words);
    }
}

} // namespace wr::host::WR_ISA
