// SPDX-License-Identifier: MIT
// Streams of a test, kernels that show whether they run, and holds that show what a queue stops.
#pragma once

#include <xpreempt/xpreempt.h>

#include <hip/hip_runtime.h>

#include <algorithm>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <sched.h>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace mapping {

inline int failures = 0;

inline void check(bool good, const std::string& what) {
    if (good)
        return;
    std::printf("# FAILED: %s\n", what.c_str());
    ++failures;
}

inline void must(int error, const char* call) {
    if (error == 0)
        return;
    std::printf("# %s: %d %s\n", call, error, xp_last_detail());
    std::exit(1);
}

// Runs what it is given, one after the other, in a thread that stays the same.
class Thread {
public:
    Thread() : thread_([this] { loop(); }) {}
    ~Thread() {
        run(nullptr);
        thread_.join();
    }
    void run(const std::function<void()>& work) {
        std::unique_lock lock(mutex_);
        work_ = work ? work : [this] { ends_ = true; };
        changed_.notify_all();
        changed_.wait(lock, [this] { return !work_; });
    }

private:
    void loop() {
        std::unique_lock lock(mutex_);
        while (!ends_) {
            changed_.wait(lock, [this] { return static_cast<bool>(work_); });
            work_();
            work_ = nullptr;
            changed_.notify_all();
        }
    }
    std::mutex mutex_;
    std::condition_variable changed_;
    std::function<void()> work_;
    bool ends_ = false;
    std::thread thread_;
};

struct Subject {
    std::string name;
    hipStream_t stream;
    Thread* thread = nullptr; // whose stream it is; null: the main thread's
    int number = -1;          // of its word

    void in_thread(const std::function<void()>& work) const {
        thread != nullptr ? thread->run(work) : work();
    }
};

inline xp_stream_info query(const Subject& subject) {
    xp_stream_info info{};
    info.sz = sizeof info;
    subject.in_thread([&] { must(xp_stream_query(subject.stream, &info), "xp_stream_query"); });
    return info;
}

inline bool is_mapped(const Subject& subject) {
    xp_stream_info info{};
    info.sz = sizeof info;
    return xp_stream_query(subject.stream, &info) == 0;
}

__global__ void set_word(volatile unsigned* word, unsigned value) {
    *word = value;
    __threadfence_system();
}

// A page that kernels write and the host sees without a call of HIP.
inline unsigned* host_words() {
    void* memory = nullptr;
    must(hipHostMalloc(&memory, 4096, 0), "hipHostMalloc");
    std::memset(memory, 0, 4096);
    return static_cast<unsigned*>(memory);
}

// One word a stream.
class Words {
public:
    unsigned launch(Subject& subject) {
        if (subject.number < 0)
            subject.number = next_++;
        const unsigned value = ++value_;
        subject.in_thread([&] {
            set_word<<<dim3(1), dim3(1), 0, subject.stream>>>(
                const_cast<unsigned*>(words_) + subject.number, value);
            must(hipGetLastError(), "launch");
        });
        return value;
    }
    bool arrived(const Subject& subject, unsigned value) const {
        return words_[subject.number] == value;
    }
    void wait(const Subject& subject, unsigned value) const {
        while (!arrived(subject, value))
            sched_yield();
    }

private:
    volatile unsigned* words_ = host_words();
    int next_ = 0;
    unsigned value_ = 0;
};

inline Words& words() {
    static Words all;
    return all;
}

inline void use(Subject& subject) {
    words().wait(subject, words().launch(subject));
}
inline void use(std::vector<Subject>& subjects) {
    for (Subject& subject : subjects)
        use(subject);
}

inline std::size_t distinct_queues(const std::vector<Subject>& subjects) {
    std::set<std::uint32_t> queues;
    for (const Subject& subject : subjects)
        queues.insert(query(subject).kfd_queue_id);
    return queues.size();
}

// A stream that is on none of the case's queues: by its priority, which has a pool of its own.
inline Subject& witness_beside(std::uint32_t kfd_queue_id) {
    static std::vector<Subject> candidates;
    if (candidates.empty()) {
        int range[2] = {0, 0};
        must(hipDeviceGetStreamPriorityRange(&range[0], &range[1]),
             "hipDeviceGetStreamPriorityRange");
        for (const int priority : range) {
            hipStream_t stream = nullptr;
            must(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, priority),
                 "hipStreamCreateWithPriority");
            candidates.push_back({"witness", stream});
        }
        use(candidates);
    }
    for (Subject& candidate : candidates)
        if (query(candidate).kfd_queue_id != kfd_queue_id)
            return candidate;
    must(-1, "a stream beside the held queue");
    return candidates[0];
}

// may_be_more: the sharing set tells who was ever there.
enum class Sharing { exact, may_be_more };

