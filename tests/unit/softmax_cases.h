// Calls of softmax, its gradient and the logsumexp on GPUs that are not there, and which kernels they launch. What a
// kernel is called is what it registers by. Who links this wraps __cudaRegisterFunction.
#pragma once

#include "fake_runtime.h"

#include "warp_reduce.h"

#include <string>

enum class Job { softmax, log_softmax, logsumexp, gradient, gradient_from_logits };

enum : unsigned {
    with_logsumexp = 1,
    masked = 2,
    with_lengths = 4,
    causal = 8,
    by_offsets = 16,
    off_by_one = 32,
    apart = 64,
    own_scales = 128
};

// In memory that is not there.
struct SoftmaxCase {
    Job job;
    wr_dtype dtype;
    std::size_t outer, axis, inner;
    unsigned options;
    wr_dtype output; // 0: the input's
};

wr_status run(const SoftmaxCase &of);

// Of a run on this GPU, in alphabetical order; what went wrong, if anything did.
std::string kernels_given(const SoftmaxCase &of, const fake::Gpu &gpu);
