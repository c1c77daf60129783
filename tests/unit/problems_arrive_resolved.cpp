// What the entry points hand to a place: every default resolved, on the stream that was given, and nothing at all where
// the call is refused or there is nothing to do.
#include "check.h"
#include "enum_numbers.h"
#include "recording_places.h"
#include "warp_reduce.h"

#include <cmath>
#include <initializer_list>
#include <limits>

using namespace recording;
using wr::ElementType;
using wr::Operator;

namespace {

alignas(16) float input_memory[4096];
alignas(16) double output_memory[4096];
alignas(16) double logsumexp_memory[4096];
alignas(16) unsigned char workspace_memory[4096];
alignas(16) unsigned char weights_memory[4096];
alignas(16) float values_memory[4096];

wr_reduce_args reduce_args(wr_op op, wr_dtype dtype) {
    wr_reduce_args args{};
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = dtype;
    args.input = input_memory;
    args.output = output_memory;
    args.outer = 2;
    args.axis = 3;
    args.inner = 4;
    return args;
}

wr_softmax_args softmax_args(wr_dtype dtype) {
    wr_softmax_args args{};
    args.struct_size = sizeof args;
    args.dtype = dtype;
    args.input = input_memory;
    args.output = output_memory;
    args.outer = 2;
    args.axis = 3;
    args.inner = 4;
    return args;
}

bool same_shape(const wr::Shape &a, const wr::Shape &b) {
    return a.outer == b.outer && a.axis == b.axis && a.inner == b.inner && a.outer_stride == b.outer_stride &&
           a.axis_stride == b.axis_stride && a.inner_stride == b.inner_stride;
}

const wr::ReduceProblem &reduced(const wr_reduce_args &args) {
    reset();
    const wr_status status = wr_reduce_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS && record().calls == 1, "a valid reduction: %s", wr_status_name(status));
    return record().reduce;
}

const wr::SoftmaxProblem &softmaxed(const wr_softmax_args &args) {
    reset();
    const wr_status status = wr_softmax_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS && record().calls == 1, "a valid softmax: %s", wr_status_name(status));
    return record().softmax;
}

void check_short_reduce_is_all_defaults() {
    reset();
    CHECK(wr_reduce(WR_MEAN, WR_F16, input_memory, output_memory, 2, 3, 4, wr_host_stream()) == WR_SUCCESS, "a mean");
    const wr::ReduceProblem p = record().reduce;
    CHECK(p.what.op == Operator::mean, "operator");
    CHECK(p.what.dtype == ElementType::f16 && p.what.output_dtype == ElementType::f16, "types");
    CHECK(p.what.accumulate_dtype == ElementType::f32, "f16 is kept in f32");
    CHECK(p.input == input_memory && p.output == output_memory && p.workspace == nullptr, "pointers");
    CHECK(same_shape(p.shape, {2, 3, 4, 12, 4, 1}), "shape");
}

void check_types_are_resolved() {
    CHECK(reduced(reduce_args(WR_SUM, WR_F32)).what.accumulate_dtype == ElementType::f32, "f32 is kept in f32");
    CHECK(reduced(reduce_args(WR_SUM, WR_BF16)).what.accumulate_dtype == ElementType::f32, "bf16 is kept in f32");
    CHECK(reduced(reduce_args(WR_SUM, WR_F64)).what.accumulate_dtype == ElementType::f64, "f64 is kept in f64");
    CHECK(reduced(reduce_args(WR_SUM, WR_I32)).what.accumulate_dtype == ElementType::none, "integers leave no choice");
    CHECK(reduced(reduce_args(WR_MAX, WR_F32)).what.accumulate_dtype == ElementType::none, "extremes leave no choice");
    wr_reduce_args args = reduce_args(WR_SUM, WR_F16);
    args.accumulate_dtype = WR_F64;
    args.output_dtype = WR_F8_E4M3;
    const wr::ReduceProblem &p = reduced(args);
    CHECK(p.what.accumulate_dtype == ElementType::f64 && p.what.output_dtype == ElementType::f8_e4m3,
          "types that were asked for");
}

