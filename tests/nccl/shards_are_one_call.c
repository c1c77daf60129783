/*
 * An axis in shards, one a rank and some of them empty, is reduced on every rank to the bits of one call, and its
 * softmax is, piece by piece, that of one call: any operator, type, layout and number of ranks; a vocabulary of 151936
 * in 2, 3, 4 and 8 shards.
 */
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "harness/unusual_logits.h"
#include "nccl/gpu_on_the_host.h"
#include "nccl/ranks.h"
#include "reference/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t numbers;
static char label[200];

static size_t below(size_t bound) { return random_below(&numbers, bound); }

static void *allocated(size_t bytes) {
    void *memory = malloc(bytes + 16);
    if (memory == NULL) {
        give_up("no memory");
    }
    memset(memory, 0xE7, bytes + 16);
    return memory;
}

/* Where the axis is cut: rank r has counts[r] elements from firsts[r] on. */
typedef struct shards {
    int ranks;
    size_t counts[MOST_RANKS], firsts[MOST_RANKS];
} shards;

typedef enum cut { CUT_EVENLY, CUT_ANYWHERE, CUT_WITH_EMPTY_SHARDS, CUT_ALL_IN_ONE, CUTS } cut;

static shards cut_axis(size_t axis, int ranks, cut how) {
    shards made;
    size_t left = axis, first = 0;
    int r;
    size_t one = below((size_t)ranks);
    made.ranks = ranks;
    for (r = 0; r < ranks; ++r) {
        size_t to_share = left / (size_t)(ranks - r), any = left == 0 ? 0 : below(left + 1);
        size_t count = how == CUT_EVENLY          ? to_share
                       : how == CUT_ANYWHERE      ? (to_share + any) / 2
                       : how == CUT_ALL_IN_ONE    ? ((size_t)r == one ? left : 0)
                       : (r + (int)axis) % 2 == 0 ? 0
                                                  : any;
        made.counts[r] = r == ranks - 1 ? left : count;
        made.firsts[r] = first;
        first += made.counts[r];
        left -= made.counts[r];
    }
    return made;
}

/* ---- reductions */

typedef struct reduce_job {
    wr_reduce_args args; /* of the whole axis */
    unsigned char *input, *weights, *output, *values;
    size_t output_bytes, values_bytes;
    shards cut;
    int with_workspace, with_check;
    unsigned char *outputs[MOST_RANKS], *found_values[MOST_RANKS];
    int32_t checks[MOST_RANKS];
} reduce_job;

static wr_status reduce_on_rank(void *of, int rank, struct ncclComm *communicator) {
    reduce_job *job = of;
    wr_reduce_args args = job->args;
    size_t size = wr_dtype_size(args.dtype), bytes = 0;
    void *workspace = NULL;
    wr_status status;
    args.strides_given = 1;
    args.outer_stride = (ptrdiff_t)(args.axis * args.inner);
    args.axis_stride = (ptrdiff_t)args.inner;
    args.inner_stride = 1;
    args.axis = job->cut.counts[rank];
    args.input = args.axis == 0 ? NULL : job->input + job->cut.firsts[rank] * args.inner * size;
    if (job->weights != NULL) {
        args.weights = args.axis == 0 ? NULL : job->weights + job->cut.firsts[rank] * wr_dtype_size(args.weights_dtype);
    }
    args.output = job->outputs[rank];
    args.values = job->found_values[rank];
    status = wr_nccl_reduce_workspace_size(&args, job->cut.counts, (size_t)job->cut.ranks, (size_t)rank, &bytes);
    CHECK(status == WR_SUCCESS, "%s: the workspace's size: %s", label, wr_status_name(status));
    if (job->with_workspace) {
        workspace = aligned_alloc(16, (bytes + 15) / 16 * 16);
        args.workspace = workspace;
        args.workspace_bytes = bytes;
    }
    status = wr_nccl_reduce(&args, job->cut.counts, job->with_check ? &job->checks[rank] : NULL, communicator,
                            played_stream());
    free(workspace);
    return status;
}

