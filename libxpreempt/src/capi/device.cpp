// SPDX-License-Identifier: MIT
// xpreempt/device.h
#include "backend/queue_use.hpp"
#include "base/log.hpp"
#include "capi/c_boundary.hpp"

#include <cerrno>
#include <cstdio>
#include <xpreempt/device.h>

namespace xpreempt::capi {

namespace {

thread_local char detail[256];
thread_local int hip_error;

void describe(const Error& error) {
    if (error.op >= Op::argument) {
        std::snprintf(detail, sizeof detail, "%s",
                      error.op == Op::argument ? refusal() : phrase(error.op));
        return;
    }
    if (error.op == Op::map_stream && error.id == 0 && error.errno_value != EINVAL) {
        std::snprintf(detail, sizeof detail, "%s failed: %s", phrase(error.op),
                      backend::why_unmapped(error, Library::instance().mapping()).c_str());
        return;
    }
    char buffer[96];
    const char* text = strerror_r(error.errno_value, buffer, sizeof buffer); // may take a lock
    if (error.id != 0)
        std::snprintf(detail, sizeof detail, "%s failed: %s (%u)", phrase(error.op), text,
                      error.id);
    else
        std::snprintf(detail, sizeof detail, "%s failed: %s", phrase(error.op), text);
}

} // namespace

int record_and_return(const Error& error) {
    hip_error = error.op == Op::call_hip ? static_cast<int>(error.id) : 0;
    describe(error);
    log::report(log::Level::debug, "%s", detail);
    return -error.errno_value;
}

} // namespace xpreempt::capi

using namespace xpreempt;
using namespace xpreempt::capi;

extern "C" {

int xp_probe(struct xp_probe_info* probe) {
    return c_call([&](Library& library) -> Result<void> {
        TRY(check_size(probe, "xp_probe_info"));
        const backend::Probe& found = library.probe();
        struct xp_probe_info ours{};
        ours.transport = static_cast<std::uint32_t>(found.kind);
        ours.hook_loaded = library.mapping().available() ? 1 : 0;
        ours.hip_loaded = library.hip() ? 1 : 0;
        ours.sched_mode = found.driver.sched_mode;
        ours.caps = found.driver.caps;
        const std::string blind = backend::why_blind(library.mapping());
        put_text(ours.reason, found.reason.empty() || blind.empty() ? found.reason + blind
                                                                    : found.reason + "; " + blind);
        copy_out(probe, ours);
        return {};
    });
}

int xp_start(void) {
    return c_call([](Library&) -> Result<void> { return {}; });
}

const char* xp_last_detail(void) {
    return xpreempt::capi::detail;
}

int xp_last_hip_error(void) {
    return xpreempt::capi::hip_error;
}

const char* xp_version(void) {
    return XPREEMPT_VERSION;
}
}
