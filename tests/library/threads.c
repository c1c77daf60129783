/* Any number of threads may call everything at once: each gets the bits that one alone gets. */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

enum { THREADS = 8, ROUNDS = 6, JOBS = 10, LONGEST = 200003, OUTPUT_BYTES = LONGEST * 8 };

/* One job: a reduction, or a softmax where op is zero. */
typedef struct job {
    int op;
    wr_dtype dtype;
    size_t outer, axis, inner;
    void *input;
    unsigned char *expected;
    size_t output_bytes;
} job;

static job jobs[JOBS] = {
    {WR_SUM, WR_F32, 1, LONGEST, 1, NULL, NULL, 0}, {WR_SUM, WR_BF16, 20, 9999, 1, NULL, NULL, 0},
    {WR_MEAN, WR_F64, 1, 200, 1000, NULL, NULL, 0}, {WR_MIN, WR_F16, 300, 33, 7, NULL, NULL, 0},
    {WR_MAX, WR_I64, 4, 11, 4096, NULL, NULL, 0},   {WR_SUM, WR_KOALABEAR, 1, LONGEST, 1, NULL, NULL, 0},
    {0, WR_F32, 40, 5000, 1, NULL, NULL, 0},        {0, WR_F64, 1, 700, 200, NULL, NULL, 0},
    {0, WR_BF16, 3, 40000, 1, NULL, NULL, 0},       {WR_SUM, WR_I32, 199999, 1, 1, NULL, NULL, 0},
};

static wr_status run(const job *of, void *output) {
    struct CUstream_st *host = wr_host_stream();
    if (of->op == 0) {
        return wr_softmax(of->dtype, of->input, output, of->outer, of->axis, of->inner, host);
    }
    return wr_reduce((wr_op)of->op, of->dtype, of->input, output, of->outer, of->axis, of->inner, host);
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

static void prepare(job *of) {
    size_t count = of->outer * of->axis * of->inner, size = reference_size(of->dtype);
    of->input = allocate(count * size);
    of->expected = allocate(OUTPUT_BYTES);
    of->output_bytes = of->op == 0 ? count * size : of->outer * of->inner * size;
    memset(of->expected, IMAGE_POISON, OUTPUT_BYTES);
    fill_random(of->dtype, DATA_UNIFORM, count, of->input, count);
    CHECK(run(of, of->expected) == WR_SUCCESS, "alone");
}

typedef struct worker {
    pthread_t thread;
    size_t number;
    unsigned wrong, refused, queries_wrong;
} worker;

static void call_what_has_no_stream(worker *self) {
    wr_reduce_args args = reduce_args(WR_SUM, WR_F32, 1, LONGEST, 1);
    size_t bytes;
    self->queries_wrong += wr_reduce_workspace_size(&args, &bytes) != WR_SUCCESS;
    self->queries_wrong += wr_host_stream() != place_at(0)->stream;
    self->queries_wrong += strcmp(wr_status_name(WR_ERROR_OVERLAP), "WR_ERROR_OVERLAP") != 0;
    self->queries_wrong += wr_dtype_size(WR_F64) != 8;
}

/* Failures are counted here and reported by the main thread: CHECK is for one thread. */
static void *work(void *argument) {
    worker *self = argument;
    unsigned char *output = allocate(OUTPUT_BYTES);
    size_t round;
    for (round = 0; round < (size_t)ROUNDS * JOBS; ++round) {
        const job *of = &jobs[(round + self->number) % JOBS];
        memset(output, IMAGE_POISON, OUTPUT_BYTES);
        self->refused += run(of, output) != WR_SUCCESS;
        self->wrong += memcmp(output, of->expected, OUTPUT_BYTES) != 0;
        call_what_has_no_stream(self);
    }
    free(output);
    return NULL;
}

int main(int argc, char **argv) {
    worker workers[THREADS];
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < JOBS; ++i) {
        prepare(&jobs[i]);
    }
    memset(workers, 0, sizeof workers);
    for (i = 0; i < THREADS; ++i) {
        workers[i].number = i;
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0) {
            give_up("no thread");
        }
    }
    for (i = 0; i < THREADS; ++i) {
        pthread_join(workers[i].thread, NULL);
        CHECK(workers[i].wrong == 0, "thread %zu: %u results differ", i, workers[i].wrong);
        CHECK(workers[i].refused == 0, "thread %zu: %u calls were refused", i, workers[i].refused);
        CHECK(workers[i].queries_wrong == 0, "thread %zu: %u queries are wrong", i, workers[i].queries_wrong);
    }
    for (i = 0; i < JOBS; ++i) {
        free(jobs[i].input);
        free(jobs[i].expected);
    }
    places_close();
    return check_report("threads");
}
