/*
 * The places where a job can run: the host stream, and a CUDA stream where there is a GPU.
 * Every test program takes the place as its first argument: "host" (or nothing) is the host stream alone, "gpu" is
 * the host stream first, as the oracle, and then the GPU.
 */
#ifndef WARP_REDUCE_TESTS_PLACES_H
#define WARP_REDUCE_TESTS_PLACES_H

#include "warp_reduce.h"

typedef struct place {
    const char *name;
    struct CUstream_st *stream;
    int on_gpu;
} place;

/* Ends the program with EXIT_NOT_RUN and one line that says why, where a GPU is asked for and there is none. */
void places_open(int argc, char **argv);
void places_close(void);

/* `PROGRAM gpu N`, for a GPU that is emulated: whether the case of this number is taken, which every Nth is. All are
 * where no N is given. */
int places_take(size_t number);

/* Like places_open, for what a host stream cannot show: graphs, streams, the caller's device. */
void places_open_gpu_only(int argc, char **argv);

/* Of a GPU, whose regimes depend on them; the host has one. */
size_t place_multiprocessors(const place *where);

size_t place_count(void);
const place *place_at(size_t index);

/* Memory that a job in this place can use, aligned to 256 bytes. */
void *place_allocate(const place *where, size_t bytes);
void place_free(const place *where, void *memory);
void place_write(const place *where, void *memory, const void *from, size_t bytes);
/* Waits for the jobs of the place's stream first. */
void place_read(const place *where, const void *memory, void *to, size_t bytes);

#endif
