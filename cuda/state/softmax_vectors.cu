// Base blocks of a piece's rows by vectors: of rows of neighbours of one type, all of which take part.
#include "cuda/softmax/outputs.cuh"
#include "cuda/state/softmax_outputs.cuh"
#include "cuda/state/softmax_state.cuh"

namespace wr::cuda {

// Blocks of threads that a multiprocessor should hold of what makes outputs: as many as leave nothing spilled. Of what
// makes states (bf16 off the boundaries, 4096 x 32768 on an H200: 112 us, with three 130, with two 157).
template <class T, class Load>
inline constexpr int vector_resident_blocks = Load::unaligned  ? (sizeof(T) == 8 ? 1 : 2)
                                              : sizeof(T) == 8 ? 2
                                              : sizeof(T) == 4 ? 3
                                                               : 4;
template <class T, class Load>
inline constexpr int state_resident_blocks = sizeof(T) == 8   ? vector_resident_blocks<T, Load>
                                             : sizeof(T) == 4 ? 3
                                                              : 4;

template <class T, class Load>
struct VectorBlocks {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    static constexpr int resident = state_resident_blocks<T, Load>;
    const SoftmaxArguments &a;
    const T *data;

    __device__ __forceinline__ VectorBlocks(const SoftmaxStateArguments &of, std::uint64_t row)
        : a(of.vectors),
          data(static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * of.vectors.outer_stride) {}

    __device__ __forceinline__ RowState<Float, Sum> state(std::uint64_t begin) const {
        constexpr auto count = static_cast<int>(softmax_block);
        const TileLogits<T, Load> x(a, data + begin, count);
        Float e[lane_elements], maximum;
        const Sum sum = tile_sum<T, Load, Float, Sum>(
            a, data + begin, count, x, e, [&](Float largest, std::int32_t, std::int32_t) { maximum = largest; });
        return {maximum, sum};
    }
};

// A warp's base block of a piece, found out again wherever it is wanted: cheaper than registers that hold it through
// the arithmetic.
struct OwnBlock {
    std::uint64_t row, first; // of the piece's elements
    bool exists;

    template <class Arguments>
    __device__ __forceinline__ explicit OwnBlock(const Arguments &a) {
        unsigned block, thread;
        asm volatile("mov.u32 %0, %%ctaid.x;" : "=r"(block));
        asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
        const std::uint64_t job = block * std::uint64_t{softmax_state_warps} + thread / warp_lanes;
        const JobPlace at(job, a.blocks);
        exists = job < a.rows * a.blocks;
        row = at.outer;
        first = a.cut.piece.left() + at.inner * std::uint64_t{softmax_block};
    }
};

// A warp for each base block of each row. Its exponentials do not wait for the rows' totals.
template <class T, class Load, bool Log>
__global__ void __launch_bounds__(softmax_state_threads, vector_resident_blocks<T, Load>)
    softmax_piece_vectors(const __grid_constant__ SoftmaxFromStateArguments<typename SoftmaxArithmetic<T>::Float,
                                                                            typename SoftmaxArithmetic<T>::Sum>
                              of) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    constexpr auto count = static_cast<int>(softmax_block);
    constexpr ZeroExponent which =
        may_take_zero_exponent<T, Load, Log> ? ZeroExponent::without_row_values : ZeroExponent::never;
    __shared__ TileState<Float, Sum> states[softmax_state_warps];
    const SoftmaxArguments &a = of.vectors;
    const auto data = [&](const OwnBlock &tile) {
        return static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(tile.row) * a.outer_stride + tile.first;
    };
    const OwnBlock from(of);
    pdl_release();
    if (!from.exists) {
        return;
    }
    const TileLogits<T, Load> x(a, data(from), count);
    Float e[lane_elements];
    tile_state<T, Load, Float, Sum, which>(a, data(from), count, x, e, states + warp_index());
    __syncwarp();
    const OwnBlock to(of);
    const TileState<Float, Sum> own = states[threadIdx.x / warp_lanes];
    const std::uint64_t output = to.row * of.cut.piece.count + to.first;
    pdl_wait();
    if (*of.judged.verdict != 0) {
        return;
    }
    const RowState<Float, Sum> total = of.totals[to.row].whole;
    if constexpr (Log) {
        finish_log_softmax<T, Load>(a, log_row(total), output, count, x);
    } else {
        const RowView<Sum> row{total.sum, state_n(total.maximum)};
        BlockFactor<Float> factor;
        if (has_factor_in_row<T, Load, which != ZeroExponent::never>(
                a, own.n, row, e[0], factor,
                [&](std::int32_t gap) { return factor_for_output<T, Load>(row.sum, gap, Float()); })) {
            finish_softmax<T, Load>(a, factor, output, count, e);
        } else {
            finish_special_softmax<T, Load>(a, data(to), output, count, own.maximum, total);
        }
    }
}

