// SPDX-License-Identifier: MIT
// Random programs, operators, clients and faults of the driver against the daemon, in virtual time.
// Each seed is a run of its own: SEED=N EVENTS=1 repeats it.
#include "daemon_fixture.hpp"
#include "faulty_provider.hpp"

#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <optional>
#include <utility>

namespace {

using namespace xpreemptd;
using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using test::Dice;
using test::FakeProvider;
using test::FaultyProvider;

std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
    const char* text = std::getenv(name); // NOLINT(concurrency-mt-unsafe): one thread
    return text == nullptr ? fallback : std::strtoull(text, nullptr, 10);
}

constexpr std::array bands{"/realtime", "/high", "/normal", "/idle"};
constexpr std::array policies{"BAND", "BAND", "BAND", "HPF", "RR", "CFS", "K-EDF", "MLFQ", "AWF"};
constexpr pid_t most_processes = 8;
constexpr std::uint32_t most_queues = 3;

Rules random_rules(Dice& dice) {
    Rules rules;
    rules.policy_name = policies.at(dice.below(policies.size()));
    rules.parameters.bands.floor_percent = 0; // it lets lower bands run
    rules.parameters.bands.max_rate = 0;      // so does this one
    for (std::size_t band = 0; band < bands.size(); ++band) {
        Rule rule;
        rule.executable = bands.at(band);
        rule.set.band = static_cast<sched::Band>(band);
        rule.set.priority = -static_cast<std::int32_t>(band);
        rule.set.yields = dice.chance(0.5);
        rules.rules.push_back(rule);
    }
    return rules;
}

class RandomRun {
public:
    explicit RandomRun(std::uint64_t seed);
    void run();
    [[nodiscard]] std::uint64_t events() const { return events_; }
    // For a failure: the configuration, each job and its queues.
    void print() const;

private:
    using Queue = FakeProvider::Queue;
    using Process = FakeProvider::Process;

    void start_daemon();
    void pass(nanoseconds time);
    void deliver();
    void disturb();
    void calm_down();
    void check();
    void check_holds(const std::vector<JobReport>& jobs) const;
    void check_order(const JobReport& higher, const JobReport& lower) const;
    void drop_holds_of_programs(pid_t pid, Process& process);
    void end_all();

    // Programs do these, also while the daemon waits for the driver.
    void happen();
    void start_process();
    void end_process();
    void create_queue();
    void destroy_queue();
    void submit();
    void finish();
    void allocate();
    void lock();
    // Operators and clients do these; a daemon crashes.
    void operate();
    void ask();
    void hint();
    void crash();

    template <typename Matches> bool any_queue(const JobReport& job, Matches matches) const;
    [[nodiscard]] bool has_work(const JobReport& job) const;
    [[nodiscard]] bool is_held(const JobReport& job) const;
    [[nodiscard]] bool is_others(const JobReport& job) const;
    [[nodiscard]] Queue* any_queue();

    Dice dice_;
    FakeProvider gpu_;
    FaultyProvider driver_;
    std::vector<std::string> lines_;
    std::optional<Daemon> daemon_;
    const Rules rules_;
    const bool forces_; // operators do
    std::uint64_t events_ = 0, generation_ = 0;
};

RandomRun::RandomRun(std::uint64_t seed)
    : dice_(seed), driver_(gpu_, dice_, [this] { happen(); }), rules_(random_rules(dice_)),
      forces_(dice_.chance(0.2)) {
    gpu_.has_watch = dice_.chance(0.9);
    if (dice_.chance(0.3))
        gpu_.most_watched = dice_.below(most_processes);
    if (dice_.chance(0.3))
        gpu_.vram_size = 100;
    gpu_.lock_wait = milliseconds{dice_.chance(0.8) ? 1 : 60};
    start_daemon();
}

