# Whether this build has the CUDA kernels. WARP_REDUCE_CUDA is
#   ON      yes
#   OFF     no: the host device alone
#   AUTO    where this machine has a GPU, or this build folder the kernels already
# Resolved here to ON or OFF by a plain variable that hides the cached word, so that the next configure looks again;
# WARP_REDUCE_CUDA_WHY says in a few words why, for the summary.

include_guard(GLOBAL)

set(WARP_REDUCE_CUDA ON CACHE STRING "Build the CUDA kernels: ON, OFF (the host device alone) or AUTO (if there is a GPU)")
set_property(CACHE WARP_REDUCE_CUDA PROPERTY STRINGS ON OFF AUTO)

# A driver that runs has a device file for each GPU: of discrete GPUs, of Jetson's, of Windows' in WSL.
function(wr_find_gpu found_variable)
    file(GLOB devices "/dev/nvidia[0-9]*" "/dev/nvgpu/*" "/dev/nvhost-gpu")
    if(NOT devices AND EXISTS "/dev/dxg" AND EXISTS "/usr/lib/wsl/lib/libcuda.so.1")
        set(devices "/dev/dxg")
    endif()
    set(${found_variable} "${devices}" PARENT_SCOPE)
endfunction()

set(WARP_REDUCE_CUDA_WHY "WARP_REDUCE_CUDA=${WARP_REDUCE_CUDA}")
if(WARP_REDUCE_CUDA STREQUAL "AUTO")
    wr_find_gpu(wr_gpu)
    if(wr_gpu)
        set(WARP_REDUCE_CUDA ON)
        set(WARP_REDUCE_CUDA_WHY "for the GPU of this machine")
    elseif(WARP_REDUCE_CUDA_ORIGIN)
        # It would be a surprise if the demo took from the library what the tests' command has built.
        set(WARP_REDUCE_CUDA ON)
        set(WARP_REDUCE_CUDA_WHY "as this build folder had them before")
    else()
        set(WARP_REDUCE_CUDA OFF)
        set(WARP_REDUCE_CUDA_WHY "there is no GPU in this machine; -D WARP_REDUCE_CUDA=ON builds them all the same")
    endif()
endif()

if(WARP_REDUCE_CUDA AND CMAKE_CURRENT_SOURCE_DIR MATCHES ",")
    message(
        FATAL_ERROR
        "warp_reduce: nvcc cuts the names of folders at their commas: move ${CMAKE_CURRENT_SOURCE_DIR}, or build the host "
        "device alone (-D WARP_REDUCE_CUDA=OFF)."
    )
endif()
