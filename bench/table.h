// The table that every benchmark prints: a job's time and rate beside its peer's, what must be reached, and the
// measured ceiling; and the memory on the GPU that jobs work on.
#pragma once

#include "bench/timing.h"

#include <warp_reduce.h>

#include <chrono>
#include <cstddef>
#include <string>

namespace bench {

inline constexpr std::size_t gib = std::size_t{1} << 30;
inline constexpr std::size_t workspace_bytes = std::size_t{1} << 30;
inline constexpr int samples = 11;

enum class Fill { f32, f16, bf16, field, bytes };

// Stops the program where a call of the library is refused.
void check(wr_status status, const char *what);

struct Line {
    std::string name;
    double bytes;
    Job ours;
    Job peer;
    double demanded_tb = 0;
    double ceiling_tb = 0;
    double demanded_of_peer = 0;
    double peer_bytes = 0; // 0: as many as ours
};

class Table {
  public:
    // Opens the GPU and measures its ceilings; 4 GiB and a little each of input and output. Before each job the GPU
    // rests for so long, that none pays for the power which those before it have drawn. Memory that calls with a NULL
    // workspace return to the device's pool stays there, as docs/embedding.md advises.
    explicit Table(std::chrono::milliseconds rest);

    cudaStream_t stream;
    char *input, *output;
    void *workspace;
    double read_ceiling, copy_ceiling; // TB/s

    void fill_input(std::size_t count, Fill kind, float low = 0, float high = 1);
    // Prints the line and returns our rate in TB/s.
    double run(const Line &line);
    // A line for a job whose time counts; graph replays are measured beside it. 0 microseconds: nothing is demanded.
    void run_small(const std::string &name, const Job &job, const Job &peer, double most_us);
    // Counts a demand that a caller has looked at itself.
    void count(bool met) { missed_ += met ? 0 : 1; }
    int missed() const { return missed_; }

    // For jobs that a caller times itself.
    void rest() const;

  private:
    // The multiprocessors' clock now; behind a job, while it is still what the job has left it at.
    double clock_mhz();

    std::chrono::milliseconds rest_;
    int missed_ = 0;
};

} // namespace bench
