// SPDX-License-Identifier: MIT
// PCI configuration space: BAR sizing, read-only bits, FLR, accesses out of range.
#include "pci/config_space.hpp"

#include "model/regs/gpu.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <span>

namespace vgpu::pci {
namespace {

class Config : public ::testing::Test {
protected:
    std::uint32_t read32(std::uint64_t offset) {
        std::uint32_t value = 0;
        EXPECT_TRUE(config.read(offset, std::as_writable_bytes(std::span(&value, 1))));
        return value;
    }
    void write32(std::uint64_t offset, std::uint32_t value) {
        EXPECT_TRUE(config.write(offset, std::as_bytes(std::span(&value, 1))));
    }

    ConfigSpace config{pci_device(Gpu::mi300x), 1ULL << 30, 2U << 20, 512U << 10, 64U << 10};
};

TEST_F(Config, identity_is_what_amdgpu_matches_and_cannot_be_written) {
    write32(0, 0);
    write32(8, 0);
    EXPECT_EQ(read32(0), 0x74a1'1002U);
    EXPECT_EQ(read32(8) >> 16, 0x1200U);
}

TEST_F(Config, another_gpu_is_another_device) {
    config = ConfigSpace(pci_device(Gpu::mi250), 1ULL << 30, 2U << 20, 512U << 10, 64U << 10);
    EXPECT_EQ(read32(0), 0x740c'1002U);
    EXPECT_EQ(read32(0x2c), 0x740c'1002U);
}

TEST_F(Config, bars_and_rom_answer_sizing) {
    for (const std::uint64_t bar : {0x10U, 0x14U, 0x18U, 0x1cU, 0x24U, 0x30U, 0x20U})
        write32(bar, 0xffff'ffff);
    EXPECT_EQ(read32(0x10), 0xc000'000cU);
    EXPECT_EQ(read32(0x14), 0xffff'ffffU);
    EXPECT_EQ(read32(0x18), 0xffe0'000cU);
    EXPECT_EQ(read32(0x24), 0xfff8'0000U);
    EXPECT_EQ(read32(0x30), 0xffff'0001U);
    EXPECT_EQ(read32(0x20), 0U);
}

TEST_F(Config, flr_is_requested_once_and_reads_as_zero) {
    const std::uint32_t control = read32(0x6c);
    write32(0x6c, control | 0x8000);
    EXPECT_TRUE(config.take_reset_request());
    EXPECT_FALSE(config.take_reset_request());
    EXPECT_EQ(read32(0x6c), control);
}

TEST_F(Config, mailbox_is_found_by_walking_the_capabilities) {
    std::uint32_t at = 0x100;
    while (at != 0 && read32(at + 4) >> 20 != mailbox::bytes)
        at = read32(at) >> 20;
    ASSERT_EQ(at, mailbox::offset);
    EXPECT_EQ(read32(at) & 0xfffff, 0x1000bU);
    EXPECT_EQ(read32(at + 4) & 0xffff, mailbox::vsec_id);
    EXPECT_EQ(read32(at) >> 20, 0U); // the last one
}

TEST_F(Config, mailbox_hands_over_the_text_and_brings_back_the_answer) {
    const std::uint64_t request = mailbox::offset + mailbox::request;
    write32(request, 0x74736574); // "test"
    write32(request + 4, 0);
    EXPECT_FALSE(config.take_mailbox_request());
    write32(mailbox::offset + mailbox::go, 1);
    EXPECT_TRUE(config.take_mailbox_request());
    EXPECT_FALSE(config.take_mailbox_request());
    std::string heard;
    answer_mailbox(config.mailbox(), [&heard](std::string_view command) {
        heard = command;
        return MailboxReply{22, "no"};
    });
    EXPECT_EQ(heard, "test");
    EXPECT_EQ(read32(mailbox::offset + mailbox::status), 22U);
    EXPECT_EQ(read32(mailbox::offset + mailbox::response), 0x6f6eU);
    write32(mailbox::offset + mailbox::response, 0); // only the device writes there
    EXPECT_EQ(read32(mailbox::offset + mailbox::response), 0x6f6eU);
}

TEST_F(Config, mailbox_text_without_an_end_is_refused) {
    for (std::uint64_t i = 0; i < mailbox::request_bytes; i += 4)
        write32(mailbox::offset + mailbox::request + i, 0x61616161);
    answer_mailbox(config.mailbox(), [](std::string_view) { return MailboxReply{}; });
    EXPECT_NE(read32(mailbox::offset + mailbox::status), 0U);
}

TEST_F(Config, accesses_beyond_the_end_are_refused) {
    std::array<std::byte, 4> data{};
    EXPECT_FALSE(config.read(4094, data));
    EXPECT_FALSE(config.write(4096, data));
    EXPECT_FALSE(config.read(~0ULL - 1, data));
}

} // namespace
} // namespace vgpu::pci
