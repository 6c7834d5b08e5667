// SPDX-License-Identifier: MIT
// The same two programs on HIP: two streams of kfd-preempt-verify-hip, or two processes of it.
#pragma once

#include "programs.hpp"

namespace verify {

// How an error begins if this machine has no HIP.
constexpr const char* no_hip = "no HIP: ";

// The path of kfd-preempt-verify-hip, whether it is there or not.
std::string hip_program();

// The levels and HPF are libxpreempt's, in a process with both streams. Without a HIP runtime there
// are no such programs, without libxpreempt no levels.
class HipPrograms : public Programs {
public:
    // by: a command that becomes the low program, then a process of its own. The error is why there
    // are none.
    static tl::expected<std::unique_ptr<HipPrograms>, std::string> create(Gpu& gpu,
                                                                          const Words& by = {});

    [[nodiscard]] bool has_levels() const;
    [[nodiscard]] std::string version() const; // of HIP

    Done begin(Sharing sharing) override;
    Done end(Sharing sharing) override;
    tl::expected<std::uint64_t, std::string> serve() override;
    Done hold_back(Sharing sharing) override;
    Done release(Sharing sharing) override;

private:
    using Programs::Programs;
    Child& low() override { return low_ ? *low_ : *high_; }
    Done tell(const std::string& question);

    std::unique_ptr<Child> high_, low_; // low_: only if it is another process
};

} // namespace verify
