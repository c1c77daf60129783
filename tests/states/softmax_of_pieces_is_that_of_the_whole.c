/*
 * Softmax, log-softmax and logsumexp of rows in pieces, cut anywhere, have the bits that one call gives for the whole
 * rows; and their states, merged in any bracketing, are the same bytes, those of one state of the whole.
 *
 * Arguments: the place, random jobs (0: those that there are without being told), a seed, jobs of many rows, how many
 * these have.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "harness/softmax_jobs.h"
#include "harness/unusual_logits.h"
#include "reference/reference.h"
#include "states/softmax_states.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
enum { TYPES = 6 };

/* The arrays of the job in a place. */
typedef struct placed_job {
    const place *where;
    const cut_job *job;
    unsigned char *input;
    int64_t *lengths;
    int32_t *check;
} placed_job;

/* The piece's own mask in the place, [outer][count][inner]; NULL where the job has none. */
static unsigned char *piece_mask(const placed_job *at, const unsigned char *mask, size_t first, size_t count) {
    const cut_job *job = at->job;
    size_t inner = job->args.inner, o;
    unsigned char *own, *there;
    if (mask == NULL || count == 0) {
        return NULL;
    }
    own = allocated(rows_of(job) * count);
    for (o = 0; o < job->args.outer; ++o) {
        memcpy(own + o * count * inner, mask + (o * job->args.axis + first) * inner, count * inner);
    }
    there = place_allocate(at->where, rows_of(job) * count);
    place_write(at->where, there, own, rows_of(job) * count);
    free(own);
    return there;
}

static wr_softmax_args piece_args(const placed_job *at, size_t first, size_t count) {
    const cut_job *job = at->job;
    wr_softmax_args args = job->args;
    ptrdiff_t axis_stride = args.strides_given ? args.axis_stride : (ptrdiff_t)args.inner;
    ptrdiff_t before = (ptrdiff_t)job->origin + (ptrdiff_t)first * axis_stride;
    if (!args.strides_given) { /* a piece of several outer indices has gaps */
        args.strides_given = 1;
        args.outer_stride = (ptrdiff_t)(args.axis * args.inner);
        args.axis_stride = axis_stride;
        args.inner_stride = 1;
    }
    args.axis = count;
    args.input = at->input + before * (ptrdiff_t)reference_size(args.dtype);
    args.lengths = at->lengths;
    return args;
}

static placed_state reduced(const placed_job *at, const unsigned char *mask, size_t first, size_t count) {
    placed_state state = new_state(at->where, at->job, first, count, 0);
    wr_softmax_args args = piece_args(at, first, count);
    unsigned char *own_mask = piece_mask(at, mask, first, count);
    wr_status status;
    args.mask = own_mask;
    status = wr_softmax_state(&args, first, state.memory, state.bytes, at->check, at->where->stream);
    CHECK(status == WR_SUCCESS, "%s in %s: state of %lu + %lu: %s", at->job->label, at->where->name,
          (unsigned long)first, (unsigned long)count, wr_status_name(status));
    check_told(at->where, at->check, at->job, "a state");
    place_free(at->where, own_mask);
    return state;
}

/* In the place of the left one, where it has room. */
static placed_state merged(const placed_job *at, const placed_state *left, const placed_state *right, int in_place) {
    const cut_job *job = at->job;
    wr_state_args args = state_args(job, left->first, left->count);
    placed_state both;
    wr_status status;
    size_t count = left->count + right->count, room = bytes_of_state(job, left->first, count);
    both = new_state(at->where, job, left->first, count, left->bytes > room ? left->bytes : room);
    args.right_count = right->count;
    args.state = left->memory;
    args.state_bytes = left->bytes;
    if (in_place) {
        unsigned char *bytes = allocated(left->bytes);
        place_read(at->where, left->memory, bytes, left->bytes);
        place_write(at->where, both.memory, bytes, left->bytes);
        args.state = both.memory;
        args.state_bytes = left->bytes > room ? left->bytes : room;
        free(bytes);
    }
    args.right = right->memory;
    args.right_bytes = right->bytes;
    args.merged = both.memory;
    args.merged_bytes = both.bytes;
    args.check = at->check;
    status = wr_state_merge(&args, at->where->stream);
    CHECK(status == WR_SUCCESS, "%s in %s: %lu + %lu + %lu: %s", job->label, at->where->name,
          (unsigned long)left->first, (unsigned long)left->count, (unsigned long)right->count, wr_status_name(status));
    check_told(at->where, at->check, job, "a merge");
    return both;
}

