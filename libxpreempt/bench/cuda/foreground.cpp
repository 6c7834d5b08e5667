// SPDX-License-Identifier: MIT
// Foreground requests beside background streams, with priorities by the scheduler or by the GPU.
#include "host_clock.hpp"
#include "parts.hpp"
#include "settings.hpp"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <random>
#include <stdexcept>
#include <thread>
#include <vector>

namespace cuda {

namespace {

constexpr int foreground_priority = 10;
constexpr int warm_up_requests = 4; // the driver loads a kernel at its first launch
constexpr double longest_lag = 5;   // windows until the backgrounds stop

struct Request {
    double arrival_us; // from the begin of the window
    std::vector<double> kernels_us;

    // Measured.
    std::uint64_t ticket = 0;
    std::uint32_t last_kernel = 0;
    Handle event = nullptr; // of a direct lane: its end
    double returned_us = 0; // from the wait
};

// Poisson arrivals; the same for each system of a repetition.
std::vector<Request> make_requests(const RequestShape& shape, double window_us,
                                   std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> kernel_us(shape.least_us, shape.most_us);
    const double request_us = shape.kernels * (shape.least_us + shape.most_us) / 2;
    std::exponential_distribution<double> gap(foreground_load / request_us);
    std::vector<Request> requests;
    for (double time = gap(random); time < window_us || requests.empty(); time += gap(random)) {
        Request request{.arrival_us = std::min(time, window_us), .kernels_us = {}};
        for (unsigned i = 0; i < shape.kernels; ++i)
            request.kernels_us.push_back(kernel_us(random));
        requests.push_back(std::move(request));
    }
    return requests;
}

// Background lanes that always have work.
class Background {
public:
    Background(const Measurement& with, const Company& company) : kernel_us_(company.kernel_us) {
        for (unsigned i = 0; i < company.streams; ++i)
            lanes_.push_back(std::make_unique<StampedLane>(
                with.device, with.system, company.kernel_us, true,
                with.system.by_priority ? with.device.least_priority() : 0));
    }
    ~Background() { stop(); }
    Background(const Background&) = delete;
    Background& operator=(const Background&) = delete;
    Background(Background&&) = delete;
    Background& operator=(Background&&) = delete;

    void start() {
        if (!lanes_.empty())
            thread_ = std::thread([this] { feed(); });
    }
    void stop() {
        stopping_ = true;
        if (!thread_.joinable())
            return;
        thread_.join();
        for (const auto& stamped : lanes_)
            if (stamped->lane().paced())
                stamped->lane().drop();
    }
    [[nodiscard]] double finished() const {
        double count = 0;
        for (const auto& stamped : lanes_)
            count += stamped->finished();
        return count;
    }

private:
    void feed() {
        while (!stopping_) {
            for (const auto& stamped : lanes_)
                while (stamped->submitted() - stamped->finished() < queued)
                    (void)stamped->submit(kernel_us_);
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        }
    }

    static constexpr std::uint32_t queued = 64;
    const double kernel_us_;
    std::vector<std::unique_ptr<StampedLane>> lanes_;
    std::atomic<bool> stopping_{false};
    std::thread thread_;
};

// Waits for each request in order, beside the thread that submits them.
class Waiter {
public:
    Waiter(const Device& device, StampedLane& foreground, std::vector<Request>& requests)
        : device_(device), foreground_(foreground), requests_(requests),
          thread_([this] { wait_for_all(); }) {}

    void submitted() {
        {
            const std::lock_guard lock(mutex_);
            ++submitted_;
        }
        changed_.notify_one();
    }
    [[nodiscard]] bool done() const { return done_; }
    void join() { thread_.join(); }

private:
    void wait_for_all() {
        device_.make_current();
        for (std::size_t i = 0; i < requests_.size(); ++i) {
            {
                std::unique_lock lock(mutex_);
                changed_.wait(lock, [&] { return submitted_ > i; });
            }
            Request& request = requests_[i];
            if (request.event != nullptr)
                device_.check("cuEventSynchronize",
                              device_.driver().event_synchronize(request.event));
            else
                foreground_.lane().wait(request.ticket);
            request.returned_us = now_us();
        }
        done_ = true;
    }

