#include "host/common/thread_pool.h"

#include "host/common/float_environment.h"
#include "host/common/nap.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <mutex>
#include <new>

#include <pthread.h>
#include <sched.h>

namespace wr::host {

namespace {

using Clock = std::chrono::steady_clock;

// How long an idle helper watches its mailbox. Meanwhile a call costs it no more than a cache line's way, so calls in a
// loop find it awake; one that comes alone wastes no more processor time than a small job takes.
constexpr auto watching_time = std::chrono::microseconds(50);

// How long it sleeps before it ends.
constexpr auto idle_time = std::chrono::seconds(2);

// More would share too little work each.
constexpr std::size_t most_helpers = 127;

#if defined(__linux__)
// The processors that a thread may use.
struct Affinity {
    cpu_set_t allowed;
    bool known; // a machine may have more processors than it has room for

    static Affinity of_this_thread() {
        Affinity a{};
        a.known = sched_getaffinity(0, sizeof a.allowed, &a.allowed) == 0;
        return a;
    }
    std::size_t cores() const { return known ? static_cast<std::size_t>(CPU_COUNT(&allowed)) : most_helpers + 1; }
    void follow(const Affinity &other) {
        if (other.known && !CPU_EQUAL(&allowed, &other.allowed)) {
            sched_setaffinity(0, sizeof other.allowed, &other.allowed);
            *this = other;
        }
    }
};
#else
struct Affinity {
    static Affinity of_this_thread() { return {}; }
    std::size_t cores() const { return most_helpers + 1; }
    void follow(const Affinity &) {}
};
#endif

// A helper's part in a call. Its address is the letter that calls the helper, which reads it while the caller writes
// the next one: on a cache line of its own.
struct Crew;
struct Helper;
struct alignas(64) Seat {
    Crew *crew;
    Helper *helper;
    std::size_t place;
    std::size_t sleepers_before; // of its crew
};

// What a mailbox holds: one of these or a letter, with `begun` added once the helper has accepted it.
using Letter = std::uintptr_t;
constexpr Letter idle = 0, absent = 2, ended = 4, must_end = 6, begun = 1;

struct alignas(64) Helper {
    std::atomic<Letter> mailbox{absent};
    Nap nap;     // the helper's
    Nap waiting; // that of the thread that waits until it has done its part
    pthread_t thread{};
    Affinity affinity{};
};

// The threads of one call, on its caller's stack. A helper may touch it from accepting its letter to emptying its
// mailbox.
struct Crew {
    Crew(Work what, void *with) : work(what), context(with) {}

    Seat seats[most_helpers];
    Work work;
    void *context;
    const Affinity affinity = Affinity::of_this_thread();
    std::atomic<std::size_t> known_asleep{0}; // what `asleep` is once all seats are taken
    Helper *sleepers[most_helpers];
    // What only the caller writes, while helpers read the first of these: on another cache line.
    std::size_t size = 0, asleep = 0;
};

struct Pool {
    Helper helpers[most_helpers];
    std::mutex starting;               // held while threads are started and joined
    std::atomic<std::size_t> calls{0}; // under way
    std::atomic<bool> closed{false};   // no more threads
};

constinit Pool pool{};

void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("yield");
#endif
}

// Watches until done() or for a while; whether it is done.
template <class Done>
bool watch(Done done) {
    constexpr int looks_between_times = 32;
    if (done()) {
        return true;
    }
    const auto end = Clock::now() + watching_time;
    do {
        for (int i = 0; i < looks_between_times; ++i) {
            relax();
            if (done()) {
                return true;
            }
        }
    } while (Clock::now() < end);
    return false;
}

// Waking a thread takes microseconds: each that was woken wakes two more, so that all are awake in a few steps.
void wake_two(const Crew &crew, std::size_t first) {
    const std::size_t end = std::min(first + 2, crew.known_asleep.load());
    for (std::size_t i = first; i < end; ++i) {
        crew.sleepers[i]->nap.wake();
    }
}

// ---- what a helper does

// False where no letter came for so long that the helper ends.
bool sleep_until_letter(Helper &self) {
    const auto end = Clock::now() + idle_time;
    while (self.mailbox.load() == idle) {
        Letter expected = idle;
        if (Clock::now() >= end && self.mailbox.compare_exchange_strong(expected, ended)) {
            return false;
        }
        self.nap.sleep_while([&] { return self.mailbox.load() == idle; });
    }
    return true;
}

void do_part(Helper &self, const Seat &seat, bool has_slept) {
    Crew &crew = *seat.crew;
    if (has_slept) {
        wake_two(crew, 2 * seat.sleepers_before + 2);
    }
    self.affinity.follow(crew.affinity);
    crew.work(crew.context, seat.place);
    self.mailbox.store(idle);
    self.waiting.wake();
}

void *help(void *argument) {
    Helper &self = *static_cast<Helper *>(argument);
    const FloatEnvironment environment;
    for (;;) {
        const bool has_slept = !watch([&] { return self.mailbox.load(std::memory_order_relaxed) != idle; });
        if (has_slept && !sleep_until_letter(self)) {
            return nullptr;
        }
        Letter letter = self.mailbox.load();
        if (letter == must_end) {
            return nullptr;
        }
        // Its caller may have taken it back.
        if (letter != idle && self.mailbox.compare_exchange_strong(letter, letter + begun)) {
            do_part(self, *reinterpret_cast<const Seat *>(letter), has_slept);
        }
    }
}

// ---- what a caller does

// Signals meant for the caller's program must not be handled on threads that it knows nothing of.
class SignalsBlocked {
  public:
    SignalsBlocked() {
        sigset_t all;
        sigfillset(&all);
        pthread_sigmask(SIG_BLOCK, &all, &saved_);
    }
    ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &saved_, nullptr); }
    SignalsBlocked(const SignalsBlocked &) = delete;
    SignalsBlocked &operator=(const SignalsBlocked &) = delete;

  private:
    sigset_t saved_;
};

