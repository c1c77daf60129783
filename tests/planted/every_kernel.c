/*
 * Every kernel of the library in each of its ways, by small problems, for compute-sanitizer to watch, on memory that
 * ends with the last element and is uninitialised before the first, so that a byte read or written outside the array is
 * an error for memcheck or initcheck. The results must be the host's.
 *
 *   every_kernel gpu PART    a part of them, so that several can be watched side by side
 *   every_kernel parts       lists them
 */
#include "chosen_walk.h"
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "harness/segment_jobs.h"
#include "piece_calls.h"
#include "reference/reference.h"
#include "tight_memory.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Random elements repeat after this many; odd, so that no column and no row sees the same ones as its neighbour. */
enum { PERIOD = 40009 };

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

static void set_types(wr_dtype *accumulate, wr_dtype *output, const reduction *job) {
    if (reference_is_integer(job->dtype)) {
        *output = has_default_output(job->op, job->dtype) ? job->accumulate : WR_F32;
    } else {
        *accumulate = job->accumulate;
    }
}

static wr_reduce_args args_of(const reduction *job, const shape *of) {
    wr_reduce_args args = reduce_args(job->op, job->dtype, of->outer, of->axis, of->inner);
    set_types(&args.accumulate_dtype, &args.output_dtype, job);
    args.nan_mode = job->ignore_nan ? WR_NAN_IGNORE : WR_NAN_PROPAGATE;
    if (!shape_is_contiguous(of)) {
        args.axis_stride = (ptrdiff_t)of->axis_stride;
        args.outer_stride = (ptrdiff_t)shape_row(of);
        args.inner_stride = 1;
        args.strides_given = 1;
    }
    return args;
}

static wr_dtype weights_dtype_of(const wr_reduce_args *args) {
    return (int)args->weights_dtype == 0 ? args->dtype : args->weights_dtype;
}

/* The job that the host has done, its results in host_args' output and values. */
static void reduce_on_gpu(const wr_reduce_args *host_args, const shape *of, int is_moved) {
    size_t outputs = of->outer * of->inner;
    wr_dtype output_dtype = reference_output_dtype(host_args);
    tight input = tight_copy(host_args->input, host_args->dtype, shape_elements(of), is_moved);
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

/* On the host, then on the GPU. */
static void check_job(wr_reduce_args args, const shape *of, int is_moved) {
    size_t outputs = of->outer * of->inner;
    void *expected = allocate(outputs * reference_size(reference_output_dtype(&args)));
    void *values = allocate(outputs * reference_size(args.dtype));
    wr_status status;
    args.output = expected;
    args.values = args.op == WR_ARGMIN || args.op == WR_ARGMAX ? values : NULL;
    status = wr_reduce_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "%s on the host: %s", of->regime, wr_status_name(status));
    reduce_on_gpu(&args, of, is_moved);
    free(expected);
    free(values);
}

static void check_reduction(const reduction *job, const shape *of, int is_moved) {
    void *elements = random_elements(job->dtype, shape_elements(of));
    wr_reduce_args args = args_of(job, of);
    args.input = elements;
    check_job(args, of, is_moved);
    free(elements);
}

static void check_weighted(const weighting *job, const shape *of, int is_moved) {
    reduction sum = {WR_SUM, WR_F32, WR_F32, 0};
    void *elements = random_elements(job->dtype, shape_elements(of));
    void *weights = random_elements(job->weights, of->axis);
    wr_reduce_args args;
    sum.op = job->op;
    sum.dtype = job->dtype;
    sum.accumulate = job->accumulate;
    args = args_of(&sum, of);
    args.weights_dtype = job->weights;
    args.input = elements;
    args.weights = weights;
    check_job(args, of, is_moved);
    free(elements);
    free(weights);
}

/* ---- segments */

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
    /* An array of nothing has an address all the same, behind an element that is not its own. */
    tight input = tight_copy(host_args->input, host_args->dtype, count, is_moved || count == 0);
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
    const shape none = {"segments", 1, 0, 1, 1, 0};
    wr_reduce_args each = args_of(job, &none);
    wr_dtype output_dtype = reference_output_dtype(&each);
    int64_t *offsets = offsets_of(of);
    size_t count = (size_t)offsets[of->segments];
    void *elements = random_elements(job->dtype, count);
    void *expected = allocate(of->segments * reference_size(output_dtype));
    wr_reduce_segments_args args = segments_args(job->op, job->dtype, of->segments);
    wr_status status;
    args.output_dtype = output_dtype;
    args.accumulate_dtype = each.accumulate_dtype;
    args.nan_mode = each.nan_mode;
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

