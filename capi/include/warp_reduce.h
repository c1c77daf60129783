/*
 * warp_reduce.h - reductions and softmax on a GPU, or without one, with the same bits.
 *
 * This header is the whole interface of libwarp_reduce. It needs no CUDA header and compiles alone
 * under C90 (with <stdint.h>) to C23 and C++98 to C++23.
 *
 * RULES THAT HOLD FOR EVERY CALL
 *
 * Status. A call returns WR_SUCCESS (0) or the reason why it did nothing. Arguments are checked before
 *   anything is launched or written; a call that is refused has touched nothing. Small positive numbers
 *   are this library's own reasons, 1000 + e is the CUDA runtime's error e. wr_status_string says each
 *   in words. The library never prints, aborts, throws or calls exit.
 *
 * Where it runs. The last argument is the stream, and the stream chooses the device:
 *   - wr_host_stream(): the host device. All pointers are ordinary memory, the job is done by the CPU's
 *     cores before the call returns. It needs neither driver nor GPU.
 *   - anything else: a cudaStream_t or CUstream. NULL is CUDA's legacy default stream, and CUDA's special
 *     handles 1 (legacy) and 2 (per thread) are honoured. All pointers are memory that the stream's GPU
 *     can read and write; the job is put on the stream, and the call returns before it has run, so a
 *     fault inside the job shows up where CUDA reports asynchronous errors. A stream of another device
 *     than the thread's current one works. The caller's current device and last CUDA error are left as
 *     they were. Every call can be captured in a CUDA graph.
 *
 * Same bits. A result is a function of the operator, the options and the sequence of values alone: not of
 *   the device, the layout, the alignment, the batch around it, or how the work was split.
 *
 * Threads. Every function may be called from any number of threads at once; the library keeps no state
 *   between calls. Two calls that write the same memory are ordered by the caller, as with any kernel.
 *
 * Arrays. An array is [outer][axis][inner], row-major, and `axis` is what is reduced:
 *   the whole array 1, n, 1; each row of a matrix rows, columns, 1; each column 1, rows, columns.
 *   Sizes count elements, are 64-bit, and may be zero. A pointer to no elements may be NULL; any other
 *   NULL is WR_ERROR_NULL_POINTER. Pointers need the alignment of their element, nothing more.
 *   An array that would run over an end of the address space is WR_ERROR_SIZE_OVERFLOW.
 *
 * Overlap. What counts are the bytes from an array's lowest element to its highest, so an output in the gaps of a
 *   strided input is refused too.
 *
 * Numbers. Floats follow IEEE 754 with subnormals and signed zeros. A NaN result is always the canonical
 *   quiet NaN of its type (f64 0x7FF8000000000000, f32 0x7FC00000, f16 0x7E00, bf16 0x7FC0). The exact
 *   definition of every result is docs/numerics.md.
 */
#ifndef WARP_REDUCE_H
#define WARP_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32)
#define WR_API
#elif defined(__GNUC__) || defined(__clang__)
#define WR_API __attribute__((visibility("default")))
#else
#define WR_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What cudaStream_t and CUstream point to. */
struct CUstream_st;

/* Why a call did nothing, or WR_SUCCESS. */
typedef enum wr_status {
    WR_SUCCESS = 0,
    /* a pointer that is needed is NULL */
    WR_ERROR_NULL_POINTER = 1,
    /* the operator is none of wr_op */
    WR_ERROR_INVALID_OP = 2,
    /* an element type is none of wr_dtype */
    WR_ERROR_INVALID_DTYPE = 3,
    /* an option (empty_row, a flag, the scale) has a value that it cannot have */
    WR_ERROR_INVALID_OPTION = 4,
    /* each argument is valid, but this combination of operator, types and options is not offered */
    WR_ERROR_UNSUPPORTED = 5,
    /* sizes or strides describe more than 2^63 - 1 bytes, or an array that runs over an end of the address space */
    WR_ERROR_SIZE_OVERFLOW = 6,
    /* a pointer does not have its element's alignment, or a workspace not that of 16 bytes */
    WR_ERROR_MISALIGNED = 7,
    /* memory that is written overlaps other memory of the call in a way that is not allowed */
    WR_ERROR_OVERLAP = 8,
    /* the caller's workspace is smaller than the workspace query says */
    WR_ERROR_WORKSPACE_TOO_SMALL = 9,
    /* struct_size is none that this library knows */
    WR_ERROR_STRUCT_SIZE = 10,
    /* memory for the job could not be allocated, on the host or on the GPU */
    WR_ERROR_OUT_OF_MEMORY = 11,
    /* no CUDA driver, or one that is too old for this library */
    WR_ERROR_NO_DRIVER = 12,
    /* a CUDA driver, but no GPU that it offers */
    WR_ERROR_NO_DEVICE = 13,
    /* the library holds no kernel for this GPU's architecture */
    WR_ERROR_NO_KERNEL = 14,
    /* the library was built for the host device alone */
    WR_ERROR_NO_CUDA = 15,
    /* a fault of the library itself; please report it */
    WR_ERROR_INTERNAL = 16,
    WR_STATUS_FORCE_INT32 = 0x7FFFFFFF
} wr_status;

