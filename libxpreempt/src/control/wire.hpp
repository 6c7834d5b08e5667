// SPDX-License-Identifier: MIT
// The control socket's protocol: frames, records, and their decoding, which touches nothing else.
//
// A frame is a Header and what its kind says. Each request is answered by any number of frames with
// records and one `done`, all with the tag of the request. Host byte order: the socket is local.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace xpreempt::control::wire {

constexpr std::uint16_t version = 1;
constexpr std::size_t max_request_bytes = 512;
constexpr std::size_t max_reply_bytes = 65536; // of one frame
constexpr std::size_t name_bytes = 64;
constexpr std::size_t text_bytes = 192;

enum class Kind : std::uint16_t {
    list = 1,     // request without payload
    suspend = 2,  // request with a Target
    resume = 3,   // the same
    process = 16, // Records of the struct of that name, as all below but `done`
    queues = 17,
    streams = 18,
    xqueues = 19,
    holders = 20,
    outcome = 21, // what a suspend or resume did
    rings = 22,
    done = 32, // ends every answer
};

// NOLINTNEXTLINE(performance-enum-size): part of records
enum class Object : std::uint32_t { stream = 1, xqueue = 2 };

// flags of a Target
constexpr std::uint32_t keep = 1;         // suspend: survives the connection
constexpr std::uint32_t allow_shared = 2; // suspend: other streams of the queue may stop too
constexpr std::uint32_t exact = 4;        // suspend: fail when the highest level is out of reach
constexpr std::uint32_t force = 8;        // resume: drop the holds of all connections
constexpr std::uint32_t suspend_flags = keep | allow_shared | exact;
constexpr std::uint32_t resume_flags = force;

struct Header {
    std::uint32_t bytes; // of the frame, this header included
    std::uint16_t version;
    std::uint16_t kind;
    std::uint32_t tag; // chosen by who asks
    std::uint32_t reserved;
};

struct Target {
    std::uint32_t object;
    std::uint32_t flags;
    std::uint64_t handle;  // when name is empty
    char name[name_bytes]; // ends with NUL
};

// Payload of every frame with records. They may be longer than the reader knows, never shorter.
struct Records {
    std::uint32_t record_bytes;
    std::uint32_t count;
};

struct Process {
    std::uint32_t pid; // in the pid namespace of that process
    std::uint32_t transport;
    std::uint32_t flags; // process_* below
    std::uint32_t reserved;
    char library_version[16];
    char reason[text_bytes]; // why not a better transport
};
constexpr std::uint32_t process_hook = 1;      // libxpreempt-hook.so is loaded
constexpr std::uint32_t process_read_only = 2; // suspend and resume are refused

struct Queue {
    std::uint32_t kfd_queue_id;
    std::uint32_t generation;
    std::uint32_t gpu_id;
    std::uint32_t queue_type; // KFD_IOC_QUEUE_TYPE_*
    std::uint32_t num_streams;
    std::uint32_t holds; // of the library, all owners together
    std::uint64_t save_area_bytes;
    std::uint64_t stops; // by the library
    std::uint64_t last_stop_ns;
    std::uint64_t max_stop_ns;
    std::uint64_t last_start_ns;
};

// A queue's ring as the hook knows it; a kind of its own, so that older readers skip it.
struct Ring {
    std::uint32_t kfd_queue_id;
    std::uint32_t generation;
    std::uint64_t packets; // ever reserved; 0 if it is no AQL queue
    std::uint32_t flags;   // ring_* below
    std::uint32_t reserved;
};
constexpr std::uint32_t ring_in_vram = 1;
constexpr std::uint32_t ring_seen = 2;     // the hook saw a packet come
constexpr std::uint32_t ring_hip_call = 4; // and that inside a HIP call
constexpr std::uint32_t ring_blind = 8;    // packets came, none was seen
constexpr std::uint32_t ring_rocrs = 16;   // ROCr made the queue for itself

struct Stream {
    std::uint64_t handle; // hipStream_t
    std::uint32_t kfd_queue_id;
    std::uint32_t generation; // 0: no packet was seen, and the fields of the queue are 0
    std::uint32_t gpu_id;
    std::uint32_t num_sharing; // streams of that queue, this one included
    std::uint32_t level;       // that a suspend would reach now
    std::uint32_t queue_holds;
    std::uint32_t control_holds; // taken through the socket
    std::uint32_t reserved;
    char name[name_bytes];
    char reason[text_bytes]; // why not a higher level
};

