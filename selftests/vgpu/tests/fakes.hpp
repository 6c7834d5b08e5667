// SPDX-License-Identifier: MIT
// Fakes for unit tests of the model: an observer that records, a host with some memory.
#pragma once

#include "model/base/host.hpp"
#include "model/base/observer.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <string>
#include <vector>

namespace vgpu::test {

class KeepingObserver final : public Observer {
public:
    bool tracing() const override { return true; }
    void event(std::string_view actor, std::string_view text) override {
        events.push_back(std::string(actor) + " " + std::string(text));
    }
    void unmodelled(std::string_view actor, std::string_view text) override {
        unknown.push_back(std::string(actor) + " " + std::string(text));
    }
    void unmodelled_harmless(std::string_view actor, std::string_view text) override {
        harmless.push_back(std::string(actor) + " " + std::string(text));
    }
    void count(std::string_view counter, std::uint64_t amount) override {
        counters[std::string(counter)] += amount;
    }
    void snapshot(std::uint32_t label) override { snapshots.push_back(label); }

    std::vector<std::string> events;
    std::vector<std::string> unknown;
    std::vector<std::string> harmless;
    std::map<std::string, std::uint64_t> counters;
    std::vector<std::uint32_t> snapshots;
};

// Guest memory from bus address 0 on.
class MemoryHost final : public Host {
public:
    explicit MemoryHost(std::size_t bytes) : memory(bytes) {}
    std::byte* system_memory(std::uint64_t bus_address, std::size_t bytes) override {
        if (bus_address > memory.size() || bytes > memory.size() - bus_address)
            return nullptr;
        return memory.data() + bus_address;
    }
    void raise_msi() override { ++interrupts; }

    template <class T> void put(std::uint64_t address, T value) {
        std::memcpy(memory.data() + address, &value, sizeof value);
    }
    template <class T> T get(std::uint64_t address) const {
        T value{};
        std::memcpy(&value, memory.data() + address, sizeof value);
        return value;
    }

    std::vector<std::byte> memory;
    unsigned interrupts = 0;
};

} // namespace vgpu::test
