// SPDX-License-Identifier: MIT
// The command line of the verbs that measure.
#include "verbs/measuring_arguments.hpp"

#include "verbs/number_checks.hpp"
#include "xpreemptd/protocol/decimal.hpp"

namespace cli {

void add_measuring_verbs(const AddVerb& verb, MeasuringArguments& arguments,
                         std::string (*check_pid)(const std::string& word)) {
    CLI::App* measuring = verb(
        "measure", "Stop and resume the queues of a process many times, and print how long it took",
        [&](const Context& context) {
            const MeasureOptions options{arguments.count,
                                         std::chrono::milliseconds(arguments.interval_ms)};
            return measure(context, xpreemptd::decimal<pid_t>(arguments.pid).value_or(0), options);
        });
    measuring->add_option("PID", arguments.pid, "pid of the process")->required()->check(check_pid);
    measuring
        ->add_option("-n,--count", arguments.count, "number of stops and resumes (default: 100)")
        ->check(number_between(1, 1'000'000));
    measuring
        ->add_option("-i,--interval", arguments.interval_ms,
                     "milliseconds that the process runs before each stop (default: 10)")
        ->check(number_between(0, 60'000));
}

} // namespace cli
