# The library built as a part of a project that computes fast and loose, with flags of that kind in the environment too,
# in folders whose names have commas and spaces: it builds, keeps its name, computes the published vectors and changes
# no program's floating-point state.
cmake_minimum_required(VERSION 3.25)
set(ENV{CXXFLAGS} "-Ofast -mrecip $ENV{CXXFLAGS}")
set(ENV{CFLAGS} "-Ofast $ENV{CFLAGS}")
set(ENV{LDFLAGS} "-ffast-math $ENV{LDFLAGS}")
set(ENV{DESTDIR} "/nowhere")
unset(ENV{CMAKE_BUILD_TYPE})
file(REMOVE_RECURSE "${BINARY}")
file(MAKE_DIRECTORY "${BINARY}")
set(sources "${BINARY}/sources, linked")
file(CREATE_LINK "${LIBRARY_SOURCES}" "${sources}" SYMBOLIC)

set(configure
    "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}" -G "${GENERATOR}" -D "CMAKE_C_COMPILER=${C_COMPILER}" -D
    "CMAKE_CXX_COMPILER=${CXX_COMPILER}" -D "LIBRARY_SOURCES=${sources}" -D "CONSUMER=${CONSUMER}"
)
set(ENV{CMAKE_CXX_COMPILER_LAUNCHER} "${CXX_LAUNCHER}")
execute_process(COMMAND ${configure} COMMAND_ERROR_IS_FATAL ANY)

# What cannot be taken back is refused.
foreach(flag -mdaz-ftz -mpc32 -mpc64)
    execute_process(
        COMMAND ${configure} -D "CMAKE_SHARED_LINKER_FLAGS=${flag}"
        RESULT_VARIABLE failed
        OUTPUT_QUIET
        ERROR_VARIABLE answer
    )
    if(NOT failed OR NOT answer MATCHES "warp_reduce: the compiler flag ${flag} would change")
        message(FATAL_ERROR "${flag} was not refused: ${answer}")
    endif()
endforeach()
execute_process(COMMAND ${configure} -D CMAKE_SHARED_LINKER_FLAGS=-ffast-math COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" --parallel 2 COMMAND_ERROR_IS_FATAL ANY)

set(library "${BINARY}/everything/libwarp_reduce.so")
if(NOT EXISTS "${library}")
    message(FATAL_ERROR "there is no ${library}")
endif()
execute_process(COMMAND "${BINARY}/everything/consumer" "${VERSION}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${STATE_CHECK}" "${library}" COMMAND_ERROR_IS_FATAL ANY)
# (LD_PRELOAD would end at the folder's space.)
set(with_it "${CMAKE_COMMAND}" -E env "LD_LIBRARY_PATH=${BINARY}/everything")
execute_process(
    COMMAND ${with_it} LD_TRACE_LOADED_OBJECTS=1 "${VECTORS_CHECK}"
    OUTPUT_VARIABLE loaded
    COMMAND_ERROR_IS_FATAL ANY
)
string(FIND "${loaded}" "${BINARY}/everything/libwarp_reduce.so" position)
if(position EQUAL -1)
    message(FATAL_ERROR "the published vectors would be computed by another library: ${loaded}")
endif()
execute_process(COMMAND ${with_it} "${VECTORS_CHECK}" host "${VECTORS}" COMMAND_ERROR_IS_FATAL ANY)
