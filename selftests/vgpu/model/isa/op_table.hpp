// SPDX-License-Identifier: MIT
// Opcode tables: what an encoding knows, for execution and for the list of what is modelled.
#pragma once

#include "model/isa/isa.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace vgpu::isa {

class Execution;

template <typename Handler> struct Op {
    std::uint16_t opcode = 0;
    std::string_view name; // as LLVM prints it for gfx942, without _e32/_e64
    Handler execute = nullptr;
    std::uint8_t isas = every_isa;
};

// A table for each ISA.
template <typename Table> class PerIsa {
public:
    // of(isa) makes the table.
    template <typename Make>
    explicit PerIsa(Make of) : tables_{of(Isa::gfx908), of(Isa::gfx90a), of(Isa::gfx942)} {}
    const Table& operator[](Isa isa) const { return tables_[static_cast<unsigned>(isa)]; }

private:
    std::array<Table, isa_count> tables_;
};

// Direct-mapped by opcode; an opcode that isn't listed has a null handler. For encodings that all
// ISAs share.
template <std::size_t opcodes, typename Handler, std::size_t count>
constexpr std::array<Handler, opcodes> index_by_opcode(const std::array<Op<Handler>, count>& ops) {
    std::array<Handler, opcodes> index{};
    for (const Op<Handler>& op : ops) {
        index.at(op.opcode) = op.execute;
    }
    return index;
}

struct OpName {
    std::uint16_t opcode = 0;
    std::string_view name;
    std::uint8_t isas = every_isa;
};

template <typename Handler, std::size_t count>
constexpr std::array<OpName, count> names_of(const std::array<Op<Handler>, count>& ops) {
    std::array<OpName, count> names{};
    for (std::size_t i = 0; i < count; ++i) {
        names.at(i) = {ops.at(i).opcode, ops.at(i).name, ops.at(i).isas};
    }
    return names;
}

using ScalarHandler = void (*)(Execution&);
using ScalarOp = Op<ScalarHandler>;

// The same for an encoding whose operations are in several files: a range of their spans.
template <std::size_t opcodes, typename Families>
std::array<ScalarHandler, opcodes> index_families(const Families& families, Isa isa) {
    std::array<ScalarHandler, opcodes> index{};
    for (const std::span<const ScalarOp> ops : families) {
        for (const ScalarOp& op : ops) {
            if (has(op.isas, isa)) {
                index.at(op.opcode) = op.execute;
            }
        }
    }
    return index;
}
template <std::size_t opcodes, typename Families>
PerIsa<std::array<ScalarHandler, opcodes>> index_families(const Families& families) {
    return PerIsa<std::array<ScalarHandler, opcodes>>(
        [&](Isa isa) { return index_families<opcodes>(families, isa); });
}

template <typename Families> std::vector<OpName> names_of_families(const Families& families) {
    std::vector<OpName> names;
    for (const auto ops : families) {
        for (const auto& op : ops) {
            names.push_back({op.opcode, op.name, op.isas});
        }
    }
    return names;
}

} // namespace vgpu::isa
