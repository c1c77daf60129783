# What a configuration decides by itself: for which GPUs kernels are built, and whether they are built at all.
#
# cmake -D SOURCES=... -D FOLDER=... -P choices_of_a_configuration.cmake       (-D CHOICE=... is the script itself)
cmake_minimum_required(VERSION 3.25)

if(CHOICE STREQUAL "architectures")
    include("${SOURCES}/cmake/CudaArchitectures.cmake")
    message(NOTICE "chosen: ${CMAKE_CUDA_ARCHITECTURES}.")
    return()
elseif(CHOICE STREQUAL "cuda")
    include("${SOURCES}/cmake/ChooseCuda.cmake")
    message(NOTICE "chosen: ${WARP_REDUCE_CUDA}.")
    return()
endif()

# A toolkit of shell scripts: what nvcc knows, and the GPUs that its helper finds.
function(make_toolkit gpus)
    file(WRITE "${FOLDER}/nvcc" "#!/bin/sh\nprintf 'sm_75\\nsm_80\\nsm_90\\nsm_120\\ncompute_90\\ncompute_120\\n'\n")
    file(WRITE "${FOLDER}/__nvcc_device_query" "#!/bin/sh\n${gpus}\n")
    file(CHMOD "${FOLDER}/nvcc" "${FOLDER}/__nvcc_device_query" PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
endfunction()

function(expect_in folder expected choice)
    unset(ENV{CUDAARCHS})
    execute_process(
        COMMAND
            "${CMAKE_COMMAND}" -D "SOURCES=${SOURCES}" -D "CMAKE_CUDA_COMPILER=${FOLDER}/nvcc" -D "CHOICE=${choice}"
            ${ARGN} -P "${CMAKE_CURRENT_LIST_FILE}"
        WORKING_DIRECTORY "${folder}"
        OUTPUT_VARIABLE answer
        ERROR_VARIABLE answer
    )
    string(REGEX REPLACE "[ \n]+" " " answer "${answer}")
    if(NOT answer MATCHES "${expected}")
        message(FATAL_ERROR "${choice} ${ARGN}: expected ${expected}, the answer: ${answer}")
    endif()
endfunction()

function(expect expected choice)
    expect_in("${FOLDER}" "${expected}" "${choice}" ${ARGN})
endfunction()

make_toolkit("exit 1")
expect("chosen: 90-real\\." architectures)
expect("chosen: 89\\." architectures -DCMAKE_CUDA_ARCHITECTURES=89)
expect("chosen: 80-real;90-real;120-real;120-virtual\\." architectures -DCMAKE_CUDA_ARCHITECTURES=release)
expect("has 52 .* 80 and newer" architectures -DCMAKE_CUDA_ARCHITECTURES=52)
make_toolkit("printf '90,90'")
expect("chosen: 90-real\\." architectures)
make_toolkit("printf '86,120'")
expect("chosen: 86-real;120-real\\." architectures)

expect("chosen: ON\\." cuda)
expect("chosen: OFF\\." cuda -DWARP_REDUCE_CUDA=OFF)
expect("chosen: ON\\." cuda -DWARP_REDUCE_CUDA=AUTO -DWARP_REDUCE_CUDA_ORIGIN=wheels)
# In a script, the folder that it runs in stands for the sources.
file(MAKE_DIRECTORY "${FOLDER}/a, b")
expect_in("${FOLDER}/a, b" "nvcc cuts the names" cuda)
expect_in("${FOLDER}/a, b" "chosen: OFF\\." cuda -DWARP_REDUCE_CUDA=OFF)
file(GLOB gpus "/dev/nvidia[0-9]*")
if(gpus)
    expect("chosen: ON\\." cuda -DWARP_REDUCE_CUDA=AUTO)
elseif(NOT EXISTS "/dev/dxg" AND NOT EXISTS "/dev/nvgpu")
    expect("chosen: OFF\\." cuda -DWARP_REDUCE_CUDA=AUTO)
endif()
