// SPDX-License-Identifier: MIT
// Writes the files, and has tar pack them.
#include "report.hpp"

#include "program.hpp"
#include "xpreemptd/system/write_all.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/stat.h>
#include <unistd.h>

namespace verify {

Verdict Result::verdict() const {
    const Verdict of_stages = overall(stages, &StageResult::verdict);
    return interrupted && of_stages == Verdict::pass ? Verdict::skip : of_stages;
}

std::string Result::summary() const {
    const auto count = [this](Verdict verdict) {
        return std::ranges::count(stages, verdict, &StageResult::verdict);
    };
    const char* word = verdict() == Verdict::pass   ? "PASS"
                       : verdict() == Verdict::fail ? "FAIL"
                                                    : "INCOMPLETE";
    return fmt::format("{}: {} stages passed, {} failed, {} skipped{}", word, count(Verdict::pass),
                       count(Verdict::fail), count(Verdict::skip),
                       interrupted ? ", then interrupted" : "");
}

namespace {

// Its versions and names in a line, without what nothing says.
std::string line_of(const Json& machine) {
    std::vector<std::string> words;
    const auto append = [&words](const Json& json) {
        for (const auto& [key, value] : json.items())
            if (!value.is_null() && !value.is_array())
                words.push_back(fmt::format(
                    "{} {}", key, value.is_string() ? value.get<std::string>() : value.dump()));
    };
    append(machine);
    for (const Json& gpu : machine.value("gpus", Json::array()))
        append(gpu);
    return fmt::format("{}", fmt::join(words, ", "));
}

std::string text_of(const Result& result) {
    std::string text = result.summary() + "\n";
    if (!result.machine.is_null())
        text += line_of(result.machine) + "\n";
    for (const StageResult& stage : result.stages) {
        text +=
            fmt::format("\n{} ({:.1f} s): {}\n", stage.name, stage.seconds, word_of(stage.verdict));
        for (const Finding& finding : stage.findings)
            text += fmt::format("  {:<4}  {}\n", word_of(finding.verdict), finding.text);
    }
    return text;
}

Json json_of(const Result& result) {
    Json json{{"schema", 1}, {"summary", result.summary()}, {"machine", result.machine}};
    for (const StageResult& stage : result.stages) {
        Json item{{"stage", stage.name},
                  {"verdict", word_of(stage.verdict)},
                  {"seconds", stage.seconds},
                  {"preempt_verify", stage.looks_into_hqds}};
        for (const Finding& finding : stage.findings)
            item["findings"].push_back(
                {{"verdict", finding.verdict == Verdict::note ? "note" : word_of(finding.verdict)},
                 {"text", finding.text}});
        item["data"] = stage.data;
        item["data"].erase("svg"); // has a file of its own
        json["stages"].push_back(std::move(item));
    }
    json["kernel_log_lines"] = result.kernel_log.size();
    return json;
}

// In place of an old one. The directory may be one in which others write, and root runs this: it
// follows no link.
int open_new(const std::string& path, int flags) {
    std::error_code error;
    std::filesystem::remove(path, error);
    return ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | flags, 0644);
}

// Returns false if there is no archive: tar is missing or failed, as on a full disk.
bool pack(const std::string& directory) {
    const std::filesystem::path path(directory);
    const std::string where = path.has_parent_path() ? path.parent_path().string() : ".";
    const std::string archive = directory + ".tar.gz";
    const int fd = open_new(archive, 0);
    if (fd < 0)
        return false;
    const bool packed = succeeds({"tar", "-C", where, "-czf", fmt::format("/proc/self/fd/{}", fd),
                                  path.filename().string()});
    ::close(fd);
    std::error_code error;
    if (!packed)
        std::filesystem::remove(archive, error);
    return packed;
}

// A shell completes the name of a directory with a slash.
std::string without_last_slashes(std::string path) {
    while (path.size() > 1 && path.ends_with('/'))
        path.pop_back();
    return path;
}

bool write_new(const std::string& path, const std::string& text) {
    const int fd = open_new(path, O_CLOEXEC);
    if (fd < 0)
        return false;
    const int failed = xpreemptd::write_all(fd, text);
    if (::close(fd) != 0 && failed == 0)
        return false;
    errno = failed;
    return failed == 0;
}

} // namespace

tl::expected<std::vector<std::string>, std::string>
write_report(const Result& result, const std::string& output, Directory kind) {
    const std::string directory = without_last_slashes(output);
    std::vector<std::string> written;
    const auto write = [&](const char* name, const std::string& text) {
        written.push_back(directory + "/" + name);
        return write_new(written.back(), text);
    };
    std::error_code error;
    if (kind == Directory::may_exist)
        std::filesystem::create_directories(directory, error);
    else if (::mkdir(directory.c_str(), 0755) != 0)
        return tl::make_unexpected(
            fmt::format("cannot make {}: {}", directory, std::strerror(errno)));
    std::filesystem::remove(directory + ".tar.gz", error);
    bool good = write("report.txt", text_of(result)) &&
                write("report.json",
                      json_of(result).dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
    for (const StageResult& stage : result.stages)
        if (stage.data.contains("svg"))
            good =
                good && write((stage.name + ".svg").c_str(), stage.data["svg"].get<std::string>());
    std::string log;
    for (const std::string& line : result.kernel_log)
        log += line + "\n";
    good = good && write("kernel.log", log);
    if (!good)
        return tl::make_unexpected(
            fmt::format("cannot write {}: {}", written.back(), std::strerror(errno)));
    if (pack(directory))
        written.push_back(directory + ".tar.gz");
    return written;
}

} // namespace verify
