// A warp's size, for device code and for launchers.
#pragma once

#include <cstddef>

namespace wr::cuda {

inline constexpr int warp_lanes = 32;
inline constexpr std::size_t warp_threads = warp_lanes; // the same where sizes are counted

} // namespace wr::cuda
