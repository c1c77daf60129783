// Where the host device gets no memory it goes on without: every call gives the bits that it gives with it, and none is
// left with a part of its outputs written.
#include "check.h"
#include "warp_reduce.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace {

bool fails = false;
int refused = 0;

} // namespace

// What the library's own allocations come to. Those that may throw are this test's.
void *operator new[](std::size_t bytes, const std::nothrow_t &) noexcept {
    if (fails) {
        ++refused;
        return nullptr;
    }
    return std::malloc(bytes);
}
void operator delete[](void *memory) noexcept { std::free(memory); }
void operator delete[](void *memory, std::size_t) noexcept { std::free(memory); }

namespace {

constexpr std::size_t elements = std::size_t{1} << 22;

std::vector<float> numbers() {
    std::vector<float> made(elements);
    for (std::size_t i = 0; i < elements; ++i) {
        made[i] = static_cast<float>(i * 2654435761u % 1009) * 0x1p-6f - 7.0f;
    }
    return made;
}

// Runs the call with and without memory, each on outputs that hold the same before.
template <class Call>
void check_call(const char *name, std::size_t outputs, Call call) {
    std::vector<float> with(outputs, 0.5f), without(outputs, 0.5f);
    CHECK(call(with.data()) == WR_SUCCESS, "%s", name);
    refused = 0;
    fails = true;
    const wr_status status = call(without.data());
    fails = false;
    CHECK(status == WR_SUCCESS, "%s without memory: %s", name, wr_status_name(status));
    CHECK(refused > 0 || wr_host_threads() < 2, "%s asks for no memory: a test of nothing", name);
    CHECK(std::memcmp(with.data(), without.data(), outputs * sizeof(float)) == 0, "%s: other bits", name);
}

template <class Args>
Args args_of(std::size_t axis, const float *input) {
    Args args{};
    args.struct_size = sizeof args;
    args.dtype = WR_F32;
    args.outer = elements / axis;
    args.axis = axis;
    args.inner = 1;
    if constexpr (requires { args.op; }) {
        args.op = WR_SUM;
    }
    if constexpr (requires { args.output_gradient; }) {
        args.output = input;
        args.output_gradient = input;
    } else {
        args.input = input;
    }
    return args;
}

// 1000 segments of one element, and one that all cores share, added to what is there.
void check_segments(const std::vector<float> &x) {
    std::vector<std::int64_t> offsets;
    for (std::int64_t i = 0; i <= 1000; ++i) {
        offsets.push_back(i);
    }
    offsets.push_back(elements);
    wr_reduce_segments_args args{};
    args.struct_size = sizeof args;
    args.op = WR_SUM;
    args.dtype = WR_F32;
    args.add_to_output = 1;
    args.input = x.data();
    args.offsets = offsets.data();
    args.segments = 1001;
    check_call("segments", 1001, [&](float *output) {
        args.output = output;
        return wr_reduce_segments_ex(&args, wr_host_stream());
    });
}

} // namespace

int main() {
    wr_set_host_threads(0, nullptr);
    const std::vector<float> x = numbers();
    check_call("sum", 1, [&](float *output) {
        auto args = args_of<wr_reduce_args>(elements, x.data());
        args.add_to_output = 1;
        args.output = output;
        return wr_reduce_ex(&args, wr_host_stream());
    });
    check_call("softmax", elements, [&](float *output) {
        auto args = args_of<wr_softmax_args>(elements, x.data());
        args.output = output;
        return wr_softmax_ex(&args, wr_host_stream());
    });
    check_call("gradient", elements, [&](float *output) {
        auto args = args_of<wr_softmax_backward_args>(elements, x.data());
        args.input_gradient = output;
        args.add_to_input_gradient = 1;
        return wr_softmax_backward_ex(&args, wr_host_stream());
    });
    check_segments(x);
    return check_report("host_goes_on_without_memory");
}
