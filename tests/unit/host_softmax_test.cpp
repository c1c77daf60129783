// Every variant of the host's softmax, on one thread and on several, gives the bits of the plain recursive definition,
// whatever the layout. The reference here is element by element and knows nothing of vectors, blocks or threads.
#include "host/common/run.h"
#include "host_layouts.h"
#include "numerics/softmax.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace wr;
using Sizes = std::initializer_list<std::size_t>;

int failures = 0;
long checks = 0;

#define CHECK(condition, ...)                                                                                          \
    do {                                                                                                               \
        ++checks;                                                                                                      \
        if (!(condition)) {                                                                                            \
            ++failures;                                                                                                \
            std::printf("%s:%d: %s: ", __FILE__, __LINE__, #condition);                                                \
            std::printf(__VA_ARGS__);                                                                                  \
            std::printf("\n");                                                                                         \
        }                                                                                                              \
    } while (0)

std::mt19937_64 random_bits(1);

template <class Float>
Float random_float(int spread) {
    const double u = std::ldexp(static_cast<double>(random_bits() >> 11), -53) * 2 - 1;
    const int exponent = spread == 0 ? 0 : static_cast<int>(random_bits() % static_cast<unsigned>(2 * spread)) - spread;
    return static_cast<Float>(std::ldexp(u, exponent));
}

template <class T>
T random_element(int spread) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        return random_float<T>(spread);
    } else {
        T x;
        const ElementType type = std::is_same_v<T, F16> ? ElementType::f16 : ElementType::bf16;
        store_float(random_float<float>(smaller(spread, 12)), type, &x, 0);
        return x;
    }
}

// Now and then a special value, where the type has them.
template <class T>
void add_specials(std::vector<T> &x) {
    if constexpr (std::is_same_v<T, float> || std::is_same_v<T, double>) {
        const T values[] = {T(-0.0),
                            T(0.0),
                            std::numeric_limits<T>::infinity(),
                            -std::numeric_limits<T>::infinity(),
                            std::numeric_limits<T>::quiet_NaN(),
                            std::numeric_limits<T>::denorm_min(),
                            T(3e6)};
        for (std::size_t k = 0; k < x.size() / 300 + 1 && !x.empty(); ++k) {
            x[random_bits() % x.size()] = values[random_bits() % 7];
        }
    }
    if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
        for (std::size_t k = 0; k < x.size() / 300 + 1 && !x.empty(); ++k) {
            x[random_bits() % x.size()] = {static_cast<std::uint16_t>(random_bits())};
        }
    }
}

template <class Op>
typename Op::Accumulator tree(const std::vector<typename Op::Accumulator> &x, std::size_t first, std::size_t count) {
    if (count == 1) {
        return x[first];
    }
    const std::size_t left = std::bit_ceil(count) / 2;
    return Op::combine(tree<Op>(x, first, left), tree<Op>(x, first + left, count - left));
}

template <class Run>
void compare_everywhere(std::size_t bytes, const unsigned char *expected, const char *what, const Shape &shape,
                        Run run) {
    const host::Variants variants = host::usable_variants();
    for (std::size_t v = 0; v < variants.count; ++v) {
        for (const std::size_t threads : Sizes{1, 3}) {
            std::vector<unsigned char> actual(bytes + 1, 0xA5);
            const Status status = run(*variants.kernels[v], threads, actual.data());
            CHECK(status == Status::success, "%s status %d", what, static_cast<int>(status));
            CHECK(std::equal(actual.begin(), actual.end() - 1, expected) && actual[bytes] == 0xA5,
                  "%s variant %zu threads %zu %s", what, v, threads, describe(shape).c_str());
        }
    }
}

template <class Float>
bool same_bits(const std::vector<Float> &a, const std::vector<Float> &b) {
    return a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Float)) == 0;
}

// ---- Softmax, one element at a time.

template <class T>
struct SoftmaxRow {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using Merge = StateMerge<Float, Sum>;
    using State = RowState<Float, Sum>;

    std::vector<Float> logits, exponentials;
    std::vector<Float> maxima;
    State whole;

    explicit SoftmaxRow(std::vector<Float> row) : logits(std::move(row)), exponentials(logits.size()) {
        std::vector<State> states;
        for (std::size_t first = 0; first < logits.size(); first += softmax_block) {
            states.push_back(block(first, smaller(softmax_block, logits.size() - first)));
        }
        whole = states.empty() ? Merge::identity() : tree<Merge>(states, 0, states.size());
    }

