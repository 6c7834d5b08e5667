// SPDX-License-Identifier: MIT
// Costs of what can mark a point in a stream: the bounds of a submit, a drain and a suspend.
#include "host_clock.hpp"
#include "parts.hpp"

#include <array>
#include <functional>
#include <memory>

namespace cuda {

namespace {

constexpr unsigned blocking_sync = 0x1, disable_timing = 0x2;
constexpr double kernel_us = 100;
constexpr std::uint32_t in_flight = 64; // tiny kernels between two waits
constexpr double apart_us = 300;        // between two kernels, so that the GPU is idle

struct Mark {
    virtual ~Mark() = default;
    virtual int place(Handle stream) = 0;
    virtual bool passed() = 0;
    virtual int wait() = 0;
};

class EventMark final : public Mark {
public:
    EventMark(const Driver& driver, unsigned flags) : driver_(driver) {
        (void)driver.event_create(&event_, flags);
    }
    ~EventMark() override { (void)driver_.event_destroy(event_); }
    EventMark(const EventMark&) = delete;
    EventMark& operator=(const EventMark&) = delete;
    EventMark(EventMark&&) = delete;
    EventMark& operator=(EventMark&&) = delete;

    int place(Handle stream) override { return driver_.event_record(event_, stream); }
    bool passed() override { return driver_.event_query(event_) == success; }
    int wait() override { return driver_.event_synchronize(event_); }

private:
    const Driver& driver_;
    Handle event_ = nullptr;
};

// A number that the stream writes to the host's memory.
class WrittenMark final : public Mark {
public:
    explicit WrittenMark(const Device& device)
        : driver_(device.driver()), memory_(device, 64), word_(memory_.at<std::uint32_t>(0)) {}

    int place(Handle stream) override {
        return driver_.stream_write_value32(stream, memory_.address(0), ++number_, 0);
    }
    bool passed() override { return __atomic_load_n(word_, __ATOMIC_ACQUIRE) == number_; }
    int wait() override {
        while (!passed()) {
        }
        return success;
    }

private:
    const Driver& driver_;
    MappedMemory memory_;
    std::uint32_t* const word_;
    std::uint32_t number_ = 0;
};

struct Variant {
    const char* name;
    std::unique_ptr<Mark> (*make)(const Device&);
};
constexpr std::array<Variant, 3> variants{
    {{"event",
      [](const Device& device) -> std::unique_ptr<Mark> {
          return std::make_unique<EventMark>(device.driver(), disable_timing);
      }},
     {"blocking-event",
      [](const Device& device) -> std::unique_ptr<Mark> {
          return std::make_unique<EventMark>(device.driver(), disable_timing | blocking_sync);
      }},
     {"written-value", [](const Device& device) -> std::unique_ptr<Mark> {
          return std::make_unique<WrittenMark>(device);
      }}}};

double ns_of(const std::function<void()>& call) {
    const double begin = now_us();
    call();
    return (now_us() - begin) * 1e3;
}

void measure_calls(const Measurement& with, const Variant& variant) {
    const Device& device = with.device;
    const Handle stream = device.create_stream();
    const auto mark = variant.make(device);
    const auto add = [&](const char* quantity, double value) {
        with.samples.add(quantity, variant.name, value);
    };
    for (std::uint32_t i = 0; i < with.amounts.marks; ++i) {
        const double launch_ns = ns_of([&] { (void)device.launch_tiny(stream); });
        const double place_ns = ns_of([&] { (void)mark->place(stream); });
        if (i % in_flight == in_flight - 1)
            device.synchronize(stream);
        if (i < in_flight)
            continue; // warm-up
        add("launch_ns", launch_ns);
        add("place_ns", place_ns);
    }
    device.synchronize(stream);
    for (std::uint32_t i = 0; i < with.amounts.marks; ++i)
        add("ask_passed_ns", ns_of([&] { (void)mark->passed(); }));
    for (std::uint32_t i = 0; i < with.amounts.marks; ++i)
        add("make_ns", ns_of([&] { (void)variant.make(device); }));
    (void)device.driver().stream_destroy(stream);
}

void measure_ends(const Measurement& with, GpuClock& clock, const Variant& variant, bool polled) {
    const System& system = *find_system("direct");
    StampedLane stamped(with.device, system, kernel_us, true);
    const auto mark = variant.make(with.device);
    struct End {
        double noticed_us;
        std::uint64_t end_ns;
    };
    std::vector<End> ends;
    clock.match();
    for (std::uint32_t i = 0; i < with.amounts.idle_submits; ++i) {
        wait_until_us(now_us() + apart_us);
        (void)stamped.submit(kernel_us);
        (void)mark->place(stamped.lane().stream());
        if (polled) {
            wait_until_us(now_us() + kernel_us / 2);
            while (!mark->passed()) {
            }
        } else {
            (void)mark->wait();
        }
        const double noticed = now_us();
        stamped.lane().wait_all();
        ends.push_back({noticed, stamped.end_ns(stamped.finished())});
    }
    clock.match();
    for (const End& end : ends)
        with.samples.add(polled ? "polled_us" : "waited_us", variant.name,
                         end.noticed_us - clock.to_us(end.end_ns));
}

} // namespace

void measure_markers(const Measurement& with) {
    GpuClock clock(with.device);
    for (const Variant& variant : variants) {
        measure_calls(with, variant);
        measure_ends(with, clock, variant, true);
        measure_ends(with, clock, variant, false);
    }
}

} // namespace cuda
