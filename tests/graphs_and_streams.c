/*
 * On a GPU: a call captured in a graph gives the same bits at each replay, on what the input holds then; every kind
 * of stream works; calls do not wait for the stream, and leave the caller's device and last CUDA error alone.
 */
#include "harness.h"
#include "jobs.h"
#include "random_numbers.h"
#include "reference.h"

#ifdef WARP_REDUCE_TESTS_CUDA

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One job, on device memory: a sum of rows, or their softmax where op is zero. */
typedef struct job {
    const char *name;
    int op;
    wr_dtype dtype;
    size_t outer, axis, inner;
    int lend_workspace;
} job;

static const job jobs[] = {
    {"short sum", WR_SUM, WR_F32, 1, 100, 1, 0},
    {"sum of 2^16", WR_SUM, WR_F32, 1, 65536, 1, 0},
    {"sum of 2^22 + 1", WR_SUM, WR_F32, 1, 4194305, 1, 0},
    {"sum of 2^22 + 1, workspace lent", WR_SUM, WR_F32, 1, 4194305, 1, 1},
    {"mean of rows", WR_MEAN, WR_BF16, 3000, 1000, 1, 0},
    {"sums of columns", WR_SUM, WR_F32, 1, 60000, 33, 0},
    {"sums of columns, workspace lent", WR_SUM, WR_F32, 1, 60000, 33, 1},
    {"field sum", WR_SUM, WR_KOALABEAR, 1, 3000001, 1, 0},
    {"smallest of i64", WR_MIN, WR_I64, 1, 1000001, 1, 0},
    {"softmax of short rows", 0, WR_F32, 1000, 1000, 1, 0},
    {"softmax of one long row", 0, WR_BF16, 1, 1500001, 1, 0},
    {"softmax of one long row, workspace lent", 0, WR_F32, 1, 1500001, 1, 1},
    {"softmax of columns", 0, WR_F32, 1, 5000, 40, 0},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

static void expect_cuda(cudaError_t error) {
    if (error != cudaSuccess) {
        give_up(cudaGetErrorString(error));
    }
}

/* A job with its memory on the GPU, and the host's results for two different inputs. */
typedef struct prepared {
    const job *of;
    size_t input_bytes, output_bytes, workspace_bytes;
    unsigned char *inputs[2], *expected[2], *got;
    void *input, *output, *workspace;
} prepared;

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes + 1);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

static wr_status call_reduce(const prepared *on, const void *input, void *output, int with_workspace,
                             struct CUstream_st *stream) {
    const job *of = on->of;
    wr_reduce_args args = reduce_args((wr_op)of->op, of->dtype, of->outer, of->axis, of->inner);
    args.input = input;
    args.output = output;
    args.workspace = with_workspace ? on->workspace : NULL;
    args.workspace_bytes = with_workspace ? on->workspace_bytes : 0;
    return wr_reduce_ex(&args, stream);
}

static wr_status call_softmax(const prepared *on, const void *input, void *output, int with_workspace,
                              struct CUstream_st *stream) {
    const job *of = on->of;
    wr_softmax_args args = softmax_args(of->dtype, of->outer, of->axis, of->inner);
    args.input = input;
    args.output = output;
    args.workspace = with_workspace ? on->workspace : NULL;
    args.workspace_bytes = with_workspace ? on->workspace_bytes : 0;
    return wr_softmax_ex(&args, stream);
}

static wr_status call(const prepared *on, const void *input, void *output, int with_workspace,
                      struct CUstream_st *stream) {
    return on->of->op == 0 ? call_softmax(on, input, output, with_workspace, stream)
                           : call_reduce(on, input, output, with_workspace, stream);
}

static wr_status call_on_gpu(const prepared *on, struct CUstream_st *stream) {
    return call(on, on->input, on->output, on->of->lend_workspace, stream);
}

static void query_workspace(prepared *on) {
    const job *of = on->of;
    wr_reduce_args reduction = reduce_args((wr_op)of->op, of->dtype, of->outer, of->axis, of->inner);
    wr_softmax_args softmax = softmax_args(of->dtype, of->outer, of->axis, of->inner);
    wr_status status = of->op == 0 ? wr_softmax_workspace_size(&softmax, &on->workspace_bytes)
                                   : wr_reduce_workspace_size(&reduction, &on->workspace_bytes);
    CHECK(status == WR_SUCCESS, "%s: query: %s", of->name, wr_status_name(status));
}

