#include "filling.h"

#include "calls.h"

#include <stdlib.h>
#include <string.h>

/* From the last dimension: 0 where the mask is repeated, -1 where its shape is another. */
static int mask_strides(const Shape *shape, const Shape *mask, ptrdiff_t *strides) {
    int missing = shape->rank - mask->rank;
    if (missing < 0) {
        return -1;
    }
    for (int d = 0; d < shape->rank; ++d) {
        ptrdiff_t length = d < missing ? 1 : mask->lengths[d - missing];
        if (length != 1 && length != shape->lengths[d]) {
            return -1;
        }
        strides[d] = length == 1 ? 0 : mask->strides[d - missing];
    }
    return 0;
}

int is_mask_of(const ArrayView *x, const ArrayView *mask) {
    ptrdiff_t strides[MOST_DIMENSIONS];
    return x->framework == mask->framework && x->device == mask->device && mask->is_bool &&
           mask_strides(&x->shape, &mask->shape, strides) == 0;
}

/* What the library gives for an axis without elements, of the operator that the elements are first put together by. */
int find_identity(wr_op op, const ArrayView *x, int64_t *word) {
    uint64_t found = 0;
    Args nothing = empty_args(CALL_REDUCE);
    switch (op) {
    case WR_ANY:
    case WR_COUNT_NONZERO:
    case WR_NORM_L1:
    case WR_NORM_L2:
    case WR_NORM_MAX:
        op = WR_SUM;
        break;
    case WR_ALL:
        op = WR_PRODUCT;
        break;
    default:
        break;
    }
    nothing.reduce.op = op;
    nothing.reduce.dtype = (wr_dtype)x->dtype;
    nothing.reduce.output = &found;
    nothing.reduce.outer = nothing.reduce.inner = 1;
    wr_status status = run_call(wr_library, CALL_REDUCE, &nothing, wr_library->wr_host_stream());
    if (x->is_bool && found != 0) {
        found = 1;
    }
    int unused = 64 - 8 * (int)x->shape.item_size;
    *word = (int64_t)(found << unused) >> unused;
    return status == WR_SUCCESS ? 0 : -1;
}

typedef struct Line {
    const char *from;
    ptrdiff_t stride;
    const char *mask;
    ptrdiff_t mask_stride;
    ptrdiff_t count;
} Line;

/* A choice without a branch, since masks are seldom foreseeable; side by side it is done many at a time. */
#define FILL(name, word)                                                                                               \
    static inline void name##_by(char *to, const char *from, ptrdiff_t stride, const char *mask,                       \
                                 ptrdiff_t mask_stride, ptrdiff_t count, word other) {                                 \
        for (ptrdiff_t i = 0; i < count; ++i) {                                                                        \
            word own;                                                                                                  \
            memcpy(&own, from + i * stride, sizeof own);                                                               \
            own = mask[i * mask_stride] != 0 ? own : other;                                                            \
            memcpy(to + i * (ptrdiff_t)sizeof own, &own, sizeof own);                                                  \
        }                                                                                                              \
    }                                                                                                                  \
    static void name(char *to, Line line, int64_t identity) {                                                          \
        const ptrdiff_t size = sizeof(word);                                                                           \
        if (line.stride == size && line.mask_stride == 1) {                                                            \
            name##_by(to, line.from, size, line.mask, 1, line.count, (word)identity);                                  \
        } else {                                                                                                       \
            name##_by(to, line.from, line.stride, line.mask, line.mask_stride, line.count, (word)identity);            \
        }                                                                                                              \
    }

FILL(fill_bytes, uint8_t)
FILL(fill_halves, uint16_t)
FILL(fill_words, uint32_t)
FILL(fill_doubles, uint64_t)

static void fill_line(char *to, Line line, int64_t identity, ptrdiff_t item_size) {
    switch (item_size) {
    case 1:
        fill_bytes(to, line, identity);
        break;
    case 2:
        fill_halves(to, line, identity);
        break;
    case 4:
        fill_words(to, line, identity);
        break;
    default:
        fill_doubles(to, line, identity);
    }
}

/* Goes to the next line: the dimensions but the last count up, the last of them fastest. 0 after the last line. */
static int step(const Shape *shape, int last, const ptrdiff_t *strides, ptrdiff_t *place, Line *line) {
    for (int d = last - 1; d >= 0; --d) {
        line->from += shape->strides[d];
        line->mask += strides[d];
        if (++place[d] < shape->lengths[d]) {
            return 1;
        }
        line->from -= shape->strides[d] * place[d];
        line->mask -= strides[d] * place[d];
        place[d] = 0;
    }
    return 0;
}

static void fill_all(const ArrayView *x, const ArrayView *mask, int64_t identity, char *to) {
    const Shape *shape = &x->shape;
    ptrdiff_t strides[MOST_DIMENSIONS] = {0}, place[MOST_DIMENSIONS] = {0};
    const int last = shape->rank > 0 && shape->rank <= MOST_DIMENSIONS ? shape->rank - 1 : 0;
    Line line = {x->data, 0, mask->data, 0, 1};
    if (shape->rank > 0 && mask_strides(shape, &mask->shape, strides) == 0) {
        line = (Line){x->data, shape->strides[last], mask->data, strides[last], shape->lengths[last]};
    }
    do {
        fill_line(to, line, identity, shape->item_size);
        to += line.count * shape->item_size;
    } while (step(shape, last, strides, place, &line));
}

int fill_view(wr_op op, const ArrayView *x, const ArrayView *mask, ArrayView *filled) {
    int64_t identity = 0;
    ptrdiff_t size = x->shape.item_size;
    *filled = *x;
    filled->owner = NULL;
    for (int d = x->shape.rank - 1; d >= 0; --d) {
        filled->shape.strides[d] = size;
        size *= x->shape.lengths[d];
    }
    if (find_identity(op, x, &identity) != 0) {
        return -1;
    }
    filled->data = malloc(size > 0 ? (size_t)size : 1);
    if (filled->data != NULL && size > 0) {
        PyThreadState *state = PyEval_SaveThread();
        fill_all(x, mask, identity, filled->data);
        PyEval_RestoreThread(state);
    }
    return filled->data != NULL ? 0 : -1;
}

void free_filled(ArrayView *filled) { free(filled->data); }
