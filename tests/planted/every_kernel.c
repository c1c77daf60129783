/*
 * Every kernel of the library once or a few times, for compute-sanitizer to watch: each set of kernels (operator, type,
 * accumulator) in each regime, on memory that ends with the last element and is uninitialised before the first, so that
 * a byte read or written outside the array is an error for memcheck or initcheck. The results must be the host's.
 *
 *   every_kernel gpu         small shapes
 *   every_kernel gpu large   the few ways of working that only large arrays take; 1 GiB of them
 *
 * The shapes are chosen by cuda/reduce_plan.cpp and cuda/softmax.cpp for a GPU of 132 multiprocessors.
 */
#include "harness.h"
#include "jobs.h"
#include "random_numbers.h"
#include "reference.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Random elements repeat after this many; odd, so that no column and no row sees the same ones as its neighbour. */
enum { PERIOD = 40009 };

typedef struct reduction {
    wr_op op;
    wr_dtype dtype, accumulate;
} reduction;

static const reduction reductions[] = {
    {WR_SUM, WR_F32, WR_F32},      {WR_SUM, WR_F16, WR_F32},
    {WR_SUM, WR_BF16, WR_F32},     {WR_SUM, WR_F64, WR_F64},
    {WR_SUM, WR_F32, WR_F64},      {WR_SUM, WR_F16, WR_F64},
    {WR_SUM, WR_BF16, WR_F64},     {WR_SUM, WR_I32, (wr_dtype)0},
    {WR_SUM, WR_I64, (wr_dtype)0}, {WR_MAX, WR_F32, (wr_dtype)0},
    {WR_MAX, WR_F16, (wr_dtype)0}, {WR_MAX, WR_BF16, (wr_dtype)0},
    {WR_MAX, WR_F64, (wr_dtype)0}, {WR_MAX, WR_I32, (wr_dtype)0},
    {WR_MAX, WR_I64, (wr_dtype)0}, {WR_SUM, WR_KOALABEAR, (wr_dtype)0},
    {WR_MIN, WR_F32, (wr_dtype)0}, {WR_MEAN, WR_BF16, WR_F32},
};
enum { REDUCTIONS = sizeof reductions / sizeof *reductions };

/* The axis is contiguous where `axis_stride` is 1. */
typedef struct shape {
    const char *regime;
    size_t outer, axis, inner, axis_stride;
} shape;

static const shape reduce_shapes[] = {
    {"several rows a tile", 1001, 32, 1, 1},
    {"a row a warp", 37, 1001, 1, 1},
    {"a row a warp, on boundaries", 37, 1008, 1, 1},
    {"a row a block", 3, 4001, 1, 1},
    {"a row a cluster", 1, 60001, 1, 1},
    {"pieces of a row", 3, 800003, 1, 1},
    {"pieces of a row, on boundaries", 3, 800000, 1, 1},
    {"a scattered row a warp", 300, 101, 1, 3},
    {"pieces of a scattered row", 3, 5001, 1, 3},
    {"columns in long runs", 135201, 5, 8, 1},
    {"columns in short runs", 1, 3001, 64, 1},
    {"columns in short runs, once", 3, 17, 64, 1},
    {"single columns", 1, 3001, 33, 1},
    {"single columns, once", 7, 10, 33, 1},
    {"an empty axis", 5, 0, 1, 1},
};
enum { REDUCE_SHAPES = sizeof reduce_shapes / sizeof *reduce_shapes };

static const wr_dtype softmax_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16};
enum { SOFTMAX_TYPES = sizeof softmax_types / sizeof *softmax_types };

