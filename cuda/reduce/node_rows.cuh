// The nodes of states of rows that are short and many: a warp takes a row, and keeps its nodes on the way up the tree.
#pragma once

#include "cuda/reduce/node_rows.h"
#include "cuda/reduce/quick_way.cuh"
#include "cuda/reduce/rows.cuh"

namespace wr::cuda {

inline constexpr unsigned side_elements = elements_of_node_side;
inline constexpr unsigned group_elements = warp_lanes, window_elements = group_elements * warp_lanes;
static_assert(window_elements * warp_lanes == side_elements);

// The elements of a row on one side, counted so that its nodes are aligned: growing ones end with the last element of a
// side, shrinking ones begin with its first.
struct NodeSide {
    std::size_t first;          // element of the row that `begin` is
    std::size_t number;         // of the first node
    unsigned begin, end, nodes; // nodes: a bit for the length of each
    bool grows;

    __device__ __forceinline__ NodeSide(const RowNodes &all, bool is_growing)
        : first(is_growing ? 0 : all.growing), number(is_growing ? 0 : static_cast<std::size_t>(all.first_shrinking)),
          begin(is_growing ? side_elements - static_cast<unsigned>(all.growing) : 0),
          end(is_growing ? side_elements : static_cast<unsigned>(all.shrinking)),
          nodes(static_cast<unsigned>(is_growing ? all.growing : all.shrinking)), grows(is_growing) {}

    // Where the node of this length begins, and its place among all nodes.
    __device__ __forceinline__ unsigned node_begin(unsigned length) const {
        return grows ? side_elements - (nodes & (0u - length)) : nodes & (0u - 2 * length);
    }
    __device__ __forceinline__ std::size_t node_number(unsigned length) const {
        const unsigned before = grows ? nodes & (length - 1) : nodes & (0u - 2 * length);
        return number + static_cast<std::size_t>(__popc(before));
    }
};

// One row. As: the operator, or its quick way.
template <class T, class Op, class As>
class NodeRow {
  public:
    __device__ __forceinline__ NodeRow(const RowArguments &a, std::size_t row)
        : a_(a), row_(row), data_(static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.outer_stride) {
    }

    // Whether the quick way was enough.
    __device__ __forceinline__ bool run() {
#pragma unroll 1
        for (int side = 0; side < 2; ++side) {
            const NodeSide of(a_.nodes, side == 0);
            if (of.nodes % group_elements != 0) {
                take_single_elements(of);
            }
            if (of.nodes >= group_elements) {
                take_windows(of);
            }
        }
        return !has_quick_way<Op> || __all_sync(whole_warp, enough_) != 0;
    }

  private:
    using Accumulator = typename As::Accumulator;

    __device__ __forceinline__ T load(const NodeSide &side, unsigned at) const {
        return data_[side.first + (at - side.begin)];
    }
    __device__ __forceinline__ Accumulator map(const T &raw, const NodeSide &side, unsigned at) const {
        return map_element<As>(raw, a_.mapping, side.first + (at - side.begin));
    }
    __device__ __forceinline__ bool is_inside(const NodeSide &side, unsigned at) const {
        return at - side.begin < side.end - side.begin;
    }

    __device__ __forceinline__ void store(const Accumulator &value, std::size_t node) {
        const std::size_t index = node * a_.rows + row_;
        if constexpr (has_quick_way<Op> && !std::is_same_v<Op, As>) {
            enough_ = enough_ && As::is_enough(value);
            store_node(scaled_form(value), a_.nodes.accumulators, index);
        } else {
            store_node(Op::settle(value), a_.nodes.accumulators, index);
        }
    }

