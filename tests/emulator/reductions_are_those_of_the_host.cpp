// The kernels of reductions, run by the emulator, give the bits of the host device: random operators, types, layouts
// and options over the edges of all regimes. `reductions_are_those_of_the_host [JOBS [SEED]]`.
#include "check.h"
#include "guarded_memory.h"
#include "random_jobs.h"

#include "warp_reduce.h"

#include <cstring>
#include <string>
#include <vector>

namespace {

struct Sizes {
    std::size_t outer, axis, inner;
};

Sizes random_sizes(Random &random) {
    constexpr std::size_t most = 40000, narrow[] = {2, 3, 4, 5, 6, 7, 8, 12, 16, 17, 24, 31, 32, 33, 48, 64, 96, 100};
    constexpr std::size_t wide[] = {127, 128, 130, 300, 513, 1024, 4096, 9000};
    Sizes s{1, any_of(random, edges) + (one_in(random, 3) ? below(random, 8) : 0), 1};
    switch (below(random, 4)) {
    case 0:
        s.inner = any_of(random, narrow);
        break;
    case 1:
        s.inner = any_of(random, wide);
        s.axis = one_in(random, 2) ? below(random, 6) : s.axis;
        break;
    default:
        break;
    }
    s.axis = one_in(random, 40) ? 0 : std::min(s.axis, most / s.inner + 1);
    const std::size_t room = most / ((s.axis + 1) * s.inner) + 1;
    s.outer = one_in(random, 3) ? 1 : 1 + below(random, std::min<std::size_t>(room, 3000));
    return s;
}

wr_reduce_args random_args(Random &random, Sizes s) {
    wr_reduce_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = static_cast<wr_op>(1 + below(random, WR_BIT_XOR));
    args.dtype = static_cast<wr_dtype>(1 + below(random, dtypes));
    if (one_in(random, 3)) { // what most kernels are made for
        constexpr wr_op ops[] = {WR_SUM, WR_MEAN, WR_MAX, WR_MIN, WR_ARGMAX, WR_NORM_L2};
        constexpr wr_dtype types[] = {WR_F32, WR_F64, WR_BF16, WR_I32, WR_KOALABEAR};
        args.op = any_of(random, ops);
        args.dtype = any_of(random, types);
    }
    if (one_in(random, 12)) {
        args.op = WR_SUM_EXACT;
        args.dtype = static_cast<wr_dtype>(1 + below(random, WR_F8_E5M2));
    }
    args.outer = s.outer;
    args.axis = s.axis;
    args.inner = s.inner;
    args.add_to_output = one_in(random, 6);
    args.nan_mode = one_in(random, 6) ? WR_NAN_IGNORE : WR_NAN_PROPAGATE;
    args.output_dtype = one_in(random, 6) ? static_cast<wr_dtype>(1 + below(random, dtypes)) : wr_dtype{};
    if (s.axis > 0 && one_in(random, 12)) {
        args.axis_stride = static_cast<std::ptrdiff_t>(2 * s.inner);
        args.outer_stride = static_cast<std::ptrdiff_t>(2 * s.axis * s.inner);
        args.inner_stride = 1;
        args.strides_given = 1;
    }
    if ((args.op == WR_SUM || args.op == WR_SUM_EXACT) && s.axis > 0 && one_in(random, 3)) {
        args.weights_dtype = args.dtype;
    }
    return args;
}

std::string described(const wr_reduce_args &a, std::size_t offset) {
    char text[256];
    std::snprintf(text, sizeof(text),
                  "op %d of type %d to %d, [%zu][%zu][%zu] strides %td %td, weights %d, add %d, NaN %d, offset %zu",
                  static_cast<int>(a.op), static_cast<int>(a.dtype), static_cast<int>(a.output_dtype), a.outer, a.axis,
                  a.inner, a.outer_stride, a.axis_stride, static_cast<int>(a.weights_dtype), a.add_to_output,
                  static_cast<int>(a.nan_mode), offset);
    return text;
}

// Whether the job is one that the library offers.
bool check_reduction(Random &random) {
    const Sizes s = random_sizes(random);
    wr_reduce_args args = random_args(random, s);
    const std::size_t size = wr_dtype_size(args.dtype), align = alignment_of(args.dtype);
    const std::size_t elements = s.outer * s.axis * s.inner * (args.axis_stride == 0 ? 1 : 2);
    const std::size_t offset = one_in(random, 2) ? 0 : below(random, 16 / align) * align;
    const GuardedMemory input(elements * size, one_in(random, 2), offset);
    const GuardedMemory weights(s.axis * size, true, 0);
    fill(random, args.dtype, input.data(), elements);
    fill(random, args.dtype, weights.data(), s.axis);
    const std::size_t outputs = s.outer * s.inner, most_bytes = outputs * 16;
    std::vector<unsigned char> before(2 * most_bytes);
    if (args.dtype >= WR_KOALABEAR) {
        fill(random, args.dtype, before.data(), outputs);
    }
    std::vector<unsigned char> of_host = before, of_kernels = before;
    args.input = input.data();
    args.weights = args.weights_dtype != 0 ? weights.data() : nullptr;
    const bool wants_values = (args.op == WR_ARGMIN || args.op == WR_ARGMAX) && one_in(random, 2);
    const auto run = [&](std::vector<unsigned char> &to, CUstream_st *stream) {
        args.output = to.data();
        args.values = wants_values ? to.data() + most_bytes : nullptr;
        return wr_reduce_ex(&args, stream);
    };
    const wr_status expected = run(of_host, wr_host_stream());
    if (expected == WR_ERROR_UNSUPPORTED) {
        return false;
    }
    const wr_status status = run(of_kernels, emulated_stream());
    CHECK(status == expected, "%s: %s, not %s", described(args, offset).c_str(), wr_status_name(status),
          wr_status_name(expected));
    CHECK(of_host == of_kernels, "%s: other bits", described(args, offset).c_str());
    return true;
}

std::vector<std::int64_t> random_offsets(Random &random, std::size_t segments) {
    constexpr std::size_t longest[] = {1, 3, 8, 9, 32, 40, 100, 257, 1024, 1025, 3000, 9000, 30000};
    std::vector<std::int64_t> offsets{static_cast<std::int64_t>(below(random, 3))};
    const std::size_t most = any_of(random, longest), rare = any_of(random, longest);
    for (std::size_t i = 0; i < segments; ++i) {
        const std::size_t length = below(random, one_in(random, 50) ? rare + 1 : most + 1);
        const auto room = static_cast<std::size_t>(60000 - std::min<std::int64_t>(offsets.back(), 60000));
        offsets.push_back(offsets.back() + static_cast<std::int64_t>(std::min(length, room)));
    }
    return offsets;
}

wr_reduce_segments_args random_segments_args(Random &random) {
    wr_reduce_segments_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    const wr_reduce_args like = random_args(random, {1, 1, 1});
    args.op = like.op;
    args.dtype = like.dtype;
    args.nan_mode = like.nan_mode;
    args.add_to_output = like.add_to_output;
    args.output_dtype = like.output_dtype;
    args.segments = 1 + below(random, one_in(random, 3) ? 2000 : 60);
    return args;
}

bool check_segments(Random &random) {
    wr_reduce_segments_args args = random_segments_args(random);
    const std::vector<std::int64_t> offsets = random_offsets(random, args.segments);
    const auto elements = static_cast<std::size_t>(offsets.back());
    const std::size_t align = alignment_of(args.dtype), offset = below(random, 16 / align) * align;
    const GuardedMemory input(elements * wr_dtype_size(args.dtype), one_in(random, 2), offset);
    fill(random, args.dtype, input.data(), elements);
    std::vector<unsigned char> before(args.segments * 16);
    if (args.dtype >= WR_KOALABEAR) {
        fill(random, args.dtype, before.data(), args.segments);
    }
    std::vector<unsigned char> of_host = before, of_kernels = before;
    args.input = input.data();
    args.offsets = offsets.data();
    args.output = of_host.data();
    const wr_status expected = wr_reduce_segments_ex(&args, wr_host_stream());
    if (expected == WR_ERROR_UNSUPPORTED) {
        return false;
    }
    args.output = of_kernels.data();
    const wr_status status = wr_reduce_segments_ex(&args, emulated_stream());
    CHECK(status == expected, "segments of op %d, type %d: %s, not %s", static_cast<int>(args.op),
          static_cast<int>(args.dtype), wr_status_name(status), wr_status_name(expected));
    CHECK(of_host == of_kernels, "%zu segments of op %d, type %d to %d, %zu elements, NaN %d, add %d: other bits",
          args.segments, static_cast<int>(args.op), static_cast<int>(args.dtype), static_cast<int>(args.output_dtype),
          elements, static_cast<int>(args.nan_mode), args.add_to_output);
    return true;
}

// Offsets that decrease, that no array has, any bits at all; the first and the last are right where the kernels are not
// told how many elements there are.
void spoil(Random &random, std::vector<std::int64_t> &offsets, bool ends) {
    constexpr std::int64_t wild[] = {INT64_MIN, -1, 0, 1, 3, 20000, 59999, 1 << 30, INT64_MAX};
    const std::size_t changes = one_in(random, 2) ? 1 : 1 + below(random, offsets.size());
    for (std::size_t i = 0; i < changes; ++i) {
        const std::size_t at = below(random, offsets.size());
        if (ends || (at != 0 && at + 1 != offsets.size())) {
            offsets[at] = one_in(random, 2)   ? any_of(random, wild)
                          : one_in(random, 2) ? static_cast<std::int64_t>(below(random, 60000))
                                              : static_cast<std::int64_t>(random());
        }
    }
}

// Whatever the offsets are, nothing beside the arrays is read or written: memory that nobody may touch surrounds them.
bool check_wrong_offsets(Random &random) {
    wr_reduce_segments_args args = random_segments_args(random);
    std::vector<std::int64_t> offsets = random_offsets(random, args.segments);
    const auto elements = static_cast<std::size_t>(offsets.back());
    const std::size_t align = alignment_of(args.dtype), size = wr_dtype_size(args.dtype);
    const GuardedMemory input(elements * size, one_in(random, 2), below(random, 16 / align) * align);
    fill(random, args.dtype, input.data(), elements);
    // The widest outputs have 16 bytes; the last of narrower ones lies further from the forbidden page.
    const GuardedMemory output(args.segments * 16, one_in(random, 2), 0);
    std::memset(output.data(), 0, args.segments * 16);
    const bool counted = elements != 0 && one_in(random, 2);
    spoil(random, offsets, counted);
    args.input_count = counted ? elements : 0;
    args.input = input.data();
    args.offsets = offsets.data();
    args.output = output.data();
    const wr_status status = wr_reduce_segments_ex(&args, emulated_stream());
    if (status == WR_ERROR_UNSUPPORTED) {
        return false;
    }
    CHECK(status == WR_SUCCESS, "wrong offsets, op %d of type %d: %s", static_cast<int>(args.op),
          static_cast<int>(args.dtype), wr_status_name(status));
    return true;
}

} // namespace

int main(int argc, char **argv) {
    const long jobs = argc > 1 ? std::atol(argv[1]) : 2000;
    Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20261121);
    for (long done = 0; done < jobs;) {
        const bool offered = one_in(random, 20)  ? check_wrong_offsets(random)
                             : one_in(random, 5) ? check_segments(random)
                                                 : check_reduction(random);
        done += offered ? 1 : 0;
    }
    return check_report("reductions_are_those_of_the_host");
}
