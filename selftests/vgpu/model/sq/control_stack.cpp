// SPDX-License-Identifier: MIT
// Encoding, decoding and validation of control stack records.
#include "model/sq/control_stack.hpp"

#include "model/sq/global_wave_sync.hpp"
#include "model/sq/relaunch_words.hpp"
#include "model/sq/scratch_slots.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <set>

namespace vgpu::sq {

namespace {

constexpr std::uint32_t magic = 0x53434756; // "VGCS"
constexpr std::uint16_t version = 6;
constexpr std::uint16_t flag_failed = 1;
constexpr std::uint16_t flag_registers = 2;

struct Header {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint8_t dispatches;
    std::uint8_t gws_resources;
    std::uint32_t words;    // of the whole stack
    std::uint32_t checksum; // of all of it, with this field 0
};
static_assert(sizeof(Header) == 16);

struct DispatchRecord {
    std::array<std::uint32_t, 16> packet;
    std::uint64_t packet_index;
    std::uint64_t packet_va;
    std::uint64_t amd_queue_va;
    std::uint64_t entry;
    std::uint32_t rsrc1;
    std::uint32_t rsrc2;
    std::uint32_t rsrc3;
    std::uint16_t properties;
    std::uint16_t flags;
    std::uint32_t next;
    std::uint32_t done;
    std::uint32_t ring_packet;
    std::uint16_t kernarg_preload;
    std::uint16_t isa;
    ScratchRing scratch;
};
static_assert(sizeof(DispatchRecord) == 160);

// Behind the record of a dispatch with flag_registers.
struct RegisterRecord {
    std::array<std::uint32_t, 16> user_data;
    Coordinates start;
};
static_assert(sizeof(RegisterRecord) == 76);

// PACKET3_NOP, which stands for what the CP has there.
constexpr std::array<std::uint32_t, 2> pm4 = {0xc000'1000, 0};

// Events of a workgroup: a tag, and 28 bits.
constexpr unsigned tag_shift = 28;
constexpr std::uint32_t tag_payload = (1U << tag_shift) - 1;
enum Tag : std::uint32_t {
    dispatch_tag, // number of the dispatch; a state dword follows
    linear_tag,   // [27:0] of the linear id
    waves_tag,    // mask of saved waves [15:0], [31:28] of the linear id in [19:16]
    scratch_tag,  // scratch slot of the next wave
};

constexpr std::uint32_t tagged(Tag tag, std::uint32_t payload) {
    return relaunch::event_bit | tag << tag_shift | payload;
}
constexpr bool has_tag(std::uint32_t word, Tag tag) {
    return (word & ~tag_payload) == (relaunch::event_bit | tag << tag_shift);
}

static_assert(std::endian::native == std::endian::little);

// FNV-1a: finds damage, not malice; every field is checked besides.
std::uint32_t checksum(std::span<const std::uint32_t> words) {
    std::uint32_t hash = 2166136261U;
    for (const std::byte byte : std::as_bytes(words)) {
        hash = (hash ^ std::to_integer<std::uint32_t>(byte)) * 16777619U;
    }
    return hash;
}

template <typename T> void append(std::vector<std::byte>& bytes, const T& value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof(T));
}

class Reader {
public:
    explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}
    template <typename T> bool read(T& value) {
        if (bytes_.size() < sizeof(T)) {
            return false;
        }
        std::memcpy(&value, bytes_.data(), sizeof(T));
        bytes_ = bytes_.subspan(sizeof(T));
        return true;
    }
    bool at_end() const { return bytes_.empty(); }

private:
    std::span<const std::byte> bytes_;
};

DispatchRecord record_of(const Dispatch& dispatch) {
    DispatchRecord record{};
    record.packet = dispatch.aql.packet;
    record.packet_index = dispatch.aql.packet_index;
    record.packet_va = dispatch.aql.packet_va;
    record.amd_queue_va = dispatch.aql.amd_queue_va;
    record.entry = dispatch.program.entry;
    record.rsrc1 = dispatch.program.rsrc1;
    record.rsrc2 = dispatch.program.rsrc2;
    record.rsrc3 = dispatch.program.rsrc3;
    record.properties = dispatch.program.properties;
    record.kernarg_preload = dispatch.program.kernarg_preload;
    record.isa = static_cast<std::uint16_t>(dispatch.program.isa);
    record.flags = static_cast<std::uint16_t>((dispatch.failed ? flag_failed : 0) |
                                              (dispatch.aql.registers ? flag_registers : 0));
    record.next = dispatch.next;
    record.done = dispatch.done;
    record.ring_packet = dispatch.aql.ring_packet;
    record.scratch = dispatch.aql.scratch;
    return record;
}

// A saved workgroup, and its dispatch's number.
struct Stacked {
    std::uint8_t dispatch = 0;
    SavedWorkgroup* group = nullptr;
};

// From the top of the stack, which has the end of the area.
std::vector<Stacked> stack_order(const DispatchList& dispatches) {
    std::vector<Stacked> order;
    for (std::size_t i = 0; i < dispatches.size(); ++i) {
        for (SavedWorkgroup& group : dispatches[i]->saved) {
            order.push_back({static_cast<std::uint8_t>(i), &group});
        }
    }
    std::ranges::sort(order, std::greater{}, [](const Stacked& entry) {
        return std::ranges::max(entry.group->waves, {}, &SavedWave::offset).offset;
    });
    return order;
}

void append_workgroup(std::vector<std::uint32_t>& words, const Dispatch& dispatch,
                      const SavedWorkgroup& group) {
    std::vector<SavedWave> waves = group.waves;
    std::ranges::sort(waves, {}, &SavedWave::index);
    std::uint32_t mask = 0;
    for (const SavedWave& wave : waves) {
        mask |= 1U << wave.index;
    }
    words.push_back(tagged(linear_tag, group.linear & tag_payload));
    const unsigned all = dispatch.geometry.waves_at(dispatch.coordinates(group.linear));
    const std::uint32_t high = group.linear >> tag_shift;
    if (mask != (1U << all) - 1 || high != 0) {
        words.push_back(tagged(waves_tag, high << 16 | mask));
    }
    for (const SavedWave& wave : waves) {
        const std::uint32_t scratch = wave.scratch_slot.value_or(0);
        if (scratch > relaunch::scratch_slot_mask) {
            words.push_back(tagged(scratch_tag, scratch));
        }
        words.push_back(
            relaunch::encode(dispatch.program.isa, {.scratch_slot = scratch,
                                                    .shader_engine = wave.shader_engine,
                                                    .scratch = wave.scratch_slot.has_value(),
                                                    .first = wave.index == waves.front().index,
                                                    .last = wave.index == waves.back().index}));
    }
}

// The words behind the events of the front.
class StackReader {
public:
    explicit StackReader(std::span<const std::uint32_t> words) : words_(words) {}

