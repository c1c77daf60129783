// Which tiles of columns a multiprocessor takes that shares them with all others.
#pragma once

#include "cuda/common/vectors.h"
#include "cuda/device/barriers.cuh"
#include "cuda/device/warp_tree.cuh"
#include "cuda/rowwise/published_states.cuh"
#include "cuda/softmax/columns.h"
#include "cuda/softmax/sub_warp/vectors.cuh"

namespace wr::cuda {

// The warps of a block, and how many tiles wait: in shared memory, and before that in registers.
template <int Warps, int Deferred, int Held>
struct LookbackColumnsShape {
    static constexpr int warps = Warps, rows = 64 / Warps; // that take a tile; of a thread, one vector wide
    static constexpr int publisher = warps, merger = warps + 1, framer = warps + 2, fetcher = warps + 3;
    static constexpr int all_warps = warps + 4, takers = warps * warp_lanes;
    static constexpr int deferred = Deferred, held = Held, waiting = Deferred + Held;
    static constexpr int vectors = static_cast<int>(shared_panel_columns) / 4; // of f32, side by side
    // Turns that are drawn ahead of the one whose sums are published: as much earlier the cache is asked for them, and
    // with one more the last tiles of a panel wait for what is not wanted yet (H200, 32768 rows 2.6 TB/s for 3.6).
    static constexpr unsigned drawn_ahead = 3;
    // The first tiles, which are dealt out instead.
    __device__ __forceinline__ static std::uint32_t dealt() { return drawn_ahead * gridDim.x; }
    // Turns of which something is kept in shared memory.
    static constexpr unsigned kept = 16;
    static_assert(waiting + drawn_ahead + 2 <= kept && takers / vectors * rows == shared_tile_rows);
    static constexpr std::size_t tile_bytes = std::size_t{shared_tile_rows} * shared_panel_columns * sizeof(float);

    __device__ __forceinline__ static unsigned kept_at(unsigned turn) { return turn % kept; }
    __device__ __forceinline__ static unsigned parity_of(unsigned turn) { return turn / kept & 1u; }
};

// A tile: its panel among all, where that begins, its first row.
struct alignas(16) LookbackColumnPlace {
    std::uint32_t panel, outer, inner, row;

    static constexpr std::uint32_t no_panel = ~std::uint32_t{0}, end = no_panel - 1;
    __device__ __forceinline__ bool exists() const { return panel < end; }
    __device__ __forceinline__ bool is_end() const { return panel == end; } // there is no turn behind it
};

// How many tiles are drawn, as blocks tell each other in one word, and, where all columns from one panel on are given
// up, that panel: then nobody draws a tile of it, for whoever set it and whoever draws change the same word. 0: none.
struct LookbackColumnTickets {
    std::uint32_t drawn, end;

    __device__ __forceinline__ static LookbackColumnTickets of(std::uint64_t word) {
        return {static_cast<std::uint32_t>(word + 1), static_cast<std::uint32_t>((word + 1) >> 32)};
    }
    __device__ __forceinline__ std::uint64_t word() const { return (std::uint64_t{end} << 32 | drawn) - 1; }

    __device__ __forceinline__ static LookbackColumnTickets look(const std::uint64_t *word) {
        return of(look_at_word(word));
    }
    __device__ __forceinline__ static LookbackColumnTickets draw(std::uint64_t *word) {
        return of(atomicAdd(reinterpret_cast<unsigned long long *>(word), 1ull));
    }
    __device__ __forceinline__ bool give_up(std::uint64_t *word, std::uint32_t from) const {
        const unsigned long long before = this->word(), after = LookbackColumnTickets{drawn, from}.word();
        return atomicCAS(reinterpret_cast<unsigned long long *>(word), before, after) == before;
    }
};

// Each block draws the next tile that nobody has (scheduler.cuh says why). By one thread.
template <class Shape>
class LookbackColumnDraws {
  public:
    __device__ __forceinline__ explicit LookbackColumnDraws(const LookbackColumnsArguments &arguments) : a(arguments) {}

    // The first turns are dealt out, for a start.
    __device__ __forceinline__ LookbackColumnPlace next(unsigned turn) {
        const std::uint32_t ticket = turn < Shape::drawn_ahead ? turn * gridDim.x + blockIdx.x : next_ticket();
        LookbackColumnPlace place{LookbackColumnPlace::no_panel, 0, 0, 0};
        std::uint32_t behind = behind_[Shape::waiting];
        if (ticket != no_ticket) {
            const std::uint32_t panel = ticket / a.down, outer = panel / a.across;
            place = {panel, outer, (panel - outer * a.across) * shared_panel_columns,
                     (ticket - panel * a.down) * shared_tile_rows};
            behind = panel + 1;
            if (panel >= end()) {
                place.panel = LookbackColumnPlace::end;
            }
        }
#pragma unroll
        for (int i = 0; i < Shape::waiting; ++i) {
            behind_[i] = behind_[i + 1];
        }
        behind_[Shape::waiting] = behind;
        return place;
    }

