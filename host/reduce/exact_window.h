// Blocks of terms that are whole units of one anchor, or of that and another below: each lane adds its own up as
// integers. An anchor is 1.5 · 2^52 units, so that an addition rounds to whole ones, and what was rounded away is found
// without an error. It stays for as long as terms fit: block after block, row after row.
#pragma once

#include "host/reduce/exact_block.h"
#include "host/reduce/exact_few.h"

namespace wr::host::WR_ISA {
namespace {

// Vectors of a block, and the sums that take turns with them.
constexpr std::size_t window_vectors = 64;
constexpr std::size_t window_sums = 4;
constexpr std::size_t window_block = window_vectors * lanes_of<double>;

// A term is below 2^46 units: a sum has 2^51 on either side of its anchor, and room for 19 of them.
constexpr int window_bits = 46;

// The total of all lanes is then below 2^62 units.
constexpr int most_window_blocks = 128;

// Terms may be so many powers of two above those that an anchor was chosen for.
constexpr int window_margin = 2;

// The most blocks that are not tried after one that did not fit, nor did those before it.
constexpr int most_passed_over = 63;

// Blocks that are taken to need both anchors after one that did.
constexpr int blocks_of_two_anchors = 8;

WR_HD bool any_bit(Patterns lanes) {
#if defined(__AVX512F__)
    return _mm512_test_epi64_mask(bit_cast<__m512i>(lanes), bit_cast<__m512i>(lanes)) != 0;
#elif defined(__AVX2__)
    return _mm256_testz_si256(bit_cast<__m256i>(lanes), bit_cast<__m256i>(lanes)) == 0;
#else
    std::int64_t all = 0;
    for (std::size_t i = 0; i < lanes_of<double>; ++i) {
        all |= lanes[i];
    }
    return all != 0;
#endif
}

class Window {
  public:
    explicit Window(ExactLayout layout) : layout_(layout) {}

    // Adds the terms of whole vectors and, if `rest` is not 0, of one of so many, if they fit an anchor. Where it
    // becomes another, or the counts are full, take() is called first to take what there is.
    template <class Load, class Take>
    WR_HD bool add(std::size_t vectors, std::size_t rest, const Load &load, const Take &take) {
        if (passed_over_ > 0) {
            --passed_over_;
            return false;
        }
        if (blocks_ == most_window_blocks) {
            flush(take);
        }
        for (int attempt = 0; attempt < most_attempts; ++attempt) {
            Patterns largest{};
            const bool two = of_two_ > 0, by_few = takes_few<Load>(vectors) && !two && without_few_ == 0;
            const Outcome outcome = by_few ? try_block<1, Load::sums_vectors != 0>(vectors, rest, load, largest)
                                    : two  ? try_block<2, false>(vectors, rest, load, largest)
                                           : try_block<1, false>(vectors, rest, load, largest);
            if (outcome == Outcome::added) {
                of_two_ -= two ? 1 : 0;
                few_misses_ = by_few ? 0 : few_misses_;
                without_few_ -= without_few_ > 0 ? 1 : 0;
                ++blocks_;
                misses_ = 0;
                return true;
            }
            const std::int64_t needed = largest_lane(largest);
            if (outcome == Outcome::inexact) {
                few_misses_ = smaller(2 * few_misses_ + 1, most_passed_over);
                without_few_ = few_misses_;
            } else if (outcome == Outcome::too_large || needed + fall < limit_) {
                if (!choose_anchor(needed, take)) {
                    break;
                }
            } else if (two) {
                break;
            } else {
                of_two_ = blocks_of_two_anchors;
            }
        }
        misses_ = smaller(2 * misses_ + 1, most_passed_over);
        passed_over_ = misses_;
        return false;
    }

    template <class Take>
    WR_HD void flush(const Take &take) {
        if (blocks_ != 0) {
            take();
            forget();
        }
    }
    WR_HD void forget() {
        totals_[0] = totals_[1] = unlike_minus_zero_ = Patterns{};
        blocks_ = 0;
    }
    WR_HD bool is_empty() const { return blocks_ == 0; }

    // What was added in whole units of an anchor, which are 2^exponent(anchor), by these lanes together.
    WR_HD int exponent(int anchor) const { return anchor == 0 ? units_ : larger(units_ - window_bits, layout_.lowest); }
    WR_HD std::int64_t count(int anchor, std::size_t first, std::size_t lanes) const {
        std::int64_t sum = 0;
        for (std::size_t i = first; i < first + lanes; ++i) {
            sum += totals_[anchor][i];
        }
        return sum;
    }

    // Both as a multiple of 2^exponent(1).
    WR_HD TwoWords total(std::size_t first, std::size_t lanes) const {
        const std::int64_t above = count(0, first, lanes);
        const TwoWords counts{static_cast<std::uint64_t>(above >> 63), static_cast<std::uint64_t>(above)};
        return sum_of(shifted_left(counts, exponent(0) - exponent(1)), count(1, first, lanes));
    }
    WR_HD ExactMark mark_of(std::size_t first, std::size_t lanes) const {
        std::int64_t other = 0;
        for (std::size_t i = first; i < first + lanes; ++i) {
            other |= unlike_minus_zero_[i];
        }
        return other != 0 ? ExactMark::number : ExactMark::minus_zero;
    }

  private:
    enum class Outcome { added, too_large, inexact, left };

    // Another anchor, and another again where it is the first, two of them, and terms that are not added up before.
    static constexpr int most_attempts = 4;

    // An anchor that is so much too high for what leaves something is not the right one.
    static constexpr std::int64_t fall = std::int64_t{window_margin + 2} << 52;

