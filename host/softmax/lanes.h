// Softmax of several rows side by side, whatever their strides: each a lane of the vectors.
#pragma once

#include "host/reduce/reduce_kernels.h"
#include "host/softmax/arithmetic.h"
#include "host/softmax/lane_outputs.h"
#include "host/softmax/lane_tile.h"

namespace wr::host::WR_ISA {
namespace {

template <class Element>
struct LaneSoftmax : SoftmaxTypes<Element> {
    using typename SoftmaxTypes<Element>::Float;
    using typename SoftmaxTypes<Element>::Sum;
    using typename SoftmaxTypes<Element>::State;
    using typename SoftmaxTypes<Element>::Counter;

    using Block = LaneBlock<Float>;
    static constexpr std::size_t lanes = Block::lanes;

    struct Rows {
        StoredLogits<Element> logits;
        std::ptrdiff_t axis_stride, lane_stride;
        LaneOutputs outputs;
        std::size_t width, count;
        const std::uint8_t *mask;  // of all of the output; nullptr: none is left out
        bool selective;            // some elements may take no part
        std::size_t limits[lanes]; // how many leading elements of each row take part
        Float scale;

        bool takes_part(std::size_t at, std::size_t lane) const {
            return at < limits[lane] && (mask == nullptr || mask[outputs.index(at, lane)] != 0);
        }
    };

    template <class T>
    static void load_from(const T *first, const Rows &rows, std::size_t done, std::size_t count, Block &block) {
        for (std::size_t r = 0; r < count; ++r) {
            const T *x = first + static_cast<std::ptrdiff_t>(done + r) * rows.axis_stride;
            if (rows.lane_stride == 1 && rows.width == lanes) {
                load_logits(x, lanes, rows.scale, block.values[r]);
                continue;
            }
            for (std::size_t k = 0; k < rows.width; ++k) {
                const T logit = x[static_cast<std::ptrdiff_t>(k) * rows.lane_stride];
                block.values[r][k] = static_cast<Float>(widen(logit)) * rows.scale;
            }
            // A lane with no row of its own computes something harmless.
            for (std::size_t k = rows.width; k < lanes; ++k) {
                block.values[r][k] = Float(0);
            }
        }
    }

    static void load(const Rows &rows, std::size_t done, std::size_t count, Block &block) {
        rows.logits.read([&](const auto *first) { load_from(first, rows, done, count, block); });
    }

    static void leave_out(const Rows &rows, std::size_t done, std::size_t count, Block &block) {
        for (std::size_t r = 0; rows.selective && r < count; ++r) {
            for (std::size_t k = 0; k < rows.width; ++k) {
                if (!rows.takes_part(done + r, k)) {
                    block.values[r][k] = -std::numeric_limits<Float>::infinity();
                }
            }
        }
    }

    // The states of one block of each row. Leaves the exponentials in `block`.
    static void block_states(const Rows &rows, std::size_t done, Block &block, State *states) {
        const std::size_t count = block_length(rows.count, done);
        load(rows, done, count, block);
        leave_out(rows, done, count, block);
        find_maxima(count, block);
        exponentiate(count, block);
        Sum sums[lanes];
        reduce_columns<FloatSum<Sum>>(&block.values[0][0], lanes, lanes, count, Mapping{}, sums);
        for (std::size_t k = 0; k < lanes; ++k) {
            states[k] = {block.maxima[k], settle_block_sum(block.maxima[k], sums[k])};
        }
    }

    static void row_states(const Rows &rows, Block &block, State *states) {
        if (rows.count <= softmax_block && rows.count != 0) {
            block_states(rows, 0, block, states);
            return;
        }
        Counter counters[lanes];
        for (std::size_t done = 0; done < rows.count; done += softmax_block) {
            block_states(rows, done, block, states);
            for (std::size_t k = 0; k < lanes; ++k) {
                counters[k].push(states[k]);
            }
        }
        for (std::size_t k = 0; k < lanes; ++k) {
            states[k] = counters[k].result();
        }
    }

    static void state(const Rows &rows, State *states) {
        Block block;
        State all[lanes];
        row_states(rows, block, all);
        std::memcpy(states, all, rows.width * sizeof(State));
    }

    template <bool Both>
    static void finish_softmax(const State *whole, std::size_t count, Block &block) {
        BlockFactor<Float> factors[lanes];
        for (std::size_t k = 0; k < lanes; ++k) {
            factors[k] = block_factor(block.maxima[k], whole[k].maximum, whole[k].sum);
        }
        if (any_small_exponential(factors, Both, count, block)) {
            scale_small<Both>(factors, count, block);
        } else {
            scale<Both>(factors, count, block);
        }
    }

    // The block holds logits for log-softmax, exponentials and maxima for softmax.
    static void write_block(const SoftmaxJob &job, const Rows &rows, std::size_t done, const State *whole,
                            Block &block) {
        const std::size_t count = block_length(rows.count, done);
        RowFinish<Float> finish[lanes];
        for (std::size_t k = 0; k < lanes; ++k) {
            finish[k] = row_finish(job, whole[k]);
        }
        if (job.log) {
            finish_log(finish, count, block);
        } else if (takes_both_pieces(job.output_type)) {
            finish_softmax<true>(whole, count, block);
        } else {
            finish_softmax<false>(whole, count, block);
        }
        for (std::size_t k = 0; k < rows.width; ++k) {
            for (std::size_t r = 0; finish[k].kind != RowKind::ordinary && r < count; ++r) {
                const bool takes_part = !rows.selective || rows.takes_part(done + r, k);
                block.values[r][k] = takes_part ? finish[k].special : finish[k].left_out;
            }
        }
        store_lanes(job, rows.outputs, rows.width, done, count, block);
    }

    static void write(const SoftmaxJob &job, const Rows &rows, const State *states, Block &block) {
        State whole[lanes];
        for (std::size_t k = 0; k < lanes; ++k) {
            whole[k] = k < rows.width ? states[k] : State{Float(0), Sum(1)};
        }
        for (std::size_t done = 0; done < rows.count; done += softmax_block) {
            const std::size_t count = block_length(rows.count, done);
            load(rows, done, count, block);
            leave_out(rows, done, count, block);
            if (!job.log) {
                find_maxima(count, block);
                exponentiate(count, block);
            }
            write_block(job, rows, done, whole, block);
        }
    }

    static void write(const SoftmaxJob &job, const Rows &rows, const State *states) {
        Block block;
        write(job, rows, states, block);
    }

    static void softmax(const SoftmaxJob &job, const Rows &rows, State *states) {
        Block block;
        State all[lanes];
        row_states(rows, block, all);
        std::memcpy(states, all, rows.width * sizeof(State));
        if (job.output == nullptr || rows.count == 0) {
            return;
        }
        if (!job.log && rows.count <= softmax_block) {
            write_block(job, rows, 0, all, block);
        } else {
            write(job, rows, states, block);
        }
    }
};

} // namespace
} // namespace wr::host::WR_ISA
