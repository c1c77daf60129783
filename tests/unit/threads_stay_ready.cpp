// The pool of threads by itself: every task is done once whoever calls from wherever, helpers come back to the same
// place, follow the caller's affinity mask, take no signals, go when nobody calls, and are made anew in a child.
#include "check.h"
#include "host/common/parallel.h"
#include "host/common/thread_pool.h"

#include <atomic>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <set>
#include <thread>
#include <vector>

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

using wr::host::parallel_for;
using wr::host::run_with_helpers;

namespace {

constexpr std::size_t threads = 4;

std::size_t threads_of_this_process() {
    const std::filesystem::directory_iterator tasks("/proc/self/task");
    return static_cast<std::size_t>(std::distance(begin(tasks), end(tasks)));
}

// Whether each of some tasks, which take a while, ran exactly once.
bool runs_each_once(std::size_t tasks) {
    std::vector<std::atomic<int>> runs(tasks);
    parallel_for(tasks, threads, [&](std::size_t i) {
        volatile std::size_t work = 0;
        for (std::size_t k = 0; k < 300; ++k) {
            work = work + k;
        }
        ++runs[i];
    });
    for (const auto &each : runs) {
        if (each != 1) {
            return false;
        }
    }
    return true;
}

void tasks_run_once() {
    for (std::size_t tasks = 0; tasks < 300; ++tasks) {
        CHECK(runs_each_once(tasks), "%zu tasks", tasks);
    }
}

void calls_nest() {
    std::atomic<std::size_t> runs{0};
    for (int round = 0; round < 50; ++round) {
        parallel_for(10, threads, [&](std::size_t) {
            parallel_for(10, threads, [&](std::size_t) { parallel_for(10, threads, [&](std::size_t) { ++runs; }); });
        });
    }
    CHECK(runs == 50'000, "%zu of 50000 nested tasks ran", runs.load());
}

void many_callers_share() {
    std::atomic<int> wrong{0};
    std::vector<std::thread> callers;
    callers.reserve(8);
    for (std::size_t c = 0; c < 8; ++c) {
        callers.emplace_back([&, c] {
            for (std::size_t round = 0; round < 200; ++round) {
                wrong += !runs_each_once(7 * c + round % 50);
            }
        });
    }
    for (std::thread &caller : callers) {
        caller.join();
    }
    CHECK(wrong == 0, "%d calls of 1600 were wrong", wrong.load());
}

// All of `helpers` begin before any returns, or some seconds pass.
struct Meeting {
    std::size_t wanted;
    std::atomic<std::size_t> came{0};
    std::atomic<unsigned> places{0};
    std::atomic<int> outside{0}; // of them who may run where the caller may not
    std::atomic<int> unblocked{0};
    cpu_set_t allowed{};

    static void attend(void *context, std::size_t place) {
        Meeting &self = *static_cast<Meeting *>(context);
        cpu_set_t mine;
        sigset_t blocked;
        sched_getaffinity(0, sizeof mine, &mine);
        pthread_sigmask(SIG_SETMASK, nullptr, &blocked);
        self.outside += CPU_EQUAL(&mine, &self.allowed) == 0;
        self.unblocked += place != 0 && sigismember(&blocked, SIGUSR1) == 0;
        self.places |= 1u << place;
        ++self.came;
        const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(5);
        while (self.came < self.wanted && std::chrono::steady_clock::now() < end) {
            std::this_thread::yield();
        }
    }
};

// As many threads as the calling thread's mask allows, at most 4, meet.
void helpers_come(const char *when) {
    Meeting meeting{};
    sched_getaffinity(0, sizeof meeting.allowed, &meeting.allowed);
    meeting.wanted = std::min<std::size_t>(threads, static_cast<std::size_t>(CPU_COUNT(&meeting.allowed)));
    run_with_helpers(threads - 1, Meeting::attend, &meeting);
    CHECK(meeting.came == meeting.wanted, "%s: %zu threads came", when, meeting.came.load());
    CHECK(meeting.places == (1u << meeting.wanted) - 1, "%s: places %#x", when, meeting.places.load());
    CHECK(meeting.outside == 0, "%s: %d threads are not held to the caller's cores", when, meeting.outside.load());
    CHECK(meeting.unblocked == 0, "%s: %d helpers take signals", when, meeting.unblocked.load());
}

// With each core left out of the mask in turn.
void helpers_follow_the_mask() {
    cpu_set_t all;
    sched_getaffinity(0, sizeof all, &all);
    for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&all) > 1; ++core) {
        if (CPU_ISSET(core, &all)) {
            cpu_set_t fewer = all;
            CPU_CLR(core, &fewer);
            sched_setaffinity(0, sizeof fewer, &fewer);
            helpers_come("one core less");
        }
    }
    sched_setaffinity(0, sizeof all, &all);
    helpers_come("all cores again");
}

void children_make_their_own(int generations) {
    const pid_t child = fork();
    if (child == 0) {
        alarm(60);
        const bool alone = threads_of_this_process() == 1;
        tasks_run_once();
        helpers_come("in a child");
        if (generations > 1) {
            children_make_their_own(generations - 1);
        }
        _exit(check_report("child") != 0 || !alone);
    }
    int status = -1;
    waitpid(child, &status, 0);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0, "a child ended with %#x", static_cast<unsigned>(status));
}

// While other threads are in the middle of their calls.
void children_of_busy_processes() {
    std::atomic<bool> done{false};
    std::thread busy([&] {
        while (!done) {
            runs_each_once(100);
        }
    });
    for (int i = 0; i < 20; ++i) {
        children_make_their_own(1);
    }
    done = true;
    busy.join();
}

void helpers_go_when_nobody_calls() {
    helpers_come("before a rest");
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (threads_of_this_process() > 1 && std::chrono::steady_clock::now() < end) {
        std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    CHECK(threads_of_this_process() == 1, "%zu threads are left", threads_of_this_process());
    helpers_come("after a rest");
}

} // namespace

int main() {
    tasks_run_once();
    helpers_come("at first");
    helpers_come("again");
    calls_nest();
    many_callers_share();
    helpers_follow_the_mask();
    children_make_their_own(3);
    children_of_busy_processes();
    helpers_go_when_nobody_calls();
    return check_report("threads_stay_ready");
}
