// SPDX-License-Identifier: MIT
// Stage submissions: packets that a program submits while its queue is held.
#include "bench.hpp"
#include "missed_packets.hpp"

#include <fmt/format.h>

namespace verify {

namespace {

constexpr unsigned held_ms = 20; // how long a held queue is watched

// A signal that a barrier packet counts down, in memory that the GPU sees.
class Signal {
public:
    static tl::expected<std::unique_ptr<Signal>, std::string> create(Gpu& gpu) {
        std::unique_ptr<Signal> signal(new Signal(gpu));
        if (const int error = kfd_buffer_alloc(gpu.device(), KFD_IN_SYSTEM, 4096, &signal->buffer_);
            error != 0)
            return tl::make_unexpected("cannot allocate memory for a signal: " + text_of(error));
        return signal;
    }
    ~Signal() {
        if (buffer_.addr != nullptr)
            kfd_buffer_free(gpu_.device(), &buffer_);
    }
    Signal(const Signal&) = delete;
    Signal& operator=(const Signal&) = delete;

    aql_signal* get() { return static_cast<aql_signal*>(buffer_.addr); }
    bool done_within(unsigned ms) { return aql_signal_wait(get(), ms); }
    void raise() { get()->value = 1; }

private:
    explicit Signal(Gpu& gpu) : gpu_(gpu) {}
    Gpu& gpu_;
    kfd_buffer buffer_{};
};

// The driver looks at a resumed queue for 50 ms, and maps it once more if it has missed a packet.
void report_missed(const MissedPackets& missed, unsigned rounds, Checks& checks) {
    if (!missed.missing().empty())
        return checks.note("whether the GPU missed packets is not known: " + missed.missing());
    const unsigned count = missed.count();
    checks.data["missed"] = count;
    checks.note(count == 0
                    ? "the GPU saw all of them when it mapped the queue"
                    : fmt::format("the GPU missed {} of {} when it mapped the queue, and the "
                                  "driver mapped it once more (kfd_preempt_missed)",
                                  count, rounds));
}

// Whether a doorbell that is rung once more makes the queue look at its packets.
std::string why_it_stands(Queue& queue, Signal& signal) {
    aql_queue& aql = *queue.get();
    *aql.doorbell = *aql.write_index - 1;
    return signal.done_within(patience_ms)
               ? "it starts when the doorbell is rung again: the GPU lost the first one"
               : "nor when the doorbell is rung again";
}

bool submit_while_held(Gpu& gpu, Queue& queue, Signal& signal, Checks& checks) {
    const std::vector<std::uint32_t> id{queue.id()};
    Entries stops = stops_of(id), resumes = resumes_of(id);
    if (const auto stopped = send(gpu.fd(), 0, 0, stops); !stopped)
        return checks.check(false, "stop", stopped.error());
    signal.raise();
    aql_queue_barrier(queue.get(), signal.get());
    const bool early = signal.done_within(held_ms);
    if (const auto resumed = send(gpu.fd(), 0, 0, resumes); !resumed)
        return checks.check(false, "resume", resumed.error());
    if (early)
        return checks.check(false, "a packet submitted to a held queue waits", "it was executed");
    return signal.done_within(patience_ms) ||
           checks.check(false, "a packet submitted to a held queue starts after the resume",
                        fmt::format("not within {} s; {}", patience_ms / 1000,
                                    why_it_stands(queue, signal)));
}

} // namespace

void run_submissions(Bench& bench, Checks& checks) {
    const unsigned rounds = bench.options().rounds;
    const auto signal = Signal::create(bench.gpu());
    if (!signal)
        return (void)checks.check(false, "a signal is allocated", signal.error());
    // Goes first: what it still runs uses the signal.
    const auto queue = Queue::create(bench.gpu());
    if (!queue)
        return (void)checks.check(false, "a queue is created", queue.error());
    const MissedPackets missed;
    unsigned done = 0;
    while (done < rounds && submit_while_held(bench.gpu(), **queue, **signal, checks))
        ++done;
    checks.check(done == rounds,
                 fmt::format("{} of {} packets submitted to a held queue wait, and start after the "
                             "resume without another doorbell",
                             done, rounds));
    report_missed(missed, rounds, checks);
}

} // namespace verify
