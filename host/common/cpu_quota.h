// How much processor time the control groups of this process give it. A container with a quota of two CPUs on a machine
// of sixty-four still sees all of them in its affinity mask; sixty-four threads would use the quota up in a
// thirty-second of each period and stand still for the rest.
#pragma once

#include <cstddef>
#include <limits>

namespace wr::host {

inline constexpr std::size_t no_cpu_quota = std::numeric_limits<std::size_t>::max();

// The CPUs that the tightest quota among the process's groups and their parents keeps busy, a part of one counted as a
// whole one (so at least 1): of cgroup v2 (cpu.max) and of v1 (cpu.cfs_quota_us). no_cpu_quota where none is set or
// none can be read. `root` is put in front of every path; it is empty but for tests.
std::size_t read_cpu_quota(const char *root) noexcept;

// The same of this machine, read again when what is known is more than a second old: quotas change while a process
// lives, and reading one takes longer than a small job. Any number of threads may ask.
std::size_t cpu_quota() noexcept;

} // namespace wr::host
