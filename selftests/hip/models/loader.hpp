// SPDX-License-Identifier: MIT
// Batches from worker processes, as torch.utils.data.DataLoader has them: forked, without a call of
// HIP, with batches in shared memory, which a thread copies to pinned memory.
#pragma once

#include "session.hpp"

#include <array>
#include <atomic>
#include <cerrno>
#include <csignal>
#include <semaphore.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace models {

class Loader {
public:
    static constexpr unsigned workers = 2;

    // Forks the workers. The numbers of batches are 0 to period - 1, over and over.
    Loader(const Model& model, unsigned period)
        : model_(model), period_(period),
          bytes_(static_cast<std::size_t>(model.input.count()) * sizeof(float)) {
        constexpr int shared = MAP_SHARED | MAP_ANONYMOUS;
        void* const memory = mmap(nullptr, sizeof(Slot) * workers + bytes_ * workers,
                                  PROT_READ | PROT_WRITE, shared, -1, 0);
        if (memory == MAP_FAILED)
            test::die(2, "mmap: %s", std::strerror(errno));
        slots_ = static_cast<Slot*>(memory);
        for (unsigned worker = 0; worker < workers; ++worker)
            start(worker);
    }
    Loader(const Loader&) = delete;
    Loader& operator=(const Loader&) = delete;
    ~Loader() {
        for (unsigned worker = 0; worker < workers; ++worker) {
            slots_[worker].ended = true;
            sem_post(&slots_[worker].empty);
            int status = 0;
            if (waitpid(pids_[worker], &status, 0) != pids_[worker] || status != 0)
                test::die(1, "a worker of %s ended with status %d", model_.name.c_str(), status);
        }
        munmap(slots_, sizeof(Slot) * workers + bytes_ * workers);
    }

    // Copies the next batch and returns its number.
    unsigned next(float* to) {
        Slot& slot = slots_[taken_++ % workers];
        wait(slot.full);
        std::memcpy(to, values(slot), bytes_);
        const unsigned number = slot.number;
        sem_post(&slot.empty);
        return number;
    }

private:
    struct Slot {
        sem_t empty;
        sem_t full;
        volatile bool ended;
        unsigned number;
    };

    static void wait(sem_t& semaphore) {
        while (sem_wait(&semaphore) != 0)
            if (errno != EINTR)
                test::die(2, "sem_wait: %s", std::strerror(errno));
    }
    [[nodiscard]] float* values(const Slot& slot) const {
        auto* const first = reinterpret_cast<char*>(slots_ + workers);
        return reinterpret_cast<float*>(first + static_cast<std::size_t>(&slot - slots_) * bytes_);
    }

    void start(unsigned worker) {
        Slot& slot = slots_[worker];
        sem_init(&slot.empty, 1, 1);
        sem_init(&slot.full, 1, 0);
        pids_[worker] = fork();
        if (pids_[worker] < 0)
            test::die(2, "fork: %s", std::strerror(errno));
        if (pids_[worker] == 0)
            work(slot, worker);
    }
    [[noreturn]] void work(Slot& slot, unsigned worker) const {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        std::signal(SIGRTMIN, SIG_IGN);
        for (unsigned number = worker;; number += workers) {
            wait(slot.empty);
            if (slot.ended)
                _exit(0);
            slot.number = number % period_;
            for (int i = 0; i < model_.input.count(); ++i)
                values(slot)[i] = static_cast<float>(
                    input_of(slot.number, static_cast<std::uint32_t>(i), model_.tokens));
            sem_post(&slot.full);
        }
    }

    const Model& model_;
    unsigned period_;
    std::size_t bytes_;
    Slot* slots_ = nullptr;
    std::array<pid_t, workers> pids_{};
    unsigned taken_ = 0;
};

// The thread of DataLoader(pin_memory=True): one batch ahead.
class PinningThread {
public:
    PinningThread(Loader& loader, const Model& model)
        : loader_(loader), pinned_(static_cast<std::size_t>(model.input.count())) {
        sem_init(&empty_, 0, 1);
        sem_init(&full_, 0, 0);
        thread_ = std::thread([this] { pin(); });
    }
    PinningThread(const PinningThread&) = delete;
    PinningThread& operator=(const PinningThread&) = delete;
    ~PinningThread() {
        ended_ = true;
        sem_post(&empty_);
        thread_.join();
    }

    unsigned next(float* to) {
        while (sem_wait(&full_) != 0) {
        }
        std::memcpy(to, pinned_.get(), pinned_.bytes());
        const unsigned number = number_;
        sem_post(&empty_);
        return number;
    }

private:
    void pin() {
        for (;;) {
            while (sem_wait(&empty_) != 0) {
            }
            if (ended_)
                return;
            number_ = loader_.next(pinned_.get());
            sem_post(&full_);
        }
    }

    Loader& loader_;
    test::PinnedArray<float> pinned_;
    sem_t empty_{};
    sem_t full_{};
    std::atomic<bool> ended_ = false;
    unsigned number_ = 0;
    std::thread thread_;
};

} // namespace models
