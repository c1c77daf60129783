// How the blocks are made up that share many long rows, and how each draws the turns that it takes.
#pragma once

#include "cuda/device/barriers.cuh"
#include "cuda/rowwise/published_states.cuh"
#include "cuda/rowwise/staged_access.cuh"
#include "cuda/softmax/kernels.h"
#include "numerics/softmax.h"

namespace wr::cuda {

// A block's warps that take tiles, the turns that exponentials wait, and the turns ahead that logits are on their
// way.
template <int Warps, int Deferred, int Ahead>
struct LookbackShape {
    static constexpr int warps = Warps, deferred = Deferred, ahead = Ahead;
    static constexpr int publisher = Warps, merger = Warps + 1, all_warps = Warps + 2;
    // Turns of which something is kept in shared memory. A warp takes turn i + kept when it has finished turn
    // i + kept - 1 - deferred, whose total is put together after the states of turn i were gathered.
    static constexpr int kept = 8;
    // How many turns beyond the last one that all of its warps have taken a block has drawn. With one less each warp
    // waits for the slowest one (H200, f32 131072 4.07 TB/s for 4.15).
    static constexpr int drawn_ahead = Ahead + 2;
    static_assert(Warps <= warp_lanes && Deferred + 2 <= kept);
    // Of which it is kept what is to be loaded: from when a turn is drawn until it is asked for.
    static constexpr int loads_kept = 4;
    static_assert(drawn_ahead + Deferred < kept && drawn_ahead - Ahead < loads_kept && drawn_ahead <= loads_kept);

    __device__ __forceinline__ static unsigned kept_at(unsigned turn) { return turn % kept; }
    __device__ __forceinline__ static unsigned parity_of(unsigned turn) { return turn / kept & 1u; }
};

// Where a block's turn begins.
struct LookbackPlace {
    std::uint32_t row;
    int block;
};

// A warp's tile of a turn, in as few words as lanes can tell each other: its row, and the rest in one.
struct LookbackTask {
    std::uint32_t row;
    std::uint32_t rest;

    // Skew: the bytes of its first vector that lie before it. Readable: whether all of its vectors may be read whole.
    __device__ __forceinline__ static LookbackTask of(std::uint32_t row, int block, int count, unsigned skew,
                                                      bool readable) {
        return {row, static_cast<std::uint32_t>(count) | (readable ? readable_bit : 0) | skew << skew_bit |
                         static_cast<std::uint32_t>(block) << block_bit};
    }
    // Its elements: none where there is no such block.
    __device__ __forceinline__ int count() const { return static_cast<int>(rest % (1u << count_bits)); }
    __device__ __forceinline__ bool is_readable() const { return (rest & readable_bit) != 0; }
    __device__ __forceinline__ unsigned skew() const { return rest >> skew_bit & 15u; }
    __device__ __forceinline__ int block() const { return static_cast<int>(rest >> block_bit); }

  private:
    static constexpr unsigned count_bits = 11, skew_bit = 12, block_bit = 16;
    static constexpr std::uint32_t readable_bit = 1u << count_bits;
    static_assert(softmax_block < 1u << count_bits && softmax_lookback_most_row_tiles < 1u << (32 - block_bit));
};

// The same with the first of the vectors that hold its logits.
struct alignas(16) LookbackLoad {
    const void *from;
    LookbackTask task;
};

// How all rows are cut up: each begins with a group, of 2 to the a.group_power tiles that publish one state
// together, and a turn is as many groups behind each other as a block has warps for.
struct LookbackRows {
    const SoftmaxArguments &a;
    int row_tiles;
    unsigned row_groups;  // of a row
    std::uint32_t groups; // of all rows

    __device__ __forceinline__ explicit LookbackRows(const SoftmaxArguments &arguments)
        : a(arguments), row_tiles(static_cast<int>(divide_up(a.axis, softmax_block))),
          row_groups(group_of(row_tiles + group_tiles() - 1)), groups(count() * row_groups) {}

