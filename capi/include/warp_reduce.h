/*
 * warp_reduce.h - reductions and softmax on a GPU, or without one, with the same bits.
 *
 * This header is the whole interface of libwarp_reduce. It needs no CUDA header and compiles alone under C90 (with
 * <stdint.h>) to C23 and C++98 to C++23.
 *
 * RULES THAT HOLD FOR EVERY CALL
 *
 * Status. A call returns WR_SUCCESS (0) or the reason why it did nothing. Arguments are checked before anything is
 *   launched or written; a call that is refused has touched nothing. Small positive numbers are this library's own
 *   reasons, 1000 + e is the CUDA runtime's error e. The library never prints, aborts, throws or calls exit.
 *
 * Where it runs. The last argument is the stream, and the stream chooses the device:
 *   - wr_host_stream(): the host device. All pointers are ordinary memory, the job is done by the CPU's cores before
 *     the call returns. It needs neither driver nor GPU.
 *   - anything else: a cudaStream_t or CUstream. NULL is CUDA's legacy default stream, and CUDA's special handles 1
 *     (legacy) and 2 (per thread) are honoured. All pointers are memory that the stream's GPU can read and write; the
 *     call returns before the job has run, so a fault inside it shows up where CUDA reports asynchronous errors. A
 *     stream of another device than the thread's current one works. The caller's current device and last CUDA error
 *     are left as they were. Every call can be captured in a CUDA graph.
 *
 * Same bits. A result is a function of the operator, the options and the sequence of values alone: not of the device,
 *   the layout, the alignment, the batch around it, or how the work was split.
 *
 * Threads. Every function may be called from any number of threads at once; the library keeps no state between calls
 *   but threads that are ready for the next one, and wr_set_host_threads' number. Two calls that write the same memory
 *   are ordered by the caller, as with any kernel.
 *
 * Arrays. An array is [outer][axis][inner], row-major, and `axis` is what is reduced: the whole array 1, n, 1; each row
 *   of a matrix rows, columns, 1; each column 1, rows, columns. Sizes count elements, are 64-bit, and may be zero. A
 *   pointer to no elements may be NULL; any other NULL is WR_ERROR_NULL_POINTER. Pointers need the alignment of their
 *   element, nothing more.
 *
 * Overlap. What counts are the bytes from an array's lowest element to its highest, so an output in the gaps of a
 *   strided input is refused too.
 *
 * Numbers. Floats follow IEEE 754 with subnormals and signed zeros. A NaN result is always the canonical quiet NaN of
 *   its type (f64 0x7FF8000000000000, f32 0x7FC00000, f16 0x7E00, bf16 0x7FC0, E4M3 0x7F, E5M2 0x7E). The exact
 *   definition of every result, and the proof of every bound, is docs/numerics.md.
 */
#ifndef WARP_REDUCE_H
#define WARP_REDUCE_H

#include <stddef.h>
#include <stdint.h>

#if !defined(_WIN32) && (defined(__GNUC__) || defined(__clang__))
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
    WR_ERROR_NULL_POINTER = 1,        /* a pointer that is needed is NULL */
    WR_ERROR_INVALID_OP = 2,          /* the operator is none of wr_op */
    WR_ERROR_INVALID_DTYPE = 3,       /* an element type is none of wr_dtype */
    WR_ERROR_INVALID_OPTION = 4,      /* an option (empty_row, a flag, the scale) has a value that it cannot have */
    WR_ERROR_UNSUPPORTED = 5,         /* valid arguments, but a combination that is not offered */
    WR_ERROR_SIZE_OVERFLOW = 6,       /* more than 2^63 - 1 bytes, or an array over an end of the address space */
    WR_ERROR_MISALIGNED = 7,          /* a pointer without its element's alignment, or a workspace without 16 bytes' */
    WR_ERROR_OVERLAP = 8,             /* memory that is written overlaps other memory of the call where it must not */
    WR_ERROR_WORKSPACE_TOO_SMALL = 9, /* the caller's workspace is smaller than the workspace query says */
    WR_ERROR_STRUCT_SIZE = 10,        /* struct_size is none that this library knows */
    WR_ERROR_OUT_OF_MEMORY = 11,      /* memory for the job could not be allocated, on the host or on the GPU */
    WR_ERROR_NO_DRIVER = 12,          /* no CUDA driver, or one that is too old for this library */
    WR_ERROR_NO_DEVICE = 13,          /* a CUDA driver, but no GPU that it offers */
    WR_ERROR_NO_KERNEL = 14,          /* the library holds no kernel for this GPU's architecture */
    WR_ERROR_NO_CUDA = 15,            /* the library was built for the host device alone */
    WR_ERROR_INTERNAL = 16,           /* a fault of the library itself; please report it */
    WR_ERROR_INVALID_OFFSETS = 17,    /* an offset is negative, below the one before it, or beyond the input */
    WR_ERROR_INVALID_STATE = 18,      /* the bytes are no state: damaged, refused, of an unknown version, or too few */
    WR_ERROR_STATE_MISMATCH = 19,     /* a state of another operator, type, kind, option or shape than the call says */
    WR_ERROR_NOT_NEIGHBOUR = 20,      /* a state of other elements than the call says, or that does not begin at 0 */
    WR_ERROR_NO_NCCL = 21,            /* the process has loaded no library of NCCL */
    WR_ERROR_NCCL_FAILED = 22,        /* one of the calls between ranks failed, or a rank is gone */
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
    /* a word of the field p = 2^31 - 2^24 + 1, canonical (below p), in Montgomery form (R = 2^32) */
    WR_KOALABEAR = 15,
    WR_BABYBEAR = 16,     /* likewise, p = 2^31 - 2^27 + 1 */
    WR_MERSENNE31 = 17,   /* a plain word, p = 2^31 - 1 */
    WR_GOLDILOCKS = 18,   /* a plain 64-bit word, p = 2^64 - 2^32 + 1; any 64 bits */
    WR_KOALABEAR_X4 = 19, /* four consecutive words: an element of the extension of degree 4 */
    WR_BABYBEAR_X4 = 20,
    WR_DTYPE_FORCE_INT32 = 0x7FFFFFFF
} wr_dtype;

