// SPDX-License-Identifier: MIT
// xpreempt/control.h
#include "capi/control.hpp"

#include "capi/c_boundary.hpp"
#include "capi/control_host.hpp"
#include "control/directory.hpp"
#include "control/server.hpp"

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <unistd.h>
#include <xpreempt/control.h>

namespace xpreempt::capi {

namespace {

constexpr std::size_t most_clients = 32;

struct Socket {
    std::unique_ptr<ControlHost> host; // the server's: outlives it
    std::unique_ptr<control::Server> server;
};

// Plain data, so that it is there before and after every constructor and destructor.
constinit std::mutex mutex; // of threads that open it
constinit std::atomic<Socket*> socket{nullptr};

// At exit, and when the library is unloaded. The child of a fork has nothing of it.
__attribute__((destructor)) void at_unload() {
    if (!Library::forked())
        abandon_control();
}

} // namespace

Result<void> open_control(Library& library, bool read_only, std::size_t max_clients) {
    library.release_at_exit(); // first: a child of a fork never locks the mutex
    const std::lock_guard lock(mutex);
    if (socket.load() != nullptr)
        return fail(EALREADY, Op::open_control);
    auto made = std::make_unique<Socket>();
    made->host = std::make_unique<ControlHost>(library, read_only);
    control::Limits limits;
    if (max_clients != 0)
        limits.clients = max_clients;
    // As secure_getenv(): not from who started a program with more rights than its own.
    const char* runtime_dir = secure_getenv("XDG_RUNTIME_DIR");
    auto server = TRY(control::Server::open(
        *made->host, limits,
        control::directories_of(::geteuid(), runtime_dir != nullptr ? runtime_dir : "")));
    made->server = std::move(server);
    socket = made.release();
    return {};
}

void open_control_as_environment_says(Library& library) {
    const char* value = secure_getenv("XPREEMPT_CONTROL");
    const std::string_view wanted = value != nullptr ? value : "";
    if (wanted.empty() || wanted == "0")
        return;
    if (wanted != "1") {
        std::fprintf(stderr, "libxpreempt: XPREEMPT_CONTROL=%s: use 1 or 0; ignored\n", value);
        return;
    }
    const auto opened = open_control(library, false, 0);
    if (!opened && opened.error().errno_value != EALREADY)
        std::fprintf(stderr,
                     "libxpreempt: XPREEMPT_CONTROL=1: no control socket: %s; is there a directory "
                     "that only this user may enter? (XDG_RUNTIME_DIR, /run/user/%u, /tmp)\n",
                     std::strerror(opened.error().errno_value), static_cast<unsigned>(geteuid()));
}

void abandon_control() {
    std::unique_ptr<Socket> closing(socket.exchange(nullptr));
    if (closing && !closing->server->end_within(std::chrono::seconds(1)))
        (void)closing.release(); // its thread is in a launch function of the program
}

} // namespace xpreempt::capi

using namespace xpreempt;
using namespace xpreempt::capi;

extern "C" {

int xp_control_open(const struct xp_control_options* options) {
    return c_call([&](Library& library) -> Result<void> {
        struct xp_control_options known{};
        if (options != nullptr)
            TRY(copy_in(known, options, "xp_control_options"));
        TRY(check_flags("flags", known.flags, XP_CONTROL_READ_ONLY));
        TRY(check_range("max_clients", known.max_clients, 0, most_clients));
        return open_control(library, (known.flags & XP_CONTROL_READ_ONLY) != 0, known.max_clients);
    });
}

int xp_control_close(void) {
    return c_call([](Library&) -> Result<void> {
        const std::unique_ptr<Socket> closing(capi::socket.exchange(nullptr));
        if (!closing)
            return fail(ENOENT, Op::no_control);
        return {};
    });
}
}