static tight scales_on_gpu(const void *scales, wr_dtype dtype, const shape *of) {
    return tight_copy(scales, dtype == WR_F64 ? WR_F64 : WR_F32, scales == NULL ? 0 : of->outer * of->inner, 0);
}

static void softmax_on_gpu(const wr_softmax_args *host_args, const shape *of, size_t offset) {
    size_t size = reference_size(host_args->dtype), outputs = of->outer * of->axis * of->inner;
    size_t output_size = (int)host_args->output_dtype == 0 ? size : reference_size(host_args->output_dtype);
    tight input = tight_new(shape_elements(of) * size, offset);
    tight output = tight_new(outputs * output_size, offset / size * output_size);
    tight sums = tight_new(of->outer * of->inner * (size == 8 ? 8 : 4), 0);
    tight mask = tight_new(outputs, offset % 2);
    tight scales = scales_on_gpu(host_args->scales, host_args->dtype, of);
    wr_softmax_args args = *host_args;
    wr_status status;
    tight_write(&input, host_args->input);
    if (args.mask != NULL) {
        tight_write(&mask, host_args->mask);
        args.mask = (const uint8_t *)mask.at;
    }
    args.input = input.at;
    args.output = output.at;
    args.logsumexp = host_args->logsumexp == NULL ? NULL : sums.at;
    args.scales = host_args->scales == NULL ? NULL : scales.at;
    status = wr_softmax_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "%s: %s", of->regime, wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&output, host_args->output) &&
              (host_args->logsumexp == NULL || tight_holds(&sums, host_args->logsumexp)),
          "softmax, %s, log %d, mask %d, of %s, %zu bytes past an allocation: differs from the host", of->regime,
          args.log, args.mask != NULL, dtype_name(args.dtype), offset);
    tight_free(&input);
    tight_free(&output);
    tight_free(&sums);
    tight_free(&scales);
    tight_free(&mask);
}

static void gradient_on_gpu(const wr_softmax_backward_args *host_args, const shape *of, size_t offset) {
    size_t bytes = shape_elements(of) * reference_size(host_args->dtype);
    tight saved = tight_new(bytes, offset), gradient = tight_new(bytes, offset), result = tight_new(bytes, offset);
    tight sums = tight_new(of->outer * of->inner * (host_args->dtype == WR_F64 ? 8 : 4), 0);
    tight offsets = tight_copy(host_args->offsets, WR_I64, host_args->offsets == NULL ? 0 : of->outer + 1, 0);
    tight mask = tight_new(host_args->mask == NULL ? 0 : shape_elements(of), offset % 2);
    tight scales = scales_on_gpu(host_args->scales, host_args->dtype, of);
    int from_logits = host_args->output == NULL;
    wr_softmax_backward_args args = *host_args;
    wr_status status;
    tight_write(&saved, from_logits ? host_args->input : host_args->output);
    tight_write(&gradient, host_args->output_gradient);
    if (from_logits) {
        tight_write(&sums, host_args->logsumexp);
        args.input = saved.at;
        args.logsumexp = sums.at;
    } else {
        args.output = saved.at;
    }
    args.offsets = host_args->offsets == NULL ? NULL : (const void *)offsets.at;
    if (args.mask != NULL) {
        tight_write(&mask, host_args->mask);
        args.mask = (const uint8_t *)mask.at;
    }
    args.output_gradient = gradient.at;
    args.scales = args.scales == NULL ? NULL : scales.at;
    args.input_gradient = result.at;
    status = wr_softmax_backward_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "gradient, %s: %s", of->regime, wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&result, host_args->input_gradient),
          "gradient, %s, log %d, logits %d, mask %d, of %s, %zu bytes past an allocation: differs from the host",
          of->regime, args.log, from_logits, args.mask != NULL, dtype_name(args.dtype), offset);
    tight_free(&mask);
    tight_free(&scales);
    tight_free(&saved);
    tight_free(&sums);
    tight_free(&offsets);
    tight_free(&gradient);
    tight_free(&result);
}

