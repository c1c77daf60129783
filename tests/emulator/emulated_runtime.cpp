// CUDA's runtime as the library and the tests call it, over the emulated GPU: programs that are linked with it instead
// of CUDA's own find one device, whose memory is the process's own. Launches run at once.
#include "machine.h"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <string>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using emulator::give_up;
using emulator::Module;
using emulator::Program;

constexpr int most_threads = 1024;
constexpr std::size_t unasked_shared_bytes = 48 * 1024;

// What a block may ask for.
constexpr std::size_t shared_bytes = (WR_EMULATED_ARCHITECTURE == 80                                     ? 163
                                      : WR_EMULATED_ARCHITECTURE < 90 || WR_EMULATED_ARCHITECTURE >= 120 ? 99
                                                                                                         : 227) *
                                     1024;

// Regimes depend on their number: an H200's, or what the environment says.
int multiprocessors() {
    static const char *const said = std::getenv("WR_EMULATED_MULTIPROCESSORS");
    static const int number = said == nullptr ? 132 : std::max(std::atoi(said), 1);
    return number;
}

// Of the compute capability that the GPU says it has, whatever its kernels were compiled for.
int compute_major() {
    static const char *const said = std::getenv("WR_EMULATED_COMPUTE_MAJOR");
    return said == nullptr ? WR_EMULATED_ARCHITECTURE / 10 : std::atoi(said);
}

std::string contents_of(const std::string &path) {
    std::ifstream file(path, std::ios::binary);
    return {std::istreambuf_iterator<char>(file), {}};
}

// Which of the files of PTX has a kernel.
class Kernels {
  public:
    static Kernels &all() {
        static Kernels kernels;
        return kernels;
    }
    void learn(const void *address, const char *name) { names_[address] = name; }
    const Program &at(const void *address);
    const std::string &name_of(const void *address) { return names_[address]; }

  private:
    void look_for_kernels();
    const Module &module_in(const std::string &path);

    std::map<const void *, std::string> names_;
    std::map<std::string, std::string, std::less<>> files_;
    std::map<std::string, std::unique_ptr<Module>> modules_;
    std::map<const void *, std::unique_ptr<Program>> programs_;
};

void Kernels::look_for_kernels() {
    std::ifstream list(WR_LIST_OF_PTX);
    for (std::string path; std::getline(list, path);) {
        const std::string text = contents_of(path);
        constexpr std::string_view entry = ".entry ";
        for (std::size_t at = text.find(entry); at != text.npos; at = text.find(entry, at + 1)) {
            const std::size_t begin = at + entry.size();
            files_[text.substr(begin, text.find('(', begin) - begin)] = path;
        }
    }
}

const Module &Kernels::module_in(const std::string &path) {
    std::unique_ptr<Module> &module = modules_[path];
    if (module == nullptr) {
        module = std::make_unique<Module>(contents_of(path));
    }
    return *module;
}

const Program &Kernels::at(const void *address) {
    std::unique_ptr<Program> &program = programs_[address];
    if (program == nullptr) {
        if (files_.empty()) {
            look_for_kernels();
        }
        const auto name = names_.find(address);
        const auto file = name == names_.end() ? files_.end() : files_.find(name->second);
        if (file == files_.end()) {
            give_up("no PTX of the kernel " + (name == names_.end() ? "that has no name" : name->second));
        }
        const Module &module = module_in(file->second);
        program = std::make_unique<Program>(emulator::program_of(module, module.functions().at(name->second)));
    }
    return *program;
}

// What kernels have executed, printed at the end of a program whose environment asks for it.
class Counts {
  public:
    static Counts &all() {
        static Counts counts;
        return counts;
    }
    void add(const std::string &kernel, std::uint64_t instructions) {
        Count &count = counts_[kernel];
        ++count.launches;
        count.instructions += instructions;
    }
    ~Counts() {
        if (std::getenv("WR_EMULATED_COUNTS") != nullptr) {
            for (const auto &[kernel, count] : counts_) {
                std::fprintf(stderr, "%12llu instructions of warps, %6llu launches: %s\n", count.instructions,
                             count.launches, kernel.c_str());
            }
        }
    }

  private:
    struct Count {
        unsigned long long launches = 0, instructions = 0;
    };
    std::map<std::string, Count> counts_;
};

