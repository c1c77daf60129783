/*
 * Softmax of so many rows or columns that a GPU takes the ways of working that only such jobs take: the host's
 * bits, in place and not, scaled and not, with rows among them that hold NaN, infinities, large logits or nothing but
 * -infinity. Likewise of rows cut off by lengths and ragged ones, where nothing but the outputs is asked for, and of
 * rows with lengths and masks.
 */
#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/unusual_logits.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <string.h>

enum { ELEMENTS = 40 << 20 }; /* of a job */

typedef struct many_job {
    wr_dtype dtype;
    size_t outer, axis, inner;
    double scale;
    int log;
    wr_dtype output_dtype; /* 0: the same */
} many_job;

static size_t bytes_of(const many_job *job) { return job->outer * job->axis * job->inner * reference_size(job->dtype); }
static size_t output_bytes_of(const many_job *job) {
    wr_dtype dtype = (int)job->output_dtype == 0 ? job->dtype : job->output_dtype;
    return bytes_of(job) / reference_size(job->dtype) * reference_size(dtype);
}

static void run_at(const place *where, const many_job *job, const void *input, void *result, int in_place) {
    size_t bytes = bytes_of(job), output_bytes = output_bytes_of(job);
    void *array = place_allocate(where, bytes);
    void *output = in_place ? array : place_allocate(where, output_bytes);
    wr_softmax_args args = softmax_args(job->dtype, job->outer, job->axis, job->inner);
    wr_status status;
    place_write(where, array, input, bytes);
    args.scale = job->scale;
    args.log = job->log;
    args.output_dtype = job->output_dtype;
    args.input = array;
    args.output = output;
    status = wr_softmax_ex(&args, where->stream);
    CHECK(status == WR_SUCCESS, "%s: %s", where->name, wr_status_name(status));
    place_read(where, output, result, output_bytes);
    place_free(where, array);
    if (!in_place) {
        place_free(where, output);
    }
}

static void check(const many_job *job) {
    size_t bytes = output_bytes_of(job), i;
    void *input = malloc(bytes_of(job)), *expected = malloc(bytes), *result = malloc(bytes);
    if (input == NULL || expected == NULL || result == NULL) {
        give_up("out of memory");
    }
    put_unusual_logits(job->dtype, input, job->outer, job->axis, job->inner);
    run_at(place_at(0), job, input, expected, 0);
    for (i = 1; i < place_count(); ++i) {
        int in_place;
        for (in_place = 0; in_place < 1 + ((int)job->output_dtype == 0); ++in_place) {
            run_at(place_at(i), job, input, result, in_place);
            CHECK(memcmp(expected, result, bytes) == 0, "[%zu][%zu][%zu] %s%s, scale %g, %s: differ from the host's",
                  job->outer, job->axis, job->inner, dtype_name(job->dtype), job->log ? ", log" : "", job->scale,
                  in_place ? "in place" : "not in place");
        }
    }
    free(input);
    free(expected);
    free(result);
}

/* Elements that a row of `axis` has, or of which that many take part: around the boundaries of lanes' vectors above
 * all. */
static size_t cut_of(size_t row, size_t axis) {
    size_t around = row * 64 % (axis + 64), to_boundary = row / 7 % 5;
    switch (row % 5) {
    case 0:
        return row * 2654435761u % (axis + 1);
    case 1:
        return axis;
    case 2:
        return row % 10 == 2 ? 0 : 1;
    default:
        return around < 2 ? axis : around + to_boundary - 2 < axis ? around + to_boundary - 2 : axis;
    }
}

typedef struct cut_job {
    wr_dtype dtype;
    size_t rows, axis, elements; /* of the arrays */
    int ragged;
    int shift; /* elements that the arrays begin behind a boundary */
    double scale;
    int masked, log;
} cut_job;

