/* The lines of the published vectors as jobs; README.md beside this file describes them. */
#ifndef PUBLISHED_LINES_H
#define PUBLISHED_LINES_H

#include "harness/jobs.h"

#include <stddef.h>
#include <stdint.h>

/* What a line is about. */
typedef enum subject { REDUCTION, DOT_PRODUCT, SEGMENTS, SOFTMAX, GRADIENT } subject;

/* What a head says. A dot product's count is its axis, and so is that of all segments' elements together. */
typedef struct test_case {
    size_t line;
    subject about;
    wr_op op;
    wr_nan_mode nan_mode;
    wr_dtype right_dtype;
    size_t segments;
    wr_dtype dtype, output_dtype, accumulate_dtype;
    int log, wants_logsumexp, is_approximate, causal;
    wr_empty_row empty_row;
    int64_t causal_first;
    size_t causal_rows;
    double scale, tolerance;
    size_t outer, axis, inner, step;
} test_case;

/* A word's bits as f64. */
double double_of_word(uint64_t word);

/* 0 where the head is none that README.md describes. */
int parse_head(const char *head, size_t line, test_case *to);

/* An item of a part is a word, or `word*times`. 0 at the end of the part. */
int next_item(const char **text, uint64_t *word, size_t *times);

int is_blank(const char *text);

/* The type of the words that the file has: an element of an extension is four of them. */
wr_dtype word_dtype(wr_dtype dtype);

/* The input that a line's part describes, by its words or by a generator. */
image new_input(const test_case *of, wr_dtype dtype, size_t count, const char *text);

#endif
