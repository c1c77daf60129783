#include "harness/guarded_calls.h"

#include "harness/harness.h"
#include "harness/jobs.h"
#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { MOST_BYTES = GUARDED_ELEMENTS * 16, OLD_OUTPUT = 0x3C };

typedef enum guard_side { GUARD_BEFORE, GUARD_BEHIND, GUARD_SIDES } guard_side;

/* Pages for one array of a call, between two that are closed. */
typedef struct guarded_pages {
    unsigned char *mapped;
    size_t bytes;
} guarded_pages;

static guarded_pages pages[GUARDED_ARRAYS];
static unsigned char *first_results[GUARDED_ARRAYS];
static unsigned char *elements[LAST_DTYPE + 1];

/* What the program is doing. */
static char doing[GUARDED_LABEL_BYTES];

static size_t page_bytes(void) { return (size_t)sysconf(_SC_PAGESIZE); }

static guarded_pages pages_new(size_t bytes) {
    guarded_pages made;
    const size_t page = page_bytes();
    const int zeros = open("/dev/zero", O_RDWR);
    void *mapped;
    made.bytes = (bytes + page - 1) / page * page;
    mapped = zeros < 0 ? MAP_FAILED : mmap(NULL, made.bytes + 2 * page, PROT_NONE, MAP_PRIVATE, zeros, 0);
    if (mapped == MAP_FAILED || mprotect((unsigned char *)mapped + page, made.bytes, PROT_READ | PROT_WRITE) != 0) {
        give_up("no pages");
    }
    close(zeros);
    made.mapped = mapped;
    return made;
}

static void pages_free(guarded_pages *of) {
    munmap(of->mapped, of->bytes + 2 * page_bytes());
    of->mapped = NULL;
}

/* What lies beside the array on its other side is filled with `filling`. */
static unsigned char *array_at(const guarded_pages *in, size_t bytes, guard_side side, unsigned char filling) {
    unsigned char *first = in->mapped + page_bytes(), *end = first + in->bytes, *array;
    size_t beside;
    if (bytes > in->bytes) {
        give_up("an array larger than its pages");
    }
    beside = in->bytes - bytes < page_bytes() ? in->bytes - bytes : page_bytes();
    array = side == GUARD_BEFORE ? first : end - bytes;
    memset(side == GUARD_BEFORE ? array + bytes : array - beside, filling, beside);
    return array;
}

static void say_and_end(int signal_number) {
    static const char beyond[] = ": beyond an array\n";
    const size_t length = strlen(doing);
    (void)signal_number;
    if (write(STDOUT_FILENO, doing, length) < 0 || write(STDOUT_FILENO, beyond, sizeof beyond - 1) < 0) {
        _exit(EXIT_FAILURE);
    }
    _exit(EXIT_FAILURE);
}

static void catch_faults(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = say_and_end;
    sigemptyset(&action.sa_mask);
    sigaction(SIGSEGV, &action, NULL);
    sigaction(SIGBUS, &action, NULL);
}

void guarded_calls_open(void) {
    int dtype;
    size_t i;
    for (i = 0; i < GUARDED_ARRAYS; ++i) {
        pages[i] = pages_new(MOST_BYTES);
        first_results[i] = malloc(MOST_BYTES);
        if (first_results[i] == NULL) {
            give_up("no memory");
        }
    }
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        elements[dtype] = malloc(MOST_BYTES);
        if (elements[dtype] == NULL) {
            give_up("no memory");
        }
        fill_random((wr_dtype)dtype, DATA_UNIFORM, (uint64_t)dtype, elements[dtype], GUARDED_ELEMENTS);
    }
    catch_faults();
}

void guarded_calls_close(void) {
    int dtype;
    size_t i;
    for (i = 0; i < GUARDED_ARRAYS; ++i) {
        pages_free(&pages[i]);
        free(first_results[i]);
    }
    for (dtype = WR_F32; dtype <= LAST_DTYPE; ++dtype) {
        free(elements[dtype]);
    }
}

const void *guarded_elements(wr_dtype dtype) { return elements[dtype]; }

