#include "unreal_calls.h"

#include "tests/unit/check.h"

extern "C" {
#include "harness/header_offers.h"
#include "piece_calls.h"
#include "reference/reference.h"
}

#include <bit>
#include <cstring>
#include <utility>

namespace {

std::vector<planted::Call> calls;
std::size_t current_gpu;

// While there is one, what is launched belongs to a call.
class Recorded {
  public:
    Recorded(std::size_t elements, int moved) : elements_{elements}, moved_{moved != 0} {
        fake::runtime().launched.clear();
        fake::runtime().launches = 0;
    }
    ~Recorded() {
        planted::Call call{{}, 0.05 + 0.1 * fake::runtime().launches + 0.5e-6 * static_cast<double>(elements_)};
        for (const fake::Launched &how : fake::runtime().launched) {
            call.ways.insert({current_gpu, how, moved_});
        }
        calls.push_back(std::move(call));
    }
    Recorded(const Recorded &) = delete;
    Recorded &operator=(const Recorded &) = delete;

  private:
    std::size_t elements_;
    bool moved_;
};

// Far apart, and beyond what a process can have: nothing may touch it.
void *memory(unsigned place, std::size_t moved = 0) {
    return std::bit_cast<void *>((std::uintptr_t{place} << 58) + moved);
}
constexpr unsigned input = 1, output = 2, values = 3, weights = 4, offsets = 5, sums = 6, mask = 7, saved = 8;

CUstream_st *stream() { return std::bit_cast<CUstream_st *>(std::uintptr_t{4096}); }

void expect_success(wr_status status, const char *what) {
    CHECK(status == WR_SUCCESS, "%s: %s", what, wr_status_name(status));
}

std::size_t offset_of(wr_dtype dtype, int moved) {
    return moved != 0 ? reference_size(dtype) / static_cast<std::size_t>(reference_degree(dtype)) : 0;
}

template <class Args>
void set_strides(Args &args, const shape &of) {
    if (shape_is_contiguous(&of) == 0) {
        args.axis_stride = static_cast<std::ptrdiff_t>(of.axis_stride);
        args.outer_stride = static_cast<std::ptrdiff_t>(shape_row(&of));
        args.inner_stride = 1;
        args.strides_given = 1;
    }
}

wr_reduce_args reduction_of(wr_op op, wr_dtype dtype, const shape &of, int moved) {
    wr_reduce_args args{};
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = dtype;
    args.input = memory(input, offset_of(dtype, moved));
    args.output = memory(output);
    args.values = op == WR_ARGMIN || op == WR_ARGMAX ? memory(values) : nullptr;
    args.output_dtype = has_default_output(op, dtype) != 0 ? wr_dtype{} : WR_F32;
    args.outer = of.outer;
    args.axis = of.axis;
    args.inner = of.inner;
    set_strides(args, of);
    return args;
}

template <class Args>
void set_types(Args &args, wr_dtype dtype, wr_dtype accumulate) {
    if (reference_is_integer(dtype) == 0) {
        args.accumulate_dtype = accumulate;
    } else if (accumulate != wr_dtype{}) {
        args.output_dtype = accumulate;
    }
}

void reduce(const reduction *job, const shape *of, int moved) {
    const Recorded recorded{shape_elements(of), moved};
    wr_reduce_args args = reduction_of(job->op, job->dtype, *of, moved);
    set_types(args, job->dtype, job->accumulate);
    args.nan_mode = job->ignore_nan != 0 ? WR_NAN_IGNORE : WR_NAN_PROPAGATE;
    expect_success(wr_reduce_ex(&args, stream()), of->regime);
}

void reduce_weighted(const weighting *job, const shape *of, int moved) {
    const Recorded recorded{shape_elements(of), moved};
    wr_reduce_args args = reduction_of(job->op, job->dtype, *of, moved);
    set_types(args, job->dtype, job->accumulate);
    args.weights = memory(weights, offset_of(job->weights, moved));
    args.weights_dtype = job->weights;
    expect_success(wr_reduce_ex(&args, stream()), of->regime);
}

void reduce_segments(const reduction *job, const ragged *of, int moved) {
    const Recorded recorded{of->segments * (1 + of->most / 2) + of->huge, moved};
    wr_reduce_segments_args args{};
    args.struct_size = sizeof args;
    args.op = job->op;
    args.dtype = job->dtype;
    args.output_dtype = has_default_output(job->op, job->dtype) != 0 ? wr_dtype{} : WR_F32;
    set_types(args, job->dtype, job->accumulate);
    args.nan_mode = job->ignore_nan != 0 ? WR_NAN_IGNORE : WR_NAN_PROPAGATE;
    args.input = memory(input, offset_of(job->dtype, moved));
    args.offsets = memory(offsets);
    args.output = memory(output);
    args.segments = of->segments;
    expect_success(wr_reduce_segments_ex(&args, stream()), of->regime);
}

wr_softmax_args softmax_of(wr_dtype dtype, int log, const shape &of) {
    wr_softmax_args args{};
    args.struct_size = sizeof args;
    args.dtype = dtype;
    args.log = log;
    args.input = memory(input);
    args.output = memory(output);
    args.outer = of.outer;
    args.axis = of.axis;
    args.inner = of.inner;
    set_strides(args, of);
    return args;
}

void softmax(const softmax_kind *kind, const shape *of, int moved) {
    const Recorded recorded{shape_elements(of), moved};
    wr_softmax_args args = softmax_of(kind->dtype, kind->log, *of);
    args.input = memory(input, offset_of(kind->dtype, moved));
    args.output_dtype = kind->output_dtype;
    args.output = memory(output, offset_of(kind->output_dtype == 0 ? kind->dtype : kind->output_dtype, moved));
    args.logsumexp = kind->is_alone != 0 ? nullptr : memory(sums);
    args.scale = kind->scaled == HAS_ONE_SCALE ? 0.5 : 0.0;
    args.scales = kind->scaled == HAS_OWN_SCALES ? memory(saved) : nullptr;
    args.mask = kind->masked != 0 ? static_cast<const std::uint8_t *>(memory(mask)) : nullptr;
    expect_success(wr_softmax_ex(&args, stream()), of->regime);
}

void gradient(const gradient_kind *kind, const shape *of, int moved) {
    const Recorded recorded{shape_elements(of), moved};
    const std::size_t offset = offset_of(kind->dtype, moved);
    wr_softmax_backward_args args{};
    args.struct_size = sizeof args;
    args.dtype = kind->dtype;
    args.log = kind->log;
    args.empty_row = kind->is_ragged != 0 ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
    args.outer = of->outer;
    args.axis = kind->is_ragged != 0 ? shape_elements(of) : of->axis;
    args.inner = of->inner;
    args.offsets = kind->is_ragged != 0 ? static_cast<const std::int64_t *>(memory(offsets)) : nullptr;
    args.mask = kind->masked != 0 ? static_cast<const std::uint8_t *>(memory(mask)) : nullptr;
    (kind->from_logits != 0 ? args.input : args.output) = memory(saved, offset);
    args.logsumexp = kind->from_logits != 0 ? memory(sums) : nullptr;
    args.scales = kind->scaled == HAS_OWN_SCALES ? memory(offsets) : nullptr;
    args.output_gradient = memory(input, offset);
    args.input_gradient = memory(output, offset);
    expect_success(wr_softmax_backward_ex(&args, stream()), of->regime);
}

void logsumexp(wr_dtype dtype, const shape *of, int moved) {
    const Recorded recorded{shape_elements(of), moved};
    const wr_reduce_args args = reduction_of(WR_LOGSUMEXP, dtype, *of, moved);
    expect_success(wr_reduce_ex(&args, stream()), of->regime);
}

void softmax_uneven(const uneven_kind *kind) {
    const Recorded recorded{kind->rows * kind->most, kind->moved};
    const shape of{"uneven rows", kind->rows, kind->most, 1, 1, 0};
    wr_softmax_args args = softmax_of(kind->dtype, kind->log, of);
    args.output_dtype = kind->output_dtype;
    args.input = memory(input, offset_of(kind->dtype, kind->moved));
    (kind->is_ragged != 0 ? args.offsets : args.lengths) = static_cast<const std::int64_t *>(memory(offsets));
    expect_success(wr_softmax_ex(&args, stream()), of.regime);
}

void softmax_many(wr_dtype dtype, int log, const shape *of) {
    const Recorded recorded{shape_elements(of), 0};
    const wr_softmax_args args = softmax_of(dtype, log, *of);
    expect_success(wr_softmax_ex(&args, stream()), of->regime);
}

void tiles(const tile_call *call) {
    const Recorded recorded{call->count, 0};
    // Not every call is offered for every type; those that are not launch nothing.
    static_cast<void>(tile_run(call, memory(input), memory(output), stream()));
}

void in_pieces(wr_dtype dtype, const shape *of) {
    const Recorded recorded{shape_elements(of), 0};
    const wr_softmax_args args = softmax_of(dtype, 0, *of);
    const piece_memory all{memory(values), memory(weights), memory(saved),
                           memory(sums),   memory(output),  static_cast<std::int32_t *>(memory(offsets))};
    expect_success(softmax_in_pieces(&args, &all, stream()), of->regime);
}

void nodes(const reduction *job, wr_dtype weights_dtype, const shape *of) {
    const Recorded recorded{shape_elements(of), 0};
    wr_state_args args = node_args(job, weights_dtype, of);
    args.input = memory(input);
    args.weights = weights_dtype == 0 ? nullptr : memory(weights);
    args.state = memory(output);
    expect_success(wr_state_reduce(&args, stream()), of->regime);
}

} // namespace

