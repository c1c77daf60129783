# A C compiler and pkg-config alone build a program against the installed library, which finds it by the run path that
# README gives; in a folder whose name has a comma too.
cmake_minimum_required(VERSION 3.25)
find_program(pkg_config NAMES pkg-config pkgconf NO_CACHE)
if(NOT pkg_config)
    message("SKIPPED: pkg-config is not installed")
    return()
endif()
set(stage "${STAGE},linked")
file(CREATE_LINK "${STAGE}" "${stage}" SYMBOLIC)
set(ENV{PKG_CONFIG_PATH} "${stage}/${LIBRARY_FOLDER}/pkgconfig")

function(ask question answer_variable)
    execute_process(
        COMMAND "${pkg_config}" ${question} warp_reduce
        OUTPUT_VARIABLE answer
        OUTPUT_STRIP_TRAILING_WHITESPACE COMMAND_ERROR_IS_FATAL ANY
    )
    set(${answer_variable} "${answer}" PARENT_SCOPE)
endfunction()

ask(--modversion version)
if(NOT version STREQUAL VERSION)
    message(FATAL_ERROR "pkg-config says version ${version}, the project is ${VERSION}")
endif()
ask(--cflags compile_flags)
ask(--libs link_flags)
ask(--variable=libdir library_folder)
separate_arguments(compile_flags UNIX_COMMAND "${compile_flags}")
separate_arguments(link_flags UNIX_COMMAND "${link_flags}")
execute_process(
    COMMAND "${C_COMPILER}" ${compile_flags} "${SOURCE}" -o "${BINARY}" ${link_flags} -Xlinker -rpath -Xlinker
        "${library_folder}"
    COMMAND_ERROR_IS_FATAL ANY
)
unset(ENV{LD_LIBRARY_PATH})
execute_process(COMMAND "${BINARY}" "${VERSION}" COMMAND_ERROR_IS_FATAL ANY)
