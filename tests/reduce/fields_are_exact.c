/*
 * Sums, products, sums of squares and dot products of field elements are those of the integers modulo the prime, and of
 * polynomials modulo x^4 - 3 and x^4 - 11. Words of Goldilocks may be any 64 bits, in Mersenne31 the prime is 0 too;
 * words coming out are canonical.
 */
#include "harness/dot_jobs.h"
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <string.h>

static wr_dtype word_type(wr_dtype dtype) { return dtype == WR_GOLDILOCKS ? WR_U64 : WR_U32; }

/* ---- by hand: the reference, and through it the library */

typedef struct known_product {
    wr_dtype dtype;
    /* plain integers, not words */
    uint64_t left[4], right[4], product[4];
} known_product;

static const known_product products[] = {
    /* from the definition of the extension's base field */
    {WR_KOALABEAR, {0x34167c58}, {0x61f3207b}, {0x54b46b81}},
    {WR_KOALABEAR, {2130706432}, {2130706432}, {1}},
    {WR_BABYBEAR, {2013265920}, {2}, {2013265919}},
    /* 2^27 * 2^4 = 2^31 = p + 2^27 - 1 */
    {WR_BABYBEAR, {UINT64_C(1) << 27}, {16}, {134217727}},
    /* 2^16 * 2^15 = 2^31 = p + 1 */
    {WR_MERSENNE31, {65536}, {32768}, {1}},
    {WR_MERSENNE31, {2147483646}, {2147483646}, {1}},
    /* 2^32 * 2^32 = 2^64 = p + 2^32 - 1; 2^48 * 2^48 = 2^96 = -1 */
    {WR_GOLDILOCKS, {UINT64_C(1) << 32}, {UINT64_C(1) << 32}, {UINT64_C(0xFFFFFFFF)}},
    {WR_GOLDILOCKS, {UINT64_C(1) << 48}, {UINT64_C(1) << 48}, {UINT64_C(0xFFFFFFFF00000000)}},
    {WR_GOLDILOCKS, {UINT64_C(0xFFFFFFFF00000000)}, {UINT64_C(0xFFFFFFFF00000000)}, {1}},
    /* x * x^3 = x^4, x^2 * x^3 = x^5, and in a base field that is the same as above */
    {WR_KOALABEAR_X4, {0, 1, 0, 0}, {0, 0, 0, 1}, {3, 0, 0, 0}},
    {WR_KOALABEAR_X4, {0, 0, 1, 0}, {0, 0, 0, 1}, {0, 3, 0, 0}},
    {WR_KOALABEAR_X4, {0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 3, 0}},
    {WR_KOALABEAR_X4, {0x34167c58, 0, 0, 0}, {0x61f3207b, 0, 0, 0}, {0x54b46b81, 0, 0, 0}},
    {WR_KOALABEAR_X4, {0, 0x34167c58, 0, 0}, {0, 0x61f3207b, 0, 0}, {0, 0, 0x54b46b81, 0}},
    {WR_BABYBEAR_X4, {0, 1, 0, 0}, {0, 0, 0, 1}, {11, 0, 0, 0}},
    {WR_BABYBEAR_X4, {0, 0, 0, 1}, {0, 0, 0, 1}, {0, 0, 11, 0}},
    /* (1 + 2x + 3x^2 + 4x^3)(5 + 6x + 7x^2 + 8x^3): 5 + 16x + 34x^2 + 60x^3 + 61x^4 + 52x^5 + 32x^6 */
    {WR_KOALABEAR_X4, {1, 2, 3, 4}, {5, 6, 7, 8}, {5 + 3 * 61, 16 + 3 * 52, 34 + 3 * 32, 60}},
    {WR_BABYBEAR_X4, {1, 2, 3, 4}, {5, 6, 7, 8}, {5 + 11 * 61, 16 + 11 * 52, 34 + 11 * 32, 60}},
};

static void put_integers(wr_dtype dtype, image *array, size_t index, const uint64_t *integers) {
    size_t degree = (size_t)reference_degree(dtype), k;
    for (k = 0; k < degree; ++k) {
        reference_put_bits(word_type(dtype), array->payload, index * degree + k,
                           reference_field_word(dtype, integers[k]));
    }
}

