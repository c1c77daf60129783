// A lane's part of an exact sum of f32 or narrower floats.
//
// A float here is the f64 that is 2^-896 times as large: both have the same number in their exponent's field, so that a
// shift makes one of the other, subnormals included, and all that follows stays exact.
//
// Terms go through a few sums in f64. Each begins at 1.5 · 2^52 of its unit, so that an addition rounds the term to
// whole units, and what was rounded away is found without an error (J. Demmel, H. D. Nguyen, "Parallel reproducible
// summation", 2015). What the last of them leaves goes to bins: a sum in f64 for every 16 exponents, where a term of 24
// bits has 40 at most. Where something is left, terms that follow may go there at once, for they are likely to be as
// far apart. F16 and narrower ones need neither: all their numbers have one unit.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/exact/block_words.cuh"
#include "numerics/mapping.h"

namespace wr::cuda {

// Terms that are added together.
inline constexpr int terms_together = 16;

// Sums of anchors through which terms go; none where one unit serves all.
template <class T>
inline constexpr int levels_of = 0;
template <>
inline constexpr int levels_of<float> = 2;
template <>
inline constexpr int levels_of<BF16> = 1;

inline constexpr std::uint32_t infinity_f32 = 0x7F800000u;

// Multiples of 2^(place - 149).
struct Units {
    std::int64_t count;
    int place;
};

// What `units` have in a limb. The limb above the one where they begin takes all that is beyond it.
__device__ __forceinline__ std::int64_t digit_of(Units units, int limb) {
    const int lowest = units.place >> 5, shift = units.place & 31;
    const auto low = static_cast<std::uint64_t>(static_cast<std::uint32_t>(units.count)) << shift;
    if (limb == lowest) {
        return static_cast<std::int64_t>(low & 0xFFFFFFFFu);
    }
    return limb == lowest + 1 ? static_cast<std::int64_t>(low >> 32) + (units.count >> 32 << shift) : 0;
}

// Over groups of `lanes` neighbouring lanes, a power of two.
__device__ __forceinline__ std::int64_t sum_of_lanes(std::int64_t value, int lanes) {
    for (int step = 1; step < lanes; step *= 2) {
        value += __shfl_xor_sync(whole_warp, value, step);
    }
    return value;
}
__device__ __forceinline__ std::uint32_t marks_of_lanes(std::uint32_t marks, int lanes) {
    for (int step = 1; step < lanes; step *= 2) {
        marks |= __shfl_xor_sync(whole_warp, marks, step);
    }
    return marks;
}

template <class T>
class LaneSum {
  public:
    static constexpr int levels = levels_of<T>;

    // For every 16 exponents, and for what sums have beyond the largest term.
    static constexpr int bins = levels == 0 ? 0 : 17;

    // `column` has a place for every bin, `exact_row_threads` apart.
    __device__ __forceinline__ explicit LaneSum(std::int64_t *column) : column_(column) { set_sums(); }

    // The patterns of f32 terms, and of the largest magnitude or a larger one; above infinity where there is a NaN. All
    // lanes together. Terms are used up. Many: others are to follow.
    template <bool Many = false>
    __device__ __forceinline__ void add(std::uint32_t (&terms)[terms_together], std::uint32_t largest,
                                        bool ignore_nan) {
        bool numbers_only = true;
        if (__any_sync(whole_warp, largest > limit_) != 0) {
            std::uint32_t top = __reduce_max_sync(whole_warp, largest);
            if (top >= infinity_f32) {
                numbers_only = false;
                top = __reduce_max_sync(whole_warp, take_specials_out(terms, ignore_nan));
            }
            if (Many && goes_to_bins()) {
                if (numbers_only) {
                    note_numbers(terms, largest);
                }
                add_at_once(terms);
                return;
            }
            if (top > limit_) {
                raise_window(top);
            }
        }
        if (numbers_only) {
            note_numbers(terms, largest);
        }
        add_numbers<Many>(terms);
    }

    __device__ __forceinline__ std::uint32_t marks() const {
        return marks_ | (numbers_ != 0 ? mark(ExactMark::number) : 0);
    }

    // Whether bins have a part of the sum, the same in all lanes.
    __device__ __forceinline__ bool uses_bins() const { return uses_bins_; }

