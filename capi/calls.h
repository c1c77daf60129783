// What every entry point has in common.
#pragma once

#include "host/common/float_environment.h"
#include "numerics/status.h"
#include "warp_reduce.h"

#include <cstddef>
#include <cstring>
#include <new>

namespace wr::capi {

// Runs the body of an entry point, which returns a number of wr_status. No exception leaves the library, and whatever
// floating-point environment the caller is in, sizes and options are judged in the one that the numerics are defined
// in.
template <class Body>
wr_status guarded(Body body) noexcept {
    const host::FloatEnvironment environment;
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

// The size of a struct in headers that had no strides_given, or in a dot product no operator.
template <class Args>
inline constexpr std::size_t size_without_flag = sizeof(Args);
template <class Args>
    requires requires { &Args::strides_given; }
inline constexpr std::size_t size_without_flag<Args> = offsetof(Args, strides_given);

template <class Args>
    requires requires { &Args::left; }
inline constexpr std::size_t size_without_flag<Args> = offsetof(Args, op);

// And where softmax had one scale for all rows.
template <class Args>
inline constexpr std::size_t size_without_scales = sizeof(Args);
template <class Args>
    requires requires { &Args::scales; }
inline constexpr std::size_t size_without_scales<Args> = offsetof(Args, scales);

// Whether the struct is of this header's size. (Those of earlier versions have become it before: with_args.) A larger
// one is of a header that this library has never seen, and nothing says that the bytes behind the fields it knows are
// there to be read.
template <class Args>
bool is_known_struct(const Args &args) {
    return args.struct_size == sizeof(Args);
}

// There a stride of zero was the contiguous one.
inline void say_strides(std::ptrdiff_t &outer, std::ptrdiff_t &axis, std::ptrdiff_t &inner, std::size_t axis_size,
                        std::size_t inner_size) {
    outer = outer != 0 ? outer : static_cast<std::ptrdiff_t>(axis_size * inner_size);
    axis = axis != 0 ? axis : static_cast<std::ptrdiff_t>(inner_size);
    inner = inner != 0 ? inner : 1;
}

template <class Args>
bool any_stride(const Args &args) {
    bool any = args.outer_stride != 0 || args.axis_stride != 0 || args.inner_stride != 0;
    if constexpr (requires { args.gradient_outer_stride; }) {
        any =
            any || args.gradient_outer_stride != 0 || args.gradient_axis_stride != 0 || args.gradient_inner_stride != 0;
    }
    return any;
}

template <class Args>
void say_strides_without_flag(Args &args) {
    if (!any_stride(args)) {
        return;
    }
    args.strides_given = 1;
    say_strides(args.outer_stride, args.axis_stride, args.inner_stride, args.axis, args.inner);
    if constexpr (requires { args.gradient_outer_stride; }) {
        say_strides(args.gradient_outer_stride, args.gradient_axis_stride, args.gradient_inner_stride, args.axis,
                    args.inner);
    }
}

// body(args) of the caller's struct, one of an earlier version said in the fields of today's.
template <class Args, class Body>
auto with_args(const Args &given, Body body) {
    const bool is_flagless = given.struct_size == size_without_flag<Args>;
    if (given.struct_size == sizeof(Args) || (!is_flagless && given.struct_size != size_without_scales<Args>)) {
        return body(given);
    }
    Args args{};
    std::memcpy(&args, &given, is_flagless ? size_without_flag<Args> : size_without_scales<Args>);
    args.struct_size = sizeof(Args);
    if constexpr (requires { args.strides_given; }) {
        if (is_flagless) {
            say_strides_without_flag(args);
        }
    }
    return body(args);
}

} // namespace wr::capi