    __device__ __forceinline__ std::uint32_t count() const { return static_cast<std::uint32_t>(a.outer); }
    __device__ __forceinline__ int group_tiles() const { return 1 << a.group_power; }
    __device__ __forceinline__ unsigned group_of(int block) const {
        return static_cast<unsigned>(block) >> a.group_power;
    }
    template <class Shape>
    __device__ __forceinline__ unsigned groups_of_turn() const {
        return group_of(Shape::warps);
    }
    template <class T>
    __device__ __forceinline__ const T *input(std::uint32_t row, int block) const {
        return static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.outer_stride +
               block * static_cast<int>(softmax_block);
    }
    // The tile at this place, if there is one. Anywhere: it may be off the boundaries.
    template <class T, bool Anywhere>
    __device__ __forceinline__ LookbackLoad load_of(std::uint32_t row, int block) const {
        if (row >= count() || block >= row_tiles) {
            return {nullptr, LookbackTask::of(row, 0, 0, 0, true)};
        }
        constexpr int elements = static_cast<int>(softmax_block), each = vector_elements<T>;
        const T *const data = input<T>(row, block);
        const int taken = smaller(static_cast<int>(a.axis) - block * elements, elements);
        // Between blocks of its row, the next of which may be shorter than a vector.
        const bool inside = block > 0 && (block + 1) * elements + each <= static_cast<int>(a.axis);
        const bool readable = !Anywhere || inside || is_readable(a.readable_range, data, taken);
        const unsigned skew = Anywhere ? offset_in_vector(data) : 0;
        return {reinterpret_cast<const char *>(data) - skew, LookbackTask::of(row, block, taken, skew, readable)};
    }
};

// Each block draws the next turn that nobody has, shortly before it asks for its logits: multiprocessors that are
// nearer to the memory take more turns, and what all of them read and write at a time stays together (H200, copies in
// such turns: dealt out beforehand 4.00 TB/s, drawn 4.15). Tickets are counted in memory; the publisher draws them, and
// its lanes work out for each warp what it has to know of its tile: warps that did so themselves were short of
// registers (log-softmax of f32, 50257: 3.40 TB/s for 3.99). A warp asks for its tasks of the turns that it loads,
// takes and finishes, the publisher and the merger for the first group of the turn that they are at.
template <class T, bool Anywhere, class Shape>
class LookbackTurns {
  public:
    struct Shared {
        Mbarrier drawn[Shape::kept]; // the turn's place and tasks are known
        LookbackPlace places[Shape::kept];
        LookbackLoad loads[Shape::loads_kept][Shape::warps];

        __device__ __forceinline__ void initialise(unsigned turn) { drawn[turn].initialise(Shape::warps); }
    };

    // The counter is -1 for a start.
    __device__ __forceinline__ LookbackTurns(const LookbackRows &rows, Shared &shared, unsigned *counter, int warp)
        : rows_(rows), shared_(shared), counter_(counter), warp_(warp) {}

    __device__ __forceinline__ bool goes_on(unsigned turn) const {
        return turn < Shape::deferred || !is_end(tasks_[1].row);
    }
    __device__ __forceinline__ bool takes() const { return !is_end(tasks_[taking_at].row); }
    __device__ __forceinline__ void look_at_next(unsigned turn) {
        if (!is_end(tasks_[loading_at].row)) {
            tasks_[loading_at] = task_of_warp(turn);
        }
    }
    __device__ __forceinline__ LookbackTask loading() const { return tasks_[loading_at]; }
    __device__ __forceinline__ LookbackTask taking() const { return tasks_[taking_at]; }
    __device__ __forceinline__ LookbackTask finishing() const {
        return tasks_[0];
    } // once it went on from the one taken
    __device__ __forceinline__ void go_on() {
#pragma unroll
        for (int i = 0; i < loading_at; ++i) {
            tasks_[i] = tasks_[i + 1];
        }
    }
    // Of the turn that is loading: by lane 0.
    __device__ __forceinline__ const void *load_from(unsigned turn) const { return own_load(turn).from; }

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
        place_ = place_of_block(turn);
        return !is_end(place_.row);
    }
    __device__ __forceinline__ std::uint32_t first_group() const {
        return place_.row * rows_.row_groups + rows_.group_of(place_.block);
    }

  private:
    static constexpr int taking_at = Shape::deferred + 1, loading_at = taking_at + Shape::ahead;
    static constexpr std::uint32_t no_ticket = ~std::uint32_t{0};
    // Behind the last turn there is none; an empty turn is behind all rows.
    static constexpr std::uint32_t no_row = ~std::uint32_t{0};
    __device__ __forceinline__ static bool is_end(std::uint32_t row) { return row == no_row; }

    __device__ __forceinline__ LookbackLoad &own_load(unsigned turn) const {
        return shared_.loads[turn % Shape::loads_kept][warp_];
    }

