// What PTX's instructions compute from registers, lane by lane.
#pragma once

#include "program.h"

#include <string_view>
#include <vector>

namespace emulator {

// An opcode at its points: "setp.lt.s32" is setp, lt, s32.
struct Opcode {
    std::string_view text;
    std::vector<std::string_view> words;

    explicit Opcode(std::string_view opcode);
    bool has(std::string_view word) const;
    std::string_view last() const { return words.back(); }
};

// nullptr where the opcode is not known.
Execute execution_of(const Opcode &opcode);

// Each looks after one kind of instruction.
Execute arithmetic_of(const Opcode &opcode);
Execute bit_operation_of(const Opcode &opcode);
Execute conversion_of(const Opcode &opcode);
Execute comparison_of(const Opcode &opcode);
Execute lane_exchange_of(const Opcode &opcode);

Execute memory_access_of(const Opcode &opcode);
Execute barrier_operation_of(const Opcode &opcode);

} // namespace emulator
