#include "harness/softmax_jobs.h"

#include "harness/harness.h"
#include "reference/reference.h"

#include <string.h>

enum { MOST_ARRAYS = 9 };

/* The arrays of one call in one place, each put there once. */
typedef struct arrays {
    const place *where;
    placed copies[MOST_ARRAYS];
    size_t count;
} arrays;

static void *move(arrays *all, const image *memory, const void *pointer) {
    size_t i;
    if (memory == NULL || pointer == NULL) {
        return NULL;
    }
    for (i = 0; i < all->count; ++i) {
        if (all->copies[i].original == memory) {
            return moved(&all->copies[i], pointer);
        }
    }
    all->copies[all->count] = put_in_place(all->where, memory);
    return moved(&all->copies[all->count++], pointer);
}

/* Outputs come back into results[i], which stands for written[i]; everything else must be as it was. */
static void bring_back(arrays *all, image *const *written, image *results, size_t count) {
    size_t i, j;
    for (i = 0; i < all->count; ++i) {
        int is_written = 0;
        for (j = 0; j < count; ++j) {
            if (written[j] == all->copies[i].original) {
                is_written = 1;
                read_back(&all->copies[i], &results[j]);
            }
        }
        if (!is_written) {
            check_unchanged(&all->copies[i]);
        }
        remove_from_place(&all->copies[i]);
    }
}

/* The host's results become the images; those of other places are compared with them. */
static void settle(size_t place_index, image *const *written, image *results, size_t count, const char *label) {
    size_t j;
    for (j = 0; j < count; ++j) {
        if (written[j] != NULL && place_index == 0) {
            memcpy(written[j]->base, results[j].base, results[j].size);
        } else if (written[j] != NULL) {
            CHECK(image_equal(written[j], &results[j]), "%s: output %zu on %s differs from the host", label, j,
                  place_at(place_index)->name);
        }
    }
}

/* A workspace of as many bytes as the query says, between margins that stay as they are. */
typedef struct lent_workspace {
    image margins;
    placed copy;
} lent_workspace;

static void lend(lent_workspace *lent, const place *where, wr_status queried, size_t needed, void **workspace,
                 size_t *bytes) {
    const int wanted = *bytes == LEND_WORKSPACE;
    CHECK(!wanted || queried == WR_SUCCESS, "the workspace query: %s", wr_status_name(queried));
    lent->margins = workspace_image(wanted, needed);
    lent->copy = put_in_place(where, &lent->margins);
    *workspace = wanted ? moved(&lent->copy, lent->margins.payload) : NULL;
    *bytes = wanted ? needed : 0;
}

static void take_back(lent_workspace *lent) {
    check_workspace_margin(&lent->copy);
    remove_from_place(&lent->copy);
    image_free(&lent->margins);
}

typedef wr_status place_call(arrays *all, const void *args, const void *images);

enum { MOST_OUTPUTS = 3 };

static void swap_contents(image *const *written, image *with, size_t count) {
    size_t j, k;
    for (j = 0; j < count; ++j) {
        for (k = 0; written[j] != NULL && k < with[j].size; ++k) {
            unsigned char byte = written[j]->base[k];
            written[j]->base[k] = with[j].base[k];
            with[j].base[k] = byte;
        }
    }
}

/* `before` holds what the outputs held before the first call, while another place runs; then the host's results. */
static void run_everywhere(place_call *call, const void *args, const void *images, image *const *written, size_t count,
                           const char *label) {
    image before[MOST_OUTPUTS], results[MOST_OUTPUTS];
    size_t i, j;
    for (j = 0; j < count; ++j) {
        before[j] = written[j] == NULL ? image_new(0, 0) : image_copy(written[j]);
    }
    for (i = 0; i < place_count(); ++i) {
        arrays all = {place_at(i), {{NULL, NULL, NULL}}, 0};
        wr_status status;
        for (j = 0; j < count; ++j) {
            results[j] = image_copy(&before[j]);
        }
        swap_contents(written, before, i > 0 ? count : 0);
        status = call(&all, args, images);
        swap_contents(written, before, i > 0 ? count : 0);
        CHECK(status == WR_SUCCESS, "%s on %s: %s", label, place_at(i)->name, wr_status_name(status));
        bring_back(&all, written, results, count);
        settle(i, written, results, count, label);
        for (j = 0; j < count; ++j) {
            image_free(&results[j]);
        }
    }
    for (j = 0; j < count; ++j) {
        image_free(&before[j]);
    }
}

