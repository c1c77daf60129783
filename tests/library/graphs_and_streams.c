/*
 * On a GPU: a call captured in a graph, with a workspace lent or without, gives the same bits at each replay, on what
 * the input holds then, in whichever way its job finishes; every kind of stream works; calls do not wait for the
 * stream, and leave the caller's device and last CUDA error alone.
 */
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "harness/state_jobs.h"
#include "reference/reference.h"

#ifdef WARP_REDUCE_TESTS_CUDA

#include <cuda_runtime_api.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* STATES, SOFTMAX_STATES: two pieces, their states, these as one, and what is made of that. */
typedef enum call_kind { REDUCE, SEGMENTS, DOT, SOFTMAX, STATES, SOFTMAX_STATES } call_kind;

/* A call of every way in which jobs finish. Segments are `outer` of `axis` elements in all, a dot product is of two
 * vectors of `axis` elements. */
typedef struct job {
    const char *name;
    call_kind kind;
    wr_op op;
    wr_dtype dtype;
    int add_to_output;
    size_t outer, axis, inner;
} job;

static const job jobs[] = {
    {"short sum", REDUCE, WR_SUM, WR_F32, 0, 1, 100, 1},
    {"sum of 2^16", REDUCE, WR_SUM, WR_F32, 0, 1, 65536, 1},
    {"sum of 2^22 + 1", REDUCE, WR_SUM, WR_F32, 0, 1, 4194305, 1},
    {"sum added to the output", REDUCE, WR_SUM, WR_F32, 1, 1, 4194305, 1},
    {"mean of rows", REDUCE, WR_MEAN, WR_BF16, 0, 3000, 1000, 1},
    {"sums of columns", REDUCE, WR_SUM, WR_F32, 0, 1, 60000, 33},
    {"norm", REDUCE, WR_NORM_L2, WR_F16, 0, 1, 3000001, 1},
    {"field sum", REDUCE, WR_SUM, WR_KOALABEAR, 0, 1, 3000001, 1},
    {"field sum added to the output", REDUCE, WR_SUM, WR_KOALABEAR, 1, 1, 3000001, 1},
    {"extension's sums of columns", REDUCE, WR_SUM, WR_KOALABEAR_X4, 0, 1, 100000, 8},
    {"integer sum", REDUCE, WR_SUM, WR_I32, 0, 1, 3000001, 1},
    {"integer sums of columns added to the output", REDUCE, WR_SUM, WR_I32, 1, 1, 200000, 16},
    {"count", REDUCE, WR_COUNT_NONZERO, WR_U8, 0, 1, 5000001, 1},
    {"exclusive or", REDUCE, WR_BIT_XOR, WR_U16, 0, 2, 2000001, 1},
    {"smallest of i64", REDUCE, WR_MIN, WR_I64, 0, 1, 1000001, 1},
    {"largest, or what the output holds", REDUCE, WR_MAX, WR_F32, 1, 1, 3000001, 1},
    {"place of the largest", REDUCE, WR_ARGMAX, WR_F32, 0, 1, 3000001, 1},
    {"places of the smallest in columns", REDUCE, WR_ARGMIN, WR_I16, 0, 1, 60000, 33},
    {"sums of segments", SEGMENTS, WR_SUM, WR_F32, 0, 20000, 3000001, 1},
    {"integer sums of segments added to the output", SEGMENTS, WR_SUM, WR_I32, 1, 20000, 3000001, 1},
    {"places of the largest in segments", SEGMENTS, WR_ARGMAX, WR_F32, 0, 20000, 3000001, 1},
    {"dot product", DOT, WR_SUM, WR_F32, 0, 1, 3000001, 1},
    {"field dot product", DOT, WR_SUM, WR_KOALABEAR, 0, 1, 3000001, 1},
    {"softmax of short rows", SOFTMAX, WR_SUM, WR_F32, 0, 1000, 1000, 1},
    {"softmax of one long row", SOFTMAX, WR_SUM, WR_BF16, 0, 1, 1500001, 1},
    {"softmax of one long row of f32", SOFTMAX, WR_SUM, WR_F32, 0, 1, 1500001, 1},
    {"softmax of rows that all multiprocessors share", SOFTMAX, WR_SUM, WR_BF16, 0, 270, 100000, 1},
    {"softmax of columns", SOFTMAX, WR_SUM, WR_F32, 0, 1, 5000, 40},
    {"sum by states", STATES, WR_SUM, WR_F32, 0, 1, 3000001, 1},
    {"norms of columns by states", STATES, WR_NORM_L2, WR_BF16, 0, 1, 5001, 40},
    {"place of the largest by states", STATES, WR_ARGMAX, WR_F32, 0, 1, 300001, 1},
    {"field sum by states", STATES, WR_SUM, WR_KOALABEAR, 0, 1, 300001, 1},
    {"exact sum by states", STATES, WR_SUM_EXACT, WR_F32, 0, 1, 300001, 1},
    {"logsumexp by states", STATES, WR_LOGSUMEXP, WR_F32, 0, 1, 300001, 1},
    {"softmax by states", SOFTMAX_STATES, WR_LOGSUMEXP, WR_F32, 0, 30, 20001, 1},
    {"softmax by states of whole vectors", SOFTMAX_STATES, WR_LOGSUMEXP, WR_BF16, 0, 30, 24576, 1},
    {"softmax of columns by states", SOFTMAX_STATES, WR_LOGSUMEXP, WR_F16, 0, 1, 5001, 40},
};
enum { JOBS = sizeof jobs / sizeof *jobs };

