// SPDX-License-Identifier: MIT
// Each operation has a defined result for all operands, and one that no rounding of the back ends
// can change: no sign or payload of a NaN, no sign of a zero that min or max chooses, no half
// precision where x86 computes in single precision and rounds twice.
#include "tests/differential/generator.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <regex>
#include <utility>

namespace vgpu::differential {

namespace {

struct TypeText {
    std::string_view name;
    std::string_view suffix; // of an intrinsic
    std::string_view nan;    // floats
};

TypeText text_of(Type type) {
    switch (type) {
    case Type::i16: return {"i16", "i16", ""};
    case Type::i32: return {"i32", "i32", ""};
    case Type::i64: return {"i64", "i64", ""};
    case Type::f16: return {"half", "f16", "0xH7E00"};
    case Type::f32: return {"float", "f32", "0x7FF8000000000000"};
    case Type::f64: return {"double", "f64", "0x7FF8000000000000"};
    case Type::v2i16: return {"<2 x i16>", "v2i16", ""};
    case Type::v2f16: return {"<2 x half>", "v2f16", "<half 0xH7E00, half 0xH7E00>"};
    }
    return {};
}

bool is_float(Type type) {
    return type == Type::f16 || type == Type::f32 || type == Type::f64 || type == Type::v2f16;
}
bool is_vector(Type type) {
    return type == Type::v2i16 || type == Type::v2f16;
}
unsigned bits_of(Type type) {
    switch (type) {
    case Type::i16:
    case Type::f16:
    case Type::v2i16:
    case Type::v2f16: return 16;
    case Type::i32:
    case Type::f32: return 32;
    case Type::i64:
    case Type::f64: return 64;
    }
    return 0;
}
std::string bool_of(Type type) {
    return is_vector(type) ? "<2 x i1>" : "i1";
}

class Writer {
public:
    Writer(std::uint64_t seed, Results results) : random_(seed), results_(results) {}

    Function write(std::string_view name);

private:
    using Pools = std::map<Type, std::vector<std::string>>;

    unsigned below(unsigned limit) { return static_cast<unsigned>(random_() % limit); }
    bool one_in(unsigned n) { return below(n) == 0; }
    template <std::size_t count>
    std::string_view any(const std::array<std::string_view, count>& of) {
        return of[below(count)];
    }

    template <typename... Arguments>
    void line(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        fmt::format_to(std::back_inserter(out_), "  ");
        fmt::format_to(std::back_inserter(out_), format, std::forward<Arguments>(arguments)...);
        out_ += '\n';
    }
    // A new value: "%17 = ...".
    template <typename... Arguments>
    std::string value(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
        std::string name = fmt::format("%v{}", next_++);
        line("{} = {}", name, fmt::format(format, std::forward<Arguments>(arguments)...));
        return name;
    }

    std::string constant(Type type);
    std::string splat(Type type, std::uint64_t number) const;
    std::string operand(Type type);
    std::string canonical(Type type, const std::string& of);
    std::string without_sign_of_zero(Type type, const std::string& of);
    std::string condition();
    std::string compared(Type type);

    std::string integer(Type type);
    std::string shift(Type type);
    std::string wide_product(Type type);
    std::string division(Type type);
    std::string fields(Type type);
    std::string floating(Type type);
    std::string without_half(Type type);
    std::string converted(Type type);
    std::string through_memory(Type type);
    std::string operation(Type type);

    void add(Type type);
    void branch();
    void loop();
    void load();
    void keep(Type type, std::string name);
    void store_results();

