// The maxima of columns: of a thread, its warp, the tile, which several blocks of a cluster may share.
#pragma once

#include "cuda/softmax/columns/cluster_tile.cuh"

namespace wr::cuda {

// The maxima of the tile's columns in each tile.
template <class T, class Shape>
class ColumnMaxima : protected ColumnTile<T, Shape> {
  protected:
    using Base = ColumnTile<T, Shape>;
    using Base::a;
    using Base::Base;
    using Base::each;
    using Base::first_of_span;
    using Base::memory;
    using Base::pair;
    using Base::rank;
    using Base::rows;
    using Base::span;
    using typename Base::Float;

    __device__ __forceinline__ void expect_maxima() {
        memory.maxima_arrived.announce(static_cast<unsigned>(span() * Shape::words) *
                                       static_cast<unsigned>(sizeof(unsigned)));
    }

    // The least logits of a thread's columns; the warp's largest go to shared memory.
    __device__ __forceinline__ void leave_maxima(const uint4 (&v)[rows], unsigned (&least)[vector_words]) const {
        unsigned largest[vector_words];
#pragma unroll
        for (int w = 0; w < vector_words; ++w) {
            largest[w] = least[w] = word_of(v[0], w);
#pragma unroll
            for (int i = 1; i < rows; ++i) {
                largest[w] = larger_word<T>(largest[w], word_of(v[i], w));
                least[w] = smaller_word<T>(least[w], word_of(v[i], w));
            }
        }
        leave_largest(largest);
    }

    // From the largest of a thread's columns to those of its warp.
    __device__ __forceinline__ void leave_largest(unsigned (&largest)[vector_words]) const {
#pragma unroll
        for (int w = 0; w < vector_words; ++w) {
#pragma unroll
            for (int distance = Shape::across; distance < warp_lanes; distance *= 2) {
                largest[w] = larger_word<T>(largest[w], __shfl_xor_sync(whole_warp, largest[w], distance));
            }
        }
        if (lane_index() < Shape::across) {
#pragma unroll
            for (int w = 0; w < vector_words; ++w) {
                memory.maxima[warp_again()][lane_index() * vector_words + w] = largest[w];
            }
        }
    }

    // The maxima of tiles go to all blocks that share these.
    __device__ __forceinline__ void share_maxima(unsigned turn) {
        using Items = ColumnItems<Shape, Shape::tile_count * Shape::words>;
        const int x = thread_x_again();
        if (Items::threads == Shape::threads || x < Items::threads) {
            const int item = x / Items::lanes, lane = x % Items::lanes;
            const int group = item / Shape::words, word = item % Shape::words;
            const unsigned *const from = &memory.maxima[group * Shape::group_warps + lane * Items::run][word];
            unsigned largest = from[0];
#pragma unroll
            for (int i = 1; i < Items::run; ++i) {
                largest = larger_word<T>(largest, from[i * (Shape::words + 1)]);
            }
#pragma unroll
            for (int distance = 1; distance < Items::lanes; distance *= 2) {
                largest = larger_word<T>(largest, __shfl_xor_sync(whole_warp, largest, distance));
            }
            if constexpr (Shape::span > 1) {
                static_assert(Shape::span <= Items::lanes);
                if (lane < span()) {
                    send_word(memory.maxima_arrived, static_cast<unsigned>(first_of_span() + lane),
                              &memory.block_maxima[rank() - first_of_span()][word], largest);
                }
            } else if (lane == 0) {
                memory.block_maxima[group][word] = largest;
            }
        }
        if constexpr (Shape::span > 1) {
            memory.maxima_arrived.wait(turn & 1u);
            if (x == 0) {
                expect_maxima();
            }
        } else {
            __syncthreads();
        }
    }

    // Of the tile of one of this block's groups of warps.
    __device__ __forceinline__ unsigned tile_maximum(int group, int word) const {
        unsigned largest = memory.block_maxima[Shape::span > 1 ? 0 : group][word];
        if constexpr (Shape::span > 1) {
            const int parts = span();
#pragma unroll
            for (int part = 1; part < Shape::span; ++part) {
                if (part < parts) {
                    largest = larger_word<T>(largest, memory.block_maxima[part][word]);
                }
            }
        }
        return largest;
    }

    // The maxima of the tiles that a thread's columns belong to, with note(w, word) for each word of them.
    template <class Note>
    __device__ __forceinline__ void own_maxima(Float (&maxima)[each], Note note) const {
        const int x = thread_x_again(), first = x % Shape::across * vector_words;
        const int group = x / warp_lanes / Shape::group_warps;
#pragma unroll
        for (int w = 0; w < vector_words; ++w) {
            const unsigned word = tile_maximum(group, first + w);
#pragma unroll
            for (int c = 0; c < pair; ++c) {
                maxima[w * pair + c] = column_of_word<T>(word, c);
            }
            note(w, word);
        }
    }

    __device__ __forceinline__ static bool needs_no_test(Float lowest, Float least_maximum, Float maximum) {
        return is_ordinary(least_maximum) && is_ordinary(maximum) &&
               lowest > maximum - ExponentialConstants<Float>::reach;
    }

    // The same, and whether no exponential of this warp needs a test: of 16-bit columns said of all at once, which is
    // nearly always as good and takes half the instructions.
    __device__ __forceinline__ bool is_plain(const unsigned (&least)[vector_words], Float (&maxima)[each]) const {
        bool plain = true;
        if constexpr (pair == 2) {
            unsigned largest = 0, smallest = 0, lowest = 0;
            own_maxima(maxima, [&](int w, unsigned word) {
                largest = w == 0 ? word : larger_word<T>(largest, word);
                smallest = w == 0 ? word : smaller_word<T>(smallest, word);
                lowest = w == 0 ? least[0] : smaller_word<T>(lowest, least[w]);
            });
            plain = needs_no_test(lower_of_pair<T>(lowest), lower_of_pair<T>(smallest),
                                  larger_with_nan(column_of_word<T>(largest, 0), column_of_word<T>(largest, 1)));
        } else {
            own_maxima(maxima, [&](int w, unsigned) {
                plain = plain && needs_no_test(column_of_word<T>(least[w], 0), maxima[w], maxima[w]);
            });
        }
        return __all_sync(whole_warp, plain) != 0;
    }
};

} // namespace wr::cuda
