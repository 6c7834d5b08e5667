// SPDX-License-Identifier: MIT
// Two lists under one lock: moves to make, and moves that were made.
#include "driver/mover.hpp"

#include "system/background.hpp"

#include <cerrno>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <sys/eventfd.h>
#include <unistd.h>

namespace xpreemptd {

struct Mover::Shared {
    Call call;
    xpreempt::UniqueFd done_event;
    std::mutex lock;
    std::condition_variable came;
    std::deque<Move> wanted;
    std::vector<Move> done;
};

void Mover::work(const std::shared_ptr<Shared>& shared) {
    for (;;) {
        std::unique_lock guard(shared->lock);
        shared->came.wait(guard, [&] { return !shared->wanted.empty(); });
        Move move = std::move(shared->wanted.front());
        shared->wanted.pop_front();
        guard.unlock();
        shared->call(move.switches);
        guard.lock();
        shared->done.push_back(std::move(move));
        guard.unlock();
        ::eventfd_write(shared->done_event.get(), 1);
    }
}

Result<Mover> Mover::start(Call call) {
    auto shared = std::make_shared<Shared>();
    shared->call = std::move(call);
    shared->done_event = xpreempt::UniqueFd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
    if (!shared->done_event.valid())
        return xpreempt::fail(errno, xpreempt::Op::wait);
    if (auto started = run_in_background([shared] { work(shared); }); !started)
        return tl::make_unexpected(started.error());
    return Mover(std::move(shared));
}

void Mover::begin(Move move) {
    const std::scoped_lock guard(shared_->lock);
    shared_->wanted.push_back(std::move(move));
    shared_->came.notify_one();
}

int Mover::fd() const {
    return shared_->done_event.get();
}

std::vector<Move> Mover::take() {
    eventfd_t count = 0;
    ::eventfd_read(fd(), &count);
    const std::scoped_lock guard(shared_->lock);
    return std::exchange(shared_->done, {});
}

} // namespace xpreemptd
