// Of the tasks of a call each runs once, and nothing else does, however many threads take them at the same moment.
#include "check.h"

#include "host/common/parallel.h"

#include <atomic>
#include <vector>

namespace {

void check(std::size_t tasks, std::size_t threads, int rounds) {
    std::vector<std::atomic<int>> runs(tasks + 64);
    std::size_t wrong = 0;
    for (int round = 1; round <= rounds; ++round) {
        wr::host::parallel_for(tasks, threads, [&](std::size_t i) { runs[i < tasks + 64 ? i : tasks] += 1; });
        for (std::size_t i = 0; i < runs.size(); ++i) {
            wrong += runs[i].load() != (i < tasks ? round : 0);
        }
    }
    CHECK(wrong == 0, "%zu tasks by %zu threads: %zu counts of runs are wrong", tasks, threads, wrong);
}

} // namespace

int main() {
    for (const std::size_t threads : {1, 2, 3, 8}) {
        for (const std::size_t tasks : {0, 1, 2, 3, 7, 64, 65}) {
            check(tasks, threads, 1500);
        }
    }
    return check_report("every_task_runs_once");
}
