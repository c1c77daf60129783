# Chooses the CUDA compiler before any language is enabled: an installed toolkit where there is one, else NVIDIA's
# pinned Python wheels in the build folder, else one sentence on what to do.
#
# Sets CMAKE_CUDA_COMPILER, CUDAToolkit_ROOT (for the wheels), and for the summary WARP_REDUCE_CUDA_ORIGIN and
# WARP_REDUCE_NVCC_VERSION.

include_guard(GLOBAL)
include(PythonVenv)

# cudaStreamGetDevice came with 12.8.
set(WARP_REDUCE_MINIMUM_CUDA 12.8)

function(wr_nvcc_version nvcc version_variable)
    set(version "")
    execute_process(COMMAND "${nvcc}" --version OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
    if(NOT failed AND text MATCHES "V([0-9]+\\.[0-9]+\\.[0-9]+)")
        set(version "${CMAKE_MATCH_1}")
    endif()
    set(${version_variable} "${version}" PARENT_SCOPE)
endfunction()

# The compiler that the caller named, by CMake's own rules; empty where none was named.
function(wr_requested_nvcc nvcc_variable)
    set(nvcc "")
    if(CMAKE_CUDA_COMPILER)
        set(nvcc "${CMAKE_CUDA_COMPILER}")
    elseif(NOT "$ENV{CUDACXX}" STREQUAL "")
        separate_arguments(command UNIX_COMMAND "$ENV{CUDACXX}")
        list(GET command 0 nvcc)
    endif()
    if(nvcc AND NOT IS_ABSOLUTE "${nvcc}")
        find_program(wr_named_nvcc NAMES "${nvcc}" NO_CACHE)
        if(wr_named_nvcc)
            set(nvcc "${wr_named_nvcc}")
        endif()
    endif()
    set(${nvcc_variable} "${nvcc}" PARENT_SCOPE)
endfunction()

function(wr_fetch_toolkit why_not_installed root_variable)
    set(wr_toolkit_wheels_python "")
    set(reason "the wheels are for Linux on x86-64 and aarch64")
    if(CMAKE_HOST_SYSTEM_NAME STREQUAL "Linux")
        if(NOT WARP_REDUCE_CUDA_ORIGIN)
            message(STATUS "warp_reduce: ${why_not_installed}; NVIDIA's pinned wheels serve instead")
        endif()
        wr_python_venv(
            wr_toolkit_wheels "${CMAKE_CURRENT_SOURCE_DIR}/cmake/cuda_toolkit_requirements.txt" OPTIONAL
        )
        set(reason "${wr_toolkit_wheels_failure}")
    endif()
    if(NOT wr_toolkit_wheels_python)
        message(
            FATAL_ERROR
            "warp_reduce: ${why_not_installed}, and its wheels could not be fetched (${reason}): install CUDA "
            "${WARP_REDUCE_MINIMUM_CUDA} or newer, or build the host device alone with `cmake --workflow --preset host` "
            "(the option -D WARP_REDUCE_CUDA=OFF)."
        )
    endif()
    file(GLOB nvcc "${wr_toolkit_wheels_folder}/lib/python3*/site-packages/nvidia/cu13/bin/nvcc")
    cmake_path(GET nvcc PARENT_PATH toolkit)
    cmake_path(GET toolkit PARENT_PATH toolkit)
    # nvcc looks for its libraries in lib64, where an installed toolkit has them.
    if(NOT EXISTS "${toolkit}/lib64")
        file(CREATE_LINK lib "${toolkit}/lib64" SYMBOLIC)
    endif()
    set(${root_variable} "${toolkit}" PARENT_SCOPE)
endfunction()

set(wr_why_not_installed "")
if(NOT WARP_REDUCE_CUDA_ORIGIN STREQUAL "wheels")
    wr_requested_nvcc(wr_nvcc)
    if(wr_nvcc)
        wr_nvcc_version("${wr_nvcc}" WARP_REDUCE_NVCC_VERSION)
        if(WARP_REDUCE_NVCC_VERSION AND WARP_REDUCE_NVCC_VERSION VERSION_LESS WARP_REDUCE_MINIMUM_CUDA)
            message(
                FATAL_ERROR
                "warp_reduce: ${wr_nvcc} is CUDA ${WARP_REDUCE_NVCC_VERSION}; ${WARP_REDUCE_MINIMUM_CUDA} or newer is "
                "needed."
            )
        endif()
    else()
        unset(wr_nvcc)
        find_program(
            wr_nvcc
            NAMES nvcc
            HINTS "${CUDAToolkit_ROOT}" ENV CUDAToolkit_ROOT ENV CUDA_PATH
            PATHS /usr/local/cuda
            PATH_SUFFIXES bin
            NO_CACHE
        )
        if(NOT wr_nvcc)
            set(wr_why_not_installed "no CUDA toolkit is installed")
        else()
            wr_nvcc_version("${wr_nvcc}" WARP_REDUCE_NVCC_VERSION)
            if(NOT WARP_REDUCE_NVCC_VERSION)
                set(wr_why_not_installed "${wr_nvcc} does not run")
            elseif(WARP_REDUCE_NVCC_VERSION VERSION_LESS WARP_REDUCE_MINIMUM_CUDA)
                set(wr_why_not_installed
                    "the installed CUDA is ${WARP_REDUCE_NVCC_VERSION} and ${WARP_REDUCE_MINIMUM_CUDA} is needed"
                )
            endif()
        endif()
    endif()
    if(NOT wr_why_not_installed)
        set(CMAKE_CUDA_COMPILER "${wr_nvcc}" CACHE FILEPATH "CUDA compiler")
        set(WARP_REDUCE_CUDA_ORIGIN "installed" CACHE INTERNAL "Where the CUDA toolkit comes from")
    endif()
else()
    set(wr_why_not_installed "no CUDA toolkit was installed when this build folder was made")
endif()

if(wr_why_not_installed)
    wr_fetch_toolkit("${wr_why_not_installed}" wr_toolkit)
    set(CUDAToolkit_ROOT "${wr_toolkit}" CACHE PATH "CUDA toolkit" FORCE)
    set(CMAKE_CUDA_COMPILER "${wr_toolkit}/bin/nvcc" CACHE FILEPATH "CUDA compiler" FORCE)
    set(WARP_REDUCE_CUDA_ORIGIN "wheels" CACHE INTERNAL "Where the CUDA toolkit comes from")
    wr_nvcc_version("${CMAKE_CUDA_COMPILER}" WARP_REDUCE_NVCC_VERSION)
endif()
