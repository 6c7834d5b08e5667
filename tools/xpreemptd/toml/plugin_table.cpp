// SPDX-License-Identifier: MIT
// Formats of the parameters of a plug-in.
#include "toml/plugin_table.hpp"

namespace xpreemptd {

void read_plugin(TomlTable table, sched::Plugin& plugin) {
    const auto parameters = plugin.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i) {
        const sched::PluginParameter& of = parameters[i];
        std::int64_t value = of.value;
        if (of.is_duration) {
            Nanoseconds duration{value};
            table.read(of.name, duration_format(Nanoseconds{of.least}, Nanoseconds{of.most}),
                       duration);
            value = duration.count();
        } else {
            table.read(of.name, long_format(of.least, of.most), value);
        }
        plugin.set_value(i, value);
    }
    table.finish();
}

} // namespace xpreemptd
