// Where the largest key of a row stands. A lane that asked itself for every element whether it is the largest so far
// would do little else, so lanes only compare tiles, and the few that hold the largest key of a warp's tiles look for
// its place at the end, in the last tile, which they still hold, or in one that they read again.
#pragma once

#include "cuda/reduce/tile_load.cuh"

namespace wr::cuda {

template <class T, class Op>
inline constexpr bool finds_place = false;
template <class T, class Key>
inline constexpr bool finds_place<T, ArgExtreme<Key>> = !std::is_same_v<T, KeyAt<Key>>;

// Elements that a lane asks for at once where it reads them one by one.
inline constexpr int single_loads_in_flight = 32;

template <class Key>
__device__ __forceinline__ Key largest_of_warp(Key key) {
    if constexpr (sizeof(Key) == 4) {
        return __reduce_max_sync(whole_warp, key);
    } else {
#pragma unroll
        for (int distance = 1; distance < warp_lanes; distance *= 2) {
            key = larger(key, from_lane_xor(key, distance));
        }
        return key;
    }
}

// The first of a lane's elements that has a key, as a number within the lane's tile; -1 where none has. `vectors` are
// the lane's vectors of the tile.
template <class T, class Key>
__device__ __forceinline__ int place_in_vectors(const uint4 (&vectors)[tree_registers], Key key, const Mapping &m) {
    constexpr int elements = vector_elements<T>;
    int place = -1;
    const auto look = [&](const auto &has_key) {
#pragma unroll
        for (int v = tree_registers - 1; v >= 0; --v) {
            T raw[elements];
            memcpy(raw, &vectors[v], sizeof(uint4));
#pragma unroll
            for (int e = elements - 1; e >= 0; --e) {
                place = has_key(raw[e]) ? v * warp_lanes * elements + e : place;
            }
        }
        return place < 0 ? place : place + lane_index() * elements;
    };
    if constexpr (has_float_maximum<T>) {
        if (key != Extreme<Key>::nan_key) {
            const HasBitsOfKey<T> same(key, m);
            return look(same);
        }
    }
    return look([&](const T &x) { return Extreme<Key>::map(x, m) == key; });
}

// The first of the largest keys of the tiles that a warp takes in ascending order.
template <class T, class Op>
class LargestOfTiles {
  public:
    using Found = typename Op::Accumulator;
    using Key = decltype(Found::key);

    __device__ __forceinline__ void take(int tile, const uint4 (&vectors)[tree_registers], const Mapping &m) {
        const Key key = largest_key<T, Key>(vectors, m);
        tile_ = tile_ < 0 || key > key_ ? tile : tile_;
        key_ = larger(key, key_);
        last_tile_ = tile;
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            last_[v] = vectors[v];
        }
    }

    // What was found in the tiles from number `first` of the row on, to be called by the warp, of which every lane gets
    // it.
    __device__ __forceinline__ Found found(const Row<T> &row, std::size_t first, const Mapping &m) const {
        const Key most = largest_of_warp(key_);
        const int tile =
            static_cast<int>(__reduce_min_sync(whole_warp, key_ == most ? static_cast<unsigned>(tile_) : ~0u));
        // The lowest key is that of an element, of which the first is meant, or of none.
        if (tile < 0 || (most == Op::identity().key && m.ignore_nan)) {
            return Op::identity();
        }
        int mine = -1;
        if (key_ == most && tile_ == tile) {
            mine = tile == last_tile_ ? place_in_vectors<T>(last_, most, m) : place_in_tile(row, first + tile, m);
        }
        const unsigned place = __reduce_min_sync(whole_warp, static_cast<unsigned>(mine));
        return place == ~0u ? Op::identity() : Found{most, (first + tile) * tile_elements<T> + place};
    }

  private:
    // The first of a lane's elements of a tile that has the lane's key, read again. What is behind the row's end is
    // left out, though a vector may have stood in for it.
    __device__ __forceinline__ int place_in_tile(const Row<T> &row, std::size_t tile, const Mapping &m) const {
        constexpr int elements = vector_elements<T>;
        constexpr int together = smaller(tree_registers, single_loads_in_flight / elements);
        const int lane_first = lane_index() * elements;
        const std::size_t first = tile * tile_elements<T> + static_cast<std::size_t>(lane_first);
        const T *data = row.data + first;
        const int left =
            static_cast<int>(smaller<std::size_t>(row.count - smaller(first, row.count), tile_elements<T>));
#pragma unroll 1
        for (int vector = 0; vector < tree_registers; vector += together) {
            T raw[together * elements]{};
            const auto at = [&](int i) { return (vector + i / elements) * warp_lanes * elements + i % elements; };
#pragma unroll
            for (int i = 0; i < together * elements; ++i) {
                if (at(i) < left) {
                    raw[i] = data[at(i)];
                }
            }
            int place = -1;
#pragma unroll
            for (int i = together * elements - 1; i >= 0; --i) {
                place = (at(i) < left) & (Extreme<Key>::map(raw[i], m) == key_) ? at(i) : place;
            }
            if (place >= 0) {
                return place + lane_first;
            }
        }
        return -1;
    }

    Key key_ = Op::identity().key;
    int tile_ = -1, last_tile_ = -1;
    uint4 last_[tree_registers];
};

// The lanes' share of a tile of which not all can be read by vectors. Behind a call, as end_tile is.
template <class T, class Op>
__device__ __noinline__ typename Op::Accumulator largest_of_end_tile(Row<T> row, std::size_t first, const Mapping &m) {
    using Key = decltype(Op::Accumulator::key);
    constexpr int lane_elements = tile_elements<T> / warp_lanes;
    constexpr int together = smaller(lane_elements, single_loads_in_flight / 2);
    const std::size_t left = row.count - smaller(first, row.count);
    const int count = static_cast<int>(smaller<std::size_t>(left, tile_elements<T>));
    const T *data = row.data + first;
    Key most = Op::identity().key;
    int place = lane_index();
#pragma unroll 1
    for (int start = lane_index(); start < count; start += together * warp_lanes) {
        const T *at = data + start;
        T raw[together]{};
#pragma unroll
        for (int i = 0; i < together; ++i) {
            if (i * warp_lanes < count - start) {
                raw[i] = at[i * warp_lanes];
            }
        }
#pragma unroll
        for (int i = 0; i < together; ++i) {
            const bool present = i * warp_lanes < count - start;
            const Key key = Extreme<Key>::map(raw[i], m);
            place = present & (key > most) ? start + i * warp_lanes : place;
            most = present & (key > most) ? key : most;
        }
    }
    const bool none = lane_index() >= count || (most == Op::identity().key && m.ignore_nan);
    return none ? Op::identity() : typename Op::Accumulator{most, first + static_cast<std::size_t>(place)};
}

} // namespace wr::cuda
