// SPDX-License-Identifier: MIT
// printf of a kernel: the host prints each line that a work item wrote, exactly once.
#include "check.hpp"

#include <algorithm>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr unsigned group_size = 64;
constexpr unsigned groups = 3;

__global__ void speak(unsigned salt) {
    const unsigned id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id % 4 == 1)
        printf("item %u of group %u says %08x and %s, %.3f\n", id, blockIdx.x,
               test::scramble(id ^ salt), id % 8 == 1 ? "odd words" : "even ones",
               static_cast<double>(id) / 8);
}

std::vector<std::string> expected(unsigned salt) {
    std::vector<std::string> lines;
    for (unsigned id = 1; id < group_size * groups; id += 4) {
        char line[128];
        std::snprintf(line, sizeof(line), "item %u of group %u says %08x and %s, %.3f", id,
                      id / group_size, test::scramble(id ^ salt),
                      id % 8 == 1 ? "odd words" : "even ones", static_cast<double>(id) / 8);
        lines.emplace_back(line);
    }
    std::sort(lines.begin(), lines.end());
    return lines;
}

// Captures stdout between construction and lines(). The runtime writes it in a thread of its own.
class CapturedStdout {
public:
    CapturedStdout() : file_(memfd_create("stdout", 0)), saved_(dup(STDOUT_FILENO)) {
        std::fflush(stdout);
        if (file_ < 0 || saved_ < 0 || dup2(file_, STDOUT_FILENO) < 0)
            test::die(2, "cannot capture stdout: %s", std::strerror(errno));
    }
    CapturedStdout(const CapturedStdout&) = delete;
    CapturedStdout& operator=(const CapturedStdout&) = delete;
    ~CapturedStdout() {
        close(saved_);
        close(file_);
    }
    std::vector<std::string> lines() {
        std::fflush(stdout);
        dup2(saved_, STDOUT_FILENO);
        std::string text(static_cast<std::size_t>(lseek(file_, 0, SEEK_END)), '\0');
        if (pread(file_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()))
            test::die(2, "cannot read back stdout: %s", std::strerror(errno));
        std::vector<std::string> found;
        for (std::size_t at = 0; at < text.size();) {
            const std::size_t end = std::min(text.find('\n', at), text.size());
            found.push_back(text.substr(at, end - at));
            at = end + 1;
        }
        std::sort(found.begin(), found.end());
        return found;
    }

private:
    int file_;
    int saved_;
};

} // namespace

int main(int argc, char** argv) {
    test::Rounds rounds("device_printf", argc, argv, 3);
    test::Digest digest;
    while (rounds.next()) {
        const auto salt = static_cast<unsigned>(rounds.count());
        CapturedStdout captured;
        speak<<<groups, group_size>>>(salt);
        const hipError_t launched = hipGetLastError();
        const hipError_t synchronized = hipDeviceSynchronize();
        const std::vector<std::string> got = captured.lines();
        test::must(launched, "launch", __FILE__, __LINE__);
        test::must(synchronized, "hipDeviceSynchronize()", __FILE__, __LINE__);
        const std::vector<std::string> want = expected(salt);
        if (got.size() != want.size())
            test::die(1, "round %u: %zu lines printed, want %zu", salt, got.size(), want.size());
        for (std::size_t i = 0; i < want.size(); ++i) {
            if (got[i] != want[i])
                test::die(1, "round %u: line '%s', want '%s'", salt, got[i].c_str(),
                          want[i].c_str());
        }
        if (salt == 1)
            for (const std::string& line : got)
                digest.add_bytes(line.data(), line.size());
    }
    return test::passed(rounds, digest, std::to_string(groups * group_size / 4) + " lines");
}