// Starts a thread that finds the letter in its mailbox. The lock is held.
bool start(Helper &helper, Letter letter, const Affinity &affinity) {
    const Letter state = helper.mailbox.load();
    if (pool.closed.load() || (state != absent && state != ended)) {
        return false;
    }
    if (state == ended) {
        pthread_join(helper.thread, nullptr);
    }
    helper.affinity = affinity;
    helper.mailbox.store(letter);
    const SignalsBlocked blocked;
    if (pthread_create(&helper.thread, nullptr, help, &helper) != 0) {
        helper.mailbox.store(absent);
        return false;
    }
    return true;
}

Letter letter_of(const Seat &seat) { return reinterpret_cast<Letter>(&seat); }

// Calls up to `most` helpers, the first of the pool first: a helper that has the same place in many calls finds its
// part of the data in its own cache.
void call_helpers(Crew &crew, std::size_t most) {
    std::unique_lock lock(pool.starting, std::defer_lock);
    for (Helper &helper : pool.helpers) {
        if (crew.size == most) {
            break;
        }
        Seat &seat = crew.seats[crew.size];
        seat = {&crew, &helper, crew.size + 1, crew.asleep};
        Letter state = idle;
        const bool is_called = helper.mailbox.compare_exchange_strong(state, letter_of(seat));
        // Where another call starts threads at this moment, these are enough.
        const bool may_start = (state == absent || state == ended) && (lock.owns_lock() || lock.try_lock());
        if (is_called && helper.nap.asleep()) {
            crew.sleepers[crew.asleep++] = &helper;
        }
        if (is_called || (may_start && start(helper, letter_of(seat), crew.affinity))) {
            ++crew.size;
        } else if (may_start) {
            break;
        }
    }
    crew.known_asleep.store(crew.asleep);
    wake_two(crew, 0);
}

// Helpers that have not begun are not waited for. Most have done their part: to look is a fifth of what trying to take
// the letter back costs, since the processor looks into many mailboxes at the same time.
void dismiss(Crew &crew) {
    for (std::size_t i = 0; i < crew.size; ++i) {
        const Seat &seat = crew.seats[i];
        Helper &helper = *seat.helper;
        Letter letter = letter_of(seat);
        if (helper.mailbox.load() == letter && helper.mailbox.compare_exchange_strong(letter, idle)) {
            continue;
        }
        const auto is_at_work = [&] { return helper.mailbox.load() == letter_of(seat) + begun; };
        while (!watch([&] { return !is_at_work(); })) {
            helper.waiting.sleep_while(is_at_work);
        }
    }
}

// Of a child no thread but this one is left: not the helpers, and not whoever held the lock.
void start_over_in_child() {
    const bool closed = pool.closed.load();
    ::new (&pool) Pool{};
    pool.closed.store(closed);
}

__attribute__((constructor)) void prepare_for_forks() { pthread_atfork(nullptr, nullptr, start_over_in_child); }

// When the library is closed no helper may be left in its code. One that is at work then, as the process exits, stays.
__attribute__((destructor)) void end_helpers() {
    pool.closed.store(true);
    const std::scoped_lock lock(pool.starting);
    bool ends[most_helpers] = {};
    for (std::size_t i = 0; i < most_helpers; ++i) {
        Helper &helper = pool.helpers[i];
        Letter state = idle;
        ends[i] = helper.mailbox.compare_exchange_strong(state, must_end) || state == ended;
        helper.nap.wake();
    }
    for (std::size_t i = 0; i < most_helpers; ++i) {
        if (ends[i]) {
            pthread_join(pool.helpers[i].thread, nullptr);
            pool.helpers[i].mailbox.store(absent);
        }
    }
}

} // namespace

void run_with_helpers(std::size_t helpers, Work work, void *context) {
    Crew crew(work, context);
    // Calls that run at the same time share the cores.
    const std::size_t calls = pool.calls.fetch_add(1) + 1;
    const std::size_t share = std::max<std::size_t>(crew.affinity.cores() / calls, 1);
    call_helpers(crew, std::min({helpers, share - 1, most_helpers}));
    work(context, 0);
    dismiss(crew);
    pool.calls.fetch_sub(1);
}

} // namespace wr::host