static void check_state(const placed_job *at, const placed_state *state, const whole_job *whole, const char *how,
                        int with_margin) {
    unsigned char *bytes;
    if (with_margin) {
        bytes = state_bytes(at->where, at->job, state);
    } else {
        bytes = allocated(state->bytes);
        place_read(at->where, state->memory, bytes, state->bytes);
    }
    CHECK(state->bytes == whole->state_bytes && memcmp(bytes, whole->state, state->bytes) == 0,
          "%s in %s: %s: other bytes than the state of the whole", at->job->label, at->where->name, how);
    free(bytes);
}

/* In a random bracketing; the pieces' states stay. */
static void check_random_bracketing(const placed_job *at, const placed_state *pieces, const whole_job *whole,
                                    uint64_t *random) {
    placed_state left[MOST_PIECES];
    int own[MOST_PIECES] = {0}, in_place = 0;
    size_t count = at->job->pieces, i;
    memcpy(left, pieces, count * sizeof *left);
    while (count > 1) {
        placed_state both;
        i = random_below(random, count - 1);
        in_place = random_below(random, 3) == 0;
        both = merged(at, &left[i], &left[i + 1], in_place);
        place_free(at->where, own[i] ? left[i].memory : NULL);
        place_free(at->where, own[i + 1] ? left[i + 1].memory : NULL);
        left[i] = both;
        own[i] = 1;
        memmove(left + i + 1, left + i + 2, (count - i - 2) * sizeof *left);
        memmove(own + i + 1, own + i + 2, (count - i - 2) * sizeof *own);
        --count;
    }
    check_state(at, &left[0], whole, "in a random bracketing", !in_place);
    place_free(at->where, own[0] ? left[0].memory : NULL);
}

static void check_finish(const placed_job *at, placed_state *state, const whole_job *whole) {
    const cut_job *job = at->job;
    wr_state_args args = state_args(job, 0, job->args.axis);
    size_t bytes = rows_of(job) * reference_size(args.output_dtype);
    unsigned char *there = place_allocate(at->where, bytes), *found = allocated(bytes);
    args.state = state->memory;
    args.state_bytes = state->bytes;
    args.output = there;
    args.check = at->check;
    CHECK(wr_state_finish(&args, at->where->stream) == WR_SUCCESS, "%s in %s: finish", job->label, at->where->name);
    check_told(at->where, at->check, job, "finish");
    place_read(at->where, there, found, bytes);
    CHECK(memcmp(found, whole->logsumexp, bytes) == 0, "%s in %s: another logsumexp", job->label, at->where->name);
    free(found);
    place_free(at->where, there);
}

