// States of softmax over pieces of rows: whole base blocks by the kernels of softmax, what edges cut element by
// element.
#include "host/common/float_environment.h"
#include "host/common/panels.h"
#include "host/common/parallel.h"
#include "host/host.h"
#include "host/softmax/job.h"
#include "numerics/softmax_piece.h"

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <memory>
#include <new>

namespace wr::host {

namespace {

// How long it takes to read an element that goes alone, in bytes that are only read.
constexpr std::size_t cost_of_element = 64;

// Base blocks of a task, where a run of them is cut into several.
constexpr std::uint64_t blocks_of_task = 4;

constexpr std::size_t most_panel_rows = lane_groups * 16;
constexpr std::size_t most_runs = 128; // of a piece: two for each bit of a number of blocks

struct Runs {
    BlockRun of[most_runs];
    std::size_t count = 0;

    explicit Runs(const SoftmaxPiece &piece) {
        for (std::uint64_t at = piece.first_block(); at < piece.end_block(); at = of[count++].end) {
            of[count] = run_from(at, piece.end_block());
        }
    }
};

// The rows that a panel of a job stands for.
struct PanelRows {
    std::size_t first, count;

    PanelRows(const SoftmaxJob &job, std::size_t panel) {
        const std::size_t inner = panel % job.panels.per_outer * job.panels.width;
        first = panel / job.panels.per_outer * job.shape.inner + inner;
        count = std::min(job.panels.width, job.shape.inner - inner);
    }
};

std::size_t panels_in(const SoftmaxJob &job) { return job.shape.outer * job.panels.per_outer; }

// Begins with a piece's first whole block.
struct PieceJob {
    const SoftmaxKernel &kernel;
    SoftmaxJob job;
    SoftmaxPiece piece;
    std::size_t threads;

    std::size_t element(std::uint64_t block) const { return block * softmax_block - piece.first; }
};

template <class Float, class Sum>
class StateWriter {
    using State = RowState<Float, Sum>;

  public:
    StateWriter(const SoftmaxStateProblem &problem, const PieceJob &piece_job)
        : p_(problem), of_(piece_job),
          places_{piece_job.piece, problem.softmax.shape.outer, problem.softmax.shape.inner},
          states_(static_cast<KeptState<Sum> *>(problem.state.payload())), panels_(panels_in(piece_job.job)) {}

    void write() {
        write_runs();
        write_elements();
    }

  private:
    // A run that is one task, and those of which each has several.
    void write_runs() {
        const Runs runs(of_.piece);
        const std::size_t tasks = of_.threads == 1 ? 1 : tasks_per_thread * of_.threads;
        const auto blocks = of_.piece.end_block() - of_.piece.first_block();
        const std::uint64_t long_run =
            panels_ >= tasks ? blocks + 1 : std::max(divide_up<std::uint64_t>(blocks * panels_, tasks), blocks_of_task);
        std::size_t numbers[most_runs], short_runs = 0;
        for (std::size_t i = 0; i < runs.count; ++i) {
            if (runs.of[i].blocks() <= long_run || !write_long_run(runs.of[i], i, long_run)) {
                numbers[short_runs++] = i;
            }
        }
        parallel_for(panels_ * short_runs, of_.threads, [&](std::size_t task) {
            const std::size_t number = numbers[task % short_runs];
            alignas(16) std::byte states[most_panel_rows * sizeof(State)];
            piece_state(task / short_runs, runs.of[number], states);
            keep(task / short_runs, number, states);
        });
    }

    // false: there is no memory for it.
    bool write_long_run(const BlockRun &run, std::size_t number, std::uint64_t most) {
        std::uint64_t part = blocks_of_task;
        while (part * 2 <= most) {
            part *= 2;
        }
        const std::size_t parts = run.blocks() / part, part_bytes = of_.job.panels.width * sizeof(State);
        const std::unique_ptr<std::byte[]> states(new (std::nothrow) std::byte[panels_ * parts * part_bytes]);
        if (states == nullptr || run.blocks() % part != 0) {
            return false;
        }
        parallel_for(panels_ * parts, of_.threads, [&](std::size_t task) {
            const std::uint64_t begin = run.begin + task % parts * part;
            piece_state(task / parts, {begin, begin + part}, states.get() + task * part_bytes);
        });
        for (std::size_t panel = 0; panel < panels_; ++panel) {
            std::byte *const own = states.get() + panel * parts * part_bytes;
            of_.kernel.merge(of_.job, panel, parts, own, own);
            keep(panel, number, own);
        }
        return true;
    }

