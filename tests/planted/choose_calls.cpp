// Chooses the calls that compute-sanitizer watches (chosen_walk.h) and writes them as C.
//
//   choose_calls FILE
//
// A call is worth the ways that it launches kernels in and no chosen call did. Always the one whose work for each of
// them is the least is chosen next; those that later ones have made needless are dropped, the longest first.
#include "unreal_calls.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

namespace {

struct Candidate {
    std::size_t part, number;
    double seconds = 0;
    std::vector<std::size_t> ways; // by their numbers
};

struct Walk {
    std::vector<Candidate> candidates;
    std::size_t ways;
};

Walk whole_walk() {
    std::map<planted::Way, std::size_t> numbers;
    Walk all{};
    for (std::size_t gpu = 0; gpu < planted::walked_gpus.size(); ++gpu) {
        std::size_t at = 0;
        for (std::size_t part = 0; walk_part(part) != nullptr; ++part) {
            std::size_t number = 0;
            const auto take = [&](const walker &by) { walk(walk_part(part), &by); };
            for (const planted::Call &call : planted::calls_of(gpu, take)) {
                if (at == all.candidates.size()) {
                    all.candidates.push_back({part, number, 0, {}});
                }
                Candidate &candidate = all.candidates[at++];
                ++number;
                candidate.seconds = std::max(candidate.seconds, call.seconds);
                for (const planted::Way &way : call.ways) {
                    candidate.ways.push_back(numbers.emplace(way, numbers.size()).first->second);
                }
            }
        }
    }
    all.ways = numbers.size();
    return all;
}

// What every tool can be shown is no reason to choose a call that only some are.
void leave_to_every_tool(Walk &all) {
    std::vector<bool> shown(all.ways, false);
    for (const Candidate &candidate : all.candidates) {
        for (const std::size_t way : candidate.ways) {
            shown[way] = shown[way] || walk_part_is_for_every_tool(candidate.part) != 0;
        }
    }
    for (Candidate &candidate : all.candidates) {
        if (walk_part_is_for_every_tool(candidate.part) == 0) {
            std::erase_if(candidate.ways, [&](std::size_t way) { return shown[way]; });
        }
    }
}

using Chosen = std::vector<const Candidate *>;

Chosen enough_of(const Walk &all) {
    std::vector<bool> reached(all.ways, false);
    const auto new_ways = [&](const Candidate &candidate) {
        return std::count_if(candidate.ways.begin(), candidate.ways.end(), [&](std::size_t w) { return !reached[w]; });
    };
    // What a way costs by a candidate only grows: the first whose cost has not, is the best.
    using Offer = std::pair<double, std::size_t>;
    std::priority_queue<Offer, std::vector<Offer>, std::greater<>> offers;
    const auto offer = [&](std::size_t i) {
        const auto worth = new_ways(all.candidates[i]);
        if (worth > 0) {
            offers.emplace(all.candidates[i].seconds / static_cast<double>(worth), i);
        }
    };
    for (std::size_t i = 0; i < all.candidates.size(); ++i) {
        offer(i);
    }
    Chosen chosen;
    while (!offers.empty()) {
        const Offer best = offers.top();
        offers.pop();
        const Candidate &candidate = all.candidates[best.second];
        const auto worth = new_ways(candidate);
        if (worth > 0 && candidate.seconds / static_cast<double>(worth) <= best.first) {
            chosen.push_back(&candidate);
            for (const std::size_t way : candidate.ways) {
                reached[way] = true;
            }
        } else {
            offer(best.second);
        }
    }
    return chosen;
}

Chosen without_needless(Chosen chosen, std::size_t ways) {
    std::vector<int> times(ways, 0);
    for (const Candidate *call : chosen) {
        for (const std::size_t way : call->ways) {
            ++times[way];
        }
    }
    std::stable_sort(chosen.begin(), chosen.end(),
                     [](const Candidate *a, const Candidate *b) { return a->seconds > b->seconds; });
    const auto is_needless = [&](const Candidate *call) {
        const bool needless =
            std::all_of(call->ways.begin(), call->ways.end(), [&](std::size_t way) { return times[way] > 1; });
        for (const std::size_t way : call->ways) {
            times[way] -= needless ? 1 : 0;
        }
        return needless;
    };
    chosen.erase(std::remove_if(chosen.begin(), chosen.end(), is_needless), chosen.end());
    return chosen;
}

double seconds_of(const Chosen &calls) {
    return std::accumulate(calls.begin(), calls.end(), 0.0,
                           [](double sum, const Candidate *call) { return sum + call->seconds; });
}

struct Part {
    std::string name;
    Chosen calls;
};

// No part is to have more than a tenth of the whole: those that would are cut into such as have a twelfth and a call.
void cut_into(std::vector<Part> &parts, const std::string &name, const Chosen &calls, double whole) {
    const double seconds = seconds_of(calls), pieces = seconds < whole / 11 ? 1 : std::ceil(12 * seconds / whole);
    std::vector<Part> cut(1);
    double done = 0;
    for (const Candidate *call : calls) {
        if (done >= seconds / pieces * static_cast<double>(cut.size())) {
            cut.emplace_back();
        }
        cut.back().calls.push_back(call);
        done += call->seconds;
    }
    for (std::size_t i = 0; i < cut.size(); ++i) {
        cut[i].name = cut.size() == 1 ? name : name + "." + std::to_string(i + 1);
        parts.push_back(std::move(cut[i]));
    }
}

std::vector<Part> parts_of(Chosen chosen) {
    const double whole = seconds_of(chosen);
    std::sort(chosen.begin(), chosen.end(), [](const Candidate *a, const Candidate *b) {
        return std::pair(a->part, a->number) < std::pair(b->part, b->number);
    });
    std::vector<Part> parts;
    for (auto first = chosen.begin(); first != chosen.end();) {
        const std::size_t part = (*first)->part;
        const auto last = std::find_if(first, chosen.end(), [&](const Candidate *call) { return call->part != part; });
        cut_into(parts, walk_part(part), Chosen(first, last), whole);
        first = last;
    }
    std::stable_sort(parts.begin(), parts.end(),
                     [](const Part &a, const Part &b) { return seconds_of(a.calls) > seconds_of(b.calls); });
    return parts;
}

void write(std::FILE *file, const std::vector<Part> &parts, const Walk &all) {
    double before = 0, after = 0;
    for (const Candidate &call : all.candidates) {
        before += call.seconds;
    }
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::fprintf(file, "static const unsigned short numbers_%zu[] = {", i);
        for (const Candidate *call : parts[i].calls) {
            std::fprintf(file, "%zu, ", call->number);
        }
        std::fprintf(file, "};\n");
    }
    std::fprintf(file, "const chosen_part chosen_parts[] = {\n");
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const double seconds = seconds_of(parts[i].calls);
        std::fprintf(file, "    {\"%s\", \"%s\", %zu, numbers_%zu}, /* about %.1f s of racecheck */\n",
                     parts[i].name.c_str(), walk_part(parts[i].calls.front()->part), parts[i].calls.size(), i, seconds);
        after += seconds;
    }
    std::fprintf(file, "};\nconst size_t chosen_part_count = %zu;\n", parts.size());
    std::fprintf(file, "/* %zu ways; all calls: about %.0f s of racecheck, these %.0f s */\n", all.ways, before, after);
}

} // namespace

int main(int argc, char **argv) {
    std::FILE *file = argc == 2 ? std::fopen(argv[1], "w") : nullptr;
    if (file == nullptr) {
        std::fprintf(stderr, "choose_calls FILE: no such place for a file\n");
        return 2;
    }
    Walk all = whole_walk();
    leave_to_every_tool(all);
    std::fprintf(file, "#include \"chosen_walk.h\"\n\n");
    write(file, parts_of(without_needless(enough_of(all), all.ways)), all);
    return std::fclose(file) == 0 ? 0 : 1;
}
