// Every reduction that the library offers, on every variant of the host's kernels, on one thread and on several, has
// the bits of the naive definition: whatever the layout, the weights, the NaNs and what the output held before.
#include "capi/offered.h"
#include "host/common/run.h"
#include "host_layouts.h"
#include "naive_reduction.h"

#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <random>
#include <string>
#include <vector>

namespace {

using namespace wr;
using naive::Bytes;
using Sizes = std::initializer_list<std::size_t>;

int failures = 0;
long checks = 0;

std::mt19937_64 random_bits(20240607);

std::uint64_t below(std::uint64_t limit) { return random_bits() % limit; }

enum class Content {
    ordinary,   // numbers near one, any integers
    special,    // any bit patterns now and then
    zeros,      // of either sign
    largest,    // NaN, the largest integer or word
    few_values, // many equals, and NaNs among them
};
constexpr int contents = 5;

std::uint64_t prime_of(ElementType type) {
    switch (type) {
    case ElementType::koalabear:
    case ElementType::koalabear_x4:
        return 0x7F000001u;
    case ElementType::babybear:
    case ElementType::babybear_x4:
        return 0x78000001u;
    case ElementType::mersenne31:
        return 0x7FFFFFFFu;
    default:
        return 0xFFFFFFFF00000001u;
    }
}

std::uint64_t random_field_word(ElementType type, Content content) {
    const std::uint64_t p = prime_of(type);
    switch (content) {
    case Content::ordinary:
        return below(p);
    case Content::zeros:
        return 0;
    case Content::largest:
        return type == ElementType::goldilocks ? ~std::uint64_t{0} : type == ElementType::mersenne31 ? p : p - 1;
    case Content::special:
        if (below(2) == 0 && (type == ElementType::goldilocks || type == ElementType::mersenne31)) {
            return p + (type == ElementType::goldilocks ? below(2) * below(0xFFFFFFFF) : 0);
        }
        return below(2) == 0 ? p - 1 - below(3) : below(3);
    default:
        return below(2) == 0 ? p - 1 - below(3) : below(3);
    }
}

// A pattern of 1 and a few bits around it: products of many stay finite.
std::uint64_t near_one(ElementType type) {
    static const std::uint64_t ones[] = {0, 0x3F800000u, 0x3FF0000000000000u, 0x3C00u, 0x3F80u, 0x38u, 0x3Cu};
    static const int mantissa_bits[] = {0, 23, 52, 10, 7, 3, 2};
    const auto t = static_cast<std::size_t>(type);
    const std::uint64_t sign = below(2) << (8 * naive::size_of(type) - 1);
    const std::uint64_t spread = std::uint64_t{1} << mantissa_bits[t];
    return (ones[t] - spread + below(2 * spread)) | sign;
}

std::uint64_t random_float(ElementType type, Content content) {
    static const std::uint64_t nans[] = {0, 0xFFC00001u, 0x7FF0000000000001u, 0xFE01u, 0x7FC1u, 0xFFu, 0x7Du};
    const std::uint64_t sign = std::uint64_t{1} << (8 * naive::size_of(type) - 1);
    switch (content) {
    case Content::ordinary:
        return near_one(type);
    case Content::special:
        return below(24) == 0 ? random_bits() : near_one(type);
    case Content::zeros:
        return below(8) == 0 ? 0 : sign;
    case Content::largest:
        return nans[static_cast<std::size_t>(type)];
    default:
        return below(40) == 0 ? nans[static_cast<std::size_t>(type)] : below(3) == 0 ? 0 : below(2) * sign + below(2);
    }
}

std::uint64_t random_integer(ElementType type, Content content) {
    const std::uint64_t top = std::uint64_t{1} << (8 * naive::size_of(type) - 1);
    switch (content) {
    case Content::ordinary:
        return random_bits();
    case Content::special:
        return below(4) == 0 ? top - below(2) : random_bits();
    case Content::zeros:
        return 0;
    case Content::largest:
        return below(2) == 0 ? ~std::uint64_t{0} : top;
    default:
        return top + below(2);
    }
}

void fill(ElementType type, Content content, Bytes &memory) {
    const std::size_t size = naive::size_of(type);
    const std::size_t word = size == 16 ? 4 : size;
    for (std::size_t at = 0; at + word <= memory.size(); at += word) {
        const std::uint64_t x = naive::is_field(type)     ? random_field_word(type, content)
                                : naive::is_integer(type) ? random_integer(type, content)
                                                          : random_float(type, content);
        std::memcpy(memory.data() + at, &x, word);
    }
}

// An array that begins where its alignment is that of its element and no better.
class Array {
  public:
    Array(ElementType type, std::size_t count, Content content)
        : shift_(std::min<std::size_t>(naive::size_of(type), 4)) {
        if (naive::size_of(type) == 8) {
            shift_ = 8;
        }
        bytes_.resize(count * naive::size_of(type) + shift_);
        Bytes elements(count * naive::size_of(type));
        fill(type, content, elements);
        std::copy(elements.begin(), elements.end(), bytes_.begin() + static_cast<std::ptrdiff_t>(shift_));
    }
    const unsigned char *data() const { return bytes_.data() + shift_; }

