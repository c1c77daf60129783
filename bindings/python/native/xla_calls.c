#include "xla_calls.h"

#include "calls.h"
#include "xla_abi.h"

#include <string.h>

static int interface_minor;

/* by XLA's number; 0: a type that the library has not. Truth values are bytes. */
static int dtype_of(int type) {
    static const unsigned char dtypes[] = {
        0,      WR_U8,  WR_I8, WR_I16, WR_I32, WR_I64,  WR_U8, WR_U16, WR_U32,     WR_U64,     WR_F16,
        WR_F32, WR_F64, 0,     0,      0,      WR_BF16, 0,     0,      WR_F8_E5M2, WR_F8_E4M3,
    };
    return type >= 0 && type < (int)(sizeof dtypes / sizeof *dtypes) ? dtypes[type] : 0;
}

static int take_type(const XlaBuffer *x, wr_dtype *dtype) {
    int found = dtype_of(x->dtype);
    if (found == 0) {
        return 0;
    }
    *dtype = (wr_dtype)found;
    return 1;
}

static XlaError *refuse(const XlaCall *call, int code, const char *message) {
    XlaErrorArgs error = {sizeof error, NULL, message, code};
    return call->api->create_error(&error);
}

static XlaError *status_as_error(const XlaCall *call, wr_status status) {
    if (status == WR_SUCCESS) {
        return NULL;
    }
    int code = status == WR_ERROR_OUT_OF_MEMORY ? XLA_RESOURCE_EXHAUSTED
               : status >= WR_ERROR_NO_DRIVER   ? XLA_INTERNAL
                                                : XLA_INVALID_ARGUMENT;
    return refuse(call, code, wr_library->wr_status_string(status));
}

/* A 64-bit attribute; 0 where there is none. */
static int64_t attribute(const XlaCall *call, const char *name) {
    const XlaAttributes *all = &call->attributes;
    for (int64_t i = 0; i < all->size; ++i) {
        if (all->names[i]->length == strlen(name) && memcmp(all->names[i]->text, name, strlen(name)) == 0) {
            int64_t value = 0;
            memcpy(&value, ((const XlaScalar *)all->each[i])->value, sizeof value);
            return value;
        }
    }
    return 0;
}

static const XlaBuffer *argument(const XlaCall *call, int64_t number) { return call->arguments.each[number]; }
static const XlaBuffer *result(const XlaCall *call, int64_t number) { return call->results.each[number]; }

/* An array as [outer][axis][inner]: its last `inner_rank` dimensions are inner, the `axis_rank` before them the axis.
 * So a dimension that vmap puts in front is one more of outer. */
typedef struct Extents {
    size_t outer, axis, inner;
} Extents;

static Extents extents_of(const XlaCall *call, const XlaBuffer *x) {
    Extents found = {1, 1, 1};
    int64_t inner = x->rank - attribute(call, "inner_rank"), axis = inner - attribute(call, "axis_rank");
    for (int64_t d = 0; d < x->rank; ++d) {
        *(d >= inner ? &found.inner : d >= axis ? &found.axis : &found.outer) *= (size_t)x->dims[d];
    }
    return found;
}

/* ---- where a call runs */

typedef struct Place {
    struct CUstream_st *stream;
    void *workspace;
    size_t bytes;
} Place;

/* On a GPU partial results lie in XLA's memory, which it takes back behind the call. */
static XlaError *find_place(const XlaCall *call, int on_gpu, size_t bytes, Place *place) {
    if (!on_gpu) {
        place->stream = wr_library->wr_host_stream();
        return NULL;
    }
    XlaStreamArgs stream = {sizeof stream, NULL, call->context, NULL};
    XlaError *error = call->api->get_stream(&stream);
    place->stream = stream.stream;
    if (error != NULL || bytes == 0) {
        return error;
    }
    enum { ALIGNMENT = 16 };
    XlaMemoryArgs memory = {sizeof memory, NULL, call->context, bytes, ALIGNMENT, NULL};
    error = call->api->allocate(&memory);
    place->workspace = memory.data;
    place->bytes = bytes;
    return error;
}

/* XLA asks a handler what it is by a call without arguments. */
static int is_question(const XlaCall *call) {
    if (call->extension == NULL || call->extension->type != XLA_METADATA) {
        return 0;
    }
    XlaMetadata *metadata = ((XlaMetadataExtension *)(void *)call->extension)->metadata;
    metadata->version.major = 0;
    metadata->version.minor = interface_minor;
    metadata->traits = XLA_COMMAND_BUFFER_COMPATIBLE;
    return 1;
}

/* ---- the calls */

/* Of types that the library has; fills in all but workspaces. */
typedef int (*Filler)(const XlaCall *call, Args *args);

