# cmake -D ACTION=lint|format -D SOURCE_DIR=... -D BUILD_DIR=... -P RunLinters.cmake
#
# lint: clang-format and ruff check all sources, clang-tidy the C and C++ sources that the build folder compiles.
# format: clang-format and ruff rewrite the sources.

cmake_minimum_required(VERSION 3.25)
set(CMAKE_BINARY_DIR "${BUILD_DIR}")
include("${CMAKE_CURRENT_LIST_DIR}/PythonVenv.cmake")
wr_python_venv(lint "${CMAKE_CURRENT_LIST_DIR}/lint_requirements.txt")
set(programs "${lint_folder}/bin")

set(code_folders numerics host cuda capi tests bench bindings examples)
set(c_patterns "")
set(python_patterns "")
foreach(folder IN LISTS code_folders)
    foreach(extension h c cpp cu cuh)
        list(APPEND c_patterns "${SOURCE_DIR}/${folder}/*.${extension}")
    endforeach()
    list(APPEND python_patterns "${SOURCE_DIR}/${folder}/*.py")
endforeach()
file(GLOB_RECURSE c_sources ${c_patterns})
file(GLOB_RECURSE python_sources ${python_patterns})
foreach(list_name c_sources python_sources)
    # Cargo's output, and its copies of the library's sources.
    list(FILTER ${list_name} EXCLUDE REGEX "/(target|vendor)/")
endforeach()

set(failures "")

function(run name)
    message(STATUS "${name}")
    execute_process(COMMAND ${ARGN} WORKING_DIRECTORY "${SOURCE_DIR}" RESULT_VARIABLE failed)
    if(failed)
        list(APPEND failures "${name}")
        set(failures "${failures}" PARENT_SCOPE)
    endif()
endfunction()

# The compile commands without what Clang does not know and cannot be told to pass over.
function(without_options_of_gcc database written)
    file(READ "${database}" json)
    string(REGEX REPLACE " (-mmem(set|cpy)-strategy=[^ ]+|-mno-recip)" "" json "${json}")
    file(WRITE "${written}" "${json}")
endfunction()

# The C and C++ sources of ours that the build folder compiles; of a source that is compiled for several instruction sets
# the baseline. Clang does not read the newest CUDA, so the kernels are left to nvcc's warnings.
function(translation_units database units_variable)
    file(READ "${database}" json)
    string(JSON count LENGTH "${json}")
    math(EXPR last "${count} - 1")
    list(JOIN code_folders "|" folders)
    set(units "")
    foreach(index RANGE ${last})
        string(JSON unit GET "${json}" ${index} file)
        cmake_path(RELATIVE_PATH unit BASE_DIRECTORY "${SOURCE_DIR}" OUTPUT_VARIABLE inside)
        if(inside MATCHES "^(${folders})/.*\\.(c|cpp)$" OR unit MATCHES "\\.baseline\\.cpp$")
            list(APPEND units "${unit}")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES units)
    set(${units_variable} "${units}" PARENT_SCOPE)
endfunction()

if(ACTION STREQUAL "format")
    run("clang-format" "${programs}/clang-format" -i ${c_sources})
    if(python_sources)
        run("ruff format" "${programs}/ruff" format ${python_sources})
    endif()
else()
    run("clang-format" "${programs}/clang-format" --dry-run --Werror ${c_sources})
    if(python_sources)
        run("ruff format" "${programs}/ruff" format --check ${python_sources})
        run("ruff check" "${programs}/ruff" check ${python_sources})
    endif()
    set(tidy_folder "${BUILD_DIR}/clang_tidy")
    without_options_of_gcc("${BUILD_DIR}/compile_commands.json" "${tidy_folder}/compile_commands.json")
    translation_units("${tidy_folder}/compile_commands.json" units)
    list(JOIN units "\n" text)
    file(WRITE "${tidy_folder}/units.txt" "${text}\n")
    cmake_host_system_information(RESULT cores QUERY NUMBER_OF_LOGICAL_CORES)
    # The compile commands are GCC's; what Clang does not know in them is no fault of the sources.
    run("clang-tidy" xargs --arg-file "${tidy_folder}/units.txt" --max-args 1 --max-procs ${cores}
        "${programs}/clang-tidy" -p "${tidy_folder}" --quiet
        --extra-arg=-Wno-unknown-warning-option --extra-arg=-Wno-error
    )
endif()
if(failures)
    list(JOIN failures ", " failures)
    message(FATAL_ERROR "failed: ${failures}")
endif()
