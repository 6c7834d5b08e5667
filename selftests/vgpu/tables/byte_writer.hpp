// SPDX-License-Identifier: MIT
// Builds little-endian binary tables.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>
#include <vector>

namespace vgpu::tables {

class ByteWriter {
public:
    template <class T> ByteWriter& put(T value) {
        const auto* raw = reinterpret_cast<const std::byte*>(&value);
        bytes_.insert(bytes_.end(), raw, raw + sizeof value);
        return *this;
    }
    ByteWriter& u8(std::uint32_t value) { return put(static_cast<std::uint8_t>(value)); }
    ByteWriter& u16(std::uint32_t value) { return put(static_cast<std::uint16_t>(value)); }
    ByteWriter& u32(std::uint32_t value) { return put(value); }
    ByteWriter& text(std::string_view value) {
        const auto* raw = reinterpret_cast<const std::byte*>(value.data());
        bytes_.insert(bytes_.end(), raw, raw + value.size());
        return *this;
    }
    ByteWriter& zeros(std::size_t count) {
        bytes_.resize(bytes_.size() + count);
        return *this;
    }
    ByteWriter& append(std::span<const std::byte> bytes) {
        bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
        return *this;
    }
    // Zeros up to an absolute offset; nothing when already past it.
    ByteWriter& pad_to(std::size_t offset) {
        if (offset > bytes_.size())
            bytes_.resize(offset);
        return *this;
    }

    std::size_t size() const { return bytes_.size(); }
    const std::vector<std::byte>& bytes() const { return bytes_; }

private:
    std::vector<std::byte> bytes_;
};

} // namespace vgpu::tables
