// SPDX-License-Identifier: MIT
// Keys of a plug-in in the rules file, and whom the daemon trusts to have written it.
#include "rules/plugin_trust.hpp"
#include "rules/rules.hpp"
#include "unit/beside.hpp"
#include "unit/kfd_tree.hpp"

#include <filesystem>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace xpreemptd;
using namespace std::chrono_literals;

class PluginRulesTest : public testing::Test {
protected:
    PluginRulesTest() {
        copy("misbehaving", mine);
        ::chmod(tree.root().c_str(), 0755);
    }
    static void copy(const std::string& name, const std::filesystem::path& to) {
        std::filesystem::copy_file(test::beside_program(PLUGINS) / (name + ".so"), to,
                                   std::filesystem::copy_options::overwrite_existing);
        ::chmod(to.c_str(), 0755);
    }
    [[nodiscard]] tl::expected<Rules, std::string> parse(const std::string& rest) const {
        return parse_rules(fmt::format("[policy]\nplugin = \"{}\"\n{}", mine.string(), rest), "f");
    }
    [[nodiscard]] std::string error_of(const std::string& rest) const {
        const auto rules = parse(rest);
        return rules ? "accepted" : rules.error();
    }

    test::KfdTree tree;
    const std::filesystem::path mine = tree.root() / "mine.so";
};

TEST_F(PluginRulesTest, plugin_is_one_of_the_policies) {
    const auto rules = parse("name = \"MINE\"\n");
    ASSERT_TRUE(rules) << rules.error();
    EXPECT_EQ(sched::name_of(rules->policy()), "MINE");
    EXPECT_EQ(rules->plugin, mine);
    EXPECT_EQ(make_policy("RR", rules->parameters), sched::Policy(sched::RoundRobin()));
    // It may be loaded for a change at run time only.
    EXPECT_EQ(parse("")->policy_name, "BAND");
    EXPECT_EQ(sched::name_of(make_policy("MINE", parse("")->parameters).value()), "MINE");
    EXPECT_EQ(parse_rules("[policy]\nplugin = \"\"\n", "f").value(), Rules{});
    const std::string error = error_of("name = \"MIEN\"\n");
    EXPECT_TRUE(error.starts_with("f:3:8: name is \"MIEN\", expected one of BAND, ")) << error;
    EXPECT_NE(error.find("PARK, MINE; did you mean \"MINE\"?"), std::string::npos) << error;
}

TEST_F(PluginRulesTest, parameters_are_those_of_its_table) {
    const auto rules =
        parse("name = \"MINE\"\n[policy.MINE]\nfault = 3\npause = \"7ms\"\n[policy.RR]\n");
    ASSERT_TRUE(rules) << rules.error();
    const auto parameters = rules->parameters.plugin.value().parameters();
    EXPECT_EQ(parameters[0].value, 3);
    EXPECT_EQ(parameters[1].value, 0);
    EXPECT_EQ(parameters[3].value, 7'000'000);
    EXPECT_EQ(std::get<sched::Plugin>(rules->policy()).parameters()[0].value, 3);
    EXPECT_EQ(error_of("[policy.MINE]\nfault = 10\n"),
              "f:4:9: fault is 10, expected an integer from 0 to 9");
    EXPECT_EQ(error_of("[policy.MINE]\nfault = \"1\"\n"),
              "f:4:9: fault is \"1\", expected an integer from 0 to 9");
    EXPECT_EQ(error_of("[policy.MINE]\npause = \"1us\"\n"),
              "f:4:9: pause is \"1us\", expected a duration from \"100us\" to \"10s\", a whole "
              "number of us, ms or s");
    EXPECT_EQ(
        error_of("[policy.MINE]\nwieght = 1\n"),
        "f:4:1: unknown key \"wieght\" in [policy.MINE], expected one of fault, weight, spin, "
        "pause; did you mean \"weight\"?");
    EXPECT_EQ(error_of("[policy.MNIE]\n").substr(0, 33), "f:3:9: unknown key \"MNIE\" in [pol");
}

TEST_F(PluginRulesTest, file_must_be_there_and_be_a_plugin) {
    std::filesystem::remove(mine);
    EXPECT_EQ(
        error_of("name = \"MINE\"\n"),
        fmt::format("f:1:1: {0}: {0} cannot be read: No such file or directory", mine.string()));
    tree.write("mine.so", "text");
    EXPECT_NE(error_of("").find("no shared library that can be loaded"), std::string::npos);
    const auto relative = parse_rules("[policy]\nplugin = \"mine.so\"\n", "f");
    ASSERT_FALSE(relative);
    EXPECT_TRUE(
        relative.error().starts_with("f:2:10: plugin is \"mine.so\", expected \"\" or an absolute"))
        << relative.error();
    EXPECT_FALSE(parse_rules("[policy]\nplugin = \"/x\\ny\"\n", "f"));
}