    void piece_state(std::size_t panel, const BlockRun &run, std::byte *states) const {
        of_.kernel.piece(of_.job, panel, of_.element(run.begin), run.blocks() * softmax_block, states);
    }

    void keep(std::size_t panel, std::size_t number, const std::byte *states) {
        const PanelRows rows(of_.job, panel);
        for (std::size_t k = 0; k < rows.count; ++k) {
            State state;
            std::memcpy(&state, states + k * sizeof state, sizeof state);
            states_[places_.state(number, rows.first + k)] = kept(state);
        }
    }

    void write_elements() {
        using Bits = typename ExponentialConstants<Float>::Bits;
        auto *const elements = reinterpret_cast<Bits *>(states_ + places_.states());
        const SoftmaxPiece &piece = of_.piece;
        const auto write_some = [&](std::size_t row, std::uint64_t begin, std::uint64_t end) {
            const PieceRow of = piece_row(p_.softmax, p_.first, row);
            for (std::uint64_t at = begin; at < end; ++at) {
                elements[places_.element(of.outer, of.inner, at)] =
                    kept_bits(piece_logit<Float>(p_.softmax, of, at - piece.first));
            }
        };
        const std::size_t tasks = piece.left() + piece.right() == 0 ? 0 : places_.rows();
        parallel_for(tasks, of_.threads, [&](std::size_t row) {
            write_some(row, piece.first, piece.first + piece.left());
            write_some(row, piece.end() - piece.right(), piece.end());
        });
    }

    const SoftmaxStateProblem &p_;
    const PieceJob &of_;
    SoftmaxStatePlaces places_;
    KeptState<Sum> *states_;
    std::size_t panels_;
};

std::size_t threads_of(const SoftmaxProblem &p, std::size_t cut_elements) {
    const std::size_t rows = p.shape.outer * p.shape.inner;
    const std::size_t cost = are_lone_rows(p) ? 4 : 8;
    return threads_for(rows * (p.shape.axis * cost * traits_of(p.dtype).size + cut_elements * cost_of_element));
}

bool is_empty(const Shape &shape) { return shape.outer == 0 || shape.inner == 0; }

// Threads of a job on the kept elements of up to a base block for each row.
std::size_t threads_of_rows(std::size_t rows) { return threads_for(rows * softmax_block * cost_of_element); }

PieceJob piece_job(const SoftmaxProblem &problem, std::uint64_t first, const SoftmaxKernel &kernel,
                   std::size_t cut_elements) {
    const std::size_t threads = threads_of(problem, cut_elements);
    PieceJob all{kernel, softmax_job(problem, kernel, threads), piece_of(problem, first), threads};
    all.job.axis_first = first;
    all.job.logsumexp = all.job.maximum = nullptr;
    return all;
}

// The row states and elements of two neighbours as those of both.
template <class Float, class Sum>
struct Merge {
    using View = SoftmaxStateView<Float, Sum>;
    using Bits = typename ExponentialConstants<Float>::Bits;
    View left, right;
    SoftmaxStatePlaces places;
    SoftmaxSeam seam;
    KeptState<Sum> *states;
    Bits *elements;

    explicit Merge(const SoftmaxMergeProblem &p)
        : left({p.left, p.outer, p.inner}, p.left_state.payload()),
          right({p.right, p.outer, p.inner}, p.right_state.payload()),
          places{{p.left.first, p.left.count + p.right.count}, p.outer, p.inner}, seam(seam_of(p.left, p.right)),
          states(static_cast<KeptState<Sum> *>(p.merged.payload())),
          elements(reinterpret_cast<Bits *>(states + places.states())) {}

    Float element(std::uint64_t o, std::uint64_t i, std::uint64_t at) const {
        return at < left.places.piece.end() ? left.element(o, i, at) : right.element(o, i, at);
    }

    // The runs that stay, of all rows.
    void copy_runs() const {
        SoftmaxSeam end = seam;
        for (auto side = end.next(); side != SoftmaxSeam::Side::none; side = end.next()) {
            end.combine(side);
        }
        const std::uint64_t rows = places.rows(), behind = end.left_runs + (end.run.blocks() == 0 ? 0 : 1);
        const std::uint64_t from_right = right.places.piece.runs() - end.right_runs;
        std::copy_n(left.states, end.left_runs * rows, states);
        std::copy_n(right.states + end.right_runs * rows, from_right * rows, states + behind * rows);
    }

