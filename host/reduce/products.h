// Products of elements with their weights, both straight from memory into registers.
#pragma once

#include "host/common/tree_runs.h"

namespace wr::host::WR_ISA {
namespace {

// A weighted sum whose Mapping holds, in the place of the weights, how many bytes behind its element a weight lies: the
// same of all elements of a run.
template <class Float>
struct ProductSum : FloatSum<Float> {};

template <class Float>
struct CombineVectors<ProductSum<Float>> : CombineVectors<FloatSum<Float>> {};

template <class Float>
Mapping with_distance(Mapping m, const Float *x, const Float *weights) {
    m.weights =
        reinterpret_cast<const void *>(reinterpret_cast<std::uintptr_t>(weights) - reinterpret_cast<std::uintptr_t>(x));
    return m;
}

template <class Float>
struct LoadVectors<ProductSum<Float>, Float> {
    static constexpr bool known = true;
    using V = Register<Float>;

    WR_HD static V load(const Float *x, const Mapping &m) {
        const Float *const weights = weights_of(x, m);
        prefetch(weights, run_bytes_ahead);
        return load_vector<V>(x) * load_vector<V>(weights);
    }
    WR_HD static V load_part(const Float *x, std::size_t count, const Mapping &m) {
        const V products = host::WR_ISA::load_part<V>(x, count) * host::WR_ISA::load_part<V>(weights_of(x, m), count);
        const V identity = FloatSum<Float>::identity() - V{}; // -0, which a sum with +0 is not
        return lanes_below<Float>(count, std::make_index_sequence<lanes_of<Float>>{}) ? products : identity;
    }

  private:
    WR_HD static const Float *weights_of(const Float *x, const Mapping &m) {
        return static_cast<const Float *>(
            address_ahead(x, static_cast<std::ptrdiff_t>(reinterpret_cast<std::uintptr_t>(m.weights))));
    }
};

} // namespace
} // namespace wr::host::WR_ISA
