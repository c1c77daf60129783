"""Mistakes in host/ and capi/. README.md has the form of an entry."""

MUTANTS = {
    # ---- the floating-point environment
    1: (
        "host/reduce/tile_reduce.cpp",
        "{{const FloatEnvironment environment; ==>> std::optional<FloatEnvironment> environment; if"
        " (!MUTANT) environment.emplace();}} return kernel(problem);",
        ["every_call_in_any_float_environment"],
        "every call holds an environment since",
    ),
    2: (
        "host/reduce/segments.cpp",
        "{{const FloatEnvironment environment; ==>> std::optional<FloatEnvironment> environment; if"
        " (!MUTANT) environment.emplace();}} const Shares",
        ["every_call_in_any_float_environment"],
        "every call holds an environment since",
    ),
    3: (
        "host/softmax/backward.cpp",
        "const SoftmaxBackwardJob job = job_of(problem, *kernel, threads); {{const FloatEnvironment environment; ==>>"
        " std::optional<FloatEnvironment> environment; if (!MUTANT) environment.emplace();}}",
        ["every_call_in_any_float_environment"],
        "every call holds an environment since",
    ),
    4: (
        "host/reduce/reduce.cpp",
        "{{const FloatEnvironment environment; ==>> std::optional<FloatEnvironment> environment; if"
        " (!MUTANT) environment.emplace();}} const std::size_t beside",
        ["every_call_in_any_float_environment"],
        "every call holds an environment since",
    ),
    5: (
        "host/softmax/softmax.cpp",
        "const SoftmaxJob job = softmax_job(problem, *kernel, threads); {{const FloatEnvironment environment;"
        " ==>> std::optional<FloatEnvironment> environment; if (!MUTANT) environment.emplace();}}",
        ["every_call_in_any_float_environment"],
        "every call holds an environment since",
    ),
    6: (
        "host/common/float_environment.h",
        "saved_(__builtin_ia32_stmxcsr()) { {{__builtin_ia32_ldmxcsr(all_masked_to_nearest); ==> (void)0;}} }",
        ["every_call_in_any_float_environment"],
    ),
    7: (
        "host/common/float_environment.h",
        "~FloatEnvironment() { {{__builtin_ia32_ldmxcsr(saved_); ==> (void)0;}} }",
        ["every_call_in_any_float_environment"],
    ),
    # ---- where elements and weights lie
    10: (
        "host/reduce/mapped_kernels.h",
        "repeat(static_cast<const std::byte *>(m_.weights) + {{position ==> position % 32768}} * size",
        ["weights_of_cut_axes"],
    ),
    11: (
        "host/reduce/element_maps.h",
        "values[i] = map_element<Op>(elements[i], m, {{first + i ==> first % 16384 + i}});",
        ["weights_of_cut_axes"],
    ),
    12: (
        "host/reduce/element_maps.h",
        "widen_run(m.type, static_cast<const std::byte *>(m.weights) + {{first ==> first % 8192}} * size",
        ["weights_of_cut_axes"],
    ),
    13: (
        "host/reduce/panel_reduction.h",
        "results[k] = Op::settle(partial[p * {{job.panels.width ==> panel.width}} + k]);",
        ["host_computes_every_operator"],
    ),
    14: (
        "host/reduce/panel_reduction.h",
        "WR_HD std::ptrdiff_t offset_of(const Shape &s, const Panel &panel, std::size_t first) { return"
        " static_cast<std::ptrdiff_t>(panel.outer) * s.outer_stride + static_cast<std::ptrdiff_t>({{first"
        " ==> first & ~std::size_t(16384)}}) * s.axis_stride",
        ["host_computes_every_operator"],
    ),
    15: (
        "host/reduce/panel_reduction.h",
        "finish.axis = {{end - start ==> end}};",
        ["segments_are_rows_of_their_own"],
    ),
    16: (
        "host/reduce/panel_reduction.h",
        "std::uint64_t end = load_integer(job.offsets_type, job.offsets, {{first ==> 0}});",
        ["segments_are_rows_of_their_own"],
    ),
    # ---- masked loads
    20: (
        "host/common/vectors.h",
        "const unsigned mask = {{(1u << count) - 1 ==> ~0u}};",
        ["no_variant_touches_more"],
    ),
    21: (
        "host/common/vectors.h",
        "return Vector<Int, sizeof...(i)>{static_cast<Int>(i)...} < static_cast<Int>({{count ==> 64}});",
        ["no_variant_touches_more"],
    ),
    22: (
        "host/common/vectors.h",
        "V v = others; std::memcpy(&v, from, {{count * sizeof(T) ==> sizeof v}}); return v;",
        ["no_variant_touches_more"],
    ),
    23: (
        "host/common/vectors.h",
        "return Register<Int>{static_cast<Int>(i)...} < static_cast<Int>({{count ==> count + 1}});",
        ["special_values"],
    ),
    24: (
        "host/common/vectors.h",
        "(wide & 0x7Fu) == {{0x7Fu ==> 0x80u}} ? bit_cast<Vector<float, lanes>>(wide | canonical_nan_f32)",
        ["every_narrow"],
    ),
    25: (
        "host/common/vectors.h",
        "const Bits special = (magnitude {{>= 0x7C00u ==>> > (MUTANT ? 0x7C00u : 0x7BFFu)}})",
        ["every_narrow"],
    ),
    26: (
        "host/common/vectors.h",
        "const Key for_nan = {{m.ignore_nan ? Extreme<Key>::identity() : Extreme<Key>::nan_key ==>"
        " Extreme<Key>::nan_key}};",
        ["nan_is_ignored"],
    ),
    # ---- trees, folds and columns
    30: (
        "host/reduce/mapped_kernels.h",
        "{{Op::settle(BlockOf<Op>::combine(values, count, first, m_)) ==> BlockOf<Op>::combine(values,"
        " count, first, m_)}};",
        ["long_field_sums_never_overflow"],
    ),
    31: (
        "host/reduce/mapped_kernels.h",
        "return {{m.ignore_nan && key == Extreme<Key>::identity() ==> false}} ? ArgExtreme<Key>::identity()",
        ["nan_is_ignored"],
    ),
    32: (
        "host/reduce/mapped_kernels.h",
        "places[c] = {{keys[c] > best[c] ==> keys[c] >= best[c]}} ? place : places[c];",
        ["same_bits_any_layout"],
    ),
    33: (
        "host/reduce/mapped_kernels.h",
        "place = smaller(place, {{keys[i] == best ==> keys[i] >= best - 1}} ?",
        ["host_computes_every_operator"],
    ),
    34: (
        "host/reduce/mapped_kernels.h",
        "return at(best, {{first ==> 0}} + static_cast<std::size_t>(place), m);",
        ["same_bits_any_layout"],
    ),
    35: (
        "host/reduce/mapped_kernels.h",
        "left += {{absent ? 0 : 1 ==> 1}};",
        ["nan_is_ignored"],
    ),
    36: (
        "host/common/row_counter.h",
        "for (std::size_t level = 0; ({{count_ >> level ==> count_ >> level >> 1}}) != 0; ++level)",
        ["same_bits_any_layout"],
    ),
    38: (
        "host/common/tree_runs.h",
        "const std::size_t before = {{smaller(i * lanes, count) ==> i * lanes}};",
        ["reductions_touch_only"],
    ),
    40: (
        "host/reduce/reduce_kernels.h",
        "{{results[k] = counters[k].result(); ==> counters[k].push(results[k]); results[k] ="
        " counters[k].result();}} } } // Elements straight",
        ["same_bits_any_layout"],
    ),
    # ---- softmax
    50: (
        "host/softmax/row.h",
        "values[i] = row.mask == nullptr || row.mask[{{done + i ==> i}}] != 0 ?",
        ["softmax_leaves_elements_out"],
    ),
    51: (
        "host/softmax/row.h",
        "leave_out(row.mask + {{done ==> 0}}, count, logits);",
        ["softmax_leaves_elements_out"],
    ),
    52: (
        "host/softmax/row.h",
        "const V all = Larger::apply(Larger::apply(largest[0], largest[1]), Larger::apply({{largest[2] ==>"
        " largest[0]}}, largest[3]));",
        ["softmax_is_accurate"],
    ),
    53: (
        "host/softmax/row.h",
        "combine_lanes<LargerOrNan<Float>>({{nan != nan ? nan : all ==> all}});",
        ["softmax_special_values"],
    ),
    54: (
        "host/softmax/row.h",
        "for (std::size_t i = {{end ==> smaller(end + 1, count)}}; i < count; ++i) { maximum = larger_or_nan",
        ["softmax_is_accurate"],
    ),
    55: (
        "host/softmax/lanes.h",
        "if (!rows.takes_part({{at + r ==> r}}, k))",
        ["softmax_leaves_elements_out"],
    ),
    56: (
        "host/softmax/lanes.h",
        "!rows.selective || rows.takes_part({{at + r ==> r}}, k);",
        ["softmax_leaves_elements_out"],
    ),
    58: (
        "host/softmax/kernels.h",
        "return smaller(count, limit - {{smaller(limit, first) ==> smaller(limit, first & 16383)}});",
        ["host_selections_and_gradients_any_way"],
    ),
    59: (
        "host/softmax/kernels.h",
        "const std::size_t outer = job.selection.causal ? {{row / job.rows_an_outer ==> row}} : 0;",
        ["softmax_leaves_elements_out"],
    ),
    60: (
        "host/softmax/kernels.h",
        "store_run({{high ==> low}}, panel.width, job.logsumexp_type, job.logsumexp, row);",
        ["softmax_special_values"],
    ),
    61: (
        "host/softmax/backward_rows.h",
        "smaller(count, limit - {{smaller(limit, first) ==> smaller(limit, first & 16383)}});",
        ["host_selections_and_gradients_any_way"],
    ),
    62: (
        "host/softmax/backward_rows.h",
        "takes_part(job, piece, done + i) ? block.weights[i] : Float({{-0.0 ==> 0.0}});",
        ["softmax_edges"],
    ),
    63: (
        "host/softmax/backward_rows.h",
        "takes_part(job, piece, done + i) ? block.gradients[i] : Float({{0 ==> -0.0}});",
        ["softmax_backward_special_values"],
    ),
    64: (
        "host/softmax/backward_rows.h",
        "mask[piece.result + static_cast<std::ptrdiff_t>(at) * {{job.result_axis_stride ==> 1}}] != 0;",
        ["softmax_leaves_elements_out"],
    ),
    65: (
        "host/softmax/backward_rows.h",
        "store_float(gradients[i], p.input_gradient_dtype, p.input_gradient, static_cast<std::size_t>(first"
        " + static_cast<std::ptrdiff_t>(i) * {{stride ==> 1}}));",
        ["softmax_backward_is_accurate"],
    ),
    66: (
        "host/softmax/backward_rows.h",
        "for (std::size_t i = 0; i < count; ++i) { block.gradients[i] = {{Float(0) ==> Float(-0.0)}}; }",
        ["softmax_leaves_elements_out"],
    ),
    67: (
        "host/softmax/small_products.h",
        "bit_cast<Float>(lowered | {{sign ==> Bits(0)}})",
        ["host_selections_and_gradients"],
    ),
    68: (
        "host/softmax/small_outputs.h",
        "return lowered(e, fused(e, high, {{low < 0 ? -rounded : rounded ==> rounded}}));",
        ["host_softmax_test"],
    ),
    69: (
        "host/softmax/small_outputs.h",
        "piece == 0 ? Bits(0) : {{least - 1 ==> Bits(0)}}",
        [],
        "speed alone: the plain way's bits",
    ),
    # ---- threads, instruction sets, tiles
    70: (
        "host/common/thread_pool.cpp",
        "{{sigfillset(&all) ==> sigemptyset(&all)}};",
        ["helper_threads_take_no_signals"],
    ),
    71: (
        "host/common/instruction_set.cpp",
        "return *usable.kernels[{{usable.count - 1 ==> 0}}];",
        ["best_instruction_set_is_chosen"],
    ),
    72: (
        "host/common/instruction_set.cpp",
        '__builtin_cpu_supports("avx512bw") && {{__builtin_cpu_supports("avx512dq") ==> true}}',
        ["best_instruction_set_is_chosen"],
    ),
    73: (
        "host/common/instruction_set.cpp",
        '__builtin_cpu_supports("bmi2") && {{has_f16c() ==> true}};',
        ["best_instruction_set_is_chosen"],
    ),
    74: (
        "host/reduce/segments.cpp",
        "kernel->segments(job, first + {{shares.is_for_all_cores(first) ==> false}}, last);",
        ["adds_to_output"],
    ),
    75: (
        "host/reduce/segments.cpp",
        "row.values = element_at(problem.values, problem.what.dtype, {{segment ==> 0}});",
        ["segments_are_rows_of_their_own"],
    ),
    76: (
        "host/reduce/tiles.cpp",
        "match == Match::any || {{equal == members ==> true}} ? equal : 0;",
        ["tiles_are_what_warps_do"],
    ),
    77: (
        "host/reduce/tiles.cpp",
        "{{members & lanes_where(lanes, [&](std::uint32_t lane) { return problem.predicates[first + lane] !="
        " 0; }) ==> lanes_where(lanes, [&](std::uint32_t lane) { return problem.predicates[first + lane] !="
        " 0; })}};",
        ["tiles_are_what_warps_do"],
    ),
    78: (
        "host/reduce/each_tile.h",
        "const std::size_t end = std::min((task + 1) * each, {{all ==> all - (task > 0)}});",
        ["tiles_are_what_warps_do"],
    ),
    79: (
        "host/common/panels.cpp",
        "return {length, {{divide_up(axis, length) ==> axis / length}}};",
        ["host_computes_every_operator"],
    ),
    80: (
        "host/common/parallel.cpp",
        "while ({{begin_of(left) < end_of(left) ==> begin_of(left) <= end_of(left)}}) {",
        ["threads"],
    ),
    81: (
        "host/common/parallel.cpp",
        "Part &of = part[({{place + i ==> place}}) % parts];",
        ["threads"],
    ),
    82: (
        "host/common/thread_pool.cpp",
        "const bool closed = pool.closed.load(); {{::new (&pool) Pool{}; ==> (void)0;}}",
        ["host_threads"],
    ),
    83: (
        "host/common/thread_pool.cpp",
        "return helper.mailbox.load() == letter_of(seat) + {{begun ==> must_end}}; };",
        ["threads"],
    ),
    # ---- states of softmax
    84: (
        "host/softmax/state.cpp",
        "for (std::uint64_t at = {{block * softmax_block ==> begin}}; !p.log",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    85: (
        "host/softmax/state.cpp",
        "!p.log && at < {{cut_.block_end(block) ==> end}};",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    86: (
        "host/softmax/state.cpp",
        "all.job.axis_first = {{first ==> 0}};",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    87: (
        "host/softmax/state.cpp",
        "if ({{problem.merged.bytes == problem.left_state.bytes ==> false}}) {",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    # ---- states of reductions
    88: (
        "host/state/state.cpp",
        "move_place<std::int32_t>(nodes, index, {{problem.first ==> 0u}});",
        ["states_of_any_cuts_are_the_whole"],
    ),
    89: (
        "host/state/state.cpp",
        "if ({{left_ != merged_ ==> false}}) {",
        ["states_of_any_cuts_are_the_whole"],
    ),
    90: (
        "host/state/state.cpp",
        "const Piece whole{problem.left.first, problem.left.count + {{problem.right.count ==> 0u}}};",
        ["states_of_any_cuts_are_the_whole"],
    ),
    91: (
        "host/state/state.cpp",
        "{{store_header(problem.merged, header_of(problem.format, whole)); ==> }}",
        ["states_of_any_cuts_are_the_whole"],
    ),
    92: (
        "host/state/state.cpp",
        "{{status = judge_state(problem.right_state, problem.format, problem.right); ==> }}",
        ["wrong_states_are_refused"],
    ),
    93: (
        "host/state/state.cpp",
        "judge_state(problem.state, problem.format, {0, problem.count}); if (status != Status::success) {"
        " {{return report(status, problem.check); ==> return status;}}",
        ["wrong_states_are_refused"],
    ),
    94: (
        "host/state/state.cpp",
        "const std::size_t words = at.output * static_cast<std::size_t>({{exact_words(layout) ==>"
        " exact_words(layout) - 1}});",
        ["states_of_any_cuts_are_the_whole"],
    ),
    95: (
        "host/state/state.cpp",
        "const Finish finish = finish_of(problem.format.what, {{problem.count ==> problem.count + 1}},"
        " problem.values);",
        ["states_of_any_cuts_are_the_whole"],
    ),
    96: (
        "host/state/state.cpp",
        "std::uint64_t place_of_next = {{merge_.meeting | 1u ==> merge_.meeting | 3u}};",
        ["states_of_any_cuts_are_the_whole"],
    ),
    97: (
        "host/state/state.cpp",
        "copy(right_, {{merge_.right ==> 0}}, merge_.merged() - merge_.after,",
        ["states_of_any_cuts_are_the_whole"],
    ),
    # ---- exact sums
    420: (
        "host/reduce/exact_window.h",
        "if (any_bit({{largest > limit_ ==> largest > limit_ + (std::int64_t{8} << 52)}})) {",
        ["exact_sums_are_rounded_once"],
    ),
    421: (
        "host/reduce/exact_window.h",
        "if (any_bit(left & {{all_but_the_sign ==> static_cast<std::int64_t>(0)}})) {",
        ["exact_sums_are_rounded_once"],
    ),
    422: (
        "host/reduce/exact_window.h",
        "return {{other != 0 ==> true}} ? ExactMark::number : ExactMark::minus_zero;",
        ["exact_sums_are_rounded_once"],
    ),
    423: (
        "host/reduce/exact_window.h",
        "shifted_left(counts, {{exponent(0) - exponent(1) ==> window_bits}})",
        ["exact_sums_are_rounded_once"],
    ),
    424: (
        "host/reduce/exact_kernels.cpp",
        "{{window.count(1, lane, lanes) == 0 ==> true}} && exponent > -1000",
        ["exact_sums_are_rounded_once"],
    ),
    425: (
        "host/reduce/exact_kernels.cpp",
        "== 0 && {{exponent > -1000 ==> true}}) {",
        ["exact_sums_are_rounded_once"],
    ),
    426: (
        "host/reduce/exact_kernels.cpp",
        "std::make_index_sequence<lanes>{}) ? product : {{minus_zeros() ==> product}};",
        ["exact_sums_are_rounded_once"],
    ),
    427: (
        "host/reduce/exact_kernels.cpp",
        "static_cast<int>(window.mark_of(first, lanes))] = {{1 ==> 0}};",
        ["exact_sums_are_rounded_once"],
    ),
    428: (
        "host/reduce/exact_block.h",
        "for (int kind = {{ignore_nan ? 1 : 0 ==> 0}}; kind < exact_marks; ++kind) {",
        ["exact_sums_are_rounded_once"],
    ),
    429: (
        "host/reduce/exact_block.h",
        "if ({{exponent > 2046 ==> false}}) {",
        ["exact_sums_are_rounded_once"],
    ),
}
