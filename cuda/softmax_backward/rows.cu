// The gradient of softmax of many rows too long for the registers of a cluster that is there for one row alone:
// clusters stay and go from row to row. While a row waits in registers for its sum and is written, the next one is on
// its way into shared memory.
#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax_backward/flat_rows.cuh"
#include "cuda/softmax_backward/rows.cuh"
#include "cuda/softmax_backward/rows.h"
#include "cuda/softmax_backward/rows_anywhere.cuh"
#include "cuda/softmax_backward/tile.cuh"

namespace wr::cuda {

// Rows whose sums are kept at a time. A warp sends its sum of row i + 2 once all warps of the cluster have sent theirs
// of row i + 1, before which they have read those of row i.
inline constexpr unsigned backward_kept_rows = 2;

// One warp's part in its cluster's rows, number i of which is row first_row + i * a.resident_clusters.
template <class T, bool FromLogits>
class PersistentGradients {
    using Part = WholeTile<T>;
    static constexpr int tile = Part::tile;

  public:
    struct Shared {
        Mbarrier arrived[backward_kept_rows]; // the sums of a row
        Mbarrier loaded[backward_persistent_block_warps(sizeof(T))];
    };
    using Sums = SentSum[backward_kept_rows][backward_most_row_sums];
    static_assert(sizeof(Sums) == backward_persistent_sum_bytes && backward_most_row_sums == most_cluster_states);

    __device__ __forceinline__ PersistentGradients(const BackwardVectorArguments &arguments, unsigned char *memory,
                                                   Shared &all)
        : a(arguments), shared(all), kept(*reinterpret_cast<Sums *>(memory)), warp(warp_index()) {
        const int warps = static_cast<int>(blockDim.x / warp_lanes);
        slot = reinterpret_cast<T *>(memory + sizeof(Sums)) + 2 * warp * tile;
        sums = static_cast<int>(divide_up(a.axis, softmax_block));
        own = static_cast<int>(block_in_cluster()) * warps + warp;
        left = static_cast<int>(a.axis) - own * tile;
        const PipelineRun run = pipeline_run(static_cast<std::uint32_t>(a.rows), a.resident_clusters, cluster_number());
        first_row = run.first;
        rows = run.rows;
    }

    __device__ __forceinline__ void set_up() {
        if (threadIdx.x < backward_kept_rows) {
            shared.arrived[threadIdx.x].initialise();
        }
        if (lane_index() == 0) {
            shared.loaded[warp].initialise();
        }
        __syncwarp(); // all lanes' barriers are initialised one after the other
        if (threadIdx.x < backward_kept_rows) {
            expect_sums(threadIdx.x);
        }
    }

    __device__ __forceinline__ void work() {
        if (left <= 0 || rows == 0) {
            return;
        }
        load(0);
        float logsumexp = logsumexp_of(0);
#pragma unroll 1
        for (unsigned i = 0; i < rows; ++i) {
            BackwardElements<Part> saved, gradients;
            shared.loaded[warp].wait(i & 1u);
            saved.load(slot, count(), minus_zeros<T>);
            gradients.load(slot + tile, count(), gradients_behind<T>(a));
            __syncwarp(); // all lanes have their elements
            load(i + 1);
            const SavedRow<float> row = saved_row(SavedAs::logits, a.log, a.scale, logsumexp, a.empty_row_zero);
            logsumexp = logsumexp_of(i + 1);
            float part = 0;
            const auto weights = weights_of<BackwardWeights<Part, FromLogits>>(
                a, saved, gradients, [&](int) { return row; },
                [&](int v) { return count() - (v * warp_lanes + lane_index()) * Part::run; }, AllElements(),
                TileTree<Part>(), part);
            write_gradients<FromLogits>(a, output_of(i), count() / Part::run - lane_index(), weights, gradients,
                                        AllElements(), row_total(i, part));
        }
    }

