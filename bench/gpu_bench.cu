// The library's calls beside CUB's, in one run on one GPU: a table of times and rates with the rate that each job must
// reach, and what it is of the measured ceiling. `gpu_bench whole small rows softmax` names its parts.
#include "bench/timing.h"

#include <warp_reduce.h>

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

using bench::Job;
using bench::require;

constexpr std::size_t gib = std::size_t{1} << 30;
constexpr int samples = 11;

cudaStream_t stream;
char *input;  // 4 GiB and a little
char *output; // 4 GiB and a little
void *workspace;
constexpr std::size_t workspace_bytes = 64u << 20;
double read_ceiling, copy_ceiling; // TB/s
int missed;

void check(wr_status status, const char *what) {
    if (status != WR_SUCCESS) {
        std::fprintf(stderr, "bench: %s: %s\n", what, wr_status_string(status));
        std::exit(1);
    }
}

__device__ unsigned hashed(std::size_t i) {
    unsigned h = static_cast<unsigned>(i) * 2654435761u + static_cast<unsigned>(i >> 32);
    h ^= h >> 15;
    h *= 2246822519u;
    return h ^ (h >> 13);
}

enum class Fill { f32, f16, bf16, field };

__global__ void fill(void *data, std::size_t count, Fill kind, float low, float high) {
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += step) {
        const float value = low + (high - low) * static_cast<float>(hashed(i) >> 8) * 0x1p-24f;
        switch (kind) {
        case Fill::f32:
            static_cast<float *>(data)[i] = value;
            break;
        case Fill::f16:
            static_cast<__half *>(data)[i] = __float2half_rn(value);
            break;
        case Fill::bf16:
            static_cast<__nv_bfloat16 *>(data)[i] = __float2bfloat16_rn(value);
            break;
        case Fill::field:
            static_cast<unsigned *>(data)[i] = hashed(i) % 0x7F000001u;
            break;
        }
    }
}

void fill_input(std::size_t count, Fill kind, float low = 0, float high = 1) {
    fill<<<2048, 512, 0, stream>>>(input, count, kind, low, high);
    require(cudaStreamSynchronize(stream), "fill");
}

__global__ void read_all(const uint4 *data, std::size_t count, unsigned *sink) {
    unsigned sum = 0;
    const std::size_t first = blockIdx.x * static_cast<std::size_t>(blockDim.x) * 8 + threadIdx.x;
    for (int i = 0; i < 8; ++i) {
        const std::size_t at = first + static_cast<std::size_t>(i) * blockDim.x;
        if (at < count) {
            const uint4 v = __ldcs(data + at);
            sum ^= v.x ^ v.y ^ v.z ^ v.w;
        }
    }
    if (sum == 0x12345678u) {
        *sink = sum;
    }
}

int calls_for(double bytes) { return bytes < 1e8 ? 200 : 4; }

// One line: ours beside the peer's, the rate that is demanded, the share of the ceiling. `limit_us` is for small jobs.
struct Line {
    std::string name;
    double bytes;
    Job ours;
    Job peer;
    double demanded_tb = 0;
    double ceiling_tb = 0;
    double demanded_of_peer = 0;
};

double run(const Line &line) {
    std::vector<Job> jobs{line.ours};
    if (line.peer) {
        jobs.push_back(line.peer);
    }
    const auto us = bench::in_stream(stream, jobs, calls_for(line.bytes), samples);
    require(cudaGetLastError(), line.name.c_str());
    const double rate = line.bytes / us[0] * 1e-6;
    const double peer_rate = us.size() > 1 ? line.bytes / us[1] * 1e-6 : 0;
    double demanded = line.demanded_tb;
    if (line.demanded_of_peer > 0) {
        demanded = line.demanded_of_peer * peer_rate;
    }
    const bool met = demanded == 0 || rate >= demanded;
    missed += met ? 0 : 1;
    std::printf("%-34s %10.2f us %6.2f TB/s %5.1f %%   peer %6.2f   must %5.2f  %s\n", line.name.c_str(), us[0], rate,
                100 * rate / line.ceiling_tb, peer_rate, demanded,
                demanded == 0 ? ""
                : met         ? "met"
                              : "MISSED");
    std::fflush(stdout);
    return rate;
}

void measure_ceilings() {
    fill_input(gib, Fill::f32);
    const std::size_t vectors = 4 * gib / 16;
    const auto us =
        bench::in_stream(stream,
                         {[&] {
                              read_all<<<static_cast<unsigned>(vectors / (256 * 8)), 256, 0, stream>>>(
                                  reinterpret_cast<const uint4 *>(input), vectors, static_cast<unsigned *>(workspace));
                          },
                          [&] { cudaMemcpyAsync(output, input, 2 * gib, cudaMemcpyDeviceToDevice, stream); }},
                         4, samples);
    read_ceiling = 4.0 * gib / us[0] * 1e-6;
    copy_ceiling = 4.0 * gib / us[1] * 1e-6;
    std::printf("ceilings: read %.2f TB/s, copy %.2f TB/s (read and written)\n", read_ceiling, copy_ceiling);
}

