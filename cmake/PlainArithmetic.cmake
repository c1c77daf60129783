# The bits of a result are part of the contract, so flags that let a compiler compute something else are taken back for
# this project's code, wherever they came from: CMAKE_CXX_FLAGS, CXXFLAGS, a parent project's options,
# NVCC_APPEND_FLAGS, a compiler whose own default they are. What cannot be taken back is refused in one sentence.
#
# Sets wr_plain_arithmetic (compiler options of C and C++), wr_plain_arithmetic_of_link and wr_plain_arithmetic_of_nvcc.
# They belong behind all other options. numerics/plain_arithmetic.h looks whether they were heard.

include_guard(GLOBAL)
include(CheckCXXCompilerFlag)

# Each gives the default of ISO C back; -ffp-contract=off is stricter, and what the contract says.
set(wr_known_everywhere -fno-fast-math -fno-unsafe-math-optimizations -ffp-contract=off)
set(wr_plain_arithmetic ${wr_known_everywhere})
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(
        APPEND wr_plain_arithmetic
        -fno-associative-math
        -fno-reciprocal-math
        -fno-finite-math-only
        -fsigned-zeros
        -fno-rounding-math
        -fno-signaling-nans
        -fno-single-precision-constant
    )
elseif(CMAKE_CXX_COMPILER_ID MATCHES "Clang|IntelLLVM")
    list(
        APPEND wr_plain_arithmetic
        -fno-associative-math
        -fno-reciprocal-math
        -fno-finite-math-only
        -fhonor-nans
        -fhonor-infinities
        -fsigned-zeros
        -fno-approx-func
        -fno-rounding-math
        -fdenormal-fp-math=ieee
    )
endif()
if(CMAKE_SYSTEM_PROCESSOR MATCHES "^(x86_64|AMD64|amd64)$")
    list(APPEND wr_plain_arithmetic -mfpmath=sse)
    if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
        list(APPEND wr_plain_arithmetic -mno-recip)
    else()
        list(APPEND wr_plain_arithmetic -mrecip=none)
    endif()
elseif(CMAKE_SYSTEM_PROCESSOR MATCHES "^(aarch64|arm64)$" AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    list(APPEND wr_plain_arithmetic -mno-low-precision-recip-sqrt -mno-low-precision-sqrt -mno-low-precision-div)
endif()
list(JOIN wr_plain_arithmetic " " wr_plain_arithmetic_in_one)
check_cxx_compiler_flag("${wr_plain_arithmetic_in_one}" WARP_REDUCE_TAKES_ARITHMETIC_BACK)
if(NOT WARP_REDUCE_TAKES_ARITHMETIC_BACK)
    set(wr_plain_arithmetic ${wr_known_everywhere})
endif()
# Neither changes a value: nobody reads errno or the exception flags, and loops with comparisons become vectors.
list(APPEND wr_plain_arithmetic -fno-math-errno -fno-trapping-math)

# With one of these the linker adds code that sets flush-to-zero in the thread that loads the library. -Ofast counts as
# one; a later -O takes it back.
set(wr_plain_arithmetic_of_link -O2 -fno-fast-math -fno-unsafe-math-optimizations)

# --use_fast_math stands for the opposites of these four.
set(wr_plain_arithmetic_of_nvcc -fmad=false -ftz=false -prec-div=true -prec-sqrt=true
                                "-Xcompiler=-fno-fast-math,-fno-unsafe-math-optimizations,-ffp-contract=off"
)

# Options that set the processor's state when the library is loaded and that have no opposite.
function(wr_refuse_states_of_the_processor)
    get_property(options DIRECTORY PROPERTY COMPILE_OPTIONS)
    get_property(link_options DIRECTORY PROPERTY LINK_OPTIONS)
    string(TOUPPER "${CMAKE_BUILD_TYPE}" config)
    set(flags "${options} ${link_options} ${CMAKE_SHARED_LINKER_FLAGS}")
    foreach(language C CXX)
        string(APPEND flags " ${CMAKE_${language}_COMPILER_ARG1} ${CMAKE_${language}_FLAGS}")
        string(APPEND flags " ${CMAKE_${language}_FLAGS_${config}}")
    endforeach()
    string(REGEX MATCH "-(mdaz-ftz|mpc32|mpc64)" found "${flags}")
    if(found)
        message(
            FATAL_ERROR
            "warp_reduce: the compiler flag ${found} would change how every program computes that loads the library: "
            "leave it out of the flags (CMAKE_CXX_FLAGS, CXXFLAGS, LDFLAGS, add_compile_options)."
        )
    endif()
endfunction()
wr_refuse_states_of_the_processor()
