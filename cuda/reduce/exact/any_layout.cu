// Exact sums along an axis that lies anyhow: each thread adds its elements to limbs of its own, limb by limb.
#include "cuda/device/intrinsics.cuh"
#include "cuda/reduce/exact/block_words.cuh"
#include "cuda/reduce/exact/kernels.h"
#include "cuda/reduce/exact/window.cuh"
#include "numerics/mapping.h"

namespace wr::cuda {

namespace {

// Elements that a thread asks for before it adds the first.
constexpr int elements_ahead = 8;

template <class T, bool Products>
struct ExactTerms {
    static constexpr bool is_f64 = sizeof(T) == 8;
    static constexpr ExactLayout layout = exact_layout(is_f64 ? ElementType::f64 : ElementType::f32, Products);
    static constexpr int threads = exact_threads(is_f64 ? ElementType::f64 : ElementType::f32, Products);

    // The marks of a term that was added.
    template <class Value>
    __device__ static __forceinline__ std::uint32_t add(const ThreadWords &words, Value x, Value y) {
        if constexpr (Products && is_f64) {
            const std::uint32_t marks = marks_of_product(x, y);
            if ((marks & finite_marks) != 0) {
                add_product_exactly(words, x, y);
            }
            return marks;
        } else if constexpr (Products) {
            return add_one(words, static_cast<double>(x) * static_cast<double>(y));
        } else {
            return add_one(words, x);
        }
    }

  private:
    template <class Value>
    __device__ static __forceinline__ std::uint32_t add_one(const ThreadWords &words, Value x) {
        const std::uint32_t marks = marks_of(x);
        if ((marks & finite_marks) != 0) {
            add_exactly(words, layout, x);
        }
        return marks;
    }
};

// What of the axis a thread takes, of which output.
struct ExactShare {
    std::size_t output, split;
    int lane; // among the output's threads
    bool there;
};

__device__ __forceinline__ ExactShare share_of(const ExactArguments &a, int threads) {
    const std::size_t block = a.first_block + blockIdx.x;
    const int thread = static_cast<int>(threadIdx.x), across = threads / a.down;
    const int of = a.down_side_by_side ? thread / a.down : thread % across;
    const int lane = a.down_side_by_side ? thread % a.down : thread / across;
    const std::size_t output = block / a.splits * static_cast<std::size_t>(across) + static_cast<std::size_t>(of);
    return {output, block % a.splits, lane, output < a.outputs};
}

// The elements and weights of an output that a thread takes.
template <class T, bool Products>
struct ExactElements {
    using Terms = ExactTerms<T, Products>;

    const T *row;
    const T *weights;
    std::ptrdiff_t stride;
    Mapping mapping;

    __device__ __forceinline__ ExactElements(const ExactArguments &a, std::size_t output)
        : row(static_cast<const T *>(a.input) +
              (static_cast<std::ptrdiff_t>(output / a.shape.inner) * a.shape.outer_stride +
               static_cast<std::ptrdiff_t>(output % a.shape.inner) * a.shape.inner_stride)),
          weights(static_cast<const T *>(a.weights)), stride(a.shape.axis_stride), mapping{} {
        mapping.type = a.type;
    }

    __device__ __forceinline__ T element(std::size_t i) const { return row[static_cast<std::ptrdiff_t>(i) * stride]; }

    // Adds one term; its marks.
    __device__ __forceinline__ std::uint32_t add(const ThreadWords &words, T x, T y) const {
        return Terms::add(words, decode(x, mapping), decode(y, mapping));
    }

