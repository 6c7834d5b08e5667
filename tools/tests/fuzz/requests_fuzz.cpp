// SPDX-License-Identifier: MIT
// Any bytes as a request and as a reply of xpreemptd's socket: a request that is taken is the same
// after the way through text, and every reply fits and is one that clients take.
#include "../server/fake_control.hpp"
#include "xpreemptd/protocol/replies.hpp"
#include "xpreemptd/protocol/requests.hpp"
#include "xpreemptd/server/dispatch.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace {

using namespace xpreemptd;

void require(bool holds, const char* what) {
    if (holds)
        return;
    std::fprintf(stderr, "requests_fuzz: %s\n", what);
    std::abort();
}

void as_request(std::string_view text) {
    const Answer<Request> request = parse_request(text);
    if (!request) {
        const std::string reply = refusal_reply(request.error());
        const Answer<void> read = parse_done(reply);
        require(reply.size() <= max_message_bytes, "a refusal is too long");
        require(!read && read.error().error == request.error().error, "another refusal is read");
        require(request.error().text.size() < 400, "a refusal repeats the request");
        return;
    }
    const Answer<Request> again = parse_request(text_of(*request));
    require(again && *again == *request, "a request changes on the way through text");
    test::FakeControl control;
    control.listed.resize(3);
    for (JobReport& job : control.listed)
        job.name = job.reason = std::string(text.substr(0, 5000));
    control.listed[1].state = JobState::not_schedulable;
    const std::string reply = reply_to(control, {1, 2}, *request);
    require(reply.size() <= max_message_bytes, "a reply is too long");
    require(parse_done(reply).has_value(), "a reply is refused by its reader");
    if (std::holds_alternative<JobsRequest>(*request))
        require(parse_jobs_reply(reply).has_value(), "a list is refused by its reader");
    if (std::holds_alternative<TraceRequest>(*request))
        require(parse_trace_reply(reply).has_value(), "a trace is refused by its reader");
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view text(reinterpret_cast<const char*>(data), size);
    as_request(text);
    (void)parse_done(text);
    (void)parse_status_reply(text);
    (void)parse_jobs_reply(text);
    (void)parse_trace_reply(text);
    return 0;
}
