// SPDX-License-Identifier: MIT
// The program that the user gives, before anything is done to it.
#pragma once

#include "program.hpp"
#include "stage.hpp"

#include <chrono>
#include <optional>

namespace verify {

// How long it takes; nothing where it is of no use: the checks have a skip with the reason then.
std::optional<std::chrono::steady_clock::duration> run_alone(const Words& words, Checks& checks);

// Its last lines, as notes.
void note_output(const Program& program, Checks& checks);

} // namespace verify
