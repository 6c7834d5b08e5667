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

    def test_every_kind_of_error_of_the_driver_is_found(self):
        for line in (
            "kfd_preempt: queue 3 of process 7 is off the hardware but active on XCC 1",
            "kfd_preempt: a call of the MES failed; no queue is preempted until 0 is written to amdgpu's parameter",
            "preempt_degraded at the end: 1234: fence",
            "no answer to an unmap by doorbell",
            "failed to execute runlist",
            "XCC 1: Queue preemption failed for queue with doorbell_id: 1004",
            "The cp might be in an unrecoverable state due to an unsuccessful queues preemption",
            "cp queue preemption time out.",
            "SDMA RLC not idle in kgd_gfx_v9_4_3_hqd_sdma_destroy",
            "qcm fence wait loop timeout expired",
            "Resetting wave fronts (nocpsch) on dev 00000000f0a1",
            "Setting grace timeout failed",
            "Failed to reset grace period",
            "unmap queue failed",
            "destroy mqd failed",
            "Failed to allocate buffer on kernel queue",
            "Kernel queue test failed",
            "Pasid 0x8001 DQM create queue type 0 failed. ret -12",
            "Pasid 0x8001 destroy queue 1 failed, ret -62",
            "failed to remove hardware queue from MES, doorbell=0x1004",
            "failed to suspend gangs from MES",
            "Failed to evict process queues",
            "Failed to restore queues of pasid 0x8001",
            "Evicting process queues failed",
            "TLB flush failed for PASID 32769.",
            "still active bo inside vm",
            "Freeing queue vital buffer 0x7f0000000000, queue evicted",
            "Failed to map bo to gpuvm",
            "update_gpuvm_pte() failed",
            "GPU reset begin!",
            "GPU Recovery Failed: -62",
            "queue id 0x1 at pasid 0x8001 is reset",
            "Queues reset on process storm tid 7 thread storm pid 7",
            "ring sdma0 timeout, signaled seq=1, emitted seq=2",
            "ib ring test failed (-110).",
            "[gfxhub0] no-retry page fault (src_id:0 ring:24 vmid:8 pasid:32769)",
            "VM_L2_PROTECTION_FAULT_STATUS:0x00000000",
            "Sending SIGSEGV to process 7 (pasid 0x8001)",
            "sq_intr: error, se 0, data 0x0, sh 0, priv 0, wave_id 0, simd_id 0, cu_id 0, err_type 1",
            "IH ring buffer overflow (0x00000000, 0x00000020, 0x00000040)",
            "timeout waiting for kiq fence",
            "device lost from bus!",
            "device 1002:74a1 NOT added due to errors",
            "fail to remap queue",
            "critical bug! too many kiq readers",
        ):
            with self.subTest(line):
                self.assertTrue(self.finds(f"amdgpu 0000:01:00.0: amdgpu: {line}"))

    def test_a_rejected_request_is_none(self):
        for line in (
            "amdgpu: Ring size must be a power of 2 or 0",
            "amdgpu: Address: 0x7f0000000000 already allocated by SVM",
            "amdgpu 0000:01:00.0: amdgpu: Runlist is getting oversubscribed. Expect reduced ROCm performance.",
        ):
            with self.subTest(line):
                self.assertFalse(self.finds(line))

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
        self.assertTrue(self.finds(race("kfd_preempt_hw_switch_cpsch")))
        self.assertFalse(self.finds(race("amdgpu_gem_open")))

    def test_an_error_after_a_race_of_others(self):
        self.assertTrue(self.finds(race("amdgpu_gem_open") + "\nBUG: KASAN: use-after-free in x"))

    def test_a_race_whose_report_is_cut_off(self):
        self.assertTrue(self.finds(race("amdgpu_gem_open").rpartition("\n")[0]))
