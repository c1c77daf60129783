/*
 * Calls that are refused, as tables: each is a call that would succeed but for what is set, the status that it must
 * have, and whether its workspace query, which follows no pointer, must refuse it too.
 */
#ifndef WARP_REDUCE_TESTS_BAD_ARGUMENTS_H
#define WARP_REDUCE_TESTS_BAD_ARGUMENTS_H

#include "harness/refusals.h"
#include "warp_reduce.h"

#include <stddef.h>
#include <stdint.h>

/* What a field is set to: a number of the field's size, or the address of a byte of the arena. */
typedef struct setting {
    size_t field, size;
    int is_address;
    int64_t value;
} setting;

#define FIELD(type, name) offsetof(type, name), sizeof(((type *)0)->name)
#define SET(type, name, to) {FIELD(type, name), 0, (int64_t)(to)}
#define AT(type, name, byte) {FIELD(type, name), 1, (byte)}

typedef enum refused_by { BY_CALL, BY_QUERY_TOO, BY_NONE /* it is allowed */ } refused_by;

enum { MOST_SETTINGS = 12 };

typedef struct bad_call {
    refused_by by;
    wr_status status;
    const char *label;
    setting set[MOST_SETTINGS]; /* of size 0: no more */
} bad_call;

/* Rows of such a table. */
#define CALL(status, label, ...)                                                                                       \
    {                                                                                                                  \
        BY_CALL, WR_ERROR_##status, label, { __VA_ARGS__ }                                                             \
    }
#define QUERY(status, label, ...)                                                                                      \
    {                                                                                                                  \
        BY_QUERY_TOO, WR_ERROR_##status, label, { __VA_ARGS__ }                                                        \
    }
#define FINE(label, ...)                                                                                               \
    {                                                                                                                  \
        BY_NONE, WR_SUCCESS, label, { __VA_ARGS__ }                                                                    \
    }
#define TWO_TO(n) ((int64_t)1 << (n))

/* A struct of arguments that is valid where the arena is, and how it is called. */
typedef struct subject {
    call_of_struct call;
    void (*put_valid)(void *args);
} subject;

void check_bad_calls(const subject *of, const bad_call *calls, size_t count);

/* The query takes the call as it is set. */
void check_allowed_query(const subject *of, const bad_call *call);

/* One field with each of the values in turn. */
void check_bad_values(const subject *of, size_t field, size_t size, const int64_t *values, size_t count,
                      wr_status status, const char *label);

/* The valid call succeeds, its query too, with pointers that lead nowhere as well, and every other size is refused. */
void check_valid_call(const subject *of, const size_t *pointers, size_t count);

/*
 * The smallest job of that many elements, which `axis` numbers, that wants a workspace: it is refused before memory is
 * looked at where that is too small, misaligned or over other arrays. Prints a line where there is none.
 */
typedef struct workspace_fields {
    size_t axis, input, output, workspace, bytes;
} workspace_fields;
void check_workspaces(const subject *of, const workspace_fields *fields);

/* What the program consists of. */
void check_bad_reductions(void);
void check_bad_dots(void);
void check_bad_segments(void);
void check_bad_softmax(void);
void check_bad_gradients(void);
void check_bad_states(void);
void check_bad_tiles(void);

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

#endif
