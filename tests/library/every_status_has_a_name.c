/* Each status has its own name, spelled as in the header, and a sentence; what is no status has something to say too.
 */
#include "harness/harness.h"
#include "warp_reduce.h"

#include <stddef.h>
#include <string.h>

static const char *const names[] = {
    "WR_SUCCESS",
    "WR_ERROR_NULL_POINTER",
    "WR_ERROR_INVALID_OP",
    "WR_ERROR_INVALID_DTYPE",
    "WR_ERROR_INVALID_OPTION",
    "WR_ERROR_UNSUPPORTED",
    "WR_ERROR_SIZE_OVERFLOW",
    "WR_ERROR_MISALIGNED",
    "WR_ERROR_OVERLAP",
    "WR_ERROR_WORKSPACE_TOO_SMALL",
    "WR_ERROR_STRUCT_SIZE",
    "WR_ERROR_OUT_OF_MEMORY",
    "WR_ERROR_NO_DRIVER",
    "WR_ERROR_NO_DEVICE",
    "WR_ERROR_NO_KERNEL",
    "WR_ERROR_NO_CUDA",
    "WR_ERROR_INTERNAL",
    "WR_ERROR_INVALID_OFFSETS",
    "WR_ERROR_INVALID_STATE",
    "WR_ERROR_STATE_MISMATCH",
    "WR_ERROR_NOT_NEIGHBOUR",
    "WR_ERROR_NO_NCCL",
    "WR_ERROR_NCCL_FAILED",
};
enum { STATUSES = sizeof names / sizeof *names };

/* A missing string must fail a check, not end the program. */
static const char *text(const char *string) { return string != NULL ? string : ""; }

static void check_own_statuses(void) {
    int i, j;
    for (i = 0; i < STATUSES; ++i) {
        const char *name = wr_status_name((wr_status)i), *sentence = text(wr_status_string((wr_status)i));
        CHECK(strcmp(text(name), names[i]) == 0, "status %d is called %s", i, text(name));
        CHECK(strlen(sentence) > 4, "status %d has no sentence", i);
        CHECK(name == wr_status_name((wr_status)i), "the name of status %d is not one static string", i);
        for (j = 0; j < i; ++j) {
            CHECK(strcmp(sentence, text(wr_status_string((wr_status)j))) != 0, "statuses %d and %d say the same", i, j);
        }
    }
}

static void check_other_values(void) {
    static const int others[] = {STATUSES, 999, -1, -2147483647 - 1, 1000, 1001, 1002, 1999, 65536, 0x7FFFFFFF};
    size_t i;
    for (i = 0; i < sizeof others / sizeof *others; ++i) {
        const char *name = wr_status_name((wr_status)others[i]), *sentence = wr_status_string((wr_status)others[i]);
        CHECK(name != NULL && name[0] != '\0', "status %d has no name", others[i]);
        CHECK(sentence != NULL && sentence[0] != '\0', "status %d has no sentence", others[i]);
        CHECK(name == NULL || strcmp(name, "WR_SUCCESS") != 0, "status %d looks like success", others[i]);
    }
}

static void check_dtype_sizes(void) {
    static const size_t sizes[] = {0, 4, 8, 2, 2, 1, 1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 4, 4, 8, 16, 16, 0};
    int i;
    for (i = 0; i < (int)(sizeof sizes / sizeof *sizes); ++i) {
        CHECK(wr_dtype_size((wr_dtype)i) == sizes[i], "element type %d has %zu bytes", i, wr_dtype_size((wr_dtype)i));
    }
    CHECK(wr_dtype_size((wr_dtype)-1) == 0, "element type -1");
    CHECK(wr_dtype_size((wr_dtype)999) == 0, "element type 999");
    CHECK(wr_dtype_size(WR_DTYPE_FORCE_INT32) == 0, "the value that widens the enum");
}

static void check_version_and_stream(void) {
    CHECK(wr_version() == WARP_REDUCE_TESTS_VERSION, "version %#x, built as %#x", (unsigned)wr_version(),
          (unsigned)WARP_REDUCE_TESTS_VERSION);
    CHECK(wr_host_stream() != NULL, "the host stream is NULL");
    CHECK(wr_host_stream() == wr_host_stream(), "the host stream changes");
    /* CUDA's own special handles */
    CHECK((uintptr_t)wr_host_stream() > 2, "the host stream is a stream of CUDA");
}

int main(void) {
    check_own_statuses();
    check_other_values();
    check_dtype_sizes();
    check_version_and_stream();
    return check_report("every_status_has_a_name");
}
