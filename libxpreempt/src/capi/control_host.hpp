// SPDX-License-Identifier: MIT
// Serves the control socket's requests from this process' library.
#pragma once

#include "capi/library.hpp"
#include "control/host.hpp"

namespace xpreempt::capi {

class ControlHost final : public control::Host {
public:
    ControlHost(Library& library, bool read_only) : library_(library), read_only_(read_only) {}

    [[nodiscard]] bool is_read_only() const override { return read_only_; }
    control::Snapshot snapshot() override;
    Result<control::Suspended> suspend(control::wire::Object object, std::uint64_t handle,
                                       std::uint32_t flags) override;
    std::uint32_t holds(control::wire::Object object, std::uint64_t handle) override;

private:
    std::vector<control::wire::Ring> rings();
    std::vector<control::wire::Stream> streams();
    std::vector<control::wire::Xqueue> xqueues();
    Result<control::Suspended> suspend_stream(hip::Stream key, bool allow_shared);

    Library& library_;
    const bool read_only_;
};

} // namespace xpreempt::capi
