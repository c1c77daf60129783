// Softmax of a row whose elements are contiguous, block by block: vectors lie along the row.
#pragma once

#include "host/common/store_runs.h"
#include "host/common/tree_runs.h"
#include "host/softmax/arithmetic.h"
#include "host/softmax/small_outputs.h"

namespace wr::host::WR_ISA {
namespace {

// A logit that the mask leaves out weighs nothing.
template <class Float>
void leave_out(const std::uint8_t *__restrict mask, std::size_t count, Float *__restrict logits) {
    for (std::size_t i = 0; i < count; ++i) {
        logits[i] = mask[i] != 0 ? logits[i] : -std::numeric_limits<Float>::infinity();
    }
}

// For combine_lanes. Any order gives the same maximum, but for the sign of a zero, on which nothing depends.
template <class Float>
struct LargerOrNan {
    using Accumulator = Float;
};
template <class Float>
struct CombineVectors<LargerOrNan<Float>> {
    using V = Register<Float>;
    WR_HD static V apply(V a, V b) { return ((a >= b) | (a != a)) ? a : b; }
};

template <class Float>
Float maximum_of(const Float *x, std::size_t count) {
    constexpr std::size_t lanes = lanes_of<Float>, chains = 4;
    using V = Register<Float>;
    const Float nothing = -std::numeric_limits<Float>::infinity();
    V largest[chains], nan = V{};
    for (V &each : largest) {
        each = V{} + nothing;
    }
    const std::size_t end = count - count % (chains * lanes);
    for (std::size_t i = 0; i < end; i += chains * lanes) {
        for (std::size_t j = 0; j < chains; ++j) {
            const V next = load_vector<V>(x + i + j * lanes);
            largest[j] = next > largest[j] ? next : largest[j];
            nan = next != next ? next : nan;
        }
    }
    using Larger = CombineVectors<LargerOrNan<Float>>;
    const V all = Larger::apply(Larger::apply(largest[0], largest[1]), Larger::apply(largest[2], largest[3]));
    Float maximum = combine_lanes<LargerOrNan<Float>>(nan != nan ? nan : all);
    for (std::size_t i = end; i < count; ++i) {
        maximum = larger_or_nan(maximum, x[i]);
    }
    return maximum;
}

template <class Float>
void exponentials_of(const Frame<Float> &frame, const Float *__restrict x, std::size_t count, Float *__restrict e) {
    for (std::size_t i = 0; i < count; ++i) {
        e[i] = exponential_in(frame, x[i]);
    }
}

// Rare, and as long as all the rest.
template <class Float>
__attribute__((noinline)) void scale_small_block(BlockFactor<Float> factor, bool both, std::size_t count, Float *e) {
    const SmallOutputs<Float> small = small_outputs(factor);
    if (both) {
        for (std::size_t i = 0; i < count; ++i) {
            e[i] = small.output(e[i]);
        }
    } else {
        for (std::size_t i = 0; i < count; ++i) {
            e[i] = small.narrow_output(e[i]);
        }
    }
}

template <class Float>
void scale_block(BlockFactor<Float> factor, bool both, std::size_t count, Float *e) {
    if (least_magnitude(count, e) < small_exponential_bound(factor, both)) {
        scale_small_block(factor, both, count, e);
    } else if (both) {
        for (std::size_t i = 0; i < count; ++i) {
            e[i] = softmax_output(e[i], factor);
        }
    } else {
        for (std::size_t i = 0; i < count; ++i) {
            e[i] = softmax_narrow_output(e[i], factor);
        }
    }
}

// Rows of up to so many blocks are read once: their exponentials wait for the row's total, in the output where its
// elements are as wide, or else in a buffer.
constexpr std::size_t blocks_in_output = 256;
constexpr std::size_t buffer_bytes = 64 * 1024;
template <class Float>
constexpr std::size_t blocks_in_buffer = buffer_bytes / sizeof(Float) / softmax_block;

template <class Element>
struct RowSoftmax : SoftmaxTypes<Element> {
    using typename SoftmaxTypes<Element>::Float;
    using typename SoftmaxTypes<Element>::Sum;
    using typename SoftmaxTypes<Element>::State;
    using typename SoftmaxTypes<Element>::Counter;

    struct Row {
        StoredLogits<Element> logits;
        std::size_t output;       // index of its first output
        std::size_t count;        // elements that take part, but for those that the mask leaves out
        std::size_t past;         // elements behind them, which are never read
        const std::uint8_t *mask; // of its first element; nullptr: none is left out
        Float scale;
    };

    static void load_block(const Row &row, std::size_t done, std::size_t count, Float *logits) {
        row.logits.read([&](const auto *x) { load_logits(x + done, count, row.scale, logits); });
        if (row.mask != nullptr) {
            leave_out(row.mask + done, count, logits);
        }
    }

    // The state of one block, and its exponentials. e and the row may be the same memory.
    static State block(const Row &row, std::size_t done, Float *e) {
        alignas(64) Float buffer[softmax_block];
        const std::size_t count = block_length(row.count, done);
        const Float *logits = buffer;
        if constexpr (std::is_same_v<Element, Float>) {
            const bool as_they_are = row.scale == Float(1) && row.mask == nullptr;
            const Float *const x = row.logits.elements() + done;
            logits = as_they_are && x != e ? x : buffer;
        }
        if (logits == buffer) {
            load_block(row, done, count, buffer);
        }
        const Float maximum = maximum_of(logits, count);
        exponentials_of(frame_of(maximum), logits, count, e);
        return {maximum, settle_block_sum(maximum, run_tree<FloatSum<Sum>>(e, count, Mapping{}))};
    }