Job our_reduce(wr_dtype dtype, const void *data, std::size_t outer, std::size_t axis, std::size_t inner,
               wr_dtype output_dtype, bool own_workspace, wr_op op = WR_SUM) {
    wr_reduce_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = op;
    args.dtype = dtype;
    args.output_dtype = output_dtype;
    args.input = data;
    args.output = output;
    args.outer = outer;
    args.axis = axis;
    args.inner = inner;
    args.workspace = own_workspace ? workspace : nullptr;
    args.workspace_bytes = own_workspace ? workspace_bytes : 0;
    return [args] { check(wr_reduce_ex(&args, stream), "reduce"); };
}

// CUB keeps its temporary storage at the workspace.
template <class T>
Job cub_sum(std::size_t count) {
    return [count] {
        std::size_t bytes = workspace_bytes;
        require(cub::DeviceReduce::Reduce(workspace, bytes, reinterpret_cast<const T *>(input),
                                          reinterpret_cast<float *>(output), static_cast<long long>(count),
                                          cuda::std::plus<float>(), 0.0f, stream),
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
        require(cub::DeviceSegmentedReduce::Sum(workspace, bytes, reinterpret_cast<const float *>(input),
                                                reinterpret_cast<float *>(output), static_cast<long long>(rows), starts,
                                                starts + 1, stream),
                "CUB rows");
    };
}

void whole_arrays() {
    std::printf("\nsum of the whole array, f32, beside CUB\n");
    double aligned = 0;
    for (const std::size_t n : {std::size_t{1} << 30, std::size_t{1} << 28, std::size_t{100000000}}) {
        const double rate =
            run({"sum f32 " + std::to_string(n), 4.0 * n, our_reduce(WR_F32, input, 1, n, 1, WR_F32, true),
                 cub_sum<float>(n), 0, read_ceiling, 0.99});
        aligned = n == gib ? rate : aligned;
    }
    run({"sum f32 2^30, off by one element", 4.0 * gib, our_reduce(WR_F32, input + 4, 1, gib, 1, WR_F32, true), nullptr,
         0.97 * aligned, read_ceiling});
    run({"mean f32 2^30", 4.0 * gib, our_reduce(WR_F32, input, 1, gib, 1, WR_F32, true, WR_MEAN), nullptr, 0,
         read_ceiling});
    run({"max f32 2^30", 4.0 * gib, our_reduce(WR_F32, input, 1, gib, 1, WR_F32, true, WR_MAX), nullptr, 0,
         read_ceiling});
    run({"min f64 2^29", 4.0 * gib, our_reduce(WR_F64, input, 1, gib / 2, 1, WR_F64, true, WR_MIN), nullptr, 0,
         read_ceiling});
    run({"sum f64 2^29", 4.0 * gib, our_reduce(WR_F64, input, 1, gib / 2, 1, WR_F64, true), nullptr, 0, read_ceiling});
    run({"sum i32 2^30", 4.0 * gib, our_reduce(WR_I32, input, 1, gib, 1, WR_I32, true), nullptr, 0, read_ceiling});
    fill_input(2 * gib, Fill::bf16);
    run({"sum bf16 2^31 into f32", 4.0 * gib, our_reduce(WR_BF16, input, 1, 2 * gib, 1, WR_F32, true),
         cub_sum<__nv_bfloat16>(2 * gib), 4.5, read_ceiling});
    run({"max bf16 2^31", 4.0 * gib, our_reduce(WR_BF16, input, 1, 2 * gib, 1, WR_BF16, true, WR_MAX), nullptr, 0,
         read_ceiling});
    fill_input(2 * gib, Fill::f16);
    run({"sum f16 2^31 into f32", 4.0 * gib, our_reduce(WR_F16, input, 1, 2 * gib, 1, WR_F32, true),
         cub_sum<__half>(2 * gib), 4.5, read_ceiling});
    fill_input(gib, Fill::field);
    run({"sum KoalaBear 2^29", 2.0 * gib, our_reduce(WR_KOALABEAR, input, 1, gib / 2, 1, WR_KOALABEAR, true), nullptr,
         4.4, read_ceiling});
}

void small_arrays() {
    std::printf("\nsmall sums, f32, calls back to back: caller's workspace, NULL workspace, graph replay, CUB\n");
    fill_input(gib, Fill::f32);
    const struct {
        int log2;
        double limit;
    } sizes[] = {{14, 3.7}, {16, 3.7}, {18, 3.7}, {20, 4.6}, {22, 5.6}};
    for (const auto &size : sizes) {
        const std::size_t n = std::size_t{1} << size.log2;
        const Job own = our_reduce(WR_F32, input, 1, n, 1, WR_F32, true);
        const Job null = our_reduce(WR_F32, input, 1, n, 1, WR_F32, false);
        const auto us = bench::in_stream(stream, {own, null, cub_sum<float>(n)}, 200, samples);
        const double graph = bench::in_graph(stream, own, 100, samples);
        const bool met = us[0] <= size.limit && graph <= us[0] && us[1] <= us[0] + 0.6;
        missed += met ? 0 : 1;
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
        run({"rows " + std::to_string(shape.rows) + " x " + std::to_string(shape.width), bytes,
             our_reduce(WR_F32, input, shape.rows, shape.width, 1, WR_F32, true), cub_rows(shape.rows, shape.width),
             demanded ? 4.3 : 0, read_ceiling});
    }
    std::printf("\ncolumns, f32\n");
    const struct {
        std::size_t rows, width;
    } columns[] = {{gib / 64, 32}, {gib / 2048, 1024}, {32768, 16384}, {gib / 512, 128}};
    for (const auto &shape : columns) {
        const double bytes = 4.0 * static_cast<double>((shape.rows + 1) * shape.width);
        run({"columns " + std::to_string(shape.rows) + " x " + std::to_string(shape.width), bytes,
             our_reduce(WR_F32, input, 1, shape.rows, shape.width, WR_F32, true), nullptr, 4.3, read_ceiling});
    }
}

void softmaxes(wr_dtype dtype, Fill kind, const char *name, std::size_t demanded_up_to) {
    std::printf("\nsoftmax %s, 2 GiB in and 2 GiB out\n", name);
    const std::size_t element = wr_dtype_size(dtype), total = 2 * gib / element;
    fill_input(total, kind, -4, 4);
    for (std::size_t n = 1024; n <= 262144; n *= 2) {
        const std::size_t rows = total / n;
        run({std::string("softmax ") + name + " " + std::to_string(rows) + " x " + std::to_string(n), 4.0 * gib,
             [=] { check(wr_softmax(dtype, input, output, rows, n, 1, stream), "softmax"); }, nullptr,
             n <= demanded_up_to ? 4.15 : 0, copy_ceiling});
    }
    for (const std::size_t n : {std::size_t{1000}, std::size_t{32000}, std::size_t{50257}}) {
        const std::size_t rows = total / n;
        run({std::string("softmax ") + name + " " + std::to_string(rows) + " x " + std::to_string(n),
             2.0 * static_cast<double>(rows * n * element),
             [=] { check(wr_softmax(dtype, input, output, rows, n, 1, stream), "softmax"); }, nullptr, 0,
             copy_ceiling});
    }
    run({std::string("log-softmax ") + name + " x 4096", 4.0 * gib,
         [=] { check(wr_log_softmax(dtype, input, output, total / 4096, 4096, 1, stream), "log-softmax"); }, nullptr, 0,
         copy_ceiling});
    run({std::string("softmax ") + name + " axis 0, 4096 x " + std::to_string(total / 4096), 4.0 * gib,
         [=] { check(wr_softmax(dtype, input, output, 1, 4096, total / 4096, stream), "softmax"); }, nullptr, 0,
         copy_ceiling});
}

} // namespace