  private:
    __device__ __forceinline__ int count() const { return smaller(left, tile); } // elements of the warp's tile
    __device__ __forceinline__ std::size_t row_number(unsigned i) const {
        return first_row + static_cast<std::size_t>(i) * a.resident_clusters;
    }
    __device__ __forceinline__ int first_element() const { return own * tile; }

    __device__ __forceinline__ uint4 *output_of(unsigned i) const {
        T *const row = static_cast<T *>(a.input_gradient) + row_number(i) * a.axis;
        return reinterpret_cast<uint4 *>(row + first_element()) + lane_index();
    }

    __device__ __forceinline__ float logsumexp_of(unsigned i) const {
        return FromLogits && i < rows ? a.logsumexp[row_number(i)] : 0.0f;
    }

    __device__ __forceinline__ void expect_sums(unsigned row) {
        shared.arrived[row].announce(static_cast<unsigned>(sums) * static_cast<unsigned>(sizeof(SentSum)));
    }

    // Starts bringing the warp's part of row i into its slot.
    __device__ __forceinline__ void load(unsigned i) {
        if (lane_index() == 0 && i < rows) {
            const auto row = static_cast<std::ptrdiff_t>(row_number(i));
            const T *const saved = static_cast<const T *>(a.saved) + row * a.outer_stride + first_element();
            const T *const gradients =
                static_cast<const T *>(a.output_gradient) + row * a.gradient_outer_stride + first_element();
            shared.loaded[warp].announce(2 * bytes_of(count()));
            shared.loaded[warp].copy_announced(slot, saved, bytes_of(count()));
            shared.loaded[warp].copy_announced(slot + tile, gradients, bytes_of(count()));
        }
    }
    __device__ __forceinline__ static unsigned bytes_of(int elements) {
        return static_cast<unsigned>(elements) * static_cast<unsigned>(sizeof(T));
    }

    // The sum of row i, of which this warp brings its part.
    __device__ __forceinline__ float row_total(unsigned i, float part) {
        const unsigned place = i % backward_kept_rows;
        if (lane_index() < a.cluster_blocks) {
            shared.arrived[place].send(static_cast<unsigned>(lane_index()), kept[place] + place_of_sum(own, sums),
                                       SentSum{part, 0});
        }
        shared.arrived[place].wait((i / backward_kept_rows) & 1u);
        if (threadIdx.x == 0) {
            expect_sums(place);
        }
        return tree_of_warps(kept[place], sums);
    }

    const BackwardVectorArguments &a;
    Shared &shared;
    Sums &kept;
    int warp;
    T *slot;       // of its tile's saved elements, and gradients
    int sums, own; // of a row, and which of them is this warp's
    int left;      // elements of a row from this warp's first on
    std::uint32_t first_row, rows;
};

// a.cluster_blocks blocks of any number of warps form a cluster.
template <class T, bool FromLogits>
__global__ void __launch_bounds__(backward_persistent_block_warps(sizeof(T)) * warp_lanes, 1)
    backward_persistent(const __grid_constant__ BackwardVectorArguments a) {
#if __CUDA_ARCH__ >= 900
    __shared__ typename PersistentGradients<T, FromLogits>::Shared shared;
    PersistentGradients<T, FromLogits> gradients(a, launched_memory(), shared);
    gradients.set_up();
    pdl_wait_and_release();
    synchronise_cluster(); // no block is written to before its barriers are set up,
    gradients.work();
    synchronise_cluster(); // nor after its end
#endif
}

// The gradient of softmax of short rows, one behind the other: a warp holds as many as its accesses have room for, and
// the exchange yields the sums of all of them at once.

// Warps that a multiprocessor has room for by their registers.
inline constexpr int sub_warp_backward_warps = 32;

// Where a warp's rows lie: each has a power of two of slots, of one access each, of which slot 32 v + l is access v of
// lane l. What has no register is computed again wherever it is wanted.
template <class Part>
struct SubWarpRows {
    static constexpr int accesses = Part::accesses, steps = log2_of(accesses);
    int shift;       // log2 of a row's slots
    int spare;       // slots behind a row's last access
    unsigned filled; // a bit an access: whether there is one

