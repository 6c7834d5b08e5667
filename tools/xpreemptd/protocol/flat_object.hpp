// SPDX-License-Identifier: MIT
// A JSON object without objects or arrays in it, read from bytes of a stranger.
#pragma once

#include "protocol/control.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace xpreemptd {

class FlatObject {
public:
    using Value =
        std::variant<std::nullptr_t, bool, std::int64_t, std::uint64_t, double, std::string>;
    using Member = std::pair<std::string, Value>;

    // EBADMSG: not JSON, or not UTF-8. EINVAL: not one object, a key twice, a nested value; the
    // text names the key. Nesting needs no memory: the first nested value ends the parse.
    [[nodiscard]] static Answer<FlatObject> parse(std::string_view text);

    [[nodiscard]] const Value* find(std::string_view key) const;
    [[nodiscard]] const std::vector<Member>& members() const { return members_; }

private:
    std::vector<Member> members_;
};

// "true", "a string": what a refusal calls a value of the wrong type; numbers as they are.
[[nodiscard]] std::string description_of(const FlatObject::Value& value);

// In single quotes, and cut: a stranger's text doesn't fill a reply.
[[nodiscard]] std::string shown(std::string_view text);

} // namespace xpreemptd