// Whether a part of the table is asked for: all are where none is named.
bool wanted(int count, char **names, const char *part) {
    for (int i = 1; i < count; ++i) {
        if (std::strcmp(names[i], part) == 0) {
            return true;
        }
    }
    return count == 1;
}

int main(int argc, char **argv) {
    cudaDeviceProp properties;
    require(cudaGetDeviceProperties(&properties, 0), "no GPU");
    std::printf("%s, %d multiprocessors; medians of %d samples, ours and the peer's in turn\n", properties.name,
                properties.multiProcessorCount, samples);
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    require(cudaMalloc(&input, 4 * gib + 4096), "memory");
    require(cudaMalloc(&output, 4 * gib + 4096), "memory");
    require(cudaMalloc(&workspace, workspace_bytes), "memory");
    measure_ceilings();
    if (wanted(argc, argv, "whole")) {
        whole_arrays();
    }
    if (wanted(argc, argv, "small")) {
        small_arrays();
    }
    if (wanted(argc, argv, "rows")) {
        rows_and_columns();
    }
    if (wanted(argc, argv, "softmax")) {
        softmaxes(WR_F32, Fill::f32, "f32", 32768);
        softmaxes(WR_BF16, Fill::bf16, "bf16", 8192);
    }
    std::printf("\n%d demands missed\n", missed);
    return 0;
}
