// Timing on a stream: medians of alternating samples, so that a drift of the machine meets both sides alike.
#pragma once

#include <cuda_runtime_api.h>

#include <functional>
#include <vector>

namespace bench {

using Job = std::function<void()>;

// Stops the program with a message on the first error: a benchmark that goes on measures nothing.
void require(cudaError_t error, const char *what);

// Microseconds a call of each job, called back to back in the stream `calls` times; the median of `samples` samples,
// taken in turn.
std::vector<double> in_stream(cudaStream_t stream, const std::vector<Job> &jobs, int calls, int samples);

// The same for replays of a graph that `calls` calls were captured in.
double in_graph(cudaStream_t stream, const Job &job, int calls, int samples);

} // namespace bench