    // Read by the one lane that says later that it has been.
    __device__ __forceinline__ LookbackPlace place_of_block(unsigned turn) const {
        LookbackPlace place{};
        shared_.drawn[Shape::kept_at(turn)].wait(Shape::parity_of(turn));
        if (lane_index() == 0) {
            place = shared_.places[Shape::kept_at(turn)];
        }
        return {__shfl_sync(whole_warp, place.row, 0), __shfl_sync(whole_warp, place.block, 0)};
    }
    __device__ __forceinline__ LookbackTask task_of_warp(unsigned turn) const {
        LookbackTask task{};
        shared_.drawn[Shape::kept_at(turn)].wait(Shape::parity_of(turn));
        if (lane_index() == 0) {
            task = own_load(turn).task;
        }
        return {__shfl_sync(whole_warp, task.row, 0), __shfl_sync(whole_warp, task.rest, 0)};
    }

    __device__ __forceinline__ unsigned turn_groups() const { return rows_.template groups_of_turn<Shape>(); }
    __device__ __forceinline__ void draw(unsigned turn) {
        if (ended_) {
            return;
        }
        LookbackPlace place{};
        if (lane_index() == 0) {
            place = next_place(turn);
            shared_.places[Shape::kept_at(turn)] = place;
        }
        place = {__shfl_sync(whole_warp, place.row, 0), __shfl_sync(whole_warp, place.block, 0)};
        ended_ = is_end(place.row);
        if (lane_index() < Shape::warps) {
            shared_.loads[turn % Shape::loads_kept][lane_index()] = load_of_warp(place, lane_index());
            shared_.drawn[Shape::kept_at(turn)].arrive();
        }
        __syncwarp();
    }
    __device__ __forceinline__ LookbackLoad load_of_warp(LookbackPlace place, int warp) const {
        place.block += warp;
        const int whole_groups = static_cast<int>(rows_.row_groups) * rows_.group_tiles();
        if (place.block >= whole_groups && !is_end(place.row)) {
            place.block -= whole_groups;
            ++place.row;
        }
        return rows_.template load_of<T, Anywhere>(place.row, place.block);
    }

    // By lane 0 of the publisher.
    __device__ __forceinline__ LookbackPlace next_place(unsigned turn) {
        const std::uint32_t ticket = turn < Shape::drawn_ahead ? turn * gridDim.x + blockIdx.x : next_ticket();
        LookbackPlace place{rows_.count(), 0};
        std::uint32_t behind = behind_[Shape::deferred]; // an empty turn lifts nothing
        if (ticket != no_ticket) {
            const std::uint32_t group = ticket * turn_groups(), row = group / rows_.row_groups;
            const std::uint32_t of_row = group - row * rows_.row_groups;
            const bool ends = group >= rows_.groups;
            place.row = ends ? no_row : row;
            place.block = ends ? 0 : static_cast<int>(of_row) * rows_.group_tiles();
            behind = row + (of_row + turn_groups() > rows_.row_groups ? 2 : 1);
        }
#pragma unroll
        for (int i = 0; i < Shape::deferred; ++i) {
            behind_[i] = behind_[i + 1];
        }
        behind_[Shape::deferred] = behind;
        return place;
    }

    // None, which leaves the turn empty, where it might be of a row that the block has to wait for before it comes to
    // take that turn: of the turns that wait in shared memory then it has to finish the oldest first. So whoever waits
    // for a row has taken all that he drew of it. And all of it is drawn: who waits for it has as many turns of it as
    // can wait, for he drew none only where a row before it was not drawn to its end; if all blocks waited, these would
    // be all of the row, which has no more turns than can wait together (launch_lookback sees to that).
    __device__ __forceinline__ std::uint32_t next_ticket() {
        const std::uint32_t waited_for = behind_[0] * rows_.row_groups, dealt = Shape::drawn_ahead * gridDim.x;
        if ((dealt + tickets_) * turn_groups() < waited_for) {
            tickets_ = look_at(counter_) + 1;
            if ((dealt + tickets_) * turn_groups() < waited_for) {
                return no_ticket;
            }
        }
        tickets_ = atomicAdd(counter_, 1u) + 2;
        return dealt + (tickets_ - 1);
    }

    LookbackRows rows_;
    Shared &shared_;
    unsigned *counter_;
    int warp_;
    LookbackTask tasks_[loading_at + 1] = {}; // of the turn to finish, of those behind it, of the one to load
    LookbackPlace place_{};                   // of the publisher's or the merger's turn
    // What lane 0 of the publisher remembers: how many tickets are drawn at least, and the first rows behind those of
    // the last turns, the oldest first.
    std::uint32_t tickets_ = 0;
    std::uint32_t behind_[Shape::deferred + 1] = {};
    bool ended_ = false;
};

} // namespace wr::cuda
