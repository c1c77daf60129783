// Each call that a job makes to the CUDA runtime fails in turn, with errors of every kind. The job says why, launches
// nothing more, gives back all memory, and leaves the caller's device and last error as they were.
#include "check.h"
#include "enum_numbers.h"
#include "fake_runtime.h"
#include "gpu_jobs.h"

#include <bit>
#include <functional>

namespace {

struct Failure {
    cudaError_t error;
    std::int32_t status; // what the job says of it
};

constexpr Failure failures[] = {
    {cudaErrorMemoryAllocation, WR_ERROR_OUT_OF_MEMORY},       {cudaErrorNoDevice, WR_ERROR_NO_DEVICE},
    {cudaErrorInsufficientDriver, WR_ERROR_NO_DRIVER},         {cudaErrorNoKernelImageForDevice, WR_ERROR_NO_KERNEL},
    {cudaErrorIllegalAddress, 1000 + cudaErrorIllegalAddress},
};

// Where a job runs.
struct Setting {
    const char *name;
    fake::Gpu gpu;
    int callers_device, stream_device;
    CUstream_st *stream;
};

struct Case {
    std::string name;
    Setting setting;
    std::function<wr_status(CUstream_st *)> run;
};

// Every time another GPU, with a few bytes less for a block, so that nothing is remembered of the one before it and
// every call asks the runtime all that it may have to ask.
void prepare(const Setting &s) {
    static int gpus = 0;
    fake::Gpu gpu = s.gpu;
    gpu.shared_bytes -= 4 * (gpus++ % 256);
    fake::reset(gpu, s.callers_device, s.stream_device);
}

void check_left_as_it_was(const Case &c, const char *when) {
    const fake::Runtime &r = fake::runtime();
    CHECK(r.live.empty(), "%s, %s: memory was not given back", c.name.c_str(), when);
    CHECK(r.last_error == cudaSuccess, "%s, %s: a last error is left behind", c.name.c_str(), when);
    CHECK(r.misuse.empty(), "%s, %s: %s", c.name.c_str(), when, r.misuse.c_str());
    const std::size_t most_pools = r.failed_call == "mem_pool_set_attribute" ? 0 : 1;
    CHECK(r.pools.size() <= most_pools, "%s, %s: %zu pools", c.name.c_str(), when, r.pools.size());
    CHECK(r.capture_mode == cudaStreamCaptureModeGlobal || r.failed_call == "thread_exchange_stream_capture_mode",
          "%s, %s: the thread's way with captures is another", c.name.c_str(), when);
    CHECK(r.current_device == c.setting.callers_device || r.failed_on_way_back,
          "%s, %s: the caller's device is not current", c.name.c_str(), when);
}

// One call of the job fails; false where the job makes fewer calls.
bool check_failing_call(const Case &c, int call, const Failure &failure) {
    prepare(c.setting);
    fake::Runtime &r = fake::runtime();
    r.call_to_fail = call;
    r.failure = failure.error;
    const wr_status status = c.run(c.setting.stream);
    if (r.failed_call.empty()) {
        return false;
    }
    const char *failed = r.failed_call.c_str();
    // The job is on the stream by then, and there is no second way to make a device current.
    const std::int32_t expected = r.failed_on_way_back ? WR_SUCCESS : failure.status;
    CHECK(status == expected, "%s, call %d (%s) fails: %d instead of %d", c.name.c_str(), call, failed,
          static_cast<int>(status), expected);
    CHECK(r.launches_after_failure == 0, "%s, call %d (%s) fails: a kernel was launched", c.name.c_str(), call, failed);
    const bool is_allocation = r.failed_call.find("malloc") != std::string::npos;
    CHECK(!is_allocation || r.launches == 0, "%s, call %d: memory is asked for behind a launch", c.name.c_str(), call);
    CHECK(r.allocations_after_failure == 0, "%s, call %d (%s) fails: memory was allocated", c.name.c_str(), call,
          failed);
    check_left_as_it_was(c, failed);
    return true;
}

int check_every_failing_call(const Case &c) {
    int calls = 0;
    for (const Failure &failure : failures) {
        int call = 1;
        while (check_failing_call(c, call, failure)) {
            ++call;
        }
        CHECK(calls == 0 || calls == call - 1, "%s: %d calls, then %d", c.name.c_str(), calls, call - 1);
        calls = call - 1;
    }
    return calls;
}

void check_job(const Case &c) {
    prepare(c.setting);
    const wr_status status = c.run(c.setting.stream);
    const int calls = fake::runtime().calls;
    CHECK(status == WR_SUCCESS, "%s: %s", c.name.c_str(), wr_status_name(status));
    CHECK(fake::runtime().launches > 0, "%s: nothing was launched", c.name.c_str());
    check_left_as_it_was(c, "no failure");
    const int failed = check_every_failing_call(c);
    CHECK(failed == calls && calls > 0, "%s: %d calls, of which %d were made to fail", c.name.c_str(), calls, failed);
}

void check_jobs_in(const Setting &setting) {
    for (const jobs::Job &job : jobs::of_every_regime()) {
        const std::string name = job.name() + " on " + setting.name;
        check_job({name, setting, [&](CUstream_st *stream) { return job.run(stream); }});
        check_job({name + ", caller's workspace", setting,
                   [&](CUstream_st *stream) { return job.run_with_workspace(stream); }});
    }
}

// A kernel whose blocks have to run at the same time, launch number `launch` of a job, where other work holds the GPU:
// the job is done by other kernels.
void check_job_without_room(const Setting &setting, const jobs::Job &job, int launch) {
    const Case c{job.name() + " without room", setting, {}};
    int call = 0;
    for (int seen = 0; seen < launch;) {
        prepare(setting);
        fake::Runtime &r = fake::runtime();
        r.call_to_fail = ++call;
        r.failure = cudaErrorCooperativeLaunchTooLarge;
        const wr_status status = job.run(setting.stream);
        CHECK(!r.failed_call.empty(), "%s: no launch number %d", c.name.c_str(), launch);
        if (r.failed_call.empty()) {
            return;
        }
        seen += r.failed_call == "launch_kernel";
        if (seen == launch) {
            CHECK(status == WR_SUCCESS, "%s: %d", c.name.c_str(), static_cast<int>(status));
            CHECK(r.launches_after_failure > 0, "%s: nothing else was launched", c.name.c_str());
            check_left_as_it_was(c, "no room");
        }
    }
}

void check_other_work_may_hold_the_gpu(const Setting &setting) {
    check_job_without_room(setting, jobs::Job::softmax("softmax of many rows", WR_F32, 1000, 1 << 18, 1), 2);
}

// Memory that is not there, as in the jobs: nothing may touch it.
const void *tile_input() { return std::bit_cast<const void *>(std::uintptr_t{1} << 60); }
template <class T>
T *tile_output() {
    return std::bit_cast<T *>(std::uintptr_t{2} << 60);
}

void check_tiles_in(const Setting &setting) {
    const std::string where = std::string(" on ") + setting.name;
    check_job({"tile reduce" + where, setting, [](CUstream_st *stream) {
                   return wr_tile_reduce(WR_SUM, WR_F32, tile_input(), tile_output<void>(), 5000, 16, stream);
               }});
    check_job({"tile shuffle" + where, setting, [](CUstream_st *stream) {
                   return wr_tile_shuffle(WR_SHUFFLE_UP, WR_F16, tile_input(), tile_output<void>(), 1, 32, 3, stream);
               }});
    check_job({"tile vote" + where, setting, [](CUstream_st *stream) {
                   return wr_tile_vote(WR_VOTE_ALL, static_cast<const std::int32_t *>(tile_input()),
                                       tile_output<std::uint32_t>(), std::size_t{1} << 50, 8, 5, stream);
               }});
    check_job({"tile match" + where, setting, [](CUstream_st *stream) {
                   return wr_tile_match(WR_MATCH_ANY, WR_F64, tile_input(), tile_output<std::uint32_t>(), 4096, 2, 3,
                                        stream);
               }});
}

// From logits of 16 bits, in blocks of so many warps that a GPU without clusters has to be asked for shared memory.
void check_gradients_from_logits_in(const Setting &setting) {
    for (const std::size_t axis : {12000, 12001}) {
        wr_softmax_backward_args args{};
        args.struct_size = sizeof args;
        args.dtype = WR_BF16;
        args.input = args.logsumexp = args.output_gradient = tile_input();
        args.input_gradient = tile_output<void>();
        args.outer = 1000;
        args.axis = axis;
        args.inner = 1;
        const std::string name = "gradient from logits of rows of " + std::to_string(axis) + " on " + setting.name;
        check_job({name, setting, [args](CUstream_st *stream) { return wr_softmax_backward_ex(&args, stream); }});
    }
}

// Of rows that a block and that clusters hold, of clusters that stay, of clusters too wide for some GPUs off the
// 16-byte boundaries, and of columns of any height.
void check_gradients_in(const Setting &setting) {
    check_gradients_from_logits_in(setting);
    struct Rows {
        const char *name;
        std::size_t outer, axis, inner;
    };
    constexpr Rows of[] = {{"rows", 1000, 1000, 1},
                           {"long rows", 1000, 40000, 1},
                           {"longer rows", 100, 200000, 1},
                           {"many odd rows", 1000, 20001, 1},
                           {"many long odd rows", 100, 66001, 1},
                           {"columns", 3, 5000, 1000},
                           {"short columns", 3, 500, 1000},
                           {"odd columns of clusters", 3, 2000, 1001}};
    for (const Rows &r : of) {
        check_job({std::string("gradient of ") + r.name + " on " + setting.name, setting, [r](CUstream_st *stream) {
                       return wr_softmax_backward(WR_F32, tile_input(), tile_input(), tile_output<void>(), r.outer,
                                                  r.axis, r.inner, stream);
                   }});
    }
}

void check_callers_workspace_is_enough(const Setting &setting) {
    int wanted = 0;
    for (const jobs::Job &job : jobs::of_every_regime()) {
        prepare(setting);
        CHECK(job.run_with_workspace(setting.stream) == WR_SUCCESS, "%s", job.name().c_str());
        CHECK(fake::runtime().allocations == 0, "%s: memory was allocated beside the workspace", job.name().c_str());
        wanted += job.workspace_bytes() > 0;
    }
    CHECK(wanted >= 4, "%d jobs want a workspace: too few to show anything", wanted);
}

// Jobs that bring no workspace share a pool, one on each GPU.
void check_each_gpu_has_one_pool() {
    fake::reset({}, 0, 1);
    for (CUstream_st *stream : {jobs::some_stream(), static_cast<CUstream_st *>(nullptr)}) {
        for (const jobs::Job &job : jobs::of_every_regime()) {
            CHECK(job.run(stream) == WR_SUCCESS, "%s", job.name().c_str());
        }
    }
    std::set<int> devices;
    for (const auto &[pool, device] : fake::runtime().pools) {
        devices.insert(device);
    }
    CHECK(fake::runtime().pools.size() == 2 && devices == std::set<int>({0, 1}), "%zu pools on %zu GPUs",
          fake::runtime().pools.size(), devices.size());
    CHECK(fake::runtime().misuse.empty(), "%s", fake::runtime().misuse.c_str());
}

// What the device says of itself must arrive where kernels are chosen; a job that forgets it runs, but slowly.
void check_what_the_gpu_has_is_used(const Setting &setting) {
    int clusters = 0, dependent = 0;
    for (const jobs::Job &job : jobs::of_every_regime()) {
        prepare(setting);
        CHECK(job.run(setting.stream) == WR_SUCCESS, "%s", job.name().c_str());
        clusters += fake::runtime().cluster_launches;
        dependent += fake::runtime().dependent_launches;
    }
    const bool has_them = setting.gpu.compute_major >= 9;
    CHECK((clusters > 0) == has_them, "%d launches of clusters on %s", clusters, setting.name);
    CHECK((dependent > 0) == has_them, "%d dependent launches on %s", dependent, setting.name);
}

void check_status_of_the_gpu(const Setting &setting) {
    const Case c{"wr_cuda_status", setting, [](CUstream_st *) { return wr_cuda_status(); }};
    prepare(setting);
    CHECK(wr_cuda_status() == WR_SUCCESS, "a GPU that can do everything");
    CHECK(fake::runtime().launches == 0, "asking launches nothing");
    check_left_as_it_was(c, "no failure");
    CHECK(check_every_failing_call(c) > 0, "the status of the GPU asks nobody");
}

void check_errors_have_their_status() {
    const Failure others[] = {{cudaErrorStubLibrary, WR_ERROR_NO_DRIVER},
                              {cudaErrorCallRequiresNewerDriver, WR_ERROR_NO_DRIVER},
                              {cudaErrorInvalidDeviceFunction, WR_ERROR_NO_KERNEL},
                              {cudaErrorUnsupportedPtxVersion, WR_ERROR_NO_KERNEL},
                              {cudaErrorInvalidValue, 1001},
                              {cudaErrorUnknown, 1999}};
    CHECK(wr::cuda::report(cudaSuccess) == WR_SUCCESS, "no error");
    for (const auto &[error, status] : others) {
        fake::runtime().last_error = error;
        CHECK(wr::cuda::report(error) == status, "error %d", error);
        CHECK(fake::runtime().last_error == cudaSuccess, "error %d is left behind", error);
    }
    const std::string name = wr_status_name(enum_of<wr_status>(1700));
    CHECK(name == "cudaErrorIllegalAddress", "status 1700 is called %s", name.c_str());
}

// What is refused, or has nothing to do, does not even ask which device is current.
void check_refused_calls_do_not_reach_cuda(const Setting &setting) {
    prepare(setting);
    CHECK(wr_reduce(WR_SUM, WR_F32, nullptr, nullptr, 1, 4, 1, setting.stream) == WR_ERROR_NULL_POINTER, "NULL");
    CHECK(wr_softmax(WR_I32, nullptr, nullptr, 1, 4, 1, setting.stream) == WR_ERROR_UNSUPPORTED, "integers");
    CHECK(wr_reduce(WR_SUM, WR_F32, nullptr, nullptr, 0, 4, 1, setting.stream) == WR_SUCCESS, "no outputs");
    CHECK(wr_softmax(WR_F32, nullptr, nullptr, 4, 0, 1, setting.stream) == WR_SUCCESS, "no outputs");
    CHECK(wr_tile_vote(WR_VOTE_ANY, nullptr, nullptr, 1, 3, 0, setting.stream) == WR_ERROR_INVALID_OPTION, "a width");
    CHECK(wr_tile_vote(WR_VOTE_ANY, nullptr, nullptr, 0, 4, 0, setting.stream) == WR_SUCCESS, "no lanes");
    const float numbers[4] = {1, 2, 3, 4};
    float sum = 0;
    CHECK(wr_reduce(WR_SUM, WR_F32, numbers, &sum, 1, 4, 1, wr_host_stream()) == WR_SUCCESS && sum == 10, "host");
    CHECK(jobs::of_every_regime().back().workspace_bytes() != SIZE_MAX, "a query");
    CHECK(fake::runtime().calls == 0, "%d calls of the CUDA runtime", fake::runtime().calls);
}

} // namespace

int main() {
    fake::install();
    const Setting settings[] = {
        {"the current device", {}, 0, 0, jobs::some_stream()},
        {"another device", {}, 2, 5, jobs::some_stream()},
        {"the default stream", {}, 3, 0, nullptr},
        {"an older GPU", {108, 8}, 0, 0, jobs::some_stream()},
        {"a GPU of small clusters", {132, 9, 227 * 1024, 8}, 0, 0, jobs::some_stream()},
        {"a GPU of little shared memory", {46, 8, 48 * 1024}, 0, 0, jobs::some_stream()},
    };
    for (const Setting &setting : settings) {
        check_jobs_in(setting);
        check_tiles_in(setting);
        check_gradients_in(setting);
        check_callers_workspace_is_enough(setting);
        check_what_the_gpu_has_is_used(setting);
        check_status_of_the_gpu(setting);
        check_refused_calls_do_not_reach_cuda(setting);
    }
    check_each_gpu_has_one_pool();
    check_other_work_may_hold_the_gpu(settings[0]);
    check_errors_have_their_status();
    return check_report("every_cuda_call_may_fail");
}
