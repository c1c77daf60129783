/* Which operator takes which element types to which outputs: the header's tables, written down once more. */
#ifndef WARP_REDUCE_TESTS_HEADER_OFFERS_H
#define WARP_REDUCE_TESTS_HEADER_OFFERS_H

#include "warp_reduce.h"

/* The reference computes all operators up to LAST_REDUCTION and WR_SUM_EXACT; WR_LOGSUMEXP is softmax's, and
 * WR_DOT_EXACT one of dot products alone. */
enum { LAST_OP = WR_DOT_EXACT, LAST_REDUCTION = WR_BIT_XOR, LAST_DTYPE = WR_BABYBEAR_X4, MOST_TYPES = 20 };

/* Element types, in the order of their numbers. */
typedef struct type_list {
    wr_dtype types[MOST_TYPES];
    size_t count;
} type_list;

/* None where the operator does not take the type. */
type_list offered_outputs(wr_op op, wr_dtype dtype);
int is_offered(wr_op op, wr_dtype dtype, wr_dtype output_dtype);

/* Whether segments and tiles have the operator that rows and columns have. */
int is_offered_in_pieces(wr_op op);

/* Whether the operator has an output type for this input without being told one. */
int has_default_output(wr_op op, wr_dtype dtype);

/* Whether the type in which sums of floats are kept may be chosen. */
int takes_accumulate_dtype(wr_op op, wr_dtype dtype);

int takes_add_to_output(wr_op op);

/* The types that weights of `dtype` elements may have, and the output types of their sum. */
type_list offered_weights(wr_dtype dtype);
type_list offered_weighted_outputs(wr_dtype dtype, wr_dtype weights_dtype);

#endif
