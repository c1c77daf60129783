// Exact sums: how the work is divided, and what becomes of the pieces' words.
#include "host/common/float_environment.h"
#include "host/common/panels.h"
#include "host/common/parallel.h"
#include "host/common/run.h"
#include "host/host.h"
#include "host/reduce/exact_store.h"

#include <algorithm>
#include <bit>
#include <memory>
#include <new>

namespace wr::host {

namespace {

// Of the shortest piece.
constexpr std::size_t piece_elements = std::size_t{1} << 14;

// What an element takes that lies apart from its neighbours, in elements that do not.
constexpr std::size_t cost_of_gathered = 4;

// Merged words keep their headroom for any axis.
constexpr std::size_t merges_between_carries = std::size_t{1} << 20;

std::size_t words_of(const ExactJob &job) { return static_cast<std::size_t>(exact_words(job.layout)); }

std::size_t outputs_of(const ExactJob &job, std::size_t panel) {
    return std::min(job.panels.width, job.shape.inner - panel % job.panels.per_outer * job.panels.width);
}

void store_panel(const ExactJob &job, std::size_t panel, std::int64_t *words) {
    const std::size_t first =
        panel / job.panels.per_outer * job.shape.inner + panel % job.panels.per_outer * job.panels.width;
    for (std::size_t i = 0; i < outputs_of(job, panel); ++i) {
        store_exact_words(job, first + i, words + i * words_of(job));
    }
}

Status run_panels(const ExactJob &job, const Kernels &kernels, std::size_t threads) {
    for_panels(job.shape.outer * job.panels.per_outer, threads,
               [&](std::size_t first, std::size_t last) { kernels.sum_exact_panels(job, first, last); });
    return Status::success;
}

// The words of a panel's pieces, [pieces][words], into those of the first.
void merge_pieces(const ExactJob &job, std::size_t pieces, std::size_t piece_words, std::int64_t *words) {
    for (std::size_t piece = 1; piece < pieces; ++piece) {
        for (std::size_t i = 0; i < piece_words; ++i) {
            words[i] += words[piece * piece_words + i];
        }
        if (piece % merges_between_carries == 0) {
            for (std::size_t i = 0; i < piece_words; i += words_of(job)) {
                settle_words(words + i, job.layout);
            }
        }
    }
}

Status run_pieces(const ExactJob &job, const Kernels &kernels, const Pieces &pieces, std::size_t threads) {
    const std::size_t panels = job.shape.outer * job.panels.per_outer;
    const std::size_t piece_words = job.panels.width * words_of(job);
    const std::unique_ptr<std::int64_t[]> partial(new (std::nothrow)
                                                      std::int64_t[panels * pieces.count * piece_words]());
    if (partial == nullptr) {
        return run_panels(job, kernels, threads); // a panel is then one thread's
    }
    parallel_for(panels * pieces.count, threads, [&](std::size_t task) {
        const std::size_t first = task % pieces.count * pieces.length;
        std::int64_t *words = partial.get() + task * piece_words;
        kernels.add_exact_piece(job, task / pieces.count, first, std::min(pieces.length, job.shape.axis - first),
                                words);
        for (std::size_t i = 0; i < piece_words; i += words_of(job)) {
            settle_words(words + i, job.layout);
        }
    });
    for (std::size_t panel = 0; panel < panels; ++panel) {
        std::int64_t *words = partial.get() + panel * pieces.count * piece_words;
        merge_pieces(job, pieces.count, piece_words, words);
        store_panel(job, panel, words);
    }
    return Status::success;
}

} // namespace

Status run_exact_sum(const ReduceProblem &problem, const Kernels &kernels, std::size_t threads, bool as_state) {
    Shape shape = problem.shape;
    if (shape.outer == 0 || shape.inner == 0) {
        return Status::success;
    }
    make_inner_the_neighbours(shape);
    const Reduction &what = problem.what;
    const bool products = what.weights_dtype != ElementType::none;
    const ExactJob job{problem.input,
                       problem.weights,
                       problem.output,
                       shape,
                       panels_of(shape, exact_panel),
                       exact_layout(what.dtype, products),
                       what.dtype,
                       what.output_dtype,
                       what.ignore_nan,
                       as_state};
    const FloatEnvironment environment;
    const Pieces pieces = pieces_for(shape.axis, shape.outer * job.panels.per_outer, threads, piece_elements);
    return pieces.count > 1 ? run_pieces(job, kernels, pieces, threads) : run_panels(job, kernels, threads);
}

namespace {

Status exact_sum_as(const ReduceProblem &problem, bool as_state) {
    const Shape &shape = problem.shape;
    const std::size_t bytes =
        shape.outer * shape.inner * std::max<std::size_t>(shape.axis, 1) * traits_of(problem.what.dtype).size;
    const bool together = shape.axis_stride == 1 || shape.inner_stride == 1;
    return run_exact_sum(problem, best_kernels(), threads_for(together ? bytes : cost_of_gathered * bytes), as_state);
}

} // namespace

Status exact_sum(const ReduceProblem &problem) { return exact_sum_as(problem, false); }

Status exact_words_of(const ReduceProblem &problem) { return exact_sum_as(problem, true); }

} // namespace wr::host
