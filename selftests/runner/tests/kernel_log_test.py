# SPDX-License-Identifier: MIT
import tempfile
import unittest
from pathlib import Path

from runner.vm import kernel_log


def race(function: str) -> str:
    """A report of KCSAN whose second access was below function."""
    return f"""==================================================================
BUG: KCSAN: data-race in {function} / drm_sched_entity
write to 0xffff888004444444 of 8 bytes by task 7 on cpu 0:
 drm_sched_entity+0x10/0x20 [gpu_sched]
read to 0xffff888004444444 of 8 bytes by task 8 on cpu 1:
 {function}+0x10/0x20 [amdgpu]
Reported by Kernel Concurrency Sanitizer on:
=================================================================="""


class KernelLog(unittest.TestCase):
    def finds(self, text: str, *allowed: str) -> bool:
        with tempfile.NamedTemporaryFile("w") as log:
            log.write("".join(f"[    1.0] {line}\n" for line in text.split("\n")))
            log.flush()
            return bool(kernel_log.errors(Path(log.name), allowed))

    def test_every_kind_of_error_is_found(self):
        for line in (
            "WARNING: CPU: 0 PID: 1 at drivers/gpu/drm/x.c:1",
            "BUG: kernel NULL pointer dereference, address: 0",
            "Oops: general protection fault",
            "watchdog: BUG: soft lockup - CPU#0 stuck for 22s!",
            "Call Trace:",
            "WARNING: possible circular locking dependency detected",
            "rcu: INFO: rcu_preempt detected stalls on CPUs/tasks:",
            "INFO: task kworker/0:1 blocked for more than 120 seconds.",
            "amdgpu 0000:01:00.0: amdgpu: [drm] *ERROR* ring gfx timeout",
            "Kernel panic - not syncing: Attempted to kill init!",
            'kmemleak: unreferenced (size 64): of "x" < a+0x1/0x2',
        ):
            with self.subTest(line):
                self.assertTrue(self.finds(line))

    def test_nothing_else_is(self):
        for line in (
            "x86/cpu: User Mode Instruction Prevention (UMIP) activated",
            "rcu: Preemptible hierarchical RCU implementation.",
            "rcu: RCU lockdep checking is enabled.",
        ):
            with self.subTest(line):
                self.assertFalse(self.finds(line))

    def test_who_waits_at_the_end_is_no_error_and_named(self):
        with tempfile.NamedTemporaryFile("w", suffix=".log") as log:
            log.write(
                "[   20.0] sysrq: Show Blocked State\n"
                "[   20.1] task:storm           state:D stack:0     pid:195   ppid:194    flags:0x00004002\n"
                "[   20.2] Call Trace:\n"
                "[   20.3]  <TASK>\n"
                "[   20.4]  __schedule+0x4e0/0xbf0\n"
                "[   20.5]  ? __pfx_schedule_timeout+0x10/0x10\n"
                "[   20.6]  kfd_release+0x4/0x5 [amdgpu]\n"
                "[   20.7] RIP: 0033:0x42fd48\n"
                "[   20.8] task:kworker/0:1     state:D stack:0     pid:7     ppid:2      flags:0x00004000\n"
            )
            log.flush()
            self.assertEqual(kernel_log.errors(Path(log.name)), [])
            self.assertEqual(
                kernel_log.blocked(Path(log.name)), ["storm[195]: __schedule < kfd_release", "kworker/0:1[7]: "]
            )

    def test_an_allowed_line_is_not(self):
        line = "amdgpu 0000:01:00.0: [drm] *ERROR* ring gfx timeout"
        self.assertFalse(self.finds(line, "ring gfx timeout"))
        self.assertTrue(self.finds(line, "ring sdma timeout"))
        self.assertFalse(self.finds('kmemleak: unreferenced (size 64): of "x" < a+0x1/0x2', r"kmemleak: .* < a\+"))

    def test_a_race_counts_in_or_below_our_functions_only(self):
        self.assertTrue(self.finds(race("kfd_preempt_run")))
        self.assertTrue(self.finds(race("preempt_switch_cpsch")))
        self.assertFalse(self.finds(race("amdgpu_gem_open")))

    def test_an_error_after_a_race_of_others(self):
        self.assertTrue(self.finds(race("amdgpu_gem_open") + "\nBUG: KASAN: use-after-free in x"))

    def test_a_race_whose_report_is_cut_off(self):
        self.assertTrue(self.finds(race("amdgpu_gem_open").rpartition("\n")[0]))
