#include "file_crew.h"

#include "fields.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef uint64_t Device; /* memory of the GPU */
typedef void *Event;
typedef struct CUstream_st *Stream;

enum { SLOTS = 2, MOST_ARRAYS = 2, MEMORY_ALIGNMENT = 256, WAIT_NANOSECONDS = 50 * 1000 * 1000 };
enum { STREAM_NON_BLOCKING = 1, EVENT_DISABLE_TIMING = 2 };

/* By their addresses, in this order: the driver is opened by whoever opens a crew. */
static struct Driver {
    int (*cuCtxSetCurrent)(void *);
    int (*cuStreamCreate)(Stream *, unsigned);
    int (*cuStreamSynchronize)(Stream);
    int (*cuStreamDestroy_v2)(Stream);
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
} driver;

enum { DRIVER_FUNCTIONS = sizeof(struct Driver) / sizeof(void *) };

/* What went wrong first, as crew_take tells it. */
typedef struct Failure {
    const char *what; /* NULL: nothing */
    int number;
} Failure;

#define NOTHING ((Failure){NULL, 0})

/* Returns where a function of the driver fails. */
#define DRIVER(function, ...)                                                                                          \
    do {                                                                                                               \
        int result = driver.function(__VA_ARGS__);                                                                     \
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

/* An input, read from a file, or an output, written to the caller's memory. */
typedef struct Array {
    size_t field; /* of the args struct, which gets its address on the GPU */
    size_t bytes;
    int file;
    off_t offset;
    void *address;
} Array;

typedef struct Piece {
    Call call;
    Args args;
    Array inputs[MOST_ARRAYS], outputs[MOST_ARRAYS];
    size_t workspace;
    int input_count, output_count, is_done;
    Failure failure;
} Piece;

/* Memory for a piece, of the same order here, where it is pinned, and on the GPU: inputs, outputs, workspace. */
typedef struct Slot {
    Stream stream;
    Device memory;
    char *pinned;
    Event finished;
    Piece *pending; /* on the stream, its outputs on their way */
    size_t outputs; /* where they begin */
} Slot;

/* A thread, which reads a piece into one of its slots while the other's is copied. */
typedef struct Worker {
    struct Crew *crew;
    pthread_t thread;
    Slot slots[SLOTS];
    size_t turn;
} Worker;

typedef struct Crew {
    const Library *library;
    void *context, *pinned;
    Device memory;
    size_t piece_bytes;             /* of a piece's arrays at most */
    size_t room, put, begun, taken; /* pieces are numbered as they are put */
    Piece *pieces;                  /* number i at i modulo room */
    int thread_count, running, is_closing;
    pthread_mutex_t mutex;
    pthread_cond_t to_do, done;
    Worker workers[];
} Crew;

static size_t aligned(size_t bytes) { return (bytes + MEMORY_ALIGNMENT - 1) / MEMORY_ALIGNMENT * MEMORY_ALIGNMENT; }

static size_t aligned_sum(const Array *arrays, int count) {
    size_t sum = 0;
    for (int i = 0; i < count; ++i) {
        sum += aligned(arrays[i].bytes);
    }
    return sum;
}

static void tell(Crew *crew, Piece *piece, Failure failure) {
    (void)pthread_mutex_lock(&crew->mutex);
    piece->failure = failure;
    piece->is_done = 1;
    if (piece == &crew->pieces[crew->taken % crew->room]) { /* nobody waits for another */
        (void)pthread_cond_signal(&crew->done);
    }
    (void)pthread_mutex_unlock(&crew->mutex);
}

static Failure outputs_of(const Slot *slot) {
    const Piece *piece = slot->pending;
    const char *from = slot->pinned + slot->outputs;
    DRIVER(cuEventSynchronize, slot->finished);
    for (int i = 0; i < piece->output_count; ++i) {
        memcpy(piece->outputs[i].address, from, piece->outputs[i].bytes);
        from += aligned(piece->outputs[i].bytes);
    }
    return NOTHING;
}

static void finish(Crew *crew, Slot *slot) {
    if (slot->pending != NULL) {
        Failure failure = outputs_of(slot);
        Piece *piece = slot->pending;
        slot->pending = NULL;
        tell(crew, piece, failure);
    }
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
    return NOTHING;
}

static void set_place(const Slot *slot, Piece *piece, const Array *array, size_t at) {
    Device place = slot->memory + at;
    memcpy((char *)&piece->args + array->field, &place, sizeof place);
}

static Failure begin(const Library *library, Slot *slot, Piece *piece) {
    size_t at = 0;
    for (int i = 0; i < piece->input_count; ++i) {
        const Array *input = &piece->inputs[i];
        set_place(slot, piece, input, at);
        PASS_ON(read_all(input->file, slot->pinned + at, input->bytes, input->offset));
        DRIVER(cuMemcpyHtoDAsync_v2, slot->memory + at, slot->pinned + at, input->bytes, slot->stream);
        at += aligned(input->bytes);
    }
    slot->outputs = at;
    for (int i = 0; i < piece->output_count; ++i) {
        set_place(slot, piece, &piece->outputs[i], at);
        at += aligned(piece->outputs[i].bytes);
    }
    if (piece->workspace != 0) {
        set_workspace(piece->call, &piece->args, (void *)(uintptr_t)(slot->memory + at), piece->workspace);
    }
    wr_status status = run_call(library, piece->call, &piece->args, slot->stream);
    if (status != WR_SUCCESS) {
        return (Failure){"call", (int)status};
    }
    if (at != slot->outputs) {
        DRIVER(cuMemcpyDtoHAsync_v2, slot->pinned + slot->outputs, slot->memory + slot->outputs, at - slot->outputs,
               slot->stream);
    }
    DRIVER(cuEventRecord, slot->finished, slot->stream);
    return NOTHING;
}

/* NULL where there is nothing to do: with `waits` only when the crew is closed. */
static Piece *next_piece(Crew *crew, int waits) {
    Piece *piece = NULL;
    (void)pthread_mutex_lock(&crew->mutex);
    while (waits && crew->begun == crew->put && !crew->is_closing) {
        (void)pthread_cond_wait(&crew->to_do, &crew->mutex);
    }
    if (crew->begun < crew->put && !crew->is_closing) {
        piece = &crew->pieces[crew->begun++ % crew->room];
    }
    (void)pthread_mutex_unlock(&crew->mutex);
    return piece;
}

static int is_idle(const Worker *worker) {
    for (int i = 0; i < SLOTS; ++i) {
        if (worker->slots[i].pending != NULL) {
            return 0;
        }
    }
    return 1;
}

static void *work(void *of) {
    Worker *worker = of;
    Crew *crew = worker->crew;
    int result = driver.cuCtxSetCurrent(crew->context);
    for (;;) {
        Slot *slot = &worker->slots[worker->turn++ % SLOTS];
        finish(crew, slot);
        int idle = is_idle(worker);
        Piece *piece = next_piece(crew, idle);
        if (piece == NULL && idle) {
            return NULL;
        }
        if (piece == NULL) {
            continue; /* to the other slot */
        }
        Failure failure = result != 0 ? (Failure){"cuCtxSetCurrent", result} : begin(crew->library, slot, piece);
        if (failure.what != NULL) {
            tell(crew, piece, failure);
        } else {
            slot->pending = piece;
        }
    }
}

static Failure prepare_slot(const Crew *crew, Slot *slot, size_t number) {
    slot->memory = crew->memory + number * crew->piece_bytes;
    slot->pinned = (char *)crew->pinned + number * crew->piece_bytes;
    DRIVER(cuStreamCreate, &slot->stream, STREAM_NON_BLOCKING);
    DRIVER(cuEventCreate, &slot->finished, EVENT_DISABLE_TIMING);
    return NOTHING;
}

static Failure prepare(Crew *crew) {
    size_t slots = (size_t)crew->thread_count * SLOTS;
    DRIVER(cuMemHostAlloc, &crew->pinned, slots * crew->piece_bytes, 0);
    DRIVER(cuMemAlloc_v2, &crew->memory, slots * crew->piece_bytes);
    for (size_t i = 0; i < slots; ++i) {
        crew->workers[i / SLOTS].crew = crew;
        PASS_ON(prepare_slot(crew, &crew->workers[i / SLOTS].slots[i % SLOTS], i));
    }
    return NOTHING;
}

static void dissolve_slot(const Slot *slot) {
    if (slot->stream != NULL) {
        (void)driver.cuStreamSynchronize(slot->stream);
        (void)driver.cuStreamDestroy_v2(slot->stream);
    }
    if (slot->finished != NULL) {
        (void)driver.cuEventDestroy_v2(slot->finished);
    }
}

/* Errors of what is given back are not told: those before them are. */
static void dissolve(Crew *crew) {
    for (int i = 0; i < crew->thread_count * SLOTS; ++i) {
        dissolve_slot(&crew->workers[i / SLOTS].slots[i % SLOTS]);
    }
    if (crew->memory != 0) {
        (void)driver.cuMemFree_v2(crew->memory);
    }
    if (crew->pinned != NULL) {
        (void)driver.cuMemFreeHost(crew->pinned);
    }
    free(crew->pieces);
    free(crew);
}

/* Signals are Python's, whose thread they must come to. The number of threads that run. */
static int start_threads(Crew *crew) {
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int started = 0;
    while (started < crew->thread_count &&
           pthread_create(&crew->workers[started].thread, NULL, work, &crew->workers[started]) == 0) {
        ++started;
    }
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return started;
}

static const char crew_name[] = "warp_reduce.crew";

static Crew *crew_of(PyObject *capsule) { return PyCapsule_GetPointer(capsule, crew_name); }

static Crew *new_crew(int threads, Py_ssize_t room) {
    Crew *crew = calloc(1, sizeof *crew + (size_t)threads * sizeof *crew->workers);
    Piece *pieces = calloc((size_t)room, sizeof *pieces);
    if (crew == NULL || pieces == NULL) {
        free(crew);
        free(pieces);
        return NULL;
    }
    crew->pieces = pieces;
    crew->room = (size_t)room;
    crew->thread_count = threads;
    (void)pthread_mutex_init(&crew->mutex, NULL);
    (void)pthread_cond_init(&crew->to_do, NULL);
    (void)pthread_cond_init(&crew->done, NULL);
    return crew;
}

static int set_driver(PyObject *addresses) {
    void *functions[DRIVER_FUNCTIONS];
    for (int i = 0; i < DRIVER_FUNCTIONS; ++i) {
        PyObject *address = PyTuple_GetItem(addresses, i);
        functions[i] = address == NULL ? NULL : PyLong_AsVoidPtr(address);
        if (functions[i] == NULL) {
            return -1;
        }
    }
    memcpy(&driver, functions, sizeof driver);
    return 0;
}

PyObject *crew_open(PyObject *module, PyObject *arguments) {
    int number = 0, threads = 0;
    unsigned long long context = 0;
    Py_ssize_t piece_bytes = 0, room = 0;
    PyObject *addresses = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "iOKinn", &number, &addresses, &context, &threads, &piece_bytes, &room) ||
        set_driver(addresses) != 0) {
        return NULL;
    }
    const Library *library = library_numbered(number);
    Crew *crew = library == NULL || threads < 1 || piece_bytes < 1 || room < 1 ? NULL : new_crew(threads, room);
    if (crew == NULL) {
        PyErr_SetString(PyExc_ValueError, "no such library, nothing to do, or no memory for it");
        return NULL;
    }
    crew->library = library;
    crew->context = (void *)(uintptr_t)context;
    crew->piece_bytes = (size_t)piece_bytes;
    Failure failure = prepare(crew);
    if (failure.what == NULL) {
        crew->running = start_threads(crew);
        failure = crew->running > 0 ? NOTHING : (Failure){"pthread_create", EAGAIN};
    }
    if (failure.what != NULL) {
        dissolve(crew);
        return Py_BuildValue("(si)", failure.what, failure.number);
    }
    return PyCapsule_New(crew, crew_name, NULL);
}

