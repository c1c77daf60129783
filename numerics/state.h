// The state of a reduction of a piece of an axis: its bytes, and which subtrees of the natural tree it holds.
//
// A state is a header and, packed behind it, [node][outer][inner] of accumulators (numerics/state_kinds.h);
// docs/states.md is the format for others. The nodes are a function of the piece alone, so that sizes and launches are
// known before any data are, and merging neighbours in any bracketing gives the same bytes.
#pragma once

#include "numerics/element_types.h"
#include "numerics/operators.h"
#include "numerics/status.h"

namespace wr {

// Elements [first, first + count) of an axis.
struct Piece {
    std::uint64_t first, count;

    WR_HD constexpr std::uint64_t end() const { return first + count; }
};

WR_HD constexpr int log2_of_lowest_bit(std::uint64_t x) {
    int log2 = 0;
    for (; (x & 1u) == 0; x >>= 1) {
        ++log2;
    }
    return log2;
}

// Every whole subtree of 2^j elements begins at a multiple of 2^j; those of a piece that are parts of no larger one
// stand in order, first growing and then shrinking: at most this many.
inline constexpr int most_nodes = 126;

// The longest whole subtree that begins at `at` and does not reach beyond `end`, which lies further up.
WR_HD constexpr std::uint64_t subtree_at(std::uint64_t at, std::uint64_t end) {
    std::uint64_t length = std::uint64_t{1} << 62;
    while ((at & (length - 1)) != 0 || length > end - at) {
        length /= 2;
    }
    return length;
}

WR_HD constexpr int node_count(const Piece &piece) {
    int nodes = 0;
    for (std::uint64_t at = piece.first; at != piece.end(); at += subtree_at(at, piece.end())) {
        ++nodes;
    }
    return nodes;
}

// How the nodes of two neighbours become those of both together: the first `before` of the left and the last `after` of
// the right one stay as they are, and the others, which grow away from where the two meet, become one.
struct NodeMerge {
    int before, left, right, after;
    std::uint64_t meeting; // element between the two, divided by the size of the two nodes beside it

    WR_HD constexpr int merged() const { return before + (left != 0 ? 1 : 0) + after; }
};

WR_HD constexpr NodeMerge merge_of_nodes(const Piece &left, const Piece &right) {
    const int left_nodes = node_count(left), right_nodes = node_count(right);
    NodeMerge merge{left_nodes, 0, 0, right_nodes, 0};
    const std::uint64_t at = right.first;
    if (left.count == 0 || right.count == 0) {
        return merge;
    }
    const int least = log2_of_lowest_bit(at);
    merge.meeting = at >> least;
    // Whole subtrees around `at`, as long as they lie within both.
    for (int level = least; level < 62; ++level) {
        const std::uint64_t size = std::uint64_t{2} << level, begin = at / size * size;
        if (begin < left.first || size > right.end() - begin) {
            break;
        }
        const bool is_right_half = (at >> level & 1u) != 0;
        merge.left += is_right_half ? 1 : 0;
        merge.right += level == least || !is_right_half ? 1 : 0;
    }
    merge.before -= merge.left;
    merge.after -= merge.right;
    return merge;
}

// Of operators that are exact in any order a state has one accumulator an output, none of an empty piece.
WR_HD constexpr NodeMerge merge_of_order_free(const Piece &left, const Piece &right) {
    const bool both = left.count != 0 && right.count != 0;
    return both ? NodeMerge{0, 1, 1, 0, 1} : NodeMerge{left.count != 0 ? 1 : 0, 0, 0, right.count != 0 ? 1 : 0, 0};
}

// ---- the header

inline constexpr std::size_t state_header_bytes = 128;
inline constexpr std::size_t state_alignment = 16;
inline constexpr std::uint64_t state_magic = 0x0045544154535257; // "WRSTATE" and a zero
inline constexpr std::uint32_t state_version = 1;

// Little-endian, as all machines are that this is built for.
struct StateHeader {
    std::uint64_t magic;
    std::uint32_t version;
    std::uint32_t flags; // none is known: 0
    Operator op;
    ElementType dtype;
    ElementType weights_dtype; // none where there are no weights
    std::int32_t kind;         // of its accumulators: StateKind
    std::int32_t ignore_nan;   // 0 or 1
    std::int32_t unused;       // 0, as all that follows that name
    std::uint64_t outer, inner;
    std::uint64_t first, count; // both 0 in the state of an exact sum, which lies nowhere
    std::uint64_t nodes;
    std::uint64_t payload_bytes;
    std::uint64_t scale; // of softmax, the pattern of its f64; of others 0
    std::uint64_t more_unused[3];
    std::uint64_t check; // of all words in front of it
};
static_assert(sizeof(StateHeader) == state_header_bytes);
inline constexpr int state_header_words = static_cast<int>(sizeof(StateHeader) / sizeof(std::uint64_t));

struct StateHeaderWords {
    std::uint64_t words[state_header_words];
};

// Each word that differs, alone, gives another one.
WR_HD constexpr std::uint64_t check_word(const StateHeader &header) {
    const auto all = bit_cast<StateHeaderWords>(header);
    std::uint64_t check = 0x9E3779B97F4A7C15u;
    for (int i = 0; i + 1 < state_header_words; ++i) {
        check = (check ^ all.words[i]) * 0xFF51AFD7ED558CCDu;
        check ^= check >> 32;
    }
    return check;
}

// A whole header of what is known of it.
WR_HD constexpr StateHeader sealed(StateHeader header) {
    header.magic = state_magic;
    header.version = state_version;
    header.check = check_word(header);
    return header;
}

// What is written in place of a header where a state was refused: no state.
WR_HD constexpr StateHeader refused_header() { return {}; }

// Whether a stored header is the one that is expected, or why not.
WR_HD constexpr Status judge(const StateHeader &stored, const StateHeader &expected) {
    if (stored.magic != state_magic || stored.version != state_version || stored.check != check_word(stored) ||
        stored.flags != 0 || stored.unused != 0 ||
        (stored.more_unused[0] | stored.more_unused[1] | stored.more_unused[2]) != 0) {
        return Status::invalid_state;
    }
    if (stored.op != expected.op || stored.dtype != expected.dtype || stored.weights_dtype != expected.weights_dtype ||
        stored.kind != expected.kind || stored.ignore_nan != expected.ignore_nan || stored.outer != expected.outer ||
        stored.inner != expected.inner || stored.scale != expected.scale) {
        return Status::state_mismatch;
    }
    if (stored.first != expected.first || stored.count != expected.count) {
        return Status::not_neighbour;
    }
    return stored.nodes == expected.nodes && stored.payload_bytes == expected.payload_bytes ? Status::success
                                                                                            : Status::invalid_state;
}

} // namespace wr
