#include "host/parallel.h"

#include "host/common/cpu_quota.h"
#include "host/float_environment.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__unix__)
#include <csignal>
#include <pthread.h>
#endif

namespace wr::host {

namespace {

// A thread costs some 20 us to start and join, in which a core reads half of this.
constexpr std::size_t bytes_per_thread = std::size_t{1} << 20;

// Signals meant for the caller's program must not be handled on threads that it knows nothing of.
class SignalsBlocked {
  public:
#if defined(__unix__)
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &saved_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
#else
    SignalsBlocked() = default;
    ~SignalsBlocked() = default;
#endif
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

#if defined(__unix__)
  private:
    sigset_t saved_;
#endif
};

struct Work {
    std::size_t tasks;
    Task task;
    void *context;
    std::atomic<std::size_t> next{0};

    void take_all() {
        for (std::size_t i = next.fetch_add(1); i < tasks; i = next.fetch_add(1)) {
            task(context, i);
        }
    }
};

// Starts what the system gives; the rest of the work falls to the threads there are.
void start_helpers(std::vector<std::thread> &helpers, std::size_t count, Work &work) {
    const SignalsBlocked blocked;
    try {
        helpers.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            helpers.emplace_back([&work] {
                const FloatEnvironment environment;
                work.take_all();
            });
        }
    } catch (const std::exception &) {
        return;
    }
}

} // namespace

std::size_t available_cores() {
    const std::size_t cores =
        std::clamp<std::size_t>(cpu_quota(), 1, std::max<std::size_t>(std::thread::hardware_concurrency(), 1));
#if defined(__linux__)
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) == 0) {
        return std::clamp<std::size_t>(static_cast<std::size_t>(CPU_COUNT(&allowed)), 1, cores);
    }
#endif
    return cores;
}

std::size_t threads_for(std::size_t bytes) {
    const std::size_t worth = bytes / bytes_per_thread;
    return worth < 2 ? 1 : std::min(worth, available_cores());
}

void run_tasks(std::size_t tasks, std::size_t threads, Task task, void *context) {
    Work work{tasks, task, context};
    std::vector<std::thread> helpers;
    start_helpers(helpers, std::max<std::size_t>(std::min(tasks, threads), 1) - 1, work);
    work.take_all();
    for (std::thread &helper : helpers) {
        helper.join();
    }
}

} // namespace wr::host