/* (field, file, offset, bytes) or (field, address, bytes). 0, or a Python exception is set. */
static int set_array(Call call, PyObject *given, int is_input, Array *array) {
    const char *field = NULL;
    long long offset = 0;
    unsigned long long address = 0;
    Py_ssize_t bytes = 0;
    int fine = is_input ? PyArg_ParseTuple(given, "siLn", &field, &array->file, &offset, &bytes)
                        : PyArg_ParseTuple(given, "sKn", &field, &address, &bytes);
    if (!fine) {
        return -1;
    }
    array->offset = (off_t)offset;
    array->address = (void *)(uintptr_t)address;
    array->bytes = (size_t)bytes;
    return place_of_pointer(call, field, &array->field);
}

/* Their number, or -1 and a Python exception is set. */
static int set_arrays(Call call, PyObject *given, int is_input, Array *arrays) {
    Py_ssize_t count = PyTuple_Size(given);
    if (count < 0) {
        return -1;
    }
    if (count > MOST_ARRAYS) {
        PyErr_SetString(PyExc_ValueError, "a piece has at most two inputs and two outputs");
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; ++i) {
        if (set_array(call, PyTuple_GetItem(given, i), is_input, &arrays[i]) != 0) {
            return -1;
        }
    }
    return (int)count;
}