void check_reduction_options_arrive() {
    const wr::ReduceProblem plain = reduced(reduce_args(WR_SUM, WR_F32));
    CHECK(plain.weights == nullptr && plain.values == nullptr, "no pointers that were not given");
    CHECK(plain.what.weights_dtype == ElementType::none && !plain.what.ignore_nan && !plain.what.add_to_output,
          "the defaults");
    wr_reduce_args args = reduce_args(WR_SUM, WR_F16);
    args.weights = weights_memory;
    args.add_to_output = 1;
    const wr::ReduceProblem weighted = reduced(args);
    CHECK(weighted.weights == weights_memory && weighted.what.weights_dtype == ElementType::f16 &&
              weighted.what.add_to_output,
          "weights of the input's type, added");
    args = reduce_args(WR_SUM, WR_KOALABEAR);
    args.weights = weights_memory;
    args.weights_dtype = WR_KOALABEAR_X4;
    CHECK(reduced(args).what.output_dtype == ElementType::koalabear_x4,
          "weights of the extension make it the output's");
    args = reduce_args(WR_ARGMAX, WR_F32);
    args.values = values_memory;
    args.nan_mode = WR_NAN_IGNORE;
    const wr::ReduceProblem found = reduced(args);
    CHECK(found.values == values_memory && found.what.ignore_nan && found.what.output_dtype == ElementType::i64,
          "values beside indices");
    args = reduce_args(WR_MAX, WR_I32);
    args.nan_mode = WR_NAN_IGNORE;
    CHECK(!reduced(args).what.ignore_nan, "integers have no NaN to ignore");
    CHECK(reduced(reduce_args(WR_ANY, WR_BABYBEAR)).what.output_dtype == ElementType::u8, "any is 0 or 1");
}

void check_dot_is_a_weighted_sum() {
    reset();
    CHECK(wr_dot(WR_I16, input_memory, weights_memory, output_memory, 77, wr_host_stream()) == WR_SUCCESS, "a dot");
    const wr::ReduceProblem p = record().reduce;
    CHECK(p.what.op == Operator::sum && p.what.dtype == ElementType::i16 && p.what.weights_dtype == ElementType::i16,
          "types");
    CHECK(p.input == input_memory && p.weights == weights_memory && p.output == output_memory, "pointers");
    CHECK(same_shape(p.shape, {1, 77, 1, 77, 1, 1}), "shape");
    CHECK(wr_dot(WR_F32, input_memory, input_memory, output_memory, 7, nullptr) == WR_SUCCESS, "a vector with itself");
    CHECK(record().called == Place::cuda, "a CUDA stream");
    reset();
    CHECK(wr_dot(WR_F32, input_memory, nullptr, output_memory, 7, nullptr) == WR_ERROR_NULL_POINTER, "NULL");
    CHECK(wr_dot(WR_F32, input_memory, input_memory, input_memory, 7, nullptr) == WR_ERROR_OVERLAP, "in place");
    CHECK(record().calls == 0, "a refused call reached a place");
}

void check_segments_arrive() {
    const std::int64_t offsets[] = {2, 2, 9, 30};
    reset();
    CHECK(wr_reduce_segments(WR_MEAN, WR_BF16, input_memory, output_memory, offsets, 3, wr_host_stream()) == WR_SUCCESS,
          "segments");
    const wr::SegmentsProblem p = record().segments;
    CHECK(p.what.op == Operator::mean && p.what.dtype == ElementType::bf16 &&
              p.what.output_dtype == ElementType::bf16 && p.what.accumulate_dtype == ElementType::f32,
          "types");
    CHECK(p.input == input_memory && p.output == output_memory && p.values == nullptr && p.offsets == offsets,
          "pointers");
    CHECK(p.offsets_type == ElementType::i64 && p.segments == 3 && p.input_count == 0, "offsets");
    const std::int32_t short_offsets[] = {0, 4, 4};
    wr_reduce_segments_args args{};
    args.struct_size = sizeof args;
    args.op = WR_ARGMIN;
    args.dtype = WR_U8;
    args.offsets_dtype = WR_I32;
    args.input = input_memory;
    args.output = output_memory;
    args.values = values_memory;
    args.offsets = short_offsets;
    args.segments = 2;
    args.input_count = 4;
    CHECK(wr_reduce_segments_ex(&args, nullptr) == WR_SUCCESS && record().called == Place::cuda, "a CUDA stream");
    CHECK(record().segments.offsets_type == ElementType::i32 && record().segments.values == values_memory &&
              record().segments.input_count == 4,
          "options");
    reset();
    const std::int32_t falling[] = {0, 4, 3}, beyond[] = {0, 4, 5}, negative[] = {-1, 4, 4};
    for (const std::int32_t *wrong : {falling, beyond, negative}) {
        args.offsets = wrong;
        CHECK(wr_reduce_segments_ex(&args, wr_host_stream()) == WR_ERROR_INVALID_OFFSETS, "refused on the host device");
    }
    CHECK(record().calls == 0, "a refused call reached a place");
}

