// Exact sums of long rows whose elements are neighbours: each thread has a sum in f64 for every limb, and a term leaves
// in each what it has there. A sum begins at 1.5 · 2^52 of its limb's units, so that an addition rounds the term to
// whole units, and what was rounded away is found without an error (J. Demmel, H. D. Nguyen, "Parallel reproducible
// summation", 2015). Ordinary terms meet two or three limbs, any meet two.
#include "cuda/common/kernel_address.cuh"
#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/exact/block_words.cuh"
#include "cuda/reduce/exact/kernels.h"
#include "numerics/mapping.h"

namespace wr::cuda {

namespace {

constexpr ExactLayout layout = layout_of_narrow_sums;
constexpr int words_of_row = exact_words(layout);

// Vectors that a thread asks for at a time, and elements that go through the limbs together.
constexpr int ahead = 4;
constexpr int together = 16;

// The limbs that numbers of a type reach.
template <class T>
struct Reach {
    static constexpr int low = 0, high = 8;
};
template <>
struct Reach<F16> {
    static constexpr int low = 3, high = 5;
};
template <>
struct Reach<AnyFloat8> {
    static constexpr int low = 4, high = 5;
};

// 1.5 · 2^52 units of a limb.
__device__ __forceinline__ constexpr std::uint64_t anchor_of(int limb) {
    return static_cast<std::uint64_t>(1023 + 52 + layout.lowest + limb_bits * limb) << 52 | std::uint64_t{1} << 51;
}

// The limb of the leading bit of a magnitude below infinity, as an f32's pattern; 0 has the lowest.
__device__ __forceinline__ int limb_of(std::uint32_t magnitude) {
    return static_cast<int>((magnitude >> 23) + 22) / limb_bits;
}

template <class T>
struct RowSum {
    static constexpr int low = Reach<T>::low, limbs = Reach<T>::high - low + 1;
    double sums[limbs];
    std::uint32_t marks = 0;
    std::uint32_t numbers = 0; // not 0 as soon as a term was a number but -0

    __device__ __forceinline__ RowSum() {
#pragma unroll
        for (int i = 0; i < limbs; ++i) {
            sums[i] = bit_cast<double>(anchor_of(low + i));
        }
    }

    // All lanes together: `top` is the magnitude of the largest term of the warp. Terms are used up.
    template <int Count>
    __device__ __forceinline__ void add(double (&terms)[Count], std::uint32_t top) {
        const int first = limb_of(top);
        bool left = top != 0;
#pragma unroll
        for (int i = limbs - 1; i >= 0; --i) {
            if (low + i <= first && left) {
                double sum = sums[i];
                std::uint32_t rest = 0;
#pragma unroll
                for (int e = 0; e < Count; ++e) {
                    const double next = sum + terms[e];
                    terms[e] -= next - sum;
                    sum = next;
                    rest |= static_cast<std::uint32_t>(__double2hiint(terms[e]));
                }
                sums[i] = sum;
                left = i > 0 && __any_sync(whole_warp, (rest & 0x7FFFFFFFu) != 0) != 0;
            }
        }
    }

    // One term of each lane, or none.
    __device__ __forceinline__ void add_single(float value, bool there, bool ignore_nan) {
        const std::uint32_t of_term = there ? marks_of(value) : 0;
        note(of_term, ignore_nan);
        double terms[1] = {(of_term & finite_marks) != 0 ? static_cast<double>(value) : 0.0};
        const auto magnitude = bit_cast<std::uint32_t>(static_cast<float>(terms[0])) & 0x7FFFFFFFu;
        add(terms, __reduce_max_sync(whole_warp, magnitude));
    }

