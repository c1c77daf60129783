/* Workspaces of PyTorch's memory that are kept for the next job on their stream, whose jobs come one after the other:
 * to allocate one takes as long as much of a small job. Each is as large as its stream's jobs have asked for so far, up
 * to 4 MiB; what wants more gets memory of its own, and takes longer than to allocate it. */
#pragma once

#include "torch/tensor.h"

typedef struct KeptWorkspace KeptWorkspace;

/* NULL: there is none to be had now, for so many bytes, or while a graph is captured, which may run beside anything
 * later. Nobody else has it until it is given back, when its job is on the stream. */
KeptWorkspace *take_workspace(const Tensor *x, struct CUstream_st *stream, size_t bytes, void **memory);
void give_workspace_back(KeptWorkspace *workspace);
