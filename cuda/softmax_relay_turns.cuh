// How the blocks are made up that share many long rows, and how each draws the turns that it takes.
#pragma once

#include "cuda/arrival_barrier.cuh"
#include "cuda/published_state.cuh"
#include "cuda/softmax_arguments.h"
#include "numerics/softmax.h"

namespace wr::cuda {

// A block's warps that take base blocks, how many of them publish one state together (a power of two: a row begins with
// a group), the turns that exponentials wait, and the turns ahead that logits are on their way.
template <int Warps, int GroupBlocks, int Parked, int Ahead>
struct RelayShape {
    static constexpr int warps = Warps, group_blocks = GroupBlocks, parked = Parked, ahead = Ahead;
    static constexpr int groups = Warps / GroupBlocks; // of a block's turn
    static constexpr int publisher = Warps, merger = Warps + 1, all_warps = Warps + 2;
    // Turns of which something is kept in shared memory. A warp takes turn i + kept when it has finished turn
    // i + kept - 1 - parked, whose total is put together after the states of turn i were gathered.
    static constexpr int kept = 8;
    // How many turns beyond the last one that all of its warps have taken a block has drawn. With one less each warp
    // waits for the slowest one (H200, f32 131072 4.07 TB/s for 4.15).
    static constexpr int drawn_ahead = Ahead + 2;
    static_assert(Warps <= warp_lanes && Warps % GroupBlocks == 0 && Parked + 2 <= kept);
    static_assert(drawn_ahead + Parked < kept);

    __device__ __forceinline__ static unsigned kept_at(unsigned turn) { return turn % kept; }
    __device__ __forceinline__ static unsigned parity_of(unsigned turn) { return turn / kept & 1u; }
};

// A base block of a row, as far as there are both.
struct RelayPlace {
    std::uint32_t row;
    int block;
};

// How all rows are cut up: each begins with a group, and a turn is as many groups behind each other as a block has.
struct RelayRows {
    const SoftmaxArguments &a;
    int row_blocks;
    unsigned row_groups;  // of a row
    std::uint32_t groups; // of all rows

    __device__ __forceinline__ RelayRows(const SoftmaxArguments &arguments, int group_blocks)
        : a(arguments), row_blocks(static_cast<int>(divide_up(a.axis, softmax_block))),
          row_groups(static_cast<unsigned>((row_blocks + group_blocks - 1) / group_blocks)),
          groups(count() * row_groups) {}

    __device__ __forceinline__ std::uint32_t count() const { return static_cast<std::uint32_t>(a.outer); }
    __device__ __forceinline__ bool has(const RelayPlace &place) const {
        return place.row < count() && place.block < row_blocks;
    }
};

// Each block draws the next turn that nobody has, shortly before it asks for its logits: multiprocessors that are
// nearer to the memory take more turns, and what all of them read and write at a time stays together (H200, copies in
// such turns: dealt out beforehand 4.00 TB/s, drawn 4.15). Tickets are counted in memory; the publisher draws them. A
// warp asks for the places of the turns that it loads, takes and finishes, the publisher and the merger for the first
// group of the turn that they are at.
template <class Shape>
class RelayTurns {
  public:
    struct Shared {
        ArrivalBarrier drawn[Shape::kept]; // the turn's place is known
        RelayPlace places[Shape::kept];    // of the block's first warp

        __device__ __forceinline__ void initialise(unsigned turn) { drawn[turn].initialise(); }
    };

    // The counter is -1 for a start.
    __device__ __forceinline__ RelayTurns(const RelayRows &rows, Shared &shared, unsigned *counter, int warp)
        : rows_(rows), shared_(shared), counter_(counter), warp_(warp) {}

    __device__ __forceinline__ bool goes_on(unsigned turn) const { return turn < Shape::parked || !is_end(places_[1]); }
    __device__ __forceinline__ bool takes() const { return !is_end(places_[taking_at]); }
    __device__ __forceinline__ void look_at_next(unsigned turn) {
        if (!is_end(places_[loading_at])) {
            places_[loading_at] = place_of_warp(turn);
        }
    }
    __device__ __forceinline__ RelayPlace loading() const { return places_[loading_at]; }
    __device__ __forceinline__ RelayPlace taking() const { return places_[taking_at]; }
    __device__ __forceinline__ RelayPlace finishing() const { return places_[0]; } // once it went on from the one taken
    __device__ __forceinline__ void go_on() {
#pragma unroll
        for (int i = 0; i < loading_at; ++i) {
            places_[i] = places_[i + 1];
        }
    }

