// SPDX-License-Identifier: MIT
// Two lists under one lock: moves to make, and moves that were made.
#include "mover.hpp"

#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <mutex>
#include <sched.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
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
    // The loop's priority is for what takes microseconds.
    const sched_param none{};
    ::sched_setscheduler(0, SCHED_OTHER, &none);
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
    // Signals are the main thread's, and one in the middle would end a move.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = 0;
    try {
        std::thread([shared] { work(shared); }).detach();
    } catch (const std::system_error& failed) {
        error = failed.code().value();
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    if (error != 0)
        return xpreempt::fail(error, xpreempt::Op::wait);
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
