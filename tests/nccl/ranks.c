#include "nccl/ranks.h"
#include "harness/harness.h"
#include "nccl/gpu_on_the_host.h"

#include <dlfcn.h>
#include <pthread.h>
#include <string.h>

/* The stand-in's functions. */
static struct {
    void (*open)(int ranks, struct ncclComm **communicators);
    void (*close)(int ranks, struct ncclComm **communicators);
    void (*fail)(struct ncclComm *communicator, stand_in_fault fault);
    size_t (*collectives)(const struct ncclComm *communicator);
    size_t (*sent_bytes)(const struct ncclComm *communicator);
    void (*enter)(struct ncclComm *communicator);
    void (*leave)(struct ncclComm *communicator);
    void (*stream)(stand_in_put *put);
} stand_in;

/* C has no cast from an object's pointer to a function's. */
static void look_up(void *library, const char *name, void *function) {
    void *found = dlsym(library, name);
    if (found == NULL) {
        give_up(name);
    }
    memcpy(function, &found, sizeof found);
}

void load_nccl(void) {
    void *library = dlopen(WR_STAND_IN_NCCL, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        give_up(dlerror());
    }
    look_up(library, "stand_in_open", &stand_in.open);
    look_up(library, "stand_in_close", &stand_in.close);
    look_up(library, "stand_in_fail", &stand_in.fail);
    look_up(library, "stand_in_collectives", &stand_in.collectives);
    look_up(library, "stand_in_sent_bytes", &stand_in.sent_bytes);
    look_up(library, "stand_in_enter", &stand_in.enter);
    look_up(library, "stand_in_leave", &stand_in.leave);
    look_up(library, "stand_in_stream", &stand_in.stream);
    stand_in.stream(played_gpu_put);
}

rank_group open_ranks(int count) {
    rank_group opened;
    opened.count = count;
    stand_in.open(count, opened.of);
    return opened;
}

void close_ranks(rank_group *used) { stand_in.close(used->count, used->of); }
void fail_rank(const rank_group *of, int rank, stand_in_fault fault) { stand_in.fail(of->of[rank], fault); }
size_t collectives_of(const rank_group *of, int rank) { return stand_in.collectives(of->of[rank]); }
size_t sent_bytes_of(const rank_group *of, int rank) { return stand_in.sent_bytes(of->of[rank]); }

struct CUstream_st *played_stream(void) {
    static int stream;
    return (struct CUstream_st *)(void *)&stream;
}

typedef struct one_rank {
    rank_call *call;
    void *job;
    struct ncclComm *communicator;
    int rank;
    wr_status status;
} one_rank;

static void *run_rank(void *of) {
    one_rank *rank = of;
    stand_in.enter(rank->communicator);
    rank->status = rank->call(rank->job, rank->rank, rank->communicator);
    stand_in.leave(rank->communicator);
    return NULL;
}

void on_every_rank(const rank_group *of, rank_call *call, void *job, wr_status *statuses) {
    pthread_t threads[MOST_RANKS];
    one_rank all[MOST_RANKS];
    int r;
    for (r = 0; r < of->count; ++r) {
        all[r].call = call;
        all[r].job = job;
        all[r].rank = r;
        all[r].communicator = of->of[r];
        if (pthread_create(&threads[r], NULL, run_rank, &all[r]) != 0) {
            give_up("no thread for a rank");
        }
    }
    for (r = 0; r < of->count; ++r) {
        pthread_join(threads[r], NULL);
        statuses[r] = all[r].status;
    }
}
