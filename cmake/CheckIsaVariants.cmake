# cmake -D NM=... -D OBJECTS=... -P CheckIsaVariants.cmake
#
# Fails where an object of an instruction-set variant defines a symbol that other objects may share (weak or unique),
# or where no object was given to look at.
cmake_minimum_required(VERSION 3.25)

set(variants "")
foreach(object IN LISTS OBJECTS)
    if(object MATCHES "\\.(avx2|avx512|baseline)\\.cpp\\.o$")
        list(APPEND variants "${object}")
    endif()
endforeach()
if(NOT variants)
    message(FATAL_ERROR "no object of an instruction-set variant among: ${OBJECTS}")
endif()

set(shared "")
foreach(object IN LISTS variants)
    execute_process(
        COMMAND "${NM}" --defined-only --demangle "${object}" OUTPUT_VARIABLE symbols COMMAND_ERROR_IS_FATAL ANY
    )
    string(REGEX MATCHALL "[0-9a-f]+ [WVu] [^\n]*" found "${symbols}")
    foreach(symbol IN LISTS found)
        string(APPEND shared "\n  ${object}: ${symbol}")
    endforeach()
endforeach()
if(shared)
    message(FATAL_ERROR "these are shared with code for other instruction sets:${shared}")
endif()
