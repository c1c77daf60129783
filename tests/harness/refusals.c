#include "harness/refusals.h"

#include "harness/harness.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Small f32 and f64 whatever is read, so that a call that is wrongly let through computes something else. */
static void fill_with_pattern(unsigned char *bytes) {
    size_t i;
    for (i = 0; i < ARENA_BYTES; ++i) {
        bytes[i] = (unsigned char)(0x30 + i % 13);
    }
}

arena around;

void *at(size_t offset) { return around.memory + offset; }

static void arena_open(const place *where) {
    around.where = where;
    around.memory = place_allocate(where, ARENA_BYTES);
    around.before = malloc(ARENA_BYTES);
    if (around.before == NULL) {
        give_up("no memory");
    }
    fill_with_pattern(around.before);
    arena_reset();
}

static void arena_close(void) {
    place_free(around.where, around.memory);
    free(around.before);
}

void arena_reset(void) { place_write(around.where, around.memory, around.before, ARENA_BYTES); }

int try_refusals(int argc, char **argv, void (*try_all)(void), const char *name) {
    size_t i;
    places_open(argc, argv);
    for (i = 0; i < place_count(); ++i) {
        arena_open(place_at(i));
        try_all();
        arena_close();
    }
    places_close();
    return check_report(name);
}

void expect_refusal(wr_status expected, wr_status got, const char *label) {
    unsigned char *after = malloc(ARENA_BYTES);
    if (after == NULL) {
        give_up("no memory");
    }
    place_read(around.where, around.memory, after, ARENA_BYTES);
    CHECK(got == expected, "%s on %s: %s (%d) instead of %s", label, around.where->name, wr_status_name(got), (int)got,
          wr_status_name(expected));
    CHECK(memcmp(after, around.before, ARENA_BYTES) == 0, "%s on %s: memory was written", label, around.where->name);
    free(after);
    arena_reset();
}

void expect_call_refused(const call_of_struct *call, wr_status expected, const void *args, const char *label) {
    expect_refusal(expected, call->run(args), label);
}

void expect_query_refused_too(const call_of_struct *call, wr_status expected, const void *args, const char *label) {
    size_t bytes = 12345;
    wr_status status = call->query(args, &bytes);
    CHECK(status == expected, "workspace size: %s: %s instead of %s", label, wr_status_name(status),
          wr_status_name(expected));
    CHECK(bytes == 12345, "workspace size: %s: the result was written", label);
    expect_call_refused(call, expected, args, label);
}

void expect_call_allowed(const call_of_struct *call, const void *args, const char *label) {
    wr_status status = call->run(args);
    CHECK(status == WR_SUCCESS, "%s: %s", label, wr_status_name(status));
    arena_reset();
}

void check_struct_sizes(const call_of_struct *call, const void *valid) {
    const size_t sizes[] = {
        0,    1,       8, call->struct_size - 24, call->struct_size - 1, call->struct_size + 1, call->struct_size + 8,
        4096, SIZE_MAX};
    void *args = malloc(call->struct_size);
    size_t i;
    if (args == NULL) {
        give_up("no memory");
    }
    expect_query_refused_too(call, WR_ERROR_NULL_POINTER, NULL, "args is NULL");
    CHECK(call->query(valid, NULL) == WR_ERROR_NULL_POINTER, "query, bytes is NULL");
    for (i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        memcpy(args, valid, call->struct_size);
        memcpy(args, &sizes[i], sizeof sizes[i]);
        expect_query_refused_too(call, WR_ERROR_STRUCT_SIZE, args, "struct_size");
    }
    free(args);
}
