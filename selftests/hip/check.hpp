// SPDX-License-Identifier: MIT
// Helpers of the HIP tests: errors that name their place, buffers that own their memory, rounds.
#pragma once

#include <hip/hip_runtime.h>

#include <chrono>
#include <csignal>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

namespace test {

inline const char* program = "?";

[[noreturn]] inline void die(int status, const char* format, ...) {
    va_list args;
    va_start(args, format);
    std::fprintf(stderr, "%s: ", program);
    std::vfprintf(stderr, format, args);
    std::fputc('\n', stderr);
    va_end(args);
    // Not exit(): static destructors of the runtime may wait for a queue that never gets ready.
    std::fflush(nullptr);
    std::_Exit(status);
}

inline void must(hipError_t error, const char* call, const char* file, int line) {
    if (error != hipSuccess)
        die(2, "%s:%d: %s: %s", file, line, call, hipGetErrorString(error));
}

#define HIP_MUST(call) test::must((call), #call, __FILE__, __LINE__)
// After a launch: its own error, not that of what ran before.
#define LAUNCH_MUST() test::must(hipGetLastError(), "launch", __FILE__, __LINE__)

template <typename T> class DeviceArray {
public:
    explicit DeviceArray(std::size_t count) : count_(count) {
        HIP_MUST(hipMalloc(reinterpret_cast<void**>(&data_), count * sizeof(T)));
    }
    explicit DeviceArray(const std::vector<T>& host) : DeviceArray(host.size()) { copy_from(host); }
    DeviceArray(const DeviceArray&) = delete;
    DeviceArray& operator=(const DeviceArray&) = delete;
    ~DeviceArray() { (void)hipFree(data_); }

    [[nodiscard]] T* get() const { return data_; }
    void copy_from(const std::vector<T>& host) {
        HIP_MUST(hipMemcpy(data_, host.data(), count_ * sizeof(T), hipMemcpyHostToDevice));
    }
    void clear() { HIP_MUST(hipMemset(data_, 0, count_ * sizeof(T))); }
    [[nodiscard]] std::vector<T> to_host() const {
        std::vector<T> host(count_);
        HIP_MUST(hipMemcpy(host.data(), data_, count_ * sizeof(T), hipMemcpyDeviceToHost));
        return host;
    }

private:
    T* data_ = nullptr;
    std::size_t count_;
};

// Memory of the host that the GPU copies without HIP's staging buffers.
template <typename T> class PinnedArray {
public:
    explicit PinnedArray(std::size_t count) : count_(count) {
        HIP_MUST(hipHostMalloc(reinterpret_cast<void**>(&data_), bytes(), hipHostMallocDefault));
    }
    PinnedArray(const PinnedArray&) = delete;
    PinnedArray& operator=(const PinnedArray&) = delete;
    ~PinnedArray() { (void)hipHostFree(data_); }

    [[nodiscard]] T* get() const { return data_; }
    [[nodiscard]] std::size_t bytes() const { return count_ * sizeof(T); }
    [[nodiscard]] std::vector<T> values() const { return {data_, data_ + count_}; }

private:
    T* data_ = nullptr;
    std::size_t count_;
};

inline volatile std::sig_atomic_t asked_to_end = 0;

// How often a test does its work. Every program takes these options:
//   --rounds N    so many rounds (the default is the program's)
//   --seconds N   rounds until N seconds are over
//   --until-told  rounds until SIGRTMIN; the round it arrives in is still done and checked
//   --verbose     one line for each finished round
// SIGRTMIN, because the LLVM in ROCm answers SIGTERM and its like by deleting the files that HIP
// compiles to, and then HIP fails.
class Rounds {
public:
    Rounds(const char* name, int argc, char** argv, std::uint64_t rounds) : rounds_(rounds) {
        program = name;
        std::setvbuf(stdout, nullptr, _IOLBF, 0);
        for (int i = 1; i < argc; ++i) {
            const std::string option = argv[i];
            if (option == "--until-told") {
                until_told_ = true;
            } else if (option == "--verbose") {
                verbose_ = true;
            } else if (option == "--rounds") {
                rounds_ = number(option, ++i < argc ? argv[i] : nullptr);
            } else if (option == "--seconds") {
                seconds_ = number(option, ++i < argc ? argv[i] : nullptr);
            } else {
                die(64,
                    "unknown option '%s'; there are --rounds N, --seconds N, --until-told, "
                    "--verbose",
                    argv[i]);
            }
        }
        struct sigaction on_told = {};
        on_told.sa_handler = [](int) { asked_to_end = 1; };
        on_told.sa_flags = SA_RESTART;
        if (until_told_)
            sigaction(SIGRTMIN, &on_told, nullptr);
    }

