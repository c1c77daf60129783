// Makes the softmax kernels of one element type, by the kinds that are compiled side by side.
#pragma once

#include "cuda/device/intrinsics.cuh"
#include "cuda/softmax/columns/register_tiles.cuh"
#include "cuda/softmax/kernels.h"
#include "cuda/softmax/lookback/rows.cuh"
#include "cuda/softmax/rows/cluster_rows.cuh"
#include "cuda/softmax/sub_warp/staged_rows.cuh"
#include "cuda/softmax/sub_warp/thread_rows.cuh"
#include "cuda/softmax/sub_warp/tiny_rows.cuh"
#include "cuda/softmax/sub_warp/vector_rows.cuh"
#include "cuda/softmax/two_pass/rows.cuh"

namespace wr::cuda {

// Warps that a multiprocessor should hold, which bounds their registers: mostly as many as leave nothing spilled.
// 16-bit rows of 8 tiles and more have more to wait for: 48 registers for 40 warps (8192 bf16: 4.18 TB/s on an
// H200, with 32 warps 4.04), shorter ones 64 for 32 (1024: 4.21, with 40 warps 4.12). Log-softmax has its logarithm to
// wait for, and no exponentials to keep (4096 bf16: 3.80 with 40 warps, 3.54 with 32). Off the boundaries lanes wait
// for each other's elements (1001, 3001, 7001, 8193 bf16: 3.64, 3.68, 3.61, 3.14, with 32 warps 3.58, 3.48, 3.38,
// 2.89). f32 rows of a warp each off the boundaries spill least with 20 (1000: 4.10, with 24 4.01).
template <class T, class Load, bool Log = false>
constexpr int resident_warps(int warps_of_block) {
    if (sizeof(T) == 8) {
        return Load::unaligned ? 8 : 16;
    }
    if (sizeof(T) == 2) {
        const bool waits = keeps_vectors<Load> ? warps_of_block == 8 || Log : !converts<Load>;
        return waits ? 40 : 32;
    }
    const bool several_unaligned_rows = warps_of_block < 8 && Load::unaligned && !converts<Load>;
    return warps_of_block > 8 ? 32 : several_unaligned_rows ? 20 : 24;
}

template <class T, class Load, bool Log = false>
constexpr int resident_blocks(int warps) {
    return larger(resident_warps<T, Load, Log>(warps) / warps, 1);
}

// Registers a thread, where it is they that a kernel is told; 0: it is warps. (Where both say the same, 1 % is lost
// with registers.) In clusters f32 rows have an exchange to wait for: 72, of which none are spilled, for 28 warps in
// blocks of 4 (H200, TB/s, 16384 and 32768 4.20, 4.18 and 4.19, 4.19; with logsumexp 16384 4.01 and 4.17; but
// log-softmax 4.00 and 3.63).
template <class T, class Load, bool Log>
inline constexpr int registers_of_clusters = sizeof(T) == 4 && keeps_vectors<Load> && !Log ? 72 : 0;

// Whether log-softmax of rows of blocks, and of clusters of few states, is left to the kernels for masked rows
// (plan_as_masked_rows).
template <class T, class Load, bool Log>
inline constexpr bool left_to_masked_rows = Log && sizeof(T) == 4 && Load::unaligned && !converts<Load>;

// Whether one kernel serves rows of any number of warps: of f64 (512 x 50000 within 2 %, 16 x 200000 4 %), and of those
// that wait for each other longest.
template <class T, class Load>
inline constexpr bool has_one_size = sizeof(T) == 8 || (Load::unaligned && converts<Load>);

template <class T, class Load, bool Log, int Size>
const void *softmax_rows_kernel() {
    constexpr int span = 1 << Size, warps = span * rows_of_block<T, Load, Log, span>;
    return address_of(softmax_rows<T, Load, Log, span, resident_blocks<T, Load, Log>(warps)>);
}

// Those of 8 warps serve shorter rows of several tiles too, but for 16-bit vectors, of which fewer warps have more
// registers (H200, 2048 and 4096 within 1 % of kernels of their own).
template <class T, class Load, bool Log>
void set_row_kernels(const void *(&kernels)[softmax_row_sizes]) {
    kernels[1] = kernels[2] = kernels[3] = softmax_rows_kernel<T, Load, Log, 3>();
    if constexpr (sizeof(T) == 2 && keeps_vectors<Load>) {
        kernels[1] = kernels[2] = softmax_rows_kernel<T, Load, Log, 2>();
    }
    if constexpr (has_one_size<T, Load>) {
        kernels[0] = kernels[3];
    } else {
        kernels[0] = softmax_rows_kernel<T, Load, Log, 0>();
    }
    if constexpr (keeps_vectors<Load>) { // an unaligned tile has stages for up to 8 warps
        kernels[4] = kernels[5] = softmax_rows_kernel<T, Load, Log, 5>();
        if constexpr (sizeof(T) == 8) { // of others two blocks of 16 warps have the registers of one of 32
            kernels[4] = softmax_rows_kernel<T, Load, Log, 4>();
        }
    }
}

template <class T, class Load, bool Log, int Size>
const void *softmax_cluster_kernel() {
    constexpr int warps = softmax_cluster_warps[Size], registers = registers_of_clusters<T, Load, Log>;
    constexpr int states_a_lane = warps <= few_state_warps ? 1 : 0;
    if constexpr (registers != 0 && warps <= few_state_warps) {
        return address_of(softmax_cluster_within<T, Load, Log, states_a_lane, registers>);
    } else {
        return address_of(softmax_cluster<T, Load, Log, warps, resident_blocks<T, Load, Log>(warps), states_a_lane>);
    }
}

template <class T, class Load, bool Log>
void set_cluster_kernels(const void *(&kernels)[softmax_cluster_sizes]) {
    if constexpr (Load::unaligned) {
        // For rows of more than a state a lane; of f64 a warp more than they have.
        constexpr int most = static_cast<int>(unaligned_cluster_warps(sizeof(T)));
        constexpr int warps = larger(most, few_state_warps + 1), blocks = sizeof(T) == 8 ? 1 : 2;
        kernels[1] = address_of(softmax_cluster<T, Load, Log, warps, blocks, 0>);
    } else if constexpr (sizeof(T) == 8) {
        kernels[1] = softmax_cluster_kernel<T, Load, Log, 1>();
    } else { // two blocks of 16 warps have the registers of one of 32
        kernels[1] = kernels[2] = softmax_cluster_kernel<T, Load, Log, 2>();
    }
    if constexpr (has_one_size<T, Load>) {
        kernels[0] = kernels[1];
    } else if constexpr (!left_to_masked_rows<T, Load, Log>) {
        kernels[0] = softmax_cluster_kernel<T, Load, Log, 0>();
    }
}

// Blocks of 8 warps of 16-bit elements and of 16 warps of others share the rows that these are for. 16-bit elements are
// short of instructions: merging 128 states where there are 64 costs them 6 %. Few rows of more states than 64 are
// quicker where blocks tell each other what they come to (4 x 131072 bf16 from a graph 2.96 us and 3.57, 1 x
// 131072 2.86 and 2.95; but 1 x 65536 2.41 and 2.30, and 64 x 131072 10.9 and 10.6; f32 of 131072 3.74 and 3.61).
template <class T, class Load>
SoftmaxRedundantCombineKernels softmax_redundant_combine_kernels() {
    constexpr bool narrow = sizeof(T) == 2 && keeps_vectors<Load>;
    constexpr int warps = narrow ? few_state_warps : 2 * few_state_warps;
    constexpr int blocks = resident_blocks<T, Load>(warps);
    const void *const all = address_of(softmax_cluster<T, Load, false, warps, blocks, 4>);
    if constexpr (narrow) {
        return {{address_of(softmax_cluster<T, Load, false, warps, blocks, 2>), all},
                warps,
                softmax_redundant_combine_states[0]};
    } else {
        return {{all, all}, warps, softmax_redundant_combine_states[1]};
    }
}

template <class T, class Load, bool Log, class Shape>
SoftmaxLookbackKernel softmax_lookback_kernel() {
    return {address_of(softmax_lookback_rows<T, Load, Log, Shape>), Shape::all_warps * warp_lanes,
            Shape::warps * lookback_warp_bytes<T, Load, Shape>, Shape::warps, Shape::deferred};
}

// Of f32 three turns of 12 warps wait (H200, TB/s, 131072, 262144, 50257: 4.15, 4.11, 3.97; two of 16 warps 3.94, 3.77,
// 3.47; four of 8 3.98, 4.00, 3.42). 16-bit elements are short of instructions: more warps, of which fewer turns wait;
// but rows of many states, which take longer to come together, wait longer (bf16 262144 and 1 Mi 3.66 and 3.21, by 16
// warps, three turns of which wait, 4.02 and 3.91, with logsumexp 3.60 for 3.77; log 262144 by 20 warps 3.59, by 28, of
// which one turn waits, 3.25, 65536 by these 3.55; off the boundaries 65537 by 20 3.43, by 18 and 16 3.19, 131073 3.23,
// 3.18, 3.24).
template <class T, class Load>
void set_lookback_kernels(SoftmaxLookbackKernel (&kernels)[2][2]) {
    if constexpr (sizeof(T) == sizeof(float)) {
        using Shape = LookbackShape<12, 3, 1>;
        kernels[0][0] = kernels[0][1] = softmax_lookback_kernel<T, Load, false, Shape>();
        kernels[1][0] = kernels[1][1] = softmax_lookback_kernel<T, Load, true, Shape>();
    } else {
        using Shape = LookbackShape<20, 2, 1>;
        using ManyStates = LookbackShape<16, 3, 1>;
        kernels[0][0] = softmax_lookback_kernel<T, Load, false, Shape>();
        kernels[0][1] = softmax_lookback_kernel<T, Load, false, ManyStates>();
        kernels[1][0] = kernels[1][1] = softmax_lookback_kernel<T, Load, true, Shape>();
    }
}

template <class T, class Load, bool Log>
void add_rows_of_blocks(SoftmaxRowKernels &kernels) {
    if constexpr (!left_to_masked_rows<T, Load, Log>) {
        set_row_kernels<T, Load, Log>(kernels.rows[Log ? 1 : 0]);
    }
    kernels.rows_of_block[Log ? 1 : 0] = has_one_size<T, Load> ? 1 : rows_of_block<T, Load, Log, 1>;
}

template <class T, class Load>
void add_block_rows(SoftmaxRowKernels &kernels) {
    add_rows_of_blocks<T, Load, false>(kernels);
    add_rows_of_blocks<T, Load, true>(kernels);
    kernels.stage_bytes = Load::unaligned ? stage_bytes<T, staged_elements<T>> : 0;
}

template <class T, class Load>
void add_cluster_rows(SoftmaxRowKernels &kernels) {
    set_cluster_kernels<T, Load, false>(kernels.clusters[0]);
    set_cluster_kernels<T, Load, true>(kernels.clusters[1]);
    if constexpr (sizeof(T) < sizeof(double) && !Load::unaligned) {
        kernels.combines_redundantly = softmax_redundant_combine_kernels<T, Load>();
    }
    if constexpr (sizeof(T) < sizeof(double) && !converts<Load>) {
        set_lookback_kernels<T, std::conditional_t<Load::unaligned, StagedLoad<T>, Load>>(kernels.lookback);
    }
}

template <class T, class Load>
SoftmaxRowKernels softmax_row_kernels() {
    SoftmaxRowKernels kernels{};
    add_block_rows<T, Load>(kernels);
    add_cluster_rows<T, Load>(kernels);
    return kernels;
}

template <class T>
void softmax_cta_rows(SoftmaxRowKernels &kernels) {
    add_block_rows<T, VectorLoad<T>>(kernels);
}

template <class T>
void softmax_cluster_rows(SoftmaxRowKernels &kernels) {
    add_cluster_rows<T, VectorLoad<T>>(kernels);
}

template <class T>
SoftmaxRowKernels softmax_unaligned_kernels() {
    return softmax_row_kernels<T, UnalignedLoad<T>>();
}

template <class T>
SoftmaxRowKernels softmax_unaligned_converted_kernels() {
    return softmax_row_kernels<T, ConvertingUnalignedLoad<T>>();
}

template <class T>
SoftmaxRegisterTileKernels softmax_register_tile_kernels() {
    constexpr bool wide = sizeof(T) == 8;
    SoftmaxRegisterTileKernels kernels{};
    kernels.of[0] =
        address_of(softmax_register_tiles < T, softmax_tiles[0].threads, softmax_tiles[0].columns, wide ? 1 : 2 >);
    if constexpr (!wide) {
        kernels.of[1] = address_of(softmax_register_tiles<T, softmax_tiles[1].threads, softmax_tiles[1].columns, 1>);
    }
    return kernels;
}

template <class T>
void set_thread_rows(SoftmaxShortRowKernels &kernels) {
    kernels.of_a_lane[0] = address_of(softmax_thread_rows<T, false>);
    kernels.of_a_lane[1] = address_of(softmax_thread_rows<T, true>);
    kernels.tiny[0][0] = address_of(softmax_tiny_rows<T, false, softmax_tiny_row_axis[0]>);
    kernels.tiny[0][1] = address_of(softmax_tiny_rows<T, true, softmax_tiny_row_axis[0]>);
    kernels.tiny[1][0] = address_of(softmax_tiny_rows<T, false, softmax_tiny_row_axis[1]>);
    kernels.tiny[1][1] = address_of(softmax_tiny_rows<T, true, softmax_tiny_row_axis[1]>);
}

template <class T>
SoftmaxShortRowKernels softmax_short_row_kernels() {
    SoftmaxShortRowKernels kernels{};
    kernels.any[0] = address_of(softmax_short_rows<T, false>);
    kernels.any[1] = address_of(softmax_short_rows<T, true>);
    if constexpr (sizeof(T) < sizeof(double)) {
        kernels.packed[0] = address_of(softmax_sub_warp_vectors<T, false, VectorRows::plain>);
        kernels.packed[1] = address_of(softmax_sub_warp_vectors<T, true, VectorRows::plain>);
        kernels.staged[0] = address_of(softmax_sub_warp_vectors<T, false, VectorRows::staged>);
        kernels.staged[1] = address_of(softmax_sub_warp_vectors<T, true, VectorRows::staged>);
    }
    return kernels;
}

// Rows of vectors whose outputs are of another type: the short ones, and those of more than 32 tiles; the others go as
// masked rows do. (1024 x 65536 f32 into bf16 102 us, 129 as these; 4096 95, 103.)
template <class T>
SoftmaxConvertedKernels softmax_converted_kernels() {
    using Load = ConvertingLoad<T>;
    SoftmaxConvertedKernels kernels{};
    kernels.rows.clusters[1][1] = softmax_cluster_kernel<T, Load, true, 1>();
    kernels.rows.combines_redundantly = softmax_redundant_combine_kernels<T, Load>(); // of all that is no logarithm
    kernels.packed[0] = address_of(softmax_sub_warp_vectors<T, false, VectorRows::converted>);
    kernels.packed[1] = address_of(softmax_sub_warp_vectors<T, true, VectorRows::converted>);
    return kernels;
}

// Rows of more than a cluster holds, of which there are few (many have look-back): whole vectors go as all others do.
template <class T>
SoftmaxTwoPassRowKernels softmax_two_pass_row_kernels() {
    using Load = UnalignedLoad<T>;
    SoftmaxTwoPassRowKernels kernels{};
    kernels.split_states = address_of(softmax_split_states<T, Load>);
    kernels.totals = address_of(softmax_totals<T>);
    kernels.apply[0] = address_of(softmax_apply<T, Load>);
    if constexpr (sizeof(T) < sizeof(double)) {
        kernels.apply[1] = address_of(softmax_apply<T, ConvertingUnalignedLoad<T>>);
    }
    kernels.stage_bytes = stage_bytes<T, staged_elements<T>>;
    return kernels;
}

} // namespace wr::cuda
