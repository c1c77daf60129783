/* The sum and the L2 norm of a file of f32 that need not fit the GPU's memory: while one piece is read into pinned
 * memory, the one before it is copied and reduced on a stream of its own. The pieces' states come back and are merged
 * on the host device, whose bits are the GPU's. The results have the bits of one call on the whole file. */
#include <cuda_runtime_api.h>
#include <warp_reduce.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PIECE = 1 << 18, COUNT = 3000000, OPS = 2, LANES = 2, ROOM = 1 << 12, NO_GPU = 77 };

static const wr_op ops[OPS] = {WR_SUM, WR_NORM_L2};

/* A stream with two pieces' worth of memory, and where the states of its piece come to. */
typedef struct Lane {
    cudaStream_t stream;
    float *pinned, *piece;           /* of the host, of the GPU: [PIECE] */
    char *states[OPS], *come[OPS];   /* of the GPU, of the host: [ROOM] */
    size_t bytes[OPS], first, count; /* count 0: nothing is under way */
} Lane;

/* The state of all elements before `count`. */
typedef struct Whole {
    void *state;
    size_t bytes, count;
} Whole;

static void expect_cuda(cudaError_t error) {
    if (error != cudaSuccess) {
        fprintf(stderr, "CUDA: %s\n", cudaGetErrorString(error));
        exit(1);
    }
}

static void expect(wr_status status) {
    if (status != WR_SUCCESS) {
        fprintf(stderr, "%s: %s\n", wr_status_name(status), wr_status_string(status));
        exit(1);
    }
}

static wr_state_args state_args(int op, size_t first, size_t count) {
    wr_state_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.op = ops[op];
    args.dtype = WR_F32;
    args.outer = args.inner = 1;
    args.first = first;
    args.count = count;
    return args;
}

static Lane open_lane(void) {
    Lane lane;
    int op;
    memset(&lane, 0, sizeof lane);
    expect_cuda(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
    expect_cuda(cudaMallocHost((void **)&lane.pinned, PIECE * sizeof(float)));
    expect_cuda(cudaMalloc((void **)&lane.piece, PIECE * sizeof(float)));
    for (op = 0; op < OPS; ++op) {
        expect_cuda(cudaMalloc((void **)&lane.states[op], ROOM));
        expect_cuda(cudaMallocHost((void **)&lane.come[op], ROOM));
    }
    return lane;
}

static void close_lane(Lane *lane) {
    int op;
    for (op = 0; op < OPS; ++op) {
        expect_cuda(cudaFreeHost(lane->come[op]));
        expect_cuda(cudaFree(lane->states[op]));
    }
    expect_cuda(cudaFree(lane->piece));
    expect_cuda(cudaFreeHost(lane->pinned));
    expect_cuda(cudaStreamDestroy(lane->stream));
}

/* Everything from the copy of what has been read to the states' coming back; nothing is waited for. */
static void begin_piece(Lane *lane, size_t first, size_t count) {
    int op;
    lane->first = first;
    lane->count = count;
    expect_cuda(
        cudaMemcpyAsync(lane->piece, lane->pinned, count * sizeof(float), cudaMemcpyHostToDevice, lane->stream));
    for (op = 0; op < OPS; ++op) {
        wr_state_args args = state_args(op, first, count);
        expect(wr_state_size(&args, &args.state_bytes, NULL));
        if (args.state_bytes > ROOM) {
            fprintf(stderr, "a state has %zu bytes\n", args.state_bytes);
            exit(1);
        }
        args.input = lane->piece;
        args.state = lane->states[op];
        lane->bytes[op] = args.state_bytes;
        expect(wr_state_reduce(&args, lane->stream));
        expect_cuda(
            cudaMemcpyAsync(lane->come[op], lane->states[op], args.state_bytes, cudaMemcpyDeviceToHost, lane->stream));
    }
}

static void append(Whole *whole, int op, const Lane *lane) {
    wr_state_args args = state_args(op, 0, whole->count + lane->count);
    expect(wr_state_size(&args, &args.merged_bytes, NULL));
    args.merged = args.merged_bytes == 0 ? NULL : malloc(args.merged_bytes);
    if (args.merged == NULL) {
        expect(WR_ERROR_OUT_OF_MEMORY);
    }
    if (whole->count == 0) {
        memcpy(args.merged, lane->come[op], lane->bytes[op]);
    } else {
        args.count = whole->count;
        args.state = whole->state;
        args.state_bytes = whole->bytes;
        args.right = lane->come[op];
        args.right_count = lane->count;
        args.right_bytes = lane->bytes[op];
        expect(wr_state_merge(&args, wr_host_stream()));
    }
    free(whole->state);
    whole->state = args.merged;
    whole->bytes = args.merged_bytes;
    whole->count += lane->count;
}

/* Waits for the lane's piece, if there is one, and takes its states; afterwards the lane's memory is free. */
static void end_piece(Lane *lane, Whole wholes[OPS]) {
    int op;
    expect_cuda(cudaStreamSynchronize(lane->stream));
    for (op = 0; op < OPS && lane->count != 0; ++op) {
        append(&wholes[op], op, lane);
    }
    lane->count = 0;
}

/* A file of our own to read: elements of both signs and many sizes. */
static FILE *written(float *all) {
    FILE *file = tmpfile();
    unsigned number = 1;
    size_t at;
    for (at = 0; at < COUNT; ++at) {
        number = number * 1664525u + 1013904223u;
        all[at] = ((float)(number >> 8) - 8388608.0f) / (float)(1u + (number & 255u));
    }
    if (file == NULL || fwrite(all, sizeof *all, COUNT, file) != COUNT || fseek(file, 0, SEEK_SET) != 0) {
        fprintf(stderr, "no temporary file could be written\n");
        exit(1);
    }
    return file;
}

int main(void) {
    static float all[COUNT];
    Lane lanes[LANES];
    Whole wholes[OPS];
    float results[OPS], expected[OPS];
    size_t count, first = 0, turn = 0;
    FILE *file;
    int each;
    if (wr_cuda_status() != WR_SUCCESS) {
        fprintf(stderr, "needs a GPU: %s\n", wr_status_string(wr_cuda_status()));
        return NO_GPU;
    }
    file = written(all);
    memset(wholes, 0, sizeof wholes);
    for (each = 0; each < LANES; ++each) {
        lanes[each] = open_lane();
    }
    for (;;) {
        Lane *lane = &lanes[turn++ % LANES];
        end_piece(lane, wholes); /* the one of two pieces ago, so states are taken in the file's order */
        count = fread(lane->pinned, sizeof(float), PIECE, file);
        if (count == 0) {
            break;
        }
        begin_piece(lane, first, count);
        first += count;
    }
    for (each = 0; each < LANES; ++each) {
        end_piece(&lanes[turn++ % LANES], wholes);
    }
    for (each = 0; each < OPS; ++each) {
        wr_state_args args = state_args(each, 0, wholes[each].count);
        args.state = wholes[each].state;
        args.state_bytes = wholes[each].bytes;
        args.output = &results[each];
        expect(wr_state_finish(&args, wr_host_stream()));
        expect(wr_reduce(ops[each], WR_F32, all, &expected[each], 1, COUNT, 1, wr_host_stream()));
        free(wholes[each].state);
    }
    for (each = 0; each < LANES; ++each) {
        close_lane(&lanes[each]);
    }
    fclose(file);
    printf("%zu elements\nsum %.9g, norm %.9g\n%s\n", first, results[0], results[1],
           memcmp(results, expected, sizeof results) == 0 ? "the bits of one call" : "other bits than one call");
    return memcmp(results, expected, sizeof results) != 0;
}
