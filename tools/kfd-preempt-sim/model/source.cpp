// SPDX-License-Identifier: MIT
// Requests on the streams of a job, and a language model server with continuous batching.
#include "source.hpp"

#include <algorithm>

namespace sim {

namespace {

// A program announces its work a little longer than it expects: a lapse would resume others.
constexpr Time announcement_margin = 1 * ms;

class Requests final : public Source {
public:
    Requests(const JobSpec& spec, std::size_t job, std::uint64_t seed, Gpu& gpu)
        : Source(spec, job, seed, gpu), streams_(spec.streams) {
        for (std::uint32_t stream = spec.streams; stream > 0; --stream)
            free_.push_back(stream - 1);
    }

    void start() override {
        if (spec_.arrival != Arrival::closed)
            return;
        for (std::uint32_t stream = 0; stream < spec_.streams; ++stream)
            streams_[stream].resumes_at = spec_.start;
        free_.clear();
        plan();
    }
    [[nodiscard]] Time next() const override {
        const Time submits = announcing_.empty() ? never : announcing_.front().at;
        return std::min({arrivals_.next(), submits, next_resume_});
    }
    void on_time(Time now) override;
    void on_done(std::uint32_t stream, Time now) override;

private:
    struct Waiting {
        Time at = 0;
        double work = 0;
    };
    struct Stream {
        Waiting request;
        std::uint32_t kernels_left = 0;
        Time resumes_at = never; // after a gap of the host
    };

    void arrive(Waiting request, Time now);
    void begin(std::uint32_t stream, const Waiting& request, Time now);
    void continue_stream(std::uint32_t stream, Time now);
    void plan() {
        next_resume_ = never;
        for (const Stream& stream : streams_)
            next_resume_ = std::min(next_resume_, stream.resumes_at);
    }
    [[nodiscard]] double draw() {
        return spec_.gap > 0 && spec_.kernels > 1 ? arrivals_.draw_kernel()
                                                  : arrivals_.draw_request();
    }

    std::vector<Stream> streams_;
    std::vector<std::uint32_t> free_;
    std::deque<Waiting> waiting_, announcing_;
    Time next_resume_ = never;
};

void Requests::begin(std::uint32_t stream, const Waiting& request, Time now) {
    streams_[stream].request = request;
    if (spec_.newest) // a client that submits when it is done with the last one
        streams_[stream].request.at = now;
    streams_[stream].kernels_left = spec_.gap > 0 ? spec_.kernels : 1;
    submit(stream, request.work, now);
}

void Requests::arrive(Waiting request, Time now) {
    record_.arrived += now >= measured_from_ ? 1U : 0U;
    if (!free_.empty()) {
        const std::uint32_t stream = free_.back();
        free_.pop_back();
        begin(stream, request, now);
    } else if (spec_.newest && !waiting_.empty()) {
        ++record_.replaced;
        waiting_.back() = request;
    } else {
        waiting_.push_back(request);
    }
}

// The next kernel of a request, or the next request of a closed loop.
void Requests::continue_stream(std::uint32_t stream, Time now) {
    Stream& of = streams_[stream];
    of.resumes_at = never;
    if (of.kernels_left > 0) {
        submit(stream, arrivals_.draw_kernel(), now);
        return;
    }
    record_.arrived += now >= measured_from_ ? 1U : 0U;
    begin(stream, {now, draw()}, now);
}

void Requests::on_time(Time now) {
    while (arrivals_.next() <= now) {
        const TraceEntry entry = arrivals_.take();
        const Waiting request{now + spec_.announce,
                              entry.work > 0 ? static_cast<double>(entry.work) : draw()};
        if (spec_.announce > 0) {
            announcing_.push_back(request);
            announced_ = request.at + announcement_margin;
        } else {
            arrive(request, now);
        }
    }
    while (!announcing_.empty() && announcing_.front().at <= now) {
        arrive(announcing_.front(), now);
        announcing_.pop_front();
    }
    if (next_resume_ <= now) {
        for (std::uint32_t stream = 0; stream < streams_.size(); ++stream)
            if (streams_[stream].resumes_at <= now)
                continue_stream(stream, now);
        plan();
    }
}

void Requests::on_done(std::uint32_t stream, Time now) {
    Stream& of = streams_[stream];
    if (--of.kernels_left > 0) {
        of.resumes_at = now + spec_.gap;
        next_resume_ = std::min(next_resume_, of.resumes_at);
        return;
    }
    if (of.request.at >= measured_from_) {
        record_.latencies.push_back(now - of.request.at);
        ++record_.ended;
    }
    if (spec_.arrival == Arrival::closed && spec_.think == 0) {
        continue_stream(stream, now);
    } else if (spec_.arrival == Arrival::closed) {
        of.resumes_at = now + spec_.think;
        next_resume_ = std::min(next_resume_, of.resumes_at);
    } else if (!waiting_.empty()) {
        begin(stream, waiting_.front(), now);
        waiting_.pop_front();
    } else {
        free_.push_back(stream);
    }
}

// Each step is a prefill of the first request that waits, or one token for all that run; the host
// needs a moment between two steps.
class Server final : public Source {
public:
    using Source::Source;

