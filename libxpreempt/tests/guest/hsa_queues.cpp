// SPDX-License-Identifier: MIT
// Queues of a program on ROCr, without HIP: held by their ids and by their hsa_queue_t.
// usage: hsa_queues CODE_OBJECT [exit|kill]
#include "../../examples/sequence.hpp"

#include <xpreempt/xpreempt.h>

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace {

int failures = 0;

void check(bool good, const char* what) {
    std::printf("%s - %s\n", good ? "ok" : "not ok", what);
    std::fflush(stdout);
    failures += good ? 0 : 1;
}

void must(int status, const char* call) {
    if (status == HSA_STATUS_SUCCESS || status == HSA_STATUS_INFO_BREAK)
        return;
    std::printf("not ok - %s: %#x %s\n", call, static_cast<unsigned>(status), xp_last_detail());
    std::fflush(stdout);
    std::_Exit(1);
}
#define MUST(call) must(static_cast<int>(call), #call)

constexpr std::uint32_t lanes = 64;

// As in walk.hpp, which needs HIP.
struct Walk {
    std::uint32_t rounds;
    std::uint32_t end;
    struct {
        std::uint32_t value, rounds;
    } lane[lanes];
};

bool is_right(const Walk& shared) {
    for (std::uint32_t lane = 0; lane < lanes; ++lane) {
        const auto& [value, rounds] = shared.lane[lane];
        if (rounds == 0 || value != value_after(lane, rounds))
            return false;
    }
    return true;
}

hsa_status_t find_agents(hsa_agent_t agent, void* found) {
    hsa_device_type_t type = HSA_DEVICE_TYPE_CPU;
    MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
    static_cast<hsa_agent_t*>(found)[type == HSA_DEVICE_TYPE_GPU ? 1 : 0] = agent;
    return HSA_STATUS_SUCCESS;
}

hsa_status_t find_shared_pool(hsa_amd_memory_pool_t pool, void* found) {
    hsa_amd_segment_t segment = HSA_AMD_SEGMENT_PRIVATE;
    std::uint32_t flags = 0;
    MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
    if (segment != HSA_AMD_SEGMENT_GLOBAL)
        return HSA_STATUS_SUCCESS;
    MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_GLOBAL_FLAGS, &flags));
    if ((flags & HSA_AMD_MEMORY_POOL_GLOBAL_FLAG_FINE_GRAINED) == 0)
        return HSA_STATUS_SUCCESS;
    *static_cast<hsa_amd_memory_pool_t*>(found) = pool;
    return HSA_STATUS_INFO_BREAK;
}

// The GPU, its memory that the host sees, and the kernel.
class Machine {
public:
    explicit Machine(const char* code_object) {
        MUST(hsa_init());
        MUST(hsa_iterate_agents(find_agents, agents_));
        MUST(hsa_amd_agent_iterate_memory_pools(agents_[0], find_shared_pool, &pool_));
        hsa_code_object_reader_t reader{};
        hsa_executable_t executable{};
        std::ifstream file(code_object, std::ios::binary);
        bundle_.assign(std::istreambuf_iterator<char>(file), {});
        const std::size_t begin = std::min(bundle_.find("\177ELF"), bundle_.size());
        MUST(hsa_code_object_reader_create_from_memory(bundle_.data() + begin,
                                                       bundle_.size() - begin, &reader));
        MUST(hsa_executable_create_alt(HSA_PROFILE_FULL, HSA_DEFAULT_FLOAT_ROUNDING_MODE_DEFAULT,
                                       nullptr, &executable));
        MUST(hsa_executable_load_agent_code_object(executable, agents_[1], reader, nullptr,
                                                   nullptr));
        MUST(hsa_executable_freeze(executable, nullptr));
        hsa_executable_symbol_t symbol{};
        MUST(hsa_executable_get_symbol_by_name(executable, "walk_to_the_end.kd", &agents_[1],
                                               &symbol));
        MUST(hsa_executable_symbol_get_info(symbol, HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT,
                                            &kernel));
    }
    [[nodiscard]] hsa_agent_t gpu() const { return agents_[1]; }
    template <typename Type> Type* allocate(std::size_t bytes = sizeof(Type)) const {
        void* memory = nullptr;
        MUST(hsa_amd_memory_pool_allocate(pool_, bytes, 0, &memory));
        MUST(hsa_amd_agents_allow_access(1, &agents_[1], nullptr, memory));
        std::memset(memory, 0, bytes);
        return static_cast<Type*>(memory);
    }