static void check_reduction(reduce_job *job) {
    wr_status statuses[MOST_RANKS];
    rank_group with = open_ranks(job->cut.ranks);
    int r;
    for (r = 0; r < with.count; ++r) {
        job->outputs[r] = allocated(job->output_bytes);
        job->found_values[r] = job->values_bytes != 0 ? allocated(job->values_bytes) : NULL;
        job->checks[r] = -1;
    }
    on_every_rank(&with, reduce_on_rank, job, statuses);
    for (r = 0; r < with.count; ++r) {
        CHECK(statuses[r] == WR_SUCCESS, "%s: rank %d: %s", label, r, wr_status_name(statuses[r]));
        CHECK(!job->with_check || job->checks[r] == WR_SUCCESS, "%s: rank %d is told %d", label, r, job->checks[r]);
        CHECK(memcmp(job->outputs[r], job->output, job->output_bytes + 16) == 0, "%s: rank %d has other bits", label,
              r);
        CHECK(job->values_bytes == 0 || memcmp(job->found_values[r], job->values, job->values_bytes) == 0,
              "%s: rank %d has other values", label, r);
        CHECK(collectives_of(&with, r) == 1, "%s: rank %d took part in %zu collectives", label, r,
              collectives_of(&with, r));
        free(job->outputs[r]);
        free(job->found_values[r]);
    }
    CHECK(played_gpu_blocks() == 0, "%s: %zu blocks of memory are left", label, played_gpu_blocks());
    close_ranks(&with);
}

static void check_cuts(wr_reduce_args args, data_kind kind, int with_values, int ranks, cut how) {
    reduce_job job;
    size_t outputs = args.outer * args.inner, elements = outputs * args.axis;
    wr_status status;
    memset(&job, 0, sizeof job);
    job.input = allocated(elements * wr_dtype_size(args.dtype));
    fill_random(args.dtype, kind, random_next(&numbers), job.input, elements);
    if (args.weights_dtype != 0) {
        job.weights = allocated(args.axis * wr_dtype_size(args.weights_dtype));
        fill_random(args.weights_dtype, DATA_UNIFORM, random_next(&numbers), job.weights, args.axis);
    }
    job.args = args;
    job.output_bytes = outputs * wr_dtype_size(reference_output_dtype(&args));
    job.values_bytes = with_values ? outputs * wr_dtype_size(args.dtype) : 0;
    job.output = allocated(job.output_bytes);
    job.values = allocated(job.values_bytes);
    args.input = job.input;
    args.weights = job.weights;
    args.output = job.output;
    args.values = with_values ? job.values : NULL;
    job.cut = cut_axis(args.axis, ranks, how);
    job.with_workspace = below(2) == 0;
    job.with_check = below(2) == 0;
    sprintf(label, "%s of %s into %d, weights %d, %zu x %zu x %zu of %s, %d ranks, cut %d", op_name(args.op),
            dtype_name(args.dtype), (int)args.output_dtype, (int)args.weights_dtype, args.outer, args.axis, args.inner,
            data_kind_name(kind), ranks, (int)how);
    status = wr_reduce_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "%s: one call: %s", label, wr_status_name(status));
    check_reduction(&job);
    free(job.input);
    free(job.weights);
    free(job.output);
    free(job.values);
}

static size_t random_axis(void) { return below(3) == 0 ? below(20) : below(2) == 0 ? below(500) : below(9000); }

static void every_operator(int ranks) {
    int op, dtype;
    for (op = 1; op <= WR_SUM_EXACT; ++op) {
        for (dtype = 1; dtype <= LAST_DTYPE; ++dtype) {
            type_list outputs = offered_outputs((wr_op)op, (wr_dtype)dtype);
            if (outputs.count != 0) {
                wr_reduce_args args =
                    reduce_args((wr_op)op, (wr_dtype)dtype, 1 + below(3), random_axis(), 1 + below(2) * below(5));
                int index = op == WR_ARGMIN || op == WR_ARGMAX;
                args.output_dtype = outputs.types[below(outputs.count)];
                check_cuts(args, (data_kind)below(ALL_DATA_KINDS), index, ranks, (cut)below(CUTS));
            }
        }
    }
}

static void named_reductions(int ranks) {
    static const wr_op ops[] = {WR_SUM, WR_ARGMAX, WR_NORM_L2, WR_SUM_EXACT, WR_LOGSUMEXP};
    static const wr_dtype types[] = {WR_F32, WR_BF16};
    size_t o, t;
    for (o = 0; o < sizeof ops / sizeof *ops; ++o) {
        for (t = 0; t < sizeof types / sizeof *types; ++t) {
            check_cuts(reduce_args(ops[o], types[t], 1, 151936, 1), DATA_WIDE, ops[o] == WR_ARGMAX, ranks, CUT_EVENLY);
            check_cuts(reduce_args(ops[o], types[t], 2, 1000003, 1), DATA_WIDE, ops[o] == WR_ARGMAX, ranks,
                       CUT_ANYWHERE);
        }
    }
}