    WR_HD static double anchor_of(int units) {
        return bit_cast<double>(std::int64_t{1023 + 52 + units} << 52 | std::int64_t{1} << 51);
    }
    WR_HD static std::int64_t largest_lane(Patterns largest) {
        std::int64_t result = 0;
        for (std::size_t i = 0; i < lanes_of<double>; ++i) {
            result = larger<std::int64_t>(result, largest[i]);
        }
        return result;
    }

    // For terms up to this magnitude, as a pattern.
    template <class Take>
    WR_HD bool choose_anchor(std::int64_t magnitude, const Take &take) {
        const auto exponent = static_cast<int>(magnitude >> 52) - 1023 + window_margin;
        if (exponent > 1023 - 52 + window_bits - window_margin) {
            return false;
        }
        flush(take);
        units_ = larger(exponent + 1 - window_bits, layout_.lowest);
        limit_ = (std::int64_t{1023 + units_ + window_bits} << 52) - 1;
        return true;
    }

    template <class Load>
    WR_HD static bool takes_few(std::size_t vectors) {
        return Load::sums_vectors != 0 && vectors >= 2 * Load::sums_vectors;
    }

    // `largest`: the terms' magnitudes, as patterns. by_few: those of sums of a few.
    template <int anchors, bool by_few, class Load>
    WR_HD Outcome try_block(std::size_t vectors, std::size_t rest, const Load &load, Patterns &largest) {
        const double places[2] = {anchor_of(exponent(0)), anchor_of(exponent(1))};
        Doubles sums[anchors][window_sums];
        for (int a = 0; a < anchors; ++a) {
            for (Doubles &sum : sums[a]) {
                sum = Doubles{} + places[a];
            }
        }
        Patterns left{}, other{};
        const auto take = [&](Doubles term, std::size_t turn) __attribute__((always_inline)) {
            for (int a = 0; a < anchors; ++a) {
                const Doubles next = sums[a][turn] + term;
                const Doubles taken = next - sums[a][turn];
                sums[a][turn] = next;
                if (a + 1 < anchors) {
                    term -= taken;
                } else {
                    left |= bit_cast<Patterns>(term) ^ bit_cast<Patterns>(taken);
                }
            }
        };
        const auto step = [&](Doubles term, std::size_t turn) __attribute__((always_inline)) {
            const auto bits = bit_cast<Patterns>(term);
            const Patterns magnitude = bits & all_but_the_sign;
            largest = magnitude > largest ? magnitude : largest;
            other |= bits ^ ~all_but_the_sign;
            take(term, turn);
        };
        std::size_t v = 0;
        if constexpr (by_few) {
            constexpr std::size_t at_once = Load::sums_vectors;
            FloatPatterns largest_sum{}, inexact{}, unlike{};
            const auto take_few = [&](const FewSums &few, std::size_t turn) __attribute__((always_inline)) {
                const FloatPatterns magnitude = bit_cast<FloatPatterns>(few.sums) & all_but_the_sign_of_f32;
                largest_sum = magnitude > largest_sum ? magnitude : largest_sum;
                inexact |= few.inexact;
                unlike |= few.unlike_minus_zero;
                take(widen_half<0>(few.sums), turn);
                take(widen_half<1>(few.sums), turn + 1);
            };
            for (; v + 2 * at_once <= vectors; v += 2 * at_once) {
                take_few(load.sums(v), 0);
                take_few(load.sums(v + at_once), 2);
            }
            for (; v + at_once <= vectors; v += at_once) {
                take_few(load.sums(v), 0);
            }
            const auto magnitudes = bit_cast<Floats>(largest_sum);
            const auto low = bit_cast<Patterns>(widen_half<0>(magnitudes));
            const auto high = bit_cast<Patterns>(widen_half<1>(magnitudes));
            largest = low > high ? low : high;
            if (!any_bit(largest > limit_) && any_bit(bit_cast<Patterns>(inexact & all_but_the_sign_of_f32))) {
                return Outcome::inexact;
            }
            other |= bit_cast<Patterns>(unlike);
        }
        for (; v + window_sums <= vectors; v += window_sums) {
            for (std::size_t turn = 0; turn < window_sums; ++turn) {
                step(load.whole(v + turn), turn);
            }
        }
        for (; v < vectors; ++v) {
            step(load.whole(v), 0);
        }
        if (rest != 0) {
            step(load.part(vectors, rest), 0);
        }
        if (any_bit(largest > limit_)) {
            return Outcome::too_large;
        }
        if (any_bit(left & all_but_the_sign)) {
            return Outcome::left;
        }
        unlike_minus_zero_ |= other;
        for (int a = 0; a < anchors; ++a) {
            for (const Doubles sum : sums[a]) {
                totals_[a] += bit_cast<Patterns>(sum) - bit_cast<std::int64_t>(places[a]);
            }
        }
        return Outcome::added;
    }

    ExactLayout layout_;
    std::int64_t limit_ = -1; // the largest magnitude that fits
    int units_ = 0;           // 2^units_ is the anchor's unit
    int blocks_ = 0;          // in the totals
    int of_two_ = 0;          // so many more are taken to need both anchors
    int misses_ = 0;          // how many were not tried after the last that did not fit
    int passed_over_ = 0;     // so many more are not tried
    int few_misses_ = 0;      // how many went term by term after the last of which a few had no exact sum
    int without_few_ = 0;     // so many more go term by term
    Patterns totals_[2] = {};
    Patterns unlike_minus_zero_ = {};
};

} // namespace
} // namespace wr::host::WR_ISA