    // The first turns are dealt out, for a start.
    __device__ __forceinline__ void draw_first() {
#pragma unroll 1
        for (unsigned turn = 0; turn < Shape::drawn_ahead; ++turn) {
            draw(turn);
        }
    }
    // Another one, once all warps have taken this turn.
    __device__ __forceinline__ void draw_behind(unsigned turn) { draw(turn + Shape::drawn_ahead); }
    __device__ __forceinline__ bool has_another(unsigned turn) {
        places_[0] = place_of_block(turn);
        return !is_end(places_[0]);
    }
    __device__ __forceinline__ std::uint32_t first_group() const {
        return places_[0].row * rows_.row_groups + static_cast<unsigned>(places_[0].block) / Shape::group_blocks;
    }

  private:
    static constexpr int taking_at = Shape::parked + 1, loading_at = taking_at + Shape::ahead;
    static constexpr std::uint32_t no_ticket = ~std::uint32_t{0};
    // Behind the last turn there is none; an empty turn is behind all rows.
    static constexpr std::uint32_t no_row = ~std::uint32_t{0};
    __device__ __forceinline__ static bool is_end(const RelayPlace &place) { return place.row == no_row; }

    // Read by the one lane that says later that it has been.
    __device__ __forceinline__ RelayPlace place_of_block(unsigned turn) const {
        RelayPlace place{};
        shared_.drawn[Shape::kept_at(turn)].wait(Shape::parity_of(turn));
        if (lane_index() == 0) {
            place = shared_.places[Shape::kept_at(turn)];
        }
        return {__shfl_sync(whole_warp, place.row, 0), __shfl_sync(whole_warp, place.block, 0)};
    }
    __device__ __forceinline__ RelayPlace place_of_warp(unsigned turn) const {
        RelayPlace place = place_of_block(turn);
        place.block += warp_;
        const int whole_groups = static_cast<int>(rows_.row_groups) * Shape::group_blocks;
        if (place.block >= whole_groups) {
            place.block -= whole_groups;
            ++place.row;
        }
        return place;
    }

    __device__ __forceinline__ void draw(unsigned turn) {
        if (lane_index() != 0 || ended_) {
            return;
        }
        const std::uint32_t ticket = turn < Shape::drawn_ahead ? turn * gridDim.x + blockIdx.x : next_ticket();
        RelayPlace place{rows_.count(), 0};
        std::uint32_t behind = 0;
        if (ticket != no_ticket) {
            const std::uint32_t group = ticket * Shape::groups, row = group / rows_.row_groups;
            const std::uint32_t of_row = group - row * rows_.row_groups;
            ended_ = group >= rows_.groups;
            place.row = ended_ ? no_row : row;
            place.block = ended_ ? 0 : static_cast<int>(of_row) * Shape::group_blocks;
            behind = row + (of_row + Shape::groups > rows_.row_groups ? 2 : 1);
        }
#pragma unroll
        for (int i = 0; i < Shape::parked; ++i) {
            behind_[i] = behind_[i + 1];
        }
        behind_[Shape::parked] = behind;
        shared_.places[Shape::kept_at(turn)] = place;
        shared_.drawn[Shape::kept_at(turn)].arrive();
    }

    // None, which leaves the turn empty, where it might be of a row that the block has to wait for before it comes to
    // take that turn: of the turns that wait in shared memory then it has to finish the oldest first. So whoever waits
    // for a row has taken all that he drew of it. And all of it is drawn: who waits for it has as many turns of it as
    // can wait, for he drew none only where a row before it was not drawn to its end; if all blocks waited, these would
    // be all of the row, which has no more turns than can wait together (launch_relay sees to that).
    __device__ __forceinline__ std::uint32_t next_ticket() {
        const std::uint32_t waited_for = behind_[0] * rows_.row_groups, dealt = Shape::drawn_ahead * gridDim.x;
        if ((dealt + tickets_) * Shape::groups < waited_for) {
            tickets_ = look_at(counter_) + 1;
            if ((dealt + tickets_) * Shape::groups < waited_for) {
                return no_ticket;
            }
        }
        tickets_ = atomicAdd(counter_, 1u) + 2;
        return dealt + (tickets_ - 1);
    }

    RelayRows rows_;
    Shared &shared_;
    unsigned *counter_;
    int warp_;
    RelayPlace places_[loading_at + 1] = {}; // of the turn to finish, of those behind it, of the one to load
    // What lane 0 of the publisher remembers: how many tickets are drawn at least, and the first rows behind those of
    // the last turns, the oldest first.
    std::uint32_t tickets_ = 0;
    std::uint32_t behind_[Shape::parked + 1] = {};
    bool ended_ = false;
};

} // namespace wr::cuda
