# SPDX-License-Identifier: MIT
"""A run fails after a command that succeeded although its shader never ran. Each test boots a guest that is built."""

from runner.paths import VM
from runner.testing.commands import CommandTest, cases

# gc.SCRATCH_REG1: in the headers, not in selftests/vgpu/model/regs/blocks.
REGISTER = "dd if=/sys/kernel/debug/dri/0/amdgpu_regs of=/dev/null bs=4 skip=49217 count=1 && echo read it"
SHADER = "unmodelled_shader"


class Unmodelled(CommandTest):
    @cases(
        ("unmodelled instruction fails the run", 123, "opcode not modelled", SHADER),
        ("unmodelled instruction that is allowed fails the run", 123, "opcode not modelled", SHADER, "--allow-unmodelled"),
        ("unmodelled register fails the run", 123, "gc.SCRATCH_REG1", REGISTER),
        ("unmodelled register that is allowed is read", 0, "read it", REGISTER, "--allow-unmodelled"),
    )
    def ends(self, status, text, command, *options):
        # The driver prints an error for the unmodelled instruction, but the vgpu's status is tested here.
        run = [VM / "run", "--no-build", "--named", "--allow-dmesg", "sq_intr: error", *options, "--", command]
        ran = self.ran(*run, timeout=1200)
        self.assertEqual(ran.status, status, ran)
        self.assertIn(text, ran.output)