  private:
    std::size_t shift_;
    Bytes bytes_;
};

std::string name_of(const Reduction &what) {
    char text[200];
    std::snprintf(text, sizeof text, "operator %d type %d output %d kept in %d weights %d%s%s",
                  static_cast<int>(what.op), static_cast<int>(what.dtype), static_cast<int>(what.output_dtype),
                  static_cast<int>(what.accumulate_dtype), static_cast<int>(what.weights_dtype),
                  what.ignore_nan ? ", NaN ignored" : "", what.add_to_output ? ", added" : "");
    return text;
}

void check(bool holds, const Reduction &what, const std::string &where) {
    ++checks;
    if (!holds && ++failures <= 50) {
        std::printf("%s: %s\n", name_of(what).c_str(), where.c_str());
    }
}

// Runs on every variant and number of threads, into copies of `old`, and compares with what is expected.
// Small jobs are given to several threads now and then only: starting threads is what takes the time.
template <class Run>
void compare_everywhere(const Reduction &what, const std::string &where, std::size_t elements, const Bytes &old,
                        const Bytes &expected, const Bytes &expected_values, Run run) {
    const host::Variants variants = host::usable_variants();
    const bool is_worth_threads = elements > 2000 || below(8) == 0;
    for (std::size_t v = 0; v < variants.count; ++v) {
        for (std::size_t threads = 1; threads <= (is_worth_threads ? 3 : 1); threads += 2) {
            Bytes output = old, values(expected_values.size(), 0x5A);
            output.resize(old.size() + 1, 0xA5);
            const Status status =
                run(*variants.kernels[v], threads, output.data(), values.empty() ? nullptr : values.data());
            const bool guarded = output.back() == 0xA5;
            output.pop_back();
            check(status == Status::success && guarded && output == expected && values == expected_values, what,
                  where + ", variant " + std::to_string(v) + ", threads " + std::to_string(threads));
        }
    }
}

bool gives_values(const Reduction &what) { return what.op == Operator::argmin || what.op == Operator::argmax; }

Bytes old_output(const Reduction &what, std::size_t outputs) {
    Bytes old(outputs * naive::size_of(what.output_dtype), 0xC3);
    if (what.add_to_output) {
        fill(what.output_dtype, static_cast<Content>(below(3)), old);
    }
    return old;
}

void append(Bytes &all, const Bytes &more) { all.insert(all.end(), more.begin(), more.end()); }

void check_layout(const Reduction &what, const Layout &l, Content content) {
    const std::size_t size = naive::size_of(what.dtype), weight_size = naive::size_of(what.weights_dtype);
    const bool weighted = what.weights_dtype != ElementType::none;
    const Array memory(what.dtype, l.elements, content);
    const Array weights(weighted ? what.weights_dtype : ElementType::u8, l.shape.axis, content);
    const Bytes old = old_output(what, l.shape.outer * l.shape.inner);
    const bool with_values = gives_values(what) && below(2) == 0;
    Bytes expected, expected_values;
    naive::Axis axis;
    for (std::size_t o = 0; o < l.shape.outer; ++o) {
        for (std::size_t i = 0; i < l.shape.inner; ++i) {
            axis.elements.clear();
            axis.weights.clear();
            for (std::size_t a = 0; a < l.shape.axis; ++a) {
                axis.elements.push_back(memory.data() + static_cast<std::size_t>(place(l, o, a, i)) * size);
                if (weighted) {
                    axis.weights.push_back(weights.data() + a * weight_size);
                }
            }
            const naive::Result result = naive::reduce(what, axis, old.data() + expected.size());
            append(expected, result.output);
            append(expected_values, with_values ? result.value : Bytes());
        }
    }
    ReduceProblem p{};
    p.what = what;
    p.input = memory.data() + l.origin * size;
    p.weights = weighted ? weights.data() : nullptr;
    p.shape = l.shape;
    compare_everywhere(what, describe(l.shape) + ", content " + std::to_string(static_cast<int>(content)), l.elements,
                       old, expected, expected_values,
                       [&](const host::Kernels &kernels, std::size_t threads, void *output, void *values) {
                           p.output = output;
                           p.values = values;
                           return host::run_reduce(p, kernels, threads);
                       });
}

void check_segments(const Reduction &what, const std::vector<std::size_t> &lengths, Content content,
                    bool short_offsets) {
    const std::size_t size = naive::size_of(what.dtype), before = 3;
    std::vector<std::int64_t> offsets{before};
    for (const std::size_t length : lengths) {
        offsets.push_back(offsets.back() + static_cast<std::int64_t>(length));
    }
    const std::vector<std::int32_t> offsets_32(offsets.begin(), offsets.end());
    const Array memory(what.dtype, static_cast<std::size_t>(offsets.back()), content);
    const Bytes old = old_output(what, lengths.size());
    const bool with_values = gives_values(what);
    Bytes expected, expected_values;
    naive::Axis axis;
    for (std::size_t s = 0; s < lengths.size(); ++s) {
        axis.elements.clear();
        for (std::int64_t i = offsets[s]; i < offsets[s + 1]; ++i) {
            axis.elements.push_back(memory.data() + static_cast<std::size_t>(i) * size);
        }
        const naive::Result result = naive::reduce(what, axis, old.data() + expected.size());
        append(expected, result.output);
        append(expected_values, with_values ? result.value : Bytes());
    }
    SegmentsProblem p{};
    p.what = what;
    p.input = memory.data();
    p.offsets = short_offsets ? static_cast<const void *>(offsets_32.data()) : offsets.data();
    p.offsets_type = short_offsets ? ElementType::i32 : ElementType::i64;
    p.segments = lengths.size();
    compare_everywhere(what, std::to_string(lengths.size()) + " segments", 10000, old, expected, expected_values,
                       [&](const host::Kernels &kernels, std::size_t threads, void *output, void *values) {
                           p.output = output;
                           p.values = values;
                           return host::run_segments(p, kernels, threads);
                       });
}

std::vector<std::size_t> random_lengths(std::size_t segments, std::size_t longest) {
    std::vector<std::size_t> lengths(segments);
    for (std::size_t &length : lengths) {
        length = below(4) == 0 ? 0 : below(longest + 1);
    }
    return lengths;
}

// What every (operator, type) meets.
std::vector<Layout> few_layouts() {
    std::vector<Layout> all;
    for (const std::size_t n : Sizes{0, 1, 2, 3, 15, 17, 33, 64, 100, 129, 300, 1024, 2049, 5000}) {
        all.push_back(contiguous(n < 200 ? 19 : 2, n, 1));
        all.push_back(contiguous(1, n, n < 200 ? 21 : 9));
    }
    all.push_back(contiguous(2, 7, 150));
    all.push_back(contiguous(1, 3, 700));
    for (int kind = 0; kind < 8; ++kind) {
        all.push_back(strided(3, 13, 18, kind));
        all.push_back(strided(2, kind % 2 == 0 ? 300 : 2100, 1, kind));
    }
    return all;
}

// Long enough for several threads to share an axis.
std::vector<Layout> long_layouts() {
    return {contiguous(1, 35000, 1), contiguous(1, 18000, 8), strided(1, 20000, 1, 0), strided(1, 17000, 2, 4)};
}

std::vector<Layout> many_layouts() {
    std::vector<Layout> all;
    for (std::size_t n = 0; n <= 70; ++n) {
        all.push_back(contiguous(1, n, 1));
    }
    for (const std::size_t n : Sizes{128, 256, 512, 1024, 4096, 8192, 1 << 14, 1 << 15, 1 << 16}) {
        for (const std::size_t m : Sizes{n - 1, n, n + 1, n + n / 2 + 3}) {
            all.push_back(contiguous(1, m, 1));
        }
    }
    all.push_back(contiguous(1, 100003, 1));
    for (const std::size_t n : Sizes{1, 2, 3, 15, 16, 17, 31, 32, 33, 100, 255, 256, 257, 300, 1023, 1025}) {
        for (const std::size_t rows : Sizes{1, 3, 8, 16, 17, 40}) {
            all.push_back(contiguous(rows, n, 1));
        }
        for (const std::size_t inner : Sizes{2, 7, 8, 31, 33, 64, 129}) {
            all.push_back(contiguous(n % 2 == 0 ? 1 : 3, n, inner));
        }
    }
    all.push_back(contiguous(130, 33, 1));
    all.push_back(contiguous(1, 20, 1100));
    all.push_back(contiguous(1, 70001, 9));
    all.push_back(contiguous(2, 40000, 3));
    all.push_back(contiguous(1, 0, 5));
    all.push_back(contiguous(0, 5, 5));
    for (int kind = 0; kind < 8; ++kind) {
        for (const std::size_t n : Sizes{1, 2, 13, 64, 1025, 2500}) {
            all.push_back(strided(1, n, 1, kind));
            all.push_back(strided(5, n, 1, kind));
            all.push_back(strided(1, n, 9, kind));
            all.push_back(strided(3, n, 20, kind));
        }
        all.push_back(strided(1, 40000, 2, kind));
    }
    return all;
}

void check_layouts(const Reduction &what, const std::vector<Layout> &layouts) {
    int content = 0;
    for (const Layout &l : layouts) {
        check_layout(what, l, static_cast<Content>(content++ % contents));
    }
}

struct Options {
    int output, accumulate, weights, nan_mode, add;
};

bool offered(int op, int dtype, const Options &o, Reduction &what) {
    const capi::ReductionAsked asked{op, dtype, o.output, o.accumulate, o.weights, o.nan_mode, o.add, o.weights != 0};
    const bool is_offered = capi::resolve_reduction(asked, what) == Status::success;
    // Of integers that fit 64 bits as long as these arrays are, both ways.
    what.wide_integers = needs_wide_integers(what, below(2) == 0 ? 1 << 17 : std::numeric_limits<std::uint64_t>::max());
    return is_offered;
}

// Each combination of operator, types and options that the library offers, once on each content. Whether there is any.
bool check_all_options(int op, int dtype) {
    bool any = false;
    for (int output = 0; output <= 20; ++output) {
        for (const int accumulate : {0, 2}) {
            for (int weights = 0; weights <= 20; ++weights) {
                for (int bits = 0; bits < 4; ++bits) {
                    Reduction what{};
                    if (!offered(op, dtype, {output, accumulate, weights, bits & 1, bits >> 1}, what)) {
                        continue;
                    }
                    any = true;
                    for (int content = 0; content < contents; ++content) {
                        check_layout(what, contiguous(2, 37, content % 2 == 0 ? 1 : 9), static_cast<Content>(content));
                    }
                    check_layout(what, contiguous(1, 0, 3), Content::ordinary);
                }
            }
        }
    }
    return any;
}

void check_all_layouts(int op, int dtype) {
    const Options options[] = {{0, 0, 0, 0, 0},  {0, 0, 0, 1, 0},  {0, 2, 0, 0, 0},  {0, 0, dtype, 0, 0},
                               {0, 0, 15, 0, 0}, {0, 0, 16, 0, 0}, {0, 0, 19, 0, 0}, {0, 0, 20, 0, 0}};
    for (Options o : options) {
        Reduction what{};
        const bool mean_of_integers =
            op == static_cast<int>(Operator::mean) || op == static_cast<int>(Operator::norm_l2);
        o.output = mean_of_integers && naive::is_integer(static_cast<ElementType>(dtype)) ? 2 : 0;
        if ((o.weights == dtype && o.weights >= 15 && &o != &options[3]) || !offered(op, dtype, o, what)) {
            continue;
        }
        check_layouts(what, few_layouts());
        check_layouts(what, long_layouts());
        if (o.weights == 0) {
            check_segments(what, random_lengths(300, 9), static_cast<Content>(below(contents)), false);
            check_segments(what, random_lengths(40, 300), static_cast<Content>(below(contents)), true);
            std::vector<std::size_t> lengths = random_lengths(60, 5);
            lengths[below(60)] = 40000;
            lengths[below(60)] = 3000;
            check_segments(what, lengths, Content::special, false);
        }
    }
}

// The kernels that take elements straight from memory.
void check_common_reductions() {
    using O = Operator;
    using E = ElementType;
    const std::pair<O, E> common[] = {{O::sum, E::f32}, {O::mean, E::f16},  {O::sum, E::bf16},      {O::sum, E::f64},
                                      {O::sum, E::i32}, {O::sum, E::u64},   {O::sum, E::koalabear}, {O::max, E::f32},
                                      {O::min, E::f16}, {O::max, E::bf16},  {O::min, E::i32},       {O::min, E::f64},
                                      {O::max, E::u64}, {O::argmax, E::f32}};
    const std::vector<Layout> layouts = many_layouts();
    for (const auto &[op, dtype] : common) {
        Reduction what{};
        if (offered(static_cast<int>(op), static_cast<int>(dtype), {}, what)) {
            check_layouts(what, layouts);
        }
    }
}

void check_unsupported() {
    const float x = 1;
    float y = 7;
    ReduceProblem p{};
    p.input = &x;
    p.output = &y;
    p.shape = contiguous(1, 1, 1).shape;
    p.what = {Operator::logsumexp,
              ElementType::f32,
              ElementType::f32,
              ElementType::f32,
              ElementType::none,
              false,
              false,
              false};
    for (const std::size_t threads : Sizes{1, 3}) {
        check(host::run_reduce(p, host::best_kernels(), threads) == Status::unsupported && y == 7, p.what, "reserved");
    }
}

// The caller's environment neither enters the result nor is changed.
void check_float_environment() {
#if defined(__x86_64__)
    const unsigned before = __builtin_ia32_stmxcsr();
    const unsigned upward_flushing = (before & ~0x6000u) | 0x4000u | 0x8040u;
    std::vector<float> x(std::size_t{1} << 20, 0x1p-140f);
    x[1] = 0x1.8p-149f;
    float sum = 0;
    ReduceProblem p{};
    p.input = x.data();
    p.output = &sum;
    p.shape = contiguous(1, x.size(), 1).shape;
    p.what = {Operator::sum, ElementType::f32, ElementType::f32, ElementType::f32, ElementType::none, false, false,
              false};
    check(host::run_reduce(p, host::best_kernels(), 1) == Status::success && sum != 0, p.what, "subnormals are kept");
    const float expected = sum;
    for (const std::size_t threads : Sizes{1, 3}) {
        __builtin_ia32_ldmxcsr(upward_flushing);
        const Status status = host::run_reduce(p, host::best_kernels(), threads);
        const unsigned after = __builtin_ia32_stmxcsr();
        __builtin_ia32_ldmxcsr(before);
        check(status == Status::success && sum == expected, p.what, "in another environment");
        check(after == upward_flushing, p.what, "the environment is not restored");
    }
#endif
}

} // namespace

int main() {
    check_common_reductions();
    int combinations = 0;
    for (int op = 1; op <= 17; ++op) {
        for (int dtype = 1; dtype <= 20; ++dtype) {
            combinations += check_all_options(op, dtype) ? 1 : 0;
            check_all_layouts(op, dtype);
        }
    }
    check_unsupported();
    check_float_environment();
    std::printf("%d operators on types, %ld checks, %d failures\n", combinations, checks, failures);
    // 6 operators on all 20 types, 8 on floats and integers, 3 on integers.
    return failures == 0 && combinations == 6 * 20 + 8 * 14 + 3 * 8 ? 0 : 1;
}
