#include "warp_reduce.h"

#include <cstdint>

uint32_t wr_version(void) {
    return std::uint32_t{WR_VERSION_MAJOR} << 16 | std::uint32_t{WR_VERSION_MINOR} << 8 | WR_VERSION_PATCH;
}