/* A byte an element, one in five of them 0. */
static void *place_mask(const place *where, size_t elements) {
    unsigned char *made = malloc(elements), *held = place_allocate(where, elements);
    size_t i;
    if (made == NULL) {
        give_up("out of memory");
    }
    for (i = 0; i < elements; ++i) {
        made[i] = (unsigned char)(i * 2654435761u / 1024 % 5);
    }
    place_write(where, held, made, elements);
    free(made);
    return held;
}

/* Where the rows are not ragged `starts` holds lengths, else offsets. */
static void run_cut_at(const place *where, const cut_job *job, const void *input, const int64_t *starts, void *result) {
    size_t bytes = job->elements * reference_size(job->dtype), start_bytes = (job->rows + 1) * sizeof(int64_t);
    size_t front = (size_t)job->shift * reference_size(job->dtype);
    char *array = place_allocate(where, bytes + front), *output = place_allocate(where, bytes + front);
    int64_t *held = place_allocate(where, start_bytes);
    void *mask = job->masked ? place_mask(where, job->elements) : NULL;
    wr_softmax_args args = softmax_args(job->dtype, job->rows, job->ragged ? job->elements : job->axis, 1);
    wr_status status;
    place_write(where, array + front, input, bytes);
    place_write(where, held, starts, start_bytes);
    args.scale = job->scale;
    args.log = job->log;
    args.mask = mask;
    args.input = array + front;
    args.output = output + front;
    if (job->ragged) {
        args.offsets = held;
    } else {
        args.lengths = held;
    }
    status = wr_softmax_ex(&args, where->stream);
    CHECK(status == WR_SUCCESS, "%s: %s", where->name, wr_status_name(status));
    place_read(where, output + front, result, bytes);
    place_free(where, array);
    place_free(where, output);
    place_free(where, held);
    if (mask != NULL) {
        place_free(where, mask);
    }
}

static void check_cut_job(cut_job job) {
    wr_dtype dtype = job.dtype;
    size_t axis = job.axis;
    int ragged = job.ragged;
    int64_t *starts = malloc((job.rows + 1) * sizeof(int64_t));
    void *input, *expected, *result;
    size_t row, total = 0, bytes, i;
    if (starts == NULL) {
        give_up("out of memory");
    }
    for (row = 0; row < job.rows; ++row) {
        starts[row] = (int64_t)(ragged ? total : cut_of(row, axis));
        total += cut_of(row, axis);
    }
    starts[row] = (int64_t)total;
    job.elements = ragged ? total : job.rows * axis;
    bytes = job.elements * reference_size(dtype);
    input = malloc(bytes);
    expected = malloc(bytes);
    result = malloc(bytes);
    if (input == NULL || expected == NULL || result == NULL) {
        give_up("out of memory");
    }
    put_unusual_logits(dtype, input, job.elements / axis, axis, 1);
    for (i = job.elements / axis * axis; i < job.elements; ++i) {
        reference_put(dtype, input, i, 1.0);
    }
    run_cut_at(place_at(0), &job, input, starts, expected);
    for (i = 1; i < place_count(); ++i) {
        run_cut_at(place_at(i), &job, input, starts, result);
        CHECK(memcmp(expected, result, bytes) == 0,
              "[%zu][%zu] %s%s, %s, behind a boundary %d, scale %g: not the host's", job.rows, axis, dtype_name(dtype),
              job.log ? ", log" : "",
              ragged       ? "ragged"
              : job.masked ? "lengths and masks"
                           : "lengths",
              job.shift, job.scale);
    }
    free(starts);
    free(input);
    free(expected);
    free(result);
}

static void check_cut(wr_dtype dtype, size_t axis, int ragged, int shift, double scale) {
    const cut_job job = {dtype, ELEMENTS / 16 / axis, axis, 0, ragged, shift, scale, 0, 0};
    check_cut_job(job);
}

static void check_masked(wr_dtype dtype, size_t axis, int log) {
    const cut_job job = {dtype, ELEMENTS / 16 / axis, axis, 0, 0, 0, 1.0, 1, log};
    check_cut_job(job);
}

