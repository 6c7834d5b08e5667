// SPDX-License-Identifier: MIT
// Several KFD queues stopped and started by one call of the driver.
#pragma once

#include "backend/holds.hpp"
#include "hip/mapping.hpp"
#include "xqueue/together.hpp"

#include <vector>

namespace xpreempt::backend {

std::vector<xqueue::QueueName> names_of(const std::vector<hip::QueueRecord>& queues);

class KfdTogether final : public xqueue::Together {
public:
    // References must outlive it.
    KfdTogether(const hip::Mapping& mapping, Holds& holds) : mapping_(mapping), holds_(holds) {}

    void keep(const void* turn, Queues starts) override;
    void exchange(const void* turn, Queues stops, Queues starts) override;
    void end(const void* turn) override { holds_.forget({nullptr, turn}); }

private:
    [[nodiscard]] std::vector<hip::QueueRecord> records_of(Queues names) const;

    const hip::Mapping& mapping_;
    Holds& holds_;
};

} // namespace xpreempt::backend
