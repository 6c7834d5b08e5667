// SPDX-License-Identifier: MIT
// kfd-preempt-verify-hip: the high and the low program of stage priorities as two streams of HIP.
//
//   kfd-preempt-verify-hip PCI_ADDRESS PATIENCE_MS HIGH_SHAPE LOW_SHAPE
//
// A shape is three numbers: workgroups, iterations, rounds. Its first line is "ready HIP_VERSION
// libxpreempt", without the last word where that library is not, or why it can't begin. Then it
// answers questions on stdin: those of LowProgram; "serve", with the ns of a request; and, with
// "ok", "begin block|drain|interrupt|hpf", "hold", "release" and "end", which are libxpreempt's.
#include "stream.hpp"

#include <array>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <stdexcept>
#include <string>
#include <vector>

extern "C" {
extern const unsigned char hip_spin_gfx942[], hip_spin_gfx90a[], hip_spin_gfx908[];
}

namespace {

using namespace verify;
using std::chrono::steady_clock;

void choose_device(const Hip& hip, const std::string& address) {
    int count = 0;
    std::string others;
    hip.must(hip.get_device_count(&count), "hipGetDeviceCount");
    for (int i = 0; i < count; ++i) {
        std::array<char, 32> of_device{};
        hip.must(hip.get_pci_bus_id(of_device.data(), of_device.size(), i), "hipDeviceGetPCIBusId");
        if (address == of_device.data())
            return hip.must(hip.set_device(i), "hipSetDevice");
        others += fmt::format(" {}", of_device.data());
    }
    throw std::runtime_error(
        fmt::format("HIP does not see the GPU at {}, but:{}", address, others));
}

void* load_spin(const Hip& hip) {
    void *code = nullptr, *function = nullptr;
    int error = 0;
    for (const unsigned char* image : {hip_spin_gfx942, hip_spin_gfx90a, hip_spin_gfx908})
        if ((error = hip.module_load(&code, image)) == 0)
            break;
    hip.must(error, "hipModuleLoadData");
    hip.must(hip.module_get_function(&function, code, "spin"), "hipModuleGetFunction");
    return function;
}

class Programs {
public:
    Programs(const Hip& hip, const Library* library, const spin::Shape& high,
             const spin::Shape& low, std::chrono::milliseconds patience)
        : library_(library), function_(load_spin(hip)),
          high_(hip, library, function_, high, patience),
          low_(hip, library, function_, low, patience), patience_(patience) {}

    SpinStream& low() { return low_; }
    std::string answer(const std::string& question, LowProgram& program);

private:
    void begin(const std::string& part);
    void end();
    std::string serve(LowProgram& program);

    const Library* library_;
    void* function_;
    SpinStream high_, low_;
    std::chrono::milliseconds patience_;
    std::uint32_t flags_ = 0; // of a suspend
    bool hpf_ = false;
};

void Programs::begin(const std::string& part) {
    const std::uint32_t level = part == "block"   ? XP_LEVEL_BLOCK
                                : part == "drain" ? XP_LEVEL_DEACTIVATE
                                                  : XP_LEVEL_INTERRUPT;
    flags_ = part == "drain" ? XP_SUSPEND_FINISH_LAUNCHED : 0;
    low_.schedule(level, XP_PRIORITY_DEFAULT);
    if (part != "hpf")
        return;
    high_.schedule(level, XP_PRIORITY_MAX);
    if (library_->sched_start(XP_POLICY_HIGHEST_PRIORITY_FIRST) != 0)
        throw std::runtime_error(fmt::format("xp_sched_start: {}", library_->last_detail()));
    hpf_ = true;
}

void Programs::end() {
    if (hpf_)
        library_->sched_stop();
    hpf_ = false;
    high_.unschedule();
    low_.unschedule();
}

// The low program goes on meanwhile, without a pause between two looks: a request is short.
std::string Programs::serve(LowProgram& program) {
    const auto submission = steady_clock::now();
    for (unsigned i = 0; i < spin::kernels_of_request; ++i)
        high_.launch();
    while (!high_.complete()) {
        program.step();
        if (steady_clock::now() > submission + patience_)
            return "it does not end";
    }
    const std::chrono::nanoseconds took = steady_clock::now() - submission;
    return high_.wait() ? std::to_string(took.count()) : "it does not end";
}

std::string Programs::answer(const std::string& question, LowProgram& program) {
    constexpr std::string_view beginning = "begin ";
    if (question == "serve")
        return serve(program);
    if (question.starts_with(beginning))
        begin(question.substr(beginning.size()));
    else if (question == "hold")
        low_.suspend(flags_);
    else if (question == "release")
        low_.resume();
    else if (question == "end")
        end();
    else
        return program.answer(question);
    return "ok";
}

spin::Shape shape_of(char** words) {
    const auto number = [&](int i) {
        return static_cast<std::uint32_t>(std::strtoul(words[i], nullptr, 10));
    };
    return {number(0), number(1), number(2)};
}

int run(char** argv) {
    const auto library = Library::load();
    const auto hip = Hip::load();
    if (!hip)
        throw std::runtime_error(hip.error());
    choose_device(*hip, argv[1]);
    const std::chrono::milliseconds patience(std::strtoul(argv[2], nullptr, 10));
    Programs programs(*hip, library.get(), shape_of(argv + 3), shape_of(argv + 6), patience);
    LowProgram low(programs.low());
    fmt::print("ready {}{}\n", hip->version(), library ? " libxpreempt" : "");
    while (const auto question = next_question(low))
        fmt::print("{}\n", programs.answer(*question, low));
    return 0;
}

} // namespace

int main(int argc, char** argv) {
    if (argc != 9) {
        fmt::print(stderr, "kfd-preempt-verify-hip: is started by kfd-preempt verify\n");
        return 2;
    }
    preload_hook(argv);
    ::setvbuf(stdout, nullptr, _IOLBF, 0);
    try {
        return run(argv);
    } catch (const std::exception& error) {
        fmt::print("{}\n", error.what());
        return 1;
    }
}