void RandomRun::start_daemon() {
    daemon_.emplace(
        driver_, rules_, [this](pid_t pid) { return gpu_.read_facts(pid); },
        [this](pid_t pid) { return gpu_.origin(pid); }, [this] { return gpu_.now; },
        [this](LogLevel, const std::string& line) { lines_.push_back(line); });
    daemon_->start();
}

// The driver resumes what the daemon has held, but for processes whose memory is away.
void RandomRun::crash() {
    daemon_.reset();
    (void)gpu_.take_moved();
    gpu_.events.clear();
    for (auto& [pid, process] : gpu_.running) {
        process.cookie = process.watch_id = 0;
        process.armed = process.gives = false;
        process.wants = 0;
        for (auto& [id, queue] : process.queues)
            queue.held_by_program =
                std::exchange(queue.held, false) && gpu_.vram_size != 0 && gpu_.vram[pid].away != 0;
    }
    start_daemon();
}

void RandomRun::start_process() {
    const auto pid = static_cast<pid_t>(10 + dice_.below(most_processes));
    if (gpu_.running.contains(pid) || gpu_.is_moving(pid))
        return;
    driver_.note_start(pid);
    gpu_.create_queue(pid, 1, static_cast<std::uint32_t>(1 + dice_.below(2)));
    Process& process = gpu_.running.at(pid);
    process.executable = bands.at(dice_.below(bands.size()));
    process.generation = ++generation_;
    process.uid = static_cast<uid_t>(dice_.below(2));
    process.blind = dice_.chance(0.05);
    if (dice_.chance(0.7))
        process.cgroup = fmt::format("/job{}.service", dice_.below(4));
}

void RandomRun::end_process() {
    const pid_t pid = dice_.any_of(gpu_.running)->first;
    gpu_.exit(pid);
    gpu_.vram.erase(pid);
}

void RandomRun::create_queue() {
    const pid_t pid = dice_.any_of(gpu_.running)->first;
    const auto id = static_cast<std::uint32_t>(1 + dice_.below(most_queues));
    if (!gpu_.running.at(pid).queues.contains(id))
        gpu_.create_queue(pid, id, static_cast<std::uint32_t>(1 + dice_.below(2)),
                          dice_.chance(0.8));
}

void RandomRun::destroy_queue() {
    auto& [pid, process] = *dice_.any_of(gpu_.running);
    if (!process.queues.empty() && !gpu_.is_moving(pid))
        gpu_.destroy_queue(pid, dice_.any_of(process.queues)->first);
}

RandomRun::Queue* RandomRun::any_queue() {
    Process& process = dice_.any_of(gpu_.running)->second;
    return process.queues.empty() ? nullptr : &dice_.any_of(process.queues)->second;
}

void RandomRun::submit() {
    auto& [pid, process] = *dice_.any_of(gpu_.running);
    if (!process.queues.empty())
        gpu_.submit(pid, dice_.any_of(process.queues)->first, dice_.below(3));
}

void RandomRun::finish() {
    Queue* queue = any_queue();
    if (queue != nullptr && !queue->held && !queue->held_by_other && !queue->held_by_program)
        queue->packets = 0;
}

void RandomRun::allocate() {
    const auto& [pid, process] = *dice_.any_of(gpu_.running);
    const xpreemptd::VramUse& use = gpu_.vram[pid];
    // Keep room in VRAM for the next request of the process.
    if (use.resident + use.away < gpu_.vram_size / 2 && process.wants == 0 && !gpu_.is_moving(pid))
        gpu_.allocate(pid, dice_.below(gpu_.vram_size / 4));
}

void RandomRun::lock() {
    Process& process = dice_.any_of(gpu_.running)->second;
    process.locked = dice_.chance(0.3);
    process.flaps = dice_.chance(0.1);
    if (Queue* queue = any_queue())
        queue->known = dice_.chance(0.7);
}

