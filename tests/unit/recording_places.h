// Stands in for the host device and the GPU: says which of the two was called, and with what.
#pragma once

#include "numerics/problem.h"
#include "numerics/status.h"

namespace recording {

enum class Place { nowhere, host, cuda };
enum class Behaviour { succeed, out_of_memory, throw_bad_alloc, throw_something_else, report_illegal_address };

struct Record {
    Place called = Place::nowhere;
    int calls = 0;
    wr::ReduceProblem reduce{}; // of the last call of its kind
    wr::SegmentsProblem segments{};
    wr::SoftmaxProblem softmax{};
    void *stream = nullptr;
};

// What was called since the last reset.
Record &record();

// What the places will do, and what the GPU will say of its workspace.
struct Script {
    Behaviour behaviour = Behaviour::succeed;
    std::size_t workspace_bytes = 0;
};
Script &script();

void reset();

} // namespace recording