static const shape softmax_shapes[] = {
    {"rows of less than a base block", 37, 1000, 1, 1},
    {"blocks of 128 threads", 3, 4096, 1, 1},
    {"blocks of 256 threads", 3, 7000, 1, 1},
    {"blocks of 512 threads", 3, 16000, 1, 1},
    {"blocks of 1024 threads", 3, 32768, 1, 1},
    {"odd rows", 3, 16001, 1, 1},
    {"long rows", 3, 100000, 1, 1},
    {"long odd rows", 1, 700001, 1, 1},
    {"short columns", 5, 60, 40, 1},
    {"long columns", 1, 5000, 33, 1},
};
enum { SOFTMAX_SHAPES = sizeof softmax_shapes / sizeof *softmax_shapes };

static void expect_cuda(cudaError_t error) {
    if (error != cudaSuccess) {
        give_up(cudaGetErrorString(error));
    }
}

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes + 1);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

/* On the GPU: `bytes` bytes and not one more behind them; before them `offset` bytes that nobody writes. */
typedef struct tight {
    unsigned char *base, *at;
    size_t bytes;
} tight;

static tight tight_new(size_t bytes, size_t offset) {
    tight made = {NULL, NULL, bytes};
    void *memory = NULL;
    expect_cuda(cudaMalloc(&memory, bytes + offset));
    made.base = memory;
    made.at = made.base + offset;
    return made;
}

static void tight_free(tight *used) { expect_cuda(cudaFree(used->base)); }

static void tight_write(const tight *to, const void *from) {
    if (to->bytes > 0) {
        expect_cuda(cudaMemcpy(to->at, from, to->bytes, cudaMemcpyHostToDevice));
        /* A small copy from pageable memory may return before it has arrived, and the job's stream waits for no other. */
        expect_cuda(cudaDeviceSynchronize());
    }
}

static int tight_holds(const tight *memory, const void *expected) {
    void *got = allocate(memory->bytes);
    int same;
    expect_cuda(cudaMemcpy(got, memory->at, memory->bytes, cudaMemcpyDeviceToHost));
    same = memcmp(got, expected, memory->bytes) == 0;
    free(got);
    return same;
}

static void *random_elements(wr_dtype dtype, size_t count) {
    size_t size = reference_size(dtype), filled = count < PERIOD ? count : PERIOD;
    unsigned char *elements = allocate(count * size);
    fill_random(dtype, DATA_UNIFORM, 7, elements, filled);
    while (filled < count) {
        size_t more = filled < count - filled ? filled : count - filled;
        memcpy(elements + filled * size, elements, more * size);
        filled += more;
    }
    return elements;
}

static wr_reduce_args args_of(const reduction *job, const shape *of) {
    wr_reduce_args args = reduce_args(job->op, job->dtype, of->outer, of->axis, of->inner);
    args.accumulate_dtype = job->accumulate;
    if (of->axis_stride != 1) {
        args.axis_stride = (ptrdiff_t)of->axis_stride;
        args.outer_stride = (ptrdiff_t)(of->axis * of->axis_stride + 1);
    }
    return args;
}

/* From the first element to the last, gaps counted. */
static size_t elements_of(const shape *of) {
    if (of->axis_stride == 1) {
        return of->outer * of->axis * of->inner;
    }
    return (of->outer - 1) * (of->axis * of->axis_stride + 1) + (of->axis - 1) * of->axis_stride + 1;
}

static void reduce_on_gpu(const wr_reduce_args *host_args, const shape *of, const void *elements, const void *expected,
                          size_t offset) {
    size_t size = reference_size(host_args->dtype), outputs = of->outer * of->inner;
    tight input = tight_new(elements_of(of) * size, offset), output = tight_new(outputs * size, offset);
    wr_reduce_args args = *host_args;
    wr_status status;
    tight_write(&input, elements);
    args.input = input.at;
    args.output = output.at;
    status = wr_reduce_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "%s: %s", of->regime, wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&output, expected), "%s, operator %d of %s, %zu bytes past an allocation: differs from the host",
          of->regime, (int)args.op, dtype_name(args.dtype), offset);
    tight_free(&input);
    tight_free(&output);
}

