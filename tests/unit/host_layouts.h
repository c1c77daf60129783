// Shapes with strides, of which some are negative, and the memory that they need.
#pragma once

#include "numerics/problem.h"

#include <algorithm>
#include <cstdio>
#include <string>

// A job's memory and shape; the input lies anywhere inside `memory`.
struct Layout {
    wr::Shape shape;
    std::size_t elements; // of memory
    std::size_t origin;   // of element [0][0][0]
};

inline Layout contiguous(std::size_t outer, std::size_t axis, std::size_t inner) {
    const auto a = static_cast<std::ptrdiff_t>(axis), i = static_cast<std::ptrdiff_t>(inner);
    return {{outer, axis, inner, a * i, i, 1}, outer * axis * inner, 0};
}

// Each dimension with a gap, some of them backwards.
inline Layout strided(std::size_t outer, std::size_t axis, std::size_t inner, int kind) {
    std::ptrdiff_t strides[3] = {0, 0, 0};
    const std::size_t sizes[3] = {outer, axis, inner};
    static const int orders[4][3] = {{2, 1, 0}, {1, 2, 0}, {0, 1, 2}, {2, 0, 1}};
    std::ptrdiff_t next = kind == 1 ? 1 : 2;
    std::size_t origin = 0;
    for (const int d : orders[kind % 4]) {
        strides[d] = next;
        next *= static_cast<std::ptrdiff_t>(std::max<std::size_t>(sizes[d], 1)) + 1;
        if ((kind + d) % 3 == 0) {
            strides[d] = -strides[d];
            origin += (std::max<std::size_t>(sizes[d], 1) - 1) * static_cast<std::size_t>(-strides[d]);
        }
    }
    return {{outer, axis, inner, strides[0], strides[1], strides[2]}, static_cast<std::size_t>(next), origin};
}

inline std::ptrdiff_t place(const Layout &l, std::size_t o, std::size_t a, std::size_t i) {
    return static_cast<std::ptrdiff_t>(l.origin) + static_cast<std::ptrdiff_t>(o) * l.shape.outer_stride +
           static_cast<std::ptrdiff_t>(a) * l.shape.axis_stride + static_cast<std::ptrdiff_t>(i) * l.shape.inner_stride;
}

inline std::string describe(const wr::Shape &s) {
    char text[200];
    std::snprintf(text, sizeof text, "[%zu][%zu][%zu] strides %td %td %td", s.outer, s.axis, s.inner, s.outer_stride,
                  s.axis_stride, s.inner_stride);
    return text;
}
