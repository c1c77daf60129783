#include "host/common/parallel.h"

#include "host/common/cpu_quota.h"
#include "host/common/thread_pool.h"
#include "host/host.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>

#if defined(__linux__)
#include <sched.h>
#endif

namespace wr::host {

namespace {

// A smaller job would lose more in waking a thread and waiting for it than the thread does of it.
constexpr std::size_t least_shared_bytes = std::size_t{1} << 19;
constexpr std::size_t bytes_per_thread = std::size_t{1} << 17;

// ---- how many threads

// What a variable of the environment says; nothing where it is not set, or to what is no number. Behind the number may
// come a comma and more.
std::optional<std::size_t> number_in(const char *variable) {
    const char *text = std::getenv(variable);
    std::size_t number = 0;
    if (text == nullptr) {
        return std::nullopt;
    }
    const char *end = text + std::strcspn(text, ",");
    const auto [stop, error] = std::from_chars(text, end, number);
    return error == std::errc{} && stop == end ? std::optional(number) : std::nullopt;
}

// The library's own variable, or else OpenMP's, which Dask, joblib and torchrun set for their workers.
std::size_t most_of_environment() {
    return number_in("WARP_REDUCE_THREADS").value_or(number_in("OMP_NUM_THREADS").value_or(0));
}

std::atomic<std::size_t> &setting() {
    static std::atomic<std::size_t> most{most_of_environment()};
    return most;
}

// ---- tasks

// A thread's part of the tasks, in order; threads that are done with theirs take from the others'.
struct alignas(64) Part {
    std::atomic<std::size_t> next;
    std::size_t end;
};

constexpr std::size_t most_parts = 64;

struct Tasks {
    Task task;
    void *context;
    std::size_t parts;
    Part part[most_parts];

    Tasks(std::size_t count, std::size_t threads, Task what, void *with)
        : task(what), context(with), parts(std::min(threads, most_parts)) {
        for (std::size_t i = 0; i < parts; ++i) {
            part[i].next.store(count * i / parts, std::memory_order_relaxed);
            part[i].end = count * (i + 1) / parts;
        }
    }

    void run_part(Part &of) const {
        while (of.next.load(std::memory_order_relaxed) < of.end) {
            const std::size_t i = of.next.fetch_add(1, std::memory_order_relaxed);
            if (i < of.end) {
                task(context, i);
            }
        }
    }

    void run_from(std::size_t place) {
        for (std::size_t i = 0; i < parts; ++i) {
            run_part(part[(place + i) % parts]);
        }
    }
};

} // namespace

std::size_t available_cores() {
    const std::size_t quota = cpu_quota();
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        return std::clamp<std::size_t>(static_cast<std::size_t>(CPU_COUNT(&allowed)), 1, quota);
    }
#endif
    return std::clamp<std::size_t>(std::thread::hardware_concurrency(), 1, quota);
}

std::size_t set_most_threads(std::size_t most) { return setting().exchange(most, std::memory_order_relaxed); }

std::size_t most_threads() {
    const std::size_t most = setting().load(std::memory_order_relaxed);
    if (most == 1) {
        return 1; // without asking the system
    }
    const std::size_t cores = available_cores();
    return most == 0 ? cores : std::min(most, cores);
}

std::size_t threads_for(std::size_t bytes) {
    return bytes < least_shared_bytes ? 1 : std::min(bytes / bytes_per_thread, most_threads());
}

void run_tasks(std::size_t tasks, std::size_t threads, Task task, void *context) {
    if (std::min(tasks, threads) <= 1) {
        for (std::size_t i = 0; i < tasks; ++i) {
            task(context, i);
        }
        return;
    }
    Tasks all(tasks, std::min(tasks, threads), task, context);
    run_with_helpers(
        all.parts - 1, [](void *of, std::size_t place) { static_cast<Tasks *>(of)->run_from(place); }, &all);
}

} // namespace wr::host