/* The outputs of piece i; before and after are there where they are needed, and else now and then. */
static void check_outputs(const placed_job *at, size_t i, const placed_state *all, const placed_state *before,
                          const placed_state *after, const whole_job *whole, uint64_t *random) {
    const cut_job *job = at->job;
    size_t first = job->cuts[i], count = job->cuts[i + 1] - first, end = first + count, inner = job->args.inner, o;
    size_t size = output_size(job), bytes = rows_of(job) * count * size;
    wr_softmax_args args = piece_args(at, first, count);
    unsigned char *mask = piece_mask(at, whole->mask, first, count);
    unsigned char *there = place_allocate(at->where, bytes), *found = allocated(bytes);
    int needs_before = !args.log && count != 0 && first % BLOCK != 0;
    int needs_after = !args.log && count != 0 && end % BLOCK != 0 && end != job->args.axis;
    int in_place = size == reference_size(args.dtype) && random_below(random, 3) == 0 && count != 0 &&
                   job->args.strides_given == 0;
    wr_status status;
    args.mask = mask;
    args.output = there;
    if (in_place) {
        unsigned char *input = allocated(bytes);
        for (o = 0; o < args.outer; ++o) {
            memcpy(input + o * count * inner * size,
                   whole->input + (job->origin + (o * job->args.axis + first) * inner) * size, count * inner * size);
        }
        place_write(at->where, there, input, bytes);
        free(input);
        args.strides_given = 0;
        args.outer_stride = args.axis_stride = args.inner_stride = 0;
        args.input = there;
    }
    status = wr_softmax_from_state(
        &args, first, job->args.axis, all->memory, needs_before || random_below(random, 2) == 0 ? before->memory : NULL,
        needs_after || random_below(random, 2) == 0 ? after->memory : NULL, at->check, at->where->stream);
    CHECK(status == WR_SUCCESS, "%s in %s: outputs of %lu + %lu: %s", job->label, at->where->name, (unsigned long)first,
          (unsigned long)count, wr_status_name(status));
    check_told(at->where, at->check, job, "outputs");
    place_read(at->where, there, found, bytes);
    for (o = 0; o < args.outer; ++o) {
        if (memcmp(found + o * count * inner * size, whole->output + (o * job->args.axis + first) * inner * size,
                   count * inner * size) != 0) {
            break;
        }
    }
    CHECK(o == args.outer, "%s in %s: other outputs of %lu + %lu%s", job->label, at->where->name, (unsigned long)first,
          (unsigned long)count, in_place ? ", in place" : "");
    free(found);
    place_free(at->where, there);
    place_free(at->where, mask);
}

static void check_pieces(const placed_job *at, const whole_job *whole) {
    const cut_job *job = at->job;
    placed_state pieces[MOST_PIECES], before[MOST_PIECES + 1], after[MOST_PIECES + 1];
    uint64_t random = job->seed ^ 77;
    size_t n = job->pieces, i;
    for (i = 0; i < n; ++i) {
        pieces[i] = reduced(at, whole->mask, job->cuts[i], job->cuts[i + 1] - job->cuts[i]);
    }
    before[0] = reduced(at, NULL, 0, 0);
    after[n] = reduced(at, NULL, job->args.axis, 0);
    for (i = 0; i < n; ++i) {
        before[i + 1] = merged(at, &before[i], &pieces[i], 0);
        after[n - 1 - i] = merged(at, &pieces[n - 1 - i], &after[n - i], 0);
    }
    check_state(at, &before[n], whole, "from the left", 1);
    check_state(at, &after[0], whole, "from the right", 1);
    check_random_bracketing(at, pieces, whole, &random);
    check_finish(at, &before[n], whole);
    for (i = 0; i < n; ++i) {
        check_outputs(at, i, &after[0], &before[i], &after[i + 1], whole, &random);
    }
    for (i = 0; i <= n; ++i) {
        place_free(at->where, before[i].memory);
        place_free(at->where, after[i].memory);
    }
    for (i = 0; i < n; ++i) {
        place_free(at->where, pieces[i].memory);
    }
}

static void run_pieces_at(const place *where, const cut_job *job, const whole_job *whole) {
    size_t bytes = job->input_elements * reference_size(job->args.dtype);
    placed_job at;
    at.where = where;
    at.job = job;
    at.input = place_allocate(where, bytes);
    at.check = place_allocate(where, sizeof *at.check);
    at.lengths = NULL;
    place_write(where, at.input, whole->input, bytes);
    if (whole->lengths != NULL) {
        at.lengths = place_allocate(where, rows_of(job) * sizeof *at.lengths);
        place_write(where, at.lengths, whole->lengths, rows_of(job) * sizeof *at.lengths);
    }
    check_pieces(&at, whole);
    place_free(where, at.input);
    place_free(where, at.lengths);
    place_free(where, at.check);
}