    // What is not in bins: that of each level, or all of it.
    __device__ __forceinline__ Units units(int level) const {
        if constexpr (levels == 0) {
            return {static_cast<std::int64_t>(sums_[0] * 0x1p920) + static_cast<std::int64_t>(sums_[1] * 0x1p920),
                    149 - 24};
        } else {
            return {bit_cast<std::int64_t>(sums_[level]) - bit_cast<std::int64_t>(anchor_of(level)), place_of(level)};
        }
    }
    __device__ __forceinline__ Units units_of_bin(int bin) const {
        return units_in_bin(bit_cast<double>(column_[bin * exact_row_threads]), bin);
    }

    // What the bins of all lanes together, of most_terms_of_lane terms at most, have in the limb that is a lane's
    // number: sums of so few terms are exact in f64.
    __device__ __forceinline__ std::int64_t digit_of_all_bins() const {
        const int lane = lane_index(), own = smaller(lane, bins - 1);
        const std::int64_t *const all = column_ - lane + own * exact_row_threads;
        __syncwarp();
        double sums[2] = {0.0, 0.0};
#pragma unroll 4
        for (int i = 0; i < warp_lanes; ++i) {
            sums[i % 2] += bit_cast<double>(all[(lane + i) % warp_lanes]);
        }
        const std::int64_t count = units_in_bin(sums[0] + sums[1], own).count;
        std::int64_t digit = 0;
#pragma unroll
        for (int bin = 2 * lane - 1; bin <= 2 * lane + 2; ++bin) {
            const Units units{__shfl_sync(whole_warp, count, bin & (warp_lanes - 1)), 16 * bin - 1};
            digit += bin >= 0 && bin < bins ? digit_of(units, lane) : 0;
        }
        return digit;
    }

    // Makes words of the bins: those of `lanes` neighbouring lanes together, in the columns of each of them. A limb is
    // written when the bins that it takes the place of have been read.
    __device__ __forceinline__ ThreadWords make_words(int lanes) {
        begin_bins();
        Units of_levels[levels == 0 ? 1 : levels];
#pragma unroll
        for (int level = 0; level < levels; ++level) {
            of_levels[level] = units(level);
            of_levels[level].count = sum_of_lanes(of_levels[level].count, lanes);
        }
#pragma unroll 1
        for (int bin = 0; bin < bins; ++bin) {
            column_[bin * exact_row_threads] = sum_of_lanes(units_of_bin(bin).count, lanes);
        }
        constexpr int limbs = layout_of_narrow_sums.limbs;
#pragma unroll 1
        for (int limb = 0; limb < limbs; ++limb) {
            std::int64_t word = 0;
#pragma unroll
            for (int level = 0; level < levels; ++level) {
                word += digit_of(of_levels[level], limb);
            }
#pragma unroll
            for (int bin = 2 * limb - 1; bin <= 2 * limb + 2; ++bin) {
                if (bin >= 0 && bin < bins) {
                    word += digit_of({column_[bin * exact_row_threads], 16 * bin - 1}, limb);
                }
            }
            column_[limb * exact_row_threads] = word;
        }
        const std::uint32_t marks = marks_of_lanes(this->marks(), lanes);
        for (int kind = 0; kind < exact_marks; ++kind) {
            column_[(limbs + kind) * exact_row_threads] = marks >> kind & 1u;
        }
        return {column_, exact_row_threads};
    }

  private:
    // Bits of a term in units of the first sum that takes it: with most_terms_of_lane of them a sum stays on its side.
    static constexpr int width = 38;

    // So much larger than the first terms others may be before there are other units.
    static constexpr int margin = 3;

    // The exponent field of terms whose units on the first level are those of limb 0.
    static constexpr int lowest_field = width - 23;

    // How often terms go to bins at once where something was left; as long, that is the limit of all others.
    static constexpr std::uint32_t turns_of_bins = 4;

    __device__ __forceinline__ static double small(std::uint32_t term) {
        const int high = static_cast<int>(term) >> 3 & static_cast<int>(0x8FFFFFFFu);
        return __hiloint2double(high, sizeof(T) == 4 ? static_cast<int>(term << 29) : 0);
    }

    __device__ __forceinline__ int place_of(int level) const { return larger(place_ - width * level, 0); }
    __device__ __forceinline__ double anchor_of(int level) const {
        return __hiloint2double((30 + place_of(level)) << 20 | 1 << 19, 0);
    }
    __device__ __forceinline__ void set_sums() {
#pragma unroll
        for (int i = 0; i < sums; ++i) {
            sums_[i] = levels == 0 ? 0.0 : anchor_of(i);
        }
    }

