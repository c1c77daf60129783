"""Mistakes in capi/. README.md has the form of an entry."""

MUTANTS = {
    200: (
        "capi/checks.cpp",
        "return {{larger(a.begin, b.begin) < smaller(a.end, b.end) ==> larger(a.begin, b.begin) <="
        " smaller(a.end, b.end)}};",
        ["problems_arrive_resolved"],
    ),
    201: (
        "capi/checks.cpp",
        "!{{__builtin_sub_overflow(extent.high, extent.low, &span) ==> (__builtin_sub_overflow(extent.high,"
        " extent.low, &span) && false)}};",
        ["extents_are_exact"],
    ),
    202: (
        "capi/checks.cpp",
        "{{__builtin_add_overflow(address, extent.high, &found.end) ==> (__builtin_add_overflow(address,"
        " extent.high, &found.end) && false)}}",
        ["every_bad_argument"],
    ),
    203: (
        "capi/checks.cpp",
        "if ({{!is_aligned(workspace, workspace_alignment) ==> bytes != 0 && !is_aligned(workspace,"
        " workspace_alignment)}})",
        ["every_bad_argument"],
    ),
    204: (
        "capi/checks.cpp",
        "if ({{bytes < needed ==> bytes + 1 < needed}})",
        ["every_bad_argument"],
    ),
    205: (
        "capi/reduce.cpp",
        "call.output_may_be_input = args.axis == 1 && {{is_contiguous(layout.shape) ==> true}} &&",
        ["every_bad_argument"],
    ),
    206: (
        "capi/softmax_backward.cpp",
        "backward.may_be_saved = {{is_contiguous(saved_layout.shape) ==> true}} &&",
        ["every_bad_argument"],
    ),
    207: (
        "capi/softmax_backward.cpp",
        "backward.may_be_output_gradient = {{is_contiguous(gradient_layout.shape) ==> true}} &&",
        ["every_bad_argument"],
    ),
    208: (
        "capi/softmax.cpp",
        "array.outer = ragged ? {{smaller<std::size_t>(given.outer, 1) ==> 1}} : given.outer;",
        ["softmax_edges"],
    ),
    209: (
        "capi/softmax_backward.cpp",
        "gradient_array.outer = ragged ? {{smaller<std::size_t>(outer, 1) ==> 1}} : outer;",
        ["softmax_edges"],
    ),
    210: (
        "capi/softmax.cpp",
        "selection.mask, {{selection.lengths ==> MemoryRange()}}, selection.offsets",
        ["every_bad_argument"],
    ),
    211: (
        "capi/softmax_backward.cpp",
        "{{selection.mask ==> MemoryRange()}}, selection.lengths, selection.offsets",
        ["every_bad_argument"],
    ),
    212: (
        "capi/softmax_backward.cpp",
        "selection.mask, selection.lengths, {{selection.offsets ==> MemoryRange()}}",
        ["every_bad_argument"],
    ),
    213: (
        "capi/offered.cpp",
        "(accumulator == ElementType::f32 && {{input != ElementType::f64 ==> true}});",
        ["every_bad_argument"],
    ),
    214: (
        "capi/offered.cpp",
        "w.is_signed && {{w.size > n.size ==> w.size >= n.size}};",
        ["every_bad_argument"],
    ),
    215: (
        "capi/offered.cpp",
        "(ignore_nan && ({{asked.weighted ==> false}} ||",
        ["every_bad_argument"],
    ),
    216: (
        "capi/softmax_options.h",
        "return {{magnitude > zero_f32 ==> magnitude >= zero_f32}} &&",
        ["every_bad_argument"],
    ),
    217: (
        "capi/softmax_options.h",
        "{{magnitude < infinite_f32 ==> magnitude <= infinite_f32}};",
        ["every_bad_argument"],
    ),
    218: (
        "capi/selection.cpp",
        "(asked.causal_first != 0 || {{asked.causal_rows != 0 ==> false}})",
        ["every_bad_argument"],
    ),
    219: (
        "capi/selection.cpp",
        "if (asked.offsets != nullptr && ({{given.inner != 1 ==> false}} ||",
        ["every_bad_argument"],
    ),
    220: (
        "capi/selection.cpp",
        "if ({{offsets[i] < before ==> offsets[i] <= before}})",
        ["softmax_of_every_shape"],
    ),
    221: (
        "capi/selection.cpp",
        "return {{static_cast<std::size_t>(before) > elements ==> static_cast<std::size_t>(before) >= elements}} ?",
        ["softmax_of_every_shape"],
    ),
    222: (
        "capi/segments.cpp",
        "if (problem.input_count != 0 && {{last > problem.input_count ==> last > problem.input_count + 1}})",
        ["every_bad_argument"],
    ),
    223: (
        "capi/reduction_call.cpp",
        "{{axis > largest_i32_axis ==> axis > largest_i32_axis + 1}} ?",
        ["every_bad_argument"],
    ),
    224: (
        "capi/reduce.cpp",
        "const bool in_place = {{args.count == 1 ==> false}} && args.left != nullptr",
        ["every_bad_argument"],
    ),
    225: (
        "capi/reduce.cpp",
        "if (extent_of({args.outer, args.inner}, {{output_bytes ==> larger(output_bytes, input_bytes)}}, output)",
        ["every_bad_argument"],
    ),
    226: (
        "capi/reduce.cpp",
        "extent_of({args.outer, args.inner}, {{args.values == nullptr ? 0 : input_bytes ==> std::size_t(0)}}, values)",
        ["every_bad_argument"],
    ),
    227: (
        "capi/tiles.cpp",
        "if (mode == Shuffle::exclusive_or && {{operand >= width ==> operand > width}})",
        ["every_bad_argument"],
    ),
    228: (
        "capi/tiles.cpp",
        "return operand < width ? operand : {{0 ==> operand % width}};",
        ["tiles_are_what_warps_do"],
    ),
    229: (
        "capi/reduction_call.cpp",
        "any_two_overlap(written) || (!in_place && overlaps_any(input, written)) || {{overlaps_any(weights,"
        " written) ==> false}} ||",
        ["every_bad_argument"],
    ),
    230: (
        "capi/reduction_call.cpp",
        "overlaps_any(weights, written) || {{overlaps_any(further, written) ==> false}};",
        ["every_bad_argument"],
    ),
    # ---- states of softmax
    240: (
        "capi/softmax_state.cpp",
        "if ({{place.end() > count ==> false}}) {",
        ["states_of_softmax_that_are_refused"],
    ),
    241: (
        "capi/softmax_state.cpp",
        "|| {{(args.causal == 1 && args.causal_rows == 0) ==> false}}",
        ["states_of_softmax_that_are_refused"],
    ),
    # ---- states of reductions
    242: (
        "capi/state.cpp",
        "overlaps_any(left, {&check, 1}) : {{overlaps_any(left, written) ==> false}};",
        ["every_bad_argument"],
    ),
    243: (
        "capi/state.cpp",
        "if ({{args.first != 0 && !exact ==> false}}) {",
        ["every_bad_argument"],
    ),
    244: (
        "capi/state.cpp",
        "problem.right = {problem.left.end(), {{args.right_count ==> 0u}}};",
        ["wrong_states_are_refused"],
    ),
    245: (
        "capi/state.cpp",
        "if ({{any_two_overlap(written) ==> false}} || overlaps_any(input, written) ||",
        ["every_bad_argument"],
    ),
    246: (
        "capi/state.cpp",
        "overlaps_any(input, written) || {{overlaps_any(weights, written) ==> false}}) {",
        ["every_bad_argument"],
    ),
    247: (
        "capi/state_format.cpp",
        "if ({{magnitude_bits(args.scale) != 0 ==> false}}) {",
        ["every_bad_argument"],
    ),
    248: (
        "capi/state_format.cpp",
        "return {{given < bytes ==> false}} ? Status::invalid_state",
        ["every_bad_argument"],
    ),
    249: (
        "capi/state_format.cpp",
        "piece.first > largest_size || {{piece.count > largest_size - piece.first ==> false}}",
        ["every_bad_argument"],
    ),
    250: (
        "capi/state.cpp",
        "if (any_two_overlap(written) || {{overlaps_any(state, written) ==> false}}) {",
        ["every_bad_argument"],
    ),
    251: (
        "capi/softmax_state.cpp",
        "first_failure({check_strides({args.strides_given, any_stride(args)}), {{args.offsets == nullptr ==>"
        " true}} && args.scales == nullptr ? Status::success : Status::unsupported,",
        ["every_bad_argument"],
    ),
    252: (
        "capi/softmax_state.cpp",
        "located(needed.needs_before, before, needed.before, before_range), located({{needed.needs_after ==>"
        " false}}, after,",
        ["every_bad_argument"],
    ),
}
