#include "library.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

const Library *wr_library;

static Library libraries[MOST_LIBRARIES];
static int opened;

typedef struct Name {
    const char *name;
    size_t offset;
} Name;

#define NAME(function) {#function, offsetof(Library, function)}

static const Name names[] = {
    NAME(wr_version),
    NAME(wr_status_name),
    NAME(wr_status_string),
    NAME(wr_cuda_status),
    NAME(wr_host_stream),
    NAME(wr_set_host_threads),
    NAME(wr_host_threads),
    NAME(wr_reduce_ex),
    NAME(wr_reduce_workspace_size),
    NAME(wr_reduce_segments_ex),
    NAME(wr_reduce_segments_workspace_size),
    NAME(wr_dot_ex),
    NAME(wr_dot_workspace_size),
    NAME(wr_softmax_ex),
    NAME(wr_softmax_workspace_size),
    NAME(wr_softmax_backward_ex),
    NAME(wr_softmax_backward_workspace_size),
    NAME(wr_state_size),
    NAME(wr_state_reduce),
    NAME(wr_state_merge),
    NAME(wr_state_finish),
    NAME(wr_softmax_state),
    NAME(wr_softmax_from_state),
};

static int refuse(char *message, size_t size, const char *reason, const char *name) {
    (void)snprintf(message, size, "%s%s", reason, name);
    return -1;
}

int open_library(const char *path, char *message, size_t size) {
    void *handle = opened < MOST_LIBRARIES ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
    if (handle == NULL) {
        const char *reason = opened < MOST_LIBRARIES ? dlerror() : "too many are open";
        return refuse(message, size, reason == NULL ? "it cannot be opened" : reason, "");
    }
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        void *address = dlsym(handle, names[i].name);
        if (address == NULL) {
            (void)dlclose(handle);
            return refuse(message, size, "it has no ", names[i].name);
        }
        memcpy((char *)&libraries[opened] + names[i].offset, &address, sizeof address);
    }
    return opened++;
}

const Library *library_numbered(int number) { return number >= 0 && number < opened ? &libraries[number] : NULL; }
