// Any number as an enum, as C leaves it there.
#pragma once

#include <bit>

template <class Enum>
Enum enum_of(int number) {
    return std::bit_cast<Enum>(number);
}
