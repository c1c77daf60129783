// The library's calls beside CUB's, in one run on one GPU: a table of times and rates with the rate that each job must
// reach, and what it is of the measured ceiling. `gpu_bench whole small rows` names its parts.
#include "bench/parts.h"

#include <cub/device/device_reduce.cuh>
#include <cub/device/device_segmented_reduce.cuh>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

using namespace bench;

Table *table;

Job our_reduce(wr_dtype dtype, const void *data, std::size_t outer, std::size_t axis, std::size_t inner,
               wr_dtype output_dtype, bool own_workspace, wr_op op = WR_SUM) {
    wr_reduce_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = op;
    args.dtype = dtype;
    args.output_dtype = output_dtype;
    args.input = data;
    args.output = table->output;
    args.outer = outer;
    args.axis = axis;
    args.inner = inner;
    args.workspace = own_workspace ? table->workspace : nullptr;
    args.workspace_bytes = own_workspace ? workspace_bytes : 0;
    return [args] { check(wr_reduce_ex(&args, table->stream), "reduce"); };
}

// CUB keeps its temporary storage at the workspace.
template <class T>
Job cub_sum(std::size_t count) {
    return [count] {
        std::size_t bytes = workspace_bytes;
        require(cub::DeviceReduce::Reduce(table->workspace, bytes, reinterpret_cast<const T *>(table->input),
                                          reinterpret_cast<float *>(table->output), static_cast<long long>(count),
                                          cuda::std::plus<float>(), 0.0f, table->stream),
                "CUB");
    };
}

struct RowStart {
    long long width;
    __host__ __device__ long long operator()(long long row) const { return row * width; }
};

Job cub_rows(std::size_t rows, std::size_t width) {
    return [rows, width] {
        std::size_t bytes = workspace_bytes;
        const auto starts = thrust::make_transform_iterator(thrust::make_counting_iterator(0LL),
                                                            RowStart{static_cast<long long>(width)});
        require(cub::DeviceSegmentedReduce::Sum(table->workspace, bytes, reinterpret_cast<const float *>(table->input),
                                                reinterpret_cast<float *>(table->output), static_cast<long long>(rows),
                                                starts, starts + 1, table->stream),
                "CUB rows");
    };
}

void whole_arrays() {
    std::printf("\nsum of the whole array, f32, beside CUB\n");
    double aligned = 0;
    for (const std::size_t n : {std::size_t{1} << 30, std::size_t{1} << 28, std::size_t{100000000}}) {
        const double rate = table->run({"sum f32 " + std::to_string(n), 4.0 * n,
                                        our_reduce(WR_F32, table->input, 1, n, 1, WR_F32, true), cub_sum<float>(n), 0,
                                        table->read_ceiling, 0.99});
        aligned = n == gib ? rate : aligned;
    }
    table->run({"sum f32 2^30, off by one element", 4.0 * gib,
                our_reduce(WR_F32, table->input + 4, 1, gib, 1, WR_F32, true), nullptr, 0.97 * aligned,
                table->read_ceiling});
    table->run({"mean f32 2^30", 4.0 * gib, our_reduce(WR_F32, table->input, 1, gib, 1, WR_F32, true, WR_MEAN), nullptr,
                0, table->read_ceiling});
    table->run({"max f32 2^30", 4.0 * gib, our_reduce(WR_F32, table->input, 1, gib, 1, WR_F32, true, WR_MAX), nullptr,
                0, table->read_ceiling});
    table->run({"min f64 2^29", 4.0 * gib, our_reduce(WR_F64, table->input, 1, gib / 2, 1, WR_F64, true, WR_MIN),
                nullptr, 0, table->read_ceiling});
    table->run({"sum f64 2^29", 4.0 * gib, our_reduce(WR_F64, table->input, 1, gib / 2, 1, WR_F64, true), nullptr, 0,
                table->read_ceiling});
    table->run({"sum i32 2^30", 4.0 * gib, our_reduce(WR_I32, table->input, 1, gib, 1, WR_I32, true), nullptr, 0,
                table->read_ceiling});
    table->fill_input(2 * gib, Fill::bf16);
    table->run({"sum bf16 2^31 into f32", 4.0 * gib, our_reduce(WR_BF16, table->input, 1, 2 * gib, 1, WR_F32, true),
                cub_sum<__nv_bfloat16>(2 * gib), 4.5, table->read_ceiling});
    table->run({"max bf16 2^31", 4.0 * gib, our_reduce(WR_BF16, table->input, 1, 2 * gib, 1, WR_BF16, true, WR_MAX),
                nullptr, 0, table->read_ceiling});
    table->fill_input(2 * gib, Fill::f16);
    table->run({"sum f16 2^31 into f32", 4.0 * gib, our_reduce(WR_F16, table->input, 1, 2 * gib, 1, WR_F32, true),
                cub_sum<__half>(2 * gib), 4.5, table->read_ceiling});
    table->fill_input(gib, Fill::field);
    table->run({"sum KoalaBear 2^29", 2.0 * gib,
                our_reduce(WR_KOALABEAR, table->input, 1, gib / 2, 1, WR_KOALABEAR, true), nullptr, 4.4,
                table->read_ceiling});
}

