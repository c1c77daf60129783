// The CPU quota of this process, from trees of files as the kernel shows them to processes in containers of many kinds.
#include "check.h"
#include "host/common/cpu_quota.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using wr::host::no_cpu_quota;
using wr::host::read_cpu_quota;

namespace {

using Files = std::vector<std::pair<std::string, std::string>>;

struct Case {
    const char *what;
    std::size_t expected;
    const char *groups; // /proc/self/cgroup
    const char *mounts; // /proc/self/mountinfo
    Files files;
};

constexpr const char *v2_mount = "22 1 0:21 / / rw - ext4 /dev/vda rw\n"
                                 "30 22 0:26 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate\n";
constexpr const char *v1_mount = "33 32 0:29 / /sys/fs/cgroup/cpu,cpuacct rw shared:9 - cgroup cgroup rw,cpu,cpuacct\n"
                                 "34 32 0:31 / /sys/fs/cgroup/cpuset rw shared:9 - cgroup cgroup rw,cpuset\n";

const std::vector<Case> cases{
    {"no control groups", no_cpu_quota, "", "22 1 0:21 / / rw - ext4 /dev/vda rw\n", {}},
    {"v2, no file in the root group", no_cpu_quota, "0::/\n", v2_mount, {}},
    {"v2, a container with a namespace of its own", 2, "0::/\n", v2_mount, {{"/cpu.max", "200000 100000\n"}}},
    {"v2, no limit", no_cpu_quota, "0::/a\n", v2_mount, {{"/a/cpu.max", "max 100000\n"}}},
    {"v2, part of a CPU", 1, "0::/a\n", v2_mount, {{"/a/cpu.max", "1000 100000\n"}}},
    {"v2, one and a bit", 2, "0::/a\n", v2_mount, {{"/a/cpu.max", "100001 100000\n"}}},
    {"v2, another period", 8, "0::/a\n", v2_mount, {{"/a/cpu.max", "80000 10000\n"}}},
    {"v2, the grandparent is the tightest",
     3,
     "0::/kubepods.slice/pod 1/container\n",
     v2_mount,
     {{"/kubepods.slice/cpu.max", "300000 100000\n"},
      {"/kubepods.slice/pod 1/cpu.max", "max 100000\n"},
      {"/kubepods.slice/pod 1/container/cpu.max", "1600000 100000\n"}}},
    {"v2, the group itself is the tightest",
     1,
     "0::/user/session\n",
     v2_mount,
     {{"/user/cpu.max", "400000 100000\n"}, {"/user/session/cpu.max", "50000 100000\n"}}},
    {"v2, a folder with a space in its name",
     5,
     "0::/\n",
     "30 22 0:26 / /sys/fs/control\\040groups rw - cgroup2 none rw\n",
     {{"/../control groups/cpu.max", "500000 100000\n"}}},
    {"v2, a process outside of its namespace's root", 4, "0::/../other\n", v2_mount, {{"/cpu.max", "400000 100000\n"}}},
    {"v2, damaged", no_cpu_quota, "0::/\n", v2_mount, {{"/cpu.max", "200000\n"}}},
    {"v2, empty", no_cpu_quota, "0::/\n", v2_mount, {{"/cpu.max", ""}}},
    {"v1",
     2,
     "9:cpuset:/\n4:cpu,cpuacct:/docker/1f\n",
     v1_mount,
     {{"/cpu,cpuacct/docker/1f/cpu.cfs_quota_us", "150000\n"},
      {"/cpu,cpuacct/docker/1f/cpu.cfs_period_us", "100000\n"}}},
    {"v1, no limit",
     no_cpu_quota,
     "4:cpu,cpuacct:/\n",
     v1_mount,
     {{"/cpu,cpuacct/cpu.cfs_quota_us", "-1\n"}, {"/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}}},
    {"v1, a container that sees its own group as the root",
     6,
     "4:cpu,cpuacct:/docker/1f\n",
     "33 32 0:29 /docker/1f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
     {{"/cpu,cpuacct/cpu.cfs_quota_us", "600000\n"}, {"/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}}},
    {"v1, a group below the one that is mounted",
     3,
     "4:cpu,cpuacct:/docker/1f/jobs\n",
     "33 32 0:29 /docker/1f /sys/fs/cgroup/cpu,cpuacct ro - cgroup cgroup rw,cpu,cpuacct\n",
     {{"/cpu,cpuacct/jobs/cpu.cfs_quota_us", "300000\n"}, {"/cpu,cpuacct/jobs/cpu.cfs_period_us", "100000\n"}}},
    {"v1, a group whose name only begins like the mounted one's",
     7,
     "4:cpu:/docker/1fee\n",
     "33 32 0:29 /docker/1f /sys/fs/cgroup/cpu ro - cgroup cgroup rw,cpu\n",
     {{"/cpu/cpu.cfs_quota_us", "700000\n"}, {"/cpu/cpu.cfs_period_us", "100000\n"}}},
    {"a bind mount of another group counts only where the own is not mounted",
     8,
     "0::/mine\n",
     "30 22 0:26 / /sys/fs/cgroup rw - cgroup2 none rw\n31 22 0:26 /theirs /sys/fs/cgroup/theirs rw - cgroup2 none "
     "rw\n",
     {{"/mine/cpu.max", "800000 100000\n"}, {"/theirs/cpu.max", "100000 100000\n"}}},
    {"cpuset's quota is none",
     no_cpu_quota,
     "9:cpuset:/a\n",
     v1_mount,
     {{"/cpuset/a/cpu.cfs_quota_us", "100000\n"}, {"/cpuset/a/cpu.cfs_period_us", "100000\n"}}},
    {"both versions, v1 has the controller",
     2,
     "2:cpu,cpuacct:/a\n0::/a\n",
     "33 32 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
     "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
     {{"/cpu,cpuacct/a/cpu.cfs_quota_us", "200000\n"},
      {"/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n"},
      {"/unified/a/cgroup.procs", "1\n"}}},
};

void write_file(const std::filesystem::path &path, const std::string &text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

void check_case(const Case &c, const std::filesystem::path &root) {
    std::filesystem::remove_all(root);
    write_file(root / "proc/self/cgroup", c.groups);
    write_file(root / "proc/self/mountinfo", c.mounts);
    for (const auto &[name, text] : c.files) {
        write_file(std::filesystem::path(root.string() + "/sys/fs/cgroup" + name).lexically_normal(), text);
    }
    const std::size_t cpus = read_cpu_quota(root.c_str());
    CHECK(cpus == c.expected, "%s: %zu CPUs, expected %zu", c.what, cpus, c.expected);
}

void check_this_machine() {
    const std::size_t cpus = wr::host::cpu_quota();
    CHECK(cpus >= 1, "this machine: %zu", cpus);
    CHECK(cpus == wr::host::cpu_quota(), "this machine, asked again");
    CHECK(cpus == read_cpu_quota(""), "this machine, read afresh");
}

} // namespace

int main() {
    std::string folder = (std::filesystem::temp_directory_path() / "cpu_quotas.XXXXXX").string();
    if (mkdtemp(folder.data()) == nullptr) {
        give_up("no temporary folder");
    }
    for (const Case &c : cases) {
        check_case(c, folder);
    }
    std::filesystem::remove_all(folder);
    check_this_machine();
    return check_report("cpu_quotas_limit_threads");
}
