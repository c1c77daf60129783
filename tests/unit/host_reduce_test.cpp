// Every variant of the host's kernels, on one thread and on several, gives the bits of the plain recursive definition,
// whatever the layout. The reference here is element by element and knows nothing of vectors, blocks or threads.
#include "host/float_environment.h"
#include "host/host.h"
#include "host/run.h"
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

// A job's memory and shape; the input lies anywhere inside `memory`.
struct Layout {
    Shape shape;
    std::size_t elements; // of memory
    std::size_t origin;   // of element [0][0][0]
};

Layout contiguous(std::size_t outer, std::size_t axis, std::size_t inner) {
    const auto a = static_cast<std::ptrdiff_t>(axis), i = static_cast<std::ptrdiff_t>(inner);
    return {{outer, axis, inner, a * i, i, 1}, outer * axis * inner, 0};
}

// Each dimension with a gap, some of them backwards.
Layout strided(std::size_t outer, std::size_t axis, std::size_t inner, int kind) {
    std::ptrdiff_t strides[3] = {0, 0, 0};
    const std::size_t sizes[3] = {outer, axis, inner};
    static const int orders[4][3] = {{2, 1, 0}, {1, 2, 0}, {0, 1, 2}, {2, 0, 1}};
    std::ptrdiff_t next = kind == 1 ? 1 : 2;
    std::size_t origin = 0;
    for (const int d : orders[kind % 4]) {
        strides[d] = next;
        next *= static_cast<std::ptrdiff_t>(std::max<std::size_t>(sizes[d], 1)) + 1;
        if ((kind + d) % 3 == 0) {
            strides[d] = -strides[d];
            origin += (std::max<std::size_t>(sizes[d], 1) - 1) * static_cast<std::size_t>(-strides[d]);
        }
    }
    return {{outer, axis, inner, strides[0], strides[1], strides[2]}, static_cast<std::size_t>(next), origin};
}

