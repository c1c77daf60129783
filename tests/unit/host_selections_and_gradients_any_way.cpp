// Every variant of the host's kernels, on one thread and on several, gives the same bits for softmax with elements left
// out and for its gradient: those of the first variant on one thread, which the C harness compares with references.
#include "host/run.h"
#include "numerics/element_types.h"

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
    std::printf("%ld checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
