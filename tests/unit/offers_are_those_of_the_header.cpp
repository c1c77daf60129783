// Every operator with every input, output and accumulator type, and numbers that are none: what is offered is what the
// header's table and the comments at wr_reduce_args and wr_softmax_args say, and no more.
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

bool is_any_float(int t) { return among(t, {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2}); }
bool is_input_float(int t) { return among(t, {WR_F32, WR_F64, WR_F16, WR_BF16}); }
bool is_input_integer(int t) { return among(t, {WR_I32, WR_I64}); }
bool is_any_integer(int t) { return t >= WR_I8 && t <= WR_U64; }
bool is_dtype(int t) { return t >= 1 && t <= 20; }

bool output_is_offered(int op, int input, int output) {
    if (is_input_float(input)) {
        return is_any_float(output);
    }
    if (input == WR_KOALABEAR) {
        return op == WR_SUM && output == WR_KOALABEAR;
    }
    switch (op) {
    case WR_SUM:
        return is_any_integer(output) || output == WR_F32 || output == WR_F64;
    case WR_MEAN:
        return is_input_float(output);
    default:
        return output == input || (input == WR_I32 && output == WR_I64);
    }
}

bool accumulator_is_offered(int op, int input, int accumulator) {
    if (accumulator == 0) {
        return true;
    }
    const bool sums_floats = (op == WR_SUM || op == WR_MEAN) && is_input_float(input);
    return sums_floats && (accumulator == WR_F64 || (accumulator == WR_F32 && input != WR_F64));
}

wr_status expected_of_reduce(int op, int input, int output, int accumulator) {
    if (op < 1 || op > 18) {
        return WR_ERROR_INVALID_OP;
    }
    if (!is_dtype(input) || (output != 0 && !is_dtype(output)) || (accumulator != 0 && !is_dtype(accumulator))) {
        return WR_ERROR_INVALID_DTYPE;
    }
    const bool offered = among(op, {WR_SUM, WR_MEAN, WR_MIN, WR_MAX}) &&
                         (is_input_float(input) || is_input_integer(input) || input == WR_KOALABEAR) &&
                         output_is_offered(op, input, output == 0 ? input : output) &&
                         accumulator_is_offered(op, input, accumulator);
    return offered ? WR_SUCCESS : WR_ERROR_UNSUPPORTED;
}

constexpr int beyond = 22; // numbers from -1 to this, zero and both ends of the enums among them

void check_reduce(int op, int input, int output, int accumulator) {
    alignas(16) static double from[4], to[4];
    wr_reduce_args args{};
    args.struct_size = sizeof args;
    args.op = enum_of<wr_op>(op);
    args.dtype = enum_of<wr_dtype>(input);
    args.output_dtype = enum_of<wr_dtype>(output);
    args.accumulate_dtype = enum_of<wr_dtype>(accumulator);
    args.input = from;
    args.output = to;
    args.outer = args.axis = args.inner = 1;
    const wr_status expected = expected_of_reduce(op, input, output, accumulator);
    std::size_t bytes = 0;
    recording::reset();
    const wr_status got = wr_reduce_ex(&args, nullptr), asked = wr_reduce_workspace_size(&args, &bytes);
    CHECK(got == expected && asked == expected, "operator %d, types %d, %d, %d: %s and %s instead of %s", op, input,
          output, accumulator, wr_status_name(got), wr_status_name(asked), wr_status_name(expected));
    CHECK(recording::record().calls == (expected == WR_SUCCESS ? 1 : 0), "operator %d, types %d, %d, %d: %d calls", op,
          input, output, accumulator, recording::record().calls);
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
        const bool offered = is_input_float(input) && (output == 0 || is_any_float(output));
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
                for (int accumulator = -1; accumulator <= beyond; ++accumulator) {
                    check_reduce(op, input, output, accumulator);
                }
            }
        }
    }
    for (int input = -1; input <= beyond; ++input) {
        for (int output = -1; output <= beyond; ++output) {
            check_softmax(input, output);
        }
    }
    return check_report("offers_are_those_of_the_header");
}
