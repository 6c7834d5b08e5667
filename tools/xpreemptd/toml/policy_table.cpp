// SPDX-License-Identifier: MIT
// Keys, formats and ranges of the parameters.
#include "toml/policy_table.hpp"

#include "toml/plugin_table.hpp"

namespace xpreemptd {

namespace {

using namespace std::chrono_literals;

void read_bands(TomlTable table, sched::Bands::Parameters& parameters) {
    if (auto grace = table.table("grace")) {
        for (std::size_t band = 0; band < sched::num_bands; ++band)
            grace->read(name_of(static_cast<sched::Band>(band)), duration_format(0s, 10s),
                        parameters.grace.at(band));
        grace->finish();
    }
    table.read("floor", percentage_format(99), parameters.floor_percent);
    table.read("floor_turn", duration_format(100us, 10s), parameters.floor_turn);
    table.read("resume_grace", duration_format(0s, 10s), parameters.resume_grace);
    table.read("max_rate", integer_format(0, 10000), parameters.max_rate);
    table.finish();
}

void read_round_robin(TomlTable table, sched::RoundRobin::Parameters& parameters) {
    table.read("quantum", duration_format(100us, 10s), parameters.quantum);
    table.finish();
}

void read_fair(TomlTable table, sched::Fair::Parameters& parameters) {
    table.read("slice", duration_format(100us, 10s), parameters.slice);
    table.read("credit", duration_format(0s, 10s), parameters.credit);
    table.finish();
}

// The table of UP, of PUP or of SPUP.
template <class Parameters> void read_partition(TomlTable table, Parameters& parameters) {
    table.read("slice", duration_format(100us, 10s), parameters.slice);
    table.finish();
}

void read_earliest_deadline(TomlTable table, sched::EarliestDeadlineFirst::Parameters& parameters) {
    table.read("k", integer_format(1, 1000), parameters.k);
    table.read("least_period", duration_format(100us, 10s), parameters.least_period);
    table.finish();
}

void read_multilevel(TomlTable table, sched::MultilevelFeedback::Parameters& parameters) {
    using sched::MultilevelFeedback;
    table.read("slice", duration_format(100us, 10s), parameters.slice);
    table.read("levels", integer_format(1, MultilevelFeedback::max_levels), parameters.levels);
    table.read("growth", integer_format(1, MultilevelFeedback::max_growth), parameters.growth);
    table.read("promote_after", duration_format(1ms, 1h), parameters.promote_after);
    table.finish();
}

void read_parking(TomlTable table, sched::IdleParking::Parameters& parameters) {
    table.read("park_after", duration_format(1ms, 24h), parameters.park_after);
    table.finish();
}

} // namespace

void read_policy_parameters(TomlTable& policy, PolicyParameters& parameters) {
    policy.read("linger", duration_format(0s, 10s), parameters.linger);
    if (auto bands = policy.table("BAND"))
        read_bands(std::move(*bands), parameters.bands);
    if (auto round_robin = policy.table("RR"))
        read_round_robin(std::move(*round_robin), parameters.round_robin);
    if (auto fair = policy.table("CFS"))
        read_fair(std::move(*fair), parameters.fair);
    if (auto utilization = policy.table("UP"))
        read_partition(std::move(*utilization), parameters.utilization);
    if (auto process = policy.table("PUP"))
        read_partition(std::move(*process), parameters.process_utilization);
    if (auto strict = policy.table("SPUP"))
        read_partition(std::move(*strict), parameters.strict);
    if (auto earliest = policy.table("K-EDF"))
        read_earliest_deadline(std::move(*earliest), parameters.earliest_deadline);
    if (auto multilevel = policy.table("MLFQ"))
        read_multilevel(std::move(*multilevel), parameters.multilevel);
    if (auto parking = policy.table("PARK"))
        read_parking(std::move(*parking), parameters.parking);
    if (parameters.plugin)
        if (auto plugin = policy.table(parameters.plugin->name()))
            read_plugin(std::move(*plugin), *parameters.plugin);
}

} // namespace xpreemptd
