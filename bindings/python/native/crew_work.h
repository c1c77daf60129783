/* The threads of a crew and their memory: parts of pieces are read into pinned memory and copied to the GPU, and
 * whoever brings a piece's last part calls the library for it. Python's lock is not needed, nor anything else of
 * Python's. */
#pragma once

#include "calls.h"

#include <pthread.h>
#include <sys/types.h>

typedef uint64_t Device; /* memory of the GPU */
typedef void *Event;
typedef struct CUstream_st *Stream;

enum { MOST_ARRAYS = 2 };

/* By their addresses, in this order: the driver is opened by whoever opens a crew. */
typedef struct Driver {
    int (*cuCtxSetCurrent)(void *);
    int (*cuStreamCreate)(Stream *, unsigned);
    int (*cuStreamSynchronize)(Stream);
    int (*cuStreamDestroy_v2)(Stream);
    int (*cuStreamWaitEvent)(Stream, Event, unsigned);
    int (*cuMemAlloc_v2)(Device *, size_t);
    int (*cuMemFree_v2)(Device);
    int (*cuMemHostAlloc)(void **, size_t, unsigned);
    int (*cuMemFreeHost)(void *);
    int (*cuMemcpyHtoDAsync_v2)(Device, const void *, size_t, Stream);
    int (*cuMemcpyDtoHAsync_v2)(void *, Device, size_t, Stream);
    int (*cuEventCreate)(Event *, unsigned);
    int (*cuEventRecord)(Event, Stream);
    int (*cuEventSynchronize)(Event);
    int (*cuEventDestroy_v2)(Event);
} Driver;

enum { DRIVER_FUNCTIONS = sizeof(Driver) / sizeof(void *) };

extern Driver crew_driver;

/* What went wrong first, as crew_take tells it. */
typedef struct Failure {
    const char *what; /* NULL: nothing */
    int number;
} Failure;

#define NO_FAILURE ((Failure){NULL, 0})

/* An input, read from a file, or an output, written to the caller's memory. */
typedef struct Array {
    size_t field; /* of the args struct, which gets its address on the GPU */
    size_t bytes;
    int file;
    off_t offset;
    void *address;
} Array;

/* A piece, and the memory that it shares with those that come `room` later. */
typedef struct Piece {
    Stream stream;  /* of the call, behind the copies of all parts */
    Device memory;  /* inputs, outputs, workspace, each aligned */
    char *pinned;   /* outputs */
    Event finished; /* they are there */
    Call call;
    Args args;
    Array inputs[MOST_ARRAYS], outputs[MOST_ARRAYS];
    int input_count, output_count, is_begun; /* is_begun: the call has been made, or something has failed */
    size_t outputs_at, output_bytes, workspace;
    size_t parts, taken, copied; /* of its inputs, by the threads */
    Failure failure;
} Piece;

typedef struct Worker Worker;

typedef struct Crew {
    const Library *library;
    void *context, *pinned;
    Device memory;
    size_t part_bytes, piece_bytes,
        output_bytes;                 /* of a part, and on the GPU and in pinned memory of a piece, at most */
    size_t room, put, reading, taken; /* pieces are numbered as they are put */
    Piece *pieces;                    /* number i at i modulo room */
    int thread_count, running, is_closing;
    pthread_mutex_t mutex;
    pthread_cond_t to_do, begun;
    Worker *workers;
} Crew;

/* NULL where there is no memory for it. The sizes are multiples of 256. */
Crew *new_crew(const Library *library, void *context, int threads, size_t room);

/* Its memory, by the sizes that it has been told, and its threads. */
Failure start_crew(Crew *crew);

/* Waits for the threads and gives all back. Errors of what is given back are not told: those before them are. */
void end_crew(Crew *crew);

size_t crew_aligned(size_t bytes);

/* The piece that is put next, when it has been said what is done with it. Returns 0 where it is larger than it may be,
 * or has no parts. */
int lay_out(const Crew *crew, Piece *piece);

/* Hands it to the threads. */
void put_piece(Crew *crew);

/* Whether the piece that was put first is done, which is waited for for a short time, its outputs are where they
 * belong, and it is taken; or something has failed. */
int take_piece(Crew *crew, Failure *failure);
