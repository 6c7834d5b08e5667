// SPDX-License-Identifier: MIT
// The registers of BAR 5: values, the units' handlers, and the rule for unknown ones.
#pragma once

#include "model/base/observer.hpp"
#include "model/regs/dies.hpp"
#include "model/regs/register_tables.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace vgpu {

// A register that isn't declared in blocks/*.regs is reported as unmodelled, once for each
// name and direction, and then behaves like memory so that the run can continue. An access by the
// driver is harmless, one by a packet isn't.
class RegisterFile {
public:
    using ReadHandler = std::function<std::uint32_t()>;
    using WriteHandler = std::function<void(std::uint32_t)>;

    explicit RegisterFile(Observer& observer, unsigned xccs = 1, Gpu gpu = Gpu::mi300x);

    const Dies& dies() const { return dies_; }
    // Size of the BAR, a power of two.
    static constexpr std::uint32_t dwords() { return Dies::register_dwords; }
    // As the trace prints it, "unnamed 0x1234" when no header has it. Registers of the XCCs, memory
    // hubs and SDMA engines behind the first begin with "xcc1.", "mmhub1." or "sdma1." and so on.
    std::string name(std::uint32_t dword) const;

    // The unit that owns a register gives it a meaning. Without a handler it is memory.
    void on_read(std::uint32_t dword, ReadHandler handler);
    void on_write(std::uint32_t dword, WriteHandler handler);

    // Plain value, past handlers: how units keep their own state.
    std::uint32_t value(std::uint32_t dword) const { return values_[dword]; }
    void set(std::uint32_t dword, std::uint32_t value) { values_[dword] = value; }
    // A 64-bit value in two registers, low one first.
    std::uint64_t value64(std::uint32_t dword) const;

    // An access by the driver ("mmio") or by an engine that is told to ("cp", "sdma0").
    std::uint32_t read(std::uint32_t dword, std::string_view actor);
    void write(std::uint32_t dword, std::uint32_t value, std::string_view actor);

    bool declared(std::uint32_t dword) const { return policies_[dword] != RegisterPolicy::unknown; }
    // All values back to zero, as after a reset of the device. Handlers stay.
    void clear();

private:
    // Registers that are those of the first XCC, AID or SDMA engine once more.
    struct Copy {
        std::string unit;
        std::uint32_t begin, end; // of the first
        std::uint32_t offset;
    };
    void add_copies();
    void become(Gpu gpu);
    std::uint32_t place(std::uint32_t dword) const {
        return places_.empty() ? dword : places_[dword];
    }
    void report_unknown(std::uint32_t dword, std::string_view actor, std::string_view verb);

    Observer& observer_;
    Dies dies_;
    std::vector<Copy> copies_;
    // Maps the dwords of a GPU other than the MI300X to those of the model; empty for the MI300X.
    std::vector<std::uint32_t> places_;
    std::span<const NamedRegister> other_names_;
    std::vector<std::uint32_t> values_;
    std::vector<RegisterPolicy> policies_;
    // Index into the handler lists plus one; 0 for none. Flat, for the MMIO path is hot.
    std::vector<std::uint16_t> read_index_;
    std::vector<std::uint16_t> write_index_;
    // Deques: a handler may install another one while it runs.
    std::deque<ReadHandler> read_handlers_;
    std::deque<WriteHandler> write_handlers_;
};

// The graphics core's registers of one XCC, by the names they have for XCC 0.
class XccRegisters {
public:
    XccRegisters(RegisterFile& file, unsigned xcc)
        : file_(file), offset_(file.dies().xcc_offset(xcc)) {}

    void on_read(std::uint32_t dword, RegisterFile::ReadHandler handler) const {
        file_.on_read(dword + offset_, std::move(handler));
    }
    void on_write(std::uint32_t dword, RegisterFile::WriteHandler handler) const {
        file_.on_write(dword + offset_, std::move(handler));
    }
    std::uint32_t value(std::uint32_t dword) const { return file_.value(dword + offset_); }
    std::uint64_t value64(std::uint32_t dword) const { return file_.value64(dword + offset_); }
    void set(std::uint32_t dword, std::uint32_t value) const { file_.set(dword + offset_, value); }

    // Where an access of this XCC's own packets goes: its own copy, or a unit all XCCs share.
    std::uint32_t place(std::uint32_t dword) const {
        return in_xcc_aperture(dword) ? dword + offset_ : dword;
    }
    RegisterFile& file() const { return file_; }

private:
    RegisterFile& file_;
    std::uint32_t offset_;
};

} // namespace vgpu
