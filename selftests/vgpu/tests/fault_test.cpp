// SPDX-License-Identifier: MIT
// Fault specs are understood or refused with the right one; injected faults strike as told.
#include "fakes.hpp"
#include "fault/fault_commands.hpp"
#include "fault/fault_injector.hpp"
#include "fault/fault_spec.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace vgpu::fault {
namespace {

using ::testing::HasSubstr;

TEST(FaultSpec, of_every_kind) {
    const auto late = parse_spec("dequeue-late:ms=6000,count=2");
    ASSERT_TRUE(late);
    EXPECT_EQ(late->kind, Kind::dequeue_late);
    EXPECT_EQ(late->delay_ms, 6000U);
    EXPECT_EQ(late->count, 2U);
    EXPECT_EQ(parse_spec("dequeue-late:polls=9")->polls, 9U);
    EXPECT_EQ(parse_spec("dequeue-never")->count, 1U);
    EXPECT_EQ(parse_spec("dequeue-never:count=3")->count, 3U);
    EXPECT_EQ(parse_spec("drop-fence:nth=4")->nth, 4U);
    const auto stuck = parse_spec("sdma-stuck:engine=0,doorbell=0x1400,vmid=8");
    ASSERT_TRUE(stuck);
    EXPECT_EQ(stuck->engine, 0U);
    EXPECT_EQ(stuck->doorbell, 0x1400U);
    EXPECT_EQ(stuck->vmid, 8U);
    for (const char* text :
         {"unmap-late:ms=5", "unmap-never", "hung-wave:doorbell=0x1000", "slow-fence:ms=5",
          "lost-interrupt:source=181", "lost-msi:nth=2", "vm-fault:nth=100", "device-hang",
          "unmap-skipped:xcc=1,doorbell=0x1002,vmid=8,pasid=0x8001,nth=2,count=3",
          "doorbell-lost:doorbell=0x1002,vmid=8,pasid=0x8001,nth=2", "grace-lost:xcc=3,nth=2"})
        EXPECT_TRUE(parse_spec(text)) << text;
}

TEST(FaultSpec, errors_name_the_thing_and_the_fix) {
    for (const auto& [text, why] : {std::pair{"lose-fence", "no fault is called 'lose-fence'"},
                                    {"dequeue-late", "ms=N or polls=N"},
                                    {"dequeue-late:ms=1,polls=1", "one of them"},
                                    {"dequeue-late:ms=soon", "'ms' wants a number"},
                                    {"dequeue-late:ms=0", "from 1 up"},
                                    {"drop-fence:ms=4", "no option 'ms'"},
                                    {"drop-fence:nth", "key=number"},
                                    {"drop-fence:", "nothing follows"},
                                    {"unmap-late", "say how late: ms=N"},
                                    {"unmap-late:polls=3", "no option 'polls'"},
                                    {"vm-fault:doorbell=1", "no option 'doorbell'"},
                                    {"unmap-skipped:ms=3", "no option 'ms'"},
                                    {"doorbell-lost:xcc=1", "no option 'xcc'"},
                                    {"grace-lost:doorbell=1", "no option 'doorbell'"},
                                    {"lost-msi:nth=0x", "'nth' wants a number"},
                                    {"device-hang:nth=1", "no option 'nth'"},
                                    {"", "no fault is called"}}) {
        const auto spec = parse_spec(text);
        ASSERT_FALSE(spec) << text;
        EXPECT_THAT(spec.error().text, HasSubstr(why));
        EXPECT_THAT(spec.error().text, HasSubstr("dequeue-late:ms=N"));
    }
}

TEST(FaultInjector, holds_a_dequeue_for_its_time) {
    test::KeepingObserver observer;
    FaultInjector faults({*parse_spec("dequeue-late:ms=100")}, observer);
    faults.set_time_ms(1000);
    faults.stop_begins({.slot = 3, .direct = true});
    EXPECT_EQ(faults.next_deadline_ms(), 1100U);
    EXPECT_TRUE(faults.stop_held(3));
    EXPECT_FALSE(faults.stop_held(4));
    faults.set_time_ms(1100);
    EXPECT_FALSE(faults.stop_held(3));
    faults.stop_begins({.slot = 3, .direct = true}); // the count is used up
    EXPECT_FALSE(faults.stop_held(3));
}

TEST(FaultInjector, holds_a_dequeue_for_a_number_of_polls) {
    test::KeepingObserver observer;
    FaultInjector faults({*parse_spec("dequeue-late:polls=2")}, observer);
    faults.stop_begins({.slot = 0, .direct = true});
    faults.active_polled(0);
    EXPECT_TRUE(faults.stop_held(0));
    faults.active_polled(0);
    EXPECT_FALSE(faults.stop_held(0));
}

TEST(FaultInjector, never_lasts_until_the_reset) {
    test::KeepingObserver observer;
    FaultInjector faults({*parse_spec("dequeue-never")}, observer);
    faults.stop_begins({.slot = 0, .direct = true});
    faults.set_time_ms(1U << 30);
    EXPECT_TRUE(faults.stop_held(0));
    faults.device_reset();
    EXPECT_FALSE(faults.stop_held(0));
    faults.stop_begins({.slot = 0, .direct = true});
    EXPECT_FALSE(faults.stop_held(0));
}

TEST(FaultInjector, strikes_only_what_its_spec_names) {
    test::KeepingObserver observer;
    FaultInjector faults({*parse_spec("unmap-never:doorbell=0x1002,count=9")}, observer);
    faults.stop_begins({.slot = 0, .doorbell = 0x1000});
    faults.stop_begins({.slot = 1, .doorbell = 0x1002, .direct = true});
    EXPECT_FALSE(faults.stop_held(0));
    EXPECT_FALSE(faults.stop_held(1));
    faults.stop_begins({.slot = 2, .doorbell = 0x1002});
    EXPECT_TRUE(faults.stop_held(2));
}

// For commands that access nothing but the faults.
const Surroundings no_gpu;

TEST(FaultCommands, arm_list_and_disarm) {
    test::KeepingObserver observer;
    FaultInjector faults({*parse_spec("drop-fence")}, observer);
    EXPECT_EQ(*run_command(faults, no_gpu, "arm lost-msi:nth=2,count=3"), "2\n");
    EXPECT_FALSE(faults.lose_msi());
    EXPECT_TRUE(faults.lose_msi());
    EXPECT_EQ(*run_command(faults, no_gpu, "list"),
              "1 drop-fence seen=0 hits=0 left=1\n"
              "2 lost-msi:nth=2,count=3 seen=2 hits=1 left=2\n");
    EXPECT_EQ(*run_command(faults, no_gpu, "disarm 2"), "");
    EXPECT_FALSE(faults.lose_msi());
    EXPECT_EQ(*run_command(faults, no_gpu, "disarm all"), "");
    EXPECT_EQ(*run_command(faults, no_gpu, "list"), "");
}

TEST(FaultCommands, counter_scribble_mqds_and_pace) {
    test::KeepingObserver observer;
    FaultInjector faults({}, observer);
    const Surroundings gpu{.counter = [](std::string_view name) { return name.size(); },
                           .scribble_mqds = [](std::uint16_t pasid) { return pasid / 2U; },
                           .set_pace = [](std::uint64_t per_ms) -> Result<Nothing> {
                               if (per_ms == 7)
                                   return Error{ENOTSUP, "no CPU time"};
                               return Nothing{};
                           }};
    EXPECT_EQ(*run_command(faults, gpu, "counter mmio_reads"), "10\n");
    EXPECT_EQ(*run_command(faults, gpu, "scribble-mqds 8"), "4\n");
    EXPECT_THAT(run_command(faults, gpu, "scribble-mqds 1").error().text, HasSubstr("stop one"));
    EXPECT_THAT(run_command(faults, gpu, "scribble-mqds x").error().text, HasSubstr("'x'"));
    EXPECT_THAT(run_command(faults, gpu, "counter").error().text, HasSubstr("counter NAME"));
    EXPECT_EQ(*run_command(faults, gpu, "pace 5000"), "");
    EXPECT_THAT(run_command(faults, gpu, "pace 7").error().text, HasSubstr("no CPU time"));
    for (const char* wrong : {"pace", "pace x", "pace 5000x", "pace 1000001", "pace -1"})
        EXPECT_THAT(run_command(faults, gpu, wrong).error().text, HasSubstr("0 (no limit)"))
            << wrong;
}

TEST(FaultCommands, errors_name_the_thing_and_the_fix) {
    test::KeepingObserver observer;
    FaultInjector faults({}, observer);
    for (const auto& [command, why] : {std::pair{"fire", "no command is called 'fire'"},
                                       {"", "there are arm SPEC"},
                                       {"arm", "no fault is called ''"},
                                       {"arm lose-fence", "drop-fence"},
                                       {"disarm 7", "no fault 7 is armed"},
                                       {"disarm x", "neither a fault's number nor 'all'"}}) {
        const auto reply = run_command(faults, no_gpu, command);
        ASSERT_FALSE(reply) << command;
        EXPECT_THAT(reply.error().text, HasSubstr(why));
    }
    for (std::size_t i = 0; i < FaultInjector::max_armed; ++i)
        EXPECT_TRUE(run_command(faults, no_gpu, "arm drop-fence"));
    EXPECT_THAT(run_command(faults, no_gpu, "arm drop-fence").error().text,
                HasSubstr("disarm some"));
}

TEST(FaultInjector, drops_the_nth_fence_only) {
    test::KeepingObserver observer;
    FaultInjector faults({*parse_spec("drop-fence:nth=3")}, observer);
    EXPECT_FALSE(faults.drop_fence());
    EXPECT_FALSE(faults.drop_fence());
    EXPECT_TRUE(faults.drop_fence());
    EXPECT_FALSE(faults.drop_fence());
}

} // namespace
} // namespace vgpu::fault
