# SPDX-License-Identifier: MIT
"""follow-focus; stubs stand for xprop and kfd-preempt."""

from runner.paths import REPO
from runner.testing.commands import CommandTest


class FollowFocus(CommandTest):
    def calls(self, refused):
        """The calls of kfd-preempt for a window of pid 7, before the last one, at the end."""
        calls = self.write("calls")
        self.fake_command("xprop", 'case $1 in -root) echo "ACTIVE: window id # 0x1" ;; *) echo "PID = 7" ;; esac')
        self.fake_command("sleep", "")
        self.fake_command("kfd-preempt", f'echo "$*" >>"{calls}"; {refused}')
        self.succeeds(REPO / "tools/xpreemptd/deploy/x11/follow-focus", timeout=60)
        *before, last = calls.read_text().replace("-j ", "").splitlines()
        self.assertEqual(last, "focus none")
        return before

    def test_active_window_gets_the_focus(self):
        self.assertEqual(self.calls("exit 0"), ["focus 7"])

    def test_window_without_a_job_takes_the_focus_from_all(self):
        self.assertEqual(self.calls('case $* in *7) echo ESRCH; exit 1 ;; esac'), ["focus 7", "focus none"])

    def test_refusal_to_try_again_leaves_the_focus(self):
        calls = self.calls("""case $* in *7) echo '{"error": {"errno": "EAGAIN"}}'; exit 1 ;; esac""")
        self.assertEqual(set(calls), {"focus 7"})
        self.assertGreater(len(calls), 1, "not tried again")

    def test_refusal_to_try_again_ends(self):
        again = self.work / "again"
        calls = self.calls(f'case $* in *7) [ -e "{again}" ] || {{ : >"{again}"; echo EAGAIN; exit 1; }} ;; esac')
        self.assertEqual(calls, ["focus 7", "focus 7"])