std::map<const void *, int> &allowed_shared_bytes() {
    static std::map<const void *, int> allowed;
    return allowed;
}

cudaLaunchConfig_t &pushed_launch() {
    static cudaLaunchConfig_t config{};
    return config;
}

unsigned cluster_blocks_of(const cudaLaunchConfig_t &config) {
    unsigned blocks = 1;
    for (unsigned a = 0; a < config.numAttrs; ++a) {
        if (config.attrs[a].id == cudaLaunchAttributeClusterDimension) {
            blocks = config.attrs[a].val.clusterDim.x;
        }
    }
    return blocks;
}

bool is_together(const cudaLaunchConfig_t &config) {
    return std::any_of(config.attrs, config.attrs + config.numAttrs, [](const cudaLaunchAttribute &attribute) {
        return attribute.id == cudaLaunchAttributeCooperative && attribute.val.cooperative != 0;
    });
}

// Nothing may count on what memory holds at first.
cudaError_t allocate(void **memory, std::size_t bytes) {
    *memory = std::aligned_alloc(256, (bytes + 255) / 256 * 256 + 256);
    if (*memory == nullptr) {
        return cudaErrorMemoryAllocation;
    }
    std::memset(*memory, 0xA5, bytes);
    return cudaSuccess;
}

} // namespace

extern "C" {

void **__cudaRegisterFatBinary(void *) {
    static void *handle;
    return &handle;
}
void __cudaRegisterFatBinaryEnd(void **) {}
void __cudaUnregisterFatBinary(void **) {}
void __cudaRegisterFunction(void **, const char *host_address, char *, const char *name, int, uint3 *, uint3 *, dim3 *,
                            dim3 *, int *) {
    Kernels::all().learn(host_address, name);
}
void __cudaRegisterVar(void **, char *, char *, const char *, int, std::size_t, int, int) {}

// What the triple brackets of a launch become.
cudaError_t __cudaGetKernel(cudaKernel_t *kernel, const void *address) {
    *kernel = static_cast<cudaKernel_t>(const_cast<void *>(address));
    return cudaSuccess;
}
unsigned __cudaPushCallConfiguration(dim3 blocks, dim3 threads, std::size_t bytes, cudaStream_t stream) {
    pushed_launch().gridDim = blocks;
    pushed_launch().blockDim = threads;
    pushed_launch().dynamicSmemBytes = bytes;
    pushed_launch().stream = stream;
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3 *blocks, dim3 *threads, std::size_t *bytes, void *stream) {
    *blocks = pushed_launch().gridDim;
    *threads = pushed_launch().blockDim;
    *bytes = pushed_launch().dynamicSmemBytes;
    std::memcpy(stream, &pushed_launch().stream, sizeof(cudaStream_t));
    return cudaSuccess;
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 blocks, dim3 threads, void **arguments, std::size_t bytes,
                               cudaStream_t stream) {
    cudaLaunchConfig_t config{};
    config.gridDim = blocks;
    config.blockDim = threads;
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    return cudaLaunchKernelExC(&config, kernel, arguments);
}

cudaError_t cudaGetDeviceCount(int *count) {
    *count = 1;
    return cudaSuccess;
}
cudaError_t cudaGetDevice(int *device) {
    *device = 0;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int) { return cudaSuccess; }
cudaError_t cudaGetLastError() { return cudaSuccess; }
cudaError_t cudaPeekAtLastError() { return cudaSuccess; }
const char *cudaGetErrorName(cudaError_t) { return "an error of the emulated GPU"; }
const char *cudaGetErrorString(cudaError_t) { return "an error of the emulated GPU"; }
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int) {
    *value = attribute == cudaDevAttrMultiProcessorCount            ? multiprocessors()
             : attribute == cudaDevAttrComputeCapabilityMajor       ? compute_major()
             : attribute == cudaDevAttrMaxSharedMemoryPerBlockOptin ? static_cast<int>(shared_bytes)
                                                                    : 0;
    return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned) {
    *stream = reinterpret_cast<cudaStream_t>(std::uintptr_t{4096});
    return cudaSuccess;
}
cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaSuccess; }
cudaError_t cudaStreamGetDevice(cudaStream_t, int *device) { return cudaGetDevice(device); }
cudaError_t cudaStreamIsCapturing(cudaStream_t, cudaStreamCaptureStatus *status) {
    *status = cudaStreamCaptureStatusNone;
    return cudaSuccess;
}

