# wr_cuda_runtime: the CUDA runtime's headers, for C++ sources. The static runtime itself is linked by CMake into whatever
# holds CUDA objects (CMAKE_CUDA_RUNTIME_LIBRARY).
#
# CMake's own FindCUDAToolkit is not used: version 3.25's stops where nvToolsExt is missing, which CUDA 13 no longer has.

include_guard(GLOBAL)

add_library(wr_cuda_runtime INTERFACE)
# libcu++ has been in a folder of its own since CUDA 13; nvcc finds both by itself.
foreach(wr_folder IN LISTS CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES)
    target_include_directories(wr_cuda_runtime SYSTEM INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${wr_folder}>)
    if(EXISTS "${wr_folder}/cccl")
        target_include_directories(wr_cuda_runtime SYSTEM INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:${wr_folder}/cccl>)
    endif()
endforeach()

# wr_cuda_caller: the runtime itself besides, linked statically, for programs without CUDA sources that call it.
add_library(wr_cuda_caller INTERFACE)
target_link_directories(wr_cuda_caller INTERFACE ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES})
target_link_libraries(wr_cuda_caller INTERFACE wr_cuda_runtime cudart_static rt pthread dl)
