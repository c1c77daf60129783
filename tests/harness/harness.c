#include "harness/harness.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

/* A broken kernel fails every case; the first few say enough. */
enum { FAILURES_PRINTED = 25 };

static unsigned long passed;
static unsigned long failed;

void check_passed(void) { ++passed; }

void check_failed(const char *file, int line, const char *format, ...) {
    va_list arguments;
    if (++failed > FAILURES_PRINTED) {
        return;
    }
    printf("%s:%d: ", file, line);
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n");
}

int check_report(const char *program) {
    printf("%s: %lu checks passed, %lu failed\n", program, passed, failed);
    if (passed == 0 && failed == 0) {
        printf("a test that checks nothing has failed\n");
        return EXIT_FAILURE;
    }
    return failed == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}

void give_up(const char *reason) {
    printf("the test itself cannot go on: %s\n", reason);
    fflush(stdout);
    exit(2);
}
