// SPDX-License-Identifier: MIT
// The queues of a process as sysfs lists them, and whether a stopped one has waves saved.
#include "kfd_queues.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdlib>
#include <dirent.h>
#include <fcntl.h>
#include <memory>
#include <sstream>
#include <unistd.h>

extern "C" {
#include "preempt.h"
}

namespace storm {

namespace {

constexpr const char* mqds_path = "/sys/kernel/debug/kfd/mqds";

// Dwords of struct v9_mqd.
constexpr std::size_t cntl_stack_size = 175;
constexpr std::size_t wg_state_offset = 176;

std::optional<std::string> read_all(const std::string& path) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return std::nullopt;
    std::string text;
    char chunk[16384];
    ssize_t n = 0;
    while ((n = read(fd, chunk, sizeof(chunk))) > 0)
        text.append(chunk, static_cast<std::size_t>(n));
    close(fd);
    return n < 0 ? std::nullopt : std::optional(text);
}

struct CloseDirectory {
    void operator()(DIR* directory) const { closedir(directory); }
};

struct ListedQueue {
    bool compute;
    std::vector<std::uint32_t> mqd; // all XCCs, one behind the other
    std::size_t mqd_dwords = 0;     // of one

    [[nodiscard]] bool has_waves() const {
        if (mqd_dwords <= wg_state_offset)
            return false;
        for (std::size_t xcc = 0; xcc + mqd_dwords <= mqd.size(); xcc += mqd_dwords) {
            if (mqd[xcc + wg_state_offset] > mqd[xcc + cntl_stack_size])
                return true;
        }
        return false;
    }
    // "00000020: 8 hexadecimal numbers": an offset of 0 begins another XCC.
    void take(const std::string& line) {
        std::istringstream words(line);
        std::string word;
        words >> word;
        if (word.size() != 9 || word.back() != ':')
            return;
        if (word == "00000000:" && !mqd.empty() && mqd_dwords == 0)
            mqd_dwords = mqd.size();
        while (words >> word)
            mqd.push_back(static_cast<std::uint32_t>(std::strtoul(word.c_str(), nullptr, 16)));
    }
};

std::vector<ListedQueue> listed(const std::string& text, pid_t pid) {
    const std::string begin = "Process " + std::to_string(pid) + " ";
    std::vector<ListedQueue> found;
    std::istringstream lines(text);
    std::string line;
    bool mine = false;
    while (std::getline(lines, line)) {
        if (line.rfind("Process ", 0) == 0)
            mine = line.rfind(begin, 0) == 0;
        else if (mine && line.rfind("  Compute queue ", 0) == 0)
            found.push_back({true, {}, 0});
        else if (mine && line.rfind("  SDMA queue ", 0) == 0)
            found.push_back({false, {}, 0});
        else if (mine && !found.empty())
            found.back().take(line);
    }
    for (ListedQueue& queue : found) {
        if (queue.mqd_dwords == 0)
            queue.mqd_dwords = queue.mqd.size();
    }
    return found;
}

} // namespace

Listing queues_of(int kfd, pid_t pid) {
    const std::string path = "/sys/class/kfd/kfd/proc/" + std::to_string(pid) + "/queues";
    const std::unique_ptr<DIR, CloseDirectory> directory(opendir(path.c_str()));
    Listing listing;
    if (!directory)
        return listing;
    while (const dirent* entry = readdir(directory.get())) {
        const std::string name = entry->d_name;
        std::uint32_t id = 0;
        const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
        if (error != std::errc{} || end != name.data() + name.size())
            continue;
        // The uid first: if the id is reused before we read the type, SWITCH returns ESTALE.
        kfd_ioctl_preempt_status_args status;
        const int result = preempt_status(kfd, pid, id, &status);
        if (result == -ENOENT || result == -ESRCH)
            continue;
        if (result != 0) {
            listing.error = result;
            return listing;
        }
        // enum kfd_queue_type: 0 is compute.
        if (const auto type = read_all(path + "/" + name + "/type"))
            listing.queues.push_back({id, status.queue_uid, std::atoi(type->c_str()) == 0});
    }
    std::sort(listing.queues.begin(), listing.queues.end(),
              [](const Queue& a, const Queue& b) { return a.id < b.id; });
    return listing;
}

std::optional<std::vector<bool>> SavedWaves::read(pid_t pid,
                                                  const std::vector<Queue>& queues) const {
    const auto text = read_all(mqds_path);
    return text ? parse(*text, pid, queues) : std::nullopt;
}

std::optional<std::vector<bool>> SavedWaves::parse(const std::string& text, pid_t pid,
                                                   const std::vector<Queue>& queues) {
    std::vector<ListedQueue> found = listed(text, pid);
    std::reverse(found.begin(), found.end());
    if (found.size() != queues.size())
        return std::nullopt;
    std::vector<bool> waves;
    for (std::size_t i = 0; i < queues.size(); ++i) {
        if (found[i].compute != queues[i].compute)
            return std::nullopt;
        waves.push_back(found[i].compute && found[i].has_waves());
    }
    return waves;
}

} // namespace storm
