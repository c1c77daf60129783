// The host device's pace at every width: f32 arrays of one size as rows, columns and middle axes of 2 to 2^20 elements,
// and which widths are slower than 0.9 of both of their neighbours.
//
//     host_widths                        all, on as many threads as there are
//     host_widths 1 sum softmax          on one thread, two of the operators
#include "warp_reduce.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::size_t most_elements = std::size_t{1} << 22;
constexpr std::size_t middle_inner = 64;
constexpr int rounds = 5;
constexpr double demanded = 0.9;

struct Layout {
    const char *name;
    std::size_t outer, axis, inner;

    [[nodiscard]] std::size_t elements() const { return outer * axis * inner; }
};

Layout rows(std::size_t width) { return {"rows", most_elements / width, width, 1}; }
Layout columns(std::size_t width) { return {"columns", 1, most_elements / width, width}; }
Layout middle(std::size_t width) {
    const std::size_t inner = std::min(middle_inner, most_elements / width);
    return {"middle axis", most_elements / (width * inner), width, inner};
}

struct Arrays {
    std::vector<float> input = std::vector<float>(most_elements);
    std::vector<float> output = std::vector<float>(most_elements);
    std::vector<std::int64_t> places = std::vector<std::int64_t>(most_elements);
};

void check(wr_status status, const char *what) {
    if (status != WR_SUCCESS) {
        std::printf("host_widths: %s: %s\n", what, wr_status_string(status));
        std::exit(1);
    }
}

void reduce(wr_op op, const Layout &l, Arrays &a) {
    void *const output = op == WR_ARGMAX ? static_cast<void *>(a.places.data()) : a.output.data();
    check(wr_reduce(op, WR_F32, a.input.data(), output, l.outer, l.axis, l.inner, wr_host_stream()), "reduce");
}

struct Operator {
    const char *name;
    void (*run)(const Layout &, Arrays &);
};

const Operator operators[] = {
    {"sum", [](const Layout &l, Arrays &a) { reduce(WR_SUM, l, a); }},
    {"max", [](const Layout &l, Arrays &a) { reduce(WR_MAX, l, a); }},
    {"argmax", [](const Layout &l, Arrays &a) { reduce(WR_ARGMAX, l, a); }},
    {"norm_l2", [](const Layout &l, Arrays &a) { reduce(WR_NORM_L2, l, a); }},
    {"softmax",
     [](const Layout &l, Arrays &a) {
         check(wr_softmax(WR_F32, a.input.data(), a.output.data(), l.outer, l.axis, l.inner, wr_host_stream()),
               "softmax");
     }},
    {"gradient",
     [](const Layout &l, Arrays &a) {
         wr_softmax_backward_args args{};
         args.struct_size = sizeof args;
         args.dtype = WR_F32;
         args.output = args.output_gradient = a.input.data();
         args.input_gradient = a.output.data();
         args.outer = l.outer;
         args.axis = l.axis;
         args.inner = l.inner;
         check(wr_softmax_backward_ex(&args, wr_host_stream()), "gradient");
     }},
};

// Powers of two, what lies between them, and what is one off.
std::vector<std::size_t> widths() {
    std::vector<std::size_t> all;
    for (std::size_t power = 2; power <= std::size_t{1} << 20; power *= 2) {
        for (const std::size_t width : {power - 1, power, power + 1, power + power / 2}) {
            if (width >= 2 && width <= std::size_t{1} << 20) {
                all.push_back(width);
            }
        }
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    return all;
}

// Elements a nanosecond at each width: the most of several rounds over all of them, so that what disturbs the machine
// for a while disturbs no width more than its neighbours.
std::vector<double> paces(const Operator &op, Layout (*layout)(std::size_t), const std::vector<std::size_t> &all,
                          Arrays &arrays) {
    using Clock = std::chrono::steady_clock;
    std::vector<double> most(all.size());
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < all.size(); ++i) {
            const Layout l = layout(all[i]);
            const auto begin = Clock::now();
            op.run(l, arrays);
            const std::chrono::duration<double, std::nano> taken = Clock::now() - begin;
            most[i] = std::max(most[i], static_cast<double>(l.elements()) / taken.count());
        }
    }
    return most;
}

// How many are behind both of their neighbours.
int print(const Operator &op, const char *layout, const std::vector<std::size_t> &all,
          const std::vector<double> &pace) {
    int behind = 0;
    std::printf("\n%s of %s, elements a nanosecond\n", op.name, layout);
    for (std::size_t i = 0; i < all.size(); ++i) {
        const double before = pace[i == 0 ? 1 : i - 1], after = pace[i + 1 == all.size() ? i - 1 : i + 1];
        const bool is_behind = pace[i] < demanded * std::min(before, after);
        behind += is_behind;
        std::printf("%8zu %7.3f%s", all[i], pace[i], is_behind ? " <" : "  ");
        if (i % 6 == 5 || i + 1 == all.size()) {
            std::printf("\n");
        }
    }
    return behind;
}

bool is_asked_for(const char *name, int count, char **words) {
    return count == 0 || std::any_of(words, words + count, [&](const char *word) { return word == std::string(name); });
}

} // namespace

int main(int argc, char **argv) {
    const bool has_threads = argc > 1 && std::strspn(argv[1], "0123456789") == std::strlen(argv[1]);
    if (has_threads) {
        check(wr_set_host_threads(std::strtoul(argv[1], nullptr, 10), nullptr), "threads");
    }
    const int first = has_threads ? 2 : 1;
    const std::vector<std::size_t> all = widths();
    Arrays arrays;
    std::mt19937 random;
    std::uniform_real_distribution<float> numbers(0.5f, 1.5f);
    std::generate(arrays.input.begin(), arrays.input.end(), [&] { return numbers(random); });
    int behind = 0;
    std::printf("%zu f32 elements, %zu threads; '<': below %.1f of both neighbours\n", most_elements, wr_host_threads(),
                demanded);
    for (const Operator &op : operators) {
        if (is_asked_for(op.name, argc - first, argv + first)) {
            for (const auto layout : {rows, columns, middle}) {
                behind += print(op, layout(2).name, all, paces(op, layout, all, arrays));
            }
        }
    }
    std::printf("\n%d widths are behind their neighbours\n", behind);
    return behind != 0;
}
