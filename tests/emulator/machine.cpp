#include "machine.h"

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <span>

namespace emulator {

namespace {

constexpr std::size_t guarded_bytes = 1024; // nobody has the first addresses of shared memory
constexpr std::uint32_t rank_bit = 24;
constexpr std::uint64_t poison = 0xA5A5C3C35AFE9B9B;

// One turn of a warp.
class Turn {
  public:
    Turn(Warp &warp, int instructions) : warp_(warp), left_(instructions) {}

    bool run();

  private:
    LaneMask runnable() const { return warp_.alive & ~warp_.waiting & ~warp_.stalled; }
    bool choose();
    void follow();
    bool step();
    void branch(const Instruction &i, LaneMask taken);
    bool meet(const Instruction &i, LaneMask mask);
    void barrier(const Instruction &i, LaneMask mask);
    void end_threads(LaneMask mask);
    LaneMask guarded(const Instruction &i);
    void put(LaneMask mask, int place);
    LaneMask stalled_at(int place) const;
    int any_lane(LaneMask mask);

    Warp &warp_;
    int left_;
    bool ran_ = false;
    LaneMask group_ = 0; // that runs now
    int place_ = 0;      // of it
    int others_ = 0;     // the next place where lanes outside the group are
};

LaneMask Turn::guarded(const Instruction &i) {
    if (!i.guarded) {
        return group_;
    }
    LaneMask mask = 0;
    const std::uint64_t *guard = warp_.at(i.guard);
    each_lane(group_, [&](int l) { mask |= (guard[l] != 0) != i.guard_negated ? 1u << l : 0u; });
    return mask;
}

LaneMask Turn::stalled_at(int place) const {
    LaneMask here = 0;
    each_lane(warp_.stalled, [&](int l) { here |= warp_.place[static_cast<std::size_t>(l)] == place ? 1u << l : 0u; });
    return here;
}

void Turn::put(LaneMask mask, int place) {
    each_lane(mask, [&](int l) { warp_.place[static_cast<std::size_t>(l)] = place; });
}

// The lanes furthest behind run first, so that others meet them where their ways join; now and then others do, lest
// those behind wait for them for ever.
bool Turn::choose() {
    const LaneMask candidates = runnable();
    if (candidates == 0) {
        return false;
    }
    int chosen = std::numeric_limits<int>::max();
    if (warp_.block->grid->random() % 64 == 0) {
        auto before = static_cast<int>(warp_.block->grid->random() % static_cast<unsigned>(std::popcount(candidates)));
        each_lane(candidates,
                  [&](int l) { chosen = before-- == 0 ? warp_.place[static_cast<std::size_t>(l)] : chosen; });
    } else {
        each_lane(candidates, [&](int l) { chosen = std::min(chosen, warp_.place[static_cast<std::size_t>(l)]); });
    }
    place_ = chosen;
    group_ = 0;
    others_ = std::numeric_limits<int>::max();
    each_lane(warp_.alive & ~warp_.waiting, [&](int l) {
        const int place = warp_.place[static_cast<std::size_t>(l)];
        if (place == chosen) {
            group_ |= 1u << l;
        } else if (place > chosen) {
            others_ = std::min(others_, place);
        }
    });
    warp_.stalled &= ~group_;
    return true;
}

bool Turn::run() {
    while (left_-- > 0 && !warp_.gives_way && choose()) {
        follow();
    }
    warp_.gives_way = false;
    return ran_;
}

// Runs the group until it parts, meets others or has had its turn.
void Turn::follow() {
    while (step()) {
        if (--left_ <= 0 || place_ >= others_ || warp_.gives_way) {
            put(group_, place_);
            return;
        }
    }
}

bool Turn::step() {
    const Instruction &i = warp_.program->code[static_cast<std::size_t>(place_)];
    const LaneMask mask = guarded(i);
    ++warp_.block->grid->executed;
    switch (i.control) {
    case Control::none:
        if (mask != 0) {
            i.execute(warp_, i, mask);
        }
        break;
    case Control::branch:
        if (mask == group_) {
            place_ = i.target;
            ran_ = true;
            return true;
        }
        if (mask != 0) {
            put(mask, i.target);
            put(group_ & ~mask, place_ + 1);
            ran_ = true;
            return false;
        }
        break;
    case Control::end:
        put(group_ & ~mask, place_ + 1);
        end_threads(mask);
        ran_ = true;
        return false;
    case Control::meet:
        if (mask != 0 && !meet(i, mask)) {
            return false;
        }
        break;
    case Control::block_barrier:
        put(group_, place_ + 1);
        barrier(i, mask);
        ran_ = true;
        return false;
    case Control::cluster_wait: {
        const unsigned phase = warp_.block->cluster.front()->cluster_phase;
        LaneMask held = 0;
        each_lane(mask,
                  [&](int l) { held |= warp_.cluster_phase[static_cast<std::size_t>(l)] == phase ? 1u << l : 0u; });
        if (held != 0) {
            put(group_, place_);
            warp_.gives_way = true;
            return false;
        }
        break;
    }
    }
    ran_ = true;
    ++place_;
    return true;
}

// Lanes at one place may name different ones to meet there: those that name the same go on together, when all of them
// that have not ended have come.
bool Turn::meet(const Instruction &i, LaneMask mask) {
    const std::uint64_t *named = warp_.at(i.o[static_cast<std::size_t>(i.count - 1)]);
    const LaneMask chosen = static_cast<LaneMask>(named[any_lane(mask)]);
    LaneMask same = 0;
    each_lane(mask, [&](int l) { same |= static_cast<LaneMask>(named[l]) == chosen ? 1u << l : 0u; });
    if ((same & ~chosen) != 0) {
        fail(warp_, i, "a lane that is not named by its own mask");
    }
    put(group_, place_);
    if ((chosen & warp_.alive & ~same) != 0) {
        const LaneMask here = stalled_at(place_);
        warp_.stalled = here != 0 ? warp_.stalled & ~here : warp_.stalled | same; // who was here first joins
        return false;
    }
    if (i.execute != nullptr) {
        i.execute(warp_, i, same);
    }
    if (same != mask) {
        put(same | (group_ & ~mask), place_ + 1);
        ran_ = true;
        return false;
    }
    return true;
}

int Turn::any_lane(LaneMask mask) {
    for (auto skipped = warp_.block->grid->random() % static_cast<unsigned>(__builtin_popcount(mask)); skipped != 0;
         --skipped) {
        mask &= mask - 1;
    }
    return __builtin_ctz(mask);
}

void release_block(Block &block) {
    if (block.arrived == 0 || block.arrived < block.live_threads) {
        return;
    }
    for (Warp &warp : block.running()) {
        if (warp.waiting != 0 && warp.barrier_combines) {
            std::uint64_t *to = warp.at(warp.barrier_result);
            each_lane(warp.waiting, [&](int l) { to[l] = block.combined != warp.barrier_of_all ? 1 : 0; });
        }
        warp.waiting = 0;
    }
    block.arrived = 0;
    block.combined = false;
}

void Turn::barrier(const Instruction &i, LaneMask mask) {
    Block &block = *warp_.block;
    warp_.waiting |= mask;
    warp_.barrier_combines = i.count == 3;
    if (warp_.barrier_combines) {
        warp_.barrier_result = i.o[0];
        const std::uint64_t *predicate = warp_.at(i.o[2]);
        // All hold where none does not.
        warp_.barrier_of_all = i.of_all;
        each_lane(mask, [&](int l) { block.combined = block.combined || (predicate[l] != 0) != i.of_all; });
    }
    block.arrived += static_cast<unsigned>(__builtin_popcount(mask));
    release_block(block);
}

void Turn::end_threads(LaneMask mask) {
    Block &block = *warp_.block, &first = *block.cluster.front();
    const auto threads = static_cast<unsigned>(__builtin_popcount(mask));
    warp_.alive &= ~mask;
    warp_.stalled = 0; // those who wait for the ones that ended go on
    block.live_threads -= threads;
    first.cluster_live -= threads;
    each_lane(mask, [&](int l) { // nobody waits for those who have ended: those who arrived before count no more
        first.cluster_arrived -= warp_.cluster_phase[static_cast<std::size_t>(l)] == first.cluster_phase ? 1 : 0;
    });
    release_block(block);
    if (first.cluster_arrived != 0 && first.cluster_arrived == first.cluster_live) {
        first.cluster_arrived = 0;
        ++first.cluster_phase;
    }
}

std::uint64_t special_of(Warp &warp, unsigned thread, Special special) {
    const Block &block = *warp.block;
    const Grid &grid = *block.grid;
    switch (special) {
    case Special::tid_x:
        return thread % grid.threads.x;
    case Special::tid_y:
        return thread / grid.threads.x;
    case Special::ntid_x:
        return grid.threads.x;
    case Special::ntid_y:
        return grid.threads.y;
    case Special::ctaid_x:
        return block.place.x;
    case Special::ctaid_y:
        return block.place.y;
    case Special::nctaid_x:
        return grid.blocks.x;
    case Special::nctaid_y:
        return grid.blocks.y;
    case Special::laneid:
        return thread % lanes;
    case Special::cluster_ctarank:
        return block.rank;
    case Special::cluster_nctarank:
        return grid.cluster_blocks;
    case Special::clusterid_x:
        return block.place.x / grid.cluster_blocks;
    case Special::grid_barrier_high:
        return grid.barrier_address() >> 32;
    case Special::grid_barrier_low:
        return grid.barrier_address() & 0xFFFFFFFF;
    case Special::shared_base:
        return block.rank << rank_bit | guarded_bytes;
    case Special::local_base:
        return reinterpret_cast<std::uint64_t>(warp.local_of(static_cast<int>(thread % lanes)));
    case Special::argument_base:
        return reinterpret_cast<std::uint64_t>(grid.arguments);
    case Special::tid_z:
    case Special::ctaid_z:
        return 0;
    case Special::ntid_z:
    case Special::nctaid_z:
        return 1;
    }
    return 0;
}

bool differs_by_lane(Special special) {
    return special == Special::tid_x || special == Special::tid_y || special == Special::laneid ||
           special == Special::local_base;
}

void start_warp(Warp &warp, Block &block, unsigned number, unsigned threads) {
    const Program &program = *block.grid->program;
    const unsigned first = number * lanes, count = std::min<unsigned>(lanes, threads - first);
    warp.program = &program;
    warp.block = &block;
    warp.number = number;
    warp.alive = count == lanes ? all_lanes : (1u << count) - 1;
    warp.stalled = warp.waiting = 0;
    warp.place.fill(0);
    warp.copy_group.fill(0);
    warp.cluster_phase.fill(no_phase);
    warp.copies.clear();
    warp.gives_way = false;
    warp.registers.resize(std::max(warp.registers.size(), program.registers * lanes), poison);
    warp.local.resize(std::max(warp.local.size(), program.local_bytes * lanes), static_cast<unsigned char>(poison));
    for (const auto &[slot, special] : program.specials) {
        std::uint64_t *to = warp.at(slot);
        std::fill_n(to, lanes, special_of(warp, first, special));
        for (unsigned l = 1; l < lanes && differs_by_lane(special); ++l) {
            to[l] = special_of(warp, first + l, special);
        }
    }
}

void start_block(Block &block, Grid &grid, unsigned number) {
    const unsigned threads = grid.threads.x * grid.threads.y;
    block.grid = &grid;
    block.place = {number % grid.blocks.x, number / grid.blocks.x, 0};
    block.shared.resize(grid.program->shared_bytes + grid.launched_bytes);
    std::memset(block.shared.data(), static_cast<int>(grid.random() & 0xFF), block.shared.size());
    block.live_threads = threads;
    block.arrived = 0;
    block.combined = false;
    block.warp_count = (threads + lanes - 1) / lanes;
    block.warps.resize(std::max(block.warps.size(), block.warp_count));
    for (unsigned w = 0; w < block.warp_count; ++w) {
        start_warp(block.warps[w], block, w, threads);
    }
}

// Blocks that run at the same time; each ends before its place is given to another cluster.
class Resident {
  public:
    Resident(Grid &grid, unsigned blocks, std::vector<Block> &places) : grid_(grid), blocks_(places.data(), blocks) {}