// As a program that was compiled with a header without the flag gives it.
template <class Args>
Args of_an_older_header(Args args) {
    args.struct_size = offsetof(Args, strides_given);
    args.strides_given = 77; // not there to be read
    return args;
}

void check_strides_of_an_older_header() {
    wr_reduce_args args = of_an_older_header(reduce_args(WR_SUM, WR_F32));
    CHECK(same_shape(reduced(args).shape, {2, 3, 4, 12, 4, 1}), "older header: no strides are the contiguous ones");
    args.axis_stride = 100;
    CHECK(same_shape(reduced(args).shape, {2, 3, 4, 12, 100, 1}),
          "older header: the strides that are zero are contiguous");
    std::size_t bytes = 12345;
    CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS && bytes != 12345, "older header: the query");
}

void check_scales_are_those_of_the_rows() {
    alignas(16) static const float scales[8] = {2, 0.5};
    wr_softmax_args args = softmax_args(WR_F32);
    CHECK(softmaxed(args).scales == nullptr, "none: all rows have the one");
    args.scales = scales;
    wr::SoftmaxProblem p = softmaxed(args);
    CHECK(p.scales == scales && p.scale == 1.0, "each row's own, and no other");
    args.struct_size = offsetof(wr_softmax_args, scales);
    args.strides_given = 1;
    args.axis_stride = 100;
    p = softmaxed(args);
    CHECK(p.scales == nullptr, "a header without scales: they are not there to be read");
    CHECK(same_shape(p.shape, {2, 3, 4, 0, 100, 0}), "a header without scales: strides are literal");
    args = of_an_older_header(args);
    CHECK(softmaxed(args).scales == nullptr, "a header without the flag");
    args.struct_size = sizeof args + 8;
    CHECK(wr_softmax_ex(&args, wr_host_stream()) == WR_ERROR_STRUCT_SIZE, "a header that is newer");
}

void check_strides_are_resolved() {
    wr_reduce_args args = reduce_args(WR_SUM, WR_F32);
    args.strides_given = 1;
    args.axis_stride = 100;
    CHECK(same_shape(reduced(args).shape, {2, 3, 4, 0, 100, 0}), "a stride of zero is a broadcast");
    args = reduce_args(WR_SUM, WR_F32);
    args.strides_given = 1;
    CHECK(same_shape(reduced(args).shape, {2, 3, 4, 0, 0, 0}), "strides of zero alone are a broadcast of one element");
    args = reduce_args(WR_SUM, WR_F32);
    args.strides_given = 1;
    args.input = input_memory + 2048;
    args.outer_stride = -12;
    args.axis_stride = -4;
    args.inner_stride = -1;
    CHECK(same_shape(reduced(args).shape, {2, 3, 4, -12, -4, -1}), "negative strides stay");
    args = reduce_args(WR_SUM, WR_F32);
    args.outer = 1;
    args.strides_given = 1;
    args.outer_stride = std::numeric_limits<std::ptrdiff_t>::min();
    args.axis_stride = 4;
    args.inner_stride = 1;
    CHECK(same_shape(reduced(args).shape, {1, 3, 4, 12, 4, 1}), "a stride along which no step is made means nothing");
    args = reduce_args(WR_SUM, WR_F32);
    args.axis = 0;
    args.input = nullptr;
    CHECK(same_shape(reduced(args).shape, {2, 0, 4, 0, 4, 1}), "an empty axis");
}

