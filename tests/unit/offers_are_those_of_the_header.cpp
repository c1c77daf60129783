// Every operator with every input, output, accumulator and weight type, every option, and numbers that are none: what
// is offered is what the header's table and the comments at wr_reduce_args and wr_softmax_args say, and no more.
#include "check.h"
#include "enum_numbers.h"
#include "recording_places.h"
#include "warp_reduce.h"

#include <initializer_list>

namespace {

bool among(int value, std::initializer_list<int> values) {
    for (const int candidate : values) {
        if (candidate == value) {
            return true;
        }
    }
    return false;
}

bool is_float(int t) { return among(t, {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2}); }
bool is_signed(int t) { return among(t, {WR_I8, WR_I16, WR_I32, WR_I64}); }
bool is_integer(int t) { return is_signed(t) || among(t, {WR_U8, WR_U16, WR_U32, WR_U64}); }
bool is_field(int t) {
    return among(t, {WR_KOALABEAR, WR_BABYBEAR, WR_MERSENNE31, WR_GOLDILOCKS, WR_KOALABEAR_X4, WR_BABYBEAR_X4});
}
bool is_dtype(int t) { return t >= 1 && t <= 20; }

// All that a caller can ask for.
struct Asked {
    int op, input, output, accumulator;
    bool weighted;
    int weights;
    int nan_mode, add;
};

bool type_is_offered(int op, int input) {
    switch (op) {
    case WR_SUM:
    case WR_PRODUCT:
    case WR_SUM_OF_SQUARES:
    case WR_COUNT_NONZERO:
    case WR_ANY:
    case WR_ALL:
        return true;
    case WR_BIT_AND:
    case WR_BIT_OR:
    case WR_BIT_XOR:
        return is_integer(input);
    case WR_LOGSUMEXP:
    case WR_SUM_EXACT:
        return is_float(input);
    case WR_DOT_EXACT:
        return false;
    default:
        return !is_field(input);
    }
}

// Every value of `narrow` is one of `wide`.
bool holds(int wide, int narrow) {
    const int narrow_bits =
        8 * static_cast<int>(wr_dtype_size(enum_of<wr_dtype>(narrow))) - (is_signed(narrow) ? 1 : 0);
    const int wide_bits = 8 * static_cast<int>(wr_dtype_size(enum_of<wr_dtype>(wide))) - (is_signed(wide) ? 1 : 0);
    return is_integer(wide) && wide_bits >= narrow_bits && (is_signed(wide) || !is_signed(narrow));
}

int default_output(int op, int own) {
    return among(op, {WR_ARGMIN, WR_ARGMAX, WR_COUNT_NONZERO}) ? WR_I64 : among(op, {WR_ANY, WR_ALL}) ? WR_U8 : own;
}

bool output_is_offered(int op, int own, int output) {
    switch (op) {
    case WR_ARGMIN:
    case WR_ARGMAX:
        return among(output, {WR_I64, WR_I32});
    case WR_ANY:
    case WR_ALL:
        return is_integer(output);
    case WR_COUNT_NONZERO:
        return is_integer(output) || among(output, {WR_F32, WR_F64});
    default:
        break;
    }
    if (is_float(own)) {
        return is_float(output);
    }
    if (is_field(own) || among(op, {WR_BIT_AND, WR_BIT_OR, WR_BIT_XOR})) {
        return output == own;
    }
    switch (op) {
    case WR_MEAN:
    case WR_NORM_L2:
        return is_float(output);
    case WR_MIN:
    case WR_MAX:
        return holds(output, own);
    case WR_NORM_MAX:
        return is_integer(output);
    default:
        return is_integer(output) || among(output, {WR_F32, WR_F64});
    }
}

bool accumulator_is_offered(int op, int input, int accumulator) {
    const bool adds_floats =
        is_float(input) && among(op, {WR_SUM, WR_MEAN, WR_PRODUCT, WR_SUM_OF_SQUARES, WR_NORM_L1, WR_NORM_L2});
    return accumulator == 0 || (adds_floats && (accumulator == WR_F64 || (accumulator == WR_F32 && input != WR_F64)));
}

// What the sum of weighted elements is, or 0.
int weighted_type(int input, int weights) {
    const auto mixes = [&](int base, int extension) {
        return among(input, {base, extension}) && among(weights, {base, extension}) && input != weights;
    };
    return weights == input                       ? input
           : mixes(WR_KOALABEAR, WR_KOALABEAR_X4) ? WR_KOALABEAR_X4
           : mixes(WR_BABYBEAR, WR_BABYBEAR_X4)   ? WR_BABYBEAR_X4
                                                  : 0;
}

bool may_add(int op) {
    return among(op, {WR_SUM, WR_PRODUCT, WR_SUM_OF_SQUARES, WR_MIN, WR_MAX, WR_ANY, WR_ALL, WR_COUNT_NONZERO,
                      WR_BIT_AND, WR_BIT_OR, WR_BIT_XOR});
}

wr_status expected_of_reduce(const Asked &a) {
    if (a.op < 1 || a.op > 20) {
        return WR_ERROR_INVALID_OP;
    }
    for (const int optional : {a.output, a.accumulator, a.weights}) {
        if (optional != 0 && !is_dtype(optional)) {
            return WR_ERROR_INVALID_DTYPE;
        }
    }
    if (!is_dtype(a.input)) {
        return WR_ERROR_INVALID_DTYPE;
    }
    if (!among(a.nan_mode, {0, 1}) || !among(a.add, {0, 1})) {
        return WR_ERROR_INVALID_OPTION;
    }
    const bool weighted = a.weighted || a.weights != 0;
    const int own = weighted ? weighted_type(a.input, a.weights == 0 ? a.input : a.weights) : a.input;
    const bool offered = type_is_offered(a.op, a.input) && own != 0 &&
                         (!weighted || among(a.op, {WR_SUM, WR_SUM_EXACT})) &&
                         output_is_offered(a.op, own, a.output == 0 ? default_output(a.op, own) : a.output) &&
                         accumulator_is_offered(a.op, a.input, a.accumulator) && (a.add == 0 || may_add(a.op)) &&
                         !((weighted || a.op == WR_LOGSUMEXP) && a.nan_mode == 1 && is_float(a.input));
    if (!offered) {
        return WR_ERROR_UNSUPPORTED;
    }
    return weighted && !a.weighted ? WR_ERROR_NULL_POINTER : WR_SUCCESS;
}

constexpr int beyond = 22; // numbers from -1 to this, zero and both ends of the enums among them

void check_reduce(const Asked &asked) {
    alignas(16) static double from[4], to[4], weights[4];
    wr_reduce_args args{};
    args.struct_size = sizeof args;
    args.op = enum_of<wr_op>(asked.op);
    args.dtype = enum_of<wr_dtype>(asked.input);
    args.output_dtype = enum_of<wr_dtype>(asked.output);
    args.accumulate_dtype = enum_of<wr_dtype>(asked.accumulator);
    args.weights_dtype = enum_of<wr_dtype>(asked.weights);
    args.nan_mode = enum_of<wr_nan_mode>(asked.nan_mode);
    args.add_to_output = asked.add;
    args.input = from;
    args.weights = asked.weighted ? weights : nullptr;
    args.output = to;
    args.outer = args.axis = args.inner = 1;
    const wr_status expected = expected_of_reduce(asked);
    std::size_t bytes = 0;
    recording::reset();
    const wr_status got = wr_reduce_ex(&args, nullptr), size_asked = wr_reduce_workspace_size(&args, &bytes);
    // The query looks at no pointer.
    CHECK(got == expected && size_asked == (expected == WR_ERROR_NULL_POINTER ? WR_SUCCESS : expected),
          "operator %d, types %d, %d, %d, weights %d %d, NaN %d, add %d: %s and %s instead of %s", asked.op,
          asked.input, asked.output, asked.accumulator, asked.weighted, asked.weights, asked.nan_mode, asked.add,
          wr_status_name(got), wr_status_name(size_asked), wr_status_name(expected));
    CHECK(recording::record().calls == (expected == WR_SUCCESS ? 1 : 0), "operator %d, types %d, %d, %d: %d calls",
          asked.op, asked.input, asked.output, asked.accumulator, recording::record().calls);
}

void check_options(int op, int input, int output) {
    for (int accumulator = -1; accumulator <= beyond; ++accumulator) {
        check_reduce({op, input, output, accumulator, false, 0, 0, 0});
    }
    for (int weights = -1; weights <= beyond; ++weights) {
        for (const bool weighted : {false, true}) {
            check_reduce({op, input, output, 0, weighted, weights, 0, 0});
            check_reduce({op, input, output, 0, weighted, weights, 1, 1});
        }
    }
    for (int option = -1; option <= 2; ++option) {
        check_reduce({op, input, output, 0, false, 0, option, 0});
        check_reduce({op, input, output, 0, false, 0, 0, option});
    }
}

// Extremes beside their indices, and indices of 32 bits.
void check_values_and_indices(int op) {
    static float from[4], values[4];
    static std::int64_t to[4];
    wr_reduce_args args{};
    args.struct_size = sizeof args;
    args.op = enum_of<wr_op>(op);
    args.dtype = WR_F32;
    args.input = from;
    args.output = to;
    args.values = values;
    args.outer = args.axis = args.inner = 1;
    const bool gives_index = among(op, {WR_ARGMIN, WR_ARGMAX});
    std::size_t bytes = 0;
    CHECK((wr_reduce_ex(&args, nullptr) == WR_SUCCESS) == gives_index, "operator %d with values", op);
    if (gives_index) {
        args.output_dtype = WR_I32;
        args.axis = 0x7FFFFFFF;
        CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "the longest axis of 32-bit indices");
        args.axis += 1;
        CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_ERROR_UNSUPPORTED, "an axis beyond 32-bit indices");
    }
}