// Few rows, in one launch: blocks of threads for each, a warp for what the row comes to and the others for base blocks,
// cut ones too. Nobody waits for the verdict but with what is to be written, and who reads states makes sure of them.
template <class T>
__global__ void __launch_bounds__(most_few_outputs_threads, sizeof(T) == 8 ? 1 : 2)
    softmax_piece_few_rows(const __grid_constant__ SoftmaxFromStateArguments<typename SoftmaxArithmetic<T>::Float,
                                                                             typename SoftmaxArithmetic<T>::Sum>
                               of) {
    using Float = typename SoftmaxArithmetic<T>::Float;
    using Sum = typename SoftmaxArithmetic<T>::Sum;
    using Load = StridedLoad<T>;
    __shared__ RowState<Float, Sum> total;
    __shared__ Status verdict;
    pdl_wait_and_release();
    const SoftmaxArguments &a = of.vectors;
    const std::uint64_t row = blockIdx.x;
    const auto own = static_cast<unsigned>(warp_index()), beside = blockDim.x / warp_lanes - 1;
    const PieceBlock<Float, Sum> block(of.cut, row, of.blocks, std::uint64_t{blockIdx.y} * beside + own - 1);
    const auto count = static_cast<int>(block.end - block.begin);
    const bool has_block = own != 0 && count != 0;
    const StoredHeaders headers(of.judged);
    Float e[lane_elements], maximum;
    if (own == 0) {
        if (judge_states(of.judged, headers, verdict) == Status::success) {
            const RowState<Float, Sum> found = total_of_row(of, row);
            if (lane_index() == 0) {
                total = found;
            }
        }
    } else if (has_block) {
        const T *const data = static_cast<const T *>(a.input) + static_cast<std::ptrdiff_t>(row) * a.outer_stride;
        const Logits<T, Load> x(a, data + block.begin, count);
        maximum = warp_maximum(x.maximum());
        if (!a.log && !block.is_whole() && headers.status(of.judged) == Status::success) {
            maximum = block.maximum_with_neighbours(maximum);
        }
        const Frame<Float> frame = frame_of(maximum);
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            e[i] = a.log ? x[i] : exponential_in(frame, x[i]);
        }
    }
    __syncthreads();
    if (!has_block || verdict != Status::success) {
        return;
    }
    const std::uint64_t first = row * of.cut.piece.count + block.begin;
    const RowKind kind = row_kind(total.maximum);
    if (kind != RowKind::ordinary) {
        const Float value = special_output<Float>(kind, a.log, a.empty_row_zero);
        for (int i = lane_index(); i < count; i += warp_lanes) {
            store_any(value, ElementTypeOf<T>::type, a.output, first + static_cast<unsigned>(i)); // a NaN is canonical
        }
        return;
    }
    if (a.log) {
        const LogPieces<Float> pieces = strided::logsumexp_pieces(RowState<Float, Sum>(total));
#pragma unroll
        for (int i = 0; i < lane_elements; ++i) {
            e[i] = log_softmax_output(e[i], pieces);
        }
    } else {
        form_outputs<T, VectorLoad<T>>(a, strided::factor_of(maximum, RowState<Float, Sum>(total)), e);
    }
    T *const output = static_cast<T *>(a.output) + first + lane_index();
#pragma unroll
    for (int i = 0; i < lane_elements; ++i) {
        if (i * warp_lanes < count - lane_index()) {
            output[i * warp_lanes] = narrow_one(e[i], T());
        }
    }
}

template <class T, class Load>
SoftmaxVectorKernels softmax_vector_kernels_of() {
    return {address_of(softmax_state_rows<VectorBlocks<T, Load>>),
            {address_of(softmax_piece_vectors<T, Load, false>), address_of(softmax_piece_vectors<T, Load, true>)},
            Load::unaligned ? std::size_t{stage_bytes<T, staged_elements<T>>} : 0};
}

template <class T>
const SoftmaxVectorStateKernels &softmax_vector_state_kernels() {
    static const SoftmaxVectorStateKernels kernels{
        softmax_vector_kernels_of<T, VectorLoad<T>>(), softmax_vector_kernels_of<T, UnalignedLoad<T>>(),
        address_of(softmax_state_few_rows<VectorBlocks<T, StridedLoad<T>>>), address_of(softmax_piece_few_rows<T>)};
    return kernels;
}

template const SoftmaxVectorStateKernels &softmax_vector_state_kernels<float>();
template const SoftmaxVectorStateKernels &softmax_vector_state_kernels<double>();
template const SoftmaxVectorStateKernels &softmax_vector_state_kernels<F16>();
template const SoftmaxVectorStateKernels &softmax_vector_state_kernels<BF16>();

} // namespace wr::cuda
