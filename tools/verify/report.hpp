// SPDX-License-Identifier: MIT
// Writes the report: one page as text and JSON, the plot, the kernel log, and an archive of these.
#pragma once

#include "stage.hpp"

#include <cstdint>
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
    bool looks_into_hqds = false; // the driver, in each stop
};

struct Result {
    Json machine; // as machine.hpp has it
    std::vector<StageResult> stages;
    std::vector<std::string> kernel_log;
    bool interrupted = false;

    [[nodiscard]] Verdict
    verdict() const; // pass: nothing failed, something ran, and not interrupted
    [[nodiscard]] std::string summary() const; // "PASS: 9 stages passed, 2 skipped"
};

// A name that others can foresee must be new: they may have made it, as a link.
enum class Directory : std::uint8_t { may_exist, is_new };

// Writes report.txt, report.json, STAGE.svg where a stage has a picture, and kernel.log into the
// directory, which is made, and packs it into output.tar.gz by tar(1). Returns the names of what
// was written.
tl::expected<std::vector<std::string>, std::string>
write_report(const Result& result, const std::string& output, Directory directory);

} // namespace verify
