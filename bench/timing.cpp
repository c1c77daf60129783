#include "bench/timing.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace bench {

namespace {

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

struct Events {
    cudaEvent_t begin, end;
    Events() {
        require(cudaEventCreate(&begin), "event");
        require(cudaEventCreate(&end), "event");
    }
    ~Events() {
        cudaEventDestroy(begin);
        cudaEventDestroy(end);
    }
    Events(const Events &) = delete;
    Events &operator=(const Events &) = delete;

    double microseconds(cudaStream_t stream, const Job &body) const {
        require(cudaEventRecord(begin, stream), "record");
        body();
        require(cudaEventRecord(end, stream), "record");
        require(cudaEventSynchronize(end), "run");
        float milliseconds = 0;
        require(cudaEventElapsedTime(&milliseconds, begin, end), "elapsed");
        return 1e3 * static_cast<double>(milliseconds);
    }
};

} // namespace

void require(cudaError_t error, const char *what) {
    if (error != cudaSuccess) {
        std::fprintf(stderr, "bench: %s: %s\n", what, cudaGetErrorString(error));
        std::exit(1);
    }
}

std::vector<double> in_stream(cudaStream_t stream, const std::vector<Job> &jobs, int calls, int samples) {
    const Events events;
    std::vector<std::vector<double>> times(jobs.size());
    for (int sample = -2; sample < samples; ++sample) {
        for (std::size_t j = 0; j < jobs.size(); ++j) {
            const double us = events.microseconds(stream, [&] {
                for (int call = 0; call < calls; ++call) {
                    jobs[j]();
                }
            });
            if (sample >= 0) {
                times[j].push_back(us / calls);
            }
        }
    }
    std::vector<double> medians;
    medians.reserve(times.size());
    for (auto &list : times) {
        medians.push_back(median(list));
    }
    return medians;
}

double in_graph(cudaStream_t stream, const Job &job, int calls, int samples) {
    cudaGraph_t graph{};
    cudaGraphExec_t executable{};
    require(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
    for (int call = 0; call < calls; ++call) {
        job();
    }
    require(cudaStreamEndCapture(stream, &graph), "capture");
    require(cudaGraphInstantiate(&executable, graph, 0), "graph");
    const Events events;
    std::vector<double> times;
    for (int sample = -2; sample < samples; ++sample) {
        const double us = events.microseconds(stream, [&] { require(cudaGraphLaunch(executable, stream), "replay"); });
        if (sample >= 0) {
            times.push_back(us / calls);
        }
    }
    cudaGraphExecDestroy(executable);
    cudaGraphDestroy(graph);
    return median(times);
}

} // namespace bench