/* What a reduction computes; wr_reduce says which element types each takes. Zero is none. */
typedef enum wr_op {
    WR_SUM = 1,
    WR_PRODUCT = 2,
    WR_MIN = 3,
    WR_MAX = 4,
    WR_ARGMIN = 5, /* the index along the axis of the first smallest element */
    WR_ARGMAX = 6, /* the index along the axis of the first largest element */
    WR_MEAN = 7,
    WR_SUM_OF_SQUARES = 8,
    WR_NORM_L1 = 9,   /* the sum of magnitudes */
    WR_NORM_L2 = 10,  /* the root of the sum of squares */
    WR_NORM_MAX = 11, /* the largest magnitude */
    WR_ANY = 12,      /* 1 or 0: whether any element differs from zero */
    WR_ALL = 13,      /* 1 or 0: whether every element differs from zero */
    WR_COUNT_NONZERO = 14,
    WR_BIT_AND = 15,
    WR_BIT_OR = 16,
    WR_BIT_XOR = 17,
    WR_LOGSUMEXP = 18, /* log(sum of exp(x)) */
    WR_SUM_EXACT = 19, /* the exact sum, rounded once, whatever the order of the elements */
    WR_DOT_EXACT = 20, /* the same of products, through wr_dot_args alone */
    WR_OP_FORCE_INT32 = 0x7FFFFFFF
} wr_op;

/* What a NaN among the inputs does. */
typedef enum wr_nan_mode {
    WR_NAN_PROPAGATE = 0, /* it makes the result NaN */
    /* it counts as absent: a mean divides by how many are left; nothing left is an empty axis */
    WR_NAN_IGNORE = 1,
    WR_NAN_MODE_FORCE_INT32 = 0x7FFFFFFF
} wr_nan_mode;

/* What softmax gives for a row with nothing to share the weight among (all elements are -infinity). */
typedef enum wr_empty_row {
    WR_EMPTY_ROW_NAN = 0,
    WR_EMPTY_ROW_ZERO = 1, /* softmax gives zeros, log-softmax -infinity */
    WR_EMPTY_ROW_FORCE_INT32 = 0x7FFFFFFF
} wr_empty_row;

/* The stream that means "run here and now, on host memory": the host device.
 * Never NULL, always the same value, valid in every thread; it is no CUDA stream and must not be given to CUDA. */
WR_API struct CUstream_st *wr_host_stream(void);

/* How many threads a call on the host stream may use, the calling one included: for calls of every thread of the
 * process that begin after this one. 0: as many as there are cores; 1: the calling thread does all of its call's work,
 * and nothing is started or woken. Results are the same for any number. No error is possible.
 * before: what was set, to be set again; NULL where it is of no interest. Until this is called it is what the
 * environment variable WARP_REDUCE_THREADS says when a call first asks, or else OMP_NUM_THREADS (the first of its
 * numbers), which Dask, joblib and torchrun set for their workers, or 0. */
WR_API wr_status wr_set_host_threads(size_t most, size_t *before);

/* How many threads a large job of the calling thread would use on the host stream: the cores of its affinity mask, a
 * container's quota and what wr_set_host_threads or the environment say, whichever is least; at least 1. */
WR_API size_t wr_host_threads(void);

/* The library's version, major << 16 | minor << 8 | patch. */
WR_API uint32_t wr_version(void);

/* The name of a status as this header spells it ("WR_ERROR_OVERLAP"); CUDA's name for 1000 + e where CUDA's runtime
 * knows it. Never NULL; the string is static. */
WR_API const char *wr_status_name(wr_status status);

/* One sentence on what a status means and what to do about it. Never NULL; the string is static. */
WR_API const char *wr_status_string(wr_status status);

/* Bytes of one element: 4 for WR_F32, 16 for WR_KOALABEAR_X4; 0 for a value that is no element type. */
WR_API size_t wr_dtype_size(wr_dtype dtype);

/* Whether a call with a CUDA stream can run in this thread, on its current GPU: WR_SUCCESS, or what is missing
 * (WR_ERROR_NO_CUDA, WR_ERROR_NO_DRIVER, WR_ERROR_NO_DEVICE, WR_ERROR_NO_KERNEL, or 1000 + e).
 * The first call in a process may take as long as CUDA needs to start. */
WR_API wr_status wr_cuda_status(void);

