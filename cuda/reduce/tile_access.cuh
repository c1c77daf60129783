// How a warp walks the tiles of a row, by where they lie.
#pragma once

#include "cuda/reduce/extreme_place.cuh"
#include "cuda/reduce/sets.cuh"

namespace wr::cuda {

// The tiles of a row that a warp takes one after the other: `count` of them, `step` apart. All but the row's last lie
// within the row.
struct TileWalk {
    std::size_t first;
    int count, step;

    __device__ __forceinline__ std::size_t tile(int t) const { return first + static_cast<std::size_t>(t * step); }
};

// How a warp walks its tiles of a row, at least one: `keep(t, result)` is called with tile_result of each, in whatever
// order suits.
// `resident_blocks` blocks of 8 warps should find room on a multiprocessor, 4 KiB in flight for each warp: with 3 the
// loop over aligned tiles reads 4.69 TB/s on an H200, with 4 it is short of registers and reads 4.47.
template <class T, class Op>
struct StridedAccess {
    using Accumulator = typename Op::Accumulator;
    static constexpr int elements = tree_registers * warp_lanes;
    static constexpr bool by_vectors = false;
    static constexpr int resident_blocks = 3;

    template <class Keep>
    __device__ __forceinline__ static void for_each_tile(const Row<T> &row, ReadableRange, const TileWalk &walk,
                                                         const Mapping &m, Keep keep) {
#pragma unroll 1
        for (int t = 0; t < walk.count; ++t) {
            Accumulator values[tree_registers];
            load_strided<T, Op>(row, walk.tile(t) * elements, m, values);
            keep(t, tile_result<Op>(values));
        }
    }
};

// Whether an operator that takes a place or a weight with each element adds up in more than a vector's bytes.
template <class Op>
inline constexpr bool is_large_and_positional = Op::order_free && Op::positional &&
                                                sizeof(typename Op::Accumulator) > sizeof(uint4);

// The result of a tile whose first element stands at `first` of the row.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator result_of_vectors(const uint4 (&vectors)[tree_registers],
                                                                      const Weights<T, Op, tree_registers> &weights,
                                                                      const Mapping &m, std::size_t first) {
    if constexpr (std::is_same_v<Op, Extreme<std::int32_t>> && compares_by_words<T>) {
        return largest_key<T, std::int32_t>(vectors, m);
    } else if constexpr (is_large_and_positional<Op> && !WeightedAlike<T, Op>) {
        // One large accumulator stays in registers where eight would not.
        auto sum = Op::identity();
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            T raw[vector_elements<T>];
            memcpy(raw, &vectors[v], sizeof(uint4));
#pragma unroll
            for (int e = 0; e < vector_elements<T>; ++e) {
                const std::size_t position = first + place_of_vector<T>(v) + static_cast<std::size_t>(e);
                sum = Op::combine(sum, map_element<Op>(raw[e], m, position));
            }
        }
        return sum;
    } else {
        typename Op::Accumulator values[tree_registers];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            if constexpr (WeightedAlike<T, Op>) {
                values[v] = weighted_vector_tree<T, Op>(vectors[v], weights.vectors[v], m);
            } else if constexpr (Op::positional) {
                values[v] = positional_vector_tree<T, Op>(vectors[v], m, first + place_of_vector<T>(v));
            } else {
                values[v] = vector_tree<T, Op>(vectors[v], m);
            }
        }
        return tile_result<Op>(values);
    }
}

// The same of a tile's first `count` vectors, behind which the last of a row has been read again.
template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator result_of_first_vectors(const uint4 (&vectors)[tree_registers],
                                                                            int count, const Mapping &m) {
    if constexpr (is_made_of<Op, Extreme>) { // which does it no harm
        return result_of_vectors<T, Op>(vectors, Weights<T, Op, tree_registers>(m, 0, 0), m, 0);
    } else {
        typename Op::Accumulator values[tree_registers];
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            const bool is_there = v * warp_lanes + lane_index() < count;
            if constexpr (has_all_kernels<T, Op>) { // no branches: sums of 1024 bf16 1.20 us, with them 1.32
                const auto tree = vector_tree<T, Op>(vectors[v], m);
                values[v] = is_there ? tree : Op::identity();
            } else {
                values[v] = is_there ? vector_tree<T, Op>(vectors[v], m) : Op::identity();
            }
        }
        return tile_result<Op>(values);
    }
}

