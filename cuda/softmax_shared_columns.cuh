// Columns too tall for a cluster, by all multiprocessors together: a block stays on each, and they go through memory a
// tile of 128 rows of 64 columns a turn. What each column of a tile sums to is published; one warp of some block puts a
// strip's columns together for all; the exponentials wait some turns until that is there, so that each element is read
// once.
//
// Base blocks have no frames of their own here: a strip's columns have frames N about the largest of a few of their
// logits, in which the exponentials have the bits that they have in their base blocks' frames but for a power of two,
// as long as
//   - n - N (n = rint(x log2 e)) is within [lowest_power, highest_power], so that no exponential leaves the normal
//     range here, or is 0 in the frame of its base block (whose maximum is less than 86 above it), or
//   - x is so far below (n - N under negligible_power) that it is 0 in its base block or, with all of that, in its
//     column, and
//   - each base block's sum is at least 2^least_sum_power, or all of it is negligible: then the factor of its outputs
//     is more than 2^-92 (2^17 elements at most), whose pieces have all their bits, or 0.
// Columns that are otherwise (spread further, NaN, +infinity, nothing but -infinity) are left to the kernels that read
// them twice, with some beside them.
#pragma once

#include "cuda/softmax_column_words.cuh"
#include "cuda/softmax_shared_column_turns.cuh"
#include "cuda/tall_runs.cuh"

namespace wr::cuda {

// What the definition above says, as rounded sums of x log2 e and the frame's rounding constant.
struct SharedColumnBounds {
    static constexpr int lowest_power = -85, highest_power = 35, negligible_power = -210, least_sum_power = -26;
    static constexpr float magic = ExponentialConstants<float>::magic;
    static constexpr float lowest = magic + lowest_power, highest = magic + highest_power;
    static constexpr float negligible = magic + negligible_power;
    static constexpr double least_sum = 0x1p-26;
};

// Two words as they were last seen.
struct SeenWords {
    std::uint64_t words[2];

    __device__ __forceinline__ void look(const std::uint64_t *from) {
        asm volatile("ld.relaxed.gpu.global.v2.u64 {%0, %1}, [%2];"
                     : "=l"(words[0]), "=l"(words[1])
                     : "l"(from)
                     : "memory");
    }
    __device__ __forceinline__ bool are_there() const { return words[0] != absent_word && words[1] != absent_word; }
};

__device__ __forceinline__ void publish_words(std::uint64_t *to, std::uint64_t first, std::uint64_t second) {
    asm volatile("st.relaxed.gpu.global.v2.u64 [%0], {%1, %2};" ::"l"(to), "l"(first), "l"(second) : "memory");
}

// Whoever asks again and again is in the way of all memory traffic.
__device__ __forceinline__ void rest_before_looking_again() { __nanosleep(40); }

template <class Shape>
class SharedColumns {
    static constexpr int rows = Shape::rows, each = vector_elements<float>, pair = 2;
    static constexpr unsigned strip_columns = shared_strip_columns;
    using Bounds = SharedColumnBounds;
    using Place = SharedColumnPlace;

  public:
    struct Shared {
        ArrivalBarrier drawn[Shape::kept];    // the turn's place is known
        ArrivalBarrier framed[Shape::kept];   // and the frames of its columns
        ArrivalBarrier taken[Shape::kept];    // all warps' sums are there
        ArrivalBarrier gathered[Shape::kept]; // the publisher has read them
        ArrivalBarrier totalled[Shape::kept]; // the factors of its columns are there
        Place places[Shape::kept];
        alignas(16) float frames[Shape::kept][strip_columns]; // the rounding constant less N
        alignas(16) float high[Shape::kept][strip_columns];   // pieces of the factors
        alignas(16) float low[Shape::kept][strip_columns];
        alignas(16) double sums[2][Shape::warps][strip_columns];
    };

    __device__ __forceinline__ SharedColumns(const SharedColumnsArguments &arguments, Shared &all, uint4 *memory)
        : a(arguments), s(arguments.softmax), shared(all), parked(memory + threadIdx.x) {}

