// A thread sleeping until another one has changed what it waits for.
#pragma once

#include <atomic>
#include <cstdint>

#if defined(__linux__)
#include <climits>
#include <ctime>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace wr::host {

class Nap {
  public:
    // Sleeps while holds() is true and nobody wakes it: a second at most on Linux, and it may wake for no reason.
    template <class Condition>
    void sleep_while(Condition holds) {
        asleep_.store(1);
        if (holds()) {
            wait();
        }
        asleep_.store(0);
    }

    // Called after a change of what sleepers wait for.
    void wake() {
        if (asleep_.load() != 0 && asleep_.exchange(0) != 0) {
            wake_all();
        }
    }

    bool asleep() const { return asleep_.load() != 0; }

  private:
#if defined(__linux__)
    void wait() {
        const timespec second{1, 0};
        syscall(SYS_futex, word(), FUTEX_WAIT_PRIVATE, 1, &second, nullptr, 0);
    }
    void wake_all() { syscall(SYS_futex, word(), FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0); }

    // The futex is the atomic's own memory.
    std::uint32_t *word() {
        static_assert(sizeof asleep_ == sizeof(std::uint32_t));
        return reinterpret_cast<std::uint32_t *>(&asleep_);
    }
#else
    void wait() { asleep_.wait(1); }
    void wake_all() { asleep_.notify_all(); }
#endif

    std::atomic<std::uint32_t> asleep_{0};
};

} // namespace wr::host
