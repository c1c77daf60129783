/*
 * Every kernel of the library once or a few times, for compute-sanitizer to watch: each operator over each type that it
 * takes in each regime, with weights and in segments, on memory that ends with the last element and is uninitialised
 * before the first, so that a byte read or written outside the array is an error for memcheck or initcheck. The results
 * must be the host's.
 *
 *   every_kernel gpu PART    a part of them, so that several can be watched side by side: floats, signed, unsigned,
 *                            fields, weights, tiles, softmax, uneven_rows, many_columns, many_rows_of_f16,
 *                            many_rows_of_bf16, many_rows_of_f32; large (the few ways of working that only large
 *                            arrays take; 1 GiB of them)
 *
 * The shapes are chosen by cuda/reduce_plan.cpp and cuda/softmax.cpp for a GPU of 132 multiprocessors.
 */
#include "harness.h"
#include "header_offers.h"
#include "jobs.h"
#include "random_numbers.h"
#include "reference.h"
#include "segment_jobs.h"
#include "tile_calls.h"

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

/* Sums of floats that are kept in f64 have kernels of their own. */
static const reduction wide_sums[] = {{WR_SUM, WR_F32, WR_F64},      {WR_SUM, WR_F16, WR_F64},
                                      {WR_SUM, WR_BF16, WR_F64},     {WR_SUM, WR_F8_E5M2, WR_F64},
                                      {WR_PRODUCT, WR_BF16, WR_F64}, {WR_NORM_L2, WR_F32, WR_F64},
                                      {WR_MEAN, WR_F16, WR_F64},     {WR_NORM_L1, WR_F8_E4M3, WR_F64}};
enum { WIDE_SUMS = sizeof wide_sums / sizeof *wide_sums };

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

static const wr_dtype softmax_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
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
    {"rows that share a warp", 100, 32, 1, 1},
    {"odd rows that share a warp", 100, 33, 1, 1},
    {"rows of a third of a base block", 20, 300, 1, 1},
    {"rows of clusters", 40, 20000, 1, 1},
    {"odd rows of clusters", 5, 40001, 1, 1},
    {"tiles of columns", 2, 300, 64, 1},
    {"tall tiles of columns", 1, 1024, 200, 1},
    {"tiles of few columns", 4, 33, 7, 1},
    {"two rows a block", 5, 2048, 1, 1},
    {"rows of clusters of several warps a block", 3, 40960, 1, 1},
    {"rows of clusters of many warps a block", 2, 140000, 1, 1},
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
        /* A small copy from pageable memory may return before it has arrived, and the job's stream waits for no other.
         */
        expect_cuda(cudaDeviceSynchronize());
    }
}

static int tight_holds(const tight *memory, const void *expected) {
    void *got = allocate(memory->bytes);
    int same;
    expect_cuda(cudaMemcpy(got, memory->at, memory->bytes, cudaMemcpyDeviceToHost));
    same = memory->bytes == 0 || (expected != NULL && memcmp(got, expected, memory->bytes) == 0);
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
    if (!has_default_output(job->op, job->dtype)) {
        args.output_dtype = WR_F32;
    }
    if (of->axis_stride != 1) {
        args.axis_stride = (ptrdiff_t)of->axis_stride;
        args.outer_stride = (ptrdiff_t)(of->axis * of->axis_stride + 1);
    }
    return args;
}

/* How far past an allocation a pointer may be moved. */
static size_t alignment_of(wr_dtype dtype) { return reference_size(dtype) / (size_t)reference_degree(dtype); }

/* From the first element to the last, gaps counted. */
static size_t elements_of(const shape *of) {
    if (of->axis_stride == 1) {
        return of->outer * of->axis * of->inner;
    }
    return (of->outer - 1) * (of->axis * of->axis_stride + 1) + (of->axis - 1) * of->axis_stride + 1;
}

static tight tight_array(wr_dtype dtype, size_t count, int moved) {
    return tight_new(count * reference_size(dtype), moved ? alignment_of(dtype) : 0);
}

/* A copy of what the host job reads, or nothing. */
static tight tight_copy(const void *from, wr_dtype dtype, size_t count, int moved) {
    tight made = tight_array(dtype, from == NULL ? 0 : count, moved);
    if (from != NULL) {
        tight_write(&made, from);
    }
    return made;
}

static wr_dtype weights_dtype_of(const wr_reduce_args *args) {
    return (int)args->weights_dtype == 0 ? args->dtype : args->weights_dtype;
}