cudaError_t cudaMalloc(void **memory, std::size_t bytes) { return allocate(memory, bytes); }
cudaError_t cudaFree(void *memory) {
    std::free(memory);
    return cudaSuccess;
}
cudaError_t cudaMallocAsync(void **memory, std::size_t bytes, cudaStream_t) { return allocate(memory, bytes); }
cudaError_t cudaMallocFromPoolAsync(void **memory, std::size_t bytes, cudaMemPool_t, cudaStream_t) {
    return allocate(memory, bytes);
}
cudaError_t cudaMemPoolCreate(cudaMemPool_t *pool, const cudaMemPoolProps *) {
    *pool = reinterpret_cast<cudaMemPool_t>(std::uintptr_t{4096});
    return cudaSuccess;
}
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void *) { return cudaSuccess; }
cudaError_t cudaMemPoolDestroy(cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaThreadExchangeStreamCaptureMode(cudaStreamCaptureMode *) { return cudaSuccess; }
cudaError_t cudaFreeAsync(void *memory, cudaStream_t) { return cudaFree(memory); }
cudaError_t cudaMemcpy(void *to, const void *from, std::size_t bytes, cudaMemcpyKind) {
    std::memcpy(to, from, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemsetAsync(void *memory, int value, std::size_t bytes, cudaStream_t) {
    std::memset(memory, value, bytes);
    return cudaSuccess;
}
cudaError_t cudaMemcpyAsync(void *to, const void *from, std::size_t bytes, cudaMemcpyKind kind, cudaStream_t) {
    return cudaMemcpy(to, from, bytes, kind);
}

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes *attributes, const void *kernel) {
    *attributes = {};
    attributes->maxThreadsPerBlock = most_threads;
    attributes->sharedSizeBytes = Kernels::all().at(kernel).shared_bytes;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void *kernel, cudaFuncAttribute attribute, int value) {
    if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
        allowed_shared_bytes()[kernel] = value;
    }
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *, const cudaLaunchConfig_t *config) {
    *clusters = multiprocessors() / static_cast<int>(cluster_blocks_of(*config));
    return cudaSuccess;
}

cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, const void *, int, std::size_t) {
    *blocks = 1;
    return cudaSuccess;
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *kernel, void **arguments) {
    const Program &program = Kernels::all().at(kernel);
    const auto allowed = allowed_shared_bytes().find(kernel);
    const bool unasked = allowed == allowed_shared_bytes().end();
    const std::size_t launched_bytes = config->dynamicSmemBytes, all_bytes = launched_bytes + program.shared_bytes;
    const bool has_room =
        unasked ? all_bytes <= unasked_shared_bytes
                : launched_bytes <= static_cast<std::size_t>(allowed->second) && all_bytes <= shared_bytes;
    const unsigned cluster = cluster_blocks_of(*config);
    if (config->gridDim.x == 0 || config->gridDim.y == 0 || config->gridDim.y > 65535 || config->gridDim.z != 1 ||
        config->blockDim.x * config->blockDim.y - 1 >= most_threads || config->gridDim.x % cluster != 0 || !has_room) {
        return cudaErrorInvalidConfiguration;
    }
    const bool together = is_together(*config);
    if (together && config->gridDim.x * config->gridDim.y > static_cast<unsigned>(multiprocessors())) {
        return cudaErrorCooperativeLaunchTooLarge;
    }
    std::vector<unsigned char> copied(program.argument_bytes);
    for (std::size_t a = 0; a < program.arguments.size(); ++a) {
        std::memcpy(copied.data() + program.arguments[a], arguments[a], program.argument_sizes[a]);
    }
    emulator::LaunchShape shape;
    shape.blocks = {config->gridDim.x, config->gridDim.y, 1};
    shape.threads = {config->blockDim.x, config->blockDim.y, 1};
    shape.cluster_blocks = cluster;
    shape.launched_bytes = launched_bytes;
    shape.together = together;
    Counts::all().add(Kernels::all().name_of(kernel),
                      emulator::run_kernel(program, shape, copied.data(), static_cast<unsigned>(multiprocessors())));
    return cudaSuccess;
}

} // extern "C"