    __device__ __forceinline__ SubWarpRows(const BackwardVectorArguments &a, int row_shift, int rows)
        : shift(row_shift), spare((1 << row_shift) - static_cast<int>(a.axis) / Part::run), filled(0) {
        const int slots = 1 << shift;
#pragma unroll
        for (int v = 0; v < accesses; ++v) {
            const int slot = v * warp_lanes + lane_index();
            filled |= (slot & (slots - 1)) < slots - spare && slot < rows << shift ? 1u << v : 0u;
        }
    }

    __device__ __forceinline__ bool has(int v) const { return (filled >> v & 1) != 0; }
    __device__ __forceinline__ int row_of(int v) const { return (v * warp_lanes + lane_index()) >> shift; }
    // From the first row's first access on.
    __device__ __forceinline__ unsigned place_of(int v) const {
        return static_cast<unsigned>(v * warp_lanes + lane_index() - row_of(v) * spare);
    }

    __device__ __forceinline__ void load(const typename Part::T *data, unsigned behind,
                                         BackwardElements<Part> &loaded) const {
#pragma unroll
        for (int v = 0; v < accesses; ++v) {
            fill_access(loaded.of[v], behind);
            if (has(v)) {
                loaded.of[v] = reinterpret_cast<const typename Part::Access *>(data)[place_of(v)];
            }
        }
    }

    // The natural tree over each row, in the lanes that hold it.
    template <class SumOf>
    __device__ __forceinline__ float operator()(SumOf sum_of) const {
        float sum = 0;
        if constexpr (accesses == 1) {
            sum = sum_of(0);
        } else {
            float pairs[accesses / 2];
            exchange_sums<Part>(sum_of, pairs);
            exchange_halves<FloatSum<float>, steps, 1>(pairs);
            sum = pairs[0];
        }
#pragma unroll
        for (int level = steps; level < 5 + steps; ++level) {
            if (level < shift) {
                sum = sum + from_lane_xor(sum, distance_of_level<accesses>(level));
            }
        }
        return sum;
    }

