#include "emulator.h"

#include "cuda/gpu_facts.h"
#include "gpu_words.h"

#include <csetjmp>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <ucontext.h>
#include <vector>

namespace emulator {

namespace {

constexpr std::size_t stack_bytes = 128 * 1024;
constexpr std::size_t most_launched_bytes = 48 * 1024;
constexpr int most_threads = 1024;
constexpr std::uint64_t absent_word = 0xABAD1DEAABAD1DEA;

std::map<const void *, Call> &known_kernels() {
    static std::map<const void *, Call> kernels;
    return kernels;
}

Gpu gpu;

// Where all of a number of threads meet, again and again.
struct Meeting {
    int members = 0, arrived = 0;
    unsigned times = 0;
};

struct Warp {
    Meeting meeting;
    std::uint32_t live = 0;
    Gathered coming, gathered;
};

struct Thread {
    ucontext_t start;
    std::jmp_buf state;
    std::unique_ptr<char[]> stack{new char[stack_bytes]};
    bool started = false, ended = false;
    const Meeting *awaited = nullptr; // until it has taken place once more than
    unsigned times = 0;
};

struct Block {
    std::vector<Thread> threads{most_threads};
    std::vector<Warp> warps{most_threads / lanes};
    Meeting meeting;
    std::jmp_buf scheduler;
    ucontext_t scheduler_start;
    unsigned current = 0, count = 0;
    bool progress = false;
    Call call = [](const void *, const void *) {};
    const void *kernel = nullptr, *arguments = nullptr;
};

Block &block() {
    static Block running;
    return running;
}

Warp &own_warp() { return block().warps[block().current / lanes]; }

// Gives the processor to the other threads.
void leave() {
    Block &b = block();
    if (_setjmp(b.threads[b.current].state) == 0) {
        _longjmp(b.scheduler, 1);
    }
}

// True for the last to arrive, or where nobody is left to wait for.
bool completes(Meeting &meeting) {
    if (meeting.arrived == 0 || meeting.arrived < meeting.members) {
        return false;
    }
    meeting.arrived = 0;
    ++meeting.times;
    block().progress = true;
    return true;
}

// Arrives, and waits for the others.
template <class Complete>
void meet(Meeting &meeting, Complete complete) {
    Thread &self = block().threads[block().current];
    self.times = meeting.times;
    ++meeting.arrived;
    if (completes(meeting)) {
        complete();
        return;
    }
    self.awaited = &meeting;
    leave();
    self.awaited = nullptr;
}

void hand_round(Warp &warp) {
    warp.gathered = warp.coming;
    warp.gathered.present = warp.live;
    warp.coming.words.fill(absent_word);
}

void end_thread() {
    Block &b = block();
    Warp &warp = own_warp();
    b.threads[b.current].ended = true;
    b.progress = true;
    warp.live &= ~(1u << (b.current % lanes));
    --warp.meeting.members;
    if (completes(warp.meeting)) {
        hand_round(warp);
    }
    --b.meeting.members;
    completes(b.meeting);
    leave();
}

// One thread of every block that is to come.
void run_thread() {
    for (;;) {
        block().call(block().kernel, block().arguments);
        end_thread();
    }
}

void start_thread(Thread &thread) {
    thread.started = true;
    getcontext(&thread.start);
    thread.start.uc_stack.ss_sp = thread.stack.get();
    thread.start.uc_stack.ss_size = stack_bytes;
    thread.start.uc_link = nullptr;
    makecontext(&thread.start, run_thread, 0);
    setcontext(&thread.start);
}

// Lets a thread go on until it waits or ends.
void resume(unsigned number) {
    Block &b = block();
    Thread &thread = b.threads[number];
    b.current = number;
    threadIdx = {number, 0, 0};
    if (_setjmp(b.scheduler) == 0) {
        if (thread.started) {
            _longjmp(thread.state, 1);
        }
        start_thread(thread);
    }
}

void prepare(unsigned threads) {
    Block &b = block();
    b.count = threads;
    b.meeting = {static_cast<int>(threads), 0, 0};
    for (unsigned t = 0; t < threads; ++t) {
        b.threads[t].ended = false;
    }
    for (unsigned w = 0; w * lanes < threads; ++w) {
        const unsigned members = threads - w * lanes < lanes ? threads - w * lanes : lanes;
        b.warps[w].meeting = {static_cast<int>(members), 0, 0};
        b.warps[w].live = members == lanes ? ~0u : (1u << members) - 1;
        b.warps[w].coming.words.fill(absent_word);
    }
}

void run_block() {
    Block &b = block();
    for (bool more = true; more;) {
        more = false;
        b.progress = false;
        for (unsigned t = 0; t < b.count; ++t) {
            const Thread &thread = b.threads[t];
            more = more || !thread.ended;
            const bool waits = thread.awaited != nullptr && thread.awaited->times == thread.times;
            if (!thread.ended && !waits) {
                resume(t);
            }
        }
        if (more && !b.progress) {
            std::fprintf(stderr, "block %u: its threads wait for each other, and none can go on\n", blockIdx.x);
            std::abort();
        }
    }
}

cudaError_t launch_kernel(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    const auto known = known_kernels().find(kernel);
    const unsigned threads = config->blockDim.x * config->blockDim.y;
    if (known == known_kernels().end() || config->blockDim.y != 1 || config->numAttrs != 0 || threads > most_threads ||
        config->dynamicSmemBytes > most_launched_bytes) {
        return cudaErrorInvalidConfiguration;
    }
    Block &b = block();
    b.call = known->second;
    b.kernel = kernel;
    b.arguments = arguments[0];
    gridDim = {config->gridDim.x, config->gridDim.y, 1};
    blockDim = {threads, 1, 1};
    for (unsigned y = 0; y < gridDim.y; ++y) {
        for (unsigned x = 0; x < gridDim.x; ++x) {
            blockIdx = {x, y, 0};
            prepare(threads);
            run_block();
        }
    }
    return cudaSuccess;
}

cudaError_t get_device_count(int *count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t get_device(int *device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t set_device(int) { return cudaSuccess; }
cudaError_t get_last_error() { return cudaSuccess; }
cudaError_t device_get_attribute(int *value, cudaDeviceAttr attribute, int) {
    *value = attribute == cudaDevAttrMultiProcessorCount            ? gpu.multiprocessors
             : attribute == cudaDevAttrComputeCapabilityMajor       ? 8
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? 99 * 1024
                                                                    : 0;
    return cudaSuccess;
}
cudaError_t stream_get_device(cudaStream_t, int *device) { return get_device(device); }
cudaError_t stream_is_capturing(cudaStream_t, cudaStreamCaptureStatus *status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}
cudaError_t malloc_async(void **memory, std::size_t bytes, cudaStream_t) {
    *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
    std::memset(*memory, 0xA5, bytes); // nothing may count on zeros
    return cudaSuccess;
}
cudaError_t free_async(void *memory, cudaStream_t) {
    std::free(memory);
    return cudaSuccess;
}

} // namespace

const Gathered &gather(std::uint64_t word) {
    Warp &warp = own_warp();
    warp.coming.words[static_cast<unsigned>(lane())] = word;
    meet(warp.meeting, [&] { hand_round(warp); });
    return warp.gathered;
}

void synchronise_block() {
    meet(block().meeting, [] {});
}

unsigned char *launched_memory() {
    alignas(16) static unsigned char memory[most_launched_bytes];
    return memory;
}

int lane() { return static_cast<int>(block().current % lanes); }

void learn(const void *kernel, Call call) { known_kernels()[kernel] = call; }

void install(const Gpu &emulated) {
    gpu = emulated;
    wr::cuda::Runtime &table = wr::cuda::runtime();
    wr::cuda::forget_gpus();
    table.get_device_count = get_device_count;
    table.get_device = get_device;
    table.set_device = set_device;
    table.get_last_error = get_last_error;
    table.device_get_attribute = device_get_attribute;
    table.stream_get_device = stream_get_device;
    table.stream_is_capturing = stream_is_capturing;
    table.malloc_async = malloc_async;
    table.free_async = free_async;
    table.launch_kernel = launch_kernel;
}

} // namespace emulator
