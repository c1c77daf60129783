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

    using Tile = LaneTile<Float>;
    using Block = LaneBlock<Float>;
    static constexpr std::size_t lanes = Tile::lanes, most_lanes = Tile::most_lanes;

    // Of rows of several blocks, which wait for one another's sums.
    static constexpr std::size_t most_tall_lanes = lane_tile_bytes / sizeof(Float) / softmax_block;

    struct Rows {
        StoredLogits<Element> logits;
        std::ptrdiff_t axis_stride, lane_stride;
        LaneOutputs outputs;
        std::size_t width, count;
        const std::uint8_t *mask;       // of all of the output; nullptr: none is left out
        bool selective;                 // some elements may take no part
        std::size_t limits[most_lanes]; // how many leading elements of each row take part
        Float scale;
        bool own_scales; // each lane has one, and `scale` is 1
        Float scales[most_lanes];

        bool takes_part(std::size_t at, std::size_t lane) const {
            return at < limits[lane] && (mask == nullptr || mask[outputs.index(at, lane)] != 0);
        }
    };

    static std::size_t groups_of(const Rows &rows) { return divide_up(rows.width, lanes); }

    // Rows that lie one behind the other are widened as one run.
    template <class T>
    static void load_short_rows(const T *first, const Rows &rows, Tile &tile) {
        alignas(64) Float run[softmax_block];
        const std::size_t at_once = softmax_block / rows.count;
        for (std::size_t k = 0; k < rows.width; k += at_once) {
            const std::size_t some = smaller(at_once, rows.width - k);
            load_logits(first + k * rows.count, some * rows.count, rows.scale, run);
            for (std::size_t j = 0; j < some; ++j) {
                for (std::size_t r = 0; r < rows.count; ++r) {
                    tile.row(r)[k + j] = run[j * rows.count + r];
                }
            }
        }
    }

    template <class T>
    static void load_from(const T *first, const Rows &rows, std::size_t done, std::size_t count, Tile &tile) {
        tile.width = groups_of(rows) * lanes;
        const auto row_at = [&](std::size_t r) {
            return first + static_cast<std::ptrdiff_t>(done + r) * rows.axis_stride;
        };
        if (rows.axis_stride == 1 && count == rows.count && rows.lane_stride == static_cast<std::ptrdiff_t>(count)) {
            load_short_rows(first, rows, tile);
        } else if (rows.lane_stride == 1) {
            const RowsAhead ahead(rows.width * sizeof(T), rows.axis_stride * static_cast<std::ptrdiff_t>(sizeof(T)));
            for (std::size_t r = 0; r < count; ++r) {
                ahead.prefetch_row(row_at(r));
                load_logits(row_at(r), rows.width, rows.scale, tile.row(r));
            }
        } else {
            for (std::size_t r = 0; r < count; ++r) {
                for (std::size_t k = 0; k < rows.width; ++k) {
                    const T logit = row_at(r)[static_cast<std::ptrdiff_t>(k) * rows.lane_stride];
                    tile.row(r)[k] = static_cast<Float>(widen(logit)) * rows.scale;
                }
            }
        }
        // A lane with no row of its own computes something harmless.
        for (std::size_t r = 0; rows.width != tile.width && r < count; ++r) {
            for (std::size_t k = rows.width; k < tile.width; ++k) {
                tile.row(r)[k] = Float(0);
            }
        }
    }

    static void scale_lanes(const Rows &rows, std::size_t count, Tile &tile) {
        for (std::size_t r = 0; rows.own_scales && r < count; ++r) {
            for (std::size_t k = 0; k < rows.width; ++k) {
                tile.row(r)[k] = tile.row(r)[k] * rows.scales[k];
            }
        }
    }

    static void leave_out(const Rows &rows, std::size_t done, std::size_t count, Tile &tile) {
        for (std::size_t r = 0; rows.selective && r < count; ++r) {
            for (std::size_t k = 0; k < rows.width; ++k) {
                if (!rows.takes_part(done + r, k)) {
                    tile.row(r)[k] = -std::numeric_limits<Float>::infinity();
                }
            }
        }
    }

    static void load(const Rows &rows, std::size_t done, std::size_t count, Tile &tile) {
        rows.logits.read([&](const auto *first) { load_from(first, rows, done, count, tile); });
        scale_lanes(rows, count, tile);
        leave_out(rows, done, count, tile);
    }

    // The states of one block of each row. Leaves the exponentials in the tile, and their maxima.
    static void block_states(const Rows &rows, std::size_t done, Tile &tile, Float *maxima, State *states) {
        const std::size_t count = block_length(rows.count, done);
        load(rows, done, count, tile);
        for (std::size_t group = 0; group < groups_of(rows); ++group) {
            Block block(tile, group);
            find_maxima(count, block);
            exponentiate(count, block);
            Sum sums[lanes];
            constexpr std::size_t levels_bytes = (log2_of(softmax_block) + 3) * lanes * sizeof(Sum);
            reduce_columns<FloatSum<Sum>, levels_bytes>(block.row(0), static_cast<std::ptrdiff_t>(block.width), lanes,
                                                        count, Mapping{}, sums);
            for (std::size_t k = 0; k < lanes; ++k) {
                maxima[group * lanes + k] = block.maxima[k];
                states[group * lanes + k] = {block.maxima[k], settle_block_sum(block.maxima[k], sums[k])};
            }
        }
    }

    // `states` has room for the lanes of all groups.
    static void row_states(const Rows &rows, Tile &tile, Float *maxima, State *states) {
        if (rows.count <= softmax_block && rows.count != 0) {
            block_states(rows, 0, tile, maxima, states);
            return;
        }
        Counter counters[most_tall_lanes];
        for (std::size_t done = 0; done < rows.count; done += softmax_block) {
            block_states(rows, done, tile, maxima, states);
            for (std::size_t k = 0; k < rows.width; ++k) {
                counters[k].push(states[k]);
            }
        }
        for (std::size_t k = 0; k < rows.width; ++k) {
            states[k] = counters[k].result();
        }
    }

    static void state(const Rows &rows, State *states) {
        Tile tile;
        Float maxima[most_lanes];
        State all[most_lanes];
        row_states(rows, tile, maxima, all);
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
    static void finish_block(const SoftmaxJob &job, const Rows &rows, std::size_t done, std::size_t group,
                             const State *whole, Block &block) {
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
        for (std::size_t k = 0; k < smaller(lanes, rows.width - group * lanes); ++k) {
            for (std::size_t r = 0; finish[k].kind != RowKind::ordinary && r < count; ++r) {
                const bool takes_part = !rows.selective || rows.takes_part(done + r, group * lanes + k);
                block.row(r)[k] = takes_part ? finish[k].special : finish[k].left_out;
            }
        }
    }

    // maxima: of the exponentials that are in the tile; nullptr: it holds logits.
    static void write_tile(const SoftmaxJob &job, const Rows &rows, std::size_t done, const State *states,
                           const Float *maxima, Tile &tile) {
        const std::size_t count = block_length(rows.count, done);
        for (std::size_t group = 0; group < groups_of(rows); ++group) {
            Block block(tile, group);
            State whole[lanes];
            for (std::size_t k = 0; k < lanes; ++k) {
                const std::size_t lane = group * lanes + k;
                whole[k] = lane < rows.width ? states[lane] : State{Float(0), Sum(1)};
            }
            if (maxima != nullptr) {
                std::memcpy(block.maxima, maxima + group * lanes, sizeof block.maxima);
            } else if (!job.log) {
                find_maxima(count, block);
                exponentiate(count, block);
            }
            finish_block(job, rows, done, group, whole, block);
        }
        store_lanes(job, rows.outputs, rows.width, done, count, tile);
    }

    static void write(const SoftmaxJob &job, const Rows &rows, const State *states, Tile &tile) {
        for (std::size_t done = 0; done < rows.count; done += softmax_block) {
            load(rows, done, block_length(rows.count, done), tile);
            write_tile(job, rows, done, states, nullptr, tile);
        }
    }

    static void write(const SoftmaxJob &job, const Rows &rows, const State *states) {
        Tile tile;
        write(job, rows, states, tile);
    }

    static void softmax(const SoftmaxJob &job, const Rows &rows, State *states) {
        Tile tile;
        Float maxima[most_lanes];
        row_states(rows, tile, maxima, states);
        if (job.output == nullptr || rows.count == 0) {
            return;
        }
        if (!job.log && rows.count <= softmax_block) {
            write_tile(job, rows, 0, states, maxima, tile);
        } else {
            write(job, rows, states, tile);
        }
    }
};

} // namespace
} // namespace wr::host::WR_ISA
