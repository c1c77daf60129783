/* A stranger's program: sums 1 .. 1000 on the host device and checks the version it was told to expect. */
#include <warp_reduce.h>

#include <stdio.h>
#include <string.h>

int main(int argument_count, char **arguments) {
    float values[1000];
    float sum = 0;
    char version[32];
    wr_status status;
    int i;
    for (i = 0; i < 1000; ++i)
        values[i] = (float)(i + 1);
    status = wr_reduce(WR_SUM, WR_F32, values, &sum, 1, 1000, 1, wr_host_stream());
    if (status != WR_SUCCESS || sum != 500500.0f) {
        fprintf(stderr, "status %d (%s), sum %g\n", (int)status, wr_status_string(status), (double)sum);
        return 1;
    }
    sprintf(version, "%u.%u.%u", (unsigned)(wr_version() >> 16), (unsigned)(wr_version() >> 8 & 0xFF),
            (unsigned)(wr_version() & 0xFF));
    if (argument_count != 2 || strcmp(version, arguments[1]) != 0) {
        fprintf(stderr, "the library is version %s\n", version);
        return 1;
    }
    return 0;
}
