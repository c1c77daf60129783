// Which elements of softmax's rows take part, as callers ask for it: masks, lengths, the causal limit, ragged rows.
#pragma once

#include "capi/checks.h"

namespace wr::capi {

struct SelectionAsked {
    const std::uint8_t *mask;
    const std::int64_t *lengths;
    const std::int64_t *offsets;
    std::int32_t causal;
    std::int64_t causal_first;
    std::size_t causal_rows;
};

template <class Args>
SelectionAsked selection_asked(const Args &args) {
    return {args.mask, args.lengths, args.offsets, args.causal, args.causal_first, args.causal_rows};
}

// invalid_option, unsupported or success. `strided`: some stride is given.
Status resolve_selection(const SelectionAsked &asked, const Shape &given, bool strided, Selection &found);

// Where the arrays of a selection lie; `elements` is those of the output. The offsets themselves are not looked at.
struct SelectionRanges {
    MemoryRange mask, lengths, offsets;
};
Status locate_selection(const Selection &selection, const Shape &given, std::size_t elements, SelectionRanges &ranges);

// Where the host device can read them: that offsets do not decrease, and lead nowhere outside the elements.
Status check_offsets(const Selection &selection, std::size_t rows, std::size_t elements);

} // namespace wr::capi
