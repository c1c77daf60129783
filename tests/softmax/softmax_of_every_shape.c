/*
 * Softmax, log-softmax, their gradients and logsumexp of rows, columns and ragged rows have the host's bits on a GPU,
 * and each row has the bits that it has alone, whatever the length, the number of rows, the alignment, the selection,
 * the types, the outputs and the logits. Lengths are around every power of two and three times one, where kernels give
 * way to one another, and of every number of base blocks that a block, a cluster and its blocks' warps share; rows are
 * few, a few for each of the GPU's multiprocessors, or, of every third length, so many that all share them. All else is
 * drawn.
 *
 *     softmax_of_every_shape host|gpu [PART PARTS [SEED]]
 */
#include "harness/any_softmax.h"
#include "harness/harness.h"
#include "harness/places.h"
#include "harness/random_numbers.h"

#include <stdlib.h>

enum {
    BLOCK = 1024,
    MOST_BLOCKS = 137,
    LARGEST_POWER = 22,
    MOST_LENGTHS = 512,
    LARGE_GPU = 64,               /* multiprocessors; others are emulated */
    MOST_ELEMENTS = 1 << 24,      /* of a job on a large GPU */
    MOST_ELEMENTS_HERE = 1 << 20, /* else */
    MOST_ELEMENTS_OF_HOST = 1 << 16,
    LONGEST_COLUMN = 1 << 17,
    LONGEST_RAGGED = 1 << 14
};

typedef enum layout { ROWS, COLUMNS, RAGGED, LAYOUTS } layout;
typedef enum amount { FEW, SOME, MANY, AMOUNTS } amount;

typedef struct sweep {
    size_t part, parts, number; /* of jobs */
    uint64_t seed;
    size_t multiprocessors, most_elements;
} sweep;

static size_t least(size_t a, size_t b) { return a < b ? a : b; }
static int one_in(uint64_t *state, size_t n) { return random_below(state, n) == 0; }

static size_t put_lengths(size_t *lengths) {
    size_t count = 0, power, i;
    for (i = 1; i < 16; ++i) {
        lengths[count++] = i;
    }
    for (power = 16; power <= (size_t)1 << LARGEST_POWER; power *= 2) {
        const size_t around[] = {power - 1,         power,         power + 1,         power + 8,
                                 power * 3 / 2 - 1, power * 3 / 2, power * 3 / 2 + 1, power * 3 / 2 + 8};
        for (i = 0; i < sizeof around / sizeof *around; ++i) {
            lengths[count++] = around[i];
        }
    }
    for (i = 1; i <= MOST_BLOCKS; ++i) { /* the last of one element, of a vector, of half and whole */
        const size_t rest[] = {1, 8, 500, BLOCK};
        lengths[count++] = BLOCK * (i - 1) + rest[i % 4];
    }
    return count;
}

static void draw_types(any_softmax *job, uint64_t *state) {
    static const wr_dtype all[] = {WR_F32, WR_BF16, WR_F16, WR_F64, WR_F8_E4M3, WR_F8_E5M2},
                          common[] = {WR_F32, WR_BF16, WR_F16};
    if (one_in(state, 2)) {
        job->first = job->second = job->third = common[random_below(state, 3)];
        return;
    }
    job->first = all[random_below(state, 6)];
    job->second = one_in(state, 2) ? job->first : all[random_below(state, 6)];
    job->third = one_in(state, 2) ? job->first : all[random_below(state, 6)];
    if (job->call == CALL_GRADIENT && (job->first == WR_F64 || job->second == WR_F64)) {
        job->first = job->second = WR_F64;
    }
}

static unsigned draw_options(const any_softmax *job, uint64_t *state) {
    static const unsigned selections[] = {
        0, 0, 0, MASKED, CUT_OFF, MASKED | CUT_OFF, CAUSAL, MASKED | CUT_OFF | CAUSAL};
    static const struct {
        unsigned option;
        size_t of;
    } odds[] = {{LOG, 2},   {SUMS, 3},      {MAXIMA, 4},   {IN_PLACE, 3},  {ADDED, 4},
                {LENDS, 2}, {ZERO_ROWS, 3}, {STRIDED, 12}, {OWN_SCALES, 5}};
    unsigned what = selections[random_below(state, sizeof selections / sizeof *selections)];
    size_t i;
    for (i = 0; i < sizeof odds / sizeof *odds; ++i) {
        what |= one_in(state, odds[i].of) ? odds[i].option : 0;
    }
    if (job->ragged) {
        what &= ~(unsigned)(STRIDED | CAUSAL);
    }
    return job->call == CALL_LOGSUMEXP ? what & (LOG | LENDS) : what;
}

