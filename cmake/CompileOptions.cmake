# How the project's own code is compiled. Targets take part by linking wr_compile_options.

include_guard(GLOBAL)
include(InheritedSettings)
include(PlainArithmetic)

# An outer project keeps its own: this library alone is then a release.
if(NOT CMAKE_BUILD_TYPE AND NOT CMAKE_CONFIGURATION_TYPES)
    if(PROJECT_IS_TOP_LEVEL)
        set(CMAKE_BUILD_TYPE Release CACHE STRING "Debug, Release, RelWithDebInfo or MinSizeRel" FORCE)
    else()
        set(CMAKE_BUILD_TYPE Release)
    endif()
endif()

set(CMAKE_C_STANDARD 11)
set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CUDA_STANDARD 20)
# CMake 3.25 does not know how nvcc spells it.
if(NOT DEFINED CMAKE_CUDA20_STANDARD_COMPILE_OPTION)
    set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION -std=c++20)
    set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION -std=c++20)
endif()
foreach(language C CXX CUDA)
    set(CMAKE_${language}_STANDARD_REQUIRED ON)
    set(CMAKE_${language}_EXTENSIONS OFF)
    set(CMAKE_${language}_VISIBILITY_PRESET hidden)
endforeach()
set(CMAKE_VISIBILITY_INLINES_HIDDEN ON)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_CUDA_SEPARABLE_COMPILATION OFF)
set(CMAKE_CUDA_RUNTIME_LIBRARY Static)

add_library(wr_compile_options INTERFACE)
target_compile_options(
    wr_compile_options
    INTERFACE
        $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wpedantic;-Wshadow;-Wconversion>
        # nvcc's own output does not pass -Wpedantic, -Wshadow and -Wconversion.
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-Wall,-Wextra>
        # What an outer project does without or forbids itself.
        $<$<COMPILE_LANGUAGE:C,CXX>:-fno-lto>
        $<$<COMPILE_LANGUAGE:CXX>:-fexceptions>
        # numerics/ takes constants from <limits>, whose functions are constexpr and thus good for the device too.
        $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr>
        # What nobody calls is left out of the library.
        $<$<COMPILE_LANGUAGE:C,CXX>:-ffunction-sections;-fdata-sections>
        $<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=-ffunction-sections,-fdata-sections>
)
if(NOT PROJECT_IS_TOP_LEVEL)
    target_compile_options(wr_compile_options INTERFACE $<$<COMPILE_LANGUAGE:C,CXX>:-Wno-error>)
endif()
# Each list as one option, so that CMake does not drop a member that an outer project has named before.
list(JOIN wr_plain_arithmetic " " wr_plain)
list(JOIN wr_plain_arithmetic_of_nvcc " " wr_plain_nvcc)
target_compile_options(
    wr_compile_options INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:SHELL:${wr_plain}>"
                                 "$<$<COMPILE_LANGUAGE:CUDA>:SHELL:${wr_plain_nvcc}>"
)
list(JOIN wr_plain_arithmetic_of_link " " wr_plain_link)
# And once more among the libraries, which stand behind CMAKE_SHARED_LINKER_FLAGS in Makefiles too.
target_link_options(wr_compile_options INTERFACE "SHELL:${wr_plain_link}")
target_link_libraries(wr_compile_options INTERFACE ${wr_plain_arithmetic_of_link})
# What NVCC_APPEND_FLAGS says while the build runs, nvcc puts behind all options.
set(CMAKE_CUDA_COMPILER_LAUNCHER
    "${CMAKE_COMMAND}" -E env --modify "NVCC_APPEND_FLAGS=string_append: ${wr_plain_nvcc}" --
    ${CMAKE_CUDA_COMPILER_LAUNCHER}
)

# Sources that every call passes through once, after a launch that has left little of them in the processor's caches:
# short ones, without GCC's `rep stos` and `rep movs` for structures, which take 30 cycles to begin.
include(CheckCXXCompilerFlag)
set(wr_moves_structures_by_words "unrolled_loop:512:noalign,libcall:-1:noalign")
check_cxx_compiler_flag("-mmemset-strategy=${wr_moves_structures_by_words}" WARP_REDUCE_MOVES_STRUCTURES_BY_WORDS)
function(wr_compile_for_calls target)
    set(options -O2)
    if(WARP_REDUCE_MOVES_STRUCTURES_BY_WORDS)
        list(APPEND options "-mmemset-strategy=${wr_moves_structures_by_words}"
             "-mmemcpy-strategy=${wr_moves_structures_by_words}"
        )
    endif()
    target_compile_options(${target} PRIVATE "$<$<AND:$<COMPILE_LANGUAGE:CXX>,$<CONFIG:Release>>:${options}>")
endfunction()
