// SPDX-License-Identifier: MIT
// Names of streams whose addresses are used again.
#include "capi/labels.hpp"

#include <cerrno>
#include <gtest/gtest.h>
#include <map>

namespace {

using xpreempt::capi::Labels;

std::map<const void*, std::uint64_t> births; // what the hook would say

class LabelsTest : public testing::Test {
protected:
    LabelsTest() {
        births.clear();
        table.bytes = sizeof table;
        table.birth_of = [](const void* key) {
            const auto known = births.find(key);
            return known == births.end() ? 0 : known->second;
        };
    }
    xpreempt::hook::Table table{};
    xpreempt::hip::Mapping mapping{&table};
    Labels labels{mapping};
    int place = 0;
    void* const stream = &place;
};

TEST_F(LabelsTest, a_stream_at_the_address_of_a_destroyed_one_has_no_name) {
    births[stream] = 1;
    labels.name_stream(stream, "old");
    EXPECT_EQ("old", labels.of_stream(stream));
    births[stream] = 2;
    EXPECT_TRUE(labels.named_streams().empty());
    EXPECT_EQ("", labels.of_stream(stream));
}

TEST_F(LabelsTest, a_name_given_before_the_first_packet_stays) {
    labels.name_stream(stream, "early");
    EXPECT_EQ("early", labels.of_stream(stream));
    EXPECT_EQ(1U, labels.named_streams().size());
    births[stream] = 7;
    EXPECT_EQ("early", labels.of_stream(stream));
    births.clear();
    EXPECT_EQ("", labels.of_stream(stream));
}

TEST_F(LabelsTest, a_name_ends_when_its_stream_does) {
    int other = 0;
    labels.name_stream(stream, "destroyed");
    labels.name_stream(&other, "other");
    labels.forget_stream(stream);
    EXPECT_EQ("", labels.of_stream(stream));
    EXPECT_EQ("other", labels.of_stream(&other));
    births[&other] = 3;
    EXPECT_EQ("other", labels.of_stream(&other));
    births.clear(); // by a reset of its device
    labels.forget_stream(nullptr);
    births[&other] = 3;
    EXPECT_EQ("", labels.of_stream(&other));
}

TEST_F(LabelsTest, an_empty_name_takes_the_name_away) {
    labels.name_stream(stream, "x");
    labels.name_stream(stream, "");
    EXPECT_TRUE(labels.named_streams().empty());
    labels.add_xqueue(5, stream, stream);
    labels.name_xqueue(5, "front");
    EXPECT_EQ("front", labels.of_xqueue(5).name);
    EXPECT_EQ(stream, labels.of_xqueue(5).stream);
    labels.forget_xqueue(5);
    EXPECT_EQ("", labels.of_xqueue(5).name);
}

TEST_F(LabelsTest, works_without_the_hook) {
    const xpreempt::hip::Mapping none(nullptr);
    Labels alone(none);
    alone.name_stream(stream, "x");
    EXPECT_EQ("x", alone.of_stream(stream));
    alone.forget_stream(stream);
    EXPECT_EQ("", alone.of_stream(stream));
}

TEST(LabelsCheck, limits) {
    EXPECT_TRUE(Labels::check("decode 7"));
    EXPECT_EQ(EINVAL, Labels::check("7").error().errno_value);
    EXPECT_EQ(EINVAL, Labels::check("a\tb").error().errno_value);
    EXPECT_EQ(ENAMETOOLONG, Labels::check(std::string(64, 'a')).error().errno_value);
}

} // namespace
