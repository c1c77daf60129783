/* The calls of softmax, its gradients and logsumexp. */
#include "walk_parts.h"

static const wr_dtype softmax_types[] = {WR_F32, WR_F64, WR_F16, WR_BF16, WR_F8_E4M3, WR_F8_E5M2};
enum { SOFTMAX_TYPES = sizeof softmax_types / sizeof *softmax_types };

static const shape softmax_shapes[] = {
    {"few rows of some lanes each", 9, 40, 1, 1, 0},
    {"few rows of a block each", 5, 900, 1, 1, 0},
    {"few odd rows of a block each", 3, 2001, 1, 1, 0},
    {"rows of less than a base block", 600, 1000, 1, 1, 0},
    {"rows of three quarters of a base block", 600, 768, 1, 1, 0},
    {"rows of a base block but one vector", 600, 1016, 1, 1, 0},
    {"rows of a base block", 600, 1024, 1, 1, 0},
    {"rows of two base blocks and a half", 5, 2560, 1, 1, 0},
    {"blocks of 128 threads", 3, 4096, 1, 1, 0},
    {"blocks of 256 threads", 3, 7000, 1, 1, 0},
    {"blocks of 512 threads", 3, 16000, 1, 1, 0},
    {"blocks of 1024 threads", 3, 32768, 1, 1, 0},
    {"odd rows", 3, 16001, 1, 1, 0},
    {"odd rows of 256 threads", 3, 7001, 1, 1, 0},
    {"long rows", 3, 100000, 1, 1, 0},
    {"a long row", 1, 700000, 1, 1, 0},
    {"a long odd row", 1, 700001, 1, 1, 0},
    {"short columns", 5, 60, 40, 1, 0},
    {"columns of two elements", 3, 2, 40, 1, 0},
    {"odd columns of two elements", 3, 2, 7, 1, 0},
    {"short columns of clusters", 1, 700, 48, 1, 0},
    {"long columns", 1, 5000, 33, 1, 0},
    {"rows that share a warp", 17000, 32, 1, 1, 0},
    {"odd rows of a lane each", 17000, 21, 1, 1, 0},
    {"odd rows of several lanes each", 8500, 33, 1, 1, 0},
    {"odd rows that share a warp", 4300, 77, 1, 1, 0},
    {"rows of words that share a warp", 4300, 100, 1, 1, 0},
    {"rows of a third of a base block", 1100, 300, 1, 1, 0},
    {"rows of three eighths of a base block", 20, 384, 1, 1, 0},
    {"rows of clusters", 40, 20000, 1, 1, 0},
    {"odd rows of clusters", 5, 40001, 1, 1, 0},
    {"columns of a block", 2, 300, 64, 1, 0},
    {"tiles of columns", 2, 1000, 33, 1, 0},
    {"tall tiles of columns", 1, 1024, 200, 1, 0},
    {"few odd columns", 4, 33, 3, 1, 0},
    {"taller tiles of few columns", 1, 9000, 9, 1, 0},
    {"columns too tall for tiles", 1, 33000, 8, 1, 0},
    {"two rows a block", 300, 2048, 1, 1, 0},
    {"rows of clusters of several warps a block", 3, 40960, 1, 1, 0},
    {"rows of clusters of many warps a block", 2, 140000, 1, 1, 0},
    {"rows with gaps", 20, 512, 1, 1, 16},
    {"scattered rows", 20, 300, 1, 3, 1},
    {"scattered rows of several warps", 3, 3000, 1, 3, 1},
    {"a long scattered row", 2, 40000, 1, 3, 1},
};
enum { SOFTMAX_SHAPES = sizeof softmax_shapes / sizeof *softmax_shapes };

static void softmax_both_ways(const softmax_kind *kind, const shape *of, const walker *by) {
    by->softmax(kind, of, START);
    by->softmax(kind, of, MOVED);
}

static void gradient_both_ways(const gradient_kind *kind, const shape *of, const walker *by) {
    by->gradient(kind, of, START);
    by->gradient(kind, of, MOVED);
}

static void logsumexp_both_ways(wr_dtype dtype, const shape *of, const walker *by) {
    by->logsumexp(dtype, of, START);
    by->logsumexp(dtype, of, MOVED);
}

static void walk_gradients(wr_dtype dtype, const shape *of, const walker *by) {
    gradient_kind kind = {WR_F32, 0, 0, 0, 0, 0};
    kind.dtype = dtype;
    for (kind.log = 0; kind.log < 2; ++kind.log) {
        for (kind.from_logits = 0; kind.from_logits < 2; ++kind.from_logits) {
            gradient_both_ways(&kind, of, by);
        }
    }
    kind.masked = 1; /* these have kernels of their own, which take logarithms too */
    kind.log = 0;
    for (kind.from_logits = 0; kind.from_logits < 2; ++kind.from_logits) {
        gradient_both_ways(&kind, of, by);
    }
    kind.masked = 0; /* and so have these */
    kind.scaled = HAS_OWN_SCALES;
    for (kind.from_logits = 0; kind.from_logits < 2; ++kind.from_logits) {
        gradient_both_ways(&kind, of, by);
    }
}

