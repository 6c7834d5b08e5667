// SPDX-License-Identifier: MIT
// xpreempt/notify.h
#include "base/log.hpp"
#include "base/unique_fd.hpp"
#include "capi/c_boundary.hpp"

#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <string>
#include <sys/eventfd.h>
#include <system_error>
#include <xpreempt/notify.h>

using namespace xpreempt;
using namespace xpreempt::capi;

namespace {

int status_of(const Result<void>& answer) {
    return answer ? 0 : -answer.error().errno_value;
}

// The function is the program's, and may throw. Our caller throws nothing.
template <typename Call> void call(const char* name, Call function) {
    try {
        function();
    } catch (...) {
        log::report(log::Level::error, "a %s threw an exception, which is ignored", name);
    }
}

int notify(xp_xqueue_t xqueue, std::uint64_t ticket, const xqueue::Notice& notice) {
    return with_xqueue(xqueue, [&](xqueue::XQueue& found) { return found.notify(ticket, notice); });
}

bool is_eventfd(int fd) {
    std::error_code error;
    const auto link = std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), error);
    return link.native().find("[eventfd]") != std::string::npos;
}

} // namespace

extern "C" {

int xp_xqueue_notify(xp_xqueue_t xqueue, uint64_t ticket, xp_complete_fn complete, void* argument) {
    if (complete == nullptr)
        return c_call([](Library&) -> Result<void> { return check_given("complete", false); });
    return notify(xqueue, ticket, [=](const Result<void>& answer) {
        call("completion function", [&] { complete(status_of(answer), argument); });
    });
}

int xp_xqueue_notify_fd(xp_xqueue_t xqueue, uint64_t ticket, int eventfd) {
    std::shared_ptr<UniqueFd> duplicate;
    const int checked = c_call([&](Library&) -> Result<void> {
        UniqueFd copy(::fcntl(eventfd, F_DUPFD_CLOEXEC, 0));
        if (!copy.valid())
            return fail(errno, Op::notify);
        if (!is_eventfd(eventfd))
            return fail(EINVAL, Op::notify);
        duplicate = std::make_shared<UniqueFd>(std::move(copy));
        return {};
    });
    if (checked != 0)
        return checked;
    // The write blocks or fails only at the highest value, when a reader is due anyway.
    return notify(xqueue, ticket,
                  [duplicate](const Result<void>&) { (void)::eventfd_write(duplicate->get(), 1); });
}

int xp_set_lost_fn(xp_lost_fn lost, void* argument) {
    return c_call([&](Library& library) -> Result<void> {
        library.holds().on_death([=](const hip::QueueRecord& queue, const Error& error) {
            struct xp_lost_queue record{};
            record.sz = sizeof record;
            record.kfd_queue_id = queue.kfd_queue_id;
            record.generation = queue.generation;
            record.gpu_id = queue.gpu_id;
            record.status = -error.errno_value;
            if (lost != nullptr)
                call("function for lost queues", [&] { lost(&record, argument); });
        });
        return {};
    });
}

int xp_set_log_fn(xp_log_fn log, uint32_t most, void* argument) {
    return c_call([&](Library&) -> Result<void> {
        TRY(check_range("most", most, XP_LOG_NONE, XP_LOG_DEBUG));
        log::set(log, log::Level(most), argument);
        return {};
    });
}
}
