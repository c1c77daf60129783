/* Softmax at a temperature, with the logarithm of each row's sum and a workspace of the program's own. */
#include <warp_reduce.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 2, COLUMNS = 4 };

static const float logits[ROWS][COLUMNS] = {{1.0f, 2.0f, 3.0f, 4.0f}, {250.0f, 250.0f, 250.0f, 250.0f}};

/* All bytes zero, then the struct's size, then what is wanted: zero is the default of every field. */
static wr_softmax_args softmax_of_the_rows(float *output, float *logsumexp) {
    wr_softmax_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = WR_F32;
    args.scale = 1.0 / 2.0; /* the temperature is 2 */
    args.input = logits;
    args.output = output;
    args.logsumexp = logsumexp;
    args.outer = ROWS;
    args.axis = COLUMNS;
    args.inner = 1;
    return args;
}

/* With NULL for a workspace the library would allocate what it needs; on a GPU, a caller who brings one saves that. */
static wr_status softmax_with_a_workspace(wr_softmax_args *args, struct CUstream_st *stream) {
    void *workspace = NULL;
    size_t bytes = 0;
    wr_status status = wr_softmax_workspace_size(args, &bytes);
    if (status != WR_SUCCESS) {
        return status;
    }
    if (bytes != 0) {
        workspace = malloc(bytes); /* for a GPU's stream: memory of that GPU */
        if (workspace == NULL) {
            return WR_ERROR_OUT_OF_MEMORY;
        }
    }
    args->workspace = workspace;
    args->workspace_bytes = bytes;
    status = wr_softmax_ex(args, stream);
    free(workspace); /* the host device is done when the call returns; with a GPU, not before the job has run */
    return status;
}

int main(void) {
    float output[ROWS][COLUMNS], logsumexp[ROWS];
    wr_softmax_args args = softmax_of_the_rows(&output[0][0], logsumexp);
    wr_status status = softmax_with_a_workspace(&args, wr_host_stream());
    int row;
    if (status != WR_SUCCESS) {
        fprintf(stderr, "%s: %s\n", wr_status_name(status), wr_status_string(status));
        return 1;
    }
    for (row = 0; row < ROWS; ++row) {
        printf("%.6f %.6f %.6f %.6f  logsumexp %.6f\n", output[row][0], output[row][1], output[row][2], output[row][3],
               logsumexp[row]);
    }
    return 0;
}
