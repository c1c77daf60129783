// Rules that are tried from top to bottom, until one puts a call on the stream.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace wr::cuda {

template <class Call>
struct Rule {
    bool (*suits)(const Call &);
    cudaError_t (*put)(Call &,
                       bool *supported); // where not `supported`, nothing was launched and the next rule is asked
};

template <class Call, std::size_t Count>
cudaError_t put_by(const Rule<Call> (&rules)[Count], Call &call) {
    for (const Rule<Call> &rule : rules) {
        bool supported = rule.suits(call);
        const cudaError_t error = supported ? rule.put(call, &supported) : cudaSuccess;
        if (error != cudaSuccess || supported) {
            return error;
        }
    }
    return cudaErrorUnknown; // the last rule suits everything
}

} // namespace wr::cuda
