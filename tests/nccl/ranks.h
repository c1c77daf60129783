/* The ranks of a test: communicators of the stand-in for NCCL, and a thread for each. */
#ifndef WARP_REDUCE_TESTS_RANKS_H
#define WARP_REDUCE_TESTS_RANKS_H

#include "nccl/stand_in_nccl.h"
#include "warp_reduce_nccl.h"

enum { MOST_RANKS = 8 };

typedef struct rank_group {
    int count;
    struct ncclComm *of[MOST_RANKS];
} rank_group;

/* Loads the stand-in, as Python loads NCCL: for nobody but who looks for libnccl.so.2. */
void load_nccl(void);

rank_group open_ranks(int count);
void close_ranks(rank_group *used);
void fail_rank(const rank_group *of, int rank, stand_in_fault fault);
size_t collectives_of(const rank_group *of, int rank);
size_t sent_bytes_of(const rank_group *of, int rank);

/* What plays a GPU's stream. */
struct CUstream_st *played_stream(void);

/* Makes the call of each rank, all at the same time. */
typedef wr_status rank_call(void *job, int rank, struct ncclComm *communicator);
void on_every_rank(const rank_group *of, rank_call *call, void *job, wr_status *statuses);

#endif