    // A term that is an f64.
    __device__ __forceinline__ double term(T x, T y) const {
        const auto value = static_cast<double>(decode(x, mapping));
        return Products ? value * static_cast<double>(decode(y, mapping)) : value;
    }
};

// Products of f64 are none.
template <class T, bool Products>
inline constexpr bool terms_are_f64 = !(Products && sizeof(T) == 8);

// Terms of `elements_ahead` elements; what is special of them goes one by one.
template <class T, bool Products, int Levels>
__device__ __forceinline__ std::uint32_t add_batch(const ExactElements<T, Products> &from, const ThreadWords &words,
                                                   Window<Levels> &window, const T (&x)[elements_ahead],
                                                   const T (&y)[elements_ahead]) {
    std::uint32_t marks = 0;
    if constexpr (terms_are_f64<T, Products>) {
        double terms[elements_ahead];
        int largest = 0, unlike_minus_zero = 0;
#pragma unroll
        for (int e = 0; e < elements_ahead; ++e) {
            terms[e] = from.term(x[e], y[e]);
            const int high = __double2hiint(terms[e]);
            largest = larger(largest, high & 0x7FFFFFFF);
            unlike_minus_zero |= (high ^ static_cast<int>(0x80000000u)) | __double2loint(terms[e]);
        }
        const int top = largest >> 20;
        if (top != 0x7FF) {
            if (unlike_minus_zero == 0) {
                return mark(ExactMark::minus_zero);
            }
            window.add(terms, top, words, ExactTerms<T, Products>::layout);
            return mark(ExactMark::number);
        }
    }
#pragma unroll
    for (int e = 0; e < elements_ahead; ++e) {
        marks |= from.add(words, x[e], y[e]);
    }
    return marks;
}

template <class T, bool Products>
__device__ __forceinline__ void add_share(const ExactArguments &a, const ExactShare &share, const ThreadWords &words) {
    using Terms = ExactTerms<T, Products>;
    constexpr int levels = sizeof(T) == 8 || Products ? 3 : 2;
    const std::size_t begin = share.split * a.length, end = smaller(begin + a.length, a.shape.axis);
    const ExactElements<T, Products> from(a, share.output);
    const auto step = static_cast<std::size_t>(a.down);
    std::uint32_t marks = 0;
    std::size_t i = begin + static_cast<std::size_t>(share.lane);
    Window<levels> window;
    for (; i + (elements_ahead - 1) * step < end; i += elements_ahead * step) {
        T x[elements_ahead], y[elements_ahead];
#pragma unroll
        for (int e = 0; e < elements_ahead; ++e) {
            x[e] = from.element(i + static_cast<std::size_t>(e) * step);
            y[e] = Products ? from.weights[i + static_cast<std::size_t>(e) * step] : x[e];
        }
        marks |= add_batch(from, words, window, x, y);
    }
    window.flush(words, Terms::layout);
    for (; i < end; i += step) {
        const T x = from.element(i);
        marks |= from.add(words, x, Products ? from.weights[i] : x);
    }
    marks &= a.ignore_nan ? ~mark(ExactMark::nan) : ~std::uint32_t{0};
    for (int kind = 0; kind < exact_marks; ++kind) {
        words[Terms::layout.limbs + kind] = marks >> kind & 1u;
    }
}

// Adds the words of an output's threads up, into those of its first; its threads share the words. Each begins with
// another column, for all of a row are in different banks.
__device__ __forceinline__ void add_columns(const ThreadWords &first, const ExactShare &share, int down, int apart,
                                            int count) {
    for (int word = share.lane; word < count; word += down) {
        std::int64_t sum = 0;
        for (int i = 0; i < down; ++i) {
            sum += first.column[word * first.threads + (i + share.lane) % down * apart];
        }
        first[word] = sum;
    }
}

} // namespace

template <class T, bool Products>
__global__ void __launch_bounds__(exact_threads(sizeof(T) == 8 ? ElementType::f64 : ElementType::f32, Products))
    exact_sum_any_layout(const __grid_constant__ ExactArguments a) {
    using Terms = ExactTerms<T, Products>;
    constexpr int threads = Terms::threads, count = exact_words(Terms::layout);
    __shared__ std::int64_t columns[count * threads];
    pdl_wait_and_release();
    const ExactShare share = share_of(a, threads);
    const int thread = static_cast<int>(threadIdx.x), across = threads / a.down;
    const ThreadWords words{columns + thread, threads};
    for (int i = 0; i < count; ++i) {
        words[i] = 0;
    }
    if (share.there) {
        add_share<T, Products>(a, share, words);
    }
    __syncthreads();
    const int apart = a.down_side_by_side ? 1 : across;
    const ThreadWords first{columns + (thread - share.lane * apart), threads};
    if (a.down > 1) {
        add_columns(first, share, a.down, apart, count);
        __syncthreads();
    }
    if (!share.there) {
        return;
    }
    if (a.partials == nullptr) {
        if (share.lane == 0) {
            finish_exactly(first, Terms::layout, a.output_type, a.output, share.output);
        }
        return;
    }
    std::int64_t *partial = a.partials + (share.output * a.splits + share.split) * count;
    for (int word = share.lane; word < count; word += a.down) {
        partial[word] = word_of_partial(first, word, Terms::layout);
    }
}

namespace {

template <class T>
const void *kernel_for(bool products) {
    return products ? address_of(exact_sum_any_layout<T, true>) : address_of(exact_sum_any_layout<T, false>);
}

} // namespace

const void *exact_sum_kernel(ElementType type, bool products) {
    switch (traits_of(type).size) {
    case 8:
        return kernel_for<double>(products);
    case 4:
        return kernel_for<float>(products);
    case 2:
        return kernel_for<AnyFloat16>(products);
    default:
        return kernel_for<AnyFloat8>(products);
    }
}

} // namespace wr::cuda