    [[nodiscard]] Time next() const override { return std::min(arrivals_.next(), step_at_); }
    void on_time(Time now) override {
        while (arrivals_.next() <= now) {
            TraceEntry entry = arrivals_.take();
            if (entry.context == 0)
                arrivals_.draw_tokens(entry);
            waiting_.push_back({entry, now});
            record_.arrived += now >= measured_from_ ? 1U : 0U;
        }
        if (!in_step_ && (step_at_ == never || step_at_ <= now))
            step(now);
    }
    void on_done(std::uint32_t stream, Time now) override;

private:
    struct Request {
        TraceEntry tokens;
        Time at = 0, first_token = 0;
        std::uint32_t left = 0;
    };

    void step(Time now);
    void end(const Request& request, Time now);

    std::deque<Request> waiting_;
    std::vector<Request> running_;
    bool in_step_ = false, prefills_ = false;
    Time step_at_ = never;
};

void Server::step(Time now) {
    const Serving& serving = spec_.serving;
    step_at_ = never;
    prefills_ = !waiting_.empty() && running_.size() < serving.batch;
    if (!prefills_ && running_.empty())
        return;
    const Time work =
        prefills_ ? serving.prefill + serving.prefill_token * waiting_.front().tokens.context
                  : serving.decode + serving.decode_request * static_cast<Time>(running_.size());
    in_step_ = true;
    submit(0, static_cast<double>(work), now);
}

void Server::end(const Request& request, Time now) {
    if (request.at < measured_from_)
        return;
    ++record_.ended;
    record_.latencies.push_back(now - request.at);
    if (request.tokens.generated > 1)
        record_.token_times.push_back((now - request.first_token) / (request.tokens.generated - 1));
}

void Server::on_done(std::uint32_t /*stream*/, Time now) {
    in_step_ = false;
    if (prefills_) {
        Request request = waiting_.front();
        waiting_.pop_front();
        request.first_token = now;
        request.left = std::max(request.tokens.generated, 1U) - 1;
        if (request.at >= measured_from_)
            record_.first_tokens.push_back(now - request.at);
        if (request.left > 0)
            running_.push_back(request);
        else
            end(request, now);
    } else {
        for (Request& request : running_)
            if (--request.left == 0)
                end(request, now);
        std::erase_if(running_, [](const Request& request) { return request.left == 0; });
    }
    if (waiting_.empty() && running_.empty())
        return;
    step_at_ = now + spec_.serving.bubble;
    if (spec_.serving.bubble == 0)
        step(now);
}

} // namespace

std::unique_ptr<Source> make_source(const JobSpec& spec, std::size_t job, std::uint64_t seed,
                                    Gpu& gpu) {
    if (spec.serving.enabled)
        return std::make_unique<Server>(spec, job, seed, gpu);
    return std::make_unique<Requests>(spec, job, seed, gpu);
}

} // namespace sim