// A tile of which not all can be read by vectors, by its subtrees of 256 elements, of which the loads of up to Together
// are on their way together. Behind a call, so that the loops over whole tiles keep their registers.
template <class T, class Op, int Together = 4>
__device__ __noinline__ typename Op::Accumulator end_tile(Row<T> row, std::size_t first, const Mapping &m) {
    constexpr int part_elements = StridedAccess<T, Op>::elements;
    constexpr int parts = tile_elements<T> / part_elements, together = smaller(parts, Together);
    const std::size_t left = row.count - smaller(first, row.count);
    const int count = static_cast<int>(smaller<std::size_t>(left, tile_elements<T>));
    const T *data = row.data + first;
    auto mine = Op::identity();
#pragma unroll 1
    for (int part = 0; part < parts && part * part_elements < count; part += together) {
        const int lanes_first = part * part_elements + lane_index();
        T raw[together][tree_registers];
#pragma unroll
        for (int i = 0; i < together * tree_registers; ++i) {
            if (lanes_first + i * warp_lanes < count) {
                raw[i / tree_registers][i % tree_registers] = data[lanes_first + i * warp_lanes];
            }
        }
#pragma unroll
        for (int p = 0; p < together; ++p) {
            typename Op::Accumulator values[tree_registers];
#pragma unroll
            for (int v = 0; v < tree_registers; ++v) {
                const int at = lanes_first + (p * tree_registers + v) * warp_lanes;
                values[v] =
                    at < count ? map_element<Op>(raw[p][v], m, first + static_cast<std::size_t>(at)) : Op::identity();
            }
            const auto sum = tile_result<Op>(values);
            if constexpr (Op::order_free) {
                mine = Op::combine(mine, sum);
            } else {
                mine = lane_index() % parts == part + p ? sum : mine;
            }
        }
    }
    return Op::order_free ? mine : tree_over_lanes<Op>(mine, parts);
}

// What a tile's elements behind its whole vectors come to, where the vector would be that they are the first of: one
// lane has each.
template <class Op>
__device__ __forceinline__ typename Op::Accumulator result_of_rest(typename Op::Accumulator value, int lanes) {
    return from_lane(tree_over_lanes<Op>(value, lanes), 0);
}

// A tile that has only its first `count` elements, at least one: its whole vectors, of which the last stands in for
// those behind it, and the rest one by one. The words that hold these lie in the array. Behind a call, as above.
template <class T, class Op>
__device__ __noinline__ typename Op::Accumulator part_of_tile(const char *at, int count, const Mapping &m) {
    constexpr int elements = vector_elements<T>;
    const int whole = count / elements, rest = count % elements;
    T behind{};
    if (lane_index() < rest) {
        behind = reinterpret_cast<const T *>(at + whole * vector_bytes)[lane_index()];
    }
    uint4 vectors[tree_registers];
    if (whole > 0) {
        const auto place_of = [=](int v) { return smaller(v * warp_lanes + lane_index(), whole - 1) * vector_bytes; };
        load_by_pieces<T>(at, offset_in_vector(at), place_of, vectors);
    }
    const auto of_rest = lane_index() < rest ? Op::map(behind, m) : Op::identity();
    if constexpr (std::is_same_v<Op, Extreme<std::int32_t>> && compares_by_words<T>) {
        return larger(of_rest, largest_key_of_first<T, std::int32_t>(vectors, whole, m));
    } else {
        typename Op::Accumulator values[tree_registers];
        const auto last = Op::order_free ? of_rest : result_of_rest<Op>(of_rest, elements);
#pragma unroll
        for (int v = 0; v < tree_registers; ++v) {
            const int number = v * warp_lanes + lane_index();
            values[v] = !Op::order_free && number == whole ? last : Op::identity();
            if (v * warp_lanes < whole) {
                const auto tree = vector_tree<T, Op>(vectors[v], m);
                values[v] = number < whole ? tree : values[v];
            }
        }
        const auto result = tile_result<Op>(values);
        return Op::order_free ? Op::combine(result, last) : result;
    }
}

