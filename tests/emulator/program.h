// A kernel as the emulated GPU runs it: the functions it calls are part of it.
#pragma once

#include "ptx_text.h"

#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace emulator {

inline constexpr int lanes = 32;
using LaneMask = std::uint32_t;
inline constexpr LaneMask all_lanes = ~LaneMask{0};

struct Index {
    unsigned x = 0, y = 0, z = 0;
};

// A register, or below 0 the complement of a constant's number.
using Slot = std::int32_t;

struct Warp;
struct Instruction;

using Execute = void (*)(Warp &warp, const Instruction &instruction, LaneMask mask);

enum class Control : std::uint8_t {
    none,
    branch,
    end,  // of a thread
    meet, // of the lanes that an operand names, before it is executed
    block_barrier,
    cluster_wait,
};

struct Instruction {
    Execute execute = nullptr;
    Control control = Control::none;
    bool guarded = false, guard_negated = false;
    bool in_shared = false;  // its address is one of shared memory
    bool is_uniform = false; // all lanes read the same
    bool of_all = false;     // a barrier's result: whether all predicates hold, not whether any does
    std::uint8_t parts = 1;  // of a vector in memory
    Slot guard = 0;
    int target = 0;
    int line = 0;
    std::int64_t offset = 0;  // of an address
    std::array<Slot, 12> o{}; // operands as written, but an access's address first
    int count = 0;
    std::size_t bytes = 0; // of a copy between functions
};

enum class Special {
    tid_x,
    tid_y,
    tid_z,
    ntid_x,
    ntid_y,
    ntid_z,
    ctaid_x,
    ctaid_y,
    ctaid_z,
    nctaid_x,
    nctaid_y,
    nctaid_z,
    laneid,
    cluster_ctarank,
    cluster_nctarank,
    clusterid_x,
    grid_barrier_high, // halves of where the barrier of a grid is whose blocks run at the same time, else 0
    grid_barrier_low,
    // Not PTX's own: where a block's shared memory, a lane's local memory and the kernel's arguments begin.
    shared_base,
    local_base,
    argument_base
};

struct Program {
    std::string name;
    std::vector<Instruction> code;
    std::vector<std::uint64_t> constants; // a word for every lane
    std::vector<std::pair<Slot, Special>> specials;
    std::size_t registers = 0;
    unsigned most_threads = 0; // of a block; 0: as many as any has
    std::size_t shared_bytes = 0, local_bytes = 0;
    std::vector<std::size_t> arguments; // where each begins
    std::size_t argument_bytes = 0;
    std::vector<std::size_t> argument_sizes;
};

Program program_of(const Module &module, const Function &kernel);

// Registers whose values are needed at different times share a place: a kernel names thousands, and a warp's have a
// word for each lane.
void reuse_registers(Program &program);

} // namespace emulator
