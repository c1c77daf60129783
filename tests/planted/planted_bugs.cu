// One bug for each tool of compute-sanitizer, planted: a tool that does not report its own has not looked.
//
//   planted_bugs memcheck|racecheck|initcheck|synccheck
//
// Each kernel is named after the tool that must report it, and is right in every other respect. The exit status is 0
// whenever the kernel was launched: what went wrong is for the tool to say.
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstring>

namespace {

constexpr int threads = 256;
constexpr int elements = threads;

// Reads a GiB behind its input, where no other allocation lies.
__global__ void planted_for_memcheck(const int *input, int *output) {
    output[threadIdx.x] = input[threadIdx.x + (1u << 28)];
}

// Reads what another warp writes, with no barrier between.
__global__ void planted_for_racecheck(const int *input, int *output) {
    __shared__ int shared[threads];
    shared[threadIdx.x] = input[threadIdx.x];
    output[threadIdx.x] = shared[threads - 1 - threadIdx.x];
}

// Its input was allocated and never written.
__global__ void planted_for_initcheck(const int *input, int *output) { output[threadIdx.x] = input[threadIdx.x]; }

// Half of each warp does not come to the barrier. The input holds zeros, which the compiler cannot know.
__global__ void planted_for_synccheck(const int *input, int *output) {
    __shared__ int shared[threads];
    shared[threadIdx.x] = 1;
    __syncthreads();
    if (threadIdx.x % 32 < 16 + static_cast<unsigned>(input[threadIdx.x])) {
        shared[threadIdx.x] += 1;
        __syncthreads();
    }
    output[threadIdx.x] = shared[threadIdx.x];
}

struct Bug {
    const char *tool;
    void (*kernel)(const int *, int *);
    bool input_is_written;
};

constexpr Bug bugs[] = {
    {"memcheck", planted_for_memcheck, true},
    {"racecheck", planted_for_racecheck, true},
    {"initcheck", planted_for_initcheck, false},
    {"synccheck", planted_for_synccheck, true},
};

const Bug *find_bug(const char *tool) {
    for (const Bug &bug : bugs) {
        if (std::strcmp(bug.tool, tool) == 0) {
            return &bug;
        }
    }
    return nullptr;
}

bool succeeded(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "planted_bugs: %s: %s\n", what, cudaGetErrorString(error));
    }
    return error == cudaSuccess;
}

bool prepare(const Bug &bug, int **input, int **output) {
    constexpr std::size_t bytes = elements * sizeof(int);
    return succeeded(cudaMalloc(input, bytes), "memory") && succeeded(cudaMalloc(output, bytes), "memory") &&
           (!bug.input_is_written || succeeded(cudaMemset(*input, 0, bytes), "input"));
}

} // namespace

int main(int argc, char **argv) {
    const Bug *bug = argc == 2 ? find_bug(argv[1]) : nullptr;
    if (bug == nullptr) {
        std::fprintf(stderr, "usage: planted_bugs memcheck|racecheck|initcheck|synccheck\n");
        return 2;
    }
    int *input = nullptr, *output = nullptr;
    if (!prepare(*bug, &input, &output)) {
        return 1;
    }
    bug->kernel<<<1, threads>>>(input, output);
    if (!succeeded(cudaGetLastError(), "launch")) {
        return 1;
    }
    // A tool may end the kernel at the bug: the error that this returns then is its doing.
    succeeded(cudaDeviceSynchronize(), "kernel");
    cudaFree(input);
    cudaFree(output);
    return 0;
}
