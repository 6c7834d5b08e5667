// SPDX-License-Identifier: MIT
// dlopen() of a copy in memory, and the checks of what the plug-in says of itself.
#include "sched/plugin_library.hpp"

#include "base/unique_fd.hpp"
#include "sched/policy.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <xpreempt/policy_plugin.h>

namespace xpreempt::sched {

namespace {

constexpr off_t most_bytes = 64 << 20;
constexpr std::size_t longest_name = 31;
constexpr std::int64_t least_duration = 1000; // the rules file has no shorter one
constexpr const char* symbol_name = "xp_plugin";

using Error = std::string;

// The copy has a name of its own for as long as it is open: dlopen() gives out the library that it
// has if the name is the same, whatever the file holds by now.
struct Library {
    UniqueFd copy;
    void* handle = nullptr;
    Library(UniqueFd of, void* opened) : copy(std::move(of)), handle(opened) {}
    Library(const Library&) = delete;
    Library& operator=(const Library&) = delete;
    Library(Library&&) = delete;
    Library& operator=(Library&&) = delete;
    ~Library() { ::dlclose(handle); }
};

Error system_error(const std::string& what) {
    return what + ": " + std::strerror(errno);
}

tl::expected<UniqueFd, Error> copy_of(const std::filesystem::path& file) {
    const UniqueFd from(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    struct stat status{};
    if (from.get() < 0 || ::fstat(from.get(), &status) != 0)
        return tl::make_unexpected(system_error("the plug-in cannot be read"));
    if (!S_ISREG(status.st_mode) || status.st_size > most_bytes)
        return tl::make_unexpected(Error("expected a regular file of at most 64 MiB"));
    UniqueFd copy(::memfd_create(file.filename().c_str(), MFD_CLOEXEC));
    if (copy.get() < 0)
        return tl::make_unexpected(system_error("no memory for a copy of the plug-in"));
    std::array<char, 65536> buffer{};
    for (;;) {
        const ssize_t got = ::read(from.get(), buffer.data(), buffer.size());
        if (got == 0)
            return copy;
        if (got < 0 || ::write(copy.get(), buffer.data(), static_cast<std::size_t>(got)) != got)
            return tl::make_unexpected(system_error("the plug-in cannot be copied"));
    }
}

// The name of the file for that of its copy.
Error named(std::string text, const std::string& copy, const std::string& file) {
    for (std::size_t at = text.find(copy); at != std::string::npos;
         at = text.find(copy, at + file.size()))
        text.replace(at, copy.size(), file);
    return text;
}

bool is_name(const char* name, char first, char last, char other) {
    if (name == nullptr)
        return false;
    const std::string_view text(name);
    return !text.empty() && text.size() <= longest_name && text[0] >= first && text[0] <= last &&
           std::ranges::all_of(text, [&](char c) {
               return (c >= first && c <= last) || (c >= '0' && c <= '9') || c == other;
           });
}

Error wrong_parameter(const xp_plugin_parameter& parameter) {
    if (!is_name(parameter.name, 'a', 'z', '_'))
        return "a parameter has no name of 1 to 31 characters a-z, 0-9 and _ with a letter first";
    const Error of = Error("parameter ") + parameter.name;
    if (parameter.unit != XP_PLUGIN_NUMBER && parameter.unit != XP_PLUGIN_DURATION)
        return of + " has the unit " + std::to_string(parameter.unit) +
               ", expected XP_PLUGIN_NUMBER or XP_PLUGIN_DURATION";
    if (parameter.unit == XP_PLUGIN_DURATION &&
        (parameter.least < 0 || parameter.least % least_duration != 0 ||
         parameter.most % least_duration != 0))
        return of + " is a duration whose bounds are no whole microseconds from 0 on";
    if (parameter.least > parameter.value || parameter.value > parameter.most)
        return of + " has the value " + std::to_string(parameter.value) + ", expected " +
               std::to_string(parameter.least) + " to " + std::to_string(parameter.most) +
               ", its own bounds";
    return "";
}

Error wrong_parameters(const xp_policy_plugin& plugin) {
    if (plugin.num_parameters > XP_PLUGIN_MAX_PARAMETERS)
        return std::to_string(plugin.num_parameters) + " parameters, expected at most " +
               std::to_string(XP_PLUGIN_MAX_PARAMETERS);
    if (plugin.num_parameters > 0 && plugin.parameters == nullptr)
        return "num_parameters is not 0, but parameters is NULL";
    for (std::uint64_t i = 0; i < plugin.num_parameters; ++i) {
        const xp_plugin_parameter& parameter = plugin.parameters[i];
        if (Error wrong = wrong_parameter(parameter); !wrong.empty())
            return wrong;
        for (std::uint64_t j = 0; j < i; ++j)
            if (std::strcmp(plugin.parameters[j].name, parameter.name) == 0)
                return Error("two parameters are named ") + parameter.name;
    }
    return "";
}

// Fields that a later header has behind ours must be 0, for we don't know what they ask for.
bool has_unknown_fields(const xp_policy_plugin& plugin) {
    const auto* const bytes = reinterpret_cast<const unsigned char*>(&plugin);
    return plugin.size > sizeof plugin && std::any_of(bytes + sizeof plugin, bytes + plugin.size,
                                                      [](unsigned char byte) { return byte != 0; });
}

// Empty: it may be called.
Error what_is_wrong(const xp_policy_plugin& plugin) {
    constexpr std::uint32_t most_size = 4096;
    if (plugin.abi != XP_PLUGIN_ABI)
        return "its abi is " + std::to_string(plugin.abi) + ", expected " +
               std::to_string(XP_PLUGIN_ABI) +
               ": compile it with the xpreempt/policy_plugin.h of this version";
    if (plugin.size < sizeof plugin || plugin.size > most_size)
        return "its size is " + std::to_string(plugin.size) +
               ", expected sizeof(struct xp_policy_plugin), " + std::to_string(sizeof plugin);
    if (has_unknown_fields(plugin))
        return "it uses fields that this version does not know: compile it with the "
               "xpreempt/policy_plugin.h of this version";
    if (!is_name(plugin.name, 'A', 'Z', '-'))
        return "its name is not 1 to 31 characters A-Z, 0-9 and - with a letter first";
    if (std::ranges::find(policy_names, plugin.name) != policy_names.end())
        return Error("its name is ") + plugin.name + ", that of a built-in policy: choose another";
    if (plugin.state_bytes > XP_PLUGIN_MAX_STATE || plugin.job_state_bytes > XP_PLUGIN_MAX_STATE)
        return "a state of " +
               std::to_string(std::max(plugin.state_bytes, plugin.job_state_bytes)) +
               " bytes, expected at most " + std::to_string(XP_PLUGIN_MAX_STATE);
    if (plugin.decide == nullptr)
        return "decide is NULL, expected a function";
    return wrong_parameters(plugin);
}

tl::expected<Plugin, Error> load(const std::filesystem::path& file) {
    auto copy = copy_of(file);
    if (!copy)
        return tl::make_unexpected(copy.error());
    const std::string name = "/proc/self/fd/" + std::to_string(copy->get());
    void* const handle = ::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle == nullptr) {
        const char* const why = ::dlerror();
        return tl::make_unexpected("no shared library that can be loaded: " +
                                   named(why != nullptr ? why : "", name, file.filename()));
    }
    auto library = std::make_shared<Library>(std::move(*copy), handle);
    const auto* const plugin = static_cast<const xp_policy_plugin*>(::dlsym(handle, symbol_name));
    if (plugin == nullptr)
        return tl::make_unexpected(Error("it exports no xp_plugin: define `const struct "
                                         "xp_policy_plugin xp_plugin`, not static"));
    if (Error wrong = what_is_wrong(*plugin); !wrong.empty())
        return tl::make_unexpected(std::move(wrong));
    return Plugin(std::shared_ptr<const xp_policy_plugin>(std::move(library), plugin));
}

} // namespace

tl::expected<Plugin, std::string> load_plugin(const std::filesystem::path& file) {
    auto plugin = load(file);
    if (!plugin)
        return tl::make_unexpected(file.string() + ": " + plugin.error());
    return plugin;
}

} // namespace xpreempt::sched
