// What a state of softmax keeps depends on where its piece begins and ends alone: the runs of base blocks are those of
// a binary counter, and two neighbours merge to the list that their union has.
#include "check.h"
#include "numerics/softmax_state.h"

#include <cstdint>
#include <random>
#include <vector>

namespace {

using namespace wr;
using Runs = std::vector<std::uint64_t>; // where each begins, and where the last one ends

// The largest run of a power of two blocks at a multiple of its length that lies inside, and the same on either side of
// it: said from above, where the library counts from one side.
void add_runs(std::uint64_t begin, std::uint64_t end, Runs &runs) {
    if (begin >= end) {
        return;
    }
    for (std::uint64_t length = std::uint64_t{1} << 62; length > 0; length /= 2) {
        const std::uint64_t first = (begin + length - 1) / length * length;
        if (first + length <= end) {
            add_runs(begin, first, runs);
            runs.push_back(first);
            add_runs(first + length, end, runs);
            return;
        }
    }
}

Runs expected_runs(const SoftmaxPiece &piece) {
    Runs runs;
    add_runs((piece.first + 1023) / 1024, piece.end() / 1024, runs);
    return runs;
}

Runs runs_of(const SoftmaxPiece &piece) {
    Runs runs;
    for (std::uint64_t at = piece.first_block(); at < piece.end_block(); at = run_from(at, piece.end_block()).end) {
        runs.push_back(at);
    }
    return runs;
}

// Element by element: which belong to a base block that is not inside.
void check_edges(const SoftmaxPiece &piece) {
    std::uint64_t left = 0, right = 0;
    for (std::uint64_t at = piece.first; at < piece.end(); ++at) {
        const std::uint64_t block = at / 1024 * 1024;
        const bool inside = block >= piece.first && block + 1024 <= piece.end();
        left += !inside && block < piece.first ? 1 : 0;
        right += !inside && block >= piece.first ? 1 : 0;
    }
    CHECK(piece.left() == left && piece.right() == right, "%llu + %llu: %llu and %llu", (unsigned long long)piece.first,
          (unsigned long long)piece.count, (unsigned long long)piece.left(), (unsigned long long)piece.right());
}

void check_merge(const SoftmaxPiece &left, const SoftmaxPiece &right) {
    const Runs of_left = runs_of(left), of_right = runs_of(right);
    SoftmaxSeam seam = seam_of(left, right);
    bool matches = true;
    for (auto side = seam.next(); side != SoftmaxSeam::Side::none; side = seam.next()) {
        const std::uint64_t blocks = seam.run.blocks();
        if (side == SoftmaxSeam::Side::left) {
            matches = matches && seam.left_runs > 0 && of_left[seam.left_runs - 1] == seam.run.begin - blocks;
        } else {
            const std::uint64_t next = seam.right_runs;
            const bool there = next < of_right.size() && of_right[next] == seam.run.end;
            const std::uint64_t after = next + 1 < of_right.size() ? of_right[next + 1] : right.end_block();
            matches = matches && there && after == seam.run.end + blocks;
        }
        seam.combine(side);
    }
    Runs merged(of_left.begin(), of_left.begin() + static_cast<std::ptrdiff_t>(seam.left_runs));
    if (seam.run.blocks() != 0) {
        merged.push_back(seam.run.begin);
    }
    merged.insert(merged.end(), of_right.begin() + static_cast<std::ptrdiff_t>(seam.right_runs), of_right.end());
    const SoftmaxPiece whole{left.first, left.count + right.count};
    CHECK(matches && merged == expected_runs(whole) && whole.runs() == merged.size(), "%llu + %llu + %llu",
          (unsigned long long)left.first, (unsigned long long)left.count, (unsigned long long)right.count);
}

std::uint64_t near_multiple(std::mt19937_64 &random, std::uint64_t most_blocks) {
    const std::uint64_t at = random() % (most_blocks + 1) * 1024;
    const std::uint64_t off[] = {0, 0, 1, 1023, random() % 1024};
    return at + off[random() % 5];
}

} // namespace

int main() {
    for (std::uint64_t begin = 0; begin <= 24; ++begin) {
        for (std::uint64_t middle = begin; middle <= 24; ++middle) {
            for (std::uint64_t end = middle; end <= 24; ++end) {
                for (const std::uint64_t cut : {0, 300}) {
                    check_merge({begin * 1024, middle * 1024 + cut - begin * 1024},
                                {middle * 1024 + cut, (end - middle) * 1024});
                }
            }
        }
    }
    std::mt19937_64 random(5);
    for (int i = 0; i < 200000; ++i) {
        const std::uint64_t most = i % 3 == 0 ? 6 : i % 3 == 1 ? 100 : std::uint64_t{1} << 51;
        const std::uint64_t first = near_multiple(random, most), count = near_multiple(random, most);
        const SoftmaxPiece left{first, count}, right{left.end(), near_multiple(random, most)};
        CHECK(runs_of(left) == expected_runs(left), "%llu + %llu", (unsigned long long)first,
              (unsigned long long)count);
        check_merge(left, right);
        if (most == 6) {
            check_edges(left);
        }
    }
    return check_report("softmax_states_are_canonical");
}