/* Every byte of an output before its job: a canonical word of a field, and a small float. */
enum { OUTPUT_BEFORE = 0x25 };

static void expect_cuda(cudaError_t error) {
    if (error != cudaSuccess) {
        give_up(cudaGetErrorString(error));
    }
}

/* A job's memory, of one device. Where a job gives values, they follow the indices in `output`. */
typedef struct memory {
    unsigned char *input, *output, *states;
    int64_t *offsets;
    void *workspace;
    size_t workspace_bytes;
} memory;

/* A job with its memory on the GPU, and the host's results for two different inputs. */
typedef struct prepared {
    const job *of;
    size_t input_bytes, output_bytes;
    unsigned char *inputs[2], *expected[2], *got;
    memory gpu;
} prepared;

static void *allocate(size_t bytes) {
    void *made = malloc(bytes + 1);
    if (made == NULL) {
        give_up("no memory");
    }
    return made;
}

static size_t input_count(const job *of) {
    switch (of->kind) {
    case SEGMENTS:
        return of->axis;
    case DOT:
        return 2 * of->axis;
    default:
        return of->outer * of->axis * of->inner;
    }
}

static size_t output_count(const job *of) {
    return of->kind == SOFTMAX || of->kind == SOFTMAX_STATES ? input_count(of) : of->outer * of->inner;
}

static int gives_places(const job *of) { return of->op == WR_ARGMIN || of->op == WR_ARGMAX; }

static size_t output_element_bytes(const job *of) {
    size_t size = reference_size(of->dtype);
    if (gives_places(of)) {
        return sizeof(int64_t) + size;
    }
    return of->op == WR_COUNT_NONZERO ? sizeof(int64_t) : size;
}

static void *values_of(const job *of, const memory *in) {
    return gives_places(of) ? in->output + output_count(of) * sizeof(int64_t) : NULL;
}

static wr_reduce_args reduction_of(const job *of, const memory *in) {
    wr_reduce_args args = reduce_args(of->op, of->dtype, of->outer, of->axis, of->inner);
    args.add_to_output = of->add_to_output;
    args.input = in->input;
    args.output = in->output;
    args.values = values_of(of, in);
    args.workspace = in->workspace;
    args.workspace_bytes = in->workspace_bytes;
    return args;
}

static wr_reduce_segments_args segments_of(const job *of, const memory *in) {
    wr_reduce_segments_args args = segments_args(of->op, of->dtype, of->outer);
    args.add_to_output = of->add_to_output;
    args.input = in->input;
    args.output = in->output;
    args.values = values_of(of, in);
    args.offsets = in->offsets;
    args.workspace = in->workspace;
    args.workspace_bytes = in->workspace_bytes;
    return args;
}

