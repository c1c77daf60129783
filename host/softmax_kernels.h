// Softmax of a strip of rows, block by block as numerics/softmax.h defines it.
#pragma once

#include "host/reduce_kernels.h"
#include "host/store_runs.h"
#include "numerics/softmax.h"
#include "numerics/softmax_rows.h"

namespace wr::host::WR_ISA {
namespace {

// Every row of a call is finished by one of these.
template <class Float>
struct RowFinish {
    RowKind kind;
    Float special;           // each output of a row that is not ordinary
    Float left_out;          // the output of an element that takes no part
    LogPieces<Float> pieces; // of logsumexp; for log-softmax of ordinary rows
};

template <class Element>
struct SoftmaxTypes {
    using Float = typename SoftmaxArithmetic<Element>::Float;
    using Sum = typename SoftmaxArithmetic<Element>::Sum;
    using State = RowState<Float, Sum>;
    using Counter = TreeCounter<StateMerge<Float, Sum>, 53>;
};

template <class Float, class Sum>
RowFinish<Float> row_finish(const SoftmaxJob &job, const RowState<Float, Sum> &row) {
    RowFinish<Float> finish{row_kind(row.maximum), Float(0), Float(0), {Float(0), Float(0)}};
    finish.left_out = left_out_output<Float>(finish.kind, job.log, job.empty_row_zero);
    if (finish.kind != RowKind::ordinary) {
        finish.special = special_output<Float>(finish.kind, job.log, job.empty_row_zero);
    } else if (job.log) {
        finish.pieces = row_logsumexp(row.maximum, row.sum);
    }
    return finish;
}

inline bool takes_both_pieces(ElementType output) { return output == ElementType::f32 || output == ElementType::f64; }

// Pieces start at multiples of it.
constexpr std::size_t block_length(std::size_t axis, std::size_t done) { return smaller(softmax_block, axis - done); }

// ---- A row whose elements are contiguous.

template <class Element, class Float>
void load_logits(const Element *x, std::size_t count, Float scale, Float *__restrict logits) {
    // Multiplying by 1 changes nothing but a signalling NaN's bit, and no output shows a NaN's bits.
    using Widen = FloatSum<Float>;
    const std::size_t vectors_end = count - count % lanes_of<Float>;
    for (std::size_t i = 0; i < vectors_end; i += lanes_of<Float>) {
        store_vector(logits + i, load_mapped<Widen>(x + i, Mapping{}) * scale);
    }
    for (std::size_t i = vectors_end; i < count; ++i) {
        logits[i] = Widen::map(x[i], Mapping{}) * scale;
    }
}

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

template <class Float>
void scale_block(const BlockFactor<Float> &factor, bool both, std::size_t count, Float *e) {
    if (both) {
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
        const Element *x;
        std::size_t output;       // index of its first output
        std::size_t count;        // elements that take part, but for those that the mask leaves out
        std::size_t past;         // elements behind them, which are never read
        const std::uint8_t *mask; // of its first element; nullptr: none is left out
        Float scale;
    };

    static void load_block(const Row &row, std::size_t done, std::size_t count, Float *logits) {
        load_logits(row.x + done, count, row.scale, logits);
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
            logits = as_they_are && row.x + done != e ? row.x + done : buffer;
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

// ---- Several rows side by side, whatever their strides: a lane of vectors each.

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

// ---- Strips.

template <class Element>
struct StripSoftmax : SoftmaxTypes<Element> {
    using typename SoftmaxTypes<Element>::Float;
    using typename SoftmaxTypes<Element>::Sum;
    using typename SoftmaxTypes<Element>::State;
    using typename SoftmaxTypes<Element>::Counter;
    using Row = RowSoftmax<Element>;
    using Lanes = LaneSoftmax<Element>;

    static std::ptrdiff_t input_offset(const SoftmaxJob &job, const Strip &strip, std::size_t first) {
        return static_cast<std::ptrdiff_t>(strip.outer) * job.shape.outer_stride +
               static_cast<std::ptrdiff_t>(first) * job.shape.axis_stride +
               static_cast<std::ptrdiff_t>(strip.inner) * job.shape.inner_stride;
    }

    static std::size_t output_offset(const SoftmaxJob &job, const Strip &strip, std::size_t first) {
        return static_cast<std::size_t>(static_cast<std::ptrdiff_t>(strip.outer) * job.output_outer_stride +
                                        static_cast<std::ptrdiff_t>(first) * job.output_axis_stride +
                                        static_cast<std::ptrdiff_t>(strip.inner) * job.output_inner_stride);
    }

    static std::size_t row_number(const SoftmaxJob &job, const Strip &strip, std::size_t k) {
        return strip.outer * job.shape.inner + strip.inner + k;
    }

    // How many of a piece's elements lie before the row's end or limit.
    static std::size_t elements_before(const SoftmaxJob &job, std::size_t row, std::size_t row_count, std::size_t first,
                                       std::size_t count) {
        const std::size_t outer = job.selection.causal ? row / job.rows_an_outer : 0;
        const std::size_t limit = leading_elements(job.selection, row, outer, row_count);
        return smaller(count, limit - smaller(limit, first));
    }

    static typename Row::Row row_at(const SoftmaxJob &job, const Element *x, std::size_t output, std::size_t taken,
                                    std::size_t count) {
        const std::uint8_t *mask = job.selection.mask == nullptr ? nullptr : job.selection.mask + output;
        return {x, output, taken, count - taken, mask, static_cast<Float>(job.scale)};
    }

    static typename Row::Row row_of(const SoftmaxJob &job, Strip strip, std::size_t k, std::size_t first,
                                    std::size_t count) {
        const std::size_t row = row_number(job, strip, k);
        strip.inner += k;
        return row_at(job, static_cast<const Element *>(job.input) + input_offset(job, strip, first),
                      output_offset(job, strip, first), elements_before(job, row, job.shape.axis, first, count), count);
    }

    static typename Row::Row ragged_row_of(const SoftmaxJob &job, std::size_t row) {
        const RowSpan span = ragged_row(job.selection, job.shape.inner, job.shape.axis, row);
        return row_at(job, static_cast<const Element *>(job.input) + span.first, span.first,
                      elements_before(job, row, span.count, 0, span.count), span.count);
    }

    static typename Lanes::Rows rows_of(const SoftmaxJob &job, const Strip &strip, std::size_t first,
                                        std::size_t count) {
        const Selection &selection = job.selection;
        typename Lanes::Rows rows{static_cast<const Element *>(job.input) + input_offset(job, strip, first),
                                  job.shape.axis_stride,
                                  job.shape.inner_stride,
                                  output_offset(job, strip, first),
                                  job.output_axis_stride,
                                  job.output_inner_stride,
                                  strip.width,
                                  count,
                                  selection.mask,
                                  selection.mask != nullptr || selection.lengths != nullptr || selection.causal,
                                  {},
                                  static_cast<Float>(job.scale)};
        for (std::size_t k = 0; rows.selective && k < strip.width; ++k) {
            rows.limits[k] = elements_before(job, row_number(job, strip, k), job.shape.axis, first, count);
        }
        return rows;
    }

    static void store_sums(const SoftmaxJob &job, const Strip &strip, const State *states) {
        for (std::size_t k = 0; k < strip.width; ++k) {
            const std::size_t row = row_number(job, strip, k);
            if (job.logsumexp != nullptr) {
                store_float(logsumexp_of(states[k].maximum, states[k].sum), job.logsumexp_type, job.logsumexp, row);
            }
            if (job.maximum != nullptr) {
                store_maximum(states[k].maximum, job.maximum, row);
            }
        }
    }

    static void softmax_strip(const SoftmaxJob &job, const Strip &strip) {
        State states[Lanes::lanes];
        if (job.access == Access::rows) {
            for (std::size_t k = 0; k < strip.width; ++k) {
                states[k] = Row::softmax(job, job.selection.ragged ? ragged_row_of(job, strip.inner + k)
                                                                   : row_of(job, strip, k, 0, job.shape.axis));
            }
        } else {
            Lanes::softmax(job, rows_of(job, strip, 0, job.shape.axis), states);
        }
        store_sums(job, strip, states);
    }

    static void softmax(const SoftmaxJob &job, std::size_t first, std::size_t last) {
        for (std::size_t index = first; index < last; ++index) {
            softmax_strip(job, strip_at(job, index));
        }
    }

    static void piece(const SoftmaxJob &job, std::size_t index, std::size_t first, std::size_t count, void *states) {
        const Strip strip = strip_at(job, index);
        auto *results = static_cast<State *>(states);
        if (job.access == Access::rows) {
            for (std::size_t k = 0; k < strip.width; ++k) {
                results[k] = Row::state(row_of(job, strip, k, first, count));
            }
        } else {
            Lanes::state(rows_of(job, strip, first, count), results);
        }
    }

    static void merge(const SoftmaxJob &job, std::size_t index, std::size_t pieces, void *states) {
        const Strip strip = strip_at(job, index);
        auto *all = static_cast<State *>(states);
        for (std::size_t k = 0; k < strip.width; ++k) {
            Counter counter;
            for (std::size_t p = 0; p < pieces; ++p) {
                counter.push(all[p * job.strips.width + k]);
            }
            all[k] = counter.result();
        }
        store_sums(job, strip, all);
    }

    static void write(const SoftmaxJob &job, std::size_t index, std::size_t first, std::size_t count,
                      const void *states) {
        const Strip strip = strip_at(job, index);
        const auto *whole = static_cast<const State *>(states);
        if (job.access == Access::rows) {
            for (std::size_t k = 0; k < strip.width; ++k) {
                Row::write(job, row_of(job, strip, k, first, count), whole[k]);
            }
        } else {
            Lanes::write(job, rows_of(job, strip, first, count), whole);
        }
    }
};

template <class Element>
constexpr SoftmaxKernel softmax_kernel{sizeof(typename SoftmaxTypes<Element>::State),
                                       LaneSoftmax<Element>::lanes,
                                       StripSoftmax<Element>::softmax,
                                       StripSoftmax<Element>::piece,
                                       StripSoftmax<Element>::merge,
                                       StripSoftmax<Element>::write};

} // namespace
} // namespace wr::host::WR_ISA
