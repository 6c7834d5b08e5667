// SPDX-License-Identifier: MIT
// Text of a --fault option, taken apart.
#include "fault/fault_spec.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <charconv>

namespace vgpu::fault {
namespace {

Error bad_spec(std::string_view text, std::string_view why) {
    return {EINVAL, fmt::format("fault '{}': {}\nfaults are:\n{}", text, why, spec_help())};
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

std::optional<Kind> parse_kind(std::string_view name) {
    if (name == "dequeue-late")
        return Kind::dequeue_late;
    if (name == "dequeue-never")
        return Kind::dequeue_never;
    if (name == "drop-fence")
        return Kind::drop_fence;
    return std::nullopt;
}

// True when the kind of fault takes this key.
bool assign(Spec& spec, std::string_view key, std::uint64_t value) {
    if (key == "count")
        spec.count = value;
    else if (key == "ms" && spec.kind == Kind::dequeue_late)
        spec.delay_ms = value;
    else if (key == "polls" && spec.kind == Kind::dequeue_late)
        spec.polls = value;
    else if (key == "nth" && spec.kind == Kind::drop_fence)
        spec.nth = value;
    else
        return false;
    return true;
}

} // namespace

std::string_view spec_help() {
    return "  dequeue-late:ms=N[,count=C]     a direct dequeue completes N ms after its request\n"
           "  dequeue-late:polls=N[,count=C]  ... after N reads of CP_HQD_ACTIVE\n"
           "  dequeue-never[:count=C]         a direct dequeue completes at the next reset only\n"
           "  drop-fence[:nth=N][,count=C]    the N-th HIQ fence behind a save of waves is lost\n";
}

Result<Spec> parse_spec(std::string_view text) {
    const std::size_t colon = text.find(':');
    const auto kind = parse_kind(text.substr(0, colon));
    if (!kind)
        return bad_spec(text, fmt::format("no fault is called '{}'", text.substr(0, colon)));
    Spec spec;
    spec.kind = *kind;
    std::string_view rest = colon == std::string_view::npos ? "" : text.substr(colon + 1);
    if (colon != std::string_view::npos && rest.empty())
        return bad_spec(text, "nothing follows the colon");
    while (!rest.empty()) {
        const std::size_t comma = rest.find(',');
        const std::string_view option = rest.substr(0, comma);
        rest = comma == std::string_view::npos ? "" : rest.substr(comma + 1);
        const std::size_t equals = option.find('=');
        if (equals == std::string_view::npos)
            return bad_spec(text, fmt::format("'{}' is not of the form key=number", option));
        const std::string_view key = option.substr(0, equals);
        const auto value = parse_number(option.substr(equals + 1));
        if (!value || *value == 0)
            return bad_spec(text, fmt::format("'{}' wants a number from 1 up", key));
        if (!assign(spec, key, *value))
            return bad_spec(text, fmt::format("it has no option '{}'", key));
    }
    if (spec.kind == Kind::dequeue_late && spec.delay_ms.has_value() == spec.polls.has_value())
        return bad_spec(text, "say how late: ms=N or polls=N, one of them");
    return spec;
}

} // namespace vgpu::fault
