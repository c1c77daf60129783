#include "host/common/cpu_quota.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <exception>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace wr::host {

namespace {

enum class Version { v1, v2 };

// A hierarchy of groups that may hold quotas, and this process's place in it.
struct Group {
    Version version;
    std::string path; // as /proc/self/cgroup has it: from the hierarchy's root
};

struct Mount {
    Version version;
    std::string root; // what part of the hierarchy is mounted
    std::string folder;
};

// Calls take(line) for each line of a file, which may be missing.
template <class Take>
void for_each_line(const std::string &path, Take take) {
    std::FILE *file = std::fopen(path.c_str(), "re");
    if (file == nullptr) {
        return;
    }
    char *line = nullptr;
    std::size_t capacity = 0;
    for (auto size = getline(&line, &capacity, file); size >= 0; size = getline(&line, &capacity, file)) {
        std::string_view text(line, static_cast<std::size_t>(size));
        if (!text.empty() && text.back() == '\n') {
            text.remove_suffix(1);
        }
        take(text);
    }
    std::free(line);
    std::fclose(file);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t end = text.find(separator); end != text.npos; end = text.find(separator)) {
        parts.push_back(text.substr(0, end));
        text.remove_prefix(end + 1);
    }
    parts.push_back(text);
    return parts;
}

bool lists_cpu(std::string_view controllers) {
    const auto names = split(controllers, ',');
    return std::find(names.begin(), names.end(), "cpu") != names.end();
}

// Lines "hierarchy:controllers:path"; of version 2 "0::path".
std::vector<Group> groups_of_this_process(const std::string &root) {
    std::vector<Group> groups;
    for_each_line(root + "/proc/self/cgroup", [&](std::string_view line) {
        const std::size_t first = line.find(':');
        const std::size_t second = first == line.npos ? line.npos : line.find(':', first + 1);
        if (second == line.npos) {
            return;
        }
        const std::string_view controllers = line.substr(first + 1, second - first - 1);
        if (controllers.empty() || lists_cpu(controllers)) {
            groups.push_back({controllers.empty() ? Version::v2 : Version::v1, std::string(line.substr(second + 1))});
        }
    });
    return groups;
}

// The kernel writes a space, a tab, a line's end and a backslash in paths as three octal digits.
std::string without_escapes(std::string_view text) {
    std::string plain;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '\\' && text.size() - i > 3) {
            plain += static_cast<char>((text[i + 1] - '0') * 64 + (text[i + 2] - '0') * 8 + (text[i + 3] - '0'));
            i += 3;
        } else {
            plain += text[i];
        }
    }
    return plain;
}

// Fields "id parent device root folder options [tag...] - type source superblock-options".
std::vector<Mount> mounts_of_groups(const std::string &root) {
    std::vector<Mount> mounts;
    for_each_line(root + "/proc/self/mountinfo", [&](std::string_view line) {
        const std::size_t dash = line.find(" - ");
        if (dash == line.npos) {
            return;
        }
        const auto place = split(line.substr(0, dash), ' ');
        const auto kind = split(line.substr(dash + 3), ' ');
        const bool is_v2 = kind[0] == "cgroup2";
        const bool is_v1 = kind[0] == "cgroup" && kind.size() > 2 && lists_cpu(kind[2]);
        if (place.size() > 4 && (is_v1 || is_v2)) {
            mounts.push_back({is_v2 ? Version::v2 : Version::v1, without_escapes(place[3]), without_escapes(place[4])});
        }
    });
    return mounts;
}

// The group's folder below the mount's own, "" for the mount's; nothing where the group is outside of what is mounted.
std::optional<std::string> below_mount(const Group &group, const Mount &mount) {
    const std::string root = mount.root == "/" ? "" : mount.root;
    const bool inside = group.path.compare(0, root.size(), root) == 0 &&
                        (group.path.size() == root.size() || group.path[root.size()] == '/');
    if (!inside || group.path.find("/..") != group.path.npos) {
        return std::nullopt;
    }
    const std::string below = group.path.substr(root.size());
    return below == "/" ? "" : below;
}

// Microseconds, or -1 for "max", a negative number and what is none.
std::int64_t microseconds(std::string_view text) {
    const std::int64_t number = std::strtoll(std::string(text).c_str(), nullptr, 10);
    return number > 0 ? number : -1;
}

std::size_t cpus_of(std::int64_t quota, std::int64_t period) {
    return quota > 0 && period > 0 ? static_cast<std::size_t>((quota - 1) / period + 1) : no_cpu_quota;
}

std::size_t quota_of_folder(Version version, const std::string &folder) {
    std::int64_t quota = -1, period = -1;
    if (version == Version::v2) {
        for_each_line(folder + "/cpu.max", [&](std::string_view line) {
            const auto fields = split(line, ' ');
            quota = microseconds(fields[0]);
            period = fields.size() > 1 ? microseconds(fields[1]) : -1;
        });
    } else {
        for_each_line(folder + "/cpu.cfs_quota_us", [&](std::string_view line) { quota = microseconds(line); });
        for_each_line(folder + "/cpu.cfs_period_us", [&](std::string_view line) { period = microseconds(line); });
    }
    return cpus_of(quota, period);
}

// A group has no more than its parents, as far up as they are mounted.
std::size_t tightest_quota(const Mount &mount, std::string below, const std::string &root) {
    const std::string mounted = root + mount.folder;
    std::size_t tightest = quota_of_folder(mount.version, mounted);
    while (!below.empty()) {
        tightest = std::min(tightest, quota_of_folder(mount.version, mounted + below));
        below.erase(below.rfind('/'));
    }
    return tightest;
}

std::size_t quota_of_group(const Group &group, const std::vector<Mount> &mounts, const std::string &root) {
    std::size_t tightest = no_cpu_quota;
    bool found = false;
    for (const Mount &mount : mounts) {
        const auto below = below_mount(group, mount);
        if (mount.version == group.version && below) {
            tightest = std::min(tightest, tightest_quota(mount, *below, root));
            found = true;
        }
    }
    // A container may see its own group alone, and that under another name than /proc has for it.
    for (const Mount &mount : mounts) {
        if (mount.version == group.version && !found) {
            tightest = std::min(tightest, tightest_quota(mount, "", root));
        }
    }
    return tightest;
}

std::uint64_t seconds_of_uptime() {
    timespec now{};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec);
}

} // namespace

std::size_t read_cpu_quota(const char *root) noexcept {
    try {
        std::size_t tightest = no_cpu_quota;
        const std::vector<Mount> mounts = mounts_of_groups(root);
        for (const Group &group : groups_of_this_process(root)) {
            tightest = std::min(tightest, quota_of_group(group, mounts, root));
        }
        return tightest;
    } catch (const std::exception &) {
        return no_cpu_quota; // no memory: the quota still holds, though more threads share it than need be
    }
}

std::size_t cpu_quota() noexcept {
    // The second of the last reading and what was read then, in one word, so that no thread sees one without the other.
    static constexpr std::uint64_t most = 0xFFFF;
    static constinit std::atomic<std::uint64_t> known{0};
    const std::uint64_t now = seconds_of_uptime() + 1; // 0 is "never"
    std::uint64_t word = known.load(std::memory_order_relaxed);
    if (word >> 16 != now) {
        word = now << 16 | std::min<std::uint64_t>(read_cpu_quota(""), most);
        known.store(word, std::memory_order_relaxed);
    }
    const std::uint64_t cpus = word & most;
    return cpus == most ? no_cpu_quota : static_cast<std::size_t>(cpus);
}

} // namespace wr::host