/* The type of an element. Zero is none, so that a forgotten field is an error. */
typedef enum wr_dtype {
    WR_F32 = 1,
    WR_F64 = 2,
    WR_F16 = 3,
    WR_BF16 = 4,
    WR_F8_E4M3 = 5,
    WR_F8_E5M2 = 6,
    WR_I8 = 7,
    WR_I16 = 8,
    WR_I32 = 9,
    WR_I64 = 10,
    WR_U8 = 11,
    WR_U16 = 12,
    WR_U32 = 13,
    WR_U64 = 14,
    /* a word of the prime field p = 2^31 - 2^24 + 1, canonical (below p), in Montgomery form (R = 2^32) */
    WR_KOALABEAR = 15,
    /* likewise, p = 2^31 - 2^27 + 1 */
    WR_BABYBEAR = 16,
    /* a plain canonical word, p = 2^31 - 1 */
    WR_MERSENNE31 = 17,
    /* a plain canonical 64-bit word, p = 2^64 - 2^32 + 1 */
    WR_GOLDILOCKS = 18,
    /* four consecutive words: an element of the extension of degree 4 */
    WR_KOALABEAR_X4 = 19,
    WR_BABYBEAR_X4 = 20,
    WR_DTYPE_FORCE_INT32 = 0x7FFFFFFF
} wr_dtype;

/*
 * What a reduction computes. Zero is none. Every name is reserved and keeps its value; this version computes
 * WR_SUM, WR_MEAN, WR_MIN and WR_MAX (see wr_reduce for their types) and answers WR_ERROR_UNSUPPORTED to others.
 */
typedef enum wr_op {
    WR_SUM = 1,
    WR_PRODUCT = 2,
    WR_MIN = 3,
    WR_MAX = 4,
    WR_ARGMIN = 5,
    WR_ARGMAX = 6,
    WR_MEAN = 7,
    WR_SUM_OF_SQUARES = 8,
    WR_NORM_L1 = 9,
    WR_NORM_L2 = 10,
    WR_NORM_MAX = 11,
    WR_ANY = 12,
    WR_ALL = 13,
    WR_COUNT_NONZERO = 14,
    WR_BIT_AND = 15,
    WR_BIT_OR = 16,
    WR_BIT_XOR = 17,
    WR_LOGSUMEXP = 18,
    WR_OP_FORCE_INT32 = 0x7FFFFFFF
} wr_op;

/* What a NaN among the inputs does. */
typedef enum wr_nan_mode {
    /* it makes the result NaN */
    WR_NAN_PROPAGATE = 0,
    /* it counts as absent: a mean divides by how many are left; nothing left is an empty axis */
    WR_NAN_IGNORE = 1,
    WR_NAN_MODE_FORCE_INT32 = 0x7FFFFFFF
} wr_nan_mode;

/* What softmax gives for a row with nothing to share the weight among (all elements are -infinity). */
typedef enum wr_empty_row {
    WR_EMPTY_ROW_NAN = 0,
    /* softmax gives zeros, log-softmax -infinity */
    WR_EMPTY_ROW_ZERO = 1,
    WR_EMPTY_ROW_FORCE_INT32 = 0x7FFFFFFF
} wr_empty_row;

/*
 * The stream that means "run here and now, on host memory": the host device.
 * Never NULL, always the same value, valid in every thread; it is no CUDA stream and must not be given to CUDA.
 */
WR_API struct CUstream_st *wr_host_stream(void);

/* The library's version, major << 16 | minor << 8 | patch. */
WR_API uint32_t wr_version(void);

/* The name of a status as this header spells it ("WR_ERROR_OVERLAP"); CUDA's name for 1000 + e where the CUDA
 * runtime knows it. Never NULL; the string is static. */
WR_API const char *wr_status_name(wr_status status);

/* One sentence on what a status means and what to do about it. Never NULL; the string is static. */
WR_API const char *wr_status_string(wr_status status);

/* Bytes of one element: 4 for WR_F32, 16 for WR_KOALABEAR_X4; 0 for a value that is no element type. */
WR_API size_t wr_dtype_size(wr_dtype dtype);

/*
 * Whether a call with a CUDA stream can run in this thread, on its current GPU: WR_SUCCESS, or what is missing
 * (WR_ERROR_NO_CUDA, WR_ERROR_NO_DRIVER, WR_ERROR_NO_DEVICE, WR_ERROR_NO_KERNEL, or 1000 + e).
 * The first call in a process may take as long as CUDA needs to start.
 */
