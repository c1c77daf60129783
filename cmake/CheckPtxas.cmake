# ptxas gives every kernel copies of its own of the functions that it calls. What the kernels call is rare, and may as
# well be shared: that halves the machine code and takes a third off the time. The option is not documented, so it is
# used only where ptxas knows it.
include(CheckCompilerFlag)
check_compiler_flag(CUDA -Xptxas=-cloning=no WARP_REDUCE_PTXAS_SHARES_FUNCTIONS)
