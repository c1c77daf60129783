// The softmax family at full size: 2 GiB an array, rows and columns of every length, few rows, gradients, knobs,
// logsumexp, logits far apart. `softmax_bench rows few columns channels backward selected logsumexp odd short wide`
// names its parts.
#include "bench/parts.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using namespace bench;

constexpr double array_bytes = 2.0 * gib;

struct Type {
    wr_dtype dtype;
    Fill fill;
    const char *name;
};
constexpr Type types[] = {{WR_F32, Fill::f32, "f32"}, {WR_BF16, Fill::bf16, "bf16"}};

std::size_t elements_of(const Type &type) { return 2 * gib / wr_dtype_size(type.dtype); }

std::string label(const char *what, const Type &type, std::size_t rows, std::size_t n) {
    return std::string(what) + " " + type.name + " " + std::to_string(rows) + " x " + std::to_string(n);
}

// Numbers in the GPU's memory.
class Numbers {
  public:
    explicit Numbers(const std::vector<std::int64_t> &values) {
        require(cudaMalloc(&data_, values.size() * sizeof(std::int64_t)), "memory");
        require(cudaMemcpy(data_, values.data(), values.size() * sizeof(std::int64_t), cudaMemcpyHostToDevice), "copy");
    }
    ~Numbers() { cudaFree(data_); }
    Numbers(const Numbers &) = delete;
    Numbers &operator=(const Numbers &) = delete;

    const std::int64_t *get() const { return data_; }

  private:
    std::int64_t *data_ = nullptr;
};

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

// The first half of the input holds the values, the second bytes of which one in 64 is 0.
void fill(Table &t, const Type &type, float low, float high) {
    t.fill_input(4 * gib, Fill::bytes);
    t.fill_input(elements_of(type), type.fill, low, high);
}

// What plain softmax must reach, in TB/s: of f32 and of 16-bit elements. 0: nothing is demanded.
double demanded_of_rows(const Type &type, std::size_t n) {
    const bool narrow = type.dtype != WR_F32;
    const bool power_of_two = (n & (n - 1)) == 0;
    if (n < 1024 || !power_of_two) {
        return n == 33 && !narrow ? 3.8 : 4.0;
    }
    if (!narrow) {
        return n <= 131072 ? 4.15 : n == 262144 ? 4.0 : 3.7;
    }
    return n <= 16384 ? 4.12 : n <= 65536 ? 3.9 : n == 131072 ? 3.8 : 3.5;
}

// Rows of n elements from an address `shift` elements behind a boundary.
void run_rows(Table &t, const Type &type, std::size_t n, std::size_t shift, double demanded) {
    const std::size_t rows = elements_of(type) / n, offset = shift * wr_dtype_size(type.dtype);
    const double bytes = 2.0 * static_cast<double>(rows * n * wr_dtype_size(type.dtype));
    t.run({label("softmax", type, rows, n) + (shift != 0 ? ", off by one" : ""), bytes,
           [&t, type, rows, n, offset] {
               check(wr_softmax(type.dtype, t.input + offset, t.output + offset, rows, n, 1, t.stream), "softmax");
           },
           nullptr, demanded, t.copy_ceiling});
}

void rows(Table &t) {
    for (const Type &type : types) {
        std::printf("\nsoftmax of rows, %s, 2 GiB in and 2 GiB out\n", type.name);
        t.fill_input(elements_of(type) + 1, type.fill, -4, 4);
        for (std::size_t n = 32; n <= std::size_t{1} << 20; n *= 2) {
            run_rows(t, type, n, 0, n == std::size_t{1} << 20 && type.dtype != WR_F32 ? 0 : demanded_of_rows(type, n));
        }
        for (const std::size_t n : {33, 768, 1000, 5000, 32000, 50257}) {
            run_rows(t, type, n, 0, demanded_of_rows(type, n));
        }
        for (const std::size_t n : {128, 1000, 5000, 32768}) {
            run_rows(t, type, n, 1, 4.0);
        }
    }
    const Type f32 = types[0];
    const std::size_t n = std::size_t{1} << 27;
    t.fill_input(n, f32.fill, -4, 4);
    t.run_small("softmax f32 1 x 2^27", softmax_job(t, f32, 1, n, 1), nullptr, 400);
    t.run_small("softmax f32 1 x 2^27, caller's workspace", softmax_with(t, softmax_args(t, f32, 1, n)), nullptr, 400);
}