namespace planted {

std::map<const void *, std::string> &kernels() {
    static std::map<const void *, std::string> all;
    return all;
}

const std::vector<fake::Gpu> walked_gpus{{132, 9}, {132, 9, 227 * 1024, 8}, {108, 8}};

std::vector<Call> calls_of(std::size_t gpu, const std::function<void(const walker &)> &walk) {
    static const walker unreal{reduce,         reduce_weighted, reduce_segments, softmax,   gradient, logsumexp,
                               softmax_uneven, softmax_many,    tiles,           in_pieces, nodes};
    fake::install();
    const int device = static_cast<int>(gpu); // the library remembers facts by this number
    fake::reset(walked_gpus[gpu], device, device);
    current_gpu = gpu;
    calls.clear();
    walk(unreal);
    CHECK(fake::runtime().misuse.empty(), "%s", fake::runtime().misuse.c_str());
    return std::exchange(calls, {});
}

} // namespace planted

// In the place of the runtime's: what a kernel is registered by before main.
extern "C" void __real___cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *,
                                              void *, int *);
extern "C" void __wrap___cudaRegisterFunction(void **module, const char *kernel, char *device_name, const char *name,
                                              int thread_limit, void *a, void *b, void *c, void *d, int *e) {
    if (std::strstr(name, "wr4cuda") != nullptr) { // not the tests' own
        planted::kernels()[kernel] = name;
    }
    __real___cudaRegisterFunction(module, kernel, device_name, name, thread_limit, a, b, c, d, e);
}