/* Reduces `axis` of input[outer][axis][inner] into output[outer][inner]; both contiguous.
 *
 *   operator                          element types               output
 *   WR_SUM, WR_PRODUCT,
 *   WR_SUM_OF_SQUARES                 all                         the input's type
 *   WR_MIN, WR_MAX, WR_NORM_MAX,
 *   WR_NORM_L1                        floats and integers         the input's type
 *   WR_MEAN, WR_NORM_L2               floats (integers with a     the input's type
 *                                     float output: _ex)
 *   WR_LOGSUMEXP, WR_SUM_EXACT        floats                      the input's type
 *   WR_ARGMIN, WR_ARGMAX              floats and integers         int64_t
 *   WR_COUNT_NONZERO                  all                         int64_t
 *   WR_ANY, WR_ALL                    all                         uint8_t, 0 or 1
 *   WR_BIT_AND, WR_BIT_OR, WR_BIT_XOR integers                    the input's type
 *
 * Floats (f32, f64, f16, bf16, both f8). Sums are added pairwise in natural order: T(x[0..n)) = T(x[0..h)) +
 *   T(x[h..n)), h the largest power of two below n; products likewise, and sums of squares and norms over the squares
 *   or magnitudes. All but f64 are kept in f32 and rounded once to the output, f64 in f64; the error of a sum is at
 *   most ceil(log2 n) roundings. A mean is the sum divided by `axis` (rounded to the type of the sum), WR_NORM_L2 the
 *   root of the sum of squares, both correctly rounded; a norm overflows and underflows only where it does itself.
 * Integers wrap modulo 2^64, and so modulo 2^8, 2^16 or 2^32 in a narrower output. In a float output (wr_reduce_ex)
 *   nothing wraps.
 * Fields. Canonical words come out. In Goldilocks any 64 bits may come in, and a word means what it is modulo p; in
 *   Mersenne31 p means 0; any other word that is not below p makes its output unspecified. A product of KoalaBear or
 *   BabyBear elements is that of Montgomery forms. The extensions are F_p[x]/(x^4 - 3) for KoalaBear and
 *   F_p[x]/(x^4 - 11) for BabyBear; WR_ANY, WR_ALL and WR_COUNT_NONZERO take four zero words for zero.
 * Extremes. IEEE 754-2019 minimum and maximum: -0 is below +0, and a NaN wins, the first of them for WR_ARGMIN and
 *   WR_ARGMAX. Of equal elements these give the first.
 * NaN and infinities. A NaN anywhere, or +infinity with -infinity in a sum, gives the canonical NaN. A NaN is not
 *   zero: WR_ANY, WR_ALL and WR_COUNT_NONZERO count it.
 * WR_LOGSUMEXP. log(sum of exp(x)) with the bits of wr_softmax_ex's logsumexp, rounded once more where the output is
 *   narrower; no nan_mode but the default. +infinity gives +infinity where there is no NaN.
 * WR_SUM_EXACT. The exact sum, rounded to the output's type once, to nearest even: it overflows only where the result
 *   itself does, and permuted elements give the same bits. A sum that is 0 is +0, but -0 where there are elements and
 *   all of them are -0. A NaN, or infinities of both signs, give NaN, infinities of one sign that infinity. With
 *   weights (wr_reduce_ex) it is the sum of the exact products. Of rows and columns; not of segments and tiles
 *   (WR_ERROR_UNSUPPORTED). WR_DOT_EXACT is an operator of wr_dot_ex alone.
 * Empty axis. Sums, norms and WR_COUNT_NONZERO 0, product 1, mean NaN, WR_LOGSUMEXP -infinity, min the largest value of
 *   the input's type (+infinity; 448 for E4M3, which has none), max its smallest, also where wr_reduce_ex gives
 *   integers in a wider type; WR_ARGMIN and WR_ARGMAX -1, WR_ANY 0, WR_ALL 1, WR_BIT_AND all ones, WR_BIT_OR and
 *   WR_BIT_XOR 0. Empty output (outer or inner 0): nothing is done.
 * Overlap. Where axis is 1 and the output's elements have the input's size, output may be the input itself; any other
 *   overlap is refused.
 * Workspace. On a GPU, memory that the job needs is taken on the stream from a pool of the library's own, and given
 *   back to it behind the job; the pool keeps up to 64 MiB a GPU for the next.
 * Errors: WR_ERROR_INVALID_OP, _INVALID_DTYPE, _UNSUPPORTED, _NULL_POINTER, _SIZE_OVERFLOW, _MISALIGNED, _OVERLAP,
 *   _OUT_OF_MEMORY, _NO_CUDA, _NO_DRIVER, _NO_DEVICE, _NO_KERNEL, 1000 + e. */
WR_API wr_status wr_reduce(wr_op op, wr_dtype dtype, const void *input, void *output, size_t outer, size_t axis,
                           size_t inner, struct CUstream_st *stream);

/* Every knob of a reduction. Set all bytes to zero, then struct_size, then what is needed: zero means the default. */
typedef struct wr_reduce_args {
    size_t struct_size; /* sizeof(wr_reduce_args) as the caller was compiled */
    wr_op op;
    wr_dtype dtype; /* the input's elements */
    /* The output's elements; zero: as wr_reduce gives them. Floats to nearest even; what overflows becomes infinity
     * (in E4M3, which has none, NaN).
     *   floats: any float type.
     *   integers: WR_SUM, WR_PRODUCT, WR_SUM_OF_SQUARES, WR_NORM_L1 any integer type (the result wraps in it), f32 or
     *     f64 (the exact result, rounded once); WR_MEAN and WR_NORM_L2 any float type (the exact sum as f64, divided
     *     or its root taken in f64, rounded once), and it must be given; WR_MIN and WR_MAX any integer type that
     *     holds every value of the input's; WR_NORM_MAX any integer type (wrapping). Exact is what is below 2^100.
     *   WR_ARGMIN, WR_ARGMAX: WR_I64, or WR_I32 where axis is below 2^31.
     *   WR_ANY, WR_ALL: any integer type. WR_COUNT_NONZERO: any integer type (wrapping), f32 or f64.
     *   fields and WR_BIT_*: the input's own; base elements with weights of the extension sum into the extension. */
    wr_dtype output_dtype;
    /* The type that sums, means, products, L1 and L2 norms of floats are kept in; zero: f64 for f64, f32 for all
     * others. WR_F64 is allowed for every float, WR_F32 for all but f64. Anything else: leave zero. */
    wr_dtype accumulate_dtype;
    /* WR_NAN_IGNORE: a NaN counts as absent. Nothing left is an empty axis. Means nothing for integers and fields;
     * floats cannot have it with weights (WR_ERROR_UNSUPPORTED). */
    wr_nan_mode nan_mode;
    /* 0: the output is overwritten. 1: the result is combined with what it holds, by the operator and in the type it is
     * kept in (extremes exactly), and rounded once; a NaN in it stays: WR_SUM, WR_PRODUCT, WR_SUM_OF_SQUARES, WR_MIN,
     * WR_MAX, WR_ANY, WR_ALL, WR_COUNT_NONZERO, WR_BIT_*; WR_ERROR_UNSUPPORTED for others. */
    int32_t add_to_output;
    /* The weights' elements; zero: dtype. WR_KOALABEAR and WR_KOALABEAR_X4 may be mixed either way, and so may
     * BabyBear's; anything else must be dtype. */
    wr_dtype weights_dtype;
    const void *input;
    /* [axis], contiguous, not to be overlapped by the output: WR_SUM adds up input times weight, each product rounded
     * once (of floats) before the tree; WR_SUM_EXACT adds up the exact products. NULL: no weights, and weights_dtype
     * must be zero (WR_ERROR_NULL_POINTER; with axis 0 either may stand alone). */
    const void *weights;
    void *output; /* [outer][inner], contiguous */
    /* WR_ARGMIN, WR_ARGMAX: [outer][inner] of the input's type, contiguous: the elements at the indices; of an empty
     * axis what WR_MIN and WR_MAX give. NULL: not wanted; with other operators anything else is WR_ERROR_UNSUPPORTED.
     */
    void *values;
    size_t outer, axis, inner;
    /* With strides_given: the input's strides in elements, from `input`, which is element [0][0][0]. Each means what it
     * says: 0 is a broadcast (all steps of that direction meet one element), and they may be negative. Without it they
     * must be zero, and the input is contiguous: axis * inner, inner, 1. */
    ptrdiff_t outer_stride, axis_stride, inner_stride;
    /* Memory for the job, 16-byte aligned, on the stream's device, in use until it has run. NULL: the library's own. */
    void *workspace;
    size_t workspace_bytes;
    /* 1: the strides are given. 0: they are not, and one that is not zero is WR_ERROR_INVALID_OPTION. (In a struct of
     * an older header, which ends before this field, each stride of zero stands for its contiguous value.) */
    int32_t strides_given;
} wr_reduce_args;

