// SPDX-License-Identifier: MIT
// The control protocol without a socket: frames, requests, who holds what, and all that is wrong.
#include "control/answer.hpp"
#include "control/session.hpp"
#include "fake_control_host.hpp"

#include <gtest/gtest.h>
#include <random>

namespace {

namespace control = xpreempt::control;
namespace wire = xpreempt::control::wire;
using wire::Object;

std::vector<std::byte> request(wire::Kind kind, std::uint32_t tag,
                               const wire::Target* target = nullptr) {
    return wire::frame(kind, tag,
                       target != nullptr ? std::as_bytes(std::span(target, 1)) : wire::Bytes{});
}

// Gives the session the bytes in pieces, takes its answer in pieces.
control::Answer converse(control::Session& session, const std::vector<std::byte>& bytes,
                         std::uint32_t tag, std::size_t piece = 512) {
    control::AnswerReader reader(tag);
    std::size_t given = 0;
    while (given < bytes.size() && session.wants() > 0) {
        const std::size_t part = std::min({piece, bytes.size() - given, session.wants()});
        session.received(wire::Bytes(bytes).subspan(given, part));
        given += part;
    }
    while (!session.to_send().empty()) {
        const std::size_t part = std::min(piece, session.to_send().size());
        const auto broken = reader.received(session.to_send().first(part));
        EXPECT_FALSE(broken) << broken->text;
        session.sent(part);
    }
    EXPECT_TRUE(reader.complete());
    return reader.answer();
}

class SessionTest : public testing::Test {
protected:
    control::Answer ask(control::Session& session, wire::Kind kind,
                        const wire::Target* target = nullptr) {
        ++tag;
        return converse(session, request(kind, tag, target), tag);
    }
    control::Answer suspend(control::Session& session, std::string_view name,
                            std::uint32_t flags = 0) {
        const auto wanted = test::target(Object::stream, name, flags);
        return ask(session, wire::Kind::suspend, &wanted);
    }
    control::Answer resume(control::Session& session, std::string_view name,
                           std::uint32_t flags = 0) {
        const auto wanted = test::target(Object::stream, name, flags);
        return ask(session, wire::Kind::resume, &wanted);
    }
    std::uint32_t holds(std::uint64_t handle = 0x1000) {
        return host.holds(Object::stream, handle);
    }