// A decoding step's logits: few rows, called back to back.
void few_rows(Table &t) {
    struct Shape {
        std::size_t rows, n;
        double most_us[2]; // of f32, of bf16; 0: nothing is demanded
    };
    const Shape shapes[] = {{1, 32000, {3.4, 3.3}},
                            {1, 131072, {4.4, 3.8}},
                            {1, 262144, {6.0, 5.0}},
                            {32, 32000, {0, 5.0}},
                            {64, 131072, {0, 11.2}}};
    for (const Type &type : types) {
        std::printf("\nsoftmax of few rows, %s\n", type.name);
        t.fill_input(elements_of(type), type.fill, -4, 4);
        for (const Shape &s : shapes) {
            const double most = s.most_us[type.dtype == WR_F32 ? 0 : 1];
            t.run_small(label("softmax", type, s.rows, s.n), softmax_job(t, type, s.rows, s.n, 1), nullptr, most);
        }
    }
}

void columns(Table &t) {
    for (const Type &type : types) {
        std::printf("\nsoftmax of columns, %s, 2 GiB in and 2 GiB out\n", type.name);
        t.fill_input(elements_of(type), type.fill, -4, 4);
        for (const std::size_t n : {1024, 4096, 8192, 16384, 32768, 1 << 20}) {
            const std::size_t inner = elements_of(type) / n;
            const double demanded = type.dtype == WR_F32 && (n == 1024 || n == 32768) ? 3.8 : 0;
            t.run({label("softmax of axis 0,", type, n, inner), 2 * array_bytes, softmax_job(t, type, 1, n, inner),
                   nullptr, demanded, t.copy_ceiling});
        }
        for (const std::size_t n : {1024, 32768}) {
            const std::size_t inner = elements_of(type) / n;
            t.run({label("log-softmax of axis 0,", type, n, inner), 2 * array_bytes,
                   [&t, type, n, inner] {
                       check(wr_log_softmax(type.dtype, t.input, t.output, 1, n, inner, t.stream), "log-softmax");
                   },
                   nullptr, 0, t.copy_ceiling});
        }
    }
}