void check_guarded_call(guarded_call *run, const void *call, const guarded_array *arrays, size_t count,
                        const char *label) {
    unsigned char *at[GUARDED_ARRAYS] = {NULL};
    int side;
    size_t i;
    snprintf(doing, sizeof doing, "%s", label);
    for (side = 0; side < GUARD_SIDES; ++side) {
        wr_status status;
        for (i = 0; i < count; ++i) {
            at[i] = array_at(&pages[i], arrays[i].bytes, (guard_side)side, side == 0 ? 0x7F : 0xFF);
            if (arrays[i].content != NULL) {
                memcpy(at[i], arrays[i].content, arrays[i].bytes);
            } else {
                memset(at[i], OLD_OUTPUT, arrays[i].bytes);
            }
        }
        status = run(call, at);
        CHECK(status == WR_SUCCESS, "%s: %s", label, wr_status_name(status));
        for (i = 0; i < count; ++i) {
            if (arrays[i].content == NULL && side == 0) {
                memcpy(first_results[i], at[i], arrays[i].bytes);
            } else if (arrays[i].content == NULL) {
                CHECK(memcmp(first_results[i], at[i], arrays[i].bytes) == 0,
                      "%s: what lies beside the arrays is in the result", label);
            }
        }
    }
}

static const size_t lengths[] = {0,   1,   2,   3,   4,   5,   6,   7,   8,   9,    10,   11,  12,  13,
                                 14,  15,  16,  17,  18,  19,  23,  24,  25,  31,   32,   33,  34,  47,
                                 48,  49,  63,  64,  65,  66,  95,  96,  97,  100,  111,  127, 128, 129,
                                 130, 143, 255, 256, 257, 259, 300, 511, 513, 1023, 1025, 2049};
enum { LENGTHS = sizeof lengths / sizeof *lengths };

static const size_t widths[] = {2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 65};
enum { WIDTHS = sizeof widths / sizeof *widths };
static const size_t heights[] = {1, 2, 3, 5, 8, 9, 17, 33};
enum { HEIGHTS = sizeof heights / sizeof *heights };

enum { ROW_SHAPES = LENGTHS * 2, COLUMN_SHAPES = WIDTHS * HEIGHTS, SHAPES = ROW_SHAPES + COLUMN_SHAPES + 2 };

shape guarded_shape(size_t index) {
    static const shape others[] = {{4, 9, 3}, {1, 4100, 3}};
    shape of = {index % 2 == 0 ? 1 : 3, 0, 1};
    if (index < ROW_SHAPES) {
        of.axis = lengths[index / 2];
        return of;
    }
    index -= ROW_SHAPES;
    if (index < COLUMN_SHAPES) {
        of.outer = index % 3 == 0 ? 2 : 1;
        of.axis = heights[index / WIDTHS];
        of.inner = widths[index % WIDTHS];
        return of;
    }
    return others[index - COLUMN_SHAPES];
}

size_t guarded_shapes(void) { return SHAPES; }

size_t guarded_lengths(void) { return LENGTHS; }

size_t guarded_length(size_t index) { return lengths[index]; }

size_t elements_of(shape of) { return of.outer * of.axis * of.inner; }

strides guarded_strides(shape of, int layout) {
    const ptrdiff_t inner = (ptrdiff_t)of.inner, row = (ptrdiff_t)(of.axis * of.inner);
    const strides all[GUARDED_LAYOUTS] = {
        {row, inner, 1}, {3 * row + 1, 3 * inner, 3}, {-row - 2, -inner, -1}, {2 + row, 1, (ptrdiff_t)of.axis}};
    return all[layout];
}

size_t extent_of(shape of, strides by, size_t *origin) {
    const size_t sizes[] = {of.outer, of.axis, of.inner};
    const ptrdiff_t steps[] = {by.outer, by.axis, by.inner};
    size_t extent = 1, i;
    *origin = 0;
    if (elements_of(of) == 0) {
        return 0;
    }
    for (i = 0; i < 3; ++i) {
        size_t reach = (sizes[i] - 1) * (size_t)(steps[i] < 0 ? -steps[i] : steps[i]);
        extent += reach;
        *origin += steps[i] < 0 ? reach : 0;
    }
    return extent;
}

void describe_guarded(char *text, const char *call, const char *op, wr_dtype dtype, shape of, int variant) {
    snprintf(text, GUARDED_LABEL_BYTES, "%s %s of %s, [%zu][%zu][%zu], variant %d", call, op, dtype_name(dtype),
             of.outer, of.axis, of.inner, variant);
}
