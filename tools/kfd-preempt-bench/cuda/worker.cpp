// SPDX-License-Identifier: MIT
// Sets the driver and HIP's stand-in up, then measures; or starts itself again to do so.
#include "worker.hpp"

#include "driver.hpp"
#include "xpreemptd/protocol/standard_streams.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <spawn.h>
#include <stdexcept>
#include <sys/wait.h>
#include <unistd.h>

namespace cuda_report {

namespace {

constexpr unsigned longest_work_s = 300;
constexpr const char* stand_in = "libamdhip64-cuda.so"; // beside the program

int fail(const std::string& what, int status) {
    xpreemptd::write_message(fmt::format("kfd-preempt-bench: {}\n", what));
    return status;
}

std::string program_path() {
    std::array<char, PATH_MAX> path{};
    return readlink("/proc/self/exe", path.data(), path.size() - 1) > 0 ? path.data() : "";
}

// Returns an error message, or "".
std::string load_stand_in() {
    std::string path = program_path();
    path.resize(path.rfind('/') + 1);
    path += stand_in;
    if (dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL) != nullptr)
        return "";
    return fmt::format("cannot load HIP's stand-in: {}; copy {} beside kfd-preempt-bench, it is "
                       "built with it and not installed",
                       dlerror(), stand_in);
}

void print_facts(const cuda::Device& device) {
    const cuda::MachineFacts facts = device.facts();
    fmt::print("{}, driver {}, {}\n", facts.gpu, facts.driver, facts.clocks);
    fmt::print("{}\n", device.driver().count_calls != nullptr ? "fake" : "real");
}

int measure(const cuda::Driver& driver, const Work& work) {
    const cuda::Device device(driver);
    if (work.part == "machine") {
        print_facts(device);
        return 0;
    }
    const cuda::Part* part = cuda::find_part(work.part);
    const cuda::System* system = cuda::find_system(work.system);
    if (part == nullptr || system == nullptr)
        return fail("--worker '" + work.part + "' or --system '" + work.system + "' does not exist",
                    1);
    const cuda::Amounts amounts = work.quick ? cuda::Amounts::quick() : cuda::Amounts{};
    part->run({device, *system, amounts, work.seed, cuda::Samples(stdout)});
    return 0;
}

// Starts the program with that descriptor as its standard output. Returns an errno, or 0.
int spawn(std::string program, std::vector<std::string> arguments, int output, pid_t& pid) {
    std::vector<char*> words{program.data()};
    for (std::string& argument : arguments)
        words.push_back(argument.data());
    words.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    const int error = posix_spawn(&pid, program.c_str(), &actions, nullptr, words.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

// Hands each line on until the other end is closed.
void read_lines(int input, const std::function<void(const std::string&)>& take_line) {
    std::string line;
    std::array<char, 4096> chunk{};
    for (ssize_t count = 1; count > 0 || (count < 0 && errno == EINTR);) {
        count = read(input, chunk.data(), chunk.size());
        for (ssize_t i = 0; i < count; ++i) {
            if (chunk[static_cast<std::size_t>(i)] != '\n') {
                line += chunk[static_cast<std::size_t>(i)];
                continue;
            }
            take_line(line);
            line.clear();
        }
    }
    if (!line.empty())
        take_line(line); // a process that died wrote a part of it
}

} // namespace

std::vector<std::string> arguments_of(const Work& work) {
    std::vector<std::string> arguments{"cuda",
                                       "--worker",
                                       work.part,
                                       "--system",
                                       work.system,
                                       "--seed",
                                       std::to_string(work.seed)};
    if (work.quick)
        arguments.emplace_back("--quick");
    return arguments;
}

int do_work(const Work& work) {
    alarm(longest_work_s); // a GPU that hangs must not hang the benchmark
    const auto driver = cuda::load_driver();
    if (!driver)
        return fail(driver.error(), no_gpu);
    if (const std::string error = load_stand_in(); !error.empty())
        return fail(error, no_gpu);
    try {
        const int status = measure(*driver, work);
        return std::fflush(stdout) == 0 ? status : 1;
    } catch (const std::exception& error) {
        return fail(fmt::format("part {}, {}: {}", work.part, work.system, error.what()), 1);
    }
}

int start_work(const Work& work, const std::function<void(const std::string&)>& take_line) {
    const std::string program = program_path();
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0)
        return fail(fmt::format("pipe: {}", std::strerror(errno)), 1);
    pid_t pid = 0;
    const int error = spawn(program, arguments_of(work), ends[1], pid);
    close(ends[1]);
    if (error == 0)
        read_lines(ends[0], take_line);
    close(ends[0]);
    if (error != 0)
        return fail(fmt::format("cannot start {}: {}", program, std::strerror(error)), 1);
    int status = 0;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

} // namespace cuda_report
