// Softmax of several rows side by side, whatever their strides: each a lane of the vectors.
#pragma once

#include "host/reduce/reduce_kernels.h"
#include "host/softmax/arithmetic.h"
#include "host/softmax/lane_outputs.h"
#include "host/softmax/lane_tile.h"
#include "host/softmax/row_totals.h"
#include "host/softmax/short_rows.h"

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

    // The maxima of so many blocks are kept until the outputs are written.
    static constexpr std::size_t most_kept_blocks = 64;
    using BlockMaxima = Float[most_kept_blocks][most_lanes];

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
        ShortRows<Float> run;
        run.length = rows.count;
        for (std::size_t k = 0; k < rows.width; k += run.at_once()) {
            const std::size_t some = smaller(run.at_once(), rows.width - k);
            load_logits(first + k * rows.count, some * rows.count, rows.scale, run.elements);
            run.to_columns(some, tile.width, tile.row(0) + k);
        }
    }

    // Into the tile from row `first` on.
    template <class T>
    static void load_from(const T *x, const Rows &rows, std::size_t at, std::size_t count, Tile &tile,
                          std::size_t first) {
        const auto row_at = [&](std::size_t r) { return x + static_cast<std::ptrdiff_t>(at + r) * rows.axis_stride; };
        const bool are_one_run = rows.axis_stride == 1 && rows.lane_stride == static_cast<std::ptrdiff_t>(rows.count);
        if (are_one_run && count == rows.count && count < shortest_lone_row) {
            load_short_rows(x, rows, tile);
        } else if (rows.lane_stride == 1) {
            const RowsAhead ahead(rows.width * sizeof(T), rows.axis_stride * static_cast<std::ptrdiff_t>(sizeof(T)));
            for (std::size_t r = 0; r < count; ++r) {
                ahead.prefetch_row(row_at(r));
                load_logits(row_at(r), rows.width, rows.scale, tile.row(first + r));
            }
        } else {
            for (std::size_t r = 0; r < count; ++r) {
                for (std::size_t k = 0; k < rows.width; ++k) {
                    const T logit = row_at(r)[static_cast<std::ptrdiff_t>(k) * rows.lane_stride];
                    tile.row(first + r)[k] = static_cast<Float>(widen(logit)) * rows.scale;
                }
            }
        }
        // A lane with no row of its own computes something harmless.
        for (std::size_t r = 0; rows.width != tile.width && r < count; ++r) {
            for (std::size_t k = rows.width; k < tile.width; ++k) {
                tile.row(first + r)[k] = Float(0);
            }
        }
    }

    static void scale_lanes(const Rows &rows, std::size_t count, Tile &tile, std::size_t first) {
        for (std::size_t r = 0; rows.own_scales && r < count; ++r) {
            Float *x = tile.row(first + r);
            for (std::size_t k = 0; k < rows.width; ++k) {
                x[k] = x[k] * rows.scales[k];
            }
        }
    }

    static void leave_out(const Rows &rows, std::size_t at, std::size_t count, Tile &tile, std::size_t first) {
        for (std::size_t r = 0; rows.selective && r < count; ++r) {
            for (std::size_t k = 0; k < rows.width; ++k) {
                if (!rows.takes_part(at + r, k)) {
                    tile.row(first + r)[k] = -std::numeric_limits<Float>::infinity();
                }
            }
        }
    }

    // Whether the tile has room for a block. Otherwise some near rows at a time begin with the tile.
    static bool keeps_block(const Rows &rows, const Tile &tile) {
        return smaller(rows.count, softmax_block) * tile.width <= Tile::most_elements;
    }

    // Calls act(first, count, place) for the rows of a block that go through several steps together, which the tile has
    // from row `place` on. Where rows are stored one behind the other, all of them.
    template <class Do>
    static void for_near_rows(const Rows &rows, const Tile &tile, std::size_t count, const Do &act) {
        const bool kept = keeps_block(rows, tile);
        const std::size_t most = rows.outputs.lane_stride == 1 ? tile.near_rows() : softmax_block;
        for (std::size_t first = 0; first < count; first += most) {
            act(first, smaller(most, count - first), kept ? first : 0);
        }
    }

    // The logits of some rows, from element `at` on, into the tile from row `place` on.
    static void load_near(const Rows &rows, std::size_t at, std::size_t count, Tile &tile, std::size_t place) {
        rows.logits.read([&](const auto *x) { load_from(x, rows, at, count, tile, place); });
        scale_lanes(rows, count, tile, place);
        leave_out(rows, at, count, tile, place);
    }

    // The logits of a block, and their maxima.
    static void load(const Rows &rows, std::size_t done, Tile &tile, Float *maxima) {
        for (std::size_t k = 0; k < tile.width; ++k) {
            maxima[k] = -std::numeric_limits<Float>::infinity();
        }
        for_near_rows(rows, tile, block_length(rows.count, done),
                      [&](std::size_t first, std::size_t count, std::size_t place) {
                          load_near(rows, done + first, count, tile, place);
                          for (std::size_t group = 0; group < groups_of(rows); ++group) {
                              raise_maxima(Block(tile, group, place, count), maxima + group * lanes);
                          }
                      });
    }

    static void exponentiate_near(const Rows &rows, const Float *maxima, std::size_t count, Tile &tile,
                                  std::size_t place) {
        for (std::size_t group = 0; group < groups_of(rows); ++group) {
            exponentiate(maxima + group * lanes, Block(tile, group, place, count));
        }
    }

    // The states of one block of each row. Leaves the exponentials in a tile that keeps them, and their maxima.
    static void block_states(const Rows &rows, std::size_t done, Tile &tile, Float *maxima, State *states) {
        using Op = FloatSum<Sum>;
        load(rows, done, tile, maxima);
        alignas(64) Sum sums[most_lanes], levels[(log2_of(softmax_block / rows_at_once) + 1) * most_lanes];
        RowCounter<Op> counter(tile.width, levels);
        const bool kept = keeps_block(rows, tile);
        for_near_rows(rows, tile, block_length(rows.count, done),
                      [&](std::size_t first, std::size_t count, std::size_t place) {
                          if (!kept) {
                              load_near(rows, done + first, count, tile, place);
                          }
                          exponentiate_near(rows, maxima, count, tile, place);
                          for (std::size_t r = 0; r < count; r += rows_at_once) {
                              trees_of_few_rows<Op>(tile.row(place + r), static_cast<std::ptrdiff_t>(tile.width),
                                                    tile.width, smaller(rows_at_once, count - r), Mapping{}, sums);
                              counter.push(sums);
                          }
                      });
        counter.result(sums);
        settle_block_sums(maxima, tile.width, sums);
        for (std::size_t k = 0; k < tile.width; ++k) {
            states[k] = {maxima[k], sums[k]};
        }
    }

    // `states` has room for the lanes of all groups.
    static void tall_states(const Rows &rows, Tile &tile, BlockMaxima &maxima, State *states) {
        State levels[block_levels * most_lanes];
        RowCounter<StateMerge<Float, Sum>> counter(tile.width, levels);
        for (std::size_t k = 0; k < tile.width; ++k) {
            states[k] = StateMerge<Float, Sum>::identity();
        }
        for (std::size_t done = 0; done < rows.count; done += softmax_block) {
            block_states(rows, done, tile, maxima[done / softmax_block % most_kept_blocks], states);
            counter.push(states);
        }
        counter.result(states);
    }

    // Rows of one block are without the memory that several take.
    __attribute__((noinline)) static void state_of_tall(const Rows &rows, Tile &tile, State *states) {
        BlockMaxima maxima;
        tall_states(rows, tile, maxima, states);
    }

    static void state(const Rows &rows, State *states) {
        Tile tile;
        tile.width = groups_of(rows) * lanes;
        State all[most_lanes];
        if (is_one_block(rows)) {
            Float maxima[most_lanes];
            block_states(rows, 0, tile, maxima, all);
        } else {
            state_of_tall(rows, tile, all);
        }
        std::memcpy(states, all, rows.width * sizeof(State));
    }

    using Bits = typename LiftedRange<Float>::Bits;

    // What turns the exponentials of a block, or its logits, into outputs.
    struct Finishing {
        RowTotals<Float, Sum, most_lanes> rows;
        Float high[most_lanes], low[most_lanes]; // the block's factors in pieces, or logsumexps
        Bits bounds[most_lanes];                 // of exponentials that are small
        bool any_special;
    };

    // maxima: of the block's exponentials; nullptr for log-softmax.
    static void prepare(const SoftmaxJob &job, const Rows &rows, const State *states, const Float *maxima,
                        Finishing &finishing) {
        const std::size_t count = groups_of(rows) * lanes;
        finishing.rows.take(states, rows.width);
        finishing.rows.fill(rows.width, count);
        finishing.any_special = finishing.rows.any_special(count);
        if (maxima == nullptr) {
            return finishing.rows.logsumexps(count, finishing.high, finishing.low);
        }
        finishing.rows.factors(maxima, count, finishing.high, finishing.low);
        const bool both = takes_both_pieces(job.output_type);
        for (std::size_t k = 0; k < count; ++k) {
            const BlockFactor<Float> factor{finishing.high[k], finishing.low[k]};
            finishing.bounds[k] = small_exponential_bound(factor, both);
        }
    }

    template <bool Both>
    static void finish_softmax(const Finishing &finishing, std::size_t lane, const Block &block,
                               const LaneTarget<Float> &target) {
        if (any_small_exponential(finishing.bounds + lane, block)) {
            scale_small<Both>(finishing.high + lane, finishing.low + lane, block, target);
        } else {
            scale<Both>(finishing.high + lane, finishing.low + lane, block, target);
        }
    }

    static void write_special(const SoftmaxJob &job, const Rows &rows, const Finishing &finishing, std::size_t at,
                              std::size_t count, Tile &tile, std::size_t first) {
        for (std::size_t k = 0; k < rows.width; ++k) {
            const RowKind kind = row_kind(finishing.rows.maxima[k]);
            if (kind == RowKind::ordinary) {
                continue;
            }
            const Float special = special_output<Float>(kind, job.log, job.empty_row_zero);
            const Float left_out = left_out_output<Float>(kind, job.log, job.empty_row_zero);
            for (std::size_t r = 0; r < count; ++r) {
                const bool takes_part = !rows.selective || rows.takes_part(at + r, k);
                tile.row(first + r)[k] = takes_part ? special : left_out;
            }
        }
    }

    static bool is_one_block(const Rows &rows) { return rows.count <= softmax_block && rows.count != 0; }

    // How many of the rows are stored straight from the arithmetic: whole groups of neighbours, of which none is NaN.
    static std::size_t stored_at_once(const SoftmaxJob &job, const Rows &rows, const Finishing &finishing) {
        constexpr ElementType own = sizeof(Float) == 4 ? ElementType::f32 : ElementType::f64;
        const bool are_stored = rows.outputs.lane_stride == 1 && job.output_type == own && !finishing.any_special;
        return are_stored ? rows.width - rows.width % lanes : 0;
    }

    // Rows of the tile from row `place` on hold logits for log-softmax, exponentials for softmax.
    static void write_near(const SoftmaxJob &job, const Rows &rows, const Finishing &finishing, std::size_t at,
                           std::size_t count, Tile &tile, std::size_t place) {
        const std::size_t stored = stored_at_once(job, rows, finishing);
        for (std::size_t k = 0; k < tile.width; k += lanes) {
            const Block block(tile, k / lanes, place, count);
            LaneTarget<Float> target(block.values, static_cast<std::ptrdiff_t>(tile.width), false);
            if (k < stored) {
                target = {static_cast<Float *>(job.output) + rows.outputs.index(at, k), rows.outputs.axis_stride,
                          job.past_caches};
            }
            if (job.log) {
                finish_log(finishing.high + k, finishing.low + k, block, target);
            } else if (takes_both_pieces(job.output_type)) {
                finish_softmax<true>(finishing, k, block, target);
            } else {
                finish_softmax<false>(finishing, k, block, target);
            }
        }
        if (finishing.any_special) {
            write_special(job, rows, finishing, at, count, tile, place);
        }
        if (stored < rows.width) {
            store_lanes(job, rows.outputs, stored, rows.width, at, count, tile, place);
        }
    }

    // The tile holds the exponentials of the only block.
    static void write_exponentials(const SoftmaxJob &job, const Rows &rows, const State *states, const Float *maxima,
                                   Tile &tile) {
        Finishing finishing;
        prepare(job, rows, states, maxima, finishing);
        for_near_rows(rows, tile, rows.count, [&](std::size_t first, std::size_t count, std::size_t place) {
            write_near(job, rows, finishing, first, count, tile, place);
        });
    }

    // maxima: of the block; nullptr: they are not known, or not needed.
    static void write_block(const SoftmaxJob &job, const Rows &rows, const State *states, std::size_t done,
                            const Float *maxima, Tile &tile) {
        Finishing finishing;
        Float found[most_lanes];
        const bool is_loaded = !job.log && maxima == nullptr && keeps_block(rows, tile);
        if (!job.log && maxima == nullptr) {
            load(rows, done, tile, found);
            maxima = found;
        }
        prepare(job, rows, states, job.log ? nullptr : maxima, finishing);
        for_near_rows(rows, tile, block_length(rows.count, done),
                      [&](std::size_t first, std::size_t count, std::size_t place) {
                          if (!is_loaded) {
                              load_near(rows, done + first, count, tile, place);
                          }
                          if (!job.log) {
                              exponentiate_near(rows, maxima, count, tile, place);
                          }
                          write_near(job, rows, finishing, done + first, count, tile, place);
                      });
    }

    // The outputs of a piece, given the states of the whole rows and, where they are known, of the piece.
    static void write(const SoftmaxJob &job, const Rows &rows, const State *whole, const State *states) {
        Tile tile;
        tile.width = groups_of(rows) * lanes;
        Float maxima[most_lanes] = {};
        const bool are_known = states != nullptr && is_one_block(rows);
        for (std::size_t k = 0; are_known && k < rows.width; ++k) {
            maxima[k] = states[k].maximum;
        }
        for (std::size_t done = 0; done < rows.count; done += softmax_block) {
            write_block(job, rows, whole, done, are_known ? maxima : nullptr, tile);
        }
    }

    static void softmax_of_one_block(const SoftmaxJob &job, const Rows &rows, State *states, Tile &tile) {
        Float maxima[most_lanes];
        block_states(rows, 0, tile, maxima, states);
        if (job.output == nullptr) {
            return;
        }
        if (job.log || !keeps_block(rows, tile)) {
            write_block(job, rows, states, 0, job.log ? nullptr : maxima, tile);
        } else {
            write_exponentials(job, rows, states, maxima, tile);
        }
    }

    __attribute__((noinline)) static void softmax_of_tall(const SoftmaxJob &job, const Rows &rows, State *states,
                                                          Tile &tile) {
        BlockMaxima maxima;
        tall_states(rows, tile, maxima, states);
        const bool are_kept = rows.count <= most_kept_blocks * softmax_block;
        for (std::size_t done = 0; job.output != nullptr && done < rows.count; done += softmax_block) {
            write_block(job, rows, states, done, are_kept ? maxima[done / softmax_block] : nullptr, tile);
        }
    }

    static void softmax(const SoftmaxJob &job, const Rows &rows, State *states) {
        Tile tile;
        tile.width = groups_of(rows) * lanes;
        if (is_one_block(rows)) {
            softmax_of_one_block(job, rows, states, tile);
        } else {
            softmax_of_tall(job, rows, states, tile);
        }
    }
};

} // namespace
} // namespace wr::host::WR_ISA