    const Device& device_;
    StampedLane& foreground_;
    std::vector<Request>& requests_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::size_t submitted_ = 0;
    std::atomic<bool> done_{false};
    std::thread thread_; // last: it uses the others
};

void submit(const Device& device, StampedLane& foreground, Request& request) {
    for (const double kernel_us : request.kernels_us)
        request.ticket = foreground.submit(kernel_us);
    request.last_kernel = foreground.submitted();
    if (request.event != nullptr)
        device.check("cuEventRecord",
                     device.driver().event_record(request.event, foreground.lane().stream()));
}

void create_events(const Device& device, std::vector<Request>& requests) {
    constexpr unsigned disable_timing = 0x2;
    for (Request& request : requests)
        device.check("cuEventCreate", device.driver().event_create(&request.event, disable_timing));
}

void measure(const Measurement& with, GpuClock& clock, const RequestShape& shape,
             const Company& company) {
    const Device& device = with.device;
    const double window_us = with.amounts.window_ms * 1e3;
    const double kernel_us = (shape.least_us + shape.most_us) / 2;
    std::vector<Request> requests = make_requests(shape, window_us, with.seed);
    StampedLane foreground(device, with.system, kernel_us, true,
                           with.system.by_priority ? device.greatest_priority() : 0);
    if (with.system.paced)
        foreground.lane().set_priority(foreground_priority);
    else
        create_events(device, requests);
    for (int i = 0; i < warm_up_requests; ++i)
        (void)foreground.submit(kernel_us);
    foreground.lane().wait_all();
    Background background(with, company);
    clock.match();
    background.start();
    wait_until_us(now_us() + std::min(20e3, window_us / 4)); // the backgrounds are busy by then

    Waiter waiter(device, foreground, requests);
    const double kernels = background.finished();
    const double cpu = process_cpu_us();
    const double begin = now_us();
    for (Request& request : requests) {
        wait_until_us(begin + request.arrival_us);
        submit(device, foreground, request);
        waiter.submitted();
    }
    wait_until_us(begin + window_us);
    const double end = now_us();
    const double finished = background.finished() - kernels;
    const double cpu_ms = (process_cpu_us() - cpu) * 1e-3;
    // A system that falls behind does so for a while longer.
    while (!waiter.done() && now_us() < end + longest_lag * window_us)
        wait_until_us(now_us() + 1e3);
    background.stop();
    waiter.join();
    foreground.lane().wait_all();
    clock.match();

    const std::string setting = setting_of(shape, company);
    for (const Request& request : requests) {
        const double arrival = begin + request.arrival_us;
        with.samples.add("latency_us", setting,
                         clock.to_us(foreground.end_ns(request.last_kernel)) - arrival);
        with.samples.add("wait_us", setting, request.returned_us - arrival);
    }
    with.samples.add("background_percent", setting,
                     finished * company.kernel_us / (end - begin) * 100);
    with.samples.add("cpu_ms", setting, cpu_ms * 400e3 / (end - begin));
    for (const Request& request : requests)
        if (request.event != nullptr)
            (void)device.driver().event_destroy(request.event);
}

} // namespace

void measure_foreground(const Measurement& with) {
    GpuClock clock(with.device);
    if (with.system.paced)
        if (const int error = xp_sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST); error != 0)
            throw std::runtime_error(std::string("xp_sched_start: ") + xp_last_detail());
    for (const RequestShape& shape : request_shapes)
        for (const Company& company : companies)
            measure(with, clock, shape, company);
    if (with.system.paced)
        (void)xp_sched_stop();
}

} // namespace cuda