    // The first panel that nobody takes, once a turn is the end.
    __device__ __forceinline__ std::uint32_t end() const { return end_ == 0 ? a.panels : smaller(a.panels, end_); }

  private:
    static constexpr std::uint32_t no_ticket = ~std::uint32_t{0};

    // None, which leaves the turn empty, where it might be of a panel whose sums the block has to wait for before it
    // comes to take that turn. Some block goes on to draw: if all waited, each would have drawn waiting + 1 turns of
    // the panel, and it has no more tiles than these (launch_lookback_columns sees to that).
    __device__ __forceinline__ std::uint32_t next_ticket() {
        const std::uint32_t waited_for = behind_[0] * a.down, dealt = Shape::dealt();
        if (dealt + seen_ < waited_for) {
            seen_ = LookbackColumnTickets::look(a.drawn).drawn;
            if (dealt + seen_ < waited_for) {
                return no_ticket;
            }
        }
        const LookbackColumnTickets before = LookbackColumnTickets::draw(a.drawn);
        seen_ = before.drawn + 1;
        end_ = before.end;
        return dealt + before.drawn;
    }

    const LookbackColumnsArguments &a;
    std::uint32_t seen_ = 0; // at least so many tickets are drawn
    std::uint32_t end_ = 0;  // of the panels that are not given up, where some are
    // The panels behind those of the last turns, the oldest first; of an empty one that of the turn before.
    std::uint32_t behind_[Shape::waiting + 1] = {};
};

// The exponentials of columns that all multiprocessors share, before any of their maxima is known.
//
// Tiles have no frames of their own here: a panel's columns have frames N about the largest of a few of their
// logits, in which the exponentials have the bits that they have in their tiles' frames but for a power of two,
// as long as
//   - n - N (n = rint(x log2 e)) is within [lowest_power, highest_power], so that no exponential leaves the normal
//     range here, or is 0 in the frame of its tile (whose maximum is less than 86 above it), or
//   - x is so far below (n - N under negligible_power) that it is 0 in its tile or, with all of that, in its
//     column, and
//   - each tile's sum is at least least_sum, or all of it is negligible: then the factor of its outputs
//     is more than 2^-92 (2^17 elements at most), whose pieces have all their bits, or 0.
// Columns that are otherwise (spread further, NaN, +infinity, nothing but -infinity) are left to the kernels that read
// them twice, with some beside them.

// What the definition above says, as rounded sums of x log2 e and the frame's rounding constant.
struct LookbackColumnBounds {
    static constexpr int lowest_power = -85, highest_power = 35, negligible_power = -210;
    static constexpr float magic = ExponentialConstants<float>::magic;
    static constexpr float lowest = magic + lowest_power, highest = magic + highest_power;
    static constexpr float negligible = magic + negligible_power;
    static constexpr double least_sum = 0x1p-26;
};

template <int Rows>
class LookbackColumnExponentials {
    using Bounds = LookbackColumnBounds;

  public:
    static constexpr int each = vector_elements<float>, rows = Rows; // of a thread

    // What stands for the sum of a thread's elements where columns have to be left to other kernels for one of them.
    static constexpr double special_sum = std::numeric_limits<double>::infinity();

    // The rounding constant less N, for a frame about this logit.
    __device__ __forceinline__ static float frame_about(float logit) {
        return Bounds::magic - (is_ordinary(logit) ? static_cast<float>(nearest_exponent(logit)) : 0.0f);
    }

    // Whether the sum of a tile allows for outputs by these exponentials.
    __device__ __forceinline__ static bool is_usual(double sum) {
        return (sum >= Bounds::least_sum && sum < special_sum) || sum == 0;
    }

    // Normal: there is no zero among them.
    template <bool Normal>
    __device__ __forceinline__ static void add_up(const float (&e)[each][rows], double (&sums)[each]) {
#pragma unroll
        for (int c = 0; c < each; ++c) {
            sums[c] = run_sum<rows, double, Normal>(e[c]);
        }
    }

