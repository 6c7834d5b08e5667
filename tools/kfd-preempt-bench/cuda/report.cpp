// SPDX-License-Identifier: MIT
// Puts the parts together, and writes and reads the files of a run.
#include "report.hpp"

#include "parts.hpp"
#include "settings.hpp"
#include "tables.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>

namespace cuda_report {

namespace {

namespace fs = std::filesystem;

constexpr const char* caveat =
    "Portable Lv1 engine (XP_LEVEL_BLOCK) on an NVIDIA card, over a stand-in for HIP; not AMD, and "
    "no kernel is preempted.";
constexpr const char* fake_caveat =
    "The driver is the fake one: these are times of CPU threads, not of a GPU.";

std::string write_file(const fs::path& path, const std::string& text) {
    std::ofstream file(path);
    file << text;
    file.flush();
    return file ? "" : fmt::format("{}: {}", path.string(), std::strerror(errno));
}

} // namespace

std::vector<std::string> parts_in(const Results& results) {
    std::vector<std::string> parts;
    for (const cuda::Part& part : cuda::all_parts())
        if (results.has(part.name))
            parts.emplace_back(part.name);
    return parts;
}

std::string report_of(const Results& results, const RunFacts& facts) {
    std::string text = fmt::format(
        "# kfd-preempt-bench cuda\n\nmachine: {}  \ncommit: {}  \nseed: {}; repetition R of each "
        "system has {} * 1000 + R  \ncommand: {}\n\n",
        facts.machine, facts.commit, facts.seed, facts.seed, facts.command);
    if (facts.fake)
        text += fmt::format("{}\n\n", fake_caveat);
    for (const std::string& part : parts_in(results)) {
        text += fmt::format("\n## Part {}, {} repetition(s)\n", part, results.repetitions(part));
        for (const Table& table : tables_of(part, results))
            text += fmt::format("\n{}\n{}\n", markdown(table),
                                facts.fake ? fmt::format("{} {}", caveat, fake_caveat) : caveat);
    }
    return text;
}

std::string write_files(const std::string& directory, const Results& results,
                        const RunFacts& facts) {
    std::error_code error;
    fs::create_directories(directory, error);
    if (error)
        return fmt::format("{}: {}", directory, error.message());
    const fs::path in(directory);
    std::string failure = write_file(in / "report.md", report_of(results, facts));
    for (const std::string& part : parts_in(results)) {
        if (failure.empty())
            failure =
                results.write((in / fmt::format("samples-{}.csv", part)).string(), part, facts);
        if (failure.empty())
            failure =
                write_file(in / fmt::format("{}.svg", part), chart_of(part, results, facts.fake));
    }
    return failure;
}

std::string read_files(const std::string& directory, Results& results, RunFacts& facts) {
    std::error_code error;
    std::vector<std::string> files;
    for (const auto& entry : fs::directory_iterator(directory, error))
        if (const std::string name = entry.path().filename().string();
            name.starts_with("samples-") && name.ends_with(".csv"))
            files.push_back(entry.path().string());
    if (error)
        return fmt::format("{}: {}", directory, error.message());
    if (files.empty())
        return fmt::format(
            "{}: has no samples-*.csv: give the --output directory of an earlier run", directory);
    std::ranges::sort(files);
    for (const std::string& file : files)
        if (const std::string failure = results.read(file, facts); !failure.empty())
            return failure;
    return "";
}

} // namespace cuda_report
