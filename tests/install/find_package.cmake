# A C project elsewhere finds the package, builds with it and runs; an impossible version is refused.
cmake_minimum_required(VERSION 3.25)
file(REMOVE_RECURSE "${BINARY}")

function(configure version result_variable)
    execute_process(
        COMMAND
            "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${BINARY}" -G "${GENERATOR}" -D "CMAKE_PREFIX_PATH=${STAGE}" -D
            "CMAKE_C_COMPILER=${C_COMPILER}" -D "WANTED_VERSION=${version}"
        RESULT_VARIABLE failed
        OUTPUT_VARIABLE output
        ERROR_VARIABLE output
    )
    message("${output}")
    set(${result_variable} "${failed}" PARENT_SCOPE)
endfunction()

configure(99.0 failed)
if(NOT failed)
    message(FATAL_ERROR "version 99.0 was found")
endif()
# As docs/embedding.md asks for it.
file(READ "${CMAKE_CURRENT_LIST_DIR}/../../docs/embedding.md" page)
if(NOT page MATCHES "find_package\\(warp_reduce ([0-9.]+) REQUIRED\\)")
    message(FATAL_ERROR "docs/embedding.md does not say how the package is found")
endif()
configure("${CMAKE_MATCH_1}" failed)
if(failed)
    message(FATAL_ERROR "the package was not found as docs/embedding.md asks for it, in version ${CMAKE_MATCH_1}")
endif()
configure("${VERSION}" failed)
if(failed)
    message(FATAL_ERROR "the package was not found")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${BINARY}/consumer" "${VERSION}" COMMAND_ERROR_IS_FATAL ANY)
