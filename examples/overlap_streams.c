/*
 * The sum, the smallest and the largest element of an array in pinned host memory that goes to the GPU chunk by chunk.
 * On one stream every copy waits for the reductions before it; on several, a copy runs beside the reductions of the
 * chunks before. The results have the bits of one call on the whole array.
 */
#include <cuda_runtime_api.h>
#include <warp_reduce.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_STREAMS = 4, RESULTS = 3, RUNS = 5, NO_GPU = 77 };

static const wr_op operators[RESULTS] = {WR_SUM, WR_MIN, WR_MAX};

/* The last chunk is a short one for every chunk size below. */
static const size_t count = ((size_t)64 << 20) + 12345;

static void expect_cuda(cudaError_t error) {
    if (error != cudaSuccess) {
        fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

static void expect(wr_status status) {
    if (status != WR_SUCCESS) {
        fprintf(stderr, "%s: %s\n", wr_status_name(status), wr_status_string(status));
        exit(1);
    }
}

/* A stream, and the memory that the jobs on it have to themselves: they run one after the other. */
typedef struct lane {
    cudaStream_t stream;
    cudaEvent_t done;
    float *chunk;
    void *workspace;
} lane;

typedef struct pipeline {
    int streams;
    /* A power of two: a chunk is then a subtree of the whole array's sum, and its sum the subtree's value. */
    size_t chunk_elements;
    size_t chunks, workspace_bytes;
    lane lanes[MOST_STREAMS];
    /* on the GPU: [operator][chunk], and one result an operator */
    float *partials, *results;
    cudaEvent_t begin, end;
} pipeline;

static wr_reduce_args reduction(wr_op op, size_t elements) {
    wr_reduce_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = WR_F32;
    args.outer = args.inner = 1;
    args.axis = elements;
    return args;
}

/* What the largest of the pipeline's jobs needs, whichever lane it runs on. */
static size_t largest_workspace(const pipeline *of) {
    const size_t sizes[] = {of->chunk_elements, count % of->chunk_elements, of->chunks};
    size_t largest = 16, bytes, i;
    int op;
    for (op = 0; op < RESULTS; ++op) {
        for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
            wr_reduce_args args = reduction(operators[op], sizes[i]);
            expect(wr_reduce_workspace_size(&args, &bytes));
            largest = bytes > largest ? bytes : largest;
        }
    }
    return largest;
}

static pipeline open_pipeline(int streams, size_t chunk_elements) {
    pipeline made;
    int i;
    made.streams = streams;
    made.chunk_elements = chunk_elements;
    made.chunks = (count + chunk_elements - 1) / chunk_elements;
    made.workspace_bytes = largest_workspace(&made);
    for (i = 0; i < streams; ++i) {
        lane *opened = &made.lanes[i];
        expect_cuda(cudaStreamCreateWithFlags(&opened->stream, cudaStreamNonBlocking));
        expect_cuda(cudaEventCreateWithFlags(&opened->done, cudaEventDisableTiming));
        expect_cuda(cudaMalloc((void **)&opened->chunk, chunk_elements * sizeof(float)));
        expect_cuda(cudaMalloc(&opened->workspace, made.workspace_bytes));
    }
    expect_cuda(cudaMalloc((void **)&made.partials, RESULTS * made.chunks * sizeof(float)));
    expect_cuda(cudaMalloc((void **)&made.results, RESULTS * sizeof(float)));
    expect_cuda(cudaEventCreate(&made.begin));
    expect_cuda(cudaEventCreate(&made.end));
    return made;
}

static void close_pipeline(pipeline *used) {
    int i;
    for (i = 0; i < used->streams; ++i) {
        lane *closed = &used->lanes[i];
        expect_cuda(cudaFree(closed->workspace));
        expect_cuda(cudaFree(closed->chunk));
        expect_cuda(cudaEventDestroy(closed->done));
        expect_cuda(cudaStreamDestroy(closed->stream));
    }
    expect_cuda(cudaFree(used->partials));
    expect_cuda(cudaFree(used->results));
    expect_cuda(cudaEventDestroy(used->begin));
    expect_cuda(cudaEventDestroy(used->end));
}

static void reduce_on(const pipeline *in, const lane *on, int op, const float *input, size_t elements, float *output) {
    wr_reduce_args args = reduction(operators[op], elements);
    args.input = input;
    args.output = output;
    args.workspace = on->workspace;
    args.workspace_bytes = in->workspace_bytes;
    expect(wr_reduce_ex(&args, on->stream));
}

static void put_chunk(const pipeline *in, const float *pinned, size_t chunk) {
    const lane *on = &in->lanes[chunk % (size_t)in->streams];
    size_t first = chunk * in->chunk_elements, elements = in->chunk_elements;
    int op;
    elements = count - first < elements ? count - first : elements;
    expect_cuda(
        cudaMemcpyAsync(on->chunk, pinned + first, elements * sizeof(float), cudaMemcpyHostToDevice, on->stream));
    for (op = 0; op < RESULTS; ++op) {
        reduce_on(in, on, op, on->chunk, elements, in->partials + (size_t)op * in->chunks + chunk);
    }
}

/* The first stream's next job waits for all the others. */
static void join_streams(const pipeline *in) {
    int i;
    for (i = 1; i < in->streams; ++i) {
        expect_cuda(cudaEventRecord(in->lanes[i].done, in->lanes[i].stream));
        expect_cuda(cudaStreamWaitEvent(in->lanes[0].stream, in->lanes[i].done, 0));
    }
}

/* Gives the milliseconds from the first copy to the last result. */
static float run(const pipeline *in, const float *pinned, float *results) {
    const lane *first = &in->lanes[0];
    float milliseconds = 0.0f;
    size_t chunk;
    int op, i;
    expect_cuda(cudaEventRecord(in->begin, first->stream));
    for (i = 1; i < in->streams; ++i) {
        expect_cuda(cudaStreamWaitEvent(in->lanes[i].stream, in->begin, 0));
    }
    for (chunk = 0; chunk < in->chunks; ++chunk) {
        put_chunk(in, pinned, chunk);
    }
    join_streams(in);
    for (op = 0; op < RESULTS; ++op) {
        reduce_on(in, first, op, in->partials + (size_t)op * in->chunks, in->chunks, in->results + op);
    }
    expect_cuda(cudaEventRecord(in->end, first->stream));
    expect_cuda(cudaMemcpyAsync(results, in->results, RESULTS * sizeof(float), cudaMemcpyDeviceToHost, first->stream));
    expect_cuda(cudaStreamSynchronize(first->stream));
    expect_cuda(cudaEventElapsedTime(&milliseconds, in->begin, in->end));
    return milliseconds;
}

/* The best of RUNS, after one that is not counted: it loads the kernels. Every run must give the host's bits. */
static float best_time(int streams, size_t chunk_elements, const float *pinned, const float *expected, int *differs) {
    pipeline in = open_pipeline(streams, chunk_elements);
    float best = 0.0f;
    int i;
    for (i = 0; i <= RUNS; ++i) {
        float results[RESULTS];
        float milliseconds;
        memset(results, 0xFF, sizeof results);
        milliseconds = run(&in, pinned, results);
        *differs |= memcmp(results, expected, sizeof results) != 0;
        best = i == 1 || (i > 1 && milliseconds < best) ? milliseconds : best;
    }
    close_pipeline(&in);
    return best;
}

/* Of both signs and many magnitudes: the order of a sum shows in its bits. */
static void fill(float *values) {
    uint64_t state = 1;
    size_t i;
    for (i = 0; i < count; ++i) {
        int exponent;
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        exponent = (int)(state >> 60);
        values[i] = (float)((int32_t)(state >> 20)) / (float)((uint32_t)1 << exponent);
    }
}

static int compare(const float *pinned, const float *expected) {
    size_t chunk_elements;
    int differs = 0;
    printf("%u MiB from pinned memory, bandwidth in GB/s\n\n", (unsigned)(count * sizeof(float) >> 20));
    printf("  chunk    chunks   one stream          %d streams           gain\n", MOST_STREAMS);
    for (chunk_elements = (size_t)1 << 18; chunk_elements <= (size_t)1 << 22; chunk_elements *= 4) {
        float one = best_time(1, chunk_elements, pinned, expected, &differs);
        float several = best_time(MOST_STREAMS, chunk_elements, pinned, expected, &differs);
        double megabytes = (double)count * sizeof(float) / 1e6;
        printf("%3u MiB  %8u   %7.3f ms  %5.1f   %7.3f ms  %5.1f   %4.2f times\n",
               (unsigned)(chunk_elements * sizeof(float) >> 20),
               (unsigned)((count + chunk_elements - 1) / chunk_elements), one, megabytes / one, several,
               megabytes / several, one / several);
    }
    printf("\nsum %.9g  smallest %.9g  largest %.9g: %s the bits of one call on the host device\n", expected[0],
           expected[1], expected[2], differs ? "NOT" : "always");
    return differs;
}

int main(void) {
    float *pinned = NULL;
    float expected[RESULTS];
    int op, differs;
    wr_status available = wr_cuda_status();
    if (available != WR_SUCCESS) {
        printf("needs a GPU: not run: %s\n", wr_status_string(available));
        return NO_GPU;
    }
    expect_cuda(cudaMallocHost((void **)&pinned, count * sizeof(float)));
    fill(pinned);
    for (op = 0; op < RESULTS; ++op) {
        expect(wr_reduce(operators[op], WR_F32, pinned, &expected[op], 1, count, 1, wr_host_stream()));
    }
    differs = compare(pinned, expected);
    expect_cuda(cudaFreeHost(pinned));
    return differs;
}