/* The job that the host has done, its results in host_args' output and values. */
static void reduce_on_gpu(const wr_reduce_args *host_args, const shape *of, int is_moved) {
    size_t outputs = of->outer * of->inner;
    wr_dtype output_dtype = reference_output_dtype(host_args);
    tight input = tight_copy(host_args->input, host_args->dtype, elements_of(of), is_moved);
    tight weights = tight_copy(host_args->weights, weights_dtype_of(host_args), of->axis, is_moved);
    tight output = tight_array(output_dtype, outputs, is_moved);
    tight values = tight_array(host_args->dtype, host_args->values == NULL ? 0 : outputs, is_moved);
    wr_reduce_args args = *host_args;
    wr_status status;
    args.input = input.at;
    args.weights = host_args->weights == NULL ? NULL : weights.at;
    args.output = output.at;
    args.values = host_args->values == NULL ? NULL : values.at;
    status = wr_reduce_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "%s, %s of %s: %s", of->regime, op_name(args.op), dtype_name(args.dtype),
          wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&output, host_args->output) && tight_holds(&values, host_args->values),
          "%s, %s of %s, weights %d, moved %d: differs from the host", of->regime, op_name(args.op),
          dtype_name(args.dtype), args.weights != NULL, is_moved);
    tight_free(&input);
    tight_free(&weights);
    tight_free(&output);
    tight_free(&values);
}

/* On the host, then on the GPU: at the start of an allocation, past it, or both. */
static void check_job(wr_reduce_args args, const shape *of, int at_start, int past_start) {
    size_t outputs = of->outer * of->inner;
    void *expected = allocate(outputs * reference_size(reference_output_dtype(&args)));
    void *values = allocate(outputs * reference_size(args.dtype));
    wr_status status;
    args.output = expected;
    args.values = args.op == WR_ARGMIN || args.op == WR_ARGMAX ? values : NULL;
    status = wr_reduce_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "%s on the host: %s", of->regime, wr_status_name(status));
    if (at_start) {
        reduce_on_gpu(&args, of, 0);
    }
    if (past_start) {
        reduce_on_gpu(&args, of, 1);
    }
    free(expected);
    free(values);
}

static void check_reduction(const reduction *job, const shape *of, int at_start, int past_start) {
    void *elements = random_elements(job->dtype, elements_of(of));
    wr_reduce_args args = args_of(job, of);
    args.input = elements;
    check_job(args, of, at_start, past_start);
    free(elements);
}

static void check_weighted(wr_dtype dtype, wr_dtype weights_dtype, const shape *of, int is_moved) {
    const reduction sum = {WR_SUM, dtype, (wr_dtype)0};
    void *elements = random_elements(dtype, elements_of(of)), *weights = random_elements(weights_dtype, of->axis);
    wr_reduce_args args = args_of(&sum, of);
    args.weights_dtype = weights_dtype;
    args.input = elements;
    args.weights = weights;
    check_job(args, of, !is_moved, is_moved);
    free(elements);
    free(weights);
}

/* ---- segments */

typedef struct ragged {
    const char *regime;
    /* how many, the most elements of one, and of the one in the middle */
    size_t segments, most, huge;
} ragged;

static const ragged raggeds[] = {
    {"one huge segment among tiny ones", 3001, 3, 700001},
    {"segments of up to 1024", 300, 1024, 0},
    {"tiny segments", 20001, 8, 0},
    {"empty segments", 501, 0, 0},
};
enum { RAGGEDS = sizeof raggeds / sizeof *raggeds };

static int64_t *offsets_of(const ragged *of) {
    int64_t *offsets = allocate((of->segments + 1) * sizeof *offsets), at = 0;
    uint64_t state = of->segments;
    size_t i;
    for (i = 0; i < of->segments; ++i) {
        offsets[i] = at;
        at += (int64_t)(i == of->segments / 2 ? of->huge : random_below(&state, of->most + 1));
    }
    offsets[of->segments] = at;
    return offsets;
}

