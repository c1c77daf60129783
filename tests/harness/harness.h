/* Counting checks: a test program says CHECK as often as it likes and returns check_report() from main. */
#ifndef WARP_REDUCE_TESTS_HARNESS_H
#define WARP_REDUCE_TESTS_HARNESS_H

/* The exit status by which CTest knows that a test was not run. */
enum { EXIT_NOT_RUN = 77 };

void check_passed(void);

#if defined(__GNUC__)
__attribute__((format(printf, 3, 4)))
#endif
void check_failed(const char *file, int line, const char *format, ...);

/* A failed check is printed with what the format says about the case, and the program goes on. */
#define CHECK(condition, ...) ((condition) ? check_passed() : check_failed(__FILE__, __LINE__, __VA_ARGS__))

/* Prints the tally and returns main's exit status. A program that checked nothing has failed. */
int check_report(const char *program);

/* For what has nothing to do with the library: no memory, a CUDA call of the test's own that fails. */
#if defined(__GNUC__)
__attribute__((noreturn))
#endif
void give_up(const char *reason);

#endif
