// SPDX-License-Identifier: MIT
// A daemon's server with a fake Control at a socket of its own, and child processes beside it.
#pragma once

#include "base/unique_fd.hpp"
#include "fake_control.hpp"
#include "server/server.hpp"

#include <filesystem>
#include <functional>
#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <string_view>
#include <sys/types.h>

namespace test {

// A child process, killed and reaped when this is destroyed.
class Child {
public:
    Child(pid_t pid, xpreempt::UniqueFd from) : pid_(pid), from_(std::move(from)) {}
    ~Child() { end(); }
    Child(const Child&) = delete;
    Child& operator=(const Child&) = delete;
    Child(Child&&) = delete;
    Child& operator=(Child&&) = delete;

    [[nodiscard]] pid_t pid() const { return pid_; }
    // Waits for what the child says; empty when it ended first.
    [[nodiscard]] std::string line() const;
    void end() const; // kill -9

private:
    pid_t pid_;
    xpreempt::UniqueFd from_;
    mutable bool ended_ = false;
};

// The body ends in _exit() or pause(), so that no destructor of the parent runs in the child.
Child in_child(const std::function<void(int say_to)>& body);
void say(int say_to, std::string_view text);

void send_descriptor(int socket, int fd, std::string_view message);
xpreempt::UniqueFd receive_descriptor(int socket);
std::size_t open_descriptors();
bool kernel_knows_peer_pidfd();

class ServerFixture : public testing::Test {
protected:
    ServerFixture();
    ~ServerFixture() override;

    // Tests that count turns of the loop have the whole CPU.
    void serve(std::size_t max_clients = xpreemptd::Server::default_max_clients,
               xpreemptd::Loop::Share share = {});

    std::filesystem::path directory;
    std::filesystem::path path; // in a directory that the server makes
    xpreemptd::Loop loop;
    FakeControl control;
    std::unique_ptr<xpreemptd::Server> server;
    mode_t mode = xpreemptd::SocketFile::any_user;
    gid_t group = xpreemptd::SocketFile::own_group;
};

} // namespace test
