// SPDX-License-Identifier: MIT
// The xqueue's thread: waits for room, for time and for its turn, and launches what is pending.
#include "base/log.hpp"
#include "base/start_thread.hpp"
#include "xqueue/xqueue.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/prctl.h>
#include <utility>

namespace xpreempt::xqueue {

namespace {

// The worker polls for room where that takes less time than waking it. Whether it does can't be
// measured while the worker is woken late and the hardware runs dry, so it is tried now and then.
constexpr std::uint32_t refills_between_tries = 16;

// A poll for longer would sleep first, which the worker does in its own way.
constexpr std::uint64_t longest_poll_ns = timer_lateness_ns(0);

// With a budget the worker waits for the end of one refill of so many, to measure the time.
constexpr std::uint32_t refills_between_measurements = 8;

} // namespace

XQueue::Wake XQueue::refill_wake() {
    if (pace_.adapts())
        return Wake::promptly;
    return refills_early_ || ++refills_ % refills_between_tries == 0 ? Wake::brief : Wake::late;
}

// Until fewer than threshold commands are in flight, or nothing may be launched any more.
void XQueue::make_room(Lock& lock) {
    const std::uint64_t resumes = statistics_.resumes;
    const auto finished =
        markers_.empty() ? place_marker(lock) : wait_marked(lock, markers_.front(), refill_wake());
    if (!finished && is_momentary(finished.error())) {
        changed_.wait_for(lock, retry);
    } else if (!finished) {
        broken_ = finished.error();
        log::report(log::Level::error, "an xqueue can no longer detect completion: %s failed: %s",
                    phrase(broken_.op), std::strerror(broken_.errno_value));
        announce();
    } else if (pace_.adapts() && resumes == statistics_.resumes) {
        ++refills_;
        note_refill(lock); // no suspend came between, which makes the hardware run dry as well
    }
}

// A launch that came earlier would only make a suspend wait longer.
std::uint64_t XQueue::launch_delay_ns() const {
    if (!pace_.adapts() || markers_.empty())
        return 0;
    return pace_.launch_delay_ns(in_flight_, hw_->now_ns());
}

// Polls, because the time until the launch is due is a guess.
void XQueue::delay_launch(Lock& lock, std::uint64_t ns) {
    const std::shared_ptr<Marker> newest = markers_.back().marker;
    const std::uint64_t resumes = statistics_.resumes;
    lock.unlock();
    const bool passed = newest->passes_within(std::min(ns, longest_poll_ns), withheld_);
    const std::uint64_t now_ns = hw_->now_ns();
    lock.lock();
    changed_.wait(lock, [this] { return !taking_back_; });
    if (passed)
        complete(*newest, now_ns);
    if (resumes == statistics_.resumes)
        note_refill(lock);
}

void XQueue::take_turn_and_launch(Lock& lock) {
    if (!shares_budget() || load_->turns.take_or_queue(seat_, as_launcher()))
        return launch_pending(lock);
    lock.unlock();
    load_->turns.wait(seat_, *hw_);
    lock.lock();
}

// Reports to the pace whether there was too little in flight while more was pending.
void XQueue::note_refill(Lock& lock) {
    if (has_company() || pending_ == 0 || !may_launch() || in_flight_ >= pace_.threshold() ||
        launch_delay_ns() != 0 || (in_flight_ > 0 && (markers_.empty() || unmarked_ > 0)))
        return;
    pace_.refilled(ran_dry(lock));
}

// Nothing that was launched still runs.
bool XQueue::ran_dry(Lock& lock) {
    if (in_flight_ == 0)
        return true;
    if (markers_.empty() || unmarked_ > 0)
        return false;
    const std::shared_ptr<Marker> newest = markers_.back().marker;
    lock.unlock();
    const bool dry = newest->passed();
    lock.lock();
    return dry;
}

// To sleep is as good as to poll where nothing is due for longer than the thread takes to wake.
std::uint64_t XQueue::sleep_ns() {
    if (!pace_.adapts() || markers_.empty())
        return 0;
    const std::uint64_t now_ns = hw_->now_ns();
    const bool measures = refills_ % refills_between_measurements == 0;
    const auto time = [&](std::uint64_t margin_ns) {
        return pace_.sleep_ns(in_flight_, markers_.front().count, measures, margin_ns, now_ns);
    };
    const std::uint64_t ns = time(sleep_margin_.ns());
    if (ns >= least_sleep_ns)
        return ns;
    if (time(0) >= 2 * least_sleep_ns)
        sleep_margin_.skip();
    return 0;
}

void XQueue::sleep(Lock& lock, std::uint64_t ns) {
    const std::uint64_t resumes = statistics_.resumes, margin_ns = sleep_margin_.ns();
    const std::uint64_t end_ns = hw_->now_ns() + ns;
    napping_ = true;
    hw_->sleep(lock, work_, ns, [this] { return !napping_; });
    napping_ = false;
    slept_ = napped_ = true;
    const std::uint64_t now_ns = hw_->now_ns();
    if (now_ns >= end_ns)
        sleep_margin_.note(now_ns - end_ns);
    if (resumes != statistics_.resumes || !may_launch() || !ran_dry(lock))
        return;
    if (!markers_.empty() && !taking_back_)
        complete(*markers_.back().marker, 0);
    // If the sleep didn't end too late, it was too long: its times are from commands that took
    // longer. To sleep again would measure nothing better.
    if (now_ns > end_ns + margin_ns)
        return pace_.gap();
    pace_.forget();
}

// One step towards the next launch, with something to launch.
void XQueue::refill(Lock& lock) {
    // A completion may have come earlier than expected, so two sleeps never follow each other.
    const bool slept = std::exchange(slept_, false);
    if (const std::uint64_t ns = slept ? 0 : sleep_ns(); ns != 0)
        return sleep(lock, ns);
    const std::uint64_t delay_ns = launch_delay_ns();
    if (in_flight_ >= pace_.threshold())
        return make_room(lock);
    if (delay_ns > (napped_ ? pace_.accepted_early_ns() : 0))
        return delay_launch(lock, delay_ns);
    take_turn_and_launch(lock);
    napped_ = false;
}

void XQueue::work() {
    // The kernel may end sleeps of a usual thread 50 us late, so that it wakes several at once.
    (void)prctl(PR_SET_TIMERSLACK, 1);
    Lock lock(mutex_);
    for (;;) {
        while (!stopping_ && (pending_ == 0 || !may_launch() || broken_.errno_value != 0)) {
            leave_turn();
            worker_sleeps_ = true;
            work_.wait(lock);
        }
        worker_sleeps_ = false;
        if (stopping_)
            return;
        if (stays_out_of_graphs())
            refill(lock);
        else
            work_.wait_for(lock, retry);
    }
}

} // namespace xpreempt::xqueue
