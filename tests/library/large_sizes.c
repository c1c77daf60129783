/*
 * More than 2^31 elements, where 32-bit indices break: the host's and the GPU's results against each other and
 * against plain loops. Takes some ten GB on each side, so it asks to be wanted: WARP_REDUCE_TESTS_LARGE=1.
 */
#include "harness/harness.h"
#include "harness/places.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t two_to_31 = (size_t)1 << 31;

static void *allocate(size_t bytes) {
    void *memory = malloc(bytes);
    if (memory == NULL) {
        give_up("no memory");
    }
    return memory;
}

/* bf16 between 1/256 and 2, positive and negative: any pattern of sign and mantissa, nine exponents. */
static void fill_bf16(uint16_t *array, size_t count) {
    uint64_t state = 31;
    size_t i;
    for (i = 0; i < count; ++i) {
        uint64_t bits = random_next(&state);
        array[i] = (uint16_t)((bits & 0x807F) | ((119 + (bits >> 16) % 9) << 7));
    }
}

static void fill_i32(uint32_t *array, size_t count) {
    uint64_t state = 32;
    size_t i;
    for (i = 0; i < count; ++i) {
        array[i] = (uint32_t)random_next(&state);
    }
}

static float bf16_tree(const uint16_t *array, size_t count) {
    size_t left = 1;
    if (count == 1) {
        uint32_t bits = (uint32_t)array[0] << 16;
        float value;
        memcpy(&value, &bits, sizeof value);
        return value;
    }
    while (left < count - left) {
        left *= 2;
    }
    return bf16_tree(array, left) + bf16_tree(array + left, count - left);
}

/* Runs the reduction in a place, the input copied there, the output back. */
static void reduce_in(const place *where, wr_reduce_args args, const void *input, size_t input_bytes, void *output,
                      size_t output_bytes) {
    void *placed_output = place_allocate(where, output_bytes);
    void *placed_input = NULL;
    wr_status status;
    if (where->on_gpu) {
        placed_input = place_allocate(where, input_bytes);
        place_write(where, placed_input, input, input_bytes);
        args.input = placed_input;
    } else {
        args.input = input;
    }
    args.output = placed_output;
    status = wr_reduce_ex(&args, where->stream);
    CHECK(status == WR_SUCCESS, "[%zu][%zu][%zu] on %s: %s", args.outer, args.axis, args.inner, where->name,
          wr_status_name(status));
    place_read(where, placed_output, output, output_bytes);
    place_free(where, placed_output);
    if (placed_input != NULL) {
        place_free(where, placed_input);
    }
}

static wr_reduce_args args_of(wr_op op, wr_dtype dtype, wr_dtype output_dtype, size_t outer, size_t axis,
                              size_t inner) {
    wr_reduce_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = op;
    args.dtype = dtype;
    args.output_dtype = output_dtype;
    args.outer = outer;
    args.axis = axis;
    args.inner = inner;
    return args;
}

static void check_bf16_sum(void) {
    size_t count = two_to_31 + 5, i;
    uint16_t *array = allocate(count * sizeof *array);
    float expected;
    fill_bf16(array, count);
    expected = bf16_tree(array, count);
    for (i = 0; i < place_count(); ++i) {
        float sum = 0.0f;
        reduce_in(place_at(i), args_of(WR_SUM, WR_BF16, WR_F32, 1, count, 1), array, count * sizeof *array, &sum,
                  sizeof sum);
        CHECK(sum == expected, "bf16 sum of 2^31 + 5 on %s: %a, not %a", place_at(i)->name, (double)sum,
              (double)expected);
    }
    free(array);
}

/* Bytes -100 to 99, most of them zero. */
static void fill_i8(int8_t *array, size_t count) {
    uint64_t bits, state = 33;
    size_t i, k;
    for (i = 0; i < count; i += 8) {
        bits = random_next(&state);
        for (k = 0; k < 8 && i + k < count; ++k) {
            int byte = (int)(bits >> 8 * k & 0xFF);
            array[i + k] = (int8_t)(byte < 200 ? 0 : byte < 228 ? byte - 300 : byte - 156);
        }
    }
}

