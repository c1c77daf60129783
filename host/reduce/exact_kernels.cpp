// Exact sums of one instruction set, WR_ISA: the terms of a piece of a panel, block by block, into the words of its
// outputs.
#ifndef WR_ISA
#define WR_ISA baseline
#endif

#include "host/reduce/find_exact.h"

#include "host/reduce/exact_store.h"
#include "host/reduce/exact_window.h"

namespace wr::host::WR_ISA {

namespace {

// Terms that one output's words take before their carries go up.
constexpr std::size_t terms_between_carries = std::size_t{1} << 28;

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
WR_HD void widen_apart(const T *from, std::ptrdiff_t stride, std::size_t count, double *to) {
    for (std::size_t i = 0; i < count; ++i) {
        to[i] = static_cast<double>(widen(from[static_cast<std::ptrdiff_t>(i) * stride]));
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

struct PanelOfOutputs {
    std::ptrdiff_t start; // of its first output, from the input's first element
    std::size_t outputs;
};

PanelOfOutputs panel_of(const ExactJob &job, std::size_t panel) {
    const std::size_t first = panel % job.panels.per_outer * job.panels.width;
    return {static_cast<std::ptrdiff_t>(panel / job.panels.per_outer) * job.shape.outer_stride +
                static_cast<std::ptrdiff_t>(first) * job.shape.inner_stride,
            smaller(job.panels.width, job.shape.inner - first)};
}

// An output's words, which are zeros before anything is added to them: many have nothing that needs them.
struct LazyWords {
    ExactLayout layout;
    std::int64_t *words;
    bool begun;

    WR_HD std::int64_t *get() {
        if (!begun) {
            begun = true;
            for (int i = 0; i < exact_words(layout); ++i) {
                words[i] = 0;
            }
        }
        return words;
    }
};

// Lanes of a window belong to one output, or each to one of neighbouring outputs.
WR_HD void take_counts(const Window &window, std::size_t first, std::size_t lanes, LazyWords &words) {
    for (const int anchor : {0, 1}) {
        add_exactly(words.get(), words.layout, window.count(anchor, first, lanes), window.exponent(anchor));
    }
    words.get()[words.layout.limbs + static_cast<int>(window.mark_of(first, lanes))] = 1;
}

using Widened = FloatSum<double>;
constexpr Mapping no_mapping{};

WR_HD Doubles minus_zeros() { return bit_cast<Doubles>(Patterns{} + ~all_but_the_sign); }

// A vector of neighbours. (Compilers do the conversions by halves.)
template <class T>
WR_HD Doubles load_terms(const T *from) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<T, float>) {
        return bit_cast<Doubles>(_mm512_maskz_cvtps_pd(0xFF, load_vector<__m256>(from)));
    } else if constexpr (std::is_same_v<T, F16>) {
        return bit_cast<Doubles>(_mm512_maskz_cvtps_pd(0xFF, _mm256_cvtph_ps(load_vector<__m128i>(from))));
    } else if constexpr (std::is_same_v<T, BF16>) {
        const __m256i words = _mm256_slli_epi32(_mm256_cvtepu16_epi32(load_vector<__m128i>(from)), 16);
        return bit_cast<Doubles>(_mm512_maskz_cvtps_pd(0xFF, _mm256_castsi256_ps(words)));
    }
#endif
    return load_mapped<Widened>(from, no_mapping);
}

// Terms of a row, vector by vector; where one has fewer, the others are -0, which changes nothing.
template <class T, bool weighted>
struct RowTerms {
    // That go into one of sums(); 0: there is none.
    static constexpr std::size_t sums_vectors = weighted ? 0 : elements_of_sums<T> / lanes_of<double>;

    const T *elements, *weights;

    WR_HD FewSums sums(std::size_t vector) const { return few_sums(elements + vector * lanes_of<double>); }

    WR_HD Doubles whole(std::size_t vector) const {
        const std::size_t at = vector * lanes_of<double>;
        const Doubles x = load_terms(elements + at);
        if constexpr (weighted) {
            return x * load_terms(weights + at);
        }
        return x;
    }
    WR_HD Doubles part(std::size_t vector, std::size_t count) const {
        constexpr std::size_t lanes = lanes_of<double>;
        const std::size_t at = vector * lanes;
        const Doubles x = load_mapped_part<Widened>(elements + at, count, no_mapping);
        if constexpr (weighted) {
            const Doubles product = x * load_mapped_part<Widened>(weights + at, count, no_mapping);
            return lanes_below<double>(count, std::make_index_sequence<lanes>{}) ? product : minus_zeros();
        }
        return x;
    }
};

// The same of neighbouring columns: a vector has one element of each.
template <class T>
struct ColumnTerms {
    static constexpr std::size_t sums_vectors = 0;

    const T *elements, *weights; // weights may be nullptr
    std::ptrdiff_t stride;
    std::size_t lanes;

