#include "cuda/common/readable_range.h"

namespace wr::cuda {

ReadableRange readable_range_of(const void *array, const Shape &s, std::size_t element_bytes) {
    const char *low = static_cast<const char *>(array), *high = low;
    const auto widen_by = [&](std::size_t size, std::ptrdiff_t stride) {
        const std::ptrdiff_t reach =
            size == 0 ? 0 : static_cast<std::ptrdiff_t>(size - 1) * stride * static_cast<std::ptrdiff_t>(element_bytes);
        (reach < 0 ? low : high) += reach;
    };
    widen_by(s.outer, s.outer_stride);
    widen_by(s.axis, s.axis_stride);
    widen_by(s.inner, s.inner_stride);
    return {low, s.axis == 0 ? low : high + element_bytes};
}

} // namespace wr::cuda
