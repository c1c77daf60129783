// Reductions of ragged rows: runs of segments are spread over the cores, and a segment that is as long as a run is cut
// into pieces for all of them.
#include "host/common/float_environment.h"
#include "host/common/parallel.h"
#include "host/common/run.h"
#include "host/host.h"

#include <algorithm>
#include <type_traits>

namespace wr::host {

namespace {

constexpr std::size_t tasks_per_thread = 8;

// What a segment costs apart from its elements, in bytes that are read meanwhile.
constexpr std::size_t bytes_per_segment = 64;

// The segments laid end to end, each as long as its work, and cut into equal shares of it: share t begins in segment
// segment_at(t). A segment of a share's work and more begins a share.
class Shares {
  public:
    Shares(const SegmentsProblem &problem, std::size_t threads) : problem_(problem) {
        const std::size_t work = work_before(problem.segments);
        count_ = threads == 1 ? 1 : std::min(problem.segments, threads * tasks_per_thread);
        work_ = divide_up(work, count_);
    }

    std::size_t count() const { return count_; }

    std::size_t segment_at(std::size_t share) const {
        if (share == count_) {
            return problem_.segments;
        }
        std::size_t low = 0, high = problem_.segments;
        while (high - low > 1) {
            const std::size_t middle = low + (high - low) / 2;
            (work_before(middle) <= share * work_ ? low : high) = middle;
        }
        return low;
    }

    bool is_for_all_cores(std::size_t segment) const {
        return count_ > 1 && work_before(segment + 1) - work_before(segment) >= work_;
    }

    std::size_t offset(std::size_t i) const {
        return static_cast<std::size_t>(load_integer(problem_.offsets_type, problem_.offsets, i));
    }

  private:
    std::size_t work_before(std::size_t segment) const {
        return (offset(segment) - offset(0)) * traits_of(problem_.what.dtype).size + segment * bytes_per_segment;
    }

    const SegmentsProblem &problem_;
    std::size_t count_, work_;
};

// Element `index` of an array that need not be there.
template <class Array>
Array *element_at(Array *array, ElementType type, std::size_t index) {
    using Byte = std::conditional_t<std::is_const_v<Array>, const std::byte, std::byte>;
    return array == nullptr ? nullptr : static_cast<Byte *>(array) + index * traits_of(type).size;
}

Status run_alone(const SegmentsProblem &problem, const Shares &shares, std::size_t segment, const Kernels &kernels,
                 std::size_t threads) {
    const std::size_t first = shares.offset(segment), count = shares.offset(segment + 1) - first;
    ReduceProblem row{};
    row.what = problem.what;
    row.input = element_at(problem.input, problem.what.dtype, first);
    row.output = element_at(problem.output, problem.what.output_dtype, segment);
    row.values = element_at(problem.values, problem.what.dtype, segment);
    row.shape = {1, count, 1, static_cast<std::ptrdiff_t>(count), 1, 1};
    return run_reduce(row, kernels, threads);
}

} // namespace

Status run_segments(const SegmentsProblem &problem, const Kernels &kernels, std::size_t threads) {
    const ReduceKernel *kernel = kernels.reduce(problem.what);
    if (kernel == nullptr) {
        return Status::unsupported;
    }
    if (problem.segments == 0) {
        return Status::success;
    }
    const SegmentsJob job{problem.input,
                          problem.output,
                          problem.offsets,
                          problem.offsets_type,
                          mapping_of(problem.what, nullptr),
                          finish_of(problem.what, 0, problem.values)};
    const FloatEnvironment environment;
    const Shares shares(problem, threads);
    parallel_for(shares.count(), threads, [&](std::size_t share) {
        const std::size_t first = shares.segment_at(share), last = shares.segment_at(share + 1);
        if (first < last) {
            kernel->segments(job, first + shares.is_for_all_cores(first), last);
        }
    });
    Status status = Status::success;
    for (std::size_t share = 0; share < shares.count() && status == Status::success; ++share) {
        const std::size_t segment = shares.segment_at(share);
        const bool is_new = share == 0 || segment != shares.segment_at(share - 1);
        if (is_new && shares.is_for_all_cores(segment)) {
            status = run_alone(problem, shares, segment, kernels, threads);
        }
    }
    return status;
}

Status reduce_segments(const SegmentsProblem &problem) {
    const std::size_t elements =
        static_cast<std::size_t>(load_integer(problem.offsets_type, problem.offsets, problem.segments) -
                                 load_integer(problem.offsets_type, problem.offsets, 0));
    const std::size_t bytes = elements * traits_of(problem.what.dtype).size + bytes_per_segment * problem.segments;
    return run_segments(problem, best_kernels(), threads_for(bytes));
}

} // namespace wr::host
