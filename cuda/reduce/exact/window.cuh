// A thread's sums in f64 for terms of about one size: each is rounded to whole units of the first sum, what is left to
// those of the second, and so on, all without an error (J. Demmel, H. D. Nguyen, "Parallel reproducible summation",
// 2015). Terms of another size, and what the last sum leaves, go to the thread's limbs.
#pragma once

#include "cuda/reduce/exact/block_words.cuh"

namespace wr::cuda {

template <int Levels>
class Window {
  public:
    // Adds finite terms, not all of them 0, to the sums or to `words`; `top` is the exponent field of the largest.
    template <int Count>
    __device__ __forceinline__ void add(double (&terms)[Count], int top, const ThreadWords &words, ExactLayout layout) {
        if (top < lowest_top || top > highest_top) {
            add_to_limbs(terms, words, layout);
            return;
        }
        if (top > highest_ || top + reach < highest_) {
            flush(words, layout);
            highest_ = top + 1;
            set_anchors();
            add_to_limbs(terms, words, layout);
            return;
        }
        if (room_ < Count) {
            flush(words, layout);
        }
        room_ -= Count;
        if (!extract(terms)) {
            add_to_limbs(terms, words, layout);
        }
    }

    __device__ __forceinline__ void flush(const ThreadWords &words, ExactLayout layout) {
        if (room_ != most_terms) {
#pragma unroll 1
            for (int level = 0; level < Levels; ++level) {
                const double anchor = anchor_of(level);
                add_exactly(words, layout, sum_of(level) - anchor);
            }
        }
        room_ = most_terms;
        set_anchors();
    }

  private:
    // The bits between two sums' units; a sum has 51 on either side of its anchor, and so room for 2^11 terms.
    static constexpr int width = 40, most_terms = 1 << 11;

    // Largest terms so much below the highest that may be are as well supported by the same units.
    static constexpr int reach = 12;

    // Anchors of terms outside are no f64, or have units below the smallest.
    static constexpr int lowest_top = width * Levels, highest_top = 2020;

    // 1.5 · 2^52 units, of which a term of the highest exponent has 2^40 at most.
    __device__ __forceinline__ double anchor_of(int level) const {
        const int exponent = highest_ + 1 + 52 - width * (level + 1);
        return __hiloint2double(exponent << 20 | 1 << 19, 0);
    }
    __device__ __forceinline__ void set_anchors() {
#pragma unroll
        for (int level = 0; level < Levels; ++level) {
            sums_[level] = anchor_of(level);
        }
    }
    __device__ __forceinline__ double sum_of(int level) const {
        double sum = sums_[0];
#pragma unroll
        for (int i = 1; i < Levels; ++i) {
            sum = level == i ? sums_[i] : sum;
        }
        return sum;
    }

    // Whether nothing is left.
    template <int Count>
    __device__ __forceinline__ bool extract(double (&terms)[Count]) {
#pragma unroll
        for (int level = 0; level < Levels; ++level) {
#pragma unroll
            for (double &term : terms) {
                const double next = sums_[level] + term;
                term -= next - sums_[level];
                sums_[level] = next;
            }
        }
        int high = 0, low = 0;
#pragma unroll
        for (const double term : terms) {
            high |= __double2hiint(term);
            low |= __double2loint(term);
        }
        return ((high & 0x7FFFFFFF) | low) == 0;
    }

    template <int Count>
    __device__ __forceinline__ static void add_to_limbs(const double (&terms)[Count], const ThreadWords &words,
                                                        ExactLayout layout) {
#pragma unroll
        for (double term : terms) {
            add_exactly(words, layout, term);
        }
    }

    int highest_ = -1; // the exponent field that no term's is above; -1: none yet
    int room_ = most_terms;
    double sums_[Levels];
};

} // namespace wr::cuda
