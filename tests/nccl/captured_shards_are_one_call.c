/*
 * A call on shards that is captured in a graph does nothing then, and at each replay what the call would: on what the
 * inputs hold by then, whatever became of the counts, with a workspace and with memory of the graph's own.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "nccl/gpu_on_the_host.h"
#include "nccl/ranks.h"

#include <stdlib.h>
#include <string.h>

enum { ROWS = 3, AXIS = 5000, REPLAYS = 3, WORKSPACE = 1 << 20 };

typedef struct captured_call {
    const char *name;
    int softmax;
    wr_op op;
} captured_call;

static const captured_call calls[] = {
    {"a sum", 0, WR_SUM},
    {"an exact sum", 0, WR_SUM_EXACT},
    {"places of the largest", 0, WR_ARGMAX},
    {"log-softmax", 1, WR_LOGSUMEXP},
};

static float input[ROWS][AXIS], expected[ROWS][AXIS], logsumexp[ROWS], found_logsumexp[MOST_RANKS][ROWS];
static float outputs[MOST_RANKS][ROWS * AXIS];
static int64_t places[ROWS], found_places[MOST_RANKS][ROWS];
static _Alignas(16) unsigned char workspaces[MOST_RANKS][WORKSPACE];

typedef struct graph_job {
    const captured_call *call;
    int ranks, with_workspace;
    size_t counts[MOST_RANKS], firsts[MOST_RANKS];
    int32_t checks[MOST_RANKS];
    played_graph *graphs[MOST_RANKS];
} graph_job;

static void fill_input(uint64_t seed) {
    size_t i;
    for (i = 0; i < ROWS * AXIS; ++i) {
        input[i / AXIS][i % AXIS] = (float)((int64_t)random_below(&seed, 2000001) - 1000000) / 70000;
    }
}

/* Empty shards too, of all but one rank. */
static void cut_axis(graph_job *job) {
    size_t first = 0;
    int r;
    for (r = 0; r < job->ranks; ++r) {
        job->counts[r] = r == job->ranks - 1 ? AXIS - first : r == 1 ? 0 : 701;
        job->firsts[r] = first;
        first += job->counts[r];
    }
}

static wr_status call_on_rank(graph_job *job, int rank, struct ncclComm *communicator) {
    size_t counts[MOST_RANKS];
    wr_status status;
    memcpy(counts, job->counts, sizeof counts);
    if (job->call->softmax) {
        wr_softmax_args args = softmax_args(WR_F32, ROWS, counts[rank], 1);
        args.log = 1;
        args.strides_given = 1;
        args.outer_stride = AXIS;
        args.axis_stride = args.inner_stride = 1;
        args.input = &input[0][job->firsts[rank]];
        args.output = outputs[rank];
        args.logsumexp = found_logsumexp[rank];
        args.workspace = job->with_workspace ? workspaces[rank] : NULL;
        args.workspace_bytes = WORKSPACE;
        status = wr_nccl_softmax(&args, counts, &job->checks[rank], communicator, played_stream());
    } else {
        wr_reduce_args args = reduce_args(job->call->op, WR_F32, ROWS, counts[rank], 1);
        args.strides_given = 1;
        args.outer_stride = AXIS;
        args.axis_stride = args.inner_stride = 1;
        args.input = &input[0][job->firsts[rank]];
        args.output = job->call->op == WR_ARGMAX ? (void *)found_places[rank] : outputs[rank];
        args.workspace = job->with_workspace ? workspaces[rank] : NULL;
        args.workspace_bytes = WORKSPACE;
        status = wr_nccl_reduce(&args, counts, &job->checks[rank], communicator, played_stream());
    }
    memset(counts, 0xFF, sizeof counts);
    return status;
}

static wr_status capture_on_rank(void *of, int rank, struct ncclComm *communicator) {
    graph_job *job = of;
    wr_status status;
    played_gpu_records();
    status = call_on_rank(job, rank, communicator);
    job->graphs[rank] = played_gpu_recorded();
    return status;
}

static wr_status replay_on_rank(void *of, int rank, struct ncclComm *communicator) {
    graph_job *job = of;
    (void)communicator;
    played_gpu_replays(job->graphs[rank]);
    return WR_SUCCESS;
}

static void poison(graph_job *job) {
    memset(outputs, 0xA5, sizeof outputs);
    memset(found_places, 0xA5, sizeof found_places);
    memset(found_logsumexp, 0xA5, sizeof found_logsumexp);
    memset(job->checks, 0xA5, sizeof job->checks);
}

