#include "program.h"

#include <algorithm>
#include <map>

namespace emulator {

namespace {

class RegisterReuse {
  public:
    explicit RegisterReuse(Program &program) : program_(program), first_(program.registers, none), last_(first_) {}

    void apply() {
        find_spans();
        extend_over_loops();
        assign();
        rename();
    }

  private:
    static constexpr int none = -1;

    template <class Visit>
    static void each_slot(Instruction &i, Visit visit) {
        if (i.guarded) {
            visit(i.guard);
        }
        for (int s = 0; s < i.count; ++s) {
            visit(i.o[static_cast<std::size_t>(s)]);
        }
    }
    template <class Visit>
    void each_branch(Visit visit) const {
        for (int place = 0; place < static_cast<int>(program_.code.size()); ++place) {
            const Instruction &i = program_.code[static_cast<std::size_t>(place)];
            if (i.control == Control::branch) {
                visit(place, i.target);
            }
        }
    }
    // From the target of a branch back to it.
    struct Loop {
        int begin, end;
        bool entered_inside; // from elsewhere, not at its beginning
    };

    void find_spans();
    std::vector<Loop> find_loops() const;
    std::vector<unsigned char> find_skipped() const;
    void extend_over_loops();
    void assign();
    void rename();

    Program &program_;
    std::vector<int> first_, last_;
    std::vector<Slot> places_;
};

void RegisterReuse::find_spans() {
    for (const auto &[slot, special] : program_.specials) {
        first_[static_cast<std::size_t>(slot)] = 0;
        last_[static_cast<std::size_t>(slot)] = static_cast<int>(program_.code.size());
    }
    for (int place = 0; place < static_cast<int>(program_.code.size()); ++place) {
        each_slot(program_.code[static_cast<std::size_t>(place)], [&](Slot slot) {
            if (slot >= 0) {
                const auto s = static_cast<std::size_t>(slot);
                first_[s] = first_[s] == none ? place : first_[s];
                last_[s] = std::max(last_[s], place);
            }
        });
    }
}

std::vector<RegisterReuse::Loop> RegisterReuse::find_loops() const {
    std::vector<Loop> loops;
    each_branch([&](int place, int target) {
        if (target <= place) {
            loops.push_back({target, place, false});
        }
    });
    for (Loop &loop : loops) {
        each_branch([&](int place, int target) {
            const bool from_elsewhere = place < loop.begin || place > loop.end;
            loop.entered_inside = loop.entered_inside || (from_elsewhere && target > loop.begin && target <= loop.end);
        });
    }
    return loops;
}

// Whether a branch may pass the first write of each, to where it is read.
std::vector<unsigned char> RegisterReuse::find_skipped() const {
    // Whole bytes and no branches: most of a kernel's start is spent here.
    std::vector<unsigned char> skipped(first_.size());
    each_branch([&](int place, int target) {
        for (std::size_t s = 0; s < first_.size(); ++s) {
            skipped[s] |= static_cast<unsigned char>((place < first_[s]) & (target > first_[s]) & (target <= last_[s]));
        }
    });
    return skipped;
}

// What any instruction of a loop touches may be needed in its next round.
void RegisterReuse::extend_over_loops() {
    const std::vector<Loop> loops = find_loops();
    const std::vector<unsigned char> skipped = find_skipped();
    for (bool changed = true; changed;) {
        changed = false;
        for (const auto &[begin, end, entered_inside] : loops) {
            for (std::size_t s = 0; s < first_.size(); ++s) {
                if (first_[s] == none || (first_[s] == begin && last_[s] == end)) {
                    continue;
                }
                // One that begins and ends inside is written before it is read, in every round, but where a round
                // begins inside: there what stands further down may come first; and where the write may be passed: what
                // is read then is the last round's.
                const bool crosses = first_[s] < begin && last_[s] >= begin && last_[s] < end;
                const bool leaves = first_[s] > begin && first_[s] <= end && last_[s] > end;
                const bool inside = (entered_inside || skipped[s] != 0) && first_[s] >= begin && last_[s] <= end;
                if (crosses || leaves || inside) {
                    first_[s] = std::min(first_[s], begin);
                    last_[s] = std::max(last_[s], end);
                    changed = true;
                }
            }
        }
    }
}

void RegisterReuse::assign() {
    std::vector<std::size_t> order;
    for (std::size_t s = 0; s < first_.size(); ++s) {
        if (first_[s] != none) {
            order.push_back(s);
        }
    }
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return first_[a] < first_[b]; });
    std::multimap<int, Slot> busy; // until when
    places_.assign(first_.size(), 0);
    Slot used = 0;
    for (const std::size_t s : order) {
        if (!busy.empty() && busy.begin()->first < first_[s]) {
            places_[s] = busy.begin()->second;
            busy.erase(busy.begin());
        } else {
            places_[s] = used++;
        }
        busy.emplace(last_[s], places_[s]);
    }
    program_.registers = static_cast<std::size_t>(used);
}

void RegisterReuse::rename() {
    for (auto &named : program_.specials) {
        named.first = places_[static_cast<std::size_t>(named.first)];
    }
    for (Instruction &i : program_.code) {
        each_slot(i, [&](Slot &slot) { slot = slot >= 0 ? places_[static_cast<std::size_t>(slot)] : slot; });
    }
}

} // namespace

void reuse_registers(Program &program) { RegisterReuse(program).apply(); }

} // namespace emulator