void check_softmax_options_are_resolved() {
    wr::SoftmaxProblem p = softmaxed(softmax_args(WR_F32));
    CHECK(!p.log && !p.empty_row_zero && p.scale == 1.0 && p.logsumexp == nullptr, "the defaults");
    CHECK(p.dtype == ElementType::f32 && p.output_dtype == ElementType::f32, "types");
    wr_softmax_args args = softmax_args(WR_BF16);
    args.log = 1;
    args.empty_row = WR_EMPTY_ROW_ZERO;
    args.scale = -0.125;
    args.output_dtype = WR_F64;
    args.logsumexp = logsumexp_memory;
    p = softmaxed(args);
    CHECK(p.log && p.empty_row_zero && p.scale == -0.125 && p.logsumexp == logsumexp_memory, "options as given");
    CHECK(p.dtype == ElementType::bf16 && p.output_dtype == ElementType::f64, "types as given");
    args = softmax_args(WR_F32);
    args.scale = -0.0;
    CHECK(softmaxed(args).scale == 1.0, "minus zero is zero");
    reset();
    CHECK(wr_log_softmax(WR_F64, input_memory, output_memory, 2, 3, 4, wr_host_stream()) == WR_SUCCESS, "log-softmax");
    CHECK(record().softmax.log, "the short call for the logarithm");
    CHECK(wr_softmax(WR_F64, input_memory, output_memory, 2, 3, 4, wr_host_stream()) == WR_SUCCESS, "softmax");
    CHECK(!record().softmax.log, "the short call");
}

// FLT_MAX and half the spacing above it: the first double that becomes infinite in f32.
void check_scale_is_finite_where_it_is_used() {
    const double largest = std::numeric_limits<float>::max(), first_infinite = largest + std::ldexp(1.0, 103);
    wr_softmax_args args = softmax_args(WR_F16);
    args.scale = std::nextafter(first_infinite, 0.0);
    CHECK(softmaxed(args).scale == args.scale, "rounds to the largest f32");
    reset();
    args.scale = first_infinite;
    CHECK(wr_softmax_ex(&args, wr_host_stream()) == WR_ERROR_INVALID_OPTION, "rounds to infinity in f32");
    args.scale = -first_infinite;
    CHECK(wr_softmax_ex(&args, wr_host_stream()) == WR_ERROR_INVALID_OPTION, "rounds to minus infinity in f32");
    CHECK(record().calls == 0, "a refused call reached a place");
    args.dtype = WR_F64;
    args.scale = 1e308;
    CHECK(softmaxed(args).scale == 1e308, "f64 takes every finite scale");
}

// Half the smallest f32 is a tie, which goes to the even 0.
void check_scale_is_not_zero_where_it_is_used() {
    const double largest_zero = std::ldexp(1.0, -150);
    wr_softmax_args args = softmax_args(WR_BF16);
    args.scale = std::nextafter(largest_zero, 1.0);
    CHECK(softmaxed(args).scale == args.scale, "rounds to the smallest f32");
    reset();
    for (const double scale : {largest_zero, -largest_zero, 1e-300, std::numeric_limits<double>::quiet_NaN()}) {
        args.scale = scale;
        CHECK(wr_softmax_ex(&args, wr_host_stream()) == WR_ERROR_INVALID_OPTION, "%g is 0 or NaN in f32", scale);
    }
    CHECK(record().calls == 0, "a refused call reached a place");
    args.dtype = WR_F64;
    args.scale = 1e-300;
    CHECK(softmaxed(args).scale == 1e-300, "f64 takes every finite scale");
}

void check_stream_chooses_the_place() {
    unsigned char some_stream = 0;
    CUstream_st *const streams[] = {nullptr, reinterpret_cast<CUstream_st *>(&some_stream)};
    for (CUstream_st *stream : streams) {
        const wr_reduce_args reduce = reduce_args(WR_SUM, WR_F32);
        const wr_softmax_args softmax = softmax_args(WR_F32);
        reset();
        CHECK(wr_reduce_ex(&reduce, stream) == WR_SUCCESS && record().called == Place::cuda, "a CUDA stream");
        CHECK(record().stream == stream && record().calls == 1, "the stream is handed on");
        reset();
        CHECK(wr_softmax_ex(&softmax, stream) == WR_SUCCESS && record().called == Place::cuda, "a CUDA stream");
        CHECK(record().stream == stream && record().calls == 1, "the stream is handed on");
    }
    reduced(reduce_args(WR_SUM, WR_F32));
    CHECK(record().called == Place::host, "the host stream");
    softmaxed(softmax_args(WR_F32));
    CHECK(record().called == Place::host, "the host stream");
}

