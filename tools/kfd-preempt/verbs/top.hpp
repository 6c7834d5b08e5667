// SPDX-License-Identifier: MIT
// top: states, counts and latencies of jobs, queues and streams, again and again.
#pragma once

#include "daemon/job_rates.hpp"
#include "output/context.hpp"
#include "output/report.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace cli {

struct TopOptions {
    std::vector<pid_t> pids; // empty: all
    std::string container;   // instead of pids
    double interval_s = 2.0;
    std::uint64_t count = 0; // 0: until it is ended
    bool batch = false;      // plain text, one refresh below the other
    bool json = false;       // one object a line
};

// Reads all states once for each read(). Its messages name what can't be read, as for list.
class TopReader {
public:
    // pids: only these, empty: all. container: only its processes, those that it has at each
    // read().
    TopReader(const Context& context, std::vector<pid_t> pids, std::string container = {});
    Report read();

private:
    std::string add_jobs(Report& report);

    const Context& context_;
    std::vector<pid_t> pids_;
    std::string container_;
    std::size_t checked_ = 0; // of the pids
    std::optional<kfd::Device> device_;
    JobRates rates_;
};

// Writes by itself.
Exit top(const Context& context, const TopOptions& options);

// At most so many columns and rows; 0: as many as it has.
std::string fit(const std::string& text, std::size_t columns, std::size_t rows);

} // namespace cli
