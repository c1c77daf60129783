/* libwarp_reduce, opened at run time: its functions. Several builds of it may be open, to compare them. */
#pragma once

#include "warp_reduce.h"

typedef struct Library {
    uint32_t (*wr_version)(void);
    const char *(*wr_status_name)(wr_status);
    const char *(*wr_status_string)(wr_status);
    wr_status (*wr_cuda_status)(void);
    struct CUstream_st *(*wr_host_stream)(void);
    wr_status (*wr_set_host_threads)(size_t, size_t *);
    size_t (*wr_host_threads)(void);
    wr_status (*wr_reduce_ex)(const wr_reduce_args *, struct CUstream_st *);
    wr_status (*wr_reduce_workspace_size)(const wr_reduce_args *, size_t *);
    wr_status (*wr_reduce_segments_ex)(const wr_reduce_segments_args *, struct CUstream_st *);
    wr_status (*wr_reduce_segments_workspace_size)(const wr_reduce_segments_args *, size_t *);
    wr_status (*wr_dot_ex)(const wr_dot_args *, struct CUstream_st *);
    wr_status (*wr_dot_workspace_size)(const wr_dot_args *, size_t *);
    wr_status (*wr_softmax_ex)(const wr_softmax_args *, struct CUstream_st *);
    wr_status (*wr_softmax_workspace_size)(const wr_softmax_args *, size_t *);
    wr_status (*wr_softmax_backward_ex)(const wr_softmax_backward_args *, struct CUstream_st *);
    wr_status (*wr_softmax_backward_workspace_size)(const wr_softmax_backward_args *, size_t *);
    wr_status (*wr_state_size)(const wr_state_args *, size_t *, size_t *);
    wr_status (*wr_state_reduce)(const wr_state_args *, struct CUstream_st *);
    wr_status (*wr_state_merge)(const wr_state_args *, struct CUstream_st *);
    wr_status (*wr_state_finish)(const wr_state_args *, struct CUstream_st *);
    wr_status (*wr_softmax_state)(const wr_softmax_args *, size_t, void *, size_t, int32_t *, struct CUstream_st *);
    wr_status (*wr_softmax_from_state)(const wr_softmax_args *, size_t, size_t, const void *, const void *,
                                       const void *, int32_t *, struct CUstream_st *);
} Library;

enum { MOST_LIBRARIES = 16 };

/* The library that the package uses; NULL until one is chosen. Written under Python's global lock alone. */
extern const Library *wr_library;

/* Opens the library at `path`, as dlopen looks for it, for the life of the process. Returns its number, or -1 and in
 * `message` (of `size` bytes) why not. */
int open_library(const char *path, char *message, size_t size);

/* A library by its number; NULL where there is none. */
const Library *library_numbered(int number);