PyObject *crew_put(PyObject *module, PyObject *arguments) {
    int call = 0;
    Py_ssize_t workspace = 0;
    PyObject *capsule = NULL, *fields = NULL, *inputs = NULL, *outputs = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "OiOOOn", &capsule, &call, &fields, &inputs, &outputs, &workspace)) {
        return NULL;
    }
    Crew *crew = crew_of(capsule);
    if (crew == NULL) {
        return NULL;
    }
    if (call < 0 || call >= CALLS || crew->put - crew->taken == crew->room) {
        PyErr_SetString(PyExc_ValueError, "no such call, or no room for a piece");
        return NULL;
    }
    Piece *piece = &crew->pieces[crew->put % crew->room];
    piece->call = (Call)call;
    piece->is_done = 0;
    piece->workspace = (size_t)workspace;
    piece->input_count = set_arrays(piece->call, inputs, 1, piece->inputs);
    piece->output_count = piece->input_count < 0 ? -1 : set_arrays(piece->call, outputs, 0, piece->outputs);
    if (piece->output_count < 0 || fill_args(piece->call, fields, &piece->args) != 0) {
        return NULL;
    }
    if (aligned_sum(piece->inputs, piece->input_count) + aligned_sum(piece->outputs, piece->output_count) +
            piece->workspace >
        crew->piece_bytes) {
        PyErr_SetString(PyExc_ValueError, "a piece is larger than the crew was told");
        return NULL;
    }
    (void)pthread_mutex_lock(&crew->mutex);
    ++crew->put;
    (void)pthread_cond_signal(&crew->to_do);
    (void)pthread_mutex_unlock(&crew->mutex);
    return Py_BuildValue("");
}

