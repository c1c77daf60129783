# wr_python_venv(<name> <requirements.txt> [OPTIONAL] [FOLDER <folder> [IF_THERE]])
#
# A Python virtual environment in the build folder, or in a folder that several builds share, made once and kept until
# the requirements change. With IF_THERE it is used where it has been made, and not made. Sets
#   <name>_python    its interpreter
#   <name>_folder    its folder; programs of its packages are in <name>_folder/bin
# Where it cannot be made, the build stops with one sentence; with OPTIONAL, <name>_python is empty and
#   <name>_failure   says why in a few words.
# Works in scripts (cmake -P) too.

include_guard(GLOBAL)

function(wr_make_python_venv python folder requirements failure_variable)
    cmake_path(GET requirements FILENAME file_name)
    message(STATUS "warp_reduce: fetching the Python packages of ${file_name} into ${folder}")
    file(REMOVE_RECURSE "${folder}")
    execute_process(COMMAND "${python}" -m venv "${folder}" RESULT_VARIABLE failed)
    if(failed)
        set(${failure_variable} "Python's venv module does not work: install python3-venv" PARENT_SCOPE)
        return()
    endif()
    # Nothing is captured: the person in front of the screen sees pip's progress.
    execute_process(
        COMMAND
            "${folder}/bin/python" -m pip install --disable-pip-version-check --no-input --retries 2 --only-binary :all:
            --requirement "${requirements}"
        RESULT_VARIABLE failed
    )
    if(failed)
        set(${failure_variable} "pip could not install ${file_name}: is there a network?" PARENT_SCOPE)
    endif()
endfunction()

function(wr_python_venv name requirements)
    cmake_parse_arguments(PARSE_ARGV 2 argument "OPTIONAL;IF_THERE" "FOLDER" "")
    set(folder "${CMAKE_BINARY_DIR}/venv/${name}")
    if(argument_FOLDER)
        set(folder "${argument_FOLDER}")
    endif()
    set(stamp "${folder}/requirements.sha256")
    set(failure "")
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS "${requirements}")

    file(SHA256 "${requirements}" wanted)
    set(present "")
    if(EXISTS "${stamp}" AND EXISTS "${folder}/bin/python")
        file(READ "${stamp}" present)
    endif()
    if(NOT present STREQUAL wanted AND argument_IF_THERE)
        set(failure "${folder} has not been made")
    elseif(NOT present STREQUAL wanted)
        find_program(wr_python3 NAMES python3 python NO_CACHE)
        if(wr_python3)
            wr_make_python_venv("${wr_python3}" "${folder}" "${requirements}" failure)
        else()
            set(failure "Python 3 is not installed")
        endif()
        if(NOT failure)
            file(WRITE "${stamp}" "${wanted}")
        endif()
    endif()

    if(failure AND NOT argument_OPTIONAL)
        cmake_path(GET requirements FILENAME file_name)
        message(FATAL_ERROR "warp_reduce: the Python packages of ${file_name} are needed (${failure}).")
    endif()
    set(python "${folder}/bin/python")
    if(failure)
        set(python "")
    endif()
    set(${name}_python "${python}" PARENT_SCOPE)
    set(${name}_folder "${folder}" PARENT_SCOPE)
    set(${name}_failure "${failure}" PARENT_SCOPE)
endfunction()
