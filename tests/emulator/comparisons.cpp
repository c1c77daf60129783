#include "lane_values.h"
#include "operations.h"

namespace emulator {

namespace {

template <class T>
struct Equal {
    static bool compute(T a, T b) { return a == b; }
};
template <class T>
struct Unequal {
    static bool compute(T a, T b) { return a < b || a > b; }
};
template <class T>
struct Less {
    static bool compute(T a, T b) { return a < b; }
};
template <class T>
struct LessOrEqual {
    static bool compute(T a, T b) { return a <= b; }
};
template <class T>
struct Greater {
    static bool compute(T a, T b) { return a > b; }
};
template <class T>
struct GreaterOrEqual {
    static bool compute(T a, T b) { return a >= b; }
};
// Those that hold for NaN too are the opposites of those that do not.
template <template <class> class Compare>
struct Unless {
    template <class T>
    struct Of {
        static bool compute(T a, T b) { return !Compare<T>::compute(a, b); }
    };
};
template <class T>
struct BothNumbers {
    static bool compute(T a, T b) { return a == a && b == b; }
};

template <template <class> class Compare>
struct SetPredicate {
    template <class T>
    static void set(Warp &warp, const Instruction &i, LaneMask mask) {
        std::uint64_t *to = warp.at(i.o[0]), *opposite = warp.at(i.o[1]);
        const std::uint64_t *a = warp.at(i.o[2]), *b = warp.at(i.o[3]);
        each_lane(mask, [&](int l) {
            const bool holds = Compare<T>::compute(value_of<T>(a[l]), value_of<T>(b[l]));
            to[l] = holds ? 1 : 0;
            opposite[l] = holds ? 0 : 1;
        });
    }
    template <class T>
    struct Of {
        static constexpr Execute execute = set<T>;
    };
    static Execute of(std::string_view type) { return of_number<Of>(type); }
};

} // namespace

Execute comparison_of(const Opcode &opcode) {
    if (opcode.words[0] != "setp" || opcode.words.size() != 3) {
        return nullptr;
    }
    const std::string_view how = opcode.words[1], type = opcode.last();
    return how == "eq"                  ? SetPredicate<Equal>::of(type)
           : how == "ne"                ? SetPredicate<Unequal>::of(type)
           : how == "lt" || how == "lo" ? SetPredicate<Less>::of(type)
           : how == "le" || how == "ls" ? SetPredicate<LessOrEqual>::of(type)
           : how == "gt" || how == "hi" ? SetPredicate<Greater>::of(type)
           : how == "ge" || how == "hs" ? SetPredicate<GreaterOrEqual>::of(type)
           : how == "equ"               ? SetPredicate<Unless<Unequal>::Of>::of(type)
           : how == "neu"               ? SetPredicate<Unless<Equal>::Of>::of(type)
           : how == "ltu"               ? SetPredicate<Unless<GreaterOrEqual>::Of>::of(type)
           : how == "leu"               ? SetPredicate<Unless<Greater>::Of>::of(type)
           : how == "gtu"               ? SetPredicate<Unless<LessOrEqual>::Of>::of(type)
           : how == "geu"               ? SetPredicate<Unless<Less>::Of>::of(type)
           : how == "num"               ? SetPredicate<BothNumbers>::of(type)
           : how == "nan"               ? SetPredicate<Unless<BothNumbers>::Of>::of(type)
                                        : nullptr;
}

} // namespace emulator
