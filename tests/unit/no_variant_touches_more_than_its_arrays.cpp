// Each variant of the host's kernels that this processor can run, not only the best, stays within its arrays: they end,
// or begin, at a page that nobody may touch.
#include "../emulator/guarded_memory.h"
#include "check.h"

#include "host/common/run.h"

#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <initializer_list>
#include <unistd.h>

namespace {

using namespace wr;

// A page was touched: what the program was doing.
int variant, operation, type;
std::size_t outer_of, axis_of, inner_of;

void say_and_end(int) {
    char text[200];
    const int length = std::snprintf(text, sizeof text, "variant %d, operation %d, type %d, [%zu][%zu][%zu]: beyond\n",
                                     variant, operation, type, outer_of, axis_of, inner_of);
    _exit(write(STDOUT_FILENO, text, static_cast<std::size_t>(length)) < 0 ? 2 : 1);
}

std::size_t bytes_of(ElementType t) { return traits_of(t).size; }

// The arrays of a call.
class Arrays {
  public:
    explicit Arrays(bool at_end) : at_end_(at_end) {}

    unsigned char *add(std::size_t bytes) {
        unsigned char *data = all_.emplace_back(bytes, at_end_, 0).data();
        std::memset(data, 0x3C, bytes);
        return data;
    }

  private:
    std::deque<GuardedMemory> all_;
    bool at_end_;
};

Shape contiguous(std::size_t outer, std::size_t axis, std::size_t inner) {
    const auto a = static_cast<std::ptrdiff_t>(axis), i = static_cast<std::ptrdiff_t>(inner);
    outer_of = outer;
    axis_of = axis;
    inner_of = inner;
    return {outer, axis, inner, a * i, i, 1};
}

void reduce(const host::Kernels &kernels, Operator op, ElementType dtype, ElementType output, ElementType accumulator,
            const Shape &shape, bool at_end) {
    Arrays arrays(at_end);
    ReduceProblem p{};
    p.what.op = op;
    p.what.dtype = dtype;
    p.what.output_dtype = output;
    p.what.accumulate_dtype = accumulator;
    p.shape = shape;
    p.input = arrays.add(shape.outer * shape.axis * shape.inner * bytes_of(dtype));
    p.output = arrays.add(shape.outer * shape.inner * bytes_of(output));
    operation = static_cast<int>(op);
    type = static_cast<int>(dtype);
    CHECK(host::run_reduce(p, kernels, 1) == Status::success, "operation %d, type %d", operation, type);
}

void softmax(const host::Kernels &kernels, ElementType dtype, ElementType output, const Shape &shape, bool masked,
             bool at_end) {
    Arrays arrays(at_end);
    const std::size_t count = shape.outer * shape.axis * shape.inner;
    SoftmaxProblem p{};
    p.dtype = dtype;
    p.output_dtype = output;
    p.logsumexp_dtype = state_type(dtype);
    p.scale = masked ? 0.5 : 1.0;
    p.shape = shape;
    p.input = arrays.add(count * bytes_of(dtype));
    p.output = arrays.add(count * bytes_of(output));
    p.logsumexp = arrays.add(shape.outer * shape.inner * bytes_of(p.logsumexp_dtype));
    p.selection.mask = masked ? arrays.add(count) : nullptr;
    operation = 100;
    type = static_cast<int>(dtype);
    CHECK(host::run_softmax(p, kernels, 1) == Status::success, "softmax of type %d", type);
    SoftmaxBackwardProblem b{};
    b.dtype = b.output_gradient_dtype = dtype;
    b.input_gradient_dtype = output;
    b.scale = p.scale;
    b.shape = shape;
    b.gradient_outer_stride = shape.outer_stride;
    b.gradient_axis_stride = shape.axis_stride;
    b.gradient_inner_stride = shape.inner_stride;
    b.selection = p.selection;
    b.output = p.input;
    b.output_gradient = arrays.add(count * bytes_of(dtype));
    b.input_gradient = p.output;
    operation = 101;
    CHECK(host::run_softmax_backward(b, kernels, 1) == Status::success, "gradient of type %d", type);
}

void check_shape(const host::Kernels &kernels, const Shape &shape, bool at_end) {
    using E = ElementType;
    for (const E dtype : {E::f32, E::f64, E::f16, E::bf16, E::f8_e4m3, E::f8_e5m2}) {
        const E kept = dtype == E::f64 ? E::f64 : E::f32;
        for (const Operator op : {Operator::sum, Operator::product, Operator::norm_l1}) {
            reduce(kernels, op, dtype, dtype, kept, shape, at_end);
        }
        reduce(kernels, Operator::sum, dtype, dtype, E::f64, shape, at_end);
        reduce(kernels, Operator::max, dtype, dtype, E::none, shape, at_end);
        reduce(kernels, Operator::argmin, dtype, E::i64, E::none, shape, at_end);
        reduce(kernels, Operator::count_nonzero, dtype, E::i64, E::none, shape, at_end);
        softmax(kernels, dtype, dtype, shape, false, at_end);
        softmax(kernels, dtype, dtype == E::f32 ? E::bf16 : E::f32, shape, true, at_end);
    }
    for (const E dtype : {E::i8, E::u16, E::i32, E::i64, E::koalabear, E::goldilocks, E::babybear_x4}) {
        reduce(kernels, Operator::sum, dtype, dtype, E::none, shape, at_end);
        reduce(kernels, Operator::any, dtype, E::u8, E::none, shape, at_end);
        if (!traits_of(dtype).is_float && dtype < E::koalabear) {
            reduce(kernels, Operator::min, dtype, dtype, E::none, shape, at_end);
        }
    }
}

} // namespace

int main() {
    std::signal(SIGSEGV, say_and_end);
    const host::Variants variants = host::usable_variants();
    for (std::size_t v = 0; v < variants.count; ++v) {
        variant = static_cast<int>(v);
        for (const bool at_end : {false, true}) {
            for (std::size_t n = 1; n < 70; n += n < 36 ? 1 : 7) {
                check_shape(*variants.kernels[v], contiguous(1, n, 1), at_end);
                check_shape(*variants.kernels[v], contiguous(3, n, 1), at_end);
                check_shape(*variants.kernels[v], contiguous(1, 3, n), at_end);
            }
            check_shape(*variants.kernels[v], contiguous(17, 19, 1), at_end);
            check_shape(*variants.kernels[v], contiguous(1, 19, 37), at_end);
        }
    }
    return check_report("no_variant_touches_more_than_its_arrays");
}
