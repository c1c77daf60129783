// Memory between two pages that nobody may touch: who reads or writes beyond it at the end where it touches one dies.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <sys/mman.h>
#include <unistd.h>

class GuardedMemory {
  public:
    // `bytes` bytes that end with the last page, or start `offset` bytes behind the start of the first.
    GuardedMemory(std::size_t bytes, bool at_end, std::size_t offset) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const std::size_t inside = (bytes + offset + page - 1) / page * page;
        mapped_bytes_ = inside + 2 * page;
        void *mapped = mmap(nullptr, mapped_bytes_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) {
            std::abort();
        }
        mapped_ = static_cast<unsigned char *>(mapped);
        if (inside != 0 && mprotect(mapped_ + page, inside, PROT_READ | PROT_WRITE) != 0) {
            std::abort();
        }
        data_ = mapped_ + page + (at_end ? inside - bytes : offset);
    }
    ~GuardedMemory() { munmap(mapped_, mapped_bytes_); }
    GuardedMemory(const GuardedMemory &) = delete;
    GuardedMemory &operator=(const GuardedMemory &) = delete;

    unsigned char *data() const { return data_; }

  private:
    unsigned char *mapped_ = nullptr, *data_ = nullptr;
    std::size_t mapped_bytes_ = 0;
};
