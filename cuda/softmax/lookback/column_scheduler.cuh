// Which tiles of columns a multiprocessor takes that shares them with all others.
#pragma once

#include "cuda/common/vector_types.h"
#include "cuda/device/mbarrier.cuh"
#include "cuda/rowwise/published_states.cuh"
#include "cuda/softmax/lookback/columns.h"

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

} // namespace wr::cuda
