// SPDX-License-Identifier: MIT
// The hook alone, as built, on the fake ROCm: keys of streams, the gate, the last launch, graphs.
#include "fake/fake_rocm.hpp"
#include "hook/table.hpp"
#include "kfd/queue_ioctls.hpp"

#include <algorithm>
#include <cerrno>
#include <dlfcn.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

extern "C" {
int hipStreamCreate(void** stream);
int hipStreamDestroy(void* stream);
int hipStreamSynchronize(void* stream);
int hipSetDevice(int device);
int hipMemset(void* to, int value, std::size_t bytes);
int hipMemsetAsync(void* to, int value, std::size_t bytes, void* stream);
int hipMemsetAsync_spt(void* to, int value, std::size_t bytes, void* stream);
int hipEventCreateWithFlags(void** event, unsigned flags);
int hipEventDestroy(void* event);
int hipEventRecord(void* event, void* stream);
int hipGraphLaunch(void* graph, void* stream);
int ioctl(int fd, unsigned long request, ...) noexcept;
std::uint64_t hsa_queue_add_write_index_screlease(const void* queue, std::uint64_t value);
void hsa_signal_store_screlease(std::uint64_t signal, std::int64_t value);
int hipModuleLaunchKernel(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                          unsigned, void* stream, void**, void**);
}

