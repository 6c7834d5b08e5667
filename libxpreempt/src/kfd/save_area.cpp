// SPDX-License-Identifier: MIT
// Reads /proc/self/maps and pagemap.
#include "kfd/save_area.hpp"

#include "base/unique_fd.hpp"
#include "kfd/attribute.hpp"

#include <algorithm>
#include <charconv>
#include <fcntl.h>
#include <unistd.h>

namespace xpreempt::kfd {

namespace {

constexpr std::uint64_t page = 4096;
constexpr std::size_t max_maps = 4U << 20;
constexpr std::uint64_t max_samples = 256;

// Bits of an entry (Documentation/admin-guide/mm/pagemap.rst).
constexpr std::uint64_t present = std::uint64_t{1} << 63;
constexpr std::uint64_t swapped = std::uint64_t{1} << 62;

struct Pages {
    std::uint64_t in_system = 0;
    // In the swap file, or moved to the GPU: the kernel keeps both as entries of one kind.
    std::uint64_t elsewhere = 0;
};

Pages pages_of(const Roots& roots, std::uint64_t address, std::uint64_t bytes) {
    Pages pages;
    const UniqueFd file(::open((roots.proc / "self/pagemap").c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.valid())
        return pages;
    const std::uint64_t first = address / page;
    const std::uint64_t count = std::max<std::uint64_t>((bytes + page - 1) / page, 1);
    const std::uint64_t step = std::max<std::uint64_t>(count / max_samples, 1);
    for (std::uint64_t at = 0; at < count; at += step) {
        std::uint64_t entry = 0;
        if (::pread(file.get(), &entry, sizeof entry,
                    static_cast<off_t>((first + at) * sizeof entry)) != sizeof entry)
            break;
        pages.in_system += (entry & present) != 0 ? 1U : 0U;
        pages.elsewhere += (entry & present) == 0 && (entry & swapped) != 0 ? 1U : 0U;
    }
    return pages;
}

// "VmSwap:\t     0 kB": nothing of this process is in the swap file.
bool nothing_swapped(const Roots& roots) {
    const auto status = read_text(roots.proc / "self/status", Op::read_proc, 16384);
    return status && field_of(*status, "VmSwap").value_or("").starts_with("0 ");
}

} // namespace

Mapped mapping_of(std::string_view maps, std::uint64_t address) {
    while (!maps.empty()) {
        const std::string_view line = maps.substr(0, maps.find('\n'));
        maps.remove_prefix(std::min(line.size() + 1, maps.size()));
        // BEGIN-END PERMISSIONS OFFSET DEVICE INODE PATH
        Mapped found;
        const char* const last = line.data() + line.size();
        const auto begin = std::from_chars(line.data(), last, found.begin, 16);
        if (begin.ec != std::errc{} || begin.ptr == last || *begin.ptr != '-')
            continue;
        const auto end = std::from_chars(begin.ptr + 1, last, found.end, 16);
        if (end.ec != std::errc{} || address < found.begin || address >= found.end)
            continue;
        if (const std::size_t path = line.find('/'); path != std::string_view::npos)
            found.path = line.substr(path);
        return found;
    }
    return {};
}

SaveArea save_area_of(const Roots& roots, std::uint64_t address, std::uint64_t bytes) {
    if (address == 0 || bytes == 0)
        return {Memory::unknown, "the queue has none"};
    const auto maps = read_text(roots.proc / "self/maps", Op::read_proc, max_maps);
    if (!maps)
        return {Memory::unknown, "/proc/self/maps cannot be read"};
    const Mapped mapped = mapping_of(*maps, address);
    if (mapped.end == 0)
        return {Memory::unknown, "it is not mapped in this process"};
    if (!mapped.path.empty())
        return {Memory::unknown,
                "it is a buffer of " + mapped.path + ", which reports no placement"};
    const Pages pages = pages_of(roots, address, std::min(bytes, mapped.end - address));
    if (pages.elsewhere == 0)
        return pages.in_system != 0
                   ? SaveArea{Memory::system, "its pages are in system memory"}
                   : SaveArea{Memory::unknown, "none of its pages has been used yet"};
    if (!nothing_swapped(roots))
        return {Memory::unknown, "its pages are swapped out or on the GPU"};
    // Device-private pages are swap entries that no swap file has.
    return pages.in_system == 0
               ? SaveArea{Memory::vram, "its pages were moved to the GPU"}
               : SaveArea{Memory::unknown, "a part of it is on the GPU, a part in system memory"};
}

} // namespace xpreempt::kfd
