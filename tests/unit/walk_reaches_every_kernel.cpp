// What compute-sanitizer watches, tests/planted/chosen_walk.h, launches every kernel of the library on some GPU, in
// each way in which any call of the whole walk does, and is short. The walk is taken over a CUDA runtime that is not
// there; which kernels there are is what they say when they register with it.
#include "check.h"

#include "../planted/unreal_calls.h"

extern "C" {
#include "../planted/chosen_walk.h"
}

#include <algorithm>
#include <cstdio>

namespace {

// As choose_calls estimates them: five processes at a time have three minutes to do, and the last of them is soon done.
constexpr double most_seconds = 900, largest_part = 0.1;

std::set<planted::Way> ways_of(const std::vector<planted::Call> &calls) {
    std::set<planted::Way> ways;
    for (const planted::Call &call : calls) {
        ways.insert(call.ways.begin(), call.ways.end());
    }
    return ways;
}

void forget_kernels_of(const std::set<planted::Way> &ways) {
    for (const planted::Way &way : ways) {
        planted::kernels().erase(way.how.kernel);
    }
}

std::vector<planted::Call> all_calls(std::size_t gpu) {
    return planted::calls_of(gpu, [](const walker &by) {
        for (std::size_t i = 0; walk_part(i) != nullptr; ++i) {
            CHECK(walk(walk_part(i), &by) != 0, "no part is called %s", walk_part(i));
        }
    });
}

std::vector<planted::Call> chosen_calls(std::size_t gpu, const char *part) {
    return planted::calls_of(gpu, [part](const walker &by) {
        CHECK(chosen_walk(part, &by) != 0, "%s has not as many calls as were chosen of it", part);
    });
}

void take_the_walk_on(std::size_t gpu) {
    std::set<planted::Way> reached;
    for (std::size_t i = 0; i < chosen_part_count; ++i) {
        reached.merge(ways_of(chosen_calls(gpu, chosen_parts[i].name)));
    }
    const std::set<planted::Way> all = ways_of(all_calls(gpu));
    CHECK(reached == all, "GPU %zu: %zu of %zu ways to launch a kernel are reached", gpu, reached.size(), all.size());
    forget_kernels_of(reached);
}

void list_what_is_left() {
    CHECK(planted::kernels().empty(), "%zu kernels are never launched on any GPU:", planted::kernels().size());
    for (const auto &[address, name] : planted::kernels()) {
        std::printf("%s\n", name.c_str());
    }
}

void expect_short_parts() {
    double whole = 0, longest = 0;
    for (std::size_t i = 0; i < chosen_part_count; ++i) {
        double part = 0;
        for (const planted::Call &call : chosen_calls(0, chosen_parts[i].name)) {
            part += call.seconds;
        }
        whole += part;
        longest = std::max(longest, part);
    }
    CHECK(whole <= most_seconds, "racecheck would take %.0f s: give new kernels smaller problems", whole);
    CHECK(longest <= largest_part * whole, "a part takes %.0f s of %.0f", longest, whole);
}

} // namespace

int main() {
    CHECK(planted::kernels().size() > 100, "only %zu kernels have registered", planted::kernels().size());
    for (std::size_t gpu = 0; gpu < planted::walked_gpus.size(); ++gpu) {
        take_the_walk_on(gpu);
    }
    list_what_is_left();
    expect_short_parts();
    return check_report("walk_reaches_every_kernel");
}
