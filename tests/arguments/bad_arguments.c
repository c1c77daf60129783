#include "arguments/bad_arguments.h"

#include "harness/harness.h"

#include <stdio.h>
#include <string.h>

enum { MOST_ARGUMENTS = 512 };

typedef union arguments {
    uint64_t aligned;
    unsigned char bytes[MOST_ARGUMENTS];
} arguments;

static arguments valid_arguments(const subject *of) {
    arguments made;
    memset(&made, 0, sizeof made);
    if (of->call.struct_size > sizeof made) {
        give_up("a struct is larger than thought");
    }
    of->put_valid(made.bytes);
    return made;
}

static void put_field(arguments *args, size_t field, size_t size, int64_t value) {
    const int32_t narrow = (int32_t)value;
    memcpy(args->bytes + field, size == sizeof narrow ? (const void *)&narrow : (const void *)&value, size);
}

static void put_address(arguments *args, size_t field, void *address) {
    memcpy(args->bytes + field, &address, sizeof address);
}

static void expect(const subject *of, refused_by by, wr_status status, const arguments *args, const char *label) {
    if (by == BY_NONE) {
        expect_call_allowed(&of->call, args->bytes, label);
    } else if (by == BY_QUERY_TOO) {
        expect_query_refused_too(&of->call, status, args->bytes, label);
    } else {
        expect_call_refused(&of->call, status, args->bytes, label);
    }
}

static arguments arguments_of(const subject *of, const bad_call *call) {
    arguments args = valid_arguments(of);
    size_t k;
    for (k = 0; k < MOST_SETTINGS && call->set[k].size != 0; ++k) {
        const setting *to = &call->set[k];
        if (to->is_address) {
            put_address(&args, to->field, at((size_t)to->value));
        } else {
            put_field(&args, to->field, to->size, to->value);
        }
    }
    return args;
}

void check_bad_calls(const subject *of, const bad_call *calls, size_t count) {
    size_t i;
    for (i = 0; i < count; ++i) {
        const arguments args = arguments_of(of, &calls[i]);
        expect(of, calls[i].by, calls[i].status, &args, calls[i].label);
    }
}

void check_allowed_query(const subject *of, const bad_call *call) {
    const arguments args = arguments_of(of, call);
    size_t bytes = 0;
    CHECK(of->call.query(args.bytes, &bytes) == WR_SUCCESS, "%s: the query", call->label);
}

void check_bad_values(const subject *of, size_t field, size_t size, const int64_t *values, size_t count,
                      wr_status status, const char *label) {
    size_t i;
    for (i = 0; i < count; ++i) {
        arguments args = valid_arguments(of);
        put_field(&args, field, size, values[i]);
        expect(of, BY_QUERY_TOO, status, &args, label);
    }
}

void check_valid_call(const subject *of, const size_t *pointers, size_t count) {
    arguments args = valid_arguments(of);
    size_t bytes = 12345, i, nowhere;
    expect_call_allowed(&of->call, args.bytes, "the call that the others are made from");
    CHECK(of->call.query(args.bytes, &bytes) == WR_SUCCESS && bytes != 12345, "its workspace query");
    for (nowhere = 0; nowhere < 2; ++nowhere) {
        for (i = 0; i < count; ++i) {
            put_address(&args, pointers[i], nowhere == 0 ? NULL : at(1));
        }
        CHECK(of->call.query(args.bytes, &bytes) == WR_SUCCESS, "a workspace query follows no pointer");
    }
    args = valid_arguments(of);
    check_struct_sizes(&of->call, args.bytes);
}

static int find_workspace(const subject *of, const workspace_fields *fields, arguments *args, size_t *bytes) {
    size_t axis;
    for (axis = 4096; axis <= (size_t)1 << 34; axis *= 4) {
        put_field(args, fields->axis, sizeof axis, (int64_t)axis);
        CHECK(of->call.query(args->bytes, bytes) == WR_SUCCESS, "query, axis %zu", axis);
        if (*bytes > 0) {
            return 1;
        }
    }
    return 0;
}

void check_workspaces(const subject *of, const workspace_fields *fields) {
    arguments args = valid_arguments(of);
    size_t bytes = 0, i;
    char *input = at(ARENA_INPUT), *output, *workspace;
    const uintptr_t apart = (uintptr_t)1 << 40;
    if (!find_workspace(of, fields, &args, &bytes)) {
        printf("no such call wants a workspace: there is none to refuse\n");
        return;
    }
    output = (char *)((uintptr_t)input + apart);
    workspace = (char *)((uintptr_t)input + 2 * apart);
    put_address(&args, fields->output, output);
    {
        const struct {
            wr_status status;
            char *workspace;
            size_t bytes;
            const char *label;
        } wrong[] = {{WR_ERROR_WORKSPACE_TOO_SMALL, workspace, bytes - 1, "a byte too few"},
                     {WR_ERROR_WORKSPACE_TOO_SMALL, workspace, 0, "a workspace of no bytes"},
                     {WR_ERROR_MISALIGNED, workspace + 8, bytes + 16, "a workspace aligned to 8 bytes"},
                     {WR_ERROR_OVERLAP, input, bytes, "the workspace is the input"},
                     {WR_ERROR_OVERLAP, output, bytes, "the workspace begins at the output"}};
        for (i = 0; i < COUNT_OF(wrong); ++i) {
            put_address(&args, fields->workspace, wrong[i].workspace);
            put_field(&args, fields->bytes, sizeof bytes, (int64_t)wrong[i].bytes);
            expect(of, BY_CALL, wrong[i].status, &args, wrong[i].label);
        }
    }
}