/* The gradients of rows between these go through clusters that stay: they are among the many rows, whose barriers the
 * watching tools are told of. */
enum { LONGEST_ROW_IN_REGISTERS = 128 * 1024, LONGEST_ROW_OF_CLUSTERS = 256 * 1024 };

static void walk_softmax_over(wr_dtype dtype, const shape *of, const walker *by) {
    softmax_kind kind = {WR_F32, 0, 0, HAS_ONE_SCALE, (wr_dtype)0, 0};
    kind.dtype = dtype;
    logsumexp_both_ways(dtype, of, by);
    softmax_both_ways(&kind, of, by);
    kind.scaled = 0;
    kind.is_alone = 1;
    softmax_both_ways(&kind, of, by);
    kind.is_alone = 0;
    for (kind.log = 0; kind.log < 2; ++kind.log) {
        for (kind.masked = 0; kind.masked <= shape_is_contiguous(of); ++kind.masked) {
            softmax_both_ways(&kind, of, by);
        }
        kind.masked = 0;
        kind.scaled = HAS_OWN_SCALES;
        softmax_both_ways(&kind, of, by);
        kind.scaled = 0;
    }
    if (shape_is_contiguous(of) && (of->axis <= LONGEST_ROW_IN_REGISTERS || of->axis > LONGEST_ROW_OF_CLUSTERS)) {
        walk_gradients(dtype, of, by);
    }
}

/* Into another type, which has kernels of its own, and with a mask others; into f64 go what none were made for. */
static void walk_converted(wr_dtype dtype, const walker *by) {
    static const shape shapes[] = {{"short rows into another type", 100, 256, 1, 1, 0},
                                   {"rows into another type", 37, 1024, 1, 1, 0},
                                   {"rows of several warps into another type", 3, 8000, 1, 1, 0},
                                   {"rows of clusters into another type", 9, 20000, 1, 1, 0},
                                   {"rows of wide clusters into another type", 2, 40000, 1, 1, 0},
                                   {"rows of clusters of many warps into another type", 2, 80000, 1, 1, 0},
                                   {"a long row into another type", 1, 700000, 1, 1, 0},
                                   {"odd rows into another type", 37, 1001, 1, 1, 0},
                                   {"odd rows of several warps into another type", 3, 8001, 1, 1, 0},
                                   {"odd rows of clusters into another type", 2, 40001, 1, 1, 0},
                                   {"a long odd row into another type", 1, 700001, 1, 1, 0}};
    softmax_kind kind = {WR_F32, 0, 0, 0, WR_F32, 0};
    size_t i;
    kind.dtype = dtype;
    for (i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        for (kind.log = 0; kind.log < 2; ++kind.log) {
            kind.output_dtype = dtype == WR_F32 ? WR_BF16 : WR_F32;
            for (kind.masked = 0; kind.masked < 2; ++kind.masked) {
                softmax_both_ways(&kind, &shapes[i], by);
            }
            kind.output_dtype = dtype == WR_F64 ? WR_F32 : WR_F64;
            softmax_both_ways(&kind, &shapes[i], by);
        }
        kind.log = kind.masked = 0;
        kind.output_dtype = WR_F8_E5M2;
        softmax_both_ways(&kind, &shapes[i], by);
    }
}

/* More than are spread over lanes. */
static void walk_tiny_rows(wr_dtype dtype, const walker *by) {
    static const shape shapes[] = {{"many rows of three elements", 280000, 3, 1, 1, 0},
                                   {"many rows of seven elements", 280000, 7, 1, 1, 0}};
    softmax_kind kind = {WR_F32, 0, 0, 0, (wr_dtype)0, 0};
    size_t i;
    kind.dtype = dtype;
    for (i = 0; i < sizeof shapes / sizeof *shapes; ++i) {
        for (kind.log = 0; kind.log < 2; ++kind.log) {
            softmax_both_ways(&kind, &shapes[i], by);
        }
    }
}

