// Runs kernels on the CPU, without a GPU: the threads of a block by turns, one block after the other. It is slow and
// knows no memory model; it shows whether a kernel computes what it should, whether a warp's lanes meet where they must
// (it ends the program where none can go on), and, where arrays end at pages that nobody may touch, whether it reads
// beyond them.
#pragma once

#include "cuda/runtime.h"

namespace emulator {

using Call = void (*)(const void *kernel, const void *arguments);

// What the running block has of shared memory by its launch; most of it was another block's before.
unsigned char *launched_memory();

// A kernel, before it can be launched.
void learn(const void *kernel, Call call);

struct Gpu {
    int multiprocessors = 4;
};

// Puts the emulator's functions into the library's table. Its GPU is of compute capability 8: without clusters and
// dependent launches, for which kernels use words that the emulator does not know.
void install(const Gpu &gpu);

} // namespace emulator
