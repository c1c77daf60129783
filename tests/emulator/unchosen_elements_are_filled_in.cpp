// The one kernel that is not the library's: the Python package's, which fills in what `where=` leaves out.
#include "check.h"
#include "fill_kernels.h"
#include "guarded_memory.h"
#include "machine.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>

namespace {

struct Arguments {
    const void *x, *where;
    void *made;
    std::uint64_t other, count;
};

std::mt19937_64 bits(7);

void fill_random(unsigned char *memory, std::size_t bytes) {
    for (std::size_t i = 0; i < bytes; ++i) {
        memory[i] = static_cast<unsigned char>(bits());
    }
}

// Every array ends, or begins, where memory of nobody begins.
void check_count(const emulator::Program &program, std::size_t size, std::size_t count, unsigned blocks, bool at_end) {
    const GuardedMemory x(count * size, at_end, 0), where(count, at_end, 0), made(count * size, at_end, 0);
    fill_random(x.data(), count * size);
    fill_random(where.data(), count);
    for (std::size_t i = 0; i < count; ++i) {
        where.data()[i] &= static_cast<unsigned char>(bits() % 2 == 0 ? 0 : 0xFF);
    }
    const Arguments arguments{x.data(), where.data(), made.data(), bits(), count};
    std::array<unsigned char, sizeof(Arguments)> bytes;
    std::memcpy(bytes.data(), &arguments, sizeof arguments);
    emulator::run_kernel(program, {{blocks, 1, 1}, {256, 1, 1}, 1, 0}, bytes.data(), 2);
    for (std::size_t i = 0; i < count; ++i) {
        const void *expected = where.data()[i] != 0 ? static_cast<const void *>(x.data() + i * size) : &arguments.other;
        CHECK(std::memcmp(made.data() + i * size, expected, size) == 0, "%zu bytes, %u blocks: element %zu of %zu",
              size, blocks, i, count);
    }
}

} // namespace

int main() {
    const emulator::Module module(FILL_KERNELS);
    for (const std::size_t size : {1, 2, 4, 8}) {
        const std::string name = "fill" + std::to_string(size);
        const emulator::Program program = emulator::program_of(module, module.functions().at(name));
        for (const std::size_t count : {1, 31, 256, 257, 1000, 5000}) {
            for (const unsigned blocks : {1u, 3u, 20u}) {
                check_count(program, size, count, blocks, true);
                check_count(program, size, count, blocks, false);
            }
        }
    }
    return check_report("unchosen_elements_are_filled_in");
}
