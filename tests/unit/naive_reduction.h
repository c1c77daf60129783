// Reductions as the public header describes them, an element at a time. Of the library it knows the names of operators
// and types alone; numbers are 128-bit integers, plain floats and long division.
#pragma once

#include "numerics/problem.h"

#include <vector>

namespace naive {

using Bytes = std::vector<unsigned char>;

// Where each element lies, in order.
struct Axis {
    std::vector<const unsigned char *> elements;
    std::vector<const unsigned char *> weights; // as many, or none at all
};

struct Result {
    Bytes output;
    Bytes value; // argmin, argmax
};

// `old` is what the output held; of no interest where nothing is added to it.
Result reduce(const wr::Reduction &what, const Axis &axis, const unsigned char *old);

std::size_t size_of(wr::ElementType type);
bool is_float(wr::ElementType type);
bool is_integer(wr::ElementType type);
bool is_field(wr::ElementType type);

} // namespace naive
