// SPDX-License-Identifier: MIT
#include "hip_programs.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <sstream>
#include <unistd.h>

namespace verify {

namespace {

// HIP knows GPUs by their address.
std::string pci_address_of(Gpu& gpu) {
    std::error_code error;
    const auto device = std::filesystem::read_symlink(
        fmt::format("/sys/class/drm/renderD{}/device", gpu.device()->render_minor), error);
    return device.filename().string();
}

void append(Words& words, const spin::Shape& shape) {
    for (const std::uint32_t number : {shape.workgroups, shape.iterations, shape.rounds})
        words.push_back(std::to_string(number));
}

// The part of libxpreempt in this way of sharing; empty: it has none.
std::string part_of_library(Sharing sharing) {
    switch (sharing) {
    case Sharing::block: return "block";
    case Sharing::drain: return "drain";
    case Sharing::interrupt: return "interrupt";
    case Sharing::by_hpf: return "hpf";
    default: return {};
    }
}

bool is_level(Sharing sharing) {
    return sharing == Sharing::block || sharing == Sharing::drain || sharing == Sharing::interrupt;
}

} // namespace

std::string hip_program() {
    std::error_code error; // nothing is executed then
    const auto self = std::filesystem::read_symlink("/proc/self/exe", error);
    return (self.parent_path() / "kfd-preempt-verify-hip").string();
}

tl::expected<std::unique_ptr<HipPrograms>, std::string> HipPrograms::create(Gpu& gpu,
                                                                            const Words& by) {
    const auto shapes = shapes_on(gpu);
    if (!shapes)
        return tl::make_unexpected(shapes.error());
    Words words{hip_program(), pci_address_of(gpu), std::to_string(patience_ms)};
    append(words, shapes->high);
    append(words, shapes->low);
    if (::access(words[0].c_str(), X_OK) != 0)
        return tl::make_unexpected(fmt::format("{}{} is missing", no_hip, words[0]));
    std::unique_ptr<HipPrograms> made(new HipPrograms(*shapes));
    auto high = Child::start(words);
    if (!high)
        return tl::make_unexpected(high.error());
    made->high_ = std::move(*high);
    if (by.empty())
        return made;
    words.insert(words.begin(), by.begin(), by.end());
    auto low = Child::start(words);
    if (!low)
        return tl::make_unexpected(low.error());
    made->low_ = std::move(*low);
    return made;
}

bool HipPrograms::has_levels() const {
    return high_->first_line().ends_with(" libxpreempt");
}

std::string HipPrograms::version() const {
    const std::string line = high_->first_line();
    return line.substr(0, line.find(' '));
}

Done HipPrograms::tell(const std::string& question) {
    const std::string answer = high_->ask(question);
    if (answer == "ok")
        return {};
    return tl::make_unexpected(
        fmt::format("the HIP program answers \"{}\" to {}", answer, question));
}

Done HipPrograms::begin(Sharing sharing) {
    const std::string part = part_of_library(sharing);
    return part.empty() ? Done{} : tell("begin " + part);
}

Done HipPrograms::end(Sharing sharing) {
    return part_of_library(sharing).empty() ? Done{} : tell("end");
}

tl::expected<std::uint64_t, std::string> HipPrograms::serve() {
    const std::string answer = high_->ask("serve");
    std::istringstream words(answer);
    if (std::uint64_t ns = 0; words >> ns)
        return ns;
    return tl::make_unexpected(fmt::format("the HIP program answers \"{}\" to a request", answer));
}

Done HipPrograms::hold_back(Sharing sharing) {
    return is_level(sharing) ? tell("hold") : Done{};
}

Done HipPrograms::release(Sharing sharing) {
    return is_level(sharing) ? tell("release") : Done{};
}

} // namespace verify
