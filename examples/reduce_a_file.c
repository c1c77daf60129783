/* The sum and the L2 norm of a file of f32 in pieces that fit a small buffer, on the host device: a state for what has
 * been read, merged with that of each further piece. The results have the bits of one call on the whole file. */
#include <warp_reduce.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 16, COUNT = 1000000 };

/* A reduction, and the state of the elements that have been read. */
typedef struct Reduction {
    wr_state_args args;
    void *state, *piece_state;
} Reduction;

static void begin(Reduction *reduction, wr_op op) {
    memset(reduction, 0, sizeof *reduction);
    reduction->args.struct_size = sizeof reduction->args;
    reduction->args.op = op;
    reduction->args.dtype = WR_F32;
    reduction->args.outer = reduction->args.inner = 1;
}

static void end(Reduction *reduction) {
    free(reduction->state);
    free(reduction->piece_state);
}

/* Memory for the state of `count` elements from `first` on; malloc's is aligned as states must be. */
static wr_status new_state(wr_state_args args, size_t first, size_t count, void **state, size_t *bytes) {
    args.first = first;
    args.count = count;
    const wr_status status = wr_state_size(&args, bytes, NULL);
    *state = status == WR_SUCCESS ? malloc(*bytes) : NULL;
    return status == WR_SUCCESS && *state == NULL ? WR_ERROR_OUT_OF_MEMORY : status;
}

/* Reduces the elements that follow, and merges their state with that of all before them. */
static wr_status append(Reduction *reduction, const float *elements, size_t count) {
    wr_state_args piece = reduction->args, merge = reduction->args;
    wr_status status;
    piece.first = reduction->args.count;
    piece.count = count;
    piece.input = elements;
    status = new_state(reduction->args, piece.first, count, &reduction->piece_state, &piece.state_bytes);
    piece.state = reduction->piece_state;
    if (status == WR_SUCCESS) {
        status = wr_state_reduce(&piece, wr_host_stream());
    }
    if (status == WR_SUCCESS && piece.first != 0) {
        merge.state = reduction->state;
        merge.right = piece.state;
        merge.right_count = count;
        merge.right_bytes = piece.state_bytes;
        status = new_state(reduction->args, 0, merge.count + count, &merge.merged, &merge.merged_bytes);
        if (status == WR_SUCCESS) {
            status = wr_state_merge(&merge, wr_host_stream());
        }
        free(reduction->piece_state);
        reduction->piece_state = merge.merged;
        piece.state_bytes = merge.merged_bytes;
    }
    free(reduction->state);
    reduction->state = reduction->piece_state;
    reduction->piece_state = NULL;
    reduction->args.state_bytes = piece.state_bytes;
    reduction->args.count += count;
    return status;
}

static wr_status finish(const Reduction *reduction, float *result) {
    wr_state_args args = reduction->args;
    args.state = reduction->state;
    args.output = result;
    return wr_state_finish(&args, wr_host_stream());
}

/* A file of our own to read: elements of both signs and many sizes. */
static FILE *written(float *all) {
    FILE *file = tmpfile();
    unsigned number = 1;
    for (size_t at = 0; at < COUNT; ++at) {
        number = number * 1664525u + 1013904223u;
        all[at] = ((float)(number >> 8) - 8388608.0f) / (float)(1u + (number & 255u));
    }
    if (file != NULL && (fwrite(all, sizeof *all, COUNT, file) != COUNT || fseek(file, 0, SEEK_SET) != 0)) {
        fclose(file);
        return NULL;
    }
    return file;
}

int main(void) {
    static float all[COUNT], piece[PIECE];
    const wr_op ops[] = {WR_SUM, WR_NORM_L2};
    Reduction reductions[2];
    float results[2], whole[2];
    size_t count;
    wr_status status = WR_SUCCESS;
    FILE *file = written(all);
    if (file == NULL) {
        fprintf(stderr, "no temporary file could be written\n");
        return 1;
    }
    for (int each = 0; each < 2; ++each) {
        begin(&reductions[each], ops[each]);
    }
    while (status == WR_SUCCESS && (count = fread(piece, sizeof *piece, PIECE, file)) != 0) {
        for (int each = 0; each < 2 && status == WR_SUCCESS; ++each) {
            status = append(&reductions[each], piece, count);
        }
    }
    for (int each = 0; each < 2 && status == WR_SUCCESS; ++each) {
        status = finish(&reductions[each], &results[each]);
        if (status == WR_SUCCESS) {
            status = wr_reduce(ops[each], WR_F32, all, &whole[each], 1, COUNT, 1, wr_host_stream());
        }
    }
    end(&reductions[0]);
    end(&reductions[1]);
    fclose(file);
    if (status != WR_SUCCESS) {
        fprintf(stderr, "%s: %s\n", wr_status_name(status), wr_status_string(status));
        return 1;
    }
    printf("%zu elements\nsum %.9g, norm %.9g\n%s\n", reductions[0].args.count, results[0], results[1],
           memcmp(results, whole, sizeof whole) == 0 ? "the bits of one call" : "other bits than one call");
    return 0;
}