static void weighted_sums(int ranks) {
    static const wr_op ops[] = {WR_SUM, WR_SUM_EXACT};
    int c;
    size_t o;
    for (o = 0; o < 2; ++o) {
        for (c = 0; c < CUTS; ++c) {
            wr_reduce_args args = reduce_args(ops[o], WR_F16, 2, 1 + random_axis(), 3);
            args.weights_dtype = WR_F16;
            check_cuts(args, DATA_WIDE, 0, ranks, (cut)c);
        }
    }
}

/* ---- softmax */

typedef struct softmax_job {
    wr_softmax_args args; /* of whole rows */
    unsigned char *input, *mask, *output;
    unsigned char *logsumexp;
    int64_t *lengths;
    size_t logsumexp_bytes;
    shards cut;
    int with_workspace;
    unsigned char *outputs[MOST_RANKS], *found_logsumexp[MOST_RANKS];
    int32_t checks[MOST_RANKS];
} softmax_job;

static unsigned char *own_mask(const softmax_job *job, int rank) {
    size_t count = job->cut.counts[rank], inner = job->args.inner, o;
    unsigned char *own = allocated(job->args.outer * count * inner);
    for (o = 0; o < job->args.outer; ++o) {
        memcpy(own + o * count * inner, job->mask + (o * job->args.axis + job->cut.firsts[rank]) * inner,
               count * inner);
    }
    return own;
}

static wr_status softmax_on_rank(void *of, int rank, struct ncclComm *communicator) {
    softmax_job *job = of;
    wr_softmax_args args = job->args;
    size_t bytes = 0;
    unsigned char *mask = job->mask == NULL ? NULL : own_mask(job, rank);
    void *workspace = NULL;
    wr_status status;
    args.strides_given = 1;
    args.outer_stride = (ptrdiff_t)(args.axis * args.inner);
    args.axis_stride = (ptrdiff_t)args.inner;
    args.inner_stride = 1;
    args.input = job->input + job->cut.firsts[rank] * args.inner * wr_dtype_size(args.dtype);
    args.axis = job->cut.counts[rank];
    args.output = job->outputs[rank];
    args.logsumexp = job->found_logsumexp[rank];
    args.mask = mask;
    args.lengths = job->lengths;
    status = wr_nccl_softmax_workspace_size(&args, job->cut.counts, (size_t)job->cut.ranks, (size_t)rank, &bytes);
    CHECK(status == WR_SUCCESS, "%s: the workspace's size: %s", label, wr_status_name(status));
    if (job->with_workspace) {
        workspace = aligned_alloc(16, (bytes + 15) / 16 * 16);
        args.workspace = workspace;
        args.workspace_bytes = bytes;
    }
    status = wr_nccl_softmax(&args, job->cut.counts, &job->checks[rank], communicator, played_stream());
    free(workspace);
    free(mask);
    return status;
}

static int same_part(const softmax_job *job, int rank) {
    size_t count = job->cut.counts[rank], inner = job->args.inner, o;
    size_t size = wr_dtype_size(job->args.output_dtype), part = count * inner * size;
    for (o = 0; o < job->args.outer; ++o) {
        size_t first = (o * job->args.axis + job->cut.firsts[rank]) * inner * size;
        if (memcmp(job->outputs[rank] + o * part, job->output + first, part) != 0) {
            return 0;
        }
    }
    return 1;
}

static void check_softmax_ranks(softmax_job *job) {
    wr_status statuses[MOST_RANKS];
    rank_group with = open_ranks(job->cut.ranks);
    size_t rows = job->args.outer * job->args.inner, size = wr_dtype_size(job->args.output_dtype);
    int r;
    for (r = 0; r < with.count; ++r) {
        job->outputs[r] = allocated(rows * job->cut.counts[r] * size);
        job->found_logsumexp[r] = r % 2 == 0 ? allocated(job->logsumexp_bytes) : NULL;
        job->checks[r] = -1;
    }
    on_every_rank(&with, softmax_on_rank, job, statuses);
    for (r = 0; r < with.count; ++r) {
        CHECK(statuses[r] == WR_SUCCESS, "%s: rank %d: %s", label, r, wr_status_name(statuses[r]));
        CHECK(job->checks[r] == WR_SUCCESS, "%s: rank %d is told %d", label, r, job->checks[r]);
        CHECK(same_part(job, r), "%s: rank %d has other bits", label, r);
        CHECK(job->outputs[r][rows * job->cut.counts[r] * size] == 0xE7, "%s: rank %d: written behind", label, r);
        CHECK(job->found_logsumexp[r] == NULL ||
                  memcmp(job->found_logsumexp[r], job->logsumexp, job->logsumexp_bytes) == 0,
              "%s: rank %d has another logsumexp", label, r);
        CHECK(collectives_of(&with, r) == 1, "%s: rank %d took part in %zu collectives", label, r,
              collectives_of(&with, r));
        free(job->outputs[r]);
        free(job->found_logsumexp[r]);
    }
    CHECK(played_gpu_blocks() == 0, "%s: %zu blocks of memory are left", label, played_gpu_blocks());
    close_ranks(&with);
}