static wr_dot_args dot_of(const job *of, const memory *in) {
    wr_dot_args args = dot_args(of->dtype, of->axis);
    args.left = in->input;
    args.right = in->input + of->axis * reference_size(of->dtype);
    args.output = in->output;
    args.workspace = in->workspace;
    args.workspace_bytes = in->workspace_bytes;
    return args;
}

static wr_softmax_args softmax_of(const job *of, const memory *in) {
    wr_softmax_args args = softmax_args(of->dtype, of->outer, of->axis, of->inner);
    args.input = in->input;
    args.output = in->output;
    args.workspace = in->workspace;
    args.workspace_bytes = in->workspace_bytes;
    return args;
}

static cut_job cut_of(const job *of) {
    cut_job made = {of->op, of->dtype, of->outer, of->axis, of->inner};
    return made;
}

static int goes_by_states(const job *of) { return of->kind == STATES || of->kind == SOFTMAX_STATES; }

static size_t states_bytes(const job *of) {
    cut_job cut = cut_of(of);
    return goes_by_states(of) ? bytes_of_states(&cut) : 16;
}

static wr_status by_states(const job *of, const memory *in, struct CUstream_st *stream) {
    const cut_job cut = cut_of(of);
    return of->kind == STATES ? reduce_by_states(&cut, in->input, in->states, in->output, values_of(of, in),
                                                 in->workspace, in->workspace_bytes, stream)
                              : softmax_by_states(&cut, in->input, in->states, in->output, stream);
}

static wr_status call(const job *of, const memory *in, struct CUstream_st *stream) {
    wr_reduce_args reduction = reduction_of(of, in);
    wr_reduce_segments_args segments = segments_of(of, in);
    wr_dot_args dot = dot_of(of, in);
    wr_softmax_args softmax = softmax_of(of, in);
    switch (of->kind) {
    case SEGMENTS:
        return wr_reduce_segments_ex(&segments, stream);
    case DOT:
        return wr_dot_ex(&dot, stream);
    case SOFTMAX:
        return wr_softmax_ex(&softmax, stream);
    case STATES:
    case SOFTMAX_STATES:
        return by_states(of, in, stream);
    default:
        return wr_reduce_ex(&reduction, stream);
    }
}

static size_t workspace_size(const job *of, const memory *in) {
    wr_reduce_args reduction = reduction_of(of, in);
    wr_reduce_segments_args segments = segments_of(of, in);
    wr_dot_args dot = dot_of(of, in);
    wr_softmax_args softmax = softmax_of(of, in);
    size_t bytes = 0;
    wr_status status;
    if (goes_by_states(of)) {
        const cut_job cut = cut_of(of);
        return of->kind == STATES ? workspace_of_states(&cut) : 0;
    }
    status = of->kind == SEGMENTS  ? wr_reduce_segments_workspace_size(&segments, &bytes)
             : of->kind == DOT     ? wr_dot_workspace_size(&dot, &bytes)
             : of->kind == SOFTMAX ? wr_softmax_workspace_size(&softmax, &bytes)
                                   : wr_reduce_workspace_size(&reduction, &bytes);
    CHECK(status == WR_SUCCESS, "%s: query: %s", of->name, wr_status_name(status));
    return bytes;
}

/* The job on the GPU: with the workspace lent, or with none. */
static memory gpu_memory(const prepared *on, int lend) {
    memory used = on->gpu;
    if (!lend) {
        used.workspace = NULL;
        used.workspace_bytes = 0;
    }
    return used;
}

static wr_status call_on_gpu(const prepared *on, int lend, struct CUstream_st *stream) {
    memory used = gpu_memory(on, lend);
    return call(on->of, &used, stream);
}

/* One segment in the middle has half of the elements; the others are short, or empty. */
static void cut(int64_t *offsets, const job *of) {
    uint64_t state = of->axis;
    size_t segment, at = 0;
    for (segment = 0; segment < of->outer; ++segment) {
        size_t length = segment == of->outer / 2 ? of->axis / 2 : random_below(&state, of->axis / of->outer + 1);
        offsets[segment] = (int64_t)at;
        at = at + length < of->axis ? at + length : of->axis;
    }
    offsets[of->outer] = (int64_t)of->axis;
}

