// Columns too tall for a cluster, by all multiprocessors together: a block stays on each, and they go through memory a
// tile of 128 rows of 64 columns a turn. What each column of a tile sums to is published; one warp of some block puts a
// panel's columns together for all; the exponentials wait some turns until that is there, so that each element is read
// once.
#pragma once

#include "cuda/rowwise/two_pass_columns.cuh"
#include "cuda/softmax/lookback/column_sums.cuh"

namespace wr::cuda {

template <class Shape>
class LookbackColumns {
    static constexpr int rows = Shape::rows, each = vector_elements<float>, pair = 2;
    static constexpr unsigned panel_columns = shared_panel_columns;
    using Exponentials = LookbackColumnExponentials<rows>;
    using Sums = LookbackColumnSums<Shape>;
    using Place = LookbackColumnPlace;

  public:
    struct Shared {
        Mbarrier drawn[Shape::kept];    // the turn's place is known
        Mbarrier framed[Shape::kept];   // and the frames of its columns
        Mbarrier taken[Shape::kept];    // all warps' sums are there
        Mbarrier gathered[Shape::kept]; // the publisher has read them
        Mbarrier totalled[Shape::kept]; // the factors of its columns are there
        Place places[Shape::kept];
        std::uint32_t end;                                    // of the panels that are taken, once it is known
        alignas(16) float frames[Shape::kept][panel_columns]; // the rounding constant less N
        alignas(16) float high[Shape::kept][panel_columns];   // pieces of the factors
        alignas(16) float low[Shape::kept][panel_columns];
        alignas(16) double sums[2][Shape::warps][panel_columns];
    };

    __device__ __forceinline__ LookbackColumns(const LookbackColumnsArguments &arguments, Shared &all, uint4 *memory)
        : a(arguments), s(arguments.softmax), exchange(arguments, all.end), shared(all),
          deferred(memory + threadIdx.x) {}

    // Each lane that reads what others write says so itself: racecheck does not see that lanes of a warp have met.
    __device__ __forceinline__ void set_up() {
        if (threadIdx.x == 0) {
            shared.end = Place::no_panel;
        }
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
            exchange.merge_all();
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
        load_two_pass_column_rows(static_cast<const float *>(s.input) +
                                      static_cast<std::ptrdiff_t>(part.outer) * s.outer_stride +
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
                defer(turn - Shape::held, kept[Shape::held]);
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
        const auto recomputed = Exponentials::form_exponentials(
            part.left, *reinterpret_cast<const float4 *>(&shared.frames[at][own_column()]), logits, e);
        double sums[each];
        if (recomputed.zeros) {
            Exponentials::template add_up<false>(e, sums);
        } else {
            Exponentials::template add_up<true>(e, sums);
        }
#pragma unroll
        for (double &sum : sums) {
            sum = recomputed.usual || part.left == 0 ? sum : Exponentials::special_sum;
            sum = sum + from_lane_xor(sum, Shape::vectors);
        }
        leave_sums(turn, sums);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            exponentials[i] = {__float_as_uint(e[0][i]), __float_as_uint(e[1][i]), __float_as_uint(e[2][i]),
                               __float_as_uint(e[3][i])};
        }
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
        return deferred + turn % Shape::deferred * (rows * Shape::takers);
    }
    __device__ __forceinline__ void defer(unsigned turn, const uint4 (&exponentials)[rows]) const {
        uint4 *const to = slot_of(turn);
#pragma unroll
        for (int i = 0; i < rows; ++i) {
            to[i * Shape::takers] = exponentials[i];
        }
    }

    // Writes the outputs of a turn whose exponentials are deferred.
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
        LookbackColumnDraws<Shape> draws(a);
        std::uint32_t known = Place::no_panel; // there is room for the sums of its tiles
        bool ended = false;
        const auto draw = [&](unsigned turn) {
            if (lane_index() == 0 && !ended) {
                const Place place = draws.next(turn);
                ended = place.is_end();
                if (ended) {
                    exchange.tell_end(draws.end());
                }
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
            place.panel = __shfl_sync(whole_warp, place.panel, 0);
            place.row = __shfl_sync(whole_warp, place.row, 0);
            if (place.is_end()) {
                return;
            }
            if (place.exists() && place.panel != known) {
                known = place.panel;
                exchange.wait_for_room(known);
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
                exchange.publish(place.panel, place.row, first, second);
            }
            draw(turn + Shape::drawn_ahead);
        }
    }
    // The frames of a turn's columns, two a lane.
    __device__ __forceinline__ void frame_all() {
        std::uint32_t known = Place::no_panel;
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
            if (place.exists() && place.panel != known) {
                known = place.panel;
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
        constexpr unsigned row_lines = panel_columns / line_columns, lines = shared_tile_rows * row_lines;
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
        return {Exponentials::frame_about(largest.x), Exponentials::frame_about(largest.y)};
    }
    __device__ __forceinline__ float scaled(float x) const { return s.scaled ? x * s.narrow_scale : x; }
    // The factors of a turn's columns, two a lane.
    __device__ __forceinline__ void fetch_all() {
        std::uint32_t known = Place::no_panel;
        SeenWords factors{};
#pragma unroll 1
        for (unsigned turn = 0;; ++turn) {
            const Place place = place_of(turn);
            if (place.is_end()) {
                return;
            }
            const unsigned column = pair * static_cast<unsigned>(lane_index());
            if (place.exists() && place.panel != known) {
                known = place.panel;
                factors = exchange.factors_of(known, place.inner, column);
            }
            const unsigned at = Shape::kept_at(turn);
            *reinterpret_cast<float2 *>(&shared.high[at][column]) = {Sums::high_of(factors.words[0]),
                                                                     Sums::high_of(factors.words[1])};
            *reinterpret_cast<float2 *>(&shared.low[at][column]) = {Sums::low_of(factors.words[0]),
                                                                    Sums::low_of(factors.words[1])};
            shared.totalled[at].arrive();
        }
    }
    const LookbackColumnsArguments &a;
    const SoftmaxArguments &s;
    const Sums exchange;
    Shared &shared;
    uint4 *deferred; // the thread's first vector
};

// A block for each multiprocessor, all of which run at the same time.
template <class Shape>
__global__ void __launch_bounds__(Shape::all_warps *warp_lanes, 1)
    softmax_lookback_columns(const __grid_constant__ LookbackColumnsArguments a) {
#if __CUDA_ARCH__ >= 900
    pdl_release();
    extern __shared__ __align__(128) uint4 memory_of_tiles[];
    using Columns = LookbackColumns<Shape>;
    __shared__ typename Columns::Shared shared;
    Columns columns(a, shared, memory_of_tiles);
    columns.set_up();
    columns.work();
#endif
}

} // namespace wr::cuda
