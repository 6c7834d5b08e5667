// SPDX-License-Identifier: MIT
#include "tests/isa/vector_judge.hpp"

#include <cmath>

namespace vgpu::test {

namespace {

struct Format {
    unsigned bits;
    unsigned mantissa;

    u64 mask() const { return bits == 64 ? ~u64{0} : (u64{1} << bits) - 1; }
    u64 sign() const { return u64{1} << (bits - 1); }
    u64 infinity() const { return (sign() - 1) >> mantissa << mantissa; }
    bool is_nan(u64 value) const { return (value & ~sign()) > infinity(); }
    bool is_zero(u64 value) const { return (value & ~sign()) == 0; }
    double value(u64 bits_of_it) const {
        const auto field = static_cast<int>((bits_of_it & infinity()) >> mantissa);
        const double fraction =
            std::ldexp(static_cast<double>(bits_of_it & ((u64{1} << mantissa) - 1)),
                       -static_cast<int>(mantissa));
        const int bias = static_cast<int>(infinity() >> (mantissa + 1));
        const double size =
            field == 0 ? std::ldexp(fraction, 1 - bias) : std::ldexp(1 + fraction, field - bias);
        return (bits_of_it & sign()) != 0 ? -size : size;
    }
    // Distance on the line of all numbers, which has no gap at zero.
    u64 distance(u64 a, u64 b) const {
        const auto line = [this](u64 value) {
            return (value & sign()) != 0 ? sign() - (value & ~sign()) : sign() + value;
        };
        const u64 left = line(a);
        const u64 right = line(b);
        return left > right ? left - right : right - left;
    }
};

constexpr Format format_of(unsigned bits) {
    return bits == 16 ? Format{16, 10} : bits == 32 ? Format{32, 23} : Format{64, 52};
}

bool has(const std::string& text, std::string_view part) {
    return text.find(part) != std::string::npos;
}

} // namespace

VectorJudge::VectorJudge(const IsaVector& vector, const std::set<std::string>& settled)
    : vector_(vector), settled_(settled), type_(result_type(vector.mnemonic)),
      clamps_(has(vector.text, " clamp")) {}

// The type of a result: the first one that a conversion names, the last one of other instructions.
VectorJudge::Type VectorJudge::result_type(const std::string& mnemonic) {
    if (has(mnemonic, "frexp_exp") || has(mnemonic, "_class_")) {
        return Type::integer;
    }
    std::string name = mnemonic;
    if (const std::size_t cvt = name.find("cvt_"); cvt != std::string::npos) {
        name = name.substr(cvt + 4, name.find('_', cvt + 4) == std::string::npos
                                        ? std::string::npos
                                        : name.find('_', cvt + 4) - cvt - 4);
        if (name == "off") {
            return Type::single;
        }
    }
    if (has(name, "dot2") || has(name, "mfma") || has(name, "mix_")) {
        return Type::single;
    }
    if (has(name, "mixlo") || has(name, "mixhi")) {
        return Type::packed_half;
    }
    if (has(name, "f64")) {
        return Type::wide;
    }
    if (has(name, "f32")) {
        return Type::single;
    }
    if (has(name, "f16")) {
        return has(mnemonic, "_pk") ? Type::packed_half : Type::half;
    }
    return Type::integer;
}

bool VectorJudge::agrees(unsigned lane, u64 got, u64 expected) const {
    if (vector_.flagged("range", lane) || (is_settled("den") && vector_.flagged("den", lane))) {
        return true;
    }
    if (is_settled("low")) {
        got &= 0xffff;
        expected &= 0xffff;
    }
    if (is_settled("d16")) {
        const unsigned half = has(vector_.mnemonic, "_hi") ? 16 : 0;
        return (got >> half & 0xffff) == (expected >> half & 0xffff);
    }
    if (is_settled("limits") && at_limits(got, expected)) {
        return true;
    }
    return agree({.nan = vector_.flagged("nan", lane),
                  .approximate = vector_.flagged("approx", lane) ||
                                 vector_.flagged("fused", lane) || is_settled("near")},
                 got, expected);
}

bool VectorJudge::agrees_in_memory(u64 got, u64 expected) const {
    return agree({.nan = true, .approximate = false}, got, expected);
}

bool VectorJudge::agree(Lane lane, u64 got, u64 expected) const {
    const unsigned bits = type_ == Type::wide                             ? 64
                          : type_ == Type::single                         ? 32
                          : type_ == Type::integer && !is_settled("near") ? 0
                                                                          : 16;
    if (bits == 0) {
        return got == expected;
    }
    const u64 mask = format_of(bits).mask();
    for (unsigned at = 0; at < 64; at += bits) {
        const u64 left = got >> at & mask;
        const u64 right = expected >> at & mask;
        const bool number = type_ != Type::half || at == 0;
        if (number ? !one_agrees(bits, lane, left, right) : left != right) {
            return false;
        }
    }
    return true;
}

// Each part that differs is the largest or the smallest of its width, signed or not.
bool VectorJudge::at_limits(u64 got, u64 expected) const {
    const unsigned bits = has(vector_.mnemonic, "16") ? 16 : 32;
    const u64 ones = format_of(bits).mask();
    for (unsigned at = 0; at < 64; at += bits) {
        const u64 part = got >> at & ones;
        const u64 largest = ones >> 1;
        if (part != (expected >> at & ones) && part != 0 && part != ones && part != largest &&
            part != largest + 1 && !(has(vector_.mnemonic, "norm") && part == largest + 2)) {
            return false;
        }
    }
    return true;
}

bool VectorJudge::one_agrees(unsigned bits, Lane lane, u64 got, u64 expected) const {
    if (got == expected) {
        return true;
    }
    const Format format = format_of(bits);
    // Payload, sign and quieting of a NaN are the host's. With `clamp` the interpreter makes it 0,
    // as hardware does with DX10_CLAMP; here that is 0, and a NaN stays one.
    if (lane.nan && format.is_nan(got) && (format.is_nan(expected) || (clamps_ && expected == 0))) {
        return true;
    }
    if (lane.nan && is_settled("nan") && format.is_nan(got) != format.is_nan(expected)) {
        return true;
    }
    // The lower bound of a clamp has a sign in the interpreter.
    if ((clamps_ || is_settled("zero")) && format.is_zero(got) && format.is_zero(expected)) {
        return true;
    }
    if (format.is_nan(got) || format.is_nan(expected)) {
        return false;
    }
    if (is_settled("angle")) {
        const double value = format.value(got);
        return value == 0 || value == 1 || std::abs(value - format.value(expected)) < 0x1p-18;
    }
    return lane.approximate && format.distance(got, expected) <= 1;
}

} // namespace vgpu::test
