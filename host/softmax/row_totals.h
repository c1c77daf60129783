// The totals of rows side by side, and what follows from them for each: logarithms and factors by vectors, which rows
// without large maxima and special values have without a branch.
#pragma once

#include "host/softmax/arithmetic.h"

namespace wr::host::WR_ISA {
namespace {

template <class Float>
bool are_all_ordinary(const Float *maxima, std::size_t count) {
    int all = 1;
    for (std::size_t k = 0; k < count; ++k) {
        all &= static_cast<int>(is_ordinary(maxima[k]));
    }
    return all != 0;
}

// Sums of blocks as they enter their rows' totals.
template <class Float, class Sum>
void settle_block_sums(const Float *maxima, std::size_t count, Sum *sums) {
    if (!are_all_ordinary(maxima, count)) {
        for (std::size_t k = 0; k < count; ++k) {
            sums[k] = settle_block_sum(maxima[k], sums[k]);
        }
    }
}

template <class Float, class Sum, std::size_t most>
struct RowTotals {
    alignas(64) Float maxima[most];
    alignas(64) Sum sums[most];

    // Never nothing.
    void take(const RowState<Float, Sum> *states, std::size_t count) {
        std::size_t k = 0;
        do {
            maxima[k] = states[k].maximum;
            sums[k] = states[k].sum;
        } while (++k < count);
    }

    // Something harmless for lanes without a row.
    void fill(std::size_t first, std::size_t end) {
        for (std::size_t k = first; k < end; ++k) {
            maxima[k] = Float(0);
            sums[k] = Sum(1);
        }
    }

    bool any_special(std::size_t count) const {
        int any = 0;
        for (std::size_t k = 0; k < count; ++k) {
            any |= static_cast<int>(row_kind(maxima[k]) != RowKind::ordinary);
        }
        return any != 0;
    }

    // In two pieces. Of a special row what logsumexp_of says.
    void logsumexps(std::size_t count, Float *__restrict high, Float *__restrict low) const {
        for (std::size_t k = 0; k < count; ++k) {
            LogPieces<Float> pieces{maxima[k], Float(0)};
            if (is_ordinary(maxima[k])) {
                pieces = row_logsumexp(maxima[k], sums[k]);
            }
            high[k] = pieces.high;
            low[k] = pieces.low;
        }
        const bool all = are_all_ordinary(maxima, count);
        for (std::size_t k = 0; !all && k < count; ++k) {
            if (is_large(maxima[k])) {
                const LogPieces<Float> pieces = row_logsumexp(maxima[k], sums[k]);
                high[k] = pieces.high;
                low[k] = pieces.low;
            }
        }
    }

    // Of a block with these maxima, in two pieces.
    void factors(const Float *__restrict block_maxima, std::size_t count, Float *__restrict high,
                 Float *__restrict low) const {
        for (std::size_t k = 0; k < count; ++k) {
            BlockFactor<Float> factor{Float(0), Float(0)};
            if (is_ordinary(maxima[k]) && is_ordinary(block_maxima[k])) {
                factor = block_factor(block_maxima[k], maxima[k], sums[k]);
            }
            high[k] = factor.high;
            low[k] = factor.low;
        }
        const bool all = are_all_ordinary(maxima, count) && are_all_ordinary(block_maxima, count);
        for (std::size_t k = 0; !all && k < count; ++k) {
            const BlockFactor<Float> factor = block_factor(block_maxima[k], maxima[k], sums[k]);
            high[k] = factor.high;
            low[k] = factor.low;
        }
    }
};

} // namespace
} // namespace wr::host::WR_ISA
