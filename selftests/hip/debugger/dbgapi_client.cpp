// SPDX-License-Identifier: MIT
// A debugger of AMD's library rocm-dbgapi: stops all waves of a running HIP program `registers`,
// compares every register that the program has set, changes one, and detaches. Prints TAP. Waits
// for a line on stdin while the waves are stopped. usage: dbgapi_client PID WAVES STEPS
#include <amd-dbgapi/amd-dbgapi.h>

#include <array>
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <map>
#include <string>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace {

struct Process {
    pid_t pid = 0;
    int memory = -1;
};

unsigned number = 0;
unsigned failed = 0;

void result(bool good, const std::string& what) {
    std::printf("%sok %u - %s\n", good ? "" : "not ", ++number, what.c_str());
    failed += good ? 0 : 1;
    std::fflush(stdout);
}

void need(amd_dbgapi_status_t status, const char* what) {
    if (status == AMD_DBGAPI_STATUS_SUCCESS) {
        return;
    }
    const char* text = "";
    amd_dbgapi_get_status_string(status, &text);
    result(false, std::string(what) + ": " + text);
    std::exit(1);
}

amd_dbgapi_status_t process_info(amd_dbgapi_client_process_id_t client,
                                 amd_dbgapi_client_process_info_t query, size_t size, void* value) {
    if (query != AMD_DBGAPI_CLIENT_PROCESS_INFO_OS_PID) {
        return AMD_DBGAPI_STATUS_ERROR_NOT_AVAILABLE;
    }
    if (size != sizeof(pid_t)) {
        return AMD_DBGAPI_STATUS_ERROR_INVALID_ARGUMENT_COMPATIBILITY;
    }
    std::memcpy(value, &reinterpret_cast<const Process*>(client)->pid, size);
    return AMD_DBGAPI_STATUS_SUCCESS;
}

// The program loads no code after it is attached to, so none of them is ever reached.
amd_dbgapi_status_t insert(amd_dbgapi_client_process_id_t, amd_dbgapi_global_address_t,
                           amd_dbgapi_breakpoint_id_t) {
    return AMD_DBGAPI_STATUS_SUCCESS;
}
amd_dbgapi_status_t remove(amd_dbgapi_client_process_id_t, amd_dbgapi_breakpoint_id_t) {
    return AMD_DBGAPI_STATUS_SUCCESS;
}

amd_dbgapi_status_t transfer(amd_dbgapi_client_process_id_t client,
                             amd_dbgapi_global_address_t address, amd_dbgapi_size_t* size,
                             void* read, const void* write) {
    const auto* process = reinterpret_cast<const Process*>(client);
    const ssize_t done = read != nullptr
                             ? pread(process->memory, read, *size, static_cast<off_t>(address))
                             : pwrite(process->memory, write, *size, static_cast<off_t>(address));
    if (done <= 0) {
        return AMD_DBGAPI_STATUS_ERROR_MEMORY_ACCESS;
    }
    *size = static_cast<amd_dbgapi_size_t>(done);
    return AMD_DBGAPI_STATUS_SUCCESS;
}

void log(amd_dbgapi_log_level_t level, const char* message) {
    std::printf("# dbgapi %d: %s\n", level, message);
    std::fflush(stdout);
}

std::string register_name(amd_dbgapi_register_id_t id) {
    char* name = nullptr;
    need(amd_dbgapi_register_get_info(id, AMD_DBGAPI_REGISTER_INFO_NAME, sizeof(name), &name),
         "name of a register");
    std::string text = name;
    std::free(name);
    return text;
}

using Waves = std::vector<amd_dbgapi_wave_id_t>;

Waves waves_of(amd_dbgapi_process_id_t process) {
    std::size_t count = 0;
    amd_dbgapi_wave_id_t* list = nullptr;
    need(amd_dbgapi_process_wave_list(process, &count, &list, nullptr), "list of waves");
    Waves waves(list, list + count);
    std::free(list);
    return waves;
}

// Events until `count` waves have stopped.
bool wait_for_stops(amd_dbgapi_process_id_t process, std::size_t count) {
    for (unsigned polls = 0; count > 0 && polls < 20'000; ++polls) {
        amd_dbgapi_event_id_t event{};
        amd_dbgapi_event_kind_t kind{};
        need(amd_dbgapi_process_next_pending_event(process, &event, &kind), "next event");
        if (kind == AMD_DBGAPI_EVENT_KIND_NONE) {
            usleep(1000);
            continue;
        }
        count -= kind == AMD_DBGAPI_EVENT_KIND_WAVE_STOP ? 1 : 0;
        need(amd_dbgapi_event_processed(event), "end of an event");
    }
    return count == 0;
}

std::uint64_t pc_of(amd_dbgapi_wave_id_t wave) {
    std::uint64_t pc = 0;
    need(amd_dbgapi_wave_get_info(wave, AMD_DBGAPI_WAVE_INFO_PC, sizeof(pc), &pc), "PC of a wave");
    return pc;
}

// Some instructions rocm-dbgapi only simulates, so one step alone says little of the GPU.
bool takes_step(amd_dbgapi_process_id_t process, amd_dbgapi_wave_id_t wave) {
    const std::uint64_t before = pc_of(wave);
    need(
        amd_dbgapi_wave_resume(wave, AMD_DBGAPI_RESUME_MODE_SINGLE_STEP, AMD_DBGAPI_EXCEPTION_NONE),
        "single step");
    if (!wait_for_stops(process, 1)) {
        return false;
    }
    amd_dbgapi_wave_stop_reasons_t reasons{};
    need(
        amd_dbgapi_wave_get_info(wave, AMD_DBGAPI_WAVE_INFO_STOP_REASON, sizeof(reasons), &reasons),
        "reason of a stop");
    return (reasons & AMD_DBGAPI_WAVE_STOP_REASON_SINGLE_STEP) != 0 && pc_of(wave) != before;
}

