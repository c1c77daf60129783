// The classic ladder of reductions, rung by rung, beside this library's call: what each step gives on this GPU. The
// rungs add in whatever order is quick, and so have no fixed bits; docs/experiments.md tells their story.
#include "bench/table.h"

#include <cstdio>
#include <cstring>

namespace {

using namespace bench;

constexpr int threads = 256;
constexpr int most_blocks = 1024;

enum class Load { single, vectors };
enum class BlockStep { shared_memory, shuffles };

// A thread's own share of the array.
template <Load how>
__device__ float own_sum(const float *x, std::size_t count) {
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * threads;
    const std::size_t first = blockIdx.x * static_cast<std::size_t>(threads) + threadIdx.x;
    float sum = 0;
    if constexpr (how == Load::single) {
        for (std::size_t i = first; i < count; i += step) {
            sum += x[i];
        }
    } else {
        const auto *vectors = reinterpret_cast<const float4 *>(x);
#pragma unroll 8
        for (std::size_t i = first; i < count / 4; i += step) {
            const float4 v = __ldcs(vectors + i);
            sum += (v.x + v.y) + (v.z + v.w);
        }
    }
    return sum;
}

__device__ float sum_by_shared_memory(float mine) {
    __shared__ float sums[threads];
    sums[threadIdx.x] = mine;
    __syncthreads();
    for (unsigned distance = threads / 2; distance > 0; distance /= 2) {
        if (threadIdx.x < distance) {
            sums[threadIdx.x] += sums[threadIdx.x + distance];
        }
        __syncthreads();
    }
    return sums[0];
}

__device__ float sum_of_warp(float mine) {
    for (int distance = 16; distance > 0; distance /= 2) {
        mine += __shfl_xor_sync(0xFFFFFFFFu, mine, distance);
    }
    return mine;
}

__device__ float sum_by_shuffles(float mine) {
    __shared__ float sums[threads / 32];
    mine = sum_of_warp(mine);
    if (threadIdx.x % 32 == 0) {
        sums[threadIdx.x / 32] = mine;
    }
    __syncthreads();
    return sum_of_warp(threadIdx.x % 32 < threads / 32 ? sums[threadIdx.x % 32] : 0.0f);
}

template <BlockStep how>
__device__ float block_sum(float mine) {
    return how == BlockStep::shared_memory ? sum_by_shared_memory(mine) : sum_by_shuffles(mine);
}

// Two kernels: this one twice.
template <Load load, BlockStep step>
__global__ void partial_sums(const float *x, std::size_t count, float *sums) {
    const float sum = block_sum<step>(own_sum<load>(x, count));
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
    }
}

// One kernel: the block that finishes last adds up. The counter must be zero before.
__global__ void last_block_sum(const float *x, std::size_t count, float *sums, unsigned *counter, float *result) {
    __shared__ bool last;
    const float sum = block_sum<BlockStep::shuffles>(own_sum<Load::vectors>(x, count));
    if (threadIdx.x == 0) {
        sums[blockIdx.x] = sum;
        __threadfence();
        last = atomicAdd(counter, 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (!last) {
        return;
    }
    float mine = 0;
    for (unsigned i = threadIdx.x; i < gridDim.x; i += threads) {
        mine += __ldcg(sums + i);
    }
    __syncthreads();
    mine = block_sum<BlockStep::shuffles>(mine);
    if (threadIdx.x == 0) {
        *result = mine;
    }
}

unsigned blocks_for(std::size_t count) {
    const std::size_t wanted = (count + threads * 4 - 1) / (threads * 4);
    return static_cast<unsigned>(wanted < most_blocks ? wanted : most_blocks);
}

template <Load load, BlockStep step>
Job two_kernels(Table &t, std::size_t count) {
    return [&t, count] {
        auto *sums = static_cast<float *>(t.workspace);
        const unsigned blocks = blocks_for(count);
        partial_sums<load, step>
            <<<blocks, threads, 0, t.stream>>>(reinterpret_cast<const float *>(t.input), count, sums);
        partial_sums<Load::single, step>
            <<<1, threads, 0, t.stream>>>(sums, blocks, reinterpret_cast<float *>(t.output));
    };
}

Job last_block(Table &t, std::size_t count) {
    return [&t, count] {
        auto *sums = static_cast<float *>(t.workspace);
        auto *counter = reinterpret_cast<unsigned *>(sums + most_blocks);
        cudaMemsetAsync(counter, 0, sizeof(unsigned), t.stream);
        last_block_sum<<<blocks_for(count), threads, 0, t.stream>>>(reinterpret_cast<const float *>(t.input), count,
                                                                    sums, counter, reinterpret_cast<float *>(t.output));
    };
}

Job library(Table &t, std::size_t count) {
    wr_reduce_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = WR_SUM;
    args.dtype = WR_F32;
    args.input = t.input;
    args.output = t.output;
    args.outer = args.inner = 1;
    args.axis = count;
    args.workspace = t.workspace;
    args.workspace_bytes = workspace_bytes;
    return [&t, args] { check(wr_reduce_ex(&args, t.stream), "reduce"); };
}

} // namespace

int main() {
    Table table(std::chrono::milliseconds(0));
    std::printf("\nus a call: in a stream / replayed from a graph\n%-46s", "");
    constexpr int logs[] = {14, 16, 18, 20, 22, 24, 28};
    for (const int log : logs) {
        std::printf("      2^%-7d", log);
    }
    std::printf("\n");
    const struct {
        const char *name;
        Job (*job)(Table &, std::size_t);
    } rungs[] = {
        {"shared memory, two kernels", two_kernels<Load::single, BlockStep::shared_memory>},
        {"shuffles, two kernels", two_kernels<Load::single, BlockStep::shuffles>},
        {"16-byte loads, 8 in flight, two kernels", two_kernels<Load::vectors, BlockStep::shuffles>},
        {"the same, last block with a counter to zero", last_block},
        {"this library: cluster, then dependent launch", library},
    };
    for (const auto &rung : rungs) {
        std::printf("%-46s", rung.name);
        for (const int log : logs) {
            const Job job = rung.job(table, std::size_t{1} << log);
            const int calls = log < 24 ? 200 : 10;
            const double stream_us = in_stream(table.stream, {job}, calls, samples)[0];
            std::printf(" %7.2f/%6.2f", stream_us, in_graph(table.stream, job, calls, samples));
        }
        std::printf("\n");
        std::fflush(stdout);
    }
    return 0;
}