/* One call on the host, and one state of it all. */
static void run_whole(const cut_job *job, whole_job *whole) {
    wr_softmax_args args = job->args;
    args.input = whole->input + job->origin * reference_size(args.dtype);
    args.output = whole->output;
    args.logsumexp = whole->logsumexp;
    args.mask = whole->mask;
    args.lengths = whole->lengths;
    CHECK(wr_softmax_ex(&args, wr_host_stream()) == WR_SUCCESS, "%s: the whole", job->label);
    args.output = NULL;
    args.logsumexp = NULL;
    CHECK(wr_softmax_state(&args, 0, whole->state, whole->state_bytes, NULL, wr_host_stream()) == WR_SUCCESS,
          "%s: the state of the whole", job->label);
}

static double logit_of(uint64_t *random, const cut_job *job, size_t row, size_t at, int kind) {
    const double ordinary = 8.0 * random_unit(random) - 4.0;
    switch (kind) {
    case 0:
        return ordinary;
    case 1:
        return 30.0 * ordinary;
    case 2: /* zeros of both signs, of which either may come first, and now and then a NaN of any bits */
        return ordinary < -3.99 ? (double)NAN : ordinary < 0.0 ? -0.0 : row % 3 == 0 ? 0.0 : -1.0;
    default: /* so that every sixth row is one */
        return unusual_logit(random, (row + (size_t)job->seed) % 64, at, job->args.axis, job->args.dtype);
    }
}

static void fill(const cut_job *job, whole_job *whole, int masked, int cut_off) {
    const wr_softmax_args *args = &job->args;
    uint64_t random = job->seed;
    int kind = (int)random_below(&random, 5);
    ptrdiff_t axis_stride = args->strides_given ? args->axis_stride : (ptrdiff_t)args->inner;
    ptrdiff_t outer_stride = args->strides_given ? args->outer_stride : (ptrdiff_t)(args->axis * args->inner);
    ptrdiff_t inner_stride = args->strides_given ? args->inner_stride : 1;
    size_t o, i, at, n;
    memset(whole->input, 0, job->input_elements * reference_size(args->dtype));
    for (o = 0; o < args->outer; ++o) {
        for (i = 0; i < args->inner; ++i) {
            for (at = 0; at < args->axis; ++at) {
                ptrdiff_t index = (ptrdiff_t)job->origin + (ptrdiff_t)o * outer_stride + (ptrdiff_t)at * axis_stride +
                                  (ptrdiff_t)i * inner_stride;
                double logit = logit_of(&random, job, o * args->inner + i, at, kind);
                reference_put(args->dtype, whole->input, (size_t)index, logit);
                if (kind == 2 && logit != logit) {
                    reference_put_bits(args->dtype, whole->input, (size_t)index, ~(uint64_t)0);
                }
            }
        }
    }
    for (n = 0; masked && n < rows_of(job) * args->axis; ++n) {
        whole->mask[n] = random_below(&random, 3) == 0 ? 0 : (unsigned char)random_next(&random);
    }
    for (n = 0; cut_off && n < rows_of(job); ++n) {
        whole->lengths[n] = (int64_t)random_below(&random, args->axis + 200) - 100;
    }
}

static void check_job(const cut_job *job, int masked, int cut_off) {
    whole_job whole;
    size_t elements = rows_of(job) * job->args.axis, p;
    whole.state_bytes = bytes_of_state(job, 0, job->args.axis);
    whole.input = allocated(job->input_elements * reference_size(job->args.dtype));
    whole.output = allocated(elements * output_size(job));
    whole.state = place_allocate(place_at(0), whole.state_bytes);
    whole.logsumexp = allocated(rows_of(job) * 8);
    whole.mask = masked ? allocated(elements) : NULL;
    whole.lengths = cut_off ? allocated(rows_of(job) * sizeof *whole.lengths) : NULL;
    fill(job, &whole, masked, cut_off);
    run_whole(job, &whole);
    for (p = 0; p < place_count(); ++p) {
        run_pieces_at(place_at(p), job, &whole);
    }
    free(whole.input);
    free(whole.output);
    place_free(place_at(0), whole.state);
    free(whole.logsumexp);
    free(whole.mask);
    free(whole.lengths);
}

