// SPDX-License-Identifier: MIT
#include "tests/differential/compiled.hpp"

#include "model/isa/address_space.hpp"
#include "model/isa/interpreter.hpp"
#include "tests/sq/support/temporary_directory.hpp"

#include <dlfcn.h>
#include <elf.h>

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <span>

namespace vgpu::differential {

namespace {

[[noreturn]] void die(const std::string& text) {
    std::fprintf(stderr, "vgpu_differential: %s\n", text.c_str());
    std::exit(EXIT_FAILURE);
}

// An IEEE result is one result: nothing is fused that wasn't written so.
void compile(const test::TemporaryDirectory& directory, const std::string& text,
             const std::string& options) {
    std::ofstream(directory.file("in.ll")) << text;
    const std::string command =
        fmt::format(VGPU_CLANG " -O1 -ffp-contract=off -Wno-override-module -x ir {} {} -o {}",
                    directory.file("in.ll"), options, directory.file("out"));
    if (std::system(command.c_str()) != 0) {
        const std::string kept = std::filesystem::temp_directory_path() / "vgpu-differential.ll";
        std::ofstream(kept) << text;
        die(fmt::format("the compiler does not take {}", kept));
    }
}

} // namespace

HostCode::HostCode(const std::string& text) {
    const test::TemporaryDirectory directory;
    compile(directory, for_host(std::string(prologue) + text), "-shared -fPIC -lm");
    library_ = dlopen(directory.file("out").c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
        die(dlerror());
    }
}

HostCode::~HostCode() {
    dlclose(library_);
}

Outputs HostCode::run(const std::string& name, const Inputs& inputs) const {
    using Entry = void (*)(const void*, void*, const void*, std::uint32_t);
    const auto entry = reinterpret_cast<Entry>(dlsym(library_, name.c_str()));
    if (entry == nullptr) {
        die(dlerror());
    }
    Outputs outputs{};
    for (std::uint32_t lane = 0; lane < outputs.size(); ++lane) {
        entry(&inputs.lane, &outputs, &inputs.uniform, lane);
    }
    return outputs;
}

GpuCode::GpuCode(const std::string& text) {
    const test::TemporaryDirectory directory;
    compile(directory, std::string(prologue) + text, "-target amdgcn-- -mcpu=gfx942 -c");
    std::ifstream in(directory.file("out"), std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(in), {}};
    object_.resize(bytes.size());
    std::memcpy(object_.data(), bytes.data(), bytes.size());
    // No part of it refers to another: it runs where it lies.
    if (code_va - test::FlatMemory::base + object_.size() > 16U << 20) {
        die("the functions are too large");
    }
    std::memcpy(memory_.at(code_va), object_.data(), object_.size());
}

std::uint64_t GpuCode::address_of(const std::string& name) const {
    const auto* header = reinterpret_cast<const Elf64_Ehdr*>(object_.data());
    const std::span sections(reinterpret_cast<const Elf64_Shdr*>(object_.data() + header->e_shoff),
                             header->e_shnum);
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != SHT_SYMTAB) {
            continue;
        }
        const auto* names =
            reinterpret_cast<const char*>(object_.data() + sections[section.sh_link].sh_offset);
        const std::span symbols(
            reinterpret_cast<const Elf64_Sym*>(object_.data() + section.sh_offset),
            section.sh_size / sizeof(Elf64_Sym));
        for (const Elf64_Sym& symbol : symbols) {
            if (names + symbol.st_name == name) {
                return code_va + sections[symbol.st_shndx].sh_offset + symbol.st_value;
            }
        }
    }
    die("no symbol " + name);
}

Outputs GpuCode::run(const std::string& name, const Inputs& inputs) {
    constexpr unsigned limit = 1'000'000;
    std::memcpy(memory_.at(inputs_va), &inputs.lane, sizeof inputs.lane);
    std::memcpy(memory_.at(uniform_va), &inputs.uniform, sizeof inputs.uniform);
    std::memset(memory_.at(outputs_va), 0, sizeof(Outputs));

    std::array<std::byte, 4096> lds{};
    isa::WaveState wave;
    wave.vgpr.resize(512);
    wave.arch_vgprs = 256;
    wave.sgpr.resize(112);
    wave.exec = ~0ULL;
    wave.mode = 0xf0 | isa::mode::dx10_clamp; // denormals in and out: what LLVM gives a shader
    wave.lds = lds;
    wave.sh_mem_bases = 0x0002'0001;
    wave.pc = address_of(name);
    unsigned next = 0;
    for (const std::uint64_t pointer : {inputs_va, outputs_va, uniform_va}) {
        wave.sgpr[next++] = static_cast<std::uint32_t>(pointer);
        wave.sgpr[next++] = static_cast<std::uint32_t>(pointer >> 32);
    }
    for (std::uint32_t lane = 0; lane < isa::lane_count; ++lane) {
        wave.vgpr[0].lane[lane] = lane;
    }

    isa::AddressSpace space(memory_);
    isa::Outcome outcome = isa::Outcome::next;
    for (unsigned step = 0; step < limit && outcome == isa::Outcome::next; ++step) {
        isa::Execution e(wave, space, 0);
        isa::step(e);
        outcome = e.outcome;
        problem = e.problem;
        ++executed;
    }
    if (outcome != isa::Outcome::ended && problem.empty()) {
        problem = fmt::format("the wave stands at {:#x} of {}", wave.pc - address_of(name), name);
    }
    Outputs outputs;
    std::memcpy(&outputs, memory_.at(outputs_va), sizeof outputs);
    return outputs;
}

} // namespace vgpu::differential