static void segments_on_gpu(const wr_reduce_segments_args *host_args, wr_dtype output_dtype, const ragged *of,
                            size_t count, int is_moved) {
    tight input = tight_copy(host_args->input, host_args->dtype, count, is_moved);
    tight offsets = tight_copy(host_args->offsets, WR_I64, of->segments + 1, is_moved);
    tight output = tight_array(output_dtype, of->segments, is_moved);
    wr_reduce_segments_args args = *host_args;
    wr_status status;
    args.input = input.at;
    args.offsets = offsets.at;
    args.output = output.at;
    status = wr_reduce_segments_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "%s, %s of %s: %s", of->regime, op_name(args.op), dtype_name(args.dtype),
          wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&output, host_args->output), "%s, %s of %s: differs from the host", of->regime, op_name(args.op),
          dtype_name(args.dtype));
    tight_free(&input);
    tight_free(&offsets);
    tight_free(&output);
}

static void check_segmented(const reduction *job, const ragged *of, int is_moved) {
    const shape none = {"segments", 1, 0, 1, 1};
    wr_reduce_args each = args_of(job, &none);
    wr_dtype output_dtype = reference_output_dtype(&each);
    int64_t *offsets = offsets_of(of);
    size_t count = (size_t)offsets[of->segments];
    void *elements = random_elements(job->dtype, count);
    void *expected = allocate(of->segments * reference_size(output_dtype));
    wr_reduce_segments_args args = segments_args(job->op, job->dtype, of->segments);
    wr_status status;
    args.output_dtype = output_dtype;
    args.accumulate_dtype = job->accumulate;
    args.input = elements;
    args.offsets = offsets;
    args.output = expected;
    status = wr_reduce_segments_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "%s on the host: %s", of->regime, wr_status_name(status));
    segments_on_gpu(&args, output_dtype, of, count, is_moved);
    free(offsets);
    free(elements);
    free(expected);
}

/* ---- softmax */

static void softmax_on_gpu(const wr_softmax_args *host_args, const shape *of, size_t offset) {
    size_t size = reference_size(host_args->dtype), bytes = elements_of(of) * size;
    size_t sums_bytes = of->outer * of->inner * (size == 8 ? 8 : 4);
    tight input = tight_new(bytes, offset), output = tight_new(bytes, offset), sums = tight_new(sums_bytes, 0);
    tight mask = tight_new(elements_of(of), offset % 2);
    wr_softmax_args args = *host_args;
    wr_status status;
    tight_write(&input, host_args->input);
    if (args.mask != NULL) {
        tight_write(&mask, host_args->mask);
        args.mask = (const uint8_t *)mask.at;
    }
    args.input = input.at;
    args.output = output.at;
    args.logsumexp = sums.at;
    status = wr_softmax_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "%s: %s", of->regime, wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&output, host_args->output) && tight_holds(&sums, host_args->logsumexp),
          "softmax, %s, log %d, mask %d, of %s, %zu bytes past an allocation: differs from the host", of->regime,
          args.log, args.mask != NULL, dtype_name(args.dtype), offset);
    tight_free(&input);
    tight_free(&output);
    tight_free(&sums);
    tight_free(&mask);
}

/* From outputs, which any elements will do for. */
static void gradient_on_gpu(const wr_softmax_backward_args *host_args, const shape *of, size_t offset) {
    size_t bytes = elements_of(of) * reference_size(host_args->dtype);
    tight saved = tight_new(bytes, offset), gradient = tight_new(bytes, offset), result = tight_new(bytes, offset);
    wr_softmax_backward_args args = *host_args;
    wr_status status;
    tight_write(&saved, host_args->output);
    tight_write(&gradient, host_args->output_gradient);
    args.output = saved.at;
    args.output_gradient = gradient.at;
    args.input_gradient = result.at;
    status = wr_softmax_backward_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "gradient, %s: %s", of->regime, wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&result, host_args->input_gradient),
          "gradient, %s, log %d, of %s, %zu bytes past an allocation: differs from the host", of->regime, args.log,
          dtype_name(args.dtype), offset);
    tight_free(&saved);
    tight_free(&gradient);
    tight_free(&result);
}

static void check_gradient(wr_dtype dtype, int log, const shape *of) {
    size_t size = reference_size(dtype), count = elements_of(of);
    void *saved = random_elements(dtype, count), *gradient = random_elements(dtype, count);
    void *expected = allocate(count * size);
    wr_softmax_backward_args args;
    wr_status status;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = dtype;
    args.log = log;
    args.outer = of->outer;
    args.axis = of->axis;
    args.inner = of->inner;
    args.output = saved;
    args.output_gradient = gradient;
    args.input_gradient = expected;
    status = wr_softmax_backward_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "gradient, %s on the host: %s", of->regime, wr_status_name(status));
    gradient_on_gpu(&args, of, 0);
    gradient_on_gpu(&args, of, size);
    free(saved);
    free(gradient);
    free(expected);
}

