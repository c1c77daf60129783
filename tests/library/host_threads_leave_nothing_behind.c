/*
 * The host device's threads stay ready between calls, and nobody trips over them: not whoever closes the library, exits
 * beside a call, handles signals, or narrows the affinity mask; and a caller says how many there are at most.
 * Arguments: the library's path. Each case runs in a child of its own.
 */
#define _GNU_SOURCE
#include "harness/harness.h"
#include "warp_reduce.h"

#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

typedef wr_status reduce_function(wr_op, wr_dtype, const void *, void *, size_t, size_t, size_t, struct CUstream_st *);
typedef struct CUstream_st *stream_function(void);
typedef wr_status set_function(size_t, size_t *);
typedef size_t get_function(void);

static struct {
    const char *path;
    void *handle;
    reduce_function *reduce;
    stream_function *host_stream;
    set_function *set_host_threads;
    get_function *host_threads;
} library;

enum { COUNT = 1 << 22 };
static float *numbers;

/* ISO C has no conversion from an object's pointer to a function's; POSIX promises that the bits are the same. */
static void look_up(const char *name, void *function_pointer) {
    void *symbol = dlsym(library.handle, name);
    CHECK(symbol != NULL, "the library has no %s", name);
    memcpy(function_pointer, &symbol, sizeof symbol);
}

static void open_library(void) {
    library.handle = dlopen(library.path, RTLD_NOW | RTLD_LOCAL);
    if (library.handle == NULL) {
        give_up(dlerror());
    }
    look_up("wr_reduce", &library.reduce);
    look_up("wr_host_stream", &library.host_stream);
    look_up("wr_set_host_threads", &library.set_host_threads);
    look_up("wr_host_threads", &library.host_threads);
}

static void sum_much(void) {
    float sum = 0;
    wr_status status = library.reduce(WR_SUM, WR_F32, numbers, &sum, 1, COUNT, 1, library.host_stream());
    CHECK(status == WR_SUCCESS && sum == (float)COUNT, "status %d, sum %g", status, (double)sum);
}

static size_t cores(void) {
    cpu_set_t allowed;
    return sched_getaffinity(0, sizeof allowed, &allowed) == 0 ? (size_t)CPU_COUNT(&allowed) : 1;
}

static size_t threads_here(void) {
    size_t count = 0;
    DIR *tasks = opendir("/proc/self/task");
    while (tasks != NULL && readdir(tasks) != NULL) {
        ++count;
    }
    if (tasks != NULL) {
        closedir(tasks);
    }
    return count - 2; /* . and .. */
}

static int is_mapped(void) {
    char line[4096];
    int found = 0;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps != NULL && fgets(line, sizeof line, maps) != NULL) {
        found |= strstr(line, "libwarp_reduce") != NULL;
    }
    if (maps != NULL) {
        fclose(maps);
    }
    return found;
}

static void closing_ends_them(void) {
    int round;
    for (round = 0; round < 20; ++round) {
        open_library();
        sum_much();
        CHECK(is_mapped(), "the library is not where this test looks for it");
        CHECK(library.host_threads() == 1 || threads_here() > 1, "no thread is ready after a large job");
        CHECK(dlclose(library.handle) == 0, "the library was not closed");
        CHECK(threads_here() == 1, "closed, and %zu threads are left", threads_here());
        CHECK(!is_mapped(), "closed, and still in memory");
    }
}

static void *sum_for_ever(void *argument) {
    for (;;) {
        sum_much();
    }
    return argument;
}

/* That the child's status is that of its exit is what is checked. */
static void exit_beside_a_call(void) {
    pthread_t thread;
    open_library();
    CHECK(pthread_create(&thread, NULL, sum_for_ever, NULL) == 0, "no thread");
    usleep(20000);
}

static volatile sig_atomic_t signals, signals_elsewhere;
static pid_t expected_thread;

static void count_signal(int number) {
    (void)number;
    ++signals;
    signals_elsewhere += syscall(SYS_gettid) != expected_thread;
}

static void signals_stay_with_the_caller(void) {
    struct sigaction action;
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    int round;
    memset(&action, 0, sizeof action);
    action.sa_handler = count_signal;
    action.sa_flags = SA_RESTART;
    expected_thread = (pid_t)syscall(SYS_gettid);
    CHECK(sigaction(SIGPROF, &action, NULL) == 0, "no handler");
    open_library();
    CHECK(setitimer(ITIMER_PROF, &often, NULL) == 0, "no timer");
    for (round = 0; round < 20000 && signals < 50; ++round) {
        sum_much();
    }
    setitimer(ITIMER_PROF, &never, NULL);
    CHECK(signals >= 50, "%d signals came", (int)signals);
    CHECK(signals_elsewhere == 0, "%d signals were handled on threads of the library", (int)signals_elsewhere);
}

