# cmake -D CARGO=... -D BUILD_DIR=... -D "RUN=cargo;test;--locked" [-D LIBCLANG_REQUIREMENTS=...]
#       -P run_with_crates.cmake
#
# Runs a command in this folder's workspace, once its crates are at hand; with LIBCLANG_REQUIREMENTS, libclang too,
# where LIBCLANG_PATH does not name one. Where they cannot be fetched the last line begins with SKIPPED and says why,
# and ctest lists the test as skipped.

set(CMAKE_BINARY_DIR "${BUILD_DIR}")
include("${CMAKE_CURRENT_LIST_DIR}/../../cmake/PythonVenv.cmake")

function(fetch_crates failure_variable)
    set(fetch "${CARGO}" fetch --locked)
    execute_process(
        COMMAND ${fetch} --offline
        WORKING_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}"
        RESULT_VARIABLE failed
        OUTPUT_QUIET
        ERROR_QUIET
    )
    if(failed)
        execute_process(COMMAND ${fetch} WORKING_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}" RESULT_VARIABLE failed)
    endif()
    set(${failure_variable} "${failed}" PARENT_SCOPE)
endfunction()

fetch_crates(failed)
if(failed)
    message("SKIPPED: the crates of Cargo.lock are neither in cargo's cache nor to be fetched")
    return()
endif()

if(LIBCLANG_REQUIREMENTS AND "$ENV{LIBCLANG_PATH}" STREQUAL "")
    wr_python_venv(libclang "${LIBCLANG_REQUIREMENTS}" OPTIONAL)
    if(NOT libclang_python)
        message("SKIPPED: LIBCLANG_PATH is not set and libclang cannot be fetched (${libclang_failure})")
        return()
    endif()
    file(GLOB libclang "${libclang_folder}/lib/python3*/site-packages/clang/native")
    set(ENV{LIBCLANG_PATH} "${libclang}")
endif()

execute_process(
    COMMAND ${RUN}
    WORKING_DIRECTORY "${CMAKE_CURRENT_LIST_DIR}"
    COMMAND_ERROR_IS_FATAL ANY
)
