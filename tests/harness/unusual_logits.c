#include "harness/unusual_logits.h"

#include "harness/random_numbers.h"
#include "reference/reference.h"

#include <math.h>

static double random_logit(uint64_t *state) { return (double)(random_next(state) % 65536) / 8192.0 - 4.0; }

/* What logits of up to 4 are multiplied by to be large. */
static double large_of(wr_dtype dtype) {
    return dtype == WR_F8_E4M3 ? 100.0 : dtype == WR_F16 || dtype == WR_F8_E5M2 ? 14000.0 : 4e6;
}

/* Of every four rows one and a little more are out of the ordinary: in one element, one base block or as a whole. */
double unusual_logit(uint64_t *state, size_t row, size_t column, size_t axis, wr_dtype dtype) {
    const double ordinary = random_logit(state), large = large_of(dtype);
    size_t block = column / 1024, special_block = row / 64 % (axis / 1024 + 1);
    int in_block = block == special_block;
    size_t turn = row / 64 + axis;
    switch (row % 64) {
    case 3: /* of every exponent, and zeros with both signs */
        return ldexp(ordinary, -(int)(random_next(state) % 160));
    case 19: /* up to and around the largest that plain kernels take */
        return random_next(state) % 64 == 0 && in_block ? (ordinary < 0.0 ? -32.0 : 32.0) : ordinary * 7.96875;
    case 1:
        return column == axis - 1 ? (double)NAN : ordinary;
    case 5:
        return in_block ? ordinary + 70.0 : ordinary;
    case 13:
        return in_block ? ordinary : ordinary - 70.0;
    case 9:
        return column == axis / 2 ? (double)INFINITY : ordinary;
    case 17:
        return -(double)INFINITY;
    case 25:
        return in_block ? -(double)INFINITY : ordinary;
    case 33:
        return in_block ? ordinary * large : ordinary;
    case 37:
        return in_block ? (fabs(ordinary) + 0.5) * -large : ordinary;
    case 41:
        return in_block ? ordinary - 300.0 : ordinary;
    case 49:
        return in_block && column % 32 == 5 ? ordinary - 86.0 : ordinary;
    case 21: /* one above all others */
        return column == axis / 3 ? 20.0 + (double)(turn * 29 % 140) : ordinary;
    case 29: /* a mask's tail, and rows of it alone */
        return column > axis / 2 ? -3e38 : ordinary;
    case 53:
        return in_block ? -(double)INFINITY : -3e38;
    case 45: /* every base block at a height of its own */
        return ordinary - (double)((turn * 37 + block * 19) % 280);
    case 61: /* as low as masks begin to be */
        return in_block ? -2097168.0 : -1048448.0 + ordinary;
    case 57:
        return column < 1024 ? ordinary : ordinary - 100.0;
    default:
        return ordinary;
    }
}

void put_unusual_logits(wr_dtype dtype, void *array, size_t outer, size_t axis, size_t inner) {
    uint64_t state = 11;
    size_t o, i, j;
    for (o = 0; o < outer; ++o) {
        for (j = 0; j < axis; ++j) {
            for (i = 0; i < inner; ++i) {
                reference_put(dtype, array, (o * axis + j) * inner + i,
                              unusual_logit(&state, o * inner + i, j, axis, dtype));
            }
        }
    }
}
