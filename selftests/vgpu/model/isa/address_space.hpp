// SPDX-License-Identifier: MIT
// Translated memory as instructions use it, with recently used pages kept at hand.
#pragma once

#include "model/base/memory.hpp"

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace vgpu::isa {

class AddressSpace {
public:
    enum class Caching : std::uint8_t { on, off };

    // Without caching the memory sees each access, as it is.
    explicit AddressSpace(Memory& memory, Caching caching = Caching::on)
        : memory_(memory), uncached_(caching == Caching::off ? ~0ULL : 0) {}

    // Host address of [va, va + bytes), which must stay inside one page, or nullptr after a fault.
    std::byte* at(unsigned vmid, std::uint64_t va, std::size_t bytes, Access access) {
        refresh();
        return lookup(vmid, va, bytes, access);
    }

    // Copies across page boundaries. False after a fault; earlier pages were then copied.
    bool read(unsigned vmid, std::uint64_t va, void* to, std::size_t bytes);
    bool write(unsigned vmid, std::uint64_t va, const void* from, std::size_t bytes);

    template <typename T> bool load(unsigned vmid, std::uint64_t va, T& value) {
        if (!crosses_page(va, sizeof(T))) [[likely]] {
            const std::byte* host = at(vmid, va, sizeof(T), Access::read);
            if (host == nullptr) {
                return false;
            }
            load_host(host, value);
            return true;
        }
        return read(vmid, va, &value, sizeof(T));
    }

    template <typename T> bool store(unsigned vmid, std::uint64_t va, T value) {
        if (!crosses_page(va, sizeof(T))) [[likely]] {
            std::byte* host = at(vmid, va, sizeof(T), Access::write);
            if (host == nullptr) {
                return false;
            }
            store_host(host, value);
            return true;
        }
        return write(vmid, va, &value, sizeof(T));
    }

    // Consecutive dwords of one lane; each is one access when aligned.
    bool load_words(unsigned vmid, std::uint64_t va, std::uint32_t* to, unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            if (!load(vmid, va + std::uint64_t{i} * 4, to[i])) {
                return false;
            }
        }
        return true;
    }
    bool store_words(unsigned vmid, std::uint64_t va, const std::uint32_t* from, unsigned count) {
        for (unsigned i = 0; i < count; ++i) {
            if (!store(vmid, va + std::uint64_t{i} * 4, from[i])) {
                return false;
            }
        }
        return true;
    }

    // The lanes of one instruction, which mostly stay in the page that the lane before them used.
    // Translations don't change while an instruction runs.
    template <Access access> class Cursor {
    public:
        Cursor(AddressSpace& space, unsigned vmid) : space_(space), vmid_(vmid) { space.refresh(); }
        // As AddressSpace::at().
        std::byte* at(std::uint64_t va, std::size_t bytes) {
            if (va / page_bytes != page_) [[unlikely]] {
                std::byte* host = space_.lookup(vmid_, va, bytes, access);
                if (host == nullptr) {
                    return nullptr;
                }
                page_ = va / page_bytes | space_.uncached_;
                base_ = host - va % page_bytes;
            }
            return base_ + va % page_bytes;
        }
        template <typename T> bool load(std::uint64_t va, T& value) {
            if (crosses_page(va, sizeof(T))) [[unlikely]] {
                return space_.read(vmid_, va, &value, sizeof(T));
            }
            const std::byte* host = at(va, sizeof(T));
            if (host == nullptr) {
                return false;
            }
            load_host(host, value);
            return true;
        }
        template <typename T> bool store(std::uint64_t va, T value) {
            if (crosses_page(va, sizeof(T))) [[unlikely]] {
                return space_.write(vmid_, va, &value, sizeof(T));
            }
            std::byte* host = at(va, sizeof(T));
            if (host == nullptr) {
                return false;
            }
            store_host(host, value);
            return true;
        }

    private:
        AddressSpace& space_;
        unsigned vmid_;
        std::uint64_t page_ = ~0ULL;
        std::byte* base_ = nullptr;
    };

    static constexpr std::uint64_t page_bytes = 4096;

private:
    static constexpr std::size_t cached_pages = 512;

    struct CachedPage {
        std::uint64_t tag = ~0ULL;
        std::byte* host = nullptr;
    };

    static bool crosses_page(std::uint64_t va, std::size_t bytes) {
        return va % page_bytes + bytes > page_bytes;
    }

    // An aligned access is one access for the guest's CPUs too, which share these bytes.
    template <typename T> static void load_host(const std::byte* host, T& value) {
        if (std::bit_cast<std::uintptr_t>(host) % sizeof(T) == 0) [[likely]] {
            value = __atomic_load_n(reinterpret_cast<const T*>(host), __ATOMIC_RELAXED);
        } else {
            std::memcpy(&value, host, sizeof(T));
        }
    }
    template <typename T> static void store_host(std::byte* host, T value) {
        if (std::bit_cast<std::uintptr_t>(host) % sizeof(T) == 0) [[likely]] {
            __atomic_store_n(reinterpret_cast<T*>(host), value, __ATOMIC_RELEASE);
        } else {
            std::memcpy(host, &value, sizeof(T));
        }
    }

    void refresh() {
        const std::uint64_t now = memory_.epoch();
        if (now != epoch_) [[unlikely]] {
            cache_.fill(CachedPage{});
            epoch_ = now;
        }
    }

    std::byte* lookup(unsigned vmid, std::uint64_t va, std::size_t bytes, Access access) {
        // The GPU's address space has 48 bits; the driver hands out sign-extended ones.
        va &= 0xffff'ffff'ffffULL;
        const std::uint64_t page = va / page_bytes;
        const std::uint64_t tag =
            page << 8U | static_cast<std::uint64_t>(vmid) << 2U | static_cast<unsigned>(access);
        CachedPage& entry = cache_[(page * 3 + static_cast<unsigned>(access)) % cached_pages];
        if (entry.tag == tag) [[likely]] {
            return entry.host + va % page_bytes;
        }
        std::byte* host = memory_.translate(vmid, va, bytes, access);
        if (host != nullptr) {
            entry = {tag | uncached_, host - va % page_bytes};
        }
        return host;
    }

    Memory& memory_;
    std::uint64_t uncached_; // makes the key of a cached page one that no address has
    std::uint64_t epoch_ = 0;
    std::array<CachedPage, cached_pages> cache_{};
};

} // namespace vgpu::isa
