// A run of neighbouring elements at any address, by the vectors on the boundaries that hold it.
#pragma once

#include "cuda/rowwise/unaligned_vectors.cuh"

namespace wr::cuda {

// Places count elements from the start of the first of these vectors on, of any array in which the run lies as far
// behind a boundary.
template <class T>
struct VectorRun {
    static constexpr int each = vector_elements<T>;
    int begin, end;         // places of the first element, and behind the last one; end is 0 where there are none
    bool cut_low, cut_high; // whether the first vector, or the last one, may reach beyond what may be read

    // Asks for vectors number, number + step and so on; zeros where there are none. What may reach beyond the array is
    // left to load_ends.
    template <int Vectors>
    __device__ __forceinline__ void load(const T *first, int number, int step, uint4 (&vectors)[Vectors]) const {
        const auto *const all = reinterpret_cast<const uint4 *>(first - begin);
        const int from = cut_low ? 1 : 0, to = divide_up(end, each) - (cut_high ? 1 : 0);
#pragma unroll
        for (int v = 0; v < Vectors; ++v) {
            vectors[v] = {0, 0, 0, 0};
            if (number + v * step >= from && number + v * step < to) {
                vectors[v] = load_vector(all + number + v * step);
            }
        }
    }
    template <int Vectors>
    __device__ __forceinline__ void load_ends(const T *first, int number, int step, uint4 (&vectors)[Vectors]) const {
        if (cut_low && number == 0) {
            vectors[0] = load_part(first - begin, begin, end);
        }
        const int last = divide_up(end, each) - 1;
        bool has_last = false;
#pragma unroll
        for (int v = 0; v < Vectors; ++v) {
            has_last = has_last || number + v * step == last;
        }
        if (cut_high && has_last) {
            const uint4 part = load_part(first - begin + last * each, begin - last * each, end - last * each);
#pragma unroll
            for (int v = 0; v < Vectors; ++v) {
                vectors[v] = number + v * step == last ? part : vectors[v];
            }
        }
    }

    __device__ __forceinline__ void store(T *first, int number, const uint4 &vector) const {
        const int from = begin - number * each, to = end - number * each;
        T *const mine = first - begin + number * each;
        if (from <= 0 && to >= each) {
            store_vector(mine, vector);
        } else if (to > 0) {
            store_part_of_vector(mine, vector, from, to);
        }
    }

  private:
    __device__ __forceinline__ static uint4 load_part(const T *at, int from, int to) {
        T own[each];
#pragma unroll
        for (int i = 0; i < each; ++i) {
            own[i] = T{};
            if (i >= from && i < to) {
                own[i] = at[i];
            }
        }
        uint4 vector;
        memcpy(&vector, own, sizeof(vector));
        return vector;
    }
};

} // namespace wr::cuda