    template <bool Many>
    __device__ __forceinline__ void add_numbers(const std::uint32_t (&patterns)[terms_together]) {
        if constexpr (levels == 0) {
#pragma unroll
            for (int e = 0; e < terms_together; ++e) {
                sums_[e % sums] += small(patterns[e]);
            }
        } else {
            double terms[terms_together];
#pragma unroll
            for (int e = 0; e < terms_together; ++e) {
                terms[e] = small(patterns[e]);
            }
#pragma unroll
            for (int level = 0; level < levels; ++level) {
                if (__any_sync(whole_warp, extract(terms, sums_[level])) == 0) {
                    return;
                }
            }
            begin_bins();
#pragma unroll
            for (const double term : terms) {
                add_to_bin(term);
            }
            limit_ = Many ? turns_of_bins : limit_;
        }
    }

    __device__ __forceinline__ bool goes_to_bins() const {
        return levels != 0 && limit_ != 0 && limit_ <= turns_of_bins;
    }
    __device__ __forceinline__ void add_at_once(const std::uint32_t (&patterns)[terms_together]) {
#pragma unroll
        for (const std::uint32_t pattern : patterns) {
            add_to_bin(small(pattern));
        }
        limit_ = limit_ == 1 ? limit_of_window() : limit_ - 1;
    }

    __device__ __forceinline__ void note_numbers(const std::uint32_t (&terms)[terms_together], std::uint32_t largest) {
        marks_ |= mark(ExactMark::minus_zero); // which counts where there is nothing else
        numbers_ |= largest;
        if (largest == 0) {
#pragma unroll
            for (const std::uint32_t term : terms) {
                numbers_ |= term ^ 0x80000000u;
            }
        }
    }

    // Whether anything is left.
    __device__ __forceinline__ static bool extract(double (&terms)[terms_together], double &sum) {
        int high = 0, low = 0;
#pragma unroll
        for (double &term : terms) {
            const double next = sum + term;
            term -= next - sum;
            sum = next;
            high |= __double2hiint(term);
            low |= __double2loint(term);
        }
        return (high & 0x7FFFFFFF) != 0 || (sizeof(T) == 4 && low != 0);
    }

    __device__ __forceinline__ void begin_bins() {
        if (!uses_bins_) {
            uses_bins_ = true;
#pragma unroll 1
            for (int bin = 0; bin < bins; ++bin) {
                column_[bin * exact_row_threads] = 0;
            }
        }
    }
    __device__ __forceinline__ void add_to_bin(double term) const {
        std::int64_t &bin = column_[(__double2hiint(term) >> 24 & 31) * exact_row_threads];
        bin = bit_cast<std::int64_t>(bit_cast<double>(bin) + term);
    }
    __device__ __forceinline__ static Units units_in_bin(double sum, int bin) {
        const double to_units = __hiloint2double((1023 + 534 - 16 * bin) << 20, 0);
        return {static_cast<std::int64_t>(sum * 0x1p512 * to_units), 16 * bin - 1};
    }

    // Units for terms up to this magnitude and somewhat larger ones.
    __device__ __forceinline__ void raise_window(std::uint32_t top) {
        if constexpr (levels != 0) {
            if (limit_ != 0) {
                begin_bins();
#pragma unroll
                for (int level = 0; level < levels; ++level) {
                    add_to_bins(sums_[level] - anchor_of(level));
                }
            }
            place_ = larger(static_cast<int>(top >> 23) + margin - lowest_field, 0);
            limit_ = limit_of_window();
            set_sums();
        }
    }
    __device__ __forceinline__ std::uint32_t limit_of_window() const {
        return smaller(static_cast<std::uint32_t>(place_ + lowest_field + 1) << 23, infinity_f32) - 1;
    }

    // A sum of up to 52 bits, by as many as a term has.
    __device__ __forceinline__ void add_to_bins(double sum) const {
#pragma unroll
        for (int part = 0; part < 3; ++part) {
            const double leading =
                __hiloint2double(__double2hiint(sum), __double2loint(sum) & static_cast<int>(0xE0000000u));
            add_to_bin(leading);
            sum -= leading;
        }
    }

