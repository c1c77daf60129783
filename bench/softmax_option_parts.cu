// Softmax with options: channels of images, elements left out, other types, rows of any length.
#include "bench/softmax_calls.h"

#include <cstdint>
#include <cstdio>
#include <vector>

namespace bench {

namespace {

// Classes of pixels, as networks for images have them: softmax of [images][channels][pixels] along the channels.
void run_channels(Table &t, const Type &type, std::size_t n, std::size_t pixels) {
    const std::size_t images = elements_of(type) / n / pixels;
    const double bytes = static_cast<double>(images * n * pixels * wr_dtype_size(type.dtype));
    const bool demands = n >= 4 && pixels % 8 == 0; // ours
    const bool wide = type.dtype == WR_F32;
    const std::string of =
        std::string(" of ") + std::to_string(n) + " channels, " + type.name + ", " + std::to_string(pixels) + " pixels";
    t.run({"softmax" + of, 2 * bytes, softmax_job(t, type, images, n, pixels), nullptr,
           !demands ? 0
           : wide   ? 3.5
                    : 2.5,
           t.copy_ceiling});
    t.run({"log-softmax" + of, 2 * bytes,
           [&t, type, images, n, pixels] {
               check(wr_log_softmax(type.dtype, t.input, t.output, images, n, pixels, t.stream), "log-softmax");
           },
           nullptr, 0, t.copy_ceiling});
    run_logsumexp(t, "logsumexp" + of, type, images, n, pixels, 0);
    wr_softmax_backward_args args = backward_args(t, type, n, pixels);
    args.output = t.input;
    run_backward(t, "backward" + of, args, 3 * bytes, !demands ? 0 : wide ? 4.0 : 3.0);
}

// The same with knobs: masked, and from f32 into 16 bits or the other way; arrays of up to 2 GiB.
void run_selected_channels(Table &t, const Type &type, std::size_t n, std::size_t pixels) {
    const bool wide = type.dtype == WR_F32;
    const std::size_t images = elements_of(type) / n / pixels / (wide ? 1 : 2), elements = images * n * pixels;
    const auto count = static_cast<double>(elements);
    const double bytes = count * static_cast<double>(wr_dtype_size(type.dtype));
    const std::string of = std::string(" of ") + std::to_string(n) + " channels, " + type.name;
    wr_softmax_args args = softmax_args(t, type, images, n);
    args.inner = pixels;
    args.output_dtype = wide ? WR_BF16 : WR_F32;
    t.run({std::string(wide ? "into bf16" : "into f32") + of, bytes + count * (wide ? 2 : 4), softmax_with(t, args),
           nullptr, 0, t.copy_ceiling});
    args.output_dtype = type.dtype;
    args.mask = reinterpret_cast<const std::uint8_t *>(t.input + 2 * gib);
    t.run({"masked" + of, 2 * bytes + count, softmax_with(t, args), nullptr, 0, t.copy_ceiling});
    wr_softmax_backward_args backward = backward_args(t, type, n, pixels);
    backward.outer = images;
    backward.output = t.input;
    backward.mask = args.mask;
    run_backward(t, "masked backward" + of, backward, 3 * bytes + count, 0);
}

// Demanded: 95 % of plain softmax's rate, which is the peer in turn, for the card's clock falls under load.
void run_beside(Table &t, const wr_softmax_args &plain, const std::string &name, const wr_softmax_args &args,
                double bytes) {
    t.run({name, bytes, softmax_with(t, args), softmax_with(t, plain), 0, t.copy_ceiling, 0.95, 2 * array_bytes});
}

void selected_rows(Table &t, const Type &type, std::size_t n) {
    const std::size_t total = elements_of(type), rows = total / n;
    const wr_softmax_args plain = softmax_args(t, type, rows, n);
    t.run({label("plain", type, rows, n), 2 * array_bytes, softmax_with(t, plain), nullptr, 0, t.copy_ceiling});
    wr_softmax_args args = plain;
    args.log = 1;
    run_beside(t, plain, label("log", type, rows, n), args, 2 * array_bytes);
    args = plain;
    args.logsumexp = t.output + 2 * gib;
    run_beside(t, plain, label("with logsumexp", type, rows, n), args, 2 * array_bytes);
    args = plain;
    args.maximum = t.output + 2 * gib;
    run_beside(t, plain, label("with maximum", type, rows, n), args, 2 * array_bytes);
    args = plain;
    args.mask = reinterpret_cast<const std::uint8_t *>(t.input + 2 * gib);
    run_beside(t, plain, label("masked", type, rows, n), args, 2 * array_bytes + static_cast<double>(total));
    args.log = 1;
    run_beside(t, plain, label("masked, log", type, rows, n), args, 2 * array_bytes + static_cast<double>(total));

    std::vector<std::int64_t> lengths(rows);
    double taken = 0;
    for (std::size_t row = 0; row < rows; ++row) {
        lengths[row] = static_cast<std::int64_t>(row * 2654435761u % (n + 1));
        taken += static_cast<double>(lengths[row]);
    }
    const Numbers on_gpu(lengths);
    const double element = array_bytes / static_cast<double>(total);
    args = plain;
    args.lengths = on_gpu.get();
    run_beside(t, plain, label("lengths", type, rows, n), args, array_bytes + taken * element);
    args = plain;
    args.causal = 1;
    args.causal_first = 1;
    const std::size_t whole = rows / n * n; // rows of whole matrices
    const double seen = static_cast<double>(whole) * static_cast<double>(n + 1) / 2 +
                        static_cast<double>(rows - whole) * static_cast<double>(rows - whole + 1) / 2;
    run_beside(t, plain, label("causal", type, rows, n), args, array_bytes + seen * element);

    std::vector<std::int64_t> offsets{0};
    while (offsets.size() <= rows) {
        offsets.push_back(offsets.back() + lengths[offsets.size() - 1]);
    }
    const Numbers offsets_on_gpu(offsets);
    args = plain;
    args.offsets = offsets_on_gpu.get();
    args.axis = total;
    t.run({label("ragged, 0 to n", type, rows, n), 2 * taken * element, softmax_with(t, args), nullptr, 0,
           t.copy_ceiling});
}

// A softmax whose outputs are of another type, with knobs as `args` has them; `more` are bytes read beside the logits.
void run_into(Table &t, const char *what, const Type &from, const Type &into, wr_softmax_args args, double more) {
    args.output_dtype = into.dtype;
    const auto elements = static_cast<double>(args.outer * args.axis);
    const double bytes = elements * static_cast<double>(wr_dtype_size(from.dtype) + wr_dtype_size(into.dtype));
    t.run({label((std::string(what) + " into " + into.name + ",").c_str(), from, args.outer, args.axis), bytes + more,
           softmax_with(t, args), nullptr, 0, t.copy_ceiling});
}

// Arrays of 1 GiB or 2 GiB at most. Of rows of 4096 the logarithm, masks and the causal limit too, of 4095 the latter.
void run_all_into(Table &t, const Type &from, const Type &into) {
    for (const std::size_t n : {128, 1024, 4096, 32000, 131072, 50257}) {
        const std::size_t rows = gib / wr_dtype_size(from.dtype) / n;
        run_into(t, "softmax", from, into, softmax_args(t, from, rows, n), 0);
    }
    const std::size_t n = 4096, rows = gib / wr_dtype_size(from.dtype) / n;
    wr_softmax_args args = softmax_args(t, from, rows, n);
    args.mask = reinterpret_cast<const std::uint8_t *>(t.input + 2 * gib);
    run_into(t, "masked", from, into, args, static_cast<double>(rows * n));
    args.mask = nullptr;
    args.causal = 1;
    args.causal_first = 1;
    run_into(t, "causal", from, into, args, -0.5 * static_cast<double>(rows * n * wr_dtype_size(from.dtype)));
    args.axis = n - 1;
    run_into(t, "causal", from, into, args, -0.5 * static_cast<double>(rows * n * wr_dtype_size(from.dtype)));
    args = softmax_args(t, from, rows, n);
    args.log = 1;
    run_into(t, "log-softmax", from, into, args, 0);
}

// Masks beside rows of any length, and the causal limit.
void run_masked(Table &t, const Type &type, std::size_t n) {
    const std::size_t rows = gib / wr_dtype_size(type.dtype) / n;
    wr_softmax_args args = softmax_args(t, type, rows, n);
    args.mask = reinterpret_cast<const std::uint8_t *>(t.input + 2 * gib);
    run_into(t, "masked", type, type, args, static_cast<double>(rows * n));
    args.mask = nullptr;
    args.causal = 1;
    args.causal_first = 1;
    run_into(t, "causal", type, type, args, 0);
}

void run_short_gradients(Table &t, const Type &type, std::size_t n, std::size_t inner) {
    const std::size_t total = elements_of(type), outer = total / n / inner;
    const double bytes = static_cast<double>(outer * n * inner * wr_dtype_size(type.dtype));
    const std::string columns = " of columns, " + std::to_string(n) + " x " + std::to_string(inner);
    const auto name = [&](const char *what) { return inner > 1 ? what + columns : label(what, type, outer, n); };
    wr_softmax_backward_args args = backward_args(t, type, n, inner);
    args.output = t.input;
    run_backward(t, name("backward"), args, 3 * bytes, 0);
    if (inner == 1) {
        args.mask = reinterpret_cast<const std::uint8_t *>(t.input + gib);
        run_backward(t, name("backward, masked"), args, 3 * bytes + static_cast<double>(outer * n), 0);
        args.mask = nullptr;
    }
    args.output = nullptr;
    args.input = t.input;
    args.logsumexp = t.input + gib;
    run_backward(t, name("from logits"), args, 3 * bytes, 0);
}

} // namespace

void channels(Table &t) {
    for (const Type &type : types) {
        std::printf("\nsoftmax of an image's channels, %s: arrays of 2 GiB\n", type.name);
        t.fill_input(2 * elements_of(type), type.fill, -4, 4);
        for (const std::size_t n : {2, 4, 8, 21, 64, 150, 512}) {
            run_channels(t, type, n, 65536);
        }
        for (const std::size_t n : {21, 150}) {
            run_channels(t, type, n, 225 * 225);
        }
        for (const std::size_t n : {8, 21, 150, 512}) {
            run_selected_channels(t, type, n, 65536);
        }
    }
}

void selected(Table &t) {
    for (const Type &type : types) {
        std::printf("\nsoftmax with knobs, %s\n", type.name);
        fill(t, type, -4, 4);
        for (const std::size_t n : {std::size_t{1024}, std::size_t{4096}, std::size_t{32768}}) {
            selected_rows(t, type, n);
        }
    }
}

// What a training step or a decoder may ask for beside whole vectors of one type: rows of any length, other output
// types, inputs of 8 bits.
void odd_jobs(Table &t) {
    for (const Type &type : types) {
        std::printf("\nodd jobs, %s\n", type.name);
        fill(t, type, -1, 1);
        const auto size = static_cast<double>(wr_dtype_size(type.dtype));
        for (const std::size_t n : {1001, 50257}) {
            const std::size_t rows = elements_of(type) / n;
            const double bytes = static_cast<double>(rows * n) * size;
            wr_softmax_backward_args args = backward_args(t, type, n);
            args.output = t.input;
            run_backward(t, label("backward", type, rows, n), args, 3 * bytes, 0);
            args.output = nullptr;
            args.input = t.input;
            args.logsumexp = t.input + gib;
            run_backward(t, label("from logits", type, rows, n), args, 3 * bytes, 0);
        }
        for (const std::size_t n : {16, 32, 128, 512, 1001}) {
            run_masked(t, type, n);
        }
        run_all_into(t, type, types[type.dtype == WR_F32 ? 1 : 0]);
    }
    const Type e4m3 = {WR_F8_E4M3, Fill::bytes, "E4M3"};
    std::printf("\nelements of 8 bits\n");
    t.fill_input(gib, e4m3.fill);
    run_all_into(t, e4m3, types[1]);
    run_all_into(t, e4m3, e4m3);
    for (const Type &type : types) {
        t.fill_input(elements_of(type), type.fill, -1, 1);
        run_all_into(t, type, e4m3);
    }
}

// Rows of up to 1024 elements, and so short columns, that no kernel of whole vectors takes.
void short_jobs(Table &t) {
    for (const Type &type : types) {
        std::printf("\nshort rows, %s\n", type.name);
        fill(t, type, -1, 1);
        for (const std::size_t n : {8, 32, 33, 64, 128, 256, 301, 512, 1000}) {
            run_short_gradients(t, type, n, 1);
        }
        for (const std::size_t n : {33, 301}) {
            run_masked(t, type, n);
        }
        for (const std::size_t n : {32, 128, 33, 301}) {
            wr_softmax_args args = softmax_args(t, type, gib / wr_dtype_size(type.dtype) / n, n);
            args.maximum = t.output + 2 * gib;
            run_into(t, "with maximum", type, type, args, 0);
        }
        for (const std::size_t inner : {2, 3, 4, 7, 8, 16}) {
            const std::size_t n = 100, outer = elements_of(type) / n / inner;
            const double bytes = static_cast<double>(outer * n * inner * wr_dtype_size(type.dtype));
            const std::string name = " of columns, " + std::to_string(n) + " x " + std::to_string(inner);
            t.run({"softmax" + name, 2 * bytes, softmax_job(t, type, outer, n, inner), nullptr, 0, t.copy_ceiling});
            run_logsumexp(t, "logsumexp" + name, type, outer, n, inner, 0);
            run_short_gradients(t, type, n, inner);
        }
    }
    const Type e4m3 = {WR_F8_E4M3, Fill::bytes, "E4M3"};
    std::printf("\nshort rows of 8 bits\n");
    t.fill_input(gib, e4m3.fill);
    for (const std::size_t n : {32, 100, 128}) {
        run_into(t, "softmax", e4m3, types[1], softmax_args(t, e4m3, gib / n, n), 0);
        run_into(t, "softmax", e4m3, e4m3, softmax_args(t, e4m3, gib / n, n), 0);
    }
    t.fill_input(elements_of(types[1]), types[1].fill, -1, 1);
    for (const std::size_t n : {32, 100, 128}) {
        wr_softmax_args args = softmax_args(t, types[1], gib / n, n);
        run_into(t, "softmax", types[1], e4m3, args, 0);
        args.log = 1;
        run_into(t, "log-softmax", types[1], e4m3, args, 0);
    }
}

} // namespace bench
