// The kernels of softmax, of its gradient and of logsumexp, run by the emulator, give the bits of the host device:
// random types, layouts and options over the edges of all regimes. `softmax_is_that_of_the_host [JOBS [SEED]]`.
#include "check.h"
#include "guarded_memory.h"
#include "random_jobs.h"

#include "warp_reduce.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace {

constexpr wr_dtype float_types[] = {WR_F32, WR_BF16, WR_F16, WR_F64, WR_F8_E4M3, WR_F8_E5M2};
constexpr wr_dtype usual_types[] = {WR_F32, WR_BF16, WR_F16};

// Bits of a number of a type, by its sign, a small exponent and the highest bits of its fraction.
std::uint64_t logit_bits(wr_dtype dtype, bool negative, int exponent, std::uint64_t fraction) {
    const auto made = [&](int exponent_bits, int fraction_bits) {
        const int bias = (1 << (exponent_bits - 1)) - 1;
        const std::uint64_t sign = negative ? std::uint64_t{1} << (exponent_bits + fraction_bits) : 0;
        const std::int64_t biased = std::int64_t{exponent} + bias;
        return sign | static_cast<std::uint64_t>(biased) << fraction_bits | fraction >> (64 - fraction_bits);
    };
    switch (dtype) {
    case WR_F64:
        return made(11, 52);
    case WR_F16:
        return made(5, 10);
    case WR_BF16:
        return made(8, 7);
    case WR_F8_E4M3:
        return made(4, 3);
    case WR_F8_E5M2:
        return made(5, 2);
    default:
        return made(8, 23);
    }
}

// Mostly between -32 and 32, or -8 and 8, where nobody waits for a maximum; at times of any bits, and then with NaN and
// infinities.
void fill_logits(Random &random, wr_dtype dtype, unsigned char *data, std::size_t count) {
    const std::size_t size = wr_dtype_size(dtype), wild = one_in(random, 6) ? 1 + below(random, 300) : 0;
    const int spread = 1 + static_cast<int>(below(random, 10)), largest = one_in(random, 2) ? 4 : 2;
    for (std::size_t i = 0; i < count; ++i) {
        const std::uint64_t any = random();
        const int exponent = largest - static_cast<int>(any % static_cast<unsigned>(spread));
        const std::uint64_t bits =
            wild != 0 && one_in(random, wild) ? random() : logit_bits(dtype, (any >> 8 & 1) != 0, exponent, random());
        std::memcpy(data + i * size, &bits, size);
    }
}

struct Sizes {
    std::size_t outer, axis, inner;
};

Sizes random_sizes(Random &random) {
    constexpr std::size_t narrow[] = {2, 3, 4, 5, 7, 8, 16, 17, 31, 32, 33, 64, 100, 128, 257, 512};
    constexpr std::size_t long_axes[] = {10000, 16384, 16385,  20000,  32768, 32769,
                                         50257, 65536, 131072, 140000, 262144};
    if (one_in(random, 12)) { // more rows than one multiprocessor has lanes to spread over
        const bool tiny = one_in(random, 2);
        return {tiny ? 2100 + below(random, 100) : 20 + below(random, 40), 1 + below(random, tiny ? 8 : 1000), 1};
    }
    const std::size_t most = one_in(random, 12) ? 300000 : 20000;
    Sizes s{1, any_of(random, edges) + (one_in(random, 3) ? below(random, 8) : 0), 1};
    if (most == 300000 && one_in(random, 2)) {
        s.axis = any_of(random, long_axes) + (one_in(random, 2) ? below(random, 9) : 0);
    }
    if (one_in(random, 5)) {
        s.inner = any_of(random, narrow);
        s.axis = std::min(s.axis, most / s.inner + 1);
    }
    s.axis = one_in(random, 60) ? 0 : s.axis;
    const std::size_t room = most / ((s.axis + 1) * s.inner) + 1;
    s.outer = one_in(random, 3) ? 1 : 1 + below(random, std::min<std::size_t>(room, 2000));
    return s;
}

// Memory whose first or last element lies at a page that nobody may touch, off the boundaries by some elements.
class RandomArray {
  public:
    RandomArray(Random &random, wr_dtype dtype, std::size_t count)
        : count_(count), size_(wr_dtype_size(dtype)),
          memory_(count * size_, one_in(random, 2), one_in(random, 2) ? 0 : below(random, 16 / size_) * size_) {
        fill_logits(random, dtype, data(), count);
    }
    unsigned char *data() const { return memory_.data(); }
    std::size_t bytes() const { return count_ * size_; }
    std::vector<unsigned char> copied() const { return {data(), data() + bytes()}; }
    void restore(const std::vector<unsigned char> &from) const {
        if (!from.empty()) {
            std::memcpy(data(), from.data(), from.size());
        }
    }

  private:
    std::size_t count_, size_;
    GuardedMemory memory_;
};

