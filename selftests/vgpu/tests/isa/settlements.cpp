// SPDX-License-Identifier: MIT
// Rows of four fields between tabs.
#include "tests/isa/settlements.hpp"

#include <fstream>
#include <sstream>
#include <stdexcept>

namespace vgpu::test {

namespace {

const std::set<std::string> kinds = {"skip",  "low", "d16", "exec", "memory", "flags",  "near",
                                     "angle", "nan", "den", "zero", "limits", "refusal"};

} // namespace

bool Settlement::covers(const IsaVector& vector) const {
    return std::regex_match(vector.mnemonic, mnemonic) && std::regex_search(vector.text, text);
}

std::vector<Settlement> read_settlements(const std::string& path) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read " + path);
    }
    std::vector<Settlement> all;
    for (std::string row; std::getline(file, row);) {
        if (row.empty() || row[0] == '#') {
            continue;
        }
        std::istringstream fields(row);
        std::string kind;
        std::string mnemonic;
        std::string text;
        std::string reason;
        std::getline(fields, kind, '\t');
        std::getline(fields, mnemonic, '\t');
        std::getline(fields, text, '\t');
        std::getline(fields, reason, '\t');
        if (!kinds.contains(kind) || mnemonic.empty() || text.empty() || reason.empty()) {
            throw std::runtime_error("not a kind, two patterns and a reason: " + row);
        }
        all.push_back({kind, row, std::regex(mnemonic), std::regex(text)});
    }
    return all;
}

std::set<std::string> settled(const IsaVector& vector, const std::vector<Settlement>& all,
                              const Settlement* without) {
    std::set<std::string> found;
    for (const Settlement& settlement : all) {
        if (&settlement != without && settlement.covers(vector)) {
            found.insert(settlement.kind);
        }
    }
    return found;
}

} // namespace vgpu::test