namespace {

using namespace xpreempt::hook;

const Table& table() {
    return *xpreempt_hook_table();
}
void* handle(std::uintptr_t value) {
    return reinterpret_cast<void*>(value);
}
void* const legacy = handle(1);
void* const per_thread = handle(2);

void* new_stream() {
    void* stream = nullptr;
    EXPECT_EQ(0, hipStreamCreate(&stream));
    return stream;
}
CallPackets call_packets() {
    CallPackets packets{};
    table().call_packets(&packets);
    return packets;
}
QueueRecord queue_of(const void* stream) {
    QueueRecord record{};
    EXPECT_EQ(0, table().stream_queue(stream, &record));
    return record;
}
int launch(void* stream) {
    return hipModuleLaunchKernel(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr);
}
std::vector<const void*> sharing(const void* stream) {
    const QueueRecord queue = queue_of(stream);
    std::vector<const void*> streams(64);
    streams.resize(table().streams_of(queue.kfd_queue_id, queue.generation, streams.data(), 64));
    return streams;
}

TEST(Keys, the_null_stream_is_one_a_device) {
    ASSERT_EQ(0, hipSetDevice(0));
    const void* zero = table().stream_key(nullptr);
    EXPECT_EQ(zero, table().stream_key(legacy));
    EXPECT_EQ(zero, table().stream_key(zero));
    ASSERT_EQ(0, hipSetDevice(1));
    EXPECT_NE(zero, table().stream_key(nullptr));
    EXPECT_NE(0, hipSetDevice(99)); // the device stays
    EXPECT_NE(zero, table().stream_key(nullptr));
    std::thread([zero] { EXPECT_EQ(zero, table().stream_key(nullptr)); }).join();
    ASSERT_EQ(0, hipSetDevice(0));
    EXPECT_EQ(zero, table().stream_key(nullptr));
}

TEST(Keys, a_threads_own_stream_is_one_a_thread_and_device) {
    const void* mine = table().stream_key(per_thread);
    EXPECT_NE(mine, table().stream_key(nullptr));
    std::thread([mine] { EXPECT_NE(mine, table().stream_key(per_thread)); }).join();
    ASSERT_EQ(0, hipSetDevice(1));
    EXPECT_NE(mine, table().stream_key(per_thread));
    ASSERT_EQ(0, hipSetDevice(0));
    EXPECT_EQ(mine, table().stream_key(per_thread));
}

TEST(Keys, packets_of_the_default_streams_are_told_apart) {
    ASSERT_EQ(0, hipMemset(nullptr, 0, 4));
    ASSERT_EQ(0, hipMemsetAsync_spt(nullptr, 0, 4, nullptr)); // its null is the thread's own
    EXPECT_NE(queue_of(nullptr).kfd_queue_id, queue_of(per_thread).kfd_queue_id);
    const auto streams = sharing(per_thread);
    EXPECT_EQ(std::vector<const void*>{per_thread}, streams);
    EXPECT_EQ(std::vector<const void*>{nullptr}, sharing(nullptr));
}

TEST(Keys, a_threads_own_stream_ends_with_the_thread) {
    for (const int device : {1, 0}) {
        const void* key = nullptr;
        std::thread([&key, device] {
            ASSERT_EQ(0, hipSetDevice(device));
            ASSERT_EQ(0, hipMemsetAsync(nullptr, 0, 4, per_thread));
            key = table().stream_key(per_thread);
            QueueRecord record{};
            EXPECT_EQ(0, table().stream_queue(key, &record));
        }).join();
        QueueRecord record{};
        EXPECT_EQ(-ENOENT, table().stream_queue(key, &record)) << "device " << device;
    }
}

TEST(Streams, a_recycled_handle_is_a_new_stream) {
    void* stream = new_stream();
    ASSERT_EQ(0, launch(stream));
    EXPECT_GT(queue_of(stream).num_streams, 0U);
    fake_hip()->next_handle = stream; // destroyed behind our back: only the create tells
    ASSERT_EQ(stream, new_stream());
    QueueRecord record{};
    EXPECT_EQ(-ENOENT, table().stream_queue(stream, &record));
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

TEST(Streams, a_destroy_that_fails_changes_nothing) {
    void* stream = new_stream();
    ASSERT_EQ(0, launch(stream));
    fake_hip()->fail_destroy = true;
    EXPECT_NE(0, hipStreamDestroy(stream));
    fake_hip()->fail_destroy = false;
    EXPECT_GT(queue_of(stream).num_streams, 0U);
    EXPECT_EQ(0, hipStreamDestroy(stream));
    QueueRecord record{};
    EXPECT_EQ(-ENOENT, table().stream_queue(stream, &record));
}

TEST(Streams, one_that_moves_is_on_its_new_queue_with_the_first_packet) {
    void* stream = new_stream();
    ASSERT_EQ(0, launch(stream));
    const std::uint32_t before = queue_of(stream).kfd_queue_id;
    std::thread([stream] { EXPECT_EQ(0, launch(stream)); }).join(); // remembers the old queue
    fake_hip()->move = true;
    ASSERT_EQ(0, launch(stream));
    const std::uint32_t after = queue_of(stream).kfd_queue_id;
    EXPECT_NE(before, after);
    QueueRecord queues[8];
    EXPECT_EQ(1U, table().busy_queues(stream, queues, 8)); // it moved because it was idle
    EXPECT_EQ(after, queues[0].kfd_queue_id);
    EXPECT_EQ(1U, queues[0].num_streams);
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

TEST(Streams, waiting_for_the_null_stream_is_not_sharing_its_queue) {
    ASSERT_EQ(0, hipMemset(nullptr, 0, 4));
    void* stream = new_stream();
    fake_hip()->null_marker = true;
    ASSERT_EQ(0, launch(stream));
    const CallPackets packets = call_packets();
    fake_hip()->null_marker = false;
    EXPECT_NE(queue_of(nullptr).kfd_queue_id, queue_of(stream).kfd_queue_id);
    EXPECT_EQ(std::vector<const void*>{nullptr}, sharing(nullptr));
    QueueRecord queues[8];
    EXPECT_EQ(1U, table().busy_queues(stream, queues, 8));
    EXPECT_EQ(queue_of(stream).hsa_queue, packets.hsa_queue); // the last one's
    EXPECT_EQ(2U, packets.count);
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

TEST(Streams, a_graph_is_on_several_queues_until_it_is_waited_for) {
    void* stream = new_stream();
    ASSERT_EQ(0, launch(stream));
    QueueRecord queues[8];
    EXPECT_EQ(1U, table().busy_queues(stream, queues, 8));
    ASSERT_EQ(0, hipGraphLaunch(nullptr, stream));
    EXPECT_EQ(2U, table().busy_queues(stream, queues, 8));
    ASSERT_EQ(0, launch(stream)); // the graph may still run
    EXPECT_EQ(2U, table().busy_queues(stream, queues, 8));
    ASSERT_EQ(0, hipStreamSynchronize(stream));
    EXPECT_EQ(1U, table().busy_queues(stream, queues, 8));
    EXPECT_EQ(queue_of(stream).kfd_queue_id, queues[0].kfd_queue_id);
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

// Its branches' queues are the stream's in the sharing sets, and no other's.
TEST(Streams, a_graph_is_its_streams_on_every_queue) {
    void* stream = new_stream();
    void* other = new_stream();
    ASSERT_EQ(0, launch(stream));
    ASSERT_EQ(0, launch(other));
    const QueueRecord own = queue_of(stream);
    const QueueRecord others = queue_of(other);
    ASSERT_NE(own.kfd_queue_id, others.kfd_queue_id);
    PacketLog log{};
    table().log_packets(&log);
    ASSERT_EQ(0, hipGraphLaunch(nullptr, stream));
    const CallPackets packets = call_packets();
    table().log_packets(nullptr);
    EXPECT_EQ(1U, log.incomplete); // work in two queues isn't taken back

    QueueRecord queues[8];
    ASSERT_EQ(2U, table().busy_queues(stream, queues, 8));
    const QueueRecord& branch = queues[0].kfd_queue_id == own.kfd_queue_id ? queues[1] : queues[0];
    EXPECT_NE(others.kfd_queue_id, branch.kfd_queue_id);
    EXPECT_EQ(1U, branch.num_streams);
    const void* on_branch[2] = {};
    ASSERT_EQ(1U, table().streams_of(branch.kfd_queue_id, branch.generation, on_branch, 2));
    EXPECT_EQ(stream, on_branch[0]);
    EXPECT_EQ(1U, table().busy_queues(other, queues, 8));
    EXPECT_EQ(others.kfd_queue_id, queues[0].kfd_queue_id);

    // It ends on the queue that it began on.
    EXPECT_EQ(own.kfd_queue_id, queue_of(stream).kfd_queue_id);
    EXPECT_EQ(own.hsa_queue, packets.hsa_queue);
    ASSERT_EQ(0, launch(other)); // the next launch is no graph
    EXPECT_EQ(others.hsa_queue, call_packets().hsa_queue);
    EXPECT_EQ(2U, table().busy_queues(stream, queues, 8));
    EXPECT_EQ(0, hipStreamDestroy(stream));
    EXPECT_EQ(0, hipStreamDestroy(other));
}

TEST(Launches, the_packets_of_the_threads_last_call_are_counted) {
    std::thread([] {
        EXPECT_EQ(0U, call_packets().count);
        void* stream = new_stream();
        ASSERT_EQ(0, launch(stream));
        EXPECT_EQ(fake_hip()->packets_a_launch, call_packets().count);
        EXPECT_EQ(queue_of(stream).hsa_queue, call_packets().hsa_queue);
        fake_hip()->capturing = true;
        ASSERT_EQ(0, launch(stream));
        fake_hip()->capturing = false;
        EXPECT_EQ(0U, call_packets().count);
        EXPECT_EQ(0, hipStreamDestroy(stream));
    }).join();
}

std::string object_of(void* function) {
    Dl_info info{};
    return dladdr(function, &info) != 0 ? info.dli_fname : "";
}

TEST(Lookup, of_a_runtimes_function_gives_the_interposer) {
    void* runtime = dlopen("libamdhip64.so.6", RTLD_LAZY | RTLD_NOLOAD);
    ASSERT_NE(nullptr, runtime);
    for (const char* name : {"hipMemsetAsync", "hipModuleLaunchKernel", "hipStreamDestroy",
                             "hsa_queue_add_write_index_screlease"})
        EXPECT_NE(std::string::npos, object_of(dlsym(runtime, name)).find("xpreempt-hook")) << name;
    EXPECT_NE(std::string::npos, object_of(dlsym(runtime, "hipMalloc")).find("amdhip64"));
    // Not what the runtime doesn't have.
    EXPECT_EQ(nullptr, dlsym(runtime, "hipLaunchCooperativeKernel"));
    EXPECT_NE(std::string::npos, std::string(dlerror()).find("hipLaunchCooperativeKernel"));
    dlclose(runtime);
}

TEST(Lookup, by_the_programs_order_depends_on_its_caller_as_ever) {
    // The next after this program is the hook, not what is behind the hook.
    EXPECT_NE(std::string::npos,
              object_of(dlsym(RTLD_NEXT, "hipMemsetAsync")).find("xpreempt-hook"));
    EXPECT_NE(std::string::npos,
              object_of(dlsym(RTLD_DEFAULT, "hipMemsetAsync")).find("xpreempt-hook"));
    EXPECT_EQ(nullptr, dlsym(RTLD_DEFAULT, "no_such_function"));
}

TEST(Files, copies_of_a_descriptor_of_kfd_are_kfd) {
    const int fd = open("/dev/kfd", O_RDWR | O_CLOEXEC);
    ASSERT_GE(fd, 0);
    const int copies[] = {fcntl(fd, F_DUPFD, 0), fcntl(fd, F_DUPFD_CLOEXEC, 100), dup(fd)};
    for (const int copy : copies) {
        xpreempt::kfd::CreateQueueArgs args{};
        ASSERT_EQ(0, ioctl(copy, _IOWR('K', xpreempt::kfd::nr_create_queue, args), &args));
        QueueRecord records[512];
        const std::uint32_t count = table().queues(records, 512);
        const auto is_new = [&](const QueueRecord& record) {
            return record.kfd_queue_id == args.queue_id && record.fd == copy;
        };
        EXPECT_EQ(1, std::count_if(records, records + count, is_new));
        // The queue outlives the descriptor that created it.
        EXPECT_EQ(0, copy == copies[0]
                         ? close_range(static_cast<unsigned>(copy), static_cast<unsigned>(copy), 0)
                         : close(copy));
        EXPECT_EQ(count, table().queues(records, 512));
        EXPECT_EQ(0, std::count_if(records, records + count, is_new));
    }
    EXPECT_EQ(0, fcntl(fd, F_SETFD, 0)); // other commands pass
    close(fd);
}

RingRecord ring_of(const QueueRecord& queue) {
    RingRecord rings[512];
    const std::uint32_t count = table().rings(rings, 512);
    for (std::uint32_t i = 0; i < count; ++i)
        if (rings[i].kfd_queue_id == queue.kfd_queue_id && rings[i].generation == queue.generation)
            return rings[i];
    ADD_FAILURE() << "no ring of queue " << queue.kfd_queue_id;
    return {};
}

// Unused memory and queues, made by ioctls of the test.
class VramTest : public ::testing::Test {
protected:
    using AllocateMemoryArgs = xpreempt::kfd::AllocateMemoryArgs;
    static constexpr std::uint32_t vram = 1, gtt = 2;
    static constexpr std::uint64_t block = 0x7f0000000000;

    VramTest() : fd_(open("/dev/kfd", O_RDWR | O_CLOEXEC)) {}
    ~VramTest() override {
        for (const std::uint32_t id : queues_) {
            xpreempt::kfd::DestroyQueueArgs args{id, 0};
            EXPECT_EQ(0, ioctl(fd_, _IOWR('K', xpreempt::kfd::nr_destroy_queue, args), &args));
        }
        close(fd_);
    }
    [[nodiscard]] std::uint64_t allocate(std::uint64_t address, std::uint64_t bytes,
                                         std::uint32_t flags) const {
        AllocateMemoryArgs args{address, bytes, 0, 0, 77, flags};
        EXPECT_EQ(0, ioctl(fd_, _IOWR('K', xpreempt::kfd::nr_allocate_memory, args), &args));
        return args.handle;
    }
    [[nodiscard]] int free(std::uint64_t handle) const {
        xpreempt::kfd::FreeMemoryArgs args{handle};
        return ioctl(fd_, _IOW('K', xpreempt::kfd::nr_free_memory, args), &args);
    }
    RingRecord queue_at(std::uint64_t ring_base) {
        xpreempt::kfd::CreateQueueArgs args{};
        args.ring_base = ring_base;
        args.ring_bytes = 65536;
        EXPECT_EQ(0, ioctl(fd_, _IOWR('K', xpreempt::kfd::nr_create_queue, args), &args));
        queues_.push_back(args.queue_id);
        return latest(args.queue_id);
    }
    [[nodiscard]] static RingRecord latest(std::uint32_t id) {
        RingRecord rings[512];
        const std::uint32_t count = table().rings(rings, 512);
        for (std::uint32_t i = 0; i < count; ++i)
            if (rings[i].kfd_queue_id == id)
                return rings[i];
        return {};
    }
    int fd_;
    std::vector<std::uint32_t> queues_;
};

TEST_F(VramTest, a_ring_inside_an_allocation_of_vram) {
    const std::uint64_t handle = allocate(block, 1 << 21, vram);
    EXPECT_EQ(1U, queue_at(block).in_vram);
    EXPECT_EQ(1U, queue_at(block + (1 << 20)).in_vram);
    EXPECT_EQ(1U, queue_at(block + (1 << 21) - 4096).in_vram); // its beginning alone
    EXPECT_EQ(0U, queue_at(block + (1 << 21)).in_vram);
    EXPECT_EQ(0U, queue_at(block - 65536).in_vram);
    EXPECT_EQ(0, free(handle));
}

TEST_F(VramTest, the_same_address_in_system_memory_afterwards) {
    const std::uint64_t handle = allocate(block, 1 << 21, vram);
    EXPECT_EQ(0, free(handle));
    EXPECT_EQ(0U, queue_at(block).in_vram);
    const std::uint64_t system = allocate(block, 1 << 21, gtt);
    EXPECT_EQ(0U, queue_at(block).in_vram);
    EXPECT_EQ(0, free(system));
}

TEST_F(VramTest, a_free_that_fails_frees_nothing) {
    const std::uint64_t handle = allocate(block, 1 << 21, vram);
    fake_driver()->fail_free = true;
    EXPECT_NE(0, free(handle));
    fake_driver()->fail_free = false;
    EXPECT_EQ(1U, queue_at(block).in_vram);
    EXPECT_EQ(0, free(handle));
    EXPECT_EQ(0U, queue_at(block).in_vram);
}

TEST_F(VramTest, a_ring_that_update_queue_moves) {
    const std::uint64_t handle = allocate(block, 1 << 21, vram);
    const RingRecord before = queue_at(block + (1 << 21));
    xpreempt::kfd::UpdateQueueArgs args{block, before.kfd_queue_id, 65536, 100, 7};
    ASSERT_EQ(0, ioctl(fd_, _IOW('K', xpreempt::kfd::nr_update_queue, args), &args));
    EXPECT_EQ(1U, latest(before.kfd_queue_id).in_vram);
    EXPECT_EQ(0, free(handle));
}

// As many as a program has that maps 16 GiB in pieces of 2 MiB, freed in another order.
TEST_F(VramTest, many_allocations) {
    constexpr std::uint64_t count = 8192, piece = 1 << 21;
    std::vector<std::uint64_t> handles;
    for (std::uint64_t i = 0; i < count; ++i)
        handles.push_back(allocate(block + i * piece, piece, vram));
    for (std::uint64_t i = 0; i < count; i += 3)
        EXPECT_EQ(0, free(handles[i]));
    for (std::uint64_t i = 0; i < 12; ++i)
        EXPECT_EQ(i % 3 == 0 ? 0U : 1U, queue_at(block + (700 * 3 + i) * piece).in_vram) << i;
    for (std::uint64_t i = 0; i < count; ++i)
        if (i % 3 != 0) {
            EXPECT_EQ(0, free(handles[i]));
        }
    EXPECT_EQ(0U, queue_at(block + piece).in_vram);
}

TEST(Seen, a_packet_that_a_hip_call_brings) {
    for (const fake::Seam seam : {fake::Seam::add, fake::Seam::store, fake::Seam::doorbell}) {
        fake_hip()->seam = seam;
        fake_hip()->move = true;
        void* stream = new_stream();
        ASSERT_EQ(0, launch(stream));
        const RingRecord ring = ring_of(queue_of(stream));
        EXPECT_EQ(1U, ring.seen) << static_cast<int>(seam);
        EXPECT_EQ(1U, ring.in_hip_call) << static_cast<int>(seam);
        EXPECT_EQ(0, hipStreamDestroy(stream));
    }
    fake_hip()->seam = fake::Seam::add;
}

// The newest of the table's queues: nothing else names one that no stream was seen with.
QueueRecord newest_queue() {
    QueueRecord queues[512];
    const std::uint32_t count = table().queues(queues, 512);
    return *std::max_element(
        queues, queues + count,
        [](const QueueRecord& a, const QueueRecord& b) { return a.generation < b.generation; });
}

TEST(Seen, nothing_when_index_and_doorbell_are_stored_directly) {
    fake_hip()->seam = fake::Seam::direct;
    fake_hip()->move = true;
    void* stream = new_stream();
    ASSERT_EQ(0, launch(stream));
    fake_hip()->seam = fake::Seam::add;
    const QueueRecord queue = newest_queue();
    EXPECT_EQ(0U, ring_of(queue).seen);
    ASSERT_EQ(0, launch(stream));
    EXPECT_EQ(queue.kfd_queue_id, queue_of(stream).kfd_queue_id);
    EXPECT_EQ(1U, ring_of(queue).seen);
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

// By a program that uses HSA itself, or by a HIP whose calls aren't interposed.
TEST(Seen, packets_outside_of_hip_calls_are_no_streams) {
    void* stream = new_stream();
    fake_hip()->seam = fake::Seam::direct;
    fake_hip()->move = true;
    ASSERT_EQ(0, launch(stream));
    fake_hip()->seam = fake::Seam::add;
    const QueueRecord queue = newest_queue();
    struct {
        std::int64_t kind = -1;
        std::uint64_t others[5]{};
        std::uint64_t queue = 0;
    } doorbell;
    doorbell.queue = queue.hsa_queue;
    hsa_signal_store_screlease(reinterpret_cast<std::uintptr_t>(&doorbell), 1);
    EXPECT_EQ(1U, ring_of(queue).seen);
    EXPECT_EQ(0U, ring_of(queue).in_hip_call);
    hsa_queue_add_write_index_screlease(reinterpret_cast<const void*>(queue.hsa_queue), 1);
    EXPECT_EQ(0U, ring_of(queue).in_hip_call);
    ASSERT_EQ(0, launch(stream));
    EXPECT_EQ(1U, ring_of(queue).in_hip_call);
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

struct Shown {
    std::string name;
    CallClass call_class;
    const void* stream;
    const void* event;
};
std::vector<Shown> shown;
std::vector<int> told;

void before(const Call* call) {
    shown.push_back({call->name, call->call_class, call->stream, call->event});
    // Not shown to us again.
    EXPECT_EQ(0, hipMemsetAsync(nullptr, 0, 4, const_cast<void*>(call->stream)));
}
void after(const Call*, int error) {
    told.push_back(error);
}

class GateTest : public ::testing::Test {
protected:
    void install(std::initializer_list<CallClass> classes) {
        gate_ = Gate{sizeof(Gate), 0, 0, before, after};
        for (const CallClass one : classes)
            gate_.classes |= std::uint64_t{1} << static_cast<unsigned>(one);
        shown.clear();
        told.clear();
        table().set_gate(&gate_);
    }
    ~GateTest() override { table().set_gate(nullptr); }
    Gate gate_{};
};

TEST_F(GateTest, shows_the_classes_that_it_wants_with_stream_and_event) {
    void* stream = new_stream();
    void* event = nullptr;
    ASSERT_EQ(0, hipEventCreateWithFlags(&event, 0));
    install({CallClass::launch, CallClass::event_record, CallClass::stream_destroy});
    ASSERT_EQ(0, launch(stream));
    ASSERT_EQ(0, hipEventRecord(event, stream));
    ASSERT_EQ(0, hipStreamSynchronize(stream)); // not wanted
    ASSERT_EQ(2U, shown.size());
    EXPECT_EQ("hipModuleLaunchKernel", shown[0].name);
    EXPECT_EQ(CallClass::launch, shown[0].call_class);
    EXPECT_EQ(stream, shown[0].stream);
    EXPECT_EQ(nullptr, shown[0].event);
    EXPECT_EQ("hipEventRecord", shown[1].name);
    EXPECT_EQ(event, shown[1].event);
    EXPECT_EQ((std::vector<int>{0, 0}), told);
    ASSERT_EQ(0, hipStreamDestroy(stream));
    EXPECT_EQ(3U, shown.size());
    EXPECT_EQ(0, hipEventDestroy(event));
}

// Two copies of the library in one process, as a wheel and the system may bring them.
TEST_F(GateTest, stays_that_of_the_library_that_came_first) {
    void* stream = new_stream();
    install({CallClass::launch});
    static int calls_of_second = 0;
    const Gate second{sizeof(Gate), 0, ~std::uint64_t{0}, [](const Call*) { ++calls_of_second; },
                      nullptr};
    testing::internal::CaptureStderr();
    table().set_gate(&second);
    table().set_gate(&second);
    const std::string reported = testing::internal::GetCapturedStderr();
    EXPECT_EQ(1, std::ranges::count(reported, '\n')) << reported;
    EXPECT_NE(std::string::npos, reported.find("two copies of libxpreempt"));
    ASSERT_EQ(0, launch(stream));
    EXPECT_EQ(1U, shown.size());
    EXPECT_EQ(0, calls_of_second);
    EXPECT_EQ(0, hipStreamDestroy(stream));
}

// As CPython's subprocess does: the child has this memory and files of its own.
TEST(Files, a_vfork_child_that_closes_its_files_closes_none_of_ours) {
    void* stream = new_stream();
    ASSERT_EQ(0, launch(stream));
    const QueueRecord before = queue_of(stream);
    ASSERT_LE(0, before.fd);
    // NOLINTNEXTLINE(*fork,bugprone-unsafe-functions): it is tested here, as are its calls
    const pid_t child = vfork();
    if (child == 0) {
        for (int fd = 3; fd < 64; ++fd) // NOLINT(*fork)
            close(fd);
        _exit(dup2(1, before.fd) == before.fd && open("/dev/null", O_RDONLY) >= 0 ? 0 : 1);
    }
    int status = 0;
    ASSERT_EQ(child, waitpid(child, &status, 0));
    EXPECT_EQ(0, status);
    EXPECT_EQ(before.fd, queue_of(stream).fd);
    // It still is known as a file of KFD's: closing it is noticed.
    const int copy = dup(before.fd);
    ASSERT_EQ(0, close(before.fd));
    EXPECT_EQ(-1, queue_of(stream).fd);
    ASSERT_EQ(before.fd, dup2(copy, before.fd));
    close(copy);
}

// The reservation is a private matter of newer HIPs, and the doorbell the last that is seen of it.
TEST(Seam, a_stream_is_mapped_by_whatever_tells_of_its_packets) {
    for (const fake::Seam seam : {fake::Seam::add, fake::Seam::store, fake::Seam::doorbell}) {
        fake_hip()->seam = seam;
        fake_hip()->packets_a_launch = seam == fake::Seam::doorbell ? 1 : 3;
        void* stream = new_stream();
        QueueRecord record{};
        EXPECT_EQ(-ENOENT, table().stream_queue(stream, &record));
        ASSERT_EQ(0, launch(stream));
        ASSERT_EQ(0, table().stream_queue(stream, &record));
        PacketLog log{};
        table().log_packets(&log);
        ASSERT_EQ(0, launch(stream));
        ASSERT_EQ(0, launch(stream));
        table().log_packets(nullptr);
        EXPECT_EQ(record.hsa_queue, log.hsa_queue);
        ASSERT_EQ(2 * fake_hip()->packets_a_launch, log.num_packets);
        for (std::uint32_t i = 1; i < log.num_packets; ++i)
            EXPECT_EQ(log.packets[0] + i, log.packets[i]);
    }
}

} // namespace