/* The product by WR_PRODUCT and, with weights, by a dot product. */
static void check_known_product(const known_product *of, const place *where) {
    size_t size = reference_size(of->dtype);
    image factors = image_new(2 * size, 0), right = image_new(size, 0), expected = image_new(size, 0);
    image output = image_new(size, 0);
    wr_reduce_args args = reduce_args(WR_PRODUCT, of->dtype, 1, 2, 1);
    reduce_images images = {&factors, &right, &output, NULL};
    wr_status status;
    put_integers(of->dtype, &factors, 0, of->left);
    put_integers(of->dtype, &factors, 1, of->right);
    put_integers(of->dtype, &right, 0, of->right);
    put_integers(of->dtype, &expected, 0, of->product);
    args.input = factors.payload;
    args.output = output.payload;
    status = reduce_at(where, &args, &factors, &output);
    check_same_elements(status, where, of->dtype, &expected, &output, dtype_name(of->dtype));
    memset(output.base, IMAGE_POISON, output.size);
    args.op = WR_SUM;
    args.axis = 1;
    args.weights = right.payload;
    status = reduce_images_at(where, &args, &images);
    check_same_elements(status, where, of->dtype, &expected, &output, dtype_name(of->dtype));
    image_free(&factors);
    image_free(&right);
    image_free(&expected);
    image_free(&output);
}

/* Five words of 2^64 - 1 are 5 (2^32 - 2) modulo p; a word p alone is 0, in sums, products and counts. */
static void check_known_words(const place *where) {
    static const struct {
        wr_op op;
        wr_dtype dtype;
        size_t count;
        uint64_t word, result;
    } known[] = {
        {WR_SUM, WR_GOLDILOCKS, 5, UINT64_MAX, UINT64_C(21474836470)},
        {WR_SUM, WR_GOLDILOCKS, 1, UINT64_C(0xFFFFFFFF00000001), 0},
        {WR_PRODUCT, WR_GOLDILOCKS, 1, UINT64_C(0xFFFFFFFF00000002), 1},
        {WR_COUNT_NONZERO, WR_GOLDILOCKS, 7, UINT64_C(0xFFFFFFFF00000001), 0},
        {WR_COUNT_NONZERO, WR_GOLDILOCKS, 7, UINT64_C(0xFFFFFFFF00000002), 7},
        {WR_SUM, WR_MERSENNE31, 3, 0x7FFFFFFF, 0},
        {WR_PRODUCT, WR_MERSENNE31, 1, 0x7FFFFFFF, 0},
        {WR_COUNT_NONZERO, WR_MERSENNE31, 4, 0x7FFFFFFF, 0},
        {WR_ANY, WR_MERSENNE31, 4, 0x7FFFFFFF, 0},
        {WR_ALL, WR_MERSENNE31, 4, 0x7FFFFFFF, 0},
        {WR_ALL, WR_GOLDILOCKS, 2, UINT64_C(0xFFFFFFFF00000002), 1},
    };
    size_t i, k;
    for (i = 0; i < sizeof known / sizeof *known; ++i) {
        wr_reduce_args args = reduce_args(known[i].op, known[i].dtype, 1, known[i].count, 1);
        wr_dtype result_dtype = reference_output_dtype(&args);
        image input = image_new(known[i].count * reference_size(known[i].dtype), 0);
        image expected = image_new(reference_size(result_dtype), 0), output = image_copy(&expected);
        for (k = 0; k < known[i].count; ++k) {
            reference_put_bits(word_type(known[i].dtype), input.payload, k, known[i].word);
        }
        reference_put_bits(result_dtype, expected.payload, 0, known[i].result);
        args.input = input.payload;
        args.output = output.payload;
        check_same_elements(reduce_at(where, &args, &input, &output), where, result_dtype, &expected, &output,
                            op_name(known[i].op));
        image_free(&input);
        image_free(&expected);
        image_free(&output);
    }
}

static void check_known_products(void) {
    size_t i, p;
    for (p = 0; p < place_count(); ++p) {
        for (i = 0; i < sizeof products / sizeof *products; ++i) {
            check_known_product(&products[i], place_at(p));
        }
        check_known_words(place_at(p));
    }
}

/* A word of Montgomery form is 2^32 times its integer: 1 is 2^32 - 2 p = 0x01FFFFFE in KoalaBear. */
static void check_reference_by_hand(void) {
    CHECK(reference_field_word(WR_KOALABEAR, 1) == 0x01FFFFFE, "1 of KoalaBear");
    CHECK(reference_field_word(WR_BABYBEAR, 1) == 0x0FFFFFFE, "1 of BabyBear");
    CHECK(reference_field_word(WR_MERSENNE31, 5) == 5, "5 of Mersenne31");
    CHECK(reference_field_integer(WR_KOALABEAR, 0x01FFFFFE) == 1, "1 of KoalaBear");
    CHECK(reference_field_integer(WR_BABYBEAR, reference_field_word(WR_BABYBEAR, 123456789)) == 123456789, "back");
}

/* ---- one word everywhere, and many of them */

