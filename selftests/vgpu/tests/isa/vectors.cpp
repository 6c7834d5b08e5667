// SPDX-License-Identifier: MIT
// Reads the vectors, runs one, and compares everything that the wave can see afterwards.
#include "tests/isa/vectors.hpp"

#include "model/isa/interpreter.hpp"
#include "tests/isa/vector_judge.hpp"
#include "tests/sq/support/gpu.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <memory>
#include <sstream>
#include <stdexcept>

namespace vgpu::test {

namespace {

constexpr u64 code_va = FlatMemory::base + 0x1000;
constexpr u64 image_va = FlatMemory::base + 0x1'0000;
constexpr unsigned file_size = 256; // VGPRs, and as many AccVGPRs

u64 hex(std::string_view text) {
    u64 value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw std::runtime_error("no hexadecimal number: " + std::string(text));
    }
    return value;
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    for (std::size_t begin = 0; begin <= text.size();) {
        const std::size_t end = std::min(text.find(separator, begin), text.size());
        parts.push_back(text.substr(begin, end - begin));
        begin = end + 1;
    }
    return parts;
}

std::vector<u64> numbers(std::string_view text) {
    std::vector<u64> values;
    for (const std::string_view part : split(text, ',')) {
        values.push_back(hex(part));
    }
    return values;
}

std::vector<u32> words(std::string_view text) {
    const std::vector<u64> values = numbers(text);
    return {values.begin(), values.end()};
}

NamedValues values(std::string_view text) {
    NamedValues all;
    if (text != "-") {
        for (const std::string_view part : split(text, ' ')) {
            const std::size_t equals = part.find('=');
            all.emplace(part.substr(0, equals), numbers(part.substr(equals + 1)));
        }
    }
    return all;
}

IsaVector vector_of(std::string_view line) {
    const std::vector<std::string_view> fields = split(line, '\t');
    if (fields.size() != 7) {
        throw std::runtime_error("not seven fields: " + std::string(line));
    }
    IsaVector vector{.mnemonic = std::string(fields[0]),
                     .text = std::string(fields[1]),
                     .code = words(fields[2]),
                     .lanes = hex(fields[3]),
                     .flags = {},
                     .before = values(fields[5]),
                     .after = values(fields[6])};
    if (fields[4] != "-") {
        for (const std::string_view flag : split(fields[4], ',')) {
            const std::size_t equals = flag.find('=');
            vector.flags.emplace(flag.substr(0, equals), equals == std::string_view::npos
                                                             ? ~u64{0}
                                                             : hex(flag.substr(equals + 1)));
        }
    }
    return vector;
}

// The wave and the memory of one vector.
class Stage {
public:
    explicit Stage(const VectorFile& file) : image_(file.image) {
        wave.vmid = 8;
        wave.vgpr.resize(std::size_t{2} * file_size);
        wave.arch_vgprs = file_size;
        wave.sgpr.resize(112);
        wave.mode = 0xf0; // denormals in and out
        wave.sh_mem_bases = 0x0002'0001;
        lds_.resize(std::max<std::size_t>(image_.size() * 4, 64));
        std::memcpy(lds_.data(), image_.data(), image_.size() * 4);
        std::memcpy(memory_.at(image_va), image_.data(), image_.size() * 4);
        wave.lds = lds_;
    }

    void set(const std::string& name, const std::vector<u64>& given, u64 lanes) {
        if (name == "exec") {
            wave.exec = given[0];
        } else if (name == "vcc") {
            wave.sgpr[wave.sgpr.size() - 2] = static_cast<u32>(given[0]);
            wave.sgpr[wave.sgpr.size() - 1] = static_cast<u32>(given[0] >> 32);
        } else if (name == "scc") {
            wave.scc = given[0] != 0;
        } else if (name == "m0") {
            wave.m0 = static_cast<u32>(given[0]);
        } else if (name[0] == 's') {
            wave.sgpr.at(std::stoul(name.substr(1))) = static_cast<u32>(given[0]);
        } else if (name.find('@') != std::string::npos) {
            const bool in_lds = name.starts_with("lds");
            std::byte* to = (in_lds ? lds_.data() : memory_.at(image_va)) + hex(name.substr(4));
            for (std::size_t i = 0; i < given.size(); ++i) {
                const u32 word = static_cast<u32>(given[i]);
                std::memcpy(to + i * 4, &word, 4);
            }
        } else {
            const std::size_t reg = std::stoul(name.substr(1)) + (name[0] == 'a' ? file_size : 0);
            for (const u64 value : given) {
                wave.vgpr.at(reg).lane[static_cast<unsigned>(std::countr_zero(lanes))] =
                    static_cast<u32>(value);
                lanes &= lanes - 1;
            }
        }
    }

    bool run(const IsaVector& vector, std::string& problem) {
        std::memcpy(memory_.at(code_va), vector.code.data(), vector.code.size() * 4);
        wave.pc = code_va;
        isa::Execution e(wave, space_, 0);
        isa::step(e);
        if (e.outcome != isa::Outcome::next) {
            problem = e.outcome == isa::Outcome::illegal ? e.problem : "does not end as it should";
        } else if (wave.pc != code_va + vector.code.size() * 4) {
            problem = "has another length";
        }
        return problem.empty();
    }