/* Like wr_reduce, but with every knob. `args` is read before the call returns and may then be reused.
 * Strides: two elements of the input may share an address. With strides, output may be the input itself only
 *   where axis is 1 and all strides along which a step is made have their contiguous values. (No output has strides.)
 * Further errors: WR_ERROR_STRUCT_SIZE, _INVALID_OPTION, _WORKSPACE_TOO_SMALL. */
WR_API wr_status wr_reduce_ex(const wr_reduce_args *args, struct CUstream_st *stream);

/* Writes to *bytes how much workspace wr_reduce_ex needs for `args`: enough on the host device and on every GPU;
 * 0 where it needs none. Of the pointers in args only whether `weights` and `values` are NULL is looked at, and no GPU
 * is needed to ask.
 * Errors: as wr_reduce_ex, but for missing arrays, before any device is looked at; *bytes is then left alone. */
WR_API wr_status wr_reduce_workspace_size(const wr_reduce_args *args, size_t *bytes);

/* Reduces ragged rows: segment s is the elements input[offsets[s]] .. input[offsets[s + 1] - 1], its result is
 * output[s] and has the bits that wr_reduce gives for it alone.
 *
 * offsets: segments + 1 of them, counted in elements from `input`, not decreasing, in memory like the input's; the
 *   first need not be 0, and segments may be empty. With 0 segments nothing is done and every pointer may be NULL;
 *   otherwise offsets and output must not be, and input only where the host device finds that there are no elements.
 * Operators, types, NaN, infinities, empty segments: as wr_reduce. Indices count from the segment's first element.
 * Offsets that are negative or decrease are refused on the host device. On a GPU they are not looked at before the
 *   job runs: elements outside input[offsets[0]] .. input[offsets[segments] - 1] are never read, a segment that starts
 *   or ends outside is cut off there, and nothing but output is written; where they decrease, output is unspecified,
 *   and some of it may not be written.
 * Overlap: none is allowed. On a GPU the input's extent is not known and only the other arrays are compared.
 * Errors: as wr_reduce, and WR_ERROR_INVALID_OFFSETS. */
WR_API wr_status wr_reduce_segments(wr_op op, wr_dtype dtype, const void *input, void *output, const int64_t *offsets,
                                    size_t segments, struct CUstream_st *stream);

/* Every knob of a segmented reduction; fields of the names of wr_reduce_args mean the same. */
typedef struct wr_reduce_segments_args {
    size_t struct_size; /* sizeof(wr_reduce_segments_args) as the caller was compiled */
    wr_op op;
    /* Indices of WR_I32 are for segments of fewer than 2^31 elements: longer ones are refused on the host device
     * (WR_ERROR_UNSUPPORTED); a GPU is not told of them, and gives their indices modulo 2^32. */
    wr_dtype dtype, output_dtype, accumulate_dtype;
    wr_nan_mode nan_mode;
    int32_t add_to_output;
    wr_dtype offsets_dtype; /* the offsets' elements: WR_I64 or WR_I32; zero: WR_I64 */
    const void *input;
    void *output, *values; /* [segments], contiguous */
    const void *offsets;   /* [segments + 1] */
    size_t segments;
    /* How many elements the input has: offsets beyond it are refused on the host device, and never followed on a GPU.
     * Zero: as many as the last offset says. */
    size_t input_count;
    void *workspace;
    size_t workspace_bytes;
} wr_reduce_segments_args;

/* Like wr_reduce_segments, but with every knob; further errors as of wr_reduce_ex. */
WR_API wr_status wr_reduce_segments_ex(const wr_reduce_segments_args *args, struct CUstream_st *stream);

/* Like wr_reduce_workspace_size, for wr_reduce_segments_ex. */
WR_API wr_status wr_reduce_segments_workspace_size(const wr_reduce_segments_args *args, size_t *bytes);

/* The dot product of two vectors: *output = left[0] * right[0] + ... + left[count - 1] * right[count - 1], of floats,
 * integers and field elements, with the bits of WR_SUM with weights: each product is rounded once (floats) and then
 * the sum is that of wr_reduce. left and right may be the same memory. No elements: 0.
 * Output: one element of the inputs' type. Overlap of the output with an input is refused.
 * Errors: as wr_reduce, without WR_ERROR_INVALID_OP. */
WR_API wr_status wr_dot(wr_dtype dtype, const void *left, const void *right, void *output, size_t count,
                        struct CUstream_st *stream);

/* Every knob of a dot product; fields of the names of wr_reduce_args mean the same. */
typedef struct wr_dot_args {
    size_t struct_size;   /* sizeof(wr_dot_args) as the caller was compiled */
    wr_dtype dtype;       /* left's elements */
    wr_dtype right_dtype; /* right's elements; zero: dtype. As wr_reduce_args.weights_dtype. */
    wr_dtype output_dtype, accumulate_dtype;
    int32_t add_to_output;
    const void *left, *right;
    void *output;
    size_t count;
    void *workspace;
    size_t workspace_bytes;
    /* WR_DOT_EXACT: the sum of the exact products, rounded once, as WR_SUM_EXACT has it (floats, accumulate_dtype and
     * add_to_output zero); WR_SUM or zero: as wr_dot; another operator is WR_ERROR_UNSUPPORTED. (A struct of an older
     * header ends before this field.) */
    wr_op op;
} wr_dot_args;

