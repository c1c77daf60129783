// A benchmark is made up of parts, which its command line may choose from.
#pragma once

#include "bench/table.h"

#include <vector>

namespace bench {

struct Part {
    const char *name;
    void (*run)(Table &);
};

// Runs the parts that the command line names, all where it names none, and says how many demands were missed. With
// `hot` among the words jobs follow each other at once, without it the GPU rests before each. Returns the program's
// exit status: 2, before anything has run, where there is no such part.
int run_parts(int count, char **words, const std::vector<Part> &parts);

} // namespace bench