    u64 image_words_at(bool in_lds, std::size_t i) {
        u64 words = 0;
        std::memcpy(&words, (in_lds ? lds_.data() : memory_.at(image_va)) + i * 4, 8);
        return words;
    }
    std::size_t image_words() const { return image_.size(); }

    isa::WaveState wave;

private:
    const std::vector<u32>& image_;
    std::vector<std::byte> lds_;
    FlatMemory memory_{1U << 18};
    isa::AddressSpace space_{memory_};
};

// Everything that the wave can see, compared with what the vector says.
class Comparison {
public:
    Comparison(const IsaVector& vector, const std::set<std::string>& settled, Stage& got,
               Stage& expected)
        : judge_(vector, settled), got_(got), expected_(expected),
          masks_(settled.contains("exec") ? got.wave.exec : ~u64{0}),
          scc_(!settled.contains("flags")), vgprs_(!settled.contains("memory")) {}

    std::vector<std::string> all() {
        const isa::WaveState& got = got_.wave;
        const isa::WaveState& expected = expected_.wave;
        scalar("exec", got.exec, expected.exec);
        scalar("vcc", got.vcc() & masks_, expected.vcc() & masks_);
        scalar("scc", scc_ && got.scc, scc_ && expected.scc);
        scalar("m0", got.m0, expected.m0);
        for (std::size_t i = 0; i + 6 < got.sgpr.size(); ++i) {
            const u32 half = static_cast<u32>(masks_ >> (i % 2 * 32));
            scalar("s" + std::to_string(i), got.sgpr[i] & half, expected.sgpr[i] & half);
        }
        for (unsigned reg = 0; vgprs_ && reg < 2 * file_size; reg += 2) {
            registers(reg);
        }
        for (std::size_t i = 0; i < got_.image_words(); i += 2) {
            image(true, i);
            image(false, i);
        }
        return std::move(found_);
    }

private:
    void say(const std::string& what, u64 got, u64 expected) {
        std::ostringstream text;
        text << what << std::hex << " is " << got << ", not " << expected;
        found_.push_back(text.str());
    }
    void scalar(const std::string& what, u64 got, u64 expected) {
        if (got != expected) {
            say(what, got, expected);
        }
    }
    // An even register and the next: results of 64 bits are in such a pair.
    void registers(unsigned reg) {
        for (unsigned lane = 0; lane < isa::lane_count; ++lane) {
            const u64 got = pair(got_.wave, reg, lane);
            const u64 expected = pair(expected_.wave, reg, lane);
            if (got != expected && !judge_.agrees(lane, got, expected)) {
                const std::string name =
                    (reg < file_size ? "v" : "a") + std::to_string(reg % file_size);
                say(name + " of lane " + std::to_string(lane), got, expected);
            }
        }
    }
    void image(bool in_lds, std::size_t i) {
        const u64 got = got_.image_words_at(in_lds, i);
        const u64 expected = expected_.image_words_at(in_lds, i);
        if (got != expected && !judge_.agrees_in_memory(got, expected)) {
            std::ostringstream name;
            name << (in_lds ? "lds@" : "mem@") << std::hex << i * 4;
            say(name.str(), got, expected);
        }
    }
    static u64 pair(const isa::WaveState& wave, unsigned reg, unsigned lane) {
        return wave.vgpr[reg].lane[lane] | u64{wave.vgpr[reg + 1].lane[lane]} << 32;
    }

    VectorJudge judge_;
    Stage& got_;
    Stage& expected_;
    u64 masks_; // lanes whose bits count in a mask
    bool scc_;
    bool vgprs_;
    std::vector<std::string> found_;
};

} // namespace

bool IsaVector::flagged(std::string_view flag, unsigned lane) const {
    const auto found = flags.find(flag);
    return found != flags.end() && (found->second >> lane & 1) != 0;
}

VectorFile read_vectors(const std::string& path) {
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> pipe(
        popen(("xz -dc '" + path + "'").c_str(), "r"), pclose);
    if (!pipe) {
        throw std::runtime_error("cannot run xz");
    }
    std::string text;
    char block[1U << 16];
    while (const std::size_t count = std::fread(block, 1, sizeof(block), pipe.get())) {
        text.append(block, count);
    }
    VectorFile file;
    for (std::string_view line : split(text, '\n')) {
        if (line.starts_with("@image=")) {
            file.image = words(line.substr(7));
        } else if (!line.empty()) {
            file.vectors.push_back(vector_of(line));
        }
    }
    return file;
}

std::vector<std::string> differences(const IsaVector& vector, const VectorFile& file,
                                     const std::set<std::string>& settled) {
    if (settled.contains("skip")) {
        return {};
    }
    Stage got(file);
    Stage expected(file);
    for (const auto& [name, given] : vector.before) {
        got.set(name, given, vector.lanes);
        expected.set(name, given, vector.lanes);
    }
    for (const auto& [name, given] : vector.after) {
        expected.set(name, given, vector.lanes);
    }
    std::string problem;
    if (!got.run(vector, problem)) {
        return settled.contains("refusal") ? std::vector<std::string>{} : std::vector{problem};
    }
    return Comparison(vector, settled, got, expected).all();
}

} // namespace vgpu::test