    // True when another round is wanted. There is always at least one.
    bool next() {
        if (started_ > 0 && verbose_)
            std::printf("%s: round %llu done\n", program,
                        static_cast<unsigned long long>(started_));
        const bool more = started_ == 0 || wants_more();
        started_ += more ? 1 : 0;
        return more;
    }
    [[nodiscard]] unsigned long long count() const { return started_; }

private:
    static std::uint64_t number(const std::string& option, const char* text) {
        char* end = nullptr;
        const unsigned long long value = text ? std::strtoull(text, &end, 10) : 0;
        if (!text || end == text || *end != '\0' || *text == '-' || value == 0)
            die(64, "%s needs a number from 1 on, got '%s'", option.c_str(),
                text ? text : "nothing");
        return value;
    }
    [[nodiscard]] bool wants_more() const {
        if (until_told_)
            return asked_to_end == 0;
        if (seconds_ > 0)
            return std::chrono::steady_clock::now() - begin_ < std::chrono::seconds(seconds_);
        return started_ < rounds_;
    }

    std::uint64_t rounds_;
    std::uint64_t seconds_ = 0;
    bool until_told_ = false;
    bool verbose_ = false;
    std::uint64_t started_ = 0;
    std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

// FNV-1a, so that two runs can be compared by one word.
class Digest {
public:
    template <typename T> void add(const std::vector<T>& values) {
        add_bytes(values.data(), values.size() * sizeof(T));
    }
    void add_bytes(const void* data, std::size_t bytes) {
        const auto* byte = static_cast<const unsigned char*>(data);
        for (std::size_t i = 0; i < bytes; ++i)
            value_ = (value_ ^ byte[i]) * 0x100000001b3ull;
    }
    [[nodiscard]] unsigned long long value() const { return value_; }

private:
    std::uint64_t value_ = 0xcbf29ce484222325ull;
};

// Ends the program at the first element that differs in any bit.
template <typename T>
void must_equal(const char* what, const std::vector<T>& got, const std::vector<T>& want) {
    if (got.size() != want.size())
        die(1, "%s: %zu elements, want %zu", what, got.size(), want.size());
    if (std::memcmp(got.data(), want.data(), got.size() * sizeof(T)) == 0)
        return;
    std::size_t wrong = 0;
    std::size_t first = got.size();
    for (std::size_t i = 0; i < got.size(); ++i) {
        if (std::memcmp(&got[i], &want[i], sizeof(T)) != 0) {
            first = wrong == 0 ? i : first;
            ++wrong;
        }
    }
    std::uint64_t got_bits = 0;
    std::uint64_t want_bits = 0;
    std::memcpy(&got_bits, &got[first], sizeof(T) < 8 ? sizeof(T) : 8);
    std::memcpy(&want_bits, &want[first], sizeof(T) < 8 ? sizeof(T) : 8);
    die(1, "%s: %zu of %zu elements are wrong; the first is %zu: got 0x%llx, want 0x%llx", what,
        wrong, got.size(), first, static_cast<unsigned long long>(got_bits),
        static_cast<unsigned long long>(want_bits));
}

// The same numbers everywhere, for host and GPU.
__host__ __device__ inline std::uint32_t scramble(std::uint32_t x) {
    x ^= x >> 16;
    x *= 0x7feb352du;
    x ^= x >> 15;
    x *= 0x846ca68bu;
    return x ^ (x >> 16);
}

// The one line of a test that went right. The digest depends on results only, not on rounds.
inline int passed(const Rounds& rounds, const Digest& digest, const std::string& what) {
    std::printf("%s: right: %s, %llu rounds, digest %016llx\n", program, what.c_str(),
                rounds.count(), digest.value());
    return 0;
}

} // namespace test
