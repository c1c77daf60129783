// What the entry points of reductions share: a reduction whose sizes are checked, and the checks of its pointers.
#pragma once

#include "capi/checks.h"
#include "capi/offered.h"

namespace wr::capi {

struct Pointers {
    const void *input;
    Extent input_extent;
    const void *weights;
    std::size_t weights_count; // 0: there are none
    void *output, *values;
    std::size_t outputs;
    void *workspace;
    std::size_t workspace_bytes, workspace_needed;
    bool output_may_be_input;
};

// Whether each pointer is there, aligned and apart from the others. There are outputs.
Status check_pointers(const Reduction &what, const Pointers &pointers, MemoryRange further = {0, 0});

// That values are asked for only where there are any, and indices fit the output's type.
Status check_indices(const Reduction &what, bool values_wanted, std::size_t axis);

} // namespace wr::capi