void small_arrays() {
    std::printf("\nsmall sums, f32, calls back to back: caller's workspace, NULL workspace, graph replay, CUB\n");
    table->fill_input(gib, Fill::f32);
    const struct {
        int log2;
        double limit;
    } sizes[] = {{14, 3.7}, {16, 3.7}, {18, 3.7}, {20, 4.6}, {22, 5.6}};
    for (const auto &size : sizes) {
        const std::size_t n = std::size_t{1} << size.log2;
        const Job own = our_reduce(WR_F32, table->input, 1, n, 1, WR_F32, true);
        const Job null = our_reduce(WR_F32, table->input, 1, n, 1, WR_F32, false);
        table->rest();
        const auto us = bench::in_stream(table->stream, {own, null, cub_sum<float>(n)}, 200, samples);
        const double graph = bench::in_graph(table->stream, own, 100, samples);
        const bool met = us[0] <= size.limit && graph <= us[0] && us[1] <= us[0] + 0.6;
        table->count(met);
        std::printf("sum f32 2^%-2d   own %6.2f us   NULL %6.2f   graph %6.2f   CUB %6.2f   must %4.1f  %s\n",
                    size.log2, us[0], us[1], graph, us[2], size.limit, met ? "met" : "MISSED");
    }
}

void rows_and_columns() {
    std::printf("\nrows, f32\n");
    const struct {
        std::size_t rows, width;
    } rows[] = {{gib / 64, 32}, {gib / 256, 128},   {gib / 2048, 1024}, {65536, 8192},
                {16, gib / 64}, {gib / 2000, 1000}, {gib / 66, 33}};
    for (const auto &shape : rows) {
        const double bytes = 4.0 * static_cast<double>(shape.rows * (shape.width + 1));
        const bool demanded = shape.width != 1000 && shape.width != 33;
        table->run({"rows " + std::to_string(shape.rows) + " x " + std::to_string(shape.width), bytes,
                    our_reduce(WR_F32, table->input, shape.rows, shape.width, 1, WR_F32, true),
                    cub_rows(shape.rows, shape.width), demanded ? 4.3 : 0, table->read_ceiling});
    }
    std::printf("\ncolumns, f32\n");
    const struct {
        std::size_t rows, width;
    } columns[] = {{gib / 64, 32}, {gib / 2048, 1024}, {32768, 16384}, {gib / 512, 128}};
    for (const auto &shape : columns) {
        const double bytes = 4.0 * static_cast<double>((shape.rows + 1) * shape.width);
        table->run({"columns " + std::to_string(shape.rows) + " x " + std::to_string(shape.width), bytes,
                    our_reduce(WR_F32, table->input, 1, shape.rows, shape.width, WR_F32, true), nullptr, 4.3,
                    table->read_ceiling});
    }
}

template <void (*Run)()>
void with_table(Table &opened) {
    table = &opened;
    Run();
}

} // namespace

int main(int argc, char **argv) {
    return run_parts(argc, argv,
                     {{"whole", with_table<whole_arrays>},
                      {"small", with_table<small_arrays>},
                      {"rows", with_table<rows_and_columns>}});
}
