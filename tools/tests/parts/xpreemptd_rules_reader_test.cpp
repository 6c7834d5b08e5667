// SPDX-License-Identifier: MIT
// Reloads: the loop goes on while a name service answers late.
#include "rules/rules_reader.hpp"

#include <condition_variable>
#include <gtest/gtest.h>
#include <memory>
#include <mutex>
#include <poll.h>

namespace {

using xpreemptd::Rules;
using xpreemptd::RulesReader;

// Answers once each time that the test lets it.
class SlowFile {
public:
    RulesReader::Answer read() {
        std::unique_lock guard(lock_);
        const int number = ++readings_;
        changed_.wait(guard, [&] { return allowed_ >= number; });
        if (error_)
            return tl::make_unexpected(std::string("wrong"));
        Rules rules;
        rules.defaults.weight = static_cast<std::uint32_t>(number);
        return rules;
    }
    void allow(bool error = false) {
        const std::scoped_lock guard(lock_);
        ++allowed_;
        error_ = error;
        changed_.notify_all();
    }
    int readings() {
        const std::scoped_lock guard(lock_);
        return readings_;
    }

private:
    std::mutex lock_;
    std::condition_variable changed_;
    int readings_ = 0, allowed_ = 0;
    bool error_ = false;
};

class RulesReaderTest : public testing::Test {
protected:
    void wait() const {
        pollfd poll{reader.fd(), POLLIN, 0};
        ASSERT_EQ(::poll(&poll, 1, 60000), 1);
    }

    std::shared_ptr<SlowFile> file = std::make_shared<SlowFile>();
    RulesReader reader = RulesReader::make([file = file] { return file->read(); }).value();
};

TEST_F(RulesReaderTest, begin_returns_before_the_file_is_read) {
    reader.begin();
    EXPECT_FALSE(reader.take());
    file->allow();
    wait();
    const auto rules = reader.take();
    ASSERT_TRUE(rules && *rules);
    EXPECT_EQ((*rules)->defaults.weight, 1U);
    EXPECT_FALSE(reader.take());
}

TEST_F(RulesReaderTest, file_that_changes_meanwhile_is_read_once_more) {
    for (int i = 0; i < 3; ++i)
        reader.begin();
    file->allow();
    wait();
    EXPECT_FALSE(reader.take()) << "of rules that may be old";
    file->allow();
    wait();
    EXPECT_EQ(reader.take()->value().defaults.weight, 2U);
    EXPECT_EQ(file->readings(), 2);
}

TEST_F(RulesReaderTest, wrong_file_is_an_error) {
    reader.begin();
    file->allow(true);
    wait();
    EXPECT_EQ(reader.take()->error(), "wrong");
}

} // namespace
