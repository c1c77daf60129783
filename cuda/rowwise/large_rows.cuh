// Which of a block of threads' ragged rows are the longer ones.
#pragma once

#include "cuda/rowwise/arguments.h"
#include "numerics/softmax_rows.h"

namespace wr::cuda {

struct LargeRowList {
    std::uint16_t numbers[most_rows_looked_through]; // from the block's first row on, in any order
    int count;

    // By all threads of the block, of the rows from `first` on. `rows` there are in all, of up to `elements` elements.
    __device__ __forceinline__ void find(const Selection &selection, const LargeRows &longer, std::size_t first,
                                         std::size_t rows, std::size_t elements) {
        constexpr int own = most_rows_looked_through / least_looking_threads;
        const RowSpan all = all_ragged_rows(selection, rows, elements);
        bool is_longer[own]; // all the offsets are asked for before any is waited for
#pragma unroll
        for (int i = 0; i < own; ++i) {
            const unsigned number = number_of(i);
            const bool there = number < static_cast<unsigned>(longer.among) && first + number < rows;
            is_longer[i] = there && ragged_row(selection, all, there ? first + number : 0).count >= longer.least;
        }
        __syncthreads();
        if (threadIdx.x == 0) {
            count = 0;
        }
        __syncthreads();
#pragma unroll
        for (int i = 0; i < own; ++i) {
            if (is_longer[i]) {
                numbers[atomicAdd(&count, 1)] = static_cast<std::uint16_t>(number_of(i));
            }
        }
        __syncthreads();
    }

  private:
    __device__ __forceinline__ static unsigned number_of(int i) {
        return static_cast<unsigned>(i) * blockDim.x + threadIdx.x;
    }
};

} // namespace wr::cuda
