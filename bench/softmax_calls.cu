#include "bench/softmax_calls.h"

#include <cstring>

namespace bench {

std::size_t elements_of(const Type &type) { return 2 * gib / wr_dtype_size(type.dtype); }

std::string label(const char *what, const Type &type, std::size_t rows, std::size_t n) {
    return std::string(what) + " " + type.name + " " + std::to_string(rows) + " x " + std::to_string(n);
}

Job softmax_job(const Table &t, const Type &type, std::size_t outer, std::size_t n, std::size_t inner) {
    return [&t, type, outer, n, inner] {
        check(wr_softmax(type.dtype, t.input, t.output, outer, n, inner, t.stream), "softmax");
    };
}

wr_softmax_args softmax_args(const Table &t, const Type &type, std::size_t rows, std::size_t n) {
    wr_softmax_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.dtype = type.dtype;
    args.input = t.input;
    args.output = t.output;
    args.outer = rows;
    args.axis = n;
    args.inner = 1;
    args.workspace = t.workspace;
    args.workspace_bytes = workspace_bytes;
    return args;
}

Job softmax_with(Table &t, const wr_softmax_args &args) {
    return [&t, args] { check(wr_softmax_ex(&args, t.stream), "softmax"); };
}

void fill(Table &t, const Type &type, float low, float high) {
    t.fill_input(4 * gib, Fill::bytes);
    t.fill_input(elements_of(type), type.fill, low, high);
}

wr_softmax_backward_args backward_args(const Table &t, const Type &type, std::size_t n, std::size_t inner) {
    wr_softmax_backward_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.dtype = type.dtype;
    args.output_gradient = t.input + 2 * gib;
    args.input_gradient = t.output;
    args.outer = elements_of(type) / n / inner;
    args.axis = n;
    args.inner = inner;
    args.workspace = t.workspace;
    args.workspace_bytes = workspace_bytes;
    return args;
}

void run_backward(Table &t, const std::string &name, wr_softmax_backward_args args, double bytes, double demanded) {
    std::size_t needed = 0;
    check(wr_softmax_backward_workspace_size(&args, &needed), "workspace");
    if (needed > workspace_bytes) { // it is allocated, by the kernels that need it
        args.workspace = nullptr;
        args.workspace_bytes = 0;
    }
    t.run({name, bytes, [&t, args] { check(wr_softmax_backward_ex(&args, t.stream), "backward"); }, nullptr, demanded,
           t.copy_ceiling});
}

void run_logsumexp(Table &t, const std::string &name, const Type &type, std::size_t outer, std::size_t n,
                   std::size_t inner, double demanded) {
    wr_reduce_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = WR_LOGSUMEXP;
    args.dtype = type.dtype;
    args.input = t.input;
    args.output = t.output;
    args.outer = outer;
    args.axis = n;
    args.inner = inner;
    std::size_t needed = 0;
    check(wr_reduce_workspace_size(&args, &needed), "workspace");
    if (needed <= workspace_bytes) { // else it is allocated, by the kernels that need it
        args.workspace = t.workspace;
        args.workspace_bytes = workspace_bytes;
    }
    const auto elements = static_cast<double>(outer * inner) * static_cast<double>(n + 1);
    const double bytes = elements * static_cast<double>(wr_dtype_size(type.dtype));
    t.run({name, bytes, [&t, args] { check(wr_reduce_ex(&args, t.stream), "logsumexp"); }, nullptr, demanded,
           t.read_ceiling});
}

} // namespace bench
