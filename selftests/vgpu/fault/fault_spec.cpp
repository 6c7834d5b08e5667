// SPDX-License-Identifier: MIT
// Text of a --fault option, taken apart.
#include "fault/fault_spec.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>

namespace vgpu::fault {
namespace {

Error bad_spec(std::string_view text, std::string_view why) {
    return {EINVAL, fmt::format("fault '{}': {}\nfaults are:\n{}", text, why, spec_help())};
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
    const bool hexadecimal = text.starts_with("0x");
    if (hexadecimal)
        text.remove_prefix(2);
    std::uint64_t value = 0;
    const auto [end, error] =
        std::from_chars(text.data(), text.data() + text.size(), value, hexadecimal ? 16 : 10);
    if (text.empty() || error != std::errc() || end != text.data() + text.size())
        return std::nullopt;
    return value;
}

// The options of a kind, besides count.
struct KindEntry {
    std::string_view name;
    Kind kind;
    std::string_view options; // words
};
constexpr std::array<KindEntry, 18> kinds = {{
    {"dequeue-late", Kind::dequeue_late, "ms polls doorbell vmid pasid xcc nth"},
    {"dequeue-never", Kind::dequeue_never, "doorbell vmid pasid xcc nth"},
    {"unmap-late", Kind::unmap_late, "ms doorbell vmid pasid xcc nth"},
    {"unmap-never", Kind::unmap_never, "doorbell vmid pasid xcc nth"},
    {"unmap-skipped", Kind::unmap_skipped, "doorbell vmid pasid xcc nth"},
    {"doorbell-lost", Kind::doorbell_lost, "doorbell vmid pasid nth"},
    {"grace-lost", Kind::grace_lost, "xcc nth"},
    {"hung-wave", Kind::hung_wave, "doorbell vmid pasid xcc nth"},
    {"queue-reset-never", Kind::queue_reset_never, "nth"},
    {"drop-fence", Kind::drop_fence, "nth"},
    {"slow-fence", Kind::slow_fence, "ms nth"},
    {"early-fence", Kind::early_fence, "ms polls doorbell vmid pasid xcc nth"},
    {"lost-interrupt", Kind::lost_interrupt, "source nth"},
    {"lost-msi", Kind::lost_msi, "nth"},
    {"sdma-stuck", Kind::sdma_stuck, "engine doorbell vmid pasid nth"},
    {"kernel-sdma-stuck", Kind::kernel_sdma_stuck, "engine nth"},
    {"vm-fault", Kind::vm_fault, "vmid pasid nth"},
    {"device-hang", Kind::device_hang, ""},
}};

bool has_word(std::string_view words, std::string_view word) {
    while (!words.empty()) {
        const std::size_t space = words.find(' ');
        if (words.substr(0, space) == word)
            return true;
        words = space == std::string_view::npos ? "" : words.substr(space + 1);
    }
    return false;
}

void assign(Spec& spec, std::string_view key, std::uint64_t value) {
    if (key == "count")
        spec.count = value;
    else if (key == "ms")
        spec.delay_ms = value;
    else if (key == "polls")
        spec.polls = value;
    else if (key == "nth")
        spec.nth = value;
    else if (key == "doorbell")
        spec.doorbell = value;
    else if (key == "vmid")
        spec.vmid = value;
    else if (key == "pasid")
        spec.pasid = value;
    else if (key == "xcc")
        spec.xcc = value;
    else if (key == "engine")
        spec.engine = value;
    else if (key == "source")
        spec.source = value;
}

// Zero is a name for these, and a mistake for what counts.
bool names_something(std::string_view key) {
    return has_word("doorbell vmid pasid xcc engine source", key);
}

const char* missing_option(const Spec& spec) {
    if (spec.kind == Kind::dequeue_late && spec.delay_ms.has_value() == spec.polls.has_value())
        return "say how late: ms=N or polls=N, one of them";
    if ((spec.kind == Kind::unmap_late || spec.kind == Kind::slow_fence) && !spec.delay_ms)
        return "say how late: ms=N";
    return nullptr;
}

} // namespace

std::string_view spec_help() {
    return "  dequeue-late:ms=N      a direct dequeue completes N ms after its request\n"
           "  dequeue-late:polls=N   ... after N reads of CP_HQD_ACTIVE\n"
           "  dequeue-never          ... at the reset of the queue or the GPU only\n"
           "  unmap-late:ms=N        a queue leaves its slot N ms after the HIQ's UNMAP_QUEUES\n"
           "  unmap-never            ... at the reset of the queue or the GPU only\n"
           "  unmap-skipped          UNMAP_QUEUES succeeds, but a queue stays in its slot and "
           "runs\n"
           "  doorbell-lost          a queue mapped again ignores packets submitted while it was\n"
           "                         unmapped, until its next doorbell\n"
           "  grace-lost             a write of CP_IQ_WAIT_TIME2 by the HIQ misses one XCC\n"
           "  hung-wave              the waves of a queue ignore a save, until the queue's reset\n"
           "  queue-reset-never      the reset of a queue that hangs does not help\n"
           "  drop-fence             the HIQ fence behind a save of waves is lost\n"
           "  slow-fence:ms=N        a HIQ fence is written N ms late\n"
           "  early-fence            a HIQ fence does not wait until a queue whose waves are saved "
           "left,\n"
           "                         which takes ms=N, or polls=N reads of CP_HQD_ACTIVE, if "
           "given\n"
           "  lost-interrupt         an interrupt entry is not written (source=S: of source S)\n"
           "  lost-msi               an interrupt entry is written, but no MSI sent\n"
           "  sdma-stuck             a user ring of SDMA stands still until the reset (engine=E)\n"
           "  kernel-sdma-stuck      ... and so does the kernel's ring, which moves memory\n"
           "  vm-fault               a translation for a wave or a user's SDMA finds no page\n"
           "  device-hang            all engines stand still until the device is reset\n"
           "options of all: count=C times (1); of all but device-hang: nth=N, the first occasion\n"
           "that is hit (1). Of queue stops, waves, doorbell-lost, sdma-stuck: doorbell=D, the\n"
           "dword of the queue. Of these and vm-fault: vmid=V, pasid=P. Of queue stops, waves,\n"
           "grace-lost: xcc=X.\n"
           "Numbers are decimal or 0x....\n";
}

Result<Spec> parse_spec(std::string_view text) {
    const std::size_t colon = text.find(':');
    const std::string_view name = text.substr(0, colon);
    const auto* entry =
        std::find_if(kinds.begin(), kinds.end(), [&](const auto& k) { return k.name == name; });
    if (entry == kinds.end())
        return bad_spec(text, fmt::format("no fault is called '{}'", name));
    Spec spec;
    spec.kind = entry->kind;
    spec.text = text;
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
        if (!value || (*value == 0 && !names_something(key)))
            return bad_spec(text, fmt::format("'{}' wants a number{}", key,
                                              names_something(key) ? "" : " from 1 up"));
        if (key != "count" && !has_word(entry->options, key))
            return bad_spec(text, fmt::format("it has no option '{}'", key));
        assign(spec, key, *value);
    }
    if (const char* why = missing_option(spec))
        return bad_spec(text, why);
    return spec;
}

} // namespace vgpu::fault