void RandomRun::happen() {
    constexpr std::array<std::pair<std::uint64_t, void (RandomRun::*)()>, 7> happenings{
        {{35, &RandomRun::submit},
         {35, &RandomRun::finish},
         {8, &RandomRun::create_queue},
         {6, &RandomRun::destroy_queue},
         {5, &RandomRun::end_process},
         {5, &RandomRun::allocate},
         {3, &RandomRun::lock}}};
    ++events_;
    if (gpu_.running.empty() || dice_.chance(0.1))
        return start_process();
    std::uint64_t number = dice_.below(97);
    for (const auto& [weight, happening] : happenings) {
        if (number < weight)
            return (this->*happening)();
        number -= weight;
    }
}

void RandomRun::operate() {
    Queue* queue = gpu_.running.empty() ? nullptr : any_queue();
    if (queue == nullptr)
        return;
    if (forces_ && dice_.chance(0.5))
        queue->held = false;
    else
        queue->held_by_other = dice_.chance(0.3);
}

void RandomRun::ask() {
    const auto pid = static_cast<pid_t>(10 + dice_.below(most_processes));
    const Caller root{pid, 0, 0};
    switch (dice_.below(6)) {
    case 0:
        (void)daemon_->change(root, pid, {.band = static_cast<sched::Band>(dice_.below(4))});
        break;
    case 1: (void)daemon_->focus(root, pid); break;
    case 2: (void)daemon_->set_policy(root, policies.at(dice_.below(policies.size()))); break;
    case 3: daemon_->reload(rules_); break;
    case 4: (void)daemon_->adopt(root, {.band = sched::Band::high}); break;
    default: (void)daemon_->trace(dice_.below(1000)); (void)daemon_->status();
    }
}