    // Whether all of them are as in their tiles, and whether zeros may be among them.
    struct Formed {
        bool usual, zeros;
    };
    __device__ __forceinline__ static Formed form_exponentials(int left, const float4 &frames,
                                                               const uint4 (&logits)[rows], float (&e)[each][rows]) {
        const float frame[each] = {frames.x, frames.y, frames.z, frames.w};
        float lowest = Bounds::magic, highest = Bounds::magic;
#pragma unroll
        for (int c = 0; c < each; ++c) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                const float x = element_of(logits[i], c, float());
                lowest = fminf(lowest, rounded(x, frame[c]));
                highest = larger_with_nan(highest, rounded(x, frame[c]));
                e[c][i] = scaled_exponential(x, frame[c]);
            }
        }
        Formed recomputed{highest <= Bounds::highest, left < rows};
        if (!(lowest >= Bounds::lowest)) {
            recomputed.usual = leave_out_negligible(frame, logits, e) && recomputed.usual;
            recomputed.zeros = true;
        }
        if (left < rows) {
#pragma unroll
            for (int c = 0; c < each; ++c) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    e[c][i] = i < left ? e[c][i] : 0.0f;
                }
            }
        }
        return recomputed;
    }

  private:
    __device__ __forceinline__ static float rounded(float x, float frame) {
        return fused(x, ExponentialConstants<float>::log2e_high, frame);
    }
    __device__ __forceinline__ static bool leave_out_negligible(const float (&frame)[each], const uint4 (&logits)[rows],
                                                                float (&e)[each][rows]) {
        bool usual = true;
#pragma unroll
        for (int c = 0; c < each; ++c) {
#pragma unroll
            for (int i = 0; i < rows; ++i) {
                const float at = rounded(element_of(logits[i], c, float()), frame[c]);
                usual = usual && (at >= Bounds::lowest || at < Bounds::negligible);
                e[c][i] = at < Bounds::negligible ? 0.0f : e[c][i];
            }
        }
        return usual;
    }
};

// What multiprocessors that share columns tell each other through memory: what each column of a tile sums to, and the
// factor of its outputs, once one warp of some block has put the column together.

// Two words as they were last seen.
struct SeenWords {
    std::uint64_t words[2];

    __device__ __forceinline__ void look(const std::uint64_t *from) { look_at_words(from, words); }
    __device__ __forceinline__ bool are_there() const { return words[0] != absent_word && words[1] != absent_word; }
};

template <class Shape>
class LookbackColumnSums {
    static constexpr int each = vector_elements<float>, pair = 2; // columns of a vector, of a lane
    static constexpr unsigned panel_columns = shared_panel_columns;
    using Exponentials = LookbackColumnExponentials<Shape::rows>;

  public:
    // `end`, in shared memory: the first panel that nobody takes, once the publisher knows of one.
    __device__ __forceinline__ LookbackColumnSums(const LookbackColumnsArguments &arguments, std::uint32_t &end)
        : a(arguments), s(arguments.softmax), end_(end) {}

    // By the publisher, where its block has drawn all that it will.
    __device__ __forceinline__ void tell_end(std::uint32_t panel) const { atomicMin(&end_, panel); }

    // By the publisher: what its warps leave of two columns a lane, of a tile that begins at this row.
    __device__ __forceinline__ void publish(std::uint32_t panel, std::uint32_t row, double (&first)[Shape::warps],
                                            double (&second)[Shape::warps]) const {
        const std::size_t tile = std::size_t{panel % a.ring} * a.down + row / shared_tile_rows;
        publish_words(a.sums + tile * panel_columns + pair * lane_index(), signed_word(panel, first),
                      signed_word(panel, second));
    }

    // Until the panel whose sums are in the place of this one's is put together. A publisher has published all that its
    // block drew before this panel, so that blocks do not wait for each other in a ring.
    __device__ __forceinline__ void wait_for_room(std::uint32_t panel) const {
        if (panel < a.ring) {
            return;
        }
        const std::uint32_t before = panel - a.ring;
        factors_of(before, before % a.across * panel_columns, pair * static_cast<unsigned>(lane_index()));
    }

    // Of the vectors of columns that fall to this block, what each column comes to as a whole.
    __device__ __forceinline__ void merge_all() const {
        const Merge how(a.down);
        const std::uint32_t jobs = a.panels * how.panel_jobs;
#pragma unroll 1
        for (std::uint32_t job = blockIdx.x; job < jobs; job += gridDim.x) {
            const std::uint32_t panel = job / how.panel_jobs;
            // Else its place may hold the sums of two rounds before, whose sign is the same.
            if (!wait_for_room_or_end(panel)) {
                return;
            }
            merge(how, panel, how.column(job - panel * how.panel_jobs));
        }
    }

