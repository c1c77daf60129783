/*
 * The headers by themselves, twice, under every standard of C and C++: compiled, never run. The table makes each
 * function be declared, with C linkage, and nothing more than the header be needed to name it.
 */
#include "warp_reduce_nccl.h"

#include "warp_reduce.h"

typedef void (*any_function)(void);

any_function every_function[23];
wr_reduce_args a_reduction;
wr_softmax_args a_softmax;

void name_every_function(void);

void name_every_function(void) {
    every_function[0] = (any_function)wr_host_stream;
    every_function[1] = (any_function)wr_version;
    every_function[2] = (any_function)wr_status_name;
    every_function[3] = (any_function)wr_status_string;
    every_function[4] = (any_function)wr_dtype_size;
    every_function[5] = (any_function)wr_cuda_status;
    every_function[6] = (any_function)wr_reduce;
    every_function[7] = (any_function)wr_reduce_ex;
    every_function[8] = (any_function)wr_reduce_workspace_size;
    every_function[9] = (any_function)wr_softmax;
    every_function[10] = (any_function)wr_log_softmax;
    every_function[11] = (any_function)wr_softmax_ex;
    every_function[12] = (any_function)wr_softmax_workspace_size;
    every_function[13] = (any_function)wr_tile_reduce;
    every_function[14] = (any_function)wr_tile_shuffle;
    every_function[15] = (any_function)wr_tile_vote;
    every_function[16] = (any_function)wr_tile_match;
    every_function[17] = (any_function)wr_set_host_threads;
    every_function[18] = (any_function)wr_host_threads;
    every_function[19] = (any_function)wr_nccl_reduce;
    every_function[20] = (any_function)wr_nccl_softmax;
    every_function[21] = (any_function)wr_nccl_reduce_workspace_size;
    every_function[22] = (any_function)wr_nccl_softmax_workspace_size;
}

/* Enums have the width of int32_t: an array of negative size is an error in every standard. */
typedef char status_is_32_bits[sizeof(wr_status) == 4 ? 1 : -1];
typedef char dtype_is_32_bits[sizeof(wr_dtype) == 4 ? 1 : -1];
typedef char op_is_32_bits[sizeof(wr_op) == 4 ? 1 : -1];
typedef char nan_mode_is_32_bits[sizeof(wr_nan_mode) == 4 ? 1 : -1];
typedef char empty_row_is_32_bits[sizeof(wr_empty_row) == 4 ? 1 : -1];
typedef char shuffle_is_32_bits[sizeof(wr_shuffle) == 4 ? 1 : -1];
typedef char vote_is_32_bits[sizeof(wr_vote) == 4 ? 1 : -1];
typedef char match_is_32_bits[sizeof(wr_match) == 4 ? 1 : -1];

/* Values that never change, some of each enum. */
typedef char values_are_fixed[WR_SUCCESS == 0 && WR_F32 == 1 && WR_BF16 == 4 && WR_I64 == 10 && WR_KOALABEAR == 15 &&
                                      WR_BABYBEAR_X4 == 20 && WR_SUM == 1 && WR_MEAN == 7 && WR_LOGSUMEXP == 18 &&
                                      WR_NAN_PROPAGATE == 0 && WR_EMPTY_ROW_NAN == 0
                                  ? 1
                                  : -1];
