// SPDX-License-Identifier: MIT
// trace: asks xpreemptd for its records as they come, and writes them to a file.
#include "daemon/daemon.hpp"
#include "daemon/scheduling.hpp"
#include "output/interrupt.hpp"
#include "output/names.hpp"
#include "output/trace_writer.hpp"
#include "processes/error_messages.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fmt/format.h>
#include <memory>

namespace cli {

namespace {

using Clock = std::chrono::steady_clock;
using namespace std::chrono_literals;

// The daemon keeps some seconds.
constexpr std::chrono::nanoseconds interval = 100ms;

struct Close {
    void operator()(std::FILE* file) const { std::fclose(file); }
};

class Tracing {
public:
    Tracing(const Daemon& daemon, std::FILE* file) : daemon_(daemon), file_(file) {}

    Outcome<void> begin() {
        const auto page = daemon_.trace(std::nullopt);
        if (!page)
            return tl::make_unexpected(page.error());
        now_ = page->now;
        put(writer_.begin(now_));
        return from_here(*page);
    }
    // All records that there are.
    Outcome<void> read() {
        for (;;) {
            const auto page = daemon_.trace(next_);
            if (!page)
                return tl::make_unexpected(page.error());
            now_ = page->now;
            if (page->lost > 0) {
                // Drop this page too: its records build on the lost ones.
                lost_ += page->lost + page->records.size();
                put(writer_.lost(page->lost + page->records.size()));
                const auto here = daemon_.trace(std::nullopt);
                return here ? from_here(*here) : tl::make_unexpected(here.error());
            }
            if (page->records.empty())
                return {};
            for (const xpreemptd::ShownRecord& shown : page->records) {
                if (!writer_.knows(shown.record.job) && shown.record.job != 0)
                    if (const auto jobs = daemon_.jobs(); jobs)
                        put(writer_.names(*jobs));
                put(writer_.record(shown));
            }
            next_ = page->next;
        }
    }
    void end() { put(writer_.end(now_)); }

    [[nodiscard]] int failed() const { return failed_; } // an errno of the file, or 0
    [[nodiscard]] std::uint64_t events() const { return writer_.events(); }
    [[nodiscard]] std::uint64_t lost() const { return lost_; }

private:
    // First the number, then the phases: changes in between are recorded again.
    Outcome<void> from_here(const xpreemptd::TracePage& page) {
        next_ = page.next;
        const auto jobs = daemon_.jobs();
        if (!jobs)
            return tl::make_unexpected(jobs.error());
        put(writer_.phases(*jobs, page.now));
        return {};
    }
    void put(const std::string& text) {
        if (failed_ == 0 && std::fwrite(text.data(), 1, text.size(), file_) != text.size())
            failed_ = errno;
    }

    const Daemon& daemon_;
    std::FILE* file_;
    TraceWriter writer_;
    std::chrono::nanoseconds now_{0};
    std::uint64_t next_ = 0, lost_ = 0;
    int failed_ = 0;
};

Failure not_written(const std::string& output, int error) {
    return {exit_of(error), error,
            fmt::format("{}: not written: {}", printable(output), std::strerror(error))};
}

} // namespace

Report trace(const Context& context, const std::string& output, double seconds) {
    const Outcome<Daemon> daemon = Daemon::connect(context);
    if (!daemon)
        return report_of(daemon.error());
    const std::unique_ptr<std::FILE, Close> file(std::fopen(output.c_str(), "we"));
    if (!file)
        return report_of(not_written(output, errno));
    const auto end = seconds > 0 ? Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                                      std::chrono::duration<double>(seconds))
                                 : Clock::time_point::max();
    Tracing tracing(*daemon, file.get());
    Outcome<void> outcome = tracing.begin();
    for (bool last = false; outcome && !last && tracing.failed() == 0;) {
        last = Clock::now() >= end || told_to_end(std::min<std::chrono::nanoseconds>(
                                          interval, std::max(end - Clock::now(), 0ns)));
        outcome = tracing.read();
    }
    tracing.end(); // also where the daemon has ended: what there is can be loaded
    if (tracing.failed() != 0 || std::fflush(file.get()) != 0)
        return report_of(not_written(output, tracing.failed() != 0 ? tracing.failed() : errno));
    if (!outcome) {
        Failure failure = outcome.error();
        failure.message += fmt::format(" ({} has the events until then)", printable(output));
        return report_of(failure);
    }
    Report report;
    report.json["file"] = output;
    report.json["events"] = tracing.events();
    report.json["lost"] = tracing.lost();
    report.text =
        fmt::format("{}: {} events, {} records lost; open it in https://ui.perfetto.dev\n",
                    printable(output), tracing.events(), tracing.lost());
    return report;
}

} // namespace cli
