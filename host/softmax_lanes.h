// Softmax of several rows side by side, whatever their strides: each a lane of the vectors.
#pragma once

#include "host/reduce_kernels.h"
#include "host/softmax_arithmetic.h"
#include "host/store_runs.h"

namespace wr::host::WR_ISA {
namespace {

template <class Element>
struct LaneSoftmax : SoftmaxTypes<Element> {
    using typename SoftmaxTypes<Element>::Float;
    using typename SoftmaxTypes<Element>::Sum;
    using typename SoftmaxTypes<Element>::State;
    using typename SoftmaxTypes<Element>::Counter;

    static constexpr std::size_t lanes = 64 / sizeof(Float);

    struct Rows {
        const Element *x;
        std::ptrdiff_t axis_stride, lane_stride;
        std::size_t output; // index of the first row's first output
        std::ptrdiff_t output_axis_stride, output_lane_stride;
        std::size_t width, count;
        const std::uint8_t *mask;  // of all of the output; nullptr: none is left out
        bool selective;            // some elements may take no part
        std::size_t limits[lanes]; // how many leading elements of each row take part
        Float scale;

        bool takes_part(std::size_t at, std::size_t lane) const {
            const auto place = static_cast<std::ptrdiff_t>(output) +
                               static_cast<std::ptrdiff_t>(at) * output_axis_stride +
                               static_cast<std::ptrdiff_t>(lane) * output_lane_stride;
            return at < limits[lane] && (mask == nullptr || mask[place] != 0);
        }
    };

    struct Block {
        alignas(64) Float values[softmax_block][lanes];
        Float maxima[lanes];
    };

    static void load(const Rows &rows, std::size_t done, std::size_t count, Block &block) {
        for (std::size_t r = 0; r < count; ++r) {
            const Element *x = rows.x + static_cast<std::ptrdiff_t>(done + r) * rows.axis_stride;
            if (rows.lane_stride == 1 && rows.width == lanes) {
                load_logits(x, lanes, rows.scale, block.values[r]);
                continue;
            }
            for (std::size_t k = 0; k < rows.width; ++k) {
                const Element logit = x[static_cast<std::ptrdiff_t>(k) * rows.lane_stride];
                block.values[r][k] = static_cast<Float>(widen(logit)) * rows.scale;
            }
            // A lane with no row of its own computes something harmless.
            for (std::size_t k = rows.width; k < lanes; ++k) {
                block.values[r][k] = Float(0);
            }
        }
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

    static void find_maxima(std::size_t count, Block &block) {
        for (Float &each : block.maxima) {
            each = -std::numeric_limits<Float>::infinity();
        }
        for (std::size_t r = 0; r < count; ++r) {
            for (std::size_t k = 0; k < lanes; ++k) {
                block.maxima[k] = larger_or_nan(block.maxima[k], block.values[r][k]);
            }
        }
    }

    static void exponentiate(std::size_t count, Block &block) {
        Float magic[lanes], shift[lanes], lowest[lanes];
        for (std::size_t k = 0; k < lanes; ++k) {
            const Frame<Float> frame = frame_of(block.maxima[k]);
            magic[k] = frame.magic_less_n;
            shift[k] = frame.shift;
            lowest[k] = frame.lowest;
        }
        for (std::size_t r = 0; r < count; ++r) {
            for (std::size_t k = 0; k < lanes; ++k) {
                block.values[r][k] = exponential_in(Frame<Float>{magic[k], shift[k], lowest[k]}, block.values[r][k]);
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

    static void store(const SoftmaxJob &job, const Rows &rows, std::size_t done, std::size_t count,
                      const Block &block) {
        const auto output = static_cast<std::ptrdiff_t>(rows.output);
        const auto first = static_cast<std::ptrdiff_t>(done);
        if (rows.output_lane_stride == 1) {
            for (std::size_t r = 0; r < count; ++r) {
                const auto index = output + (first + static_cast<std::ptrdiff_t>(r)) * rows.output_axis_stride;
                store_run(block.values[r], rows.width, job.output_type, job.output, static_cast<std::size_t>(index));
            }
            return;
        }
        for (std::size_t k = 0; k < rows.width; ++k) {
            alignas(64) Float row[softmax_block];
            for (std::size_t r = 0; r < count; ++r) {
                row[r] = block.values[r][k];
            }
            const auto index = output + first + static_cast<std::ptrdiff_t>(k) * rows.output_lane_stride;
            store_run(row, count, job.output_type, job.output, static_cast<std::size_t>(index));
        }
    }

    static void finish_log(const RowFinish<Float> *finish, std::size_t count, Block &block) {
        Float high[lanes], low[lanes];
        for (std::size_t k = 0; k < lanes; ++k) {
            high[k] = finish[k].pieces.high;
            low[k] = finish[k].pieces.low;
        }
        for (std::size_t r = 0; r < count; ++r) {
            for (std::size_t k = 0; k < lanes; ++k) {
                block.values[r][k] = log_softmax_output(block.values[r][k], LogPieces<Float>{high[k], low[k]});
            }
        }
    }

    static void finish_softmax(const SoftmaxJob &job, const State *whole, std::size_t count, Block &block) {
        Float high[lanes], low[lanes];
        for (std::size_t k = 0; k < lanes; ++k) {
            const BlockFactor<Float> factor = block_factor(block.maxima[k], whole[k].maximum, whole[k].sum);
            high[k] = factor.high;
            low[k] = factor.low;
        }
        const bool both = takes_both_pieces(job.output_type);
        for (std::size_t r = 0; r < count; ++r) {
            for (std::size_t k = 0; k < lanes; ++k) {
                const BlockFactor<Float> factor{high[k], low[k]};
                const Float e = block.values[r][k];
                block.values[r][k] = both ? softmax_output(e, factor) : softmax_narrow_output(e, factor);
            }
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
        } else {
            finish_softmax(job, whole, count, block);
        }
        for (std::size_t k = 0; k < rows.width; ++k) {
            for (std::size_t r = 0; finish[k].kind != RowKind::ordinary && r < count; ++r) {
                const bool takes_part = !rows.selective || rows.takes_part(done + r, k);
                block.values[r][k] = takes_part ? finish[k].special : finish[k].left_out;
            }
        }
        store(job, rows, done, count, block);
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
        if (job.output == nullptr) {
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
