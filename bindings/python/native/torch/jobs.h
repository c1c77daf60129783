/* The library's calls on PyTorch's tensors. */
#pragma once

#include "torch/tensor.h"

enum { NO_TYPE = -1 };

typedef struct Reduction {
    wr_op op;
    uint64_t dimensions; /* a bit for each that is reduced */
    int keepdim;
    int32_t type; /* of the result, by PyTorch's number, or NO_TYPE */
} Reduction;

typedef struct Rows {
    int log;
    int dimension; /* 0 of a tensor without dimensions */
    int32_t type;
} Rows;

/* What has become of a job: a tensor, or it is for the general way (another layout or type, an error that PyTorch puts
 * into words), or it failed and `message` says why. */
typedef struct Outcome {
    TorchTensor *tensor;
    const char *message;
} Outcome;

Outcome reduce_tensor(const Tensor *x, const Reduction *job);

/* The sums along x's last dimension of its products with the vector y, of the type by PyTorch's number, or NO_TYPE. */
Outcome dot_tensors(const Tensor *x, const Tensor *y, int exact, int32_t type);

Outcome softmax_tensor(const Tensor *x, const Rows *job);

/* The gradient from softmax's output and the gradient of it. */
Outcome softmax_backward_tensor(const Tensor *output, const Tensor *gradient, const Rows *job);
