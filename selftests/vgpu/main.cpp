// SPDX-License-Identifier: MIT
// vgpu: serves one software GPU to one QEMU over a vfio-user socket, until QEMU disconnects.
#include "fault/fault_commands.hpp"
#include "fault/fault_injector.hpp"
#include "fault/fault_spec.hpp"
#include "model/device/device.hpp"
#include "pace/pace.hpp"
#include "pace/process_state.hpp"
#include "pci/gpu_function.hpp"
#include "trace/journal.hpp"
#include "vfu/connection.hpp"
#include "vfu/server.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace vgpu;

constexpr int exit_clean = 0;
constexpr int exit_error = 1;
constexpr int exit_usage = 2;
constexpr int exit_unmodelled = 3;
constexpr int exit_harmless = 4;

// Between two looks at the socket. Small enough that a register read is answered in well under
// a millisecond while waves run, large enough that poll() costs little.
constexpr std::uint64_t slice_wave_instructions = 2000;

struct Options {
    std::string socket;
    std::string trace;
    std::string summary;
    std::vector<std::string> faults;
    std::optional<std::uint64_t> schedule;
    std::uint64_t vram_gib = 1;
    DeviceOptions device;
};

int fail(const Error& error) {
    fmt::print(stderr, "vgpu: {}\n", error.text);
    return exit_error;
}

std::uint64_t now_ms() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::milliseconds>(since).count());
}

// Ticks of the reference clock, which runs at 100 MHz according to the VBIOS.
std::uint64_t now_ticks() {
    const auto since = std::chrono::steady_clock::now().time_since_epoch();
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(since).count() / 10);
}

// The time until then, in ticks or in milliseconds.
template <typename Unit> Unit left(std::uint64_t then, std::uint64_t now) {
    return Unit(then > now ? then - now : 0);
}
using Ticks = std::chrono::duration<std::int64_t, std::ratio<1, 100'000'000>>;

// How long the socket may be waited for before the device is looked at again.
std::chrono::nanoseconds wait_time(Device::Activity activity, bool paced,
                                   std::optional<std::uint64_t> deadline_ms, const Device& device) {
    using namespace std::chrono_literals;
    // A sleep of the host takes about as long.
    constexpr std::chrono::nanoseconds too_short_to_wait = 50us;
    if (paced)
        return 1ms; // then more is due, if only time
    if (activity == Device::Activity::busy)
        return 0ns;
    std::chrono::nanoseconds wait = activity == Device::Activity::waiting ? 1ms : 1s;
    if (deadline_ms)
        wait = std::min<std::chrono::nanoseconds>(
            wait, left<std::chrono::milliseconds>(*deadline_ms, now_ms()));
    if (const auto wakeup = device.next_wakeup())
        wait = std::min<std::chrono::nanoseconds>(wait, left<Ticks>(*wakeup, now_ticks()));
    return wait < too_short_to_wait ? 0ns : wait;
}

// One thread owns everything: messages first, then a slice of GPU work.
Result<Nothing> serve(vfu::Connection& connection, pci::GpuFunction& function, pace::Pace& pace,
                      fault::FaultInjector& faults, Journal& journal) {
    vfu::Server server(connection, function);
    for (;;) {
        faults.set_time_ms(now_ms());
        const Device::Activity activity = pace.run(false);
        const auto wait =
            wait_time(activity, pace.on(), faults.next_deadline_ms(), function.device());
        if (wait != wait.zero())
            journal.flush();
        const auto ready = connection.wait(wait);
        if (!ready)
            return ready.error();
        if (!*ready)
            continue;
        if (pace.on())
            pace.run(true);
        const auto open = server.serve_one();
        if (!open)
            return open.error();
        if (!*open)
            return Nothing{};
        pace.answered();
    }
}

int finish(const Options& options, const Journal& journal) {
    if (!options.summary.empty())
        if (const auto written = journal.write_summary(options.summary); !written)
            return fail(written.error());
    const Journal::Verdict verdict = journal.verdict();
    if (verdict == Journal::Verdict::clean)
        return exit_clean;
    fmt::print(stderr, "vgpu: {} things the model does not know were met:\n",
               journal.unmodelled_things().size());
    for (const std::string& thing : journal.unmodelled_things())
        fmt::print(stderr, "  {}\n", thing);
    return verdict == Journal::Verdict::harmless ? exit_harmless : exit_unmodelled;
}

