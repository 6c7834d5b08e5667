// SPDX-License-Identifier: MIT
#include "daemon.hpp"

#include "stage.hpp"

#include <chrono>
#include <csignal>
#include <thread>

namespace verify {

namespace {

constexpr std::chrono::seconds patience(30);

} // namespace

std::string policy_of_daemon() {
    const auto asked = Program::start({command_name(), "--json", "policy"});
    if (!asked)
        return {};
    (*asked)->wait();
    const Json answer = Json::parse((*asked)->output(), nullptr, false);
    return (*asked)->succeeded() && answer.is_object() ? answer.value("policy", "") : "";
}

tl::expected<std::unique_ptr<Daemon>, std::string> Daemon::start() {
    auto program = Program::start({"xpreemptd"});
    if (!program)
        return tl::make_unexpected(program.error());
    std::unique_ptr<Daemon> daemon(new Daemon(std::move(*program)));
    const auto deadline = std::chrono::steady_clock::now() + patience;
    while (policy_of_daemon().empty()) {
        if (daemon->program_->ended())
            return tl::make_unexpected(daemon->program_->end() + ": " + daemon->program_->output());
        if (std::chrono::steady_clock::now() > deadline)
            return tl::make_unexpected(std::string("it does not answer within 30 s"));
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    return daemon;
}

Daemon::~Daemon() {
    ::kill(program_->pid(), SIGTERM);
    program_->wait();
}

} // namespace verify
