// SPDX-License-Identifier: MIT
// Text and JSON of the replies of control sockets, and the requests to them.
#include "streams/streams.hpp"

#include "output/names.hpp"
#include "processes/error_messages.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <fmt/format.h>

namespace cli {

namespace {

const char* word_of(wire::Object object) {
    return object == wire::Object::stream ? "stream" : "xqueue";
}

template <std::size_t Length> std::string shown(const char (&text)[Length]) {
    return printable(wire::text_of(text));
}

std::string or_dash(const std::string& text) {
    return text.empty() ? "-" : text;
}

Json or_null(const std::string& text) {
    return text.empty() ? Json(nullptr) : Json(text);
}

std::uint64_t suspends_of(const wire::Xqueue& xqueue) {
    return xqueue.suspends_done[0] + xqueue.suspends_done[1] + xqueue.suspends_done[2];
}

wire::Target target_of_word(wire::Object object, const std::string& word, std::uint32_t flags) {
    wire::Target target{};
    target.object = static_cast<std::uint32_t>(object);
    target.flags = flags;
    if (word.starts_with("0x")) // no name begins so
        std::from_chars(word.data() + 2, word.data() + word.size(), target.handle, 16);
    else
        wire::put_text(target.name, word);
    return target;
}

std::string outcome_text(const wire::Outcome& outcome, const ObjectSwitch& how) {
    if (how.suspend && outcome.already != 0)
        return "was suspended already";
    if (how.suspend)
        return fmt::format("suspended at level {} in {}, {}", outcome.level,
                           duration_text(outcome.ns),
                           how.attach ? "as long as this command runs" : "until it is resumed");
    if (outcome.left == 0)
        return outcome.already != 0 ? "was not suspended" : "resumed";
    return fmt::format("{}, but it stays stopped: {} of its {} holds were taken through the socket "
                       "by programs that are connected (--force undoes those), the others by its "
                       "own process",
                       outcome.already != 0 ? "was not suspended by this command" : "resumed",
                       outcome.left_here, outcome.left);
}

Json json_of_outcome(const wire::Outcome& outcome) {
    return {{"object", word_of(wire::Object{outcome.object})},
            {"name", or_null(shown(outcome.name))},
            {"handle", hex(outcome.handle)},
            {"already", outcome.already != 0},
            {"level", outcome.level},
            {"holds", outcome.left},
            {"holds_by_socket", outcome.left_here},
            {"latency_ns", outcome.ns}};
}

} // namespace

std::string hex(std::uint64_t handle) {
    return fmt::format("{:#x}", handle);
}

void StreamTables::add(const Target& target, const control::Answer& answer) {
    const std::string pid = std::to_string(target.pid);
    const std::string comm = target.task ? target.comm() : "?";
    for (const wire::Stream& stream : answer.streams) {
        any_stream_ = true;
        const bool mapped = stream.generation != 0;
        streams_.add({pid, comm, or_dash(shown(stream.name)), hex(stream.handle),
                      mapped ? std::to_string(stream.kfd_queue_id) : "-",
                      mapped ? std::to_string(stream.gpu_id) : "-",
                      mapped ? std::to_string(stream.num_sharing) : "-",
                      std::to_string(stream.level),
                      !mapped                  ? "?"
                      : stream.queue_holds > 0 ? "HELD"
                                               : "RUNNING",
                      std::to_string(stream.queue_holds), std::to_string(stream.control_holds)});
    }
    for (const wire::Xqueue& xqueue : answer.xqueues) {
        any_xqueue_ = true;
        const auto same = [&](const wire::Stream& stream) {
            return stream.handle == xqueue.stream;
        };
        const auto stream = std::ranges::find_if(answer.streams, same);
        const std::string name = stream == answer.streams.end() ? "" : shown(stream->name);
        xqueues_.add({pid, comm, or_dash(shown(xqueue.name)), hex(xqueue.handle),
                      name.empty() ? hex(xqueue.stream) : name,
                      xqueue.suspends > 0 ? fmt::format("HELD-{}", xqueue.held_level) : "RUNNING",
                      std::to_string(xqueue.pending), std::to_string(xqueue.in_flight),
                      std::to_string(xqueue.completed), std::to_string(suspends_of(xqueue)),
                      duration_text(xqueue.last_suspend_ns), duration_text(xqueue.max_suspend_ns)});
    }
    for (const wire::Holder& holder : answer.holders)
        holders_.push_back(fmt::format(
            "{} {} of {} is held by pid {}, uid {}{}", word_of(wire::Object{holder.object}),
            holder.name[0] != '\0' ? shown(holder.name) : hex(holder.handle), target.name(),
            holder.pid, holder.uid,
            (holder.flags & wire::holder_kept) != 0 ? ", until it is resumed"
                                                    : ", as long as that program is connected"));
}

std::string StreamTables::text() const {
    std::string text;
    if (any_stream_)
        text += "\n" + streams_.text();
    if (any_xqueue_)
        text += "\n" + xqueues_.text();
    if (!holders_.empty())
        text += "\n";
    for (const std::string& holder : holders_)
        text += holder + "\n";
    return text;
}

namespace {

Json json_of(const wire::Stream& stream) {
    const bool mapped = stream.generation != 0;
    return {{"name", or_null(shown(stream.name))},
            {"handle", hex(stream.handle)},
            {"queue", mapped ? Json(stream.kfd_queue_id) : Json(nullptr)},
            {"gpu_id", mapped ? Json(stream.gpu_id) : Json(nullptr)},
            {"num_sharing", stream.num_sharing},
            {"level", stream.level},
            {"reason", or_null(shown(stream.reason))},
            {"holds", stream.queue_holds},
            {"holds_by_socket", stream.control_holds}};
}

Json json_of(const wire::Xqueue& xqueue) {
    return {{"name", or_null(shown(xqueue.name))},
            {"handle", hex(xqueue.handle)},
            {"stream", hex(xqueue.stream)},
            {"suspends", xqueue.suspends},
            {"held_level", xqueue.held_level},
            {"level", xqueue.best_level},
            {"reason", or_null(shown(xqueue.reason))},
            {"holds_by_socket", xqueue.control_holds},
            {"pending", xqueue.pending},
            {"in_flight", xqueue.in_flight},
            {"submitted", xqueue.submitted},
            {"launched", xqueue.launched},
            {"completed", xqueue.completed},
            {"dropped", xqueue.dropped},
            {"suspends_done", suspends_of(xqueue)},
            {"resumes", xqueue.resumes},
            {"hw_failures", xqueue.hw_failures},
            {"last_suspend_ns", xqueue.last_suspend_ns},
            {"max_suspend_ns", xqueue.max_suspend_ns},
            {"last_resume_ns", xqueue.last_resume_ns}};
}

Json json_of(const wire::Queue& queue) {
    return {{"queue", queue.kfd_queue_id},
            {"generation", queue.generation},
            {"gpu_id", queue.gpu_id},
            {"num_streams", queue.num_streams},
            {"holds", queue.holds},
            {"save_area_bytes", queue.save_area_bytes},
            {"stops", queue.stops},
            {"last_stop_ns", queue.last_stop_ns},
            {"max_stop_ns", queue.max_stop_ns},
            {"last_start_ns", queue.last_start_ns}};
}

Json json_of(const wire::Ring& ring) {
    return {{"queue", ring.kfd_queue_id},
            {"generation", ring.generation},
            {"packets", ring.packets},
            {"in_vram", (ring.flags & wire::ring_in_vram) != 0},
            {"seen", (ring.flags & wire::ring_seen) != 0},
            {"in_hip_call", (ring.flags & wire::ring_hip_call) != 0},
            {"blind", (ring.flags & wire::ring_blind) != 0}};
}

Json json_of(const wire::Holder& holder) {
    return {{"object", word_of(wire::Object{holder.object})},
            {"name", or_null(shown(holder.name))},
            {"handle", hex(holder.handle)},
            {"pid", holder.pid},
            {"uid", holder.uid},
            {"kept", (holder.flags & wire::holder_kept) != 0}};
}

template <typename Item> Json list_of(const std::vector<Item>& items) {
    Json list = Json::array();
    for (const Item& item : items)
        list.push_back(json_of(item));
    return list;
}

} // namespace

Json json_of(const control::Answer& answer) {
    Json json;
    json["library"] = answer.process ? Json(shown(answer.process->library_version)) : Json(nullptr);
    json["streams"] = list_of(answer.streams);
    json["xqueues"] = list_of(answer.xqueues);
    json["queues"] = list_of(answer.queues);
    json["rings"] = list_of(answer.rings);
    json["holders"] = list_of(answer.holders);
    return json;
}

Report switch_objects(const Context& context, const ObjectSelection& selection,
                      const ObjectSwitch& how) {
    const Target target = target_of(context, selection.pid);
    auto connected = connect_socket(context, target);
    if (!connected)
        return report_of(connected.error());
    const std::shared_ptr<control::Connection> connection = std::move(*connected);
    Report report;
    report.json["pid"] = target.pid;
    report.json["comm"] = target.comm_json();
    Json objects = Json::array();
    const std::uint32_t flags =
        how.suspend ? (how.attach ? 0 : wire::keep) | (how.allow_shared ? wire::allow_shared : 0)
                    : (how.force ? wire::force : 0);
    for (const std::string& word : selection.words) {
        const wire::Target wanted = target_of_word(selection.object, word, flags);
        connection->ask(how.suspend ? wire::Kind::suspend : wire::Kind::resume, &wanted);
        control::Connection* const one[] = {connection.get()};
        control::Connection::await(one, control::Connection::Clock::now() + switch_patience);
        const std::string thing =
            fmt::format("{} {} of {}", word_of(selection.object), printable(word), target.name());
        if (const auto& failure = connection->failure(); failure) {
            report.exit = exit_of(failure->error);
            report.messages.push_back(fmt::format("{}: {}", thing, printable(failure->text)));
            break;
        }
        const control::Answer& answer = connection->answer();
        if (answer.done.error != 0 || !answer.outcome) {
            const int reason = answer.done.error;
            std::string hint;
            if (reason == ENOENT || reason == ENOTUNIQ)
                hint = fmt::format(": `kfd-preempt status {} {}` shows those there are", target.pid,
                                   word_of(selection.object));
            else if (reason == EBUSY && how.suspend)
                hint = ": --shared stops its neighbours as well";
            report.exit = std::max(report.exit, reason == 0 ? Exit::failed : exit_of(reason));
            report.messages.push_back(
                fmt::format("{}: {}{}", thing, shown(answer.done.text), hint));
            objects.push_back({{"object", word_of(selection.object)},
                               {"word", printable(word)},
                               {"errno", errno_name(reason)},
                               {"message", report.messages.back()}});
            continue;
        }
        report.text += fmt::format("{}: {}\n", thing, outcome_text(*answer.outcome, how));
        objects.push_back(json_of_outcome(*answer.outcome));
    }
    report.json["objects"] = std::move(objects);
    if (how.attach && report.exit == Exit::ok)
        report.attached = {connection, connection->fd()};
    return report;
}

Report status_of_objects(const Context& context, const ObjectSelection& selection) {
    const std::vector<SocketView> views =
        ask_sockets(context, {target_of(context, selection.pid)}, socket_patience);
    const SocketView& view = views.front();
    if (!view.answer)
        // NOLINTNEXTLINE(bugprone-unchecked-optional-access): set unless there is an answer
        return report_of(*view.failure);
    Report report;
    control::Answer shown_ones;
    shown_ones.process = view.answer->process;
    shown_ones.queues = view.answer->queues;
    const auto keep = [&](const auto& from, auto& to) {
        for (const auto& record : from) {
            const bool named = std::ranges::any_of(selection.words, [&](const std::string& word) {
                return word == wire::text_of(record.name) || word == hex(record.handle);
            });
            if (selection.words.empty() || named)
                to.push_back(record);
        }
    };
    if (selection.object == wire::Object::stream)
        keep(view.answer->streams, shown_ones.streams);
    else
        keep(view.answer->xqueues, shown_ones.xqueues);
    for (const wire::Holder& holder : view.answer->holders)
        if (wire::Object{holder.object} == selection.object)
            shown_ones.holders.push_back(holder);
    const bool none = shown_ones.streams.empty() && shown_ones.xqueues.empty();
    if (none && !selection.words.empty())
        return report_of(
            {Exit::failed, ENOENT,
             fmt::format("{}: has no {} of that name or handle: `kfd-preempt status {} "
                         "{}` shows those there are",
                         view.target.name(), word_of(selection.object), view.target.pid,
                         word_of(selection.object))});
    StreamTables tables;
    tables.add(view.target, shown_ones);
    report.text =
        none ? fmt::format("{}: has no {}\n", view.target.name(), word_of(selection.object))
             : tables.text().substr(1);
    report.json["pid"] = view.target.pid;
    report.json["comm"] = view.target.comm_json();
    report.json["control"] = json_of(shown_ones);
    return report;
}

} // namespace cli