// Even where there is no GPU: the arguments are checked, and then nothing is missing for doing nothing.
void check_nothing_to_do_goes_nowhere() {
    for (int empty = 0; empty < 3; ++empty) {
        wr_softmax_args softmax = softmax_args(WR_F32);
        softmax.input = softmax.output = nullptr;
        (empty == 0 ? softmax.outer : empty == 1 ? softmax.axis : softmax.inner) = 0;
        reset();
        CHECK(wr_softmax_ex(&softmax, nullptr) == WR_SUCCESS && record().calls == 0, "softmax of no elements");
        softmax.log = 2;
        CHECK(wr_softmax_ex(&softmax, nullptr) == WR_ERROR_INVALID_OPTION, "options are checked nevertheless");
        wr_reduce_args reduce = reduce_args(WR_SUM, WR_F32);
        reduce.input = reduce.output = nullptr;
        (empty == 2 ? reduce.inner : reduce.outer) = 0;
        CHECK(wr_reduce_ex(&reduce, nullptr) == WR_SUCCESS && record().calls == 0, "a reduction without outputs");
        reduce.add_to_output = 2;
        CHECK(wr_reduce_ex(&reduce, nullptr) == WR_ERROR_INVALID_OPTION, "options are checked nevertheless");
    }
}

void check_empty_rows_have_results() {
    wr_softmax_args args = softmax_args(WR_F32);
    args.axis = 0;
    args.input = nullptr;
    args.output = nullptr;
    args.logsumexp = logsumexp_memory;
    CHECK(softmaxed(args).logsumexp == logsumexp_memory, "rows of no elements have a logsumexp");
    CHECK(record().calls == 1, "it is not written by the entry point");
}

void check_workspace_is_whole_and_handed_on() {
    std::size_t bytes = 0;
    wr_reduce_args reduce = reduce_args(WR_SUM, WR_F32);
    wr_softmax_args softmax = softmax_args(WR_F32);
    reset();
    script().workspace_bytes = 33;
    CHECK(wr_reduce_workspace_size(&reduce, &bytes) == WR_SUCCESS && bytes == 48, "%zu bytes for 33", bytes);
    CHECK(wr_softmax_workspace_size(&softmax, &bytes) == WR_SUCCESS && bytes == 48, "%zu bytes for 33", bytes);
    reduce.workspace = softmax.workspace = workspace_memory;
    reduce.workspace_bytes = softmax.workspace_bytes = 47;
    CHECK(wr_reduce_ex(&reduce, wr_host_stream()) == WR_ERROR_WORKSPACE_TOO_SMALL, "on the host device too");
    CHECK(wr_softmax_ex(&softmax, nullptr) == WR_ERROR_WORKSPACE_TOO_SMALL, "on a GPU");
    CHECK(record().calls == 0, "a refused call reached a place");
    reduce.workspace_bytes = softmax.workspace_bytes = 48;
    CHECK(wr_reduce_ex(&reduce, nullptr) == WR_SUCCESS, "just enough");
    CHECK(record().reduce.workspace == workspace_memory && record().reduce.workspace_bytes == 48,
          "the caller's workspace");
    CHECK(wr_softmax_ex(&softmax, nullptr) == WR_SUCCESS, "just enough");
    CHECK(record().softmax.workspace == workspace_memory, "the caller's workspace");
    reduce.workspace = nullptr;
    CHECK(wr_reduce_ex(&reduce, nullptr) == WR_SUCCESS && record().reduce.workspace_bytes == 0, "NULL is none");
}

void check_queries_without_outputs_ask_nobody() {
    std::size_t bytes = 7;
    wr_reduce_args reduce = reduce_args(WR_SUM, WR_F32);
    wr_softmax_args softmax = softmax_args(WR_F32);
    reset();
    script().workspace_bytes = 33;
    reduce.outer = softmax.outer = 0;
    CHECK(wr_reduce_workspace_size(&reduce, &bytes) == WR_SUCCESS && bytes == 0, "no outputs, %zu bytes", bytes);
    bytes = 7;
    CHECK(wr_softmax_workspace_size(&softmax, &bytes) == WR_SUCCESS && bytes == 0, "no outputs, %zu bytes", bytes);
}

void check_the_whole_workspace_counts_as_written() {
    wr_reduce_args args = reduce_args(WR_SUM, WR_F32);
    reset();
    args.workspace = input_memory;
    args.workspace_bytes = 16;
    CHECK(wr_reduce_ex(&args, nullptr) == WR_ERROR_OVERLAP, "the workspace is the input");
    args.workspace = output_memory;
    CHECK(wr_reduce_ex(&args, nullptr) == WR_ERROR_OVERLAP, "the workspace is the output");
    args.workspace = input_memory + 16;
    args.input = input_memory + 1024;
    args.workspace_bytes = 1008 * sizeof(float);
    CHECK(wr_reduce_ex(&args, nullptr) == WR_SUCCESS, "the workspace ends where the input begins");
    args.workspace_bytes += 1;
    CHECK(wr_reduce_ex(&args, nullptr) == WR_ERROR_OVERLAP, "the workspace ends behind the input's beginning");
    args.workspace_bytes = std::numeric_limits<std::size_t>::max();
    CHECK(wr_reduce_ex(&args, nullptr) == WR_ERROR_SIZE_OVERFLOW, "a workspace larger than memory");
}

