// What every entry point has in common.
#pragma once

#include "numerics/status.h"
#include "warp_reduce.h"

#include <cstring>
#include <new>

namespace wr::capi {

// Runs the body of an entry point, which returns a number of wr_status. No exception leaves the library.
template <class Body>
wr_status guarded(Body body) noexcept {
    try {
        return static_cast<wr_status>(body());
    } catch (const std::bad_alloc &) {
        return WR_ERROR_OUT_OF_MEMORY;
    } catch (...) {
        return WR_ERROR_INTERNAL;
    }
}

// The number in an enum. From C any int may arrive in one, which C++ lets nobody look at as the enum that it is.
template <class Enum>
std::int32_t number_of(const Enum &value) {
    static_assert(sizeof(Enum) == sizeof(std::int32_t));
    std::int32_t number = 0;
    std::memcpy(&number, &value, sizeof number);
    return number;
}

template <class Enum>
void copy_number(Enum &to, const Enum &from) {
    std::memcpy(&to, &from, sizeof to);
}

// Whether this library knows the struct that the caller was compiled with. A later version that appends fields will
// know the sizes before it too; a larger struct is of a header that this library has never seen, and nothing says that
// the bytes behind the fields it knows are there to be read.
template <class Args>
bool is_known_struct(const Args &args) {
    return args.struct_size == sizeof(Args);
}

} // namespace wr::capi
