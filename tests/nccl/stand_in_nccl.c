/* See the header. */
#include "nccl/stand_in_nccl.h"

#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* NCCL's numbers. */
enum { SUCCESS = 0, INTERNAL_ERROR = 3, INVALID_ARGUMENT = 4, REMOTE_ERROR = 6, IN_PROGRESS = 7 };
enum { INT8 = 0, UINT8 = 1, INT64 = 4, FLOAT32 = 7 };
enum { SUM = 0, MAX = 2 };

enum { QUESTIONS_UNTIL_DONE = 3 };

struct world {
    pthread_mutex_t turn;
    pthread_cond_t all_are_here;
    int ranks, here;
    uint64_t round;
    size_t count;
    int differ, refused; /* in the round that is under way, in the last one */
    const void **sent;
    void **received;
};

struct ncclComm {
    struct world *world;
    int rank;
    stand_in_fault fault;
    int questions;
    size_t collectives, sent_bytes;
};

static void *zeroed(size_t count, size_t bytes) {
    void *made = calloc(count, bytes);
    if (made == NULL) {
        abort();
    }
    return made;
}

void stand_in_open(int ranks, struct ncclComm **communicators) {
    struct world *world = zeroed(1, sizeof *world);
    int r;
    world->sent = zeroed((size_t)ranks, sizeof *world->sent);
    world->received = zeroed((size_t)ranks, sizeof *world->received);
    pthread_mutex_init(&world->turn, NULL);
    pthread_cond_init(&world->all_are_here, NULL);
    world->ranks = ranks;
    for (r = 0; r < ranks; ++r) {
        communicators[r] = zeroed(1, sizeof **communicators);
        communicators[r]->world = world;
        communicators[r]->rank = r;
    }
}

void stand_in_close(int ranks, struct ncclComm **communicators) {
    struct world *world = communicators[0]->world;
    int r;
    for (r = 0; r < ranks; ++r) {
        free(communicators[r]);
    }
    pthread_cond_destroy(&world->all_are_here);
    pthread_mutex_destroy(&world->turn);
    free((void *)world->sent);
    free((void *)world->received);
    free(world);
}

void stand_in_fail(struct ncclComm *communicator, stand_in_fault fault) { communicator->fault = fault; }
size_t stand_in_collectives(const struct ncclComm *communicator) { return communicator->collectives; }
size_t stand_in_sent_bytes(const struct ncclComm *communicator) { return communicator->sent_bytes; }
void stand_in_enter(struct ncclComm *communicator) { pthread_mutex_lock(&communicator->world->turn); }
void stand_in_leave(struct ncclComm *communicator) { pthread_mutex_unlock(&communicator->world->turn); }

static stand_in_put *put_on_stream = NULL;

void stand_in_stream(stand_in_put *put) { put_on_stream = put; }

/* Waits until all ranks have given their arrays; the last one moves the data for all of them. */
static int meet(struct ncclComm *comm, const void *from, void *to, void (*move)(struct world *, size_t), size_t count) {
    struct world *world = comm->world;
    uint64_t round = world->round;
    world->sent[comm->rank] = from;
    world->received[comm->rank] = to;
    world->differ = world->here > 0 && (world->differ || world->count != count);
    world->count = count;
    if (++world->here == world->ranks) {
        if (!world->differ) {
            move(world, count);
        }
        world->refused = world->differ;
        world->here = 0;
        ++world->round;
        pthread_cond_broadcast(&world->all_are_here);
    }
    while (world->round == round) {
        pthread_cond_wait(&world->all_are_here, &world->turn);
    }
    return world->refused ? INVALID_ARGUMENT : SUCCESS;
}

static void gather(struct world *world, size_t bytes) {
    int to, from;
    for (to = 0; to < world->ranks; ++to) {
        for (from = 0; from < world->ranks; ++from) {
            unsigned char *slot = (unsigned char *)world->received[to] + (size_t)from * bytes;
            if (slot != world->sent[from]) {
                memcpy(slot, world->sent[from], bytes);
            }
        }
    }
}

