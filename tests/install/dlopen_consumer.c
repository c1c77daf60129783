/* Opens the library whose path is given, as an embedder without a linker does, and sums on the host device. */
#include <warp_reduce.h>

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

typedef wr_status reduce_function(wr_op, wr_dtype, const void *, void *, size_t, size_t, size_t, struct CUstream_st *);
typedef struct CUstream_st *host_stream_function(void);

int main(int argument_count, char **arguments) {
    const double values[3] = {0.5, 0.25, 0.125};
    double sum = 0;
    reduce_function *reduce = NULL;
    host_stream_function *host_stream = NULL;
    void *library = argument_count == 2 ? dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL) : NULL;
    if (library == NULL) {
        fprintf(stderr, "%s\n", argument_count == 2 ? dlerror() : "usage: dlopen_consumer LIBRARY");
        return 1;
    }
    /* The address of a function is copied as bytes: ISO C has no cast from an object pointer. */
    {
        void *symbol = dlsym(library, "wr_reduce");
        memcpy(&reduce, &symbol, sizeof reduce);
        symbol = dlsym(library, "wr_host_stream");
        memcpy(&host_stream, &symbol, sizeof host_stream);
    }
    if (reduce == NULL || host_stream == NULL || reduce(WR_SUM, WR_F64, values, &sum, 1, 3, 1, host_stream()) != 0 ||
        sum != 0.875) {
        fprintf(stderr, "the sum is %g\n", sum);
        return 1;
    }
    /* Closing it again leaves no thread behind that would crash here. */
    return dlclose(library);
}
