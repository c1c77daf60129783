/* Each way of calling a function wrongly is refused with the status of its cause, and nothing is written. */
#include "arguments/bad_arguments.h"
#include "harness/harness.h"
#include "harness/header_offers.h"
#include "harness/jobs.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ARGUMENTS = 512, LONGEST_SETTINGS = 512, LONGEST_LABEL = 1100, MOST_IN_ARENA = 4 };

/* A call while its settings are read. */
typedef struct attempt {
    const function *of;
    outcome what;
    wr_status status;
    const char *settings; /* all of them */
    size_t needed;        /* the workspace that the query wanted when it was last asked */
    union {
        uint64_t aligned;
        unsigned char bytes[MOST_ARGUMENTS];
    } args;
} attempt;

static void give_up_at(const char *what, const char *where) {
    fprintf(stderr, "%s: '%s'\n", what, where);
    give_up("the table cannot be read");
}

/* ---- settings */

static int is_word(const char *text, size_t length, const char *word) {
    return strlen(word) == length && memcmp(text, word, length) == 0;
}

static size_t ask_workspace(const attempt *of) {
    size_t bytes = 0;
    CHECK(of->of->call.query(of->args.bytes, &bytes) == WR_SUCCESS, "%s: the query: %s", of->of->name, of->settings);
    return bytes;
}

/* The least length, of some, so that a workspace is wanted; the largest where none is. */
static int64_t least_long(const attempt *of, const field *length) {
    attempt tried = *of;
    int64_t elements;
    for (elements = 4096; elements < (int64_t)1 << 34; elements *= 4) {
        memcpy(tried.args.bytes + length->at, &elements, sizeof elements);
        if (ask_workspace(&tried) > 0) {
            break;
        }
    }
    return elements;
}

static int64_t word_value(attempt *of, const field *to, const char *text, size_t length) {
    int i;
    for (i = WR_F32; i <= LAST_DTYPE; ++i) {
        if (is_word(text, length, dtype_name((wr_dtype)i))) {
            return i;
        }
    }
    for (i = WR_SUM; i <= LAST_OP; ++i) {
        if (is_word(text, length, op_name((wr_op)i))) {
            return i;
        }
    }
    if (is_word(text, length, "needed")) {
        of->needed = ask_workspace(of);
        return (int64_t)of->needed;
    }
    if (!is_word(text, length, "long")) {
        give_up_at("no value", text);
    }
    return least_long(of, to);
}

/* Of an address from `@` on: what part of the arena it begins with. */
static size_t part_of_arena(char letter) {
    return letter == 'o' ? ARENA_OUTPUT : letter == 'x' ? ARENA_EXTRA : letter == 'w' ? ARENA_WORKSPACE : ARENA_INPUT;
}

static int64_t number_value(const char *text, char **end) {
    const uint64_t number = strtoull(text, end, 10);
    return (int64_t)(**end == '^' ? (uint64_t)1 << strtoull(*end + 1, end, 10) : number);
}

/* A value up to the character that ends it: a sum. */
static int64_t value_of(attempt *of, const field *to, const char *text, const char **end) {
    uint64_t sum = 0;
    if (*text == '@') {
        sum = (uint64_t)(uintptr_t)at(part_of_arena(*++text));
        text += *text != '\0' && strchr("ioxw", *text) != NULL;
    }
    while (*text != '\0' && strchr(" ,/]", *text) == NULL) {
        const int negative = *text == '-';
        const size_t length = strcspn(text += negative || *text == '+', " ,/]+-");
        char *behind = (char *)text + length;
        const uint64_t term =
            (uint64_t)(*text >= '0' && *text <= '9' ? number_value(text, &behind) : word_value(of, to, text, length));
        sum += negative ? 0 - term : term;
        text = behind;
    }
    *end = text;
    return (int64_t)sum;
}

static const field *find_field(const attempt *of, const char *text, size_t length) {
    const field *each = of->of->fields;
    while (each->name != NULL && !is_word(text, length, each->name)) {
        ++each;
    }
    if (each->name == NULL) {
        give_up_at(of->of->name, text);
    }
    return each;
}

/* `@w]=1/5`: what lies in the arena, and is to be left alone as well. */
static const char *put_into_arena(attempt *of, const char *text) {
    int64_t numbers[MOST_IN_ARENA];
    size_t count = 0;
    const size_t offset = (size_t)((unsigned char *)(uintptr_t)value_of(of, NULL, text, &text) - around.memory);
    for (++text; *text == '=' || *text == '/';) {
        numbers[count++] = value_of(of, NULL, text + 1, &text);
    }
    if (memcmp(around.before + offset, numbers, count * sizeof *numbers) != 0) {
        memcpy(around.before + offset, numbers, count * sizeof *numbers);
        arena_reset();
    }
    return text;
}

