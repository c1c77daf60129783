#include "harness/tile_calls.h"

#include "harness/harness.h"
#include "harness/jobs.h"

#include <stdlib.h>
#include <string.h>

#ifdef WARP_REDUCE_TESTS_CUDA
#include "reference/warp_intrinsics.h"
#endif

const uint32_t tile_widths[TILE_WIDTHS] = {2, 4, 8, 16, 32};

size_t tile_count_at(size_t index, uint32_t width) {
    size_t counts[TILE_COUNTS] = {0, 1, 0, 0, 0, 31, 32, 33, 63, 65, 127, 129, 1023, 1024, 1025, 4099};
    counts[2] = width - 1;
    counts[3] = width;
    counts[4] = width + 1;
    return counts[index];
}

size_t tile_dtype_bytes(wr_dtype dtype) {
    static const size_t bytes[] = {0, 4, 8, 2, 2, 1, 1, 1, 2, 4, 8, 1, 2, 4, 8, 4, 4, 4, 8, 16, 16};
    return bytes[dtype];
}

size_t tile_output_bytes(const tile_call *call) {
    if (call->kind == TILE_VOTE || call->kind == TILE_MATCH) {
        return 4;
    }
    if (call->kind == TILE_REDUCE) {
        switch (call->what) {
        case WR_ARGMIN:
        case WR_ARGMAX:
        case WR_COUNT_NONZERO:
            return 8;
        case WR_ANY:
        case WR_ALL:
            return 1;
        default:
            break;
        }
    }
    return tile_dtype_bytes(call->dtype);
}

size_t tile_lanes_present(const tile_call *call, size_t index) {
    size_t lanes = call->count - index / call->width * call->width;
    return lanes < call->width ? lanes : call->width;
}

wr_status tile_run(const tile_call *call, const void *input, void *output, struct CUstream_st *stream) {
    switch (call->kind) {
    case TILE_REDUCE:
        return wr_tile_reduce((wr_op)call->what, call->dtype, input, output, call->count, call->width, stream);
    case TILE_SHUFFLE:
        return wr_tile_shuffle((wr_shuffle)call->what, call->dtype, input, output, call->count, call->width,
                               call->argument, stream);
    case TILE_VOTE:
        return wr_tile_vote((wr_vote)call->what, input, output, call->count, call->width, call->argument, stream);
    default:
        return wr_tile_match((wr_match)call->what, call->dtype, input, output, call->count, call->width, call->argument,
                             stream);
    }
}

/* The lane that `lane` of a tile is given the value of, before the tile's ends are looked at. */
static int64_t lane_asked_for(const tile_call *call, int64_t lane) {
    switch (call->what) {
    case WR_SHUFFLE_UP:
        return lane - (int64_t)call->argument;
    case WR_SHUFFLE_DOWN:
        return lane + (int64_t)call->argument;
    case WR_SHUFFLE_XOR:
        return lane ^ (int64_t)call->argument;
    default:
        return (int64_t)(call->argument % call->width);
    }
}

static void reference_shuffle(const tile_call *call, const unsigned char *input, unsigned char *output) {
    size_t bytes = tile_dtype_bytes(call->dtype), index;
    for (index = 0; index < call->count; ++index) {
        int64_t lane = (int64_t)(index % call->width), source = lane_asked_for(call, lane);
        if (source < 0 || source >= (int64_t)tile_lanes_present(call, index)) {
            source = lane;
        }
        memcpy(output + index * bytes, input + (index - (size_t)lane + (size_t)source) * bytes, bytes);
    }
}

static int is_member(const tile_call *call, size_t lane) { return (int)(call->argument >> lane & 1); }

/* Counts the members of a tile that begins at `first`, and those among them that hold what lane `index` looks for: a
 * predicate, or in a match the lane's own value. */
typedef struct tally {
    uint32_t members, holders;
    int all_hold;
} tally;

static tally tally_of(const tile_call *call, const unsigned char *input, size_t first, size_t index) {
    static const unsigned char zero[4];
    size_t bytes = tile_dtype_bytes(call->dtype), lane;
    tally result = {0, 0, 1};
    for (lane = 0; lane < tile_lanes_present(call, first); ++lane) {
        const unsigned char *value = input + (first + lane) * bytes;
        int holds =
            call->kind == TILE_VOTE ? memcmp(value, zero, 4) != 0 : memcmp(value, input + index * bytes, bytes) == 0;
        if (is_member(call, lane)) {
            result.members += UINT32_C(1) << lane;
            result.holders += holds ? UINT32_C(1) << lane : 0;
            result.all_hold = result.all_hold && holds;
        }
    }
    return result;
}

static uint32_t verdict(const tile_call *call, tally of) {
    if (call->kind == TILE_MATCH) {
        return call->what == WR_MATCH_ANY ? of.holders : of.all_hold ? of.members : 0;
    }
    switch (call->what) {
    case WR_VOTE_ANY:
        return of.holders != 0;
    case WR_VOTE_ALL:
        return (uint32_t)of.all_hold;
    default:
        return of.holders;
    }
}

void tile_reference(const tile_call *call, const unsigned char *input, unsigned char *output) {
    size_t index;
    if (call->kind == TILE_SHUFFLE) {
        reference_shuffle(call, input, output);
        return;
    }
    for (index = 0; index < call->count; ++index) {
        size_t lane = index % call->width;
        uint32_t said = is_member(call, lane) ? verdict(call, tally_of(call, input, index - lane, index)) : 0;
        memcpy(output + index * 4, &said, 4);
    }
}

