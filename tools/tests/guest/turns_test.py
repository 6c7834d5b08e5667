#!/usr/bin/run-tests
# SPDX-License-Identifier: MIT
"""xpreemptd with jobs that do not fit into VRAM together, and do nothing to share it; vramlimit is 128 or 256."""

from pathlib import Path

from daemon import DaemonTest, rules

# In MiB. KFD gives nearly all of the limit.
LIMIT = int(Path("/sys/module/amdgpu/parameters/vramlimit").read_text())
MOST, HALF, ALL = LIMIT * 2 // 3, LIMIT * 9 // 20, LIMIT * 3 // 4
RULES = rules("10%") + '[memory]\nleast_stay = "300ms"\nstay = 2\n[default]\nyield = true\n'


class Turns(DaemonTest):
    def setUp(self):
        super().setUp()
        self.daemon = self.start_daemon(RULES)

    def tearDown(self):
        self.assertTrue(self.daemon.is_alive(), "xpreemptd has ended")
        for program in self.programs:
            program.kill()
        self.soon(self.vram_is_free, "VRAM is free again")
        super().tearDown()

    def vram_is_free(self):
        """A worker of the driver frees VRAM after the exit of its process."""
        third = self.start_vram_job("third", f"+{ALL}")
        return third.end() == 0 and third.says("^PASS")

    def start_job(self, name, mib):
        return self.vram_job(name, f"+{mib}", self.copied("vram_job", name))

    def start_daemon_again(self):
        self.daemon.kill()
        self.daemon = self.start_daemon()

    def moves(self):
        """How often the daemon has moved memory."""
        return self.policy()["moves"]

    def assert_turns(self, moves):
        begun = self.moves()
        self.soon(lambda: self.moves() >= begun + moves, f"{moves} more moves of memory than {begun}")

    def assert_soon_back(self, job):
        self.soon(lambda: self.is_noted(job, yielded_bytes=0), f"{job.name} comes back")

    def test_two_jobs_take_turns(self):
        first, second = self.start_job("first", MOST), self.start_job("second", MOST)
        self.assertRegex(self.asked("jobs").stdout, "VRAM +YIELDED +MISSING")
        self.assert_turns(6)
        self.assert_words_right(first)
        self.assert_soon_back(second)
        self.assert_words_right(second)
        self.assertRegex(self.asked("policy").stdout, "moves of memory: [0-9]+, .* out of VRAM, .* back")

    def test_three_jobs_take_turns(self):
        jobs = [self.start_job(name, HALF) for name in ("first", "second", "third")]
        self.assert_turns(6)
        self.assert_words_right(*jobs)

    def test_important_job_keeps_its_memory_while_it_has_work(self):
        first = self.start_job("first", MOST)
        server = self.start_job("server", MOST)
        self.assertGreater(self.job(first)["yielded_bytes"], 0, "the batch job is away")
        begun, ran = self.moves(), self.job(server)["run_ns"]
        self.soon(lambda: self.job(server)["run_ns"] >= ran + 2e9, "the important job runs for 2 s")
        self.assertEqual(self.moves(), begun, "moves while the important job has work")
        self.assert_words_right(server)
        self.assert_soon_back(first)
        self.assert_words_right(first)

    def test_job_is_refused_when_the_other_one_may_not_yield(self):
        self.reload(self.daemon, RULES + '[[rule]]\nexecutable = "*/first"\nyield = false\n')
        first = self.start_job("first", MOST)
        second = self.start_vram_job("second", f"+{MOST}")
        self.assertTrue(second.says("^FAIL: .*not enough VRAM"), "the second job is refused for want of VRAM")
        self.assert_words_right(first)

    def test_jobs_take_turns_under_the_next_daemon(self):
        # When the daemon dies, the one that is away has no room until the next daemon makes some.
        first, second = self.start_job("first", MOST), self.start_job("second", MOST)
        self.start_daemon_again()
        self.assert_turns(4)
        self.assert_words_right(first, second)

    def test_driver_moves_the_memory_back_when_the_daemon_has_died(self):
        first, second = self.start_job("first", MOST), self.start_job("second", MOST)
        self.daemon.kill()
        for job in (first, second):
            job.process.terminate()
        # The other one comes when there is room.
        self.soon(lambda: first.says("^PASS") or second.says("^PASS"), "the job in VRAM ends right")
        self.assert_words_right(first, second)
        self.start_daemon_again()