// Numbers that a page which nobody may touch follows or precedes.
template <class T>
class GuardedNumbers {
  public:
    template <class Number>
    const T *make(Random &random, std::size_t count, Number number) {
        memory_.emplace(count * sizeof(T), one_in(random, 2), 0);
        numbers_ = {reinterpret_cast<T *>(memory_->data()), count};
        std::generate(numbers_.begin(), numbers_.end(), number);
        return numbers_.data();
    }
    std::span<T> all() const { return numbers_; }

  private:
    std::optional<GuardedMemory> memory_;
    std::span<T> numbers_;
};

// What leaves elements out, for the forward and the backward call alike.
struct Selection {
    GuardedNumbers<std::uint8_t> mask;
    GuardedNumbers<std::int64_t> lengths, offsets;

    template <class Args>
    void put(Random &random, Args &args, Sizes s) {
        const std::size_t rows = s.outer * s.inner, kind = below(random, 8);
        if (kind == 0) {
            const std::size_t rare = 1 + below(random, 20);
            args.mask = mask.make(random, rows * s.axis, [&] {
                return static_cast<std::uint8_t>(one_in(random, rare) ? 0 : 1 + below(random, 255));
            });
        }
        if (kind == 1 || (kind == 0 && one_in(random, 4))) {
            args.lengths =
                lengths.make(random, rows, [&] { return static_cast<std::int64_t>(below(random, s.axis + 4)) - 1; });
        }
        if (kind == 2) {
            args.causal = 1;
            args.causal_first = static_cast<std::int64_t>(below(random, 6)) - 2;
            args.causal_rows = one_in(random, 2) ? 0 : 1 + below(random, s.outer);
        }
    }
    // Rows one after the other in `axis` elements.
    template <class Args>
    void put_ragged(Random &random, Args &args, Sizes s) {
        args.offsets =
            offsets.make(random, s.outer + 1, [&] { return static_cast<std::int64_t>(below(random, s.axis + 1)); });
        std::sort(offsets.all().begin(), offsets.all().end());
    }
};

// Runs a job on the host device and on the emulated GPU, and compares all that it wrote.
template <class Args, class Call>
bool same_on_both(const Args &args, Call call, const std::vector<const RandomArray *> &written,
                  const std::string &what) {
    std::vector<std::vector<unsigned char>> before, of_host;
    for (const RandomArray *array : written) {
        before.push_back(array->copied());
    }
    const wr_status expected = call(&args, wr_host_stream());
    for (std::size_t a = 0; a < written.size(); ++a) {
        of_host.push_back(written[a]->copied());
        written[a]->restore(before[a]);
    }
    if (expected == WR_ERROR_UNSUPPORTED) {
        return false;
    }
    const wr_status status = call(&args, emulated_stream());
    CHECK(status == expected, "%s: %s, not %s", what.c_str(), wr_status_name(status), wr_status_name(expected));
    for (std::size_t a = 0; a < written.size(); ++a) {
        CHECK(written[a]->copied() == of_host[a], "%s: other bits in output %zu", what.c_str(), a);
    }
    return true;
}

template <class Args>
std::string described(const Args &a, std::size_t offset) {
    char text[320];
    std::snprintf(
        text, sizeof(text),
        "type %d, log %d, [%zu][%zu][%zu] strides %td %td, scale %g, mask %d, lengths %d, causal %d (%td of %zu), "
        "offsets %d, input %zu off",
        static_cast<int>(a.dtype), a.log, a.outer, a.axis, a.inner, a.outer_stride, a.axis_stride, a.scale,
        a.mask != nullptr, a.lengths != nullptr, a.causal, static_cast<std::ptrdiff_t>(a.causal_first), a.causal_rows,
        a.offsets != nullptr, offset);
    return text;
}

template <class Args>
Args begun(Random &random, const Sizes &s) {
    Args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.dtype = one_in(random, 2) ? any_of(random, usual_types) : any_of(random, float_types);
    args.log = one_in(random, 3);
    args.scale = one_in(random, 4) ? 0.7 : 0.0;
    args.empty_row = one_in(random, 2) ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
    args.outer = s.outer;
    args.axis = s.axis;
    args.inner = s.inner;
    return args;
}

// Twice the elements between rows and neighbours, at times.
template <class Args>
std::size_t spread(Random &random, Args &args, const Sizes &s) {
    if (s.axis == 0 || !one_in(random, 12)) {
        return s.outer * s.axis * s.inner;
    }
    const bool apart = one_in(random, 2);
    args.axis_stride = static_cast<std::ptrdiff_t>(s.inner * (apart ? 2 : 1));
    args.outer_stride = static_cast<std::ptrdiff_t>(2 * s.axis * s.inner);
    args.inner_stride = 1;
    args.strides_given = 1;
    return 2 * s.outer * s.axis * s.inner;
}

wr_dtype accumulated(wr_dtype dtype) { return dtype == WR_F64 ? WR_F64 : WR_F32; }