struct Place {
    std::array<std::uint32_t, 3> group{};
    std::uint32_t wave = 0;
};

} // namespace

int main(int count, char** arguments) {
    if (count != 4) {
        std::fprintf(stderr, "usage: dbgapi_client PID WAVES STEPS\n");
        return 64;
    }
    Process target{std::atoi(arguments[1]), -1};
    const auto expected = static_cast<std::size_t>(std::atoi(arguments[2]));
    const auto steps = static_cast<unsigned>(std::atoi(arguments[3]));
    const bool traced = ptrace(PTRACE_SEIZE, target.pid, 0, 0) == 0;
    target.memory =
        open(("/proc/" + std::to_string(target.pid) + "/mem").c_str(), O_RDWR | O_CLOEXEC);
    result(traced && target.memory >= 0, "the program can be traced");

    amd_dbgapi_callbacks_t callbacks{};
    callbacks.allocate_memory = std::malloc;
    callbacks.deallocate_memory = std::free;
    callbacks.client_process_get_info = process_info;
    callbacks.insert_breakpoint = insert;
    callbacks.remove_breakpoint = remove;
    callbacks.xfer_global_memory = transfer;
    callbacks.log_message = log;
    amd_dbgapi_set_log_level(AMD_DBGAPI_LOG_LEVEL_WARNING);
    need(amd_dbgapi_initialize(&callbacks), "initialize");
    amd_dbgapi_process_id_t process{};
    need(amd_dbgapi_process_attach(reinterpret_cast<amd_dbgapi_client_process_id_t>(&target),
                                   &process),
         "attach");
    result(true, "dbgapi attaches");

    const Waves waves = waves_of(process);
    result(waves.size() == expected,
           std::to_string(waves.size()) + " waves of " + std::to_string(expected));
    for (const amd_dbgapi_wave_id_t wave : waves) {
        need(amd_dbgapi_wave_stop(wave), "stop of a wave");
    }
    result(wait_for_stops(process, waves.size()), "each wave stops");
    for (int got = 0; got != '\n' && got != EOF;) {
        got = std::getchar();
    }

    std::map<std::uint32_t, amd_dbgapi_wave_id_t> by_first_id; // of its lanes
    unsigned wrong = 0;
    amd_dbgapi_register_id_t to_change{};
    amd_dbgapi_wave_id_t changed_wave{};
    for (const amd_dbgapi_wave_id_t wave : waves) {
        Place place;
        need(amd_dbgapi_wave_get_info(wave, AMD_DBGAPI_WAVE_INFO_WORKGROUP_COORD,
                                      sizeof(place.group), place.group.data()),
             "workgroup of a wave");
        need(amd_dbgapi_wave_get_info(wave, AMD_DBGAPI_WAVE_INFO_WAVE_NUMBER_IN_WORKGROUP,
                                      sizeof(place.wave), &place.wave),
             "place of a wave");
        const std::uint32_t first = place.group[0] * 128 + place.wave * 64;
        by_first_id[first] = wave;
        std::size_t registers = 0;
        amd_dbgapi_register_id_t* list = nullptr;
        need(amd_dbgapi_wave_register_list(wave, &registers, &list), "registers of a wave");
        unsigned seen = 0;
        for (std::size_t i = 0; i < registers; ++i) {
            const std::string name = register_name(list[i]);
            if (name == "v40" || name == "a7") {
                std::array<std::uint32_t, 64> lanes{};
                need(amd_dbgapi_read_register(wave, list[i], 0, sizeof(lanes), lanes.data()),
                     name.c_str());
                for (std::uint32_t lane = 0; lane < 64; ++lane) {
                    wrong += lanes[lane] != 0x5a00'0000 + first + lane;
                }
                ++seen;
                if (first == 64 && name == "v40") {
                    to_change = list[i];
                    changed_wave = wave;
                }
            } else if (name == "s40") {
                std::uint32_t value = 0;
                need(amd_dbgapi_read_register(wave, list[i], 0, sizeof(value), &value),
                     name.c_str());
                wrong += value != 0x600d'0000;
                ++seen;
            }
        }
        std::free(list);
        wrong += seen != 3;
    }
    result(wrong == 0, "v40, a7 and s40 of each wave are what the program put there");
    result(by_first_id.size() == expected && by_first_id.rbegin()->first == (expected - 1) * 64,
           "each wave knows its workgroup and its place in it");

    unsigned good_steps = 0;
    while (good_steps < steps && takes_step(process, changed_wave)) {
        ++good_steps;
    }
    result(good_steps == steps, std::to_string(good_steps) + " single steps of a wave");

    const std::uint32_t other = 0x0dec'ade0;
    need(amd_dbgapi_write_register(changed_wave, to_change, 3 * 4, sizeof(other), &other),
         "write of v40");
    for (const amd_dbgapi_wave_id_t wave : waves) {
        need(amd_dbgapi_wave_resume(wave, AMD_DBGAPI_RESUME_MODE_NORMAL, AMD_DBGAPI_EXCEPTION_NONE),
             "resume of a wave");
    }
    need(amd_dbgapi_process_detach(process), "detach");
    need(amd_dbgapi_finalize(), "finalize");
    result(true, "dbgapi detaches");
    std::printf("1..%u\n", number);
    return failed == 0 ? 0 : 1;
}