    void make_run(std::uint64_t o, std::uint64_t i) const {
        const std::uint64_t row = o * places.inner + i;
        SoftmaxSeam at = seam;
        if (at.run.blocks() == 0) {
            return;
        }
        const std::uint64_t first = at.run.begin * softmax_block;
        RowState<Float, Sum> state =
            at.cut_block ? state_of_elements<Float, Sum>(softmax_block,
                                                         [&](std::uint64_t k) { return element(o, i, first + k); })
                         : right.state(0, row);
        for (auto side = at.next(); side != SoftmaxSeam::Side::none; side = at.next()) {
            state = side == SoftmaxSeam::Side::left ? combine(left.state(at.left_runs - 1, row), state)
                                                    : combine(state, right.state(at.right_runs, row));
            at.combine(side);
        }
        states[places.state(at.left_runs, row)] = kept(state);
    }

    void copy_elements(std::uint64_t o, std::uint64_t i) const {
        const SoftmaxPiece &piece = places.piece;
        const auto copy = [&](std::uint64_t begin, std::uint64_t end) {
            for (std::uint64_t at = begin; at < end; ++at) {
                elements[places.element(o, i, at)] = bit_cast<Bits>(element(o, i, at));
            }
        };
        copy(piece.first, piece.first + piece.left());
        copy(piece.end() - piece.right(), piece.end());
    }
};

// The state of a whole row, the end of which is not a whole base block.
template <class Float, class Sum>
RowState<Float, Sum> finished(const SoftmaxStateView<Float, Sum> &state, std::uint64_t runs, std::size_t row) {
    const SoftmaxPiece &piece = state.places.piece;
    const std::uint64_t tail = piece.right(), o = row / state.places.inner, i = row % state.places.inner;
    const RowState<Float, Sum> last = state_of_elements<Float, Sum>(
        tail, [&](std::uint64_t k) { return state.element(o, i, piece.end() - tail + k); });
    return whole_state(state, runs, tail != 0, last, row);
}

template <class Float, class Sum>
class PieceOutputs {
    using State = RowState<Float, Sum>;

  public:
    PieceOutputs(const SoftmaxFromStateProblem &problem, const PieceJob &piece_job, State *totals)
        : p_(problem), of_(piece_job), cut_(problem), totals_(totals) {}

    void write() {
        const SoftmaxProblem &p = p_.softmax;
        const std::size_t rows = p.shape.outer * p.shape.inner;
        const SoftmaxStateView<Float, Sum> whole({{0, p_.whole_count}, p.shape.outer, p.shape.inner},
                                                 p_.whole.payload());
        const std::uint64_t runs = whole.places.piece.runs();
        parallel_for(rows, of_.threads, [&](std::size_t row) { totals_[row] = finished(whole, runs, row); });
        parallel_for(rows, of_.threads, [&](std::size_t row) { write_edges(row); });
        write_blocks();
    }

  private:
    void write_blocks() {
        const std::size_t begin = of_.piece.left(), count = of_.piece.count - begin - of_.piece.right();
        const std::size_t panels = panels_in(of_.job);
        const Pieces pieces = pieces_for(count, panels, of_.threads, blocks_of_task * softmax_block);
        parallel_for(count == 0 ? 0 : panels * pieces.count, of_.threads, [&](std::size_t task) {
            const std::size_t panel = task / pieces.count, done = task % pieces.count * pieces.length;
            of_.kernel.write(of_.job, panel, begin + done, std::min(pieces.length, count - done),
                             totals_ + PanelRows(of_.job, panel).first, nullptr);
        });
    }

    void write_edges(std::size_t row) const {
        const SoftmaxPiece &piece = of_.piece;
        write_part(row, piece.first, piece.first + piece.left());
        write_part(row, piece.end() - piece.right(), piece.end());
    }

    // Of a base block that is cut. All of the block is read before any of it is written.
    void write_part(std::size_t row, std::uint64_t begin, std::uint64_t end) const {
        if (begin == end) {
            return;
        }
        const SoftmaxProblem &p = p_.softmax;
        const PieceRow of = piece_row(p, p_.first, row);
        const std::uint64_t block = begin / softmax_block;
        Float maximum = -std::numeric_limits<Float>::infinity();
        for (std::uint64_t at = block * softmax_block; !p.log && at < cut_.block_end(block); ++at) {
            maximum = larger_or_nan(maximum, cut_.logit(of, at));
        }
        const RowOutputs<Float, Sum> outputs(totals_[row], p.log, p.empty_row_zero, p.output_dtype);
        for (std::uint64_t at = begin; at < end; ++at) {
            const std::size_t own = at - p_.first;
            store_float(outputs.of(piece_logit<Float>(p, of, own), takes_part(p, of, own), maximum), p.output_dtype,
                        p.output, piece_index(p, of, own));
        }
    }

