// Where rows lie in memory.
#pragma once

namespace wr::cuda {

// Whole 16-byte vectors on their boundaries, beside whole words of mask bytes where there is a mask; or anywhere.
enum class Lie { on_boundaries, anywhere };

} // namespace wr::cuda
