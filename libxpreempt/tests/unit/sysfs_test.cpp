// SPDX-License-Identifier: MIT
// The reader of the KFD sysfs tree, on good trees and on hostile ones.
#include "kfd/attribute.hpp"
#include "kfd/sysfs.hpp"
#include "unit/kfd_tree.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

namespace {

using test::KfdTree;
namespace kfd = xpreempt::kfd;

constexpr const char* queues_of_7 = "sys/class/kfd/kfd/proc/7/queues/";

std::vector<std::uint32_t> ids_of(const KfdTree& tree, pid_t pid) {
    std::vector<std::uint32_t> ids;
    const auto process = kfd::process_queues(tree.roots(), pid);
    if (!process) {
        ADD_FAILURE() << "errno " << process.error().errno_value;
        return ids;
    }
    for (const kfd::Queue& queue : process->queues)
        ids.push_back(queue.queue_id);
    return ids;
}

TEST(Sysfs, reads_queues_in_numerical_order) {
    const KfdTree tree;
    tree.add_kfd_process(7);
    for (const unsigned id : {10U, 9U, 0U, 100U})
        tree.add_queue(7, id, id == 9 ? 1 : 0);
    const auto process = kfd::process_queues(tree.roots(), 7);
    ASSERT_TRUE(process);
    EXPECT_EQ(ids_of(tree, 7), (std::vector<std::uint32_t>{0, 9, 10, 100}));
    EXPECT_EQ(process->queues[1].type, kfd::QueueType::sdma);
    EXPECT_EQ(process->queues[1].gpu_id, 5230U);
    EXPECT_EQ(process->queues[1].ring_bytes, 4096U);
}

TEST(Sysfs, no_kfd_is_told_from_no_such_process) {
    const KfdTree tree;
    ASSERT_FALSE(kfd::kfd_pids(tree.roots()));
    EXPECT_EQ(kfd::process_queues(tree.roots(), 7).error().errno_value, ENOENT);
    tree.add_kfd_process(8);
    EXPECT_EQ(kfd::process_queues(tree.roots(), 7).error().errno_value, ESRCH);
    EXPECT_EQ(kfd::kfd_pids(tree.roots()).value(), (std::vector<pid_t>{8}));
}

TEST(Sysfs, names_that_are_no_numbers_are_left_out) {
    const KfdTree tree;
    tree.add_kfd_process(7);
    tree.add_queue(7, 1);
    for (const char* name :
         {"-1", "01", "+1", "1x", "0x1", " 1", "1 ", "4294967296", "context_0"}) {
        tree.write(std::string(queues_of_7) + name + "/gpuid", "1");
        tree.write(std::string(queues_of_7) + name + "/type", "0");
        tree.write(std::string(queues_of_7) + name + "/size", "1");
    }
    EXPECT_EQ(ids_of(tree, 7), (std::vector<std::uint32_t>{1}));

    for (const char* name : {"0", "-5", "abc", "99999999999999999999"})
        tree.make_directory(std::string("sys/class/kfd/kfd/proc/") + name);
    EXPECT_EQ(kfd::kfd_pids(tree.roots()).value(), (std::vector<pid_t>{7}));
}

TEST(Sysfs, a_queue_with_senseless_attributes_is_left_out) {
    for (const char* text : {"", "\n", "abc", "-1", "1 2", "99999999999999999999999", "0x10"}) {
        for (const char* attribute : {"gpuid", "type", "size"}) {
            const KfdTree tree;
            tree.add_kfd_process(7);
            tree.add_queue(7, 1);
            tree.add_queue(7, 2);
            tree.write(std::string(queues_of_7) + "2/" + attribute, text);
            EXPECT_EQ(ids_of(tree, 7), (std::vector<std::uint32_t>{1}))
                << attribute << " is '" << text << "'";
        }
    }
}

TEST(Sysfs, a_queue_that_vanishes_while_read_is_left_out) {
    const KfdTree tree;
    tree.add_kfd_process(7);
    tree.add_queue(7, 1);
    tree.write(std::string(queues_of_7) + "2/gpuid", "1"); // type and size are gone already
    tree.make_directory(std::string(queues_of_7) + "3");
    tree.write(std::string(queues_of_7) + "4", "a file, not a directory");
    EXPECT_EQ(ids_of(tree, 7), (std::vector<std::uint32_t>{1}));
}

TEST(Sysfs, special_files_neither_block_nor_flood) {
    const KfdTree tree;
    tree.add_kfd_process(7);
    tree.add_queue(7, 1);
    for (const unsigned id : {2U, 3U, 4U, 5U})
        tree.add_queue(7, id);
    const std::filesystem::path queues = tree.root() / queues_of_7;
    std::filesystem::remove(queues / "2/size");
    ASSERT_EQ(::mkfifo((queues / "2/size").c_str(), 0600), 0);
    tree.link(std::string(queues_of_7) + "3/size", "/dev/zero");
    tree.link(std::string(queues_of_7) + "4/size", "size"); // a loop
    tree.write(std::string(queues_of_7) + "5/size", std::string(1U << 20, '1'));
    EXPECT_EQ(ids_of(tree, 7), (std::vector<std::uint32_t>{1}));
}

TEST(Sysfs, unknown_types_keep_their_number) {
    EXPECT_EQ(kfd::name_of(kfd::QueueType::sdma_xgmi), "sdma-xgmi");
    EXPECT_EQ(kfd::name_of(kfd::QueueType{77}), "type-77");
}

TEST(Sysfs, nodes_are_gpus_with_pci_addresses) {
    const KfdTree tree;
    tree.add_node(0, 0); // the CPU
    tree.add_node(1, 5230);
    tree.add_node(2, 77);
    tree.write("sys/class/kfd/kfd/topology/nodes/2/properties", "location_id 49921\ndomain 3\n");
    tree.write("sys/class/kfd/kfd/topology/nodes/3/gpu_id", "not a number");
    const auto nodes = kfd::gpu_nodes(tree.roots());
    ASSERT_TRUE(nodes);
    ASSERT_EQ(nodes->size(), 2U);
    EXPECT_EQ((*nodes)[0].gpu_id, 5230U);
    EXPECT_EQ((*nodes)[0].pci_address, "0000:01:00.0");
    EXPECT_EQ((*nodes)[1].pci_address, "0003:c3:00.1");
}

TEST(Sysfs, a_property_is_not_found_inside_another_name) {
    const KfdTree tree;
    tree.add_node(1, 5230);
    tree.write("sys/class/kfd/kfd/topology/nodes/1/properties", "my_location_id 256\n");
    EXPECT_EQ(kfd::gpu_nodes(tree.roots()).value()[0].pci_address, "");
}

TEST(Attribute, field_of_matches_whole_names) {
    const std::string text = "Tgid:\t12\nNStgid:\t12\nUid:\t1\t2\n";
    EXPECT_EQ(kfd::field_of(text, "Tgid"), "12");
    EXPECT_EQ(kfd::field_of(text, "Uid"), "1\t2");
    EXPECT_EQ(kfd::field_of(text, "gid"), std::nullopt);
    EXPECT_EQ(kfd::field_of("", "Uid"), std::nullopt);
    EXPECT_EQ(kfd::field_of("Uid", "Uid"), std::nullopt);
}

} // namespace
