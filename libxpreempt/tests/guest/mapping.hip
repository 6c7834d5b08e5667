// SPDX-License-Identifier: MIT
// Stops the queue that the library reports: exactly the streams that it reports must stop.
//
// usage: mapping [CASE]... prints TAP. Each case runs in a process of its own, for HIP reads its
// environment once.
#include "hip_5.hpp"
#include "mapping.hpp"

#include <xpreempt/xpreempt.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <set>
#include <sys/wait.h>
#include <unistd.h>

namespace {

using namespace mapping;

// Streams that the table knows nothing of yet; each is put to use by the case.
std::vector<Subject> streams(int count, unsigned flags = hipStreamNonBlocking) {
    std::vector<Subject> subjects;
    for (int i = 0; i < count; ++i) {
        hipStream_t stream = nullptr;
        must(hipStreamCreateWithFlags(&stream, flags), "hipStreamCreateWithFlags");
        subjects.push_back({"stream " + std::to_string(i), stream});
    }
    return subjects;
}

void shared_pool() {
    auto subjects = streams(5);
    use(subjects);
    check(distinct_queues(subjects) == 2, "five streams are on the two queues of the pool");
    verify(subjects);
}

void own_queues() {
    auto subjects = streams(5);
    use(subjects);
    check(distinct_queues(subjects) == 5, "five streams have five queues");
    for (const Subject& subject : subjects)
        check(query(subject).level == XP_LEVEL_INTERRUPT, "and can be interrupted");
    verify(subjects);
}

void default_streams() {
    Thread other;
    auto subjects = streams(1);
    subjects.push_back({"null stream", nullptr});
    subjects.push_back({"own stream of the main thread", hipStreamPerThread});
    subjects.push_back({"own stream of another thread", hipStreamPerThread, &other});
    use(subjects);
    check(distinct_queues(subjects) == 4, "each of them has a queue");
    xp_stream_info null{};
    xp_stream_info legacy{};
    null.sz = legacy.sz = sizeof null;
    must(xp_stream_query(nullptr, &null), "xp_stream_query");
    must(xp_stream_query(reinterpret_cast<void*>(1), &legacy), "xp_stream_query");
    check(null.kfd_queue_id == legacy.kfd_queue_id, "hipStreamLegacy is the null stream");
    void* sharing[4];
    std::size_t count = 0;
    must(xp_stream_sharing(hipStreamPerThread, sharing, 4, &count), "xp_stream_sharing");
    check(count == 1 && sharing[0] == hipStreamPerThread, "a thread's own stream is named as such");
    verify(subjects);
}

void priorities() {
    int least = 0;
    int greatest = 0;
    must(hipDeviceGetStreamPriorityRange(&least, &greatest), "hipDeviceGetStreamPriorityRange");
    std::vector<Subject> subjects;
    for (const int priority : {least, 0, 0, greatest}) {
        hipStream_t stream = nullptr;
        must(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority),
             "hipStreamCreateWithPriority");
        subjects.push_back({"priority " + std::to_string(priority), stream});
    }
    use(subjects);
    check(distinct_queues(subjects) == 3, "each priority has a queue of its own");
    verify(subjects);
}

void cu_masks() {
    auto subjects = streams(2);
    for (int i = 0; i < 2; ++i) {
        void* stream = nullptr;
        must(xp_stream_create(&stream), "xp_stream_create");
        subjects.push_back({"own queue " + std::to_string(i), static_cast<hipStream_t>(stream)});
    }
    use(subjects);
    check(distinct_queues(subjects) == 3, "two share the pool's one queue, two have their own");
    verify(subjects);
    // At the end HIP would free memory of their queues and leave the queues on the GPU.
    for (int i = 2; i < 4; ++i)
        must(xp_stream_destroy(subjects[i].stream), "xp_stream_destroy");
}