    std::uint64_t kernel = 0;

private:
    hsa_agent_t agents_[2]{}; // CPU, GPU
    hsa_amd_memory_pool_t pool_{};
    std::string bundle_; // of hipcc: the code objects follow its header, here one
};

class Job {
public:
    explicit Job(const Machine& machine)
        : work_(machine.allocate<Walk>()), arguments_(machine.allocate<Walk*>(4096)) {
        MUST(hsa_queue_create(machine.gpu(), 1024, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr,
                              UINT32_MAX, UINT32_MAX, &hsa));
        MUST(hsa_signal_create(1, 0, nullptr, &done_));
        *arguments_ = work_;
        const std::uint64_t index = hsa_queue_add_write_index_screlease(hsa, 1);
        auto* packet = static_cast<hsa_kernel_dispatch_packet_t*>(hsa->base_address) + index;
        hsa_kernel_dispatch_packet_t made{};
        made.header = HSA_PACKET_TYPE_INVALID;
        made.setup = 1;
        made.workgroup_size_x = made.grid_size_x = lanes;
        made.workgroup_size_y = made.workgroup_size_z = 1;
        made.grid_size_y = made.grid_size_z = 1;
        made.kernel_object = machine.kernel;
        made.kernarg_address = arguments_;
        made.completion_signal = done_;
        *packet = made;
        constexpr std::uint16_t header =
            HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE |
            HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
            HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;
        __atomic_store_n(&packet->header, header, __ATOMIC_RELEASE);
        hsa_signal_store_screlease(hsa->doorbell_signal, static_cast<hsa_signal_value_t>(index));
        wait_for_round(0);
    }
    [[nodiscard]] std::uint32_t rounds() const {
        return __atomic_load_n(&work_->rounds, __ATOMIC_RELAXED);
    }
    void wait_for_round(std::uint32_t behind) const {
        while (rounds() == behind)
            usleep(200);
    }
    [[nodiscard]] bool stands_still() const {
        const std::uint32_t stood = rounds();
        usleep(200000);
        return rounds() == stood;
    }
    // False after five seconds without one.
    [[nodiscard]] bool makes_a_round() const {
        const std::uint32_t stood = rounds();
        for (int i = 0; i < 5000 && rounds() == stood; ++i)
            usleep(1000);
        return rounds() != stood;
    }
    [[nodiscard]] bool ends_right() {
        __atomic_store_n(&work_->end, 1, __ATOMIC_RELAXED);
        while (hsa_signal_wait_scacquire(done_, HSA_SIGNAL_CONDITION_EQ, 0, UINT64_MAX,
                                         HSA_WAIT_STATE_BLOCKED) != 0) {
        }
        return is_right(*work_);
    }
    [[nodiscard]] xp_queue_t queue() const {
        xp_queue_t queue{};
        MUST(xp_queue_of_hsa(hsa, &queue));
        return queue;
    }

    hsa_queue_t* hsa = nullptr;

private:
    Walk* work_;
    Walk** arguments_;
    hsa_signal_t done_{};
};

// As KFD lists them.
std::set<std::uint32_t> ids_of(pid_t pid) {
    std::set<std::uint32_t> ids;
    DIR* queues = opendir(("/sys/class/kfd/kfd/proc/" + std::to_string(pid) + "/queues").c_str());
    while (const dirent* entry = queues != nullptr ? readdir(queues) : nullptr)
        if (entry->d_name[0] != '.')
            ids.insert(static_cast<std::uint32_t>(std::atoi(entry->d_name)));
    if (queues != nullptr)
        closedir(queues);
    return ids;
}

void hold_by_id(const Machine& machine) {
    Job job(machine), other(machine);
    const xp_queue_t queue = job.queue();
    xp_queue_t by_id{};
    MUST(xp_queue_of_id(queue.kfd_queue_id, &by_id));
    check(by_id.generation == queue.generation && ids_of(getpid()).count(queue.kfd_queue_id) == 1,
          "the id of an hsa_queue_t is one that KFD lists");
    MUST(xp_queue_hold(queue, 0, 2000));
    check(job.stands_still() && other.makes_a_round(),
          "a queue that is held by its id stands still, and the one beside it runs");
    MUST(xp_queue_hold(queue, 0, 0));
    MUST(xp_queue_release(queue));
    check(job.stands_still(), "it stands still until the second of two holds ends");
    MUST(xp_queue_release(queue));
    check(job.makes_a_round(), "after the last release it runs");
    check(xp_queue_release(queue) == -ENOENT, "a third release finds no hold");
    check(job.ends_right() && other.ends_right(), "the results are right");
}