    // Each lane that reads what others write says so itself: racecheck does not see that lanes of a warp have met.
    __device__ __forceinline__ void set_up() {
        if (threadIdx.x < Shape::kept) {
            shared.drawn[threadIdx.x].initialise();
            shared.framed[threadIdx.x].initialise(warp_lanes);
            shared.taken[threadIdx.x].initialise(Shape::takers);
            shared.gathered[threadIdx.x].initialise(warp_lanes);
            shared.totalled[threadIdx.x].initialise(warp_lanes);
        }
        __syncthreads();
    }

    __device__ __forceinline__ void work() {
        const int warp = __shfl_sync(whole_warp, warp_index(), 0);
        if (warp < Shape::warps) {
            take_and_finish_all();
        } else if (warp == Shape::publisher) {
            publish_all();
        } else if (warp == Shape::merger) {
            merge_all();
        } else if (warp == Shape::framer) {
            frame_all();
        } else {
            fetch_all();
        }
    }

  private:
    __device__ __forceinline__ Place place_of(unsigned turn) const {
        shared.drawn[Shape::kept_at(turn)].wait(Shape::parity_of(turn));
        return shared.places[Shape::kept_at(turn)];
    }

    // The thread's vector of columns and its rows in a tile.
    struct Part {
        std::uint32_t outer, inner, row;
        int left; // of its rows, from the first on: 0 where there are none
    };
    __device__ __forceinline__ Part part_of(const Place &place) const {
        Part part{place.outer, place.inner + own_column(), place.row + threadIdx.x / Shape::vectors * rows, 0};
        const auto axis = static_cast<std::uint32_t>(s.axis);
        if (place.exists() && part.inner < s.inner && part.row < axis) {
            part.left = static_cast<int>(smaller(axis - part.row, std::uint32_t{rows}));
        }
        return part;
    }
    __device__ __forceinline__ static unsigned own_column() { return threadIdx.x % Shape::vectors * each; }

    __device__ __forceinline__ void load(const Place &place, uint4 (&logits)[rows]) const {
        const Part part = part_of(place);
        if (part.left == 0) {
#pragma unroll
            for (uint4 &vector : logits) {
                vector = {};
            }
            return;
        }
        load_tall_rows(static_cast<const float *>(s.input) + static_cast<std::ptrdiff_t>(part.outer) * s.outer_stride +
                           static_cast<std::ptrdiff_t>(part.row) * s.axis_stride + part.inner,
                       s.axis_stride, part.left, logits);
    }

