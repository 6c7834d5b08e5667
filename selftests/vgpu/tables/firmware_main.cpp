// SPDX-License-Identifier: MIT
// vgpu-firmware [--mec VERSION] DIR: writes the firmware files that amdgpu asks for below DIR.
#include "tables/firmware.hpp"

#include <CLI/CLI.hpp>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <fstream>
#include <string>

namespace {

int run_command(int argc, char** argv) {
    std::string directory;
    std::uint32_t mec_version = vgpu::tables::usual_mec_version;
    CLI::App app{"Writes DIR/amdgpu/*.bin; DIR is the guest's /lib/firmware."};
    app.add_option("DIR", directory)->required();
    app.add_option("--mec", mec_version,
                   "version of the MEC firmware; driver, ROCr and vgpu turn features on by it")
        ->capture_default_str()
        ->check(CLI::Range(1, 65535));
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    for (const auto& file : vgpu::tables::firmware_files(mec_version)) {
        const std::filesystem::path path = std::filesystem::path(directory) / file.name;
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

} // namespace

int main(int argc, char** argv) {
    // Errors are values in here; what still throws is the standard library, out of memory.
    try {
        return run_command(argc, argv);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "vgpu-firmware: %s\n", error.what());
        return 1;
    }
}
