// Softmax's gradient where every element takes part and weights and gradients are stored in one type: straight from
// memory, without the blocks of backward_rows.h and backward_panels.h.
#pragma once

#include "host/common/store_runs.h"
#include "host/common/stream_stores.h"
#include "host/reduce/reduce_kernels.h"
#include "host/softmax/small_products.h"
#include "numerics/softmax_backward.h"

namespace wr::host::WR_ISA {
namespace {

template <class T>
constexpr ElementType stored_type = ElementType::f32;
template <>
constexpr ElementType stored_type<double> = ElementType::f64;
template <>
constexpr ElementType stored_type<F16> = ElementType::f16;
template <>
constexpr ElementType stored_type<BF16> = ElementType::bf16;

// Element: the arithmetic's own type, or a narrower one.
template <class Float, class Element = Float>
struct PlainGradient {
    using Bits = typename LiftedRange<Float>::Bits;
    using V = Register<Float>;
    using B = Register<Bits>;

    static constexpr std::size_t lanes = lanes_of<Float>;
    static constexpr ElementType type = stored_type<Element>;
    static constexpr std::size_t most_across = 256;

    // But for elements that take no part, which the caller knows.
    static bool is_possible(const SoftmaxBackwardProblem &p) {
        return p.output != nullptr && !p.log && !p.add_to_input_gradient && p.dtype == type &&
               p.output_gradient_dtype == type && p.input_gradient_dtype == type;
    }

    // Runs of neighbours whose starts lie `stride` elements apart.
    struct Array {
        const Element *first;
        std::ptrdiff_t stride;

        WR_HD const Element *run(std::size_t r) const { return first + static_cast<std::ptrdiff_t>(r) * stride; }
    };

    // Whether products with factors of these runs may be below the normal range, where processors are slow. Negative
    // factors count as large: the products are the same, only slower.
    static bool any_small_factor(const Array &weights, std::size_t runs, std::size_t width) {
        B least = B{} + std::numeric_limits<Bits>::max();
        for (std::size_t r = 0; r < runs; ++r) {
            for_vectors(anchor_of(weights.run(r)), width, [&](std::size_t c, auto vector) {
                const B bits = bit_cast<B>(vector.load(weights.run(r) + c)) - Bits{1};
                least = bits < least ? bits : least;
            });
        }
        return combine_lanes<SmallestWord<Bits>>(least) < bit_cast<Bits>(least_common_factor<Float>) - 1;
    }

    // What the elements of a run bring to its tree. `terms` is aligned and has room for whole vectors: what is read
    // again at once is not stored in part, which processors are slow to see.
    static void form_terms(const Float *weights, const Float *gradients, std::size_t count, Float *__restrict terms) {
        for_vectors(terms, count, [&](std::size_t c, auto vector) {
            store_vector(terms + c, vector.load(weights + c) * vector.load(gradients + c));
        });
    }

    // What eight runs bring to the trees across them.
    static void sum_eight(const Array &weights, const Array &gradients, std::size_t width, Float *__restrict sums) {
        for_vectors(anchor_of(weights.run(0)), width, [&](std::size_t c, auto vector) {
            const auto term = [&](std::ptrdiff_t r) {
                const auto run = static_cast<std::size_t>(r);
                return vector.load(weights.run(run) + c) * vector.load(gradients.run(run) + c);
            };
            vector.store(sums + c, tree_of_few<8>([](V a, V b) { return a + b; }, term));
        });
    }

    // The gradients of a run of one row's elements. They may take the place of the output's.
    static void write(const Float *weights, const Float *gradients, std::size_t count, Float total, Float scale,
                      Float *results) {
        const V all = total - V{}; // -0 stays
        write_run<false>(weights, gradients, count, scale, results, [&](std::size_t, auto) { return all; });
    }

    // The same of many rows' elements.
    static void write_across(const Element *weights, const Element *gradients, std::size_t count, const Float *totals,
                             Float scale, Element *results, bool past_caches) {
        const auto total = [&](std::size_t c, auto vector) { return vector.load(totals + c); };
        if constexpr (!std::is_same_v<Element, Float>) {
            alignas(64) Float wide[most_across];
            write_run<false>(weights, gradients, count, scale, wide, total);
            store_run(wide, count, type, results, 0);
        } else if (past_caches) {
            write_run<true>(weights, gradients, count, scale, results, total);
        } else {
            write_run<false>(weights, gradients, count, scale, results, total);
        }
    }

  private:
    // A vector of a run, or of what is left of it.
    struct Whole {
        WR_HD V load(const Float *from) const { return load_vector<V>(from); }
        template <class T>
        WR_HD V load(const T *from) const {
            return load_mapped<FloatSum<Float>>(from, Mapping{});
        }
        WR_HD void store(Float *to, V v) const { store_vector(to, v); }
        WR_HD void stream(Float *to, V v) const { stream_vector(to, v); }
    };
    struct Part {
        std::size_t count;

        WR_HD V load(const Float *from) const { return load_part<V>(from, count); }
        template <class T>
        WR_HD V load(const T *from) const {
            return load_mapped_part<FloatSum<Float>>(from, count, Mapping{});
        }
        WR_HD void store(Float *to, V v) const { store_part(to, v, count); }
        WR_HD void stream(Float *to, V v) const { store(to, v); }
    };

    // Whole vectors where `anchor` has their alignment: what crosses a cache line takes twice as long, and what goes
    // past the caches must not.
    static const Float *anchor_of(const Float *from) { return from; }
    template <class T>
    static const Float *anchor_of(const T *) {
        return nullptr; // narrow vectors are taken as they lie
    }

    template <class Do>
    WR_HD static void for_vectors(const Float *anchor, std::size_t count, const Do &act) {
        const std::size_t past_boundary = reinterpret_cast<std::uintptr_t>(anchor) % sizeof(V) / sizeof(Float);
        std::size_t c = 0;
        if (past_boundary != 0) {
            c = smaller(count, lanes - past_boundary);
            act(0, Part{c});
        }
        for (; count - c >= lanes; c += lanes) {
            act(c, Whole{});
        }
        if (c < count) {
            act(c, Part{count - c});
        }
    }

    template <bool past_caches, class Total>
    WR_HD static void write_run(const Element *weights, const Element *gradients, std::size_t count, Float scale,
                                Float *results, const Total &total) {
        for_vectors(results, count, [&](std::size_t c, auto vector) {
            const V difference = vector.load(gradients + c) - total(c, vector);
            const V gradient = vector.load(weights + c) * difference * scale;
            const V result = gradient == gradient ? gradient : V{} + std::numeric_limits<Float>::quiet_NaN();
            if constexpr (past_caches) {
                vector.stream(results + c, result);
            } else {
                vector.store(results + c, result);
            }
        });
    }
};

} // namespace
} // namespace wr::host::WR_ISA
