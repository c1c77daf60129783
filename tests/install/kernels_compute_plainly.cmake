# Kernels keep correctly rounded, unfused arithmetic with subnormals where an outer project's flags and nvcc's variables
# ask for the opposite.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${BINARY}")
set(ENV{NVCC_PREPEND_FLAGS} "--use_fast_math")
execute_process(
    COMMAND
        "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}" -G "${GENERATOR}" -D "CMAKE_CXX_COMPILER=${CXX_COMPILER}" -D
        "CMAKE_CUDA_COMPILER=${CUDA_COMPILER}" -D CMAKE_CUDA_ARCHITECTURES=90-virtual -D
        "LIBRARY_SOURCES=${LIBRARY_SOURCES}"
    COMMAND_ERROR_IS_FATAL ANY
)
set(ENV{NVCC_APPEND_FLAGS} "--use_fast_math -fmad=true -ftz=true -prec-div=false -prec-sqrt=false")
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" COMMAND_ERROR_IS_FATAL ANY)
file(READ "${BINARY}/kernel.path" path)
file(READ "${path}" ptx)
foreach(operation mul.rn.f32 add.rn.f32 div.rn.f32 sqrt.rn.f32 rcp.rn.f32 mul.rn.f64 add.rn.f64)
    string(FIND "${ptx}" "${operation}" position)
    if(position EQUAL -1)
        message(FATAL_ERROR "no ${operation} in ${ptx}")
    endif()
endforeach()
if(ptx MATCHES "[a-z.]*(\\.ftz|\\.approx|\\.full|fma\\.)[a-z0-9.]*")
    message(FATAL_ERROR "${CMAKE_MATCH_0} in ${ptx}")
endif()