void RandomRun::hint() {
    if (gpu_.running.empty() || dice_.chance(0.2))
        return daemon_->forget(dice_.below(4));
    const auto& [pid, process] = *dice_.any_of(gpu_.running);
    const Caller caller{pid, dice_.chance(0.5) ? 0 : process.uid, dice_.below(4)};
    const microseconds soon{dice_.below(20'000)};
    const std::array<Hint, 6> hints{BeginHint{},
                                    BeginHint{soon},
                                    EndHint{},
                                    SoonHint{soon},
                                    BandHint{static_cast<sched::Band>(dice_.below(4))},
                                    PriorityHint{static_cast<std::int32_t>(dice_.below(9))}};
    (void)daemon_->hint(caller, hints.at(dice_.below(hints.size())));
}

// Events in any order.
void RandomRun::deliver() {
    if (gpu_.events.size() > 1)
        std::swap(gpu_.events.front(), *dice_.any_of(gpu_.events));
    daemon_->on_events();
    driver_.end_turn();
}

// As the loop of main() does it, but some events and moves come late.
void RandomRun::pass(nanoseconds time) {
    const Time end = gpu_.now + time;
    Time before = gpu_.now;
    for (int turns = 0;; ++turns) {
        if (std::exchange(before, gpu_.now) != gpu_.now)
            turns = 0;
        ASSERT_LT(turns, 100) << "the daemon spins";
        if (!gpu_.events.empty() && !dice_.chance(2 * driver_.fails))
            deliver();
        if (!gpu_.moving.empty() && !dice_.chance(5 * driver_.fails))
            daemon_->on_moved();
        if (daemon_->next() > end)
            break;
        gpu_.now = std::max(gpu_.now, daemon_->next());
        daemon_->on_time();
    }
    gpu_.now = std::max(gpu_.now, end);
}

void RandomRun::disturb() {
    driver_.fails = dice_.chance(0.5) ? 0.05 : 0;
    driver_.is_slow = dice_.chance(0.3) ? 0.02 : 0;
    driver_.is_interrupted = dice_.chance(0.5) ? 0.1 : 0;
    const double refuses = dice_.chance(0.5) ? 0.2 : 0;
    gpu_.refuse = [this, refuses](const Switch&) {
        constexpr std::array errors{EBUSY, ENOMEM, ENOSPC, ETIME};
        return dice_.chance(refuses) ? errors.at(dice_.below(errors.size())) : 0;
    };
}

// Longer than the grace that follows slow switches, enough scans to audit all processes, and longer
// than the daemon leaves a process alone that was locked.
void RandomRun::calm_down() {
    driver_.fails = driver_.is_slow = driver_.is_interrupted = 0;
    gpu_.refuse = [](const Switch&) { return 0; };
    for (auto& [pid, process] : gpu_.running) {
        process.locked = process.flaps = false;
        for (auto& [id, queue] : process.queues)
            queue.known = true;
    }
    pass(milliseconds{2000} + 100 * (gpu_.lock_wait + 2 * FaultyProvider::longest));
}

template <typename Matches> bool RandomRun::any_queue(const JobReport& job, Matches matches) const {
    return std::ranges::any_of(job.pids, [&](pid_t pid) {
        return std::ranges::any_of(gpu_.running.at(pid).queues,
                                   [&](const auto& of) { return matches(of.second); });
    });
}

bool RandomRun::has_work(const JobReport& job) const {
    return any_queue(job, [](const Queue& queue) { return queue.packets != 0; });
}
bool RandomRun::is_held(const JobReport& job) const {
    return any_queue(job, [](const Queue& queue) { return queue.held; });
}
bool RandomRun::is_others(const JobReport& job) const {
    return any_queue(
        job, [](const Queue& queue) { return queue.held_by_other || queue.held_by_program; });
}

bool share_gpus(const JobReport& job, const JobReport& other) {
    return std::ranges::find_first_of(job.gpu_ids, other.gpu_ids) != job.gpu_ids.end();
}

void RandomRun::check_holds(const std::vector<JobReport>& jobs) const {
    for (const JobReport& job : jobs) {
        // A hold of others hides that an operator has ended ours.
        EXPECT_TRUE(is_held(job) == (job.state == JobState::held) || is_others(job))
            << job.name << ", in the driver";
        // It may wait for VRAM, and policies that divide the time may keep a GPU free for a gang.
        if (!is_held(job) || gpu_.vram_size != 0 || daemon_->status().policy != "BAND")
            continue;
        EXPECT_TRUE(std::ranges::any_of(jobs,
                                        [&](const JobReport& other) {
                                            return share_gpus(job, other) && has_work(other) &&
                                                   !is_held(other);
                                        }))
            << job.name << " is held for nobody";
    }
}

// Both have work.
void RandomRun::check_order(const JobReport& higher, const JobReport& lower) const {
    if (!share_gpus(higher, lower) || is_held(higher) || is_others(higher) || is_others(lower))
        return;
    EXPECT_FALSE(any_queue(lower, [](const Queue& queue) { return queue.compute && !queue.held; }))
        << lower.name << " runs beside " << higher.name << ", which has a higher band";
}

void RandomRun::check() {
    const std::vector<JobReport> jobs = daemon_->jobs();
    std::size_t known = 0;
    for (const JobReport& job : jobs)
        for (const pid_t pid : job.pids) {
            ASSERT_TRUE(gpu_.running.contains(pid)) << pid << " has ended";
            ++known;
        }
    EXPECT_EQ(known, gpu_.running.size()) << "processes";
    EXPECT_EQ(daemon_->status().ejected, "");
    check_holds(jobs);
    if (daemon_->status().policy != "BAND" || forces_ || gpu_.vram_size != 0)
        return;
    for (const JobReport& higher : jobs)
        for (const JobReport& lower : jobs)
            if (higher.attributes.band < lower.attributes.band && has_work(higher) &&
                has_work(lower))
                check_order(higher, lower);
}

// As the driver does when VRAM has room.
void RandomRun::drop_holds_of_programs(pid_t pid, Process& process) {
    xpreemptd::VramUse& use = gpu_.vram[pid];
    if (use.away > *gpu_.free_vram(1))
        return;
    for (auto& [id, queue] : process.queues)
        if (std::exchange(queue.held_by_program, false))
            use.resident += std::exchange(use.away, 0);
}

// Each job gets its turn, and at the end nothing is held.
void RandomRun::end_all() {
    calm_down();
    for (int round = 0; round < 40; ++round) {
        for (auto& [pid, process] : gpu_.running) {
            bool done = true;
            for (auto& [id, queue] : process.queues) {
                queue.held_by_other = false;
                if (!queue.held && !queue.held_by_program)
                    queue.packets = 0;
                done = done && queue.packets == 0;
            }
            if (done) // frees its memory
                gpu_.vram[pid].resident = 0;
            drop_holds_of_programs(pid, process);
        }
        pass(milliseconds{500});
    }
    for (const auto& [pid, process] : gpu_.running)
        for (const auto& [id, queue] : process.queues) {
            EXPECT_EQ(queue.packets, 0U) << "pid " << pid << " never ran";
            // Without work it may stay away from VRAM.
            EXPECT_TRUE(!queue.held || gpu_.vram_size != 0)
                << "pid " << pid << " is held at the end";
        }
    if (testing::Test::HasFailure())
        return;
    while (!gpu_.running.empty())
        end_process();
    pass(milliseconds{300});
    EXPECT_TRUE(daemon_->jobs().empty());
}

void RandomRun::run() {
    constexpr int happenings = 400;
    for (int i = 0; i < happenings && !testing::Test::HasFailure(); ++i) {
        if (i % 100 == 99) {
            calm_down();
            check();
            if (testing::Test::HasFailure())
                return;
        }
        if (i % 20 == 0)
            disturb();
        happen();
        if (dice_.chance(0.1))
            operate();
        if (dice_.chance(0.05))
            ask();
        if (dice_.chance(0.1))
            hint();
        if (dice_.chance(0.003))
            crash();
        if (dice_.chance(0.05))
            daemon_->on_time(); // early
        pass(microseconds{dice_.below(3'000)});
    }
    if (!testing::Test::HasFailure())
        end_all();
}

void RandomRun::print() const {
    fmt::print("# policy {}, {}{}{} processes watched\n", daemon_->status().policy,
               forces_ ? "forced resumes, " : "", gpu_.vram_size != 0 ? "moves, " : "",
               gpu_.has_watch ? gpu_.most_watched : 0);
    for (const JobReport& job : daemon_->jobs()) {
        fmt::print("# job {} {}, band {}, state {}\n", job.id, job.name,
                   name_of(job.attributes.band), static_cast<int>(job.state));
        for (const pid_t pid : job.pids)
            for (const auto& [id, queue] : gpu_.running.at(pid).queues)
                fmt::print("#   pid {} queue {} on GPU {}:{}{}{}{}{}{}\n", pid, id, queue.gpu_id,
                           queue.compute ? "" : " copies", queue.packets != 0 ? " works" : "",
                           queue.held ? " held" : "", queue.held_by_other ? " held by other" : "",
                           queue.held_by_program ? " held by program" : "",
                           gpu_.vram.contains(pid) && gpu_.vram.at(pid).away != 0 ? " away" : "");
        fmt::print("#   resident {}, yielded {}, missing {}\n", job.resident_bytes,
                   job.yielded_bytes, job.missing_bytes);
    }
}

TEST(RandomDaemonTest, no_job_is_held_for_nothing_whatever_happens) {
    const std::uint64_t first = from_environment("SEED", 1);
    const std::uint64_t wanted = from_environment("EVENTS", 20'000);
    std::uint64_t events = 0, seed = first;
    for (; events < wanted && !HasFailure(); ++seed) {
        SCOPED_TRACE(fmt::format("SEED={} EVENTS=1 repeats it", seed));
        RandomRun run(seed);
        run.run();
        events += run.events();
        if (HasFailure())
            run.print();
    }
    fmt::print("# {} events, seeds {} to {}\n", events, first, seed - 1);
}

} // namespace
