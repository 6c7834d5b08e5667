// SPDX-License-Identifier: MIT
// The guest's memory as QEMU announces it: ranges of bus addresses backed by shared files.
#include "vfu/dma_table.hpp"

#include <fmt/format.h>

#include <sys/mman.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace vgpu::vfu {

FileMapping::~FileMapping() {
    if (data_ != nullptr)
        ::munmap(data_, size_);
}

FileMapping::FileMapping(FileMapping&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

FileMapping& FileMapping::operator=(FileMapping&& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    return *this;
}

Result<FileMapping> FileMapping::map(int fd, std::uint64_t offset, std::size_t bytes,
                                     int protection) {
    void* data = ::mmap(nullptr, bytes, protection, MAP_SHARED, fd, static_cast<off_t>(offset));
    if (data == MAP_FAILED)
        return Error{errno, fmt::format("mmap of {:#x} bytes at file offset {:#x}: {}", bytes,
                                        offset, std::strerror(errno))};
    FileMapping mapping;
    mapping.data_ = static_cast<std::byte*>(data);
    mapping.size_ = bytes;
    return mapping;
}

Result<Nothing> DmaTable::map(const DmaMap& request, const UniqueFd& fd) {
    const auto next = ranges_.lower_bound(request.address);
    const bool hits_next = next != ranges_.end() && next->first - request.address < request.size;
    const bool hits_previous = next != ranges_.begin() && request.address - std::prev(next)->first <
                                                              std::prev(next)->second.size;
    if (hits_next || hits_previous)
        return Error{EEXIST, fmt::format("DMA_MAP of {:#x} bytes at {:#x} overlaps another one",
                                         request.size, request.address)};
    Range range{request.size, {}};
    if (fd) {
        struct stat status{};
        if (::fstat(fd.get(), &status) != 0)
            return Error{errno, fmt::format("DMA_MAP descriptor: {}", std::strerror(errno))};
        // A mapping past the end of the file would kill the server at the first access.
        const auto file_bytes = static_cast<std::uint64_t>(status.st_size);
        if (request.file_offset > file_bytes || request.size > file_bytes - request.file_offset)
            return Error{EINVAL, fmt::format("DMA_MAP of {:#x} bytes at file offset {:#x} of a "
                                             "file of {:#x} bytes",
                                             request.size, request.file_offset, file_bytes)};
        const int protection =
            (request.readable ? PROT_READ : 0) | (request.writable ? PROT_READ | PROT_WRITE : 0);
        auto mapping = FileMapping::map(fd.get(), request.file_offset, request.size, protection);
        if (!mapping)
            return mapping.error();
        range.mapping = std::move(*mapping);
    }
    ranges_.emplace(request.address, std::move(range));
    return Nothing{};
}

Result<Nothing> DmaTable::unmap(const DmaUnmap& request) {
    if (request.all) {
        ranges_.clear();
        return Nothing{};
    }
    const auto found = ranges_.find(request.address);
    if (found == ranges_.end() || found->second.size != request.size)
        return Error{ENOENT, fmt::format("DMA_UNMAP of {:#x} bytes at {:#x}: no such mapping",
                                         request.size, request.address)};
    ranges_.erase(found);
    return Nothing{};
}

std::byte* DmaTable::find(std::uint64_t address, std::size_t bytes) const {
    auto range = ranges_.upper_bound(address);
    if (range == ranges_.begin())
        return nullptr;
    --range;
    const std::uint64_t offset = address - range->first;
    const FileMapping& mapping = range->second.mapping;
    if (offset > mapping.size() || bytes > mapping.size() - offset)
        return nullptr;
    return mapping.data() + offset;
}

} // namespace vgpu::vfu