/* Memory in each place, for input and output, kept from call to call. */
typedef struct room {
    unsigned char *memory;
    size_t bytes;
} room;

static room rooms[2][2];

static unsigned char *room_of(const place *where, int output, size_t bytes) {
    room *kept = &rooms[where->on_gpu][output];
    if (kept->bytes < bytes) {
        if (kept->memory != NULL) {
            place_free(where, kept->memory);
        }
        kept->memory = place_allocate(where, bytes);
        kept->bytes = bytes;
    }
    return kept->memory;
}

void tile_calls_close(void) {
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        const place *where = place_at(i);
        int output;
        for (output = 0; output < 2; ++output) {
            if (rooms[where->on_gpu][output].memory != NULL) {
                place_free(where, rooms[where->on_gpu][output].memory);
            }
        }
    }
    memset(rooms, 0, sizeof rooms);
}

/* An odd multiple of the alignment, and no more: 4 for the elements of four words. */
static size_t offset_of(size_t element_bytes) { return 3 * (element_bytes == 16 ? 4 : element_bytes); }

static image image_of(const unsigned char *payload, size_t count, size_t element_bytes) {
    image made = image_new(count * element_bytes, offset_of(element_bytes));
    if (payload != NULL) {
        memcpy(made.payload, payload, made.payload_bytes);
    }
    return made;
}

static void expect_image(const tile_call *call, const place *where, const unsigned char *memory, const image *expected,
                         const char *what) {
    static const char *const kinds[] = {"reduce", "shuffle", "vote", "match"};
    image got = image_copy(expected);
    place_read(where, memory, got.base, got.size);
    CHECK(image_equal(&got, expected), "%s: %s %d of %s, %lu lanes, width %u, argument %u: %s", where->name,
          (unsigned)call->kind < 4 ? kinds[call->kind] : "call", call->what, dtype_name(call->dtype),
          (unsigned long)call->count, (unsigned)call->width, (unsigned)call->argument, what);
    image_free(&got);
}

static unsigned char *written_to_room(const place *where, int output, const image *original) {
    unsigned char *memory = room_of(where, output, original->size);
    place_write(where, memory, original->base, original->size);
    return memory;
}

static void expect_success(const tile_call *call, const place *where, wr_status status) {
    CHECK(status == WR_SUCCESS, "%s: kind %d, %d of %s, %lu lanes, width %u, argument %u: %s", where->name,
          (int)call->kind, call->what, dtype_name(call->dtype), (unsigned long)call->count, (unsigned)call->width,
          (unsigned)call->argument, wr_status_name(status));
}

#ifdef WARP_REDUCE_TESTS_CUDA

/* CUDA leaves open what a lane gets whose source is in the tile but absent. */
static int is_defined_by_cuda(const tile_call *call, size_t index) {
    int64_t source = lane_asked_for(call, (int64_t)(index % call->width));
    return call->kind != TILE_SHUFFLE || source < 0 || source >= (int64_t)call->width ||
           source < (int64_t)tile_lanes_present(call, index);
}

static void check_warp_itself(const place *where, const tile_call *call, const image *from, const image *to) {
    size_t bytes = tile_output_bytes(call), index;
    unsigned char *input, *output;
    image got;
    if (!where->on_gpu || !warp_intrinsic_exists(call)) {
        return;
    }
    got = image_copy(to);
    input = written_to_room(where, 0, from);
    output = room_of(where, 1, to->size);
    CHECK(warp_intrinsic_run(call, input + (from->payload - from->base), output + (to->payload - to->base),
                             where->stream) == 0,
          "the warp functions were not started");
    place_read(where, output, got.base, got.size);
    for (index = 0; index < call->count; ++index) {
        CHECK(!is_defined_by_cuda(call, index) ||
                  memcmp(got.payload + index * bytes, to->payload + index * bytes, bytes) == 0,
              "the warp's own function: kind %d, %d, %lu lanes, width %u, argument %u: lane %lu differs",
              (int)call->kind, call->what, (unsigned long)call->count, (unsigned)call->width, (unsigned)call->argument,
              (unsigned long)index);
    }
    image_free(&got);
}

#else

static void check_warp_itself(const place *where, const tile_call *call, const image *from, const image *to) {
    (void)where, (void)call, (void)from, (void)to;
}

#endif

static void check_in(const place *where, const tile_call *call, const image *from, const image *to) {
    image untouched = image_of(NULL, call->count, tile_output_bytes(call));
    unsigned char *input = written_to_room(where, 0, from), *output = written_to_room(where, 1, &untouched);
    expect_success(
        call, where,
        tile_run(call, input + (from->payload - from->base), output + (to->payload - to->base), where->stream));
    expect_image(call, where, output, to, "the output differs");
    expect_image(call, where, input, from, "the input was written");
    if (tile_output_bytes(call) == tile_dtype_bytes(call->dtype)) {
        unsigned char *both = input + (from->payload - from->base);
        expect_success(call, where, tile_run(call, both, both, where->stream));
        expect_image(call, where, input, to, "the output differs, in place");
    }
    check_warp_itself(where, call, from, to);
    image_free(&untouched);
}

void tile_check(const tile_call *call, const unsigned char *input, const unsigned char *expected) {
    image from = image_of(input, call->count, tile_dtype_bytes(call->dtype));
    image to = image_of(expected, call->count, tile_output_bytes(call));
    size_t i;
    for (i = 0; i < place_count(); ++i) {
        check_in(place_at(i), call, &from, &to);
    }
    image_free(&from);
    image_free(&to);
}