static void expect_one_call(const captured_call *call) {
    wr_status status;
    if (call->softmax) {
        wr_softmax_args args = softmax_args(WR_F32, ROWS, AXIS, 1);
        args.log = 1;
        args.input = input;
        args.output = expected;
        args.logsumexp = logsumexp;
        status = wr_softmax_ex(&args, wr_host_stream());
    } else {
        wr_reduce_args args = reduce_args(call->op, WR_F32, ROWS, AXIS, 1);
        args.input = input;
        args.output = call->op == WR_ARGMAX ? (void *)places : expected;
        status = wr_reduce_ex(&args, wr_host_stream());
    }
    CHECK(status == WR_SUCCESS, "%s in one call: %s", call->name, wr_status_name(status));
}

static int same_softmax(const graph_job *job, int rank) {
    size_t count = job->counts[rank], row;
    for (row = 0; row < ROWS; ++row) {
        if (memcmp(outputs[rank] + row * count, &expected[row][job->firsts[rank]], count * sizeof(float)) != 0) {
            return 0;
        }
    }
    return memcmp(found_logsumexp[rank], logsumexp, sizeof logsumexp) == 0;
}

static int same_results(const graph_job *job, int rank) {
    return job->call->softmax           ? same_softmax(job, rank)
           : job->call->op == WR_ARGMAX ? memcmp(found_places[rank], places, sizeof places) == 0
                                        : memcmp(outputs[rank], expected, ROWS * sizeof(float)) == 0;
}

static void check_replays(graph_job *job, const rank_group *with) {
    wr_status statuses[MOST_RANKS];
    int replay, r;
    for (replay = 1; replay <= REPLAYS; ++replay) {
        fill_input((uint64_t)replay);
        expect_one_call(job->call);
        poison(job);
        on_every_rank(with, replay_on_rank, job, statuses);
        for (r = 0; r < job->ranks; ++r) {
            CHECK(job->checks[r] == WR_SUCCESS, "%s: replay %d: rank %d is told %d", job->call->name, replay, r,
                  job->checks[r]);
            CHECK(same_results(job, r), "%s: replay %d: rank %d of %d has other bits", job->call->name, replay, r,
                  job->ranks);
            CHECK(collectives_of(with, r) == (size_t)replay, "%s: replay %d: %zu collectives", job->call->name, replay,
                  collectives_of(with, r));
        }
    }
}

static void check_graph(const captured_call *call, int ranks, int with_workspace) {
    static graph_job job;
    rank_group with = open_ranks(ranks);
    wr_status statuses[MOST_RANKS];
    size_t jobs = played_gpu_jobs(), count = sizeof outputs, i;
    const unsigned char *bytes = (const unsigned char *)outputs;
    int r;
    memset(&job, 0, sizeof job);
    job.call = call;
    job.ranks = ranks;
    job.with_workspace = with_workspace;
    cut_axis(&job);
    fill_input(0);
    poison(&job);
    on_every_rank(&with, capture_on_rank, &job, statuses);
    for (r = 0; r < ranks; ++r) {
        CHECK(statuses[r] == WR_SUCCESS, "capturing %s: %s", call->name, wr_status_name(statuses[r]));
        CHECK(collectives_of(&with, r) == 0, "capturing %s: a collective was done", call->name);
    }
    for (i = 0; i < count && bytes[i] == 0xA5; ++i) {
    }
    CHECK(i == count && played_gpu_jobs() == jobs, "capturing %s: something was done", call->name);
    check_replays(&job, &with);
    for (r = 0; r < ranks; ++r) {
        played_gpu_forgets(job.graphs[r]);
    }
    CHECK(played_gpu_blocks() == 0, "%s: memory is left", call->name);
    close_ranks(&with);
}

int main(void) {
    static const int numbers_of_ranks[] = {1, 2, 4, 8};
    size_t c, n;
    load_nccl();
    for (c = 0; c < sizeof calls / sizeof *calls; ++c) {
        for (n = 0; n < sizeof numbers_of_ranks / sizeof *numbers_of_ranks; ++n) {
            check_graph(&calls[c], numbers_of_ranks[n], 0);
            check_graph(&calls[c], numbers_of_ranks[n], 1);
        }
    }
    return check_report("captured_shards_are_one_call");
}
