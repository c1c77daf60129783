// Spreading the tasks of one call over the machine's cores.
#pragma once

#include <cstddef>

namespace wr::host {

// Cores that this process may use: what the affinity mask of the calling thread allows and a container's quota pays
// for.
std::size_t available_cores();

// How many threads a job is worth that takes as long as reading so many bytes of memory: the calling one included.
std::size_t threads_for(std::size_t bytes);

using Task = void (*)(void *context, std::size_t index);

// Runs task(context, i) for every i below `tasks`, each once, in any order, and returns when all are done. Uses up to
// `threads` threads, the calling one included, and fewer where the system gives no more. A task must not throw.
void run_tasks(std::size_t tasks, std::size_t threads, Task task, void *context);

template <class Function>
void parallel_for(std::size_t tasks, std::size_t threads, Function &&function) {
    const auto call = [](void *context, std::size_t index) { (*static_cast<Function *>(context))(index); };
    run_tasks(tasks, threads, call, &function);
}

} // namespace wr::host
