// Every variant of the host's kernels, on one thread and on several, gives the same bits for softmax with elements left
// out and for its gradient: those of the first variant on one thread, which the C harness compares with references. Of
// gradients with weights near and below the end of the normal range those of the plain definition, element by element.
#include "host/common/run.h"
#include "numerics/element_types.h"
#include "numerics/softmax_backward.h"

#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <random>
#include <vector>

namespace {

using namespace wr;
using Bytes = std::vector<unsigned char>;

int failures = 0;
long checks = 0;

std::mt19937_64 random_bits(1);

Bytes random_floats(ElementType type, std::size_t count) {
    Bytes bytes(count * traits_of(type).size);
    for (std::size_t i = 0; i < count; ++i) {
        const double x = static_cast<double>(random_bits() >> 40) * 0x1p-21 - 4.0;
        store_float(x, type, bytes.data(), i);
    }
    return bytes;
}

struct Case {
    ElementType dtype;
    Shape shape;
    bool masked, with_lengths, causal, log;
};

// What the selection points into.
struct Arrays {
    Bytes mask;
    std::vector<std::int64_t> lengths;

    explicit Arrays(const Shape &s) : mask(s.outer * s.axis * s.inner), lengths(s.outer * s.inner) {
        for (unsigned char &each : mask) {
            each = static_cast<unsigned char>(random_bits() % 3);
        }
        for (std::int64_t &each : lengths) {
            each = static_cast<std::int64_t>(random_bits() % (s.axis + s.axis / 4 + 1));
        }
    }