template <class T, class Op>
__device__ __forceinline__ typename Op::Accumulator result_of_end_tile(const Row<T> &row, std::size_t first,
                                                                       ReadableRange readable_range, const Mapping &m) {
    if constexpr (finds_place<T, Op>) {
        return tree_over_lanes<Op>(largest_of_end_tile<T, Op>(row, first, m), warp_lanes);
    } else if constexpr (Op::positional) {
        return end_tile<T, Op>(row, first, m);
    } else {
        const char *at = reinterpret_cast<const char *>(row.data + first);
        const int count = static_cast<int>(smaller<std::size_t>(row.count - first, tile_elements<T>));
        if constexpr (std::is_same_v<Op, Extreme<std::int32_t>> && compares_by_words<T>) {
            if (!LargestOfWords<T>::suits(m)) {
                return end_tile<T, Op, 1>(row, first, m);
            }
        }
        if constexpr (sizeof(T) < word_bytes) {
            if (!words_are_readable<T>(at, count / vector_elements<T> * vector_bytes, readable_range)) {
                return end_tile<T, Op, 1>(row, first, m);
            }
        }
        return part_of_tile<T, Op>(at, count, m);
    }
}

// Tiles of rows of neighbours one after the other, each as one at the end of a row.
template <class T, class Op>
struct SingleTiles {
    static constexpr int elements = tile_elements<T>;
    static constexpr bool by_vectors = true;

    template <class Keep>
    __device__ __forceinline__ static void for_each_tile(const Row<T> &row, ReadableRange, const TileWalk &walk,
                                                         const Mapping &m, Keep keep) {
#pragma unroll 1
        for (int t = 0; t < walk.count; ++t) {
            keep(t, end_tile<T, Op>(row, walk.tile(t) * elements, m));
        }
    }
};

// What is made of whole tiles: keep gets a result of each, or, where places are looked for, one of all of them.
template <class T, class Op>
struct WholeTiles {
    template <class Keep>
    __device__ __forceinline__ void take(int t, const uint4 (&vectors)[tree_registers],
                                         const Weights<T, Op, tree_registers> &weights, const Mapping &m,
                                         std::size_t first, Keep keep) {
        keep(t, result_of_vectors<T, Op>(vectors, weights, m, first));
    }
    template <class Keep>
    __device__ __forceinline__ void finish(const Row<T> &, std::size_t, const Mapping &, Keep) {}
};
template <class T, class Op>
    requires finds_place<T, Op>
struct WholeTiles<T, Op> {
    LargestOfTiles<T, Op> largest;

    template <class Keep>
    __device__ __forceinline__ void take(int t, const uint4 (&vectors)[tree_registers],
                                         const Weights<T, Op, tree_registers> &, const Mapping &m, std::size_t, Keep) {
        largest.take(t, vectors, m);
    }
    template <class Keep>
    __device__ __forceinline__ void finish(const Row<T> &row, std::size_t first, const Mapping &m, Keep keep) {
        keep(0, largest.found(row, first, m));
    }
};

// Blocks that hold tiles of vectors in their registers; weights take as many registers again.
inline constexpr int usual_tile_blocks = 3;
template <class T, class Op>
inline constexpr int tile_blocks_resident = WeightedAlike<T, Op> || is_large_and_positional<Op> ? 2 : usual_tile_blocks;

// Rows that start on 16-byte boundaries.
template <class T, class Op>
struct AlignedAccess {
    using Accumulator = typename Op::Accumulator;
    static constexpr int elements = tile_elements<T>;
    static constexpr bool by_vectors = true;
    static constexpr int resident_blocks = tile_blocks_resident<T, Op>;

