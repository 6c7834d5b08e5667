// SPDX-License-Identifier: MIT
// Finds the parts of the driver that are installed, and the requirements of the machine.
#include "processes/machine.hpp"

#include "base/unique_fd.hpp"
#include "kfd/attribute.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <system_error>
#include <unistd.h>

namespace cli {

using xpreempt::UniqueFd;

namespace {

bool present(const std::filesystem::path& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

std::string read_all(const UniqueFd& fd) {
    std::string text;
    std::array<char, 4096> chunk{};
    for (;;) {
        const ssize_t got = ::read(fd.get(), chunk.data(), chunk.size());
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return text;
        text.append(chunk.data(), static_cast<std::size_t>(got));
    }
}

// Output of `modinfo -F kfd_preempt FILE`: it reads compressed modules too. nullopt when it
// couldn't be run or failed.
std::optional<std::string> modinfo_kfd_preempt(const std::filesystem::path& module) {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0)
        return std::nullopt;
    UniqueFd reader(ends[0]);
    UniqueFd writer(ends[1]);

    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    std::string path = module.string();
    std::string name = "modinfo";
    std::string option = "-F";
    std::string field = "kfd_preempt";
    const std::array<char*, 5> argv = {name.data(), option.data(), field.data(), path.data(),
                                       nullptr};
    pid_t child = -1;
    const int failed = ::posix_spawnp(&child, "modinfo", &actions, nullptr, argv.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    writer = UniqueFd();
    if (failed != 0)
        return std::nullopt;

    const std::string text = read_all(reader);
    int status = 0;
    while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
        return std::nullopt;
    return std::string(kfd::trim(text));
}

bool has_command(const kfd::Roots& roots, const char* name) {
    for (const char* directory : {"usr/bin", "usr/sbin", "bin", "sbin"})
        if (present(roots.system / directory / name))
            return true;
    return false;
}

// The value of a key of os-release; empty: it has none.
std::string os_release(const kfd::Roots& roots, std::string_view key) {
    const auto text = kfd::read_text(roots.system / "etc/os-release", Op::read_proc, 1U << 16);
    std::string value;
    std::string_view rest = text ? std::string_view(*text) : std::string_view{};
    while (!rest.empty()) {
        std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        if (!line.starts_with(key) || !line.substr(key.size()).starts_with('='))
            continue;
        value = line.substr(key.size() + 1);
        std::erase_if(value, [](char c) { return c == '"' || c == '\''; });
    }
    return value;
}

// The nearest relative first.
std::string families(const kfd::Roots& roots) {
    return os_release(roots, "ID") + " " + os_release(roots, "ID_LIKE");
}

// The package command: that of the distribution's family if it is there, else any that is.
std::string package_command(const kfd::Roots& roots) {
    struct Family {
        const char* name; // in os-release
        const char* command;
    };
    constexpr std::array known = {Family{"debian", "apt-get"}, Family{"ubuntu", "apt-get"},
                                  Family{"fedora", "dnf"},     Family{"rhel", "dnf"},
                                  Family{"rhel", "yum"},       Family{"suse", "zypper"}};
    const std::string names = families(roots);
    for (const Family& family : known)
        if (names.find(family.name) != std::string::npos && has_command(roots, family.command))
            return family.command;
    for (const Family& family : known)
        if (has_command(roots, family.command))
            return family.command;
    return {};
}

// Packages of the kernel with a patch series, in releases of Debian: 6.12 in both.
std::string kernel_of_debian(std::string_view codename) {
    struct Release {
        std::string_view codename;
        const char* packages;
    };
    constexpr std::array known = {
        Release{"trixie", "linux-image-amd64 linux-headers-amd64"},
        Release{"bookworm", "linux-image-6.12-amd64 linux-headers-6.12-amd64"}};
    const auto* const found = std::ranges::find(known, codename, &Release::codename);
    return found == known.end() ? "" : found->packages;
}

// Read by hand: a static binary can't load the name service libraries of getgrgid().
std::string group_name(const kfd::Roots& roots, unsigned gid) {
    const auto text = kfd::read_text(roots.system / "etc/group", Op::read_proc, 1U << 20);
    std::string_view rest = text ? std::string_view(*text) : std::string_view{};
    std::string number = std::to_string(gid);
    while (!rest.empty()) {
        const std::string_view line = rest.substr(0, rest.find('\n'));
        rest.remove_prefix(std::min(line.size() + 1, rest.size()));
        // NAME:PASSWORD:GID:MEMBERS
        const std::size_t name_end = line.find(':');
        const std::size_t gid_start =
            name_end == std::string_view::npos ? name_end : line.find(':', name_end + 1);
        if (name_end == 0 || gid_start == std::string_view::npos)
            continue;
        const std::string_view tail = line.substr(gid_start + 1);
        if (tail.substr(0, tail.find(':')) == number)
            return std::string(line.substr(0, name_end));
    }
    return number;
}

} // namespace

InstalledModule installed_module(const kfd::Roots& roots, const std::string& kernel_release) {
    const std::filesystem::path modules = roots.system / "lib/modules" / kernel_release;
    for (const auto& directory :
         {modules / "updates/dkms", modules / "updates", modules / "extra"}) {
        for (const char* suffix : {"", ".xz", ".zst", ".gz"}) {
            const std::filesystem::path file = directory / (std::string("amdgpu.ko") + suffix);
            if (!present(file))
                continue;
            const std::optional<std::string> version = modinfo_kfd_preempt(file);
            if (!version)
                return {file, std::nullopt, false};
            if (version->empty())
                return {file, std::nullopt, true};
            return {file, version, true};
        }
    }
    return {};
}

Distribution distribution(const kfd::Roots& roots, const std::string& kernel_release) {
    std::string command = package_command(roots);
    if (command.empty())
        command = "pkcon";
    Distribution found;
    found.install = command + " install";
    found.remove = command + " remove";
    const bool has_rpms = command == "dnf" || command == "yum" || command == "zypper";
    found.driver = has_rpms ? "kfd-preempt-rocm-dkms" : "kfd-preempt-dkms";
    if (os_release(roots, "ID") == "debian")
        found.kernel = kernel_of_debian(os_release(roots, "VERSION_CODENAME"));
    if (has_command(roots, "update-initramfs"))
        found.initramfs = "update-initramfs -u -k " + kernel_release;
    else if (has_command(roots, "dracut"))
        found.initramfs = "dracut --force --kver " + kernel_release;
    return found;
}

bool amdgpu_dkms_installed(const kfd::Roots& roots) {
    return present(roots.system / "var/lib/dkms/amdgpu");
}

std::string driver_source(const kfd::Roots& roots) {
    constexpr std::string_view ours = "kfd-preempt-";
    std::string newest;
    for (const std::string& name : kfd::entries_of(roots.system / "usr/src")) {
        const std::string version = name.starts_with(ours) ? name.substr(ours.size()) : "";
        // kfd-preempt-rocm-VERSION is the source of ROCm's driver.
        if (!version.empty() && version.find_first_not_of("0123456789.~") == std::string::npos &&
            present(roots.system / "usr/src" / name / "dkms.conf") &&
            ::strverscmp(newest.c_str(), version.c_str()) < 0)
            newest = version;
    }
    return newest;
}

std::optional<bool> secure_boot(const kfd::Roots& roots) {
    const auto text = kfd::read_text(
        roots.sysfs / "firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c",
        Op::read_sysfs, 16);
    // Four bytes of attributes, then the value.
    if (!text || text->size() != 5)
        return std::nullopt;
    return (*text)[4] == 1;
}

std::optional<std::string> group_with_access(const kfd::Roots& roots) {
    struct stat info{};
    constexpr mode_t read_write = S_IRGRP | S_IWGRP;
    if (::stat(roots.device.c_str(), &info) != 0 || info.st_gid == 0 ||
        (info.st_mode & read_write) != read_write)
        return std::nullopt;
    return group_name(roots, info.st_gid);
}

} // namespace cli
