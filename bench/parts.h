// What a benchmark's command line asks for: parts of its table by their names, all of it where none is named, and `hot`
// beside them for jobs that follow each other without a rest.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace bench {

class Parts {
  public:
    Parts(int count, char **words) : names_(words + 1, words + count) {
        const auto hot = std::remove(names_.begin(), names_.end(), "hot");
        hot_ = hot != names_.end();
        names_.erase(hot, names_.end());
    }

    bool wants(const char *part) const {
        return names_.empty() || std::find(names_.begin(), names_.end(), part) != names_.end();
    }

    // Before each job: after it a card that was driven down to 1.2 GHz by the jobs before is at its highest clock
    // again.
    std::chrono::milliseconds rest() const { return std::chrono::milliseconds(hot_ ? 0 : 100); }

  private:
    std::vector<std::string> names_;
    bool hot_ = false;
};

} // namespace bench
