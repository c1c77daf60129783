/*
 * The part of XLA's foreign function interface that the adapter uses, so that a build needs no JAX and one module
 * serves every version. A test compiles these declarations beside XLA's own where JAX is there.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

typedef struct XlaError XlaError;
typedef struct XlaContext XlaContext;

typedef struct XlaExtension {
    size_t struct_size;
    int type;
    struct XlaExtension *next;
} XlaExtension;

enum { XLA_METADATA = 1, XLA_INVALID_ARGUMENT = 3, XLA_RESOURCE_EXHAUSTED = 8, XLA_INTERNAL = 13 };

typedef struct XlaVersion {
    size_t struct_size;
    XlaExtension *extension;
    int major, minor;
} XlaVersion;

typedef struct XlaMetadata {
    size_t struct_size;
    XlaVersion version;
    uint32_t traits;
    int64_t state_type;
} XlaMetadata;

/* Calls launch the same work every time: they may be recorded and replayed. */
enum { XLA_COMMAND_BUFFER_COMPATIBLE = 1 };

typedef struct XlaMetadataExtension {
    XlaExtension base;
    XlaMetadata *metadata;
} XlaMetadataExtension;

/* In row-major order. */
typedef struct XlaBuffer {
    size_t struct_size;
    XlaExtension *extension;
    int dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
} XlaBuffer;

typedef struct XlaSpan {
    const char *text;
    size_t length;
} XlaSpan;

typedef struct XlaScalar {
    int dtype;
    void *value;
} XlaScalar;

/* Arguments and results */
typedef struct XlaBuffers {
    size_t struct_size;
    XlaExtension *extension;
    int64_t size;
    int *types;
    void **each;
} XlaBuffers;

typedef struct XlaAttributes {
    size_t struct_size;
    XlaExtension *extension;
    int64_t size;
    int *types;
    XlaSpan **names;
    void **each;
} XlaAttributes;

typedef struct XlaErrorArgs {
    size_t struct_size;
    XlaExtension *extension;
    const char *message;
    int code;
} XlaErrorArgs;

typedef struct XlaStreamArgs {
    size_t struct_size;
    XlaExtension *extension;
    XlaContext *context;
    void *stream;
} XlaStreamArgs;

typedef struct XlaMemoryArgs {
    size_t struct_size;
    XlaExtension *extension;
    XlaContext *context;
    size_t size, alignment;
    void *data;
} XlaMemoryArgs;

/* Its functions stand in this order; the first error of a call is what it returns. */
typedef struct XlaApi {
    size_t struct_size;
    XlaExtension *extension;
    XlaVersion version;
    const void *internal;
    XlaError *(*create_error)(XlaErrorArgs *);
    void *get_message, *destroy_error, *register_handler;
    XlaError *(*get_stream)(XlaStreamArgs *);
    void *register_type, *get_context, *set_state, *get_state;
    XlaError *(*allocate)(XlaMemoryArgs *);
} XlaApi;

typedef struct XlaCall {
    size_t struct_size;
    XlaExtension *extension;
    const XlaApi *api;
    XlaContext *context;
    int stage;
    XlaBuffers arguments, results;
    XlaAttributes attributes;
} XlaCall;

typedef XlaError *(*XlaHandler)(XlaCall *);
