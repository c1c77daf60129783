/* The inputs of the published vectors' lines, by their words or by a generator. */
#include "vectors/published_lines.h"

#include "harness/harness.h"
#include "reference/reference.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 16 };

static uint32_t hash32(uint32_t x) {
    x ^= x >> 16;
    x *= UINT32_C(0x7feb352d);
    x ^= x >> 15;
    x *= UINT32_C(0x846ca68b);
    return x ^ x >> 16;
}

static uint64_t draw(uint32_t seed, size_t i) {
    uint32_t first = seed + 2 * (uint32_t)i;
    return (uint64_t)hash32(first) << 32 | hash32(first + 1);
}

/* A generator and its parameters, the absent ones zero. */
typedef struct generator {
    char name[NAME_SIZE];
    uint32_t seed;
    int exponent;
    double drop, start;
} generator;

static double line_value(const generator *with, wr_dtype dtype, uint64_t r) {
    static const int bits_of[] = {0, 24, 53, 11, 8, 4, 3};
    int bits = bits_of[dtype];
    int64_t integer = (int64_t)(r >> (64 - bits)) - ((int64_t)1 << (bits - 1));
    return ldexp((double)integer, with->exponent);
}

static double block_value(const generator *with, size_t i, uint64_t r) {
    size_t block = i / 1024;
    return ldexp((double)(r >> 59), with->exponent) - (double)block * with->drop + with->start;
}

static uint64_t wide_bits(wr_dtype dtype, uint64_t r) {
    switch ((int)dtype) {
    case WR_F32:
        return r >> 63 << 31 | (107 + (r >> 32 & 31)) << 23 | (r & 0x7fffff);
    case WR_F64:
        return r >> 63 << 63 | (1003 + (r >> 52 & 63)) << 52 | (r & UINT64_C(0xfffffffffffff));
    case WR_F16:
        return r >> 63 << 15 | (5 + (r >> 32 & 15)) << 10 | (r & 0x3ff);
    case WR_F8_E4M3:
        return r >> 63 << 7 | (4 + (r >> 32 & 7)) << 3 | (r & 7);
    case WR_F8_E5M2:
        return r >> 63 << 7 | (8 + (r >> 32 & 15)) << 2 | (r & 3);
    default:
        return r >> 63 << 15 | (107 + (r >> 32 & 31)) << 7 | (r & 0x7f);
    }
}

wr_dtype word_dtype(wr_dtype dtype) { return reference_degree(dtype) > 1 ? WR_U32 : dtype; }

static void put_integers(wr_dtype dtype, uint32_t seed, image *input, size_t count) {
    size_t words = count * (size_t)reference_degree(dtype), bits = 8 * reference_size(word_dtype(dtype)), i;
    for (i = 0; i < words; ++i) {
        uint64_t word = draw(seed, i) >> (64 - bits);
        reference_put_bits(word_dtype(dtype), input->payload, i,
                           reference_is_field(dtype) ? word % reference_prime(dtype) : word);
    }
}

static int generate(const char *text, wr_dtype dtype, image *input, size_t count) {
    generator with;
    size_t i;
    memset(&with, 0, sizeof with);
    if (sscanf(text, " @%15s %" SCNu32 " %d %lf %lf", with.name, &with.seed, &with.exponent, &with.drop, &with.start) <
        2) {
        return 0;
    }
    if (strcmp(with.name, "integers") == 0) {
        put_integers(dtype, with.seed, input, count);
        return 1;
    }
    for (i = 0; i < count; ++i) {
        uint64_t r = draw(with.seed, i);
        if (strcmp(with.name, "mask") == 0) {
            reference_put_bits(dtype, input->payload, i, r >> 62 != 0);
        } else if (strcmp(with.name, "line") == 0) {
            reference_put(dtype, input->payload, i, line_value(&with, dtype, r));
        } else if (strcmp(with.name, "blocks") == 0) {
            reference_put(dtype, input->payload, i, block_value(&with, i, r));
        } else if (strcmp(with.name, "wide") == 0) {
            reference_put_bits(dtype, input->payload, i, wide_bits(dtype, r));
        } else {
            return 0;
        }
    }
    return 1;
}

int is_blank(const char *text) {
    while (*text == ' ' || *text == '\n') {
        ++text;
    }
    return *text == '\0';
}

int next_item(const char **text, uint64_t *word, size_t *times) {
    char *end;
    *word = strtoull(*text, &end, 16);
    if (end == *text) {
        return 0;
    }
    *times = 1;
    if (*end == '*') {
        *times = strtoull(end + 1, &end, 10);
    }
    *text = end;
    return 1;
}

static int read_words(const char *text, wr_dtype dtype, image *input, size_t count) {
    uint64_t word;
    size_t times, filled = 0, words = count * (size_t)reference_degree(dtype);
    while (next_item(&text, &word, &times)) {
        for (; times > 0 && filled < words; --times) {
            reference_put_bits(word_dtype(dtype), input->payload, filled++, word);
        }
        if (times > 0) {
            return 0;
        }
    }
    return filled == words && is_blank(text);
}

static int fill_input(const char *text, wr_dtype dtype, image *input, size_t count) {
    return strchr(text, '@') != NULL ? generate(text, dtype, input, count) : read_words(text, dtype, input, count);
}

image new_input(const test_case *of, wr_dtype dtype, size_t count, const char *text) {
    image input = image_new(count * reference_size(dtype), 0);
    CHECK(fill_input(text, dtype, &input, count), "line %zu: not an input of %zu elements", of->line, count);
    return input;
}
