#include "naive_reduction.h"

extern "C" {
#include "reference/reference.h"
}

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

namespace naive {

namespace {

using wr::ElementType;
using wr::Operator;
using wr::Reduction;
__extension__ using Signed = __int128;
__extension__ using Wide = unsigned __int128;
using Word = std::uint64_t;

// A float format: bits of exponent and mantissa. E4M3 has no infinity and one NaN of either sign.
struct Format {
    int exponent_bits, mantissa_bits;
    bool has_infinity;
    Word nan;
};

Format format_of(ElementType type) {
    switch (type) {
    case ElementType::f64:
        return {11, 52, true, 0x7FF8000000000000u};
    case ElementType::f32:
        return {8, 23, true, 0x7FC00000u};
    case ElementType::f16:
        return {5, 10, true, 0x7E00u};
    case ElementType::bf16:
        return {8, 7, true, 0x7FC0u};
    case ElementType::f8_e4m3:
        return {4, 3, false, 0x7Fu};
    default:
        return {5, 2, true, 0x7Eu};
    }
}

Word word_of(const unsigned char *bytes, std::size_t size) {
    Word word = 0;
    std::memcpy(&word, bytes, size);
    return word;
}

Bytes bytes_of(Word word, std::size_t size) {
    Bytes bytes(size);
    std::memcpy(bytes.data(), &word, size);
    return bytes;
}

double decode_float(ElementType type, const unsigned char *bytes) {
    const Format f = format_of(type);
    const Word word = word_of(bytes, size_of(type)), mantissa = word & ((Word{1} << f.mantissa_bits) - 1);
    const int bias = (1 << (f.exponent_bits - 1)) - 1, top = (1 << f.exponent_bits) - 1;
    const int exponent = static_cast<int>(word >> f.mantissa_bits) & top;
    const bool negative = ((word >> (f.mantissa_bits + f.exponent_bits)) & 1u) != 0;
    double value = 0;
    if (f.has_infinity && exponent == top) {
        value = mantissa == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
    } else if (!f.has_infinity && (word & 0x7F) == f.nan) {
        value = std::numeric_limits<double>::quiet_NaN();
    } else if (exponent == 0) {
        value = std::ldexp(static_cast<double>(mantissa), 1 - bias - f.mantissa_bits);
    } else {
        value = std::ldexp(1 + std::ldexp(static_cast<double>(mantissa), -f.mantissa_bits), exponent - bias);
    }
    return negative ? -value : value;
}

// To nearest even, in units of the last place.
Bytes encode_float(ElementType type, double value) {
    const Format f = format_of(type);
    const std::size_t size = size_of(type);
    if (std::isnan(value)) {
        return bytes_of(f.nan, size);
    }
    const int bias = (1 << (f.exponent_bits - 1)) - 1;
    const Word sign = std::signbit(value) ? Word{1} << (f.mantissa_bits + f.exponent_bits) : 0;
    const Word infinity = ((Word{1} << f.exponent_bits) - 1) << f.mantissa_bits;
    const Word largest = f.has_infinity ? infinity - 1 : f.nan - 1, beyond = f.has_infinity ? infinity | sign : f.nan;
    const double magnitude = std::fabs(value);
    if (std::isinf(magnitude)) {
        return bytes_of(beyond, size);
    }
    int exponent = magnitude == 0 ? 1 - bias : std::max(std::ilogb(magnitude), 1 - bias);
    const double units = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
    // A normal number's units count from 2^mantissa_bits, which is the first exponent's step.
    const Word word = static_cast<Word>(units) + (static_cast<Word>(exponent + bias - 1) << f.mantissa_bits);
    return bytes_of(word > largest ? beyond : word | sign, size);
}

bool is_signed(ElementType type) {
    return type == ElementType::i8 || type == ElementType::i16 || type == ElementType::i32 || type == ElementType::i64;
}

Signed decode_integer(ElementType type, const unsigned char *bytes) {
    const int bits = 8 * static_cast<int>(size_of(type));
    const Signed word = static_cast<Signed>(word_of(bytes, size_of(type)));
    return is_signed(type) && (word >> (bits - 1)) != 0 ? word - (Signed{1} << bits) : word;
}

Signed smallest_of(ElementType type) { return is_signed(type) ? -(Signed{1} << (8 * size_of(type) - 1)) : 0; }
Signed largest_of(ElementType type) { return (Signed{1} << (8 * size_of(type) - (is_signed(type) ? 1 : 0))) - 1; }

Bytes encode_integer(ElementType type, Signed value) { return bytes_of(static_cast<Word>(value), size_of(type)); }

template <class Float>
Float tree(const Float *x, std::size_t n, bool product) {
    if (n == 1) {
        return x[0];
    }
    std::size_t half = 1;
    while (2 * half < n) {
        half *= 2;
    }
    const Float left = tree(x, half, product), right = tree(x + half, n - half, product);
    return product ? left * right : left + right;
}

template <class Float>
Bytes float_sum(const Reduction &what, const Axis &axis, const unsigned char *old) {
    const bool product = what.op == Operator::product;
    std::vector<Float> mapped;
    std::size_t left = 0;
    for (std::size_t i = 0; i < axis.elements.size(); ++i) {
        const Float x = static_cast<Float>(decode_float(what.dtype, axis.elements[i]));
        if (what.ignore_nan && std::isnan(x)) {
            mapped.push_back(product ? Float(1) : -Float(0));
            continue;
        }
        ++left;
        switch (what.op) {
        case Operator::sum_of_squares:
            mapped.push_back(x * x);
            break;
        case Operator::norm_l1:
            mapped.push_back(std::fabs(x));
            break;
        default:
            mapped.push_back(
                axis.weights.empty() ? x : x * static_cast<Float>(decode_float(what.weights_dtype, axis.weights[i])));
        }
    }
    Float result = left == 0 ? Float(product ? 1 : 0) : tree(mapped.data(), mapped.size(), product);
    if (what.op == Operator::mean) {
        result = left == 0 ? std::numeric_limits<Float>::quiet_NaN() : result / static_cast<Float>(left);
    } else if (what.op == Operator::norm_l2) {
        const std::vector<double> values(mapped.begin(), mapped.end());
        result = static_cast<Float>(reference_norm(values.data(), values.size(), sizeof(Float) == 4 ? 24 : 53));
    }
    if (what.add_to_output) {
        const Float before = static_cast<Float>(decode_float(what.output_dtype, old));
        result = product ? before * result : before + result;
    }
    return encode_float(what.output_dtype, static_cast<double>(result));
}

Bytes integer_sum(const Reduction &what, const Axis &axis, const unsigned char *old) {
    const bool product = what.op == Operator::product;
    Word result = product ? 1 : 0;
    Wide whole = result; // the exact result, modulo 2^128
    std::vector<double> about;
    const auto take = [&](Signed x, Signed y) {
        whole = product ? whole * static_cast<Wide>(x) : whole + static_cast<Wide>(x) * static_cast<Wide>(y);
        about.push_back(static_cast<double>(x) * static_cast<double>(y));
    };
    for (std::size_t i = 0; i < axis.elements.size(); ++i) {
        const Signed x = decode_integer(what.dtype, axis.elements[i]);
        const bool squares = what.op == Operator::sum_of_squares || what.op == Operator::norm_l2;
        const Signed weight = axis.weights.empty() ? 1 : decode_integer(what.dtype, axis.weights[i]);
        take(x, squares ? x : what.op == Operator::norm_l1 && x < 0 ? -1 : weight);
        switch (what.op) {
        case Operator::product:
            result *= static_cast<Word>(x);
            break;
        case Operator::sum_of_squares:
        case Operator::norm_l2:
            result += static_cast<Word>(static_cast<Wide>(x) * static_cast<Wide>(x));
            break;
        case Operator::norm_l1:
            result += static_cast<Word>(x < 0 ? -x : x);
            break;
        default:
            result += static_cast<Word>(x) *
                      (axis.weights.empty() ? 1 : static_cast<Word>(decode_integer(what.dtype, axis.weights[i])));
        }
    }
    if (is_integer(what.output_dtype)) {
        const Word before = what.add_to_output ? static_cast<Word>(decode_integer(what.output_dtype, old)) : 0;
        return encode_integer(what.output_dtype, static_cast<Signed>(!what.add_to_output ? result
                                                                     : product           ? before * result
                                                                                         : before + result));
    }
    // What is 2^100 and more in the tree of f64 is the tree's; beyond f64 times 0 is 0.
    double near = about.empty() ? static_cast<double>(whole) : tree(about.data(), about.size(), product);
    near = std::isnan(near) ? 0 : near;
    const bool is_exact = std::fabs(near) < 0x1p100;
    const auto exact = static_cast<Signed>(whole);
    const double value = is_exact ? static_cast<double>(exact) : near;
    if (what.op == Operator::mean) {
        return encode_float(what.output_dtype, value / static_cast<double>(axis.elements.size()));
    }
    if (what.op == Operator::norm_l2) {
        return encode_float(what.output_dtype, std::sqrt(value));
    }
    if (what.add_to_output) {
        const double before = decode_float(what.output_dtype, old);
        return encode_float(what.output_dtype, product ? before * value : before + value);
    }
    return encode_float(what.output_dtype,
                        what.output_dtype == ElementType::f32
                            ? static_cast<double>(is_exact ? static_cast<float>(exact) : static_cast<float>(near))
                            : value);
}

// Prime fields. Multiplication in Montgomery form divides by 2^32.
struct PrimeField {
    Word p;
    bool montgomery;
    std::size_t degree;
    Word residue; // of the extension's polynomial
};

PrimeField field_of(ElementType type) {
    switch (type) {
    case ElementType::koalabear:
        return {2130706433u, true, 1, 0};
    case ElementType::babybear:
        return {2013265921u, true, 1, 0};
    case ElementType::mersenne31:
        return {2147483647u, false, 1, 0};
    case ElementType::goldilocks:
        return {18446744069414584321u, false, 1, 0};
    case ElementType::koalabear_x4:
        return {2130706433u, true, 4, 3};
    default:
        return {2013265921u, true, 4, 11};
    }
}

Word multiply(Word a, Word b, Word p) { return static_cast<Word>(Wide{a} * b % p); }

Word power(Word base, Word exponent, Word p) {
    Word result = 1;
    for (; exponent != 0; exponent >>= 1) {
        result = (exponent & 1u) != 0 ? multiply(result, base, p) : result;
        base = multiply(base, base, p);
    }
    return result;
}

using Element = std::array<Word, 4>;

Element decode_field(ElementType type, const unsigned char *bytes) {
    const std::size_t degree = field_of(type).degree, size = size_of(type) / degree;
    Element element{};
    for (std::size_t k = 0; k < degree; ++k) {
        std::memcpy(&element[k], bytes + k * size, size);
        element[k] %= field_of(type).p;
    }
    return element;
}

Bytes encode_field(ElementType type, const Element &element) {
    Bytes bytes(size_of(type));
    const std::size_t degree = field_of(type).degree, size = bytes.size() / degree;
    for (std::size_t k = 0; k < degree; ++k) {
        std::memcpy(bytes.data() + k * size, &element[k], size);
    }
    return bytes;
}

Element add(const Element &a, const Element &b, const PrimeField &f) {
    Element sum{};
    for (std::size_t k = 0; k < 4; ++k) {
        sum[k] = static_cast<Word>((Wide{a[k]} + b[k]) % f.p);
    }
    return sum;
}

Element multiply(const Element &a, const Element &b, const PrimeField &f) {
    static const Word inverses[] = {power((Word{1} << 32) % 2130706433u, 2130706433u - 2, 2130706433u),
                                    power((Word{1} << 32) % 2013265921u, 2013265921u - 2, 2013265921u)};
    const Word scale = !f.montgomery ? 1 : inverses[f.p == 2013265921u ? 1 : 0];
    Element product{};
    for (std::size_t i = 0; i < 4; ++i) {
        for (std::size_t j = 0; j < 4; ++j) {
            Word term = multiply(multiply(a[i], b[j], f.p), scale, f.p);
            term = i + j >= 4 ? multiply(term, f.residue, f.p) : term;
            Word &place = product[(i + j) % 4];
            place = static_cast<Word>((Wide{place} + term) % f.p);
        }
    }
    return product;
}

Bytes field_sum(const Reduction &what, const Axis &axis, const unsigned char *old) {
    const PrimeField f = field_of(what.output_dtype);
    const bool product = what.op == Operator::product;
    Element result{};
    result[0] = !product ? 0 : f.montgomery ? (Word{1} << 32) % f.p : 1;
    for (std::size_t i = 0; i < axis.elements.size(); ++i) {
        const Element x = decode_field(what.dtype, axis.elements[i]);
        if (product) {
            result = multiply(result, x, f);
        } else if (what.op == Operator::sum_of_squares) {
            result = add(result, multiply(x, x, f), f);
        } else if (axis.weights.empty()) {
            result = add(result, x, f);
        } else {
            result = add(result, multiply(x, decode_field(what.weights_dtype, axis.weights[i]), f), f);
        }
    }
    if (what.add_to_output) {
        const Element before = decode_field(what.output_dtype, old);
        result = product ? multiply(before, result, f) : add(before, result, f);
    }
    return encode_field(what.output_dtype, result);
}

// Whether a stands before b in the order of IEEE 754-2019's minimum (or maximum).
bool wins(double a, double b, bool minimum) {
    if (std::isnan(a) || std::isnan(b)) {
        return std::isnan(a) && !std::isnan(b);
    }
    if (a == b) {
        return minimum ? std::signbit(a) && !std::signbit(b) : std::signbit(b) && !std::signbit(a);
    }
    return minimum ? a < b : a > b;
}

// Index of the winner, or -1.
std::int64_t best_of(const Reduction &what, const Axis &axis, bool minimum) {
    std::int64_t best = -1;
    const auto &x = axis.elements;
    for (std::size_t i = 0; i < x.size(); ++i) {
        bool better = best < 0;
        if (is_float(what.dtype)) {
            const double value = decode_float(what.dtype, x[i]);
            if (what.ignore_nan && std::isnan(value)) {
                continue;
            }
            better = better || wins(value, decode_float(what.dtype, x[static_cast<std::size_t>(best)]), minimum);
        } else if (!better) {
            const Signed value = decode_integer(what.dtype, x[i]);
            const Signed leader = decode_integer(what.dtype, x[static_cast<std::size_t>(best)]);
            better = minimum ? value < leader : value > leader;
        }
        best = better ? static_cast<std::int64_t>(i) : best;
    }
    return best;
}

Bytes float_extreme(const Reduction &what, const Axis &axis, const unsigned char *old, bool minimum) {
    const std::int64_t best = best_of(what, axis, minimum);
    // What no number exceeds: infinity, or the largest one.
    const double most = what.dtype == ElementType::f8_e4m3 ? 448 : std::numeric_limits<double>::infinity();
    double value =
        best < 0 ? (minimum ? most : -most) : decode_float(what.dtype, axis.elements[static_cast<std::size_t>(best)]);
    if (what.add_to_output) {
        const double before = decode_float(what.output_dtype, old);
        value = wins(before, value, minimum) ? before : value;
    }
    return encode_float(what.output_dtype, value);
}

Bytes integer_extreme(const Reduction &what, const Axis &axis, const unsigned char *old, bool minimum) {
    const std::int64_t best = best_of(what, axis, minimum);
    Signed value = best < 0 ? (minimum ? largest_of(what.dtype) : smallest_of(what.dtype))
                            : decode_integer(what.dtype, axis.elements[static_cast<std::size_t>(best)]);
    if (what.add_to_output) {
        const Signed before = decode_integer(what.output_dtype, old);
        value = (minimum ? before < value : before > value) ? before : value;
    }
    return encode_integer(what.output_dtype, value);
}

Bytes extreme(const Reduction &what, const Axis &axis, const unsigned char *old, bool minimum) {
    return is_float(what.dtype) ? float_extreme(what, axis, old, minimum) : integer_extreme(what, axis, old, minimum);
}

Bytes largest_magnitude(const Reduction &what, const Axis &axis) {
    if (is_integer(what.dtype)) {
        Signed largest = 0;
        for (const unsigned char *x : axis.elements) {
            const Signed value = decode_integer(what.dtype, x);
            largest = std::max(largest, value < 0 ? -value : value);
        }
        return encode_integer(what.output_dtype, largest);
    }
    double largest = 0;
    for (const unsigned char *x : axis.elements) {
        const double value = std::fabs(decode_float(what.dtype, x));
        largest = (std::isnan(value) && !what.ignore_nan) || value > largest ? value : largest;
        if (std::isnan(largest)) {
            break;
        }
    }
    return encode_float(what.output_dtype, largest);
}

bool is_nonzero(const Reduction &what, const unsigned char *x) {
    if (is_float(what.dtype)) {
        const double value = decode_float(what.dtype, x);
        return value != 0;
    }
    if (is_field(what.dtype)) {
        const Element element = decode_field(what.dtype, x);
        return std::any_of(element.begin(), element.end(), [](Word word) { return word != 0; });
    }
    return std::any_of(x, x + size_of(what.dtype), [](unsigned char byte) { return byte != 0; });
}

Bytes count(const Reduction &what, const Axis &axis, const unsigned char *old) {
    std::uint64_t nonzero = 0, zero = 0;
    for (const unsigned char *x : axis.elements) {
        if (what.ignore_nan && is_float(what.dtype) && std::isnan(decode_float(what.dtype, x))) {
            continue;
        }
        ++(is_nonzero(what, x) ? nonzero : zero);
    }
    if (what.op == Operator::count_nonzero) {
        if (is_float(what.output_dtype)) {
            const double before = what.add_to_output ? decode_float(what.output_dtype, old) : 0;
            return encode_float(what.output_dtype, before + static_cast<double>(nonzero));
        }
        const Signed before = what.add_to_output ? decode_integer(what.output_dtype, old) : 0;
        return encode_integer(what.output_dtype, before + static_cast<Signed>(nonzero));
    }
    const bool before = what.add_to_output && word_of(old, size_of(what.output_dtype)) != 0;
    const bool any = nonzero != 0 || (what.add_to_output && before), all = zero == 0 && (!what.add_to_output || before);
    return encode_integer(what.output_dtype, what.op == Operator::any ? any : all);
}

Bytes bits(const Reduction &what, const Axis &axis, const unsigned char *old) {
    const auto join = [&](Word a, Word b) {
        return what.op == Operator::bit_and ? a & b : what.op == Operator::bit_or ? a | b : a ^ b;
    };
    Word result = what.op == Operator::bit_and ? ~Word{0} : 0;
    for (const unsigned char *x : axis.elements) {
        result = join(result, word_of(x, size_of(what.dtype)));
    }
    return bytes_of(what.add_to_output ? join(result, word_of(old, size_of(what.output_dtype))) : result,
                    size_of(what.output_dtype));
}

Result argument(const Reduction &what, const Axis &axis, bool minimum) {
    const std::int64_t best = best_of(what, axis, minimum);
    Reduction value = what;
    value.output_dtype = what.dtype;
    value.add_to_output = false;
    return {encode_integer(what.output_dtype, best), extreme(value, axis, nullptr, minimum)};
}

} // namespace

std::size_t size_of(ElementType type) {
    switch (type) {
    case ElementType::f8_e4m3:
    case ElementType::f8_e5m2:
    case ElementType::i8:
    case ElementType::u8:
        return 1;
    case ElementType::f16:
    case ElementType::bf16:
    case ElementType::i16:
    case ElementType::u16:
        return 2;
    case ElementType::f64:
    case ElementType::i64:
    case ElementType::u64:
    case ElementType::goldilocks:
        return 8;
    case ElementType::koalabear_x4:
    case ElementType::babybear_x4:
        return 16;
    default:
        return 4;
    }
}

bool is_float(ElementType type) { return type >= ElementType::f32 && type <= ElementType::f8_e5m2; }
bool is_integer(ElementType type) { return type >= ElementType::i8 && type <= ElementType::u64; }
bool is_field(ElementType type) { return type >= ElementType::koalabear; }

Result reduce(const Reduction &what, const Axis &axis, const unsigned char *old) {
    switch (what.op) {
    case Operator::min:
    case Operator::max:
        return {extreme(what, axis, old, what.op == Operator::min), {}};
    case Operator::argmin:
    case Operator::argmax:
        return argument(what, axis, what.op == Operator::argmin);
    case Operator::norm_max:
        return {largest_magnitude(what, axis), {}};
    case Operator::any:
    case Operator::all:
    case Operator::count_nonzero:
        return {count(what, axis, old), {}};
    case Operator::bit_and:
    case Operator::bit_or:
    case Operator::bit_xor:
        return {bits(what, axis, old), {}};
    default:
        break;
    }
    if (is_field(what.dtype)) {
        return {field_sum(what, axis, old), {}};
    }
    if (is_integer(what.dtype)) {
        return {integer_sum(what, axis, old), {}};
    }
    return {what.accumulate_dtype == ElementType::f64 ? float_sum<double>(what, axis, old)
                                                      : float_sum<float>(what, axis, old),
            {}};
}

} // namespace naive
