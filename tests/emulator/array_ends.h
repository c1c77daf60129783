// Pages find what is read far beside an array; this finds what shares a 16-byte vector with its ends.
#pragma once

#include <cstddef>

namespace emulator {

// From now on no kernel may touch, of the vectors on 16-byte boundaries that hold an array's first and last bytes,
// those that are not the array's. It is one array at a time; of no bytes: all may be touched again.
void guard_ends(const void *array, std::size_t bytes);

} // namespace emulator
