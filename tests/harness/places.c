#include "harness/places.h"

#include "harness/harness.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#ifdef WARP_REDUCE_TESTS_CUDA
#include <cuda_runtime_api.h>
#endif

static place places[2];
static size_t places_open_count;
static size_t cases_for_one = 1;

static void not_run(const char *reason) {
    printf("needs a GPU: not run: %s\n", reason);
    fflush(stdout);
    exit(EXIT_NOT_RUN);
}

#ifdef WARP_REDUCE_TESTS_CUDA

static void expect_cuda(cudaError_t error) {
    if (error != cudaSuccess) {
        give_up(cudaGetErrorString(error));
    }
}

static void open_gpu(void) {
    int devices = 0;
    cudaStream_t stream;
    cudaError_t error = cudaGetDeviceCount(&devices);
    if (error != cudaSuccess || devices == 0) {
        not_run(error != cudaSuccess ? cudaGetErrorString(error) : "no device");
    }
    expect_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    places[places_open_count].name = "gpu";
    places[places_open_count].stream = stream;
    places[places_open_count].on_gpu = 1;
    ++places_open_count;
}

static size_t gpu_multiprocessors(void) {
    int count = 0;
    expect_cuda(cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, 0));
    return (size_t)count;
}

static void *gpu_allocate(size_t bytes) {
    void *memory = NULL;
    expect_cuda(cudaMalloc(&memory, bytes));
    return memory;
}

static void gpu_free(void *memory) { expect_cuda(cudaFree(memory)); }

static void gpu_write(const place *where, void *memory, const void *from, size_t bytes) {
    expect_cuda(cudaMemcpyAsync(memory, from, bytes, cudaMemcpyHostToDevice, where->stream));
    expect_cuda(cudaStreamSynchronize(where->stream));
}

static void gpu_read(const place *where, const void *memory, void *to, size_t bytes) {
    expect_cuda(cudaStreamSynchronize(where->stream));
    expect_cuda(cudaMemcpy(to, memory, bytes, cudaMemcpyDeviceToHost));
}

static void close_gpu(const place *where) { expect_cuda(cudaStreamDestroy(where->stream)); }

#else

static void open_gpu(void) { not_run("built for the host device alone"); }

static size_t gpu_multiprocessors(void) { return 1; }

static void *gpu_allocate(size_t bytes) {
    (void)bytes;
    give_up("a GPU place in a build without CUDA");
}

static void gpu_free(void *memory) { (void)memory; }

static void gpu_write(const place *where, void *memory, const void *from, size_t bytes) {
    (void)where, (void)memory, (void)from, (void)bytes;
}

static void gpu_read(const place *where, const void *memory, void *to, size_t bytes) {
    (void)where, (void)memory, (void)to, (void)bytes;
}

static void close_gpu(const place *where) { (void)where; }

#endif

static int gpu_is_asked_for(int argc, char **argv) { return argc > 1 && strcmp(argv[1], "gpu") == 0; }

void places_open(int argc, char **argv) {
    places[0].name = "host";
    places[0].stream = wr_host_stream();
    places[0].on_gpu = 0;
    places_open_count = 1;
    if (gpu_is_asked_for(argc, argv)) {
        open_gpu();
        cases_for_one = argc > 2 ? (size_t)strtoul(argv[2], NULL, 10) : 1;
    }
}

int places_take(size_t number) { return cases_for_one == 0 || number % cases_for_one == 0; }

void places_open_gpu_only(int argc, char **argv) {
    places_open(argc, argv);
    if (place_count() < 2) {
        not_run("started without the argument \"gpu\"");
    }
}

void places_close(void) {
    if (places_open_count == 2) {
        close_gpu(&places[1]);
    }
    places_open_count = 0;
}

size_t place_multiprocessors(const place *where) { return where->on_gpu ? gpu_multiprocessors() : 1; }

size_t place_count(void) { return places_open_count; }

const place *place_at(size_t index) { return &places[index]; }

void *place_allocate(const place *where, size_t bytes) {
    void *memory;
    size_t rounded = (bytes + 255) / 256 * 256 + 256;
    if (where->on_gpu) {
        return gpu_allocate(rounded);
    }
    memory = aligned_alloc(256, rounded);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

void place_free(const place *where, void *memory) {
    if (where->on_gpu) {
        gpu_free(memory);
    } else {
        free(memory);
    }
}

void place_write(const place *where, void *memory, const void *from, size_t bytes) {
    if (where->on_gpu) {
        gpu_write(where, memory, from, bytes);
    } else {
        memcpy(memory, from, bytes);
    }
}

void place_read(const place *where, const void *memory, void *to, size_t bytes) {
    if (where->on_gpu) {
        gpu_read(where, memory, to, bytes);
    } else {
        memcpy(to, memory, bytes);
    }
}