/* Any elements will do for outputs, and for sums of logits. */
static void check_gradient(const gradient_kind *kind, const shape *of, int moved) {
    size_t size = reference_size(kind->dtype), count = shape_elements(of);
    void *saved = random_elements(kind->dtype, count), *gradient = random_elements(kind->dtype, count);
    void *expected = allocate(count * size);
    void *sums = random_elements(kind->dtype == WR_F64 ? WR_F64 : WR_F32, of->outer * of->inner);
    void *scales = random_elements(kind->dtype == WR_F64 ? WR_F64 : WR_F32, of->outer * of->inner);
    int64_t *offsets = allocate((of->outer + 1) * sizeof *offsets);
    uint8_t *mask = allocate(count);
    size_t row, i;
    wr_softmax_backward_args args;
    wr_status status;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = kind->dtype;
    args.log = kind->log;
    args.empty_row = kind->is_ragged ? WR_EMPTY_ROW_ZERO : WR_EMPTY_ROW_NAN;
    args.outer = of->outer;
    args.axis = kind->is_ragged ? count : of->axis;
    args.inner = of->inner;
    for (row = 0; row <= of->outer; ++row) {
        offsets[row] = (int64_t)(count * row * row / of->outer / of->outer);
    }
    args.offsets = kind->is_ragged ? offsets : NULL;
    for (i = 0; i < count; ++i) {
        mask[i] = i % 3 != 0;
    }
    args.mask = kind->masked ? mask : NULL;
    args.output = kind->from_logits ? NULL : saved;
    args.input = kind->from_logits ? saved : NULL;
    args.logsumexp = kind->from_logits ? sums : NULL;
    args.scales = kind->scaled == HAS_OWN_SCALES ? scales : NULL;
    args.output_gradient = gradient;
    args.input_gradient = expected;
    status = wr_softmax_backward_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "gradient, %s on the host: %s", of->regime, wr_status_name(status));
    gradient_on_gpu(&args, of, moved ? size : 0);
    free(saved);
    free(gradient);
    free(sums);
    free(scales);
    free(offsets);
    free(mask);
    free(expected);
}

static void logsumexp_on_gpu(const wr_reduce_args *host_args, const shape *of, size_t offset) {
    size_t size = reference_size(host_args->dtype);
    tight input = tight_new(shape_elements(of) * size, offset), sums = tight_new(of->outer * of->inner * size, 0);
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

static void check_logsumexp(wr_dtype dtype, const shape *of, int moved) {
    size_t size = reference_size(dtype);
    void *elements = random_elements(dtype, shape_elements(of)), *expected = allocate(of->outer * of->inner * size);
    wr_reduce_args args = reduce_args(WR_LOGSUMEXP, dtype, of->outer, of->axis, of->inner);
    wr_status status;
    args.input = elements;
    args.output = expected;
    status = wr_reduce_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "logsumexp, %s on the host: %s", of->regime, wr_status_name(status));
    logsumexp_on_gpu(&args, of, moved ? size : 0);
    free(elements);
    free(expected);
}

static void check_softmax(const softmax_kind *kind, const shape *of, int moved) {
    size_t size = reference_size(kind->dtype), count = shape_elements(of), i;
    uint8_t *mask = allocate(count);
    void *elements = random_elements(kind->dtype, count), *expected = allocate(count * sizeof(double));
    void *sums = allocate(of->outer * of->inner * sizeof(double));
    void *scales = random_elements(kind->dtype == WR_F64 ? WR_F64 : WR_F32, of->outer * of->inner);
    wr_softmax_args args = softmax_args(kind->dtype, of->outer, of->axis, of->inner);
    wr_status status;
    for (i = 0; i < count; ++i) {
        mask[i] = i % 3 != 0;
    }
    if (!shape_is_contiguous(of)) {
        args.axis_stride = (ptrdiff_t)of->axis_stride;
        args.outer_stride = (ptrdiff_t)shape_row(of);
        args.inner_stride = 1;
        args.strides_given = 1;
    }
    args.log = kind->log;
    args.output_dtype = kind->output_dtype;
    args.scale = kind->scaled == HAS_ONE_SCALE ? 0.5 : 0.0;
    args.scales = kind->scaled == HAS_OWN_SCALES ? scales : NULL;
    args.mask = kind->masked ? mask : NULL;
    args.input = elements;
    args.output = expected;
    args.logsumexp = kind->is_alone ? NULL : sums;
    status = wr_softmax_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "%s on the host: %s", of->regime, wr_status_name(status));
    softmax_on_gpu(&args, of, moved ? size : 0);
    free(elements);
    free(expected);
    free(sums);
    free(scales);
    free(mask);
}