static void logsumexp_on_gpu(const wr_reduce_args *host_args, const shape *of, size_t offset) {
    size_t size = reference_size(host_args->dtype);
    tight input = tight_new(elements_of(of) * size, offset), sums = tight_new(of->outer * of->inner * size, 0);
    wr_reduce_args args = *host_args;
    wr_status status;
    tight_write(&input, host_args->input);
    args.input = input.at;
    args.output = sums.at;
    status = wr_reduce_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "logsumexp, %s: %s", of->regime, wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&sums, host_args->output),
          "logsumexp, %s, of %s, %zu bytes past an allocation: differs from the host", of->regime,
          dtype_name(args.dtype), offset);
    tight_free(&input);
    tight_free(&sums);
}

static void check_logsumexp(wr_dtype dtype, const shape *of) {
    size_t size = reference_size(dtype);
    void *elements = random_elements(dtype, elements_of(of)), *expected = allocate(of->outer * of->inner * size);
    wr_reduce_args args = reduce_args(WR_LOGSUMEXP, dtype, of->outer, of->axis, of->inner);
    wr_status status;
    args.input = elements;
    args.output = expected;
    status = wr_reduce_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "logsumexp, %s on the host: %s", of->regime, wr_status_name(status));
    logsumexp_on_gpu(&args, of, 0);
    logsumexp_on_gpu(&args, of, size);
    free(elements);
    free(expected);
}

static void check_softmax(wr_dtype dtype, int log, int masked, const shape *of) {
    size_t size = reference_size(dtype), count = elements_of(of), i;
    uint8_t *mask = allocate(count);
    void *elements = random_elements(dtype, count), *expected = allocate(count * size);
    void *sums = allocate(of->outer * of->inner * sizeof(double));
    wr_softmax_args args = softmax_args(dtype, of->outer, of->axis, of->inner);
    wr_status status;
    for (i = 0; i < count; ++i) {
        mask[i] = i % 3 != 0;
    }
    args.log = log;
    args.mask = masked ? mask : NULL;
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
    free(mask);
}

/* Rows that end early, or lie one behind the other, each of its own length. */
static void check_uneven(wr_dtype dtype, int log, int is_ragged) {
    enum { ROWS = 60, MOST = 5000 };
    size_t size = reference_size(dtype), count = 0, i;
    int64_t numbers[ROWS + 1] = {0};
    void *elements, *expected;
    tight input, output, numbers_on_gpu;
    wr_softmax_args args;
    wr_status status;
    for (i = 0; i < ROWS; ++i) {
        int64_t length = (int64_t)(i * 7919 % (MOST + 1));
        count += is_ragged ? (size_t)length : MOST;
        numbers[is_ragged ? i + 1 : i] = is_ragged ? (int64_t)count : length;
    }
    elements = random_elements(dtype, count);
    expected = allocate(count * size);
    args = softmax_args(dtype, ROWS, is_ragged ? count : MOST, 1);
    args.log = log;
    args.input = elements;
    args.output = expected;
    args.offsets = is_ragged ? numbers : NULL;
    args.lengths = is_ragged ? NULL : numbers;
    status = wr_softmax_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "uneven rows on the host: %s", wr_status_name(status));
    input = tight_new(count * size, size);
    output = tight_new(count * size, 0);
    numbers_on_gpu = tight_new(sizeof numbers, 0);
    tight_write(&input, elements);
    tight_write(&numbers_on_gpu, numbers);
    args.input = input.at;
    args.output = output.at;
    args.offsets = is_ragged ? (const int64_t *)numbers_on_gpu.at : NULL;
    args.lengths = is_ragged ? NULL : (const int64_t *)numbers_on_gpu.at;
    status = wr_softmax_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "uneven rows: %s", wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&output, expected), "softmax, uneven rows, log %d, ragged %d, of %s: differs from the host", log,
          is_ragged, dtype_name(dtype));
    tight_free(&input);
    tight_free(&output);
    tight_free(&numbers_on_gpu);
    free(elements);
    free(expected);
}

