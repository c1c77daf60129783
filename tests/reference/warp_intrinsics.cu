#include "reference/warp_intrinsics.h"

namespace {

constexpr unsigned warp_lanes = 32;
constexpr unsigned block_threads = 128;

// A thread's place, and the lanes of the warp that take part in its tile's call.
struct Place {
    size_t index;
    unsigned lane_of_warp, shift, mask;
};

// Threads beyond the count are gone before the warp function: they are the absent lanes.
__device__ bool find_place(const tile_call &call, unsigned members, Place &at) {
    at.index = blockIdx.x * size_t{block_threads} + threadIdx.x;
    at.lane_of_warp = threadIdx.x % warp_lanes;
    at.shift = at.lane_of_warp / call.width * call.width;
    const unsigned present = __ballot_sync(0xFFFFFFFFu, at.index < call.count);
    const unsigned tile = call.width == warp_lanes ? 0xFFFFFFFFu : (1u << call.width) - 1;
    at.mask = present & ((members & tile) << at.shift);
    return at.index < call.count;
}

template <class T>
__global__ void shuffle(tile_call call, const T *input, T *output) {
    Place at;
    if (!find_place(call, 0xFFFFFFFFu, at)) {
        return;
    }
    const T value = input[at.index];
    const int width = static_cast<int>(call.width);
    switch (call.what) {
    case WR_SHUFFLE_UP:
        output[at.index] = __shfl_up_sync(at.mask, value, call.argument, width);
        break;
    case WR_SHUFFLE_DOWN:
        output[at.index] = __shfl_down_sync(at.mask, value, call.argument, width);
        break;
    case WR_SHUFFLE_XOR:
        output[at.index] = __shfl_xor_sync(at.mask, value, static_cast<int>(call.argument), width);
        break;
    default:
        output[at.index] = __shfl_sync(at.mask, value, static_cast<int>(call.argument), width);
        break;
    }
}

__global__ void vote(tile_call call, const int *input, unsigned *output) {
    Place at;
    if (!find_place(call, call.argument, at)) {
        return;
    }
    unsigned said = 0;
    if ((at.mask >> at.lane_of_warp & 1u) != 0) {
        const int predicate = input[at.index];
        if (call.what == WR_VOTE_ANY) {
            said = __any_sync(at.mask, predicate) != 0;
        } else if (call.what == WR_VOTE_ALL) {
            said = __all_sync(at.mask, predicate) != 0;
        } else {
            said = __ballot_sync(at.mask, predicate) >> at.shift;
        }
    }
    output[at.index] = said;
}

template <class T>
__global__ void match(tile_call call, const T *input, unsigned *output) {
    Place at;
    if (!find_place(call, call.argument, at)) {
        return;
    }
    unsigned said = 0;
    if ((at.mask >> at.lane_of_warp & 1u) != 0) {
        int all_agree = 0;
        said = call.what == WR_MATCH_ANY ? __match_any_sync(at.mask, input[at.index])
                                         : __match_all_sync(at.mask, input[at.index], &all_agree);
        said >>= at.shift;
    }
    output[at.index] = said;
}

template <class T>
__global__ void reduce(tile_call call, const T *input, T *output) {
    Place at;
    if (!find_place(call, 0xFFFFFFFFu, at)) {
        return;
    }
    const T value = input[at.index];
    switch (call.what) {
    case WR_SUM:
        output[at.index] = __reduce_add_sync(at.mask, value);
        break;
    case WR_MIN:
        output[at.index] = __reduce_min_sync(at.mask, value);
        break;
    default:
        output[at.index] = __reduce_max_sync(at.mask, value);
        break;
    }
}

__global__ void reduce_bits(tile_call call, const unsigned *input, unsigned *output) {
    Place at;
    if (!find_place(call, 0xFFFFFFFFu, at)) {
        return;
    }
    const unsigned value = input[at.index];
    switch (call.what) {
    case WR_BIT_AND:
        output[at.index] = __reduce_and_sync(at.mask, value);
        break;
    case WR_BIT_OR:
        output[at.index] = __reduce_or_sync(at.mask, value);
        break;
    default:
        output[at.index] = __reduce_xor_sync(at.mask, value);
        break;
    }
}

template <class In, class Out>
void start(void (*kernel)(tile_call, const In *, Out *), const tile_call &call, const void *input, void *output,
           cudaStream_t stream) {
    const unsigned blocks = static_cast<unsigned>((call.count + block_threads - 1) / block_threads);
    kernel<<<blocks, block_threads, 0, stream>>>(call, static_cast<const In *>(input), static_cast<Out *>(output));
}

bool is_bitwise(int op) { return op == WR_BIT_AND || op == WR_BIT_OR || op == WR_BIT_XOR; }

} // namespace

int warp_intrinsic_exists(const tile_call *call) {
    const size_t bytes = tile_dtype_bytes(call->dtype);
    switch (call->kind) {
    case TILE_REDUCE:
        return (call->dtype == WR_U32 && is_bitwise(call->what)) ||
               ((call->dtype == WR_U32 || call->dtype == WR_I32) &&
                (call->what == WR_SUM || call->what == WR_MIN || call->what == WR_MAX));
    case TILE_SHUFFLE:
        // The warp knows distances up to 31.
        return (bytes == 4 || bytes == 8) && call->argument < warp_lanes;
    case TILE_VOTE:
        return 1;
    default:
        return bytes == 4 || bytes == 8;
    }
}

int warp_intrinsic_run(const tile_call *call, const void *input, void *output, struct CUstream_st *stream) {
    using Wide = unsigned long long;
    const bool wide = tile_dtype_bytes(call->dtype) == 8;
    if (call->count == 0) {
        return 0;
    }
    switch (call->kind) {
    case TILE_REDUCE:
        if (is_bitwise(call->what)) {
            start(reduce_bits, *call, input, output, stream);
        } else if (call->dtype == WR_U32) {
            start(reduce<unsigned>, *call, input, output, stream);
        } else {
            start(reduce<int>, *call, input, output, stream);
        }
        break;
    case TILE_SHUFFLE:
        if (wide) {
            start(shuffle<Wide>, *call, input, output, stream);
        } else {
            start(shuffle<unsigned>, *call, input, output, stream);
        }
        break;
    case TILE_VOTE:
        start(vote, *call, input, output, stream);
        break;
    default:
        if (wide) {
            start(match<Wide>, *call, input, output, stream);
        } else {
            start(match<unsigned>, *call, input, output, stream);
        }
        break;
    }
    return static_cast<int>(cudaGetLastError());
}
