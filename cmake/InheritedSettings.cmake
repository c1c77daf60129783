# What an outer project has set for its own targets, and for all below it, and what this library's targets do without.
# Only this folder and those below it see the change. (Arithmetic has a file of its own, PlainArithmetic.cmake.)

include_guard(GLOBAL)

# The sources of the kernels are compiled once for each instruction set and may share no code with each other: neither
# one file made of many nor an optimizer that looks at all of them may bring them together.
set(CMAKE_UNITY_BUILD OFF)
set(CMAKE_INTERPROCEDURAL_OPTIMIZATION OFF)
foreach(wr_config Debug Release RelWithDebInfo MinSizeRel ${CMAKE_CONFIGURATION_TYPES} "${CMAKE_BUILD_TYPE}")
    string(TOUPPER "${wr_config}" wr_config)
    set(CMAKE_INTERPROCEDURAL_OPTIMIZATION_${wr_config} OFF)
    # Those who open the library at run time, link it by pkg-config or from Rust ask for libwarp_reduce.so.
    set(CMAKE_${wr_config}_POSTFIX "")
endforeach()

# What is linked into everything would be part of what this library gives away.
set_directory_properties(PROPERTIES LINK_LIBRARIES "")

if(NOT PROJECT_IS_TOP_LEVEL)
    set(CMAKE_COMPILE_WARNING_AS_ERROR OFF)
    foreach(wr_language C CXX CUDA)
        foreach(wr_tool CLANG_TIDY CPPCHECK CPPLINT INCLUDE_WHAT_YOU_USE)
            set(CMAKE_${wr_language}_${wr_tool} "")
        endforeach()
    endforeach()
endif()
