// The nodes of states of rows that are short and many: a warp takes a row, and keeps its nodes on the way up the tree.
#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/kernels.h"
#include "cuda/reduce/quick_way.cuh"
#include "cuda/reduce/rows.cuh"
#include "cuda/reduce/stage.cuh"
#include "numerics/operator_table.h"

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

// The nodes of rows of states that are very short and many: a block copies rows into shared memory, and a thread takes
// one node of one of them after the other.

// `length` elements, a power of two; Length is the same where it is known, or 0.
template <class Op, int Length, class Element>
__device__ __forceinline__ typename Op::Accumulator node_tree(const Element &element, unsigned length, const Mapping &m,
                                                              std::size_t position) {
    static_assert(most_staged_node == 2 * most_run_elements);
    if constexpr (Length != 0) {
        return part_tree<Op, Length>(element, 0, m, position);
    }
    const auto first = run_tree<Op>(element, static_cast<int>(length), m, position);
    return length <= static_cast<unsigned>(most_run_elements)
               ? first
               : Op::combine(first, run_tree<Op>([&](int i) { return element(i + most_run_elements); },
                                                 most_run_elements, m, position + most_run_elements));
}

// Calls take(length, first element of the row, number) for each node of a row.
template <class Take>
__device__ __forceinline__ void for_each_node_of_row(const RowNodes &nodes, Take &&take) {
#pragma unroll 1
    for (int i = 0; i < 2; ++i) {
        const NodeSide side(nodes, i == 0);
#pragma unroll 1
        for (unsigned bits = side.nodes; bits != 0; bits &= bits - 1) {
            const unsigned length = bits & (0u - bits);
            take(length, static_cast<unsigned>(side.first) + side.node_begin(length) - side.begin,
                 side.node_number(length));
        }
    }
}

// Copies the rows, `pitch` elements from one to the next, and returns where the first one is.
template <class T>
__device__ __forceinline__ const unsigned char *stage_rows(const RowArguments &a, std::size_t first_row, unsigned rows,
                                                           unsigned pitch, unsigned char *memory) {
    const auto axis = static_cast<unsigned>(a.axis), count = rows * axis;
    const T *const data = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(first_row) * a.outer_stride;
    const bool touch = a.outer_stride == static_cast<std::ptrdiff_t>(axis);
    if (touch && pitch == axis) {
        return memory + fill_stage<T>(data, count, {}, a.readable_range, memory);
    }
    if (touch && offset_in_vector(data) == 0) { // of whole vectors, as all that have gaps
        const unsigned row_vectors = axis * static_cast<unsigned>(sizeof(T)) / vector_bytes;
        for_each_staged_vector(
            reinterpret_cast<const char *>(data), rows * row_vectors,
            [&](unsigned v, const uint4 &vector) { reinterpret_cast<uint4 *>(memory)[v + v / row_vectors] = vector; });
        return memory;
    }
#pragma unroll 8
    for (unsigned e = threadIdx.x; e < count; e += row_block_threads) {
        const unsigned row = e / axis, at = e - row * axis;
        const T element = data[static_cast<std::ptrdiff_t>(row) * a.outer_stride + static_cast<std::ptrdiff_t>(at)];
        memcpy(memory + (row * pitch + at) * sizeof(T), &element, sizeof(T));
    }
    return memory;
}

// Blocks of threads that a multiprocessor should hold: as many as leave little spilled.
template <class Op>
inline constexpr int staging_resident_blocks = has_quick_way<Op> ? 4 : 5;

// A block's rows, of which warps take nodes of 32 in turn.
template <class T, class Op>
struct StagedNodes {
    const RowArguments &a;
    const unsigned char *elements;
    std::size_t first_row;
    unsigned pitch, rows, groups, group;

    // Of one node: what gives its accumulator by an operator and what maps an element.
    template <int Length>
    __device__ __forceinline__ auto work(const unsigned char *own, unsigned length, unsigned first) const {
        return [=, &m = a.mapping](auto way, const auto &of) {
            return node_tree<decltype(way), Length>(
                [&](int i) { return of(staged_element<T>(own + i * static_cast<int>(sizeof(T)))); }, length, m, first);
        };
    }

    // One node of each, a power of two of elements; Length is the same where it is known, or 0.
    template <int Length>
    __device__ __forceinline__ void take(unsigned length, unsigned first, std::size_t number) {
#pragma unroll 1
        for (; group < groups; group += row_block_warps) {
            const unsigned row = group * warp_lanes + static_cast<unsigned>(lane_index());
            if (row >= rows) {
                continue;
            }
            const unsigned char *const own = elements + (row * pitch + first) * static_cast<unsigned>(sizeof(T));
            const auto value =
                by_plain_squares<Op>(a.mapping, work<Length>(own, length, first), work<0>(own, length, first));
            store_node(Op::settle(value), a.nodes.accumulators, number * a.rows + first_row + row);
        }
        group -= groups;
    }
    __device__ __forceinline__ void operator()(unsigned length, unsigned first, std::size_t number) {
        switch (length) {
        case 1:
            return take<1>(length, first, number);
        case 2:
            return take<2>(length, first, number);
        case 4:
            return take<4>(length, first, number);
        case 8:
            return take<8>(length, first, number);
        default:
            return take<0>(length, first, number);
        }
    }
};

// a.tiles rows a block.
template <class T, class Op>
__global__ void __launch_bounds__(row_block_threads, staging_resident_blocks<Op>)
    reduce_staged_nodes(const __grid_constant__ RowArguments a) {
    pdl_wait_and_release();
    const auto axis = static_cast<unsigned>(a.axis), rows_a_block = static_cast<unsigned>(a.tiles);
    const unsigned pitch = axis + gap_of_staged_rows(axis, sizeof(T));
    const std::size_t first_row = a.first_row + static_cast<std::size_t>(blockIdx.x) * rows_a_block;
    const auto rows = static_cast<unsigned>(smaller<std::size_t>(a.rows - first_row, rows_a_block));
    const unsigned char *const elements = stage_rows<T>(a, first_row, rows, pitch, launched_memory());
    __syncthreads();
    for_each_node_of_row(a.nodes, StagedNodes<T, Op>{a, elements, first_row, pitch, rows,
                                                     divide_up(rows, static_cast<unsigned>(warp_lanes)),
                                                     static_cast<unsigned>(warp_index())});
}

NodeRowKernels find_node_row_kernels(const Reduction &what) {
    return with_operator(what, [](auto row) -> NodeRowKernels {
        using T = typename decltype(row)::Element;
        using Op = typename decltype(row)::Operator;
        if constexpr (Op::order_free || is_rare<Op>) {
            return {};
        } else {
            return {address_of(reduce_node_rows<T, Op>), address_of(reduce_staged_nodes<T, Op>)};
        }
    });
}

} // namespace wr::cuda
