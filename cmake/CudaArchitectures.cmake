# Resolves CMAKE_CUDA_ARCHITECTURES before CUDA is enabled:
#   not set    machine code for the GPUs of this machine; for 90 where there is none
#   release    code for every architecture from 80 up that the toolkit knows, and PTX of the newest
#   other      as CMake defines it

include_guard(GLOBAL)

set(WARP_REDUCE_OLDEST_ARCHITECTURE 80)

# toolkit_query is --list-gpu-code (machine code) or --list-gpu-arch (PTX).
function(wr_known_architectures toolkit_query architectures_variable)
    execute_process(
        COMMAND "${CMAKE_CUDA_COMPILER}" ${toolkit_query} OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY
    )
    string(REGEX MATCHALL "_[0-9]+" names "${text}")
    set(architectures "")
    foreach(name IN LISTS names)
        string(SUBSTRING "${name}" 1 -1 architecture)
        if(architecture GREATER_EQUAL WARP_REDUCE_OLDEST_ARCHITECTURE)
            list(APPEND architectures "${architecture}")
        endif()
    endforeach()
    list(REMOVE_DUPLICATES architectures)
    list(SORT architectures COMPARE NATURAL)
    set(${architectures_variable} "${architectures}" PARENT_SCOPE)
endfunction()

function(wr_release_architectures architectures_variable)
    wr_known_architectures(--list-gpu-code machine_code)
    wr_known_architectures(--list-gpu-arch intermediate_code)
    list(TRANSFORM machine_code APPEND "-real")
    list(POP_BACK intermediate_code newest)
    set(${architectures_variable} "${machine_code};${newest}-virtual" PARENT_SCOPE)
endfunction()

function(wr_architectures_of_this_machine architectures_variable)
    # The toolkit's own helper prints one architecture a GPU, separated by commas, and fails where there is no GPU.
    cmake_path(GET CMAKE_CUDA_COMPILER PARENT_PATH programs)
    set(text "")
    if(EXISTS "${programs}/__nvcc_device_query")
        execute_process(COMMAND "${programs}/__nvcc_device_query" OUTPUT_VARIABLE text ERROR_QUIET RESULT_VARIABLE failed)
        if(failed)
            set(text "")
        endif()
    endif()
    string(REGEX MATCHALL "[0-9]+" architectures "${text}")
    list(FILTER architectures EXCLUDE REGEX "^[1-7][0-9]$")
    list(REMOVE_DUPLICATES architectures)
    if(NOT architectures)
        set(architectures 90)
    endif()
    # PTX beside it would double the library, for GPUs that this machine has not.
    list(TRANSFORM architectures APPEND "-real")
    set(${architectures_variable} "${architectures}" PARENT_SCOPE)
endfunction()

# A plain variable hides the cached word, so that the next configure resolves it afresh.
if(CMAKE_CUDA_ARCHITECTURES STREQUAL "release")
    wr_release_architectures(CMAKE_CUDA_ARCHITECTURES)
elseif(NOT CMAKE_CUDA_ARCHITECTURES AND "$ENV{CUDAARCHS}" STREQUAL "")
    wr_architectures_of_this_machine(CMAKE_CUDA_ARCHITECTURES)
endif()

foreach(wr_architecture IN LISTS CMAKE_CUDA_ARCHITECTURES)
    string(REGEX MATCH "^[0-9]+" wr_number "${wr_architecture}")
    if(wr_number AND wr_number LESS WARP_REDUCE_OLDEST_ARCHITECTURE)
        message(
            FATAL_ERROR
            "warp_reduce: CMAKE_CUDA_ARCHITECTURES has ${wr_number} (CMake's own default in a project that names none), and "
            "the kernels are for ${WARP_REDUCE_OLDEST_ARCHITECTURE} and newer."
        )
    endif()
endforeach()
