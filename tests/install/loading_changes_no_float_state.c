/* Opening the library, calling it and closing it leave the thread's floating-point state as it is: rounding, flush to
 * zero and precision are those of the program, whatever flags the library was built with. */
#define _GNU_SOURCE
#include <warp_reduce.h>

#include <dlfcn.h>
#include <fenv.h>
#include <float.h>
#include <stdio.h>
#include <string.h>

typedef struct {
    unsigned long vector_control; /* MXCSR or FPCR */
    unsigned short x87_control;
} State;

static State state_of_this_thread(void) {
    State state = {0, 0};
#if defined(__x86_64__)
    unsigned mxcsr;
    __asm__ volatile("stmxcsr %0" : "=m"(mxcsr));
    __asm__ volatile("fnstcw %0" : "=m"(state.x87_control));
    state.vector_control = mxcsr;
#elif defined(__aarch64__)
    __asm__ volatile("mrs %0, fpcr" : "=r"(state.vector_control));
#else
    state.vector_control = (unsigned long)fegetround();
#endif
    return state;
}

static int failures;

static void expect_state(State expected, const char *when) {
    const State now = state_of_this_thread();
    if (now.vector_control != expected.vector_control || now.x87_control != expected.x87_control) {
        printf("%s: %lx and %x, before %lx and %x\n", when, now.vector_control, (unsigned)now.x87_control,
               expected.vector_control, (unsigned)expected.x87_control);
        ++failures;
    }
}

typedef wr_status ReduceFunction(wr_op, wr_dtype, const void *, void *, size_t, size_t, size_t, struct CUstream_st *);
typedef struct CUstream_st *HostStreamFunction(void);

/* Subnormals that flush-to-zero would lose, in an array that is large enough for several threads. */
static void expect_a_sum_of_subnormals(void *library) {
    static float values[1 << 20];
    ReduceFunction *reduce;
    HostStreamFunction *host_stream;
    float sum = 0.0f;
    size_t i;
    void *symbol = dlsym(library, "wr_reduce");
    memcpy(&reduce, &symbol, sizeof reduce);
    symbol = dlsym(library, "wr_host_stream");
    memcpy(&host_stream, &symbol, sizeof host_stream);
    for (i = 0; i < 1 << 20; ++i) {
        values[i] = FLT_MIN / 4;
    }
    if (reduce(WR_SUM, WR_F32, values, &sum, 1, 1 << 20, 1, host_stream()) != WR_SUCCESS ||
        sum != FLT_MIN * (1 << 18)) {
        printf("2^20 times a quarter of the smallest normal number: %g\n", (double)sum);
        ++failures;
    }
}

int main(int argument_count, char **arguments) {
    const State before = state_of_this_thread();
    void *library = argument_count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        puts("the one argument is the library's path");
        return 1;
    }
    expect_state(before, "opened");
    expect_a_sum_of_subnormals(library);
    /* The flags that a call may raise are not part of the state that programs set. */
    feclearexcept(FE_ALL_EXCEPT);
    expect_state(before, "called");
    dlclose(library);
    expect_state(before, "closed");
    return failures != 0;
}
