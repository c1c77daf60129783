#include "chosen_walk.h"

#include <string.h>

/* What is being walked, and how far. */
static const chosen_part *part;
static const walker *inner;
static size_t calls, taken;

static int is_chosen(void) {
    size_t number = calls++;
    if (taken == part->count || part->numbers[taken] != number) {
        return 0;
    }
    ++taken;
    return 1;
}

#define HAND_ON(call, parameters, arguments)                                                                           \
    static void call parameters {                                                                                      \
        if (is_chosen()) {                                                                                             \
            inner->call arguments;                                                                                     \
        }                                                                                                              \
    }

HAND_ON(reduce, (const reduction *job, const shape *of, int moved), (job, of, moved))
HAND_ON(weigh, (const weighting *job, const shape *of, int moved), (job, of, moved))
HAND_ON(segments, (const reduction *job, const ragged *of, int moved), (job, of, moved))
HAND_ON(softmax, (const softmax_kind *kind, const shape *of, int moved), (kind, of, moved))
HAND_ON(gradient, (const gradient_kind *kind, const shape *of, int moved), (kind, of, moved))
HAND_ON(logsumexp, (wr_dtype dtype, const shape *of, int moved), (dtype, of, moved))
HAND_ON(uneven, (const uneven_kind *kind), (kind))
HAND_ON(many, (wr_dtype dtype, int log, const shape *of), (dtype, log, of))
HAND_ON(tiles, (const tile_call *call), (call))
HAND_ON(softmax_in_pieces, (wr_dtype dtype, const shape *of), (dtype, of))
HAND_ON(nodes, (const reduction *job, wr_dtype weights, const shape *of), (job, weights, of))

int chosen_walk(const char *name, const walker *by) {
    static const walker chosen = {reduce, weigh, segments, softmax,           gradient, logsumexp,
                                  uneven, many,  tiles,    softmax_in_pieces, nodes};
    size_t i;
    for (i = 0; i < chosen_part_count; ++i) {
        if (strcmp(name, chosen_parts[i].name) == 0) {
            part = &chosen_parts[i];
            inner = by;
            calls = taken = 0;
            return walk(part->walk_part, &chosen) && taken == part->count;
        }
    }
    return 0;
}
