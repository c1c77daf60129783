#include "harness/header_offers.h"

#include "reference/reference.h"

static int is_wide_float(wr_dtype dtype) { return dtype == WR_F32 || dtype == WR_F64; }

static int is_sum(wr_op op) { return op == WR_SUM || op == WR_PRODUCT || op == WR_SUM_OF_SQUARES || op == WR_NORM_L1; }

static int holds_every_value(wr_dtype wide, wr_dtype narrow) {
    size_t w = reference_size(wide), n = reference_size(narrow);
    if (reference_is_signed(wide) == reference_is_signed(narrow)) {
        return w >= n;
    }
    return reference_is_signed(wide) && w > n;
}

static int is_offered_of_floats(wr_op op, wr_dtype output) {
    return op != WR_DOT_EXACT && op != WR_BIT_AND && op != WR_BIT_OR && op != WR_BIT_XOR && reference_is_float(output);
}

static int is_offered_of_integers(wr_op op, wr_dtype input, wr_dtype output) {
    if (is_sum(op)) {
        return reference_is_integer(output) || is_wide_float(output);
    }
    switch ((int)op) {
    case WR_MEAN:
    case WR_NORM_L2:
        return reference_is_float(output);
    case WR_MIN:
    case WR_MAX:
        return reference_is_integer(output) && holds_every_value(output, input);
    case WR_NORM_MAX:
        return reference_is_integer(output);
    case WR_BIT_AND:
    case WR_BIT_OR:
    case WR_BIT_XOR:
        return output == input;
    default:
        return 0;
    }
}

int is_offered(wr_op op, wr_dtype dtype, wr_dtype output_dtype) {
    switch ((int)op) {
    case WR_ANY:
    case WR_ALL:
        return reference_is_integer(output_dtype);
    case WR_COUNT_NONZERO:
        return reference_is_integer(output_dtype) || is_wide_float(output_dtype);
    case WR_ARGMIN:
    case WR_ARGMAX:
        return !reference_is_field(dtype) && (output_dtype == WR_I64 || output_dtype == WR_I32);
    default:
        break;
    }
    if (reference_is_field(dtype)) {
        return (op == WR_SUM || op == WR_PRODUCT || op == WR_SUM_OF_SQUARES) && output_dtype == dtype;
    }
    return reference_is_float(dtype) ? is_offered_of_floats(op, output_dtype)
                                     : is_offered_of_integers(op, dtype, output_dtype);
}

int is_offered_in_pieces(wr_op op) { return op != WR_SUM_EXACT && op != WR_DOT_EXACT; }

static void add(type_list *to, wr_dtype dtype) { to->types[to->count++] = dtype; }

type_list offered_outputs(wr_op op, wr_dtype dtype) {
    type_list found;
    int output;
    found.count = 0;
    for (output = WR_F32; output <= LAST_DTYPE; ++output) {
        if (is_offered(op, dtype, (wr_dtype)output)) {
            add(&found, (wr_dtype)output);
        }
    }
    return found;
}

int has_default_output(wr_op op, wr_dtype dtype) {
    return offered_outputs(op, dtype).count > 0 &&
           !(reference_is_integer(dtype) && (op == WR_MEAN || op == WR_NORM_L2));
}

int takes_accumulate_dtype(wr_op op, wr_dtype dtype) {
    return reference_is_float(dtype) && (is_sum(op) || op == WR_MEAN || op == WR_NORM_L2);
}

int takes_add_to_output(wr_op op) {
    switch ((int)op) {
    case WR_SUM:
    case WR_PRODUCT:
    case WR_SUM_OF_SQUARES:
    case WR_MIN:
    case WR_MAX:
    case WR_ANY:
    case WR_ALL:
    case WR_COUNT_NONZERO:
    case WR_BIT_AND:
    case WR_BIT_OR:
    case WR_BIT_XOR:
        return 1;
    default:
        return 0;
    }
}

type_list offered_weights(wr_dtype dtype) {
    type_list found;
    found.count = 0;
    add(&found, dtype);
    switch ((int)dtype) {
    case WR_KOALABEAR:
        add(&found, WR_KOALABEAR_X4);
        break;
    case WR_KOALABEAR_X4:
        add(&found, WR_KOALABEAR);
        break;
    case WR_BABYBEAR:
        add(&found, WR_BABYBEAR_X4);
        break;
    case WR_BABYBEAR_X4:
        add(&found, WR_BABYBEAR);
        break;
    default:
        break;
    }
    return found;
}

type_list offered_weighted_outputs(wr_dtype dtype, wr_dtype weights_dtype) {
    return offered_outputs(WR_SUM, reference_size(weights_dtype) > reference_size(dtype) ? weights_dtype : dtype);
}
