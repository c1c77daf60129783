// The kernels of plain softmax that a plan names, put on the stream.
#pragma once

#include "cuda/common/launch.h"
#include "cuda/softmax/plan.h"

namespace wr::cuda {

// A call on its way to the stream.
struct SoftmaxCall {
    const SoftmaxProblem &problem;
    const GpuFacts &gpu;
    cudaStream_t stream;
    const SoftmaxKernels &kernels;
    LoadPolicy places;
    SoftmaxPlan plan;
    const SoftmaxRowKernels &rows;
};

SoftmaxArguments arguments_of(const SoftmaxProblem &problem, const SoftmaxPlan &plan);
SoftmaxArguments arguments_of_call(const SoftmaxCall &call);

// The launch that makes rows' totals of the states of their splits.
Launch softmax_totals_launch(const SoftmaxKernels &kernels, std::size_t rows, std::size_t splits, bool dependent);

// With memory for the states and totals of rows that are read twice. Not `supported` where one launch has not
// the blocks for all rows, or a block not the shared memory.
cudaError_t launch_regime(const SoftmaxCall &call, bool *supported);

} // namespace wr::cuda