    // Marks each term; those that are no numbers become 0. The largest magnitude that is left.
    __device__ __forceinline__ std::uint32_t take_specials_out(std::uint32_t (&terms)[terms_together],
                                                               bool ignore_nan) {
        std::uint32_t largest = 0;
#pragma unroll
        for (std::uint32_t &term : terms) {
            const std::uint32_t of_term = marks_of(bit_cast<float>(term));
            marks_ |= of_term & (ignore_nan ? ~mark(ExactMark::nan) : ~std::uint32_t{0});
            term = (of_term & finite_marks) != 0 ? term : 0;
            largest = larger(largest, term & 0x7FFFFFFFu);
        }
        return largest;
    }

    static constexpr int sums = levels == 0 ? 2 : levels;

    std::int64_t *column_;
    double sums_[sums];
    int place_ = 0;                                            // of the first level's unit
    std::uint32_t limit_ = levels == 0 ? infinity_f32 - 1 : 0; // the largest magnitude that the sums take
    std::uint32_t marks_ = 0;
    std::uint32_t numbers_ = 0; // not 0 as soon as a term was a number but -0
    bool uses_bins_ = false;
};

// ---- the terms of vectors

__device__ __forceinline__ float larger_or_nan(float a, float b) {
    float larger;
    asm("max.NaN.f32 %0, %1, %2;" : "=f"(larger) : "f"(a), "f"(b));
    return larger;
}
template <class T>
__device__ __forceinline__ unsigned larger_halves(unsigned a, unsigned b) {
    unsigned r;
    if constexpr (levels_of<T> == 0) {
        asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    } else {
        asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(a), "r"(b));
    }
    return r;
}

// Both halves of a word as the patterns of f32.
template <class T>
__device__ __forceinline__ std::uint32_t low_half(unsigned word) {
    return bit_cast<std::uint32_t>(widen(T{static_cast<std::uint16_t>(word)}));
}
template <class T>
__device__ __forceinline__ std::uint32_t high_half(unsigned word) {
    return bit_cast<std::uint32_t>(widen(T{static_cast<std::uint16_t>(word >> 16)}));
}

// The largest magnitude of words of elements, as f32.
template <class T, int Count>
__device__ __forceinline__ std::uint32_t largest_of(const unsigned (&words)[Count]) {
    if constexpr (sizeof(T) == 2) {
        unsigned largest = 0;
#pragma unroll
        for (const unsigned word : words) {
            largest = larger_halves<T>(largest, word & 0x7FFF7FFFu);
        }
        return larger(low_half<T>(largest), high_half<T>(largest));
    } else {
        float largest = 0;
#pragma unroll
        for (const unsigned word : words) {
            largest = larger_or_nan(largest, fabsf(bit_cast<float>(word)));
        }
        return bit_cast<std::uint32_t>(largest);
    }
}

// Vectors of terms_together elements.
template <class T>
inline constexpr int vectors_together = terms_together * static_cast<int>(sizeof(T)) / 16;

// Adds the elements of vectors from `first` on.
template <bool Many, class T, int Count>
__device__ __forceinline__ void add_vectors(LaneSum<T> &sum, const uint4 (&vectors)[Count], int first, bool ignore_nan,
                                            const Mapping &m) {
    constexpr int words = terms_together * static_cast<int>(sizeof(T)) / 4, in_word = terms_together / words;
    unsigned word[words];
    std::uint32_t terms[terms_together];
#pragma unroll
    for (int w = 0; w < words; ++w) {
        word[w] = word_of(vectors[first + w / 4], w % 4);
        if constexpr (sizeof(T) == 4) {
            terms[w] = word[w];
        } else if constexpr (sizeof(T) == 2) {
            terms[2 * w] = low_half<T>(word[w]);
            terms[2 * w + 1] = high_half<T>(word[w]);
        } else {
#pragma unroll
            for (int e = 0; e < in_word; ++e) {
                const T element{static_cast<std::uint8_t>(word[w] >> (8 * e))};
                terms[in_word * w + e] = bit_cast<std::uint32_t>(decode(element, m));
            }
        }
    }
    if constexpr (sizeof(T) == 1) {
        sum.template add<Many>(terms, largest_of<float>(terms), ignore_nan);
    } else {
        sum.template add<Many>(terms, largest_of<T>(word), ignore_nan);
    }
}

// What becomes of the sums of lanes that share a row.

inline constexpr ExactLayout layout_of_rows = layout_of_narrow_sums;
inline constexpr int words_of_row = exact_words(layout_of_rows);
inline constexpr int row_warps = exact_row_threads / warp_lanes;