/* Like wr_dot, but with every knob; further errors as of wr_reduce_ex. */
WR_API wr_status wr_dot_ex(const wr_dot_args *args, struct CUstream_st *stream);

/* Like wr_reduce_workspace_size, for wr_dot_ex. */
WR_API wr_status wr_dot_workspace_size(const wr_dot_args *args, size_t *bytes);

/* Softmax along `axis` of input[outer][axis][inner], into output of the same shape; both contiguous:
 * output = exp(x) / sum of exp(x) along the axis.
 *
 * Types: f32, f64, f16, bf16, and both f8; the output has the input's type.
 * Error, whatever the spread and the magnitude of the inputs: f32 outputs above 2^-120 are within 4 units in the last
 *   place of the exact value, f64 outputs above 2^-960 within 4.5 + ceil(log2 axis) (but for inputs of +-2^62 beside
 *   their neighbours, which count as further apart than they are), f16, bf16 and f8 within 4.54 + ceil(log2 axis) f32
 *   units before they are rounded. One element gives exactly 1.
 * NaN and infinities: a NaN or +infinity gives a row of NaN. -infinity gives 0. A row of -infinity alone gives a row of
 *   NaN (wr_softmax_ex has an option).
 * Empty: with any size 0 nothing is done. Overlap: output may be the input itself; any other overlap is refused.
 * Errors: as wr_reduce, without WR_ERROR_INVALID_OP. */
WR_API wr_status wr_softmax(wr_dtype dtype, const void *input, void *output, size_t outer, size_t axis, size_t inner,
                            struct CUstream_st *stream);

/* Like wr_softmax, but output = x - log(sum of exp(x)), the logarithm of softmax.
 * Error: below a magnitude of 2^20 within 4 units in the last place of the larger of |output| and 1 for f32, within
 *   3.25 + ceil(log2 axis) / 2 for f64. One element gives exactly 0: -0 where it is -0, otherwise +0.
 * -infinity gives -infinity; NaN, +infinity and a row of -infinity alone give NaN as in wr_softmax. */
WR_API wr_status wr_log_softmax(wr_dtype dtype, const void *input, void *output, size_t outer, size_t axis,
                                size_t inner, struct CUstream_st *stream);

/* Every knob of softmax. Set all bytes to zero, then struct_size, then what is needed.
 *
 * mask, lengths and the causal limit leave elements out, and may be combined: an element takes part where all agree.
 * The others share the weight with the bits that they would have beside logits of -infinity, or, where what is left out
 * is the end of the row, in a row without it. What is stored where one is left out does not matter, but it must be
 * memory that may be read; its output is 0, in log-softmax -infinity, also where a NaN makes the rest of the row NaN.
 */
typedef struct wr_softmax_args {
    size_t struct_size; /* sizeof(wr_softmax_args) as the caller was compiled */
    wr_dtype dtype;
    /* any float type (E4M3 has no infinity: where log-softmax is -infinity it is NaN); zero: dtype */
    wr_dtype output_dtype;
    int32_t log; /* 0: softmax, 1: log-softmax */
    /* what every place of a row gives in which no element takes part, or only such of -infinity */
    wr_empty_row empty_row;
    /* 1: row [o] (of each inner index) sees its first o % causal_rows + causal_first elements alone; 0: all of them */
    int32_t causal;
    /* Multiplies each logit before the exponential, in f32 (f64 for f64), rounded once. Zero: 1.
     * WR_ERROR_INVALID_OPTION where it is not finite, or becomes infinite or 0 in f32 (not for f64). */
    double scale;
    const void *input;
    void *output; /* the shape of the input, contiguous */
    /* [outer][inner], f32 (f64 for f64 inputs): log(sum of exp(scale * x)) of each row; NULL: not wanted.
     * -infinity for a row of -infinity alone, with nothing left or with axis 0, NaN for a row with a NaN (even beside
     * +infinity), +infinity for another row with +infinity. */
    void *logsumexp;
    /* [outer][inner], f32 (f64 for f64 inputs): the largest scale * x of each row, -infinity where there is none, NaN
     * for a row with a NaN; a zero is +0. NULL: not wanted. */
    void *maximum;
    /* the shape of the input, contiguous: an element whose byte is 0 takes no part. NULL: none is left out. */
    const uint8_t *mask;
    /* [outer][inner]: how many leading elements of each row take part, cut off at 0 and at axis. NULL: all. */
    const int64_t *lengths;
    /* With causal: how many elements row 0 sees (1: each row its own position and those before it); may be negative. */
    int64_t causal_first;
    /* With causal: rows of one matrix of scores, where outer counts several; zero: axis, the matrices are square.
     * Without it causal_first and causal_rows must be zero (WR_ERROR_INVALID_OPTION). */
    size_t causal_rows;
    /* NULL: all rows have axis elements. Otherwise rows are ragged, and these are outer + 1, not decreasing, in memory
     * like the input's: row r is elements offsets[r] .. offsets[r + 1] - 1 of input, output and mask, which have `axis`
     * elements in all; inner must be 1, strides_given and causal 0 (WR_ERROR_UNSUPPORTED). Elements in no row are
     * neither read nor written. Where there is anything to write, offsets that are negative, decrease or lead beyond
     * axis are refused on the host device (WR_ERROR_INVALID_OFFSETS); a GPU cuts rows off at the first offset, the last
     * one and axis, and takes a row that ends before it starts for empty. */
    const int64_t *offsets;
    size_t outer, axis, inner;
    ptrdiff_t outer_stride, axis_stride, inner_stride; /* as in wr_reduce_args; they describe the input only */
    void *workspace;
    size_t workspace_bytes;
    int32_t strides_given;
    /* [outer][inner] (ragged: [outer]), contiguous, f32 (f64 for f64 inputs), in memory like the input's: a scale for
     * each row, which has the bits of a call with that `scale`; that must be 0 then (WR_ERROR_INVALID_OPTION). NULL:
     * `scale` is that of all rows. As there 0 is 1; the logits of a row whose scale is NaN or infinite are NaN. */
    const void *scales;
} wr_softmax_args;

