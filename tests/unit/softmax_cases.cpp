#include "softmax_cases.h"

#include <bit>
#include <cctype>
#include <cstdint>
#include <map>
#include <set>

namespace {

using enum Job;

std::map<const void *, std::string> &kernels() {
    static std::map<const void *, std::string> all;
    return all;
}

// The function's own name: the last identifier of the mangled one before its template's arguments.
std::string plain_name(const std::string &mangled) {
    std::string found;
    for (std::size_t i = mangled.find("wr4cuda"); i < mangled.size();) {
        if (std::isdigit(static_cast<unsigned char>(mangled[i])) == 0) {
            if (!found.empty() && (mangled[i] == 'I' || mangled[i] == 'E')) {
                break;
            }
            ++i;
            continue;
        }
        std::size_t length = 0;
        while (std::isdigit(static_cast<unsigned char>(mangled[i])) != 0) {
            length = length * 10 + static_cast<std::size_t>(mangled[i++] - '0');
        }
        found = mangled.substr(i, length);
        i += length;
    }
    return found;
}

void *memory(unsigned place, std::size_t moved = 0) {
    return std::bit_cast<void *>((std::uintptr_t{place} << 58) + moved);
}

CUstream_st *stream() { return std::bit_cast<CUstream_st *>(std::uintptr_t{4096}); }

std::size_t moved(const SoftmaxCase &of, wr_dtype dtype) {
    return (of.options & off_by_one) != 0 ? wr_dtype_size(dtype) : 0;
}

template <class Args>
void select(Args &args, const SoftmaxCase &of) {
    args.mask = (of.options & masked) != 0 ? static_cast<const std::uint8_t *>(memory(5)) : nullptr;
    args.lengths = (of.options & with_lengths) != 0 ? static_cast<const std::int64_t *>(memory(6)) : nullptr;
    args.offsets = (of.options & by_offsets) != 0 ? static_cast<const std::int64_t *>(memory(6)) : nullptr;
    args.causal = (of.options & causal) != 0 ? 1 : 0;
    args.scales = (of.options & own_scales) != 0 ? memory(7) : nullptr;
    args.outer = of.outer;
    args.axis = (of.options & by_offsets) != 0 ? of.outer * of.axis : of.axis;
    args.inner = of.inner;
}

wr_status run_reduction(const SoftmaxCase &of) {
    wr_reduce_args args{};
    args.struct_size = sizeof args;
    args.op = WR_LOGSUMEXP;
    args.dtype = of.dtype;
    args.input = memory(1, moved(of, of.dtype));
    args.output = memory(2);
    args.outer = of.outer;
    args.axis = of.axis;
    args.inner = of.inner;
    return wr_reduce_ex(&args, stream());
}

wr_status run_gradient(const SoftmaxCase &of) {
    wr_softmax_backward_args args{};
    args.struct_size = sizeof args;
    args.dtype = of.dtype;
    select(args, of);
    const bool from_logits = of.job == gradient_from_logits;
    (from_logits ? args.input : args.output) = memory(1, moved(of, of.dtype));
    args.logsumexp = from_logits ? memory(3) : nullptr;
    args.output_gradient = memory(4, moved(of, of.dtype));
    args.input_gradient = memory(2, moved(of, of.dtype));
    return wr_softmax_backward_ex(&args, stream());
}

wr_status run_softmax(const SoftmaxCase &of) {
    wr_softmax_args args{};
    args.struct_size = sizeof args;
    args.dtype = of.dtype;
    args.output_dtype = of.output;
    args.log = of.job == log_softmax ? 1 : 0;
    select(args, of);
    args.input = memory(1, moved(of, of.dtype));
    args.output = memory(2, moved(of, of.output == wr_dtype{} ? of.dtype : of.output));
    args.logsumexp = (of.options & with_logsumexp) != 0 ? memory(3) : nullptr;
    if ((of.options & apart) != 0) {
        args.strides_given = 1;
        args.outer_stride = static_cast<std::ptrdiff_t>(3 * of.axis);
        args.axis_stride = 3;
        args.inner_stride = 1;
    }
    return wr_softmax_ex(&args, stream());
}

} // namespace

wr_status run(const SoftmaxCase &of) {
    return of.job == logsumexp                                    ? run_reduction(of)
           : of.job == gradient || of.job == gradient_from_logits ? run_gradient(of)
                                                                  : run_softmax(of);
}

std::string kernels_given(const SoftmaxCase &of, const fake::Gpu &gpu) {
    fake::reset(gpu, 0, 0);
    const wr_status status = run(of);
    if (status != WR_SUCCESS) {
        return wr_status_name(status);
    }
    std::set<std::string> names;
    for (const fake::Launched &how : fake::runtime().launched) {
        names.insert(plain_name(kernels()[how.kernel]));
    }
    std::string all;
    for (const std::string &name : names) {
        all += (all.empty() ? "" : " ") + name;
    }
    return all;
}

// In the place of the runtime's: what a kernel is registered by before main.
extern "C" void __real___cudaRegisterFunction(void **, const char *, char *, const char *, int, void *, void *, void *,
                                              void *, int *);
extern "C" void __wrap___cudaRegisterFunction(void **module, const char *kernel, char *device_name, const char *name,
                                              int thread_limit, void *a, void *b, void *c, void *d, int *e) {
    kernels()[kernel] = name;
    __real___cudaRegisterFunction(module, kernel, device_name, name, thread_limit, a, b, c, d, e);
}
