// SPDX-License-Identifier: MIT
// The registers of BAR 5: values, the units' handlers, and the rule for unknown ones.
#include "model/regs/register_file.hpp"

#include <fmt/format.h>

#include <algorithm>

namespace vgpu {

std::string register_name(std::uint32_t dword) {
    const std::uint32_t copy = dword / xcc_aperture;
    if (copy >= 2 && in_xcc_aperture(dword % xcc_aperture))
        return fmt::format("xcc{}.{}", copy - 1, register_name(dword % xcc_aperture));
    const auto names = named_registers();
    const auto found = std::lower_bound(
        names.begin(), names.end(), dword,
        [](const NamedRegister& entry, std::uint32_t key) { return entry.dword < key; });
    if (found != names.end() && found->dword == dword)
        return std::string(found->name);
    return fmt::format("unnamed {:#x}", dword);
}

RegisterFile::RegisterFile(Observer& observer, unsigned xccs)
    : observer_(observer), xccs_(xccs), values_(dwords()), policies_(dwords()),
      read_index_(dwords()), write_index_(dwords()) {
    for (const DeclaredRegister& entry : declared_registers()) {
        policies_[entry.dword] = entry.policy;
        if (!in_xcc_aperture(entry.dword))
            continue;
        for (unsigned xcc = 1; xcc < xccs; ++xcc)
            policies_[entry.dword + xcc_offset(xcc)] = entry.policy;
    }
}

void RegisterFile::on_read(std::uint32_t dword, ReadHandler handler) {
    read_handlers_.push_back(std::move(handler));
    read_index_[dword] = static_cast<std::uint16_t>(read_handlers_.size());
    if (!declared(dword))
        policies_[dword] = RegisterPolicy::unit;
}

void RegisterFile::on_write(std::uint32_t dword, WriteHandler handler) {
    write_handlers_.push_back(std::move(handler));
    write_index_[dword] = static_cast<std::uint16_t>(write_handlers_.size());
    if (!declared(dword))
        policies_[dword] = RegisterPolicy::unit;
}

std::uint64_t RegisterFile::value64(std::uint32_t dword) const {
    return values_[dword] | static_cast<std::uint64_t>(values_[dword + 1]) << 32;
}

std::uint32_t RegisterFile::read(std::uint32_t dword, std::string_view actor) {
    if (policies_[dword] == RegisterPolicy::unknown)
        report_unknown(dword, actor, "read");
    const std::uint16_t index = read_index_[dword];
    const std::uint32_t value = index != 0 ? read_handlers_[index - 1]() : values_[dword];
    if (observer_.tracing() && policies_[dword] != RegisterPolicy::port)
        observer_.event(actor, fmt::format("read {} -> {:#x}", register_name(dword), value));
    return value;
}

void RegisterFile::write(std::uint32_t dword, std::uint32_t value, std::string_view actor) {
    if (policies_[dword] == RegisterPolicy::unknown)
        report_unknown(dword, actor, "write");
    if (observer_.tracing() && policies_[dword] != RegisterPolicy::port)
        observer_.event(actor, fmt::format("write {} <- {:#x}", register_name(dword), value));
    const std::uint16_t index = write_index_[dword];
    if (index != 0)
        write_handlers_[index - 1](value);
    else
        values_[dword] = value;
}

void RegisterFile::clear() {
    std::fill(values_.begin(), values_.end(), 0U);
}

void RegisterFile::report_unknown(std::uint32_t dword, std::string_view actor,
                                  std::string_view verb) {
    const std::string text =
        fmt::format("{} of register {} by {}", verb, register_name(dword), actor);
    // The driver sets many registers up that only clocks, caches or error counters depend on. A
    // packet has a register in mind that its own work needs.
    if (actor == "mmio")
        observer_.unmodelled_harmless("regs", text);
    else
        observer_.unmodelled("regs", text);
}

} // namespace vgpu
