// SPDX-License-Identifier: MIT
// Checks each key of a request before the daemon sees it.
#include "protocol/requests.hpp"

#include "protocol/flat_object.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

namespace xpreemptd {

namespace {

using std::chrono::microseconds;

constexpr std::size_t max_name_bytes = PATH_MAX; // of a cgroup

tl::unexpected<Refusal> refuse(std::string text, int error = EINVAL) {
    return tl::make_unexpected(Refusal{error, std::move(text)});
}

Answer<std::optional<std::uint64_t>> number_of(const FlatObject& object, const char* key,
                                               std::uint64_t least, std::uint64_t most) {
    const FlatObject::Value* value = object.find(key);
    if (value == nullptr)
        return std::nullopt;
    const auto* number = std::get_if<std::uint64_t>(value);
    if (number == nullptr || *number < least || *number > most)
        return refuse(fmt::format("'{}' is {}, expected a whole number from {} to {}", key,
                                  description_of(*value), least, most));
    return *number;
}

Answer<std::optional<std::int32_t>> signed_of(const FlatObject& object, const char* key,
                                              std::int32_t least, std::int32_t most) {
    const FlatObject::Value* value = object.find(key);
    if (value == nullptr)
        return std::nullopt;
    // FlatObject stores a number that isn't negative as unsigned.
    const auto* negative = std::get_if<std::int64_t>(value);
    const auto* number = std::get_if<std::uint64_t>(value);
    if (negative != nullptr ? *negative < least
                            : number == nullptr || *number > static_cast<std::uint64_t>(most))
        return refuse(fmt::format("'{}' is {}, expected a whole number from {} to {}", key,
                                  description_of(*value), least, most));
    return static_cast<std::int32_t>(negative != nullptr ? *negative
                                                         : static_cast<std::int64_t>(*number));
}

Answer<std::optional<std::string>> string_of(const FlatObject& object, const char* key,
                                             std::size_t most) {
    const FlatObject::Value* value = object.find(key);
    if (value == nullptr)
        return std::nullopt;
    const auto* text = std::get_if<std::string>(value);
    if (text == nullptr || text->empty() || text->size() > most)
        return refuse(fmt::format("'{}' is {}, expected a string of 1 to {} bytes", key,
                                  description_of(*value), most));
    return *text;
}

Answer<std::optional<sched::Band>> band_of(const FlatObject& object) {
    const auto name = string_of(object, "band", max_name_bytes);
    if (!name)
        return tl::make_unexpected(name.error());
    if (!*name)
        return std::nullopt;
    const auto band = band_named(**name);
    if (!band)
        return refuse(fmt::format("'band' is {}, expected one of realtime, high, normal, idle",
                                  shown(**name)));
    return band;
}

Answer<std::optional<microseconds>> time_of(const FlatObject& object, const char* key) {
    const auto time = number_of(object, key, 1, max_deadline.count());
    if (!time)
        return tl::make_unexpected(time.error());
    if (!*time)
        return std::nullopt;
    return microseconds(static_cast<microseconds::rep>(**time));
}

// The value of an attribute, by its kind.
Answer<std::optional<sched::Band>> value_of(const FlatObject& object,
                                            const Attribute<attribute::Bands>& /*each*/) {
    return band_of(object);
}

Answer<std::optional<std::uint32_t>> value_of(const FlatObject& object,
                                              const Attribute<attribute::Count>& each) {
    const auto number = number_of(object, each.key, each.least, each.most);
    if (!number)
        return tl::make_unexpected(number.error());
    return *number ? std::optional(static_cast<std::uint32_t>(**number)) : std::nullopt;
}

Answer<std::optional<std::int32_t>> value_of(const FlatObject& object,
                                             const Attribute<attribute::Signed>& each) {
    return signed_of(object, each.key, each.least, each.most);
}

Answer<std::optional<microseconds>> value_of(const FlatObject& object,
                                             const Attribute<attribute::Time>& each) {
    return time_of(object, each.key);
}

Answer<AttributeChange> change_of(const FlatObject& object) {
    AttributeChange change;
    std::optional<Refusal> wrong;
    for_each_attribute([&](const auto& each) {
        if (wrong)
            return;
        if (const auto value = value_of(object, each))
            change.*each.change = *value;
        else
            wrong = value.error();
    });
    if (wrong)
        return tl::make_unexpected(std::move(*wrong));
    return change;
}

Answer<Request> parse_jobs(const FlatObject& object) {
    const auto from = number_of(object, "from", 0, UINT64_MAX);
    if (!from)
        return tl::make_unexpected(from.error());
    return JobsRequest{from->value_or(0)};
}

Answer<Request> parse_status(const FlatObject& /*object*/) {
    return StatusRequest{};
}

Answer<Request> parse_trace(const FlatObject& object) {
    const auto from = number_of(object, "from", 0, UINT64_MAX);
    if (!from)
        return tl::make_unexpected(from.error());
    return TraceRequest{*from};
}

Answer<Request> parse_adopt(const FlatObject& object) {
    const Answer<AttributeChange> change = change_of(object);
    if (!change)
        return tl::make_unexpected(change.error());
    return AdoptRequest{*change};
}

Answer<Request> parse_set(const FlatObject& object) {
    const auto pid = number_of(object, "pid", 1, INT_MAX);
    if (!pid)
        return tl::make_unexpected(pid.error());
    const auto name = string_of(object, "job", max_name_bytes);
    if (!name)
        return tl::make_unexpected(name.error());
    if (pid->has_value() == name->has_value())
        return refuse(*pid ? "'pid' and 'job' are both given, expected one of them"
                           : "'pid' or 'job' is missing");
    const Answer<AttributeChange> change = change_of(object);
    if (!change)
        return tl::make_unexpected(change.error());
    if (*change == AttributeChange{})
        return refuse(
            fmt::format("nothing to set: {} is missing", one_of(attribute_keys(), "'", "'")));
    if (*pid)
        return SetRequest{static_cast<pid_t>(**pid), *change};
    return SetRequest{**name, *change};
}

Answer<Request> parse_policy(const FlatObject& object) {
    constexpr std::size_t max_policy_bytes = 64;
    const auto name = string_of(object, "name", max_policy_bytes);
    if (!name)
        return tl::make_unexpected(name.error());
    if (!*name)
        return refuse("'name' is missing");
    return PolicyRequest{**name};
}

Answer<Request> parse_focus(const FlatObject& object) {
    const FlatObject::Value* value = object.find("pid");
    if (value == nullptr)
        return refuse("'pid' is missing");
    if (std::holds_alternative<std::nullptr_t>(*value))
        return FocusRequest{};
    const auto pid = number_of(object, "pid", 1, INT_MAX);
    if (!pid)
        return tl::make_unexpected(pid.error());
    return FocusRequest{static_cast<pid_t>(**pid)};
}

template <typename Type, typename Value>
Answer<Request> hint_of(const Answer<std::optional<Value>>& value) {
    if (!value)
        return tl::make_unexpected(value.error());
    return HintRequest{Type{*value}};
}

Answer<Request> parse_begin(const FlatObject& object) {
    return hint_of<BeginHint>(time_of(object, "deadline_us"));
}

Answer<Request> parse_end(const FlatObject& /*object*/) {
    return HintRequest{EndHint{}};
}

Answer<Request> parse_soon(const FlatObject& object) {
    const auto within = number_of(object, "us", 1, max_soon.count());
    if (!within)
        return tl::make_unexpected(within.error());
    if (!*within)
        return refuse("'us' is missing");
    return HintRequest{SoonHint{microseconds(static_cast<microseconds::rep>(**within))}};
}

Answer<Request> parse_attributes(const FlatObject& object) {
    const Answer<AttributeChange> change = change_of(object);
    if (!change)
        return tl::make_unexpected(change.error());
    return HintRequest{AttributesHint{*change}};
}

struct HintKind {
    std::string_view name, key; // an empty key is none
    Answer<Request> (*parse)(const FlatObject&);
    bool has_attributes = false; // those without a kind of their own
};
constexpr std::array hint_kinds{
    HintKind{"begin", "deadline_us", parse_begin},
    HintKind{"end", "", parse_end},
    HintKind{"soon", "us", parse_soon},
    HintKind{"band", "band",
             [](const FlatObject& object) { return hint_of<BandHint>(band_of(object)); }},
    HintKind{"priority", "priority",
             [](const FlatObject& object) {
                 return hint_of<PriorityHint>(
                     signed_of(object, "priority", sched::min_priority, sched::max_priority));
             }},
    HintKind{"attributes", "", parse_attributes, true},
};

bool is_key_of(const HintKind& kind, const std::string& key) {
    if (key == "do" || key == "is" || key == kind.key)
        return true;
    const auto attributes = attribute_keys();
    return kind.has_attributes && key != "band" && key != "priority" &&
           std::ranges::find(attributes, key) != attributes.end();
}

Answer<Request> parse_hint(const FlatObject& object) {
    const auto name = string_of(object, "is", max_name_bytes);
    if (!name)
        return tl::make_unexpected(name.error());
    if (!*name)
        return refuse("'is' is missing");
    const auto kind = std::ranges::find(hint_kinds, **name, &HintKind::name);
    if (kind == hint_kinds.end())
        return refuse(fmt::format("'is' is {}, expected one of begin, end, soon, band, priority, "
                                  "attributes",
                                  shown(**name)),
                      EOPNOTSUPP);
    for (const auto& [key, value] : object.members())
        if (!is_key_of(*kind, key))
            return refuse(fmt::format("{} is no key of hint '{}'", shown(key), **name));
    return kind->parse(object);
}

struct Kind {
    std::string_view name;
    std::array<std::string_view, 6> keys; // empty ones are none
    Answer<Request> (*parse)(const FlatObject&);
    bool has_attributes = false;
};
constexpr std::array kinds{
    Kind{"jobs", {"do", "from"}, parse_jobs},
    Kind{"status", {"do"}, parse_status},
    Kind{"trace", {"do", "from"}, parse_trace},
    Kind{"adopt", {"do"}, parse_adopt, true},
    Kind{"set", {"do", "pid", "job"}, parse_set, true},
    Kind{"policy", {"do", "name"}, parse_policy},
    Kind{"focus", {"do", "pid"}, parse_focus},
    Kind{"hint", {"do", "is", "us"}, parse_hint, true},
};

std::vector<std::string> keys_of(const Kind& kind) {
    std::vector<std::string> keys(kind.keys.begin(),
                                  std::ranges::find(kind.keys, std::string_view{}));
    if (kind.has_attributes)
        std::ranges::move(attribute_keys(), std::back_inserter(keys));
    return keys;
}

nlohmann::json json_of(sched::Band band) {
    return name_of(band);
}

template <typename Number> nlohmann::json json_of(Number number) {
    return number;
}

nlohmann::json json_of(microseconds time) {
    return time.count();
}

void add(nlohmann::json& json, const AttributeChange& change) {
    for_each_attribute([&](const auto& each) {
        if (const auto& value = change.*each.change)
            json[each.key] = json_of(*value);
    });
}

struct HintToJson {
    static nlohmann::json hint(std::string_view kind) { return {{"do", "hint"}, {"is", kind}}; }
    nlohmann::json operator()(const BeginHint& begin) const {
        nlohmann::json json = hint("begin");
        if (begin.deadline)
            json["deadline_us"] = begin.deadline->count();
        return json;
    }
    nlohmann::json operator()(const EndHint& /*end*/) const { return hint("end"); }
    nlohmann::json operator()(const SoonHint& soon) const {
        nlohmann::json json = hint("soon");
        json["us"] = soon.within.count();
        return json;
    }
    nlohmann::json operator()(const BandHint& band) const {
        nlohmann::json json = hint("band");
        if (band.band)
            json["band"] = name_of(*band.band);
        return json;
    }
    nlohmann::json operator()(const PriorityHint& priority) const {
        nlohmann::json json = hint("priority");
        if (priority.priority)
            json["priority"] = *priority.priority;
        return json;
    }
    nlohmann::json operator()(const AttributesHint& attributes) const {
        nlohmann::json json = hint("attributes");
        add(json, attributes.change);
        return json;
    }
};

struct ToJson {
    nlohmann::json operator()(const JobsRequest& request) const {
        return {{"do", "jobs"}, {"from", request.from}};
    }
    nlohmann::json operator()(const StatusRequest& /*request*/) const { return {{"do", "status"}}; }
    nlohmann::json operator()(const TraceRequest& request) const {
        nlohmann::json json{{"do", "trace"}};
        if (request.from)
            json["from"] = *request.from;
        return json;
    }
    nlohmann::json operator()(const AdoptRequest& request) const {
        nlohmann::json json{{"do", "adopt"}};
        add(json, request.change);
        return json;
    }
    nlohmann::json operator()(const SetRequest& request) const {
        nlohmann::json json{{"do", "set"}};
        if (const auto* pid = std::get_if<pid_t>(&request.job))
            json["pid"] = *pid;
        else
            json["job"] = std::get<std::string>(request.job);
        add(json, request.change);
        return json;
    }
    nlohmann::json operator()(const PolicyRequest& request) const {
        return {{"do", "policy"}, {"name", request.name}};
    }
    nlohmann::json operator()(const FocusRequest& request) const {
        return {{"do", "focus"},
                {"pid", request.pid ? nlohmann::json(*request.pid) : nlohmann::json(nullptr)}};
    }
    nlohmann::json operator()(const HintRequest& request) const {
        return std::visit(HintToJson{}, request.hint);
    }
};

} // namespace

Answer<Request> parse_request(std::string_view message) {
    const Answer<FlatObject> object = FlatObject::parse(message);
    if (!object)
        return tl::make_unexpected(object.error());
    const auto name = string_of(*object, "do", max_name_bytes);
    if (!name)
        return tl::make_unexpected(name.error());
    if (!*name)
        return refuse("'do' is missing");
    const auto kind = std::ranges::find(kinds, **name, &Kind::name);
    if (kind == kinds.end())
        return refuse(fmt::format("'do' is {}, expected one of jobs, status, trace, adopt, set, "
                                  "policy, focus, hint",
                                  shown(**name)),
                      EOPNOTSUPP);
    const auto keys = keys_of(*kind);
    for (const auto& [key, value] : object->members())
        if (std::ranges::find(keys, key) == keys.end())
            return refuse(fmt::format("{} is no key of '{}', which has {}", shown(key), **name,
                                      fmt::join(keys, ", ")));
    return kind->parse(*object);
}

std::string text_of(const Request& request) {
    // `replace`: a name on the command line may be no UTF-8, and then no job has it.
    return std::visit(ToJson{}, request)
        .dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

} // namespace xpreemptd