wr_softmax_backward_args backward_args(const Table &t, const Type &type, std::size_t n, std::size_t inner = 1) {
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

void backward(Table &t) {
    for (const Type &type : types) {
        std::printf("\nsoftmax's gradient from outputs and from logits, %s: 3 arrays of 2 GiB\n", type.name);
        const std::size_t total = elements_of(type);
        t.fill_input(2 * total, type.fill, -1, 1);
        for (std::size_t n = 1024; n <= 262144; n *= 2) {
            const double demanded = type.dtype == WR_F32 ? (n <= 65536 ? 4.25 : 0) : n <= 16384 ? 4.1 : 3.8;
            wr_softmax_backward_args args = backward_args(t, type, n);
            args.output = t.input;
            run_backward(t, label("backward", type, total / n, n), args, 3 * array_bytes, demanded);
            args.log = 1;
            if (n == 4096) {
                run_backward(t, label("backward, log", type, total / n, n), args, 3 * array_bytes, demanded);
            }
            // Whatever stands for the sums: of logits up to 1 it gives weights within the exponential's reach.
            args.output = nullptr;
            args.input = t.input;
            args.logsumexp = t.input + gib;
            if (n == 4096) {
                run_backward(t, label("from logits, log", type, total / n, n), args, 3 * array_bytes, 0);
            }
            args.log = 0;
            run_backward(t, label("from logits", type, total / n, n), args, 3 * array_bytes, 0);
        }
        for (const std::size_t n : {1024, 32768}) {
            wr_softmax_backward_args args = backward_args(t, type, n, total / n);
            args.output = t.input;
            run_backward(t, label("backward of axis 0,", type, n, total / n), args, 3 * array_bytes, 0);
            args.output = nullptr;
            args.input = t.input;
            args.logsumexp = t.input + gib;
            run_backward(t, label("from logits of axis 0,", type, n, total / n), args, 3 * array_bytes, 0);
        }
    }
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

// Classes of pixels, as networks for images have them: softmax of [images][channels][pixels] along the channels.
void run_channels(Table &t, const Type &type, std::size_t n, std::size_t pixels) {
    const std::size_t images = elements_of(type) / n / pixels;
    const double bytes = static_cast<double>(images * n * pixels * wr_dtype_size(type.dtype));
    const bool demands = n >= 4 && pixels % 8 == 0; // ours
    const bool wide = type.dtype == WR_F32;
    const std::string of =
        std::string(" of ") + std::to_string(n) + " channels, " + type.name + ", " + std::to_string(pixels) + " pixels";
    t.run({"softmax" + of, 2 * bytes, softmax_job(t, type, images, n, pixels), nullptr,
           !demands ? 0
           : wide   ? 3.5
                    : 2.5,
           t.copy_ceiling});
    t.run({"log-softmax" + of, 2 * bytes,
           [&t, type, images, n, pixels] {
               check(wr_log_softmax(type.dtype, t.input, t.output, images, n, pixels, t.stream), "log-softmax");
           },
           nullptr, 0, t.copy_ceiling});
    run_logsumexp(t, "logsumexp" + of, type, images, n, pixels, 0);
    wr_softmax_backward_args args = backward_args(t, type, n, pixels);
    args.output = t.input;
    run_backward(t, "backward" + of, args, 3 * bytes, !demands ? 0 : wide ? 4.0 : 3.0);
}

// The same with knobs: masked, and from f32 into 16 bits or the other way; arrays of up to 2 GiB.
void run_selected_channels(Table &t, const Type &type, std::size_t n, std::size_t pixels) {
    const bool wide = type.dtype == WR_F32;
    const std::size_t images = elements_of(type) / n / pixels / (wide ? 1 : 2), elements = images * n * pixels;
    const auto count = static_cast<double>(elements);
    const double bytes = count * static_cast<double>(wr_dtype_size(type.dtype));
    const std::string of = std::string(" of ") + std::to_string(n) + " channels, " + type.name;
    wr_softmax_args args = softmax_args(t, type, images, n);
    args.inner = pixels;
    args.output_dtype = wide ? WR_BF16 : WR_F32;
    t.run({std::string(wide ? "into bf16" : "into f32") + of, bytes + count * (wide ? 2 : 4), softmax_with(t, args),
           nullptr, 0, t.copy_ceiling});
    args.output_dtype = type.dtype;
    args.mask = reinterpret_cast<const std::uint8_t *>(t.input + 2 * gib);
    t.run({"masked" + of, 2 * bytes + count, softmax_with(t, args), nullptr, 0, t.copy_ceiling});
    wr_softmax_backward_args backward = backward_args(t, type, n, pixels);
    backward.outer = images;
    backward.output = t.input;
    backward.mask = args.mask;
    run_backward(t, "masked backward" + of, backward, 3 * bytes + count, 0);
}

void channels(Table &t) {
    for (const Type &type : types) {
        std::printf("\nsoftmax of an image's channels, %s: arrays of 2 GiB\n", type.name);
        t.fill_input(2 * elements_of(type), type.fill, -4, 4);
        for (const std::size_t n : {2, 4, 8, 21, 64, 150, 512}) {
            run_channels(t, type, n, 65536);
        }
        for (const std::size_t n : {21, 150}) {
            run_channels(t, type, n, 225 * 225);
        }
        for (const std::size_t n : {8, 21, 150, 512}) {
            run_selected_channels(t, type, n, 65536);
        }
    }
}

// Demanded: 95 % of plain softmax's rate, which is the peer in turn, for the card's clock falls under load.
void run_beside(Table &t, const wr_softmax_args &plain, const std::string &name, const wr_softmax_args &args,
                double bytes) {
    t.run({name, bytes, softmax_with(t, args), softmax_with(t, plain), 0, t.copy_ceiling, 0.95, 2 * array_bytes});
}

void selected_rows(Table &t, const Type &type, std::size_t n) {
    const std::size_t total = elements_of(type), rows = total / n;
    const wr_softmax_args plain = softmax_args(t, type, rows, n);
    t.run({label("plain", type, rows, n), 2 * array_bytes, softmax_with(t, plain), nullptr, 0, t.copy_ceiling});
    wr_softmax_args args = plain;
    args.log = 1;
    run_beside(t, plain, label("log", type, rows, n), args, 2 * array_bytes);
    args = plain;
    args.logsumexp = t.output + 2 * gib;
    run_beside(t, plain, label("with logsumexp", type, rows, n), args, 2 * array_bytes);
    args = plain;
    args.maximum = t.output + 2 * gib;
    run_beside(t, plain, label("with maximum", type, rows, n), args, 2 * array_bytes);
    args = plain;
    args.mask = reinterpret_cast<const std::uint8_t *>(t.input + 2 * gib);
    run_beside(t, plain, label("masked", type, rows, n), args, 2 * array_bytes + static_cast<double>(total));
    args.log = 1;
    run_beside(t, plain, label("masked, log", type, rows, n), args, 2 * array_bytes + static_cast<double>(total));

    std::vector<std::int64_t> lengths(rows);
    double taken = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        lengths[row] = static_cast<std::int64_t>(row * 2654435761u % (n + 1));
        taken += static_cast<double>(lengths[row]);
    }
    const Numbers on_gpu(lengths);
    const double element = array_bytes / static_cast<double>(total);
    args = plain;
    args.lengths = on_gpu.get();
    run_beside(t, plain, label("lengths", type, rows, n), args, array_bytes + taken * element);
    args = plain;
    args.causal = 1;
    args.causal_first = 1;
    const std::size_t whole = rows / n * n; // rows of whole matrices
    const double seen = static_cast<double>(whole) * static_cast<double>(n + 1) / 2 +
                        static_cast<double>(rows - whole) * static_cast<double>(rows - whole + 1) / 2;
    run_beside(t, plain, label("causal", type, rows, n), args, array_bytes + seen * element);

    std::vector<std::int64_t> offsets{0};
    while (offsets.size() <= rows) {
        offsets.push_back(offsets.back() + lengths[offsets.size() - 1]);
    }
    const Numbers offsets_on_gpu(offsets);
    args = plain;
    args.offsets = offsets_on_gpu.get();
    args.axis = total;
    t.run({label("ragged, 0 to n", type, rows, n), 2 * taken * element, softmax_with(t, args), nullptr, 0,
           t.copy_ceiling});
}

void selected(Table &t) {
    for (const Type &type : types) {
        std::printf("\nsoftmax with knobs, %s\n", type.name);
        fill(t, type, -4, 4);
        for (const std::size_t n : {std::size_t{1024}, std::size_t{4096}, std::size_t{32768}}) {
            selected_rows(t, type, n);
        }
    }
}

void logsumexps(Table &t) {
    for (const Type &type : types) {
        std::printf("\nlogsumexp, %s, 2 GiB\n", type.name);
        fill(t, type, -4, 4);
        const std::size_t total = elements_of(type);
        for (std::size_t n = 32; n <= std::size_t{1} << 20; n *= n < 1024 ? 2 : 4) {
            run_logsumexp(t, label("logsumexp", type, total / n, n), type, total / n, n, 1,
                          type.dtype == WR_F32 ? 4.3 : 0);
        }
        for (const std::size_t n : {33, 100, 301, 1001, 5001, 50257}) {
            run_logsumexp(t, label("logsumexp", type, total / n, n), type, total / n, n, 1, 0);
        }
        for (const std::size_t n : {4096, 32768}) {
            run_logsumexp(t, label("logsumexp of axis 0,", type, n, total / n), type, 1, n, total / n, 0);
        }
    }
}

// A softmax whose outputs are of another type, with knobs as `args` has them; `more` are bytes read beside the logits.
void run_into(Table &t, const char *what, const Type &from, const Type &into, wr_softmax_args args, double more) {
    args.output_dtype = into.dtype;
    const auto elements = static_cast<double>(args.outer * args.axis);
    const double bytes = elements * static_cast<double>(wr_dtype_size(from.dtype) + wr_dtype_size(into.dtype));
    t.run({label((std::string(what) + " into " + into.name + ",").c_str(), from, args.outer, args.axis), bytes + more,
           softmax_with(t, args), nullptr, 0, t.copy_ceiling});
}

// Arrays of 1 GiB or 2 GiB at most. Of rows of 4096 the logarithm, masks and the causal limit too, of 4095 the latter.
void run_all_into(Table &t, const Type &from, const Type &into) {
    for (const std::size_t n : {128, 1024, 4096, 32000, 131072, 50257}) {
        const std::size_t rows = gib / wr_dtype_size(from.dtype) / n;
        run_into(t, "softmax", from, into, softmax_args(t, from, rows, n), 0);
    }
    const std::size_t n = 4096, rows = gib / wr_dtype_size(from.dtype) / n;
    wr_softmax_args args = softmax_args(t, from, rows, n);
    args.mask = reinterpret_cast<const std::uint8_t *>(t.input + 2 * gib);
    run_into(t, "masked", from, into, args, static_cast<double>(rows * n));
    args.mask = nullptr;
    args.causal = 1;
    args.causal_first = 1;
    run_into(t, "causal", from, into, args, -0.5 * static_cast<double>(rows * n * wr_dtype_size(from.dtype)));
    args.axis = n - 1;
    run_into(t, "causal", from, into, args, -0.5 * static_cast<double>(rows * n * wr_dtype_size(from.dtype)));
    args = softmax_args(t, from, rows, n);
    args.log = 1;
    run_into(t, "log-softmax", from, into, args, 0);
}

// Masks beside rows of any length, and the causal limit.
void run_masked(Table &t, const Type &type, std::size_t n) {
    const std::size_t rows = gib / wr_dtype_size(type.dtype) / n;
    wr_softmax_args args = softmax_args(t, type, rows, n);
    args.mask = reinterpret_cast<const std::uint8_t *>(t.input + 2 * gib);
    run_into(t, "masked", type, type, args, static_cast<double>(rows * n));
    args.mask = nullptr;
    args.causal = 1;
    args.causal_first = 1;
    run_into(t, "causal", type, type, args, 0);
}

// What a training step or a decoder may ask for beside whole vectors of one type: rows of any length, other output
// types, inputs of 8 bits.
void odd_jobs(Table &t) {
    for (const Type &type : types) {
        std::printf("\nodd jobs, %s\n", type.name);
        fill(t, type, -1, 1);
        const auto size = static_cast<double>(wr_dtype_size(type.dtype));
        for (const std::size_t n : {1001, 50257}) {
            const std::size_t rows = elements_of(type) / n;
            const double bytes = static_cast<double>(rows * n) * size;
            wr_softmax_backward_args args = backward_args(t, type, n);
            args.output = t.input;
            run_backward(t, label("backward", type, rows, n), args, 3 * bytes, 0);
            args.output = nullptr;
            args.input = t.input;
            args.logsumexp = t.input + gib;
            run_backward(t, label("from logits", type, rows, n), args, 3 * bytes, 0);
        }
        for (const std::size_t n : {16, 32, 128, 512, 1001}) {
            run_masked(t, type, n);
        }
        run_all_into(t, type, types[type.dtype == WR_F32 ? 1 : 0]);
    }
    const Type e4m3 = {WR_F8_E4M3, Fill::bytes, "E4M3"};
    std::printf("\nelements of 8 bits\n");
    t.fill_input(gib, e4m3.fill);
    run_all_into(t, e4m3, types[1]);
    run_all_into(t, e4m3, e4m3);
    for (const Type &type : types) {
        t.fill_input(elements_of(type), type.fill, -1, 1);
        run_all_into(t, type, e4m3);
    }
}

void run_short_gradients(Table &t, const Type &type, std::size_t n, std::size_t inner) {
    const std::size_t total = elements_of(type), outer = total / n / inner;
    const double bytes = static_cast<double>(outer * n * inner * wr_dtype_size(type.dtype));
    const std::string columns = " of columns, " + std::to_string(n) + " x " + std::to_string(inner);
    const auto name = [&](const char *what) { return inner > 1 ? what + columns : label(what, type, outer, n); };
    wr_softmax_backward_args args = backward_args(t, type, n, inner);
    args.output = t.input;
    run_backward(t, name("backward"), args, 3 * bytes, 0);
    if (inner == 1) {
        args.mask = reinterpret_cast<const std::uint8_t *>(t.input + gib);
        run_backward(t, name("backward, masked"), args, 3 * bytes + static_cast<double>(outer * n), 0);
        args.mask = nullptr;
    }
    args.output = nullptr;
    args.input = t.input;
    args.logsumexp = t.input + gib;
    run_backward(t, name("from logits"), args, 3 * bytes, 0);
}

// Rows of up to 1024 elements, and so short columns, that no kernel of whole vectors takes.
void short_jobs(Table &t) {
    for (const Type &type : types) {
        std::printf("\nshort rows, %s\n", type.name);
        fill(t, type, -1, 1);
        for (const std::size_t n : {8, 32, 33, 64, 128, 256, 301, 512, 1000}) {
            run_short_gradients(t, type, n, 1);
        }
        for (const std::size_t n : {33, 301}) {
            run_masked(t, type, n);
        }
        for (const std::size_t n : {32, 128, 33, 301}) {
            wr_softmax_args args = softmax_args(t, type, gib / wr_dtype_size(type.dtype) / n, n);
            args.maximum = t.output + 2 * gib;
            run_into(t, "with maximum", type, type, args, 0);
        }
        for (const std::size_t inner : {2, 3, 4, 7, 8, 16}) {
            const std::size_t n = 100, outer = elements_of(type) / n / inner;
            const double bytes = static_cast<double>(outer * n * inner * wr_dtype_size(type.dtype));
            const std::string name = " of columns, " + std::to_string(n) + " x " + std::to_string(inner);
            t.run({"softmax" + name, 2 * bytes, softmax_job(t, type, outer, n, inner), nullptr, 0, t.copy_ceiling});
            run_logsumexp(t, "logsumexp" + name, type, outer, n, inner, 0);
            run_short_gradients(t, type, n, inner);
        }
    }
    const Type e4m3 = {WR_F8_E4M3, Fill::bytes, "E4M3"};
    std::printf("\nshort rows of 8 bits\n");
    t.fill_input(gib, e4m3.fill);
    for (const std::size_t n : {32, 100, 128}) {
        run_into(t, "softmax", e4m3, types[1], softmax_args(t, e4m3, gib / n, n), 0);
        run_into(t, "softmax", e4m3, e4m3, softmax_args(t, e4m3, gib / n, n), 0);
    }
    t.fill_input(elements_of(types[1]), types[1].fill, -1, 1);
    for (const std::size_t n : {32, 100, 128}) {
        wr_softmax_args args = softmax_args(t, types[1], gib / n, n);
        run_into(t, "softmax", types[1], e4m3, args, 0);
        args.log = 1;
        run_into(t, "log-softmax", types[1], e4m3, args, 0);
    }
}

__device__ std::uint32_t any_place(std::uint64_t row, std::size_t n) {
    return static_cast<std::uint32_t>((row + 1) * 0x9E3779B97F4A7C15u >> 33) % static_cast<std::uint32_t>(n);
}
// Another value at one place of each row, from there on, or all over one row in 128.
enum class Put { at_one, behind, whole_rows };
template <class Bits>
__global__ void put_value(Bits *logits, std::size_t rows, std::size_t n, Put where, Bits value) {
    const std::size_t step = static_cast<std::size_t>(gridDim.x) * blockDim.x;
    for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < rows * n; i += step) {
        const std::size_t row = i / n, column = i - row * n;
        const std::uint32_t place = 1 + any_place(row, n - 1);
        if (where == Put::at_one ? column == place : where == Put::behind ? column >= place : row % 128 == 77) {
            logits[i] = value;
        }
    }
}
void put_value(Table &t, const Type &type, std::size_t rows, std::size_t n, Put where, float value) {
    std::uint32_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    if (type.dtype == WR_F32) {
        put_value<<<1024, 256>>>(reinterpret_cast<std::uint32_t *>(t.input), rows, n, where, bits);
    } else {
        put_value<<<1024, 256>>>(reinterpret_cast<std::uint16_t *>(t.input), rows, n, where,
                                 static_cast<std::uint16_t>(bits >> 16));
    }
    require(cudaDeviceSynchronize(), "logits");
}

