#include "crew_work.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { SLOTS = 2, MEMORY_ALIGNMENT = 256, WAIT_NANOSECONDS = 50 * 1000 * 1000 };
enum { STREAM_NON_BLOCKING = 1, EVENT_DISABLE_TIMING = 2 };

Driver crew_driver;

/* Returns where a function of the driver fails. */
#define DRIVER(function, ...)                                                                                          \
    do {                                                                                                               \
        int result = crew_driver.function(__VA_ARGS__);                                                                \
        if (result != 0) {                                                                                             \
            return (Failure){#function, result};                                                                       \
        }                                                                                                              \
    } while (0)

#define PASS_ON(failure)                                                                                               \
    do {                                                                                                               \
        Failure passed = (failure);                                                                                    \
        if (passed.what != NULL) {                                                                                     \
            return passed;                                                                                             \
        }                                                                                                              \
    } while (0)

/* Pinned memory for a part. */
typedef struct Slot {
    Stream stream;
    Event copied; /* the part that was read last */
    char *pinned;
} Slot;

/* A thread, which reads a part into one of its slots while the other's is copied. */
struct Worker {
    Crew *crew;
    pthread_t thread;
    Slot slots[SLOTS];
};

typedef struct Part {
    Piece *piece;
    Device target;
    int file;
    off_t offset;
    size_t bytes;
} Part;

size_t crew_aligned(size_t bytes) { return (bytes + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT; }

static size_t parts_of(const Crew *crew, const Array *input) {
    return (input->bytes + crew->part_bytes - 1) / crew->part_bytes;
}

/* Each array's place, behind the others'. Returns where the last one ends. */
static size_t set_places(Piece *piece, const Array *arrays, int count, size_t at) {
    for (int i = 0; i < count; ++i) {
        Device address = piece->memory + at;
        memcpy((char *)&piece->args + arrays[i].field, &address, sizeof address);
        at += crew_aligned(arrays[i].bytes);
    }
    return at;
}

int lay_out(const Crew *crew, Piece *piece) {
    piece->parts = piece->taken = piece->copied = 0;
    piece->is_begun = 0;
    piece->failure = NO_FAILURE;
    for (int i = 0; i < piece->input_count; ++i) {
        piece->parts += parts_of(crew, &piece->inputs[i]);
    }
    piece->outputs_at = set_places(piece, piece->inputs, piece->input_count, 0);
    size_t end = set_places(piece, piece->outputs, piece->output_count, piece->outputs_at);
    piece->output_bytes = end - piece->outputs_at;
    if (piece->workspace != 0) {
        set_workspace(piece->call, &piece->args, (void *)(uintptr_t)(piece->memory + end), piece->workspace);
    }
    return piece->parts != 0 && end + piece->workspace <= crew->piece_bytes &&
           piece->output_bytes <= crew->output_bytes;
}

void put_piece(Crew *crew) {
    (void)pthread_mutex_lock(&crew->mutex);
    ++crew->put;
    (void)pthread_cond_broadcast(&crew->to_do);
    (void)pthread_mutex_unlock(&crew->mutex);
}

static Part part_numbered(const Crew *crew, Piece *piece, size_t number) {
    Device memory = piece->memory;
    int place = 0;
    for (; place < MOST_ARRAYS - 1 && number >= parts_of(crew, &piece->inputs[place]); ++place) {
        number -= parts_of(crew, &piece->inputs[place]);
        memory += crew_aligned(piece->inputs[place].bytes);
    }
    const Array *input = &piece->inputs[place];
    size_t at = number * crew->part_bytes, left = input->bytes - at;
    size_t bytes = left < crew->part_bytes ? left : crew->part_bytes;
    return (Part){piece, memory + at, input->file, input->offset + (off_t)at, bytes};
}

/* 0 when the crew is closed. */
static int next_part(Crew *crew, Part *part) {
    (void)pthread_mutex_lock(&crew->mutex);
    while (crew->reading == crew->put && !crew->is_closing) {
        (void)pthread_cond_wait(&crew->to_do, &crew->mutex);
    }
    int goes_on = !crew->is_closing;
    if (goes_on) {
        Piece *piece = &crew->pieces[crew->reading % crew->room];
        *part = part_numbered(crew, piece, piece->taken++);
        crew->reading += piece->taken == piece->parts ? 1 : 0;
    }
    (void)pthread_mutex_unlock(&crew->mutex);
    return goes_on;
}

static Failure read_all(int file, char *target, size_t bytes, off_t offset) {
    while (bytes != 0) {
        ssize_t count = pread(file, target, bytes, offset);
        if (count <= 0) {
            return (Failure){"read", count == 0 ? 0 : errno};
        }
        target += count;
        bytes -= (size_t)count;
        offset += count;
    }
    return NO_FAILURE;
}

static Failure bring(const Slot *slot, const Part *part) {
    DRIVER(cuEventSynchronize, slot->copied);
    PASS_ON(read_all(part->file, slot->pinned, part->bytes, part->offset));
    DRIVER(cuMemcpyHtoDAsync_v2, part->target, slot->pinned, part->bytes, slot->stream);
    DRIVER(cuEventRecord, slot->copied, slot->stream);
    DRIVER(cuStreamWaitEvent, part->piece->stream, slot->copied, 0);
    return NO_FAILURE;
}

static Failure call(const Library *library, const Piece *piece) {
    wr_status status = run_call(library, piece->call, &piece->args, piece->stream);
    if (status != WR_SUCCESS) {
        return (Failure){"call", (int)status};
    }
    if (piece->output_bytes != 0) {
        DRIVER(cuMemcpyDtoHAsync_v2, piece->pinned, piece->memory + piece->outputs_at, piece->output_bytes,
               piece->stream);
    }
    DRIVER(cuEventRecord, piece->finished, piece->stream);
    return NO_FAILURE;
}

/* Notes that a part is on its way, or why not. Whether it was the last one of its piece. */
static int note(Crew *crew, Piece *piece, Failure failure) {
    (void)pthread_mutex_lock(&crew->mutex);
    if (piece->failure.what == NULL) {
        piece->failure = failure;
    }
    int is_last = ++piece->copied == piece->parts;
    (void)pthread_mutex_unlock(&crew->mutex);
    return is_last;
}

static void begin(Crew *crew, Piece *piece) {
    Failure failure = piece->failure.what == NULL ? call(crew->library, piece) : piece->failure;
    (void)pthread_mutex_lock(&crew->mutex);
    piece->failure = failure;
    piece->is_begun = 1;
    if (piece == &crew->pieces[crew->taken % crew->room]) { /* nobody waits for another */
        (void)pthread_cond_signal(&crew->begun);
    }
    (void)pthread_mutex_unlock(&crew->mutex);
}

static void *work(void *of) {
    Worker *worker = of;
    Crew *crew = worker->crew;
    Part part;
    int result = crew_driver.cuCtxSetCurrent(crew->context);
    for (size_t turn = 0; next_part(crew, &part); ++turn) {
        Failure failure =
            result != 0 ? (Failure){"cuCtxSetCurrent", result} : bring(&worker->slots[turn % SLOTS], &part);
        if (note(crew, part.piece, failure)) {
            begin(crew, part.piece);
        }
    }
    return NULL;
}

/* Whether the piece's call has been made, or something has failed, within a short time. */
static int has_begun(Crew *crew, const Piece *piece) {
    struct timespec limit;
    (void)clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += WAIT_NANOSECONDS;
    if (limit.tv_nsec >= 1000000000) {
        limit.tv_nsec -= 1000000000;
        ++limit.tv_sec;
    }
    (void)pthread_mutex_lock(&crew->mutex);
    while (!piece->is_begun && pthread_cond_timedwait(&crew->begun, &crew->mutex, &limit) == 0) {
    }
    int is_begun = piece->is_begun;
    (void)pthread_mutex_unlock(&crew->mutex);
    return is_begun;
}

static Failure outputs_of(const Crew *crew, const Piece *piece) {
    const char *from = piece->pinned;
    PASS_ON(piece->failure);
    DRIVER(cuCtxSetCurrent, crew->context);
    DRIVER(cuEventSynchronize, piece->finished);
    for (int i = 0; i < piece->output_count; ++i) {
        memcpy(piece->outputs[i].address, from, piece->outputs[i].bytes);
        from += crew_aligned(piece->outputs[i].bytes);
    }
    return NO_FAILURE;
}

int take_piece(Crew *crew, Failure *failure) {
    const Piece *piece = &crew->pieces[crew->taken % crew->room];
    if (!has_begun(crew, piece)) {
        return 0;
    }
    *failure = outputs_of(crew, piece);
    (void)pthread_mutex_lock(&crew->mutex);
    ++crew->taken;
    (void)pthread_mutex_unlock(&crew->mutex);
    return 1;
}

Crew *new_crew(const Library *library, void *context, int threads, size_t room) {
    Crew *crew = calloc(1, sizeof *crew);
    Piece *pieces = calloc(room, sizeof *pieces);
    Worker *workers = calloc((size_t)threads, sizeof *workers);
    if (crew == NULL || pieces == NULL || workers == NULL) {
        free(crew);
        free(pieces);
        free(workers);
        return NULL;
    }
    crew->library = library;
    crew->context = context;
    crew->pieces = pieces;
    crew->workers = workers;
    crew->room = room;
    crew->thread_count = threads;
    (void)pthread_mutex_init(&crew->mutex, NULL);
    (void)pthread_cond_init(&crew->to_do, NULL);
    (void)pthread_cond_init(&crew->begun, NULL);
    return crew;
}

static Failure prepare_stream(Stream *stream, Event *event) {
    DRIVER(cuStreamCreate, stream, STREAM_NON_BLOCKING);
    DRIVER(cuEventCreate, event, EVENT_DISABLE_TIMING);
    return NO_FAILURE;
}

static Failure prepare(Crew *crew) {
    size_t slots = (size_t)crew->thread_count * SLOTS;
    DRIVER(cuMemHostAlloc, &crew->pinned, slots * crew->part_bytes + crew->room * crew->output_bytes, 0);
    DRIVER(cuMemAlloc_v2, &crew->memory, crew->room * crew->piece_bytes);
    char *pinned = crew->pinned;
    for (size_t i = 0; i < slots; ++i, pinned += crew->part_bytes) {
        Slot *slot = &crew->workers[i / SLOTS].slots[i % SLOTS];
        slot->pinned = pinned;
        PASS_ON(prepare_stream(&slot->stream, &slot->copied));
    }
    for (size_t i = 0; i < crew->room; ++i, pinned += crew->output_bytes) {
        Piece *piece = &crew->pieces[i];
        piece->pinned = pinned;
        piece->memory = crew->memory + i * crew->piece_bytes;
        PASS_ON(prepare_stream(&piece->stream, &piece->finished));
    }
    return NO_FAILURE;
}

/* Signals are Python's, whose thread they must come to. */
static Failure start_threads(Crew *crew) {
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    for (; crew->running < crew->thread_count; ++crew->running) {
        Worker *worker = &crew->workers[crew->running];
        worker->crew = crew;
        if (pthread_create(&worker->thread, NULL, work, worker) != 0) {
            break;
        }
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return crew->running > 0 ? NO_FAILURE : (Failure){"pthread_create", EAGAIN};
}

Failure start_crew(Crew *crew) {
    PASS_ON(prepare(crew));
    return start_threads(crew);
}

static void end_stream(Stream stream, Event event) {
    if (stream != NULL) {
        (void)crew_driver.cuStreamSynchronize(stream);
        (void)crew_driver.cuStreamDestroy_v2(stream);
    }
    if (event != NULL) {
        (void)crew_driver.cuEventDestroy_v2(event);
    }
}

void end_crew(Crew *crew) {
    (void)pthread_mutex_lock(&crew->mutex);
    crew->is_closing = 1;
    (void)pthread_cond_broadcast(&crew->to_do);
    (void)pthread_mutex_unlock(&crew->mutex);
    for (int t = 0; t < crew->running; ++t) {
        (void)pthread_join(crew->workers[t].thread, NULL);
    }
    for (int i = 0; i < crew->thread_count * SLOTS; ++i) {
        const Slot *slot = &crew->workers[i / SLOTS].slots[i % SLOTS];
        end_stream(slot->stream, slot->copied);
    }
    for (size_t i = 0; i < crew->room; ++i) {
        end_stream(crew->pieces[i].stream, crew->pieces[i].finished);
    }
    if (crew->memory != 0) {
        (void)crew_driver.cuMemFree_v2(crew->memory);
    }
    if (crew->pinned != NULL) {
        (void)crew_driver.cuMemFreeHost(crew->pinned);
    }
    free(crew->workers);
    free(crew->pieces);
    free(crew);
}
