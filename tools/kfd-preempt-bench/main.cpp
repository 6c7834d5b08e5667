// SPDX-License-Identifier: MIT
// kfd-preempt-bench: what libxpreempt costs, and how fast it stops what runs.
#include "cuda/command.hpp"
#include "suites.hpp"
#include "xpreemptd/protocol/decimal.hpp"
#include "xpreemptd/protocol/standard_streams.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <exception>
#include <getopt.h>
#include <span>
#include <string>
#include <string_view>

namespace {

using bench::Failure;
using bench::Options;
using bench::Run;

constexpr int bad_usage = 64; // EX_USAGE

struct Suite {
    const char* name;
    Failure (*run)(const Options&, Run&);
};
constexpr std::array<Suite, 3> suites{
    {{"null", bench::run_null}, {"virtual", bench::run_virtual}, {"hip", bench::run_hip}}};

void print_usage(std::FILE* file) {
    std::fprintf(file, "usage: kfd-preempt-bench [--json] [--raw FILE] [--seed N] [--samples N] "
                       "[--marker-ns N] [--fill-bytes N] [null] [virtual] [hip]\n"
                       "       kfd-preempt-bench cuda --help\n");
}

int refuse(const std::string& what) {
    std::fprintf(stderr, "kfd-preempt-bench: %s\n", what.c_str());
    print_usage(stderr);
    return bad_usage;
}

template <typename Number> bool parse(const char* word, Number least, Number& number) {
    const auto parsed = xpreemptd::decimal<Number>(word);
    number = parsed.value_or(least);
    return parsed && number >= least;
}

// Returns "--samples" for 'n'.
std::string name_of(std::span<const option> known, int key) {
    const auto found = std::ranges::find(known, key, &option::val);
    return found == known.end() ? "" : std::string("--") + found->name;
}

struct Arguments {
    Options options;
    bool json = false;
    const char* raw = nullptr;
    std::vector<Suite> suites;
};

// 0, or the exit status; below 0: to be answered with success.
int read_arguments(int argc, char** argv, Arguments& arguments) {
    const std::array<option, 8> known{{{"json", no_argument, nullptr, 'j'},
                                       {"raw", required_argument, nullptr, 'r'},
                                       {"seed", required_argument, nullptr, 's'},
                                       {"samples", required_argument, nullptr, 'n'},
                                       {"marker-ns", required_argument, nullptr, 'm'},
                                       {"fill-bytes", required_argument, nullptr, 'b'},
                                       {"help", no_argument, nullptr, 'h'},
                                       {nullptr, 0, nullptr, 0}}};
    for (int key = 0; (key = getopt_long(argc, argv, "jh", known.data(), nullptr)) != -1;) {
        bool valid = true;
        switch (key) {
        case 'j': arguments.json = true; break;
        case 'r': arguments.raw = optarg; break;
        case 's': valid = parse<std::uint64_t>(optarg, 0, arguments.options.seed); break;
        case 'n': valid = parse<std::size_t>(optarg, 1, arguments.options.samples); break;
        case 'm': valid = parse<std::uint64_t>(optarg, 0, arguments.options.marker_ns); break;
        case 'b': valid = parse<std::size_t>(optarg, 1, arguments.options.fill_bytes); break;
        case 'h': print_usage(stdout); return -1;
        default: print_usage(stderr); return bad_usage;
        }
        if (!valid)
            return refuse(name_of(known, key) + ": '" + optarg + "' is not a number in range");
    }
    for (int i = optind; i < argc; ++i) {
        bool found = false;
        for (const Suite& suite : suites)
            if (std::strcmp(suite.name, argv[i]) == 0) {
                arguments.suites.push_back(suite);
                found = true;
            }
        if (!found)
            return refuse(std::string("'") + argv[i] +
                          "' is not a suite: give null, virtual or hip");
    }
    return 0;
}

// null and hip are two HIP runtimes, and a process has one.
bool asks_for_two_runtimes(const std::vector<Suite>& wanted) {
    bool null = false, hip = false;
    for (const Suite& suite : wanted) {
        null = null || suite.run == bench::run_null;
        hip = hip || suite.run == bench::run_hip;
    }
    return null && hip;
}

int run(int argc, char** argv) {
    if (argc > 1 && std::strcmp(argv[1], "cuda") == 0)
        return cuda_report::run_command(argc - 1, argv + 1);
    Arguments arguments;
    if (const int status = read_arguments(argc, argv, arguments); status != 0)
        return status < 0 ? 0 : status;
    if (asks_for_two_runtimes(arguments.suites))
        return refuse("null and hip need a process each: run them one after the other");
    if (arguments.suites.empty())
        arguments.suites = {suites[0], suites[1]};
    std::FILE* raw = arguments.raw != nullptr ? std::fopen(arguments.raw, "we") : nullptr;
    if (arguments.raw != nullptr && raw == nullptr)
        return refuse(std::string(arguments.raw) + ": " + std::strerror(errno));

    Run run{arguments.options.seed, {}, {}};
    for (const Suite& suite : arguments.suites)
        if (const Failure failure = suite.run(arguments.options, run))
            run.skipped.push_back(std::string(suite.name) + ": " + *failure);
    arguments.json ? bench::print_json(run) : bench::print_text(run);
    if (raw != nullptr && !bench::write_raw(run, raw)) {
        std::fprintf(stderr, "kfd-preempt-bench: %s: %s\n", arguments.raw, std::strerror(errno));
        return 1;
    }
    if (raw != nullptr)
        std::fclose(raw);
    for (const std::string& suite : run.skipped)
        std::fprintf(stderr, "kfd-preempt-bench: %s\n", suite.c_str());
    return run.skipped.empty() ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
    xpreemptd::reserve_standard_streams();
    try {
        const int status = run(argc, argv);
        const std::string lost = xpreemptd::write_output("");
        if (lost.empty())
            return status;
        std::fprintf(stderr, "kfd-preempt-bench: %s\n", lost.c_str());
        return status != 0 ? status : 1;
    } catch (const std::exception& error) {
        std::fprintf(stderr, "kfd-preempt-bench: %s\n", error.what());
        return 1;
    }
}