static void walk_softmax_of(size_t first, size_t last, const walker *by) {
    size_t i, j;
    for (i = first; i <= last; ++i) {
        for (j = 0; j < SOFTMAX_SHAPES; ++j) {
            walk_softmax_over(softmax_types[i], &softmax_shapes[j], by);
        }
        walk_converted(softmax_types[i], by);
        walk_tiny_rows(softmax_types[i], by);
    }
}
void walk_softmax_of_wide(const walker *by) { walk_softmax_of(0, 1, by); }
void walk_softmax_of_16_bits(const walker *by) { walk_softmax_of(2, 3, by); }
void walk_softmax_of_8_bits(const walker *by) { walk_softmax_of(4, 5, by); }

/* A block that looks for the longer ones among short rows finds more of them than it does at a time. */
static void walk_crowded_rows(wr_dtype dtype, const walker *by) {
    enum { MULTIPROCESSORS = 132, BLOCKS = 8, LOOKED_THROUGH = 64 };
    uneven_kind kind = {dtype, dtype, 0, 1, 0, 4, (size_t)MULTIPROCESSORS * BLOCKS * LOOKED_THROUGH, LOOKED_THROUGH};
    for (kind.log = 0; kind.log < 2; ++kind.log) {
        by->uneven(&kind);
    }
}

void walk_uneven_rows(const walker *by) {
    static const shape ragged_rows = {"ragged rows", 60, 2000, 1, 1, 0};
    static const shape short_ragged_rows = {"short ragged rows", 5000, 33, 1, 1, 0};
    /* A block's rows, several or one; a cluster's of one warp a block and of several. */
    static const size_t on_boundaries[] = {1000, 2048, 4000, 5000, 20000};
    gradient_kind gradient = {WR_F32, 0, 0, 1, 0, 0};
    size_t i, j;
    for (i = 0; i < SOFTMAX_TYPES; ++i) {
        uneven_kind kind = {softmax_types[i], softmax_types[i], 0, 0, 1, 5000, 60, 0};
        for (kind.log = 0; kind.log < 2; ++kind.log) {
            for (kind.is_ragged = 0; kind.is_ragged < 2; ++kind.is_ragged) {
                by->uneven(&kind);
            }
            kind.is_ragged = kind.moved = 0;
            for (j = 0; j < sizeof on_boundaries / sizeof *on_boundaries; ++j) {
                kind.most = on_boundaries[j];
                by->uneven(&kind);
                kind.output_dtype = softmax_types[i] == WR_BF16 ? WR_F16 : WR_BF16;
                by->uneven(&kind);
                kind.output_dtype = softmax_types[i];
            }
            kind.most = 5000;
            kind.moved = 1;
        }
        kind.log = 0;
        kind.is_ragged = 1;
        kind.output_dtype = softmax_types[i] == WR_F32 ? WR_BF16 : WR_F32;
        by->uneven(&kind);
        gradient.dtype = softmax_types[i];
        gradient.from_logits = i % 2 != 0;
        gradient_both_ways(&gradient, &ragged_rows, by);
        gradient_both_ways(&gradient, &short_ragged_rows, by);
        gradient.log = 1; /* from outputs empty rows are looked for first */
        gradient_both_ways(&gradient, &short_ragged_rows, by);
        gradient.log = 0;
        kind.most = 70; /* a few of them longer than what a warp has several of */
        kind.rows = 5000;
        by->uneven(&kind);
        kind.output_dtype = softmax_types[i];
        by->uneven(&kind);
        walk_crowded_rows(softmax_types[i], by);
    }
}

/* Of one 16-bit type and of f32 so many rows that barriers and places come round again. */
void walk_many_rows(const walker *by) {
    static const shape narrow = {"many rows", 490, 66000, 1, 1, 0}, more = {"more rows", 600, 66000, 1, 1, 0};
    static const shape wide = {"many rows", 110, 138000, 1, 1, 0};
    static const shape longer = {"many longer rows", 17, 200000, 1, 1, 0};
    static const shape more_longer = {"more longer rows", 100, 200000, 1, 1, 0};
    static const shape odd = {"many odd rows", 39, 140001, 1, 1, 0}, more_odd = {"more odd rows", 100, 140001, 1, 1, 0};
    static const shape odd_longer = {"many longer odd rows", 27, 200001, 1, 1, 0};
    static const shape odd_shorter = {"many shorter odd rows", 270, 50257, 1, 1, 0};
    static const shape gradients = {"gradients of long rows", 2, 140000, 1, 1, 0};
    size_t i;
    for (i = 0; i < SOFTMAX_TYPES; ++i) {
        walk_gradients(softmax_types[i], &gradients, by);
    }
    by->many(WR_F16, 0, &narrow);
    by->many(WR_F16, 0, &longer);
    by->many(WR_F16, 0, &odd);
    by->many(WR_F16, 0, &odd_shorter);
    by->many(WR_F16, 0, &odd_longer);
    by->many(WR_BF16, 0, &more);
    by->many(WR_BF16, 0, &more_longer);
    by->many(WR_BF16, 0, &odd);
    by->many(WR_BF16, 0, &odd_longer);
    by->many(WR_F32, 0, &wide);
    by->many(WR_F32, 0, &more_odd);
    by->many(WR_F16, 1, &narrow);
    by->many(WR_F16, 1, &odd);
    by->many(WR_BF16, 1, &odd_shorter);
    by->many(WR_BF16, 1, &more_longer);
    by->many(WR_F32, 1, &wide);
    by->many(WR_F32, 1, &more_odd);
}