    const SoftmaxFromStateProblem &p_;
    const PieceJob &of_;
    CutBlocks<Float, Sum> cut_;
    State *totals_;
};

// What is wrong with the first of them that is not what it should be.
Status judge_all(std::initializer_list<ExpectedState> states) {
    for (const ExpectedState &state : states) {
        StateHeader stored;
        if (state.bytes == nullptr) {
            continue;
        }
        std::memcpy(&stored, state.bytes, sizeof stored);
        if (const Status status = judge(stored, state.header); status != Status::success) {
            return status;
        }
    }
    return Status::success;
}

void write_header(const WrittenState &state) { std::memcpy(state.bytes, &state.header, sizeof state.header); }

void merge_payloads(const SoftmaxMergeProblem &problem) {
    const std::size_t rows = problem.outer * problem.inner;
    with_softmax_arithmetic(problem.dtype, [&]<class Float, class Sum>() {
        const Merge<Float, Sum> merge(problem);
        merge.copy_runs();
        parallel_for(rows, threads_of_rows(rows), [&](std::size_t row) {
            merge.make_run(row / problem.inner, row % problem.inner);
            merge.copy_elements(row / problem.inner, row % problem.inner);
        });
        return Status::success;
    });
}

} // namespace

Status softmax_state(const SoftmaxStateProblem &problem) {
    const SoftmaxProblem &p = problem.softmax;
    write_header(problem.state);
    if (is_empty(p.shape)) {
        return Status::success;
    }
    const SoftmaxPiece piece = piece_of(p, problem.first);
    const PieceJob job = piece_job(p, problem.first, *best_kernels().softmax(p.dtype), piece.left() + piece.right());
    const FloatEnvironment environment;
    return with_softmax_arithmetic(p.dtype, [&]<class Float, class Sum>() {
        StateWriter<Float, Sum>(problem, job).write();
        return Status::success;
    });
}

Status merge_softmax_states(const SoftmaxMergeProblem &problem) {
    if (const Status status = judge_all({problem.left_state, problem.right_state}); status != Status::success) {
        return status;
    }
    const FloatEnvironment environment;
    SoftmaxMergeProblem apart = problem;
    std::unique_ptr<std::byte[]> left;
    if (problem.merged.bytes == problem.left_state.bytes) {
        const std::size_t bytes = state_header_bytes + problem.left_state.header.payload_bytes;
        left.reset(new (std::nothrow) std::byte[bytes]);
        if (left == nullptr) {
            return Status::out_of_memory;
        }
        std::memcpy(left.get(), problem.left_state.bytes, bytes);
        apart.left_state.bytes = left.get();
    }
    merge_payloads(apart);
    write_header(problem.merged);
    return Status::success;
}

Status finish_softmax_state(const SoftmaxFinishProblem &problem) {
    if (const Status status = judge_all({problem.state}); status != Status::success) {
        return status;
    }
    const std::size_t rows = problem.outer * problem.inner;
    const FloatEnvironment environment;
    return with_softmax_arithmetic(problem.dtype, [&]<class Float, class Sum>() {
        const SoftmaxStateView<Float, Sum> state({{0, problem.count}, problem.outer, problem.inner},
                                                 problem.state.payload());
        const std::uint64_t runs = state.places.piece.runs();
        parallel_for(rows, threads_of_rows(rows), [&](std::size_t row) {
            const RowState<Float, Sum> whole = finished(state, runs, row);
            store_float(logsumexp_of(whole.maximum, whole.sum), problem.output_dtype, problem.output, row);
        });
        return Status::success;
    });
}

Status softmax_from_state(const SoftmaxFromStateProblem &problem) {
    const SoftmaxProblem &p = problem.softmax;
    if (const Status status = judge_all({problem.whole, problem.before, problem.after}); status != Status::success) {
        return status;
    }
    if (is_empty(p.shape) || p.shape.axis == 0) {
        return Status::success;
    }
    const SoftmaxPiece piece = piece_of(p, problem.first);
    const PieceJob job =
        piece_job(p, problem.first, *best_kernels().softmax(p.dtype), softmax_block + piece.left() + piece.right());
    const FloatEnvironment environment;
    return with_softmax_arithmetic(p.dtype, [&]<class Float, class Sum>() {
        const std::size_t rows = p.shape.outer * p.shape.inner;
        const std::unique_ptr<RowState<Float, Sum>[]> totals(new (std::nothrow) RowState<Float, Sum>[rows]);
        if (totals == nullptr) {
            return Status::out_of_memory;
        }
        PieceOutputs<Float, Sum>(problem, job, totals.get()).write();
        return Status::success;
    });
}

} // namespace wr::host
