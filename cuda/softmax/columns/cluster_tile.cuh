// The logits of a tile of columns: from memory into a block's shared memory, from there into its registers.
#pragma once

#include "cuda/softmax/columns/cluster_shape.cuh"

namespace wr::cuda {

__device__ __forceinline__ void copy_whole_vector(void *to, const void *from) {
#if __CUDA_ARCH__ >= 900
    asm volatile(
        "cp.async.cg.shared.global.L2::128B [%0], [%1], 16;" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(to))),
        "l"(from)
        : "memory");
#endif
}

// Writes a word to the same place in the shared memory of block `rank`, whose barrier counts its bytes.
__device__ __forceinline__ void send_word(Mbarrier &barrier, unsigned rank, unsigned *place, unsigned word) {
#if __CUDA_ARCH__ >= 900
    asm volatile("{\n"
                 ".reg .b32 to, at;\n"
                 "mapa.shared::cluster.u32 to, %0, %2;\n"
                 "mapa.shared::cluster.u32 at, %1, %2;\n"
                 "st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.b32 [to], %3, [at];\n"
                 "}" ::"r"(static_cast<unsigned>(__cvta_generic_to_shared(place))),
                 "r"(static_cast<unsigned>(__cvta_generic_to_shared(&barrier))), "r"(rank), "r"(word)
                 : "memory");
#endif
}

// Until all of this thread's copies are there.
__device__ __forceinline__ void wait_for_own_copies() {
#if __CUDA_ARCH__ >= 900
    asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

// A block's part of a tile of columns: whose it is, and its logits on their way into shared memory and registers.
template <class T, class Shape>
class ColumnTile {
  protected:
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using Vectors = ColumnVectors<T, Shape>;
    using Memory = ColumnMemory<T, Shape>;
    static constexpr int rows = Shape::rows, each = Shape::each, pair = Shape::word_columns;

  public:
    __device__ __forceinline__ ColumnTile(const SoftmaxColumnArguments &arguments, Memory &shared)
        : all(arguments), a(arguments.softmax), memory(shared) {}

  protected:
    __device__ __forceinline__ static uint4 *staged() { // this thread's; row i's is i threads further on
        return reinterpret_cast<uint4 *>(launched_memory() + sizeof(Memory)) + thread_x_again();
    }

    __device__ __forceinline__ static int rank() { return static_cast<int>(block_in_cluster()); }

    // Of the blocks that share this one's tile, the first, and how many there are.
    __device__ __forceinline__ static int first_of_span() { return rank() & ~(Shape::span - 1); }

    __device__ __forceinline__ int span() const { return smaller(Shape::span, a.cluster_blocks - first_of_span()); }

    // Starts bringing this thread's vectors of a tile into shared memory.
    __device__ __forceinline__ void stage(std::uint32_t tile) const {
        const Vectors mine(all, tile);
        const char *from = mine.input(a);
        const std::ptrdiff_t step = a.axis_stride * static_cast<std::ptrdiff_t>(sizeof(T));
        uint4 *const to = staged();
        if (mine.count >= rows) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                copy_whole_vector(to + i * Shape::threads, from);
                from += step;
            }
        } else {
#pragma unroll 1
            for (int i = 0; i < mine.count; ++i) {
                copy_whole_vector(to + i * Shape::threads, from);
                from += step;
            }
        }
    }

    // A thread's logits of a tile; where there are none, -infinity.
    __device__ __forceinline__ void take(std::uint32_t tile, uint4 (&v)[rows]) const {
        wait_for_own_copies();
        const int count = Vectors(all, tile).count;
        const uint4 *const from = staged();
        if (count >= rows) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                v[i] = from[i * Shape::threads];
            }
            scale(v);
        } else {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                v[i] = uint4{0, 0, 0, 0};
                if (i < count) {
                    v[i] = from[i * Shape::threads];
                }
            }
            scale(v);
            const uint4 behind = filler_vector<T>(false);
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                v[i] = i < count ? v[i] : behind;
            }
        }
    }

    template <int Rows>
    __device__ __forceinline__ void scale(uint4 (&v)[Rows]) const {
        if constexpr (sizeof(T) == sizeof(float)) {
            if (a.scaled) {
                const float by = static_cast<float>(a.scale);
#pragma unroll
                for (int i = 0; i < Rows; ++i) {
                    v[i] = {scaled_word(v[i].x, by), scaled_word(v[i].y, by), scaled_word(v[i].z, by),
                            scaled_word(v[i].w, by)};
                }
            }
        }
    }

    __device__ __forceinline__ static unsigned scaled_word(unsigned word, float by) {
        return __float_as_uint(__uint_as_float(word) * by);
    }

    const SoftmaxColumnArguments &all;
    const SoftmaxArguments &a;
    Memory &memory;
};

} // namespace wr::cuda
