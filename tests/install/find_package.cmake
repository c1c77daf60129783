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
configure("${VERSION}" failed)
if(failed)
    message(FATAL_ERROR "the package was not found")
endif()
execute_process(COMMAND "${CMAKE_COMMAND}" --build "${BINARY}" COMMAND_ERROR_IS_FATAL ANY)
execute_process(COMMAND "${BINARY}/consumer" "${VERSION}" COMMAND_ERROR_IS_FATAL ANY)
