// The emulated GPU: blocks of warps in clusters, their registers and shared memory. Warps take turns of random length
// in random order, in one thread of the processor: what depends on an order shows, what depends on weak memory does
// not.
#pragma once

#include "program.h"

#include <array>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <vector>

namespace emulator {

struct Block;

// A copy from global to shared memory that a lane has started.
struct PendingCopy {
    int lane;
    unsigned group;
    unsigned char *to;
    const unsigned char *from;
    std::size_t bytes;
};

inline constexpr unsigned no_phase = ~0u; // of a cluster's barrier

struct Warp {
    const Program *program = nullptr;
    Block *block = nullptr;
    unsigned number = 0;
    LaneMask alive = 0;             // have not ended
    LaneMask stalled = 0;           // have come to where they must meet other lanes
    LaneMask waiting = 0;           // are at a barrier of the block
    std::array<int, lanes> place{}; // of each lane's next instruction
    std::array<unsigned, lanes> copy_group{};
    std::array<unsigned, lanes> cluster_phase{}; // that it arrived in last
    Slot barrier_result = 0;                     // where a barrier that combines predicates writes
    bool barrier_combines = false, barrier_of_all = false;
    bool gives_way = false; // waits for others by asking again and again
    std::vector<PendingCopy> copies;
    std::vector<std::uint64_t> registers;
    std::vector<unsigned char> local;

    std::uint64_t *at(Slot slot) {
        return slot >= 0
                   ? registers.data() + static_cast<std::size_t>(slot) * lanes
                   : const_cast<std::uint64_t *>(program->constants.data()) + static_cast<std::size_t>(~slot) * lanes;
    }
    unsigned char *local_of(int lane) { return local.data() + static_cast<std::size_t>(lane) * program->local_bytes; }
};

struct Grid;

struct Block {
    Grid *grid = nullptr;
    std::vector<Block *> cluster; // all blocks of its own
    unsigned rank = 0;            // in the cluster
    Index place;
    std::vector<Warp> warps; // of which a launch needs the first
    std::size_t warp_count = 0;
    std::vector<unsigned char> shared;
    unsigned live_threads = 0, arrived = 0;
    bool combined = false;
    // Of the cluster, in its first block.
    unsigned cluster_live = 0, cluster_arrived = 0, cluster_phase = 0;

    std::span<Warp> running() { return {warps.data(), warp_count}; }
    std::span<const Warp> running() const { return {warps.data(), warp_count}; }

    // Where an address of shared memory lies: its upper byte is the block's rank in the cluster.
    unsigned char *shared_at(std::uint32_t address, std::size_t bytes);
    std::uint32_t shared_address_of(const void *generic) const;
};

struct Grid {
    const Program *program = nullptr;
    Index blocks, threads;
    unsigned cluster_blocks = 1;
    std::size_t launched_bytes = 0;
    const unsigned char *arguments = nullptr;
    std::vector<std::function<void()>> underway; // asynchronous writes that have not arrived
    std::mt19937_64 random;
    std::uint64_t executed = 0; // instructions of warps
    bool together = false;      // all blocks run at the same time, and have a barrier
    std::uint64_t barrier = 0;

    std::uint64_t barrier_address() const { return together ? reinterpret_cast<std::uint64_t>(&barrier) : 0; }
};

struct LaunchShape {
    Index blocks, threads;
    unsigned cluster_blocks = 1;
    std::size_t launched_bytes = 0;
    bool together = false;
};

// Runs a kernel to its end. `resident` blocks run at the same time, or one cluster if it has more. How many
// instructions its warps executed.
std::uint64_t run_kernel(const Program &program, const LaunchShape &shape, const unsigned char *arguments,
                         unsigned resident);

// Ends the program with what went wrong and where.
[[noreturn]] void fail(const Warp &warp, const Instruction &instruction, const char *what);

template <class F>
void each_lane(LaneMask mask, F &&body) {
    if (mask == all_lanes) {
        for (int lane = 0; lane < lanes; ++lane) {
            body(lane);
        }
        return;
    }
    for (; mask != 0; mask &= mask - 1) {
        body(__builtin_ctz(mask));
    }
}

} // namespace emulator