void drain(const Machine& machine) {
    xp_probe_info probe{};
    probe.sz = sizeof probe;
    MUST(xp_probe(&probe));
    Job job(machine);
    const xp_queue_t queue = job.queue();
    const int answer = xp_queue_hold(queue, XP_QUEUE_DRAIN, 50);
    std::printf("# XP_QUEUE_DRAIN: %d, %s\n", answer, xp_last_detail());
    constexpr std::uint64_t can_drain = 0x2; // KFD_PREEMPT_CAP_DRAIN
    check(answer == ((probe.caps & can_drain) != 0 ? -ETIME : -EOPNOTSUPP),
          "a kernel without an end does not drain within 50 ms");
    check(job.makes_a_round(), "it runs meanwhile");
    check(xp_queue_release(queue) == -ENOENT, "nothing is held after that");
    check(job.ends_right(), "its result is right");
    Job next(machine);
    check(next.ends_right(), "a queue beside it works");
}

void destroy_held(const Machine& machine) {
    Job job(machine);
    const xp_queue_t queue = job.queue();
    MUST(xp_queue_hold(queue, 0, 0));
    MUST(hsa_queue_destroy(job.hsa));
    check(xp_queue_release(queue) == -ENOENT && xp_queue_hold(queue, 0, 0) == -ENOENT,
          "a hold ends with its queue");
    Job next(machine);
    std::printf("# old queue %u.%u, new one %u.%u\n", queue.kfd_queue_id, queue.generation,
                next.queue().kfd_queue_id, next.queue().generation);
    check(next.makes_a_round() && next.ends_right(), "the next queue runs");
}

// Another process has more queues, and so ids that this one lacks.
void reject_foreign_ids(const Machine& machine, const char* program, const char* code_object) {
    int ready[2]{};
    MUST(pipe(ready));
    const pid_t child = fork();
    if (child == 0) {
        dup2(ready[1], 1);
        execl(program, program, code_object, "many", nullptr);
        _exit(1);
    }
    char byte = 0;
    close(ready[1]);
    while (read(ready[0], &byte, 1) == 1 && byte != '\n') {
    }
    const auto ours = ids_of(getpid());
    unsigned foreign = 0, found = 0;
    for (const std::uint32_t id : ids_of(child)) {
        xp_queue_t queue{};
        if (ours.count(id) != 0)
            continue;
        ++foreign;
        found += xp_queue_of_id(id, &queue) != -ENOENT ? 1 : 0;
    }
    std::printf("# %u ids of another process: %s\n", foreign, xp_last_detail());
    check(foreign > 0 && found == 0, "ids of another process are rejected");
    xp_queue_t queue{};
    check(xp_queue_of_id(4000, &queue) == -ENOENT &&
              std::strcmp(xp_last_detail(), "KFD queue 4000 is not a queue of this process") == 0,
          "a wrong id is rejected with its number");
    kill(child, SIGTERM);
    waitpid(child, nullptr, 0);
    Job job(machine);
    check(job.ends_right(), "the process works on");
}

} // namespace

int main(int argc, char** argv) {
    const std::string mode = argc == 3 ? argv[2] : "";
    if (argc < 2) {
        std::fprintf(stderr, "usage: hsa_queues CODE_OBJECT [exit|kill]\n");
        return 64;
    }
    const Machine machine(argv[1]);
    if (mode == "many") {
        const Job jobs[6]{Job(machine), Job(machine), Job(machine),
                          Job(machine), Job(machine), Job(machine)};
        std::printf("\n");
        std::fflush(stdout);
        pause();
    }
    if (mode == "exit" || mode == "kill") {
        const Job job(machine);
        MUST(xp_queue_hold(job.queue(), 0, 0));
        check(job.stands_still(), "a queue is held at the end of its process");
        if (mode == "kill")
            raise(SIGKILL);
        return failures == 0 ? 0 : 1;
    }
    xp_probe_info probe{};
    probe.sz = sizeof probe;
    MUST(xp_probe(&probe));
    check(probe.hip_loaded == 0 && probe.hook_loaded == 1, "the hook is loaded, and HIP is not");
    hold_by_id(machine);
    drain(machine);
    destroy_held(machine);
    reject_foreign_ids(machine, argv[0], argv[1]);
    return failures == 0 ? 0 : 1;
}
