/*
 * The library's own threads block every signal that can be blocked, so that the program's handlers run on the program's
 * threads; and the caller's mask is what it was.
 */
#include "harness/harness.h"
#include "harness/jobs.h"

#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(__linux__)

#include <dirent.h>
#include <stdatomic.h>

/* A thread's blocked signals as the system shows them, bit s - 1 for signal s; 0 where the thread has gone. */
static unsigned long long blocked_by(long thread) {
    char path[300], text[200];
    unsigned long long blocked = 0;
    FILE *status;
    snprintf(path, sizeof path, "/proc/self/task/%ld/status", thread);
    status = fopen(path, "r");
    while (status != NULL && fgets(text, sizeof text, status) != NULL) {
        if (strncmp(text, "SigBlk:", 7) == 0) {
            blocked = strtoull(text + 7, NULL, 16);
        }
    }
    if (status != NULL) {
        fclose(status);
    }
    return blocked;
}

/* All but SIGKILL, SIGSTOP and the first two real-time signals, which C libraries keep for themselves. */
static unsigned long long blockable(void) {
    const unsigned long long kept = (1ULL << (SIGKILL - 1)) | (1ULL << (SIGSTOP - 1)) | (1ULL << 31) | (1ULL << 32);
    return ~kept;
}

enum { ELEMENTS = 1 << 24, MOST_CALLS = 300, ENOUGH = 20 };

/* The threads that are there before the first call: the program's. */
enum { MOST_OWN = 16 };
static long own[MOST_OWN];
static size_t owns;

typedef void seen(long thread);

static void for_each_thread(seen *tell) {
    DIR *all = opendir("/proc/self/task");
    const struct dirent *entry;
    if (all == NULL) {
        give_up("no /proc");
    }
    while ((entry = readdir(all)) != NULL) {
        if (entry->d_name[0] != '.') {
            tell(strtol(entry->d_name, NULL, 10));
        }
    }
    closedir(all);
}

static void remember(long thread) {
    if (owns < MOST_OWN) {
        own[owns++] = thread;
    }
}

static size_t helpers_seen, helpers_that_take_signals;
static unsigned long long not_blocked;

static void look_at(long thread) {
    unsigned long long blocked;
    size_t i;
    for (i = 0; i < owns; ++i) {
        if (thread == own[i]) {
            return;
        }
    }
    blocked = blocked_by(thread);
    if (blocked != 0) {
        ++helpers_seen;
        helpers_that_take_signals += (blocked & blockable()) != blockable();
        not_blocked |= blockable() & ~blocked;
    } else {
        /* It has gone, or blocks nothing at all. */
        char path[300];
        FILE *still;
        snprintf(path, sizeof path, "/proc/self/task/%ld/comm", thread);
        still = fopen(path, "r");
        if (still != NULL) {
            ++helpers_that_take_signals;
            fclose(still);
        }
    }
}

static atomic_int go, finished;
static size_t masks_changed, refused;

/* Calls that are worth several threads, one after another. */
static void *call_until_finished(void *elements) {
    sigset_t before, after;
    float sum;
    int call;
    sigemptyset(&before);
    sigemptyset(&after);
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    while (!atomic_load(&go)) {
    }
    for (call = 0; call < MOST_CALLS && !atomic_load(&finished); ++call) {
        refused += wr_reduce(WR_SUM, WR_F32, elements, &sum, 1, ELEMENTS, 1, wr_host_stream()) != WR_SUCCESS;
        pthread_sigmask(SIG_SETMASK, NULL, &after);
        masks_changed += memcmp(&before, &after, sizeof before) != 0;
    }
    atomic_store(&finished, 1);
    return NULL;
}

int main(int argc, char **argv) {
    float *elements = calloc(ELEMENTS, sizeof *elements);
    pthread_t caller;
    places_open(argc, argv);
    if (elements == NULL || pthread_create(&caller, NULL, call_until_finished, elements) != 0) {
        give_up("no thread or no memory");
    }
    for_each_thread(remember);
    atomic_store(&go, 1);
    while (!atomic_load(&finished) && helpers_seen < ENOUGH) {
        for_each_thread(look_at);
    }
    atomic_store(&finished, 1);
    pthread_join(caller, NULL);
    printf("%zu looks at threads of the library\n", helpers_seen);
    CHECK(helpers_that_take_signals == 0, "a thread of the library does not block %llx", not_blocked);
    CHECK(masks_changed == 0, "the caller's mask was changed %zu times", masks_changed);
    CHECK(refused == 0, "%zu calls were refused", refused);
    free(elements);
    places_close();
    return check_report("helper_threads_take_no_signals");
}

#else

int main(void) {
    printf("not run: threads are looked at by way of Linux's /proc\n");
    return EXIT_NOT_RUN;
}

#endif
