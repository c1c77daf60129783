/* The sum of a table, the mean of each of its rows and the largest value of each of its columns, on the host device. */
#include <warp_reduce.h>

#include <stdio.h>

enum { ROWS = 3, COLUMNS = 4 };

int main(void) {
    const float table[ROWS][COLUMNS] = {{1.0f, 2.0f, 3.0f, 4.0f}, {8.0f, 7.0f, 6.0f, 5.0f}, {0.5f, 9.0f, 2.5f, 0.0f}};
    float sum = 0.0f, means[ROWS], maxima[COLUMNS];
    struct CUstream_st *stream = wr_host_stream();

    /* The array is [outer][axis][inner], and axis is what is reduced. */
    wr_status status = wr_reduce(WR_SUM, WR_F32, table, &sum, 1, ROWS * COLUMNS, 1, stream);
    if (status == WR_SUCCESS) {
        status = wr_reduce(WR_MEAN, WR_F32, table, means, ROWS, COLUMNS, 1, stream);
    }
    if (status == WR_SUCCESS) {
        status = wr_reduce(WR_MAX, WR_F32, table, maxima, 1, ROWS, COLUMNS, stream);
    }
    if (status != WR_SUCCESS) {
        fprintf(stderr, "%s: %s\n", wr_status_name(status), wr_status_string(status));
        return 1;
    }
    printf("sum %g\nmeans %g %g %g\nmaxima %g %g %g %g\n", sum, means[0], means[1], means[2], maxima[0], maxima[1],
           maxima[2], maxima[3]);
    return 0;
}
