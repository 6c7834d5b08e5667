// SPDX-License-Identifier: MIT
// The fields of a MUBUF instruction, its buffer resource, and where each lane's access goes.
#pragma once

#include "model/isa/memory/vector_memory.hpp"

namespace vgpu::isa {

struct BufferInstruction {
    explicit BufferInstruction(const Execution& e)
        : offset(e.word0 & 0xfff), offen((e.word0 >> 12 & 1) != 0), idxen((e.word0 >> 13 & 1) != 0),
          returns_old((e.word0 >> 14 & 1) != 0), to_lds((e.word0 >> 16 & 1) != 0),
          acc((e.word1 >> 23 & 1) != 0), vaddr(e.word1 & 0xff), vdata(e.word1 >> 8 & 0xff),
          resource((e.word1 >> 16 & 0x1f) * 4), soffset(e.word1 >> 24) {}

    std::uint32_t offset;
    bool offen;
    bool idxen;
    bool returns_old; // SC0
    bool to_lds;
    bool acc;
    unsigned vaddr;
    unsigned vdata;
    unsigned resource;
    unsigned soffset;
};

// The resource and the parts of the address that all lanes share.
class BufferAddresses {
public:
    BufferAddresses(Execution& e, const BufferInstruction& i);

    // `from` bytes behind the lane's address.
    std::uint64_t at(unsigned lane, std::uint32_t from = 0) const {
        const std::uint64_t first = base_ + soffset_;
        return first + (swizzled() ? swizzled_offset(lane, from) : offset(lane) + from);
    }
    // Bytes over the end of a dword lie elsewhere in a swizzled buffer.
    bool together(unsigned lane, std::uint32_t from, std::uint32_t bytes) const {
        return !swizzled() || (own_offset(lane) + from) % element_bytes + bytes <= element_bytes;
    }
    // Range check of `bytes` bytes `from` the lane's address: raw buffers in bytes, structured
    // ones in records. Loads of several dwords are checked dword by dword, atomics as a whole.
    bool in_range(unsigned lane, std::uint32_t from, std::uint32_t bytes) const {
        if (stride_ == 0) {
            return offset(lane) + soffset_ + from + bytes <= records_;
        }
        return index(lane) < records_;
    }

private:
    std::uint64_t index(unsigned lane) const {
        return (index_ != nullptr ? (*index_)[lane] : 0) + (add_tid_ ? std::uint64_t{lane} : 0);
    }
    std::uint64_t own_offset(unsigned lane) const {
        return std::uint64_t{offset_} + (vector_offset_ != nullptr ? (*vector_offset_)[lane] : 0);
    }
    std::uint64_t offset(unsigned lane) const { return index(lane) * stride_ + own_offset(lane); }
    bool swizzled() const { return index_stride_ != 0; }
    // The same dword of `index_stride_` records side by side. Vega ISA, "Swizzled Buffer
    // Addressing"; elements are dwords there.
    static constexpr std::uint32_t element_bytes = 4;
    std::uint64_t swizzled_offset(unsigned lane, std::uint32_t from) const {
        const std::uint64_t record = index(lane);
        const std::uint64_t own = own_offset(lane) + from;
        const std::uint64_t element = own / element_bytes * element_bytes;
        return (record / index_stride_ * stride_ + element) * index_stride_ +
               record % index_stride_ * element_bytes + own % element_bytes;
    }

    std::uint64_t base_ = 0;
    std::uint32_t records_ = 0;
    std::uint32_t stride_ = 0;
    std::uint32_t soffset_ = 0;
    std::uint32_t offset_ = 0;
    bool add_tid_ = false;
    std::uint32_t index_stride_ = 0; // 0: not swizzled
    const Words* index_ = nullptr;
    const Words* vector_offset_ = nullptr;
};

// Entries of the merged MUBUF table.
std::span<const ScalarOp> buffer_load_store_ops();
std::span<const ScalarOp> buffer_atomic_ops();

} // namespace vgpu::isa