// Of a type that has none, a place that nothing is written to.
template <class T>
inline constexpr int bin_places = LaneSum<T>::bins == 0 ? 1 : LaneSum<T>::bins * exact_row_threads;

// The words of the sum of the lanes that take part, in shared memory, each by one lane. Few: all of them take part, and
// have no more terms than most_terms_of_lane together.
template <class T>
__device__ __forceinline__ void store_warp(const LaneSum<T> &sum, bool takes_part, bool few, std::int64_t *words) {
    const int lane = lane_index();
    const std::uint32_t marks = __reduce_or_sync(whole_warp, takes_part ? sum.marks() : 0);
    std::int64_t mine = 0;
    const auto add = [&](Units units) {
        units.count = sum_of_lanes(takes_part ? units.count : 0, warp_lanes);
        mine += digit_of(units, lane);
    };
#pragma unroll
    for (int level = 0; level < larger(LaneSum<T>::levels, 1); ++level) {
        add(sum.units(level));
    }
    if (LaneSum<T>::bins != 0 && sum.uses_bins() && few) {
        mine += sum.digit_of_all_bins();
    } else if (sum.uses_bins()) {
#pragma unroll 1
        for (int bin = 0; bin < LaneSum<T>::bins; ++bin) {
            add(sum.units_of_bin(bin));
        }
    }
    if (lane < words_of_row) {
        words[lane] = lane < layout_of_rows.limbs ? mine : marks >> (lane - layout_of_rows.limbs) & 1u;
    }
}

// Whole rows of `lanes` lanes each, of a type that has bins, by the first of their lanes.
template <class T>
__device__ __forceinline__ void finish_rows_with_bins(const ExactArguments &a, LaneSum<T> &sum, int lanes,
                                                      std::size_t output) {
    const ThreadWords words = sum.make_words(lanes);
    if (lane_index() % lanes != 0 || output >= a.outputs) {
        return;
    }
    if (a.partials == nullptr) {
        finish_exactly(words, layout_of_rows, a.output_type, a.output, output);
        return;
    }
    for (int word = 0; word < words_of_row; ++word) {
        a.partials[output * words_of_row + static_cast<std::size_t>(word)] =
            word_of_partial(words, word, layout_of_rows);
    }
}

// A row's words, that lie in shared memory, become its result or its partial sum. By one warp.
__device__ __forceinline__ void finish_words(const ExactArguments &a, std::int64_t *words, std::size_t output,
                                             std::size_t split) {
    const int lane = lane_index();
    if (a.partials == nullptr) {
        if (lane == 0) {
            finish_exactly(words, layout_of_rows, a.output_type, a.output, output);
        }
    } else if (lane < words_of_row) {
        a.partials[(output * a.splits + split) * words_of_row + static_cast<std::size_t>(lane)] =
            word_of_partial(words, lane, layout_of_rows);
    }
}

// Whole rows of `lanes` lanes each, which are in no bins: 128 bits hold the sum of one.
template <class T>
__device__ __forceinline__ void finish_rows(const ExactArguments &a, const LaneSum<T> &sum, int lanes,
                                            std::size_t output) {
    const std::uint32_t marks = marks_of_lanes(sum.marks(), lanes);
    Units units = sum.units(0);
    std::int64_t count = sum_of_lanes(units.count, lanes);
    TwoWords total{static_cast<std::uint64_t>(count >> 63), static_cast<std::uint64_t>(count)};
    if constexpr (LaneSum<T>::levels == 2) {
        const Units below = sum.units(1);
        total = sum_of(shifted_left(total, units.place - below.place), sum_of_lanes(below.count, lanes));
        units.place = below.place;
    }
    if (lane_index() % lanes == 0 && output < a.outputs) {
        finish_exactly(total, layout_of_rows.lowest + units.place, marks, a.output_type, a.output, output);
    }
}

__device__ __forceinline__ const char *begin_of_row(const ExactArguments &a, std::size_t output, std::size_t size) {
    std::ptrdiff_t first = static_cast<std::ptrdiff_t>(output) * a.shape.outer_stride;
    if (a.shape.inner != 1) {
        first = static_cast<std::ptrdiff_t>(output / a.shape.inner) * a.shape.outer_stride +
                static_cast<std::ptrdiff_t>(output % a.shape.inner) * a.shape.inner_stride;
    }
    return static_cast<const char *>(a.input) + first * static_cast<std::ptrdiff_t>(size);
}

} // namespace wr::cuda