int run(const Options& options) {
    std::vector<fault::Spec> specs;
    for (const std::string& text : options.faults) {
        auto spec = fault::parse_spec(text);
        if (!spec) {
            fmt::print(stderr, "vgpu: {}", spec.error().text);
            return exit_usage;
        }
        specs.push_back(*spec);
    }
    Journal journal;
    if (!options.trace.empty())
        if (const auto opened = journal.open_trace(options.trace); !opened)
            return fail(opened.error());
    auto vram = pci::Vram::create(options.vram_gib << 30);
    if (!vram)
        return fail(vram.error());
    fault::FaultInjector faults(std::move(specs), journal);
    faults.set_time_ms(now_ms());
    Device* device = nullptr; // made below; no command comes before them
    pace::Pace* pacer = nullptr;
    std::optional<pace::ObservedProcess> qemu;
    const fault::Surroundings gpu{
        .counter = [&journal](std::string_view name) { return journal.counter(name); },
        .scribble_mqds =
            [&device](std::uint16_t pasid) { return device->scribble_saved_mqds(pasid); },
        .set_pace = [&journal, &device, &pacer, &qemu](std::uint64_t per_ms) -> Result<Nothing> {
            if (!qemu)
                return Error{ENOTSUP, "the host shows no CPU time of QEMU's process"};
            pacer->set_rate(per_ms);
            device->record_intervals(
                per_ms == 0
                    ? Contention::Recorder()
                    : [&journal](std::string_view list, std::uint64_t begin, std::uint64_t end) {
                          journal.interval(list, begin, end);
                      });
            return Nothing{};
        }};
    const auto mailbox = [&faults, &gpu](std::string_view command) -> pci::MailboxReply {
        auto reply = fault::run_command(faults, gpu, command);
        return reply ? pci::MailboxReply{0, *reply}
                     : pci::MailboxReply{reply.error().errno_value, reply.error().text};
    };
    pci::GpuFunction function(std::move(*vram), faults, mailbox, journal, options.device);
    device = &function.device();
    faults.on_change([&function] { function.device().memory_map_changed(); });
    function.device().follow_clock(now_ticks);
    if (options.schedule)
        function.device().follow_schedule(*options.schedule);

    auto listener = vfu::Listener::listen(options.socket);
    if (!listener)
        return fail(listener.error());
    auto client = listener->accept();
    if (!client)
        return fail(client.error());
    vfu::Connection connection(std::move(*client));
    if (const auto pid = connection.peer(); pid)
        if (auto opened = pace::ObservedProcess::open(*pid); opened)
            qemu.emplace(std::move(*opened));
    pace::Pace pace(function.device(), slice_wave_instructions,
                    [&qemu](bool with_threads) { return qemu->state(with_threads); });
    pacer = &pace;
    const auto served = serve(connection, function, pace, faults, journal);
    const int status = finish(options, journal);
    return served ? status : fail(served.error());
}

int run_command(int argc, char** argv) {
    Options options;
    CLI::App app{"vgpu: a software MI300X (gfx942) for QEMU's vfio-user-pci"};
    app.footer(std::string("faults:\n") + std::string(fault::spec_help()) +
               "exit status: 0 clean, 1 error, 2 usage, 3 something unmodelled may have changed a "
               "result,\n4 only harmless things were unmodelled");
    app.add_option("--socket", options.socket, "UNIX socket to listen on")->required();
    app.add_option("--trace", options.trace, "file for one line an event");
    app.add_option("--fault", options.faults, "fault to inject, may be repeated")
        ->allow_extra_args(false);
    app.add_option("--schedule", options.schedule,
                   "seed that chooses when asynchronous things happen (default: as early as they "
                   "can)");
    app.add_option("--vram", options.vram_gib, "GiB of VRAM: 1, 2, 4, 8 or 16")
        ->check(CLI::IsMember({1, 2, 4, 8, 16}));
    app.add_option("--gpu", options.device.gpu,
                   "mi300x, or with one XCC: mi250, which is one die of it, or mi100")
        ->transform(CLI::CheckedTransformer(std::map<std::string, Gpu>{
            {"mi300x", Gpu::mi300x}, {"mi250", Gpu::mi250}, {"mi100", Gpu::mi100}}));
    app.add_option("--xccs", options.device.xccs,
                   "accelerator dies: 1, 4 or 8, each with two SDMA engines")
        ->check(CLI::IsMember({1, 4, 8}));
    app.add_option("--cus", options.device.compute_units,
                   "compute units of each XCC: 4, 20 (MI308X) or 38 (MI300X)")
        ->check(CLI::IsMember({4, 20, 38}));
    app.add_option("--slot-seed", options.device.slot_seed,
                   "seed that chooses the HQD slots of each runlist; without one they go round "
                   "the pipes");
    app.add_option("--summary", options.summary, "file for counters, JSON");
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? exit_clean : exit_usage;
    }
    return run(options);
}

} // namespace

int main(int argc, char** argv) {
    // Errors are values in here; what still throws is the standard library, out of memory.
    try {
        return run_command(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "vgpu: %s\n", error.what());
        return exit_error;
    }
}