/* Off the boundaries, so many that they go through the clusters with the fewest warps. */
void walk_many_gradients(const walker *by) {
    static const shape short_odd = {"gradients of many short odd rows", 22000, 101, 1, 1, 0},
                       odd = {"gradients of many odd rows", 240, 9001, 1, 1, 0},
                       longer = {"gradients of many longer odd rows", 110, 20001, 1, 1, 0};
    walk_gradients(WR_F32, &short_odd, by);
    walk_gradients(WR_F32, &odd, by);
    walk_gradients(WR_F16, &longer, by);
    walk_gradients(WR_BF16, &longer, by);
}

/* 16-bit rows of more than 64 base blocks, so many that each warp makes its row's total; and gradients of such rows off
 * the boundaries. */
void walk_many_wide_clusters(const walker *by) {
    static const shape rows = {"rows of clusters of nine blocks", 33, 66000, 1, 1, 0},
                       gradients = {"gradients of rows of clusters of 13 blocks", 20, 66001, 1, 1, 0};
    by->many(WR_F16, 0, &rows);
    by->many(WR_BF16, 0, &rows);
    walk_gradients(WR_F32, &gradients, by);
    walk_gradients(WR_BF16, &gradients, by);
}

void walk_many_columns(const walker *by) {
    static const shape wide = {"many columns", 1, 1100, 3200, 1, 0}, high = {"high columns", 1, 5000, 1728, 1, 0},
                       tall = {"tall columns", 1, 50000, 448, 1, 0}, narrow = {"many columns", 1, 1500, 4416, 1, 0};
    /* By all multiprocessors together: so many that the places for sums come round again; and few, in two arrays. */
    static const shape shared = {"columns shared by all", 1, 2100, 12104, 1, 0},
                       few = {"few columns shared by all", 2, 20000, 224, 1, 0};
    by->many(WR_F32, 0, &shared);
    by->many(WR_F32, 0, &few);
    by->many(WR_F32, 0, &wide);
    by->many(WR_F32, 0, &high);
    by->many(WR_F32, 0, &tall);
    by->many(WR_F16, 0, &narrow);
    by->many(WR_BF16, 0, &narrow);
}

void walk_large(const walker *by) {
    static const shape rows = {"rows of several warps in two passes", 260, 50000, 1, 1, 0},
                       shorter_rows = {"rows in short runs", 50003, 128, 1, 1, 0},
                       row = {"a row beyond all registers", 1, 4400000, 1, 1, 0};
    static const wr_dtype row_types[] = {WR_F32, WR_F16, WR_BF16};
    static const softmax_kind plain = {WR_F32, 0, 0, 0, (wr_dtype)0, 0};
    size_t i;
    for (i = 0; i < sizeof row_types / sizeof *row_types; ++i) {
        softmax_kind kind = {WR_F32, 0, 0, HAS_ONE_SCALE, (wr_dtype)0, 0};
        kind.dtype = row_types[i];
        softmax_both_ways(&kind, &row, by);
        kind.scaled = 0;
        for (kind.log = 0; kind.log < 2; ++kind.log) {
            softmax_both_ways(&kind, &row, by);
        }
    }
    softmax_both_ways(&plain, &rows, by);
    logsumexp_both_ways(WR_F32, &shorter_rows, by);
}

void walk_softmax_in_pieces(const walker *by) {
    static const shape rows = {"rows in pieces", 3, 9001, 1, 1, 0}, vectors = {"vectors in pieces", 3, 8192, 1, 1, 0};
    static const shape columns = {"columns in pieces", 2, 5001, 7, 1, 0};
    static const shape more_rows = {"more rows in pieces", 650, 9001, 1, 1, 0},
                       more_vectors = {"more vectors in pieces", 770, 4096, 1, 1, 0};
    size_t i;
    for (i = 0; i < SOFTMAX_TYPES; ++i) {
        by->softmax_in_pieces(softmax_types[i], &rows);
        by->softmax_in_pieces(softmax_types[i], &vectors);
        by->softmax_in_pieces(softmax_types[i], &more_rows);
        by->softmax_in_pieces(softmax_types[i], &more_vectors);
        by->softmax_in_pieces(softmax_types[i], &columns);
    }
}