static wr_status call_softmax(arrays *all, const void *args, const void *images) {
    const softmax_images *memory = images;
    wr_softmax_args job = *(const wr_softmax_args *)args;
    size_t needed = 0;
    wr_status queried, status;
    lent_workspace lent;
    job.input = move(all, memory->input, job.input);
    job.output = move(all, memory->output, job.output);
    job.logsumexp = move(all, memory->logsumexp, job.logsumexp);
    job.maximum = move(all, memory->maximum, job.maximum);
    job.mask = move(all, memory->mask, job.mask);
    job.lengths = move(all, memory->lengths, job.lengths);
    job.offsets = move(all, memory->offsets, job.offsets);
    job.scales = move(all, memory->scales, job.scales);
    queried = wr_softmax_workspace_size(&job, &needed);
    lend(&lent, all->where, queried, needed, &job.workspace, &job.workspace_bytes);
    status = wr_softmax_ex(&job, all->where->stream);
    take_back(&lent);
    return status;
}

/* The outputs come back into what they were written from. */
static wr_status run_at(const place *where, place_call *call, const void *args, const void *images,
                        image *const *written, size_t count) {
    arrays all = {where, {{NULL, NULL, NULL}}, 0};
    image results[MOST_OUTPUTS];
    wr_status status;
    size_t j;
    for (j = 0; j < count; ++j) {
        results[j] = written[j] == NULL ? image_new(0, 0) : image_copy(written[j]);
    }
    status = call(&all, args, images);
    bring_back(&all, written, results, count);
    for (j = 0; j < count; ++j) {
        if (written[j] != NULL) {
            memcpy(written[j]->base, results[j].base, results[j].size);
        }
        image_free(&results[j]);
    }
    return status;
}

wr_status softmax_with_images_at(const place *where, const wr_softmax_args *args, const softmax_images *images) {
    image *written[3];
    written[0] = images->output;
    written[1] = images->logsumexp;
    written[2] = images->maximum;
    return run_at(where, call_softmax, args, images, written, 3);
}

void run_softmax_everywhere(const wr_softmax_args *args, const softmax_images *images, const char *label) {
    image *written[3];
    written[0] = images->output;
    written[1] = images->logsumexp;
    written[2] = images->maximum;
    run_everywhere(call_softmax, args, images, written, 3, label);
}

static wr_status call_backward(arrays *all, const void *args, const void *images) {
    const backward_images *memory = images;
    wr_softmax_backward_args job = *(const wr_softmax_backward_args *)args;
    size_t needed = 0;
    wr_status queried, status;
    lent_workspace lent;
    job.output = move(all, memory->saved, job.output);
    job.input = move(all, memory->saved, job.input);
    job.logsumexp = move(all, memory->logsumexp, job.logsumexp);
    job.output_gradient = move(all, memory->output_gradient, job.output_gradient);
    job.input_gradient = move(all, memory->input_gradient, job.input_gradient);
    job.mask = move(all, memory->mask, job.mask);
    job.lengths = move(all, memory->lengths, job.lengths);
    job.offsets = move(all, memory->offsets, job.offsets);
    job.scales = move(all, memory->scales, job.scales);
    queried = wr_softmax_backward_workspace_size(&job, &needed);
    lend(&lent, all->where, queried, needed, &job.workspace, &job.workspace_bytes);
    status = wr_softmax_backward_ex(&job, all->where->stream);
    take_back(&lent);
    return status;
}

wr_status backward_with_images_at(const place *where, const wr_softmax_backward_args *args,
                                  const backward_images *images) {
    image *written[1];
    written[0] = images->input_gradient;
    return run_at(where, call_backward, args, images, written, 1);
}

void run_backward_everywhere(const wr_softmax_backward_args *args, const backward_images *images, const char *label) {
    image *written[1];
    written[0] = images->input_gradient;
    run_everywhere(call_backward, args, images, written, 1, label);
}

wr_softmax_backward_args backward_args(wr_dtype dtype, size_t outer, size_t axis, size_t inner) {
    wr_softmax_backward_args args;
    memset(&args, 0, sizeof args);
    args.struct_size = sizeof args;
    args.dtype = dtype;
    args.outer = outer;
    args.axis = axis;
    args.inner = inner;
    return args;
}

wr_dtype softmax_state_dtype(wr_dtype dtype) { return dtype == WR_F64 ? WR_F64 : WR_F32; }