static void draw_knobs(any_softmax *job, uint64_t *state) {
    static const softmax_call calls[] = {CALL_SOFTMAX,  CALL_SOFTMAX,  CALL_SOFTMAX,  CALL_SOFTMAX,   CALL_SOFTMAX,
                                         CALL_GRADIENT, CALL_GRADIENT, CALL_GRADIENT, CALL_LOGSUMEXP, CALL_GRADIENT};
    static const double scales[] = {0.0, 0.0, 1.0, -0.75, 2.5};
    size_t i;
    job->call = calls[random_below(state, 10)];
    draw_types(job, state);
    job->what = draw_options(job, state);
    job->logits = (logits_kind)random_below(state, LOGITS_KINDS);
    job->scale = scales[random_below(state, 5)];
    for (i = 0; i < 3; ++i) {
        job->off[i] = 0;
    }
    if (one_in(state, 2)) {
        for (i = 0; i < 3; ++i) {
            job->off[i] = random_below(state, 9) % 8;
        }
    }
}

/* Elements of all rows. */
static size_t draw_elements(const sweep *of, amount many, size_t length, uint64_t *state) {
    static const size_t blocks_each[] = {60, 250, 400};
    const size_t each = many == SOME ? 17 : blocks_each[random_below(state, 3)];
    const size_t wanted = many == FEW ? (1 + random_below(state, 9)) * length : of->multiprocessors * each * BLOCK;
    return least(wanted, of->most_elements);
}

/* 0 where there is no such job. */
static int draw_shape(const sweep *of, layout how, amount many, size_t length, any_softmax *job, uint64_t *state) {
    static const size_t side_by_side[] = {2, 3, 7, 8, 16, 17, 24, 37, 64, 136, 520, 1001};
    /* Of ragged rows of an odd length a fifth are a base block longer. */
    const size_t mean = how == RAGGED && length % 2 == 1 ? length + BLOCK / 5 : length;
    const size_t elements = draw_elements(of, many, length, state), columns = elements / mean + 1;
    job->axis = length;
    job->ragged = how == RAGGED;
    job->inner = job->outer = 1;
    if (length > of->most_elements || (how == COLUMNS && length > LONGEST_COLUMN) ||
        (how == RAGGED && length > LONGEST_RAGGED)) {
        return 0;
    }
    if (how != COLUMNS) {
        job->outer = many == FEW ? elements / length : columns;
    } else {
        job->inner = many == FEW ? side_by_side[random_below(state, 12)] : columns;
        job->outer = 1 + random_below(state, 3);
        job->inner = job->inner > 64 ? job->inner / job->outer : job->inner;
        job->inner = one_in(state, 3) ? job->inner : (job->inner + 7) / 8 * 8;
    }
    return job->outer * job->inner * length <= 2 * of->most_elements;
}

static void sweep_length(sweep *of, size_t length) {
    int how, many;
    for (how = ROWS; how < LAYOUTS; ++how) {
        for (many = FEW; many < AMOUNTS; ++many) {
            const int is_drawn = many != MANY || (of->number / (LAYOUTS * AMOUNTS) + (size_t)how + of->seed) % 3 == 0;
            uint64_t state = of->seed * 1000003u + of->number;
            any_softmax job;
            random_next(&state);
            if (of->number++ % of->parts == of->part && is_drawn &&
                draw_shape(of, (layout)how, (amount)many, length, &job, &state)) {
                draw_knobs(&job, &state);
                check_any_softmax(&job);
            }
        }
    }
}

/* What draws may leave out: outputs of another type, masked rows that lie apart and are none, base blocks at heights of
 * their own, rows of clusters off the boundaries, more rows than a block has at a time, masked logarithms of columns,
 * rows with scales of their own, long rows whose gradients clusters take that stay, a few each, and so many long rows
 * and high columns that all multiprocessors share them. */