static void put_selection(softmax_job *job, size_t elements) {
    size_t rows = job->args.outer * job->args.inner, i;
    if (below(3) == 0) {
        job->mask = allocated(elements);
        for (i = 0; i < elements; ++i) {
            job->mask[i] = below(4) != 0;
        }
    }
    if (below(3) == 0) {
        job->lengths = allocated(rows * sizeof *job->lengths);
        for (i = 0; i < rows; ++i) {
            job->lengths[i] = (int64_t)below(job->args.axis + 3) - 1;
        }
    }
    if (below(3) == 0) {
        job->args.causal = 1;
        job->args.causal_rows = job->args.axis + 1;
        job->args.causal_first = (int64_t)below(job->args.axis + 2);
    }
}

static void check_softmax(wr_softmax_args args, int ranks, cut how, int with_selection) {
    softmax_job job;
    size_t rows = args.outer * args.inner, elements = rows * args.axis;
    wr_status status;
    memset(&job, 0, sizeof job);
    args.output_dtype = args.output_dtype != 0 ? args.output_dtype : args.dtype;
    job.args = args;
    job.input = allocated(elements * wr_dtype_size(args.dtype));
    put_unusual_logits(args.dtype, job.input, args.outer, args.axis, args.inner);
    if (with_selection) {
        put_selection(&job, elements);
    }
    job.output = allocated(elements * wr_dtype_size(args.output_dtype));
    job.logsumexp_bytes = rows * wr_dtype_size(softmax_state_dtype(args.dtype));
    job.logsumexp = allocated(job.logsumexp_bytes);
    job.cut = cut_axis(args.axis, ranks, how);
    job.with_workspace = below(2) == 0;
    sprintf(label, "%ssoftmax of %s into %s, %zu x %zu x %zu%s%s%s, %d ranks, cut %d", args.log ? "log-" : "",
            dtype_name(args.dtype), dtype_name(args.output_dtype), args.outer, args.axis, args.inner,
            job.mask ? ", mask" : "", job.lengths ? ", lengths" : "", job.args.causal ? ", causal" : "", ranks,
            (int)how);
    args = job.args;
    args.input = job.input;
    args.mask = job.mask;
    args.lengths = job.lengths;
    args.output = job.output;
    args.logsumexp = job.logsumexp;
    status = wr_softmax_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "%s: one call: %s", label, wr_status_name(status));
    check_softmax_ranks(&job);
    free(job.input);
    free(job.mask);
    free(job.lengths);
    free(job.output);
    free(job.logsumexp);
}

static void vocabularies(int ranks) {
    static const wr_dtype types[] = {WR_F32, WR_BF16};
    int t, log;
    for (t = 0; t < 2; ++t) {
        for (log = 0; log < 2; ++log) {
            wr_softmax_args args = softmax_args(types[t], 12, 151936, 1);
            args.log = log;
            check_softmax(args, ranks, CUT_EVENLY, 0);
        }
    }
}

static void random_softmaxes(int ranks, int jobs) {
    static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
    while (jobs-- > 0) {
        wr_softmax_args args = softmax_args(types[below(6)], 1 + below(3), random_axis(), 1 + below(2) * below(4));
        args.output_dtype = below(3) == 0 ? WR_F32 : 0;
        args.log = (int32_t)below(2);
        args.scale = below(3) == 0 ? 0.125 : 0;
        args.empty_row = below(2) == 0 ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
        check_softmax(args, ranks, (cut)below(CUTS), 1);
    }
}

int main(int argc, char **argv) {
    static const int numbers_of_ranks[] = {1, 2, 3, 4, 8};
    int few = argc > 1, jobs = few ? atoi(argv[1]) : 80;
    size_t i;
    load_nccl();
    numbers = 1;
    for (i = 0; i < sizeof numbers_of_ranks / sizeof *numbers_of_ranks; ++i) {
        int with = numbers_of_ranks[i];
        random_softmaxes(with, jobs);
        weighted_sums(with);
        if (!few) {
            every_operator(with);
            named_reductions(with);
            vocabularies(with);
        }
    }
    return check_report("shards_are_one_call");
}
