// The softmax family at full size: 2 GiB an array, rows and columns of every length, few rows, gradients, knobs,
// logsumexp, logits far apart. `softmax_bench rows few columns channels backward selected logsumexp odd short wide`
// names its parts.
#include "bench/softmax_calls.h"

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>

namespace {

using namespace bench;

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
