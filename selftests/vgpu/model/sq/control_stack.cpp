// SPDX-License-Identifier: MIT
// Encoding, decoding and validation of control stack records.
#include "model/sq/control_stack.hpp"

#include "model/sq/global_wave_sync.hpp"
#include "model/sq/scratch_slots.hpp"

#include <bit>
#include <cstring>
#include <set>

namespace vgpu::sq {

namespace {

constexpr std::uint32_t magic = 0x53434756; // "VGCS"
constexpr std::uint16_t version = 5;
constexpr std::uint16_t flag_failed = 1;
constexpr std::uint16_t flag_registers = 2;

struct Header {
    std::uint32_t magic;
    std::uint16_t version;
    std::uint8_t dispatches;
    std::uint8_t gws_resources;
    std::uint32_t workgroups;
    std::uint32_t waves;
    std::uint32_t checksum; // of all bytes, with this field 0
    std::uint32_t bytes;
};
static_assert(sizeof(Header) == 24);

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
    std::uint32_t workgroups; // records that follow
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

struct WorkgroupRecord {
    std::uint32_t linear;
    std::uint16_t wave_mask;
    std::uint8_t first_wave;
    std::uint8_t reserved;
};
static_assert(sizeof(WorkgroupRecord) == 8);

// A saved wave.
constexpr unsigned scratch_slot_shift = 22;
constexpr std::uint32_t offset_mask = (1U << scratch_slot_shift) - 1;
constexpr std::uint32_t no_scratch = ScratchSlots::capacity;
static_assert(no_scratch == ~0U >> scratch_slot_shift);

static_assert(std::endian::native == std::endian::little);

// FNV-1a: finds damage, not malice; every field is checked besides.
std::uint32_t checksum(std::span<const std::byte> bytes) {
    std::uint32_t hash = 2166136261U;
    for (std::size_t i = 0; i < bytes.size(); ++i) {
        const bool own_field =
            i >= offsetof(Header, checksum) && i < offsetof(Header, checksum) + sizeof(hash);
        hash = (hash ^ (own_field ? 0 : std::to_integer<std::uint32_t>(bytes[i]))) * 16777619U;
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
    record.workgroups = static_cast<std::uint32_t>(dispatch.saved.size());
    record.scratch = dispatch.aql.scratch;
    return record;
}

void append_workgroup(std::vector<std::byte>& bytes, const SavedWorkgroup& group) {
    WorkgroupRecord record{};
    record.linear = group.linear;
    record.first_wave = static_cast<std::uint8_t>(group.first_wave);
    std::array<std::uint32_t, max_workgroup_waves> words{};
    for (const SavedWave& wave : group.waves) {
        record.wave_mask = static_cast<std::uint16_t>(record.wave_mask | 1U << wave.index);
        words.at(wave.index) = wave.offset / SaveArea::alignment |
                               wave.scratch_slot.value_or(no_scratch) << scratch_slot_shift;
    }
    append(bytes, record);
    for (unsigned index = 0; index < max_workgroup_waves; ++index) {
        if ((record.wave_mask >> index & 1) != 0) {
            append(bytes, words.at(index));
        }
    }
}

bool read_workgroup(Reader& reader, Dispatch& dispatch) {
    WorkgroupRecord record{};
    if (!reader.read(record) || record.reserved != 0 || record.linear >= dispatch.next ||
        record.first_wave >= max_workgroup_waves ||
        (record.wave_mask >> record.first_wave & 1) == 0) {
        return false;
    }
    const Coordinates at = dispatch.coordinates(record.linear);
    if (record.wave_mask >> dispatch.geometry.waves_at(at) != 0) {
        return false;
    }
    SavedWorkgroup group{record.linear, record.first_wave, {}};
    for (unsigned index = 0; index < max_workgroup_waves; ++index) {
        std::uint32_t word = 0;
        if ((record.wave_mask >> index & 1) == 0) {
            continue;
        }
        if (!reader.read(word)) {
            return false;
        }
        SavedWave wave{index, (word & offset_mask) * SaveArea::alignment, std::nullopt};
        const std::uint32_t slot = word >> scratch_slot_shift;
        if ((slot != no_scratch) != dispatch.has_scratch()) {
            return false;
        }
        if (slot != no_scratch) {
            wave.scratch_slot = slot;
        }
        group.waves.push_back(wave);
    }
    dispatch.saved.push_back(std::move(group));
    return true;
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
    dispatch->aql = {record.packet_index, record.packet_va, record.packet,
                     record.amd_queue_va, record.scratch,   std::nullopt};
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
        return record.next == 0 && record.done == 0 && record.workgroups == 0 ? std::move(dispatch)
                                                                              : nullptr;
    }
    // Each launched workgroup has either ended or is listed.
    if (problem != nullptr || record.next > dispatch->total ||
        std::uint64_t{record.done} + record.workgroups != record.next ||
        (!dispatch->failed && record.done == dispatch->total)) {
        return nullptr;
    }
    dispatch->next = record.next;
    dispatch->done = record.done;
    std::set<std::uint32_t> seen;
    for (std::uint32_t i = 0; i < record.workgroups; ++i) {
        if (!read_workgroup(reader, *dispatch) ||
            !seen.insert(dispatch->saved.back().linear).second) {
            return nullptr;
        }
    }
    return dispatch;
}

// Counts of workgroup and wave records, as the header has them.
void count_records(const DispatchList& dispatches, Header& header) {
    for (const auto& dispatch : dispatches) {
        header.workgroups += static_cast<std::uint32_t>(dispatch->saved.size());
        for (const SavedWorkgroup& group : dispatch->saved) {
            header.waves += static_cast<std::uint32_t>(group.waves.size());
        }
    }
}

} // namespace

std::vector<std::byte> encode_control_stack(const DispatchList& dispatches,
                                            std::span<const std::uint32_t> gws) {
    std::vector<std::byte> bytes;
    if (dispatches.empty() && gws.empty()) {
        return bytes;
    }
    Header header{};
    header.magic = magic;
    header.version = version;
    header.dispatches = static_cast<std::uint8_t>(dispatches.size());
    header.gws_resources = static_cast<std::uint8_t>(gws.size());
    count_records(dispatches, header);
    append(bytes, header);
    for (const auto& dispatch : dispatches) {
        append(bytes, record_of(*dispatch));
        if (const auto& registers = dispatch->aql.registers) {
            append(bytes, RegisterRecord{registers->user_data, registers->start});
        }
        for (const SavedWorkgroup& group : dispatch->saved) {
            append_workgroup(bytes, group);
        }
    }
    for (const std::uint32_t word : gws) {
        append(bytes, word);
    }
    header.bytes = static_cast<std::uint32_t>(bytes.size());
    std::memcpy(bytes.data(), &header, sizeof(header));
    header.checksum = checksum(bytes);
    std::memcpy(bytes.data(), &header, sizeof(header));
    return bytes;
}

bool decode_control_stack(std::span<const std::byte> bytes, unsigned queue_slot,
                          const WorkgroupShare& share, DispatchList& dispatches,
                          std::vector<std::uint32_t>& gws) {
    dispatches.clear();
    gws.clear();
    if (bytes.empty()) {
        return true;
    }
    Reader reader(bytes);
    Header header{};
    if (!reader.read(header) || header.magic != magic || header.version != version ||
        header.bytes != bytes.size() || header.checksum != checksum(bytes) ||
        header.dispatches > max_dispatches ||
        (header.dispatches == 0 && header.gws_resources == 0)) {
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
    std::vector<std::uint32_t> words(header.gws_resources);
    for (std::uint32_t& word : words) {
        if (!reader.read(word)) {
            return false;
        }
    }
    Header counted{};
    count_records(found, counted);
    if (!reader.at_end() || !GlobalWaveSync::plausible(words) ||
        counted.workgroups != header.workgroups || counted.waves != header.waves) {
        return false;
    }
    dispatches = std::move(found);
    gws = std::move(words);
    return true;
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
