#include "capi/calls.h"
#include "numerics/element_types.h"

size_t wr_dtype_size(wr_dtype dtype) {
    return wr::traits_of(static_cast<wr::ElementType>(wr::capi::number_of(dtype))).size;
}
