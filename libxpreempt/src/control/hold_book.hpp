// SPDX-License-Identifier: MIT
// Holds made through the control socket. A hold ends with its connection, unless the client asked
// to keep it.
#pragma once

#include "control/host.hpp"

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace xpreempt::control {

// The peer of a connection, as the kernel reports it.
struct Owner {
    std::uint64_t connection; // never 0
    std::uint32_t pid;
    std::uint32_t uid;
};

// One thread's.
class HoldBook {
public:
    explicit HoldBook(Host& host) : host_(host) {}

    using Answer = wire::Answer<wire::Outcome>;
    // Suspends or resumes, as asked.
    Answer serve(const Owner& owner, const wire::Request& request);

    void end_connection(std::uint64_t connection);
    void release_all();

    [[nodiscard]] bool holds_any(std::uint64_t connection) const;
    // Also fills in control_holds, and forgets what is held of objects that are gone.
    std::vector<wire::Holder> reconcile(Snapshot& snapshot);

private:
    struct Found {
        wire::Object object;
        std::uint64_t handle;
        std::string name;
        bool operator==(const Found& other) const {
            return object == other.object && handle == other.handle;
        }
    };
    struct Entry {
        Found target;
        Owner owner; // connection 0: kept
        std::unique_ptr<Hold> hold;
    };

    // A connection holds a target once, and all together keep it once.
    Answer suspend(const Owner& owner, const Found& found, std::uint32_t flags);
    // Undoes the connection's own hold and the one that was kept; with force, everybody's.
    Answer resume(const Owner& owner, const Found& found, std::uint32_t flags);
    template <typename Wanted> std::size_t end_all(Wanted wanted);
    void drop_ended();
    wire::Answer<Found> find(const wire::Target& target);
    [[nodiscard]] std::uint32_t count(wire::Object object, std::uint64_t handle) const;
    wire::Outcome outcome(const Found& found);

    Host& host_;
    std::vector<Entry> entries_;
};

} // namespace xpreempt::control
