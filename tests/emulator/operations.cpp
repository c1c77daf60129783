#include "operations.h"

#include "machine.h"

#include <algorithm>

namespace emulator {

namespace {

void trap(Warp &warp, const Instruction &i, LaneMask) { fail(warp, i, "a trap"); }

} // namespace

Opcode::Opcode(std::string_view opcode) : text(opcode) {
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find('.', begin), text.size());
        words.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
}

bool Opcode::has(std::string_view word) const { return std::find(words.begin(), words.end(), word) != words.end(); }

Execute execution_of(const Opcode &opcode) {
    for (const auto &of : {arithmetic_of, bit_operation_of, conversion_of, comparison_of, lane_exchange_of,
                           memory_access_of, barrier_operation_of}) {
        if (const Execute execute = of(opcode)) {
            return execute;
        }
    }
    return opcode.text == "trap" ? trap : nullptr;
}

} // namespace emulator
