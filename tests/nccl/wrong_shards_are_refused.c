/*
 * What is wrong with a call on shards comes back as its own status, before anything is launched; what is wrong with
 * NCCL, or with another rank, as its own too, and the output is left alone.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "nccl/gpu_on_the_host.h"
#include "nccl/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { AXIS = 3000, RANKS = 2, WORKSPACE = 1 << 20 };

static float input[AXIS], weights[AXIS], output[AXIS], logsumexp[4];
static float values[4];
static int64_t index_of[4];
static _Alignas(16) unsigned char workspace[WORKSPACE];
static const size_t counts[RANKS] = {AXIS, 17};

static wr_reduce_args sum(void) {
    wr_reduce_args args = reduce_args(WR_SUM, WR_F32, 1, AXIS, 1);
    args.input = input;
    args.output = output;
    return args;
}

static wr_softmax_args logits(void) {
    wr_softmax_args args = softmax_args(WR_F32, 1, AXIS, 1);
    args.input = input;
    args.output = output;
    return args;
}

static int poisoned(void) {
    const unsigned char *bytes = (const unsigned char *)output;
    size_t i, count = sizeof output;
    for (i = 0; i < count && bytes[i] == 0xA5; ++i) {
    }
    return i == count;
}

/* Everything that could have been touched. */
static void check_untouched(const rank_group *with, size_t jobs, const char *what) {
    CHECK(played_gpu_jobs() == jobs, "%s: something was launched", what);
    CHECK(collectives_of(with, 0) == 0, "%s: NCCL was asked for a collective", what);
    CHECK(poisoned(), "%s: the output was written", what);
    CHECK(played_gpu_blocks() == 0, "%s: memory is left", what);
}

static void refused_sum(const rank_group *with, const wr_reduce_args *args, const size_t *given, wr_status expected,
                        const char *what) {
    size_t jobs = played_gpu_jobs();
    wr_status status = wr_nccl_reduce(args, given, NULL, with->of[0], played_stream());
    CHECK(status == expected, "%s: %s", what, wr_status_name(status));
    check_untouched(with, jobs, what);
}

static void refused_softmax(const rank_group *with, const wr_softmax_args *args, const size_t *given,
                            wr_status expected, const char *what) {
    size_t jobs = played_gpu_jobs();
    wr_status status = wr_nccl_softmax(args, given, NULL, with->of[0], played_stream());
    CHECK(status == expected, "%s: %s", what, wr_status_name(status));
    check_untouched(with, jobs, what);
}