    void run();

  private:
    bool start_cluster(std::size_t first);
    bool cluster_is_done(std::size_t first) const;
    bool run_round();
    void arrivals();
    std::string whereabouts() const;

    Grid &grid_;
    std::span<Block> blocks_;
    unsigned started_ = 0;
};

bool Resident::start_cluster(std::size_t first) {
    const unsigned all = grid_.blocks.x * grid_.blocks.y, size = grid_.cluster_blocks;
    if (started_ == all) {
        return false;
    }
    std::vector<Block *> members;
    members.reserve(size);
    for (unsigned rank = 0; rank < size; ++rank) {
        members.push_back(&blocks_[first + rank]);
    }
    for (unsigned rank = 0; rank < size; ++rank) {
        Block &block = *members[rank];
        block.cluster = members;
        block.rank = rank;
        start_block(block, grid_, started_++);
    }
    members[0]->cluster_live = grid_.threads.x * grid_.threads.y * size;
    members[0]->cluster_arrived = members[0]->cluster_phase = 0;
    return true;
}

bool Resident::cluster_is_done(std::size_t first) const {
    return std::all_of(blocks_[first].cluster.begin(), blocks_[first].cluster.end(),
                       [](const Block *block) { return block->live_threads == 0; });
}

void Resident::arrivals() {
    if (grid_.underway.empty()) {
        return;
    }
    std::vector<std::function<void()>> now;
    std::vector<std::function<void()>> later;
    for (auto &write : grid_.underway) {
        (grid_.random() % 2 == 0 ? now : later).push_back(std::move(write));
    }
    grid_.underway = std::move(later);
    for (const auto &write : now) {
        write();
    }
}

bool Resident::run_round() {
    std::vector<Warp *> order;
    for (Block &block : blocks_) {
        if (block.live_threads != 0) {
            for (Warp &warp : block.running()) {
                order.push_back(&warp);
            }
        }
    }
    std::shuffle(order.begin(), order.end(), grid_.random);
    bool progress = !grid_.underway.empty();
    for (Warp *warp : order) {
        progress = Turn(*warp, static_cast<int>(20 + grid_.random() % 2000)).run() || progress;
        arrivals();
    }
    return progress;
}

// Where the threads of the first block that has not ended are.
std::string Resident::whereabouts() const {
    const auto block = std::find_if(blocks_.begin(), blocks_.end(), [](const Block &b) { return b.live_threads != 0; });
    std::string text = "block " + std::to_string(block->place.x) + ":\n";
    for (const Warp &warp : block->running()) {
        std::map<int, LaneMask> lines;
        each_lane(warp.alive, [&](int l) {
            const auto place = static_cast<std::size_t>(warp.place[static_cast<std::size_t>(l)]);
            lines[grid_.program->code[place].line] |= 1u << l;
        });
        for (const auto &[line, lanes_there] : lines) {
            char row[120];
            std::snprintf(row, sizeof(row), "  warp %u, lanes %08x (%08x at the block's barrier): line %d of the PTX\n",
                          warp.number, lanes_there, lanes_there & warp.waiting, line);
            text += row;
        }
    }
    return text;
}

void Resident::run() {
    // A warp whose turn falls to lanes that wait does nothing in a round, though others of its lanes could.
    constexpr int idle_rounds_of_a_deadlock = 100;
    const std::size_t size = grid_.cluster_blocks;
    for (std::size_t first = 0; first + size <= blocks_.size(); first += size) {
        start_cluster(first);
    }
    int idle_rounds = 0;
    for (bool more = true; more;) {
        idle_rounds = run_round() ? 0 : idle_rounds + 1;
        more = false;
        for (std::size_t first = 0; first + size <= blocks_.size(); first += size) {
            more = (!blocks_[first].cluster.empty() && !cluster_is_done(first)) || more;
            if (!blocks_[first].cluster.empty() && cluster_is_done(first)) {
                more = start_cluster(first) || more;
            }
        }
        if (more && idle_rounds == idle_rounds_of_a_deadlock) {
            give_up(grid_.program->name + ": its threads wait for each other, and none can go on\n" + whereabouts());
        }
    }
}

} // namespace

void fail(const Warp &warp, const Instruction &instruction, const char *what) {
    give_up(warp.program->name + ", line " + std::to_string(instruction.line) + " of its PTX, block " +
            std::to_string(warp.block->place.x) + ", warp " + std::to_string(warp.number) + ": " + what);
}

unsigned char *Block::shared_at(std::uint32_t address, std::size_t bytes) {
    const std::uint32_t owner = address >> rank_bit, offset = address & ((1u << rank_bit) - 1);
    if (owner >= cluster.size() || offset < guarded_bytes ||
        offset - guarded_bytes + bytes > cluster[owner]->shared.size()) {
        return nullptr;
    }
    return cluster[owner]->shared.data() + (offset - guarded_bytes);
}

std::uint32_t Block::shared_address_of(const void *generic) const {
    for (const Block *block : cluster) {
        const auto *at = static_cast<const unsigned char *>(generic);
        if (at >= block->shared.data() && at <= block->shared.data() + block->shared.size()) {
            return block->rank << rank_bit |
                   static_cast<std::uint32_t>(guarded_bytes + static_cast<std::size_t>(at - block->shared.data()));
        }
    }
    return 0;
}

std::uint64_t run_kernel(const Program &program, const LaunchShape &shape, const unsigned char *arguments,
                         unsigned resident) {
    static std::uint64_t launches = 0;
    if (program.most_threads != 0 && shape.threads.x * shape.threads.y > program.most_threads) {
        give_up(program.name + ": launched with more threads a block than it is compiled for");
    }
    Grid grid;
    grid.program = &program;
    grid.blocks = shape.blocks;
    grid.threads = shape.threads;
    grid.cluster_blocks = shape.cluster_blocks;
    grid.launched_bytes = shape.launched_bytes;
    grid.together = shape.together;
    grid.arguments = arguments;
    grid.random.seed(++launches);
    const unsigned all = shape.blocks.x * shape.blocks.y;
    const unsigned at_once = std::max(std::min(resident, all) / shape.cluster_blocks, 1u) * shape.cluster_blocks;
    // Their memory serves the next launch: most of a small one's time would go into getting it.
    static std::vector<Block> places;
    places.resize(std::max<std::size_t>(places.size(), at_once));
    for (Block &block : places) {
        block.live_threads = 0;
        block.cluster.clear();
    }
    Resident(grid, at_once, places).run();
    return grid.executed;
}

} // namespace emulator
