// The names and sentences of the statuses, and whether a GPU can be used.
#include "capi/calls.h"
#include "cuda/gpu.h"

#include <iterator>

namespace {

struct Text {
    const char *name, *sentence;
};

// In the order of their numbers.
constexpr Text texts[] = {
    {"WR_SUCCESS", "The call did what it was asked to do."},
    {"WR_ERROR_NULL_POINTER", "A pointer that is needed is NULL; only a pointer to no elements may be."},
    {"WR_ERROR_INVALID_OP", "The operator is none of wr_op; was the field left at zero?"},
    {"WR_ERROR_INVALID_DTYPE", "An element type is none of wr_dtype; was the field left at zero?"},
    {"WR_ERROR_INVALID_OPTION",
     "An option has a value that it cannot have: see the comment at its field in warp_reduce.h."},
    {"WR_ERROR_UNSUPPORTED",
     "This combination of operator, element types and options is not offered: docs/operations.md and the comments in "
     "warp_reduce.h say what there is."},
    {"WR_ERROR_SIZE_OVERFLOW",
     "The sizes and strides describe more than 2^63 - 1 bytes, or memory beyond an end of the address space."},
    {"WR_ERROR_MISALIGNED",
     "A pointer is not a multiple of its element's alignment, or the workspace not of 16 bytes."},
    {"WR_ERROR_OVERLAP",
     "Memory that is written overlaps other memory of the call; only an output that is exactly the input may."},
    {"WR_ERROR_WORKSPACE_TOO_SMALL",
     "The workspace is smaller than the workspace query says; give that many bytes, or NULL to have them allocated."},
    {"WR_ERROR_STRUCT_SIZE",
     "struct_size is none that this library knows: set it to sizeof the struct, and use a library no older than the "
     "header."},
    {"WR_ERROR_OUT_OF_MEMORY", "Memory for the job could not be allocated; free some, or bring a workspace."},
    {"WR_ERROR_NO_DRIVER",
     "There is no CUDA driver, or it is too old for this library: install a newer one, or use wr_host_stream()."},
    {"WR_ERROR_NO_DEVICE", "The CUDA driver offers no GPU: look at CUDA_VISIBLE_DEVICES, or use wr_host_stream()."},
    {"WR_ERROR_NO_KERNEL",
     "The library holds no kernel for this GPU: build it for the GPU's architecture, or use wr_host_stream()."},
    {"WR_ERROR_NO_CUDA",
     "The library was built for the host device alone: use wr_host_stream(), or a library built with CUDA."},
    {"WR_ERROR_INTERNAL", "A fault of the library itself; please report it."},
    {"WR_ERROR_INVALID_OFFSETS",
     "An offset of a segment is negative, below the one before it, or beyond the input's elements."},
    {"WR_ERROR_INVALID_STATE",
     "The bytes are no state: damaged, refused before, of another version or other software, or fewer than "
     "wr_state_size says."},
    {"WR_ERROR_STATE_MISMATCH",
     "The state is of another operator, element type, kind of accumulator, option or shape than the call says."},
    {"WR_ERROR_NOT_NEIGHBOUR",
     "The state is of other elements than the call says: the right piece begins where the left one ends, and a whole "
     "axis begins at 0."},
    {"WR_ERROR_NO_NCCL",
     "This process has loaded no NCCL (libnccl.so.2), and a communicator comes from one: load the one that made it."},
    {"WR_ERROR_NCCL_FAILED",
     "NCCL reports an error: ask ncclCommGetAsyncError and ncclGetLastError which, and abort the communicator."},
};
static_assert(std::size(texts) == WR_ERROR_NCCL_FAILED + 1);

constexpr Text unknown{"unknown status", "This number is no status of this library."};
constexpr Text unknown_to_cuda{"unknown CUDA error",
                               "The CUDA runtime reported an error that this library has no words for."};

const char *or_default(const char *text, const char *default_text) { return text == nullptr ? default_text : text; }

// The text of a number that is not the CUDA runtime's; nullptr for one that is.
const Text *own_text(std::int32_t number) {
    if (number > wr::cuda_error_base) {
        return nullptr;
    }
    return number >= 0 && number < std::ssize(texts) ? &texts[number] : &unknown;
}

} // namespace

const char *wr_status_name(wr_status status) {
    const auto number = wr::capi::number_of(status);
    const Text *text = own_text(number);
    return text != nullptr ? text->name
                           : or_default(wr::cuda::error_name(number - wr::cuda_error_base), unknown_to_cuda.name);
}

const char *wr_status_string(wr_status status) {
    const auto number = wr::capi::number_of(status);
    const Text *text = own_text(number);
    return text != nullptr ? text->sentence
                           : or_default(wr::cuda::error_string(number - wr::cuda_error_base), unknown_to_cuda.sentence);
}

wr_status wr_cuda_status(void) {
    return wr::capi::guarded([] { return wr::cuda::status(); });
}
