# The library gives away the headers' functions and nothing else, has its SONAME, and needs neither CUDA's libraries nor
# a C++ runtime.
cmake_minimum_required(VERSION 3.25)
set(header "")
foreach(name warp_reduce warp_reduce_nccl)
    file(READ "${HEADERS}/${name}.h" text)
    string(APPEND header "${text}")
endforeach()
string(REGEX REPLACE "/\\*([^*]|\\*+[^*/])*\\*+/" "" header "${header}")
string(REGEX MATCHALL "WR_API [^(;]*[ *](wr_[a-z0-9_]+)\\(" declarations "${header}")
set(declared "")
foreach(declaration IN LISTS declarations)
    string(REGEX MATCH "(wr_[a-z0-9_]+)\\($" name "${declaration}")
    list(APPEND declared "${CMAKE_MATCH_1}")
endforeach()
list(SORT declared)
if(NOT declared)
    message(FATAL_ERROR "no declaration was found in ${HEADERS}")
endif()

execute_process(
    COMMAND "${NM}" --dynamic --defined-only --format=posix "${LIBRARY}"
    OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY
)
string(REGEX MATCHALL "[^\n]+" lines "${symbols}")
set(exported "")
foreach(line IN LISTS lines)
    string(REGEX REPLACE "[@ ].*" "" name "${line}")
    # The version node itself.
    if(NOT name STREQUAL "WARP_REDUCE_0")
        list(APPEND exported "${name}")
    endif()
endforeach()
list(SORT exported)
if(NOT exported STREQUAL declared)
    message(FATAL_ERROR "exported: ${exported}\ndeclared: ${declared}")
endif()

execute_process(
    COMMAND "${READELF}" --dynamic --wide "${LIBRARY}" OUTPUT_VARIABLE dynamic COMMAND_ERROR_IS_FATAL ANY
)
if(NOT dynamic MATCHES "\\(SONAME\\)[^\n]*\\[${SONAME}\\]")
    message(FATAL_ERROR "the SONAME is not ${SONAME}:\n${dynamic}")
endif()
if(dynamic MATCHES "\\(NEEDED\\)[^\n]*(libcuda|libcudart|libstdc\\+\\+|libc\\+\\+|libgcc)[^\n]*")
    message(FATAL_ERROR "the library needs another at run time: ${CMAKE_MATCH_0}")
endif()
if(dynamic MATCHES "\\((RPATH|RUNPATH)\\)[^\n]*")
    message(FATAL_ERROR "the installed library remembers folders of its build: ${CMAKE_MATCH_0}")
endif()