// The same rows of logits between -4 and 4 and of others, which must not take much longer.
void run_wide(Table &t, const Type &type, std::size_t n) {
    constexpr double part = 0.75; // of the plain rate
    const std::size_t rows = elements_of(type) / n;
    const double bytes = 2.0 * static_cast<double>(rows * n * wr_dtype_size(type.dtype));
    const auto run = [&](const char *what, double demanded) {
        return t.run({label("softmax", type, rows, n) + what, bytes, softmax_job(t, type, rows, n, 1), nullptr,
                      demanded, t.copy_ceiling});
    };
    t.fill_input(elements_of(type), type.fill, -4, 4);
    const double plain = run("", 0);
    put_value(t, type, rows, n, Put::whole_rows, -INFINITY);
    run(", of one row in 128 -infinity", part * plain);
    put_value(t, type, rows, n, Put::whole_rows, 4e6f);
    run(", of one row in 128 4e6", part * plain);
    t.fill_input(elements_of(type), type.fill, -4, 4);
    put_value(t, type, rows, n, Put::at_one, 45);
    run(", one logit 45", part * plain);
    put_value(t, type, rows, n, Put::behind, -10000);
    run(", tails -10000", part * plain);
    put_value(t, type, rows, n, Put::behind, -INFINITY);
    run(", tails -infinity", part * plain);
    for (const float most : {30.0f, 100.0f}) {
        t.fill_input(elements_of(type), type.fill, -most, most);
        run(most > 50 ? ", from -100 to 100" : ", from -30 to 30", part * plain);
    }
}

void wide(Table &t) {
    for (const Type &type : types) {
        std::printf("\nlogits far apart, %s\n", type.name);
        for (const std::size_t n : {128, 1000, 4096, 5000, 32768, 50257, 131072}) {
            run_wide(t, type, n);
        }
        for (const std::size_t n : {4096, 32768}) {
            const std::size_t inner = elements_of(type) / n;
            for (const float most : {4.0f, 30.0f, 100.0f}) {
                t.fill_input(elements_of(type), type.fill, -most, most);
                t.run(
                    {label("softmax of axis 0,", type, n, inner) + ", within " + std::to_string(static_cast<int>(most)),
                     2 * array_bytes, softmax_job(t, type, 1, n, inner), nullptr, 0, t.copy_ceiling});
            }
        }
    }
}

} // namespace

int main(int argc, char **argv) {
    return run_parts(argc, argv,
                     {{"rows", rows},
                      {"few", few_rows},
                      {"columns", columns},
                      {"channels", channels},
                      {"backward", backward},
                      {"selected", selected},
                      {"logsumexp", logsumexps},
                      {"odd", odd_jobs},
                      {"short", short_jobs},
                      {"wide", wide}});
}
