// What random jobs hardly meet: ways of the kernels of reductions that few shapes, values or places in memory lead to,
// each asked for once. The emulated kernels give the bits of the host device, and touch nothing beside the arrays.
#include "array_ends.h"
#include "check.h"
#include "guarded_memory.h"
#include "random_jobs.h"

#include "warp_reduce.h"

#include <cstring>
#include <vector>

namespace {

enum class Elements { random, equal, negative };

struct Job {
    wr_op op;
    wr_dtype dtype, output;
    Elements elements;
    std::size_t outer, axis, inner;
    std::ptrdiff_t apart;       // elements between neighbours of the axis; 0: as the shape has it
    std::size_t offset;         // elements off the boundary; 0: the array ends at a page that nobody may touch
    std::size_t weights_offset; // the same of the weights, and 1 more; 0: there are none
};

void fill_elements(const Job &job, unsigned char *data, std::size_t count) {
    Random random(job.axis * 17 + job.outer);
    const std::size_t size = wr_dtype_size(job.dtype);
    fill(random, job.dtype, data, count);
    for (std::size_t e = 0; e < count; ++e) {
        if (job.elements == Elements::equal) {
            std::memcpy(data + e * size, data, size);
        } else if (job.elements == Elements::negative) {
            data[e * size + size - 1] |= 0x80;
        }
    }
}

void check_reduction(const Job &job) {
    const std::size_t size = wr_dtype_size(job.dtype);
    const std::size_t apart = job.apart == 0 ? job.inner : static_cast<std::size_t>(job.apart);
    const std::size_t elements = (job.outer * job.axis - 1) * apart + job.inner;
    const GuardedMemory input(elements * size, job.offset == 0, job.offset * size);
    const std::size_t weights_before = job.weights_offset == 0 ? 0 : job.weights_offset - 1;
    const GuardedMemory weights(job.axis * size, weights_before == 0, weights_before * size);
    fill_elements(job, input.data(), elements);
    fill_elements(job, weights.data(), job.axis);
    wr_reduce_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = job.op;
    args.dtype = job.dtype;
    args.output_dtype = job.output;
    args.outer = job.outer;
    args.axis = job.axis;
    args.inner = job.inner;
    if (job.apart != 0) {
        args.axis_stride = job.apart;
        args.outer_stride = job.apart * static_cast<std::ptrdiff_t>(job.axis);
        args.inner_stride = 1;
        args.strides_given = 1;
    }
    args.input = input.data();
    if (job.weights_offset != 0) {
        args.weights = weights.data();
        args.weights_dtype = job.dtype;
    }
    std::vector<unsigned char> of_host(job.outer * job.inner * 16), of_kernels = of_host;
    args.output = of_host.data();
    const wr_status expected = wr_reduce_ex(&args, wr_host_stream());
    args.output = of_kernels.data();
    emulator::guard_ends(input.data(), elements * size);
    const wr_status status = wr_reduce_ex(&args, emulated_stream());
    emulator::guard_ends(nullptr, 0);
    CHECK(expected == WR_SUCCESS && status == WR_SUCCESS, "op %d of type %d: %s on the host, %s",
          static_cast<int>(job.op), static_cast<int>(job.dtype), wr_status_name(expected), wr_status_name(status));
    CHECK(of_host == of_kernels, "op %d of type %d, [%zu][%zu][%zu], %td apart, %zu off, weights %zu: other bits",
          static_cast<int>(job.op), static_cast<int>(job.dtype), job.outer, job.axis, job.inner, job.apart, job.offset,
          job.weights_offset);
}

// Long segments among short ones, each as a row of its own.
void check_long_segments(wr_op op, wr_dtype dtype) {
    std::vector<std::int64_t> offsets{0};
    for (const std::int64_t length : {5, 40000, 0, 3, 1, 9000, 17, 70000, 2, 4096, 4097, 33}) {
        offsets.push_back(offsets.back() + length);
    }
    const std::size_t size = wr_dtype_size(dtype), segments = offsets.size() - 1;
    const auto elements = static_cast<std::size_t>(offsets.back());
    const GuardedMemory input(elements * size, true, 0);
    Random random(elements);
    fill(random, dtype, input.data(), elements);
    std::vector<unsigned char> expected(segments * 16), made(segments * 16);
    wr_reduce_segments_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = op;
    args.dtype = dtype;
    args.segments = segments;
    args.input = input.data();
    args.input_count = elements;
    args.offsets = offsets.data();
    args.output = made.data();
    const wr_status status = wr_reduce_segments_ex(&args, emulated_stream());
    CHECK(status == WR_SUCCESS, "segments of op %d: %s", static_cast<int>(op), wr_status_name(status));
    args.output = expected.data();
    const wr_status of_host = wr_reduce_segments_ex(&args, wr_host_stream());
    CHECK(of_host == WR_SUCCESS, "segments of op %d: %s on the host", static_cast<int>(op), wr_status_name(of_host));
    CHECK(expected == made, "%zu segments of op %d of type %d, %zu elements: other bits", segments,
          static_cast<int>(op), static_cast<int>(dtype), elements);
}

// Segments that begin before the array: nothing there is read, and the page before it may not be touched.
void check_offsets_below_zero(wr_op op) {
    constexpr std::size_t elements = 300, segments = 3;
    const GuardedMemory input(elements * sizeof(float), false, 0);
    Random random(op);
    fill(random, WR_F32, input.data(), elements);
    constexpr std::int64_t offsets[segments + 1] = {-5000, -40, 7, elements};
    std::vector<unsigned char> made(segments * 16);
    wr_reduce_segments_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = op;
    args.dtype = WR_F32;
    args.segments = segments;
    args.input = input.data();
    args.offsets = offsets;
    args.output = made.data();
    const wr_status status = wr_reduce_segments_ex(&args, emulated_stream());
    CHECK(status == WR_SUCCESS, "offsets below 0, op %d: %s", static_cast<int>(op), wr_status_name(status));
}

constexpr wr_dtype same{};

constexpr Job jobs[] = {
    // Weights off the boundaries beside elements on them, and the other way round.
    {WR_SUM, WR_F32, same, Elements::random, 2, 3000, 1, 0, 0, 2},
    {WR_SUM, WR_BF16, same, Elements::random, 2, 5000, 1, 0, 1, 1},
    // Places of elements that lie apart, and of equal ones in several tiles.
    {WR_ARGMAX, WR_F32, same, Elements::random, 2, 1500, 1, 2, 0, 0},
    {WR_ARGMAX, WR_I32, same, Elements::random, 2, 1500, 1, 3, 0, 0},
    {WR_ARGMAX, WR_F32, same, Elements::equal, 1, 9000, 1, 0, 0, 0},
    {WR_ARGMAX, WR_BF16, same, Elements::equal, 2, 20001, 1, 0, 1, 0},
    {WR_ARGMAX, WR_F32, same, Elements::equal, 100, 2100, 1, 0, 0, 0},
    {WR_ARGMAX, WR_F64, same, Elements::equal, 100, 1100, 1, 0, 0, 0},
    {WR_ARGMIN, WR_I32, same, Elements::equal, 1, 9000, 1, 0, 0, 0},
    // Small integers with a sign.
    {WR_SUM, WR_I8, WR_I64, Elements::negative, 3, 9000, 1, 0, 0, 0},
    {WR_SUM, WR_I16, WR_I64, Elements::negative, 3, 5000, 1, 0, 0, 0},
    // Ends of rows that are no whole vectors, tiles at the array's ends, off the boundaries and on them.
    {WR_SUM, WR_F32, same, Elements::random, 3, 1027, 1, 0, 0, 0},
    {WR_MAX, WR_BF16, same, Elements::random, 3, 6149, 1, 0, 0, 0},
    {WR_ARGMAX, WR_F32, same, Elements::random, 2, 5003, 1, 0, 0, 0},
    {WR_ARGMAX, WR_F32, same, Elements::random, 2, 5003, 1, 0, 3, 0},
    {WR_ARGMAX, WR_I32, same, Elements::random, 1, 4097, 1, 0, 1, 0},
    {WR_SUM, WR_F32, same, Elements::random, 1, 4096, 1, 0, 1, 0},
    {WR_SUM, WR_F64, same, Elements::random, 100, 1536, 1, 0, 1, 0},
    // Rows in several pieces.
    {WR_SUM, WR_F32, same, Elements::random, 1, 300000, 1, 0, 0, 0},
    {WR_SUM, WR_F32, same, Elements::random, 1, 70001, 1, 0, 0, 0},
    {WR_SUM, WR_F32, same, Elements::random, 3, 33333, 1, 0, 1, 0},
    // Short rows one behind the other, of a power of two elements, of three times that and of others; the last ones
    // fill no vector, or not three.
    {WR_SUM, WR_F32, same, Elements::random, 1031, 2, 1, 0, 4, 0},
    {WR_SUM, WR_BF16, same, Elements::random, 1033, 4, 1, 0, 8, 0},
    {WR_SUM, WR_F32, same, Elements::random, 1031, 6, 1, 0, 4, 0},
    {WR_SUM, WR_F32, same, Elements::random, 1030, 7, 1, 0, 0, 0},
    {WR_SUM, WR_F32, same, Elements::random, 1030, 48, 1, 0, 0, 0},
    {WR_SUM, WR_F32, same, Elements::random, 1030, 64, 1, 0, 0, 0},
    {WR_SUM, WR_BF16, same, Elements::random, 1030, 24, 1, 0, 0, 0},
    // Columns: of whole vectors and not, cut along the axis and not.
    {WR_SUM, WR_F32, same, Elements::random, 1, 301, 33, 0, 0, 0},
    {WR_SUM, WR_F32, same, Elements::random, 2, 1003, 64, 0, 0, 0},
    {WR_SUM, WR_F32, same, Elements::random, 2, 301, 33, 36, 4, 0},
    {WR_MAX, WR_BF16, same, Elements::random, 2, 300, 60, 64, 8, 0},
    {WR_MAX, WR_BF16, same, Elements::random, 3, 77, 130, 0, 0, 0},
    {WR_SUM, WR_F32, same, Elements::random, 2, 2003, 3, 0, 0, 0},
    {WR_ARGMAX, WR_F32, same, Elements::random, 2, 2003, 3, 0, 0, 0},
    {WR_ARGMAX, WR_F32, same, Elements::random, 1, 6000, 5, 0, 0, 0},
    // Threads of columns with few rows, with many, with all of a middling axis.
    {WR_SUM, WR_BF16, same, Elements::random, 4, 200, 128, 0, 0, 0},
    {WR_SUM, WR_BF16, same, Elements::random, 4, 300, 128, 0, 0, 0},
    {WR_SUM, WR_BF16, same, Elements::random, 3, 49, 2048, 0, 0, 0},
    {WR_NORM_L2, WR_BF16, same, Elements::random, 4, 201, 256, 0, 0, 0},
    // Squares by trees over vectors, of which some leave the range.
    {WR_NORM_L2, WR_BF16, same, Elements::random, 40, 640, 1, 0, 0, 0},
    {WR_NORM_L2, WR_F32, same, Elements::random, 41, 300, 1, 0, 0, 0},
    {WR_NORM_L2, WR_F64, same, Elements::random, 33, 102, 1, 0, 0, 0},
    // Axes of few rows, of which a thread takes several vectors.
    {WR_SUM, WR_F32, same, Elements::random, 1, 2, 25004, 0, 0, 0},
    {WR_MEAN, WR_F32, WR_BF16, Elements::random, 6, 3, 4100, 0, 0, 0},
    {WR_MAX, WR_BF16, same, Elements::random, 7, 4, 4104, 4112, 8, 0},
    {WR_MIN, WR_F16, WR_F32, Elements::random, 7, 2, 8200, 0, 0, 0},
};

} // namespace

int main() {
    for (const Job &job : jobs) {
        check_reduction(job);
    }
    for (const wr_op op : {WR_SUM, WR_ARGMAX}) {
        check_long_segments(op, WR_F32);
        check_long_segments(op, WR_I32);
        check_offsets_below_zero(op);
    }
    return check_report("rare_ways_of_reductions_are_those_of_the_host");
}