    static State state(const Row &row) {
        alignas(64) Float e[softmax_block];
        if (row.count <= softmax_block && row.count != 0) {
            return block(row, 0, e);
        }
        Counter counter;
        for (std::size_t done = 0; done < row.count; done += softmax_block) {
            counter.push(block(row, done, e));
        }
        return counter.result();
    }

    static void write_special(const SoftmaxJob &job, const Row &row, const RowFinish<Float> &finish) {
        alignas(64) Float values[softmax_block];
        for (std::size_t done = 0; done < row.count; done += softmax_block) {
            const std::size_t count = block_length(row.count, done);
            for (std::size_t i = 0; i < count; ++i) {
                values[i] = row.mask == nullptr || row.mask[done + i] != 0 ? finish.special : finish.left_out;
            }
            store_run(values, count, job.output_type, job.output, row.output + done);
        }
    }

    static void write_past(const SoftmaxJob &job, const Row &row, Float left_out) {
        alignas(64) Float values[softmax_block];
        for (std::size_t i = 0; i < smaller(row.past, softmax_block); ++i) {
            values[i] = left_out;
        }
        for (std::size_t done = 0; done < row.past; done += softmax_block) {
            store_run(values, block_length(row.past, done), job.output_type, job.output, row.output + row.count + done);
        }
    }

    static void write_log(const SoftmaxJob &job, const Row &row, const LogPieces<Float> &pieces) {
        alignas(64) Float values[softmax_block];
        for (std::size_t done = 0; done < row.count; done += softmax_block) {
            const std::size_t count = block_length(row.count, done);
            load_block(row, done, count, values);
            for (std::size_t i = 0; i < count; ++i) {
                values[i] = log_softmax_output(values[i], pieces);
            }
            store_run(values, count, job.output_type, job.output, row.output + done);
        }
    }

    // e may be the output itself.
    static void write_block(const SoftmaxJob &job, const Row &row, std::size_t done, const State &whole,
                            Float block_maximum, Float *e) {
        const std::size_t count = block_length(row.count, done);
        scale_block(block_factor(block_maximum, whole.maximum, whole.sum), takes_both_pieces(job.output_type), count,
                    e);
        if (e != output_as_floats(job, row) + done) {
            store_run(e, count, job.output_type, job.output, row.output + done);
        }
    }

    static Float *output_as_floats(const SoftmaxJob &job, const Row &row) {
        return static_cast<Float *>(job.output) + row.output;
    }

    static void write(const SoftmaxJob &job, const Row &row, const State &whole) {
        const RowFinish<Float> finish = row_finish(job, whole);
        write_past(job, row, finish.left_out);
        if (finish.kind != RowKind::ordinary) {
            write_special(job, row, finish);
        } else if (job.log) {
            write_log(job, row, finish.pieces);
        } else {
            alignas(64) Float e[softmax_block];
            for (std::size_t done = 0; done < row.count; done += softmax_block) {
                write_block(job, row, done, whole, block(row, done, e).maximum, e);
            }
        }
    }

    // State and outputs of softmax with each exponential computed once; they wait in e.
    static State softmax_once(const SoftmaxJob &job, const Row &row, Float *e) {
        Float maxima[blocks_in_output];
        TreeCounter<StateMerge<Float, Sum>, log2_of(blocks_in_output) + 1> counter;
        for (std::size_t done = 0; done < row.count; done += softmax_block) {
            const State part = block(row, done, e + done);
            maxima[done / softmax_block] = part.maximum;
            counter.push(part);
        }
        const State whole = counter.result();
        const RowFinish<Float> finish = row_finish(job, whole);
        write_past(job, row, finish.left_out);
        if (finish.kind != RowKind::ordinary) {
            write_special(job, row, finish);
            return whole;
        }
        for (std::size_t done = 0; done < row.count; done += softmax_block) {
            write_block(job, row, done, whole, maxima[done / softmax_block], e + done);
        }
        return whole;
    }

    static State softmax_in_buffer(const SoftmaxJob &job, const Row &row) {
        alignas(64) Float e[buffer_bytes / sizeof(Float)];
        return softmax_once(job, row, e);
    }

    static State softmax(const SoftmaxJob &job, const Row &row) {
        if (job.output == nullptr) {
            return state(row);
        }
        const std::size_t blocks = divide_up(row.count, softmax_block);
        constexpr ElementType as_wide = sizeof(Float) == 4 ? ElementType::f32 : ElementType::f64;
        if (!job.log && job.output_type == as_wide && blocks <= blocks_in_output) {
            return softmax_once(job, row, output_as_floats(job, row));
        }
        if (!job.log && blocks <= blocks_in_buffer<Float>) {
            return softmax_in_buffer(job, row);
        }
        const State whole = state(row);
        write(job, row, whole);
        return whole;
    }
};

} // namespace
} // namespace wr::host::WR_ISA