    // Workgroups from the top of the stack on, each at the end of its dispatch's list.
    bool read(DispatchList& dispatches, std::vector<Stacked>& order) {
        while (!words_.empty()) {
            if (!read_workgroup(dispatches, order)) {
                return false;
            }
        }
        return true;
    }

private:
    std::optional<std::uint32_t> take_tag(Tag tag) {
        if (words_.empty() || !has_tag(words_[0], tag)) {
            return std::nullopt;
        }
        const std::uint32_t payload = words_[0] & tag_payload;
        words_ = words_.subspan(1);
        return payload;
    }

    bool read_workgroup(DispatchList& dispatches, std::vector<Stacked>& order) {
        if (const auto number = take_tag(dispatch_tag)) {
            if (*number >= dispatches.size() || words_.empty()) {
                return false;
            }
            const Dispatch& dispatch = *dispatches[*number];
            if (words_[0] != relaunch::state_word(dispatch.program, dispatch.lds_bytes)) {
                return false;
            }
            words_ = words_.subspan(1);
            current_ = static_cast<std::uint8_t>(*number);
        }
        const auto low = take_tag(linear_tag);
        if (!low || !current_) {
            return false;
        }
        Dispatch& dispatch = *dispatches[*current_];
        const auto mask = take_tag(waves_tag);
        SavedWorkgroup group;
        group.linear = *low | (mask.value_or(0) >> 16 & 15) << tag_shift;
        if (group.linear >= dispatch.next) {
            return false;
        }
        const unsigned all = dispatch.geometry.waves_at(dispatch.coordinates(group.linear));
        if (!read_waves(dispatch, mask ? *mask & 0xffff : (1U << all) - 1, all, group)) {
            return false;
        }
        dispatch.saved.push_back(std::move(group));
        order.push_back({*current_, &dispatch.saved.back()});
        return true;
    }

    bool read_waves(const Dispatch& dispatch, std::uint32_t mask, unsigned all,
                    SavedWorkgroup& group) {
        if (mask == 0 || mask >> all != 0) {
            return false;
        }
        group.first_wave = static_cast<unsigned>(std::countr_zero(mask));
        for (; mask != 0; mask &= mask - 1) {
            SavedWave wave;
            wave.index = static_cast<unsigned>(std::countr_zero(mask));
            const auto scratch = take_tag(scratch_tag);
            if (words_.empty() || relaunch::is_event(words_[0]) || relaunch::is_state(words_[0])) {
                return false;
            }
            const relaunch::WaveWord word = relaunch::decode(dispatch.program.isa, words_[0]);
            words_ = words_.subspan(1);
            if (word.scratch != dispatch.has_scratch() ||
                word.first != (wave.index == group.first_wave) ||
                word.last != ((mask & (mask - 1)) == 0)) {
                return false;
            }
            if (word.scratch) {
                wave.scratch_slot = scratch.value_or(word.scratch_slot);
            }
            wave.shader_engine = word.shader_engine;
            group.waves.push_back(wave);
        }
        return true;
    }

