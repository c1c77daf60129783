// Softmax with knobs, its gradient and logsumexp at full size: 2 GiB an array, rows of every length.
// `softmax_bench backward selected logsumexp` names its parts; plain softmax is in gpu_bench.
#include "bench/table.h"

#include <algorithm>
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

// The first half of the input holds the values, the second bytes of which one in 64 is 0.
void fill(Table &t, const Type &type, float low, float high) {
    t.fill_input(4 * gib, Fill::bytes);
    t.fill_input(elements_of(type), type.fill, low, high);
}

void backward(Table &t) {
    for (const Type &type : types) {
        std::printf("\nsoftmax's gradient from outputs, %s: 3 arrays of 2 GiB\n", type.name);
        const std::size_t total = elements_of(type);
        t.fill_input(2 * total, type.fill, -1, 1);
        for (std::size_t n = 1024; n <= 262144; n *= 2) {
            const double demanded = type.dtype == WR_F32 ? (n <= 65536 ? 4.25 : 0) : n <= 16384 ? 4.1 : 3.8;
            for (const bool log : {false, true}) {
                if (log && n != 4096) {
                    continue;
                }
                const auto call = log ? wr_log_softmax_backward : wr_softmax_backward;
                t.run({label(log ? "backward, log" : "backward", type, total / n, n), 3 * array_bytes,
                       [&t, call, type, total, n] {
                           check(call(type.dtype, t.input, t.input + 2 * gib, t.output, total / n, n, 1, t.stream),
                                 "backward");
                       },
                       nullptr, demanded, t.copy_ceiling});
            }
        }
    }
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

// Demanded: 95 % of the rate that plain softmax has in the same run.
double run_softmax(Table &t, const std::string &name, const wr_softmax_args &args, double bytes, double plain) {
    return t.run({name, bytes, [&t, args] { check(wr_softmax_ex(&args, t.stream), "softmax"); }, nullptr, 0.95 * plain,
                  t.copy_ceiling});
}

void selected_rows(Table &t, const Type &type, std::size_t n) {
    const std::size_t total = elements_of(type), rows = total / n;
    const wr_softmax_args plain = softmax_args(t, type, rows, n);
    const double rate = run_softmax(t, label("plain", type, rows, n), plain, 2 * array_bytes, 0);
    wr_softmax_args args = plain;
    args.log = 1;
    run_softmax(t, label("log", type, rows, n), args, 2 * array_bytes, rate);
    args = plain;
    args.logsumexp = t.output + 2 * gib;
    run_softmax(t, label("with logsumexp", type, rows, n), args, 2 * array_bytes, rate);
    args = plain;
    args.maximum = t.output + 2 * gib;
    run_softmax(t, label("with maximum", type, rows, n), args, 2 * array_bytes, rate);
    args = plain;
    args.mask = reinterpret_cast<const std::uint8_t *>(t.input + 2 * gib);
    run_softmax(t, label("masked", type, rows, n), args, 2 * array_bytes + static_cast<double>(total), rate);
    args.log = 1;
    run_softmax(t, label("masked, log", type, rows, n), args, 2 * array_bytes + static_cast<double>(total), rate);

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
    run_softmax(t, label("lengths", type, rows, n), args, array_bytes + taken * element, rate);
    args = plain;
    args.causal = 1;
    args.causal_first = 1;
    const std::size_t whole = rows / n * n; // rows of whole matrices
    const double seen = static_cast<double>(whole) * static_cast<double>(n + 1) / 2 +
                        static_cast<double>(rows - whole) * static_cast<double>(rows - whole + 1) / 2;
    run_softmax(t, label("causal", type, rows, n), args, array_bytes + seen * element, rate);

    std::vector<std::int64_t> offsets{0};
    while (offsets.size() <= rows) {
        offsets.push_back(offsets.back() + lengths[offsets.size() - 1]);
    }
    const Numbers offsets_on_gpu(offsets);
    args = plain;
    args.offsets = offsets_on_gpu.get();
    args.axis = total;
    run_softmax(t, label("ragged, 0 to n", type, rows, n), args, 2 * taken * element, 0);
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
            wr_reduce_args args;
            std::memset(&args, 0, sizeof(args));
            args.struct_size = sizeof(args);
            args.op = WR_LOGSUMEXP;
            args.dtype = type.dtype;
            args.input = t.input;
            args.output = t.output;
            args.outer = total / n;
            args.axis = n;
            args.inner = 1;
            args.workspace = t.workspace;
            args.workspace_bytes = workspace_bytes;
            const double bytes = array_bytes * (1 + 1 / static_cast<double>(n));
            t.run({label("logsumexp", type, total / n, n), bytes,
                   [&t, args] { check(wr_reduce_ex(&args, t.stream), "logsumexp"); }, nullptr,
                   type.dtype == WR_F32 ? 4.3 : 0, t.read_ceiling});
        }
    }
}

// Whether a part of the table is asked for: all are where none is named.
bool wanted(int count, char **names, const char *part) {
    return count == 1 ||
           std::any_of(names + 1, names + count, [&](const char *n) { return std::strcmp(n, part) == 0; });
}

} // namespace

int main(int argc, char **argv) {
    Table table;
    const struct {
        const char *name;
        void (*run)(Table &);
    } parts[] = {{"backward", backward}, {"selected", selected}, {"logsumexp", logsumexps}};
    for (const auto &part : parts) {
        if (wanted(argc, argv, part.name)) {
            part.run(table);
        }
    }
    std::printf("\n%d demands missed\n", table.missed());
    return 0;
}