#define SUM(change, expected)                                                                                          \
    do {                                                                                                               \
        wr_reduce_args args = sum();                                                                                   \
        change;                                                                                                        \
        refused_sum(with, &args, counts, expected, #change);                                                           \
    } while (0)

#define LOGITS(change, expected)                                                                                       \
    do {                                                                                                               \
        wr_softmax_args args = logits();                                                                               \
        change;                                                                                                        \
        refused_softmax(with, &args, counts, expected, #change);                                                       \
    } while (0)

static void bad_reductions(const rank_group *with) {
    static const size_t others[RANKS] = {AXIS + 1, 17}, too_many[RANKS] = {AXIS, (size_t)1 << 63};
    wr_reduce_args fine = sum();
    refused_sum(with, NULL, counts, WR_ERROR_NULL_POINTER, "no arguments");
    refused_sum(with, &fine, NULL, WR_ERROR_NULL_POINTER, "no counts");
    refused_sum(with, &fine, others, WR_ERROR_INVALID_OPTION, "counts of another shard");
    refused_sum(with, &fine, too_many, WR_ERROR_SIZE_OVERFLOW, "counts beyond 2^63");
    SUM(args.struct_size = 3, WR_ERROR_STRUCT_SIZE);
    SUM(args.op = (wr_op)0, WR_ERROR_INVALID_OP);
    SUM(args.op = WR_DOT_EXACT, WR_ERROR_UNSUPPORTED);
    SUM(args.dtype = (wr_dtype)99, WR_ERROR_INVALID_DTYPE);
    SUM(args.nan_mode = (wr_nan_mode)2, WR_ERROR_INVALID_OPTION);
    SUM(args.add_to_output = 1, WR_ERROR_UNSUPPORTED);
    SUM(args.add_to_output = 2, WR_ERROR_INVALID_OPTION);
    SUM(args.outer_stride = 1, WR_ERROR_INVALID_OPTION);
    SUM(args.strides_given = 2, WR_ERROR_INVALID_OPTION);
    SUM(args.input = NULL, WR_ERROR_NULL_POINTER);
    SUM(args.output = NULL, WR_ERROR_NULL_POINTER);
    SUM((args.weights_dtype = WR_F32, args.weights = NULL), WR_ERROR_NULL_POINTER);
    SUM(args.output = (char *)output + 1, WR_ERROR_MISALIGNED);
    SUM(args.input = (const char *)input + 1, WR_ERROR_MISALIGNED);
    SUM(args.output = input + 5, WR_ERROR_OVERLAP);
    SUM((args.weights = weights, args.output = weights + 5), WR_ERROR_OVERLAP);
    SUM(args.values = values, WR_ERROR_UNSUPPORTED);
    SUM((args.op = WR_ARGMAX, args.output = index_of, args.values = index_of), WR_ERROR_OVERLAP);
    SUM((args.outer = (size_t)1 << 40, args.inner = (size_t)1 << 40), WR_ERROR_SIZE_OVERFLOW);
    SUM((args.workspace = workspace, args.workspace_bytes = 16), WR_ERROR_WORKSPACE_TOO_SMALL);
    SUM((args.workspace = workspace + 4, args.workspace_bytes = WORKSPACE - 4), WR_ERROR_MISALIGNED);
    SUM((args.workspace = workspace, args.workspace_bytes = WORKSPACE, args.output = workspace + 64), WR_ERROR_OVERLAP);
}

static void bad_softmax(const rank_group *with) {
    static const uint8_t mask[AXIS];
    static const size_t others[RANKS] = {1, 17};
    static const int64_t offsets[2];
    wr_softmax_args fine = logits();
    refused_softmax(with, NULL, counts, WR_ERROR_NULL_POINTER, "no arguments");
    refused_softmax(with, &fine, NULL, WR_ERROR_NULL_POINTER, "no counts");
    refused_softmax(with, &fine, others, WR_ERROR_INVALID_OPTION, "counts of another shard");
    LOGITS(args.struct_size = 3, WR_ERROR_STRUCT_SIZE);
    LOGITS(args.dtype = WR_I32, WR_ERROR_UNSUPPORTED);
    LOGITS(args.output_dtype = (wr_dtype)77, WR_ERROR_INVALID_DTYPE);
    LOGITS(args.log = 2, WR_ERROR_INVALID_OPTION);
    LOGITS(args.scale = 1e300, WR_ERROR_INVALID_OPTION);
    LOGITS(args.empty_row = (wr_empty_row)3, WR_ERROR_INVALID_OPTION);
    LOGITS(args.causal = 1, WR_ERROR_INVALID_OPTION);
    LOGITS(args.maximum = values, WR_ERROR_UNSUPPORTED);
    LOGITS(args.offsets = offsets, WR_ERROR_UNSUPPORTED);
    LOGITS(args.input = NULL, WR_ERROR_NULL_POINTER);
    LOGITS(args.output = NULL, WR_ERROR_NULL_POINTER);
    LOGITS(args.output = (char *)output + 2, WR_ERROR_MISALIGNED);
    LOGITS(args.logsumexp = (char *)logsumexp + 2, WR_ERROR_MISALIGNED);
    LOGITS(args.output = input + 1, WR_ERROR_OVERLAP);
    LOGITS(args.logsumexp = output + 1, WR_ERROR_OVERLAP);
    LOGITS(args.logsumexp = input + 1, WR_ERROR_OVERLAP);
    LOGITS((args.mask = mask, args.logsumexp = (void *)(uintptr_t)mask), WR_ERROR_OVERLAP);
    LOGITS((args.workspace = workspace, args.workspace_bytes = 16), WR_ERROR_WORKSPACE_TOO_SMALL);
    LOGITS((args.workspace = workspace, args.workspace_bytes = WORKSPACE, args.logsumexp = workspace + 8),
           WR_ERROR_OVERLAP);
}

static void bad_places(const rank_group *with) {
    wr_reduce_args of_sum = sum();
    wr_softmax_args of_logits = logits();
    size_t jobs = played_gpu_jobs(), bytes = 123;
    CHECK(wr_nccl_reduce(&of_sum, counts, NULL, with->of[0], wr_host_stream()) == WR_ERROR_UNSUPPORTED,
          "a sum on the host stream");
    CHECK(wr_nccl_softmax(&of_logits, counts, NULL, with->of[0], wr_host_stream()) == WR_ERROR_UNSUPPORTED,
          "softmax on the host stream");
    CHECK(wr_nccl_reduce(&of_sum, counts, NULL, NULL, played_stream()) == WR_ERROR_NULL_POINTER, "no communicator");
    CHECK(wr_nccl_softmax(&of_logits, counts, NULL, NULL, played_stream()) == WR_ERROR_NULL_POINTER,
          "softmax of no communicator");
    CHECK(wr_nccl_reduce(&of_sum, counts, (int32_t *)(void *)((char *)values + 1), with->of[0], played_stream()) ==
              WR_ERROR_MISALIGNED,
          "a check that is not aligned");
    CHECK(wr_nccl_reduce(&of_sum, counts, (int32_t *)(void *)(output), with->of[0], played_stream()) ==
              WR_ERROR_OVERLAP,
          "a check in the output");
    CHECK(wr_nccl_reduce_workspace_size(&of_sum, counts, RANKS, RANKS, &bytes) == WR_ERROR_INVALID_OPTION,
          "a rank that there is not");
    CHECK(wr_nccl_softmax_workspace_size(&of_logits, counts, RANKS, 1, &bytes) == WR_ERROR_INVALID_OPTION,
          "the size of another rank's shard");
    CHECK(wr_nccl_reduce_workspace_size(&of_sum, counts, RANKS, 0, NULL) == WR_ERROR_NULL_POINTER, "nowhere to tell");
    CHECK(bytes == 123, "a size was told in spite of an error");
    played_gpu_has_memory(0);
    CHECK(wr_nccl_reduce(&of_sum, counts, NULL, with->of[0], played_stream()) == WR_ERROR_OUT_OF_MEMORY, "no memory");
    CHECK(wr_nccl_softmax(&of_logits, counts, NULL, with->of[0], played_stream()) == WR_ERROR_OUT_OF_MEMORY,
          "no memory for softmax");
    played_gpu_has_memory(1);
    check_untouched(with, jobs, "bad places");
}

/* ---- what NCCL says */

static void check_failing(stand_in_fault fault, const char *what, int before_launch) {
    rank_group with = open_ranks(1);
    wr_reduce_args of_sum = sum(), exact = sum();
    wr_softmax_args of_logits = logits();
    size_t jobs = played_gpu_jobs();
    exact.op = WR_SUM_EXACT;
    fail_rank(&with, 0, fault);
    CHECK(wr_nccl_reduce(&of_sum, counts, NULL, with.of[0], played_stream()) == WR_ERROR_NCCL_FAILED, "a sum: %s",
          what);
    fail_rank(&with, 0, fault);
    CHECK(wr_nccl_reduce(&exact, counts, NULL, with.of[0], played_stream()) == WR_ERROR_NCCL_FAILED, "an exact sum: %s",
          what);
    fail_rank(&with, 0, fault);
    CHECK(wr_nccl_softmax(&of_logits, counts, NULL, with.of[0], played_stream()) == WR_ERROR_NCCL_FAILED, "softmax: %s",
          what);
    CHECK(poisoned(), "%s: the output was written", what);
    CHECK(played_gpu_blocks() == 0, "%s: memory is left", what);
    CHECK(!before_launch || played_gpu_jobs() == jobs, "%s: something was launched", what);
    close_ranks(&with);
}

static void check_not_blocking(void) {
    rank_group with = open_ranks(1);
    wr_reduce_args of_sum = sum();
    float one_call = 0;
    fail_rank(&with, 0, STAND_IN_DOES_NOT_BLOCK);
    CHECK(wr_nccl_reduce(&of_sum, counts, NULL, with.of[0], played_stream()) == WR_SUCCESS, "does not block");
    of_sum.output = &one_call;
    CHECK(wr_reduce_ex(&of_sum, wr_host_stream()) == WR_SUCCESS && memcmp(&one_call, output, sizeof one_call) == 0,
          "what does not block has other bits");
    memset(output, 0xA5, sizeof output);
    close_ranks(&with);
}

/* ---- what another rank did */

typedef struct differing_job {
    int softmax;
    float out[RANKS][AXIS];
    int32_t checks[RANKS];
} differing_job;

/* Rank 1 adds magnitudes, or scales its logits. */
static wr_status differ(void *of, int rank, struct ncclComm *communicator) {
    static const size_t same[RANKS] = {AXIS, AXIS};
    differing_job *job = of;
    if (job->softmax) {
        wr_softmax_args args = logits();
        args.output = job->out[rank];
        args.scale = rank == 1 ? 0.5 : 1;
        return wr_nccl_softmax(&args, same, &job->checks[rank], communicator, played_stream());
    } else {
        wr_reduce_args args = sum();
        args.output = job->out[rank];
        args.op = rank == 1 ? WR_NORM_L1 : WR_SUM;
        return wr_nccl_reduce(&args, same, &job->checks[rank], communicator, played_stream());
    }
}

static void check_differing_ranks(int softmax) {
    static differing_job job;
    rank_group with = open_ranks(RANKS);
    wr_status statuses[MOST_RANKS];
    int r, untouched;
    memset(&job, 0xA5, sizeof job);
    job.softmax = softmax;
    on_every_rank(&with, differ, &job, statuses);
    for (r = 0; r < RANKS; ++r) {
        untouched = memcmp(job.out[r], output, sizeof output) == 0;
        CHECK(statuses[r] == WR_SUCCESS, "ranks that differ: %s", wr_status_name(statuses[r]));
        CHECK(job.checks[r] == WR_ERROR_INVALID_STATE || job.checks[r] == WR_ERROR_STATE_MISMATCH,
              "ranks that differ: rank %d is told %d", r, job.checks[r]);
        CHECK(untouched, "ranks that differ: the output was written on rank %d", r);
    }
    close_ranks(&with);
}

/* Rank 1 takes means without NaNs, whose states are larger: NCCL's affair, whose stand-in says so. */
static wr_status send_more(void *of, int rank, struct ncclComm *communicator) {
    static const size_t same[RANKS] = {AXIS, AXIS};
    wr_reduce_args args = sum();
    (void)of;
    args.op = rank == 1 ? WR_MEAN : WR_SUM;
    args.nan_mode = rank == 1 ? WR_NAN_IGNORE : WR_NAN_PROPAGATE;
    return wr_nccl_reduce(&args, same, NULL, communicator, played_stream());
}

static void check_states_of_other_sizes(void) {
    rank_group with = open_ranks(RANKS);
    wr_status statuses[MOST_RANKS];
    int r;
    on_every_rank(&with, send_more, NULL, statuses);
    for (r = 0; r < RANKS; ++r) {
        CHECK(statuses[r] == WR_ERROR_NCCL_FAILED, "states of other sizes: %s", wr_status_name(statuses[r]));
    }
    CHECK(poisoned(), "states of other sizes: the output was written");
    CHECK(played_gpu_blocks() == 0, "states of other sizes: memory is left");
    close_ranks(&with);
}

/* Bytes that are gathered: as many as the largest state has, and of an exact sum its words alone. */
static void check_traffic(void) {
    static const size_t alone[1] = {AXIS};
    rank_group with = open_ranks(1);
    wr_reduce_args args = sum();
    wr_state_args state;
    size_t bytes = 0, before;
    memset(&state, 0, sizeof state);
    state.struct_size = sizeof state;
    state.op = WR_SUM;
    state.dtype = WR_F32;
    state.outer = state.inner = 1;
    state.count = AXIS;
    CHECK(wr_state_size(&state, &bytes, NULL) == WR_SUCCESS, "a state's size");
    CHECK(wr_nccl_reduce(&args, alone, NULL, with.of[0], played_stream()) == WR_SUCCESS, "one rank");
    CHECK(sent_bytes_of(&with, 0) == (bytes + 15) / 16 * 16, "%zu bytes were sent of %zu", sent_bytes_of(&with, 0),
          bytes);
    before = sent_bytes_of(&with, 0);
    state.op = args.op = WR_SUM_EXACT;
    CHECK(wr_state_size(&state, &bytes, NULL) == WR_SUCCESS, "an exact state's size");
    CHECK(wr_nccl_reduce(&args, alone, NULL, with.of[0], played_stream()) == WR_SUCCESS, "one rank, exactly");
    CHECK(sent_bytes_of(&with, 0) - before == bytes - 128, "%zu bytes were added up of %zu",
          sent_bytes_of(&with, 0) - before, bytes);
    memset(output, 0xA5, sizeof output);
    close_ranks(&with);
}

int main(void) {
    struct ncclComm *any = (struct ncclComm *)(void *)workspace;
    wr_reduce_args of_sum = sum();
    wr_softmax_args of_logits = logits();
    rank_group with;
    size_t i;
    memset(output, 0xA5, sizeof output);
    for (i = 0; i < AXIS; ++i) {
        input[i] = (float)i / 7;
    }
    CHECK(wr_nccl_reduce(&of_sum, counts, NULL, any, played_stream()) == WR_ERROR_NO_NCCL, "a sum without NCCL");
    CHECK(wr_nccl_softmax(&of_logits, counts, NULL, any, played_stream()) == WR_ERROR_NO_NCCL, "softmax without NCCL");
    load_nccl();
    with = open_ranks(RANKS);
    fail_rank(&with, 0, STAND_IN_COLLECTIVE_FAILS); /* so that what is not refused waits for nobody */
    bad_reductions(&with);
    bad_softmax(&with);
    bad_places(&with);
    close_ranks(&with);
    check_failing(STAND_IN_COLLECTIVE_FAILS, "a collective fails", 0);
    check_failing(STAND_IN_RANK_IS_GONE, "a rank is gone", 1);
    check_failing(STAND_IN_GOES_DURING_CALL, "a rank goes", 0);
    check_not_blocking();
    check_differing_ranks(0);
    check_differing_ranks(1);
    check_states_of_other_sizes();
    check_traffic();
    return check_report("wrong_shards_are_refused");
}