/* So many long rows or columns, and no logsumexp, that clusters go from one to the next. */
static void check_many(wr_dtype dtype, size_t rows, size_t axis, size_t inner) {
    size_t count = rows * axis * inner, bytes = count * reference_size(dtype);
    void *elements = random_elements(dtype, count), *expected = allocate(bytes);
    tight input = tight_new(bytes, 0), output = tight_new(bytes, 0);
    wr_status status = wr_softmax(dtype, elements, expected, rows, axis, inner, wr_host_stream());
    CHECK(status == WR_SUCCESS, "many rows on the host: %s", wr_status_name(status));
    tight_write(&input, elements);
    status = wr_softmax(dtype, input.at, output.at, rows, axis, inner, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "many rows: %s", wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&output, expected), "softmax, [%zu][%zu][%zu] of %s: differs from the host", rows, axis, inner,
          dtype_name(dtype));
    tight_free(&input);
    tight_free(&output);
    free(elements);
    free(expected);
}

/* Bits that are a number in every type and a canonical word in every field. */
static void *random_words(size_t bytes) {
    uint32_t *words = allocate(bytes);
    uint64_t state = 7;
    size_t i;
    for (i = 0; i < bytes / sizeof *words; ++i) {
        words[i] = (uint32_t)random_next(&state) & 0x3FFFFFFF;
    }
    return words;
}

static void check_tiles_of(const tile_call *call) {
    size_t input_bytes = call->count * tile_dtype_bytes(call->dtype);
    size_t output_bytes = call->count * tile_output_bytes(call);
    void *elements = random_words(input_bytes + 4), *expected = allocate(output_bytes);
    tight input = tight_new(input_bytes, 0), output = tight_new(output_bytes, 0);
    wr_status on_host = tile_run(call, elements, expected, wr_host_stream()), on_gpu;
    tight_write(&input, elements);
    on_gpu = tile_run(call, input.at, output.at, place_at(1)->stream);
    CHECK(on_host == on_gpu, "tiles, %d of %s: %s on the GPU", call->what, dtype_name(call->dtype),
          wr_status_name(on_gpu));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(on_host != WR_SUCCESS || tight_holds(&output, expected), "tiles, %d of %s: differs from the host", call->what,
          dtype_name(call->dtype));
    tight_free(&input);
    tight_free(&output);
    free(elements);
    free(expected);
}

/* Every operator, where there is one for the type, and the other calls on every size of element; the last tile is
 * short, and some lanes are no members. */
static void check_tiles(void) {
    tile_call call = {TILE_VOTE, WR_VOTE_ALL, WR_I32, 1001, 16, 0x5F7F};
    int dtype;
    check_tiles_of(&call);
    for (dtype = WR_F32; dtype <= WR_BABYBEAR_X4; ++dtype) {
        call.dtype = (wr_dtype)dtype;
        for (call.kind = TILE_REDUCE, call.what = WR_SUM; call.what < WR_LOGSUMEXP; ++call.what) {
            check_tiles_of(&call);
        }
        for (call.kind = TILE_MATCH, call.what = WR_MATCH_ANY; call.what <= WR_MATCH_ALL; ++call.what) {
            check_tiles_of(&call);
        }
        call.kind = TILE_SHUFFLE;
        call.argument = 5;
        for (call.what = WR_SHUFFLE_UP; call.what <= WR_SHUFFLE_INDEX; ++call.what) {
            check_tiles_of(&call);
        }
    }
}

/* Every other job begins where its allocation does, the rest one element (of an extension: one word) later. */
static void check_everywhere(const reduction *job) {
    size_t i;
    for (i = 0; i < REDUCE_SHAPES; ++i) {
        check_reduction(job, &reduce_shapes[i], i % 2 == 0, i % 2 != 0);
    }
    for (i = 0; i < RAGGEDS; ++i) {
        check_segmented(job, &raggeds[i], i % 2 != 0);
    }
}

static void check_operators_over(wr_dtype first, wr_dtype last) {
    int op, dtype;
    for (op = WR_SUM; op <= LAST_OP; ++op) {
        for (dtype = (int)first; dtype <= (int)last; ++dtype) {
            reduction job = {(wr_op)op, (wr_dtype)dtype, (wr_dtype)0};
            if (offered_outputs(job.op, job.dtype).count > 0) {
                check_everywhere(&job);
            }
        }
    }
}

