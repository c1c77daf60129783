#include "bench/parts.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>

namespace bench {

namespace {

// A card that the jobs before drove down to 1.2 GHz is at its highest clock again.
constexpr std::chrono::milliseconds rest{100};

bool is_among(const std::vector<std::string> &words, const std::string &word) {
    return std::find(words.begin(), words.end(), word) != words.end();
}

int refuse(const std::string &word, const std::vector<Part> &parts) {
    std::fprintf(stderr, "bench: '%s' is no part; the parts are", word.c_str());
    for (const Part &part : parts) {
        std::fprintf(stderr, " %s", part.name);
    }
    std::fprintf(stderr, "; 'hot' among them: no rest between jobs\n");
    return 2;
}

} // namespace

int run_parts(int count, char **words, const std::vector<Part> &parts) {
    std::vector<std::string> asked(words + 1, words + count);
    const bool hot = is_among(asked, "hot");
    asked.erase(std::remove(asked.begin(), asked.end(), "hot"), asked.end());
    for (const std::string &word : asked) {
        if (std::none_of(parts.begin(), parts.end(), [&](const Part &part) { return word == part.name; })) {
            return refuse(word, parts);
        }
    }
    Table table(hot ? std::chrono::milliseconds(0) : rest);
    for (const Part &part : parts) {
        if (asked.empty() || is_among(asked, part.name)) {
            part.run(table);
        }
    }
    std::printf("\n%d demands missed\n", table.missed());
    return 0;
}

} // namespace bench
