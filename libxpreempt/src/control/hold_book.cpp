// SPDX-License-Identifier: MIT
// Holds by connection and target.
#include "control/hold_book.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstring>
#include <iterator>

namespace xpreempt::control {

namespace {

using Clock = std::chrono::steady_clock;

std::string word(wire::Object object) {
    return object == wire::Object::stream ? "stream" : "xqueue";
}

std::string hex(std::uint64_t value) {
    char digits[16];
    return "0x" + std::string(digits, std::to_chars(digits, std::end(digits), value, 16).ptr);
}

template <typename Record> bool has(const std::vector<Record>& records, std::uint64_t handle) {
    return std::ranges::any_of(records, [=](const Record& r) { return r.handle == handle; });
}

std::string sentence(const Error& error) {
    char buffer[96];
    std::string text = phrase(error.op);
    if (error.id != 0)
        text += " (" + std::to_string(error.id) + ")";
    return text + " failed: " + strerror_r(error.errno_value, buffer, sizeof buffer);
}

} // namespace

wire::Answer<HoldBook::Found> HoldBook::find(const wire::Target& target) {
    const Snapshot now = host_.snapshot();
    const auto object = wire::Object{target.object};
    const std::string name(wire::text_of(target.name));
    const std::string thing =
        word(object) + " " + (name.empty() ? hex(target.handle) : "'" + name + "'");
    std::vector<Found> found;
    const auto add = [&](const auto& records) {
        for (const auto& record : records)
            if (name.empty() ? record.handle == target.handle : wire::text_of(record.name) == name)
                found.push_back({object, record.handle, std::string(wire::text_of(record.name))});
    };
    if (object == wire::Object::stream)
        add(now.streams);
    else
        add(now.xqueues);
    if (found.empty())
        return wire::refuse(ENOENT, "there is no " + thing);
    if (found.size() > 1)
        return wire::refuse(ENOTUNIQ, std::to_string(found.size()) + " objects have the name of " +
                                          thing + "; use a handle");
    return found.front();
}

std::uint32_t HoldBook::count(wire::Object object, std::uint64_t handle) const {
    return static_cast<std::uint32_t>(std::ranges::count_if(
        entries_, [=](const Entry& entry) { return entry.target == Found{object, handle, {}}; }));
}

wire::Outcome HoldBook::outcome(const Found& found) {
    wire::Outcome outcome{};
    outcome.object = static_cast<std::uint32_t>(found.object);
    outcome.handle = found.handle;
    outcome.left = host_.holds(found.object, found.handle);
    outcome.left_here = count(found.object, found.handle);
    wire::put_text(outcome.name, found.name);
    return outcome;
}

// Ends the holds that are to end; returns how many.
template <typename Wanted> std::size_t HoldBook::end_all(Wanted wanted) {
    return std::erase_if(entries_, [&](const Entry& entry) {
        const bool ends = wanted(entry);
        if (ends)
            entry.hold->release();
        return ends;
    });
}

void HoldBook::drop_ended() {
    end_all([](const Entry& entry) { return entry.hold->ended(); });
}

HoldBook::Answer HoldBook::serve(const Owner& owner, const wire::Request& request) {
    if (host_.is_read_only())
        return wire::refuse(EACCES, "the program opened its control socket for reading only");
    drop_ended();
    const Found found = TRY(find(request.target));
    return request.kind == wire::Kind::suspend ? suspend(owner, found, request.target.flags)
                                               : resume(owner, found, request.target.flags);
}

HoldBook::Answer HoldBook::suspend(const Owner& owner, const Found& found, std::uint32_t flags) {
    const std::uint64_t connection = (flags & wire::keep) != 0 ? 0 : owner.connection;
    const bool already = std::ranges::any_of(entries_, [&](const Entry& entry) {
        return entry.target == found && entry.owner.connection == connection;
    });
    if (already) {
        wire::Outcome same = outcome(found);
        same.already = 1;
        return same;
    }
    Entry entry{found, {connection, owner.pid, owner.uid}, nullptr};
    entries_.reserve(entries_.size() + 1); // first: a hold is in the book at once
    const auto begin = Clock::now();
    auto suspended = host_.suspend(found.object, found.handle, flags);
    if (!suspended)
        return wire::refuse(suspended.error().errno_value,
                            word(found.object) + " " +
                                (found.name.empty() ? hex(found.handle) : found.name) + ": " +
                                sentence(suspended.error()));
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
    entry.hold = std::move(suspended->hold);
    entries_.push_back(std::move(entry));
    wire::Outcome done = outcome(found);
    done.level = suspended->level;
    done.ns = static_cast<std::uint64_t>(took.count());
    return done;
}

HoldBook::Answer HoldBook::resume(const Owner& owner, const Found& found, std::uint32_t flags) {
    const bool all = (flags & wire::force) != 0;
    const auto begin = Clock::now();
    const auto undone = end_all([&](const Entry& entry) {
        return entry.target == found &&
               (all || entry.owner.connection == 0 || entry.owner.connection == owner.connection);
    });
    const auto took = std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin);
    wire::Outcome done = outcome(found);
    done.already = undone == 0 ? 1 : 0;
    done.ns = static_cast<std::uint64_t>(took.count());
    return done;
}

void HoldBook::end_connection(std::uint64_t connection) {
    end_all([=](const Entry& entry) { return entry.owner.connection == connection; });
}

void HoldBook::release_all() {
    end_all([](const Entry&) { return true; });
}

bool HoldBook::holds_any(std::uint64_t connection) const {
    return std::ranges::any_of(
        entries_, [=](const Entry& entry) { return entry.owner.connection == connection; });
}

std::vector<wire::Holder> HoldBook::reconcile(Snapshot& snapshot) {
    drop_ended();
    end_all([&](const Entry& entry) {
        const auto& [object, handle, name] = entry.target;
        return object == wire::Object::stream ? !has(snapshot.streams, handle)
                                              : !has(snapshot.xqueues, handle);
    });
    for (wire::Stream& stream : snapshot.streams)
        stream.control_holds = count(wire::Object::stream, stream.handle);
    for (wire::Xqueue& xqueue : snapshot.xqueues)
        xqueue.control_holds = count(wire::Object::xqueue, xqueue.handle);
    std::vector<wire::Holder> holders;
    for (const Entry& entry : entries_) {
        wire::Holder holder{};
        holder.object = static_cast<std::uint32_t>(entry.target.object);
        holder.flags = entry.owner.connection == 0 ? wire::holder_kept : 0;
        holder.handle = entry.target.handle;
        holder.pid = entry.owner.pid;
        holder.uid = entry.owner.uid;
        wire::put_text(holder.name, entry.target.name);
        holders.push_back(holder);
    }
    return holders;
}

} // namespace xpreempt::control