bool check_forward(Random &random) {
    const Sizes s = random_sizes(random);
    auto args = begun<wr_softmax_args>(random, s);
    Selection selection;
    const bool ragged = s.inner == 1 && one_in(random, 8);
    const std::size_t elements = ragged ? s.axis : spread(random, args, s);
    const std::size_t outputs = ragged ? s.axis : s.outer * s.axis * s.inner;
    if (ragged) {
        selection.put_ragged(random, args, s);
    } else {
        selection.put(random, args, s);
    }
    args.output_dtype = one_in(random, 4) ? any_of(random, float_types) : wr_dtype{};
    const wr_dtype output_type = args.output_dtype == wr_dtype{} ? args.dtype : args.output_dtype;
    const RandomArray input(random, args.dtype, elements), output(random, output_type, outputs);
    const bool in_place = output_type == args.dtype && elements == outputs && one_in(random, 4);
    const RandomArray logsumexp(random, accumulated(args.dtype), s.outer * s.inner);
    const RandomArray maximum(random, accumulated(args.dtype), s.outer * s.inner);
    args.input = input.data();
    args.output = in_place ? input.data() : output.data();
    args.logsumexp = one_in(random, 3) ? logsumexp.data() : nullptr;
    args.maximum = one_in(random, 6) ? maximum.data() : nullptr;
    const auto offset = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(args.input) % 16);
    const std::string what = "softmax to type " + std::to_string(static_cast<int>(output_type)) +
                             (in_place ? " in place" : "") + (args.logsumexp != nullptr ? ", logsumexp" : "") +
                             (args.maximum != nullptr ? ", maximum" : "") + ", " + described(args, offset);
    return same_on_both(args, wr_softmax_ex, {&input, &output, &logsumexp, &maximum}, what);
}

bool check_backward(Random &random) {
    const Sizes s = random_sizes(random);
    auto args = begun<wr_softmax_backward_args>(random, s);
    Selection selection;
    const bool ragged = s.inner == 1 && one_in(random, 8);
    const std::size_t elements = ragged ? s.axis : spread(random, args, s);
    const std::size_t gradients = ragged ? s.axis : s.outer * s.axis * s.inner;
    if (ragged) {
        selection.put_ragged(random, args, s);
    } else {
        selection.put(random, args, s);
    }
    args.output_gradient_dtype = one_in(random, 5) ? any_of(random, float_types) : wr_dtype{};
    args.input_gradient_dtype = one_in(random, 5) ? any_of(random, float_types) : wr_dtype{};
    args.add_to_input_gradient = one_in(random, 6);
    const wr_dtype from = args.output_gradient_dtype == wr_dtype{} ? args.dtype : args.output_gradient_dtype;
    const wr_dtype to = args.input_gradient_dtype == wr_dtype{} ? args.dtype : args.input_gradient_dtype;
    const RandomArray saved(random, args.dtype, elements), gradient(random, from, gradients),
        result(random, to, gradients);
    const RandomArray logsumexp(random, accumulated(args.dtype), s.outer * s.inner);
    const bool of_logits = one_in(random, 3);
    args.input = of_logits ? saved.data() : nullptr;
    args.logsumexp = of_logits ? logsumexp.data() : nullptr;
    args.output = of_logits ? nullptr : saved.data();
    args.output_gradient = gradient.data();
    args.input_gradient = result.data();
    const auto offset = static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(saved.data()) % 16);
    const std::string what = "gradient from type " + std::to_string(static_cast<int>(from)) + " to " +
                             std::to_string(static_cast<int>(to)) + (of_logits ? " of logits" : "") +
                             (args.add_to_input_gradient != 0 ? ", added" : "") + ", " + described(args, offset);
    return same_on_both(args, wr_softmax_backward_ex, {&result}, what);
}

bool check_logsumexp(Random &random) {
    const Sizes s = random_sizes(random);
    wr_reduce_args args;
    std::memset(&args, 0, sizeof(args));
    args.struct_size = sizeof(args);
    args.op = WR_LOGSUMEXP;
    args.dtype = one_in(random, 2) ? any_of(random, usual_types) : any_of(random, float_types);
    args.outer = s.outer;
    args.axis = s.axis;
    args.inner = s.inner;
    const std::size_t elements = spread(random, args, s);
    const RandomArray input(random, args.dtype, elements), output(random, args.dtype, s.outer * s.inner);
    args.input = input.data();
    args.output = output.data();
    char what[160];
    std::snprintf(what, sizeof(what), "logsumexp of type %d, [%zu][%zu][%zu] strides %td %td, input %zu off",
                  static_cast<int>(args.dtype), s.outer, s.axis, s.inner, args.outer_stride, args.axis_stride,
                  static_cast<std::size_t>(reinterpret_cast<std::uintptr_t>(input.data()) % 16));
    return same_on_both(args, wr_reduce_ex, {&output}, what);
}

} // namespace

int main(int argc, char **argv) {
    const long jobs = argc > 1 ? std::atol(argv[1]) : 1000;
    Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20261123);
    for (long done = 0; done < jobs;) {
        const bool offered = one_in(random, 6)   ? check_logsumexp(random)
                             : one_in(random, 3) ? check_backward(random)
                                                 : check_forward(random);
        done += offered ? 1 : 0;
    }
    return check_report("softmax_is_that_of_the_host");
}
