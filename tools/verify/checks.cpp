// SPDX-License-Identifier: MIT
// Collects what a stage finds.
#include "stage.hpp"

#include <fmt/format.h>

namespace verify {

std::string word_of(Verdict verdict) {
    switch (verdict) {
    case Verdict::pass: return "ok";
    case Verdict::fail: return "FAIL";
    case Verdict::skip: return "skip";
    case Verdict::note: return "";
    }
    return "?";
}

bool Checks::check(bool good, const std::string& what, const std::string& evidence) {
    findings_.push_back({good ? Verdict::pass : Verdict::fail,
                         good || evidence.empty() ? what : what + ": " + evidence});
    fmt::print("  {:<4}  {}\n", word_of(findings_.back().verdict), findings_.back().text);
    return good;
}

void Checks::skip(const std::string& reason) {
    findings_.push_back({Verdict::skip, reason});
    fmt::print("  skip  {}\n", reason);
}

void Checks::note(const std::string& text) {
    findings_.push_back({Verdict::note, text});
    fmt::print("        {}\n", text);
}

Verdict Checks::verdict() const {
    return overall(findings_, &Finding::verdict);
}

} // namespace verify