static void fill_words(wr_dtype dtype, image *array, size_t count, uint64_t word) {
    size_t words = count * (size_t)reference_degree(dtype), i;
    for (i = 0; i < words; ++i) {
        reference_put_bits(word_type(dtype), array->payload, i, word);
    }
}

/* x4 elements lie on any boundary of a word. */
static size_t word_misalignment(wr_dtype dtype) { return dtype == WR_GOLDILOCKS ? 8 : 4; }

static void check_all_calls(wr_dtype dtype, const image *input, size_t outer, size_t axis, size_t inner,
                            const char *label) {
    static const wr_op ops[] = {WR_SUM, WR_PRODUCT, WR_SUM_OF_SQUARES, WR_COUNT_NONZERO, WR_ANY, WR_ALL};
    size_t i;
    for (i = 0; i < sizeof ops / sizeof *ops; ++i) {
        wr_reduce_args args = reduce_args(ops[i], dtype, outer, axis, inner);
        size_t misalignment = ops[i] == WR_COUNT_NONZERO ? 8 : word_misalignment(dtype);
        args.input = input->payload;
        check_reduce(&args, input, misalignment, label);
        args.add_to_output = 1;
        check_reduce(&args, input, misalignment, label);
    }
    if (outer == 1 && inner == 1) {
        wr_dot_args args = dot_args(dtype, axis);
        args.left = args.right = input->payload;
        check_dot(&args, input, input, word_misalignment(dtype), label);
    }
}

static void check_constant(wr_dtype dtype, uint64_t word, size_t count) {
    image input = image_new(count * reference_size(dtype), word_misalignment(dtype));
    fill_words(dtype, &input, count, word);
    check_all_calls(dtype, &input, 1, count, 1, "one word everywhere");
    image_free(&input);
}

static void check_constants(wr_dtype dtype) {
    static const size_t counts[] = {1, 2, 3, 4, 9, 100, 1025, 30000};
    uint64_t p = reference_prime(dtype);
    size_t i;
    for (i = 0; i < sizeof counts / sizeof *counts; ++i) {
        check_constant(dtype, p - 1, counts[i]);
        check_constant(dtype, 0, counts[i]);
        if (dtype == WR_GOLDILOCKS || dtype == WR_MERSENNE31) {
            check_constant(dtype, p, counts[i]);
        }
        if (dtype == WR_GOLDILOCKS) {
            check_constant(dtype, p + 1, counts[i]);
            check_constant(dtype, UINT64_MAX, counts[i]);
        }
        check_constant(dtype, 1, counts[i]);
        check_constant(dtype, p / 2 + 1, counts[i]);
        check_constant(dtype, reference_field_word(dtype, 1), counts[i]);
        check_constant(dtype, reference_field_word(dtype, p - 1), counts[i]);
    }
}

static void check_random(wr_dtype dtype, size_t outer, size_t axis, size_t inner) {
    size_t count = outer * axis * inner;
    image input = image_new(count * reference_size(dtype), word_misalignment(dtype) * (1 + axis % 3));
    fill_random(dtype, DATA_UNIFORM, count, input.payload, count);
    check_all_calls(dtype, &input, outer, axis, inner, "random words");
    image_free(&input);
}

static void check_field(wr_dtype dtype) {
    check_constants(dtype);
    check_random(dtype, 1, 77777, 1);
    check_random(dtype, 3, 10001, 1);
    check_random(dtype, 1000, 17, 1);
    check_random(dtype, 1, 8192, 5);
    check_random(dtype, 1, 64, 333);
    check_random(dtype, 5, 100, 7);
}

/* 2^20 words that are as large as they come: nothing overflows on the way. */
static void check_long(wr_dtype dtype) {
    size_t count = ((size_t)1 << 20) + 3;
    image input = image_new(count * reference_size(dtype), 0);
    wr_reduce_args sum = reduce_args(WR_SUM, dtype, 1, count, 1);
    wr_dot_args dot = dot_args(dtype, count);
    fill_words(dtype, &input, count, reference_prime(dtype) - 1);
    sum.input = dot.left = dot.right = input.payload;
    check_reduce(&sum, &input, 0, "p - 1 everywhere");
    if (reference_degree(dtype) == 1) {
        check_dot(&dot, &input, &input, 0, "p - 1 everywhere");
    }
    image_free(&input);
}

int main(int argc, char **argv) {
    int dtype;
    places_open(argc, argv);
    check_reference_by_hand();
    check_known_products();
    for (dtype = WR_KOALABEAR; dtype <= WR_BABYBEAR_X4; ++dtype) {
        check_field((wr_dtype)dtype);
        check_long((wr_dtype)dtype);
    }
    places_close();
    return check_report("fields_are_exact");
}
