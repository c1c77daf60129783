/* A stand-in for libcuda.so.1 with one GPU whose memory is the host's, so that the way wr calls the driver is tested
 * where there is none. Each function has the driver API's signature and refuses what the driver would refuse. */
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>
#include <time.h>

enum {
    SUCCESS = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    INVALID_DEVICE = 101,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400
};

static const size_t total_memory = (size_t)1 << 30;
static _Atomic size_t live_allocations; /* threads allocate */
static char context, stream, events[2], untimed;
static int events_made;

/* 1: the next one to pin memory says 2, and waits for a thread that says 3. */
_Atomic int stand_in_meeting;

int cuInit(unsigned flags);
int cuDriverGetVersion(int *version);
int cuGetErrorString(int error, const char **text);
int cuDeviceGetCount(int *count);
int cuDeviceGet(int *device, int ordinal);
int cuDeviceGetName(char *name, int length, int device);
int cuDeviceTotalMem_v2(size_t *bytes, int device);
int cuDeviceGetAttribute(int *value, int attribute, int device);
int cuDevicePrimaryCtxRetain(void **result, int device);
int cuCtxSetCurrent(void *wanted);
int cuMemGetInfo_v2(size_t *available, size_t *total);
int cuMemAlloc_v2(uint64_t *pointer, size_t bytes);
int cuMemFree_v2(uint64_t pointer);
int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags);
int cuMemFreeHost(void *pointer);
int cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes, void *on);
int cuMemcpyDtoHAsync_v2(void *target, uint64_t source, size_t bytes, void *on);
int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, void *on);
int cuStreamCreate(void **result, unsigned flags);
int cuStreamSynchronize(void *on);
int cuStreamWaitEvent(void *on, void *event, unsigned flags);
int cuStreamDestroy_v2(void *on);
int cuStreamDestroy_v2(void *on) { return on == &stream ? SUCCESS : INVALID_HANDLE; }

int cuEventCreate(void **event, unsigned flags);
int cuEventRecord(void *event, void *on);
int cuEventSynchronize(void *event);
int cuEventElapsedTime(float *milliseconds, void *begin, void *end);
int cuEventDestroy_v2(void *event);
size_t stand_in_live_allocations(void);

size_t stand_in_live_allocations(void) { return live_allocations; }

int cuInit(unsigned flags) { return flags == 0 ? SUCCESS : INVALID_VALUE; }

int cuDriverGetVersion(int *version) {
    *version = 13020;
    return SUCCESS;
}

int cuGetErrorString(int error, const char **text) {
    *text = error == OUT_OF_MEMORY ? "out of memory" : "something else";
    return SUCCESS;
}

int cuDeviceGetCount(int *count) {
    *count = 1;
    return SUCCESS;
}

int cuDeviceGet(int *device, int ordinal) {
    *device = 7;
    return ordinal == 0 ? SUCCESS : INVALID_DEVICE;
}

int cuDeviceGetName(char *name, int length, int device) {
    return device == 7 && snprintf(name, (size_t)length, "Stand-in") > 0 ? SUCCESS : INVALID_DEVICE;
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
    *bytes = total_memory;
    return device == 7 ? SUCCESS : INVALID_DEVICE;
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
    *value = attribute == 75 ? 9 : 0;
    return device == 7 && (attribute == 75 || attribute == 76) ? SUCCESS : INVALID_VALUE;
}

int cuDevicePrimaryCtxRetain(void **result, int device) {
    *result = &context;
    return device == 7 ? SUCCESS : INVALID_DEVICE;
}

int cuCtxSetCurrent(void *wanted) { return wanted == &context ? SUCCESS : INVALID_CONTEXT; }

int cuMemGetInfo_v2(size_t *available, size_t *total) {
    *available = total_memory / 2;
    *total = total_memory;
    return SUCCESS;
}

int cuMemAlloc_v2(uint64_t *pointer, size_t bytes) {
    if (bytes == 0) {
        return INVALID_VALUE;
    }
    if (bytes > total_memory) {
        return OUT_OF_MEMORY;
    }
    *pointer = (uint64_t)(uintptr_t)malloc(bytes);
    live_allocations++;
    return SUCCESS;
}

int cuMemFree_v2(uint64_t pointer) {
    free((void *)(uintptr_t)pointer);
    live_allocations--;
    return SUCCESS;
}

/* 0, or nobody came in two seconds. */
static int meet(void) {
    stand_in_meeting = 2;
    for (int i = 0; i < 2000 && stand_in_meeting == 2; ++i) {
        (void)thrd_sleep(&(struct timespec){0, 1000000}, NULL);
    }
    return stand_in_meeting != 3;
}

int cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
    uint64_t memory = 0;
    if (stand_in_meeting == 1 && meet() != 0) {
        return INVALID_VALUE;
    }
    const int status = flags == 0 ? cuMemAlloc_v2(&memory, bytes) : INVALID_VALUE;
    *pointer = (void *)(uintptr_t)memory;
    return status;
}

int cuMemFreeHost(void *pointer) { return cuMemFree_v2((uint64_t)(uintptr_t)pointer); }

int cuMemcpyHtoDAsync_v2(uint64_t target, const void *source, size_t bytes, void *on) {
    if (on != &stream) {
        return INVALID_HANDLE;
    }
    memcpy((void *)(uintptr_t)target, source, bytes);
    return SUCCESS;
}

int cuMemcpyDtoHAsync_v2(void *target, uint64_t source, size_t bytes, void *on) {
    if (on != &stream) {
        return INVALID_HANDLE;
    }
    memcpy(target, (const void *)(uintptr_t)source, bytes);
    return SUCCESS;
}

int cuMemcpyDtoDAsync_v2(uint64_t target, uint64_t source, size_t bytes, void *on) {
    return cuMemcpyHtoDAsync_v2(target, (const void *)(uintptr_t)source, bytes, on);
}

int cuStreamCreate(void **result, unsigned flags) {
    *result = &stream;
    return flags == 1 ? SUCCESS : INVALID_VALUE;
}

int cuStreamSynchronize(void *on) { return on == &stream ? SUCCESS : INVALID_HANDLE; }

/* The two that time a job; or one that only waits (disabling timing), which is all threads'. */
int cuEventCreate(void **event, unsigned flags) {
    *event = flags == 0 ? &events[events_made++ % 2] : &untimed;
    return flags == 0 || flags == 2 ? SUCCESS : INVALID_VALUE;
}

int cuEventRecord(void *event, void *on) {
    return on == &stream && (event == &untimed || event == &events[0] || event == &events[1]) ? SUCCESS
                                                                                              : INVALID_HANDLE;
}

int cuEventSynchronize(void *event) { return event == &untimed || event == &events[1] ? SUCCESS : INVALID_HANDLE; }

int cuEventElapsedTime(float *milliseconds, void *begin, void *end) {
    *milliseconds = 250.0F;
    return begin == &events[0] && end == &events[1] ? SUCCESS : INVALID_HANDLE;
}

int cuEventDestroy_v2(void *event) {
    return event == &untimed || event == &events[0] || event == &events[1] ? SUCCESS : INVALID_HANDLE;
}

int cuStreamWaitEvent(void *on, void *event, unsigned flags) {
    return on == &stream && event == &untimed && flags == 0 ? SUCCESS : INVALID_HANDLE;
}