static void check_uneven(const uneven_kind *kind) {
    size_t size = reference_size(kind->dtype), output_size = reference_size(kind->output_dtype), count = 0, i;
    size_t number_bytes = (kind->rows + 1) * sizeof(int64_t);
    int64_t *numbers = allocate(number_bytes);
    void *elements, *expected;
    tight input, output, numbers_on_gpu;
    wr_softmax_args args;
    wr_status status;
    memset(numbers, 0, number_bytes);
    for (i = 0; i < kind->rows; ++i) {
        int64_t length = i < kind->crowded ? CROWDED_ROW : (int64_t)(i * 7919 % (kind->most + 1));
        count += kind->is_ragged ? (size_t)length : kind->most;
        numbers[kind->is_ragged ? i + 1 : i] = kind->is_ragged ? (int64_t)count : length;
    }
    elements = random_elements(kind->dtype, count);
    expected = allocate(count * output_size);
    args = softmax_args(kind->dtype, kind->rows, kind->is_ragged ? count : kind->most, 1);
    args.output_dtype = kind->output_dtype;
    args.log = kind->log;
    args.input = elements;
    args.output = expected;
    args.offsets = kind->is_ragged ? numbers : NULL;
    args.lengths = kind->is_ragged ? NULL : numbers;
    status = wr_softmax_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "uneven rows on the host: %s", wr_status_name(status));
    input = tight_new(count * size, kind->moved ? size : 0);
    output = tight_new(count * output_size, 0);
    numbers_on_gpu = tight_new(number_bytes, 0);
    tight_write(&input, elements);
    tight_write(&numbers_on_gpu, numbers);
    args.input = input.at;
    args.output = output.at;
    args.offsets = kind->is_ragged ? (const int64_t *)numbers_on_gpu.at : NULL;
    args.lengths = kind->is_ragged ? NULL : (const int64_t *)numbers_on_gpu.at;
    status = wr_softmax_ex(&args, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "uneven rows: %s", wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&output, expected),
          "softmax, %zu uneven rows up to %zu, log %d, ragged %d, of %s into %s: differs from the host", kind->rows,
          kind->most, kind->log, kind->is_ragged, dtype_name(kind->dtype), dtype_name(kind->output_dtype));
    tight_free(&input);
    tight_free(&output);
    tight_free(&numbers_on_gpu);
    free(numbers);
    free(elements);
    free(expected);
}

static wr_status softmax_of(int log, wr_dtype dtype, const void *input, void *output, const shape *of,
                            struct CUstream_st *stream) {
    return log ? wr_log_softmax(dtype, input, output, of->outer, of->axis, of->inner, stream)
               : wr_softmax(dtype, input, output, of->outer, of->axis, of->inner, stream);
}

static void check_many(wr_dtype dtype, int log, const shape *of) {
    size_t count = shape_elements(of), bytes = count * reference_size(dtype);
    void *elements = random_elements(dtype, count), *expected = allocate(bytes);
    tight input = tight_new(bytes, 0), output = tight_new(bytes, 0);
    wr_status status = softmax_of(log, dtype, elements, expected, of, wr_host_stream());
    CHECK(status == WR_SUCCESS, "many rows on the host: %s", wr_status_name(status));
    tight_write(&input, elements);
    status = softmax_of(log, dtype, input.at, output.at, of, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "many rows: %s", wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&output, expected), "softmax%s, [%zu][%zu][%zu] of %s: differs from the host", log ? ", log" : "",
          of->outer, of->axis, of->inner, dtype_name(dtype));
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

