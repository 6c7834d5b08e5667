// SPDX-License-Identifier: MIT
// Requests and replies as text: each key, each way to get it wrong, and lists of any length.
#include "fake_control.hpp"
#include "protocol/replies.hpp"
#include "protocol/requests.hpp"

#include <cerrno>
#include <climits>
#include <gtest/gtest.h>
#include <set>
#include <tuple>

namespace {

using namespace xpreemptd;
using namespace std::chrono_literals;

void expect_refusal(std::string_view message, int error, const std::string& text) {
    const Answer<Request> request = parse_request(message);
    ASSERT_FALSE(request) << message;
    EXPECT_EQ(request.error().error, error) << message;
    EXPECT_NE(request.error().text.find(text), std::string::npos)
        << message << "\nis refused with: " << request.error().text;
    const Answer<void> back = parse_done(refusal_reply(request.error()));
    ASSERT_FALSE(back);
    EXPECT_EQ(back.error().error, error);
}

TEST(XpreemptdRequests, AreTheSameAfterTheWayThroughText) {
    AttributeChange all{sched::Band::realtime, 10000, max_deadline, -255};
    all.utilization = 100;
    all.lax = max_deadline;
    AttributeChange some{{}, 1, 1us, 255};
    some.utilization = 0;
    some.lax = 1us;
    const Request requests[] = {JobsRequest{},
                                JobsRequest{UINT64_MAX},
                                StatusRequest{},
                                TraceRequest{},
                                TraceRequest{7},
                                AdoptRequest{},
                                AdoptRequest{all},
                                SetRequest{pid_t{1}, some},
                                SetRequest{std::string("/a \"b\"\\\n\u00e4"), all},
                                PolicyRequest{"BAND"},
                                FocusRequest{},
                                FocusRequest{INT_MAX},
                                HintRequest{BeginHint{}},
                                HintRequest{BeginHint{max_deadline}},
                                HintRequest{EndHint{}},
                                HintRequest{SoonHint{max_soon}},
                                HintRequest{BandHint{}},
                                HintRequest{BandHint{sched::Band::high}},
                                HintRequest{PriorityHint{}},
                                HintRequest{PriorityHint{-255}},
                                HintRequest{PriorityHint{255}},
                                HintRequest{AttributesHint{}},
                                HintRequest{AttributesHint{{.weight = 1,
                                                            .deadline = max_deadline,
                                                            .utilization = 0,
                                                            .lax = std::chrono::microseconds{1}}}}};
    for (const Request& request : requests) {
        const Answer<Request> back = parse_request(text_of(request));
        ASSERT_TRUE(back) << text_of(request) << ": " << back.error().text;
        EXPECT_TRUE(*back == request) << text_of(request);
    }
}

TEST(XpreemptdRequests, RefuseWhatIsNoJsonObject) {
    for (const char* message :
         {"", " ", "{", "}", "{\"do\"", "{\"do\":\"jobs\"}}", "jobs", "{\"do\":\"jobs\"} {}",
          "{'do':'jobs'}", "{\"do\":\"jobs\",}", "{\"do\":\"\xff\"}", "{\"do\":\"\xc0\x80\"}",
          "\xef\xbb\xbf", "{\"do\":\"set\",\"weight\":1e999}", "{\"do\":\"a\nb\"}"})
        expect_refusal(message, EBADMSG, "not JSON");
    expect_refusal({"{\"do\":\"jobs\"}\0", 14}, EBADMSG, "byte 14");
    for (const char* message : {"[]", "1", "null", "\"jobs\"", "[{\"do\":\"jobs\"}]", "true"})
        expect_refusal(message, EINVAL, "one JSON object");
}

TEST(XpreemptdRequests, RefuseNestedValuesHoweverDeep) {
    expect_refusal(R"({"do":{"a":1}})", EINVAL, "'do' is an object");
    expect_refusal(R"({"do":"jobs","from":[]})", EINVAL, "'from' is an array");
    expect_refusal(std::string(max_message_bytes, '['), EINVAL, "one JSON object");
    std::string deep = R"({"do":)";
    while (deep.size() + 5 < max_message_bytes)
        deep += R"({"a":)";
    expect_refusal(deep, EINVAL, "'do' is an object");
}

TEST(XpreemptdRequests, NameTheKeyThatIsWrong) {
    expect_refusal("{}", EINVAL, "'do' is missing");
    expect_refusal(R"({"do":1})", EINVAL, "'do' is 1, expected a string");
    expect_refusal(R"({"do":""})", EINVAL, "'do' is ''");
    expect_refusal(R"({"do":"dance"})", EOPNOTSUPP, "'dance', expected one of jobs, status");
    expect_refusal(R"({"do":"jobs","do":"status"})", EINVAL, "'do' is given twice");
    expect_refusal(R"({"do":"jobs","band":"high"})", EINVAL,
                   "'band' is no key of 'jobs', which has do, from");
    expect_refusal(R"({"do":"adopt","pid":1})", EINVAL, "'pid' is no key of 'adopt'");
    expect_refusal(R"({"do":"adopt","":1})", EINVAL, "'' is no key of 'adopt'");
    expect_refusal(R"({"do":"jobs","from":-1})", EINVAL, "'from' is -1");
    EXPECT_TRUE(xpreemptd::parse_request(R"({"do":"jobs","from":-0})"));
    expect_refusal(R"({"do":"adopt","band":"hihg"})", EINVAL,
                   "'band' is 'hihg', expected one of realtime, high, normal, idle");
    expect_refusal(R"({"do":"adopt","band":null})", EINVAL, "'band' is null");
    expect_refusal(R"({"do":"policy"})", EINVAL, "'name' is missing");
    expect_refusal(R"({"do":"policy","name":""})", EINVAL, "'name' is ''");
    expect_refusal(R"({"do":"focus"})", EINVAL, "'pid' is missing");
    expect_refusal(R"({"do":"focus","pid":"none"})", EINVAL, "'pid' is 'none'");
    expect_refusal(R"({"do":"focus","job":null})", EINVAL, "'job' is no key of 'focus'");
    expect_refusal(R"({"do":"set","weight":1})", EINVAL, "'pid' or 'job' is missing");
    expect_refusal(R"({"do":"set","pid":1,"job":"a","weight":1})", EINVAL, "both given");
    expect_refusal(R"({"do":"set","pid":1})", EINVAL, "nothing to set");
    expect_refusal(R"({"do":"set","job":7,"weight":1})", EINVAL, "'job' is 7");
}

TEST(XpreemptdRequests, RefuseNumbersOutOfRange) {
    for (const char* weight : {"0", "10001", "-1", "1.0", "1e2", "true", "\"5\"", "null",
                               "18446744073709551616", "-9223372036854775809"})
        expect_refusal(std::string(R"({"do":"adopt","weight":)") + weight + "}", EINVAL,
                       "'weight' is ");
    for (const char* time : {"0", "3600000001", "-1", "0.5"}) {
        expect_refusal(std::string(R"({"do":"adopt","deadline_us":)") + time + "}", EINVAL,
                       "'deadline_us' is ");
        expect_refusal(std::string(R"({"do":"adopt","lax_us":)") + time + "}", EINVAL,
                       "'lax_us' is ");
    }
    for (const char* utilization : {"101", "-1", "0.5", "null", "\"50%\""})
        expect_refusal(std::string(R"({"do":"adopt","utilization":)") + utilization + "}", EINVAL,
                       "'utilization' is ");
    for (const char* priority :
         {"-256", "256", "0.5", "null", "\"1\"", "18446744073709551615", "-9223372036854775808"})
        expect_refusal(std::string(R"({"do":"adopt","priority":)") + priority + "}", EINVAL,
                       "'priority' is ");
    for (const char* pid : {"0", "-1", "2147483648", "\"1\""})
        for (const char* request : {R"({"do":"set","weight":1,"pid":)", R"({"do":"focus","pid":)"})
            expect_refusal(std::string(request) + pid + "}", EINVAL, "'pid' is ");
}

TEST(XpreemptdRequests, NameWhatIsWrongWithAHint) {
    expect_refusal(R"({"do":"hint"})", EINVAL, "'is' is missing");
    expect_refusal(R"({"do":"hint","is":"later"})", EOPNOTSUPP, "'later', expected one of begin");
    expect_refusal(R"({"do":"hint","is":"soon"})", EINVAL, "'us' is missing");
    for (const char* time : {"0", "100001", "-1", "1.5", "\"1\""})
        expect_refusal(std::string(R"({"do":"hint","is":"soon","us":)") + time + "}", EINVAL,
                       "'us' is ");
    for (const char* priority : {"256", "-256", "0.5", "null", "18446744073709551615"})
        expect_refusal(std::string(R"({"do":"hint","is":"priority","priority":)") + priority + "}",
                       EINVAL, "'priority' is ");
    expect_refusal(R"({"do":"hint","is":"band","band":"top"})", EINVAL, "'band' is 'top'");
    expect_refusal(R"({"do":"hint","is":"begin","deadline_us":0})", EINVAL, "'deadline_us' is 0");
    expect_refusal(R"({"do":"hint","is":"attributes","weight":0})", EINVAL, "'weight' is 0");
    for (const char* other : {R"("band":"high")", R"("priority":1)", R"("us":1)"})
        expect_refusal(std::string(R"({"do":"hint","is":"attributes",)") + other + "}", EINVAL,
                       "is no key of hint 'attributes'");
    expect_refusal(R"({"do":"hint","is":"begin","us":5})", EINVAL,
                   "'us' is no key of hint 'begin'");
    expect_refusal(R"({"do":"hint","is":"end","deadline_us":5})", EINVAL,
                   "'deadline_us' is no key of hint 'end'");
    expect_refusal(R"({"do":"hint","is":"end","pid":5})", EINVAL, "'pid' is no key of 'hint'");
}

TEST(XpreemptdRequests, CutLongTextsInRefusals) {
    std::string many = R"({"do":"jobs")";
    for (int i = 0; i < 5000; ++i)
        many += ",\"k" + std::to_string(i) + "\":0";
    expect_refusal(many + "}", EINVAL, "more than 32 keys");
    const std::string umlauts(60000, '\xc3'); // completed below
    std::string key;
    for (const char c : umlauts.substr(0, 30000))
        (key += c) += '\xa4';
    const Answer<Request> request = parse_request("{\"do\":\"jobs\",\"" + key + "\":1}");
    ASSERT_FALSE(request);
    EXPECT_LT(request.error().text.size(), 200U);
    // Not in the middle of a character.
    EXPECT_EQ(refusal_reply(request.error()).find("\xef\xbf\xbd"), std::string::npos);
    expect_refusal("{\"do\":\"set\",\"weight\":1,\"job\":\"" + std::string(5000, 'x') + "\"}",
                   EINVAL, "'job' is 'xxx");
}

JobReport job(std::uint64_t id) {
    JobReport report;
    report.id = id;
    report.name = "/job" + std::to_string(id);
    report.attributes = {sched::Band::high, 300, 20ms, -7};
    report.attributes.utilization = 25;
    report.attributes.lax = 5ms;
    report.focused = true;
    report.state = JobState::held;
    report.pids = {7, 8};
    report.gpu_ids = {5230};
    report.compute_queues = {2};
    report.queues = 3;
    report.ready_edges = 4;
    report.account = {5ns, 6ns, 7ns, 8ns, 9, 10ns};
    return report;
}

TEST(XpreemptdReplies, AreTheSameAfterTheWayThroughText) {
    JobReport refused = job(2);
    refused.attributes.deadline.reset();
    refused.attributes.lax.reset();
    refused.state = JobState::not_schedulable;
    refused.reason = "a stock driver";
    const Answer<JobPage> page = parse_jobs_reply(jobs_reply({refused, job(1)}, 0));
    ASSERT_TRUE(page) << page.error().text;
    ASSERT_EQ(page->jobs.size(), 2U);
    EXPECT_FALSE(page->next);
    const JobReport& first = page->jobs[0].report;
    EXPECT_EQ(first.id, 1U);
    EXPECT_EQ(first.name, "/job1");
    EXPECT_EQ(first.attributes, job(1).attributes);
    EXPECT_TRUE(first.focused);
    EXPECT_EQ(first.state, JobState::held);
    EXPECT_EQ(first.pids, (std::vector<pid_t>{7, 8}));
    EXPECT_EQ(first.gpu_ids, (std::vector<std::uint32_t>{5230}));
    EXPECT_EQ(first.compute_queues, (std::vector<std::uint64_t>{2}));
    EXPECT_EQ(first.queues, 3U);
    EXPECT_EQ(first.ready_edges, 4U);
    EXPECT_EQ(first.account, job(1).account);
    EXPECT_EQ(page->jobs[1].report.reason, "a stock driver");
    EXPECT_FALSE(page->jobs[1].report.attributes.deadline);
    EXPECT_FALSE(page->jobs[1].report.attributes.lax);

    StatusReport status{"none",
                        "it starved a job",
                        "watch",
                        1,
                        2,
                        3,
                        4,
                        5,
                        {6, 7ns, 8ns, 9ns, 10ns},
                        {11, 12ns, 13ns, 14ns, 15ns},
                        16ns};
    const Answer<StatusReport> back = parse_status_reply(status_reply(status));
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_EQ(back->policy, "none");
    EXPECT_EQ(back->ejected, "it starved a job");
    EXPECT_EQ(back->sensing, "watch");
    EXPECT_EQ(back->decisions + back->switches * 10 + back->refusals * 100 + back->edges * 1000 +
                  back->edges_found_late * 10000,
              54321U);
    EXPECT_EQ(back->ring_to_switch, status.ring_to_switch);
    EXPECT_EQ(back->ring_to_stopped, status.ring_to_stopped);
    EXPECT_EQ(back->switch_cost, 16ns);
    EXPECT_TRUE(parse_done(done_reply()));
    EXPECT_EQ(back->plugin, "");
    status.plugin = "/lib/mine.so";
    EXPECT_EQ(parse_status_reply(status_reply(status))->plugin, "/lib/mine.so");
}

ShownRecord phase_on(std::vector<std::uint32_t> gpu_ids) {
    return {{.at = 9ns, .job = 1, .phase = Phase::held}, std::move(gpu_ids)};
}

TEST(XpreemptdReplies, RecordsOfATraceAreTheSameAfterTheWayThroughText) {
    const TracePage page{
        9ns,
        5,
        9,
        3,
        {{{.at = 1ns, .what = Happening::decision, .job = 2, .cause = Cause::ejected}, {}},
         {{.at = 2ns,
           .what = Happening::stop,
           .job = 1,
           .for_job = 2,
           .queues = 3,
           .failed = 1,
           .took = 4ns},
          {}},
         {{.at = 3ns, .what = Happening::resume, .job = 1, .queues = 3, .took = 4ns}, {}},
         phase_on({5230, 1})}};
    const Answer<TracePage> back = parse_trace_reply(trace_reply(page));
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_EQ(std::tuple(back->now, back->first, back->next, back->lost),
              std::tuple(page.now, page.first, page.next, page.lost));
    ASSERT_EQ(back->records.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
        EXPECT_EQ(back->records[i].record, page.records[i].record) << i;
        EXPECT_EQ(back->records[i].gpu_ids, page.records[i].gpu_ids) << i;
    }
}

TEST(XpreemptdReplies, RecordsOfATraceThatDoNotFitAreForTheNextRequest) {
    TracePage page{9ns, 5, 2005, 0, {}};
    page.records.assign(2000, phase_on(std::vector<std::uint32_t>(64, UINT32_MAX)));
    const std::string reply = trace_reply(page);
    EXPECT_LE(reply.size(), max_message_bytes);
    const Answer<TracePage> back = parse_trace_reply(reply);
    ASSERT_TRUE(back) << back.error().text;
    EXPECT_GT(back->records.size(), 50U);
    EXPECT_EQ(back->next, 5 + back->records.size());
    EXPECT_LT(back->next, 2005U);
}

TEST(XpreemptdReplies, ALongListComesInPages) {
    std::vector<JobReport> jobs;
    for (std::uint64_t id = 2000; id-- > 0;)
        jobs.push_back(job(id));
    std::set<std::uint64_t> seen;
    std::uint64_t from = 0;
    int pages = 0;
    for (; pages < 100; ++pages) {
        const std::string reply = jobs_reply(jobs, from);
        EXPECT_LE(reply.size(), max_message_bytes);
        const Answer<JobPage> page = parse_jobs_reply(reply);
        ASSERT_TRUE(page) << page.error().text;
        for (const ListedJob& listed : page->jobs)
            EXPECT_TRUE(seen.insert(listed.report.id).second);
        if (!page->next)
            break;
        from = *page->next;
    }
    EXPECT_EQ(seen.size(), 2000U);
    EXPECT_GT(pages, 1);
    EXPECT_LT(pages, 30);
}

TEST(XpreemptdReplies, TheLargestJobFitsAndTellsHowManyProcessesItHas) {
    JobReport large = job(UINT64_MAX - 1);
    large.name = std::string(5000, '\x01');
    large.state = JobState::not_schedulable;
    large.reason = std::string(5000, '\x02');
    large.pids.assign(40000, 2147483647);
    large.gpu_ids.assign(1000, UINT32_MAX);
    large.account = {sched::Duration::max(),
                     sched::Duration::max(),
                     sched::Duration::max(),
                     sched::Duration::max(),
                     UINT64_MAX,
                     sched::Duration::max()};
    large.queues = large.ready_edges = UINT64_MAX;
    JobReport next = large;
    next.id = UINT64_MAX;
    const std::string reply = jobs_reply({large, next}, 0);
    EXPECT_LE(reply.size(), max_message_bytes);
    const Answer<JobPage> page = parse_jobs_reply(reply);
    ASSERT_TRUE(page) << page.error().text;
    ASSERT_EQ(page->jobs.size(), 1U);
    EXPECT_EQ(page->jobs[0].processes, 40000U);
    EXPECT_EQ(page->jobs[0].report.pids.size(), 1000U);
    EXPECT_EQ(page->next, UINT64_MAX);

    const std::string bytes(5000, '\xff'); // three for one
    EXPECT_LE(status_reply({bytes, bytes, bytes, 0, 0, 0, 0, 0}).size(), max_message_bytes);
    EXPECT_LE(refusal_reply({EPERM, bytes}).size(), max_message_bytes);
    next.name = bytes;
    EXPECT_TRUE(parse_jobs_reply(jobs_reply({next}, 0)));
}

TEST(XpreemptdReplies, OfAnOlderDaemonHaveTheDefaultsOfLaterAttributes) {
    std::string reply = jobs_reply({job(1)}, 0);
    for (const char* key : {",\"utilization\":25", ",\"lax_us\":5000", ",\"focused\":true"}) {
        const std::size_t at = reply.find(key);
        ASSERT_NE(at, std::string::npos) << key << " in " << reply;
        reply.erase(at, std::string_view(key).size());
    }
    const Answer<JobPage> page = parse_jobs_reply(reply);
    ASSERT_TRUE(page) << page.error().text;
    EXPECT_EQ(page->jobs[0].report.attributes, (Attributes{sched::Band::high, 300, 20ms, -7}));
    EXPECT_FALSE(page->jobs[0].report.focused);
}

TEST(XpreemptdReplies, NameWhatAReplyLacks) {
    const auto text = [](const auto& answer) { return answer ? "" : answer.error().text; };
    EXPECT_NE(text(parse_done("")).find("no JSON object"), std::string::npos);
    EXPECT_NE(text(parse_done("[]")).find("no JSON object"), std::string::npos);
    EXPECT_NE(text(parse_done(R"({"schema":2,"ok":true})")).find("schema"), std::string::npos);
    EXPECT_NE(text(parse_done(R"({"schema":1})")).find("'ok'"), std::string::npos);
    EXPECT_NE(text(parse_done(R"({"schema":1,"ok":false})")).find("'error'"), std::string::npos);
    EXPECT_NE(text(parse_jobs_reply(R"({"schema":1,"ok":true,"jobs":[1]})")).find("'id'"),
              std::string::npos);
    EXPECT_NE(text(parse_status_reply(done_reply())).find("'policy'"), std::string::npos);
    // A later version has more keys; they are no error.
    EXPECT_TRUE(parse_done(R"({"schema":1,"ok":true,"more":{"a":[1]}})"));
}

} // namespace