/* Like wr_softmax or wr_log_softmax, but with every knob. `args` is read before the call returns.
 * Overlap: output may be the input itself where the strides are contiguous and the element sizes agree; logsumexp and
 *   maximum must not overlap anything; what is only read may overlap.
 * Further errors: WR_ERROR_STRUCT_SIZE, _INVALID_OPTION, _INVALID_OFFSETS, _WORKSPACE_TOO_SMALL. */
WR_API wr_status wr_softmax_ex(const wr_softmax_args *args, struct CUstream_st *stream);

/* Like wr_reduce_workspace_size, for wr_softmax_ex: only whether pointers are NULL is looked at, and none is missed. */
WR_API wr_status wr_softmax_workspace_size(const wr_softmax_args *args, size_t *bytes);

/* States: a reduction of an axis in pieces. A state stands for elements [first, first + count) of an axis of any
 * length; neighbours' states are merged, and the state of a whole axis is finished, to the bits that one call gives for
 * all of it, whatever the cuts and whatever order the merges were done in. A state is bytes, the same on the host
 * device and on every GPU, to be stored and sent: docs/states.md has the format.
 *
 * Set all bytes of wr_state_args to zero, then struct_size, then what is needed. Every call of one reduction is given
 * the same op, dtype, output_dtype, accumulate_dtype, nan_mode, weights_dtype, outer and inner. Operators: all of
 * wr_reduce_ex but WR_DOT_EXACT, with its types and weights; WR_LOGSUMEXP, whose state is that of
 * wr_softmax_state. Segments have no states of their own: a row that is cut is a piece like any other.
 * Exact sums (WR_SUM_EXACT): their states lie nowhere: first, count and right_count are not looked at but for the
 *   elements that wr_state_reduce reads, any two merge in any order, and any finishes.
 * Empty pieces have states too.
 * Memory: states are 16-byte aligned. On a GPU they are memory of the stream's device, and everything about the sizes
 *   comes from the arguments; the bytes are judged when the job runs.
 * A state that is not what the arguments say is refused: on the host device by the status that is returned, and then
 *   nothing is written but *check; on a GPU *check alone says so (0 where all is well), merged becomes bytes that are
 *   refused in turn, and output is left alone.
 * Errors of all: WR_ERROR_NULL_POINTER, _INVALID_OP, _INVALID_DTYPE, _INVALID_OPTION, _UNSUPPORTED, _SIZE_OVERFLOW,
 *   _MISALIGNED, _OVERLAP, _WORKSPACE_TOO_SMALL, _STRUCT_SIZE, _OUT_OF_MEMORY, _NO_CUDA, _NO_DRIVER, _NO_DEVICE,
 *   _NO_KERNEL, _INVALID_STATE (bytes that are none; fewer than wr_state_size says), _STATE_MISMATCH, _NOT_NEIGHBOUR,
 *   1000 + e. */
typedef struct wr_state_args {
    size_t struct_size; /* sizeof(wr_state_args) as the caller was compiled */
    wr_op op;
    wr_dtype dtype;        /* the input's elements */
    wr_dtype output_dtype; /* the result's elements; these and the next three as in wr_reduce_args */
    wr_dtype accumulate_dtype;
    wr_nan_mode nan_mode;
    wr_dtype
        weights_dtype; /* zero: dtype, where wr_state_reduce has weights; give it to all calls where there are any */
    int32_t strides_given; /* as in wr_reduce_args */
    size_t outer, inner;
    size_t first, count; /* the piece; of wr_state_merge the left one */
    size_t right_count;  /* wr_state_merge: elements of the right piece, which begins at first + count */
    const void *input;   /* wr_state_reduce: [outer][count][inner], the piece's own elements */
    const void *weights; /* wr_state_reduce: [count], likewise */
    ptrdiff_t outer_stride, axis_stride, inner_stride;
    void *state; /* wr_state_reduce writes it; wr_state_merge (the left piece's) and wr_state_finish read it */
    size_t state_bytes;
    const void *right; /* wr_state_merge: the right piece's state */
    size_t right_bytes;
    void *merged; /* wr_state_merge: written; may be `state` itself */
    size_t merged_bytes;
    void *output;    /* wr_state_finish: [outer][inner], contiguous */
    void *values;    /* wr_state_finish: as in wr_reduce_args */
    int32_t *check;  /* memory like the states': the wr_status of the states' bytes is written here; NULL: not wanted */
    void *workspace; /* wr_state_reduce: 16-byte aligned, in use until the job has run; NULL: the library's own */
    size_t workspace_bytes;
    double scale; /* WR_LOGSUMEXP: what wr_softmax_state was given; zero: 1. Of others zero. */
} wr_state_args;

/* Writes to *state_bytes the size of the state of the piece first, count, and to *workspace_bytes (NULL: not wanted)
 * the workspace that wr_state_reduce needs for it, enough on the host device and on every GPU. Pointers in args are not
 * looked at but for whether `weights` is NULL, and no GPU is needed to ask. A state has 128 bytes and, for each output,
 * one accumulator of 4 to 16 bytes for each node, at most 2 log2(count) of them, fewer where first or the piece's end
 * is a multiple of a large power of two; of an exact sum 128 to 1112 bytes an output. */
WR_API wr_status wr_state_size(const wr_state_args *args, size_t *state_bytes, size_t *workspace_bytes);

/* Reduces a piece into `state`. Overlap: none is allowed. */
WR_API wr_status wr_state_reduce(const wr_state_args *args, struct CUstream_st *stream);

/* Merges `state`, of [first, first + count), and `right`, of the right_count elements behind them, into `merged`.
 * Overlap: merged may be `state`, where it has room; any other is refused. */
WR_API wr_status wr_state_merge(const wr_state_args *args, struct CUstream_st *stream);