    __device__ __forceinline__ void take_and_finish_all() {
        uint4 logits[rows], kept[Shape::held + 1][rows] = {};
        Place now = place_of(0);
        load(now, logits);
        bool ended = false;
        unsigned turns = 0; // until it ended
#pragma unroll 1
        for (unsigned turn = 0;; ++turn) {
            ended = ended || now.is_end();
            if (ended && turn >= turns + Shape::waiting) {
                return;
            }
            if (!ended) {
                turns = turn + 1;
                uint4 own[rows];
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    own[i] = logits[i];
                }
                const Place taken = now;
                now = place_of(turn + 1);
                load(now, logits);
                all_are_asked_for();
                take(turn, taken, own, kept[0]);
            }
            if (turn >= Shape::waiting) {
                finish(turn - Shape::waiting);
            }
            if (turn >= Shape::held) {
                park(turn - Shape::held, kept[Shape::held]);
            }
#pragma unroll
            for (int h = Shape::held; h > 0; --h) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    kept[h][i] = kept[h - 1][i];
                }
            }
        }
    }

    // The exponentials of a tile, and what they sum to.
    __device__ __forceinline__ void take(unsigned turn, const Place &place, uint4 (&logits)[rows],
                                         uint4 (&exponentials)[rows]) {
        const Part part = part_of(place);
        const unsigned at = Shape::kept_at(turn);
        if (s.scaled) {
#pragma unroll
            for (uint4 &vector : logits) {
                scale_vector<float>(vector, s.narrow_scale);
            }
        }
        shared.framed[at].wait(Shape::parity_of(turn));
        float e[each][rows];
        const Formed formed =
            form_exponentials(part, *reinterpret_cast<const float4 *>(&shared.frames[at][own_column()]), logits, e);
        double sums[each];
        if (formed.zeros) {
            add_up<false>(e, sums);
        } else {
            add_up<true>(e, sums);
        }
#pragma unroll
        for (double &sum : sums) {
            sum = formed.usual || part.left == 0 ? sum : unusual_sum;
            sum = sum + from_lane_xor(sum, Shape::vectors);
        }
        leave_sums(turn, sums);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            exponentials[i] = {__float_as_uint(e[0][i]), __float_as_uint(e[1][i]), __float_as_uint(e[2][i]),
                               __float_as_uint(e[3][i])};
        }
    }

    // Of a tile with elements for which its columns have to be left to other kernels.
    static constexpr double unusual_sum = std::numeric_limits<double>::infinity();

    template <bool Normal>
    __device__ __forceinline__ static void add_up(const float (&e)[each][rows], double (&sums)[each]) {
#pragma unroll
        for (int c = 0; c < each; ++c) {
            sums[c] = run_sum<rows, double, Normal>(e[c]);
        }
    }

    // Whether all of them are as in their base blocks, and whether zeros may be among them.
    struct Formed {
        bool usual, zeros;
    };
    __device__ __forceinline__ static Formed form_exponentials(const Part &part, const float4 &frames,
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
        Formed formed{highest <= Bounds::highest, part.left < rows};
        if (!(lowest >= Bounds::lowest)) {
            formed.usual = leave_out_negligible(frame, logits, e) && formed.usual;
            formed.zeros = true;
        }
        if (part.left < rows) {
#pragma unroll
            for (int c = 0; c < each; ++c) {
#pragma unroll
                for (int i = 0; i < rows; ++i) {
                    e[c][i] = i < part.left ? e[c][i] : 0.0f;
                }
            }
        }
        return formed;
    }
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

    __device__ __forceinline__ void leave_sums(unsigned turn, const double (&sums)[each]) {
        if (turn >= 2) {
            shared.gathered[Shape::kept_at(turn - 2)].wait(Shape::parity_of(turn - 2));
        }
        if (lane_index() < Shape::vectors) {
            auto *const to = reinterpret_cast<double2 *>(&shared.sums[turn % 2][warp_index()][own_column()]);
            to[0] = {sums[0], sums[1]};
            to[1] = {sums[2], sums[3]};
        }
        shared.taken[Shape::kept_at(turn)].arrive();
    }

    __device__ __forceinline__ uint4 *slot_of(unsigned turn) const {
        return parked + turn % Shape::parked * (rows * Shape::takers);
    }
    __device__ __forceinline__ void park(unsigned turn, const uint4 (&exponentials)[rows]) const {
        uint4 *const to = slot_of(turn);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            to[i * Shape::takers] = exponentials[i];
        }
    }

    // Writes the outputs of a turn whose exponentials are parked.
    __device__ __forceinline__ void finish(unsigned turn) const {
        const unsigned at = Shape::kept_at(turn);
        shared.totalled[at].wait(Shape::parity_of(turn));
        const Part part = part_of(shared.places[at]);
        const float4 high = *reinterpret_cast<const float4 *>(&shared.high[at][own_column()]);
        const float4 low = *reinterpret_cast<const float4 *>(&shared.low[at][own_column()]);
        if (part.left == 0 || is_nan(high.x)) {
            return;
        }
        const BlockFactor<float> factors[each] = {{high.x, low.x}, {high.y, low.y}, {high.z, low.z}, {high.w, low.w}};
        const uint4 *const from = slot_of(turn);
        float *to = static_cast<float *>(s.output) + (part.outer * s.axis + part.row) * s.inner + part.inner;
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            const uint4 exponentials = from[i * Shape::takers];
            float y[each];
#pragma unroll
            for (int c = 0; c < each; ++c) {
                y[c] = softmax_output(element_of(exponentials, c, float()), factors[c]);
            }
            store_vector_if(i < part.left, to, pack(y, float()));
            to += s.inner;
        }
    }

    // What each column of a tile sums to, to all blocks; and the turns that the block takes. Two columns a lane.
    __device__ __forceinline__ void publish_all() {
        SharedColumnDraws<Shape> draws(a);
        std::uint32_t known = Place::no_strip; // there is room for the sums of its tiles
        bool ended = false;
        const auto draw = [&](unsigned turn) {
            if (lane_index() == 0 && !ended) {
                const Place place = draws.next(turn);
                ended = place.is_end();
                shared.places[Shape::kept_at(turn)] = place;
                shared.drawn[Shape::kept_at(turn)].arrive();
            }
        };
#pragma unroll 1
        for (unsigned turn = 0; turn < Shape::drawn_ahead; ++turn) {
            draw(turn);
        }
#pragma unroll 1
        for (unsigned turn = 0;; ++turn) {
            Place place{};
            if (lane_index() == 0) {
                place = place_of(turn);
            }
            place.strip = __shfl_sync(whole_warp, place.strip, 0);
            place.row = __shfl_sync(whole_warp, place.row, 0);
            if (place.is_end()) {
                return;
            }
            if (place.exists() && place.strip != known) {
                known = place.strip;
                wait_for_room(known);
            }
            const unsigned at = Shape::kept_at(turn);
            shared.taken[at].wait(Shape::parity_of(turn));
            double first[Shape::warps], second[Shape::warps];
#pragma unroll
            for (int w = 0; w < Shape::warps; ++w) {
                const double2 two = *reinterpret_cast<const double2 *>(&shared.sums[turn % 2][w][pair * lane_index()]);
                first[w] = two.x;
                second[w] = two.y;
            }
            shared.gathered[at].arrive();
            if (place.exists()) {
                const std::size_t tile = std::size_t{place.strip % a.ring} * a.down + place.row / shared_tile_rows;
                publish_words(a.sums + tile * strip_columns + pair * lane_index(), signed_word(place.strip, first),
                              signed_word(place.strip, second));
            }
            draw(turn + Shape::drawn_ahead);
        }
    }
    // Until the strip whose sums are in the place of this one's is put together. A publisher has published all that its
    // block drew before this strip, so that blocks do not wait for each other in a ring.
    __device__ __forceinline__ void wait_for_room(std::uint32_t strip) const {
        if (strip < a.ring) {
            return;
        }
        const std::uint32_t before = strip - a.ring;
        factors_of(before, before % a.across * strip_columns, pair * static_cast<unsigned>(lane_index()));
    }
    // No sum is negative: the sign tells the sums of a strip from those that were in their place before.
    static constexpr std::uint64_t sign = std::uint64_t{1} << 63;
    __device__ __forceinline__ std::uint64_t sign_of(std::uint32_t strip) const {
        return strip / a.ring % 2 != 0 ? sign : 0;
    }
    __device__ __forceinline__ std::uint64_t signed_word(std::uint32_t strip, double (&sums)[Shape::warps]) const {
        const double sum = tree_of_elements<FloatSum<double>>(sums);
        return (static_cast<std::uint64_t>(__double_as_longlong(sum)) & ~sign) | sign_of(strip);
    }

    // The frames of a turn's columns, two a lane.
    __device__ __forceinline__ void frame_all() {
        std::uint32_t known = Place::no_strip;
        float2 frames{};
#pragma unroll 1
        for (unsigned turn = 0;; ++turn) {
            const Place place = place_of(turn);
            if (place.is_end()) {
                return;
            }
            if (place.exists()) {
                ask_cache_for(place);
            }
            if (place.exists() && place.strip != known) {
                known = place.strip;
                frames = frames_of(place);
            }
            __syncwarp();
            const unsigned at = Shape::kept_at(turn);
            *reinterpret_cast<float2 *>(&shared.frames[at][pair * lane_index()]) = frames;
            shared.framed[at].arrive();
        }
    }
    // Has a tile fetched from memory before the loads that wait for it: these keep one turn's on its way, and memory
    // wants more. Lanes side by side ask for what lies side by side.
    __device__ __forceinline__ void ask_cache_for(const Place &place) const {
        constexpr unsigned line_columns = line_bytes / unsigned{sizeof(float)};
        constexpr unsigned row_lines = strip_columns / line_columns, lines = shared_tile_rows * row_lines;
        const auto *const first = static_cast<const float *>(s.input) +
                                  static_cast<std::ptrdiff_t>(place.outer) * s.outer_stride + place.inner;
#pragma unroll
        for (unsigned i = 0; i < lines / warp_lanes; ++i) {
            const unsigned line = i * warp_lanes + static_cast<unsigned>(lane_index());
            const std::uint32_t row = place.row + line / row_lines;
            const unsigned column = line % row_lines * line_columns;
            if (row < s.axis && place.inner + column < s.inner) {
                asm volatile("prefetch.global.L2 [%0];" ::"l"(first + static_cast<std::ptrdiff_t>(row) * s.axis_stride +
                                                              column));
            }
        }
    }
    // About the largest of some logits of a column: any will do, but those near its maximum leave room below.
    __device__ __forceinline__ float2 frames_of(const Place &place) const {
        constexpr std::uint32_t samples = 16;
        const std::uint32_t inner = place.inner + pair * static_cast<unsigned>(lane_index());
        float2 largest{-std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity()};
        if (inner < s.inner) {
            const float *const column =
                static_cast<const float *>(s.input) + static_cast<std::ptrdiff_t>(place.outer) * s.outer_stride + inner;
            const auto step = static_cast<std::ptrdiff_t>(s.axis / samples) * s.axis_stride;
#pragma unroll
            for (std::uint32_t i = 0; i < samples; ++i) {
                const float2 x = *reinterpret_cast<const float2 *>(column + i * step);
                largest = {fmaxf(largest.x, scaled(x.x)), fmaxf(largest.y, scaled(x.y))};
            }
        }
        return {frame_about(largest.x), frame_about(largest.y)};
    }
    __device__ __forceinline__ float scaled(float x) const { return s.scaled ? x * s.narrow_scale : x; }
    __device__ __forceinline__ static float frame_about(float logit) {
        return Bounds::magic - (is_ordinary(logit) ? static_cast<float>(nearest_exponent(logit)) : 0.0f);
    }

    // How a warp puts columns together: two lanes share a vector, and as many pairs of lanes, up to sixteen, as a
    // column has base blocks are below each other. Where that leaves lanes, further vectors are beside them.
    struct Merge {
        int lanes; // of a vector, a power of two
        std::uint32_t strip_jobs;

        __device__ __forceinline__ explicit Merge(std::uint32_t down) : lanes(pair) {
            while (lanes < warp_lanes && static_cast<unsigned>(lanes / pair) * tiles_of_base < down) {
                lanes *= 2;
            }
            strip_jobs = static_cast<unsigned>(Shape::vectors * lanes / warp_lanes);
        }
        // Of this lane, of a strip's, in a job of it.
        __device__ __forceinline__ std::uint32_t column(std::uint32_t job) const {
            const auto lane = static_cast<unsigned>(lane_index());
            const unsigned vector =
                job * static_cast<unsigned>(warp_lanes / lanes) + lane / static_cast<unsigned>(lanes);
            return vector * each + lane % 2 * pair;
        }
        __device__ __forceinline__ std::uint32_t base() const {
            return static_cast<unsigned>(lane_index() % lanes) / 2;
        }
        __device__ __forceinline__ double over_base_blocks(double sum) const {
#pragma unroll
            for (int distance = pair; distance < warp_lanes; distance *= 2) {
                if (distance < lanes) {
                    sum = sum + from_lane_xor(sum, distance);
                }
            }
            return sum;
        }
    };

    // Of the vectors of columns that fall to this block, what each column comes to as a whole.
    __device__ __forceinline__ void merge_all() const {
        const Merge how(a.down);
        const std::uint32_t jobs = a.strips * how.strip_jobs;
#pragma unroll 1
        for (std::uint32_t job = blockIdx.x; job < jobs; job += gridDim.x) {
            const std::uint32_t strip = job / how.strip_jobs;
            wait_for_room(strip); // sums that are there are of the strip so many before, not of one before that
            merge(how, strip, how.column(job - strip * how.strip_jobs));
        }
    }
    static constexpr std::uint32_t tiles_of_base = static_cast<std::uint32_t>(softmax_block) / shared_tile_rows;
    static constexpr std::uint32_t round_tiles = tiles_of_base * warp_lanes / pair;
    using ColumnSum = TreeCounter<FloatSum<double>, 4>;
    static_assert(shared_columns_most_axis / shared_tile_rows <= round_tiles << 3);

    __device__ __forceinline__ void merge(const Merge &how, std::uint32_t strip, std::uint32_t column) const {
        const std::uint64_t *const words = a.sums + std::size_t{strip % a.ring} * a.down * strip_columns + column;
        const bool exists = strip % a.across * strip_columns + column < s.inner;
        ColumnSum first, second;
        bool usual = true;
#pragma unroll 1
        for (std::uint32_t tile = 0; tile < a.down; tile += round_tiles) {
            double sums[pair][tiles_of_base];
            wait_for_sums(words, sign_of(strip), tile + how.base() * tiles_of_base, exists ? a.down : 0, sums);
            const double one = tree_of_elements<FloatSum<double>>(sums[0]);
            const double other = tree_of_elements<FloatSum<double>>(sums[1]);
            usual = usual && is_usual(one) && is_usual(other);
            first.push(how.over_base_blocks(one));
            second.push(how.over_base_blocks(other));
        }
        const double one = first.result(), other = second.result();
        usual = usual && one != 0 && other != 0;
        usual = __all_sync(whole_warp, usual || !exists) != 0;
        if (exists && how.base() == 0) {
            publish_words(a.factors + std::size_t{strip} * strip_columns + column, factor_word(usual, one),
                          factor_word(usual, other));
        }
        if (!usual && lane_index() == 0) {
            *a.left = 0;
        }
    }
    __device__ __forceinline__ static bool is_usual(double sum) {
        return (sum >= Bounds::least_sum && sum < unusual_sum) || sum == 0;
    }
    __device__ __forceinline__ void wait_for_sums(const std::uint64_t *words, std::uint64_t expected,
                                                  std::uint32_t tile, std::uint32_t end,
                                                  double (&sums)[pair][tiles_of_base]) const {
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
                    seen[i].look(words + std::size_t{tile + i} * strip_columns);
                }
            }
            bool all = true;