    // The tree over what lanes have of `length` elements each, the first lane's from `first` on, up to the longest
    // node.
    __device__ __forceinline__ Accumulator climb(const NodeSide &side, Accumulator value, unsigned first,
                                                 unsigned length) {
        const unsigned own = first + static_cast<unsigned>(lane_index()) * length;
#pragma unroll 1
        for (int distance = 1; distance < warp_lanes && length <= side.nodes; distance *= 2, length *= 2) {
            if ((side.nodes & length) != 0 && own == side.node_begin(length)) {
                store(value, side.node_number(length));
            }
            value = As::combine(value, from_lane_xor(value, distance));
        }
        return value;
    }

    // Nodes of fewer elements than a group's: all of one side lie in one group.
    __device__ __forceinline__ void take_single_elements(const NodeSide &side) {
        const unsigned first = (side.grows ? side.begin : side.end) & (0u - group_elements);
        const unsigned at = first + static_cast<unsigned>(lane_index());
        climb(side, is_inside(side, at) ? map(load(side, at), side, at) : As::identity(), first, 1);
    }

    // What tree_registers groups come to, from `first` on: lane l has that of exchanged_register(l).
    __device__ __forceinline__ Accumulator groups(const NodeSide &side, unsigned first) const {
        const unsigned own = first + static_cast<unsigned>(lane_index());
        T raw[tree_registers];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            if (is_inside(side, own + static_cast<unsigned>(v) * group_elements)) {
                raw[v] = load(side, own + static_cast<unsigned>(v) * group_elements);
            }
        }
        Accumulator values[tree_registers];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            const unsigned at = own + static_cast<unsigned>(v) * group_elements;
            values[v] = is_inside(side, at) ? map(raw[v], side, at) : As::identity();
        }
        exchange_halves<As, log2_of(tree_registers)>(values);
        Accumulator sum = values[0];
#pragma unroll
        for (int distance = tree_registers; distance < warp_lanes; distance *= 2) {
            sum = As::combine(sum, from_lane_xor(sum, distance));
        }
        return sum;
    }

    __device__ __forceinline__ void take_windows(const NodeSide &side) {
        constexpr unsigned tile = tree_registers * group_elements;
        const int lane = lane_index();
        Accumulator windows = As::identity();
#pragma unroll 1
        for (unsigned first = side.begin & (0u - window_elements); first < side.end; first += window_elements) {
            Accumulator mine = As::identity();
            const unsigned end = smaller(side.end, first + window_elements);
#pragma unroll 1
            for (unsigned at = larger(first, side.begin & (0u - tile)); at < end; at += tile) {
                const Accumulator sum = groups(side, at);
                mine = lane / tree_registers == static_cast<int>((at - first) / tile) ? sum : mine;
            }
            const int from = lane / tree_registers * tree_registers + exchanged_register<3, tree_registers>(lane);
            mine = climb(side, from_lane(mine, from), first, group_elements);
            windows = lane == static_cast<int>(first / window_elements) ? mine : windows;
        }
        climb(side, windows, 0, window_elements);
    }

    const RowArguments &a_;
    std::size_t row_;
    const T *data_;
    bool enough_ = true;
};

template <class T, class Op>
__device__ __noinline__ void take_row_again(const RowArguments &a, std::size_t row) {
    NodeRow<T, Op, Op>(a, row).run();
}

// Blocks of threads that a multiprocessor should hold: as many as leave nothing spilled.
template <class Op>
inline constexpr int node_resident_blocks = sizeof(typename Op::Accumulator) <= 8 ? 6 : 4;

template <class T, class Op>
__global__ void __launch_bounds__(row_block_threads, node_resident_blocks<Op>)
    reduce_node_rows(const __grid_constant__ RowArguments a) {
    pdl_wait_and_release();
    const std::size_t row =
        a.first_row + static_cast<std::size_t>(blockIdx.x) * row_block_warps + static_cast<std::size_t>(warp_index());
    if (row < a.rows && !NodeRow<T, Op, QuickOf<Op>>(a, row).run()) {
        take_row_again<T, Op>(a, row);
    }
}

} // namespace wr::cuda