    State block(std::size_t first, std::size_t count) {
        Float maximum = -std::numeric_limits<Float>::infinity();
        for (std::size_t k = first; k < first + count; ++k) {
            maximum = larger_or_nan(maximum, logits[k]);
        }
        const Frame<Float> frame = frame_of(maximum);
        std::vector<Sum> terms;
        for (std::size_t k = first; k < first + count; ++k) {
            exponentials[k] = exponential_in(frame, logits[k]);
            terms.push_back(static_cast<Sum>(exponentials[k]));
        }
        maxima.push_back(maximum);
        return {maximum, settle_block_sum(maximum, tree<FloatSum<Sum>>(terms, 0, count))};
    }

    Float output(const SoftmaxProblem &p, std::size_t k) const {
        const RowKind kind = row_kind(whole.maximum);
        if (kind != RowKind::ordinary) {
            return special_output<Float>(kind, p.log, p.empty_row_zero);
        }
        if (p.log) {
            return log_softmax_output(logits[k], row_logsumexp(whole.maximum, whole.sum));
        }
        const auto factor = block_factor(maxima[k / softmax_block], whole.maximum, whole.sum);
        const bool wide = p.output_dtype == ElementType::f32 || p.output_dtype == ElementType::f64;
        return wide ? softmax_output(exponentials[k], factor) : softmax_narrow_output(exponentials[k], factor);
    }
};

template <class T>
void expected_softmax(const SoftmaxProblem &p, const Layout &l, const std::vector<T> &memory, void *output,
                      void *logsumexp) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    for (std::size_t o = 0; o < l.shape.outer; ++o) {
        for (std::size_t i = 0; i < l.shape.inner; ++i) {
            std::vector<Float> logits;
            for (std::size_t a = 0; a < l.shape.axis; ++a) {
                const auto x = static_cast<Float>(widen(memory[static_cast<std::size_t>(place(l, o, a, i))]));
                logits.push_back(p.scale == 1.0 ? x : x * static_cast<Float>(p.scale));
            }
            const SoftmaxRow<T> row(logits);
            for (std::size_t a = 0; a < l.shape.axis; ++a) {
                store_float(row.output(p, a), p.output_dtype, output, (o * l.shape.axis + a) * l.shape.inner + i);
            }
            store_logsumexp(row.whole.maximum, row.whole.sum, logsumexp, o * l.shape.inner + i);
        }
    }
}

SoftmaxProblem softmax_problem(ElementType dtype, ElementType output_dtype, bool log, const Shape &shape) {
    SoftmaxProblem p{};
    p.dtype = dtype;
    p.output_dtype = output_dtype;
    p.logsumexp_dtype = dtype == ElementType::f64 ? ElementType::f64 : ElementType::f32;
    p.log = log;
    p.scale = 1.0;
    p.shape = shape;
    return p;
}

template <class T>
void check_softmax(ElementType dtype, ElementType output_dtype, const Layout &l, bool log, double scale, int spread,
                   bool specials) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    std::vector<T> memory(l.elements);
    for (T &x : memory) {
        x = random_element<T>(spread);
    }
    if (specials) {
        add_specials(memory);
    }
    const std::size_t rows = l.shape.outer * l.shape.inner;
    const std::size_t bytes = rows * l.shape.axis * traits_of(output_dtype).size;
    std::vector<unsigned char> expected(bytes);
    std::vector<Float> expected_sums(rows), sums(rows);
    SoftmaxProblem p = softmax_problem(dtype, output_dtype, log, l.shape);
    p.empty_row_zero = log && specials;
    p.scale = scale;
    p.input = memory.data() + l.origin;
    p.logsumexp = sums.data();
    expected_softmax(p, l, memory, expected.data(), expected_sums.data());
    compare_everywhere(bytes, expected.data(), "softmax", l.shape,
                       [&](const host::Kernels &kernels, std::size_t threads, unsigned char *output) {
                           p.output = output;
                           std::fill(sums.begin(), sums.end(), Float(42));
                           const Status status = host::run_softmax(p, kernels, threads);
                           CHECK(same_bits(sums, expected_sums), "logsumexp dtype %d %s", static_cast<int>(dtype),
                                 describe(l.shape).c_str());
                           return status;
                       });
    if (bytes != 0 && is_contiguous(l.shape) && traits_of(output_dtype).size == sizeof(T)) {
        compare_everywhere(bytes, expected.data(), "softmax in place", l.shape,
                           [&](const host::Kernels &kernels, std::size_t threads, unsigned char *output) {
                               std::memcpy(output, memory.data(), bytes);
                               p.input = p.output = output;
                               return host::run_softmax(p, kernels, threads);
                           });
    }
}

