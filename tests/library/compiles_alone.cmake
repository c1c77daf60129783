# Compiles the header alone: cmake -DCOMPILER= -DLANGUAGE=c|c++ -DSTANDARD= -DINCLUDE= -DSOURCE= -P compiles_alone.cmake
# A compiler that does not know the standard at all is said so, by the exit status that CTest shows as not run.

set(strict -Wall -Wextra -Wpedantic -Werror)
execute_process(
    COMMAND "${COMPILER}" -x ${LANGUAGE} -std=${STANDARD} -fsyntax-only /dev/null
    RESULT_VARIABLE unknown
    OUTPUT_QUIET ERROR_QUIET
)
if(NOT unknown EQUAL 0)
    message("not run: ${COMPILER} does not know -std=${STANDARD}")
    return()
endif()
execute_process(
    COMMAND "${COMPILER}" -x ${LANGUAGE} -std=${STANDARD} ${strict} -fsyntax-only "-I${INCLUDE}" "${SOURCE}"
    RESULT_VARIABLE failed
    ERROR_VARIABLE messages
)
if(NOT failed EQUAL 0 OR NOT messages STREQUAL "")
    message(FATAL_ERROR "the header does not compile alone under -std=${STANDARD}:\n${messages}")
endif()
