// An output of an exact sum from its words.
#pragma once

#include "host/common/vector_kernels.h"
#include "numerics/state_kinds.h"

namespace wr::host {

WR_HD void store_exact_words(const ExactJob &job, std::size_t output, std::int64_t *words) {
    if (!job.as_state) {
        finish_exactly(words, job.layout, job.output_type, job.output, output);
        return;
    }
    const auto count = static_cast<std::size_t>(exact_words(job.layout));
    settle_state_words(words, job.layout);
    for (std::size_t i = 0; i < count; ++i) {
        static_cast<std::int64_t *>(job.output)[output * count + i] = words[i];
    }
}

} // namespace wr::host