WR_API wr_status wr_cuda_status(void);

/*
 * Reduces `axis` of input[outer][axis][inner] into output[outer][inner]; both contiguous.
 *
 *   operator          element types                          output
 *   WR_SUM            f32 f64 f16 bf16 i32 i64 KoalaBear     the input's type
 *   WR_MEAN           f32 f64 f16 bf16                       the input's type
 *   WR_MIN, WR_MAX    f32 f64 f16 bf16 i32 i64               the input's type
 *
 * Sums. Floats are added pairwise in natural order: T(x[0..n)) = T(x[0..h)) + T(x[h..n)), h the largest power
 *   of two below n. f16, bf16 and f32 are added in f32 and rounded once to the output, f64 in f64; the error is
 *   at most ceil(log2 n) roundings. Integers wrap modulo 2^32 or 2^64. KoalaBear words are canonical words in,
 *   canonical word out; the sum is the same in Montgomery and plain form. A word that is not below p makes its
 *   output unspecified.
 * Means. The sum divided by `axis`, one correctly rounded division.
 * Extremes. IEEE 754-2019 minimum and maximum: -0 is below +0, and a NaN wins.
 * NaN and infinities. A NaN anywhere, or +infinity with -infinity in a sum, gives the canonical NaN.
 * Empty axis. Sum 0, mean NaN, min the largest value of the input's type (+infinity), max its smallest (-infinity),
 *   also where wr_reduce_ex gives integers in a wider type.
 * Empty output (outer or inner 0). Nothing is done.
 * Overlap. Where axis is 1, output may be the input itself; any other overlap is refused.
 * Workspace. On a GPU, memory that the job needs is taken from and given back to the stream's memory pool.
 *
 * Errors: WR_ERROR_INVALID_OP, _INVALID_DTYPE, _UNSUPPORTED, _NULL_POINTER, _SIZE_OVERFLOW, _MISALIGNED,
 *   _OVERLAP, _OUT_OF_MEMORY, _NO_CUDA, _NO_DRIVER, _NO_DEVICE, _NO_KERNEL, 1000 + e.
 */
WR_API wr_status wr_reduce(wr_op op, wr_dtype dtype, const void *input, void *output, size_t outer, size_t axis,
                           size_t inner, struct CUstream_st *stream);

/*
 * Every knob of a reduction. Set all bytes to zero, then struct_size = sizeof(wr_reduce_args), then what is
 * needed: zero means the default everywhere.
 */
typedef struct wr_reduce_args {
    /* sizeof(wr_reduce_args) as the caller was compiled */
    size_t struct_size;
    wr_op op;
    /* the input's elements */
    wr_dtype dtype;
    /* The output's elements; zero: the input's type. Any float type for a float input. For integers: WR_SUM
     * takes any integer type (the sum wraps in that type), f32 or f64 (the 64-bit sum, rounded once); WR_MEAN
     * needs f32, f64, f16 or bf16 (the sum wraps in 64 bits, is divided in f64, rounded once); WR_MIN and WR_MAX
     * take i64 for i32. KoalaBear stays KoalaBear. Floats round to nearest even; what overflows becomes infinity
     * (in E4M3, which has none, NaN). */
    wr_dtype output_dtype;
    /* The type that sums are kept in; zero: f32 for f16, bf16 and f32, f64 for f64. WR_F64 is allowed for every
     * float, WR_F32 for f16, bf16 and f32. Integers, fields and extremes: leave zero. */
    wr_dtype accumulate_dtype;
    /* reserved for a later version: WR_NAN_PROPAGATE, any value but 0 is WR_ERROR_UNSUPPORTED */
    wr_nan_mode nan_mode;
    /* reserved for a later version: 0, anything else is WR_ERROR_UNSUPPORTED */
    int32_t add_to_output;
    /* reserved for a later version: zero, anything else is WR_ERROR_UNSUPPORTED */
    wr_dtype weights_dtype;
    const void *input;
    /* reserved for a later version: NULL, anything else is WR_ERROR_UNSUPPORTED */
    const void *weights;
    /* [outer][inner], contiguous */
    void *output;
    size_t outer, axis, inner;
    /* The input's strides in elements, from `input`, which is element [0][0][0]. May be negative. Zero: the
     * contiguous value (axis * inner, inner, 1). */
    ptrdiff_t outer_stride, axis_stride, inner_stride;
    /* Memory for the job's partial results, 16-byte aligned, on the stream's device, in use until the job has
     * run. NULL: it is allocated and freed on the stream. */
    void *workspace;
    size_t workspace_bytes;
} wr_reduce_args;

/*
 * Like wr_reduce, but with every knob. `args` is read before the call returns and may then be reused.
 * Strides: two elements of the input may share an address. With strides, output may be the input itself only
 *   where axis is 1 and all strides have their contiguous values.
 * Further errors: WR_ERROR_STRUCT_SIZE, _WORKSPACE_TOO_SMALL.
 */