void copies() {
    auto subjects = streams(3);
    constexpr std::size_t most = 4 << 20;
    char* host = nullptr;
    char* device = nullptr;
    must(hipHostMalloc(reinterpret_cast<void**>(&host), most, 0), "hipHostMalloc");
    must(hipMalloc(reinterpret_cast<void**>(&device), most), "hipMalloc");
    const std::size_t sizes[] = {256, 64 << 10, most};
    for (int i = 0; i < 3; ++i) {
        must(hipMemcpyAsync(device, host, sizes[i], hipMemcpyHostToDevice, subjects[i].stream),
             "hipMemcpyAsync");
        must(hipMemcpyAsync(host, device, sizes[i], hipMemcpyDeviceToHost, subjects[i].stream),
             "hipMemcpyAsync");
        must(hipStreamSynchronize(subjects[i].stream), "hipStreamSynchronize");
    }
    if (!is_hip_5()) // there SDMA does it
        check(is_mapped(subjects[0]), "a small copy is a kernel on the stream's queue");
    std::printf("# 64 KiB: %s, 4 MiB: %s\n", is_mapped(subjects[1]) ? "mapped" : "not mapped",
                is_mapped(subjects[2]) ? "mapped" : "not mapped");
    for (Subject& subject : subjects)
        must(xp_stream_touch(subject.stream), "xp_stream_touch");
    verify(subjects);
}

// HIP 5.2 hangs in hipStreamDestroy() after hipFreeAsync(), also without us.
void stream_ordered_memory() {
    if (is_hip_5())
        return;
    auto subjects = streams(2);
    for (Subject& subject : subjects) {
        void* memory = nullptr;
        must(hipMallocAsync(&memory, 4096, subject.stream), "hipMallocAsync");
        must(hipMemsetAsync(memory, 1, 4096, subject.stream), "hipMemsetAsync");
        must(hipFreeAsync(memory, subject.stream), "hipFreeAsync");
        must(hipStreamSynchronize(subject.stream), "hipStreamSynchronize");
        check(is_mapped(subject), "a fill of stream-ordered memory maps the stream");
    }
    verify(subjects);
}

void events_only() {
    auto subjects = streams(2);
    hipEvent_t event = nullptr;
    must(hipEventCreate(&event), "hipEventCreate");
    must(hipEventRecord(event, subjects[0].stream), "hipEventRecord");
    must(hipStreamWaitEvent(subjects[1].stream, event, 0), "hipStreamWaitEvent");
    must(hipStreamSynchronize(subjects[1].stream), "hipStreamSynchronize");
    for (Subject& subject : subjects) {
        std::printf("# events only: %s\n", is_mapped(subject) ? "mapped" : "not mapped");
        must(xp_stream_touch(subject.stream), "xp_stream_touch");
        check(is_mapped(subject), "xp_stream_touch() maps a stream");
    }
    verify(subjects);
}

// HIP gives a program that asks for a function the hook's.
void looked_up() {
    using Lookup = int (*)(const char*, void**, unsigned long long, int*);
    const auto is_ours = [](void* function, const std::string& by) {
        Dl_info info{};
        const bool known = function != nullptr && dladdr(function, &info) != 0;
        const std::string file = known ? info.dli_fname : "nothing";
        check(file.find("libxpreempt-hook") != file.npos, by + " gives a function of " + file);
    };
    void* function = nullptr;
#if HIP_VERSION_MAJOR >= 6 // HIP 5 has no lookup of this kind
    hipDriverProcAddressQueryResult result{};
    must(hipGetProcAddress("hipMemcpyAsync", &function, HIP_VERSION_MAJOR * 100, 0, &result),
         "hipGetProcAddress");
    is_ours(function, "hipGetProcAddress");
#endif
    for (const char* name : {"hipGetDriverEntryPoint", "hipGetDriverEntryPoint_spt"}) {
        const auto lookup = reinterpret_cast<Lookup>(dlsym(RTLD_DEFAULT, name));
        if (lookup == nullptr)
            continue; // since HIP 7.1
        int status = 0;
        function = nullptr;
        must(lookup("hipMemcpyAsync", &function, 0, &status), name);
        is_ours(function, name);
    }
}