static void check_what_draws_leave_out(size_t multiprocessors) {
    enum { LONG = 129 * BLOCK, HIGH = 2100 };
    const size_t few_each = 3 * (multiprocessors / 16 + 1) + 1, many = 40 * multiprocessors + 1,
                 shared = multiprocessors * 100 * BLOCK;
    const struct {
        softmax_call call;
        size_t outer, axis, inner;
        wr_dtype dtype, output_dtype;
        unsigned what;
        logits_kind logits;
    } jobs[] = {{CALL_SOFTMAX, 9, 4 * BLOCK, 1, WR_F32, WR_BF16, 0, LOGITS_WIDE},
                {CALL_SOFTMAX, 9, 20000, 1, WR_F32, WR_F32, MASKED | STRIDED, LOGITS_UNUSUAL},
                {CALL_SOFTMAX, 3, 4 * BLOCK, 1, WR_F32, WR_F32, 0, LOGITS_IN_STEPS},
                {CALL_SOFTMAX, 5, 40001, 1, WR_F16, WR_F16, 0, LOGITS_WIDE},
                {CALL_SOFTMAX, many, 1000, 1, WR_F32, WR_F32, 0, LOGITS_WIDE},
                {CALL_SOFTMAX, 2, 300, 64, WR_BF16, WR_BF16, MASKED | LOG, LOGITS_NARROW},
                {CALL_SOFTMAX, 31, 1000, 1, WR_F32, WR_F32, OWN_SCALES, LOGITS_NARROW},
                {CALL_SOFTMAX, 31, 4 * BLOCK, 1, WR_F32, WR_F32, OWN_SCALES | SUMS | LOG, LOGITS_IN_STEPS},
                {CALL_SOFTMAX, 31, 4 * BLOCK, 1, WR_BF16, WR_BF16, OWN_SCALES | CUT_OFF | MAXIMA, LOGITS_UNUSUAL},
                {CALL_SOFTMAX, 7, 40 * BLOCK, 1, WR_F16, WR_F16, OWN_SCALES, LOGITS_WIDE},
                {CALL_SOFTMAX, 7, 40 * BLOCK, 1, WR_BF16, WR_BF16, OWN_SCALES | LOG | CAUSAL, LOGITS_MASKED_OFF},
                {CALL_SOFTMAX, 500, 20, 3, WR_F16, WR_F16, OWN_SCALES, LOGITS_UNUSUAL},
                {CALL_SOFTMAX, 2, 300, 64, WR_F32, WR_F32, OWN_SCALES | MASKED, LOGITS_NARROW},
                {CALL_GRADIENT, 31, 4 * BLOCK, 1, WR_F32, WR_F32, OWN_SCALES, LOGITS_WIDE},
                {CALL_GRADIENT, 7, 40 * BLOCK, 1, WR_BF16, WR_BF16, OWN_SCALES | SUMS, LOGITS_NARROW},
                {CALL_GRADIENT, 500, 20, 3, WR_F32, WR_F32, OWN_SCALES | SUMS | LOG | ZERO_ROWS, LOGITS_NARROW},
                {CALL_GRADIENT, few_each, LONG, 1, WR_F32, WR_F32, SUMS, LOGITS_NARROW},
                {CALL_GRADIENT, few_each, LONG, 1, WR_F32, WR_F32, 0, LOGITS_WIDE},
                {CALL_GRADIENT, few_each, LONG, 1, WR_BF16, WR_BF16, SUMS, LOGITS_WIDE},
                {CALL_SOFTMAX, shared / LONG, LONG, 1, WR_F32, WR_F32, 0, LOGITS_IN_STEPS},
                {CALL_SOFTMAX, 5 * shared / 2 / LONG, LONG, 1, WR_F16, WR_F16, LOG, LOGITS_WIDE},
                {CALL_SOFTMAX, 1, HIGH, shared / HIGH / 8 * 8, WR_F32, WR_F32, 0, LOGITS_NARROW}};
    size_t i;
    for (i = 0; i < sizeof jobs / sizeof *jobs; ++i) {
        any_softmax job = {CALL_SOFTMAX, 0, 0, 0, 0, WR_F32, WR_F32, WR_F32, 0, LOGITS_NARROW, {0, 0, 0}, 0.0};
        job.call = jobs[i].call;
        job.outer = jobs[i].outer;
        job.axis = jobs[i].axis;
        job.inner = jobs[i].inner;
        job.first = jobs[i].dtype;
        job.second = job.third = jobs[i].output_dtype;
        job.what = jobs[i].what;
        job.logits = jobs[i].logits;
        check_any_softmax(&job);
    }
}

int main(int argc, char **argv) {
    size_t lengths[MOST_LENGTHS], count = put_lengths(lengths), i;
    sweep of = {0, 1, 0, 1, 1, MOST_ELEMENTS_OF_HOST};
    places_open(argc, argv);
    if (argc > 3) {
        of.part = strtoul(argv[2], NULL, 10);
        of.parts = strtoul(argv[3], NULL, 10);
    }
    if (argc > 4) {
        of.seed = strtoul(argv[4], NULL, 10);
    }
    if (of.parts == 0 || of.part >= of.parts) {
        give_up("no such part");
    }
    if (place_count() > 1) {
        of.multiprocessors = place_multiprocessors(place_at(place_count() - 1));
        of.most_elements = of.multiprocessors > LARGE_GPU ? MOST_ELEMENTS : MOST_ELEMENTS_HERE;
        /* A large GPU has all parts; an emulated one has few. */
        if (of.part == 0 || of.multiprocessors <= LARGE_GPU) {
            check_what_draws_leave_out(of.multiprocessors);
        }
    }
    for (i = 0; i < count; ++i) {
        sweep_length(&of, lengths[i]);
    }
    places_close();
    return check_report("softmax_of_every_shape");
}