struct Xqueue {
    std::uint64_t handle;
    std::uint64_t stream;
    std::uint32_t suspends;
    std::uint32_t held_level;
    std::uint32_t best_level;
    std::uint32_t control_holds;
    std::uint64_t pending;
    std::uint64_t in_flight;
    std::uint64_t submitted;
    std::uint64_t launched;
    std::uint64_t completed;
    std::uint64_t dropped;
    std::uint64_t suspends_done[3]; // by level
    std::uint64_t resumes;
    std::uint64_t hw_failures;
    std::uint64_t last_suspend_ns;
    std::uint64_t max_suspend_ns;
    std::uint64_t last_resume_ns;
    char name[name_bytes];
    char reason[text_bytes];
};

struct Holder {
    std::uint32_t object;
    std::uint32_t flags; // holder_* below
    std::uint64_t handle;
    std::uint32_t pid; // in the pid namespace of the process; 0: not visible there
    std::uint32_t uid;
    char name[name_bytes];
};
constexpr std::uint32_t holder_kept = 1; // survives its connection

struct Outcome {
    std::uint32_t object;
    std::uint32_t already; // was suspended (or not) by this holder before: nothing was done
    std::uint64_t handle;
    std::uint32_t level;     // of a suspend
    std::uint32_t left;      // holds on it after that, whoever's
    std::uint32_t left_here; // of these, through the socket
    std::uint32_t reserved;
    std::uint64_t ns; // time that the library took
    char name[name_bytes];
};

struct Done {
    std::int32_t error; // 0 or a positive errno
    std::uint32_t reserved;
    char text[text_bytes]; // names what is wrong, or ""
};

using Bytes = std::span<const std::byte>;

struct Frame {
    Header header;
    Bytes payload;
};
struct Incomplete {};
struct Refused {
    int error;
    std::string text;
};
// The connection is of no use after it: where the next frame begins isn't known.
using Broken = Refused;
using Parsed = std::variant<Incomplete, Frame, Broken>;

// The first frame of what has been received; it takes header.bytes of it.
Parsed parse_frame(Bytes received, std::size_t max_bytes);

template <typename T> using Answer = tl::expected<T, Refused>;
inline tl::unexpected<Refused> refuse(int error, std::string text) {
    return tl::make_unexpected(Refused{error, std::move(text)});
}
struct Request {
    Kind kind;
    std::uint32_t tag;
    Target target; // of suspend and resume
};
Answer<Request> parse_request(const Frame& frame);

// A text in a record: ends at NUL, or at the end of its array.
template <std::size_t Length> std::string_view text_of(const char (&text)[Length]) {
    return {text, strnlen(text, Length)};
}
template <std::size_t Length> void put_text(char (&to)[Length], std::string_view from) {
    std::memset(to, 0, Length);
    from.copy(to, Length - 1);
}

std::vector<std::byte> frame(Kind kind, std::uint32_t tag, Bytes payload);
std::vector<std::byte> done_frame(std::uint32_t tag, int error, std::string_view text);

// As many frames as the records need; none for no records.
template <std::ranges::contiguous_range Range>
void append_records(std::vector<std::byte>& to, Kind kind, std::uint32_t tag, const Range& range) {
    using Record = std::ranges::range_value_t<Range>;
    const std::span<const Record> records(range);
    static_assert(std::has_unique_object_representations_v<Record>, "no byte may leak");
    constexpr std::size_t most =
        (max_reply_bytes - sizeof(Header) - sizeof(Records)) / sizeof(Record);
    for (std::size_t first = 0; first < records.size(); first += most) {
        const auto part = records.subspan(first, std::min(most, records.size() - first));
        const Records head{sizeof(Record), static_cast<std::uint32_t>(part.size())};
        std::vector<std::byte> payload(sizeof head + part.size_bytes());
        std::memcpy(payload.data(), &head, sizeof head);
        std::memcpy(payload.data() + sizeof head, part.data(), part.size_bytes());
        const auto whole = frame(kind, tag, payload);
        to.insert(to.end(), whole.begin(), whole.end());
    }
}

// Returns the record that the bytes begin with, or nullopt if there are too few.
template <typename Record> std::optional<Record> parse(Bytes bytes) {
    Record record{};
    if (bytes.size() < sizeof record)
        return std::nullopt;
    std::memcpy(&record, bytes.data(), sizeof record);
    return record;
}

// none: the payload isn't what it says.
template <typename Record> std::optional<std::vector<Record>> parse_records(Bytes payload) {
    const auto head = parse<Records>(payload);
    if (!head)
        return std::nullopt;
    const Bytes data = payload.subspan(sizeof *head);
    if (head->record_bytes < sizeof(Record) || data.size() / head->record_bytes < head->count ||
        data.size() != std::size_t{head->record_bytes} * head->count)
        return std::nullopt;
    std::vector<Record> records(head->count);
    for (std::size_t i = 0; i < records.size(); ++i)
        std::memcpy(&records[i], data.data() + i * head->record_bytes, sizeof(Record));
    return records;
}

} // namespace xpreempt::control::wire
