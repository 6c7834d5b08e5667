// SPDX-License-Identifier: MIT
// In place of plugin_library.cpp, for programs that are one static binary and have no dlopen().
#include "sched/plugin_library.hpp"

namespace xpreempt::sched {

tl::expected<Plugin, std::string> load_plugin(const std::filesystem::path& file) {
    return tl::make_unexpected(
        file.string() + ": this program is a static binary, which loads no plug-ins: use another "
                        "build of it");
}

} // namespace xpreempt::sched
