// SPDX-License-Identifier: MIT
// The registers of BAR 5: values, the units' handlers, and the rule for unknown ones.
#pragma once

#include "model/base/observer.hpp"
#include "model/regs/register_tables.hpp"

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace vgpu {

// Name of a register as the trace prints it, "unnamed 0x1234" when no header has it.
std::string register_name(std::uint32_t dword);

// A register that is not declared in blocks/*.regs is reported as unmodelled, once for each
// name and direction, and then behaves like memory so that the run can go on.
class RegisterFile {
public:
    static constexpr std::uint32_t dword_count = 0x20000; // 512 KiB

    using ReadHandler = std::function<std::uint32_t()>;
    using WriteHandler = std::function<void(std::uint32_t)>;

    explicit RegisterFile(Observer& observer);

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
    void report_unknown(std::uint32_t dword, std::string_view actor, std::string_view verb);

    Observer& observer_;
    std::vector<std::uint32_t> values_;
    std::vector<RegisterPolicy> policies_;
    // Index into the handler lists plus one; 0 for none. Flat, for the MMIO path is hot.
    std::vector<std::uint16_t> read_index_;
    std::vector<std::uint16_t> write_index_;
    // Deques: a handler may install another one while it runs.
    std::deque<ReadHandler> read_handlers_;
    std::deque<WriteHandler> write_handlers_;
};

} // namespace vgpu