void check_softmax(int input, int output) {
    alignas(16) static double from[4], to[4];
    wr_softmax_args args{};
    args.struct_size = sizeof args;
    args.dtype = enum_of<wr_dtype>(input);
    args.output_dtype = enum_of<wr_dtype>(output);
    args.input = from;
    args.output = to;
    args.outer = args.axis = args.inner = 1;
    wr_status expected = WR_ERROR_INVALID_DTYPE;
    if (is_dtype(input) && (output == 0 || is_dtype(output))) {
        const bool offered = is_float(input) && (output == 0 || is_float(output));
        expected = offered ? WR_SUCCESS : WR_ERROR_UNSUPPORTED;
    }
    recording::reset();
    const wr_status got = wr_softmax_ex(&args, nullptr);
    CHECK(got == expected, "softmax, types %d, %d: %s instead of %s", input, output, wr_status_name(got),
          wr_status_name(expected));
}

} // namespace

int main() {
    for (int op = -1; op <= 20; ++op) {
        for (int input = -1; input <= beyond; ++input) {
            for (int output = -1; output <= beyond; ++output) {
                check_options(op, input, output);
            }
        }
        check_values_and_indices(op);
    }
    for (int input = -1; input <= beyond; ++input) {
        for (int output = -1; output <= beyond; ++output) {
            check_softmax(input, output);
        }
    }
    return check_report("offers_are_those_of_the_header");
}