// A new stream with the handle of an old one is another stream.
void recycled_handles() {
    auto subjects = streams(2);
    use(subjects);
    const hipStream_t old = subjects[0].stream;
    bool recycled = false;
    for (int i = 0; i < 64 && !recycled; ++i) {
        must(hipStreamDestroy(subjects[0].stream), "hipStreamDestroy");
        check(!is_mapped(subjects[0]), "a destroyed stream has no queue");
        must(hipStreamCreateWithFlags(&subjects[0].stream, hipStreamNonBlocking),
             "hipStreamCreateWithFlags");
        check(!is_mapped(subjects[0]), "a new stream has none before its first packet");
        recycled = subjects[0].stream == old;
    }
    check(recycled, "HIP gives a handle out again");
    use(subjects);
    verify(subjects);
}

// HIP may give a stream that is idle another queue when others are busy on the one that it had:
// later versions do, and 6.4 has the code for it, behind DEBUG_HIP_DYNAMIC_QUEUES. 6.4.3 as Debian
// builds it was never seen to; tests of the hook on the fake ROCm have a stream that does.
void moving_streams() {
    auto subjects = streams(6);
    use(subjects);
    must(hipDeviceSynchronize(), "hipDeviceSynchronize");
    Beats beats(1);
    beats.launch(0, subjects[0].stream);
    beats.wait_for_another(0);
    const std::uint32_t busy = query(subjects[0]).kfd_queue_id;
    bool moved = false;
    for (Subject& subject : subjects) {
        if (&subject == &subjects[0] || query(subject).kfd_queue_id != busy || moved)
            continue;
        const auto value = words().launch(subject);
        const std::uint32_t now = query(subject).kfd_queue_id;
        moved = now != busy;
        if (!moved)
            beats.stop(); // or it would wait behind the kernel
        words().wait(subject, value);
    }
    beats.stop();
    std::printf("# %s\n", moved ? "a stream moved" : "no stream moved");
    must(hipStreamSynchronize(subjects[0].stream), "hipStreamSynchronize");
    verify(subjects, Sharing::may_be_more);
}

// All branches of a graph in flight stop with its stream, and resume with it.
// HIP 5.2 runs some branches of a graph one after the other.
void graph() {
    if (is_hip_5())
        return;
    constexpr int branches = 3;
    auto subjects = streams(2);
    use(subjects);
    Beats beats(branches);
    hipGraph_t graph = nullptr;
    must(hipGraphCreate(&graph, 0), "hipGraphCreate");
    for (int i = 0; i < branches; ++i)
        beats.add_node(graph, i);
    hipGraphExec_t exec = nullptr;
    must(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), "hipGraphInstantiate");
    must(hipGraphLaunch(exec, subjects[0].stream), "hipGraphLaunch");
    for (int i = 0; i < branches; ++i)
        beats.wait_for_another(i);

    xp_xqueue_options options{};
    options.sz = sizeof options;
    options.flags = XP_ALLOW_SHARED;
    xp_xqueue_t xqueue{};
    must(xp_xqueue_create(subjects[0].stream, &options, &xqueue), "xp_xqueue_create");
    std::uint32_t level = 0;
    must(xp_xqueue_suspend(xqueue, XP_SUSPEND_EXACT, &level), "xp_xqueue_suspend");
    const auto before = beats.all();
    use(subjects[1]);
    use(subjects[1]);
    check(beats.all() == before, "no branch of a suspended graph runs");
    must(xp_xqueue_resume(xqueue), "xp_xqueue_resume");
    for (int i = 0; i < branches; ++i)
        beats.wait_for_another(i);
    beats.stop();
    must(hipStreamSynchronize(subjects[0].stream), "hipStreamSynchronize");
    must(xp_xqueue_destroy(xqueue), "xp_xqueue_destroy");
    verify(subjects, Sharing::may_be_more);
}