WR_API wr_status wr_reduce_ex(const wr_reduce_args *args, struct CUstream_st *stream);

/*
 * Writes to *bytes how much workspace wr_reduce_ex needs for `args`: enough on the host device and on every GPU;
 * 0 where it needs none. The pointers in args may be anything, and no GPU is needed to ask.
 * Errors: as wr_reduce_ex, before any device is looked at; *bytes is then left alone.
 */
WR_API wr_status wr_reduce_workspace_size(const wr_reduce_args *args, size_t *bytes);

/*
 * Softmax along `axis` of input[outer][axis][inner], into output of the same shape; both contiguous:
 * output = exp(x) / sum of exp(x) along the axis.
 *
 * Types: f32, f64, f16, bf16; the output has the input's type.
 * Error: f32 outputs above 2^-120 are within 4 units in the last place of the exact value, f64 outputs above
 *   2^-960 within 12, whatever the spread and the magnitude of the inputs; f16 and bf16 are within 8 f32 units
 *   before they are rounded. One element gives exactly 1.
 * NaN and infinities: a NaN or +infinity gives a row of NaN. -infinity gives 0. A row of -infinity alone gives
 *   a row of NaN (wr_softmax_ex has an option).
 * Empty: with any size 0 nothing is done.
 * Overlap: output may be the input itself; any other overlap is refused.
 * Errors: as wr_reduce.
 */
WR_API wr_status wr_softmax(wr_dtype dtype, const void *input, void *output, size_t outer, size_t axis, size_t inner,
                            struct CUstream_st *stream);

/*
 * Like wr_softmax, but output = x - log(sum of exp(x)), the logarithm of softmax.
 * Error: within 4 units in the last place of the larger of |output| and 1 for f32 and f64 below a magnitude of 2^20
 *   (docs/numerics.md has the full bound). One element gives exactly 0: -0 where it is -0, otherwise +0.
 * -infinity gives -infinity; NaN, +infinity and a row of -infinity alone give NaN as in wr_softmax.
 */
WR_API wr_status wr_log_softmax(wr_dtype dtype, const void *input, void *output, size_t outer, size_t axis,
                                size_t inner, struct CUstream_st *stream);

/*
 * Every knob of softmax. Set all bytes to zero, then struct_size = sizeof(wr_softmax_args), then what is needed.
 */
typedef struct wr_softmax_args {
    /* sizeof(wr_softmax_args) as the caller was compiled */
    size_t struct_size;
    wr_dtype dtype;
    /* The output's elements: any float type; zero: the input's. */
    wr_dtype output_dtype;
    /* 0: softmax, 1: log-softmax */
    int32_t log;
    /* what a row of -infinity alone gives */
    wr_empty_row empty_row;
    /* Multiplies each logit before the exponential, in f32 (f64 for f64), rounded once: the inverse of a
     * temperature. Zero: 1. Must be finite, and for inputs other than f64 must not become infinite or 0 in f32;
     * otherwise WR_ERROR_INVALID_OPTION. */
    double scale;
    const void *input;
    /* the shape of the input, contiguous */
    void *output;
    /* [outer][inner], f32 (f64 for f64 inputs): log(sum of exp(scale * x)) of each row; NULL: not wanted.
     * -infinity for a row of -infinity alone or with axis 0, NaN for a row with a NaN (even beside +infinity),
     * +infinity for another row with +infinity. */
    void *logsumexp;
    /* reserved for a later version: NULL, anything else is WR_ERROR_UNSUPPORTED */
    const uint8_t *mask;
    /* reserved for a later version: NULL, anything else is WR_ERROR_UNSUPPORTED */
    const int64_t *lengths;
    size_t outer, axis, inner;
    /* as in wr_reduce_args; they describe the input only */
    ptrdiff_t outer_stride, axis_stride, inner_stride;
    void *workspace;
    size_t workspace_bytes;
} wr_softmax_args;

/*
 * Like wr_softmax or wr_log_softmax, but with every knob. `args` is read before the call returns.
 * Overlap: output may be the input itself where the strides are contiguous and the element sizes agree; logsumexp
 *   must not overlap anything.
 * Further errors: WR_ERROR_STRUCT_SIZE, _INVALID_OPTION, _WORKSPACE_TOO_SMALL.
 */
WR_API wr_status wr_softmax_ex(const wr_softmax_args *args, struct CUstream_st *stream);

/* Like wr_reduce_workspace_size, for wr_softmax_ex. */
WR_API wr_status wr_softmax_workspace_size(const wr_softmax_args *args, size_t *bytes);

#ifdef __cplusplus
}
#endif

#endif /* WARP_REDUCE_H */