static XlaError *run(const XlaCall *call, Call kind, Filler fill, int on_gpu) {
    size_t bytes = 0;
    Place place = {NULL, NULL, 0};
    if (is_question(call)) {
        return NULL;
    }
    Args args = empty_args(kind);
    if (!fill(call, &args)) {
        return refuse(call, XLA_INVALID_ARGUMENT, "arrays of these elements are not taken");
    }
    wr_status status = workspace_of_call(wr_library, kind, &args, &bytes);
    XlaError *error = status != WR_SUCCESS ? status_as_error(call, status) : find_place(call, on_gpu, bytes, &place);
    if (error != NULL) {
        return error;
    }
    set_workspace(kind, &args, place.workspace, place.bytes);
    return status_as_error(call, run_call(wr_library, kind, &args, place.stream));
}

static int fill_reduce(const XlaCall *call, Args *args) {
    const XlaBuffer *x = argument(call, 0), *y = result(call, 0);
    wr_reduce_args *reduce = &args->reduce;
    Extents extents = extents_of(call, x);
    reduce->op = (wr_op)attribute(call, "op");
    reduce->accumulate_dtype = (wr_dtype)attribute(call, "accumulate");
    reduce->input = x->data;
    reduce->output = y->data;
    reduce->outer = extents.outer;
    reduce->axis = extents.axis;
    reduce->inner = extents.inner;
    return take_type(x, &reduce->dtype) && take_type(y, &reduce->output_dtype);
}

/* The weights, one for each place along the axis, are the second argument. */
static int fill_dot(const XlaCall *call, Args *args) {
    const XlaBuffer *weights = argument(call, 1);
    args->reduce.weights = weights->data;
    return take_type(weights, &args->reduce.weights_dtype) && fill_reduce(call, args);
}

static int fill_softmax(const XlaCall *call, Args *args) {
    const XlaBuffer *x = argument(call, 0), *y = result(call, 0);
    wr_softmax_args *softmax = &args->softmax;
    Extents extents = extents_of(call, x);
    softmax->log = (int32_t)attribute(call, "log");
    softmax->input = x->data;
    softmax->output = y->data;
    softmax->outer = extents.outer;
    softmax->axis = extents.axis;
    softmax->inner = extents.inner;
    return take_type(x, &softmax->dtype) && take_type(y, &softmax->output_dtype);
}

static int fill_softmax_backward(const XlaCall *call, Args *args) {
    const XlaBuffer *gradient = argument(call, 0), *output = argument(call, 1), *made = result(call, 0);
    wr_softmax_backward_args *backward = &args->softmax_backward;
    Extents extents = extents_of(call, output);
    backward->log = (int32_t)attribute(call, "log");
    backward->output = output->data;
    backward->output_gradient = gradient->data;
    backward->input_gradient = made->data;
    backward->outer = extents.outer;
    backward->axis = extents.axis;
    backward->inner = extents.inner;
    return take_type(output, &backward->dtype) && take_type(gradient, &backward->output_gradient_dtype) &&
           take_type(made, &backward->input_gradient_dtype);
}

static XlaError *reduce_cpu(XlaCall *call) { return run(call, CALL_REDUCE, fill_reduce, 0); }
static XlaError *reduce_cuda(XlaCall *call) { return run(call, CALL_REDUCE, fill_reduce, 1); }
static XlaError *dot_cpu(XlaCall *call) { return run(call, CALL_REDUCE, fill_dot, 0); }
static XlaError *dot_cuda(XlaCall *call) { return run(call, CALL_REDUCE, fill_dot, 1); }
static XlaError *softmax_cpu(XlaCall *call) { return run(call, CALL_SOFTMAX, fill_softmax, 0); }
static XlaError *softmax_cuda(XlaCall *call) { return run(call, CALL_SOFTMAX, fill_softmax, 1); }
static XlaError *softmax_backward_cpu(XlaCall *call) {
    return run(call, CALL_SOFTMAX_BACKWARD, fill_softmax_backward, 0);
}
static XlaError *softmax_backward_cuda(XlaCall *call) {
    return run(call, CALL_SOFTMAX_BACKWARD, fill_softmax_backward, 1);
}

typedef struct Named {
    const char *name;
    XlaHandler handler;
} Named;

static const Named handlers[] = {
    {"reduce_cpu", reduce_cpu},
    {"reduce_cuda", reduce_cuda},
    {"dot_cpu", dot_cpu},
    {"dot_cuda", dot_cuda},
    {"softmax_cpu", softmax_cpu},
    {"softmax_cuda", softmax_cuda},
    {"softmax_backward_cpu", softmax_backward_cpu},
    {"softmax_backward_cuda", softmax_backward_cuda},
};

PyObject *xla_handler(PyObject *module, PyObject *arguments) {
    const char *name = NULL;
    int minor = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "si", &name, &minor)) {
        return NULL;
    }
    for (size_t i = 0; i < sizeof handlers / sizeof *handlers; ++i) {
        if (wr_library != NULL && strcmp(handlers[i].name, name) == 0) {
            void *address = NULL;
            memcpy(&address, &handlers[i].handler, sizeof address);
            interface_minor = minor;
            return PyCapsule_New(address, "xla._CUSTOM_CALL_TARGET", NULL);
        }
    }
    PyErr_SetString(PyExc_ValueError, "no such handler, or no library is open");
    return NULL;
}
