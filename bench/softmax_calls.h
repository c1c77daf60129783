// What the parts of softmax_bench share: types, the calls as jobs, and how a gradient or a logsumexp is timed.
#pragma once

#include "bench/parts.h"

#include <cstdint>
#include <string>
#include <vector>

namespace bench {

inline constexpr double array_bytes = 2.0 * gib;

struct Type {
    wr_dtype dtype;
    Fill fill;
    const char *name;
};
inline constexpr Type types[] = {{WR_F32, Fill::f32, "f32"}, {WR_BF16, Fill::bf16, "bf16"}};

std::size_t elements_of(const Type &type);

std::string label(const char *what, const Type &type, std::size_t rows, std::size_t n);

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

Job softmax_job(const Table &t, const Type &type, std::size_t outer, std::size_t n, std::size_t inner);

wr_softmax_args softmax_args(const Table &t, const Type &type, std::size_t rows, std::size_t n);

Job softmax_with(Table &t, const wr_softmax_args &args);

// The first half of the input holds the values, the second bytes of which one in 64 is 0.
void fill(Table &t, const Type &type, float low, float high);

wr_softmax_backward_args backward_args(const Table &t, const Type &type, std::size_t n, std::size_t inner = 1);

void run_backward(Table &t, const std::string &name, wr_softmax_backward_args args, double bytes, double demanded);

void run_logsumexp(Table &t, const std::string &name, const Type &type, std::size_t outer, std::size_t n,
                   std::size_t inner, double demanded);

// The parts with options, of softmax_option_parts.cu.
void channels(Table &t);
void selected(Table &t);
void odd_jobs(Table &t);
void short_jobs(Table &t);

} // namespace bench