    template <class Keep>
    __device__ __forceinline__ static void for_each_tile(const Row<T> &row, ReadableRange readable_range,
                                                         const TileWalk &walk, const Mapping &m, Keep keep) {
        const int count = walk.count;
        const char *at =
            reinterpret_cast<const char *>(row.data) + walk.first * tile_bytes + lane_index() * vector_bytes;
        const bool last_is_whole = (walk.tile(count - 1) + 1) * elements <= row.count;
        const int whole = last_is_whole ? count : count - 1;
        WholeTiles<T, Op> tiles;
#pragma unroll 1
        for (int t = 0; t < whole; ++t) {
            const std::size_t tile = walk.tile(t) * elements;
            const Weights<T, Op, tree_registers> weights(m, tile + place_of_vector<T>(0), warp_lanes);
            uint4 vectors[tree_registers];
#pragma unroll
            for (int v = 0; v < tree_registers; ++v) {
                vectors[v] = load_streaming(at + v * warp_lanes * vector_bytes);
            }
            __syncwarp(); // or the compiler asks for the last ones once it has used the first
            at += static_cast<std::size_t>(walk.step) * tile_bytes;
            tiles.take(t, vectors, weights, m, tile, keep);
        }
        const std::size_t tile = walk.tile(whole) * elements;
        const std::size_t left = whole < count ? row.count - tile : 0;
        const bool by_vectors = left % vector_elements<T> == 0;
        if constexpr (finds_place<T, Op>) {
            if (left != 0 && by_vectors) {
                uint4 vectors[tree_registers];
                load_repeating_last(at, static_cast<int>(left) / vector_elements<T>, vectors);
                tiles.largest.take(whole, vectors, m);
            }
        }
        tiles.finish(row, walk.first, m, keep);
        if (left == 0 || (finds_place<T, Op> && by_vectors)) {
            return;
        }
        if constexpr (!Op::positional) {
            if (by_vectors) {
                keep(whole, whole_vectors(at, static_cast<int>(left) / vector_elements<T>, m));
                return;
            }
        }
        keep(whole, result_of_end_tile<T, Op>(row, tile, readable_range, m));
    }

  private:
    // The tile's first `count` vectors; `at` is this lane's first.
    __device__ __forceinline__ static Accumulator whole_vectors(const char *at, int count, const Mapping &m) {
        uint4 vectors[tree_registers];
        load_repeating_last(at, count, vectors);
        return result_of_first_vectors<T, Op>(vectors, count, m);
    }
};

// Rows of any alignment: the row's own vectors, by the pieces that these are in.
template <class T, class Op>
struct UnalignedAccess {
    using Accumulator = typename Op::Accumulator;
    static constexpr int elements = tile_elements<T>;
    static constexpr bool by_vectors = true;
    static constexpr bool begins_anywhere = true;
    static constexpr int resident_blocks = tile_blocks_resident<T, Op>;

    template <class Keep>
    __device__ __forceinline__ static void for_each_tile(const Row<T> &row, ReadableRange readable_range,
                                                         const TileWalk &walk, const Mapping &m, Keep keep) {
        const int count = walk.count;
        const char *data = reinterpret_cast<const char *>(row.data) + walk.first * tile_bytes;
        const std::size_t step = static_cast<std::size_t>(walk.step) * tile_bytes;
        const bool last_is_whole = (walk.tile(count - 1) + 1) * elements <= row.count;
        int begin = 0, end = last_is_whole ? count : count - 1;
        // At the ends of the caller's array, the words that hold a tile's first or last elements may reach beyond it.
        if (end > 0 &&
            !words_are_readable<T>(data + static_cast<std::size_t>(end - 1) * step, tile_bytes, readable_range)) {
            --end;
        }
        if (end > 0 && !words_are_readable<T>(data, tile_bytes, readable_range)) {
            begin = 1;
        }
        const unsigned offset = offset_in_vector(data);
        WholeTiles<T, Op> tiles;
#pragma unroll 1
        for (int t = begin; t < end; ++t) {
            const std::size_t tile = walk.tile(t) * elements;
            const Weights<T, Op, tree_registers> weights(m, tile + place_of_vector<T>(0), warp_lanes);
            uint4 vectors[tree_registers];
            load_any_tile<T>(data + static_cast<std::size_t>(t) * step, offset, vectors);
            tiles.take(t, vectors, weights, m, tile, keep);
        }
        tiles.finish(row, walk.first, m, keep);
#pragma unroll 1
        for (int t = 0; t < count; ++t) {
            if (t < begin || t >= end) {
                const std::size_t tile = walk.tile(t) * elements;
                keep(t, result_of_end_tile<T, Op>(row, tile, readable_range, m));
            }
        }
    }
};

} // namespace wr::cuda