static void add_up(struct world *world, size_t count) {
    size_t i;
    int r;
    for (i = 0; i < count; ++i) {
        uint64_t sum = 0;
        for (r = 0; r < world->ranks; ++r) {
            sum += ((const uint64_t *)world->sent[r])[i];
        }
        for (r = 0; r < world->ranks; ++r) {
            ((uint64_t *)world->received[r])[i] = sum;
        }
    }
}

/* Of the floats that programs beside the library exchange. */
static void combine_floats(struct world *world, size_t count, int largest) {
    size_t i;
    int r;
    for (i = 0; i < count; ++i) {
        float all = ((const float *)world->sent[0])[i];
        for (r = 1; r < world->ranks; ++r) {
            float one = ((const float *)world->sent[r])[i];
            all = !largest ? all + one : one > all ? one : all;
        }
        for (r = 0; r < world->ranks; ++r) {
            ((float *)world->received[r])[i] = all;
        }
    }
}

static void add_up_floats(struct world *world, size_t count) { combine_floats(world, count, 0); }
static void find_largest(struct world *world, size_t count) { combine_floats(world, count, 1); }

typedef struct collective_job {
    struct ncclComm *comm;
    const void *from;
    void *to;
    size_t count, size;
    void (*move)(struct world *, size_t);
} collective_job;

static int run_collective(const collective_job *job) {
    ++job->comm->collectives;
    job->comm->sent_bytes += job->count * job->size;
    return meet(job->comm, job->from, job->to, job->move, job->count);
}

static void replay_collective(const void *job) {
    if (run_collective(job) != SUCCESS) {
        abort();
    }
}

static int collective(struct ncclComm *comm, const void *from, void *to, size_t count, size_t size,
                      void (*move)(struct world *, size_t)) {
    collective_job job;
    int result;
    if (comm->fault == STAND_IN_COLLECTIVE_FAILS) {
        return INTERNAL_ERROR;
    }
    if (comm->fault == STAND_IN_GOES_DURING_CALL) {
        comm->fault = STAND_IN_RANK_IS_GONE;
        return SUCCESS;
    }
    memset(&job, 0, sizeof job);
    job.comm = comm;
    job.from = from;
    job.to = to;
    job.count = count;
    job.size = size;
    job.move = move;
    if (put_on_stream != NULL && put_on_stream(replay_collective, &job, sizeof job)) {
        return SUCCESS;
    }
    result = run_collective(&job);
    if (result == SUCCESS && comm->fault == STAND_IN_DOES_NOT_BLOCK) {
        comm->questions = QUESTIONS_UNTIL_DONE;
        return IN_PROGRESS;
    }
    return result;
}

/* What follows has NCCL's names and arguments; its enums are ints. */
int ncclCommCount(const struct ncclComm *comm, int *count);
int ncclCommUserRank(const struct ncclComm *comm, int *rank);
int ncclCommGetAsyncError(struct ncclComm *comm, int *error);
int ncclAllGather(const void *from, void *to, size_t count, int type, struct ncclComm *comm, void *stream);
int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm, void *stream);

int ncclCommCount(const struct ncclComm *comm, int *count) {
    *count = comm->world->ranks;
    return SUCCESS;
}

int ncclCommUserRank(const struct ncclComm *comm, int *rank) {
    *rank = comm->rank;
    return SUCCESS;
}

int ncclCommGetAsyncError(struct ncclComm *comm, int *error) {
    *error = comm->fault == STAND_IN_RANK_IS_GONE ? REMOTE_ERROR : comm->questions > 0 ? IN_PROGRESS : SUCCESS;
    comm->questions -= comm->questions > 0;
    return SUCCESS;
}

int ncclAllGather(const void *from, void *to, size_t count, int type, struct ncclComm *comm, void *stream) {
    (void)stream;
    return type == INT8 || type == UINT8 ? collective(comm, from, to, count, 1, gather) : INVALID_ARGUMENT;
}

int ncclAllReduce(const void *from, void *to, size_t count, int type, int op, struct ncclComm *comm, void *stream) {
    (void)stream;
    if (type == FLOAT32 && (op == SUM || op == MAX)) {
        return collective(comm, from, to, count, 4, op == SUM ? add_up_floats : find_largest);
    }
    return type == INT64 && op == SUM ? collective(comm, from, to, count, 8, add_up) : INVALID_ARGUMENT;
}