// Everything that HIP and ROCr have made by then is unknown, what they make afterwards isn't.
void late_hook() {
    auto old = streams(1);
    use(old);
    if (dlopen("libxpreempt-hook.so", RTLD_NOW | RTLD_LOCAL) == nullptr) {
        check(false, dlerror());
        return;
    }
    use(old);
    xp_stream_info info{};
    info.sz = sizeof info;
    check(xp_stream_query(old[0].stream, &info) == -EXDEV, "a queue from before is not guessed");
    xp_xqueue_t xqueue{};
    must(xp_xqueue_create(old[0].stream, nullptr, &xqueue), "xp_xqueue_create");
    xp_xqueue_state level{};
    level.sz = sizeof level;
    must(xp_xqueue_query(xqueue, &level), "xp_xqueue_query");
    std::printf("# %s\n", level.reason);
    check(std::strstr(level.reason, "LD_PRELOAD") != nullptr, "the reason says what would help");
    must(xp_xqueue_destroy(xqueue), "xp_xqueue_destroy");
    auto subjects = streams(2);
    use(subjects);
    check(distinct_queues(subjects) == 2, "streams with new queues are mapped");
    verify(subjects);
}

struct Case {
    const char* name;
    const char* environment[4]; // NAME=VALUE
    void (*run)();
};
constexpr Case cases[] = {
    {"default_streams", {}, default_streams},
    {"graph", {}, graph},
    {"late_hook", {"LD_PRELOAD="}, late_hook},
    {"shared_pool", {"GPU_MAX_HW_QUEUES=2"}, shared_pool},
    {"own_queues", {}, own_queues},
    {"priorities", {"GPU_MAX_HW_QUEUES=1"}, priorities},
    {"cu_masks", {"GPU_MAX_HW_QUEUES=1"}, cu_masks},
    {"copies", {}, copies},
    {"stream_ordered_memory", {}, stream_ordered_memory},
    {"events_only", {}, events_only},
    {"looked_up", {}, looked_up},
    {"recycled_handles", {}, recycled_handles},
    {"moving_streams", {"GPU_MAX_HW_QUEUES=2", "DEBUG_HIP_DYNAMIC_QUEUES=1"}, moving_streams},
};

[[noreturn]] void exec_case(const char* program, const Case& one) {
    for (const char* setting : one.environment)
        if (setting != nullptr)
            putenv(const_cast<char*>(setting)); // constant, and stays for the process
    setenv("MAPPING_CASE", one.name, 1);
    execl(program, program, nullptr);
    std::perror(program);
    _exit(127);
}

int run_one(const char* name) {
    for (const Case& one : cases)
        if (std::strcmp(one.name, name) == 0) {
            one.run();
            return failures == 0 ? 0 : 1;
        }
    std::printf("# no case '%s'\n", name);
    return 64;
}

bool chosen(const Case& one, int argc, char** argv) {
    for (int i = 1; i < argc; ++i)
        if (std::strcmp(argv[i], one.name) == 0)
            return true;
    return argc == 1;
}

} // namespace

int main(int argc, char** argv) {
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    if (const char* name = std::getenv("MAPPING_CASE"); name != nullptr)
        return run_one(name);
    int number = 0;
    int failed = 0;
    for (const Case& one : cases) {
        if (!chosen(one, argc, argv))
            continue;
        const pid_t child = fork();
        if (child == 0)
            exec_case(argv[0], one);
        int status = -1;
        waitpid(child, &status, 0);
        failed += status == 0 ? 0 : 1;
        std::printf("%s %d - %s\n", status == 0 ? "ok" : "not ok", ++number, one.name);
    }
    if (number == 0) {
        std::printf("Bail out! no such case\n");
        return 64;
    }
    std::printf("1..%d\n", number);
    return failed == 0 ? 0 : 1;
}
