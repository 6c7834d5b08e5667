// SPDX-License-Identifier: MIT
// The registers of BAR 5: values, the units' handlers, and the rule for unknown ones.
#include "model/regs/register_file.hpp"

#include "registers.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <optional>

namespace vgpu {

namespace {

// Where the first of each has its registers. The graphics core has none in the first 0x2000 dwords
// of the upper part of its aperture: behind an odd XCC's, the memory hub is there.
constexpr std::array<std::pair<std::uint32_t, std::uint32_t>, 2> xcc_registers = {
    {{0x2000, 0x3400}, {0xc000, 0x10000}}};
constexpr std::uint32_t mmhub_begin = 0x1a000;
constexpr std::uint32_t mmhub_end = 0x1b000;
constexpr std::uint32_t hdp_begin = 0xf20;
constexpr std::uint32_t hdp_end = 0x1020;
constexpr std::uint32_t sdma_begin = reg::sdma0::SDMA_UCODE_ADDR;
constexpr std::uint32_t sdma_end = sdma_begin + 0x400;

std::optional<std::string_view> name_among(std::span<const NamedRegister> names,
                                           std::uint32_t dword) {
    const auto found = std::lower_bound(
        names.begin(), names.end(), dword,
        [](const NamedRegister& entry, std::uint32_t key) { return entry.dword < key; });
    if (found == names.end() || found->dword != dword)
        return std::nullopt;
    return found->name;
}

} // namespace

RegisterFile::RegisterFile(Observer& observer, unsigned xccs, Gpu gpu)
    : observer_(observer),
      dies_(gpu == Gpu::mi300x ? Dies(xccs) : Dies::of_one(sdma_engines_of_one_die(gpu))),
      values_(dwords()), policies_(dwords()), read_index_(dwords()), write_index_(dwords()) {
    add_copies();
    for (const DeclaredRegister& entry : declared_registers()) {
        policies_[entry.dword] = entry.policy;
        for (const Copy& copy : copies_)
            if (entry.dword >= copy.begin && entry.dword < copy.end)
                policies_[entry.dword + copy.offset] = entry.policy;
    }
    become(gpu);
}

void RegisterFile::add_copies() {
    for (unsigned xcc = 1; xcc < dies_.xccs(); ++xcc)
        for (const auto& [begin, end] : xcc_registers)
            copies_.push_back({fmt::format("xcc{}.gc", xcc), begin, end, dies_.xcc_offset(xcc)});
    // Nothing is there; but ROCm's 6.12.12 writes SQ_CONFIG1 to the place with the number of an
    // XCC.
    for (unsigned place = 0; place < dies_.xcc_places(); ++place)
        if (!dies_.has_xcc(place))
            for (const auto& [begin, end] : xcc_registers)
                copies_.push_back({fmt::format("harvested{}.gc", place), begin, end,
                                   Dies::xcc_place_offset(place)});
    for (unsigned aid = 1; aid < dies_.aids(); ++aid) {
        const std::uint32_t offset = Dies::aid_offset(aid);
        copies_.push_back({fmt::format("mmhub{}", aid), mmhub_begin, mmhub_end, offset});
        copies_.push_back({fmt::format("hdp{}", aid), hdp_begin, hdp_end, offset});
    }
    for (unsigned engine = 1; engine < dies_.sdma_engines(); ++engine)
        copies_.push_back(
            {fmt::format("sdma{}", engine), sdma_begin, sdma_end, dies_.sdma_offset(engine)});
}

void RegisterFile::become(Gpu gpu) {
    if (gpu == Gpu::mi300x)
        return;
    const OtherGpu other = other_gpu(gpu);
    places_.resize(dwords());
    std::iota(places_.begin(), places_.end(), 0U);
    for (const RegisterAlias& alias : other.aliases)
        places_[alias.dword] = alias.place + dies_.sdma_offset(alias.sdma_engine);
    for (const DeclaredRegister& entry : other.declared)
        policies_[entry.dword] = entry.policy;
    other_names_ = other.names;
}

std::string RegisterFile::name(std::uint32_t dword) const {
    for (const Copy& copy : copies_)
        if (dword >= copy.begin + copy.offset && dword < copy.end + copy.offset)
            if (const auto first = name_among(named_registers(), dword - copy.offset))
                return fmt::format("{}.{}", copy.unit, first->substr(first->find('.') + 1));
    auto own = name_among(other_names_, dword);
    if (!own)
        own = name_among(named_registers(), dword);
    return own ? std::string(*own) : fmt::format("unnamed {:#x}", dword);
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

std::uint32_t RegisterFile::read(std::uint32_t address, std::string_view actor) {
    const std::uint32_t dword = place(address);
    if (policies_[dword] == RegisterPolicy::unknown)
        report_unknown(dword, actor, "read");
    const std::uint16_t index = read_index_[dword];
    const std::uint32_t value = index != 0 ? read_handlers_[index - 1]() : values_[dword];
    if (observer_.tracing() && policies_[dword] != RegisterPolicy::port)
        observer_.event(actor, fmt::format("read {} -> {:#x}", name(dword), value));
    return value;
}

void RegisterFile::write(std::uint32_t address, std::uint32_t value, std::string_view actor) {
    const std::uint32_t dword = place(address);
    if (policies_[dword] == RegisterPolicy::unknown)
        report_unknown(dword, actor, "write");
    if (observer_.tracing() && policies_[dword] != RegisterPolicy::port)
        observer_.event(actor, fmt::format("write {} <- {:#x}", name(dword), value));
    const std::uint16_t index = write_index_[dword];
    if (index != 0)
        write_handlers_[index - 1](value);
    else if (policies_[dword] != RegisterPolicy::errors)
        values_[dword] = value;
}

void RegisterFile::clear() {
    std::fill(values_.begin(), values_.end(), 0U);
}

void RegisterFile::report_unknown(std::uint32_t dword, std::string_view actor,
                                  std::string_view verb) {
    const std::string text = fmt::format("{} of register {} by {}", verb, name(dword), actor);
    // The driver sets many registers up that only clocks, caches or error counters depend on. A
    // packet has a register in mind that its own work needs.
    if (actor == "mmio")
        observer_.unmodelled_harmless("regs", text);
    else
        observer_.unmodelled("regs", text);
}

} // namespace vgpu
