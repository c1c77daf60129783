/*
 * A stand-in for NCCL: the ranks are threads of one process, and a collective is done when the last of them has asked
 * for it. Ranks that ask for different numbers of elements are refused, all of them. It has the few functions that the
 * library looks up, and what a test needs to steer it.
 */
#ifndef WARP_REDUCE_TESTS_STAND_IN_NCCL_H
#define WARP_REDUCE_TESTS_STAND_IN_NCCL_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct ncclComm;

/* What a communicator of the stand-in is to do wrong. */
typedef enum stand_in_fault {
    STAND_IN_SOUND,
    STAND_IN_COLLECTIVE_FAILS, /* the next collective returns ncclInternalError, and does nothing */
    STAND_IN_RANK_IS_GONE,     /* the communicator has an asynchronous ncclRemoteError */
    STAND_IN_GOES_DURING_CALL, /* the same from the next collective on, which does nothing */
    STAND_IN_DOES_NOT_BLOCK    /* collectives say ncclInProgress, and are done some questions later */
} stand_in_fault;

/* Who puts collectives on a stream where it is recorded, and says 0 where it is not; NULL: they are done at once. */
typedef int32_t stand_in_put(void (*run)(const void *job), const void *job, size_t bytes);
void stand_in_stream(stand_in_put *put);

/* Communicators of so many ranks; the process ends where there is no memory for them. */
void stand_in_open(int ranks, struct ncclComm **communicators);
void stand_in_close(int ranks, struct ncclComm **communicators);
void stand_in_fail(struct ncclComm *communicator, stand_in_fault fault);
/* Collectives that this communicator has taken part in, and the bytes that it sent by them. */
size_t stand_in_collectives(const struct ncclComm *communicator);
size_t stand_in_sent_bytes(const struct ncclComm *communicator);

/* One rank at a time runs, from stand_in_enter to stand_in_leave, but for where it waits in a collective: what plays
 * the GPU may be no more than one thread's. */
void stand_in_enter(struct ncclComm *communicator);
void stand_in_leave(struct ncclComm *communicator);

#ifdef __cplusplus
}
#endif

#endif
