// What a block gets of shared memory by its launch, in the emulator.
#pragma once

#include "emulator.h"

namespace wr::cuda {

inline unsigned char *launched_memory() { return emulator::launched_memory(); }

} // namespace wr::cuda