    std::mt19937_64 random_;
    Results results_;
    std::string out_;
    unsigned next_ = 0;
    unsigned label_ = 0;
    std::string block_ = "entry";
    Pools pools_;
    std::vector<std::pair<Type, std::string>> kept_;
};

std::string Writer::constant(Type type) {
    static constexpr std::array<std::string_view, 10> integers{
        "0", "1", "-1", "2", "63", "64", "-16", "255", "-32768", "12345"};
    static constexpr std::array<std::string_view, 8> floats{"0.0",  "1.0", "-0.5", "4.0",
                                                            "-0.0", "2.0", "0.25", "-1.0"};
    const std::string_view number = is_float(type) ? any(floats) : any(integers);
    return type == Type::v2i16 ? fmt::format("<i16 {}, i16 {}>", number, any(integers))
                               : std::string(number);
}

std::string Writer::splat(Type type, std::uint64_t number) const {
    return type == Type::v2i16 ? fmt::format("<i16 {0}, i16 {0}>", number) : std::to_string(number);
}

std::string Writer::operand(Type type) {
    const std::vector<std::string>& pool = pools_[type];
    // LLVM 19 takes -0.0 in an upper half for 0 when it knows it: nothing known becomes one.
    if (type != Type::v2f16 && one_in(8)) {
        return constant(type);
    }
    // Later values more often, for longer chains.
    const auto size = static_cast<unsigned>(pool.size());
    return pool[std::max(below(size), below(size))];
}

// NaN has one pattern.
std::string Writer::canonical(Type type, const std::string& of) {
    if (!is_float(type)) {
        return of;
    }
    const TypeText text = text_of(type);
    const std::string is_nan = value("fcmp uno {} {}, {}", text.name, of, of);
    return value("select {} {}, {} {}, {} {}", bool_of(type), is_nan, text.name, text.nan,
                 text.name, of);
}

// By choice: LLVM 19 isn't exact about the sign of what is added to 0.0.
std::string Writer::without_sign_of_zero(Type type, const std::string& of) {
    const TypeText text = text_of(type);
    const std::string_view zero = is_vector(type) ? "<half 0.0, half 0.0>" : "0.0";
    const std::string is_zero = value("fcmp oeq {} {}, {}", text.name, of, zero);
    return value("select {} {}, {} {}, {} {}", bool_of(type), is_zero, text.name, zero, text.name,
                 of);
}

std::string Writer::compared(Type type) {
    static constexpr std::array<std::string_view, 10> integers{"eq",  "ne",  "ugt", "uge", "ult",
                                                               "ule", "sgt", "sge", "slt", "sle"};
    static constexpr std::array<std::string_view, 14> floats{"oeq", "ogt", "oge", "olt", "ole",
                                                             "one", "ord", "ueq", "ugt", "uge",
                                                             "ult", "ule", "une", "uno"};
    const std::string a = operand(type);
    const std::string b = operand(type);
    return is_float(type) ? value("fcmp {} {} {}, {}", any(floats), text_of(type).name, a, b)
                          : value("icmp {} {} {}, {}", any(integers), text_of(type).name, a, b);
}

std::string Writer::condition() {
    static constexpr std::array scalar{Type::i16, Type::i32, Type::i64,
                                       Type::f16, Type::f32, Type::f64};
    return compared(scalar[below(scalar.size())]);
}

std::string Writer::integer(Type type) {
    static constexpr std::array<std::string_view, 6> plain{"add", "sub", "mul", "and", "or", "xor"};
    static constexpr std::array<std::string_view, 8> two{
        "smin", "smax", "umin", "umax", "uadd.sat", "usub.sat", "sadd.sat", "ssub.sat"};
    static constexpr std::array<std::string_view, 3> one{"bitreverse", "bswap", "ctpop"};
    static constexpr std::array<std::string_view, 3> flagged{"ctlz", "cttz", "abs"};
    const TypeText text = text_of(type);
    const std::string a = operand(type);
    switch (below(8)) {
    case 0: return value("call {0} @llvm.{1}.{2}({0} {3})", text.name, any(one), text.suffix, a);
    case 1:
        return value("call {0} @llvm.{1}.{2}({0} {3}, i1 false)", text.name, any(flagged),
                     text.suffix, a);
    case 2:
    case 3:
        return value("call {0} @llvm.{1}.{2}({0} {3}, {0} {4})", text.name, any(two), text.suffix,
                     a, operand(type));
    default: return value("{} {} {}, {}", any(plain), text.name, a, operand(type));
    }
}

std::string Writer::shift(Type type) {
    static constexpr std::array<std::string_view, 3> plain{"shl", "lshr", "ashr"};
    static constexpr std::array<std::string_view, 2> funnel{"fshl", "fshr"};
    const TypeText text = text_of(type);
    const std::string a = operand(type);
    if (one_in(4)) {
        return value("call {0} @llvm.{1}.{2}({0} {3}, {0} {4}, {0} {5})", text.name, any(funnel),
                     text.suffix, a, operand(type), operand(type));
    }
    const std::string by =
        value("and {} {}, {}", text.name, operand(type), splat(type, bits_of(type) - 1));
    return value("{} {} {}, {}", any(plain), text.name, a, by);
}

// The upper half of a product, or all of it and a sum.
std::string Writer::wide_product(Type type) {
    if (type != Type::i32 && type != Type::i64) {
        return integer(type);
    }
    const std::string_view extend = one_in(2) ? "zext" : "sext";
    const std::string a = value("{} i32 {} to i64", extend, operand(Type::i32));
    const std::string b = value("{} i32 {} to i64", extend, operand(Type::i32));
    const std::string product = value("mul i64 {}, {}", a, b);
    if (type == Type::i64) {
        return value("add i64 {}, {}", product, operand(Type::i64));
    }
    return value("trunc i64 {} to i32", value("lshr i64 {}, 32", product));
}

std::string Writer::division(Type type) {
    static constexpr std::array<std::string_view, 4> all{"udiv", "urem", "sdiv", "srem"};
    const TypeText text = text_of(type);
    const unsigned choice = below(4);
    std::string divided = operand(type);
    std::string by = value("or {} {}, 1", text.name, operand(type));
    if (choice >= 2) { // positive: -1 could overflow
        by = value("lshr {} {}, 1", text.name, value("or {} {}, 2", text.name, by));
    } else { // LLVM 19 divides a sign-extended number as a narrower one, even if it is unsigned
        divided = value("lshr {} {}, 1", text.name, divided);
    }
    return value("{} {} {}, {}", all[choice], text.name, divided, by);
}

// Patterns that become BFE, BFI, PERM, ALIGNBYTE, MED3, ADD3, LSHL_ADD, MAD_U24.
std::string Writer::fields(Type type) {
    if (type != Type::i32) {
        return integer(type);
    }
    const std::string a = operand(type);
    const std::string b = operand(type);
    const unsigned width = 1 + below(24);
    switch (below(6)) {
    case 0: {
        const std::string shifted = value("lshr i32 {}, {}", a, below(32 - width));
        return value("and i32 {}, {}", shifted, (1U << width) - 1);
    }
    case 1: {
        const std::string high = value("shl i32 {}, {}", a, 32 - width);
        return value("ashr i32 {}, {}", high, 32 - width);
    }
    case 2: {
        const std::string mask = operand(type);
        const std::string mine = value("and i32 {}, {}", a, mask);
        const std::string others = value("and i32 {}, {}", b, value("xor i32 {}, -1", mask));
        return value("or i32 {}, {}", mine, others);
    }
    case 3: {
        const std::string low = value("and i32 {}, 16711935", a);
        const std::string high = value("and i32 {}, -16711936", value("shl i32 {}, 8", b));
        return value("or i32 {}, {}", low, high);
    }
    case 4: {
        const std::string product = value("mul i32 {}, {}", value("and i32 {}, 16777215", a),
                                          value("and i32 {}, 16777215", b));
        return value("add i32 {}, {}", product, operand(type));
    }
    default: {
        const std::string low = value("call i32 @llvm.smin.i32(i32 {}, i32 {})", a, b);
        const std::string high = value("call i32 @llvm.smax.i32(i32 {}, i32 {})", a, b);
        const std::string top =
            value("call i32 @llvm.smin.i32(i32 {}, i32 {})", high, operand(type));
        return value("call i32 @llvm.smax.i32(i32 {}, i32 {})", low, top);
    }
    }
}

std::string Writer::without_half(Type type) {
    const TypeText text = text_of(type);
    const std::string a = operand(type);
    switch (below(4)) {
    case 0: return value("fdiv {} {}, {}", text.name, a, operand(type));
    case 1: return value("call {0} @llvm.sqrt.{1}({0} {2})", text.name, text.suffix, a);
    case 2: {
        const std::string power = value("srem i32 {}, 1100", operand(Type::i32));
        return value("call {0} @llvm.ldexp.{1}.i32({0} {2}, i32 {3})", text.name, text.suffix, a,
                     power);
    }
    default:
        return value("call {0} @llvm.fma.{1}({0} {2}, {0} {3}, {0} {4})", text.name, text.suffix, a,
                     operand(type), operand(type));
    }
}

std::string Writer::floating(Type type) {
    static constexpr std::array<std::string_view, 3> plain{"fadd", "fsub", "fmul"};
    static constexpr std::array<std::string_view, 5> whole{"floor", "ceil", "trunc", "rint",
                                                           "roundeven"};
    static constexpr std::array<std::string_view, 2> least_or_most{"minnum", "maxnum"};
    const TypeText text = text_of(type);
    const std::string a = operand(type);
    switch (below(8)) {
    case 0: return value("call {0} @llvm.{1}.{2}({0} {3})", text.name, any(whole), text.suffix, a);
    case 1: return value("call {0} @llvm.fabs.{1}({0} {2})", text.name, text.suffix, a);
    case 2: return value("fneg {} {}", text.name, a);
    case 3:
        return value("call {0} @llvm.copysign.{1}({0} {2}, {0} {3})", text.name, text.suffix, a,
                     canonical(type, operand(type)));
    case 4: {
        const std::string chosen = value("call {0} @llvm.{1}.{2}({0} {3}, {0} {4})", text.name,
                                         any(least_or_most), text.suffix, a, operand(type));
        return without_sign_of_zero(type, chosen);
    }
    case 5:
        if (bits_of(type) > 16) {
            return without_half(type);
        }
        [[fallthrough]];
    default: return value("{} {} {}, {}", any(plain), text.name, a, operand(type));
    }
}

std::string Writer::converted(Type type) {
    const TypeText text = text_of(type);
    static constexpr std::array<std::string_view, 2> to_float{"sitofp", "uitofp"};
    static constexpr std::array<std::string_view, 2> extend{"zext", "sext"};
    static constexpr std::array<std::string_view, 2> to_integer{"fptosi", "fptoui"};
    static constexpr std::array floats{Type::f32, Type::f64};
    const auto saturated = [&](Type from) {
        return value("call {0} @llvm.{1}.sat.{2}.{3}({4} {5})", text.name, any(to_integer),
                     text.suffix, text_of(from).suffix, text_of(from).name, operand(from));
    };
    switch (type) {
    case Type::i16:
        return one_in(2) ? value("trunc i32 {} to i16", operand(Type::i32)) : saturated(Type::f16);
    case Type::i32:
        switch (below(4)) {
        case 0: return value("trunc i64 {} to i32", operand(Type::i64));
        case 1: return value("{} i16 {} to i32", any(extend), operand(Type::i16));
        case 2: return value("bitcast <2 x i16> {} to i32", operand(Type::v2i16));
        default: return saturated(floats[below(2)]);
        }
    case Type::i64:
        return one_in(2) ? value("{} i32 {} to i64", any(extend), operand(Type::i32))
                         : saturated(floats[below(2)]);
    case Type::f16:
        switch (below(4)) {
        case 3:
            return value("extractelement <2 x half> {}, i32 {}", operand(Type::v2f16), below(2));
        case 0: // LLVM 19 makes FMA_MIXLO of it and a product of -0.0, with an addend of 0.0
            return without_sign_of_zero(type,
                                        value("fptrunc float {} to half", operand(Type::f32)));
        case 1: return value("fptrunc double {} to half", operand(Type::f64));
        default: return value("{} i16 {} to half", any(to_float), operand(Type::i16));
        }
    case Type::f32:
        switch (below(4)) {
        case 0: return value("fpext half {} to float", operand(Type::f16));
        case 1: return value("fptrunc double {} to float", operand(Type::f64));
        case 2: return value("{} i64 {} to float", any(to_float), operand(Type::i64));
        default: return value("{} i32 {} to float", any(to_float), operand(Type::i32));
        }
    case Type::f64:
        switch (below(3)) {
        case 0: return value("fpext float {} to double", operand(Type::f32));
        case 1: return value("{} i64 {} to double", any(to_float), operand(Type::i64));
        default: return value("{} i32 {} to double", any(to_float), operand(Type::i32));
        }
    case Type::v2i16:
        if (one_in(2)) {
            return value("bitcast i32 {} to <2 x i16>", operand(Type::i32));
        }
        return value("insertelement <2 x i16> {}, i16 {}, i32 {}", operand(type),
                     operand(Type::i16), below(2));
    case Type::v2f16:
        return value("shufflevector <2 x half> {}, <2 x half> {}, <2 x i32> <i32 {}, i32 {}>",
                     operand(type), operand(type), below(4), below(4));
    }
    return {};
}

// A word of the lane's own, written whole and read in part; in LDS on the GPU.
std::string Writer::through_memory(Type type) {
    if (type != Type::i32) {
        return converted(type);
    }
    line("store volatile i64 {}, ptr addrspace(3) %own, align 8", operand(Type::i64));
    const bool byte = one_in(2);
    const unsigned at = byte ? below(8) : 2 * below(4);
    const std::string from = value("getelementptr i8, ptr addrspace(3) %own, i32 {}", at);
    const std::string_view part = byte ? "i8" : "i16";
    const std::string loaded =
        value("load volatile {}, ptr addrspace(3) {}, align {}", part, from, byte ? 1 : 2);
    return value("{} {} {} to i32", one_in(2) ? "zext" : "sext", part, loaded);
}

std::string Writer::operation(Type type) {
    const TypeText text = text_of(type);
    switch (below(10)) {
    case 0: return converted(type);
    case 1: {
        const std::string chosen_by = is_vector(type) ? compared(type) : condition();
        return value("select {} {}, {} {}, {} {}", bool_of(type), chosen_by, text.name,
                     operand(type), text.name, operand(type));
    }
    case 2: return through_memory(type);
    default: break;
    }
    if (is_float(type)) {
        return floating(type);
    }
    switch (below(12)) {
    case 0:
    case 1:
    case 2: return shift(type);
    case 3: return wide_product(type);
    case 4:
    case 5: return fields(type);
    case 6: return is_vector(type) ? integer(type) : division(type);
    default: return integer(type);
    }
}

void Writer::keep(Type type, std::string name) {
    pools_[type].push_back(name);
    kept_.emplace_back(type, std::move(name));
}

void Writer::add(Type type) {
    keep(type, operation(type));
}

// Two branches, each with a value of the same type. Only that value is used after they join.
void Writer::branch() {
    const Type type = types[below(types.size())];
    const unsigned label = label_++;
    line("br i1 {}, label %then{}, label %else{}", condition(), label, label);
    std::array<std::string, 2> chosen;
    const Pools before = pools_;
    static constexpr std::array<std::string_view, 2> names{"then", "else"};
    for (unsigned way = 0; way < 2; ++way) {
        fmt::format_to(std::back_inserter(out_), "{}{}:\n", names[way], label);
        for (unsigned count = 1 + below(3); count > 0; --count) {
            const Type inner = types[below(types.size())];
            pools_[inner].push_back(operation(inner));
        }
        chosen[way] = operation(type);
        line("br label %end{}", label);
        pools_ = before;
    }
    block_ = fmt::format("end{}", label);
    out_ += block_ + ":\n";
    keep(type, value("phi {} [ {}, %then{} ], [ {}, %else{} ]", text_of(type).name, chosen[0],
                     label, chosen[1], label));
}

// Up to seven rounds, as many as the lane wants.
void Writer::loop() {
    const Type type = types[below(types.size())];
    const unsigned label = label_++;
    const std::string rounds = value("and i32 {}, 7", operand(Type::i32));
    const std::string first = operand(type);
    const std::string_view name = text_of(type).name;
    line("br label %loop{}", label);
    fmt::format_to(std::back_inserter(out_), "loop{}:\n", label);
    line("%i{0} = phi i32 [ 0, %{1} ], [ %n{0}, %loop{0} ]", label, block_);
    line("%a{0} = phi {1} [ {2}, %{3} ], [ %b{0}, %loop{0} ]", label, name, first, block_);
    const Pools before = pools_;
    pools_[type].assign(3, fmt::format("%a{}", label)); // most operands
    pools_[Type::i32].push_back(fmt::format("%i{}", label));
    pools_[type].push_back(operation(type));
    const std::string last = operation(type);
    pools_ = before;
    line("%b{} = select i1 true, {} {}, {} {}", label, name, last, name, last);
    line("%n{0} = add i32 %i{0}, 1", label);
    line("%c{0} = icmp ult i32 %n{0}, {1}", label, rounds);
    line("br i1 %c{0}, label %loop{0}, label %end{0}", label);
    block_ = fmt::format("end{}", label);
    out_ += block_ + ":\n";
    keep(type, fmt::format("%b{}", label));
}

void Writer::load() {
    const auto load_slots = [&](unsigned count, auto type_of, std::string_view base,
                                std::string_view space) {
        for (unsigned slot = 0; slot < count; ++slot) {
            const Type type = type_of(slot);
            const std::string at = value("getelementptr i8, {} {}, i32 {}", space, base, 8 * slot);
            const std::string loaded =
                value("load {}, {} {}, align 8", text_of(type).name, space, at);
            pools_[type].push_back(canonical(type, loaded));
        }
    };
    load_slots(input_slots, input_type, "%lane_in", "ptr addrspace(1)");
    load_slots(uniform_slots, uniform_type, "%uniform", "ptr addrspace(4)");
}

void Writer::store_results() {
    const std::size_t all = kept_.size();
    const std::size_t count = std::min<std::size_t>(
        results_ == Results::each ? all : std::min<std::size_t>(all, 8), result_slots);
    for (std::size_t slot = 0; slot < count; ++slot) {
        const auto [type, name] = kept_[all - count + slot];
        const std::string at =
            value("getelementptr i8, ptr addrspace(1) %lane_out, i32 {}", 8 * slot);
        line("store {} {}, ptr addrspace(1) {}, align 8", text_of(type).name, canonical(type, name),
             at);
    }
    kept_.erase(kept_.begin(), kept_.end() - static_cast<std::ptrdiff_t>(count));
}

Function Writer::write(std::string_view name) {
    fmt::format_to(
        std::back_inserter(out_),
        "define amdgpu_cs void @{}(ptr addrspace(1) inreg %in, ptr addrspace(1) inreg %out,"
        " ptr addrspace(4) inreg %uniform, i32 %lane) {{\nentry:\n",
        name);
    line("%own_at = mul i32 %lane, 8");
    line("%own = getelementptr i8, ptr addrspace(3) @lds, i32 %own_at");
    line("%in_at = mul i32 %lane, {}", 8 * input_slots);
    line("%out_at = mul i32 %lane, {}", 8 * result_slots);
    line("%lane_in = getelementptr i8, ptr addrspace(1) %in, i32 %in_at");
    line("%lane_out = getelementptr i8, ptr addrspace(1) %out, i32 %out_at");
    load();
    for (unsigned step = 8 + below(24); step > 0; --step) {
        switch (below(12)) {
        case 0: branch(); break;
        case 1: loop(); break;
        default: add(types[below(types.size())]);
        }
    }
    store_results();
    line("ret void");
    out_ += "}\n";
    Function function{std::move(out_), {}};
    for (const auto& [type, value] : kept_) {
        function.results.push_back(value);
    }
    return function;
}

} // namespace

Function generate(std::uint64_t seed, std::string_view name, Results results) {
    return Writer(seed, results).write(name);
}

std::string for_host(std::string_view text) {
    static const std::regex of_gpu(R"( addrspace\(\d\)| inreg| amdgpu_cs)");
    return std::regex_replace(std::string(text), of_gpu, "");
}

} // namespace vgpu::differential
