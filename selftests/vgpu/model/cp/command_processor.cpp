// SPDX-License-Identifier: MIT
// The compute command processor: what connected queues do, and what their packets ask for.
#include "model/cp/command_processor.hpp"

#include <fmt/format.h>

namespace vgpu {
namespace {

constexpr std::uint32_t xcc_high_range = 0xa000;
constexpr std::uint32_t generic2_interrupt = 1U << 29; // CPC_INT_STATUS, a KIQ fence's interrupt

} // namespace

CommandProcessor::CommandProcessor(const Surroundings& surroundings)
    : unit_(surroundings),
      actor_(surroundings.xcc == 0 ? "cp" : fmt::format("cp{}", surroundings.xcc)),
      vmids_(surroundings.registers) {
    unit_.scheduler.attach(*this);
    connect_registers();
    connect_reset_registers();
    connect_watch_registers();
    reset();
}

void CommandProcessor::reset() {
    for (auto& connection : connections_)
        connection.reset();
    hqds_ = {};
    vmids_.reset();
    kiq_slot_.reset();
    hiq_slot_.reset();
    // VIRTUAL_XCC_ID [2:0], NUM_XCC_IN_XCP [6:3]: all XCCs are in one partition.
    unit_.registers.set(reg::gc::CP_HYP_XCP_CTL, unit_.xcc | unit_.registers.file().dies().xccs()
                                                                 << 3);
}

bool CommandProcessor::doorbell(std::uint32_t dword, std::uint64_t value) {
    for (unsigned slot = 0; slot < hqd_slots; ++slot) {
        Connection* connection = connections_[slot].get();
        if (connection == nullptr || hqds_[slot].doorbell_dword() != dword)
            continue;
        // An AQL queue's write index is in memory; the doorbell only says to look at it.
        if (connection->aql)
            connection->aql->doorbell();
        else
            hqds_[slot].set_pair(hqd::pq_wptr, value);
        if (unit_.schedule.reached(connection->looks_at))
            connection->looks_at = unit_.schedule.later(Schedule::Kind::doorbell);
        run();
        return true;
    }
    return false;
}

bool CommandProcessor::run() {
    if (unit_.faults.hung())
        return false;
    const MemoryController::ClientScope scope(unit_.memory, cp_client(unit_.xcc));
    bool any = false;
    for (bool progress = true; progress;) {
        progress = false;
        for (unsigned slot = 0; slot < hqd_slots; ++slot)
            if (connections_[slot] != nullptr && run_slot(slot))
                progress = true;
        any |= progress;
    }
    return any;
}

bool CommandProcessor::run_slot(unsigned slot) {
    Connection& connection = *connections_[slot];
    bool progress = connection.aql && connection.aql->report_late();
    if (connection.stopping && finish_stop(slot))
        return true;
    if (connection.stop_seen)
        return progress;
    const bool looks = unit_.schedule.reached(connection.looks_at);
    if (connection.aql)
        return (looks && connection.aql->advance()) || progress;
    if (connection.user_pm4)
        return looks && connection.user_pm4->advance();
    if (looks)
        fetch_ring(slot);
    // NOLINTNEXTLINE(bugprone-unchecked-optional-access): one of three is set
    return connection.pm4->run();
}

bool CommandProcessor::polling() const {
    for (const auto& connection : connections_)
        if (connection != nullptr && ((connection->aql && connection->aql->polling()) ||
                                      (connection->user_pm4 && connection->user_pm4->polling()) ||
                                      (connection->pm4 && connection->pm4->polling())))
            return true;
    return false;
}

bool CommandProcessor::add_user_queues(std::vector<Contention::Queue>& queues) const {
    bool switching = false;
    for (unsigned slot = 0; slot < hqd_slots; ++slot) {
        const Connection* connection = connections_[slot].get();
        if (connection == nullptr || !connection->of_user())
            continue;
        switching |= connection->stopping.has_value();
        const Hqd& hqd = hqds_[slot];
        queues.push_back(
            {.doorbell = hqd.doorbell_dword(),
             .pasid = unit_.memory.pasid(hqd.vmid()),
             // NOLINTNEXTLINE(bugprone-unchecked-optional-access): of_user() says so
             .busy = connection->aql ? connection->aql->busy() : connection->user_pm4->busy()});
    }
    return switching;
}

// Takes what the driver added to a PM4 ring since the last time, once that is done.
void CommandProcessor::fetch_ring(unsigned slot) {
    Hqd& hqd = hqds_[slot];
    if (connections_[slot]->follows) {
        hqd.registers[hqd::pq_rptr] = hqd.registers[hqd::pq_wptr];
        return;
    }
    Pm4Executor& executor = *connections_[slot]->pm4;
    const std::uint32_t mask = hqd.ring_dwords() - 1;
    std::uint32_t read = hqd.registers[hqd::pq_rptr] & mask;
    const std::uint32_t write = hqd.registers[hqd::pq_wptr] & mask;
    if (!executor.idle() || read == write)
        return;
    std::vector<std::uint32_t> dwords;
    for (; read != write; read = (read + 1) & mask)
        dwords.push_back(unit_.memory.read32(hqd.vmid(), hqd.ring_base() + 4ULL * read));
    unit_.clock.advance(dwords.size());
    // The ring's space is free as soon as the packets are inside.
    hqd.registers[hqd::pq_rptr] = read;
    if (const std::uint64_t report = hqd.pair(hqd::rptr_report); report != 0)
        unit_.memory.store32(hqd.vmid(), report, read);
    executor.push(hqd.vmid(), std::move(dwords));
}

std::string CommandProcessor::name_of(unsigned slot) const {
    const std::string xcc = unit_.xcc == 0 ? "" : fmt::format("xcc{}.", unit_.xcc);
    if (slot == hiq_slot_)
        return xcc + "hiq";
    if (slot == kiq_slot_)
        return xcc + "kiq";
    const HqdAddress address = address_of(slot);
    return fmt::format("{}me{}.pipe{}.queue{}", xcc, address.me, address.pipe, address.queue);
}

void CommandProcessor::trace_packet(unsigned slot, unsigned depth, unsigned vmid,
                                    std::uint8_t opcode, std::span<const std::uint32_t> body) {
    // SET_RESOURCES is what tells HIQ from KIQ, so look at it before naming the queue.
    if (static_cast<pm4::Opcode>(opcode) == pm4::Opcode::set_resources && !body.empty() &&
        hqds_[slot].vmid() == 0)
        (bits(body[0], 31, 29) == 1 ? hiq_slot_ : kiq_slot_) = slot;
    const std::string opcode_name = pm4::opcode_name(opcode);
    if (slot == hiq_slot_)
        unit_.observer.count("hiq_packets/" + opcode_name, 1);
    else if (slot == kiq_slot_)
        unit_.observer.count("kiq_packets", 1);
    if (!unit_.observer.tracing())
        return;
    std::string line = fmt::format("{}{} {}", name_of(slot), std::string(depth, '>'), opcode_name);
    if (vmid != 0)
        line += fmt::format(" vmid {}", vmid);
    for (std::size_t i = 0; i < body.size() && i < 20; ++i)
        line += fmt::format(" {:x}", body[i]);
    unit_.observer.event("pm4", line);
}

void CommandProcessor::unmodelled_packet(std::uint8_t opcode, std::span<const std::uint32_t> body) {
    unit_.observer.unmodelled("pm4",
                              fmt::format("{} with first dword {:#x}", pm4::opcode_name(opcode),
                                          body.empty() ? 0 : body[0]));
}

// A packet of the XCC names MMHUB registers (0x1a000 and up) by their low 16 bits too. Where no
// register of the XCC is, the access belongs to the hub of its AID.
std::uint32_t CommandProcessor::alias(std::uint32_t dword) const {
    const RegisterFile& file = unit_.registers.file();
    const std::uint32_t own = unit_.registers.place(dword);
    if (dword >= xcc_high_range && dword < xcc_aperture && !file.declared(own) &&
        file.declared(own + xcc_aperture))
        return own + xcc_aperture;
    return own % file.dwords();
}

void CommandProcessor::write_own_register(std::uint32_t dword, std::uint32_t value) {
    unit_.registers.file().write(alias(dword), value, actor_);
}

// Those of the queue's own dispatches. A queue of the kernel gets them with the first packet that
// wants them.
ComputeRegisters* CommandProcessor::compute_registers(unsigned slot) {
    Connection& connection = *connections_[slot];
    if (connection.user_pm4)
        return &connection.user_pm4->compute();
    if (connection.follows || slot == hiq_slot_ || slot == kiq_slot_)
        return nullptr;
    if (!connection.kernel) {
        bind(slot, {});
        connection.kernel.emplace(unit_.shaders, unit_.observer, slot);
    }
    return &connection.kernel->registers();
}

void CommandProcessor::write_register(unsigned slot, std::uint32_t dword, std::uint32_t value) {
    if (ComputeRegisters::has(dword)) {
        if (ComputeRegisters* registers = compute_registers(slot)) {
            (*registers)[dword] = value;
            return;
        }
    }
    if (slot == hiq_slot_)
        unit_.scheduler.write_register(dword, value);
    else
        write_own_register(dword, value);
    if (dword == reg::gc::CPC_INT_STATUS && (value & generic2_interrupt) != 0)
        unit_.interrupts.raise(
            {.client = ih::client_grbm_cp, .source = ih::source_cp_kiq, .ring = ring_id_of(slot)});
}

std::uint32_t CommandProcessor::read_register(unsigned slot, std::uint32_t dword) {
    if (ComputeRegisters::has(dword))
        if (const ComputeRegisters* registers = compute_registers(slot))
            return (*registers)[dword];
    return unit_.registers.file().read(alias(dword), actor_);
}

std::uint32_t CommandProcessor::read_memory(unsigned vmid, std::uint64_t va) {
    return unit_.memory.read32(vmid, va);
}

void CommandProcessor::write_memory(unsigned vmid, std::uint64_t va, std::uint32_t value) {
    unit_.memory.store32(vmid, va, value);
}

// PM4 only asks for 4-byte alignment of 64-bit data.
void CommandProcessor::write_memory64(unsigned vmid, std::uint64_t va, std::uint64_t value) {
    if (va % 8 == 0) {
        unit_.memory.store64(vmid, va, value);
        return;
    }
    unit_.memory.store32(vmid, va + 4, high_half(value));
    unit_.memory.store32(vmid, va, low_half(value));
}

std::vector<std::uint32_t> CommandProcessor::fetch(unsigned vmid, std::uint64_t va,
                                                   std::uint32_t dwords) {
    std::vector<std::uint32_t> words(dwords);
    if (!unit_.memory.read(vmid, va, std::as_writable_bytes(std::span(words))))
        words.clear();
    unit_.clock.advance(words.size());
    return words;
}

void CommandProcessor::end_of_pipe(unsigned slot, unsigned vmid, std::uint32_t context_id) {
    unit_.interrupts.raise({.client = ih::client_grbm_cp,
                            .source = ih::source_cp_end_of_pipe,
                            .ring = ring_id_of(slot),
                            .vmid = static_cast<std::uint8_t>(vmid),
                            .pasid = unit_.memory.pasid(vmid),
                            .context = {context_id}});
}

std::optional<Stall> CommandProcessor::dispatch(unsigned slot, const pm4::Dispatch& packet) {
    Connection& connection = *connections_[slot];
    if (!connection.user_pm4 && !connection.kernel)
        return std::nullopt;
    unit_.observer.count(fmt::format("dispatches_by_xcc/{}", unit_.xcc), 1);
    if (connection.user_pm4)
        return connection.user_pm4->dispatch(packet);
    Stall stall;
    if (const char* problem = connection.kernel->dispatch(packet, stall))
        unit_.observer.unmodelled("pm4", problem);
    return stall;
}

void CommandProcessor::set_resources(unsigned slot, const pm4::SetResources& packet) {
    if (slot == hiq_slot_)
        unit_.scheduler.set_resources(packet); // the KIQ only ever maps to slots it names
}

void CommandProcessor::start_run_list(const pm4::RunList& packet) {
    unit_.scheduler.start_run_list(packet);
}

void CommandProcessor::map_process(const pm4::MapProcess& packet) {
    unit_.scheduler.map_process(packet);
}

void CommandProcessor::map_queues(const pm4::MapQueues& packet) {
    if (packet.scheduler_chooses_slot || packet.sdma_engine) {
        unit_.scheduler.map_queues(packet);
        return;
    }
    const unsigned slot = slot_of({packet.me, packet.pipe, packet.queue});
    if (connected(slot)) {
        unit_.observer.unmodelled("cp", "MAP_QUEUES to an occupied slot");
        return;
    }
    load_mqd(slot, packet.mqd, packet, 0);
    connect(slot, false);
    connections_[slot]->follows = packet.hiq && unit_.xcc != 0;
}

Stall CommandProcessor::unmap_queues(unsigned slot, const pm4::UnmapQueues& packet) {
    if (slot == hiq_slot_)
        return unit_.scheduler.unmap_queues(slot, packet);
    if (packet.select != pm4::QueueSelect::by_doorbell) {
        unit_.observer.unmodelled("cp", "UNMAP_QUEUES of the KIQ that names no doorbell");
        return [] { return true; };
    }
    std::vector<unsigned> leaving;
    for (unsigned other = 0; other < hqd_slots; ++other)
        if (other != slot && connected(other) && packet.names(hqds_[other].doorbell_dword())) {
            leaving.push_back(other);
            begin_stop(other, packet.reset ? StopMode::reset : StopMode::save, false);
        }
    return [this, leaving] {
        bool all_left = true;
        for (const unsigned other : leaving)
            all_left &= left(other);
        return all_left;
    };
}

Stall CommandProcessor::query_status(unsigned slot, const pm4::QueryStatus& packet) {
    if (slot == hiq_slot_)
        return unit_.scheduler.query_status(packet);
    unit_.memory.store64(0, packet.address, packet.value);
    return {};
}

Stall CommandProcessor::delay_fence() {
    const Schedule::Step at = unit_.schedule.later(Schedule::Kind::fence);
    if (unit_.schedule.reached(at))
        return {};
    return [this, at] { return unit_.schedule.reached(at); };
}

void CommandProcessor::dispatch_completed(unsigned slot, std::uint64_t packet_index) {
    Connection* connection = connections_[slot].get();
    if (connection != nullptr && connection->aql)
        connection->aql->dispatch_completed(packet_index);
}

// SQ_INTERRUPT_WORD_WAVE: the 24 bits of data are spread over both context ids
// (KFD_CONTEXT_ID_GET_SQ_INT_DATA of kfd_int_process_v9.c); encoding 1 is s_sendmsg, 2 an error.
namespace {
std::array<std::uint32_t, 4> sq_context(std::uint32_t encoding, std::uint32_t data, bool priv) {
    return {bits(data, 11, 0) | (priv ? 1U << 13 : 0) | bits(data, 15, 12) << 28 | encoding << 26,
            bits(data, 23, 16)};
}
} // namespace

void CommandProcessor::wave_interrupt(unsigned slot, std::uint32_t payload, bool priv) {
    const unsigned vmid = hqds_[slot].vmid();
    unit_.interrupts.raise({.client = ih::client_se0sh,
                            .source = ih::source_sq_message,
                            .vmid = static_cast<std::uint8_t>(vmid),
                            .pasid = unit_.memory.pasid(vmid),
                            .context = sq_context(1, payload, priv)});
}

void CommandProcessor::wave_failed(unsigned slot, std::uint64_t pc, bool memory_fault) {
    unit_.observer.count("failed_waves", 1);
    if (unit_.observer.tracing())
        unit_.observer.event("sq", fmt::format("wave of queue {:#x} failed at {:#x}: {}",
                                               hqds_[slot].doorbell_dword(), pc,
                                               memory_fault ? "memory" : "instruction"));
    if (memory_fault)
        return; // the hub has raised its own interrupt
    constexpr std::uint32_t illegal_instruction = 1U << 20;
    const unsigned vmid = hqds_[slot].vmid();
    unit_.interrupts.raise({.client = ih::client_se0sh,
                            .source = ih::source_sq_message,
                            .vmid = static_cast<std::uint8_t>(vmid),
                            .pasid = unit_.memory.pasid(vmid),
                            .context = sq_context(2, illegal_instruction, false)});
}

} // namespace vgpu
