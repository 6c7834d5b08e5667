// SPDX-License-Identifier: MIT
// vgpu-firmware DIR: writes the firmware files that amdgpu asks for below DIR.
#include "blob/firmware.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>

int main(int argc, char** argv) {
    if (argc != 2 || std::string_view(argv[1]) == "--help" || argv[1][0] == '-') {
        std::fprintf(stderr, "usage: vgpu-firmware DIR\n"
                             "Writes DIR/amdgpu/*.bin; DIR is the guest's /lib/firmware.\n");
        return argc == 2 && std::string_view(argv[1]) == "--help" ? 0 : 2;
    }
    for (const auto& file : vgpu::blob::firmware_files()) {
        const std::filesystem::path path = std::filesystem::path(argv[1]) / file.name;
        std::error_code error;
        std::filesystem::create_directories(path.parent_path(), error);
        if (error) {
            std::fprintf(stderr, "vgpu-firmware: %s: %s\n", path.parent_path().c_str(),
                         error.message().c_str());
            return 1;
        }
        std::ofstream out(path, std::ios::binary);
        out.write(reinterpret_cast<const char*>(file.bytes.data()),
                  static_cast<std::streamsize>(file.bytes.size()));
        out.close();
        if (!out) {
            std::fprintf(stderr, "vgpu-firmware: cannot write %s: %s\n", path.c_str(),
                         std::strerror(errno));
            return 1;
        }
    }
    return 0;
}
