#include "capi/reduction_call.h"

namespace wr::capi {

namespace {

constexpr std::size_t largest_i32_axis = 0x7FFFFFFF;

bool gives_index(Operator op) { return op == Operator::argmin || op == Operator::argmax; }

Status locate_elements(const void *pointer, std::size_t count, ElementType type, MemoryRange &range) {
    return locate_array(pointer, {count}, traits_of(type).size, traits_of(type).alignment, range);
}

} // namespace

Status check_pointers(const Reduction &what, const Pointers &p, MemoryRange further) {
    MemoryRange input{}, weights{}, output{}, values{}, workspace{};
    if (const Status status = locate(p.input, p.input_extent, traits_of(what.dtype).alignment, input);
        status != Status::success) {
        return status;
    }
    if (const Status status = locate_elements(p.weights, p.weights_count, what.weights_dtype, weights);
        status != Status::success) {
        return status;
    }
    if (const Status status = locate_elements(p.output, p.outputs, what.output_dtype, output);
        status != Status::success) {
        return status;
    }
    if (const Status status = locate_elements(p.values, p.values == nullptr ? 0 : p.outputs, what.dtype, values);
        status != Status::success) {
        return status;
    }
    if (const Status status = locate_workspace(p.workspace, p.workspace_bytes, p.workspace_needed, workspace);
        status != Status::success) {
        return status;
    }
    const bool in_place = p.output_may_be_input && p.input == p.output;
    const MemoryRange written[] = {output, values, workspace};
    const bool any = any_two_overlap(written) || (!in_place && overlaps_any(input, written)) ||
                     overlaps_any(weights, written) || overlaps_any(further, written);
    return any ? Status::overlap : Status::success;
}

Status check_indices(const Reduction &what, bool values_wanted, std::size_t axis) {
    if (!gives_index(what.op)) {
        return values_wanted ? Status::unsupported : Status::success;
    }
    return what.output_dtype == ElementType::i32 && axis > largest_i32_axis ? Status::unsupported : Status::success;
}

} // namespace wr::capi
