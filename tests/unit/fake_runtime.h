// A CUDA runtime without a GPU, for the library's table: it counts, keeps book on memory and devices, runs no kernel,
// and can make any one call fail.
#pragma once

#include "cuda/common/runtime.h"

#include <compare>
#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace fake {

struct Gpu {
    int multiprocessors = 132;
    int compute_major = 9;
    int shared_bytes = 227 * 1024; // that a block may ask for
    int largest_cluster = 16;      // in blocks
};

struct Launched {
    const void *kernel;
    unsigned cluster_blocks; // 0: no cluster

    auto operator<=>(const Launched &) const = default;
};

struct Runtime {
    Gpu gpu;
    int callers_device = 0;
    int stream_device = 0; // of every stream but CUDA's special handles
    int call_to_fail = 0;  // counted from 1; 0 for none
    cudaError_t failure = cudaSuccess;

    int current_device = 0;
    int calls = 0;
    cudaError_t last_error = cudaSuccess;
    std::string failed_call;         // empty: none has failed yet
    bool failed_on_way_back = false; // it was the call that makes the caller's device current again
    int launches = 0, launches_after_failure = 0;
    int cluster_launches = 0, dependent_launches = 0;
    std::set<Launched> launched;
    std::map<const void *, int> allowed_shared_bytes; // beyond what a launch has unasked
    int allocations = 0, allocations_after_failure = 0;
    std::map<cudaMemPool_t, int> pools;                               // and the devices that they are of
    cudaStreamCaptureMode capture_mode = cudaStreamCaptureModeGlobal; // of the calling thread
    std::size_t allocated_bytes = 0;
    std::map<void *, cudaStream_t> live; // allocated and not given back
    std::string misuse;                  // what no correct program does
};

// The state that the fake functions work on.
Runtime &runtime();

// Puts the fake functions into the library's table.
void install();

// A fresh state in which the caller's device is current.
void reset(const Gpu &gpu, int callers_device, int stream_device);

} // namespace fake
