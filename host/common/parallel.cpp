#include "host/common/parallel.h"

#include "host/common/cpu_quota.h"
#include "host/common/thread_pool.h"
#include "host/host.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <cstdint>
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

// A thread's part of the tasks. It takes the first of those that are left, threads that are done with theirs take the
// last: a thread does much the same tasks in call after call, and finds their data in its own caches.
class alignas(64) Part {
  public:
    void fill(std::size_t first, std::size_t count) {
        first_ = first;
        left_.store(std::uint64_t{count} << 32, std::memory_order_relaxed);
    }

    std::optional<std::size_t> take(bool the_first) {
        std::uint64_t left = left_.load(std::memory_order_relaxed);
        while (begin_of(left) < end_of(left)) {
            const std::uint64_t without = the_first ? left + 1 : left - (std::uint64_t{1} << 32);
            if (left_.compare_exchange_weak(left, without, std::memory_order_relaxed)) {
                return first_ + (the_first ? begin_of(left) : end_of(left) - 1);
            }
        }
        return std::nullopt;
    }

  private:
    static std::uint64_t begin_of(std::uint64_t left) { return left & 0xFFFFFFFFu; }
    static std::uint64_t end_of(std::uint64_t left) { return left >> 32; }

    std::size_t first_ = 0;
    std::atomic<std::uint64_t> left_{
        0}; // where they begin, counted from the first, and in the upper half where they end
};

constexpr std::size_t most_parts = 64;

// That a part may have, and so all of them.
constexpr std::size_t most_tasks_at_once = 0xFFFFFFFF;

struct Tasks {
    Task task;
    void *context;
    std::size_t parts;
    Part part[most_parts];

    Tasks(std::size_t first, std::size_t count, std::size_t threads, Task what, void *with)
        : task(what), context(with), parts(std::min(threads, most_parts)) {
        for (std::size_t i = 0; i < parts; ++i) {
            const std::size_t begin = count * i / parts, end = count * (i + 1) / parts;
            part[i].fill(first + begin, end - begin);
        }
    }

    void run_from(std::size_t place) {
        for (std::size_t i = 0; i < parts; ++i) {
            Part &of = part[(place + i) % parts];
            while (const auto index = of.take(i == 0)) {
                task(context, *index);
            }
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
    for (std::size_t done = 0; done < tasks; done += most_tasks_at_once) {
        const std::size_t some = std::min(tasks - done, most_tasks_at_once);
        Tasks all(done, some, std::min(some, threads), task, context);
        run_with_helpers(
            all.parts - 1, [](void *of, std::size_t place) { static_cast<Tasks *>(of)->run_from(place); }, &all);
    }
}

} // namespace wr::host