static void expect_i64(wr_op op, wr_dtype dtype, const void *array, size_t count, int64_t expected) {
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        int64_t got = -12345;
        reduce_in(place_at(i), args_of(op, dtype, WR_I64, 1, count, 1), array, count, &got, sizeof got);
        CHECK(got == expected, "operator %d of %zu bytes on %s: %lld, not %lld", (int)op, count, place_at(i)->name,
              (long long)got, (long long)expected);
    }
}

/* Sums and counts of more than 2^32 bytes, and extremes whose index takes more than 32 bits. */
static void check_bytes(void) {
    size_t count = 2 * two_to_31 + 1001, spot = 2 * two_to_31 + 77, i;
    int8_t *array = allocate(count);
    int64_t sum = 0, others = 0;
    fill_i8(array, count);
    array[spot] = 127;
    array[spot + 1] = -128;
    array[spot + 5] = 127;
    for (i = 0; i < count; ++i) {
        sum += array[i];
        others += array[i] != 0;
    }
    expect_i64(WR_SUM, WR_I8, array, count, sum);
    expect_i64(WR_COUNT_NONZERO, WR_I8, array, count, others);
    expect_i64(WR_ARGMAX, WR_I8, array, count, (int64_t)spot);
    expect_i64(WR_ARGMIN, WR_I8, array, count, (int64_t)spot + 1);
    /* as unsigned bytes -1 is the largest; only one here */
    array[spot + 2] = -1;
    expect_i64(WR_ARGMAX, WR_U8, array, count, (int64_t)spot + 2);
    free(array);
}

__extension__ typedef unsigned __int128 wide;

static void check_field_dot(void) {
    size_t count = ((size_t)1 << 29) + 3, bytes = count * sizeof(uint32_t), i;
    uint32_t *left = allocate(bytes), *right = allocate(bytes);
    uint64_t state = 34;
    uint32_t expected;
    wide sum = 0;
    for (i = 0; i < count; ++i) {
        uint64_t bits = random_next(&state);
        left[i] = (uint32_t)((bits >> 32) % REFERENCE_KOALABEAR_P);
        right[i] = (uint32_t)((bits & UINT32_MAX) % REFERENCE_KOALABEAR_P);
        sum += (wide)left[i] * right[i];
    }
    /* words are 2^32 times their numbers: what their product has too much */
    expected = (uint32_t)reference_field_integer(WR_KOALABEAR, (uint64_t)(sum % REFERENCE_KOALABEAR_P));
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        void *a = place_allocate(where, bytes), *b = place_allocate(where, bytes), *out = place_allocate(where, 4);
        uint32_t got = 0;
        wr_status status;
        place_write(where, a, left, bytes);
        place_write(where, b, right, bytes);
        status = wr_dot(WR_KOALABEAR, a, b, out, count, where->stream);
        place_read(where, out, &got, sizeof got);
        CHECK(status == WR_SUCCESS && got == expected, "KoalaBear dot of 2^29 + 3 on %s: %#x, not %#x, %s", where->name,
              got, expected, wr_status_name(status));
        place_free(where, a);
        place_free(where, b);
        place_free(where, out);
    }
    free(left);
    free(right);
}

enum { TINY_SEGMENTS = 1000, TINY = 3 };

/* One segment of more than 2^31 elements between many of three. */
static void check_segments(void) {
    size_t count = two_to_31 + 10001, segments = 2 * TINY_SEGMENTS + 1, bytes = count * sizeof(uint16_t), i;
    uint16_t *array = allocate(bytes);
    int64_t offsets[2 * TINY_SEGMENTS + 2];
    float expected[2 * TINY_SEGMENTS + 1], got[2 * TINY_SEGMENTS + 1];
    fill_bf16(array, count);
    for (i = 0; i <= TINY_SEGMENTS; ++i) {
        offsets[i] = (int64_t)(i * TINY);
        offsets[segments - i] = (int64_t)(count - i * TINY);
    }
    for (i = 0; i < segments; ++i) {
        expected[i] = bf16_tree(array + offsets[i], (size_t)(offsets[i + 1] - offsets[i]));
    }
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        void *input = place_allocate(where, bytes), *at = place_allocate(where, sizeof offsets);
        void *output = place_allocate(where, sizeof got);
        wr_reduce_segments_args args;
        wr_status status;
        memset(&args, 0, sizeof args);
        args.struct_size = sizeof args;
        args.op = WR_SUM;
        args.dtype = WR_BF16;
        args.output_dtype = WR_F32;
        args.input = input;
        args.output = output;
        args.offsets = at;
        args.segments = segments;
        place_write(where, input, array, bytes);
        place_write(where, at, offsets, sizeof offsets);
        status = wr_reduce_segments_ex(&args, where->stream);
        memset(got, 0, sizeof got);
        place_read(where, output, got, sizeof got);
        CHECK(status == WR_SUCCESS && memcmp(expected, got, sizeof got) == 0,
              "one segment of 2^31 + 4001 among tiny ones on %s: %a, not %a, %s", where->name,
              (double)got[TINY_SEGMENTS], (double)expected[TINY_SEGMENTS], wr_status_name(status));
        place_free(where, input);
        place_free(where, at);
        place_free(where, output);
    }
    free(array);
}