#pragma unroll
            for (const SeenWords &one : seen) {
                all = all && is_there(one);
            }
            if (__all_sync(whole_warp, all) != 0) {
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
    }
    __device__ __forceinline__ static std::uint64_t factor_word(bool usual, double sum) {
        BlockFactor<float> factor{std::numeric_limits<float>::quiet_NaN(), 0.0f};
        if (usual) {
            factor = factor_in_pieces(1.0, sum, float());
        }
        return std::uint64_t{__float_as_uint(factor.high)} << 32 | __float_as_uint(factor.low);
    }

    // The factors of a turn's columns, two a lane.
    __device__ __forceinline__ void fetch_all() {
        std::uint32_t known = Place::no_strip;
        SeenWords factors{};
#pragma unroll 1
        for (unsigned turn = 0;; ++turn) {
            const Place place = place_of(turn);
            if (place.is_end()) {
                return;
            }
            const unsigned column = pair * static_cast<unsigned>(lane_index());
            if (place.exists() && place.strip != known) {
                known = place.strip;
                factors = factors_of(known, place.inner, column);
            }
            const unsigned at = Shape::kept_at(turn);
            *reinterpret_cast<float2 *>(&shared.high[at][column]) = {high_of(factors.words[0]),
                                                                     high_of(factors.words[1])};
            *reinterpret_cast<float2 *>(&shared.low[at][column]) = {low_of(factors.words[0]), low_of(factors.words[1])};
            shared.totalled[at].arrive();
        }
    }
    // Once those of all lanes are there; none where there is no such column.
    __device__ __forceinline__ SeenWords factors_of(std::uint32_t strip, std::uint32_t inner, unsigned column) const {
        const std::uint64_t *const words = a.factors + std::size_t{strip} * strip_columns + column;
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
    __device__ __forceinline__ static float high_of(std::uint64_t word) {
        return __uint_as_float(static_cast<unsigned>(word >> 32));
    }
    __device__ __forceinline__ static float low_of(std::uint64_t word) {
        return __uint_as_float(static_cast<unsigned>(word));
    }

    const SharedColumnsArguments &a;
    const SoftmaxArguments &s;
    Shared &shared;
    uint4 *parked; // the thread's first vector
};

// A block for each multiprocessor, all of which run at the same time.
template <class Shape>
__global__ void __launch_bounds__(Shape::all_warps *warp_lanes, 1)
    softmax_shared_columns(const __grid_constant__ SharedColumnsArguments a) {
#if __CUDA_ARCH__ >= 900
    allow_dependent_launch();
    extern __shared__ __align__(128) uint4 memory_of_tiles[];
    using Columns = SharedColumns<Shape>;
    __shared__ typename Columns::Shared shared;
    Columns columns(a, shared, memory_of_tiles);
    columns.set_up();
    columns.work();
#endif
}

} // namespace wr::cuda
