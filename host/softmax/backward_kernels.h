// The kernels of softmax's gradient of vector_kernels.h: rows one by one, or in panels.
#pragma once

#include "host/softmax/backward_panels.h"
#include "host/softmax/backward_rows.h"

namespace wr::host::WR_ISA {
namespace {

template <class Float>
struct PanelsBackward {
    using Job = SoftmaxBackwardJob;
    using Row = RowBackward<Float>;
    using Panel = PanelBackward<Float>;

    static void panels(const Job &job, std::size_t first, std::size_t last) {
        for (std::size_t number = first; number < last; ++number) {
            if (job.panels.width == 1) {
                const typename Row::Piece piece = Row::whole_row(job, number);
                Row::write(job, piece, Row::sum(job, piece));
            } else {
                const typename Panel::Panel panel = Panel::panel_at(job, number, 0, job.problem.shape.axis);
                Float totals[Panel::most_width];
                Panel::sum(job, panel, totals);
                Panel::write(job, panel, totals);
            }
        }
        end_streams();
    }

    static void piece(const Job &job, std::size_t number, std::size_t first, std::size_t count, void *sums) {
        if (job.panels.width == 1) {
            *static_cast<Float *>(sums) = Row::sum(job, Row::piece_at(job, number, first, count));
        } else {
            Panel::sum(job, Panel::panel_at(job, number, first, count), static_cast<Float *>(sums));
        }
    }

    static void merge(std::size_t pieces, std::size_t width, void *sums) {
        auto *all = static_cast<Float *>(sums);
        for (std::size_t k = 0; k < width; ++k) {
            TreeCounter<FloatSum<Float>, 53> counter;
            for (std::size_t p = 0; p < pieces; ++p) {
                counter.push(all[p * width + k]);
            }
            all[k] = counter.result();
        }
    }

    static void write(const Job &job, std::size_t number, std::size_t first, std::size_t count, const void *totals) {
        const auto *all = static_cast<const Float *>(totals);
        if (job.panels.width == 1) {
            Row::write(job, Row::piece_at(job, number, first, count), all[0]);
        } else {
            Panel::write(job, Panel::panel_at(job, number, first, count), all);
        }
        end_streams();
    }
};

template <class Float>
constexpr SoftmaxBackwardKernel softmax_backward_kernel{sizeof(Float),
                                                        PanelBackward<Float>::lanes,
                                                        PanelBackward<Float>::most_width,
                                                        PanelsBackward<Float>::panels,
                                                        PanelsBackward<Float>::piece,
                                                        PanelsBackward<Float>::merge,
                                                        PanelsBackward<Float>::write};

} // namespace
} // namespace wr::host::WR_ISA