/* Finishes `state`, of [0, count), into output: what wr_reduce_ex gives for an axis of count elements. first other than
 * 0 is WR_ERROR_NOT_NEIGHBOUR. Overlap: none is allowed. */
WR_API wr_status wr_state_finish(const wr_state_args *args, struct CUstream_st *stream);

/* The state of a piece of softmax's rows, [first, first + args->axis) of an axis of any length: its size is what
 * wr_state_size says for WR_LOGSUMEXP, wr_state_merge merges it (with args->scale), and wr_state_finish gives the
 * logsumexp. wr_state_reduce of WR_LOGSUMEXP makes the same, of pieces that nothing is left out of. Of args are read
 * dtype, scale, input, mask, lengths, causal, strides, sizes and workspace; input and mask are the piece's own, lengths
 * and the causal limit count from element 0 of the axis, and with causal there must be causal_rows
 * (WR_ERROR_INVALID_OPTION). offsets and scales are WR_ERROR_UNSUPPORTED. check, errors: as above. */
WR_API wr_status wr_softmax_state(const wr_softmax_args *args, size_t first, void *state, size_t state_bytes,
                                  int32_t *check, struct CUstream_st *stream);

/* Softmax or log-softmax of the elements [first, first + args->axis) of rows of `count` elements, from `whole`, the
 * state of [0, count): the bits that wr_softmax_ex gives for whole rows. args as for wr_softmax_state, and output,
 * output_dtype, log, empty_row. before and after are the states of [0, first) and [first + args->axis, count): needed
 * where first, or the piece's end, is neither a multiple of 1024 nor an end of the axis; else, and for log-softmax,
 * they may be NULL. Overlap: output may be input, as in wr_softmax_ex. check, errors: as above; where a state is
 * refused output is left alone. */
WR_API wr_status wr_softmax_from_state(const wr_softmax_args *args, size_t first, size_t count, const void *whole,
                                       const void *before, const void *after, int32_t *check,
                                       struct CUstream_st *stream);

/* The gradient of softmax: from its output y and the gradient dy of a loss with respect to it, the gradient with
 * respect to its input, y * (dy - sum of y * dy), the sum being that of wr_dot for the row. All arrays are
 * [outer][axis][inner], contiguous, and of one type: f32, f64, f16, bf16, f8.
 * Error: within ceil(log2 axis) + 4 roundings of 2^-24 (f64: 2^-53) of |y| * (|dy| + sum of |y * dy|), before the one
 *   rounding to the type. Each product y * dy below the normal range may be off by 2^-150 (f64: 2^-1075) on top.
 * NaN and infinities follow the formula: a NaN in y or dy makes the row NaN, and so does an infinite dy where y is 0.
 * Empty: with any size 0 nothing is done. Overlap: input_gradient may be output_gradient or output itself; any other
 *   overlap with it is refused. Errors: as wr_reduce, without WR_ERROR_INVALID_OP. */
WR_API wr_status wr_softmax_backward(wr_dtype dtype, const void *output, const void *output_gradient,
                                     void *input_gradient, size_t outer, size_t axis, size_t inner,
                                     struct CUstream_st *stream);

/* Likewise of log-softmax, whose output y is a logarithm: dy - exp(y) * sum of dy, the sum being WR_SUM of the row.
 * Error: within ceil(log2 axis) + 7 roundings, as above, of |dy| + exp(y) * sum of |dy|; an exp(y) of e^-86 (f64:
 *   e^-708) or less counts as 0. */
WR_API wr_status wr_log_softmax_backward(wr_dtype dtype, const void *output, const void *output_gradient,
                                         void *input_gradient, size_t outer, size_t axis, size_t inner,
                                         struct CUstream_st *stream);

/* Every knob of the gradient; all bytes are zero but what is set. Fields of the names of wr_softmax_args mean the same,
 * and are given as they were to wr_softmax_ex: an element that took no part has the gradient +0, which is stored or
 * added like any other. */
typedef struct wr_softmax_backward_args {
    size_t struct_size; /* sizeof(wr_softmax_backward_args) as the caller was compiled */
    wr_dtype dtype;     /* the elements of output, or of input */
    /* Zero: dtype. WR_F64 goes with a dtype of WR_F64 alone, and nothing else with that (WR_ERROR_UNSUPPORTED). */
    wr_dtype output_gradient_dtype;
    wr_dtype input_gradient_dtype; /* any float type; zero: dtype */
    int32_t log;
    /* The outputs of a row of which nothing was left were NaN, or were 0 (of log-softmax -infinity). */
    wr_empty_row empty_row;
    int32_t causal;
    /* 1: added to what input_gradient holds, in f32 (f64 for f64), and rounded once; 0: stored instead of it */
    int32_t add_to_input_gradient;
    /* the forward's: each gradient is multiplied by it, in f32 (f64 for f64), before it is added or stored */
    double scale;
    /* What the forward call gave, with any output_dtype; or NULL, and then input and logsumexp are the logits that it
     * was given and the logsumexp that it gave. Both, or logsumexp with output, is WR_ERROR_UNSUPPORTED. */
    const void *output;
    const void *input;
    const void *logsumexp;
    const void *output_gradient;
    void *input_gradient; /* [outer][axis][inner], contiguous */
    const uint8_t *mask;
    const int64_t *lengths;
    int64_t causal_first;
    size_t causal_rows;
    const int64_t *offsets;
    size_t outer, axis, inner;
    ptrdiff_t outer_stride, axis_stride, inner_stride; /* of output, or of input; as in wr_reduce_args */
    ptrdiff_t gradient_outer_stride, gradient_axis_stride, gradient_inner_stride; /* of output_gradient */
    void *workspace;
    size_t workspace_bytes;
    int32_t strides_given; /* 1: all six are given; the gradient of a sum is 0, 0, 0 */
    /* The forward's, as in wr_softmax_args: a scale for each row, [outer][inner]; NULL: `scale` is that of all. */
    const void *scales;
} wr_softmax_backward_args;

