// SPDX-License-Identifier: MIT
// The guest's memory as QEMU announces it: ranges of bus addresses backed by shared files.
#pragma once

#include "model/base/result.hpp"
#include "vfu/protocol.hpp"
#include "vfu/unique_fd.hpp"

#include <cstddef>
#include <cstdint>
#include <map>

namespace vgpu::vfu {

// A mapping of part of a file, undone with the object.
class FileMapping {
public:
    FileMapping() = default;
    ~FileMapping();
    FileMapping(FileMapping&& other) noexcept;
    FileMapping& operator=(FileMapping&& other) noexcept;
    FileMapping(const FileMapping&) = delete;
    FileMapping& operator=(const FileMapping&) = delete;

    static Result<FileMapping> map(int fd, std::uint64_t offset, std::size_t bytes, int protection);

    std::byte* data() const { return data_; }
    std::size_t size() const { return size_; }

private:
    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

class DmaTable {
public:
    // Without a descriptor the range isn't memory that we may touch (a device's BAR): it is
    // taken note of, and nothing is found there.
    Result<Nothing> map(const DmaMap& request, const UniqueFd& fd);
    Result<Nothing> unmap(const DmaUnmap& request);

    // nullptr when the range isn't wholly inside one mapping.
    std::byte* find(std::uint64_t address, std::size_t bytes) const;
    std::size_t ranges() const { return ranges_.size(); }

private:
    struct Range {
        std::uint64_t size = 0;
        FileMapping mapping; // empty without a descriptor
    };
    std::map<std::uint64_t, Range> ranges_; // by first address
};

} // namespace vgpu::vfu
