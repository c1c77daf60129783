#include "bench/table.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <thread>

namespace bench {

namespace {

__device__ unsigned hashed(std::size_t i) {
    unsigned h = static_cast<unsigned>(i) * 2654435761u + static_cast<unsigned>(i >> 32);
    h ^= h >> 15;
    h *= 2246822519u;
    return h ^ (h >> 13);
}

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
            static_cast<unsigned *>(data)[i] = hashed(i) % 0x78000001u;
            break;
        case Fill::bytes:
            static_cast<unsigned char *>(data)[i] = static_cast<unsigned char>(hashed(i) & 0x3F);
            break;
        }
    }
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

// Cycles of a multiprocessor in some 20 microseconds, and the nanoseconds.
__global__ void count_cycles(unsigned long long *cycles_and_time) {
    const auto time = [] {
        unsigned long long now;
        asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
        return now;
    };
    const unsigned long long began = time();
    const long long first = clock64();
    unsigned long long passed = 0;
    while (passed < 20000) {
        passed = time() - began;
    }
    cycles_and_time[0] = static_cast<unsigned long long>(clock64() - first);
    cycles_and_time[1] = passed;
}

void keep_pool(int device) {
    cudaMemPool_t pool{};
    std::uint64_t all = UINT64_MAX;
    require(cudaDeviceGetDefaultMemPool(&pool, device), "pool");
    require(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &all), "pool");
}

int calls_for(double bytes) { return bytes < 1e8 ? 200 : 4; }

} // namespace

void check(wr_status status, const char *what) {
    if (status != WR_SUCCESS) {
        std::fprintf(stderr, "bench: %s: %s\n", what, wr_status_string(status));
        std::exit(1);
    }
}

Table::Table(std::chrono::milliseconds rest) : rest_(rest) {
    cudaDeviceProp properties;
    require(cudaGetDeviceProperties(&properties, 0), "no GPU");
    std::printf(
        "%s, %d multiprocessors; medians of %d samples, ours and the peer's in turn, after a rest of %d ms; the "
        "clock behind each job\n",
        properties.name, properties.multiProcessorCount, samples, static_cast<int>(rest_.count()));
    keep_pool(0);
    require(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "stream");
    require(cudaMalloc(&input, 4 * gib + 4096), "memory");
    require(cudaMalloc(&output, 4 * gib + 4096), "memory");
    require(cudaMalloc(&workspace, workspace_bytes), "memory");
    fill_input(gib, Fill::f32);
    const std::size_t vectors = 4 * gib / 16;
    const Job read = [this, vectors] {
        read_all<<<static_cast<unsigned>(vectors / (256 * 8)), 256, 0, stream>>>(
            reinterpret_cast<const uint4 *>(input), vectors, static_cast<unsigned *>(workspace));
    };
    const Job copy = [this] { cudaMemcpyAsync(output, input, 2 * gib, cudaMemcpyDeviceToDevice, stream); };
    const auto us = in_stream(stream, {read, copy}, 4, samples);
    read_ceiling = 4.0 * gib / us[0] * 1e-6;
    copy_ceiling = 4.0 * gib / us[1] * 1e-6;
    std::printf("ceilings: read %.2f TB/s, copy %.2f TB/s (read and written)\n", read_ceiling, copy_ceiling);
}

void Table::fill_input(std::size_t count, Fill kind, float low, float high) {
    fill<<<2048, 512, 0, stream>>>(input, count, kind, low, high);
    require(cudaStreamSynchronize(stream), "fill");
}

void Table::rest() const {
    require(cudaStreamSynchronize(stream), "rest");
    std::this_thread::sleep_for(rest_);
}

double Table::clock_mhz() {
    unsigned long long counts[2] = {0, 1};
    count_cycles<<<1, 1, 0, stream>>>(static_cast<unsigned long long *>(workspace));
    require(cudaMemcpyAsync(counts, workspace, sizeof(counts), cudaMemcpyDeviceToHost, stream), "clock");
    require(cudaStreamSynchronize(stream), "clock");
    return 1e3 * static_cast<double>(counts[0]) / static_cast<double>(counts[1]);
}

double Table::run(const Line &line) {
    std::vector<Job> jobs{line.ours};
    if (line.peer) {
        jobs.push_back(line.peer);
    }
    rest();
    const auto us = in_stream(stream, jobs, calls_for(line.bytes), samples);
    const double mhz = clock_mhz();
    require(cudaGetLastError(), line.name.c_str());
    const double peer_bytes = line.peer_bytes > 0 ? line.peer_bytes : line.bytes;
    const double rate = line.bytes / us[0] * 1e-6, peer_rate = us.size() > 1 ? peer_bytes / us[1] * 1e-6 : 0;
    const double demanded = line.demanded_of_peer > 0 ? line.demanded_of_peer * peer_rate : line.demanded_tb;
    const bool met = demanded == 0 || rate >= demanded;
    missed_ += met ? 0 : 1;
    const char *verdict = demanded == 0 ? "" : met ? "met" : "MISSED";
    std::printf("%-42s %10.2f us %6.2f TB/s %5.1f %%   %4.0f MHz   peer %6.2f   must %5.2f  %s\n", line.name.c_str(),
                us[0], rate, 100 * rate / line.ceiling_tb, mhz, peer_rate, demanded, verdict);
    std::fflush(stdout);
    return rate;
}

void Table::run_small(const std::string &name, const Job &job, const Job &peer, double most_us) {
    std::vector<Job> jobs{job};
    if (peer) {
        jobs.push_back(peer);
    }
    rest();
    const auto us = in_stream(stream, jobs, 200, samples);
    const double graph = in_graph(stream, job, 100, samples);
    const bool met = most_us == 0 || us[0] <= most_us;
    missed_ += met ? 0 : 1;
    const char *verdict = most_us == 0 ? "" : met ? "met" : "MISSED";
    std::printf("%-42s %10.2f us   graph %6.2f   peer %6.2f   must %4.1f  %s\n", name.c_str(), us[0], graph,
                us.size() > 1 ? us[1] : 0.0, most_us, verdict);
    std::fflush(stdout);
}

} // namespace bench