    __device__ __forceinline__ void add_together(float (&values)[together], bool ignore_nan) {
        std::uint32_t largest = 0, unlike_minus_zero = 0;
#pragma unroll
        for (float value : values) {
            largest = larger(largest, bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu);
            unlike_minus_zero |= bit_cast<std::uint32_t>(value) ^ 0x80000000u;
        }
        std::uint32_t top = __reduce_max_sync(whole_warp, largest);
        if (top >= 0x7F800000u) {
            top = __reduce_max_sync(whole_warp, take_specials_out(values, ignore_nan));
        } else {
            numbers |= unlike_minus_zero;
            marks |= mark(ExactMark::minus_zero); // which counts where there is nothing else
        }
        double terms[together];
#pragma unroll
        for (int e = 0; e < together; ++e) {
            terms[e] = static_cast<double>(values[e]);
        }
        add(terms, top);
    }

    __device__ __forceinline__ std::uint32_t all_marks() const {
        return marks | (numbers != 0 ? mark(ExactMark::number) : 0);
    }

    // Whole units of limb `low + i`: sum and anchor have one exponent.
    __device__ __forceinline__ std::int64_t units(int i) const {
        return bit_cast<std::int64_t>(sums[i]) - static_cast<std::int64_t>(anchor_of(low + i));
    }

  private:
    __device__ __forceinline__ void note(std::uint32_t of_term, bool ignore_nan) {
        marks |= of_term & (ignore_nan ? ~mark(ExactMark::nan) : ~std::uint32_t{0});
    }

    // Marks each term; those that are no numbers become 0. The largest magnitude that is left.
    __device__ __forceinline__ std::uint32_t take_specials_out(float (&values)[together], bool ignore_nan) {
        std::uint32_t largest = 0;
#pragma unroll
        for (float &value : values) {
            const std::uint32_t of_term = marks_of(value);
            note(of_term, ignore_nan);
            value = (of_term & finite_marks) != 0 ? value : 0.0f;
            largest = larger(largest, bit_cast<std::uint32_t>(value) & 0x7FFFFFFFu);
        }
        return largest;
    }
};

// The elements of vectors, `together` of them from vector `v` on.
template <class T>
__device__ __forceinline__ void values_of(const uint4 (&vectors)[ahead], int v, const Mapping &m,
                                          float (&values)[together]) {
    constexpr int in_word = 4 / static_cast<int>(sizeof(T)), in_vector = 4 * in_word;
#pragma unroll
    for (int e = 0; e < together; ++e) {
        const unsigned word = word_of(vectors[v + e / in_vector], e % in_vector / in_word);
        if constexpr (sizeof(T) == 4) {
            values[e] = bit_cast<float>(word);
        } else if constexpr (sizeof(T) == 2) {
            values[e] = widen(T{static_cast<std::uint16_t>(word >> (e % 2 * 16))});
        } else {
            values[e] = decode(T{static_cast<std::uint8_t>(word >> (e % 4 * 8))}, m);
        }
    }
}

template <class T>
struct RowReader {
    const T *begin;
    std::size_t count;
    int lane, lanes; // of the threads that share the row
    bool ignore_nan;
    unsigned filler;
    Mapping mapping;

    __device__ __forceinline__ void add_single(RowSum<T> &sum, std::size_t i, bool there) const {
        T element{};
        if (there) {
            element = begin[i];
        }
        sum.add_single(decode(element, mapping), there, ignore_nan);
    }

    __device__ __forceinline__ void add_vectors(RowSum<T> &sum, const uint4 (&vectors)[ahead]) const {
        constexpr int vectors_together = together * static_cast<int>(sizeof(T)) / 16;
#pragma unroll
        for (int v = 0; v < ahead; v += vectors_together) {
            float values[together];
            values_of<T>(vectors, v, mapping, values);
            sum.add_together(values, ignore_nan);
        }
    }