static prepared prepare(const job *of) {
    size_t count = input_count(of), offsets_bytes = (of->outer + 1) * sizeof(int64_t);
    prepared made;
    memory host;
    int i;
    memset(&made, 0, sizeof made);
    memset(&host, 0, sizeof host);
    made.of = of;
    made.input_bytes = count * reference_size(of->dtype);
    made.output_bytes = output_count(of) * output_element_bytes(of);
    made.got = allocate(made.output_bytes);
    host.offsets = allocate(offsets_bytes);
    host.states = aligned_alloc(16, states_bytes(of));
    if (host.states == NULL) {
        give_up("no memory");
    }
    cut(host.offsets, of);
    for (i = 0; i < 2; ++i) {
        wr_status status;
        host.input = made.inputs[i] = allocate(made.input_bytes);
        host.output = made.expected[i] = allocate(made.output_bytes);
        fill_random(of->dtype, DATA_UNIFORM, count + (uint64_t)i, made.inputs[i], count);
        memset(made.expected[i], OUTPUT_BEFORE, made.output_bytes);
        status = call(of, &host, wr_host_stream());
        CHECK(status == WR_SUCCESS, "%s on the host: %s", of->name, wr_status_name(status));
    }
    made.gpu.workspace_bytes = workspace_size(of, &host);
    expect_cuda(cudaMalloc((void **)&made.gpu.input, made.input_bytes));
    expect_cuda(cudaMalloc((void **)&made.gpu.output, made.output_bytes));
    expect_cuda(cudaMalloc((void **)&made.gpu.states, states_bytes(of)));
    expect_cuda(cudaMalloc((void **)&made.gpu.offsets, offsets_bytes));
    expect_cuda(cudaMalloc(&made.gpu.workspace, made.gpu.workspace_bytes + 16));
    expect_cuda(cudaMemcpy(made.gpu.offsets, host.offsets, offsets_bytes, cudaMemcpyHostToDevice));
    free(host.offsets);
    free(host.states);
    return made;
}

static void discard(prepared *used) {
    int i;
    for (i = 0; i < 2; ++i) {
        free(used->inputs[i]);
        free(used->expected[i]);
    }
    free(used->got);
    expect_cuda(cudaFree(used->gpu.input));
    expect_cuda(cudaFree(used->gpu.output));
    expect_cuda(cudaFree(used->gpu.states));
    expect_cuda(cudaFree(used->gpu.offsets));
    expect_cuda(cudaFree(used->gpu.workspace));
}

static void load_input(const prepared *on, int which) {
    expect_cuda(cudaMemcpy(on->gpu.input, on->inputs[which], on->input_bytes, cudaMemcpyHostToDevice));
    expect_cuda(cudaMemset(on->gpu.output, OUTPUT_BEFORE, on->output_bytes));
    expect_cuda(cudaDeviceSynchronize());
}

static void check_output(const prepared *on, int which, const char *label) {
    expect_cuda(cudaDeviceSynchronize());
    expect_cuda(cudaMemcpy(on->got, on->gpu.output, on->output_bytes, cudaMemcpyDeviceToHost));
    CHECK(memcmp(on->got, on->expected[which], on->output_bytes) == 0, "%s: %s differs from the host", on->of->name,
          label);
}

/* A graph of a job that was lent its workspace neither allocates nor zeroes anything. */
static void check_nodes_are_kernels(const prepared *on, cudaGraph_t graph) {
    cudaGraphNode_t nodes[64];
    size_t count = sizeof nodes / sizeof *nodes, i;
    expect_cuda(cudaGraphGetNodes(graph, nodes, &count));
    CHECK(count > 0, "%s: the graph is empty", on->of->name);
    for (i = 0; i < count; ++i) {
        enum cudaGraphNodeType node;
        expect_cuda(cudaGraphNodeGetType(nodes[i], &node));
        CHECK(node == cudaGraphNodeTypeKernel, "%s: node %zu of %zu is no kernel", on->of->name, i, count);
    }
}

