"""Mistakes in numerics/. README.md has the form of an entry."""

MUTANTS = {
    # ---- fields
    100: (
        "numerics/fields.h",
        "static_cast<std::uint32_t>({{sum % Prime ==> sum == Prime ? sum : sum % Prime}})",
        ["partial_field_sums_are_reduced"],
    ),
    101: (
        "numerics/fields.h",
        "return {{lazy >= Prime ==> lazy > Prime}} ? lazy - Prime : lazy;",
        ["fields_are_exact"],
        "no product of words below the prime but that with 0 is a multiple of it",
    ),
    102: (
        "numerics/fields.h",
        "static_cast<std::uint32_t>({{lazy >= prime ==> lazy > prime}} ?",
        ["fields_are_exact"],
        "no product of words below the prime but that with 0 is a multiple of it",
    ),
    103: (
        "numerics/fields.h",
        "return whole < a || {{whole >= prime ==> whole > prime}} ? whole - prime : whole;",
        ["goldilocks_at_its_prime"],
    ),
    104: (
        "numerics/fields.h",
        "return {{whole < a ==> false}} || whole >= prime",
        ["goldilocks_at_its_prime"],
    ),
    105: (
        "numerics/fields.h",
        "const std::uint64_t less = {{low < high ==> low <= high}} ?",
        ["fields_are_exact"],
        "the difference is the prime, and is reduced",
    ),
    106: (
        "numerics/fields.h",
        "reduce(whole < middle ? {{whole + beyond ==> whole}} : whole)",
        ["fields_are_exact"],
    ),
    107: (
        "numerics/fields.h",
        "one.words[0].word = {{Field<typename Extension<Element>::Word>::one ==> 1u}};",
        ["fields_are_exact"],
    ),
    108: (
        "numerics/fields.h",
        "const int j = {{(k - i) & 3 ==> (k + i) & 3}};",
        ["fields_are_exact"],
    ),
    # ---- operators
    110: (
        "numerics/operators.h",
        "const std::int32_t bits = bit_cast<std::int32_t>(x); return {{bits ==> (x == 0.0f ? 0 : bits)}} ^",
        ["host_computes_every_operator"],
    ),
    111: (
        "numerics/operators.h",
        "return m.ignore_nan && is_nan(value) ? {{Float(1) ==> value}} : value;",
        ["nan_is_ignored"],
    ),
    112: (
        "numerics/operators.h",
        "!is_zero && {{bits <= m.counted_most ==> bits < m.counted_most}};",
        ["nan_is_ignored"],
    ),
    113: (
        "numerics/operators.h",
        "b.key == a.key && {{b.position < a.position ==> b.position > a.position}}",
        ["same_bits_any_layout"],
    ),
    114: (
        "numerics/operators.h",
        "{{m.absolute && m.sign_bit != 0 ? magnitude_of(value) : value ==> m.absolute ? magnitude_of(value) : value}}",
        ["integers_wrap_and_fields_stay_canonical"],
    ),
    115: (
        "numerics/operators.h",
        "WR_HD static std::uint64_t combine(std::uint64_t a, std::uint64_t b) { return {{a ^ b ==> a | b}}; }",
        ["every_operator_on_every_type"],
    ),
    # ---- the exponential and softmax
    120: (
        "numerics/exponential.h",
        "{{middle_rest + m * third ==> middle_rest}}",
        ["softmax_is_accurate"],
    ),
    121: (
        "numerics/exponential.h",
        "if (!({{m < limit ==> m <= limit}} && m > -limit))",
        ["softmax_special_values"],
    ),
    122: (
        "numerics/exponential.h",
        "return {{k < -126 ==> k < -100}} ? 0.0f",
        ["softmax_is_accurate"],
    ),
    123: (
        "numerics/softmax_backward.h",
        "if ({{d > -C::reach ==> d >= -C::reach}} && d < C::reach)",
        ["softmax_edges"],
    ),
    124: (
        "numerics/softmax_backward.h",
        "d > -C::reach && {{d < C::reach ==> d <= C::reach}})",
        ["softmax_edges"],
    ),
    125: (
        "numerics/softmax_backward.h",
        "{{empty && empty_row_zero ==> empty_row_zero}} ? nothing",
        ["softmax_backward_special_values"],
    ),
    126: (
        "numerics/softmax_backward.h",
        "{{(x - (d - back)) - (logsumexp + back) ==> Float(0)}}",
        ["softmax_backward_is_accurate"],
    ),
    127: (
        "numerics/softmax_backward.h",
        "{{weight * (gradient - total) ==> weight * gradient - weight * total}};",
        ["softmax_backward_is_accurate"],
    ),
    128: (
        "numerics/softmax.h",
        "m > Float(-large_logit) && {{m < Float(large_logit) ==> m <= Float(large_logit)}};",
        ["softmax_special_values"],
    ),
    129: (
        "numerics/softmax.h",
        "return {{shifted > frame.lowest ==> shifted >= frame.lowest}} ? e",
        ["softmax_edges"],
    ),
    130: (
        "numerics/softmax.h",
        "if ({{block == smallest ==> false}} || row == largest",
        ["softmax_special_values"],
    ),
    131: (
        "numerics/softmax.h",
        "block == smallest || {{row == largest ==> false}} ||",
        ["softmax_special_values"],
        "the comparison behind it holds too",
    ),
    132: (
        "numerics/softmax.h",
        "return {{a >= b || is_nan(a) ==> a >= b}} ? a : b;",
        ["softmax_special_values"],
    ),
    133: (
        "numerics/softmax.h",
        "return {high, {{fused(-high, row_sum, numerator) / row_sum ==> 0.0}}};",
        ["softmax_is_accurate"],
    ),
    134: (
        "numerics/softmax.h",
        "return {high, {{static_cast<float>(factor - static_cast<double>(high)) ==> 0.0f}}};",
        ["softmax_is_accurate"],
    ),
    135: (
        "numerics/softmax.h",
        "return {{fused(e, factor.high, e * factor.low) ==> e * factor.high + e * factor.low}};",
        ["published_vectors"],
    ),
    136: (
        "numerics/softmax.h",
        "{{(first.lost + second.lost) + l.rest ==> second.lost + l.rest}}",
        ["published_vectors"],
    ),
    137: (
        "numerics/softmax.h",
        "return {{(x - lse.high) - lse.low ==> x - (lse.high + lse.low)}};",
        ["published_vectors"],
    ),
    138: (
        "numerics/softmax.h",
        "return log ? {{-std::numeric_limits<Float>::infinity() ==> Float(0)}} : Float(0); } return std",
        ["softmax_leaves_elements_out"],
    ),
    139: (
        "numerics/softmax.h",
        "if ({{kind == RowKind::empty ==> false}}) { return special_output",
        ["softmax_leaves_elements_out"],
    ),
    140: (
        "numerics/softmax.h",
        "store_float({{maximum + Float(0) ==> maximum}}, sizeof",
        ["softmax_edges"],
    ),
    141: (
        "numerics/softmax.h",
        "if ({{block_maximum == row_maximum ==> false}}) { return 0; }",
        ["softmax_special_values"],
    ),
    142: (
        "numerics/logarithm.h",
        "atanh_polynomial(v), {{low + low ==> Float(0)}})",
        ["published_vectors"],
    ),
    143: (
        "numerics/softmax_rows.h",
        "const bool beyond = {{selection.causal_first > largest - index ==> false}};",
        ["softmax_edges"],
    ),
    144: (
        "numerics/softmax_rows.h",
        "return {{limit < 0 ? 0 ==>> (MUTANT ? limit < -1 : limit < 0) ? 0}} :",
        ["softmax_edges"],
    ),
    145: (
        "numerics/softmax_rows.h",
        "static_cast<std::int64_t>({{outer % selection.causal_rows ==> outer}});",
        ["softmax_leaves_elements_out"],
    ),
    # ---- finishing
    150: (
        "numerics/finish.h",
        "return {{count == 0 ? Float(0) : result ==> result}};",
        ["special_values"],
    ),
    151: (
        "numerics/finish.h",
        "count = count != 0 || ({{old ==> false}} && load_integer(finish.output_type, output, index) != 0);",
        ["adds_to_output"],
    ),
    152: (
        "numerics/finish.h",
        "count = count == 0 && !({{old ==> false}} && load_integer(finish.output_type, output, index) == 0);",
        ["adds_to_output"],
    ),
    153: (
        "numerics/finish.h",
        "Operator::bit_and ? {{bits & old ==> bits | old}} :",
        ["adds_to_output"],
    ),
    154: (
        "numerics/finish.h",
        "{{Field<Word>::reduce(std::uint64_t{words[index]} + word) ==> words[index] + word}};",
        ["adds_to_output"],
    ),
    155: (
        "numerics/finish.h",
        "finish.input_type == ElementType::f8_e4m3 ? {{Float(largest_e4m3) ==>"
        " std::numeric_limits<Float>::infinity()}}",
        ["special_values"],
    ),
    156: (
        "numerics/finish.h",
        "if (count == 0 && {{finish.op != Operator::norm_max ==> true}})",
        ["special_values"],
    ),
    157: (
        "numerics/finish.h",
        "if (is_nan(a) || is_nan(b)) { return {{is_nan(a) ==> false}}; }",
        ["adds_to_output"],
    ),
    158: (
        "numerics/finish.h",
        "const std::uint64_t bias = {{is_signed ==> false}} ?",
        ["adds_to_output"],
    ),
    159: (
        "numerics/finish.h",
        "const Float old = static_cast<Float>(load_float(finish.output_type, output, index)); value ="
        " finish.op == Operator::product ? {{old * value ==> old + value}} :",
        ["adds_to_output"],
    ),
    # ---- formats
    160: (
        "numerics/float_formats.h",
        "half_less_one + {{((significand >> dropped) & 1u) ==> 0}}) >> dropped",
        ["narrowing_rounds_to_nearest_even"],
    ),
    161: (
        "numerics/float_formats.h",
        "if ({{result > format.largest ==> result >= format.largest}})",
        ["narrowing_rounds_to_nearest_even"],
    ),
    162: (
        "numerics/float_formats.h",
        "if ({{dropped > 54 ==> dropped > 52}} ||",
        ["narrowing_rounds_to_nearest_even"],
    ),
    163: (
        "numerics/float_formats.h",
        "{{format.overflow == format.nan ==> false}} ? format.nan : sign | format.overflow; } const int exponent",
        ["special_values"],
    ),
    164: (
        "numerics/stored_elements.h",
        "case ElementType::i16: return static_cast<std::uint64_t>({{static_cast<const std::int16_t"
        " *>(array)[index] ==> static_cast<const std::uint16_t *>(array)[index]}});",
        ["adds_to_output"],
    ),
    165: (
        "numerics/tree.h",
        "if (({{(count_ >> level) & 1u ==> (count_ >> level) & (level < 9)}}) != 0)",
        ["sums_are_exact_tree"],
    ),
    166: (
        "numerics/tiles.h",
        "return {{source < lanes ==> source <= lanes}} ? source : lane;",
        ["tiles_are_what_warps_do"],
    ),
    167: (
        "numerics/tiles.h",
        "return {{holds == members ==> holds != 0}} ? 1 : 0;",
        ["tiles_are_what_warps_do"],
    ),
    # ---- states of softmax
    170: (
        "numerics/softmax_state.h",
        "return {{smaller(first_block() * softmax_block - first, count) ==> first_block() * softmax_block - first}};",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    171: (
        "numerics/softmax_state.h",
        "if ({{(run.begin / blocks) % 2 != 0 ==> (run.begin / blocks) % 2 == 0}}) {",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    172: (
        "numerics/softmax_state.h",
        "kept_bits({{state.maximum + Float(0) ==> state.maximum}})",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    173: (
        "numerics/softmax_state.h",
        "return {{is_nan(x) ==> is_nan(x) && x < 0}} ? canonical",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    174: (
        "numerics/softmax_state.h",
        "siblings = {{at / blocks % 2 == 1 ==> true}} && at >=",
        ["softmax_of_pieces_is_that_of_the_whole"],
        "a run that has no sibling to its left is made of itself alone",
    ),
    175: (
        "numerics/softmax_rows.h",
        "return {{leading - smaller(leading, first) ==> leading}};",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    176: (
        "numerics/softmax_piece.h",
        "header.scale = {{bit_cast<std::uint64_t>(scale) ==> 0u}};",
        ["states_of_softmax_that_are_refused"],
    ),
    # ---- states of reductions
    177: (
        "numerics/state_problem.h",
        "header.first = format.kind == StateKind::exact ? 0 : {{piece.first ==> 0u}};",
        ["wrong_states_are_refused"],
    ),
    178: (
        "numerics/state.h",
        "merge.before -= {{merge.left ==> 0}};",
        ["states_of_any_cuts_are_the_whole"],
    ),
    180: (
        "numerics/state.h",
        "if (begin < left.first || {{size > right.end() - begin ==> size >= right.end() - begin}}) {",
        ["states_of_any_cuts_are_the_whole"],
    ),
    181: (
        "numerics/state.h",
        "merge.right += level == least || {{!is_right_half ==> is_right_half}} ? 1 : 0;",
        ["states_of_any_cuts_are_the_whole"],
    ),
    182: (
        "numerics/state.h",
        "stored.kind != expected.kind || {{stored.ignore_nan != expected.ignore_nan ==> false}} ||",
        ["wrong_states_are_refused"],
    ),
    183: (
        "numerics/state.h",
        "stored.first != expected.first || {{stored.count != expected.count ==> false}}",
        ["wrong_states_are_refused"],
    ),
    184: (
        "numerics/state.h",
        "NodeMerge{left.count != 0 ? 1 : 0, 0, 0, {{right.count != 0 ? 1 : 0 ==> 0}}, 0};",
        ["states_of_any_cuts_are_the_whole"],
    ),
    186: (
        "numerics/state_kinds.h",
        "found.position += {{found.position == ArgExtreme<Key>::nowhere ==> false}} ? 0 : by;",
        ["states_of_any_cuts_are_the_whole"],
    ),
    187: (
        "numerics/state_kinds.h",
        "if ({{words[layout.limbs + static_cast<int>(ExactMark::number)] != 0 ==> false}}) {",
        ["states_of_any_cuts_are_the_whole"],
    ),
    189: (
        "numerics/state_problem.h",
        "+ steps * node.shape.axis_stride * {{size ==> 1}};",
        ["states_of_any_cuts_are_the_whole"],
    ),
    190: (
        "numerics/state_problem.h",
        "static_cast<const char *>(node.weights) + {{steps ==> 0}} * weight_size;",
        ["states_of_any_cuts_are_the_whole"],
    ),
    191: (
        "numerics/state_kinds.h",
        "for (int node = nodes - 1; node-- > {{0 ==> 1}};) {",
        ["states_of_any_cuts_are_the_whole"],
    ),
    # ---- exact sums
    400: (
        "numerics/exact_sum.h",
        "return mark({{bits == 0x8000000000000000u ==> magnitude == 0}} ? ExactMark::minus_zero",
        ["exact_sums_are_rounded_once"],
    ),
    401: (
        "numerics/exact_sum.h",
        "no_number = (both & mark(ExactMark::nan)) != 0 || {{x == 0.0 || y == 0.0 ==> false}};",
        ["exact_sums_are_rounded_once"],
    ),
    402: (
        "numerics/exact_sum.h",
        "significand = above > -64 ? {{significand >> -above ==> 0}} : 0;",
        ["exact_sums_are_rounded_once"],
    ),
    403: (
        "numerics/exact_sum.h",
        "limbs[limb + 2] += {{upper >> (limb_bits - shift) ==> 0}};",
        ["exact_sums_are_rounded_once"],
    ),
    404: (
        "numerics/exact_sum.h",
        "carry = {{sum >> limb_bits ==> sum / (std::int64_t{1} << limb_bits)}}; } words[word] += carry;",
        ["exact_sums_are_rounded_once"],
    ),
    405: (
        "numerics/exact_sum.h",
        "i == lowest_digit ? {{0u - stored ==> ~stored}} : ~stored;",
        ["exact_sums_are_rounded_once"],
    ),
    406: (
        "numerics/exact_sum.h",
        "half && (below_half || {{(kept & 1u) != 0 ==> true}})",
        ["exact_sums_are_rounded_once"],
    ),
    407: (
        "numerics/exact_sum.h",
        "const bool below_half = {{more ==> false}} ||",
        ["exact_sums_are_rounded_once"],
    ),
    408: (
        "numerics/exact_sum.h",
        ": {{(kept & 1u) == 0 && (half || below_half) ==> false}};",
        ["exact_sums_are_rounded_once"],
    ),
    409: (
        "numerics/exact_sum.h",
        "if ({{exponent > 1023 ==> exponent > 1022}}) {",
        ["exact_sums_are_rounded_once"],
    ),
    410: (
        "numerics/exact_sum.h",
        "dropped = 11 + (exponent < smallest_normal ? {{smallest_normal - exponent ==> 0}} : 0);",
        ["exact_sums_are_rounded_once"],
    ),
    411: (
        "numerics/exact_sum.h",
        "(third & 0xFFFFFFFFu) != 0 || {{lowest < first - 2 ==> false}}, rounding);",
        ["exact_sums_are_rounded_once"],
    ),
    412: (
        "numerics/exact_sum.h",
        "lowest + 127 - zeros, {{leading.low != 0 ==> false}}, rounding);",
        ["exact_sums_are_rounded_once"],
    ),
    413: (
        "numerics/exact_sum.h",
        "{{(marks & finite_marks) == mark(ExactMark::minus_zero) ==> (marks & mark(ExactMark::minus_zero))"
        " != 0}}) { value = -0.0;",
        ["exact_sums_are_rounded_once"],
    ),
    414: (
        "numerics/exact_sum.h",
        "(marks & mark(ExactMark::nan)) != 0 || {{(plus && minus) ==> false}}) {",
        ["exact_sums_are_rounded_once"],
    ),
    415: (
        "numerics/exact_sum.h",
        "carried = {{shifted >> limb_bits ==> 0}};",
        ["exact_sums_are_rounded_once"],
    ),
}