/* Like wr_softmax_backward or wr_log_softmax_backward, but with every knob. `args` is read before the call returns.
 * With logits, y is exp(scale * x - logsumexp), scale * x being rounded first, within 4 roundings; at e^-86 (f64:
 *   e^-708) or less it counts as 0. Where logsumexp is not finite all y of the row are NaN; where it is -infinity and
 *   empty_row says so they are 0, and the gradient of log-softmax is +0 as that of a row that is left out. So it is
 * from outputs of log-softmax that are -infinity in the whole row (not of E4M3, where they are NaN). Overlap:
 * input_gradient may be output, input or output_gradient itself, where that is contiguous and has elements of its size;
 * it must not overlap anything else. Further errors: WR_ERROR_STRUCT_SIZE, _INVALID_OPTION, _INVALID_OFFSETS,
 * _WORKSPACE_TOO_SMALL. */
WR_API wr_status wr_softmax_backward_ex(const wr_softmax_backward_args *args, struct CUstream_st *stream);

/* Like wr_softmax_workspace_size, for wr_softmax_backward_ex. */
WR_API wr_status wr_softmax_backward_workspace_size(const wr_softmax_backward_args *args, size_t *bytes);

/*
 * TILES: what CUDA's warp functions do, as calls on arrays.
 *
 * `count` lanes stand in consecutive tiles of `width` lanes: 2, 4, 8, 16 or 32. Lane l of tile t is element
 *   t * width + l of the input and of the output. Where count is no multiple of width the last tile is short: its
 *   lanes beyond count are absent, nothing is read from or written to them, and the others act as if no more had ever
 *   been there.
 * members, where a call has it: bit i stands for lane i of every tile; 0 is no lane. An absent lane is no member.
 * Masks in the output count in the same way: bit i is lane i of the tile, whatever warp the tile lies in.
 * count 0: nothing is done, and the pointers may be NULL.
 * Overlap: output may be the input itself where their elements have the same size; any other overlap is refused.
 * Streams, threads and bits: as for every call; on a GPU a call is one kernel that takes no memory of its own.
 * Errors of all four: WR_ERROR_INVALID_OPTION for another width, for a mode, vote or match that is none of its enum,
 *   for members beyond the width and an XOR with an operand beyond it; WR_ERROR_INVALID_OP and _INVALID_DTYPE where the
 *   call has them; WR_ERROR_UNSUPPORTED, _NULL_POINTER, _SIZE_OVERFLOW, _MISALIGNED, _OVERLAP, _OUT_OF_MEMORY,
 *   _NO_CUDA, _NO_DRIVER, _NO_DEVICE, _NO_KERNEL, 1000 + e.
 */

/* Which lane of its tile a lane takes its value from. Zero is none. */
typedef enum wr_shuffle {
    WR_SHUFFLE_UP = 1,   /* the lane `operand` lanes below: __shfl_up_sync */
    WR_SHUFFLE_DOWN = 2, /* the lane `operand` lanes above: __shfl_down_sync */
    /* the lane whose number is this lane's XOR operand, which must be below the width: __shfl_xor_sync */
    WR_SHUFFLE_XOR = 3,
    WR_SHUFFLE_INDEX = 4, /* lane `operand` modulo the width, for all: __shfl_sync */
    WR_SHUFFLE_FORCE_INT32 = 0x7FFFFFFF
} wr_shuffle;

/* What a vote says about the member lanes' predicates. Zero is none. */
typedef enum wr_vote {
    WR_VOTE_ANY = 1,    /* 1 where a member's predicate is not 0, else 0: __any_sync */
    WR_VOTE_ALL = 2,    /* 1 where no member's predicate is 0, else 0: __all_sync */
    WR_VOTE_BALLOT = 3, /* the mask of the members whose predicate is not 0: __ballot_sync */
    WR_VOTE_FORCE_INT32 = 0x7FFFFFFF
} wr_vote;

/* Which member lanes hold the same value. Zero is none. */
typedef enum wr_match {
    WR_MATCH_ANY = 1, /* the mask of the members with this lane's value: __match_any_sync */
    WR_MATCH_ALL = 2, /* the mask of all members where all have one value, else 0: __match_all_sync */
    WR_MATCH_FORCE_INT32 = 0x7FFFFFFF
} wr_match;

/* Reduces each tile, and gives every lane of it the tile's result: output[count].
 * Operators (but for WR_LOGSUMEXP, WR_SUM_EXACT), element types, output types, order of addition, NaN: those of
 *   wr_reduce, whose result for the lanes of the tile alone this is, bit by bit; a short last tile is reduced over the
 *   lanes that are present, and a mean divides by their number. WR_ARGMIN, WR_ARGMAX give the lane within its tile. */
WR_API wr_status wr_tile_reduce(wr_op op, wr_dtype dtype, const void *input, void *output, size_t count, uint32_t width,
                                struct CUstream_st *stream);

/* Gives every lane the value of another lane of its tile: output[count], of the input's type.
 * Every element type, moved as bits: NaNs and words that are not canonical arrive as they were.
 * A source lane that lies outside the tile, or is absent in a short last tile, leaves the lane its own value; so
 *   UP and DOWN take any operand. */
WR_API wr_status wr_tile_shuffle(wr_shuffle mode, wr_dtype dtype, const void *input, void *output, size_t count,
                                 uint32_t width, uint32_t operand, struct CUstream_st *stream);

/* Gives every member lane what the members' predicates (true where not 0) say together: output[count]; 0 to lanes that
 * are no members. */
WR_API wr_status wr_tile_vote(wr_vote vote, const int32_t *predicates, uint32_t *output, size_t count, uint32_t width,
                              uint32_t members, struct CUstream_st *stream);

/* Gives every member lane the mask of members whose value equals its own, or of all members where all are equal:
 * output[count]; 0 to lanes that are no members.
 * Every element type, compared bit by bit: -0 is not +0, a NaN equals a NaN of the same bits, an x4 element is equal
 *   where all four words are. */
WR_API wr_status wr_tile_match(wr_match match, wr_dtype dtype, const void *input, uint32_t *output, size_t count,
                               uint32_t width, uint32_t members, struct CUstream_st *stream);

#ifdef __cplusplus
}
#endif

#endif /* WARP_REDUCE_H */