    // Vectors on their boundaries; where there are none, what changes nothing. What is left at either end one by one.
    __device__ __forceinline__ void add_all(RowSum<T> &sum) const {
        constexpr std::size_t in_vector = 16 / sizeof(T);
        const std::size_t before =
            smaller<std::size_t>((16 - reinterpret_cast<std::uintptr_t>(begin) % 16) % 16 / sizeof(T), count);
        const std::size_t vectors = (count - before) / in_vector;
        const std::size_t tile = ahead * static_cast<std::size_t>(lanes), tiles = divide_up(vectors, tile);
        const auto *vector = reinterpret_cast<const uint4 *>(begin + before);
        uint4 next[ahead];
        const auto load = [&](uint4(&to)[ahead], std::size_t at) {
#pragma unroll
            for (int v = 0; v < ahead; ++v) {
                const std::size_t i = at * tile + static_cast<std::size_t>(v) * static_cast<std::size_t>(lanes) +
                                      static_cast<std::size_t>(lane);
                to[v] = i < vectors ? __ldcs(vector + i) : uint4{filler, filler, filler, filler};
            }
        };
        if (tiles != 0) {
            load(next, 0);
        }
        for (std::size_t i = 0; i < tiles; ++i) {
            uint4 here[ahead];
#pragma unroll
            for (int v = 0; v < ahead; ++v) {
                here[v] = next[v];
            }
            if (i + 1 < tiles) {
                load(next, i + 1);
            }
            add_vectors(sum, here);
        }
        // Before the vectors and behind them there are fewer elements than a warp has lanes.
        const std::size_t rest = count - vectors * in_vector;
        if (rest != 0 && lane < warp_lanes) {
            const auto at = static_cast<std::size_t>(lane);
            add_single(sum, at < before ? at : at + vectors * in_vector, at < rest);
        }
    }
};

constexpr int row_warps = exact_row_threads / warp_lanes;

// Each word of a warp's sum by one lane, in shared memory.
template <class T>
__device__ __forceinline__ void store_warp(const RowSum<T> &sum, std::int64_t *words) {
    const std::uint32_t marks = __reduce_or_sync(whole_warp, sum.all_marks());
    std::int64_t mine = 0;
#pragma unroll
    for (int i = 0; i < RowSum<T>::limbs; ++i) {
        std::int64_t total = sum.units(i);
#pragma unroll
        for (int step = 1; step < warp_lanes; step *= 2) {
            total += __shfl_xor_sync(whole_warp, total, step);
        }
        mine = lane_index() == RowSum<T>::low + i ? total : mine;
    }
    const int lane = lane_index();
    if (lane < words_of_row) {
        words[lane] = lane < layout.limbs ? mine : marks >> (lane - layout.limbs) & 1u;
    }
}

} // namespace

template <class T>
__global__ void __launch_bounds__(exact_row_threads, 2) exact_sum_rows(const __grid_constant__ ExactArguments a) {
    __shared__ std::int64_t words[row_warps][words_of_row];
    take_place_on_stream();
    const std::size_t block = a.first_block + blockIdx.x;
    const int warps = a.down / warp_lanes, warp = warp_index(), warp_of_row = warp % warps;
    const std::size_t output =
        block / a.splits * static_cast<std::size_t>(row_warps / warps) + static_cast<std::size_t>(warp / warps);
    const std::size_t begin = block % a.splits * a.length;
    if (output < a.outputs) {
        const auto *row = static_cast<const T *>(a.input) +
                          (static_cast<std::ptrdiff_t>(output / a.shape.inner) * a.shape.outer_stride +
                           static_cast<std::ptrdiff_t>(output % a.shape.inner) * a.shape.inner_stride);
        RowReader<T> reader{row + begin,
                            smaller(a.length, a.shape.axis - begin),
                            warp_of_row * warp_lanes + lane_index(),
                            a.down,
                            a.ignore_nan,
                            a.filler,
                            {}};
        reader.mapping.type = a.type;
        RowSum<T> sum;
        reader.add_all(sum);
        store_warp(sum, words[warp]);
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
    if (a.partials == nullptr) {
        if (lane == 0) {
            finish_exactly(&words[warp][0], layout, a.output_type, a.output, output);
        }
    } else if (lane < words_of_row) {
        a.partials[(output * a.splits + block % a.splits) * words_of_row + static_cast<std::size_t>(lane)] =
            word_of_partial(&words[warp][0], lane, layout);
    }
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