/* Contiguous; the axis innermost; every second element; backwards. */
static void set_layout(cut_job *job, size_t layout) {
    wr_softmax_args *args = &job->args;
    ptrdiff_t outer = (ptrdiff_t)args->outer, axis = (ptrdiff_t)args->axis, inner = (ptrdiff_t)args->inner;
    job->input_elements = rows_of(job) * args->axis;
    job->origin = 0;
    args->strides_given = layout != 0;
    switch (layout) {
    case 1:
        args->outer_stride = axis * inner;
        args->axis_stride = 1;
        args->inner_stride = axis;
        break;
    case 2:
        args->outer_stride = 2 * axis * inner;
        args->axis_stride = 2 * inner;
        args->inner_stride = 2;
        job->input_elements *= 2;
        break;
    case 3:
        args->outer_stride = -axis * inner;
        args->axis_stride = -inner;
        args->inner_stride = -1;
        job->origin = job->input_elements == 0 ? 0 : (size_t)(outer * axis * inner - 1);
        break;
    default:
        break;
    }
}

static void sort_cuts(cut_job *job) {
    size_t i, j;
    for (i = 1; i <= job->pieces; ++i) {
        for (j = i; j > 0 && job->cuts[j - 1] > job->cuts[j]; --j) {
            size_t cut = job->cuts[j];
            job->cuts[j] = job->cuts[j - 1];
            job->cuts[j - 1] = cut;
        }
    }
}

/* Anywhere, at boundaries of base blocks, beside others: pieces of single elements and of none. */
static void cut_anywhere(cut_job *job, size_t most, uint64_t *random) {
    size_t axis = job->args.axis, i, at;
    job->pieces = 1 + random_below(random, most);
    job->cuts[0] = 0;
    job->cuts[1] = axis;
    for (i = 2; i <= job->pieces; ++i) {
        switch (random_below(random, 4)) {
        case 0:
            at = random_below(random, axis / BLOCK + 1) * BLOCK;
            break;
        case 1:
            at = job->cuts[random_below(random, i)] + random_below(random, 2);
            break;
        default:
            at = random_below(random, axis + 1);
            break;
        }
        job->cuts[i] = at > axis ? axis : at;
    }
    sort_cuts(job);
}

static void describe(cut_job *job, const char *what) {
    const wr_softmax_args *args = &job->args;
    sprintf(job->label, "%s %lu: %s to %s %lu x %lu x %lu in %lu pieces%s%s%s", what, (unsigned long)job->seed,
            dtype_name(args->dtype), dtype_name(args->output_dtype), (unsigned long)args->outer,
            (unsigned long)args->axis, (unsigned long)args->inner, (unsigned long)job->pieces, args->log ? ", log" : "",
            args->causal ? ", causal" : "", args->strides_given ? ", strided" : "");
}

/* Of so many rows, half of these jobs without options and wherever the first row begins; or, where that is 0, of a few
 * or columns. Some axes end with a base block. */
static void check_random_job(uint64_t seed, size_t longest, size_t rows) {
    cut_job job;
    uint64_t random = seed;
    size_t outer = 1 + random_below(&random, 4), axis, inner, layout;
    int masked, cut_off;
    axis = random_below(&random, 3) == 0 ? random_below(&random, 200) : random_below(&random, longest + 1);
    inner = random_below(&random, 2) == 0 ? 1 : 1 + random_below(&random, axis > 3000 ? 5 : 40);
    if (rows != 0) {
        outer = rows;
        axis = longest - random_below(&random, longest / 3);
        inner = 1;
    }
    if (random_below(&random, 3) == 0) {
        axis = (axis + BLOCK / 2) / BLOCK * BLOCK;
    }
    memset(&job, 0, sizeof job);
    job.seed = seed;
    job.args = softmax_args(types[random_below(&random, TYPES)], outer, axis, inner);
    job.args.output_dtype = types[random_below(&random, TYPES)];
    job.args.log = random_below(&random, 3) == 0;
    job.args.empty_row = random_below(&random, 2) == 0 ? WR_EMPTY_ROW_NAN : WR_EMPTY_ROW_ZERO;
    job.args.scale = random_below(&random, 2) == 0 ? 0.0 : random_below(&random, 4) == 0 ? -3.0 : 0.11;
    masked = random_below(&random, 3) == 0;
    cut_off = random_below(&random, 3) == 0;
    if (random_below(&random, 4) == 0) {
        job.args.causal = 1;
        job.args.causal_rows = 3;
        job.args.causal_first = (int64_t)random_below(&random, axis + 10) - 5;
    }
    layout = random_below(&random, 3) == 0 ? random_below(&random, 4) : 0;
    if (rows != 0 && random_below(&random, 2) == 0) {
        masked = cut_off = job.args.causal = 0;
        job.args.causal_rows = 0;
        job.args.causal_first = 0;
        job.args.output_dtype = job.args.dtype;
        layout = 0;
    }
    set_layout(&job, layout);
    if (rows != 0) {
        const size_t before = random_below(&random, 4);
        job.origin += before;
        job.input_elements += before;
    }
    cut_anywhere(&job, rows != 0 ? 3 : MOST_PIECES, &random);
    describe(&job, "random job");
    check_job(&job, masked, cut_off);
}

