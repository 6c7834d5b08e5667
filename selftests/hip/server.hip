// SPDX-License-Identifier: MIT
// A server: requests with short kernels, and how long each took.
#include "check.hpp"
#include "sequence.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

namespace {

constexpr unsigned group_size = 64;
// Not measured: HIP compiles its copy kernels in the first request.
constexpr unsigned first_requests = 3;

struct Options {
    unsigned long long requests = 50;
    unsigned long long pause_ms = 0;
    unsigned long long elements = 1024;
    unsigned long long steps = 1000;
};

constexpr const char* usage =
    "usage: server [--requests N] [--pause-ms N] [--elements N] [--steps N]\n"
    "  --requests N    so many are measured (default 50)\n"
    "  --pause-ms N    before each of them (default 0)\n"
    "  --elements N    values of a request, a multiple of 64 (default 1024)\n"
    "  --steps N       of each value in the kernel (default 1000)\n";

unsigned long long number(const char* option, const char* text, unsigned long long least) {
    char* end = nullptr;
    const unsigned long long value = text != nullptr ? std::strtoull(text, &end, 10) : 0;
    if (text == nullptr || end == text || *end != '\0' || *text == '-' || value < least ||
        value > 10'000'000)
        test::die(64, "%s needs a number from %llu to 10000000, got '%s'", option, least,
                  text != nullptr ? text : "nothing");
    return value;
}

Options parse(int argc, char** argv) {
    Options options;
    for (int i = 1; i < argc; i += 2) {
        const std::string option = argv[i];
        const char* value = i + 1 < argc ? argv[i + 1] : nullptr;
        if (option == "--help") {
            std::fputs(usage, stdout);
            std::exit(0);
        } else if (option == "--requests") {
            options.requests = number(argv[i], value, 1);
        } else if (option == "--pause-ms") {
            options.pause_ms = number(argv[i], value, 0);
        } else if (option == "--elements") {
            options.elements = number(argv[i], value, group_size);
        } else if (option == "--steps") {
            options.steps = number(argv[i], value, 1);
        } else {
            test::die(64, "unknown option '%s', or it lacks its value; see --help", argv[i]);
        }
    }
    if (options.elements % group_size != 0)
        test::die(64, "--elements %llu: not a multiple of %u", options.elements, group_size);
    return options;
}

std::uint64_t now_ns() {
    timespec now = {};
    clock_gettime(CLOCK_MONOTONIC, &now);
    return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000 +
           static_cast<std::uint64_t>(now.tv_nsec);
}

void sleep_ms(unsigned long long ms) {
    timespec left = {};
    left.tv_sec = static_cast<time_t>(ms / 1000);
    left.tv_nsec = static_cast<long>(ms % 1000 * 1'000'000);
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &left, &left) != 0) {
    }
}

class Server {
public:
    explicit Server(const Options& options)
        : elements_(options.elements), steps_(static_cast<unsigned>(options.steps)),
          all_(test::jump(options.steps)), question_(elements_), answer_(elements_),
          input_(elements_), output_(elements_), want_(elements_) {
        HIP_MUST(hipStreamCreateWithFlags(&stream_, hipStreamNonBlocking));
    }
    Server(const Server&) = delete;
    Server& operator=(const Server&) = delete;
    ~Server() { (void)hipStreamDestroy(stream_); }

    // Sets a client's question, the expected answer, and a wrong answer to overwrite.
    void prepare(unsigned long long request) {
        for (std::size_t i = 0; i < elements_; ++i) {
            question_.get()[i] =
                test::scramble(static_cast<std::uint32_t>(request * elements_ + i));
            want_[i] = all_.of(question_.get()[i]);
            answer_.get()[i] = ~want_[i];
        }
    }
    void serve() {
        const std::size_t bytes = elements_ * sizeof(std::uint32_t);
        HIP_MUST(
            hipMemcpyAsync(input_.get(), question_.get(), bytes, hipMemcpyHostToDevice, stream_));
        test::walk<<<static_cast<unsigned>(elements_ / group_size), group_size, 0, stream_>>>(
            input_.get(), output_.get(), steps_);
        LAUNCH_MUST();
        HIP_MUST(
            hipMemcpyAsync(answer_.get(), output_.get(), bytes, hipMemcpyDeviceToHost, stream_));
        HIP_MUST(hipStreamSynchronize(stream_));
    }
    void check(test::Digest& digest) const {
        const std::vector<std::uint32_t> got = answer_.values();
        test::must_equal("answer", got, want_);
        digest.add(got);
    }

private:
    std::size_t elements_;
    unsigned steps_;
    test::Step all_;
    test::PinnedArray<std::uint32_t> question_;
    test::PinnedArray<std::uint32_t> answer_;
    test::DeviceArray<std::uint32_t> input_;
    test::DeviceArray<std::uint32_t> output_;
    std::vector<std::uint32_t> want_;
    hipStream_t stream_ = nullptr;
};

// The nearest rank, of sorted values.
double percentile_ms(const std::vector<std::uint64_t>& sorted, unsigned percent) {
    const std::size_t rank = (sorted.size() * percent + 99) / 100;
    return static_cast<double>(sorted[rank - 1]) * 1e-6;
}

void print_latencies(std::vector<std::uint64_t> took) {
    std::sort(took.begin(), took.end());
    std::printf("server: latency in ms: p50 %.2f, p99 %.2f, max %.2f\n", percentile_ms(took, 50),
                percentile_ms(took, 99), static_cast<double>(took.back()) * 1e-6);
}

} // namespace

int main(int argc, char** argv) {
    test::program = "server";
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
    const Options options = parse(argc, argv);
    Server server(options);
    test::Digest digest;
    std::vector<std::uint64_t> took;
    for (unsigned long long n = 0; n < first_requests + options.requests; ++n) {
        server.prepare(n);
        if (n == first_requests)
            std::printf("server: ready\n");
        if (n >= first_requests)
            sleep_ms(options.pause_ms);
        const std::uint64_t begin = now_ns();
        server.serve();
        const std::uint64_t end = now_ns();
        server.check(digest);
        if (n >= first_requests)
            took.push_back(end - begin);
    }
    print_latencies(std::move(took));
    std::printf("server: right: %llu requests, digest %016llx\n", options.requests, digest.value());
    return 0;
}