/* Wrapping sums of rows or columns, by plain loops. */
static void i32_sums(const uint32_t *array, size_t outer, size_t axis, size_t inner, uint32_t *sums) {
    size_t o, a, i;
    memset(sums, 0, outer * inner * sizeof *sums);
    for (o = 0; o < outer; ++o) {
        for (a = 0; a < axis; ++a) {
            for (i = 0; i < inner; ++i) {
                sums[o * inner + i] += array[(o * axis + a) * inner + i];
            }
        }
    }
}

static void check_i32_shape(const uint32_t *array, size_t outer, size_t axis, size_t inner) {
    size_t outputs = outer * inner, i;
    uint32_t *expected = allocate(outputs * sizeof *expected), *got = allocate(outputs * sizeof *got);
    i32_sums(array, outer, axis, inner, expected);
    for (i = 0; i < place_count(); ++i) {
        memset(got, 0xA5, outputs * sizeof *got);
        reduce_in(place_at(i), args_of(WR_SUM, WR_I32, WR_I32, outer, axis, inner), array,
                  outer * axis * inner * sizeof *array, got, outputs * sizeof *got);
        CHECK(memcmp(expected, got, outputs * sizeof *got) == 0, "i32 sums of [%zu][%zu][%zu] on %s", outer, axis,
              inner, place_at(i)->name);
    }
    free(expected);
    free(got);
}

static void check_i32(void) {
    size_t count = (size_t)65537 * 32769;
    uint32_t *array = allocate(count * sizeof *array);
    fill_i32(array, count);
    check_i32_shape(array, 1, two_to_31 + 3, 1);
    check_i32_shape(array, 65537, 32769, 1);
    check_i32_shape(array, 1, 32769, 65537);
    check_i32_shape(array, 1, 3, 715827884);
    check_i32_shape(array, 715827884, 3, 1);
    free(array);
}

/* Softmax of the same 65537 rows of 32769 in place; the host is the oracle. */
static void check_softmax(void) {
    size_t rows = 65537, axis = 32769, bytes = rows * axis * sizeof(uint16_t), i;
    uint16_t *input = allocate(bytes), *host_result = allocate(bytes), *result = allocate(bytes);
    fill_bf16(input, rows * axis);
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        void *array = place_allocate(where, bytes);
        wr_status status;
        place_write(where, array, input, bytes);
        status = wr_softmax(WR_BF16, array, array, rows, axis, 1, where->stream);
        CHECK(status == WR_SUCCESS, "softmax on %s: %s", where->name, wr_status_name(status));
        place_read(where, array, i == 0 ? host_result : result, bytes);
        CHECK(i == 0 || memcmp(host_result, result, bytes) == 0, "softmax of 2^31 + 2^16 elements on %s", where->name);
        place_free(where, array);
    }
    free(input);
    free(host_result);
    free(result);
}

int main(int argc, char **argv) {
    const char *wanted = getenv("WARP_REDUCE_TESTS_LARGE");
    places_open(argc, argv);
    if (wanted == NULL || strcmp(wanted, "1") != 0) {
        printf("needs 32 GB of memory, and for a GPU 18 GB there: not run: WARP_REDUCE_TESTS_LARGE=1 is not set\n");
        return EXIT_NOT_RUN;
    }
    check_bf16_sum();
    check_bytes();
    check_field_dot();
    check_segments();
    check_i32();
    check_softmax();
    places_close();
    return check_report("large_sizes");
}