std::vector<Layout> softmax_layouts() {
    std::vector<Layout> all;
    for (std::size_t n : Sizes{0, 1, 2, 3, 8, 17, 63, 64, 65, 100, 1000, 1023, 1024, 1025, 2049, 4096, 4097, 9001}) {
        for (std::size_t rows : Sizes{1, 3, 17}) {
            all.push_back(contiguous(rows, n, 1));
        }
        all.push_back(contiguous(2, n, 3));
        all.push_back(contiguous(1, n, 16));
        all.push_back(contiguous(1, n, 37));
    }
    all.push_back(contiguous(1, 70000, 1));
    all.push_back(contiguous(1, 40000, 5));
    // More side by side than are computed at once, and a part of what is.
    all.push_back(contiguous(1, 100, 150));
    all.push_back(contiguous(2, 2100, 70));
    for (std::size_t n : Sizes{3, 10, 16, 33, 100, 255, 256}) {
        all.push_back(contiguous(150, n, 1));
    }
    // One behind the other, and side by side in the output.
    all.push_back({{1, 50, 150, 7500, 1, 50}, 7500, 0});
    all.push_back(contiguous(1, 0, 150));
    for (int kind = 0; kind < 8; ++kind) {
        for (std::size_t n : Sizes{1, 20, 200, 1500}) {
            all.push_back(strided(3, n, 1, kind));
            all.push_back(strided(2, n, 18, kind));
        }
    }
    return all;
}

template <class T>
void check_softmaxes(ElementType dtype, ElementType other_output) {
    int count = 0;
    for (const Layout &l : softmax_layouts()) {
        const int spread = count % 4 == 0 ? 9 : 4;
        const bool specials = count % 5 == 0;
        const double scale = count % 3 == 0 ? 0.37 : 1.0;
        check_softmax<T>(dtype, dtype, l, false, scale, spread, specials);
        check_softmax<T>(dtype, dtype, l, true, scale, spread, specials);
        check_softmax<T>(dtype, other_output, l, count % 2 == 0, scale, spread, specials);
        // Logits so large that blocks subtract their maximum.
        check_softmax<T>(dtype, dtype, l, count % 2 == 0, dtype == ElementType::f16 ? 1e4 : 1.0, 28, false);
        // Logits so far apart that outputs, or what the lower piece of their factor adds, are below the normal range.
        const double apart = (30.0 + count % 40) * (dtype == ElementType::f64 ? 8.0 : 1.0);
        check_softmax<T>(dtype, count % 2 == 0 ? dtype : other_output, l, false, apart, 0, false);
        ++count;
    }
    std::printf("softmax type %-15d %d layouts\n", static_cast<int>(dtype), count);
}

// Whatever value an output has, it is stored as store_float does. A row of one element per lane of log-softmax with a
// row maximum far above gives nearly any value.
template <class Float>
void check_stores(ElementType dtype, ElementType output_dtype) {
    const std::size_t n = 4096;
    for (int exponent = -30; exponent < 19; ++exponent) {
        std::vector<Float> x(n);
        for (Float &each : x) {
            each = static_cast<Float>(std::ldexp(-random_float<double>(0) - 1, exponent));
        }
        x[n / 2] = Float(0);
        const Layout l = contiguous(1, n, 1);
        SoftmaxProblem p = softmax_problem(dtype, output_dtype, true, l.shape);
        p.input = x.data();
        std::vector<unsigned char> expected(n * traits_of(output_dtype).size);
        std::vector<Float> sums(1);
        expected_softmax(p, l, x, expected.data(), sums.data());
        compare_everywhere(expected.size(), expected.data(), "stores", l.shape,
                           [&](const host::Kernels &kernels, std::size_t threads, unsigned char *output) {
                               p.output = output;
                               return host::run_softmax(p, kernels, threads);
                           });
    }
}

} // namespace

int main() {
    std::printf("%zu variants of the kernels\n", host::usable_variants().count);
    check_softmaxes<float>(ElementType::f32, ElementType::f16);
    check_softmaxes<double>(ElementType::f64, ElementType::f32);
    check_softmaxes<F16>(ElementType::f16, ElementType::f32);
    check_softmaxes<BF16>(ElementType::bf16, ElementType::f8_e4m3);
    check_stores<float>(ElementType::f32, ElementType::f16);
    check_stores<float>(ElementType::f32, ElementType::bf16);
    check_stores<double>(ElementType::f64, ElementType::f16);
    std::printf("%ld checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
