#include "capi/selection.h"

namespace wr::capi {

namespace {

// An array that need not be there.
Status locate_wanted(const void *pointer, std::initializer_list<std::size_t> sizes, std::size_t element_bytes,
                     MemoryRange &range) {
    range = {0, 0};
    return pointer == nullptr ? Status::success : locate_array(pointer, sizes, element_bytes, element_bytes, range);
}

} // namespace

Status resolve_selection(const SelectionAsked &asked, const Shape &given, bool strided, Selection &found) {
    const bool is_causal = asked.causal == 1;
    if ((asked.causal != 0 && !is_causal) || (!is_causal && (asked.causal_first != 0 || asked.causal_rows != 0))) {
        return Status::invalid_option;
    }
    if (asked.offsets != nullptr && (given.inner != 1 || strided || is_causal)) {
        return Status::unsupported;
    }
    found = {};
    found.mask = asked.mask;
    found.lengths = asked.lengths;
    found.causal = is_causal;
    found.causal_first = asked.causal_first;
    found.causal_rows = larger<std::size_t>(asked.causal_rows == 0 ? given.axis : asked.causal_rows, 1);
    found.ragged = asked.offsets != nullptr && given.axis != 0; // without elements all rows are equal
    found.offsets = asked.offsets;                              // and still these must be right
    found.offsets_type = ElementType::i64;
    return Status::success;
}

Status locate_selection(const Selection &selection, const Shape &given, std::size_t elements, SelectionRanges &ranges) {
    if (const Status status = locate_wanted(selection.mask, {elements}, sizeof(std::uint8_t), ranges.mask);
        status != Status::success) {
        return status;
    }
    if (const Status status =
            locate_wanted(selection.lengths, {given.outer, given.inner}, sizeof(std::int64_t), ranges.lengths);
        status != Status::success) {
        return status;
    }
    const std::size_t offsets = given.outer + (given.outer + 1 == 0 ? 0 : 1);
    return locate_wanted(selection.offsets, {offsets}, sizeof(std::int64_t), ranges.offsets);
}

Status check_offsets(const Selection &selection, std::size_t rows, std::size_t elements) {
    const auto *offsets = static_cast<const std::int64_t *>(selection.offsets);
    std::int64_t before = 0;
    for (std::size_t i = 0; offsets != nullptr && i <= rows; ++i) {
        if (offsets[i] < before) {
            return Status::invalid_offsets;
        }
        before = offsets[i];
    }
    return static_cast<std::size_t>(before) > elements ? Status::invalid_offsets : Status::success;
}

} // namespace wr::capi
