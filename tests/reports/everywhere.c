#include "reports/everywhere.h"

#include "harness/harness.h"
#include "harness/places.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

wr_reduce_args reduction(wr_op op, wr_dtype dtype, const void *input, size_t outer, size_t axis, size_t inner) {
    wr_reduce_args job;
    memset(&job, 0, sizeof job);
    job.struct_size = sizeof job;
    job.op = op;
    job.dtype = dtype;
    job.input = input;
    job.outer = outer;
    job.axis = axis;
    job.inner = inner;
    return job;
}

wr_softmax_args softmax_of(wr_dtype dtype, const void *input, size_t outer, size_t axis, size_t inner) {
    wr_softmax_args job;
    memset(&job, 0, sizeof job);
    job.struct_size = sizeof job;
    job.dtype = dtype;
    job.input = input;
    job.outer = outer;
    job.axis = axis;
    job.inner = inner;
    return job;
}

static void *copy_to(const place *where, const void *content, size_t bytes) {
    void *memory;
    if (content == NULL) {
        return NULL;
    }
    memory = place_allocate(where, bytes);
    place_write(where, memory, content, bytes);
    return memory;
}

/* What the place holds is what it was given. */
static void expect_untouched(const char *report, const place *where, const void *memory, const void *content,
                             size_t bytes) {
    void *now;
    if (content == NULL) {
        return;
    }
    now = malloc(bytes + 1);
    place_read(where, memory, now, bytes);
    CHECK(memcmp(now, content, bytes) == 0, "%s, %s: an input was changed", report, where->name);
    free(now);
}

/* The first place's bytes go to the caller, the others' must be the same. */
static void collect(const char *report, size_t index, void *memory, void *output, size_t bytes) {
    const place *where = place_at(index);
    void *now;
    if (output == NULL) {
        return;
    }
    now = malloc(bytes + 1);
    place_read(where, memory, now, bytes);
    if (index == 0) {
        memcpy(output, now, bytes);
    } else {
        CHECK(memcmp(now, output, bytes) == 0, "%s: %s gives other bits than %s", report, where->name,
              place_at(0)->name);
    }
    free(now);
}

static size_t output_size(wr_op op, wr_dtype dtype, wr_dtype output_dtype) {
    if (output_dtype != 0) {
        return wr_dtype_size(output_dtype);
    }
    switch (op) {
    case WR_ARGMIN:
    case WR_ARGMAX:
    case WR_COUNT_NONZERO:
        return 8;
    case WR_ANY:
    case WR_ALL:
        return 1;
    default:
        return wr_dtype_size(dtype);
    }
}

void reduce_everywhere(const char *report, wr_reduce_args job, size_t elements, void *output) {
    const void *content = job.input;
    const size_t bytes = elements * wr_dtype_size(job.dtype);
    const size_t output_bytes = job.outer * job.inner * output_size(job.op, job.dtype, job.output_dtype);
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        wr_status status;
        job.input = copy_to(where, content, bytes);
        job.output = place_allocate(where, output_bytes);
        status = wr_reduce_ex(&job, where->stream);
        CHECK(status == WR_SUCCESS, "%s, %s: %s", report, where->name, wr_status_name(status));
        collect(report, i, job.output, output, output_bytes);
        expect_untouched(report, where, job.input, content, bytes);
        place_free(where, (void *)job.input);
        place_free(where, job.output);
    }
}

void segments_everywhere(const char *report, wr_op op, wr_dtype dtype, const void *input, size_t elements,
                         const int64_t *offsets, size_t segments, void *output) {
    const size_t output_bytes = segments * output_size(op, dtype, 0);
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        void *from = copy_to(where, input, elements * wr_dtype_size(dtype));
        void *at = copy_to(where, offsets, (segments + 1) * sizeof *offsets);
        void *to = place_allocate(where, output_bytes);
        const wr_status status = wr_reduce_segments(op, dtype, from, to, at, segments, where->stream);
        CHECK(status == WR_SUCCESS, "%s, %s: %s", report, where->name, wr_status_name(status));
        collect(report, i, to, output, output_bytes);
        place_free(where, from);
        place_free(where, at);
        place_free(where, to);
    }
}

