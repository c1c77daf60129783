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

    // The maxima of so many blocks are kept until the outputs are written.
    static constexpr std::size_t most_kept_blocks = 64;
    using BlockMaxima = Float[most_kept_blocks][most_tall_lanes];

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

    // Into the tile from row `first` on.
    template <class T>
    static void load_from(const T *x, const Rows &rows, std::size_t at, std::size_t count, Tile &tile,
                          std::size_t first) {
        const auto row_at = [&](std::size_t r) { return x + static_cast<std::ptrdiff_t>(at + r) * rows.axis_stride; };
        if (rows.axis_stride == 1 && count == rows.count && rows.lane_stride == static_cast<std::ptrdiff_t>(count)) {
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

    // Calls act(first, count) for the rows of a block that go through several steps together. Where rows are stored one
    // behind the other, all of them.
    template <class Do>
    static void for_near_rows(const Rows &rows, const Tile &tile, std::size_t count, const Do &act) {
        const std::size_t most = rows.outputs.lane_stride == 1 ? tile.near_rows() : softmax_block;
        for (std::size_t first = 0; first < count; first += most) {
            act(first, smaller(most, count - first));
        }
    }

    // The logits of some rows of the block that begins at element `done`.
    static void load_near(const Rows &rows, std::size_t done, std::size_t first, std::size_t count, Tile &tile) {
        rows.logits.read([&](const auto *x) { load_from(x, rows, done + first, count, tile, first); });
        scale_lanes(rows, count, tile, first);
        leave_out(rows, done + first, count, tile, first);
    }

    // The logits of a block, and their maxima.
    static void load(const Rows &rows, std::size_t done, Tile &tile, Float *maxima) {
        for (std::size_t k = 0; k < tile.width; ++k) {
            maxima[k] = -std::numeric_limits<Float>::infinity();
        }
        for_near_rows(rows, tile, block_length(rows.count, done), [&](std::size_t first, std::size_t count) {
            load_near(rows, done, first, count, tile);
            for (std::size_t group = 0; group < groups_of(rows); ++group) {
                raise_maxima(Block(tile, group, first, count), maxima + group * lanes);
            }
        });
    }

    static void exponentiate_near(const Rows &rows, const Float *maxima, std::size_t first, std::size_t count,
                                  Tile &tile) {
        for (std::size_t group = 0; group < groups_of(rows); ++group) {
            exponentiate(maxima + group * lanes, Block(tile, group, first, count));
        }
    }

    // The states of one block of each row. Leaves the exponentials in the tile, and their maxima.
    static void block_states(const Rows &rows, std::size_t done, Tile &tile, Float *maxima, State *states) {
        using Op = FloatSum<Sum>;
        load(rows, done, tile, maxima);
        alignas(64) Sum sums[most_lanes], levels[(log2_of(softmax_block / rows_at_once) + 1) * most_lanes];
        RowCounter<Op> counter(tile.width, levels);
        for_near_rows(rows, tile, block_length(rows.count, done), [&](std::size_t first, std::size_t count) {
            exponentiate_near(rows, maxima, first, count, tile);
            for (std::size_t r = 0; r < count; r += rows_at_once) {
                trees_of_few_rows<Op>(tile.row(first + r), static_cast<std::ptrdiff_t>(tile.width), tile.width,
                                      smaller(rows_at_once, count - r), Mapping{}, sums);
                counter.push(sums);
            }
        });
        counter.result(sums);
        for (std::size_t k = 0; k < tile.width; ++k) {
            states[k] = {maxima[k], settle_block_sum(maxima[k], sums[k])};
        }
    }

    // `states` has room for the lanes of all groups.
    static void tall_states(const Rows &rows, Tile &tile, BlockMaxima &maxima, State *states) {
        Counter counters[most_tall_lanes];
        for (std::size_t done = 0; done < rows.count; done += softmax_block) {
            block_states(rows, done, tile, maxima[done / softmax_block % most_kept_blocks], states);
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
        tile.width = groups_of(rows) * lanes;
        State all[most_lanes];
        if (is_one_block(rows)) {
            Float maxima[most_lanes];
            block_states(rows, 0, tile, maxima, all);
        } else {
            BlockMaxima maxima;
            tall_states(rows, tile, maxima, all);
        }
        std::memcpy(states, all, rows.width * sizeof(State));
    }

    using Bits = typename LiftedRange<Float>::Bits;

    // What turns the exponentials of a block, or its logits, into outputs.
    struct Finishing {
        RowFinish<Float> rows[most_lanes];
        BlockFactor<Float> factors[most_lanes];
        Bits bounds[most_lanes]; // of exponentials that are small
        bool any_special = false;
    };

    // maxima: of the block's exponentials; nullptr for log-softmax.
    static void prepare(const SoftmaxJob &job, const Rows &rows, const State *states, const Float *maxima,
                        Finishing &finishing) {
        for (std::size_t k = 0; k < groups_of(rows) * lanes; ++k) {
            const State whole = k < rows.width ? states[k] : State{Float(0), Sum(1)};
            finishing.rows[k] = row_finish(job, whole);
            finishing.any_special |= finishing.rows[k].kind != RowKind::ordinary;
            if (maxima != nullptr) {
                finishing.factors[k] = block_factor(maxima[k], whole.maximum, whole.sum);
                finishing.bounds[k] = small_exponential_bound(finishing.factors[k], takes_both_pieces(job.output_type));
            }
        }
    }

    template <bool Both>
    static void finish_softmax(const Finishing &finishing, std::size_t lane, const Block &block,
                               const LaneTarget<Float> &target) {
        if (any_small_exponential(finishing.bounds + lane, block)) {
            scale_small<Both>(finishing.factors + lane, block, target);
        } else {
            scale<Both>(finishing.factors + lane, block, target);
        }
    }

    static void write_special(const Rows &rows, const Finishing &finishing, std::size_t at, std::size_t count,
                              Tile &tile, std::size_t first) {
        for (std::size_t k = 0; k < rows.width; ++k) {
            const RowFinish<Float> &finish = finishing.rows[k];
            for (std::size_t r = 0; finish.kind != RowKind::ordinary && r < count; ++r) {
                const bool takes_part = !rows.selective || rows.takes_part(at + r, k);
                tile.row(first + r)[k] = takes_part ? finish.special : finish.left_out;
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

    // Rows of the tile hold logits for log-softmax, exponentials for softmax.
    static void write_near(const SoftmaxJob &job, const Rows &rows, const Finishing &finishing, std::size_t done,
                           std::size_t first, std::size_t count, Tile &tile) {
        const std::size_t stored = stored_at_once(job, rows, finishing);
        for (std::size_t k = 0; k < tile.width; k += lanes) {
            const Block block(tile, k / lanes, first, count);
            LaneTarget<Float> target(block.values, static_cast<std::ptrdiff_t>(tile.width), false);
            if (k < stored) {
                target = {static_cast<Float *>(job.output) + rows.outputs.index(done + first, k),
                          rows.outputs.axis_stride, job.past_caches};
            }
            if (job.log) {
                finish_log(finishing.rows + k, block, target);
            } else if (takes_both_pieces(job.output_type)) {
                finish_softmax<true>(finishing, k, block, target);
            } else {
                finish_softmax<false>(finishing, k, block, target);
            }
        }
        if (finishing.any_special) {
            write_special(rows, finishing, done + first, count, tile, first);
        }
        if (stored < rows.width) {
            store_lanes(job, rows.outputs, stored, rows.width, done + first, count, tile, first);
        }
    }

    // The tile holds the exponentials of the only block.
    static void write_exponentials(const SoftmaxJob &job, const Rows &rows, const State *states, const Float *maxima,
                                   Tile &tile) {
        Finishing finishing;
        prepare(job, rows, states, maxima, finishing);
        for_near_rows(rows, tile, rows.count, [&](std::size_t first, std::size_t count) {
            write_near(job, rows, finishing, 0, first, count, tile);
        });
    }

    // maxima: of the block; nullptr: they are not known, or not needed.
    static void write_block(const SoftmaxJob &job, const Rows &rows, const State *states, std::size_t done,
                            const Float *maxima, Tile &tile) {
        Finishing finishing;
        Float found[most_lanes];
        const bool is_loaded = !job.log && maxima == nullptr;
        if (is_loaded) {
            load(rows, done, tile, found);
            maxima = found;
        }
        prepare(job, rows, states, job.log ? nullptr : maxima, finishing);
        for_near_rows(rows, tile, block_length(rows.count, done), [&](std::size_t first, std::size_t count) {
            if (!is_loaded) {
                load_near(rows, done, first, count, tile);
            }
            if (!job.log) {
                exponentiate_near(rows, maxima, first, count, tile);
            }
            write_near(job, rows, finishing, done, first, count, tile);
        });
    }

    static void write(const SoftmaxJob &job, const Rows &rows, const State *states) {
        Tile tile;
        tile.width = groups_of(rows) * lanes;
        for (std::size_t done = 0; done < rows.count; done += softmax_block) {
            write_block(job, rows, states, done, nullptr, tile);
        }
    }

    static void softmax_of_one_block(const SoftmaxJob &job, const Rows &rows, State *states, Tile &tile) {
        Float maxima[most_lanes];
        block_states(rows, 0, tile, maxima, states);
        if (job.output == nullptr) {
            return;
        }
        if (job.log) {
            write_block(job, rows, states, 0, nullptr, tile);
        } else {
            write_exponentials(job, rows, states, maxima, tile);
        }
    }

    static void softmax(const SoftmaxJob &job, const Rows &rows, State *states) {
        Tile tile;
        tile.width = groups_of(rows) * lanes;
        if (is_one_block(rows)) {
            return softmax_of_one_block(job, rows, states, tile);
        }
        BlockMaxima maxima;
        tall_states(rows, tile, maxima, states);
        const bool are_kept = rows.count <= most_kept_blocks * softmax_block;
        for (std::size_t done = 0; job.output != nullptr && done < rows.count; done += softmax_block) {
            write_block(job, rows, states, done, are_kept ? maxima[done / softmax_block] : nullptr, tile);
        }
    }
};

} // namespace
} // namespace wr::host::WR_ISA