    std::span<const std::uint32_t> words_;
    std::optional<std::uint8_t> current_;
};

// From the bottom of the stack up.
void place(const DispatchList& dispatches, const std::vector<Stacked>& order, std::uint32_t area) {
    for (auto entry = order.rbegin(); entry != order.rend(); ++entry) {
        const Dispatch& dispatch = *dispatches[entry->dispatch];
        SavedWorkgroup& group = *entry->group;
        for (auto wave = group.waves.rbegin(); wave != group.waves.rend(); ++wave) {
            wave->offset = area;
            area += dispatch.save_bytes(wave->index == group.first_wave);
        }
    }
}

std::unique_ptr<Dispatch> read_dispatch(Reader& reader, unsigned queue_slot,
                                        const WorkgroupShare& share) {
    DispatchRecord record{};
    if (!reader.read(record) || record.isa >= isa::isa_count ||
        (record.flags & ~(flag_failed | flag_registers)) != 0) {
        return nullptr;
    }
    auto dispatch = std::make_unique<Dispatch>();
    dispatch->queue_slot = queue_slot;
    dispatch->share = share;
    dispatch->aql = {record.packet_index, record.packet_va, record.packet,     record.amd_queue_va,
                     record.scratch,      std::nullopt,     record.ring_packet};
    if ((record.flags & flag_registers) != 0) {
        RegisterRecord registers{};
        if (!reader.read(registers)) {
            return nullptr;
        }
        dispatch->aql.registers = {record.entry, record.rsrc1,        record.rsrc2,
                                   record.rsrc3, registers.user_data, registers.start};
    }
    dispatch->program = {record.entry,
                         record.rsrc1,
                         record.rsrc2,
                         record.rsrc3,
                         record.properties,
                         record.kernarg_preload,
                         static_cast<isa::Isa>(record.isa)};
    dispatch->failed = (record.flags & flag_failed) != 0;
    const char* problem = prepare_dispatch(*dispatch);
    if (dispatch->failed && problem != nullptr) {
        // It never ran: nothing may claim otherwise.
        return record.next == 0 && record.done == 0 ? std::move(dispatch) : nullptr;
    }
    if (problem != nullptr || record.next > dispatch->total || record.done > record.next ||
        (!dispatch->failed && record.done == dispatch->total)) {
        return nullptr;
    }
    dispatch->next = record.next;
    dispatch->done = record.done;
    return dispatch;
}

// Each launched workgroup has either ended or is listed, once.
bool all_listed(const DispatchList& dispatches) {
    return std::ranges::all_of(dispatches, [](const auto& dispatch) {
        std::set<std::uint32_t> seen;
        for (const SavedWorkgroup& group : dispatch->saved) {
            seen.insert(group.linear);
        }
        return seen.size() == dispatch->saved.size() &&
               dispatch->done + dispatch->saved.size() == dispatch->next;
    });
}

std::vector<std::byte> front_of(const DispatchList& dispatches, std::span<const std::uint32_t> gws,
                                const Header& header) {
    std::vector<std::byte> bytes;
    append(bytes, header);
    for (const auto& dispatch : dispatches) {
        append(bytes, record_of(*dispatch));
        if (const auto& registers = dispatch->aql.registers) {
            append(bytes, RegisterRecord{registers->user_data, registers->start});
        }
    }
    for (const std::uint32_t word : gws) {
        append(bytes, word);
    }
    return bytes;
}

// Puts the front with another header where the words of one are.
void replace_front(std::vector<std::uint32_t>& words, std::vector<std::byte> front,
                   const Header& header) {
    std::memcpy(front.data(), &header, sizeof(header));
    std::vector<std::uint32_t> events;
    relaunch::append_events(events, front);
    std::ranges::copy(events, words.begin() + pm4.size());
}

} // namespace