static void check_cut_rows(wr_dtype dtype) {
    static const size_t axes[] = {40, 520, 1024, 2048, 3000, 4096, 8192, 20000, 32768, 40000};
    size_t i;
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        check_cut(dtype, axes[i], 0, 0, 1.0);
        check_cut(dtype, axes[i], 0, 0, -0.75);
        check_cut(dtype, axes[i], 0, 1, 1.0);
        check_cut(dtype, axes[i], 1, 0, 1.0);
        if (axes[i] >= 1024) {
            check_masked(dtype, axes[i], 0);
            check_masked(dtype, axes[i], 1);
        }
    }
}

static void check_rows(wr_dtype dtype, size_t axis, double scale) {
    const many_job job = {dtype, ELEMENTS / axis, axis, 1, scale, 0, (wr_dtype)0};
    check(&job);
}

static void check_logarithms(wr_dtype dtype, size_t axis) {
    const many_job job = {dtype, ELEMENTS / axis, axis, 1, -0.75, 1, (wr_dtype)0};
    check(&job);
}

static void check_columns(wr_dtype dtype, size_t outer, size_t axis, double scale) {
    const many_job job = {dtype, outer, axis, ELEMENTS / 2 / axis / outer / 8 * 8, scale, 0, (wr_dtype)0};
    check(&job);
}

/* The logsumexp of each row or column, beside the outputs in the first place, alone in the others. */
static void check_sums(const many_job *job) {
    size_t bytes = bytes_of(job), count = job->outer * job->inner, i;
    void *input = malloc(bytes), *outputs = malloc(bytes);
    float *expected = malloc(count * sizeof(float)), *result = malloc(count * sizeof(float));
    wr_softmax_args args = softmax_args(job->dtype, job->outer, job->axis, job->inner);
    wr_status status;
    if (input == NULL || outputs == NULL || expected == NULL || result == NULL) {
        give_up("out of memory");
    }
    put_unusual_logits(job->dtype, input, job->outer, job->axis, job->inner);
    args.input = input;
    args.output = outputs;
    args.logsumexp = expected;
    status = wr_softmax_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "on the host: %s", wr_status_name(status));
    for (i = 1; i < place_count(); ++i) {
        const place *where = place_at(i);
        void *array = place_allocate(where, bytes), *written = place_allocate(where, bytes);
        float *sums = place_allocate(where, count * sizeof(float));
        wr_reduce_args alone = reduce_args(WR_LOGSUMEXP, job->dtype, job->outer, job->axis, job->inner);
        place_write(where, array, input, bytes);
        args.input = alone.input = array;
        args.output = written;
        args.logsumexp = alone.output = sums;
        alone.output_dtype = WR_F32;
        status = wr_softmax_ex(&args, where->stream);
        place_read(where, sums, result, count * sizeof(float));
        CHECK(status == WR_SUCCESS && memcmp(expected, result, count * sizeof(float)) == 0,
              "[%zu][%zu][%zu] %s: logsumexp beside outputs is not the host's", job->outer, job->axis, job->inner,
              dtype_name(job->dtype));
        status = wr_reduce_ex(&alone, where->stream);
        place_read(where, sums, result, count * sizeof(float));
        CHECK(status == WR_SUCCESS && memcmp(expected, result, count * sizeof(float)) == 0,
              "[%zu][%zu][%zu] %s: logsumexp alone is not the host's", job->outer, job->axis, job->inner,
              dtype_name(job->dtype));
        place_free(where, array);
        place_free(where, written);
        place_free(where, sums);
    }
    free(input);
    free(outputs);
    free(expected);
    free(result);
}

