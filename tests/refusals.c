#include "refusals.h"

#include "harness.h"

#include <stdlib.h>
#include <string.h>

/* Small f32 and f64 whatever is read, so that a call that is wrongly let through computes something else. */
static void fill_with_pattern(unsigned char *bytes) {
    size_t i;
    for (i = 0; i < ARENA_BYTES; ++i) {
        bytes[i] = (unsigned char)(0x30 + i % 13);
    }
}

arena arena_new(const place *where) {
    arena made;
    made.where = where;
    made.memory = place_allocate(where, ARENA_BYTES);
    made.before = malloc(ARENA_BYTES);
    if (made.before == NULL) {
        give_up("no memory");
    }
    fill_with_pattern(made.before);
    arena_reset(&made);
    return made;
}

void arena_free(arena *used) {
    place_free(used->where, used->memory);
    free(used->before);
}

void arena_reset(const arena *used) { place_write(used->where, used->memory, used->before, ARENA_BYTES); }

void expect_refusal(const arena *around, wr_status expected, wr_status got, const char *label) {
    unsigned char *after = malloc(ARENA_BYTES);
    if (after == NULL) {
        give_up("no memory");
    }
    place_read(around->where, around->memory, after, ARENA_BYTES);
    CHECK(got == expected, "%s on %s: %s (%d) instead of %s", label, around->where->name, wr_status_name(got), (int)got,
          wr_status_name(expected));
    CHECK(memcmp(after, around->before, ARENA_BYTES) == 0, "%s on %s: memory was written", label, around->where->name);
    free(after);
    arena_reset(around);
}