static prepared prepare(const job *of) {
    size_t count = of->outer * of->axis * of->inner, size = reference_size(of->dtype);
    prepared made;
    int i;
    memset(&made, 0, sizeof made);
    made.of = of;
    made.input_bytes = count * size;
    made.output_bytes = of->op == 0 ? count * size : of->outer * of->inner * size;
    made.got = allocate(made.output_bytes);
    query_workspace(&made);
    for (i = 0; i < 2; ++i) {
        wr_status status;
        made.inputs[i] = allocate(made.input_bytes);
        made.expected[i] = allocate(made.output_bytes);
        fill_random(of->dtype, DATA_UNIFORM, count + (uint64_t)i, made.inputs[i], count);
        status = call(&made, made.inputs[i], made.expected[i], 0, wr_host_stream());
        CHECK(status == WR_SUCCESS, "%s on the host: %s", of->name, wr_status_name(status));
    }
    expect_cuda(cudaMalloc(&made.input, made.input_bytes));
    expect_cuda(cudaMalloc(&made.output, made.output_bytes));
    expect_cuda(cudaMalloc(&made.workspace, made.workspace_bytes + 16));
    return made;
}

static void discard(prepared *used) {
    int i;
    for (i = 0; i < 2; ++i) {
        free(used->inputs[i]);
        free(used->expected[i]);
    }
    free(used->got);
    expect_cuda(cudaFree(used->input));
    expect_cuda(cudaFree(used->output));
    expect_cuda(cudaFree(used->workspace));
}

static void load_input(const prepared *on, int which) {
    expect_cuda(cudaMemcpy(on->input, on->inputs[which], on->input_bytes, cudaMemcpyHostToDevice));
    expect_cuda(cudaMemset(on->output, IMAGE_POISON, on->output_bytes));
    expect_cuda(cudaDeviceSynchronize());
}

static void check_output(const prepared *on, int which, const char *label) {
    expect_cuda(cudaDeviceSynchronize());
    expect_cuda(cudaMemcpy(on->got, on->output, on->output_bytes, cudaMemcpyDeviceToHost));
    CHECK(memcmp(on->got, on->expected[which], on->output_bytes) == 0, "%s: %s differs from the host", on->of->name,
          label);
}

static void check_graph(const prepared *on, cudaStream_t stream) {
    cudaGraph_t graph = NULL;
    cudaGraphExec_t replayable = NULL;
    wr_status status;
    int replay;
    expect_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    status = call_on_gpu(on, stream);
    CHECK(status == WR_SUCCESS, "%s: captured: %s", on->of->name, wr_status_name(status));
    expect_cuda(cudaStreamEndCapture(stream, &graph));
    expect_cuda(cudaGraphInstantiate(&replayable, graph, 0));
    for (replay = 0; replay < 4; ++replay) {
        load_input(on, replay % 2);
        expect_cuda(cudaGraphLaunch(replayable, stream));
        check_output(on, replay % 2, "replayed graph");
    }
    expect_cuda(cudaGraphExecDestroy(replayable));
    expect_cuda(cudaGraphDestroy(graph));
}

static void check_stream(const prepared *on, struct CUstream_st *stream, const char *label) {
    wr_status status;
    load_input(on, 0);
    status = call_on_gpu(on, stream);
    CHECK(status == WR_SUCCESS, "%s: %s: %s", on->of->name, label, wr_status_name(status));
    check_output(on, 0, label);
}

static void check_streams(const prepared *on, cudaStream_t non_blocking, cudaStream_t blocking) {
    check_stream(on, NULL, "stream NULL");
    check_stream(on, (struct CUstream_st *)1, "legacy stream");
    check_stream(on, (struct CUstream_st *)2, "per-thread stream");
    check_stream(on, non_blocking, "non-blocking stream");
    check_stream(on, blocking, "blocking stream");
}

/* Two streams at once, each with its own output, neither with a workspace. */
static void check_two_streams_at_once(const prepared *on, cudaStream_t one, cudaStream_t other) {
    void *second_output = NULL;
    int i;
    expect_cuda(cudaMalloc(&second_output, on->output_bytes));
    load_input(on, 1);
    for (i = 0; i < 20; ++i) {
        CHECK(call(on, on->input, on->output, 0, one) == WR_SUCCESS, "%s: first stream", on->of->name);
        CHECK(call(on, on->input, second_output, 0, other) == WR_SUCCESS, "%s: second stream", on->of->name);
    }
    check_output(on, 1, "two streams at once, the first");
    expect_cuda(cudaMemcpy(on->output, second_output, on->output_bytes, cudaMemcpyDeviceToDevice));
    check_output(on, 1, "two streams at once, the second");
    expect_cuda(cudaFree(second_output));
}

