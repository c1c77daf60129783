// What the emulator's silence is worth: small kernels with a fault each, which it must find, beside the same kernels
// without it, which it must run.
#include "array_ends.h"
#include "check.h"
#include "guarded_memory.h"
#include "machine.h"

#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

constexpr std::size_t threads = 64;

// A kernel with one argument, an address, for blocks of so many threads.
std::string kernel_of(const std::string &body, std::size_t most_threads) {
    return ".version 8.0\n.target sm_90\n.address_size 64\n"
           ".visible .entry kernel(\n.param .u64 argument\n)\n.maxntid " +
           std::to_string(most_threads) +
           ", 1, 1\n{\n"
           ".reg .pred %p<4>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<8>;\n"
           ".shared .align 16 .b8 exchanged[256];\n"
           "ld.param.u64 %rd1, [argument];\nmov.u32 %r1, %tid.x;\nmul.wide.u32 %rd2, %r1, 4;\n"
           "add.s64 %rd3, %rd1, %rd2;\nshl.b32 %r2, %r1, 2;\nmov.u32 %r3, exchanged;\nadd.s32 %r4, %r3, %r2;\n" +
           body + "ret;\n}\n";
}

void run(const std::string &body, const void *argument, std::size_t most_threads = threads) {
    const emulator::Module module(kernel_of(body, most_threads));
    const emulator::Program program = emulator::program_of(module, module.functions().at("kernel"));
    std::array<unsigned char, sizeof(argument)> bytes;
    std::memcpy(bytes.data(), &argument, sizeof(argument));
    emulator::run_kernel(program, {{1, 1, 1}, {static_cast<unsigned>(threads), 1, 1}, 1, 0}, bytes.data(), 1);
}

// The signal that ends a process that runs the kernel; 0 where it ends by itself.
int signal_of(const std::string &body, const void *argument, std::size_t most_threads = threads) {
    std::fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        std::fclose(stderr);
        run(body, argument, most_threads);
        _exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

void expect(const char *what, const std::string &faulty, const std::string &right, int signal) {
    const GuardedMemory memory(threads * 4, true, 0);
    CHECK(signal_of(faulty, memory.data()) == signal, "not found: %s", what);
    CHECK(signal_of(right, memory.data()) == 0, "found where there is none: %s", what);
}

void check_faults() {
    expect("a store beyond shared memory", "st.shared.u32 [%r4+4], %r1;\n", "st.shared.u32 [%r4], %r1;\n", SIGABRT);
    expect("a store off its boundary", "st.global.u16 [%rd3+1], %r1;\n", "st.global.u16 [%rd3+2], %r1;\n", SIGABRT);
    expect("a load beyond an array", "ld.global.u32 %r5, [%rd3+4];\n", "ld.global.u32 %r5, [%rd3];\n", SIGSEGV);
    const std::string half = "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra $behind;\n";
    expect("lanes that never meet", half + "bar.warp.sync -1;\n$behind:\nbar.sync 0;\n",
           half + "$behind:\nbar.warp.sync -1;\nbar.sync 0;\n", SIGABRT);
    expect("a wait for a barrier that nobody completes",
           "setp.ne.u32 %p1, %r1, 0;\n@%p1 bra $behind;\nbarrier.cluster.arrive.release.aligned;\n"
           "$behind:\nbarrier.cluster.wait.acquire.aligned;\nbar.sync 0;\n",
           "barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;\nbar.sync 0;\n", SIGABRT);
}

void check_bounds() {
    const GuardedMemory memory(threads * 4, true, 0);
    CHECK(signal_of("", memory.data(), threads - 1) == SIGABRT, "not found: more threads than a kernel is for");
}

// What lies beside an array in the vector that holds its first or its last bytes.
void check_array_ends() {
    constexpr std::size_t word = 4, bytes = threads * word;
    const GuardedMemory memory(bytes, true, 0);
    const std::string load = "ld.global.u32 %r5, [%rd3];\n";
    emulator::guard_ends(memory.data(), bytes - word);
    CHECK(signal_of(load, memory.data()) == SIGABRT, "not found: a load behind an array");
    emulator::guard_ends(memory.data() + word, bytes - word);
    CHECK(signal_of(load, memory.data()) == SIGABRT, "not found: a load before an array");
    emulator::guard_ends(memory.data(), bytes);
    CHECK(signal_of(load, memory.data()) == 0, "found where there is none: a load beside an array");
    emulator::guard_ends(nullptr, 0);
}

// Whether every thread finds its neighbour's word, in each of many runs.
bool exchanges(const std::string &between) {
    bool always = true;
    for (int attempt = 0; attempt < 50; ++attempt) {
        std::array<std::uint32_t, threads> words{};
        run("st.shared.u32 [%r4], %r1;\n" + between +
                "xor.b32 %r5, %r2, 128;\nadd.s32 %r6, %r3, %r5;\nld.shared.u32 %r7, [%r6];\nst.global.u32 [%rd3], "
                "%r7;\n",
            words.data());
        for (std::size_t t = 0; t < threads; ++t) {
            always = always && words[t] == (t ^ 32);
        }
    }
    return always;
}

// Whether every thread finds what it has copied to shared memory.
bool copies(const std::string &between) {
    bool always = true;
    alignas(16) std::array<std::uint32_t, 4> vector;
    vector.fill(0x5EEDF00D);
    for (int attempt = 0; attempt < 50; ++attempt) {
        std::array<std::uint32_t, 4> found = vector;
        run("setp.ne.u32 %p1, %r1, 0;\n@%p1 bra $end;\ncp.async.cg.shared.global [%r3], [%rd1], 16;\n" + between +
                "ld.shared.u32 %r5, [%r3];\nst.global.u32 [%rd1], %r5;\n$end:\n",
            found.data());
        always = always && found == vector;
    }
    return always;
}

void check_orders() {
    CHECK(!exchanges(""), "warps that do not wait for each other were not noticed");
    CHECK(exchanges("bar.sync 0;\n"), "a barrier of the block did not hold");
    CHECK(!copies(""), "a copy that nobody waits for was not noticed");
    CHECK(copies("cp.async.wait_all;\n"), "a copy that was waited for had not come");
}

} // namespace

int main() {
    check_faults();
    check_bounds();
    check_array_ends();
    check_orders();
    return check_report("emulator_finds_planted_faults");
}
