// SPDX-License-Identifier: MIT
// A shader array with flat memory around it: enough to dispatch, stop and restore.
#pragma once

#include "model/sq/shader_array.hpp"

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

namespace vgpu::test {

// One span of memory that every VMID sees at the same address.
class FlatMemory final : public Memory {
public:
    static constexpr std::uint64_t base = 0x7f00'0000'0000;

    explicit FlatMemory(std::size_t bytes);
    std::byte* translate(unsigned vmid, std::uint64_t va, std::size_t bytes,
                         Access access) override;
    std::uint64_t epoch() const override { return epoch_; }

    std::byte* at(std::uint64_t va) { return host_.get() + (va - base); }
    std::uint32_t word(std::uint64_t va) const;
    void set_word(std::uint64_t va, std::uint32_t value);
    // The page of `va` is refused from here on.
    void unmap(std::uint64_t va);

    std::uint64_t faults = 0;

private:
    struct Free {
        void operator()(std::byte* memory) const { std::free(memory); }
    };
    std::unique_ptr<std::byte, Free> host_; // from calloc: untouched pages cost nothing
    std::size_t bytes_;
    std::vector<std::uint64_t> unmapped_;
    std::uint64_t epoch_ = 1;
};

// The code of a test kernel, and the fields of its descriptor.
struct Kernel {
    std::vector<std::uint32_t> code;
    unsigned vgprs = 48;      // in all
    unsigned arch_vgprs = 32; // the rest are AccVGPRs
    unsigned sgprs = 112;     // allocated, the special six included
    unsigned user_sgprs = 8;
    unsigned properties = 8;      // kernarg segment pointer
    unsigned kernarg_preload = 0; // dwords [6:0], first dword [15:7]
    bool scratch = false;         // ENABLE_PRIVATE_SEGMENT
    bool traps_on_watch = false;  // EXCP_EN_MSB, address watch
    unsigned workgroup_id_mask = 1;
    unsigned workitem_id_dimensions = 1;
    std::uint32_t float_mode = 0xc0; // denormals: f32 flushed, f64 kept
};

struct Grid {
    std::uint32_t x = 64, y = 1, z = 1;
    std::uint32_t group_x = 64, group_y = 1, group_z = 1;
    std::uint32_t lds_bytes = 0;
};

class Gpu final : public Observer, public ShaderClient {
public:
    // Addresses in FlatMemory.
    static constexpr std::uint64_t code_va = FlatMemory::base + 0x1'0000;
    static constexpr std::uint64_t kernarg_va = FlatMemory::base + 0x2'0000;
    static constexpr std::uint64_t trap_va = FlatMemory::base + 0x3'0000;
    static constexpr std::uint64_t tma_va = FlatMemory::base + 0x3'8000;
    static constexpr std::uint64_t data_va = FlatMemory::base + 0x10'0000;
    static constexpr std::uint64_t cwsr_va = FlatMemory::base + 0x100'0000;
    static constexpr std::uint32_t ctl_stack_bytes = 0x1000;

    explicit Gpu(ShaderArray::Config config = {});

    // The driver's, extracted by the build.
    void load_trap_handler();
    std::uint64_t load_kernel(const Kernel& kernel, std::uint64_t va = code_va);
    QueueBinding queue(unsigned slot = 0) const;
    AqlDispatch packet(const Grid& grid, std::uint64_t kernel_object,
                       std::uint64_t index = 0) const;

    // A new shader array on the same memory: no model state survives.
    void replace_array();
    ShaderArray& array() { return *array_; }
    // Runs up to `budget` instructions of what may run now; 0 when nothing more can.
    std::uint64_t step(std::uint64_t budget);
    // Runs until nothing more can, or `limit` instructions. Returns how many ran.
    std::uint64_t run_all(std::uint64_t limit = 100'000'000);
    // Save to the end, model dropped, restore. False when restore() refused.
    SavedQueue save(unsigned slot = 0);
    bool restore(const SavedQueue& saved, unsigned slot = 0);
    bool save_and_restore(unsigned slot = 0);

    FlatMemory memory;
    Schedule schedule{*this};
    std::uint32_t area_bytes = 8U << 20;  // of the CWSR area of each queue
    sq::GwsRange gws;                     // of the VMID of each queue
    bool controls_gws = false;            // each queue
    std::uint32_t debug_control = 0;      // of the VMID of each queue
    std::vector<std::uint64_t> completed; // packet indices
    std::vector<std::uint32_t> interrupts;
    std::vector<std::string> unmodelled_texts;
    unsigned failed_waves = 0;
    unsigned memory_faults = 0;

private:
    bool tracing() const override { return false; }
    void event(std::string_view, std::string_view) override {}
    void unmodelled(std::string_view, std::string_view text) override {
        unmodelled_texts.emplace_back(text);
    }
    void unmodelled_harmless(std::string_view actor, std::string_view text) override {
        unmodelled(actor, text);
    }
    void count(std::string_view, std::uint64_t) override {}
    void dispatch_completed(unsigned, std::uint64_t index) override { completed.push_back(index); }
    void wave_interrupt(unsigned, std::uint32_t payload, bool) override {
        interrupts.push_back(payload);
    }
    void wave_failed(unsigned, std::uint64_t, bool memory_fault) override;

    ShaderArray::Config config_;
    std::unique_ptr<ShaderArray> array_;
};

} // namespace vgpu::test
