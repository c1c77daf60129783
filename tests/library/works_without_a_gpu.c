/*
 * Opened with dlopen, as an embedder does, where no GPU can be seen: the library loads, says with a code what is
 * missing, does its job on the host stream, and prints nothing. Arguments: the library's path.
 */
#include "harness/harness.h"
#include "warp_reduce.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What the child found, sent to the parent, whose standard output is not watched. */
typedef struct findings {
    int loaded, refused_sum_untouched;
    wr_status cuda_status, null_stream, per_thread_stream, null_stream_softmax, bad_argument, host_sum, host_softmax;
    float sum, weights[2];
} findings;

typedef wr_status reduce_function(wr_op, wr_dtype, const void *, void *, size_t, size_t, size_t, struct CUstream_st *);
typedef wr_status softmax_function(wr_dtype, const void *, void *, size_t, size_t, size_t, struct CUstream_st *);
typedef wr_status status_function(void);
typedef struct CUstream_st *stream_function(void);

/* ISO C has no conversion from an object's pointer to a function's; POSIX promises that the bits are the same. */
static void look_up(void *library, const char *name, void *function_pointer) {
    void *symbol = dlsym(library, name);
    memcpy(function_pointer, &symbol, sizeof symbol);
}

typedef struct functions {
    reduce_function *reduce;
    softmax_function *softmax, *log_softmax;
    status_function *cuda_status;
    stream_function *host_stream;
} functions;

static int look_up_all(const char *path, functions *of) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        return 0;
    }
    look_up(library, "wr_reduce", &of->reduce);
    look_up(library, "wr_softmax", &of->softmax);
    look_up(library, "wr_log_softmax", &of->log_softmax);
    look_up(library, "wr_cuda_status", &of->cuda_status);
    look_up(library, "wr_host_stream", &of->host_stream);
    return of->reduce != NULL && of->softmax != NULL && of->log_softmax != NULL && of->cuda_status != NULL &&
           of->host_stream != NULL;
}

static findings use_library(const char *path) {
    const float numbers[] = {1.0f, 2.5f, -8.0f, 0.25f}, logits[] = {7.0f, 7.0f};
    float untouched[2] = {77.0f, 77.0f};
    struct CUstream_st *per_thread = (struct CUstream_st *)2, *host;
    findings found;
    functions of;
    memset(&found, 0, sizeof found);
    found.loaded = look_up_all(path, &of);
    if (!found.loaded) {
        return found;
    }
    host = of.host_stream();
    found.cuda_status = of.cuda_status();
    found.null_stream = of.reduce(WR_SUM, WR_F32, numbers, untouched, 1, 4, 1, NULL);
    found.per_thread_stream = of.reduce(WR_SUM, WR_F32, numbers, untouched, 1, 4, 1, per_thread);
    found.null_stream_softmax = of.log_softmax(WR_F32, logits, untouched, 1, 2, 1, NULL);
    found.refused_sum_untouched = untouched[0] == 77.0f && untouched[1] == 77.0f;
    found.bad_argument = of.reduce(WR_SUM, WR_F32, numbers, NULL, 1, 4, 1, host);
    found.host_sum = of.reduce(WR_SUM, WR_F32, numbers, &found.sum, 1, 4, 1, host);
    found.host_softmax = of.softmax(WR_F32, logits, found.weights, 1, 2, 1, host);
    return found;
}

static void run_child(const char *path, int result, int printed) {
    findings found;
    if (dup2(printed, STDOUT_FILENO) < 0 || dup2(printed, STDERR_FILENO) < 0 ||
        setenv("CUDA_VISIBLE_DEVICES", "", 1) != 0) {
        _exit(3);
    }
    found = use_library(path);
    fflush(stdout);
    fflush(stderr);
    _exit(write(result, &found, sizeof found) == (ssize_t)sizeof found ? 0 : 3);
}

static int says_what_is_missing(wr_status status) {
    return status == WR_ERROR_NO_CUDA || status == WR_ERROR_NO_DRIVER || status == WR_ERROR_NO_DEVICE;
}

static void check_findings(const findings *found) {
    CHECK(found->loaded, "the library does not load, or lacks a function");
    CHECK(says_what_is_missing(found->cuda_status), "wr_cuda_status is %d", (int)found->cuda_status);
    CHECK(found->null_stream == found->cuda_status, "stream NULL: %d", (int)found->null_stream);
    CHECK(found->per_thread_stream == found->cuda_status, "stream 2: %d", (int)found->per_thread_stream);
    CHECK(found->null_stream_softmax == found->cuda_status, "stream NULL: %d", (int)found->null_stream_softmax);
    CHECK(found->refused_sum_untouched, "a refused call wrote its output");
    CHECK(found->bad_argument == WR_ERROR_NULL_POINTER, "bad argument: %d", (int)found->bad_argument);
    CHECK(found->host_sum == WR_SUCCESS, "sum on the host stream: %d", (int)found->host_sum);
    CHECK(found->sum == -4.25f, "the sum is %g", (double)found->sum);
    CHECK(found->host_softmax == WR_SUCCESS, "softmax on the host stream: %d", (int)found->host_softmax);
    CHECK(found->weights[0] == 0.5f && found->weights[1] == 0.5f, "softmax of two equal logits");
}

int main(int argc, char **argv) {
    int result[2], printed[2], state = 0;
    char text[4096];
    findings found;
    ssize_t length, got;
    pid_t child;
    if (argc != 2 || pipe(result) != 0 || pipe(printed) != 0) {
        give_up("usage: works_without_a_gpu LIBRARY");
    }
    fflush(stdout);
    child = fork();
    if (child == 0) {
        run_child(argv[1], result[1], printed[1]);
    }
    close(result[1]);
    close(printed[1]);
    got = child < 0 ? -1 : read(result[0], &found, sizeof found);
    length = read(printed[0], text, sizeof text - 1);
    waitpid(child, &state, 0);
    CHECK(WIFEXITED(state) && WEXITSTATUS(state) == 0, "the process ended with %#x", (unsigned)state);
    CHECK(length == 0, "the library printed: %.*s", (int)(length < 0 ? 0 : length), text);
    CHECK(got == (ssize_t)sizeof found, "no findings");
    if (got == (ssize_t)sizeof found) {
        check_findings(&found);
    }
    return check_report("works_without_a_gpu");
}