static void check_operators_over_floats(void) {
    size_t i;
    check_operators_over(WR_F32, WR_F8_E5M2);
    for (i = 0; i < WIDE_SUMS; ++i) {
        check_everywhere(&wide_sums[i]);
    }
}
static void check_operators_over_signed(void) { check_operators_over(WR_I8, WR_I64); }
static void check_operators_over_unsigned(void) { check_operators_over(WR_U8, WR_U64); }
static void check_operators_over_fields(void) { check_operators_over(WR_KOALABEAR, (wr_dtype)LAST_DTYPE); }

static void check_weights(void) {
    int dtype;
    size_t i, j;
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        type_list weights = offered_weights((wr_dtype)dtype);
        for (i = 0; i < weights.count; ++i) {
            for (j = 0; j < REDUCE_SHAPES; ++j) {
                check_weighted((wr_dtype)dtype, weights.types[i], &reduce_shapes[j], j % 2 != 0);
            }
        }
    }
}

static void check_softmaxes(void) {
    size_t i, j;
    for (i = 0; i < SOFTMAX_TYPES; ++i) {
        for (j = 0; j < SOFTMAX_SHAPES; ++j) {
            int log;
            check_logsumexp(softmax_types[i], &softmax_shapes[j]);
            for (log = 0; log < 2; ++log) {
                check_softmax(softmax_types[i], log, 0, &softmax_shapes[j]);
                check_softmax(softmax_types[i], log, 1, &softmax_shapes[j]);
                check_gradient(softmax_types[i], log, &softmax_shapes[j]);
            }
        }
    }
}

static void check_uneven_rows(void) {
    size_t i;
    int log, is_ragged;
    for (i = 0; i < SOFTMAX_TYPES; ++i) {
        for (log = 0; log < 2; ++log) {
            for (is_ragged = 0; is_ragged < 2; ++is_ragged) {
                check_uneven(softmax_types[i], log, is_ragged);
            }
        }
    }
}

static void check_many_rows_of_f16(void) { check_many(WR_F16, 1500, 17000, 1); }
static void check_many_rows_of_bf16(void) { check_many(WR_BF16, 1500, 17000, 1); }
static void check_many_rows_of_f32(void) { check_many(WR_F32, 190, 138000, 1); }

static void check_many_columns(void) {
    check_many(WR_F32, 1, 5000, 1728);
    check_many(WR_BF16, 1, 1500, 4416);
}

static void check_large(void) {
    static const reduction sum_f32 = {WR_SUM, WR_F32, WR_F32}, sum_i32 = {WR_SUM, WR_I32, (wr_dtype)0},
                           max_f64 = {WR_MAX, WR_F64, (wr_dtype)0};
    static const shape columns = {"columns in long runs", 1, 4097, 17000, 1},
                       words = {"pieces update one accumulator", 1, ((size_t)1 << 28) + 3, 1, 1},
                       doubles = {"pieces update one accumulator", 1, ((size_t)1 << 27) + 3, 1, 1},
                       rows = {"several base blocks a warp", 300, 50000, 1, 1};
    check_reduction(&sum_f32, &columns, 1, 1);
    check_reduction(&sum_i32, &words, 1, 1);
    check_reduction(&max_f64, &doubles, 1, 1);
    check_softmax(WR_F32, 0, 0, &rows);
    check_softmax(WR_F32, 0, 1, &rows);
    check_gradient(WR_F32, 0, &rows);
}

static const struct {
    const char *name;
    void (*check)(void);
} parts[] = {{"floats", check_operators_over_floats},
             {"signed", check_operators_over_signed},
             {"unsigned", check_operators_over_unsigned},
             {"fields", check_operators_over_fields},
             {"weights", check_weights},
             {"tiles", check_tiles},
             {"softmax", check_softmaxes},
             {"many_rows_of_f16", check_many_rows_of_f16},
             {"many_rows_of_bf16", check_many_rows_of_bf16},
             {"many_rows_of_f32", check_many_rows_of_f32},
             {"many_columns", check_many_columns},
             {"uneven_rows", check_uneven_rows},
             {"large", check_large}};

int main(int argc, char **argv) {
    size_t i, found = 0;
    places_open_gpu_only(argc, argv);
    for (i = 0; i < sizeof parts / sizeof *parts; ++i) {
        if (argc > 2 && strcmp(argv[2], parts[i].name) == 0) {
            parts[i].check();
            ++found;
        }
    }
    places_close();
    CHECK(found == 1, "every_kernel gpu PART: no part is called '%s'", argc > 2 ? argv[2] : "");
    return check_report("every_kernel");
}