static const char *put_value(attempt *of, const field *to, const char *text) {
    if (strcmp(to->name, "scale") == 0) {
        char *end;
        const double number = strtod(text, &end);
        memcpy(of->args.bytes + to->at, &number, sizeof number);
        return end;
    } else {
        const char *end;
        const int64_t number = value_of(of, to, text, &end);
        const int32_t narrow = (int32_t)number;
        memcpy(of->args.bytes + to->at, to->size == 4 ? (const void *)&narrow : (const void *)&number, to->size);
        return end;
    }
}

/* ---- calls */

static void expect(const attempt *of) {
    char label[LONGEST_LABEL];
    const call_of_struct *call = &of->of->call;
    size_t bytes = 12345;
    snprintf(label, sizeof label, "%s: %s", of->of->name, of->settings);
    if (of->what == ASKED) {
        CHECK(call->query(of->args.bytes, &bytes) == WR_SUCCESS && bytes != 12345, "%s: the query", label);
    } else if (of->what == SIZED) {
        check_struct_sizes(call, of->args.bytes);
    } else if (of->what == FINE || (of->what == HOST && of->status == WR_SUCCESS)) {
        expect_call_allowed(call, of->args.bytes, label);
    } else if (of->what == QUERY && call->query != NULL) {
        expect_query_refused_too(call, of->status, of->args.bytes, label);
    } else if (of->what != NEEDED || of->needed > 0) {
        expect_call_refused(call, of->status, of->args.bytes, label);
    } else {
        CHECK(!around.where->on_gpu, "%s: no workspace is needed", label);
    }
}

/* Reads settings from here on, and tries the call with each value of those that have several. */
static void try_settings(attempt of, const char *text) {
    for (text += strspn(text, " "); *text != '\0'; text += strspn(text, " ")) {
        if (*text == '[') {
            text = put_into_arena(&of, text + 1);
        } else {
            const size_t length = strcspn(text, "=");
            const field *to = find_field(&of, text, length);
            const char *rest = text + strcspn(text, " ");
            for (text = put_value(&of, to, text + length + 1); *text == ','; text = put_value(&of, to, text + 1)) {
                try_settings(of, rest);
            }
        }
    }
    expect(&of);
}

static void try_call(const function *of, outcome what, wr_status status, const char *settings) {
    char all[2 * LONGEST_SETTINGS];
    const size_t struct_size = of->call.struct_size;
    attempt made = {of, what, status, settings, 0, {0}};
    memcpy(made.args.bytes, &struct_size, sizeof struct_size);
    snprintf(all, sizeof all, "%s %s", of->valid, settings);
    try_settings(made, all);
}

/* `p : x | y` is `p x`, then `p y`. */
static void try_row(const function *of, const bad_call *row) {
    const char *colon = strchr(row->settings, ':'), *each = colon == NULL ? row->settings : colon + 1;
    const int common = colon == NULL ? 0 : (int)(colon - row->settings);
    for (;;) {
        const size_t length = strcspn(each, "|");
        char settings[LONGEST_SETTINGS];
        snprintf(settings, sizeof settings, "%.*s%.*s", common, row->settings, (int)length, each);
        try_call(of, row->what, row->status, settings);
        if (each[length] == '\0') {
            return;
        }
        each += length + 1;
    }
}

static void try_everywhere(const bad_call *row) {
    int k;
    for (k = 0; k < FUNCTIONS; ++k) {
        if ((row->of >> k & 1) && !(row->what == HOST && around.where->on_gpu)) {
            try_row(&functions[k], row);
        }
    }
}

/* ---- of the header's tables: queries take what they list, and all else is refused */

static void check_offer(int of, int offered, const char *format, ...) {
    char settings[LONGEST_SETTINGS];
    bad_call row = {of, offered ? ASKED : QUERY, offered ? WR_SUCCESS : WR_ERROR_UNSUPPORTED, settings};
    va_list values;
    va_start(values, format);
    vsnprintf(settings, sizeof settings, format, values);
    va_end(values);
    try_everywhere(&row);
}

static int contains(type_list list, int dtype) {
    size_t i;
    for (i = 0; i < list.count && (int)list.types[i] != dtype; ++i) {
    }
    return i < list.count;
}

