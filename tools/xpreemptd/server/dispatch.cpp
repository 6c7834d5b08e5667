// SPDX-License-Identifier: MIT
// One call of Control for each kind of request.
#include "server/dispatch.hpp"

#include "protocol/replies.hpp"

namespace xpreemptd {

namespace {

std::string reply_with(const Answer<void>& answer) {
    return answer ? done_reply() : refusal_reply(answer.error());
}

struct Dispatch {
    Control& control;
    const Caller& caller;

    std::string operator()(const JobsRequest& request) const {
        constexpr std::size_t least_bytes = 256; // of a report, so that a page is full before
        return jobs_reply(control.jobs(request.from, max_message_bytes / least_bytes),
                          request.from);
    }
    std::string operator()(const StatusRequest& /*request*/) const {
        return status_reply(control.status());
    }
    std::string operator()(const TraceRequest& request) const {
        return trace_reply(control.trace(request.from));
    }
    std::string operator()(const AdoptRequest& request) const {
        return reply_with(control.adopt(caller, request.change));
    }
    std::string operator()(const SetRequest& request) const {
        return reply_with(control.change(caller, request.job, request.change));
    }
    std::string operator()(const PolicyRequest& request) const {
        return reply_with(control.set_policy(caller, request.name));
    }
    std::string operator()(const FocusRequest& request) const {
        return reply_with(control.focus(caller, request.pid));
    }
    std::string operator()(const HintRequest& request) const {
        return reply_with(control.hint(caller, request.hint));
    }
};

} // namespace

std::string reply_to(Control& control, const Caller& caller, const Request& request) {
    return std::visit(Dispatch{control, caller}, request);
}

} // namespace xpreemptd
