// Jobs with states, checked and with every default resolved: what capi/ hands to host/ or cuda/.
#pragma once

#include "numerics/problem.h"
#include "numerics/state_kinds.h"

namespace wr {

// What all states of one reduction have in common; softmax has its own (numerics/softmax_piece.h).
struct StateFormat {
    Reduction what;
    StateKind kind;
    std::size_t outer, inner;

    WR_HD constexpr std::size_t outputs() const { return outer * inner; }
    WR_HD constexpr ExactLayout exact() const {
        return exact_layout(what.dtype, what.weights_dtype != ElementType::none);
    }
};

WR_HD constexpr bool is_order_free(StateKind kind) {
    return kind >= StateKind::integer_sum && kind <= StateKind::place_64;
}

WR_HD constexpr std::size_t node_bytes(const StateFormat &format) {
    switch (format.kind) {
    case StateKind::exact:
        return sizeof(std::int64_t) * static_cast<std::size_t>(exact_words(format.exact()));
    case StateKind::sum_f32:
    case StateKind::product_f32:
    case StateKind::product_koalabear:
    case StateKind::product_babybear:
    case StateKind::product_mersenne31:
    case StateKind::extreme_32:
        return 4;
    case StateKind::sum_f64:
    case StateKind::product_f64:
    case StateKind::integer_sum:
    case StateKind::integer_product:
    case StateKind::bit_or:
    case StateKind::bit_xor:
    case StateKind::sum_koalabear:
    case StateKind::sum_babybear:
    case StateKind::sum_mersenne31:
    case StateKind::sum_goldilocks:
    case StateKind::product_goldilocks:
    case StateKind::extreme_64:
        return 8;
    default:
        return 16;
    }
}

WR_HD constexpr std::uint64_t nodes_of(const StateFormat &format, const Piece &piece) {
    if (format.kind == StateKind::exact) {
        return 1;
    }
    return is_order_free(format.kind) ? (piece.count != 0 ? 1 : 0) : static_cast<std::uint64_t>(node_count(piece));
}

WR_HD constexpr NodeMerge merge_of(const StateFormat &format, const Piece &left, const Piece &right) {
    return is_order_free(format.kind) ? merge_of_order_free(left, right) : merge_of_nodes(left, right);
}

WR_HD constexpr std::uint64_t payload_bytes(const StateFormat &format, const Piece &piece) {
    return nodes_of(format, piece) * format.outputs() * node_bytes(format);
}

WR_HD constexpr StateHeader header_of(const StateFormat &format, const Piece &piece) {
    StateHeader header{};
    header.op = format.what.op;
    header.dtype = format.what.dtype;
    header.weights_dtype = format.what.weights_dtype;
    header.kind = static_cast<std::int32_t>(format.kind);
    header.ignore_nan = format.what.ignore_nan ? 1 : 0;
    header.outer = format.outer;
    header.inner = format.inner;
    header.first = format.kind == StateKind::exact ? 0 : piece.first;
    header.count = format.kind == StateKind::exact ? 0 : piece.count;
    header.nodes = nodes_of(format, piece);
    header.payload_bytes = payload_bytes(format, piece);
    return sealed(header);
}

WR_HD void *payload_of(void *state) { return static_cast<char *>(state) + state_header_bytes; }
WR_HD const void *payload_of(const void *state) { return static_cast<const char *>(state) + state_header_bytes; }

struct StateReduceProblem {
    StateFormat format;
    ReduceProblem reduce; // its axis is the piece; it has no output
    std::uint64_t first;
    void *state;
    std::int32_t *check; // nullptr: not wanted
};

struct StateMergeProblem {
    StateFormat format;
    Piece left, right;
    const void *left_state, *right_state;
    void *merged; // may be left_state
    std::int32_t *check;
};

struct StateFinishProblem {
    StateFormat format;
    std::uint64_t count;
    const void *state;
    void *output, *values;
    std::int32_t *check;
};

constexpr Piece piece_of(const StateReduceProblem &problem) { return {problem.first, problem.reduce.shape.axis}; }

// The reduction of the part of a piece that is one node: element `at` of the axis, and `length` elements from there.
inline ReduceProblem reduction_of_node(const StateReduceProblem &problem, std::uint64_t at, std::uint64_t length) {
    ReduceProblem node = problem.reduce;
    const auto steps = static_cast<std::ptrdiff_t>(at - problem.first);
    const auto size = static_cast<std::ptrdiff_t>(traits_of(problem.format.what.dtype).size);
    const auto weight_size = static_cast<std::ptrdiff_t>(traits_of(problem.format.what.weights_dtype).size);
    node.shape.axis = length;
    node.input = static_cast<const char *>(node.input) + steps * node.shape.axis_stride * size;
    node.weights = node.weights == nullptr ? nullptr : static_cast<const char *>(node.weights) + steps * weight_size;
    return node;
}

// Calls use(reduction, accumulators) for each node of a piece: what it reduces, and where its results go. Stops at the
// first that is not `success`.
template <class Result, class Use>
Result for_each_node(const StateReduceProblem &problem, Result success, Use use) {
    const Piece piece = piece_of(problem);
    auto *accumulators = static_cast<char *>(payload_of(problem.state));
    const bool in_one = is_order_free(problem.format.kind);
    Result result = success;
    for (std::uint64_t at = piece.first; result == success && at != piece.end();) {
        const std::uint64_t length = in_one ? piece.count : subtree_at(at, piece.end());
        result = use(reduction_of_node(problem, at, length), accumulators);
        accumulators += problem.format.outputs() * node_bytes(problem.format);
        at += length;
    }
    return result;
}

} // namespace wr
