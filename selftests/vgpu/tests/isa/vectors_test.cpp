// SPDX-License-Identifier: MIT
// Each instruction of the vectors does on a model of a MI300X what AMD's ISA documents say, but for
// the differences that vectors/settled.txt decides.
#include "tests/isa/settlements.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <stdexcept>

namespace vgpu::test {

namespace {

std::string folder() {
    return std::filesystem::read_symlink("/proc/self/exe").parent_path() / VGPU_ISA_VECTORS;
}

const std::vector<Settlement>& settlements() {
    static const std::vector<Settlement> all = read_settlements(folder() + "/settled.txt");
    return all;
}

class IsaVectors : public testing::TestWithParam<const char*> {
protected:
    VectorFile file = read_vectors(folder() + "/" + GetParam() + ".txt.xz");
};

} // namespace

TEST_P(IsaVectors, instructions_do_what_the_documents_say) {
    std::size_t whole = 0;
    for (const IsaVector& vector : file.vectors) {
        const std::set<std::string> kinds = settled(vector, settlements());
        whole += kinds.empty() ? 1 : 0;
        for (const std::string& difference : differences(vector, file, kinds)) {
            ADD_FAILURE() << vector.text << ": " << difference;
        }
    }
    RecordProperty("compared whole", static_cast<int>(whole));
    EXPECT_GT(whole, 0U);
}

INSTANTIATE_TEST_SUITE_P(All, IsaVectors,
                         testing::Values("ds", "flat", "global", "mfma", "sop1", "sop2", "sopc",
                                         "sopk", "vop1", "vop2", "vop3", "vop3p", "vopc"),
                         [](const auto& name) { return std::string(name.param); });

// A wrong bit anywhere: in a register of each file, a flag, memory, what must stay as it was.
TEST(Vectors, a_wrong_result_is_a_difference) {
    const auto with = [](const char* name, const char* mnemonic, NamedValues wrong) {
        VectorFile file = read_vectors(folder() + "/" + name + ".txt.xz");
        const auto found = std::ranges::find(file.vectors, mnemonic, &IsaVector::mnemonic);
        if (found == file.vectors.end()) {
            throw std::runtime_error(std::string("no vector of ") + mnemonic);
        }
        EXPECT_TRUE(differences(*found, file, {}).empty()) << mnemonic;
        for (const auto& [where, values] : wrong) {
            found->after.insert_or_assign(where, values);
        }
        return differences(*found, file, {}).size();
    };
    EXPECT_EQ(with("sop2", "s_sub_u32", {{"s16", {0x12345}}}), 1U);
    EXPECT_EQ(with("sop2", "s_sub_u32", {{"s40", {1}}}), 1U);
    EXPECT_EQ(with("sop2", "s_sub_u32", {{"m0", {0x12345}}, {"exec", {0x777}}}), 2U);
    EXPECT_EQ(with("vopc", "v_cmp_lt_i32", {{"vcc", {0x12345}}}), 1U);
    EXPECT_EQ(with("vop2", "v_add_f32", {{"v16", std::vector<std::uint64_t>(8, 0x12345)}}), 8U);
    EXPECT_EQ(with("vop2", "v_add_f32", {{"a3", std::vector<std::uint64_t>(8, 0x12345)}}), 8U);
    EXPECT_EQ(with("ds", "ds_sub_u32", {{"lds@0", {0x12345}}}), 1U);
    EXPECT_EQ(with("global", "global_store_dword", {{"mem@0", {0x12345}}}), 1U);
}

TEST(SettledVectors, every_row_is_needed) {
    std::vector<const Settlement*> idle;
    for (const Settlement& settlement : settlements()) {
        idle.push_back(&settlement);
    }
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
        if (entry.path().extension() != ".xz") {
            continue;
        }
        const VectorFile file = read_vectors(entry.path());
        for (const IsaVector& vector : file.vectors) {
            std::erase_if(idle, [&](const Settlement* row) {
                return row->covers(vector) &&
                       !differences(vector, file, settled(vector, settlements(), row)).empty();
            });
        }
    }
    for (const Settlement* row : idle) {
        ADD_FAILURE() << "nothing differs without this row: " << row->row;
    }
}

TEST(SettledVectors, most_vectors_are_compared_whole) {
    std::size_t all = 0;
    std::size_t whole = 0;
    std::size_t skipped = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder())) {
        if (entry.path().extension() == ".xz") {
            for (const IsaVector& vector : read_vectors(entry.path()).vectors) {
                const std::set<std::string> kinds = settled(vector, settlements());
                ++all;
                whole += kinds.empty() ? 1 : 0;
                skipped += kinds.contains("skip") ? 1 : 0;
            }
        }
    }
    EXPECT_EQ(all, 12247U);
    EXPECT_GE(whole, 9800U);
    EXPECT_LE(skipped, 900U);
}

} // namespace vgpu::test
