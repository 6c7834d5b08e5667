// SPDX-License-Identifier: MIT
// A machine on which everything works, for tests of what doctor reports when something does not.
#pragma once

#include "fixture_tree.hpp"
#include "json_schema.hpp"
#include "output/output.hpp"
#include "scripted_driver.hpp"
#include "unit/beside.hpp"
#include "verbs/verbs.hpp"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <memory>
#include <optional>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace test {

class DoctorTest : public testing::Test {
protected:
    DoctorTest() : context(tree.context()), script(std::make_shared<Script>()) {
        tree.write("sys/module/amdgpu/parameters/kfd_preempt_abi", "1.0\n");
        tree.write("sys/module/amdgpu/parameters/kfd_preempt", "1\n");
        tree.write("sys/module/amdgpu/parameters/operator_mode", "1\n");
        tree.write("proc/self/status", "CapEff:\t000001ffffffffff\n");
        tree.add_node(0, 0);
        tree.add_node(1, 5230);
        tree.make_directory("sys/class/kfd/kfd/proc");
        attach(context, script);
    }

    void expect_working_driver() {
        script->expect_query(0);
        script->expect_query(5230);
    }
    void expect_stock_driver() {
        std::filesystem::remove_all(tree.root() / "sys/module/amdgpu/parameters");
        tree.make_directory("sys/module/amdgpu");
        script->expect_query(0, -ENOTTY);
    }

    static cli::Report doctor(const cli::Context& of, std::optional<pid_t> pid = {}) {
        cli::Report report = cli::doctor(of, pid);
        expect_readable(report);
        return report;
    }
    // Every line of every report of these tests fits a terminal, and every finding has a command.
    static void expect_readable(const cli::Report& report) {
        const std::regex in_fixture("/[^ ]*/kfd-preempt-[A-Za-z0-9]{6}");
        std::istringstream lines(report.text);
        for (std::string line; std::getline(lines, line);)
            EXPECT_LE(std::regex_replace(line, in_fixture, "").size(), 80U) << line;
        for (const cli::Json& item : report.json["checks"]) {
            EXPECT_EQ(item["verdict"] == "ok", item["commands"].empty()) << item;
            for (const std::string command : item["commands"]) {
                const std::string shown =
                    std::regex_replace(command, std::regex("\n"), "\n        ");
                EXPECT_NE(report.text.find("      $ " + shown + "\n"), std::string::npos)
                    << command;
                // Some shells split no variable into words.
                EXPECT_FALSE(std::regex_search(command, std::regex("^[a-z]+='"))) << command;
            }
        }
        std::ifstream file(beside_program(SCHEMA));
        const JsonSchema schema(cli::Json::parse(file));
        EXPECT_EQ(schema.error_of(cli::Json::parse(cli::json_text(report))), "");
    }
    // The text before it was wrapped.
    static std::string unwrapped(const cli::Report& report) {
        return std::regex_replace(report.text, std::regex("\n {19}"), " ");
    }

    static cli::Json check(const cli::Report& report, const std::string& name) {
        for (const cli::Json& item : report.json["checks"]) {
            if (item["name"] == name)
                return item;
        }
        ADD_FAILURE() << "no check " << name;
        return {};
    }
    static void expect_check(const cli::Report& report, const std::string& name,
                             const std::string& verdict, const std::string& part) {
        const cli::Json item = check(report, name);
        EXPECT_EQ(item["verdict"], verdict) << item;
        EXPECT_NE(item.dump().find(part), std::string::npos) << item;
    }
    // It has the rights, the devices and the pids that every finding about a container asks for.
    static constexpr const char* in_container =
        "docker run --pid=host --cap-add SYS_PTRACE --device /dev/kfd \\\n"
        "    --device /dev/dri IMAGE kfd-preempt doctor";
    static void expect_commands(const cli::Report& report, const std::string& name,
                                const std::vector<std::string>& commands) {
        EXPECT_EQ(check(report, name)["commands"], cli::Json(commands));
    }

    FixtureTree tree;
    cli::Context context;
    std::shared_ptr<Script> script;
};

// The same machine with kernels in /boot, and a modinfo that reads what stands for drivers.
class NextBootTest : public DoctorTest {
protected:
    static constexpr const char* running = "6.12.117+deb12-amd64";
    static constexpr const char* newer = "6.12.118+deb12-amd64";
    static constexpr const char* ours = "kfd_preempt=0.1.0 linux-6.12\n";

    NextBootTest() {
        tree.write("usr/sbin/update-initramfs", "");
        tree.write("bin/modinfo", "#!/bin/sh\n"
                                  "grep -q no.module \"$3\" && exit 1\n"
                                  "sed -n s/^kfd_preempt=//p \"$3\"\n");
        std::filesystem::permissions(tree.root() / "bin/modinfo",
                                     std::filesystem::perms::owner_all);
        ::setenv("PATH", ((tree.root() / "bin").string() + ":" + path_).c_str(), 1);
    }
    ~NextBootTest() override { ::setenv("PATH", path_.c_str(), 1); }
    NextBootTest(const NextBootTest&) = delete;
    NextBootTest& operator=(const NextBootTest&) = delete;

    // driver: content of the amdgpu that DKMS has installed; empty: none.
    void add_kernel(const std::string& release, const std::string& driver) const {
        tree.write("boot/vmlinuz-" + release, "");
        tree.make_directory("lib/modules/" + release);
        if (!driver.empty())
            tree.write("lib/modules/" + release + "/updates/dkms/amdgpu.ko.xz", driver);
    }
    cli::Report doctor_here() {
        expect_working_driver();
        return doctor(context);
    }
    [[nodiscard]] static bool has_check(const cli::Report& report) {
        return report.text.find("next-boot") != std::string::npos;
    }

private:
    std::string path_ = std::getenv("PATH");
};

} // namespace test
