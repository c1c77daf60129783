#include "gpu_jobs.h"

#include <bit>
#include <cstdint>
#include <utility>

namespace jobs {

namespace {

// Far apart, and beyond what a process can have.
constexpr std::uintptr_t input_address = std::uintptr_t{1} << 60;
constexpr std::uintptr_t output_address = std::uintptr_t{2} << 60;
constexpr std::uintptr_t workspace_address = std::uintptr_t{3} << 60;
constexpr std::uintptr_t logsumexp_address = std::uintptr_t{4} << 60;
constexpr std::uintptr_t mask_address = std::uintptr_t{5} << 60;
constexpr std::uintptr_t maximum_address = std::uintptr_t{6} << 60;
constexpr std::uintptr_t weights_address = std::uintptr_t{7} << 60;

void *at(std::uintptr_t address) { return std::bit_cast<void *>(address); }

} // namespace

CUstream_st *some_stream() { return std::bit_cast<CUstream_st *>(std::uintptr_t{4096}); }

Job Job::reduction(std::string name, wr_op op, wr_dtype dtype, std::size_t outer, std::size_t axis, std::size_t inner) {
    Job job;
    job.name_ = std::move(name);
    wr_reduce_args &args = job.reduce_;
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = dtype;
    args.input = at(input_address);
    args.output = at(output_address);
    args.outer = outer;
    args.axis = axis;
    args.inner = inner;
    return job;
}

Job Job::softmax(std::string name, wr_dtype dtype, std::size_t outer, std::size_t axis, std::size_t inner) {
    Job job;
    job.is_softmax_ = true;
    job.name_ = std::move(name);
    wr_softmax_args &args = job.softmax_;
    args.struct_size = sizeof args;
    args.dtype = dtype;
    args.input = at(input_address);
    args.output = at(output_address);
    args.logsumexp = at(logsumexp_address);
    args.outer = outer;
    args.axis = axis;
    args.inner = inner;
    return job;
}

Job Job::with_a_mask() const {
    Job job = *this;
    job.softmax_.mask = static_cast<const std::uint8_t *>(at(mask_address));
    return job;
}

Job Job::without_logsumexp() const {
    Job job = *this;
    job.softmax_.logsumexp = nullptr;
    return job;
}

Job Job::of_logarithms() const {
    Job job = *this;
    job.softmax_.log = 1;
    return job;
}

Job Job::with_maxima() const {
    Job job = *this;
    job.softmax_.maximum = at(maximum_address);
    return job;
}

Job Job::with_weights() const {
    Job job = *this;
    job.reduce_.weights = at(weights_address);
    return job;
}

Job Job::shifted_by(std::size_t elements) const {
    Job job = *this;
    const std::size_t element_bytes = wr_dtype_size(is_softmax_ ? softmax_.dtype : reduce_.dtype);
    job.reduce_.input = job.softmax_.input = at(input_address + elements * element_bytes);
    return job;
}

Job Job::with_axis_stride(std::ptrdiff_t stride) const {
    Job job = *this;
    const auto give = [stride](auto &args) {
        args.strides_given = 1;
        args.outer_stride = static_cast<std::ptrdiff_t>(args.axis * args.inner);
        args.axis_stride = stride;
        args.inner_stride = 1;
    };
    give(job.reduce_);
    give(job.softmax_);
    return job;
}

std::size_t Job::workspace_bytes() const {
    std::size_t bytes = SIZE_MAX;
    const wr_status status =
        is_softmax_ ? wr_softmax_workspace_size(&softmax_, &bytes) : wr_reduce_workspace_size(&reduce_, &bytes);
    return status == WR_SUCCESS ? bytes : SIZE_MAX;
}

wr_status Job::run(CUstream_st *stream) const {
    return is_softmax_ ? wr_softmax_ex(&softmax_, stream) : wr_reduce_ex(&reduce_, stream);
}

wr_status Job::run_with_workspace(CUstream_st *stream) const {
    Job job = *this;
    job.reduce_.workspace = job.softmax_.workspace = at(workspace_address);
    job.reduce_.workspace_bytes = job.softmax_.workspace_bytes = workspace_bytes();
    return job.run(stream);
}

std::vector<Job> of_every_regime() {
    constexpr std::size_t k = 1024, m = k * k, g = m * k;
    return {
        Job::reduction("a small array", WR_SUM, WR_F32, 1, 1000, 1),
        Job::reduction("an array for one cluster", WR_SUM, WR_F32, 1, 256 * k, 1),
        Job::reduction("an array for two kernels", WR_SUM, WR_BF16, 1, 16 * m, 1),
        Job::reduction("an array whose partial results are many", WR_MEAN, WR_F32, 1, 64 * g, 1),
        Job::reduction("an array that updates one accumulator", WR_MAX, WR_I64, 1, 4 * g, 1),
        Job::reduction("short rows", WR_MIN, WR_F16, 100 * k, 32, 1),
        Job::reduction("rows", WR_SUM, WR_F64, 3000, 1000, 1),
        Job::reduction("few long rows", WR_SUM, WR_KOALABEAR, 3, 64 * m, 1),
        Job::reduction("columns", WR_SUM, WR_F32, 1, 100, 1000),
        Job::reduction("columns of many rows", WR_MEAN, WR_F32, 1, 16 * m, 7),
        Job::reduction("scattered elements", WR_SUM, WR_I32, 5, 16 * m, 1).with_axis_stride(3),
        Job::reduction("an empty axis", WR_SUM, WR_F32, 1000, 0, 3),
        Job::reduction("columns that clusters finish", WR_SUM, WR_F32, 1, k, k),
        Job::reduction("places on an axis of one", WR_ARGMAX, WR_F32, 1000, 1, 3),
        Job::softmax("softmax of rows", WR_F32, 1000, 1000, 1),
        Job::softmax("softmax of a long row", WR_BF16, 1, 16 * m, 1),
        Job::softmax("softmax of a row that all multiprocessors hold", WR_F32, 1, m, 1),
        Job::softmax("softmax of rows that all multiprocessors share", WR_F32, 1000, 256 * k, 1),
        Job::softmax("softmax of columns", WR_F64, 3, 5000, 1000),
        Job::softmax("softmax of columns shared by clusters", WR_F32, 1, k, 16 * k),
        Job::softmax("softmax of short columns", WR_BF16, 3, 21, 5000),
        Job::softmax("softmax of short columns with maxima", WR_F32, 3, 700, 1001).with_maxima(),
        Job::softmax("softmax of scattered rows", WR_F16, 10, 300, 1).with_axis_stride(7),
        Job::softmax("softmax of empty rows", WR_F32, 1000, 0, 1),
        Job::softmax("softmax of rows with maxima", WR_F32, 1000, 3000, 1).with_maxima(),
        Job::softmax("softmax of shared rows with maxima", WR_F32, 1000, 200 * k, 1).with_maxima(),
        Job::softmax("softmax of columns with maxima", WR_F32, 3, 5000, 1000).with_maxima(),
        Job::softmax("masked softmax of rows", WR_F32, 1000, 1000, 1).with_a_mask(),
        Job::softmax("masked softmax of a long row", WR_BF16, 1, 16 * m, 1).with_a_mask(),
        Job::softmax("masked softmax of columns", WR_F64, 3, 5000, 1000).with_a_mask(),
        Job::softmax("softmax of f8", WR_F8_E4M3, 1000, 1000, 1),
        Job::reduction("logsumexp of long rows", WR_LOGSUMEXP, WR_F32, 3, 64 * m, 1),
        Job::reduction("the exact sum of a long row", WR_SUM_EXACT, WR_BF16, 1, 64 * m, 1),
        Job::reduction("exact sums of rows", WR_SUM_EXACT, WR_F32, 100 * k, 1000, 1),
        Job::reduction("exact sums of columns", WR_SUM_EXACT, WR_F64, 1, 16 * k, 1000),
    };
}

} // namespace jobs
