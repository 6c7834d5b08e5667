// SPDX-License-Identifier: MIT
// Writes the report: one page as text and JSON, the plot, the kernel log, and an archive of these.
#pragma once

#include "stage.hpp"

#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace verify {

struct StageResult {
    std::string name;
    Verdict verdict;
    std::vector<Finding> findings;
    Json data;
    double seconds;
};

struct Result {
    std::vector<StageResult> stages;
    std::vector<std::string> kernel_log;
    bool interrupted = false;

    [[nodiscard]] Verdict
    verdict() const; // pass: nothing failed, something ran, and not interrupted
    [[nodiscard]] std::string summary() const; // "PASS: 9 stages passed, 2 skipped"
};

// Writes report.txt, report.json, latency.svg and kernel.log into directory, which is made, and
// packs it into directory.tar.gz by tar(1). Returns the names of what was written.
tl::expected<std::vector<std::string>, std::string> write_report(const Result& result,
                                                                 const std::string& directory);

} // namespace verify
