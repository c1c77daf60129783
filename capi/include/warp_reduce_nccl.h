/*
 * warp_reduce_nccl.h - reductions and softmax along an axis that lies on several GPUs, over the caller's NCCL.
 *
 * Each rank of a communicator has a shard of the axis, of any length, and an empty one too. Every rank reduces its
 * shard to a state (warp_reduce.h), NCCL gathers the states, and each rank merges them in the order of the ranks: every
 * rank has the bits that one call gives for the whole axis on one GPU, whatever the number of ranks and the lengths of
 * the shards.
 *
 * NCCL. The functions are looked up at each call, among those that the process has loaded already (libnccl.so.2, or the
 *   program itself): a communicator is nowhere else from. The library does not link to NCCL and needs none of its
 *   headers. WR_ERROR_NO_NCCL where there is none; WR_ERROR_NCCL_FAILED where one of its functions fails, or the
 *   communicator reports an error: of a rank that is gone, for one. What it was is said by NCCL itself
 *   (ncclCommGetAsyncError, ncclGetLastError), and what to do is as with any NCCL call: the communicator is aborted.
 * Collective. Every rank makes the call, with the same arguments but for its own arrays and the size of its axis, from
 *   a thread or a process of its own, and not between ncclGroupStart and ncclGroupEnd. A rank that is refused for its
 *   arguments has not taken part, and the others wait for it on their streams, as for any collective.
 * Streams. The stream is one of the communicator's GPU; wr_host_stream() is WR_ERROR_UNSUPPORTED. The calls do not
 *   synchronise, and leave the caller's device and last error as they were. With a communicator that does not block
 *   (ncclConfig_t.blocking of 0) they wait until NCCL has put its work on the stream.
 * Graphs. A call may be captured: the graph has its launches and its collective, and each replay works on what the
 *   arrays hold then. The counts are those of the capture; without a workspace the memory is the graph's own. As with
 *   any collective in a graph, all ranks capture and replay it, in the same order as their other collectives, and the
 *   communicator outlives the graph. A replay tells by `check` alone: of a rank that is gone NCCL has to be asked.
 * Aborts. A stream whose rank has gone waits until its communicator is aborted (ncclCommAbort), and then goes on: what
 *   the call was to write is not to be used, whatever `check` says.
 * Everything else is as in warp_reduce.h.
 */
#ifndef WARP_REDUCE_NCCL_H
#define WARP_REDUCE_NCCL_H

#include "warp_reduce.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What ncclComm_t points to. */
struct ncclComm;

/* Reduces an axis of shards, into `output` of every rank: what wr_reduce_ex gives for all of it.
 *
 * args: as for wr_reduce_ex, with `axis` the elements of this rank's shard; input, weights and strides are the shard's
 *   own. add_to_output must be 0 (WR_ERROR_UNSUPPORTED). A rank with no elements of a weighted sum says so by
 *   weights_dtype, and its weights may be NULL. Operators: those that have states, so all of wr_reduce_ex; WR_LOGSUMEXP
 *   by its default scale.
 * counts: the elements of every rank's shard, as many as the communicator has ranks, in host memory, the same on all of
 *   them; read before the call returns. counts[rank] must be args->axis (WR_ERROR_INVALID_OPTION).
 * check: memory of the stream's GPU, or NULL: the wr_status of what was gathered is written to it, and other than
 *   WR_SUCCESS output is left alone. It is WR_ERROR_INVALID_STATE, _STATE_MISMATCH or _NOT_NEIGHBOUR where another rank
 *   gave other arguments, as far as NCCL did not fail at that.
 * What goes over the wires: a state of each rank, padded to the largest (128 bytes, and for each output at most
 *   2 log2(count) accumulators); of WR_SUM_EXACT one ncclAllReduce of int64.
 * Overlap: output, values, check and workspace must not overlap anything.
 * Workspace: args->workspace, of wr_nccl_reduce_workspace_size's bytes; NULL: the library's own.
 * Errors: as wr_reduce_ex, before anything is launched; WR_ERROR_NO_NCCL, _NCCL_FAILED. */
WR_API wr_status wr_nccl_reduce(const wr_reduce_args *args, const size_t *counts, int32_t *check,
                                struct ncclComm *communicator, struct CUstream_st *stream);

/* Softmax or log-softmax along an axis of shards: each rank's own elements of what wr_softmax_ex gives for all of it.
 *
 * args: as for wr_softmax_ex, with `axis` the elements of this rank's shard; input, output, mask and strides are the
 *   shard's own, lengths and the causal limit count from the first element of the whole axis, and causal_rows must be
 *   given. logsumexp, where it is wanted, comes to every rank that gives it. maximum, offsets and scales must be
 *   NULL (WR_ERROR_UNSUPPORTED).
 * counts, check, errors: as for wr_nccl_reduce. Overlap: output may be the input itself, as in wr_softmax_ex. */
WR_API wr_status wr_nccl_softmax(const wr_softmax_args *args, const size_t *counts, int32_t *check,
                                 struct ncclComm *communicator, struct CUstream_st *stream);

/* Writes to *bytes the workspace that the call needs on rank `rank` of `ranks`. Pointers in args are not looked at but
 * for whether they are NULL; neither NCCL nor a GPU is needed. WR_ERROR_INVALID_OPTION where rank is not below ranks.
 */
WR_API wr_status wr_nccl_reduce_workspace_size(const wr_reduce_args *args, const size_t *counts, size_t ranks,
                                               size_t rank, size_t *bytes);
WR_API wr_status wr_nccl_softmax_workspace_size(const wr_softmax_args *args, const size_t *counts, size_t ranks,
                                                size_t rank, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* WARP_REDUCE_NCCL_H */
