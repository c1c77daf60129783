# Installs the build folder into a fresh folder and moves it to STAGE.
cmake_minimum_required(VERSION 3.25)
set(first_home "${STAGE}.installed")
file(REMOVE_RECURSE "${STAGE}" "${first_home}")
execute_process(
    COMMAND "${CMAKE_COMMAND}" --install "${BUILD_DIR}" --prefix "${first_home}" COMMAND_ERROR_IS_FATAL ANY
)
file(RENAME "${first_home}" "${STAGE}")

file(GLOB_RECURSE texts "${STAGE}/*.cmake" "${STAGE}/*.pc")
foreach(text IN LISTS texts)
    file(READ "${text}" content)
    string(FIND "${content}" "${first_home}" position)
    if(NOT position EQUAL -1)
        message(FATAL_ERROR "${text} remembers where it was installed")
    endif()
endforeach()
foreach(licence LICENSE-APACHE LICENSE-MIT)
    file(GLOB_RECURSE found "${STAGE}/*/${licence}")
    if(NOT found)
        message(FATAL_ERROR "${licence} was not installed")
    endif()
endforeach()
