#include "harness/large_softmax.h"

#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/unusual_logits.h"
#include "reference/reference.h"

#include <stdlib.h>
#include <string.h>

enum {
    ROW_VALUES = 2, /* logsumexp and maximum */
    GUARD = 4096
}; /* bytes behind a workspace */

typedef struct large_arrays {
    void *input, *expected, *expected_values[ROW_VALUES], *result; /* NULL: such values are not wanted */
    size_t input_bytes, output_bytes, value_bytes;
} large_arrays;

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL) {
        give_up("out of memory");
    }
    return memory;
}

/* Of a logsumexp or a maximum of such logits. */
static size_t accumulate_size(wr_dtype dtype) { return dtype == WR_F64 ? sizeof(double) : sizeof(float); }

static void **row_value_of(wr_softmax_args *args, int which) { return which == 0 ? &args->logsumexp : &args->maximum; }

static wr_dtype output_dtype_of(const wr_softmax_args *args) {
    return (int)args->output_dtype == 0 ? args->dtype : args->output_dtype;
}

static size_t first_difference(const void *expected, const void *result, size_t bytes) {
    const unsigned char *one = expected, *other = result;
    size_t i = 0;
    while (i < bytes && one[i] == other[i]) {
        ++i;
    }
    return i;
}

/* A workspace of just as many bytes as the query says, and a guard behind it. */
static unsigned char *lend_workspace(const place *where, wr_softmax_args *args) {
    unsigned char guard[GUARD];
    unsigned char *lent;
    CHECK(wr_softmax_workspace_size(args, &args->workspace_bytes) == WR_SUCCESS, "query");
    lent = place_allocate(where, args->workspace_bytes + GUARD);
    memset(guard, IMAGE_POISON, sizeof guard);
    place_write(where, lent + args->workspace_bytes, guard, sizeof guard);
    args->workspace = lent;
    return lent;
}

static void take_workspace_back(const place *where, const wr_softmax_args *args, unsigned char *lent) {
    unsigned char guard[GUARD];
    size_t i, written = 0;
    place_read(where, lent + args->workspace_bytes, guard, sizeof guard);
    for (i = 0; i < sizeof guard; ++i) {
        written += guard[i] != IMAGE_POISON;
    }
    CHECK(written == 0, "[%zu][%zu][%zu] %s: %zu bytes written behind the workspace", args->outer, args->axis,
          args->inner, dtype_name(args->dtype), written);
    place_free(where, lent);
}

/* Arrays begin so many bytes behind where allocations do. In place with a workspace lent. */
static void check_at(const place *where, wr_softmax_args args, const large_arrays *all, size_t off, int in_place) {
    size_t output_off = in_place ? off : off == 0 ? 16 : 0;
    unsigned char *from = place_allocate(where, all->input_bytes + off);
    unsigned char *to = in_place ? from : place_allocate(where, all->output_bytes + output_off), *lent = NULL;
    wr_status status;
    int which;
    for (which = 0; which < ROW_VALUES; ++which) {
        *row_value_of(&args, which) =
            all->expected_values[which] == NULL ? NULL : place_allocate(where, all->value_bytes);
    }
    place_write(where, from + off, all->input, all->input_bytes);
    args.input = from + off;
    args.output = to + output_off;
    if (in_place) {
        lent = lend_workspace(where, &args);
    }
    status = wr_softmax_ex(&args, where->stream);
    CHECK(status == WR_SUCCESS, "[%zu][%zu][%zu] %s on %s: %s", args.outer, args.axis, args.inner,
          dtype_name(args.dtype), where->name, wr_status_name(status));
    place_read(where, to + output_off, all->result, all->output_bytes);
    CHECK(memcmp(all->expected, all->result, all->output_bytes) == 0,
          "[%zu][%zu][%zu] %s%s, scale %g, bytes %zu to %zu%s: not the host's, first at byte %zu of the outputs",
          args.outer, args.axis, args.inner, dtype_name(args.dtype), args.log ? ", log" : "", args.scale, off,
          output_off, in_place ? ", in place" : "", first_difference(all->expected, all->result, all->output_bytes));
    for (which = 0; which < ROW_VALUES; ++which) {
        void *values = *row_value_of(&args, which);
        if (values != NULL) {
            place_read(where, values, all->result, all->value_bytes);
            CHECK(memcmp(all->expected_values[which], all->result, all->value_bytes) == 0,
                  "[%zu][%zu][%zu] %s%s: not the host's %s", args.outer, args.axis, args.inner, dtype_name(args.dtype),
                  args.log ? ", log" : "", which == 0 ? "logsumexp" : "maximum");
            place_free(where, values);
        }
    }
    if (in_place) {
        take_workspace_back(where, &args, lent);
    } else {
        place_free(where, to);
    }
    place_free(where, from);
}

void check_large_softmax_of(put_logits put, wr_softmax_args args, size_t elements_off, unsigned wanted) {
    size_t count = args.outer * args.axis * args.inner, size = reference_size(args.dtype), i;
    large_arrays all;
    wr_status status;
    int which;
    all.input_bytes = count * size;
    all.output_bytes = count * reference_size(output_dtype_of(&args));
    all.value_bytes = args.outer * args.inner * accumulate_size(args.dtype);
    all.input = allocate(all.input_bytes);
    all.expected = allocate(all.output_bytes);
    all.result = allocate(all.output_bytes > all.value_bytes ? all.output_bytes : all.value_bytes);
    put(args.dtype, all.input, args.outer, args.axis, args.inner);
    args.input = all.input;
    args.output = all.expected;
    for (which = 0; which < ROW_VALUES; ++which) {
        all.expected_values[which] = (wanted >> which & 1u) != 0 ? allocate(all.value_bytes) : NULL;
        *row_value_of(&args, which) = all.expected_values[which];
    }
    status = wr_softmax_ex(&args, wr_host_stream());
    CHECK(status == WR_SUCCESS, "on the host: %s", wr_status_name(status));
    for (i = 1; i < place_count(); ++i) {
        check_at(place_at(i), args, &all, elements_off * size, 0);
        if (output_dtype_of(&args) == args.dtype) {
            check_at(place_at(i), args, &all, elements_off * size, 1);
        }
    }
    free(all.input);
    free(all.expected);
    for (which = 0; which < ROW_VALUES; ++which) {
        free(all.expected_values[which]);
    }
    free(all.result);
}

void check_large_softmax(wr_softmax_args args, size_t elements_off, unsigned wanted) {
    check_large_softmax_of(put_unusual_logits, args, elements_off, wanted);
}

size_t rows_for_gpu(size_t axis, size_t each) {
    return place_multiprocessors(place_at(place_count() - 1)) * each / ((axis + 1023) / 1024) + 1;
}
