// SPDX-License-Identifier: MIT
// Checks JSON against the keywords of JSON Schema that our schemas use; another keyword throws.
#pragma once

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>

namespace test {

class JsonSchema {
public:
    explicit JsonSchema(nlohmann::json schema) : schema_(std::move(schema)) {}

    // The first thing that is wrong, or empty.
    template <typename Json> [[nodiscard]] std::string error_of(const Json& value) const {
        return check(schema_, nlohmann::json(value), "report");
    }

private:
    static bool has_type(const std::string& type, const nlohmann::json& value) {
        return type == "null"      ? value.is_null()
               : type == "boolean" ? value.is_boolean()
               : type == "integer" ? value.is_number_integer()
               : type == "number"  ? value.is_number()
               : type == "string"  ? value.is_string()
               : type == "array"   ? value.is_array()
               : type == "object"  ? value.is_object()
                                   : throw std::invalid_argument(type);
    }

    static void check_keywords(const nlohmann::json& schema) {
        static const std::set<std::string> known{
            "$schema", "$id",      "title",      "description",          "$ref",  "$defs",   "type",
            "enum",    "required", "properties", "additionalProperties", "items", "minItems"};
        for (const auto& [key, value] : schema.items())
            if (!known.contains(key))
                throw std::invalid_argument(key);
    }

    [[nodiscard]] std::string check(const nlohmann::json& schema, const nlohmann::json& value,
                                    const std::string& where) const {
        check_keywords(schema);
        if (schema.contains("$ref")) {
            const std::string name = schema["$ref"];
            return check(schema_.at(nlohmann::json::json_pointer(name.substr(1))), value, where);
        }
        if (schema.contains("type")) {
            const nlohmann::json& type = schema["type"];
            const auto fits = [&](const nlohmann::json& one) { return has_type(one, value); };
            if (type.is_string() ? !fits(type) : std::none_of(type.begin(), type.end(), fits))
                return where + " is no " + type.dump();
        }
        if (schema.contains("enum") &&
            std::find(schema["enum"].begin(), schema["enum"].end(), value) == schema["enum"].end())
            return where + " is " + value.dump();
        if (value.is_array() && value.size() < schema.value("minItems", std::size_t{0}))
            return where + " has too few items";
        if (value.is_array() && schema.contains("items"))
            for (const nlohmann::json& item : value)
                if (std::string error = check(schema["items"], item, where + "[]"); !error.empty())
                    return error;
        return value.is_object() ? check_object(schema, value, where) : "";
    }

    [[nodiscard]] std::string check_object(const nlohmann::json& schema,
                                           const nlohmann::json& value,
                                           const std::string& where) const {
        for (const std::string key : schema.value("required", nlohmann::json::array()))
            if (!value.contains(key))
                return std::string(where).append(" has no ").append(key);
        const nlohmann::json properties = schema.value("properties", nlohmann::json::object());
        for (const auto& [key, member] : value.items()) {
            if (properties.contains(key)) {
                if (std::string error =
                        check(properties[key], member, std::string(where).append(".").append(key));
                    !error.empty())
                    return error;
            } else if (!schema.value("additionalProperties", true)) {
                return std::string(where).append(" has the unknown key ").append(key);
            }
        }
        return "";
    }

    nlohmann::json schema_;
};

} // namespace test
