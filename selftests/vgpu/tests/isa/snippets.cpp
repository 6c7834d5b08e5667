// SPDX-License-Identifier: MIT
// Assembles a list of snippets in one go and runs them one at a time.
#include "tests/isa/snippets.hpp"

#include "model/isa/interpreter.hpp"
#include "tests/sq/support/assembler.hpp"

#include <cstring>

namespace vgpu::test {

Snippets::Snippets(const std::vector<std::string>& texts, isa::Isa isa) : isa_(isa) {
    std::string all;
    for (const std::string& text : texts) {
        all += text + "\n s_endpgm\n .p2align 9, 0\n";
    }
    const std::vector<std::uint32_t> code = assemble(all, isa);
    std::memcpy(memory.at(code_va), code.data(), code.size() * 4);
}

isa::WaveState Snippets::wave() {
    isa::WaveState wave;
    wave.isa = isa_;
    wave.vmid = 8; // of a process
    wave.vgpr.resize(64);
    wave.arch_vgprs = 32;
    wave.sgpr.resize(112);
    wave.exec = ~0ULL;
    wave.mode = 0xf0; // denormals in and out
    wave.lds = lds;
    wave.sh_mem_bases = 0x0002'0001;
    return wave;
}

isa::Outcome Snippets::run(std::size_t i, isa::WaveState& wave) {
    constexpr std::uint64_t limit = 100'000;
    wave.pc = code_va + i * stride;
    for (executed = 0; executed < limit; ++executed) {
        isa::Execution e(wave, space_, clock);
        isa::step(e);
        problem = e.problem;
        if (e.outcome != isa::Outcome::next) {
            return e.outcome;
        }
    }
    return isa::Outcome::next;
}

} // namespace vgpu::test
