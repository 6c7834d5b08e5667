// SPDX-License-Identifier: MIT
// Graphs of models, captured while other threads run models of their own, as torch.cuda.graph does:
// in the thread-local and in the relaxed mode, with a pool of memory for each capture, launched
// again and again with new input.
#include "models/session.hpp"

#include <atomic>
#include <thread>

namespace {

constexpr unsigned batches = 2;

// A thread that runs a model in its own stream until it is ended.
class Beside {
public:
    Beside(const models::Model& model, models::CachingAllocator& allocator)
        : session_(model, allocator, products_, stream_.get()),
          right_(models::expected_of(model, 0)) {
        run(); // loads the parameters before a capture begins
        thread_ = std::thread([this] {
            while (!ended_)
                run();
        });
    }
    Beside(const Beside&) = delete;
    Beside& operator=(const Beside&) = delete;
    ~Beside() {
        ended_ = true;
        thread_.join();
    }
    [[nodiscard]] unsigned runs() const { return runs_; }
    [[nodiscard]] const models::Result& right() const { return right_; }

private:
    void run() {
        session_.fill(0);
        session_.forget();
        must_be_right(session_.model(), session_.run(), right_);
        ++runs_;
    }

    models::OwnProducts products_;
    models::Stream stream_;
    models::Session session_;
    models::Result right_;
    std::atomic<bool> ended_ = false;
    std::atomic<unsigned> runs_ = 0;
    std::thread thread_;
};

class Graph {
public:
    Graph(models::Session& session, models::CachingAllocator& allocator, hipStreamCaptureMode mode)
        : allocator_(allocator) {
        const std::vector<hipStream_t> streams{session.stream(), session.side()};
        pool_ = allocator.begin_capture(streams);
        HIP_MUST(hipStreamBeginCapture(session.stream(), mode));
        session.queue();
        HIP_MUST(hipStreamEndCapture(session.stream(), &graph_));
        allocator.end_capture(streams);
        HIP_MUST(hipGraphInstantiate(&executable_, graph_, nullptr, nullptr, 0));
    }
    Graph(const Graph&) = delete;
    Graph& operator=(const Graph&) = delete;
    ~Graph() {
        (void)hipGraphExecDestroy(executable_);
        (void)hipGraphDestroy(graph_);
        allocator_.release(pool_);
    }
    void launch(hipStream_t stream) const { HIP_MUST(hipGraphLaunch(executable_, stream)); }

private:
    models::CachingAllocator& allocator_;
    int pool_ = 0;
    hipGraph_t graph_ = nullptr;
    hipGraphExec_t executable_ = nullptr;
};

class Captured {
public:
    Captured(const models::Model& model, models::CachingAllocator& allocator,
             hipStreamCaptureMode mode)
        : session_(model, allocator, products_, stream_.get()), allocator_(allocator), mode_(mode) {
        for (unsigned batch = 0; batch < batches; ++batch)
            right_.push_back(models::expected_of(model, batch));
        // PyTorch requires runs before a capture as well: they load kernels and parameters.
        session_.fill(0);
        must_be_right(session_.model(), session_.run(), right_[0]);
    }

    void capture_and_launch() {
        const Graph graph(session_, allocator_, mode_);
        for (unsigned launch = 0; launch < 2 * batches; ++launch) {
            session_.fill(launch % batches);
            session_.forget();
            graph.launch(stream_.get());
            HIP_MUST(hipStreamSynchronize(stream_.get()));
            must_be_right(session_.model(), session_.result(), right_[launch % batches]);
        }
    }
    void add_to(test::Digest& digest) const {
        for (const models::Result& result : right_) {
            digest.add(result.values);
            digest.add(result.layers);
        }
    }

private:
    models::OwnProducts products_;
    models::Stream stream_;
    models::Session session_;
    models::CachingAllocator& allocator_;
    hipStreamCaptureMode mode_;
    std::vector<models::Result> right_;
};

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("captures", argc, argv, 1);
    models::CachingAllocator allocator;
    Captured resnet(models::named("resnet18"), allocator, hipStreamCaptureModeThreadLocal);
    Captured decoder(models::named("decoder"), allocator, hipStreamCaptureModeRelaxed);
    test::Digest digest;
    unsigned runs = 0;
    unsigned long long segments = 0;
    {
        const Beside first(models::named("mlp"), allocator);
        const Beside second(models::named("lstm"), allocator);
        while (rounds.next()) {
            resnet.capture_and_launch();
            decoder.capture_and_launch();
            // Each capture has its own pool, and leaves its memory to later ones.
            segments = segments == 0 ? 2 * allocator.counts().segments : segments;
            if (allocator.counts().segments > segments)
                test::die(1, "captures leak segments: %llu", allocator.counts().segments);
        }
        resnet.add_to(digest);
        decoder.add_to(digest);
        digest.add(first.right().values);
        digest.add(second.right().values);
        runs = first.runs() + second.runs();
    }
    return test::passed(rounds, digest,
                        "graphs of 2 models, captured beside " + std::to_string(runs) +
                            " runs of 2 threads");
}