static void check_reduction(const reduction *job, const shape *of) {
    size_t size = reference_size(job->dtype);
    void *elements = random_elements(job->dtype, elements_of(of)), *expected = allocate(of->outer * of->inner * size);
    wr_reduce_args args = args_of(job, of);
    wr_status status;
    args.input = elements;
    args.output = expected;
    status = wr_reduce_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "%s on the host: %s", of->regime, wr_status_name(status));
    reduce_on_gpu(&args, of, elements, expected, 0);
    reduce_on_gpu(&args, of, elements, expected, size);
    free(elements);
    free(expected);
}

static void softmax_on_gpu(const wr_softmax_args *host_args, const shape *of, size_t offset) {
    size_t size = reference_size(host_args->dtype), bytes = elements_of(of) * size;
    size_t sums_bytes = of->outer * of->inner * (size == 8 ? 8 : 4);
    tight input = tight_new(bytes, offset), output = tight_new(bytes, offset), sums = tight_new(sums_bytes, 0);
    wr_softmax_args args = *host_args;
    wr_status status;
    tight_write(&input, host_args->input);
    args.input = input.at;
    args.output = output.at;
    args.logsumexp = sums.at;
    status = wr_softmax_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "%s: %s", of->regime, wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&output, host_args->output) && tight_holds(&sums, host_args->logsumexp),
          "softmax, %s, log %d, of %s, %zu bytes past an allocation: differs from the host", of->regime, args.log,
          dtype_name(args.dtype), offset);
    tight_free(&input);
    tight_free(&output);
    tight_free(&sums);
}

static void check_softmax(wr_dtype dtype, int log, const shape *of) {
    size_t size = reference_size(dtype), count = elements_of(of);
    void *elements = random_elements(dtype, count), *expected = allocate(count * size);
    void *sums = allocate(of->outer * of->inner * sizeof(double));
    wr_softmax_args args = softmax_args(dtype, of->outer, of->axis, of->inner);
    wr_status status;
    args.log = log;
    args.input = elements;
    args.output = expected;
    args.logsumexp = sums;
    status = wr_softmax_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "%s on the host: %s", of->regime, wr_status_name(status));
    softmax_on_gpu(&args, of, 0);
    softmax_on_gpu(&args, of, size);
    free(elements);
    free(expected);
    free(sums);
}

static void check_small(void) {
    size_t i, j;
    for (i = 0; i < REDUCTIONS; ++i) {
        for (j = 0; j < REDUCE_SHAPES; ++j) {
            check_reduction(&reductions[i], &reduce_shapes[j]);
        }
    }
    for (i = 0; i < SOFTMAX_TYPES; ++i) {
        for (j = 0; j < SOFTMAX_SHAPES; ++j) {
            check_softmax(softmax_types[i], 0, &softmax_shapes[j]);
            check_softmax(softmax_types[i], 1, &softmax_shapes[j]);
        }
    }
}

static void check_large(void) {
    static const reduction sum_f32 = {WR_SUM, WR_F32, WR_F32}, sum_i32 = {WR_SUM, WR_I32, (wr_dtype)0},
                           max_f64 = {WR_MAX, WR_F64, (wr_dtype)0};
    static const shape columns = {"columns in long runs", 1, 4097, 17000, 1},
                       words = {"pieces update one accumulator", 1, ((size_t)1 << 28) + 3, 1, 1},
                       doubles = {"pieces update one accumulator", 1, ((size_t)1 << 27) + 3, 1, 1},
                       rows = {"several base blocks a warp", 300, 50000, 1, 1};
    check_reduction(&sum_f32, &columns);
    check_reduction(&sum_i32, &words);
    check_reduction(&max_f64, &doubles);
    check_softmax(WR_F32, 0, &rows);
}

int main(int argc, char **argv) {
    places_open_gpu_only(argc, argv);
    if (argc > 2 && strcmp(argv[2], "large") == 0) {
        check_large();
    } else {
        check_small();
    }
    places_close();
    return check_report("every_kernel");
}
