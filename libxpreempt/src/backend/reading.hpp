// SPDX-License-Identifier: MIT
// While it lives the program creates, changes and destroys no queue, so that their rings and
// indices can be read. Blocks such calls of the program, and a second one in the same thread.
#pragma once

#include "hook/table.hpp"

namespace xpreempt::backend {

class Reading {
public:
    explicit Reading(const hook::Table& table) : table_(table) { table_.begin_reading(); }
    ~Reading() { table_.end_reading(); }
    Reading(const Reading&) = delete;
    Reading& operator=(const Reading&) = delete;

private:
    const hook::Table& table_;
};

} // namespace xpreempt::backend
