// What the kernels use of cooperative groups, for one thread after the other.
#pragma once

#include "gpu_words.h"

namespace cooperative_groups {

template <class T>
struct plus {
    T operator()(T a, T b) const { return a + b; }
};
template <class T>
struct greater {
    T operator()(T a, T b) const { return a > b ? a : b; }
};
template <class T>
struct bit_or {
    T operator()(T a, T b) const { return a | b; }
};
template <class T>
struct bit_xor {
    T operator()(T a, T b) const { return a ^ b; }
};

struct Block {};
inline Block this_thread_block() { return {}; }

template <unsigned Size>
struct Tile {
    unsigned meta_group_rank() const { return threadIdx.x / Size; }
    unsigned thread_rank() const { return threadIdx.x % Size; }
};
template <unsigned Size>
Tile<Size> tiled_partition(Block) {
    return {};
}

template <class Group, class Target, class Word, class Op>
void reduce_update_async(Group, Target &target, Word mine, Op op) {
    target.word = op(target.word, mine);
}

} // namespace cooperative_groups