/* A vocabulary over the shards of a model: no shard is a multiple of 1024. */
static void check_vocabulary(wr_dtype dtype, size_t shards, int log) {
    cut_job job;
    size_t i;
    memset(&job, 0, sizeof job);
    job.seed = 2 + shards;
    job.args = softmax_args(dtype, 2, 151936, 1);
    job.args.output_dtype = dtype;
    job.args.log = log;
    job.pieces = shards;
    for (i = 0; i <= shards; ++i) {
        job.cuts[i] = i * 151936 / shards;
    }
    set_layout(&job, 0);
    describe(&job, "vocabulary");
    check_job(&job, 0, 0);
}

/* Every length and every cut in two around the boundaries of base blocks. */
static void check_short_rows(size_t step) {
    static const size_t lengths[] = {0, 1, 2, 3, 31, 32, 33, 1023, 1024, 1025, 2047, 2048, 2049, 3072, 5000};
    cut_job job;
    size_t i, cut;
    for (i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        size_t axis = lengths[i];
        for (cut = 0; cut <= axis; cut += 1 + (cut % BLOCK > 2 && cut % BLOCK < BLOCK - 3 ? step : 0)) {
            memset(&job, 0, sizeof job);
            job.seed = axis + cut;
            job.args = softmax_args(types[(axis + cut) % TYPES], 1, axis, 1 + cut % 2);
            job.args.output_dtype = job.args.dtype;
            job.pieces = 2;
            job.cuts[1] = cut;
            job.cuts[2] = axis;
            set_layout(&job, 0);
            describe(&job, "cut in two");
            check_job(&job, 0, 0);
        }
    }
}

int main(int argc, char **argv) {
    size_t jobs = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 0, i;
    uint64_t seed = argc > 3 ? strtoul(argv[3], NULL, 10) : 1;
    size_t of_many_rows;
    size_t rows = argc > 5 ? (size_t)strtoul(argv[5], NULL, 10) : 17000;
    int few = jobs != 0;
    places_open(argc, argv);
    of_many_rows = argc > 4 ? (size_t)strtoul(argv[4], NULL, 10) : place_count() > 1 ? 2 : 0;
    for (i = 0; i < (few ? jobs : 1500); ++i) {
        check_random_job(seed * 1000003 + i, i % 50 == 49 && !few ? 40000 : i % 4 == 3 ? 9000 : 2500, 0);
    }
    for (i = 0; i < of_many_rows; ++i) {
        check_random_job(seed * 2000003 + i, rows < 1000 ? 9000 : 3000, rows);
    }
    check_random_job(1000585, 2500, 0); /* few rows of f16 that have a NaN */
    if (!few) {
        static const size_t shards[] = {2, 3, 4, 8};
        for (i = 0; i < 4; ++i) {
            check_vocabulary(WR_F32, shards[i], 0);
            check_vocabulary(WR_BF16, shards[i], i % 2 == 1);
        }
        check_short_rows(97);
    }
    places_close();
    return check_report("softmax_of_pieces_is_that_of_the_whole");
}