static void check_graph(const prepared *on, int lend, cudaStream_t stream) {
    const char *label = lend ? "replayed graph, workspace lent" : "replayed graph";
    cudaGraph_t graph = NULL;
    cudaGraphExec_t replayable = NULL;
    wr_status status;
    int replay;
    expect_cuda(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    status = call_on_gpu(on, lend, stream);
    CHECK(status == WR_SUCCESS, "%s: captured: %s", on->of->name, wr_status_name(status));
    expect_cuda(cudaStreamEndCapture(stream, &graph));
    if (lend && on->of->kind != SOFTMAX_STATES) {
        check_nodes_are_kernels(on, graph);
    }
    expect_cuda(cudaGraphInstantiate(&replayable, graph, 0));
    for (replay = 0; replay < 4; ++replay) {
        load_input(on, replay % 2);
        expect_cuda(cudaGraphLaunch(replayable, stream));
        check_output(on, replay % 2, label);
    }
    expect_cuda(cudaGraphExecDestroy(replayable));
    expect_cuda(cudaGraphDestroy(graph));
}

static void check_stream(const prepared *on, struct CUstream_st *stream, const char *label) {
    wr_status status;
    load_input(on, 0);
    status = call_on_gpu(on, 0, stream);
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

/* Two streams at once, each with its own output and states, neither with a workspace. */
static void check_two_streams_at_once(const prepared *on, cudaStream_t one, cudaStream_t other) {
    memory first = gpu_memory(on, 0), second = first;
    int i, rounds = on->of->add_to_output ? 1 : 20;
    expect_cuda(cudaMalloc((void **)&second.output, on->output_bytes));
    expect_cuda(cudaMalloc((void **)&second.states, states_bytes(on->of)));
    expect_cuda(cudaMemset(second.output, OUTPUT_BEFORE, on->output_bytes));
    load_input(on, 1);
    for (i = 0; i < rounds; ++i) {
        CHECK(call(on->of, &first, one) == WR_SUCCESS, "%s: first stream", on->of->name);
        CHECK(call(on->of, &second, other) == WR_SUCCESS, "%s: second stream", on->of->name);
    }
    check_output(on, 1, "two streams at once, the first");
    expect_cuda(cudaMemcpy(first.output, second.output, on->output_bytes, cudaMemcpyDeviceToDevice));
    check_output(on, 1, "two streams at once, the second");
    expect_cuda(cudaFree(second.output));
    expect_cuda(cudaFree(second.states));
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

static void check_does_not_wait(const prepared *on, int lend, cudaStream_t stream) {
    gate at;
    wr_status status;
    atomic_init(&at.open, 0);
    atomic_init(&at.waited_in_vain, 0);
    load_input(on, 0);
    expect_cuda(cudaLaunchHostFunc(stream, wait_for_gate, &at));
    status = call_on_gpu(on, lend, stream);
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
    CHECK(call_on_gpu(on, 0, stream) == WR_SUCCESS, "%s", on->of->name);
    CHECK(cudaPeekAtLastError() == cudaSuccess, "%s: left an error behind", on->of->name);
    CHECK(wr_reduce(WR_SUM, WR_F32, &unused, NULL, 1, 1, 1, stream) == WR_ERROR_NULL_POINTER, "a refused call");
    CHECK(cudaPeekAtLastError() == cudaSuccess, "a refused call left an error behind");
    expect_cuda(cudaDeviceSynchronize()); /* before what the first call writes is written anew */
    load_input(on, 0);
    (void)cudaSetDevice(9999);
    CHECK(cudaPeekAtLastError() == cudaErrorInvalidDevice, "the test's own error");
    CHECK(call_on_gpu(on, 0, stream) == WR_SUCCESS, "%s, after an error of the caller's", on->of->name);
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
    CHECK(call_on_gpu(&on, 0, stream) == WR_SUCCESS, "a stream of device 1 while device 0 is current");
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
        check_graph(&on, 0, non_blocking);
        check_graph(&on, 1, non_blocking);
        check_two_streams_at_once(&on, non_blocking, blocking);
        check_does_not_wait(&on, 0, non_blocking);
        check_does_not_wait(&on, 1, non_blocking);
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