void check_arrays_end_within_the_address_space() {
    wr_reduce_args args = reduce_args(WR_SUM, WR_F32);
    reset();
    args.strides_given = 1;
    args.outer_stride = -(std::ptrdiff_t{1} << 59);
    CHECK(wr_reduce_ex(&args, nullptr) == WR_ERROR_SIZE_OVERFLOW, "2^61 bytes below a pointer");
    std::size_t bytes = 0;
    CHECK(wr_reduce_workspace_size(&args, &bytes) == WR_SUCCESS, "the query does not look at the pointer");
    CHECK(record().calls == 0, "a refused call reached a place");
}

void check_no_exception_and_every_status_comes_back() {
    const struct {
        Behaviour behaviour;
        wr_status status;
    } cases[] = {{Behaviour::out_of_memory, WR_ERROR_OUT_OF_MEMORY},
                 {Behaviour::throw_bad_alloc, WR_ERROR_OUT_OF_MEMORY},
                 {Behaviour::throw_something_else, WR_ERROR_INTERNAL},
                 {Behaviour::report_illegal_address, enum_of<wr_status>(1700)}};
    const wr_reduce_args reduce = reduce_args(WR_SUM, WR_F32);
    const wr_softmax_args softmax = softmax_args(WR_F32);
    for (const auto &[behaviour, expected] : cases) {
        for (CUstream_st *stream : {static_cast<CUstream_st *>(nullptr), wr_host_stream()}) {
            reset();
            script().behaviour = behaviour;
            CHECK(wr_reduce_ex(&reduce, stream) == expected, "%s", wr_status_name(expected));
            CHECK(wr_softmax_ex(&softmax, stream) == expected, "%s", wr_status_name(expected));
            CHECK(wr_reduce(WR_SUM, WR_F32, input_memory, output_memory, 1, 9, 1, stream) == expected, "short");
            CHECK(wr_softmax(WR_F32, input_memory, output_memory, 1, 9, 1, stream) == expected, "short");
            CHECK(record().calls == 4, "each call reached a place");
        }
    }
}

bool equal(const char *a, const char *b) {
    while (*a != '\0' && *a == *b) {
        ++a;
        ++b;
    }
    return *a == *b;
}

void check_cuda_errors_have_the_names_of_cuda() {
    const auto illegal_address = enum_of<wr_status>(1700), not_known = enum_of<wr_status>(1701);
    CHECK(equal(wr_status_name(illegal_address), "cudaErrorIllegalAddress"), "%s", wr_status_name(illegal_address));
    CHECK(equal(wr_status_string(illegal_address), "an illegal address"), "%s", wr_status_string(illegal_address));
    CHECK(equal(wr_status_name(not_known), "unknown CUDA error"), "%s", wr_status_name(not_known));
    CHECK(equal(wr_status_name(enum_of<wr_status>(1000)), "unknown status"), "1000 is no error of CUDA");
    CHECK(wr_cuda_status() == WR_ERROR_NO_DEVICE, "the GPU's own word on whether it can run");
}

} // namespace

int main() {
    check_short_reduce_is_all_defaults();
    check_types_are_resolved();
    check_reduction_options_arrive();
    check_dot_is_a_weighted_sum();
    check_segments_arrive();
    check_strides_are_resolved();
    check_strides_of_an_older_header();
    check_scales_are_those_of_the_rows();
    check_softmax_options_are_resolved();
    check_scale_is_finite_where_it_is_used();
    check_scale_is_not_zero_where_it_is_used();
    check_stream_chooses_the_place();
    check_nothing_to_do_goes_nowhere();
    check_empty_rows_have_results();
    check_workspace_is_whole_and_handed_on();
    check_queries_without_outputs_ask_nobody();
    check_the_whole_workspace_counts_as_written();
    check_arrays_end_within_the_address_space();
    check_no_exception_and_every_status_comes_back();
    check_cuda_errors_have_the_names_of_cuda();
    return check_report("problems_arrive_resolved");
}
