"""Mistakes in cuda/: kernels, which the emulator runs, and what chooses them. README.md has the form of an entry."""

MUTANTS = {
    # ---- reductions
    300: (
        "cuda/device/warp_tree.cuh",
        "return level < 5 ? 1 << level : 1 << (log2_of(V) + {{4 ==> 3}} - level);",
        ["reductions_are_those_of_the_host"],
    ),
    301: (
        "cuda/device/warp_tree.cuh",
        "upper ? high : low, from_lane_xor({{upper ? low : high ==> high}}, 1 << Step)",
        ["softmax_of_every_shape"],
    ),
    302: (
        "cuda/reduce/tile_load.cuh",
        "at - offset + bytes {{+ word_bytes ==> + 0}} <= readable_range.end);",
        ["rare_ways_of_reductions"],
    ),
    303: (
        "cuda/reduce/tile_load.cuh",
        "if ({{m.counted_most >= 0xFFu ==> true}})",
        ["nan_is_ignored"],
    ),
    304: (
        "cuda/reduce/tile_load.cuh",
        "if ({{reinterpret_cast<std::uintptr_t>(at) % vector_bytes == 0 ==> true}}) { #pragma unroll for"
        " (int v = 0; v < Vectors; ++v) { vectors[v] = __ldg",
        ["rare_ways_of_reductions"],
    ),
    305: (
        "cuda/reduce/tile_load.cuh",
        "* row.stride], m, {{at ==> at - first}});",
        ["rare_ways_of_reductions"],
    ),
    306: (
        "cuda/reduce/tile_load.cuh",
        "return {{is_signed ==> false}} ? static_cast<std::uint64_t>",
        ["rare_ways_of_reductions"],
    ),
    307: (
        "cuda/reduce/tile_access.cuh",
        "const bool by_vectors = {{left % vector_elements<T> == 0 ==> true}};",
        ["rare_ways_of_reductions"],
    ),
    308: (
        "cuda/reduce/tile_access.cuh",
        "if (end > 0 && {{!words_are_readable<T>(data + static_cast<std::size_t>(end - 1) * step, tile_bytes,"
        " readable_range) ==> false}}) {",
        ["rare_ways_of_reductions"],
    ),
    309: (
        "cuda/reduce/tile_access.cuh",
        "if ({{!words_are_readable<T>(at, count / vector_elements<T> * vector_bytes, readable_range) ==> false}}) {",
        ["rare_ways_of_reductions"],
    ),
    310: (
        "cuda/reduce/tile_load.cuh",
        "const int last = {{count - 1 - lane_index() ==> count - lane_index()}};",
        ["every_operator_on_every_type"],
    ),
    311: (
        "cuda/reduce/extreme_place.cuh",
        "tile_ < 0 || {{key > key_ ==> key >= key_}} ? tile : tile_;",
        ["rare_ways_of_reductions"],
    ),
    312: (
        "cuda/reduce/extreme_place.cuh",
        "if (tile < 0 || ({{most == Op::identity().key && m.ignore_nan ==> false}}))",
        ["nan_is_ignored"],
    ),
    314: (
        "cuda/reduce/columns.cuh",
        "inside ? static_cast<int>(smaller({{a.axis - row ==> a.axis - row + 1}}, static_cast<std::size_t>(a.run)))",
        ["rare_ways_of_reductions"],
    ),
    315: (
        "cuda/segments/walk.cuh",
        "low = {{larger<std::int64_t>(offset(0), 0) ==> offset(0)}};",
        ["rare_ways_of_reductions"],
    ),
    316: (
        "cuda/segments/walk.cuh",
        "return {begin, {{larger(begin, within(next_offset)) ==> within(next_offset)}}};",
        ["reductions_are_those_of_the_host"],
        "fewer than no elements are none to all who ask: what wrong offsets give is not said, and no more is read",
    ),
    317: (
        "cuda/segments/segments.cuh",
        "position += {{is_part ? static_cast<std::size_t>(piece.part.position) + item *"
        " most_elements_at_once : 0 ==> std::size_t(0)}};",
        ["rare_ways_of_reductions"],
    ),
    318: (
        "cuda/segments/walk.cuh",
        "segment.count() > map_.window() && {{position < segment.count() ==> true}})",
        ["reductions_are_those_of_the_host"],
        "a run that begins behind its segment's end has no elements either way",
    ),
    319: (
        "cuda/segments/walk.cuh",
        "const bool mine = segment < left_ && {{begin_[g] + segment *"
        " static_cast<unsigned>(map_.segment_work) < room_ ==> true}};",
        ["rare_ways_of_reductions"],
    ),
    320: (
        "cuda/reduce/plan.cpp",
        "return ({{row_tiles + of_block - 1 ==> row_tiles}}) >> std::countr_zero(of_block);",
        ["rare_ways_of_reductions"],
    ),
    322: (
        "cuda/reduce/plan.cpp",
        "return address % bytes == 0 && {{s.inner % elements == 0 ==> true}} &&",
        ["rare_ways_of_reductions"],
    ),
    323: (
        "cuda/reduce/plan.cpp",
        "{{std::has_single_bit(p.shape.axis) ==> true}} && p.row_bytes() <",
        ["rare_ways_of_reductions"],
    ),
    324: (
        "cuda/reduce/staged_rows.cuh",
        "return {{item + 1 == items ? last_rows : a.rows ==> a.rows}};",
        ["rare_ways_of_reductions"],
    ),
    325: (
        "cuda/reduce/staged_rows.cuh",
        "return a.groups == 1 ? 0 : {{first_row ==> std::size_t(0)}} +",
        ["rare_ways_of_reductions"],
    ),
    326: (
        "cuda/reduce/rows.cuh",
        "split == 0 && warp_index() == 0) { const int blocks = static_cast<int>(a.splits); value ="
        " lane_index() < blocks ? splits[{{lane_index() ==> lane_index() ^ 1}}]",
        ["reductions_are_those_of_the_host"],
        "neighbours are combined first, in whatever order, and a cluster has a power of two of blocks",
    ),
    327: (
        "cuda/tiles/exchange.cu",
        "return ({{members & ~at.mask_in_tile(__ballot_sync(whole_warp, equal)) ==>"
        " ~at.mask_in_tile(__ballot_sync(whole_warp, equal))}}) == 0;",
        ["tiles_are_what_warps_do"],
    ),
    328: (
        "cuda/tiles/exchange.cu",
        "const std::uint32_t members = {{problem.members & mask_of_lanes(at.lanes) ==> problem.members}};"
        " std::uint32_t matched = 0;",
        ["tiles_are_what_warps_do"],
    ),
    329: (
        "cuda/common/launch.cpp",
        "(callers != nullptr && {{callers_bytes >= bytes ==> true}})",
        ["workspace"],
        "capi/ refuses a workspace that is smaller than the query says, and no job needs more",
    ),
    # ---- softmax
    340: (
        "cuda/softmax/tile.cuh",
        "return {{value > bound ==> value >= bound}} ? result : Float(0); }); } // The same whatever",
        ["rare_ways_of_softmax"],
    ),
    341: (
        "cuda/softmax/tile.cuh",
        "maximum < Float(lowest_logit) ? {{absent_n ==> special_n}} : special_n;",
        ["softmax_is_that_of_the_host"],
        "unusual rows take the long way to the same bits",
    ),
    342: (
        "cuda/rowwise/vector_access.cuh",
        "vectors[v] = behind; if ({{v * warp_lanes < left ==> v * warp_lanes <= left}})",
        ["softmax_is_that_of_the_host"],
    ),
    343: (
        "cuda/rowwise/vector_access.cuh",
        "{{i * warp_lanes < left ==> i * warp_lanes < left - 1}} && mine[i * warp_lanes] == 0",
        ["rare_ways_of_softmax"],
    ),
    344: (
        "cuda/rowwise/strided_access.cuh",
        "all_leading(begin + softmax_block <= {{place.taken ==> place.taken + 1}})",
        ["softmax_is_that_of_the_host"],
    ),
    345: (
        "cuda/rowwise/strided_access.cuh",
        "canonical[i] = {{is_nan(y[i]) ==> false}} ?",
        ["softmax_special_values"],
    ),
    346: (
        "cuda/rowwise/strided_access.cuh",
        "(left + {{warp_lanes - 1 ==> warp_lanes - 2}}) / warp_lanes;",
        ["softmax_is_that_of_the_host"],
    ),
    347: (
        "cuda/softmax/strided/strided.cuh",
        "values[i] = {{taken.has(i) ==> true}} ? special : left_out;",
        ["softmax_is_that_of_the_host"],
    ),
    348: (
        "cuda/softmax/strided/strided.cuh",
        "scale_of_row<Float>(p, place.row); if ({{scale != Float(1) ==> scale > Float(1)}})",
        ["rare_ways_of_softmax"],
    ),
    349: (
        "cuda/softmax/sub_warp/staged_rows.cuh",
        "{{i < left(v) ==> true}} ? e[v * each + i] : 0;",
        ["softmax_is_that_of_the_host"],
    ),
    350: (
        "cuda/softmax/sub_warp/thread_rows.cuh",
        "({{row.whole == most ==> false}} ? tail : Sum(0));",
        ["rare_ways_of_softmax"],
    ),
    351: (
        "cuda/softmax/sub_warp/thread_rows.cuh",
        "return {{x > frame.bound ==> true}} ? result : Float(0);",
        ["rare_ways_of_softmax"],
    ),
    352: (
        "cuda/softmax/outputs.cuh",
        "nearest = {{rest > 0.0f ==> false}} ? units + 0.5f",
        ["softmax_is_accurate"],
    ),
    353: (
        "cuda/softmax/outputs.cuh",
        "(gap <= zero_gap && {{inverse < 1.5f ==> true}}) ||",
        ["rare_ways_of_softmax"],
    ),
    354: (
        "cuda/softmax/outputs.cuh",
        "if ({{own < head ==> own <= head}}) { from[own] = byte;",
        ["softmax_is_that_of_the_host"],
    ),
    355: (
        "cuda/softmax/strided/strided.cuh",
        "x[i] = {{has_bit(taken, i) ==> true}} ? x[i] :",
        ["softmax_is_that_of_the_host"],
    ),
    356: (
        "cuda/softmax_backward/strided.cu",
        "weights[i] = taken.has(i) ? weights[i] : {{Float(-0.0) ==> Float(0.0)}};",
        ["softmax_edges"],
    ),
    357: (
        "cuda/softmax_backward/strided.cu",
        "gradients[i] = {{taken.has(i) ==> true}} ? gradients[i] : Float(0);",
        ["softmax_is_that_of_the_host"],
    ),
    358: (
        "cuda/softmax_backward/strided.cu",
        "weights[i] = {{ordinary ==> true}} ? weight_of_any(less.high, less.low) : row.special;",
        ["softmax_backward_special_values"],
    ),
    359: (
        "cuda/softmax_backward/strided.cu",
        "terms[i] = {{has_bit(taken, i) ==> true}} ? term :",
        ["softmax_is_that_of_the_host"],
    ),
    360: (
        "cuda/softmax_backward/weights.cuh",
        "within = within && {{fabsf(less.high) < reach ==> true}};",
        ["rare_ways_of_softmax"],
    ),
    361: (
        "cuda/softmax/logsumexp/logsumexp.cu",
        "return {{value > bound ==> true}} ? e : 0.0f;",
        ["softmax_is_that_of_the_host"],
    ),
    362: (
        "cuda/softmax/logsumexp/stage.cuh",
        "if ({{v * lane_stride < left ==> v * lane_stride <= left}}) { copy_vector_async",
        ["rare_ways_of_softmax"],
    ),
    364: (
        "cuda/softmax/two_pass/columns.cuh",
        "e[i] = {{i < left ==> true}} ? exponential_in",
        ["softmax_is_that_of_the_host"],
    ),
    365: (
        "cuda/softmax/two_pass/columns.cuh",
        "(place.count == 0 || ({{high < two_pass_column_reach && low > -two_pass_column_reach ==> true}}));",
        ["softmax_is_that_of_the_host"],
    ),
    366: (
        "cuda/softmax/rows/masked_rows_tile.cuh",
        "return {{high == 0 ==> true}} ? within :",
        ["softmax_edges"],
    ),
    367: (
        "cuda/softmax/rows/masked_rows.cuh",
        "of_vector[i] = {{at < count ==> true}} ? mask[at]",
        ["rare_ways_of_softmax"],
    ),
    368: (
        "cuda/softmax/rows/masked_rows.cuh",
        "const bool later = {{skew >= word ==> skew > word}};",
        ["softmax_is_that_of_the_host"],
    ),
    369: (
        "cuda/rowwise/sub_warp_elements.cuh",
        "end += {{lane_index() >= distance ==> true}} ? before : 0;",
        ["softmax_is_that_of_the_host"],
    ),
    370: (
        "cuda/rowwise/sub_warp_elements.cuh",
        "no_more_than(taken, selection.causal_first + {{outer %"
        " static_cast<std::uint32_t>(selection.causal_rows) ==> outer}});",
        ["rare_ways_of_softmax"],
    ),
    371: (
        "cuda/softmax/plan.cpp",
        "if (packed[0] != nullptr && {{s.axis % elements == 0 ==> true}} &&",
        ["rare_ways_of_softmax"],
    ),
    372: (
        "cuda/softmax/rows/spread_rows.cu",
        "of_warp = {{is_one_tile ? lane_index() % tile_warps : lane_index() ==> lane_index()}};",
        ["softmax_is_that_of_the_host"],
    ),
    373: (
        "cuda/softmax/rows/spread_rows.cu",
        "e[i] = {{i < count ==> true}} ? e[i] : 0.0f;",
        ["softmax_is_that_of_the_host"],
    ),
    374: (
        "cuda/softmax/rows/spread_rows.cpp",
        "steps_by_vectors({{s.outer ==> 1}}, s.outer_stride, elements)",
        ["softmax_is_that_of_the_host"],
    ),
    # ---- what the programs named after kernels guarded, before one sweep took their place
    375: (
        "cuda/softmax_backward/rows.cu",
        "logsumexp = logsumexp_of({{i + 1 ==> i}}); float part",
        ["softmax_of_every_shape"],
    ),
    376: (
        "cuda/softmax/ragged/scheduler.cuh",
        "if (at < left && {{mask[at] == 0 ==> mask[at] == 0 && v == 0}})",
        ["softmax_of_every_shape"],
    ),
    377: (
        "cuda/rowwise/column_tile.cuh",
        "selection.lengths[part.column(columns, {{c ==> 0}})]",
        ["softmax_of_every_shape"],
    ),
    378: (
        "cuda/softmax/columns/column_tile.cu",
        "kept[c][i] = {{a.log ==> false}} ? x : of_column[i];",
        ["softmax_of_every_shape"],
    ),
    379: (
        "cuda/softmax/tile.cuh",
        "sums[i] = scale_by_power(sums[i], {{n[i] - row_n ==> n[i] - row_n < -10 ? -2000 : n[i] - row_n}});",
        ["softmax_of_every_shape"],
    ),
    380: (
        "cuda/softmax/rows/cluster_rows.cuh",
        "const bool there = first + i < {{count ==> count - 1}};",
        ["softmax_of_every_shape"],
    ),
    381: (
        "cuda/softmax/two_pass/rows.cuh",
        "if (lane_index() < {{two_pass_row_warps ==> two_pass_row_warps - 1}}) { mine = states",
        ["softmax_of_every_shape"],
    ),
    382: (
        "cuda/softmax/rows/cta_rows.cuh",
        "count = {{row < a.outer ==> true}} ? count : 0;",
        ["softmax_of_every_shape"],
    ),
    383: (
        "cuda/softmax/lookback/columns.cuh",
        "own[i] = logits[{{i ==> 0}}];",
        ["softmax_of_every_shape"],
    ),
    384: (
        "cuda/softmax/lookback/rows.cuh",
        "Sum sum = {{scale_by_power(own.sum, frame_gap(own.maximum, maximum)) ==> own.sum}};",
        ["softmax_of_every_shape"],
    ),
    385: (
        "cuda/softmax/columns/register_tiles.cuh",
        "x[i] = {{i < count ==> i + 1 < count}} ? x[i] * scale : x[i];",
        ["softmax_of_every_shape"],
    ),
    386: (
        "cuda/softmax/outputs.cuh",
        "if (v * warp_lanes < {{left ==> left - 1}}) { store_words(own",
        ["softmax_of_every_shape"],
    ),
    # ---- exact sums
    440: (
        "cuda/reduce/exact/lane_sum.cuh",
        "smaller(static_cast<std::uint32_t>(place_ + lowest_field + {{1 ==> 20}}) << 23, infinity_f32)",
        ["exact_sums_are_rounded_once"],
    ),
    441: (
        "cuda/reduce/exact/lane_sum.cuh",
        "if ({{limit_ != 0 ==> false}}) { begin_bins();",
        ["exact_sums_are_rounded_once"],
    ),
    442: (
        "cuda/reduce/exact/lane_sum.cuh",
        "(sizeof(T) == 4 && {{low != 0 ==> false}});",
        ["exact_sums_are_rounded_once"],
    ),
    443: (
        "cuda/reduce/exact/lane_sum.cuh",
        "numbers_ |= largest; if ({{largest == 0 ==> false}}) {",
        ["exact_sums_are_rounded_once"],
    ),
    444: (
        "cuda/reduce/exact/lane_sum.cuh",
        "static_cast<std::int64_t>(low >> 32) + ({{units.count >> 32 << shift ==> 0}}) : 0;",
        ["exact_sums_are_rounded_once"],
    ),
    445: (
        "cuda/reduce/exact/lane_sum.cuh",
        "bin <= {{2 * lane + 2 ==> 2 * lane + 1}}; ++bin)",
        ["exact_sums_are_rounded_once"],
    ),
    503: (
        "cuda/reduce/exact/lane_sum.cuh",
        "limit_ = {{limit_ == 1 ==> false}} ? limit_of_window() : limit_ - 1;",
        ["exact_sums_are_rounded_once"],
    ),
    446: (
        "cuda/reduce/exact/lane_sum.cuh",
        "shifted_left(total, {{units.place - below.place ==> 0}})",
        ["exact_sums_are_rounded_once"],
    ),
    447: (
        "cuda/reduce/plan.cpp",
        "{{steps_by_vectors(s.inner, s.inner_stride, vector_elements) ==> true}};",
        ["exact_sums_are_rounded_once"],
    ),
    448: (
        "cuda/reduce/exact/lane_sum.cuh",
        "sum.marks(), {{lanes ==> 1}});",
        ["exact_sums_are_rounded_once"],
    ),
    449: (
        "cuda/reduce/exact/lane_sum.cuh",
        "for (int part = 0; part < {{3 ==> 1}}; ++part) {",
        ["exact_sums_are_rounded_once"],
    ),
    # ---- one for each rule of cuda/reduce/plan.cpp: arithmetic and edges of the kernels that it leads to
    388: (
        "cuda/reduce/sub_warp_rows.cuh",
        "if ({{rows.count < last_rows ==> false}}) { reduce_rows_singly",
        ["rare_ways_of_reductions"],
    ),
    389: (
        "cuda/reduce/sub_warp_rows.cuh",
        "results[r] = Op::combine(results[r], values[(r * Vectors + {{v ==> 1}}) * part]);",
        ["rare_ways_of_reductions"],
    ),
    390: (
        "cuda/reduce/rows.cuh",
        "block_warps + {{static_cast<std::size_t>(warp_index()) ==> std::size_t(0)}}) >> a.warps_log2);",
        ["rare_ways_of_reductions"],
    ),
    391: (
        "cuda/reduce/stage.cuh",
        "cells[{{layout.place(v) ==> v}}] = vector_tree<T, Op>(vector, m);",
        ["rare_ways_of_reductions"],
    ),
    392: (
        "cuda/reduce/staged_rows.cuh",
        "columns + threadIdx.x]); }, {{a.runs ==> a.runs - 1}}, a.mapping,",
        ["rare_ways_of_reductions"],
    ),
    393: (
        "cuda/reduce/columns.cuh",
        "values[r] = {{r < rows ==> r < rows - 1}} ? table[r * step] : Op::identity();",
        ["rare_ways_of_reductions"],
    ),
    394: (
        "cuda/reduce/column_run.cuh",
        "tree_of_rows<decltype(op)>(loaded, {{run.rows ==> Rows}}, m, 0, of);",
        ["rare_ways_of_reductions"],
    ),
    395: (
        "cuda/reduce/rows.cuh",
        "first_vectors_of_tiles<T, Op>(at, {{left / vector_elements<T> ==> left / vector_elements<T> + 1}}, tiles, m);",
        ["workspace_changes_nothing"],
    ),
    396: (
        "cuda/reduce/plan.cpp",
        "return {.aligned = p.aligned, .tiles = static_cast<int>({{std::bit_ceil(p.row_tiles) ==>"
        " std::bit_floor(p.row_tiles)}}), .rows_a_block = block_warps};",
        ["rare_ways_of_reductions"],
    ),
    397: (
        "cuda/reduce/rows.cuh",
        "WarpTiles tiles{(({{split << a.warps_log2 ==> split}}) + own_warp) * most, a.tiles};",
        ["rare_ways_of_reductions"],
    ),
    504: (
        "cuda/reduce/rows.cuh",
        "number = {{lane * warps + warp_index() ==> warp_index() * turns + lane}};",
        ["many_middling_rows"],
    ),
    505: (
        "cuda/reduce/tile_access.cuh",
        "if (end > 0 && {{!words_are_readable<T>(data, tile_bytes, readable_range) ==> false}}) { begin = 1;",
        ["rare_ways_of_reductions"],
    ),
}
