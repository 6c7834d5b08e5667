// SPDX-License-Identifier: MIT
// The dies of the GPU, and where the registers of each are in BAR 5.
#pragma once

#include <array>
#include <cstdint>

namespace vgpu {

// The graphics core of each XCC has its own copy of these registers. The driver keeps the low 16
// bits of their offsets in packets (gfx_v9_4_3_normalize_xcc_reg_offset).
inline constexpr std::uint32_t xcc_aperture = 0x10000;
constexpr bool in_xcc_aperture(std::uint32_t dword) {
    return (dword >= 0x2000 && dword < 0x3400) || (dword >= 0xa000 && dword < 0x10000);
}

// Four AIDs, each with a memory hub and up to two XCCs; a pair of SDMA engines is beside each XCC.
//
// The driver numbers XCCs and engines from 0; the discovery table names their places ("instances"),
// which tell the AID: two places for XCCs and four for SDMA engines on each. A place whose die is
// absent is in the discovery table too, and in its table of harvested blocks; the driver may write
// there. The register dump of a MI308X (4 XCCs, 8 engines) shows XCCs 0, 0x30000, 0x40000 and
// 0x70000 dwords behind the first, and engines at 0x1260, 0x1860, 0x39400, 0x39800, 0x41260,
// 0x41860, 0x79400 and 0x79800. So each AID has one XCC, alternately in the first and the second
// place: the driver accepts just these halves of an AID's engines (aqua_vanjaram_init_soc_config).
// Memory hubs aren't in the dump: theirs are taken to be at the distance of the AIDs.
class Dies {
public:
    explicit constexpr Dies(unsigned xccs) : xccs_(xccs), sdma_engines_(2 * xccs) {}
    // Another GPU has no AIDs: all of its engines are beside its one memory hub.
    static constexpr Dies of_one(unsigned sdma_engines) { return {1, sdma_engines}; }

    constexpr unsigned xccs() const { return xccs_; }
    constexpr unsigned aids() const { return xcc_instance(xccs_ - 1) / 2 + 1; }
    constexpr unsigned sdma_engines() const { return sdma_engines_; }

    constexpr unsigned xcc_places() const { return 2 * aids(); }
    constexpr unsigned sdma_places() const { return 4 * aids(); }
    constexpr bool has_xcc(unsigned instance) const {
        for (unsigned xcc = 0; xcc < xccs_; ++xcc) {
            if (xcc_instance(xcc) == instance) {
                return true;
            }
        }
        return false;
    }
    constexpr bool has_sdma(unsigned instance) const { return has_xcc(instance / 2); }

    constexpr unsigned xcc_instance(unsigned xcc) const {
        constexpr std::array<unsigned, 4> one_on_each_aid = {0, 3, 4, 7};
        return xccs_ <= one_on_each_aid.size() ? one_on_each_aid[xcc] : xcc;
    }
    constexpr unsigned sdma_instance(unsigned engine) const {
        if (xccs_ == 1)
            return engine;
        return 2 * xcc_instance(engine / 2) + engine % 2;
    }

    constexpr unsigned sdma_aid(unsigned engine) const {
        return aids() == 1 ? 0 : sdma_instance(engine) / 4;
    }

    // How far the registers of a place are behind those of the first.
    static constexpr std::uint32_t xcc_place_offset(unsigned instance) {
        return instance * xcc_aperture;
    }
    constexpr std::uint32_t xcc_offset(unsigned xcc) const {
        return xcc_place_offset(xcc_instance(xcc));
    }
    static constexpr std::uint32_t aid_offset(unsigned aid) { return aid * aid_aperture; }
    static constexpr std::uint32_t sdma_place_offset(unsigned instance) {
        constexpr std::array<std::uint32_t, 4> places = {0x1260, 0x1860, 0x19400, 0x19800};
        return aid_offset(instance / 4) + places[instance % 4] - places[0];
    }
    constexpr std::uint32_t sdma_offset(unsigned engine) const {
        return sdma_place_offset(sdma_instance(engine));
    }

    // Node ids of interrupts: four for each AID, which are itself, its two XCCs, and a reserved one
    // (kfd_setup_interrupt_bitmap).
    static constexpr std::uint8_t aid_node(unsigned aid) {
        return static_cast<std::uint8_t>(4 * aid);
    }
    constexpr std::uint8_t xcc_node(unsigned xcc) const {
        const unsigned instance = xcc_instance(xcc);
        return static_cast<std::uint8_t>(aid_node(instance / 2) + 1 + instance % 2);
    }

    static constexpr std::uint32_t aid_aperture = 0x20000;
    static constexpr std::uint32_t register_dwords = 4 * aid_aperture; // of BAR 5

private:
    constexpr Dies(unsigned xccs, unsigned sdma_engines)
        : xccs_(xccs), sdma_engines_(sdma_engines) {}

    unsigned xccs_;
    unsigned sdma_engines_;
};

} // namespace vgpu