    // The factors of two columns of a panel, once those of all lanes are there; zeros where there are no such columns.
    __device__ __forceinline__ SeenWords factors_of(std::uint32_t panel, std::uint32_t inner, unsigned column) const {
        const std::uint64_t *const words = a.factors + std::size_t{panel} * panel_columns + column;
        SeenWords factors{};
        for (;;) {
            if (inner + column < s.inner) {
                factors.look(words);
            }
            if (__all_sync(whole_warp, factors.are_there()) != 0) {
                return factors;
            }
            rest_before_looking_again();
        }
    }
    // A factor's pieces.
    __device__ __forceinline__ static float high_of(std::uint64_t word) {
        return __uint_as_float(static_cast<unsigned>(word >> 32));
    }
    __device__ __forceinline__ static float low_of(std::uint64_t word) {
        return __uint_as_float(static_cast<unsigned>(word));
    }

  private:
    // No sum is negative: the sign tells the sums of a panel from those that were in their place before.
    static constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    __device__ __forceinline__ std::uint64_t sign_of(std::uint32_t panel) const {
        return panel / a.ring % 2 != 0 ? sign : 0;
    }
    __device__ __forceinline__ std::uint64_t signed_word(std::uint32_t panel, double (&sums)[Shape::warps]) const {
        const double sum = tree_of_elements<FloatSum<double>>(sums);
        return (static_cast<std::uint64_t>(__double_as_longlong(sum)) & ~sign) | sign_of(panel);
    }

    // How a warp puts columns together: two lanes share a vector, and as many pairs of lanes, up to sixteen, as a
    // column has tiles are below each other. Where that leaves lanes, further vectors are beside them.
    struct Merge {
        int lanes; // of a vector, a power of two
        std::uint32_t panel_jobs;

        __device__ __forceinline__ explicit Merge(std::uint32_t down) : lanes(pair) {
            while (lanes < warp_lanes && static_cast<unsigned>(lanes / pair) * tiles_of_base < down) {
                lanes *= 2;
            }
            panel_jobs = static_cast<unsigned>(Shape::vectors * lanes / warp_lanes);
        }
        // Of this lane, of a panel's, in a job of it.
        __device__ __forceinline__ std::uint32_t column(std::uint32_t job) const {
            const auto lane = static_cast<unsigned>(lane_index());
            const unsigned vector =
                job * static_cast<unsigned>(warp_lanes / lanes) + lane / static_cast<unsigned>(lanes);
            return vector * each + lane % 2 * pair;
        }
        __device__ __forceinline__ std::uint32_t base() const {
            return static_cast<unsigned>(lane_index() % lanes) / 2;
        }
        __device__ __forceinline__ double over_tiles(double sum) const {
#pragma unroll
            for (int distance = pair; distance < warp_lanes; distance *= 2) {
                if (distance < lanes) {
                    sum = sum + from_lane_xor(sum, distance);
                }
            }
            return sum;
        }
    };

    static constexpr std::uint32_t tiles_of_base = static_cast<std::uint32_t>(softmax_block) / shared_tile_rows;
    static constexpr std::uint32_t round_tiles = tiles_of_base * warp_lanes / pair;
    using ColumnSum = TreeCounter<FloatSum<double>, 4>;
    static_assert(lookback_columns_most_axis / shared_tile_rows <= round_tiles << 3);

