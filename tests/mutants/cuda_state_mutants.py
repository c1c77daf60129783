"""Mistakes in cuda/state and in what else only states reach. README.md has the form of an entry."""

MUTANTS = {
    # ---- states of reductions
    450: (
        "cuda/state/states.cu",
        "move_place<std::int32_t>(payload, index, {{a.first ==> 0}});",
        ["states_of_any_cuts_are_the_whole"],
    ),
    451: (
        "cuda/state/states.cu",
        "move_place<std::int64_t>(payload, index, {{a.first ==> 0}});",
        ["states_of_any_cuts_are_the_whole"],
    ),
    452: (
        "cuda/state/states.cu",
        "{{settle_state_words( static_cast<std::int64_t *>(payload) + index *"
        " static_cast<std::size_t>(exact_words(a.layout)), a.layout); ==> }}",
        ["states_of_any_cuts_are_the_whole"],
    ),
    453: (
        "cuda/state/softmax_merge.cuh",
        "return {{__all_sync(whole_warp, same) != 0 ==> true}} ? Status::success : reason_of_refusal(a);",
        ["wrong_states_are_refused"],
    ),
    454: (
        "cuda/state/softmax_merge.cuh",
        "if ({{at.state < a.count ==> at.state == 0}}) {",
        ["states_of_any_cuts_are_the_whole"],
    ),
    455: (
        "cuda/state/states.cu",
        "a.judges ? {{verdict != Status::success ==> false}} :",
        ["wrong_states_are_refused"],
    ),
    456: (
        "cuda/state/states.cu",
        "if ({{judge_by_block(a.judged, verdict) != Status::success ==> false}}) { return; }"
        " const void *payload = payload_of(a.state);",
        ["wrong_states_are_refused"],
    ),
    457: (
        "cuda/state/states.cu",
        "finish_output<decltype(op)>({{a.nodes ==> a.nodes - 1}}, at, payload, a.finish, a.output);",
        ["states_of_any_cuts_are_the_whole"],
    ),
    458: (
        "cuda/state/states.cu",
        "{{*a.check = 0; ==> }}",
        ["states_of_any_cuts_are_the_whole"],
    ),
    459: (
        "cuda/state/states.cu",
        "output < outputs; output += {{threads_of_grid() ==> outputs}})",
        ["states_of_any_cuts_are_the_whole"],
        "there are as many threads as outputs up to a million of them",
    ),
    460: (
        "cuda/state/dispatch.cpp",
        "a.outputs = {{outputs ==> outputs - 1}}; if (error == cudaSuccess) {",
        ["states_of_any_cuts_are_the_whole"],
    ),
    461: (
        "cuda/state/dispatch.cpp",
        "are_to_be_sealed(a.kind) ? {{nodes_of(problem.format, piece) ==> 1}} * problem.format.outputs() : 0;",
        ["states_of_any_cuts_are_the_whole"],
    ),
    462: (
        "cuda/state/dispatch.cpp",
        "node.output = {{accumulators ==> payload_of(problem.state)}};",
        ["states_of_any_cuts_are_the_whole"],
    ),
    463: (
        "cuda/state/dispatch.cpp",
        "merge_of(problem.format, {{problem.left ==> Piece{problem.left.first + 1, problem.left.count - 1} }},"
        " problem.right);",
        ["states_of_any_cuts_are_the_whole"],
    ),
    464: (
        "cuda/reduce/instances/node_rows.cu",
        "return grows ? side_elements - (nodes & ({{0u - length ==> 0u - 2 * length}})) : nodes & (0u - 2 * length);",
        ["states_of_many_short_rows"],
    ),
    465: (
        "cuda/reduce/instances/node_rows.cu",
        "const unsigned before = grows ? nodes & (length - 1) : nodes & ({{0u - 2 * length ==> 0u - length}});",
        ["states_of_many_short_rows"],
    ),
    466: (
        "cuda/reduce/instances/node_rows.cu",
        "distance < warp_lanes && {{length <= side.nodes ==> length < side.nodes / 2}};",
        ["states_of_many_short_rows"],
    ),
    467: (
        "cuda/reduce/instances/node_rows.cu",
        "mine = climb(side, from_lane(mine, {{from ==> lane}}), first, group_elements);",
        ["states_of_many_short_rows"],
    ),
    468: (
        "cuda/reduce/instances/node_rows.cu",
        "unsigned at = {{larger(first, side.begin & (0u - tile)) ==> first + tile}}; at < end;",
        ["states_of_many_short_rows"],
    ),
    469: (
        "cuda/reduce/instances/node_rows.cu",
        "return map_element<As>(raw, a_.mapping, {{side.first + (at - side.begin) ==> at - side.begin}});",
        ["states_of_many_short_rows"],
    ),
    470: (
        "cuda/reduce/instances/node_rows.cu",
        "{{enough_ = enough_ && As::is_enough(value); ==> }}",
        ["states_of_many_short_rows"],
    ),
    489: (
        "cuda/reduce/instances/node_rows.cu",
        "elements + (row * {{pitch ==> axis}} + first)",
        ["states_of_many_short_rows"],
    ),
    498: (
        "cuda/reduce/instances/node_rows.cu",
        "for (unsigned bits = side.nodes; {{bits != 0 ==> (bits & (bits - 1)) != 0}}; bits &= bits - 1) {",
        ["states_of_many_short_rows"],
    ),
    499: (
        "cuda/reduce/instances/node_rows.cu",
        "return element(i + {{most_run_elements ==> 0}});",
        ["states_of_many_short_rows"],
    ),
    # ---- states of softmax
    471: (
        "cuda/state/softmax_merge.cuh",
        "if (lane_index() < {{a.count ==> 1}}) { own = judge",
        ["states_of_softmax_that_are_refused"],
    ),
    472: (
        "cuda/state/softmax_merge.cuh",
        "*a.check = {{found ==> 0}};",
        ["states_of_softmax_that_are_refused"],
    ),
    473: (
        "cuda/state/softmax_merge.cuh",
        "*a.verdict = {{found ==> 0}};",
        ["states_of_softmax_that_are_refused"],
    ),
    474: (
        "cuda/state/softmax_merge.cuh",
        "{{found == 0 ==> true}} ? a.header : refused_header();",
        ["states_of_softmax_that_are_refused"],
    ),
    475: (
        "cuda/state/softmax_merge.cuh",
        "return at < {{a.left.places.piece.end() ==> a.left.places.piece.end() + 1}} ? a.left.element(o, i, at)",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    476: (
        "cuda/state/softmax_merge.cuh",
        "a.right.state(seam.right_runs + {{rights ==> 0}}, row)",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    477: (
        "cuda/state/softmax_merge.cuh",
        "mine = other({{a.steps - 1 - lane_index() ==> lane_index()}});",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    478: (
        "cuda/state/softmax_merge.cuh",
        "} else if (index >= {{stay + made ==> stay}}) {",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    479: (
        "cuda/state/softmax_merge.cuh",
        "mine = static_cast<std::uint64_t>(lane_index()) == {{runs ==> runs - 1}} ? last : mine;",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    480: (
        "cuda/state/softmax_merge.cuh",
        "sum = __shfl_sync(whole_warp, scaled, {{lane ==> count - 1 - lane}}) + sum;",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    481: (
        "cuda/state/softmax_outputs.cuh",
        "KeptLogits<Float>{left, right - before * stride, before, {{before + after ==> before}}, stride}.load(x);",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    482: (
        "cuda/state/softmax_outputs.cuh",
        "(number == 0 ? a.totals[row].left_maximum : {{a.totals[row].right_maximum ==> a.totals[row].left_maximum}})",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    483: (
        "cuda/state/softmax_outputs.cuh",
        "of.at < {{piece.left() ==> piece.left() + 1}} ? totals.left_maximum",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    484: (
        "cuda/state/softmax_outputs.cuh",
        "begin = end + ({{number - 1 ==> number}}) * softmax_block;",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    485: (
        "cuda/state/softmax_outputs.cuh",
        "if ({{*a.judged.verdict != 0 ==> false}}) { return; } const SoftmaxProblem &p = a.cut.p;"
        " const std::uint64_t jobs",
        ["states_of_softmax_that_are_refused"],
    ),
    486: (
        "cuda/state/softmax_state.cuh",
        "auto *const own = elements + (is_left ? 0 : {{left * a.places.rows() ==> 0}}) + row * count;",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    487: (
        "cuda/state/softmax_state.cuh",
        "const std::uint64_t begin = {{larger(group, a.first_block) ==> group}} - a.first_block;",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    488: (
        "cuda/state/softmax_state.cuh",
        "const bool together = {{static_cast<std::uint64_t>(count) == length ==> true}};",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    490: (
        "cuda/state/softmax_state.cuh",
        "at = along.inner + (is_left ? 0 : {{piece.count - right ==> left}});",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    491: (
        "cuda/state/softmax_state.cuh",
        "const Float *const from = {{k < split ==> k <= split}} ? first : second;",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    492: (
        "cuda/state/softmax_vectors.cu",
        "const std::uint64_t output = to.row * of.cut.piece.count + {{to.first ==> to.first - of.cut.piece.left()}};",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    493: (
        "cuda/state/softmax_vectors.cu",
        "if ({{*of.judged.verdict != 0 ==> false}}) {",
        ["states_of_softmax_that_are_refused"],
    ),
    500: (
        "cuda/state/softmax_vectors.cu",
        "if (!has_block || {{verdict != Status::success ==> false}}) {",
        ["states_of_softmax_that_are_refused"],
    ),
    501: (
        "cuda/state/softmax_vectors.cu",
        "if (!a.log && {{!block.is_whole() ==> false}} &&",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    502: (
        "cuda/reduce/instances/node_rows.cu",
        "store_node({{Op::settle(value) ==> Op::settle(As::identity())}}, a_.nodes.accumulators, index);",
        ["states_of_many_short_rows"],
    ),
    494: (
        "cuda/state/softmax_dispatch.cpp",
        "const bool in_place = {{problem.merged.bytes == problem.left_state.bytes ==> false}};",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    495: (
        "cuda/state/softmax_dispatch.cpp",
        "const bool aligned = {{is_aligned(input, bytes_of_vector) ==> true}} &&",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    496: (
        "cuda/state/softmax_dispatch.cpp",
        "p.shape.inner != 1 || p.shape.axis_stride != 1 || {{!leaves_nothing_out(p.selection) ==> false}}) {",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
    497: (
        "cuda/state/softmax_dispatch.cpp",
        "{{places.elements() == 0 ==> true}} && whole.places.piece.right() == 0,",
        ["softmax_of_pieces_is_that_of_the_whole"],
    ),
}