void dot_everywhere(const char *report, wr_dtype dtype, const void *left, const void *right, size_t count,
                    void *output) {
    const size_t size = wr_dtype_size(dtype);
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        void *a = copy_to(where, left, count * size);
        void *b = copy_to(where, right, count * size);
        void *to = place_allocate(where, size);
        const wr_status status = wr_dot(dtype, a, b, to, count, where->stream);
        CHECK(status == WR_SUCCESS, "%s, %s: %s", report, where->name, wr_status_name(status));
        collect(report, i, to, output, size);
        place_free(where, a);
        place_free(where, b);
        place_free(where, to);
    }
}

void softmax_everywhere(const char *report, wr_softmax_args job, void *output, void *logsumexp) {
    const void *content = job.input, *mask = job.mask;
    const size_t elements = job.outer * job.axis * job.inner;
    const size_t bytes = elements * wr_dtype_size(job.dtype);
    const size_t output_bytes = elements * wr_dtype_size(job.output_dtype != 0 ? job.output_dtype : job.dtype);
    const size_t row_bytes = job.outer * job.inner * (job.dtype == WR_F64 ? 8 : 4);
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        wr_status status;
        job.input = copy_to(where, content, bytes);
        job.mask = copy_to(where, mask, elements);
        job.output = place_allocate(where, output_bytes);
        job.logsumexp = logsumexp == NULL ? NULL : place_allocate(where, row_bytes);
        status = wr_softmax_ex(&job, where->stream);
        CHECK(status == WR_SUCCESS, "%s, %s: %s", report, where->name, wr_status_name(status));
        collect(report, i, job.output, output, output_bytes);
        collect(report, i, job.logsumexp, logsumexp, row_bytes);
        expect_untouched(report, where, job.input, content, bytes);
        place_free(where, (void *)job.input);
        place_free(where, (void *)job.mask);
        place_free(where, job.output);
        place_free(where, job.logsumexp);
    }
}

void gradient_everywhere(const char *report, wr_softmax_backward_args job, alias over, void *gradient) {
    const void *y = job.output, *dy = job.output_gradient;
    const size_t bytes = job.outer * job.axis * job.inner * wr_dtype_size(job.dtype);
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        void *own = place_allocate(where, bytes);
        wr_status status;
        job.output = copy_to(where, y, bytes);
        job.output_gradient = copy_to(where, dy, bytes);
        job.input_gradient = over == ALIAS_OUTPUT            ? (void *)job.output
                             : over == ALIAS_OUTPUT_GRADIENT ? (void *)job.output_gradient
                                                             : own;
        status = wr_softmax_backward_ex(&job, where->stream);
        CHECK(status == WR_SUCCESS, "%s, %s: %s", report, where->name, wr_status_name(status));
        collect(report, i, job.input_gradient, gradient, bytes);
        if (over != ALIAS_OUTPUT) {
            expect_untouched(report, where, job.output, y, bytes);
        }
        if (over != ALIAS_OUTPUT_GRADIENT) {
            expect_untouched(report, where, job.output_gradient, dy, bytes);
        }
        place_free(where, (void *)job.output);
        place_free(where, (void *)job.output_gradient);
        place_free(where, own);
    }
}

double f16_value(uint16_t word) {
    const int exponent = word >> 10 & 31, fraction = word & 1023;
    const double magnitude = exponent == 31  ? (fraction != 0 ? NAN : INFINITY)
                             : exponent == 0 ? ldexp(fraction, -24)
                                             : ldexp(1024 + fraction, exponent - 25);
    return (word & 0x8000) != 0 ? -magnitude : magnitude;
}

/* The nearest; the values of reports are no ties. */
uint16_t f16_of(double value) {
    const double magnitude = fabs(value);
    unsigned low = 0, high = 0x7C00;
    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;
        if (f16_value((uint16_t)middle) <= magnitude) {
            low = middle;
        } else {
            high = middle;
        }
    }
    if (f16_value((uint16_t)high) - magnitude < magnitude - f16_value((uint16_t)low)) {
        low = high;
    }
    return (uint16_t)(low | (signbit(value) ? 0x8000u : 0u));
}

double bf16_value(uint16_t word) {
    const uint32_t bits = (uint32_t)word << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return (double)value;
}

uint16_t bf16_of(double value) {
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
