// SPDX-License-Identifier: MIT
// The callbacks of nlohmann's parser, which reports errors to them instead of throwing.
#include "protocol/flat_object.hpp"

#include <algorithm>
#include <cerrno>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <optional>

namespace xpreemptd {

namespace {

constexpr std::size_t max_quoted_bytes = 64;

class Events {
public:
    using Json = nlohmann::json;

    bool null() { return value(nullptr); }
    bool boolean(bool is) { return value(is); }
    bool number_integer(Json::number_integer_t number) {
        // "-0" is no negative number, but the parser passes it as one.
        return number == 0 ? number_unsigned(0) : value(number);
    }
    bool number_unsigned(Json::number_unsigned_t number) { return value(number); }
    bool number_float(Json::number_float_t number, const std::string& /*text*/) {
        return value(number);
    }
    bool string(std::string& text) { return value(std::move(text)); }
    bool binary(Json::binary_t& /*bytes*/) { return refuse(EBADMSG, "binary data"); }
    bool start_array(std::size_t /*size*/) { return nested("an array"); }
    bool end_array() { return true; }
    bool end_object() { return true; }

    bool start_object(std::size_t /*size*/) {
        if (inside_)
            return nested("an object");
        inside_ = true;
        return true;
    }

    bool key(std::string& name) {
        if (std::ranges::find(members, name, &FlatObject::Member::first) != members.end())
            return refuse(EINVAL, fmt::format("{} is given twice", shown(name)));
        // The work above grows with the square of the number of keys.
        if (members.size() == max_keys)
            return refuse(EINVAL, fmt::format("more than {} keys", max_keys));
        members.emplace_back(std::move(name), nullptr);
        return true;
    }

    bool parse_error(std::size_t position, const std::string& /*token*/,
                     const nlohmann::detail::exception& /*error*/) {
        return refuse(EBADMSG, fmt::format("byte {} of the message: not JSON in UTF-8", position));
    }

    std::vector<FlatObject::Member> members;
    std::optional<Refusal> refusal;

private:
    static constexpr std::size_t max_keys = 32;

    bool value(FlatObject::Value is) {
        if (!inside_)
            return refuse(EINVAL, "the message must be one JSON object");
        members.back().second = std::move(is);
        return true;
    }

    bool nested(const char* what) {
        return inside_ ? refuse(EINVAL, fmt::format("{} is {}, expected a single value",
                                                    shown(members.back().first), what))
                       : refuse(EINVAL, "the message must be one JSON object");
    }

    bool refuse(int error, std::string text) {
        refusal = Refusal{error, std::move(text)};
        return false;
    }

    bool inside_ = false;
};

struct Describe {
    std::string operator()(std::nullptr_t) const { return "null"; }
    std::string operator()(bool is) const { return is ? "true" : "false"; }
    std::string operator()(std::int64_t number) const { return fmt::to_string(number); }
    std::string operator()(std::uint64_t number) const { return fmt::to_string(number); }
    std::string operator()(double number) const { return fmt::to_string(number); }
    std::string operator()(const std::string& text) const { return shown(text); }
};

} // namespace

Answer<FlatObject> FlatObject::parse(std::string_view text) {
    // The parser takes a NUL for the end, whatever follows.
    if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos)
        return tl::make_unexpected(
            Refusal{EBADMSG, fmt::format("byte {} of the message: not JSON in UTF-8", nul + 1)});
    Events events;
    const bool whole = nlohmann::json::sax_parse(text, &events);
    if (events.refusal)
        return tl::make_unexpected(*events.refusal);
    if (!whole)
        return tl::make_unexpected(Refusal{EBADMSG, "the message is not JSON"});
    FlatObject object;
    object.members_ = std::move(events.members);
    return object;
}

const FlatObject::Value* FlatObject::find(std::string_view key) const {
    const auto found = std::ranges::find(members_, key, &Member::first);
    return found == members_.end() ? nullptr : &found->second;
}

std::string description_of(const FlatObject::Value& value) {
    return std::visit(Describe{}, value);
}

std::string shown(std::string_view text) {
    if (text.size() <= max_quoted_bytes)
        return fmt::format("'{}'", text);
    // Between two characters: bytes 10xxxxxx continue one.
    std::size_t end = max_quoted_bytes;
    while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0U) == 0x80)
        --end;
    return fmt::format("'{}...'", text.substr(0, end));
}

} // namespace xpreemptd