/* Columns that are read twice: too many rows for a cluster, or their logarithms; a whole warp side by side, or few. */
static void check_tall_columns(wr_dtype dtype) {
    static const size_t shapes[][3] = {{1, 40000, 400}, {1, 100003, 8},  {2, 65536, 24}, {1, 33333, 520},
                                       {3, 1024, 3000}, {1, 1500, 8000}, {1, 5000, 3000}};
    size_t i;
    for (i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        many_job job = {dtype, shapes[i][0], shapes[i][1], shapes[i][2], 1.0, 0, (wr_dtype)0};
        check_sums(&job);
        check(&job);
        job.log = 1;
        check(&job);
        job.scale = -0.75;
        job.log = i % 2 == 0;
        check(&job);
    }
}

/* So many short columns, few side by side, that a warp takes several. */
static void check_short_columns(wr_dtype dtype) {
    static const size_t shapes[][3] = {{9000, 20, 2}, {1500, 100, 7}, {900, 257, 8}, {600, 500, 16}, {4500, 1, 3}};
    size_t i;
    for (i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        many_job job = {dtype, shapes[i][0], shapes[i][1], shapes[i][2], 1.0, 0, (wr_dtype)0};
        check_sums(&job);
        check(&job);
        job.log = 1;
        job.scale = -0.75;
        check(&job);
        job.output_dtype = dtype == WR_F32 ? WR_F8_E5M2 : WR_F32;
        check(&job);
    }
}

/* Rows of one type into another, and the logsumexp of rows off the boundaries. */
static void check_odd_rows(wr_dtype dtype) {
    static const wr_dtype types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
    static const size_t axes[] = {32, 256, 504, 1000, 1024, 4096, 20000, 33001, 50257, 100000, 300008};
    size_t i, j;
    for (i = 0; i < sizeof axes / sizeof *axes; ++i) {
        many_job job = {dtype, ELEMENTS / 8 / axes[i], axes[i], 1, 1.0, 0, (wr_dtype)0};
        check_sums(&job);
        for (j = 0; j < sizeof types / sizeof *types; ++j) {
            job.output_dtype = types[j];
            job.log = 0;
            check(&job);
            job.log = 1;
            check(&job);
        }
    }
}

int main(int argc, char **argv) {
    static const size_t lengths[] = {33,    50,    100,   301,   511,   520,    768,    1000,  1024,
                                     1032,  2048,  3000,  4096,  5000,  7168,   8192,   10000, 16384,
                                     16392, 32000, 32768, 50000, 65536, 100008, 131072, 262144};
    size_t i;
    places_open_gpu_only(argc, argv);
    for (i = 0; i < sizeof lengths / sizeof *lengths; ++i) {
        check_rows(WR_BF16, lengths[i], 1.0);
    }
    check_rows(WR_BF16, 40000, -0.75);
    check_logarithms(WR_F16, 100);
    check_logarithms(WR_BF16, 301);
    check_rows(WR_F16, 65536, 1.0);
    check_rows(WR_F16, 262144, 3.0);
    check_rows(WR_F32, 131072, 1.0);
    check_rows(WR_F32, 262144, 1.0);
    check_rows(WR_F32, 300004, -0.75);
    check_rows(WR_F32, 1048572, 2.0);
    check_columns(WR_F32, 1, 1024, 1.0);
    check_columns(WR_F32, 1, 770, -0.75);
    check_columns(WR_F32, 3, 4096, 1.0);
    check_columns(WR_F32, 1, 10001, 1.0);
    check_columns(WR_F32, 1, 32768, 1.0);
    check_columns(WR_BF16, 1, 1024, 1.0);
    check_columns(WR_BF16, 2, 5000, 1.0);
    check_columns(WR_F16, 1, 4096, 1.0);
    check_tall_columns(WR_F32);
    check_tall_columns(WR_F16);
    check_tall_columns(WR_BF16);
    check_short_columns(WR_F32);
    check_short_columns(WR_F16);
    check_short_columns(WR_BF16);
    check_odd_rows(WR_F32);
    check_odd_rows(WR_F16);
    check_odd_rows(WR_BF16);
    check_cut_rows(WR_F32);
    check_cut_rows(WR_F16);
    check_cut_rows(WR_BF16);
    places_close();
    return check_report("softmax_of_many_rows");
}