    Selection selection(const Case &of) const {
        Selection s{};
        s.mask = of.masked ? mask.data() : nullptr;
        s.lengths = of.with_lengths ? lengths.data() : nullptr;
        s.causal = of.causal;
        s.causal_first = static_cast<std::int64_t>(of.shape.axis / 2);
        s.causal_rows = of.shape.axis;
        return s;
    }
};

// Runs `job(kernels, threads, results)` in every way; results starts as `before` each time.
template <class Job>
void compare(const Case &of, const char *what, const Bytes &before, Job job) {
    const host::Variants variants = host::usable_variants();
    Bytes expected;
    for (std::size_t v = 0; v < variants.count; ++v) {
        for (const std::size_t threads : {std::size_t{1}, std::size_t{3}, std::size_t{16}}) {
            Bytes result = before;
            const bool done = job(*variants.kernels[v], threads, result.data()) == Status::success;
            if (expected.empty()) {
                expected = result;
            }
            ++checks;
            if (!done || result != expected) {
                ++failures;
                std::printf("%s of type %d, [%zu][%zu][%zu], mask %d, lengths %d, causal %d, log %d: variant %zu, %zu "
                            "threads\n",
                            what, static_cast<int>(of.dtype), of.shape.outer, of.shape.axis, of.shape.inner, of.masked,
                            of.with_lengths, of.causal, of.log, v, threads);
            }
        }
    }
}

void check_softmax(const Case &of) {
    const std::size_t elements = of.shape.outer * of.shape.axis * of.shape.inner;
    const std::size_t rows = of.shape.outer * of.shape.inner, bytes = elements * traits_of(of.dtype).size;
    const Bytes input = random_floats(of.dtype, elements);
    const Arrays arrays(of.shape);
    SoftmaxProblem p{};
    p.dtype = p.output_dtype = of.dtype;
    p.logsumexp_dtype = state_type(of.dtype);
    p.log = of.log;
    p.scale = 1.25;
    p.input = input.data();
    p.shape = of.shape;
    p.selection = arrays.selection(of);
    const std::size_t sums_at = (bytes + 7) / 8 * 8, row_bytes = rows * 8;
    compare(of, "softmax", Bytes(sums_at + 2 * row_bytes), [&](const host::Kernels &k, std::size_t threads, auto *to) {
        p.output = to;
        p.logsumexp = to + sums_at;
        p.maximum = to + sums_at + row_bytes;
        return host::run_softmax(p, k, threads);
    });
    p.output = nullptr;
    compare(of, "logsumexp", Bytes(row_bytes), [&](const host::Kernels &k, std::size_t threads, auto *to) {
        p.logsumexp = to;
        p.maximum = nullptr;
        return host::run_softmax(p, k, threads);
    });
}

void check_backward(const Case &of, bool from_logits) {
    const std::size_t elements = of.shape.outer * of.shape.axis * of.shape.inner;
    const Bytes saved = random_floats(of.dtype, elements), gradient = random_floats(of.dtype, elements);
    const Bytes sums = random_floats(state_type(of.dtype), of.shape.outer * of.shape.inner);
    const Arrays arrays(of.shape);
    SoftmaxBackwardProblem p{};
    p.dtype = p.output_gradient_dtype = p.input_gradient_dtype = of.dtype;
    p.log = of.log;
    p.scale = 0.75;
    p.output = from_logits ? nullptr : saved.data();
    p.input = from_logits ? saved.data() : nullptr;
    p.logsumexp = from_logits ? sums.data() : nullptr;
    p.shape = of.shape;
    p.gradient_outer_stride = of.shape.outer_stride;
    p.gradient_axis_stride = of.shape.axis_stride;
    p.gradient_inner_stride = of.shape.inner_stride;
    p.selection = arrays.selection(of);
    // In place, so that a gradient written too early would show.
    compare(of, "gradient", gradient, [&](const host::Kernels &k, std::size_t threads, auto *to) {
        p.output_gradient = p.input_gradient = to;
        return host::run_softmax_backward(p, k, threads);
    });
}

Shape contiguous(std::size_t outer, std::size_t axis, std::size_t inner) {
    const auto a = static_cast<std::ptrdiff_t>(axis), i = static_cast<std::ptrdiff_t>(inner);
    return {outer, axis, inner, a * i, i, 1};
}

// Of either sign, between 2 and 2^-range; with specials a few of them 0, infinite or NaN.
template <class Float>
Float any_magnitude(int range, bool specials) {
    const std::uint64_t bits = random_bits();
    if (specials && bits % 64 < 3) {
        return bits % 64 == 0   ? Float(0)
               : bits % 64 == 1 ? std::numeric_limits<Float>::infinity()
                                : std::numeric_limits<Float>::quiet_NaN();
    }
    const double fraction = 1.0 + std::ldexp(static_cast<double>(bits >> 20), -44);
    const int exponent = -static_cast<int>(bits / 64 % static_cast<unsigned>(range));
    return static_cast<Float>(std::ldexp(bits % 2 == 0 ? fraction : -fraction, exponent));
}

template <class Float>
Float plain_sum(const std::vector<Float> &terms, std::size_t first, std::size_t count) {
    if (count == 1) {
        return terms[first];
    }
    const std::size_t left = std::bit_ceil(count) / 2;
    return plain_sum(terms, first, left) + plain_sum(terms, first + left, count - left);
}

template <class Float>
void check_small_weights(ElementType dtype, std::size_t count, double scale, bool specials) {
    const int range = dtype == ElementType::f32 ? 160 : 1090;
    std::vector<Float> weights(count), gradients(count), terms(count), expected(count), actual(count);
    for (std::size_t i = 0; i < count; ++i) {
        weights[i] = any_magnitude<Float>(range, specials && count > 1000);
        gradients[i] = any_magnitude<Float>(i % 4 == 0 ? range : 20, specials);
        terms[i] = gradient_term(false, weights[i], gradients[i]);
    }
    const Float total = plain_sum(terms, 0, count);
    for (std::size_t i = 0; i < count; ++i) {
        const Float result = softmax_gradient(false, weights[i], gradients[i], total) * static_cast<Float>(scale);
        store_float(result, dtype, expected.data(), i);
    }
    SoftmaxBackwardProblem p{};
    p.dtype = p.output_gradient_dtype = p.input_gradient_dtype = dtype;
    p.scale = scale;
    p.output = weights.data();
    p.output_gradient = gradients.data();
    p.input_gradient = actual.data();
    p.shape = contiguous(1, count, 1);
    p.gradient_outer_stride = p.shape.outer_stride;
    p.gradient_axis_stride = p.gradient_inner_stride = 1;
    const host::Variants variants = host::usable_variants();
    for (std::size_t v = 0; v < variants.count; ++v) {
        const Status status = host::run_softmax_backward(p, *variants.kernels[v], 1);
        ++checks;
        if (status != Status::success || std::memcmp(actual.data(), expected.data(), count * sizeof(Float)) != 0) {
            ++failures;
            std::printf("small weights: type %d variant %zu count %zu scale %g\n", static_cast<int>(dtype), v, count,
                        scale);
        }
    }
}

template <class Float>
void check_small_weights(ElementType dtype) {
    for (const std::size_t count : {1, 3, 17, 64, 100, 1000, 1024, 1025, 5000}) {
        for (int round = 0; round < 40; ++round) {
            check_small_weights<Float>(dtype, count, round % 2 == 0 ? 1.0 : 0.3, round % 8 == 7);
        }
    }
}

} // namespace

int main() {
    const Shape shapes[] = {contiguous(1, 70000, 1), contiguous(2, 40000, 3), contiguous(37, 100, 1),
                            contiguous(3, 50, 20),   contiguous(5, 3000, 1),  contiguous(40, 1, 1)};
    for (const ElementType dtype : {ElementType::f32, ElementType::f64, ElementType::f16, ElementType::bf16,
                                    ElementType::f8_e4m3, ElementType::f8_e5m2}) {
        for (const Shape &shape : shapes) {
            for (int kind = 0; kind < 16; ++kind) {
                const Case of{dtype, shape, (kind & 1) != 0, (kind & 2) != 0, (kind & 4) != 0, (kind & 8) != 0};
                check_softmax(of);
                check_backward(of, kind % 3 == 0);
            }
        }
    }
    check_small_weights<float>(ElementType::f32);
    check_small_weights<double>(ElementType::f64);
    std::printf("%ld checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