    WR_HD Doubles whole(std::size_t i) const {
        const T *across = elements + static_cast<std::ptrdiff_t>(i) * stride;
        const Doubles x =
            lanes == lanes_of<double> ? load_terms(across) : load_mapped_part<Widened>(across, lanes, no_mapping);
        return weights == nullptr ? x : x * static_cast<double>(widen(weights[i]));
    }
    WR_HD Doubles part(std::size_t, std::size_t) const { return minus_zeros(); } // never asked for
};

// What does not fit a window, of one output: elements that are neighbours or lie apart, at most exact_block of them.
template <class T>
__attribute__((noinline)) void add_one_block(const ExactJob &job, const T *elements, std::ptrdiff_t stride,
                                             const T *weights, std::size_t count, std::int64_t *words) {
    ExactBuffer x, y;
    if (stride == 1) {
        widen_neighbours(elements, count, x.values);
    } else {
        widen_apart(elements, stride, count, x.values);
    }
    if (weights != nullptr) {
        widen_neighbours(weights, count, y.values);
    }
    add_terms(job, x.values, y.values, count, words);
}

// Whether terms are f64 without a rounding.
template <class T>
bool has_terms(const ExactJob &job) {
    return sizeof(T) != sizeof(double) || job.weights == nullptr;
}

template <class T>
void add_row(const ExactJob &job, const T *row, const T *weights, std::size_t count, Window &window, LazyWords &words) {
    constexpr std::size_t lanes = lanes_of<double>;
    const auto take = [&] { take_counts(window, 0, lanes, words); };
    for (std::size_t done = 0; done < count; done += window_block) {
        const std::size_t here = smaller(window_block, count - done), vectors = here / lanes, rest = here % lanes;
        bool added = false;
        if (weights == nullptr) {
            added = window.add(vectors, rest, RowTerms<T, false>{row + done, nullptr}, take);
        } else if (has_terms<T>(job)) {
            added = window.add(vectors, rest, RowTerms<T, true>{row + done, weights + done}, take);
        }
        if (!added) {
            add_one_block(job, row + done, 1, weights == nullptr ? nullptr : weights + done, here, words.get());
        }
        if (done % terms_between_carries == terms_between_carries - window_block) {
            settle_words(words.get(), job.layout);
        }
    }
}

// Outputs side by side whose axis has any stride: as many as a vector has lanes, if they are neighbours.
template <class T>
void add_columns(const ExactJob &job, const T *columns, std::size_t outputs, const T *weights, std::size_t count,
                 Window &window, LazyWords *words) {
    const auto take = [&] {
        for (std::size_t i = 0; i < outputs; ++i) {
            take_counts(window, i, 1, words[i]);
        }
    };
    const std::ptrdiff_t stride = job.shape.axis_stride;
    const bool neighbours = (job.shape.inner_stride == 1 || outputs == 1) && has_terms<T>(job);
    for (std::size_t done = 0; done < count; done += window_vectors) {
        const std::size_t here = smaller(window_vectors, count - done);
        const T *first = columns + static_cast<std::ptrdiff_t>(done) * stride;
        const T *of_these = weights == nullptr ? nullptr : weights + done;
        if (!neighbours || !window.add(here, 0, ColumnTerms<T>{first, of_these, stride, outputs}, take)) {
            for (std::size_t i = 0; i < outputs; ++i) {
                add_one_block(job, first + static_cast<std::ptrdiff_t>(i) * job.shape.inner_stride, stride, of_these,
                              here, words[i].get());
            }
        }
        if (done % terms_between_carries == terms_between_carries - window_vectors) {
            for (std::size_t i = 0; i < outputs; ++i) {
                settle_words(words[i].get(), job.layout);
            }
        }
    }
}

// An output of a row, or neighbours of columns as many as a vector has lanes.
template <class T>
struct Group {
    const T *elements;
    std::size_t outputs;
    std::size_t lanes_each; // of a vector
};

template <class T>
Group<T> group_of(const ExactJob &job, const PanelOfOutputs &of, std::size_t output) {
    constexpr std::size_t lanes = lanes_of<double>;
    const bool rows = job.shape.axis_stride == 1 || job.shape.axis <= 1;
    return {static_cast<const T *>(job.input) + of.start + static_cast<std::ptrdiff_t>(output) * job.shape.inner_stride,
            rows ? 1 : smaller(lanes, of.outputs - output), rows ? lanes : 1};
}

// Elements `first` to first + count - 1 of the axis.
template <class T>
void add_group(const ExactJob &job, const Group<T> &group, std::size_t first, std::size_t count, Window &window,
               LazyWords *words) {
    const T *weights = job.weights == nullptr ? nullptr : static_cast<const T *>(job.weights) + first;
    if (group.lanes_each != 1) {
        add_row(job, group.elements + first, weights, count, window, *words);
    } else {
        add_columns(job, group.elements + static_cast<std::ptrdiff_t>(first) * job.shape.axis_stride, group.outputs,
                    weights, count, window, words);
    }
}

// Adds a piece of the axis to the words of a group's outputs.
template <class T>
void add_piece_of_group(const ExactJob &job, const Group<T> &group, std::size_t first, std::size_t count,
                        Window &window, std::int64_t *words) {
    LazyWords of[lanes_of<double>];
    for (std::size_t i = 0; i < group.outputs; ++i) {
        of[i] = {job.layout, words + i * static_cast<std::size_t>(exact_words(job.layout)), true};
    }
    add_group(job, group, first, count, window, of);
    window.flush([&] {
        for (std::size_t i = 0; i < group.outputs; ++i) {
            take_counts(window, i * group.lanes_each, group.lanes_each, of[i]);
        }
    });
}

// An output that nothing but the window has a part of. Most sums are an f64, and need no other rounding than theirs.
void store_window(const ExactJob &job, const Window &window, std::size_t lane, std::size_t lanes, std::size_t output) {
    constexpr std::int64_t most = std::int64_t{1} << 53;
    const std::int64_t count = window.count(0, lane, lanes);
    const int exponent = window.exponent(0);
    if (count != 0 && count > -most && count < most && window.count(1, lane, lanes) == 0 && exponent > -1000) {
        const double value = static_cast<double>(count) * bit_cast<double>(std::int64_t{1023 + exponent} << 52);
        if (job.output_type == ElementType::f32) {
            static_cast<float *>(job.output)[output] = static_cast<float>(value);
        } else {
            store_float(value, job.output_type, job.output, output);
        }
        return;
    }
    finish_exactly(window.total(lane, lanes), window.exponent(1), mark(window.mark_of(lane, lanes)), job.output_type,
                   job.output, output);
}

// Sums and stores a group's outputs, the first of which is `output`. What only the window has a part of needs no words.
template <class T>
void sum_group(const ExactJob &job, const Group<T> &group, Window &window, std::size_t output) {
    std::int64_t space[lanes_of<double>][most_exact_words];
    LazyWords words[lanes_of<double>];
    for (std::size_t i = 0; i < group.outputs; ++i) {
        words[i] = {job.layout, space[i], false};
    }
    add_group(job, group, 0, job.shape.axis, window, words);
    for (std::size_t i = 0; i < group.outputs; ++i) {
        const std::size_t lane = i * group.lanes_each;
        if (!words[i].begun && !job.as_state && !window.is_empty()) {
            store_window(job, window, lane, group.lanes_each, output + i);
            continue;
        }
        if (!window.is_empty()) {
            take_counts(window, lane, group.lanes_each, words[i]);
        }
        store_exact_words(job, output + i, words[i].get());
    }
    window.forget();
}

template <class T>
void sum_panels(const ExactJob &job, std::size_t first, std::size_t last) {
    Window window(job.layout);
    for (std::size_t panel = first; panel < last; ++panel) {
        const PanelOfOutputs of = panel_of(job, panel);
        const std::size_t before =
            panel / job.panels.per_outer * job.shape.inner + panel % job.panels.per_outer * job.panels.width;
        for (std::size_t output = 0; output < of.outputs;) {
            const Group<T> group = group_of<T>(job, of, output);
            sum_group(job, group, window, before + output);
            output += group.outputs;
        }
    }
}

template <class T>
void add_piece(const ExactJob &job, std::size_t panel, std::size_t first, std::size_t count, std::int64_t *words) {
    Window window(job.layout);
    const PanelOfOutputs of = panel_of(job, panel);
    for (std::size_t output = 0; output < of.outputs;) {
        const Group<T> group = group_of<T>(job, of, output);
        add_piece_of_group(job, group, first, count, window,
                           words + output * static_cast<std::size_t>(exact_words(job.layout)));
        output += group.outputs;
    }
}

// Calls what(T{}) with the type's own T.
template <class What>
void with_elements(ElementType type, const What &what) {
    switch (type) {
    case ElementType::f32:
        return what(float{});
    case ElementType::f64:
        return what(double{});
    case ElementType::f16:
        return what(F16{});
    case ElementType::bf16:
        return what(BF16{});
    case ElementType::f8_e4m3:
        return what(E4M3{});
    default:
        return what(E5M2{});
    }
}

} // namespace

void sum_exact_panels(const ExactJob &job, std::size_t first, std::size_t last) {
    with_elements(job.type, [&](auto element) { sum_panels<decltype(element)>(job, first, last); });
}

void add_exact_piece(const ExactJob &job, std::size_t panel, std::size_t first, std::size_t count,
                     std::int64_t *words) {
    with_elements(job.type, [&](auto element) { add_piece<decltype(element)>(job, panel, first, count, words); });
}

} // namespace wr::host::WR_ISA