static void one_core_is_one_thread(void) {
    cpu_set_t allowed, one;
    size_t core = 0;
    open_library();
    sched_getaffinity(0, sizeof allowed, &allowed);
    while (!CPU_ISSET(core, &allowed)) {
        ++core;
    }
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    CHECK(sched_setaffinity(0, sizeof one, &one) == 0, "the mask stays as it is");
    CHECK(library.host_threads() == 1, "%zu threads on one core", library.host_threads());
    sum_much();
    CHECK(threads_here() == 1, "%zu threads on one core", threads_here());
}

static void a_call_sets_how_many(void) {
    size_t before = 77, all;
    open_library();
    all = library.host_threads();
    CHECK(all >= 1 && all <= cores(), "%zu threads on %zu cores", all, cores());
    CHECK(library.set_host_threads(1, &before) == WR_SUCCESS && before == 0, "before: %zu", before);
    CHECK(library.host_threads() == 1, "%zu threads instead of 1", library.host_threads());
    sum_much();
    CHECK(threads_here() == 1, "%zu threads although 1 is asked for", threads_here());
    CHECK(library.set_host_threads((size_t)-1, &before) == WR_SUCCESS && before == 1, "before: %zu", before);
    CHECK(library.host_threads() == all, "%zu threads instead of %zu", library.host_threads(), all);
    CHECK(library.set_host_threads(0, NULL) == WR_SUCCESS, "refused without a place for the number before");
    sum_much();
    CHECK(all == 1 || threads_here() > 1, "none helps although all may");
}

/* NULL: the variable is not set. */
static void set_variable(const char *name, const char *value) {
    CHECK((value == NULL ? unsetenv(name) : setenv(name, value, 1)) == 0, "no variable");
}

static void check_variables(const char *own, const char *of_openmp, size_t expected_setting) {
    const char *const shown[] = {own == NULL ? "not set" : own, of_openmp == NULL ? "not set" : of_openmp};
    size_t before = 77, all = cores(), expected = expected_setting == 0 ? all : expected_setting;
    set_variable("WARP_REDUCE_THREADS", own);
    set_variable("OMP_NUM_THREADS", of_openmp);
    open_library();
    CHECK(library.host_threads() == (expected < all ? expected : all), "'%s', '%s': %zu threads", shown[0], shown[1],
          library.host_threads());
    CHECK(library.set_host_threads(0, &before) == WR_SUCCESS && before == expected_setting, "'%s', '%s': %zu", shown[0],
          shown[1], before);
    CHECK(library.host_threads() == all, "'%s', '%s' count although 0 is set", shown[0], shown[1]);
    dlclose(library.handle);
}

static void variables_say_how_many(void) {
    check_variables("1", NULL, 1);
    check_variables("2", NULL, 2);
    check_variables("1000", NULL, 1000);
    check_variables("0", NULL, 0);
    check_variables("", NULL, 0);
    check_variables("2x", NULL, 0);
    check_variables("-1", NULL, 0);
    check_variables(NULL, "1", 1);
    check_variables(NULL, "3,2", 3);
    check_variables(NULL, "two", 0);
    check_variables("2", "1", 2);
    check_variables("0", "1", 0);
    check_variables("2x", "1", 1);
}

static void in_a_child(const char *name, void (*run)(void)) {
    int status = -1;
    const pid_t child = fork();
    if (child == 0) {
        alarm(100);
        run();
        exit(check_report(name));
    }
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "%s: ended with %#x", name, (unsigned)status);
}

int main(int argc, char **argv) {
    size_t i;
    if (argc != 2) {
        give_up("usage: host_threads_leave_nothing_behind LIBRARY");
    }
    library.path = argv[1];
    unsetenv("WARP_REDUCE_THREADS");
    unsetenv("OMP_NUM_THREADS");
    numbers = malloc(COUNT * sizeof *numbers);
    if (numbers == NULL) {
        give_up("no memory");
    }
    for (i = 0; i < COUNT; ++i) {
        numbers[i] = 1;
    }
    in_a_child("closing_ends_them", closing_ends_them);
    for (i = 0; i < 20; ++i) {
        in_a_child("exit_beside_a_call", exit_beside_a_call);
    }
    in_a_child("signals_stay_with_the_caller", signals_stay_with_the_caller);
    in_a_child("one_core_is_one_thread", one_core_is_one_thread);
    in_a_child("a_call_sets_how_many", a_call_sets_how_many);
    in_a_child("variables_say_how_many", variables_say_how_many);
    free(numbers);
    return check_report("host_threads_leave_nothing_behind");
}
