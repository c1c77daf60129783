// Short rows that lie one behind the other as columns of a tile, and back: as many at a time as a register has lanes,
// by transposing squares of vectors.
#pragma once

#include "host/common/vector_kernels.h"
#include "host/common/vectors.h"

namespace wr::host::WR_ISA {
namespace {

// Calls act(i) for each lane of a register, i being a constant: what it does to an array of vectors stays in registers.
template <class Float, class Do>
WR_HD void for_each_lane(Do act) {
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        (act(std::integral_constant<std::size_t, i>{}), ...);
    }(std::make_index_sequence<lanes_of<Float>>{});
}

// Of two vectors `step` apart in a square, the one that has the left (upper 0) or right (upper 1) halves of all runs of
// 2 * step lanes of both.
template <std::size_t step, std::size_t upper, class V, std::size_t... k>
WR_HD V halves_of_runs(V a, V b, std::index_sequence<k...>) {
    constexpr std::size_t lanes = sizeof...(k);
    return __builtin_shufflevector(
        a, b, static_cast<int>((k & step) != 0 ? lanes + k - (1 - upper) * step : k + upper * step)...);
}

// Lane k of vector i becomes lane i of vector k.
template <class Float, std::size_t step = lanes_of<Float> / 2>
WR_HD void transpose(Register<Float> (&square)[lanes_of<Float>]) {
    constexpr auto all = std::make_index_sequence<lanes_of<Float>>{};
    for_each_lane<Float>([&](auto i) {
        if constexpr ((i & step) == 0) {
            const Register<Float> a = square[i], b = square[i + step];
            square[i] = halves_of_runs<step, 0>(a, b, all);
            square[i + step] = halves_of_runs<step, 1>(a, b, all);
        }
    });
    if constexpr (step > 1) {
        transpose<Float, step / 2>(square);
    }
}

// Rows that are read or stored as one run, which has room for as many of any length as a register has lanes, and for as
// much more as vectors reach beyond it.
template <class Float>
struct ShortRows {
    static constexpr std::size_t lanes = lanes_of<Float>;
    static constexpr std::size_t run_elements = shortest_lone_row * lanes;

    alignas(64) Float elements[run_elements + lanes];
    std::size_t length; // of a row

    // Whole squares.
    std::size_t at_once() const { return run_elements / length / lanes * lanes; }

    // `count` rows become columns whose rows are `width` apart. Whole squares are written.
    void to_columns(std::size_t count, std::size_t width, Float *columns) const {
        const Float *rows = elements;
        for (std::size_t done = 0; done < count; done += lanes, rows += lanes * length) {
            for (std::size_t first = 0; first < length; first += lanes) {
                Register<Float> square[lanes];
                for_each_lane<Float>(
                    [&](auto i) { square[i] = load_vector<Register<Float>>(rows + i * length + first); });
                transpose<Float>(square);
                for_each_lane<Float>([&](auto i) {
                    if (first + i < length) {
                        store_vector(columns + (first + i) * width + done, square[i]);
                    }
                });
            }
        }
    }

    // Back again. A vector with the end of a row reaches into the next one, which is stored later: ends go first.
    void from_columns(std::size_t count, std::size_t width, const Float *columns) {
        Float *rows = elements;
        for (std::size_t done = 0; done < count; done += lanes, rows += lanes * length) {
            for (std::size_t end = divide_up(length, lanes) * lanes; end != 0; end -= lanes) {
                const std::size_t first = end - lanes;
                Register<Float> square[lanes];
                for_each_lane<Float>([&](auto i) {
                    const std::size_t row = smaller(first + i, length - 1);
                    square[i] = load_vector<Register<Float>>(columns + row * width + done);
                });
                transpose<Float>(square);
                for_each_lane<Float>([&](auto i) { store_vector(rows + i * length + first, square[i]); });
            }
        }
    }
};

} // namespace
} // namespace wr::host::WR_ISA
