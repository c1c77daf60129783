// Every pattern of the 16-bit and 8-bit floats, as every variant of the host's kernels reads it: alone, as a column, as
// a short row, and as softmax's logit.
#include "check.h"
#include "naive_reduction.h"

#include "host/common/run.h"

#include <cstring>

namespace {

using namespace wr;

Shape contiguous(std::size_t outer, std::size_t axis, std::size_t inner) {
    const auto a = static_cast<std::ptrdiff_t>(axis), i = static_cast<std::ptrdiff_t>(inner);
    return {outer, axis, inner, a * i, i, 1};
}

Reduction reduction_of(Operator op, ElementType dtype) {
    Reduction what{};
    what.op = op;
    what.dtype = dtype;
    what.output_dtype = ElementType::f32;
    what.accumulate_dtype = op == Operator::max ? ElementType::none : ElementType::f32;
    return what;
}

std::size_t bytes_of_narrow(ElementType dtype) { return traits_of(dtype).size == 1 ? 1 : 2; }

// All patterns in order, `repeated` times each.
naive::Bytes all_patterns(ElementType dtype, std::size_t repeated) {
    const std::size_t size = bytes_of_narrow(dtype), patterns = std::size_t{1} << (8 * size);
    naive::Bytes elements(patterns * repeated * size);
    for (std::size_t i = 0; i < patterns * repeated; ++i) {
        const std::size_t pattern = i / repeated;
        std::memcpy(elements.data() + i * size, &pattern, size);
    }
    return elements;
}

// What the naive definition gives for a row of `axis` elements of each pattern.
std::vector<std::uint32_t> expected_of(const Reduction &what, const naive::Bytes &elements, std::size_t axis) {
    const std::size_t row_bytes = axis * bytes_of_narrow(what.dtype);
    std::vector<std::uint32_t> expected(elements.size() / row_bytes);
    for (std::size_t i = 0; i < expected.size(); ++i) {
        const unsigned char *element = elements.data() + i * row_bytes;
        const naive::Axis row{std::vector<const unsigned char *>(axis, element), {}};
        std::memcpy(&expected[i], naive::reduce(what, row, element).output.data(), sizeof expected[i]);
    }
    return expected;
}

void compare(const std::vector<std::uint32_t> &expected, const std::vector<std::uint32_t> &results, ElementType dtype,
             const char *what, std::size_t variant) {
    std::size_t wrong = 0, first = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
        if (expected[i] != results[i]) {
            first = wrong++ == 0 ? i : first;
        }
    }
    CHECK(wrong == 0, "type %d, %s, variant %zu: %zu patterns, the first %zx", static_cast<int>(dtype), what, variant,
          wrong, first);
}

// Rows of `axis` equal elements, or columns of one element.
void check(ElementType dtype, Operator op, std::size_t axis, bool columns) {
    const naive::Bytes elements = all_patterns(dtype, axis);
    const Reduction what = reduction_of(op, dtype);
    const std::vector<std::uint32_t> expected = expected_of(what, elements, axis);
    std::vector<std::uint32_t> results(expected.size());
    ReduceProblem p{};
    p.what = what;
    p.input = elements.data();
    p.output = results.data();
    p.shape = columns ? contiguous(1, axis, results.size()) : contiguous(results.size(), axis, 1);
    const host::Variants variants = host::usable_variants();
    for (std::size_t v = 0; v < variants.count; ++v) {
        CHECK(host::run_reduce(p, *variants.kernels[v], 1) == Status::success, "variant %zu", v);
        compare(expected, results, dtype, columns ? "columns" : "rows", v);
    }
}

// The maximum that softmax gives of a row of one logit many times over is the logit; of zeros it is +0.
void check_logits(ElementType dtype) {
    constexpr std::size_t axis = 64;
    const naive::Bytes elements = all_patterns(dtype, axis);
    std::vector<std::uint32_t> expected = expected_of(reduction_of(Operator::max, dtype), elements, axis);
    std::vector<std::uint32_t> maxima(expected.size());
    for (std::uint32_t &bits : expected) {
        bits = bits == 0x80000000u ? 0u : bits;
    }
    SoftmaxProblem p{};
    p.dtype = dtype;
    p.output_dtype = p.logsumexp_dtype = ElementType::f32;
    p.scale = 1.0;
    p.input = elements.data();
    p.maximum = maxima.data();
    p.shape = contiguous(maxima.size(), axis, 1);
    const host::Variants variants = host::usable_variants();
    for (std::size_t v = 0; v < variants.count; ++v) {
        CHECK(host::run_softmax(p, *variants.kernels[v], 1) == Status::success, "variant %zu", v);
        compare(expected, maxima, dtype, "softmax's maxima", v);
    }
}

} // namespace

int main() {
    for (const ElementType dtype : {ElementType::f16, ElementType::bf16, ElementType::f8_e4m3, ElementType::f8_e5m2}) {
        for (const Operator op : {Operator::sum, Operator::max, Operator::norm_l1}) {
            check(dtype, op, 1, true);
            check(dtype, op, 1, false);
            check(dtype, op, 19, false);
        }
        check_logits(dtype);
    }
    return check_report("every_narrow_float_widens_exactly");
}