std::ptrdiff_t place(const Layout &l, std::size_t o, std::size_t a, std::size_t i) {
    return static_cast<std::ptrdiff_t>(l.origin) + static_cast<std::ptrdiff_t>(o) * l.shape.outer_stride +
           static_cast<std::ptrdiff_t>(a) * l.shape.axis_stride + static_cast<std::ptrdiff_t>(i) * l.shape.inner_stride;
}

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
    } else if constexpr (std::is_same_v<T, F16> || std::is_same_v<T, BF16>) {
        T x;
        const ElementType type = std::is_same_v<T, F16> ? ElementType::f16 : ElementType::bf16;
        store_float(random_float<float>(smaller(spread, 12)), type, &x, 0);
        return x;
    } else if constexpr (std::is_same_v<T, KoalaBear>) {
        return {static_cast<std::uint32_t>(random_bits() % koalabear_prime)};
    } else {
        return static_cast<T>(random_bits());
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

template <class Op, class T>
void expected_reduction(const ReduceProblem &p, const Layout &l, const std::vector<T> &memory, void *output) {
    const std::uint64_t flip = p.op == Operator::min ? ~std::uint64_t{0} : 0;
    const Finish finish{p.op, p.dtype, p.output_dtype, l.shape.axis, flip};
    std::vector<typename Op::Accumulator> mapped(l.shape.axis);
    for (std::size_t o = 0; o < l.shape.outer; ++o) {
        for (std::size_t i = 0; i < l.shape.inner; ++i) {
            for (std::size_t a = 0; a < l.shape.axis; ++a) {
                mapped[a] = Op::map(memory[static_cast<std::size_t>(place(l, o, a, i))], flip);
            }
            const auto whole = l.shape.axis == 0 ? Op::identity() : tree<Op>(mapped, 0, l.shape.axis);
            finish_accumulator(whole, finish, output, o * l.shape.inner + i);
        }
    }
}

std::string describe(const Shape &s) {
    char text[200];
    std::snprintf(text, sizeof text, "[%zu][%zu][%zu] strides %td %td %td", s.outer, s.axis, s.inner, s.outer_stride,
                  s.axis_stride, s.inner_stride);
    return text;
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

struct ReduceCase {
    const char *name;
    Operator op;
    ElementType dtype, output, accumulate;
};

template <class Op, class T>
void check_reduction(const ReduceCase &c, const Layout &l, int spread, bool specials) {
    std::vector<T> memory(l.elements);
    for (T &x : memory) {
        x = random_element<T>(spread);
    }
    if (specials) {
        add_specials(memory);
    }
    ReduceProblem p{c.op, c.dtype, c.output, c.accumulate, memory.data() + l.origin, nullptr, l.shape, nullptr, 0};
    const std::size_t bytes = l.shape.outer * l.shape.inner * traits_of(c.output).size;
    std::vector<unsigned char> expected(bytes);
    expected_reduction<Op>(p, l, memory, expected.data());
    compare_everywhere(bytes, expected.data(), c.name, l.shape,
                       [&](const host::Kernels &kernels, std::size_t threads, unsigned char *output) {
                           p.output = output;
                           return host::run_reduce(p, kernels, threads);
                       });
}

std::vector<Layout> layouts() {
    std::vector<Layout> all;
    for (std::size_t n = 0; n <= 70; ++n) {
        all.push_back(contiguous(1, n, 1));
    }
    for (std::size_t n : Sizes{128, 256, 512, 1024, 4096, 8192, 1 << 14, 1 << 15, 1 << 16}) {
        for (std::size_t m : Sizes{n - 1, n, n + 1, n + n / 2 + 3}) {
            all.push_back(contiguous(1, m, 1));
        }
    }
    all.push_back(contiguous(1, 100003, 1));
    for (std::size_t n : Sizes{1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 255, 256, 257, 300, 1023, 1024, 1025}) {
        for (std::size_t rows : Sizes{1, 3, 8, 16, 17, 40, 130}) {
            all.push_back(contiguous(rows, n, 1));
        }
        for (std::size_t inner : Sizes{2, 7, 8, 31, 33, 64, 128, 257, 300}) {
            all.push_back(contiguous(1, n, inner));
            all.push_back(contiguous(3, n, inner));
        }
    }
    all.push_back(contiguous(1, 70001, 9));
    all.push_back(contiguous(2, 40000, 3));
    all.push_back(contiguous(1, 0, 5));
    all.push_back(contiguous(0, 5, 5));
    for (int kind = 0; kind < 8; ++kind) {
        for (std::size_t n : Sizes{1, 2, 13, 64, 1025, 2500}) {
            all.push_back(strided(1, n, 1, kind));
            all.push_back(strided(5, n, 1, kind));
            all.push_back(strided(1, n, 9, kind));
            all.push_back(strided(3, n, 20, kind));
        }
        all.push_back(strided(1, 40000, 2, kind));
    }
    return all;
}

template <class Op, class T>
void check_all_layouts(const ReduceCase &c) {
    int count = 0;
    for (const Layout &l : layouts()) {
        ++count;
        check_reduction<Op, T>(c, l, count % 2 == 0 ? 30 : 3, count % 3 == 0);
    }
    std::printf("%-28s %d layouts\n", c.name, count);
}

void check_reductions() {
    using O = Operator;
    using E = ElementType;
    check_all_layouts<FloatSum<float>, float>({"sum f32", O::sum, E::f32, E::f32, E::f32});
    check_all_layouts<FloatSum<double>, float>({"mean f32 in f64", O::mean, E::f32, E::f32, E::f64});
    check_all_layouts<FloatSum<double>, double>({"sum f64 to f32", O::sum, E::f64, E::f32, E::f64});
    check_all_layouts<FloatSum<float>, F16>({"mean f16", O::mean, E::f16, E::f16, E::f32});
    check_all_layouts<FloatSum<double>, F16>({"sum f16 in f64", O::sum, E::f16, E::f64, E::f64});
    check_all_layouts<FloatSum<float>, BF16>({"sum bf16 to f32", O::sum, E::bf16, E::f32, E::f32});
    check_all_layouts<FloatSum<double>, BF16>({"sum bf16 in f64", O::sum, E::bf16, E::bf16, E::f64});
    check_all_layouts<IntegerSum, std::int32_t>({"sum i32 to i64", O::sum, E::i32, E::i64, E::none});
    check_all_layouts<IntegerSum, std::int64_t>({"mean i64", O::mean, E::i64, E::f32, E::none});
    check_all_layouts<KoalaBearSum, KoalaBear>({"sum KoalaBear", O::sum, E::koalabear, E::koalabear, E::none});
    check_all_layouts<Extreme<std::int32_t>, float>({"max f32", O::max, E::f32, E::f32, E::none});
    check_all_layouts<Extreme<std::int32_t>, F16>({"min f16", O::min, E::f16, E::f16, E::none});
    check_all_layouts<Extreme<std::int32_t>, BF16>({"max bf16", O::max, E::bf16, E::bf16, E::none});
    check_all_layouts<Extreme<std::int32_t>, std::int32_t>({"min i32", O::min, E::i32, E::i32, E::none});
    check_all_layouts<Extreme<std::int64_t>, double>({"min f64", O::min, E::f64, E::f64, E::none});
    check_all_layouts<Extreme<std::int64_t>, std::int64_t>({"max i64", O::max, E::i64, E::i64, E::none});
}

void check_unsupported() {
    float x = 1, y = 7;
    const Shape shape = contiguous(1, 1, 1).shape;
    const ReduceProblem product{
        Operator::product, ElementType::f32, ElementType::f32, ElementType::f32, &x, &y, shape, nullptr, 0};
    CHECK(host::reduce(product) == Status::unsupported && y == 7, "product");
    const ReduceProblem bytes{
        Operator::sum, ElementType::u8, ElementType::u8, ElementType::none, &x, &y, shape, nullptr, 0};
    CHECK(host::reduce(bytes) == Status::unsupported && y == 7, "u8");
    const ReduceProblem mean{
        Operator::mean, ElementType::koalabear, ElementType::f32, ElementType::none, &x, &y, shape, nullptr, 0};
    CHECK(host::reduce(mean) == Status::unsupported && y == 7, "mean of field words");
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
            return log_softmax_output(logits[k], log_pieces<Float>(row_logsumexp(whole.maximum, whole.sum)));
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
    SoftmaxProblem p{dtype,   output_dtype, log,     log && specials, scale, memory.data() + l.origin,
                     nullptr, sums.data(),  l.shape, nullptr,         0};
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
        SoftmaxProblem p{dtype, output_dtype, true, false, 1.0, x.data(), nullptr, nullptr, l.shape, nullptr, 0};
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

// The caller's environment neither enters the result nor is changed.
void check_float_environment() {
#if defined(__x86_64__)
    const unsigned before = __builtin_ia32_stmxcsr();
    const unsigned upward_flushing = (before & ~0x6000u) | 0x4000u | 0x8040u;
    std::vector<float> x(1 << 20, 0x1p-140f);
    x[1] = 0x1.8p-149f;
    float out = 0;
    const ReduceProblem p{Operator::sum,
                          ElementType::f32,
                          ElementType::f32,
                          ElementType::f32,
                          x.data(),
                          &out,
                          contiguous(1, x.size(), 1).shape,
                          nullptr,
                          0};
    std::uint32_t expected = 0;
    CHECK(host::reduce(p) == Status::success, "sum");
    std::memcpy(&expected, &out, 4);
    CHECK(expected != 0, "subnormals are kept");
    for (const std::size_t threads : Sizes{1, 3}) {
        __builtin_ia32_ldmxcsr(upward_flushing);
        const Status status = host::run_reduce(p, host::best_kernels(), threads);
        const unsigned after = __builtin_ia32_stmxcsr();
        __builtin_ia32_ldmxcsr(before);
        CHECK(status == Status::success && std::bit_cast<std::uint32_t>(out) == expected, "with %zu threads", threads);
        CHECK(after == upward_flushing, "restored");
    }
#endif
}

} // namespace

int main() {
    std::printf("%zu variants of the kernels\n", host::usable_variants().count);
    check_reductions();
    check_unsupported();
    check_softmaxes<float>(ElementType::f32, ElementType::f16);
    check_softmaxes<double>(ElementType::f64, ElementType::f32);
    check_softmaxes<F16>(ElementType::f16, ElementType::f32);
    check_softmaxes<BF16>(ElementType::bf16, ElementType::f8_e4m3);
    check_stores<float>(ElementType::f32, ElementType::f16);
    check_stores<float>(ElementType::f32, ElementType::bf16);
    check_stores<double>(ElementType::f64, ElementType::f16);
    check_float_environment();
    std::printf("%ld checks, %d failures\n", checks, failures);
    return failures == 0 ? 0 : 1;
}