static void check_operator(wr_op op, wr_dtype dtype) {
    const int output_of_integers = op == WR_MEAN || op == WR_NORM_L2 ? WR_F32 : 0;
    const type_list outputs = offered_outputs(op, dtype);
    int output;
    for (output = 0; output <= LAST_DTYPE; ++output) {
        const int offered = output == 0 ? has_default_output(op, dtype) : is_offered(op, dtype, (wr_dtype)output);
        check_offer(REDUCE, offered, "op=%d dtype=%d output_dtype=%d", op, dtype, output);
        if (output == 0 && !offered) {
            check_offer(REDUCE_SHORT, 0, "op=%d dtype=%d", op, dtype);
        }
        if (output != 0) {
            check_offer(SEGMENTS, offered && is_offered_in_pieces(op), "op=%d dtype=%d output_dtype=%d", op, dtype,
                        output);
        }
    }
    if (outputs.count != 0) {
        check_offer(REDUCE, takes_add_to_output(op), "op=%d dtype=%d output_dtype=%d add_to_output=1", op, dtype,
                    outputs.types[0]);
    }
    if (dtype == WR_I32 && op != WR_SUM) {
        check_offer(REDUCE, 0, "op=%d dtype=i32 output_dtype=%d weights=@x", op, output_of_integers);
    }
    if (dtype == WR_I32 && op != WR_ARGMIN && op != WR_ARGMAX) {
        check_offer(REDUCE, 0, "op=%d dtype=i32 output_dtype=%d values=@x", op, output_of_integers);
    }
}

/* Weights, and the other vector of a dot product. */
static void check_pair(wr_dtype dtype, wr_dtype other) {
    const int is_pair = contains(offered_weights(dtype), other), is_own = contains(offered_weights(dtype), dtype);
    check_offer(REDUCE, is_pair, "dtype=%d weights_dtype=%d weights=@x", dtype, other);
    check_offer(DOT, is_pair && contains(offered_weighted_outputs(dtype, other), dtype),
                "dtype=%d right_dtype=%d output_dtype=%d", dtype, other, dtype);
    check_offer(DOT, is_own && contains(offered_weighted_outputs(dtype, dtype), other),
                "dtype=%d right_dtype=%d output_dtype=%d", dtype, dtype, other);
}

static void check_offers(void) {
    int op, dtype, other;
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        check_offer(SEGMENTS, dtype == WR_I32 || dtype == WR_I64, "offsets_dtype=%d", dtype);
        for (op = WR_SUM; op <= LAST_OP; ++op) {
            check_operator((wr_op)op, (wr_dtype)dtype);
        }
        for (other = WR_F32; other <= LAST_DTYPE; ++other) {
            check_pair((wr_dtype)dtype, (wr_dtype)other);
        }
    }
    for (op = WR_SUM; op <= LAST_OP; ++op) {
        check_offer(DOT, op == WR_SUM || op == WR_DOT_EXACT, "op=%d", op);
    }
}

/* ---- what no row says */

static void expect_three(wr_status status, float first, int others_are_zero, const char *label) {
    float sums[3];
    place_read(around.where, at(ARENA_OUTPUT), sums, sizeof sums);
    CHECK(status == WR_SUCCESS && sums[0] == first, "%s: %a", label, (double)sums[0]);
    CHECK((sums[1] == 0.0f) == others_are_zero && (sums[2] == 0.0f) == others_are_zero, "%s: the others", label);
    arena_reset();
}

static void check_sums_of_nothing(void) {
    struct CUstream_st *stream = around.where->stream;
    const int64_t offsets[] = {0, 0, 3, 8};
    memcpy(around.before + ARENA_EXTRA, offsets, sizeof offsets);
    arena_reset();
    expect_three(wr_reduce(WR_SUM, WR_F32, NULL, at(ARENA_OUTPUT), 3, 0, 1, stream), 0, 1, "an empty axis");
    expect_three(wr_dot(WR_F32, NULL, NULL, at(ARENA_OUTPUT), 0, stream), 0, 0, "the dot product of nothing");
    expect_three(wr_reduce_segments(WR_SUM, WR_F32, at(ARENA_INPUT), at(ARENA_OUTPUT), at(ARENA_EXTRA), 3, stream), 0,
                 0, "an empty segment and others");
}

static void check_all(void) {
    struct CUstream_st *stream = around.where->stream;
    size_t i;
    for (i = 0; i < bad_call_count; ++i) {
        try_everywhere(&bad_calls[i]);
    }
    check_offers();
    check_sums_of_nothing();
    expect_refusal(WR_ERROR_NULL_POINTER, wr_softmax_state(NULL, 0, at(0), 2048, NULL, stream), "the state of NULL");
    expect_refusal(WR_ERROR_NULL_POINTER, wr_softmax_from_state(NULL, 0, 1, at(0), NULL, NULL, NULL, stream),
                   "outputs of NULL");
}

int main(int argc, char **argv) { return try_refusals(argc, argv, check_all, "every_bad_argument_has_its_code"); }