static void check_tiles(const tile_call *call) {
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

/* The memory of both devices, the host's and then the GPU's. */
static void compare_pieces(const wr_softmax_args *host_args, const piece_memory *host, const shape *of) {
    size_t size = reference_size(host_args->dtype), cut = piece_cut(of->axis), rows = of->outer * of->inner;
    size_t whole = piece_state_bytes(host_args, 0, of->axis), own = piece_state_bytes(host_args, 0, cut);
    tight input = tight_new(shape_elements(of) * size, 0), output = tight_new(rows * (of->axis - cut) * size, size);
    tight left = tight_new(own > whole ? own : whole, 0),
          right = tight_new(piece_state_bytes(host_args, cut, of->axis - cut), 0);
    tight merged = tight_new(whole, 0), sums = tight_new(rows * size, 0), check = tight_new(sizeof(int32_t), 0);
    wr_softmax_args args = *host_args;
    piece_memory gpu;
    wr_status status;
    gpu.left = left.at;
    gpu.right = right.at;
    gpu.whole = merged.at;
    gpu.sums = sums.at;
    gpu.output = output.at;
    gpu.check = (int32_t *)check.at;
    tight_write(&input, host_args->input);
    args.input = input.at;
    status = softmax_in_pieces(&args, &gpu, place_at(1)->stream);
    CHECK(status == WR_SUCCESS, "%s: %s", of->regime, wr_status_name(status));
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    left.bytes = whole; /* of its room */
    CHECK(tight_holds(&left, host->whole) && tight_holds(&merged, host->whole) && tight_holds(&sums, host->sums) &&
              tight_holds(&output, host->output) && tight_holds(&check, host->check),
          "%s of %s: differs from the host", of->regime, dtype_name(args.dtype));
    tight_free(&input);
    tight_free(&output);
    tight_free(&left);
    tight_free(&right);
    tight_free(&merged);
    tight_free(&sums);
    tight_free(&check);
}

static void check_pieces(wr_dtype dtype, const shape *of) {
    size_t size = reference_size(dtype), rows = of->outer * of->inner;
    wr_softmax_args args = softmax_args(dtype, of->outer, of->axis, of->inner);
    size_t cut = piece_cut(of->axis);
    size_t whole = piece_state_bytes(&args, 0, of->axis), own = piece_state_bytes(&args, 0, cut);
    void *input = random_elements(dtype, shape_elements(of));
    int32_t check = -1;
    piece_memory host;
    host.left = place_allocate(place_at(0), own > whole ? own : whole);
    host.right = place_allocate(place_at(0), piece_state_bytes(&args, cut, of->axis - cut));
    host.whole = place_allocate(place_at(0), whole);
    host.sums = allocate(rows * size);
    host.output = allocate(rows * of->axis * size);
    host.check = &check;
    args.input = input;
    CHECK(softmax_in_pieces(&args, &host, wr_host_stream()) == WR_SUCCESS, "%s on the host", of->regime);
    compare_pieces(&args, &host, of);
    place_free(place_at(0), host.left);
    place_free(place_at(0), host.right);
    place_free(place_at(0), host.whole);
    free(host.sums);
    free(host.output);
    free(input);
}

/* On the host, then on the GPU. */
static void check_nodes(const reduction *job, wr_dtype weights_dtype, const shape *of) {
    wr_state_args args = node_args(job, weights_dtype, of), on_gpu = args;
    size_t elements = shape_elements(of);
    void *input = random_elements(job->dtype, elements), *expected = place_allocate(place_at(0), args.state_bytes);
    void *weights = (int)weights_dtype == 0 ? NULL : random_elements(weights_dtype, of->axis);
    tight input_there = tight_copy(input, job->dtype, elements, 0);
    tight weights_there = tight_copy(weights, (int)weights_dtype == 0 ? job->dtype : weights_dtype, of->axis, 0);
    tight state = tight_new(args.state_bytes, 0);
    args.input = input;
    args.weights = weights;
    args.state = expected;
    CHECK(wr_state_reduce(&args, wr_host_stream()) == WR_SUCCESS, "%s on the host", of->regime);
    on_gpu.input = input_there.at;
    on_gpu.weights = weights == NULL ? NULL : weights_there.at;
    on_gpu.state = state.at;
    CHECK(wr_state_reduce(&on_gpu, place_at(1)->stream) == WR_SUCCESS, "%s", of->regime);
    expect_cuda(cudaStreamSynchronize(place_at(1)->stream));
    CHECK(tight_holds(&state, expected), "%s, %s of %s: differs from the host", of->regime, op_name(args.op),
          dtype_name(args.dtype));
    tight_free(&input_there);
    tight_free(&weights_there);
    tight_free(&state);
    place_free(place_at(0), expected);
    free(weights);
    free(input);
}

static const walker checks = {check_reduction, check_weighted,  check_segmented, check_softmax,
                              check_gradient,  check_logsumexp, check_uneven,    check_many,
                              check_tiles,     check_pieces,    check_nodes};

static void list_parts(void) {
    size_t i;
    for (i = 0; i < chosen_part_count; ++i) {
        puts(chosen_parts[i].name);
    }
}

int main(int argc, char **argv) {
    int found;
    if (argc > 1 && strcmp(argv[1], "parts") == 0) {
        list_parts();
        return 0;
    }
    places_open_gpu_only(argc, argv);
    found = argc > 2 && chosen_walk(argv[2], &checks);
    CHECK(found, "every_kernel gpu PART: no part is called '%s'", argc > 2 ? argv[2] : "");
    places_close();
    return check_report("every_kernel");
}
