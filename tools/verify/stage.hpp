// SPDX-License-Identifier: MIT
// A stage of verify: what it does, and what it found.
#pragma once

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace verify {

using Json = nlohmann::ordered_json;

enum class Verdict : std::uint8_t { pass, fail, skip, note };
std::string word_of(Verdict verdict);

// Returns fail if one failed, else pass if one passed. A note is no verdict.
template <typename Range, typename Projection>
Verdict overall(const Range& range, Projection verdict_of) {
    const auto has = [&](Verdict verdict) {
        return std::ranges::find(range, verdict, verdict_of) != std::ranges::end(range);
    };
    return has(Verdict::fail) ? Verdict::fail : has(Verdict::pass) ? Verdict::pass : Verdict::skip;
}

struct Finding {
    Verdict verdict;
    std::string text;
};

// Collects the findings of one stage, and prints each as it comes.
class Checks {
public:
    // Returns good. evidence: only if it isn't.
    bool check(bool good, const std::string& what, const std::string& evidence = "");
    // The stage can't run here. Earlier checks still count.
    void skip(const std::string& reason);
    // For the reader of the screen and of the report.
    void note(const std::string& text);

    [[nodiscard]] Verdict verdict() const;
    [[nodiscard]] const std::vector<Finding>& findings() const { return findings_; }

    Json data = Json::object(); // figures of the stage

private:
    std::vector<Finding> findings_;
};

class Bench;

struct Stage {
    const char* name = "";
    const char* what = ""; // it does
    const char* risk = ""; // if the GPU does not confirm a stop, say
    void (*run)(Bench& bench, Checks& checks) = nullptr;
    bool timed = false; // its figures are those of stops as they are without a look into the HQDs
    bool by_name_only = false; // not among all
};

// In the order in which they run, from harmless to harsh.
const std::vector<Stage>& stages();

// One function of each stage; the files are named after them.
void run_probe(Bench& bench, Checks& checks);
void run_one_queue(Bench& bench, Checks& checks);
void run_queues(Bench& bench, Checks& checks);
void run_submissions(Bench& bench, Checks& checks);
void run_neighbours(Bench& bench, Checks& checks);
void run_processes(Bench& bench, Checks& checks);
void run_priorities(Bench& bench, Checks& checks);
void run_latency(Bench& bench, Checks& checks);
void run_fast(Bench& bench, Checks& checks);
void run_checkpoint(Bench& bench, Checks& checks);
void run_sdma(Bench& bench, Checks& checks);
void run_memory(Bench& bench, Checks& checks);
void run_xnack(Bench& bench, Checks& checks);
void run_freeze(Bench& bench, Checks& checks);
void run_gpus(Bench& bench, Checks& checks);
void run_given_program(Bench& bench, Checks& checks);
void run_overhead(Bench& bench, Checks& checks);

} // namespace verify