    test::FakeControlHost host;
    control::HoldBook book{host};
    std::uint32_t tag = 0;
    control::Session one{host, book, {1, 11, 1000}};
};

TEST_F(SessionTest, lists_what_there_is_also_byte_by_byte) {
    for (const std::size_t piece : {1U, 7U, 512U}) {
        const auto answer = converse(one, request(wire::Kind::list, 5), 5, piece);
        EXPECT_EQ(0, answer.done.error);
        ASSERT_TRUE(answer.process);
        ASSERT_EQ(2U, answer.streams.size());
        EXPECT_EQ("high", wire::text_of(answer.streams[1].name));
        ASSERT_EQ(1U, answer.xqueues.size());
        EXPECT_EQ(0x100000000U, answer.xqueues[0].handle);
        ASSERT_EQ(1U, answer.rings.size());
        EXPECT_EQ(12U, answer.rings[0].packets);
        EXPECT_EQ(wire::ring_blind, answer.rings[0].flags);
    }
}

TEST_F(SessionTest, a_long_list_comes_in_several_frames) {
    host.num_streams = 4096;
    const auto answer = ask(one, wire::Kind::list);
    EXPECT_EQ(4096U, answer.streams.size());
    EXPECT_EQ(0x1fffU, answer.streams.back().handle);
}

TEST_F(SessionTest, a_hold_ends_with_its_connection) {
    {
        control::Session other(host, book, {2, 22, 1000});
        EXPECT_EQ(0, suspend(other, "low").done.error);
        EXPECT_EQ(1U, holds());
        EXPECT_EQ(0U, holds(0x1001));
        const auto answer = ask(one, wire::Kind::list);
        ASSERT_EQ(1U, answer.holders.size());
        EXPECT_EQ(22U, answer.holders[0].pid);
        EXPECT_EQ(1000U, answer.holders[0].uid);
        EXPECT_EQ(0U, answer.holders[0].flags);
        EXPECT_EQ(1U, answer.streams[0].control_holds);
    }
    EXPECT_EQ(0U, holds());
    EXPECT_TRUE(ask(one, wire::Kind::list).holders.empty());
}

TEST_F(SessionTest, a_kept_hold_stays_until_anybody_resumes) {
    {
        control::Session other(host, book, {2, 22, 1000});
        EXPECT_EQ(0, suspend(other, "low", wire::keep).done.error);
        EXPECT_EQ(1U, suspend(other, "low", wire::keep).outcome->already);
    }
    EXPECT_EQ(1U, holds());
    EXPECT_EQ(wire::holder_kept, ask(one, wire::Kind::list).holders.at(0).flags);
    const auto resumed = resume(one, "low");
    EXPECT_EQ(0U, resumed.outcome->already);
    EXPECT_EQ(0U, resumed.outcome->left);
    EXPECT_EQ(0U, holds());
    EXPECT_EQ(1U, resume(one, "low").outcome->already);
}

TEST_F(SessionTest, a_resume_leaves_other_connections_their_holds_unless_forced) {
    control::Session other(host, book, {2, 22, 1000});
    suspend(one, "low");
    suspend(one, "low"); // a connection holds once
    suspend(other, "low");
    EXPECT_EQ(2U, holds());
    const auto resumed = resume(one, "low");
    EXPECT_EQ(1U, resumed.outcome->left);
    EXPECT_EQ(1U, resumed.outcome->left_here);
    EXPECT_EQ(1U, resume(one, "low").outcome->already);
    EXPECT_EQ(0U, resume(one, "low", wire::force).outcome->left);
    EXPECT_EQ(0U, holds());
}

TEST_F(SessionTest, a_handle_names_what_has_no_name) {
    wire::Target wanted{};
    wanted.object = static_cast<std::uint32_t>(Object::xqueue);
    wanted.handle = 0x100000000;
    const auto answer = ask(one, wire::Kind::suspend, &wanted);
    ASSERT_TRUE(answer.outcome);
    EXPECT_EQ("front", wire::text_of(answer.outcome->name));
    EXPECT_EQ(1U, host.holds(Object::xqueue, 0x100000000));
}

TEST_F(SessionTest, wrong_targets_are_named) {
    auto answer = suspend(one, "nobody");
    EXPECT_EQ(ENOENT, answer.done.error);
    EXPECT_EQ("there is no stream 'nobody'", wire::text_of(answer.done.text));
    host.num_streams = 4;
    answer = suspend(one, "many");
    EXPECT_EQ(ENOTUNIQ, answer.done.error);
    EXPECT_NE(std::string_view::npos, wire::text_of(answer.done.text).find("2 objects"));
    wire::Target wanted{};
    wanted.object = 1;
    wanted.handle = 0xdead;
    EXPECT_EQ("there is no stream 0xdead",
              wire::text_of(ask(one, wire::Kind::suspend, &wanted).done.text));
    wanted.object = 3;
    EXPECT_EQ(EINVAL, ask(one, wire::Kind::suspend, &wanted).done.error);
    wanted.object = 1;
    wanted.flags = wire::force;
    EXPECT_EQ("unknown flags 8", wire::text_of(ask(one, wire::Kind::suspend, &wanted).done.text));
    wanted.flags = 0;
    std::memset(wanted.name, 'x', sizeof wanted.name);
    EXPECT_EQ("the name does not end with NUL",
              wire::text_of(ask(one, wire::Kind::resume, &wanted).done.text));
    EXPECT_EQ(0U, holds());
}

TEST_F(SessionTest, a_suspend_that_the_hardware_refuses_is_reported) {
    host.stop_errno = EIO;
    const auto refused = suspend(one, "low");
    EXPECT_EQ(EIO, refused.done.error);
    EXPECT_NE(std::string_view::npos, wire::text_of(refused.done.text).find("stream low:"));
    EXPECT_EQ(0U, holds());
}

TEST_F(SessionTest, a_hold_of_what_is_gone_is_forgotten) {
    suspend(one, "high", wire::keep);
    EXPECT_EQ(1U, holds(0x1001));
    host.num_streams = 1;
    EXPECT_TRUE(ask(one, wire::Kind::list).holders.empty());
    EXPECT_EQ(0U, holds(0x1001));
}

TEST_F(SessionTest, a_read_only_socket_suspends_nothing) {
    host.read_only = true;
    EXPECT_EQ(EACCES, suspend(one, "low").done.error);
    EXPECT_EQ(0, ask(one, wire::Kind::list).done.error);
    EXPECT_EQ(0U, holds());
}

TEST_F(SessionTest, unknown_requests_are_refused_and_the_next_one_is_served) {
    const auto answer = converse(one, request(wire::Kind{99}, 3), 3);
    EXPECT_EQ(ENOSYS, answer.done.error);
    EXPECT_EQ("unknown request 99", wire::text_of(answer.done.text));
    const auto payload = test::target(Object::stream, "low");
    EXPECT_EQ(EINVAL, converse(one, request(wire::Kind::list, 4, &payload), 4).done.error);
    EXPECT_EQ(0, ask(one, wire::Kind::list).done.error);
    EXPECT_FALSE(one.over());
}

TEST_F(SessionTest, a_frame_of_another_version_or_size_ends_the_connection) {
    for (const auto& [header, error] : {std::pair{wire::Header{16, 2, 1, 0, 0}, EPROTO},
                                        {{15, 1, 1, 0, 0}, EMSGSIZE},
                                        {{513, 1, 1, 0, 0}, EMSGSIZE},
                                        {{0xffffffff, 1, 1, 0, 0}, EMSGSIZE}}) {
        control::Session other(host, book, {2, 22, 1000});
        std::vector<std::byte> bytes(sizeof header);
        std::memcpy(bytes.data(), &header, sizeof header);
        EXPECT_EQ(error, converse(other, bytes, 1).done.error);
        EXPECT_TRUE(other.over());
        EXPECT_EQ(0U, other.wants());
    }
}

TEST_F(SessionTest, an_answer_waits_for_its_reader) {
    auto bytes = request(wire::Kind::list, 1);
    const auto second = request(wire::Kind::list, 2);
    bytes.insert(bytes.end(), second.begin(), second.end());
    one.received(bytes);
    EXPECT_EQ(0U, one.wants());
    const std::size_t first_answer = one.to_send().size();
    one.sent(first_answer - 1);
    EXPECT_EQ(1U, one.to_send().size());
    one.sent(1); // now the second request
    EXPECT_EQ(first_answer, one.to_send().size());
    EXPECT_FALSE(one.in_frame());
}

TEST_F(SessionTest, no_bytes_at_all_confuse_it) {
    std::mt19937 random(4711); // NOLINT: the same bytes each time
    for (int round = 0; round < 2000; ++round) {
        control::Session other(host, book, {2, 22, 1000});
        auto bytes = request(round % 2 == 0 ? wire::Kind::suspend : wire::Kind::list,
                             static_cast<std::uint32_t>(round));
        const auto wanted = test::target(Object::stream, "low", random() % 16);
        const auto raw = std::as_bytes(std::span(&wanted, 1));
        bytes.insert(bytes.end(), raw.begin(), raw.end());
        for (int i = 0; i < 4; ++i)
            bytes[random() % bytes.size()] = std::byte(random());
        std::size_t given = 0;
        while (given < bytes.size() && other.wants() > 0) {
            const std::size_t part = std::min(other.wants(), bytes.size() - given);
            other.received(wire::Bytes(bytes).subspan(given, part));
            given += part;
            if (!other.to_send().empty())
                other.sent(other.to_send().size());
        }
    }
    EXPECT_TRUE(ask(one, wire::Kind::list).done.error == 0);
}

TEST(AnswerTest, longer_records_are_read_and_shorter_ones_refused) {
    wire::Queue queue{};
    queue.kfd_queue_id = 9;
    std::vector<std::byte> payload(sizeof(wire::Records) + 2 * (sizeof queue + 8));
    wire::Records head{sizeof queue + 8, 2};
    std::memcpy(payload.data(), &head, sizeof head);
    std::memcpy(payload.data() + sizeof head + sizeof queue + 8, &queue, sizeof queue);
    const auto records = wire::parse_records<wire::Queue>(payload);
    ASSERT_TRUE(records);
    EXPECT_EQ(9U, records->at(1).kfd_queue_id);
    head = {sizeof queue - 1, 2};
    std::memcpy(payload.data(), &head, sizeof head);
    EXPECT_FALSE(wire::parse_records<wire::Queue>(payload));
    head = {0, 0xffffffff};
    std::memcpy(payload.data(), &head, sizeof head);
    EXPECT_FALSE(wire::parse_records<wire::Queue>(payload));
    head = {sizeof queue + 8, 3};
    std::memcpy(payload.data(), &head, sizeof head);
    EXPECT_FALSE(wire::parse_records<wire::Queue>(payload));
    EXPECT_FALSE(wire::parse_records<wire::Queue>(wire::Bytes(payload).first(4)));
}

TEST(AnswerTest, what_no_server_sends_is_an_error) {
    control::AnswerReader other_tag(1);
    EXPECT_TRUE(other_tag.received(wire::frame(wire::Kind::queues, 2, {})));
    control::AnswerReader short_record(1);
    EXPECT_TRUE(short_record.received(wire::frame(wire::Kind::streams, 1, {})));
    control::AnswerReader two_processes(1);
    std::vector<std::byte> bytes;
    const std::vector<wire::Process> processes(2);
    wire::append_records(bytes, wire::Kind::process, 1, std::span<const wire::Process>(processes));
    EXPECT_TRUE(two_processes.received(bytes));
    control::AnswerReader unknown(1);
    EXPECT_FALSE(unknown.received(wire::frame(wire::Kind{77}, 1, {})));
    EXPECT_FALSE(unknown.complete());
    control::AnswerReader endless(1);
    const std::vector<std::byte> payload(60000);
    std::optional<wire::Broken> broken;
    for (int i = 0; i < 200 && !broken; ++i)
        broken = endless.received(wire::frame(wire::Kind{77}, 1, payload));
    ASSERT_TRUE(broken);
    EXPECT_EQ(EMSGSIZE, broken->error);
}

} // namespace
