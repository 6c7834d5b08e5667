// SPDX-License-Identifier: MIT
// One thread for each reading.
#include "rules/rules_reader.hpp"

#include "system/background.hpp"

#include <cerrno>
#include <mutex>
#include <sys/eventfd.h>
#include <utility>

namespace xpreemptd {

struct RulesReader::Shared {
    Read read;
    xpreempt::UniqueFd ended;
    std::mutex lock;
    std::optional<Answer> answer;
};

tl::expected<RulesReader, int> RulesReader::make(Read read) {
    auto shared = std::make_shared<Shared>();
    shared->read = std::move(read);
    shared->ended = xpreempt::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!shared->ended.valid())
        return tl::make_unexpected(errno);
    return RulesReader(std::move(shared));
}

void RulesReader::begin() {
    again_ = reads_;
    if (std::exchange(reads_, true))
        return;
    const auto work = [shared = shared_] {
        Answer answer = shared->read();
        const std::scoped_lock guard(shared->lock);
        shared->answer = std::move(answer);
        ::eventfd_write(shared->ended.get(), 1);
    };
    if (!run_in_background(work)) // no thread: better late than with the old rules
        work();
}

int RulesReader::fd() const {
    return shared_->ended.get();
}

std::optional<RulesReader::Answer> RulesReader::take() {
    eventfd_t count = 0;
    if (::eventfd_read(shared_->ended.get(), &count) != 0)
        return std::nullopt;
    reads_ = false;
    std::unique_lock guard(shared_->lock);
    std::optional<Answer> answer = std::exchange(shared_->answer, std::nullopt);
    guard.unlock();
    if (!std::exchange(again_, false))
        return answer;
    begin();
    return std::nullopt;
}

} // namespace xpreemptd