std::vector<std::byte> encode_control_stack(const DispatchList& dispatches,
                                            std::span<const std::uint32_t> gws) {
    if (dispatches.empty() && gws.empty()) {
        return {};
    }
    Header header{magic,
                  version,
                  static_cast<std::uint8_t>(dispatches.size()),
                  static_cast<std::uint8_t>(gws.size()),
                  0,
                  0};
    const std::vector<std::byte> front = front_of(dispatches, gws, header);
    std::vector<std::uint32_t> words(pm4.begin(), pm4.end());
    relaunch::append_events(words, front);
    std::optional<std::uint8_t> current;
    for (const Stacked& entry : stack_order(dispatches)) {
        const Dispatch& dispatch = *dispatches[entry.dispatch];
        if (current != entry.dispatch) {
            current = entry.dispatch;
            words.push_back(tagged(dispatch_tag, entry.dispatch));
            words.push_back(relaunch::state_word(dispatch.program, dispatch.lds_bytes));
        }
        append_workgroup(words, dispatch, *entry.group);
    }
    header.words = static_cast<std::uint32_t>(words.size());
    replace_front(words, front, header);
    header.checksum = checksum(words);
    replace_front(words, front, header);
    const auto bytes = std::as_bytes(std::span(words));
    return {bytes.begin(), bytes.end()};
}

bool decode_control_stack(std::span<const std::byte> bytes, unsigned queue_slot,
                          const WorkgroupShare& share, std::uint32_t area, DispatchList& dispatches,
                          std::vector<std::uint32_t>& gws) {
    dispatches.clear();
    gws.clear();
    if (bytes.empty()) {
        return true;
    }
    std::vector<std::uint32_t> words(bytes.size() / 4);
    std::memcpy(words.data(), bytes.data(), words.size() * 4);
    if (bytes.size() % 4 != 0 || words.size() < pm4.size() ||
        !std::equal(pm4.begin(), pm4.end(), words.begin())) {
        return false;
    }
    std::span<const std::uint32_t> rest = std::span(words).subspan(pm4.size());
    const auto front = relaunch::take_events(rest);
    if (!front) {
        return false;
    }
    Reader reader(*front);
    Header header{};
    if (!reader.read(header) || header.magic != magic || header.version != version ||
        header.words != words.size() || header.dispatches > max_dispatches ||
        (header.dispatches == 0 && header.gws_resources == 0)) {
        return false;
    }
    const std::uint32_t sum = std::exchange(header.checksum, 0);
    std::vector<std::uint32_t> unsummed = words;
    replace_front(unsummed, *front, header);
    if (checksum(unsummed) != sum) {
        return false;
    }
    DispatchList found;
    for (unsigned i = 0; i < header.dispatches; ++i) {
        auto dispatch = read_dispatch(reader, queue_slot, share);
        if (dispatch == nullptr) {
            return false;
        }
        found.push_back(std::move(dispatch));
    }
    std::vector<std::uint32_t> resources(header.gws_resources);
    for (std::uint32_t& word : resources) {
        if (!reader.read(word)) {
            return false;
        }
    }
    std::vector<Stacked> order;
    if (!reader.at_end() || !GlobalWaveSync::plausible(resources) ||
        !StackReader(rest).read(found, order) || !all_listed(found)) {
        return false;
    }
    place(found, order, area);
    dispatches = std::move(found);
    gws = std::move(resources);
    return true;
}

std::uint64_t saved_bytes(const DispatchList& dispatches) {
    std::uint64_t bytes = 0;
    for (const auto& dispatch : dispatches) {
        for (const SavedWorkgroup& group : dispatch->saved) {
            for (const SavedWave& wave : group.waves) {
                bytes += dispatch->save_bytes(wave.index == group.first_wave);
            }
        }
    }
    return bytes;
}

std::uint32_t lds_allocation(std::uint32_t group_segment_bytes) {
    constexpr std::uint32_t granule = 512;
    return (group_segment_bytes + granule - 1) / granule * granule;
}

const char* prepare_dispatch(Dispatch& dispatch) {
    dispatch.geometry = DispatchGeometry::from_packet(dispatch.aql.packet);
    if (const char* problem = dispatch.geometry.problem()) {
        return problem;
    }
    if (const char* problem = dispatch.program.problem()) {
        return problem;
    }
    if (dispatch.aql.packet[7] > ComputeUnit::lds_bytes) {
        return "dispatch packet with more LDS than a compute unit has";
    }
    dispatch.lds_bytes = lds_allocation(dispatch.aql.packet[7]);
    dispatch.total = dispatch.share.size(dispatch.geometry.workgroup_count());
    const unsigned waves = dispatch.geometry.waves_at({0, 0, 0});
    if (!ComputeUnit().has_room(waves, dispatch.program.vgprs(), dispatch.lds_bytes)) {
        return "workgroup needs more registers than a compute unit has";
    }
    if (dispatch.has_scratch() && !ScratchSlots().has_room(waves, dispatch.aql.scratch.waves)) {
        return "workgroup needs scratch for more waves than the queue's ring has";
    }
    return nullptr;
}

} // namespace vgpu::sq
