// The calls of the walk over a CUDA runtime that is not there, and what they launch.
#pragma once

#include "tests/unit/fake_runtime.h"

extern "C" {
#include "walk.h"
}

#include <compare>
#include <cstddef>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

namespace planted {

// How a kernel is launched.
struct Way {
    std::size_t gpu; // of walked_gpus
    fake::Launched how;
    bool moved; // arrays off the boundary

    auto operator<=>(const Way &) const = default;
};

struct Call {
    std::set<Way> ways;
    // As racecheck's time on an H200 goes, beside four others: for a call, a launch, an element.
    double seconds;
};

// The kernels of the library by the address that a launch names. They register before main.
std::map<const void *, std::string> &kernels();

// H200; one that has clusters of no more blocks than every GPU promises; A100.
extern const std::vector<fake::Gpu> walked_gpus;

// Takes a walk that makes its calls by this walker, on one of the GPUs, and returns what each call did.
std::vector<Call> calls_of(std::size_t gpu, const std::function<void(const walker &)> &walk);

} // namespace planted