    // Access v's row's, of which the lanes that hold it have `total`.
    __device__ __forceinline__ static float total_of_row(float total, int v) {
        const int holder = (lane_index() & ~(accesses - 1)) | exchanged_register<steps, accesses>(v);
        return __shfl_sync(whole_warp, total, holder);
    }
};

template <class Part, bool FromLogits>
__global__ void __launch_bounds__(short_row_warps *warp_lanes, sub_warp_backward_warps / short_row_warps)
    backward_sub_warp_rows(const __grid_constant__ BackwardVectorArguments a) {
    using T = typename Part::T;
    pdl_wait_and_release();
    const int shift = 31 - __clz(a.row_lanes), rows_a_tile = (Part::accesses * warp_lanes) >> shift;
    const WarpRows from(a.rows, rows_a_tile);
    if (from.count == 0) {
        return;
    }
    const SubWarpRows<Part> rows(a, shift, from.count);
    const std::size_t first = from.first * static_cast<std::uint32_t>(a.axis);
    BackwardElements<Part> saved, gradients;
    rows.load(static_cast<const T *>(a.saved) + first, minus_zeros<T>, saved);
    rows.load(static_cast<const T *>(a.output_gradient) + first, gradients_behind<T>(a), gradients);
    float logsumexp = 0; // of the tile's row number lane_index()
    if (FromLogits && lane_index() < from.count) {
        logsumexp = a.logsumexp[from.first + static_cast<unsigned>(lane_index())];
    }
    float total = 0;
    const auto weights = weights_of<BackwardWeights<Part, FromLogits>>(
        a, saved, gradients,
        [&](int v) {
            const float own = __shfl_sync(whole_warp, logsumexp, rows.row_of(v));
            return saved_row(SavedAs::logits, a.log, a.scale, own, a.empty_row_zero);
        },
        [&](int v) { return rows.has(v) ? Part::run : 0; }, AllElements(), rows, total);
    const WarpRows to(a.rows, rows_a_tile);
    auto *const output = reinterpret_cast<typename Part::Access *>(static_cast<T *>(a.input_gradient) +
                                                                   to.first * static_cast<std::uint32_t>(a.axis));
#pragma unroll
    for (int v = 0; v < Part::accesses; ++v) {
        const float own = rows.total_of_row(total, v);
        store_access_if(rows.has(v), output + rows.place_of(v),
                        gradients_of<FromLogits>(a, v, weights, gradients, OneForAll{own}));
    }
}

template <class Part>
SubWarpKernels sub_warp_kernels() {
    return {.of = {address_of(backward_sub_warp_rows<Part, false>), address_of(backward_sub_warp_rows<Part, true>)},
            .warp_elements = Part::tile};
}

// Of 16 bits, whose arithmetic takes longer than memory, vectors are moved in registers (4096 x 50257 log-softmax 396
// us, else 421), wider ones go through shared memory (649 us, else 813).
template <class T, bool FromLogits>
const void *anywhere_kernel() {
    if constexpr (sizeof(T) == 2) {
        return address_of(backward_vectors<WholeTile<T>, FromLogits, Alignment::element>);
    } else {
        return address_of(backward_anywhere<FromLogits>);
    }
}

template <class T>
inline constexpr std::size_t flat_few_elements = sizeof(T) == 2 ? backward_flat_elements : backward_flat_few_elements;

template <class T>
const BackwardVectorKernels &backward_vector_kernels() {
    static const BackwardVectorKernels kernels{
        .whole_tiles = {address_of(backward_vectors<WholeTile<T>, false>),
                        address_of(backward_vectors<WholeTile<T>, true>)},
        .half_tiles = {address_of(backward_vectors<HalfTile<T>, false>),
                       address_of(backward_vectors<HalfTile<T>, true>)},
        .quarter_tiles = {address_of(backward_vectors<QuarterTile<T>, false>),
                          address_of(backward_vectors<QuarterTile<T>, true>)},
        .masked = {address_of(backward_masked_vectors<HalfTile<T>, false>),
                   address_of(backward_masked_vectors<HalfTile<T>, true>)},
        .persistent = {address_of(backward_persistent<T, false>), address_of(backward_persistent<T, true>)},
        .anywhere = {anywhere_kernel<T, false>(), anywhere_kernel<T, true>()},
        .elements = {address_of(backward_vectors<ElementTile<T>, false>),
                     address_of(backward_vectors<ElementTile<T>, true>)},
        .flat = {address_of(backward_flat_rows<FlatPart<T, backward_flat_elements>, false>),
                 address_of(backward_flat_rows<FlatPart<T, backward_flat_elements>, true>)},
        .flat_few = {address_of(backward_flat_rows<FlatPart<T, flat_few_elements<T>>, false>),
                     address_of(backward_flat_rows<FlatPart<T, flat_few_elements<T>>, true>)},
        .sub_warp_half_tiles = sub_warp_kernels<HalfTile<T>>(),
        .sub_warp_quarter_tiles = sub_warp_kernels<QuarterTile<T>>(),
        .sub_warp_elements = sub_warp_kernels<SubWarpElements<T>>(),
        .element_bytes = sizeof(T)};
    return kernels;
}

template const BackwardVectorKernels &backward_vector_kernels<float>();
template const BackwardVectorKernels &backward_vector_kernels<F16>();
template const BackwardVectorKernels &backward_vector_kernels<BF16>();

} // namespace wr::cuda
