// Every kind of reduction at full size: operators, types, widths of rows and columns, segments, fields, dot products.
// `reduce_bench operators widths segments fields` names its parts.
#include "bench/parts.h"

#include <cub/device/device_segmented_reduce.cuh>

#include <cstdint>
#include <cstdio>
#include <cstring>
#include <random>

namespace {

using namespace bench;

struct Shape {
    std::size_t outer, axis, inner;
};

wr_reduce_args args_of(Table &t, wr_op op, wr_dtype dtype, Shape shape) {
    wr_reduce_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = op;
    args.dtype = dtype;
    args.input = t.input;
    args.output = t.output;
    args.outer = shape.outer;
    args.axis = shape.axis;
    args.inner = shape.inner;
    args.workspace = t.workspace;
    args.workspace_bytes = workspace_bytes;
    return args;
}

Job reduce(Table &t, const wr_reduce_args &args) {
    return [&t, args] { check(wr_reduce_ex(&args, t.stream), "reduce"); };
}

double bytes_of(wr_dtype dtype, Shape s) {
    const auto size = static_cast<double>(wr_dtype_size(dtype));
    return size * static_cast<double>(s.outer) * static_cast<double>(s.axis + 1) * static_cast<double>(s.inner);
}

void run(Table &t, const std::string &name, wr_op op, wr_dtype dtype, Shape shape, double demanded) {
    t.run({name, bytes_of(dtype, shape), reduce(t, args_of(t, op, dtype, shape)), nullptr, demanded, t.read_ceiling});
}

void operators(Table &t) {
    const struct {
        wr_op op;
        const char *name;
        double demanded;
    } rows[] = {{WR_SUM, "sum", 4.4},         {WR_PRODUCT, "product", 0},      {WR_MIN, "min", 4.4},
                {WR_MAX, "max", 4.4},         {WR_ARGMIN, "argmin", 4.2},      {WR_ARGMAX, "argmax", 4.2},
                {WR_NORM_L1, "L1 norm", 4.4}, {WR_NORM_L2, "L2 norm", 4.4},    {WR_NORM_MAX, "max norm", 4.4},
                {WR_ANY, "any", 4.4},         {WR_COUNT_NONZERO, "count", 4.4}};
    std::printf("\nwhole array of f32, 2^30\n");
    t.fill_input(gib, Fill::f32);
    for (const auto &row : rows) {
        run(t, row.name, row.op, WR_F32, {1, gib, 1}, row.demanded);
    }
    wr_reduce_args args = args_of(t, WR_SUM, WR_F32, {1, gib, 1});
    args.nan_mode = WR_NAN_IGNORE;
    t.run({"sum, NaN ignored", 4.0 * gib, reduce(t, args), nullptr, 0, t.read_ceiling});
    args = args_of(t, WR_SUM, WR_F32, {1, gib / 2, 1});
    args.axis_stride = 2;
    args.outer_stride = gib;
    args.inner_stride = 1;
    args.strides_given = 1;
    t.run({"every second element (bytes of the sectors)", 4.0 * gib, reduce(t, args), nullptr, 0.9 * t.read_ceiling,
           t.read_ceiling});
    const auto dot = [&t](wr_dtype dtype, std::size_t count) -> Job {
        return [&t, dtype, count] {
            check(wr_dot(dtype, t.input, t.input + count * wr_dtype_size(dtype), t.output, count, t.stream), "dot");
        };
    };
    t.run({"dot f32, 2^29 with 2^29", 4.0 * gib, dot(WR_F32, gib / 2), nullptr, 4.4, t.read_ceiling});
    std::printf("\nother types, 4 GiB\n");
    t.fill_input(4 * gib, Fill::bytes);
    run(t, "sum i8", WR_SUM, WR_I8, {1, 4 * gib, 1}, 4.3);
    run(t, "sum E4M3", WR_SUM, WR_F8_E4M3, {1, 4 * gib, 1}, 4.3);
    run(t, "sum E5M2", WR_SUM, WR_F8_E5M2, {1, 4 * gib, 1}, 4.3);
    run(t, "max i8", WR_MAX, WR_I8, {1, 4 * gib, 1}, 0);
    run(t, "max E4M3", WR_MAX, WR_F8_E4M3, {1, 4 * gib, 1}, 0);
    run(t, "count u8", WR_COUNT_NONZERO, WR_U8, {1, 4 * gib, 1}, 0);
    run(t, "sum i16", WR_SUM, WR_I16, {1, 2 * gib, 1}, 0);
    run(t, "or u32", WR_BIT_OR, WR_U32, {1, gib, 1}, 0);
    run(t, "product i64", WR_PRODUCT, WR_I64, {1, gib / 2, 1}, 0);
    t.fill_input(2 * gib, Fill::bf16);
    run(t, "max bf16", WR_MAX, WR_BF16, {1, 2 * gib, 1}, 0);
    run(t, "max norm bf16", WR_NORM_MAX, WR_BF16, {1, 2 * gib, 1}, 0);
    run(t, "L2 norm bf16", WR_NORM_L2, WR_BF16, {1, 2 * gib, 1}, 0);
    run(t, "argmax bf16", WR_ARGMAX, WR_BF16, {1, 2 * gib, 1}, 0);
}

void widths(Table &t) {
    constexpr std::size_t total = gib / 2;
    t.fill_input(gib, Fill::f32);
    for (const bool columns : {false, true}) {
        std::printf("\n%s of every width, f32, 2 GiB\n", columns ? "columns" : "rows");
        for (std::size_t power = 2; power <= std::size_t{1} << 24; power *= 2) {
            for (const std::size_t width : {power, power / 4 * 3}) {
                if (width < 2 || (width != power && power < 4)) {
                    continue;
                }
                const std::size_t other = total / width;
                const Shape shape = columns ? Shape{1, other, width} : Shape{other, width, 1};
                run(t, (columns ? "columns " : "rows ") + std::to_string(other) + " x " + std::to_string(width), WR_SUM,
                    WR_F32, shape, 4.2);
            }
        }
    }
    std::printf("\n");
    run(t, "rows 16 x 16M", WR_SUM, WR_F32, {16, gib / 64, 1}, 4.3);
    run(t, "2 x 2^28 columns first", WR_SUM, WR_F32, {1, 2, gib / 4}, 4.3);
    run(t, "rows x 33", WR_SUM, WR_F32, {total / 33, 33, 1}, 0);
    run(t, "rows x 1000", WR_SUM, WR_F32, {total / 1000, 1000, 1}, 0);
    run(t, "columns x 33", WR_SUM, WR_F32, {1, total / 33, 33}, 0);
    run(t, "columns x 1001", WR_SUM, WR_F32, {1, total / 1001, 1001}, 0);
    run(t, "max of rows x 48", WR_MAX, WR_F32, {total / 48, 48, 1}, 0);
    run(t, "argmax of rows x 1000", WR_ARGMAX, WR_F32, {total / 1000, 1000, 1}, 0);
    t.fill_input(gib, Fill::bf16);
    run(t, "bf16 rows x 64", WR_SUM, WR_BF16, {gib / 64, 64, 1}, 0);
    run(t, "bf16 rows x 96", WR_SUM, WR_BF16, {gib / 96, 96, 1}, 0);
    run(t, "bf16 columns x 1024", WR_SUM, WR_BF16, {1, gib / 1024, 1024}, 0);
}

Job cub_segments(Table &t, const std::int64_t *offsets, std::size_t segments) {
    return [&t, offsets, segments] {
        std::size_t bytes = workspace_bytes;
        require(cub::DeviceSegmentedReduce::Sum(t.workspace, bytes, reinterpret_cast<const float *>(t.input),
                                                reinterpret_cast<float *>(t.output), static_cast<long long>(segments),
                                                offsets, offsets + 1, t.stream),
                "CUB segments");
    };
}

void run_segments(Table &t, const std::string &name, const std::vector<std::int64_t> &offsets, double demanded) {
    const std::size_t segments = offsets.size() - 1;
    std::int64_t *on_gpu = nullptr;
    require(cudaMalloc(&on_gpu, offsets.size() * sizeof(std::int64_t)), "offsets");
    require(cudaMemcpy(on_gpu, offsets.data(), offsets.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice), "copy");
    wr_reduce_segments_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = WR_SUM;
    args.dtype = WR_F32;
    args.input = t.input;
    args.output = t.output;
    args.offsets = on_gpu;
    args.segments = segments;
    args.workspace = t.workspace;
    args.workspace_bytes = workspace_bytes;
    const double bytes = 4.0 * static_cast<double>(offsets.back()) + 12.0 * static_cast<double>(segments);
    t.run({name, bytes, [&t, args] { check(wr_reduce_segments_ex(&args, t.stream), "segments"); },
           cub_segments(t, on_gpu, segments), demanded, t.read_ceiling});
    require(cudaFree(on_gpu), "free");
}

void segments(Table &t) {
    std::printf("\nsegments, f32, beside CUB's segmented sum (bytes of elements, offsets and results)\n");
    t.fill_input(gib, Fill::f32);
    std::mt19937_64 random(1);
    const auto with_lengths = [&](std::size_t count, std::int64_t least, std::int64_t most, std::size_t huge_at) {
        std::vector<std::int64_t> offsets{0};
        std::uniform_int_distribution<std::int64_t> length(least, most);
        for (std::size_t i = 0; i < count; ++i) {
            offsets.push_back(offsets.back() + (i == huge_at ? std::int64_t{1} << 29 : length(random)));
        }
        return offsets;
    };
    run_segments(t, "one of 2^29 + 1e5 of 0 to 8", with_lengths(100000, 0, 8, 50000), 4.2);
    run_segments(t, "1e6 of 0 to 1024", with_lengths(1000000, 0, 1024, ~std::size_t{0}), 3.8);
    run_segments(t, "1e7 of 1 to 8", with_lengths(10000000, 1, 8, ~std::size_t{0}), 2.5);
    run_segments(t, "1e6 of 100", with_lengths(1000000, 100, 100, ~std::size_t{0}), 0);
    run_segments(t, "1e4 of 0 to 100000", with_lengths(10000, 0, 100000, ~std::size_t{0}), 0);
}

void fields(Table &t) {
    std::printf("\nprime fields, 2 GiB\n");
    t.fill_input(gib, Fill::field);
    constexpr std::size_t words = gib / 2;
    const Shape shapes[] = {{1, words, 1}, {512, words / 512, 1}, {32768, words / 32768, 1}};
    for (const Shape &s : shapes) {
        const std::string shape = std::to_string(s.outer) + " x " + std::to_string(s.axis);
        run(t, "KoalaBear " + shape, WR_SUM, WR_KOALABEAR, s, 4.4);
        run(t, "KoalaBear x4 " + std::to_string(s.outer) + " x " + std::to_string(s.axis / 4), WR_SUM, WR_KOALABEAR_X4,
            {s.outer, s.axis / 4, 1}, 4.4);
    }
    run(t, "Mersenne31", WR_SUM, WR_MERSENNE31, {1, words, 1}, 0);
    run(t, "Goldilocks", WR_SUM, WR_GOLDILOCKS, {1, words / 2, 1}, 0);
    run(t, "KoalaBear columns, 2^13 x 65536", WR_SUM, WR_KOALABEAR, {1, 8192, words / 8192}, 0);
    run(t, "KoalaBear product", WR_PRODUCT, WR_KOALABEAR, {1, words, 1}, 0);
    const std::size_t count = gib / 4;
    t.run({"KoalaBear dot 2^28 with 2^28", 8.0 * static_cast<double>(count),
           [&t, count] { check(wr_dot(WR_KOALABEAR, t.input, t.input + 4 * count, t.output, count, t.stream), "dot"); },
           nullptr, 4.2, t.read_ceiling});
    wr_reduce_args args = args_of(t, WR_SUM, WR_KOALABEAR, {512, words / 512, 1});
    args.weights = t.input + 2 * gib;
    t.run({"KoalaBear 512 x 2^20 with a vector", 4.0 * words, reduce(t, args), nullptr, 4.2, t.read_ceiling});
    args.weights_dtype = WR_KOALABEAR_X4;
    t.run({"KoalaBear 512 x 2^20 with a vector of x4", 4.0 * words, reduce(t, args), nullptr, 0, t.read_ceiling});
    for (const auto &row : {std::pair{WR_KOALABEAR, "KoalaBear 2^14"}, std::pair{WR_I32, "i32 2^14"}}) {
        t.run_small(row.second, reduce(t, args_of(t, WR_SUM, row.first, {1, 16384, 1})), nullptr, 3.7);
    }
}

} // namespace

int main(int argc, char **argv) {
    return run_parts(argc, argv,
                     {{"operators", operators}, {"widths", widths}, {"segments", segments}, {"fields", fields}});
}
