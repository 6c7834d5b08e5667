// SPDX-License-Identifier: MIT
// Random programs on the model and on this machine: one compiler, one meaning, so the results must
// agree in each bit. The other half of the truth about the ISA is what LLVM's back end and the
// host's CPU make of the same text.
#include "tests/differential/compiled.hpp"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cctype>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <fstream>
#include <functional>
#include <iterator>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace vgpu::differential {

namespace {

constexpr unsigned functions_of_module = 100;
constexpr unsigned inputs_of_function = 4;
constexpr std::uint64_t lanes = 64;

// A number of `type` in 8 bytes: as often one at an edge as any.
std::uint64_t number(std::mt19937_64& random, Type type) {
    static constexpr std::array<std::uint64_t, 10> integers{
        0,           1,           2,           ~0ULL, 0x8000'0000'0000'0000, 0x7fff'ffff'ffff'ffff,
        0x8000'0000, 0x7fff'ffff, 0xffff'8000, 0x7fff};
    static constexpr std::array<std::uint64_t, 10> halves{0,      0x8000, 0x3c00, 0x7c00, 0xfc00,
                                                          0x7e00, 1,      0x3ff,  0x400,  0x7bff};
    static constexpr std::array<std::uint64_t, 12> singles{
        0, 0x8000'0000, 0x3f80'0000, 0x7f80'0000, 0xff80'0000, 0x7fc0'0000,
        1, 0x7f'ffff,   0x80'0000,   0x7f7f'ffff, 0x4b80'0001, 0xcf00'0000};
    static constexpr std::array<std::uint64_t, 12> doubles{0,
                                                           1ULL << 63,
                                                           0x3ff0'0000'0000'0000,
                                                           0x7ff0'0000'0000'0000,
                                                           0xfff0'0000'0000'0000,
                                                           0x7ff8'0000'0000'0000,
                                                           1,
                                                           0xf'ffff'ffff'ffff,
                                                           0x10'0000'0000'0000,
                                                           0x7fef'ffff'ffff'ffff,
                                                           0x41f0'0000'0000'0000,
                                                           0xc3e0'0000'0000'0000};
    const std::uint64_t any = random();
    const auto edge = [&](const auto& of) { return of[random() % of.size()]; };
    const bool at_edge = (random() & 1) != 0;
    // A small one, of either sign, which doesn't overflow at once.
    const double small =
        static_cast<double>(static_cast<std::int64_t>(any) >> 48) / (1 << (any & 15));
    const bool is_small = (random() & 1) != 0;
    switch (type) {
    case Type::f16: return at_edge ? edge(halves) : any & 0xffff;
    case Type::v2f16: return at_edge ? edge(halves) | edge(halves) << 16 : any & 0xffff'ffff;
    case Type::f32:
        return at_edge    ? edge(singles)
               : is_small ? std::bit_cast<std::uint32_t>(static_cast<float>(small))
                          : any & 0xffff'ffff;
    case Type::f64:
        return at_edge ? edge(doubles) : is_small ? std::bit_cast<std::uint64_t>(small) : any;
    default: return at_edge ? edge(integers) : any >> (random() & 63);
    }
}

Inputs make_inputs(std::uint64_t seed) {
    std::mt19937_64 random(seed);
    Inputs inputs;
    for (auto& lane : inputs.lane) {
        for (unsigned slot = 0; slot < input_slots; ++slot) {
            lane[slot] = number(random, input_type(slot));
        }
    }
    for (unsigned slot = 0; slot < uniform_slots; ++slot) {
        inputs.uniform[slot] = number(random, uniform_type(slot));
    }
    return inputs;
}

struct Difference {
    unsigned lane = 0;
    unsigned slot = 0;
};

// The first slot in which any lane differs.
std::optional<Difference> difference(const Outputs& gpu, const Outputs& host) {
    for (unsigned slot = 0; slot < result_slots; ++slot) {
        for (unsigned lane = 0; lane < lanes; ++lane) {
            if (gpu[lane][slot] != host[lane][slot]) {
                return Difference{lane, slot};
            }
        }
    }
    return std::nullopt;
}

std::string name_of(std::uint64_t seed) {
    return fmt::format("f{:x}", seed);
}

// The same text on both.
struct Machines {
    explicit Machines(const std::string& text) : gpu(text), host(text) {}

    // The first difference, or none. `gpu.problem` may be set as well.
    std::optional<Difference> run(const std::string& name, const Inputs& inputs) {
        of_gpu = gpu.run(name, inputs);
        of_host = host.run(name, inputs);
        return difference(of_gpu, of_host);
    }

    std::string text_of(const Difference& at) const {
        return fmt::format("lane {}: {:#x} on the model, {:#x} on the host", at.lane,
                           of_gpu[at.lane][at.slot], of_host[at.lane][at.slot]);
    }

    GpuCode gpu;
    HostCode host;
    Outputs of_gpu{};
    Outputs of_host{};
};

struct Run {
    std::uint64_t cases = 0;
    std::uint64_t instructions = 0; // of waves
    unsigned wrong = 0;
};

void report(std::uint64_t seed, std::uint64_t input_seed) {
    const std::string name = name_of(seed);
    fmt::print("# function {:#x}, inputs {:#x}: the model and the host differ\n", seed, input_seed);
    const Function function = generate(seed, name, Results::each);
    Machines machines(function.text);
    const std::optional<Difference> first = machines.run(name, make_inputs(input_seed));
    if (!machines.gpu.problem.empty()) {
        fmt::print("# {}\n", machines.gpu.problem);
    }
    if (!first) {
        fmt::print("# not when each value is stored; --show {:#x} prints the function\n", seed);
        return;
    }
    const std::string& value = function.results[first->slot];
    fmt::print("# {} is first, in {}\n", value, machines.text_of(*first));
    // Its definition, and what it is made of.
    const std::size_t at = function.text.find(fmt::format("  {} = ", value));
    const std::string definition =
        function.text.substr(at + 2, function.text.find('\n', at) - at - 2);
    fmt::print("# {}\n", definition);
    for (unsigned slot = 0; slot < first->slot; ++slot) {
        const std::string& part = function.results[slot];
        const std::size_t where = definition.find(part, value.size());
        if (where != std::string::npos && std::isdigit(definition[where + part.size()]) == 0) {
            fmt::print("#   {} = {:#x}\n", part, machines.of_host[first->lane][slot]);
        }
    }
}

void run_module(std::uint64_t seed, Run& run) {
    std::mt19937_64 random(seed);
    std::array<std::uint64_t, functions_of_module> seeds;
    std::ranges::generate(seeds, std::ref(random));
    std::string text;
    for (const std::uint64_t function : seeds) {
        text += generate(function, name_of(function), Results::last).text;
    }
    Machines machines(text);
    for (const std::uint64_t function : seeds) {
        for (unsigned i = 0; i < inputs_of_function; ++i) {
            const std::uint64_t input_seed = random();
            const bool differs =
                machines.run(name_of(function), make_inputs(input_seed)).has_value();
            run.cases += lanes;
            if (differs || !machines.gpu.problem.empty()) {
                ++run.wrong;
                report(function, input_seed);
                break;
            }
        }
    }
    run.instructions += machines.gpu.executed;
}

int run_all(std::uint64_t seed, std::uint64_t cases) {
    using Clock = std::chrono::steady_clock;
    std::mt19937_64 random(seed);
    Run run;
    auto told = Clock::now();
    while (run.cases < cases && run.wrong < 10) {
        run_module(random(), run);
        if (Clock::now() - told > std::chrono::seconds(10)) {
            told = Clock::now();
            fmt::print("# {} of {} cases\n", run.cases, cases);
            std::fflush(stdout);
        }
    }
    fmt::print("# seed {}, {} wave instructions\n", seed, run.instructions);
    fmt::print("{}ok 1 - {} results of random programs are those of this machine\n1..1\n",
               run.wrong == 0 ? "" : "not ", run.cases);
    return run.wrong == 0 ? 0 : 1;
}

// Prints the first difference.
int run_file(const std::string& file, std::uint64_t seed, std::uint64_t cases) {
    std::ifstream in(file);
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    if (text.empty()) {
        fmt::print(stderr, "vgpu_differential: {} is not there, or empty\n", file);
        return 2;
    }
    Machines machines(text);
    std::mt19937_64 random(seed);
    for (std::uint64_t done = 0; done < cases; done += lanes) {
        const Inputs inputs = make_inputs(random());
        const std::optional<Difference> at = machines.run("f", inputs);
        if (!machines.gpu.problem.empty()) {
            fmt::print("{}\n", machines.gpu.problem);
            return 1;
        }
        if (at) {
            fmt::print("result {}, {}; inputs: {:#x}\nof the wave: {:#x}\n", at->slot,
                       machines.text_of(*at), fmt::join(inputs.lane[at->lane], " "),
                       fmt::join(inputs.uniform, " "));
            return 1;
        }
    }
    fmt::print("no difference\n");
    return 0;
}

int run_command(int argc, char** argv) {
    CLI::App app{"Runs random programs on the model of the ISA and on this machine, and compares."};
    std::uint64_t seed = 1;
    std::uint64_t cases = 1'000'000;
    std::uint64_t shown = 0;
    app.add_option("--seed", seed, "of all that is random (default: 1)");
    app.add_option("--cases", cases,
                   "lanes that run a program with inputs of their own (default: 1,000,000)");
    CLI::Option* show =
        app.add_option("--show", shown, "print this function for the GPU, and run nothing");
    std::string file;
    app.add_option("--from", file,
                   "run the function @f of this file: one that was shown, made smaller by hand");
    CLI11_PARSE(app, argc, argv);
    if (*show) {
        fmt::print("{}", generate(shown, "f", Results::last).text); // as --from takes it
        return 0;
    }
    return file.empty() ? run_all(seed, cases) : run_file(file, seed, cases);
}

} // namespace

} // namespace vgpu::differential

int main(int argc, char** argv) {
    // The standard library throws when there is no memory.
    try {
        return vgpu::differential::run_command(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "vgpu_differential: %s\n", error.what());
        return 1;
    }
}
