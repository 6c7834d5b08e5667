// SPDX-License-Identifier: MIT
// Gives each file of directories to the entry point of a fuzz target, which aborts at a defect.
// usage: PROGRAM NAME DIRECTORY...
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

// The build names the entry points of its fuzz targets: INPUTS is INPUT(name)INPUT(name)...
#define INPUT(name) extern "C" int name##_input(const std::uint8_t* data, std::size_t size);
INPUTS
#undef INPUT

namespace {

using Entry = int (*)(const std::uint8_t* data, std::size_t size);

Entry entry_of(std::string_view wanted) {
#define INPUT(name)                                                                                \
    if (wanted == #name)                                                                           \
        return name##_input;
    INPUTS
#undef INPUT
    return nullptr;
}

std::string read(const std::filesystem::path& file) {
    std::ifstream in(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
}

unsigned run(Entry entry, const std::filesystem::path& directory) {
    unsigned count = 0;
    for (const auto& file : std::filesystem::recursive_directory_iterator(directory)) {
        if (!file.is_regular_file())
            continue;
        std::printf("%s\n", file.path().c_str());
        std::fflush(stdout); // the entry point may abort
        const std::string text = read(file.path());
        (void)entry(reinterpret_cast<const std::uint8_t*>(text.data()), text.size());
        ++count;
    }
    std::printf("%s: %u files\n", directory.c_str(), count);
    return count;
}

} // namespace

int main(int argc, char** argv) {
    const Entry entry = argc > 2 ? entry_of(argv[1]) : nullptr;
    if (entry == nullptr) {
        std::fprintf(stderr, "usage: %s NAME DIRECTORY...\n", argv[0]);
        return 64;
    }
    for (int index = 2; index < argc; ++index)
        if (run(entry, argv[index]) == 0)
            return 1;
    return 0;
}
