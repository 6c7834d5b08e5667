// SPDX-License-Identifier: MIT
// The queues of a process as sysfs lists them, and whether a stopped one has waves saved.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace storm {

struct Queue {
    std::uint32_t id;  // KFD gives the id of a destroyed queue to the next one
    std::uint64_t uid; // never reused
    bool compute;      // else SDMA
};

// Ascending ids. Empty when the process has none, or isn't known to KFD (any more). A queue that
// is destroyed during the call is left out. `kfd` is a file of /dev/kfd; the error is that of a
// STATUS call which a process that creates and destroys queues doesn't explain.
struct Listing {
    std::vector<Queue> queues;
    int error = 0; // negative errno
};
Listing queues_of(int kfd, pid_t pid);

// Waves lie in the save area of a queue when its MQD says so, and debugfs shows MQDs. It doesn't
// show ids: it lists the newest queue first, and ids grow with each new queue as long as none was
// destroyed. Where the list doesn't fit to `queues` there is no answer.
class SavedWaves {
public:
    // For queues that are stopped now: bit i is queues[i].
    [[nodiscard]] std::optional<std::vector<bool>> read(pid_t pid,
                                                        const std::vector<Queue>& queues) const;
    // The same from the text of the file.
    static std::optional<std::vector<bool>> parse(const std::string& text, pid_t pid,
                                                  const std::vector<Queue>& queues);
};

} // namespace storm