/* Whether the piece that was put first is done, and taken. */
static int take_first(Crew *crew) {
    const Piece *piece = &crew->pieces[crew->taken % crew->room];
    struct timespec limit;
    (void)clock_gettime(CLOCK_REALTIME, &limit);
    limit.tv_nsec += WAIT_NANOSECONDS;
    if (limit.tv_nsec >= 1000000000) {
        limit.tv_nsec -= 1000000000;
        ++limit.tv_sec;
    }
    (void)pthread_mutex_lock(&crew->mutex);
    while (!piece->is_done && pthread_cond_timedwait(&crew->done, &crew->mutex, &limit) == 0) {
    }
    int is_done = piece->is_done;
    crew->taken += is_done ? 1 : 0;
    (void)pthread_mutex_unlock(&crew->mutex);
    return is_done;
}

PyObject *crew_take(PyObject *module, PyObject *arguments) {
    PyObject *capsule = NULL;
    (void)module;
    Crew *crew = PyArg_ParseTuple(arguments, "O", &capsule) ? crew_of(capsule) : NULL;
    if (crew == NULL) {
        return NULL;
    }
    if (crew->taken == crew->put) {
        PyErr_SetString(PyExc_ValueError, "all pieces have been taken");
        return NULL;
    }
    const Piece *piece = &crew->pieces[crew->taken % crew->room];
    PyThreadState *state = PyEval_SaveThread();
    int is_done = take_first(crew);
    PyEval_RestoreThread(state);
    if (!is_done) {
        return Py_BuildValue("");
    }
    return Py_BuildValue("(si)", piece->failure.what == NULL ? "" : piece->failure.what, piece->failure.number);
}

PyObject *crew_close(PyObject *module, PyObject *arguments) {
    PyObject *capsule = NULL;
    (void)module;
    Crew *crew = PyArg_ParseTuple(arguments, "O", &capsule) ? crew_of(capsule) : NULL;
    if (crew == NULL) {
        return NULL;
    }
    PyThreadState *state = PyEval_SaveThread();
    (void)pthread_mutex_lock(&crew->mutex);
    crew->is_closing = 1;
    (void)pthread_cond_broadcast(&crew->to_do);
    (void)pthread_mutex_unlock(&crew->mutex);
    for (int t = 0; t < crew->running; ++t) {
        (void)pthread_join(crew->workers[t].thread, NULL);
    }
    dissolve(crew);
    PyEval_RestoreThread(state);
    return Py_BuildValue("");
}