    __device__ __forceinline__ void merge(const Merge &how, std::uint32_t panel, std::uint32_t column) const {
        const std::uint64_t *const words = a.sums + std::size_t{panel % a.ring} * a.down * panel_columns + column;
        const bool exists = panel % a.across * panel_columns + column < s.inner;
        ColumnSum first, second;
        bool usual = true;
#pragma unroll 1
        for (std::uint32_t tile = 0; tile < a.down; tile += round_tiles) {
            double sums[pair][tiles_of_base];
            usual = wait_for_sums(panel, words, tile + how.base() * tiles_of_base, exists ? a.down : 0, sums) && usual;
            const double one = tree_of_elements<FloatSum<double>>(sums[0]);
            const double other = tree_of_elements<FloatSum<double>>(sums[1]);
            usual = usual && Exponentials::is_usual(one) && Exponentials::is_usual(other);
            first.push(how.over_tiles(one));
            second.push(how.over_tiles(other));
        }
        const double one = first.result(), other = second.result();
        usual = usual && one != 0 && other != 0;
        usual = __all_sync(whole_warp, usual || !exists) != 0;
        if (exists && how.base() == 0) {
            publish_words(a.factors + std::size_t{panel} * panel_columns + column, factor_word(usual, one),
                          factor_word(usual, other));
        }
        if (!usual && lane_index() == 0) {
            leave(a, (panel + std::uint64_t{1}) * how.panel_jobs);
        }
    }
    // Of so many jobs once more one leaves its columns to the kernels behind. Where as much as a quarter of all have
    // done so, the columns that nobody has begun are given up: those kernels take no longer for all of them.
    __device__ __noinline__ static void leave(const LookbackColumnsArguments &a, std::uint64_t jobs) {
        constexpr std::uint64_t part = 4;
        const std::uint64_t times = atomicAdd(reinterpret_cast<unsigned long long *>(a.left), 1ull) + 2;
        if (times * part < jobs) {
            return;
        }
        for (;;) {
            const LookbackColumnTickets tickets = LookbackColumnTickets::look(a.drawn);
            const std::uint32_t last = Shape::dealt() + tickets.drawn - 1;
            if (tickets.end != 0 || tickets.give_up(a.drawn, last / a.down + 1)) {
                return;
            }
        }
    }
    // By the merger, for a panel that it waits for.
    __device__ __forceinline__ bool is_given_up(std::uint32_t panel) const { return panel >= atomicAdd(&end_, 0u); }
    // As wait_for_room, by the merger, for a panel that nobody may ever take: then false.
    __device__ __forceinline__ bool wait_for_room_or_end(std::uint32_t panel) const {
        if (panel < a.ring) {
            return true;
        }
        while (!look_at_factors(panel - a.ring)) {
            if (__any_sync(whole_warp, is_given_up(panel)) != 0) {
                return false;
            }
            rest_before_looking_again();
        }
        return true;
    }
    // Whether all of a panel's factors are there.
    __device__ __forceinline__ bool look_at_factors(std::uint32_t panel) const {
        const unsigned column = pair * static_cast<unsigned>(lane_index());
        SeenWords factors{};
        if (panel % a.across * panel_columns + column < s.inner) {
            factors.look(a.factors + std::size_t{panel} * panel_columns + column);
        }
        return __all_sync(whole_warp, factors.are_there()) != 0;
    }
    // False, and any sums, where the panel is given up.
    __device__ __forceinline__ bool wait_for_sums(std::uint32_t panel, const std::uint64_t *words, std::uint32_t tile,
                                                  std::uint32_t end, double (&sums)[pair][tiles_of_base]) const {
        const std::uint64_t expected = sign_of(panel);
        bool given_up = false;
        SeenWords seen[tiles_of_base];
        const auto is_there = [&](const SeenWords &one) {
            return one.are_there() && ((one.words[0] ^ expected) & sign) == 0 &&
                   ((one.words[1] ^ expected) & sign) == 0;
        };
#pragma unroll
        for (std::uint32_t i = 0; i < tiles_of_base; ++i) {
            const std::uint64_t word = tile + i < end ? absent_word : expected;
            seen[i] = {{word, word}};
        }
        for (;;) {
#pragma unroll
            for (std::uint32_t i = 0; i < tiles_of_base; ++i) {
                if (!is_there(seen[i])) {
                    seen[i].look(words + std::size_t{tile + i} * panel_columns);
                }
            }
            bool all = true;
#pragma unroll
            for (const SeenWords &one : seen) {
                all = all && is_there(one);
            }
            given_up = is_given_up(panel);
            if (__all_sync(whole_warp, all || given_up) != 0) {
                break;
            }
            rest_before_looking_again();
        }
#pragma unroll
        for (std::uint32_t i = 0; i < tiles_of_base; ++i) {
#pragma unroll
            for (int c = 0; c < pair; ++c) {
                sums[c][i] = __longlong_as_double(static_cast<long long>(seen[i].words[c] & ~sign));
            }
        }
        return !given_up;
    }
    __device__ __forceinline__ static std::uint64_t factor_word(bool usual, double sum) {
        BlockFactor<float> factor{std::numeric_limits<float>::quiet_NaN(), 0.0f};
        if (usual) {
            factor = factor_in_pieces(1.0, sum, float());
        }
        return std::uint64_t{__float_as_uint(factor.high)} << 32 | __float_as_uint(factor.low);
    }

    const LookbackColumnsArguments &a;
    const SoftmaxArguments &s;
    std::uint32_t &end_;
};

} // namespace wr::cuda