// As SIGHUP does it: what the file holds by then counts.
TEST_F(PluginRulesTest, is_loaded_anew_each_time) {
    const auto before = parse("");
    const auto same = parse("");
    copy("turns", mine);
    const auto after = parse("");
    ASSERT_TRUE(before && same && after);
    EXPECT_EQ(before->parameters.plugin->name(), "MINE");
    EXPECT_EQ(after->parameters.plugin->name(), "TURNS");
    EXPECT_EQ(same->parameters.plugin->name(), "MINE");
}

TEST_F(PluginRulesTest, max_decide_is_a_duration) {
    EXPECT_EQ(parse("")->max_decide, 1ms);
    EXPECT_EQ(parse("[limits]\nmax_decide = \"20us\"\n")->max_decide, 20us);
    EXPECT_FALSE(parse("[limits]\nmax_decide = \"5us\"\n"));
}

class TrustTest : public PluginRulesTest {
protected:
    TrustTest() {
        tree.make_directory("d");
        copy("misbehaving", file);
        ::chmod(directory.c_str(), 0755);
    }
    void expect_refused(const std::filesystem::path& part, const std::string& text) const {
        const auto checked = check_trust(file, ::geteuid());
        ASSERT_FALSE(checked) << text;
        EXPECT_TRUE(checked.error().starts_with(file.string() + ": ")) << checked.error();
        EXPECT_NE(checked.error().find(text + part.string()), std::string::npos) << checked.error();
    }
    const std::filesystem::path directory = tree.root() / "d", file = directory / "mine.so";
};

TEST_F(TrustTest, file_and_directories_that_only_their_owner_writes) {
    EXPECT_TRUE(check_trust(file, ::geteuid()));
    EXPECT_TRUE(load_trusted_plugin(file));
}

TEST_F(TrustTest, file_that_others_may_write) {
    ::chmod(file.c_str(), 0775);
    expect_refused(file, "`chmod go-w ");
    ::chmod(file.c_str(), 0757);
    expect_refused(file, "`chmod go-w ");
    EXPECT_FALSE(load_trusted_plugin(file));
}

TEST_F(TrustTest, directory_that_others_may_write) {
    ::chmod(directory.c_str(), 0775);
    expect_refused(directory, "`chmod go-w ");
    ::chmod(directory.c_str(), 01777); // as /tmp: others can't replace the file
    EXPECT_TRUE(check_trust(file, ::geteuid()));
    ::chmod(directory.c_str(), 0755);
    ::chmod(tree.root().c_str(), 0757);
    expect_refused(tree.root(), "`chmod go-w ");
}

// Root may give the file away; other users trust root's files and their own, not each other's.
TEST_F(TrustTest, file_of_another_user) {
    constexpr uid_t other = 12345;
    if (::geteuid() == 0) {
        ASSERT_EQ(::chown(directory.c_str(), other, 0), 0);
        expect_refused(directory, "`chown root ");
        EXPECT_TRUE(check_trust(file, other));
        return;
    }
    EXPECT_FALSE(check_trust(file, other));
}

// The link itself is in a directory that only root writes, but not what it leads to.
TEST_F(TrustTest, symbolic_link_into_a_directory_that_others_may_write) {
    std::filesystem::create_symlink(file, tree.root() / "link.so");
    EXPECT_TRUE(check_trust(tree.root() / "link.so", ::geteuid()));
    ::chmod(directory.c_str(), 0777);
    EXPECT_FALSE(check_trust(tree.root() / "link.so", ::geteuid()));
}

// They may lead it elsewhere after the check.
TEST_F(TrustTest, symbolic_link_of_another_user_in_a_directory_with_the_sticky_bit) {
    constexpr uid_t other = 12345;
    const std::filesystem::path link = directory / "link.so";
    std::filesystem::create_symlink(file, link);
    ::chmod(directory.c_str(), 01777);
    EXPECT_TRUE(check_trust(link, ::geteuid()));
    if (::geteuid() == 0) {
        ASSERT_EQ(::lchown(link.c_str(), other, 0), 0);
        const auto checked = check_trust(link, 0);
        ASSERT_FALSE(checked);
        EXPECT_NE(checked.error().find("`chown -h root " + link.string()), std::string::npos)
            << checked.error();
        return;
    }
    EXPECT_FALSE(check_trust(link, other));
}

TEST_F(TrustTest, links_on_the_way_through_a_directory_that_others_may_write) {
    tree.make_directory("theirs");
    std::filesystem::create_symlink(file, tree.root() / "theirs/to.so");
    std::filesystem::create_symlink("theirs/to.so", tree.root() / "link.so");
    std::filesystem::create_symlink(tree.root(), tree.root() / "up");
    EXPECT_TRUE(check_trust(tree.root() / "up/link.so", ::geteuid()));
    ::chmod((tree.root() / "theirs").c_str(), 0777);
    EXPECT_FALSE(check_trust(tree.root() / "up/link.so", ::geteuid()));
    std::filesystem::create_symlink("loop.so", tree.root() / "loop.so");
    EXPECT_FALSE(check_trust(tree.root() / "loop.so", ::geteuid()));
}

} // namespace