// Returns true if the library's sharing set of the holder's stream contains the other stream.
inline bool names(const Subject& holder, const Subject& other) {
    void* sharing[64];
    std::size_t count = 0;
    holder.in_thread(
        [&] { must(xp_stream_sharing(holder.stream, sharing, 64, &count), "xp_stream_sharing"); });
    return std::find(sharing, sharing + std::min<std::size_t>(count, 64), other.stream) !=
           sharing + std::min<std::size_t>(count, 64);
}

// Holds the queue of one stream and gives every stream a kernel. Those that are on that queue by
// the library's word stand still while all others run.
inline void verify_queue(std::vector<Subject>& subjects, Subject& holder, Sharing sharing) {
    const xp_stream_info held = query(holder);
    Subject& witness = witness_beside(held.kfd_queue_id);
    // Let HIP see all work complete: blocking streams wait for the rest by a packet in its queue.
    must(hipDeviceSynchronize(), "hipDeviceSynchronize");
    must(xp_stream_hold(holder.stream, XP_HOLD_LEAST(XP_LEVEL_INTERRUPT) | XP_HOLD_SHARED, nullptr),
         "xp_stream_hold");
    // Streams of other queues first: what is launched on a blocking stream afterwards may wait for
    // what stands still on another.
    std::vector<unsigned> values(subjects.size());
    for (int pass = 0; pass < 2; ++pass)
        for (std::size_t i = 0; i < subjects.size(); ++i) {
            Subject& subject = subjects[i];
            const bool same = query(subject).kfd_queue_id == held.kfd_queue_id;
            if (values[i] != 0 || (pass == 0 && same))
                continue;
            values[i] = words().launch(subject);
            // It may have moved with this very packet.
            if (query(subject).kfd_queue_id != held.kfd_queue_id)
                words().wait(subject, values[i]);
        }
    use(witness);
    use(witness);
    std::size_t stopped = 0;
    for (std::size_t i = 0; i < subjects.size(); ++i) {
        const Subject& subject = subjects[i];
        const bool same = query(subject).kfd_queue_id == held.kfd_queue_id;
        stopped += same ? 1 : 0;
        check(words().arrived(subject, values[i]) != same,
              subject.name + (same ? " runs although its queue is held" : " does not run"));
        const bool named = names(holder, subject) || subject.stream == holder.stream;
        if (subject.thread == holder.thread)
            check(sharing == Sharing::exact ? named == same : named || !same,
                  subject.name + (named ? " is named" : " is not named") +
                      " in the sharing set of " + holder.name);
    }
    check(stopped > 0, "the holder itself stops");
    must(xp_stream_release(holder.stream), "xp_stream_release");
    for (std::size_t i = 0; i < subjects.size(); ++i)
        words().wait(subjects[i], values[i]);
}

inline void verify(std::vector<Subject>& subjects, Sharing sharing = Sharing::exact) {
    std::set<std::uint32_t> done;
    for (Subject& subject : subjects) {
        use(subject);
        // The library holds no thread's own stream.
        if (subject.stream != hipStreamPerThread && done.insert(query(subject).kfd_queue_id).second)
            verify_queue(subjects, subject, sharing);
    }
    std::printf("# held %zu queues, each stopped its streams and no other\n", done.size());
}

__global__ void beat(volatile unsigned* count, volatile unsigned* end) {
    while (*end == 0) {
        *count = *count + 1;
        __threadfence_system();
    }
}

// Kernels of a graph that count until they are told to end.
class Beats {
public:
    explicit Beats(int count) : count_(count), arguments_(count) {}
    void add_node(hipGraph_t graph, int number) {
        hipKernelNodeParams node{};
        node.func = reinterpret_cast<void*>(beat);
        node.gridDim = node.blockDim = dim3(1);
        node.kernelParams = arguments_of(number);
        hipGraphNode_t added = nullptr;
        must(hipGraphAddKernelNode(&added, graph, nullptr, 0, &node), "hipGraphAddKernelNode");
    }
    void launch(int number, hipStream_t stream) {
        must(hipLaunchKernel(reinterpret_cast<void*>(beat), dim3(1), dim3(1), arguments_of(number),
                             0, stream),
             "hipLaunchKernel");
    }
    std::vector<unsigned> all() const {
        std::vector<unsigned> counts;
        for (int i = 0; i < count_; ++i)
            counts.push_back(unsigned{words_[16 * (i + 1)]});
        return counts;
    }
    void wait_for_another(int number) const {
        const unsigned seen = words_[16 * (number + 1)];
        while (words_[16 * (number + 1)] == seen)
            sched_yield();
    }
    void stop() { words_[0] = 1; }

private:
    struct Arguments {
        unsigned* count;
        unsigned* end;
        void* pointers[2];
    };
    void** arguments_of(int number) {
        Arguments& arguments = arguments_[number];
        arguments = {
            const_cast<unsigned*>(words_) + 16 * (number + 1), const_cast<unsigned*>(words_), {}};
        arguments.pointers[0] = &arguments.count;
        arguments.pointers[1] = &arguments.end;
        return arguments.pointers;
    }
    int count_;
    std::vector<Arguments> arguments_;
    volatile unsigned* words_ = host_words();
};

} // namespace mapping
