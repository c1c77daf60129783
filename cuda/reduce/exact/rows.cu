// Exact sums of long rows whose elements are neighbours: warps that share a row, and blocks that do.
#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/exact/kernels.h"
#include "cuda/reduce/exact/lane_sum.cuh"

namespace wr::cuda {

namespace {

// Vectors that a thread asks for at a time.
constexpr int ahead = 4;

template <class T>
struct RowReader {
    const T *begin;
    std::size_t count;
    int lane, lanes; // of the threads that share the row
    bool ignore_nan;
    unsigned filler;
    Mapping mapping;

    // One element of each lane, or none.
    __device__ __forceinline__ void add_single(LaneSum<T> &sum, std::size_t i, bool there) const {
        std::uint32_t terms[terms_together], none = ignore_nan ? canonical_nan_f32 : 0x80000000u;
#pragma unroll
        for (std::uint32_t &term : terms) {
            term = none;
        }
        if (there) {
            terms[0] = bit_cast<std::uint32_t>(static_cast<float>(decode(begin[i], mapping)));
        }
        sum.add(terms, ignore_nan ? ~0u : terms[0] & 0x7FFFFFFFu, ignore_nan);
    }

    // Vectors on their boundaries; where there are none, what changes nothing. What is left at either end one by one.
    __device__ __forceinline__ void add_all(LaneSum<T> &sum) const {
        constexpr std::size_t in_vector = 16 / sizeof(T);
        const std::size_t before =
            smaller<std::size_t>((16 - reinterpret_cast<std::uintptr_t>(begin) % 16) % 16 / sizeof(T), count);
        const std::size_t vectors = (count - before) / in_vector;
        const std::size_t tile = ahead * static_cast<std::size_t>(lanes), tiles = divide_up(vectors, tile);
        const auto *vector = reinterpret_cast<const uint4 *>(begin + before) + lane;
        auto left = static_cast<std::ptrdiff_t>(vectors) - lane;
        uint4 next[ahead];
        const auto load = [&](uint4(&to)[ahead]) {
#pragma unroll
            for (int v = 0; v < ahead; ++v) {
                to[v] = v * lanes < left ? __ldcs(vector + v * lanes) : uint4{filler, filler, filler, filler};
            }
            vector += tile;
            left -= static_cast<std::ptrdiff_t>(tile);
        };
        if (tiles != 0) {
            load(next);
        }
        for (std::size_t i = 0; i < tiles; ++i) {
            uint4 here[ahead];
#pragma unroll
            for (int v = 0; v < ahead; ++v) {
                here[v] = next[v];
            }
            if (i + 1 < tiles) {
                load(next);
            }
#pragma unroll
            for (int v = 0; v < ahead; v += vectors_together<T>) {
                add_vectors<true>(sum, here, v, ignore_nan, mapping);
            }
        }
        // Before the vectors and behind them there are fewer elements than a warp has lanes.
        const std::size_t rest = count - vectors * in_vector;
        if (rest != 0 && lane < warp_lanes) {
            const auto at = static_cast<std::size_t>(lane);
            add_single(sum, at < before ? at : at + vectors * in_vector, at < rest);
        }
    }
};

// Of a multiprocessor. With three f32 would have to keep some of its terms in memory.
template <class T>
constexpr int blocks_of = LaneSum<T>::levels == 2 ? 2 : 3;

} // namespace

template <class T>
__global__ void __launch_bounds__(exact_row_threads, blocks_of<T>)
    exact_sum_rows(const __grid_constant__ ExactArguments a) {
    __shared__ std::int64_t columns[bin_places<T>];
    __shared__ std::int64_t words[row_warps][words_of_row];
    pdl_wait_and_release();
    const std::size_t block = a.first_block + blockIdx.x, split = block % a.splits;
    const int warps = a.down / warp_lanes, warp = warp_index(), warp_of_row = warp % warps;
    const std::size_t output =
        block / a.splits * static_cast<std::size_t>(row_warps / warps) + static_cast<std::size_t>(warp / warps);
    const std::size_t begin = split * a.length;
    if (output < a.outputs) {
        const auto *row = reinterpret_cast<const T *>(begin_of_row(a, output, sizeof(T)));
        RowReader<T> reader{row + begin,
                            smaller(a.length, a.shape.axis - begin),
                            warp_of_row * warp_lanes + lane_index(),
                            a.down,
                            a.ignore_nan,
                            a.filler,
                            {}};
        reader.mapping.type = a.type;
        LaneSum<T> sum(columns + (LaneSum<T>::bins == 0 ? 0 : threadIdx.x));
        reader.add_all(sum);
        if (warps == 1 && a.partials == nullptr && !sum.uses_bins()) {
            finish_rows(a, sum, warp_lanes, output);
            return;
        }
        store_warp(sum, true, a.length <= most_terms_of_lane * static_cast<std::size_t>(warps), words[warp]);
    }
    if (warps > 1) {
        __syncthreads();
    } else {
        __syncwarp();
    }
    if (output >= a.outputs || warp_of_row != 0) {
        return;
    }
    const int lane = lane_index();
    if (warps > 1) {
        std::int64_t total = 0;
        if (lane < words_of_row) {
            for (int i = 0; i < warps; ++i) {
                total += words[warp + i][lane];
            }
            words[warp][lane] = total;
        }
        __syncwarp();
    }
    finish_words(a, &words[warp][0], output, split);
}

const void *exact_rows_kernel(ElementType type) {
    switch (type) {
    case ElementType::f32:
        return address_of(exact_sum_rows<float>);
    case ElementType::f16:
        return address_of(exact_sum_rows<F16>);
    case ElementType::bf16:
        return address_of(exact_sum_rows<BF16>);
    default:
        return address_of(exact_sum_rows<AnyFloat8>);
    }
}

} // namespace wr::cuda