/* A stream that stands still until the flag is set, or for ten seconds. */
typedef struct gate {
    atomic_int open;
    atomic_int waited_in_vain;
} gate;

static void CUDART_CB wait_for_gate(void *argument) {
    gate *at = argument;
    const struct timespec millisecond = {0, 1000000};
    int i;
    for (i = 0; i < 10000; ++i) {
        if (atomic_load(&at->open)) {
            return;
        }
        nanosleep(&millisecond, NULL);
    }
    atomic_store(&at->waited_in_vain, 1);
}

static void check_does_not_wait(const prepared *on, cudaStream_t stream) {
    gate at;
    wr_status status;
    atomic_init(&at.open, 0);
    atomic_init(&at.waited_in_vain, 0);
    load_input(on, 0);
    expect_cuda(cudaLaunchHostFunc(stream, wait_for_gate, &at));
    status = call_on_gpu(on, stream);
    CHECK(status == WR_SUCCESS, "%s: behind a gate: %s", on->of->name, wr_status_name(status));
    CHECK(cudaStreamQuery(stream) == cudaErrorNotReady, "%s: the call waited for its stream", on->of->name);
    atomic_store(&at.open, 1);
    check_output(on, 0, "behind a gate");
    CHECK(!atomic_load(&at.waited_in_vain), "%s: the call waited for its stream", on->of->name);
}

/* An earlier error of the caller's must still be there afterwards, and none must appear. */
static void check_last_error(const prepared *on, cudaStream_t stream) {
    float unused = 0.0f;
    (void)cudaGetLastError();
    load_input(on, 0);
    CHECK(call_on_gpu(on, stream) == WR_SUCCESS, "%s", on->of->name);
    CHECK(cudaPeekAtLastError() == cudaSuccess, "%s: left an error behind", on->of->name);
    CHECK(wr_reduce(WR_SUM, WR_F32, &unused, NULL, 1, 1, 1, stream) == WR_ERROR_NULL_POINTER, "a refused call");
    CHECK(cudaPeekAtLastError() == cudaSuccess, "a refused call left an error behind");
    (void)cudaSetDevice(9999);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice, "the test's own error");
    CHECK(call_on_gpu(on, stream) == WR_SUCCESS, "%s, after an error of the caller's", on->of->name);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice, "%s: took the caller's error away", on->of->name);
    (void)cudaGetLastError();
    check_output(on, 0, "after an error of the caller's");
}

/* The stream's device is not the current one. */
static void check_other_device(void) {
    cudaStream_t stream;
    prepared on;
    int devices = 0, current = -1;
    expect_cuda(cudaGetDeviceCount(&devices));
    if (devices < 2) {
        printf("needs two GPUs: not run: a stream of another device than the current one\n");
        return;
    }
    expect_cuda(cudaSetDevice(1));
    expect_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    on = prepare(&jobs[2]);
    load_input(&on, 0);
    expect_cuda(cudaSetDevice(0));
    CHECK(call_on_gpu(&on, stream) == WR_SUCCESS, "a stream of device 1 while device 0 is current");
    expect_cuda(cudaGetDevice(&current));
    CHECK(current == 0, "the current device was changed to %d", current);
    expect_cuda(cudaSetDevice(1));
    check_output(&on, 0, "stream of another device");
    discard(&on);
    expect_cuda(cudaStreamDestroy(stream));
    expect_cuda(cudaSetDevice(0));
}

static void check_everything(void) {
    cudaStream_t non_blocking, blocking;
    size_t i;
    expect_cuda(cudaStreamCreateWithFlags(&non_blocking, cudaStreamNonBlocking));
    expect_cuda(cudaStreamCreate(&blocking));
    for (i = 0; i < JOBS; ++i) {
        prepared on = prepare(&jobs[i]);
        int current = -1;
        check_streams(&on, non_blocking, blocking);
        check_graph(&on, non_blocking);
        check_two_streams_at_once(&on, non_blocking, blocking);
        check_does_not_wait(&on, non_blocking);
        check_last_error(&on, non_blocking);
        expect_cuda(cudaGetDevice(&current));
        CHECK(current == 0, "%s: the current device is now %d", jobs[i].name, current);
        discard(&on);
    }
    check_other_device();
    expect_cuda(cudaStreamDestroy(non_blocking));
    expect_cuda(cudaStreamDestroy(blocking));
}

#else

static void check_everything(void) {}

#endif

int main(int argc, char **argv) {
    places_open_gpu_only(argc, argv);
    check_everything();
    places_close();
    return check_report("graphs_and_streams");
}
