// Jobs of every regime for the fake runtime, in memory that is not there: nothing may touch it.
#pragma once

#include "warp_reduce.h"

#include <cstddef>
#include <string>
#include <vector>

namespace jobs {

class Job {
  public:
    static Job reduction(std::string name, wr_op op, wr_dtype dtype, std::size_t outer, std::size_t axis,
                         std::size_t inner);
    static Job softmax(std::string name, wr_dtype dtype, std::size_t outer, std::size_t axis, std::size_t inner);

    const std::string &name() const { return name_; }

    // Softmax with elements left out.
    Job with_a_mask() const;
    // Softmax alone, and log-softmax.
    Job without_logsumexp() const;
    Job of_logarithms() const;
    // Softmax with the maximum of each row or column.
    Job with_maxima() const;
    // A sum with weights of its elements' type.
    Job with_weights() const;
    // The input begins this many elements behind a 16-byte boundary.
    Job shifted_by(std::size_t elements) const;
    // The axis' elements are this many apart.
    Job with_axis_stride(std::ptrdiff_t stride) const;

    // The workspace query's answer.
    std::size_t workspace_bytes() const;

    wr_status run(CUstream_st *stream) const;
    // With a workspace of as many bytes as the query says.
    wr_status run_with_workspace(CUstream_st *stream) const;

  private:
    bool is_softmax_ = false;
    std::string name_;
    wr_reduce_args reduce_{};
    wr_softmax_args softmax_{};
};

// At least one job for each way in which a GPU goes about its work.
std::vector<Job> of_every_regime();

// A stream that is none of CUDA's special handles.
CUstream_st *some_stream();

} // namespace jobs
