// What does not change about the GPUs of a process: how many there are, and what a plan has to know of each. The
// runtime takes a third of a microsecond to say it, so it is asked once.
#pragma once

#include "cuda/common/gpu_facts.h"
#include "cuda/common/runtime.h"

namespace wr::cuda {

cudaError_t device_count(int *count);
cudaError_t current_device(int *device);
cudaError_t facts_of(int device, GpuFacts *facts);

// For tests, whose runtime may have other GPUs from one call to the next.
void forget_gpus();

} // namespace wr::cuda
