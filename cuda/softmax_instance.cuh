// Makes the set of softmax kernels of one element type.
#pragma once

#include "cuda/softmax_columns.cuh"
#include "cuda/softmax_kernels.h"
#include "cuda/softmax_long_rows.cuh"
#include "cuda/softmax_rows.cuh"

namespace wr::cuda {

template <class Kernel>
const void *softmax_address(Kernel *kernel) {
    return reinterpret_cast<const void *>(kernel);
}

// Blocks of a number of threads that a multiprocessor should hold, which bounds their registers. 16-bit rows: 32 warps
// with 2 KiB in flight each. f32 rows, 4 KiB each: 24 warps of small blocks, whose registers then spill nothing (4.21
// TB/s on an H200; with 32 warps 3.95). f64 needs twice the registers.
template <class T>
constexpr int resident_blocks(int threads) {
    const int threads_in_all = sizeof(T) == 8 ? 512 : sizeof(T) == 4 && threads <= 256 ? 768 : 1024;
    return larger(threads_in_all / threads, 1);
}

template <class T, class Places, bool Log, int Threads>
const void *softmax_rows_kernel() {
    return softmax_address(softmax_rows<T, Places, Log, Threads, resident_blocks<T>(Threads)>);
}

template <class T, class Places, bool Log>
void set_row_kernels(const void *(&kernels)[softmax_block_sizes]) {
    constexpr int small = softmax_block_threads[0], large = softmax_block_threads[softmax_block_sizes - 1];
    kernels[0] = softmax_rows_kernel<T, Places, Log, small>();
    if constexpr (Places::vectors) {
        kernels[1] = softmax_rows_kernel<T, Places, Log, softmax_block_threads[1]>();
        kernels[2] = softmax_rows_kernel<T, Places, Log, softmax_block_threads[2]>();
        kernels[3] = softmax_rows_kernel<T, Places, Log, large>();
    } else {
        kernels[1] = kernels[2] = kernels[3] = softmax_rows_kernel<T, Places, Log, large>();
    }
}

template <class T, class Places>
SoftmaxRowKernels softmax_row_kernels() {
    SoftmaxRowKernels kernels{};
    set_row_kernels<T, Places, false>(kernels.rows[0]);
    set_row_kernels<T, Places, true>(kernels.rows[1]);
    kernels.piece_states = softmax_address(softmax_piece_states<T, Places>);
    kernels.apply[0] = softmax_address(softmax_apply<T, Places, false>);
    kernels.apply[1] = softmax_address(softmax_apply<T, Places, true>);
    return kernels;
}

template <class T>
const SoftmaxKernels &softmax_kernels() {
    static const SoftmaxKernels kernels{
        softmax_row_kernels<T, VectorPlaces<T>>(), softmax_row_kernels<T, SinglePlaces<T>>(),
        softmax_address(softmax_totals<T>),        softmax_address(softmax_column_states<T>),
        softmax_address(softmax_column_apply<T>),  static_cast<int>(sizeof(T))};
    return kernels;
}

} // namespace wr::cuda
