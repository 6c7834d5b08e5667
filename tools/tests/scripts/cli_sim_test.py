# SPDX-License-Identifier: MIT
"""The command line of `kfd-preempt-sim`: output, files, errors."""

import csv
import json
import shlex
import shutil
import unittest
from xml.etree import ElementTree

from fixture import rows_of
from runner.paths import REPO
from runner.testing.commands import CommandTest, cases, each, fails, program

SCENARIO = """[scenario]
duration = "5s"
[[job]]
name = "service"
band = "high"
arrival = "periodic"
rate = 20
kernel = "3ms"
[[job]]
name = "batch"
band = "idle"
kernel = "20ms"
"""


class SimTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.scenario = self.write("s.toml", SCENARIO)

    def sim(self, words, **options):
        """Runs kfd-preempt-sim with these words, as a shell splits them, and expects success."""
        return self.succeeds(program("kfd-preempt-sim"), *shlex.split(self.filled(words)), **options)

    def csv(self, name):
        with open(self.work / name, encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))


class Errors(SimTest):
    @cases(
        ("unknown key of a scenario", "run $work/wrong.toml", fails(1, 'wrong.toml:5:1: unknown key "bandd"')),
        ("unknown scenario", "run nothing", fails(1, "no such scenario, expected a path, or one of disb-a")),
        ("unknown policy", "run disb-a --policy FAST", fails(1, "no such policy, expected one of BAND")),
        ("missing scenario file", "run $work/absent.toml", fails(1, "absent.toml: cannot be read")),
        ("compare without a scenario", "compare", fails(2, "expected SCENARIO or --suite")),
        ("compare of an unknown suite", "compare --suite all", fails(2, "--suite")),
        *each(("usage error of '{}' names the program", "{}", fails(2, "^kfd-preempt-sim: ")), "nothing", "run", "--fast"),
        *each(("seed '{}'", "run disb-a --seed '{}'", fails(2, "^kfd-preempt-sim: --seed: '{}' is not a number from 0 to 4294967295")),
              "010", "0x10", "-1", "1.5", "4294967296"),
        *each(("'{}' threads", "run disb-a --threads '{}'", fails(2, "'{}' is not a number from 1 to 64")), "04", "0", "65"),
        ("scenario with an escape sequence", "run '\033[2J'", fails(1, r"^kfd-preempt-sim: \\x1b\[2J: no such scenario")),
        ("CSV that cannot be written", "compare $work/s.toml --csv $work/absent/x.csv", fails(1, "not written")),
        ("unknown measure", "compare $work/s.toml --svg $work/x.svg --measure x", fails(1, "expected one of mean, p99")),
        ("sweep with a wrong value names the settings", "sweep $work/s.toml --vary gpu.capacity=1,low",
         fails(1, r"\(with the settings gpu.capacity=low\)")),
        ("sweep without a value", "sweep $work/s.toml --vary x", fails(1, "--vary: 'x' is not KEY=VALUE")),
        ("replay of a file that is no recording", "replay $work/empty.json",
         fails(1, "no recording, expected a file of `kfd-preempt trace`")),
        ("replay of a missing file", "replay $work/absent", fails(1, "cannot be read: No such file")),
    )
    def refused(self, words, expected):
        self.write("wrong.toml", SCENARIO.replace("band =", "bandd ="))
        self.write("empty.json", "{}")
        self.meets(expected, program("kfd-preempt-sim"), *shlex.split(words))


class Run(SimTest):
    def test_list_names_scenarios_policies_constants_and_their_sources(self):
        listed = self.sim("list").stdout
        for word in "disb-a", "papers", "BAND", "save_gb_s", "5300 GB/s":
            self.assertIn(word, listed)

    def test_run_prints_a_simulated_row_for_each_job_and_baseline(self):
        ran = self.sim("run $work/s.toml --policy BAND")
        rows = rows_of(ran.stdout)
        wanted = {(policy, job) for policy in ("alone", "free sharing", "HWS slices", "BAND") for job in ("service", "batch")}
        self.assertLessEqual(wanted, {(row["policy"], row["jobs"]) for row in rows})
        self.assertEqual({row["origin"] for row in rows}, {"simulated"})
        self.assertEqual(ran.stderr, "", "progress on standard error, which is no terminal")

    def test_run_prints_the_same_bytes_again_with_one_thread_and_with_progress(self):
        first = self.sim("run $work/s.toml --policy BAND").stdout
        self.assertEqual(self.sim("run $work/s.toml --policy BAND --threads 1").stdout, first)
        told = self.sim("run $work/s.toml --policy BAND --progress")
        self.assertRegex(told.stderr, "of .*runs")
        self.assertEqual(told.stdout, first)

    def test_another_seed_gives_other_figures(self):
        words = "run inference-and-batch --policy BAND"
        self.assertNotEqual(self.sim(f"{words} --seed 7").stdout, self.sim(words).stdout)

    def test_compare_writes_csv_and_chart_of_simulated_and_published_figures(self):
        self.sim("compare $work/s.toml inference-and-batch --csv $work/f.csv --svg $work/f.svg --measure p99")
        lines = self.csv("f.csv")
        self.assertEqual({line["scenario"] for line in lines}, {"s", "inference-and-batch"})
        self.assertEqual({line["origin"] for line in lines}, {"simulated", "published"})
        self.assertTrue(all(None not in line and None not in line.values() for line in lines), lines)
        chart = self.work / "f.svg"
        self.assertTrue(ElementTree.parse(chart).getroot().tag.endswith("svg"))
        self.assertIn("simulated", chart.read_text())

    def test_directory_of_scenarios_replaces_those_of_the_package(self):
        self.write("scenarios/mine.toml", SCENARIO)
        settings = {"KFD_PREEMPT_SIM_SCENARIOS": self.work / "scenarios"}
        listed = self.sim("list", env=settings).stdout
        self.assertRegex(listed, r"\bmine\b")
        self.assertNotIn("disb-a", listed)
        rows = rows_of(self.sim("run mine --policy BAND", env=settings).stdout)
        self.assertLessEqual({"service", "batch"}, {row["jobs"] for row in rows})
        self.meets(fails(1, "expected a path, or one of mine"), program("kfd-preempt-sim"), "run", "disb-a", env=settings)

    def test_sweep_shows_what_a_longer_grace_costs_the_batch_job(self):
        ran = self.sim("sweep $work/s.toml --vary policy.BAND.resume_grace=0us,20ms --policy BAND")
        rows = {row["policy.BAND.resume_grace"]: row for row in rows_of(ran.stdout) if row["policy"] == "BAND"}
        self.assertEqual(list(rows), ["0us", "20ms"])
        self.assertLess(float(rows["20ms"]["share, last band"]), float(rows["0us"]["share, last band"]))

    def test_each_fourth_line_of_a_thinned_trace_is_a_request(self):
        lines = "".join(f"{second},100,5\n" for second in range(20, 60))
        self.write("arrivals.csv", f"TIMESTAMP,ContextTokens,GeneratedTokens\n{lines}")
        settings = "arrival=trace rate= shape= trace=$work/arrivals.csv thin=4".split()
        words = " ".join(f"--set job.server.{setting}" for setting in settings)
        self.sim(f"compare llm-code --policy BAND --set scenario.warmup=0us --set scenario.duration=100s {words} "
                 "--csv $work/trace.csv")
        self.assertEqual({line["requests"] for line in self.csv("trace.csv") if line["jobs"] == "server"}, {"10"})


def event(kind, at, job, **more):
    return {"ph": kind, "ts": at, "pid": job, **more}


def recording():
    """Two requests of job 1, which wait 1 ms each; job 2 has work all the time, or is waiting."""
    events = [event("M", 0, job, tid=0, name="process_name", args={"name": f"{name} ({job})"})
              for job, name in ((1, "service"), (2, "/batch.slice"))]
    events.append(event("B", 0, 2, tid=7, name="running"))
    for at in (10000, 30000):
        events += [event("B", at, 1, tid=7, name="waiting"), event("E", at + 1000, 1, tid=7),
                   event("B", at + 1000, 1, tid=7, name="running"),
                   event("X", at + 1000, 2, tid=0, name="stop", dur=100, args={}),
                   event("E", at + 1000, 2, tid=7),
                   event("B", at + 1000, 2, tid=7, name="waiting"),
                   event("E", at + 4000, 1, tid=7), event("E", at + 4000, 2, tid=7),
                   event("X", at + 4000, 2, tid=0, name="resume", dur=100, args={}),
                   event("B", at + 4000, 2, tid=7, name="running")]
    events.append(event("E", 50000, 2, tid=7))
    return json.dumps({"traceEvents": events})


class Replay(SimTest):
    BANDS = "--set job.service.band=high --set job./batch.slice.band=idle"

    def setUp(self):
        super().setUp()
        self.write("trace.json", recording())

    def test_replay_has_what_was_recorded_and_no_wait_under_band(self):
        ran = self.sim(f"replay $work/trace.json --policy BAND {self.BANDS} --set gpu.capacity=1")
        rows = {(row["policy"], row["jobs"]): row for row in rows_of(ran.stdout)}
        recorded = rows["recorded", "service"]
        self.assertEqual((recorded["p50 ms"], recorded["origin"]), ("4.000", "recorded"))
        self.assertEqual(rows["recorded", "/batch.slice"]["longest wait ms"], "3.0")
        longest = float(rows["BAND", "service"]["max ms"])
        self.assertTrue(3 < longest < 3.5, f"{longest} ms: a millisecond of waiting")

    @cases(
        ("the events of the daemon are of no job", 10**9),
        ("the events of the daemon are of no job in an old trace", 0),
    )
    def daemon(self, pid):
        words = f"replay $work/trace.json --switches --policy BAND {self.BANDS}"
        before = self.sim(words).stdout
        events = json.loads(recording())["traceEvents"]
        events += [event("M", 0, pid, tid=0, name="process_name", args={"name": "xpreemptd"}),
                   event("X", 5000, pid, tid=1, name="stop", dur=20, args={}),
                   event("B", 6000, pid, tid=7, name="running"), event("E", 7000, pid, tid=7),
                   event("X", 8000, pid, tid=1, name="LOST", dur=0, args={"records": 3})]
        self.write("trace.json", json.dumps({"traceEvents": events}))
        after = self.sim(words).stdout
        self.assertNotIn("xpreemptd", after)
        self.assertIn("The first 4 of 4 recorded switches are the same", after)
        self.assertEqual([line for line in after.split("\n") if "lost" not in line.lower()], before.split("\n"))

    def test_replay_compares_the_recorded_switches_with_those_of_the_policy(self):
        same = self.sim(f"replay $work/trace.json --switches --policy BAND {self.BANDS}").stdout
        self.assertIn("The first 4 of 4 recorded switches are the same, and no other is simulated.", same)
        self.assertIn("replaced 4 runlists. Saves of queues: service 2, /batch.slice 2.", same)
        other = self.sim("replay $work/trace.json --switches --policy HPF").stdout
        self.assertIn("The first 0 of 4 recorded switches are the same.\n", other)

    def test_replay_of_switches_needs_a_policy(self):
        text = "--switches: expected one --policy, that of the recording"
        self.meets(fails(1, text), program("kfd-preempt-sim"), "replay", "$work/trace.json", "--switches")

    def test_replay_of_wrong_events_is_no_crash(self):
        self.write("trace.json", '{"traceEvents": [3, {"ph": 1}, {"pid": 1, "ph": "B", "ts": "x"}]}')
        self.assertIn(self.ran(program("kfd-preempt-sim"), "replay", self.work / "trace.json").status, (0, 1))


# COMPLETION PROGRAM WORD...: prints what the shell offers for the last word, one a line.
BASH = """
. "$1"
shift
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMP_LINE=$*
COMP_POINT=${#COMP_LINE}
_kfd_preempt
printf '%s\\n' "${COMPREPLY[@]}" """
ZSH = """
compadd() { shift; print -rl -- "$@" }
_files() { print -r -- "(files)" }
file=$1
shift
words=("$@") CURRENT=$#
. $file """


class Completion(CommandTest):
    def offers_all(self, shell, script, file):
        """Commands, scenarios, options of the command, policies, measures, and files of recordings."""
        def offers(*words):
            command = (shell, "-c", script, shell, REPO / "tools/completions" / file, program("kfd-preempt-sim"))
            return self.ran(*command, *words).stdout.split()
        self.assertEqual(offers("swe"), ["sweep"])
        self.assertLessEqual({"disb-a", "llm-conv"}, set(offers("compare", "")))
        self.assertEqual(offers("sweep", "disb-a", "--va"), ["--vary"])
        self.assertNotIn("--vary", offers("run", "--"))
        self.assertEqual(offers("run", "disb-a", "--policy", "B"), ["BAND"])
        self.assertEqual(offers("run", "disb-a", "--measure", "tt"), ["ttft"])
        self.assertIn(offers("replay", ""), ([], ["(files)"]))

    def test_completion_of_bash(self):
        self.offers_all("bash", BASH, "kfd-preempt.bash")

    @unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
    def test_completion_of_zsh(self):
        self.offers_all("zsh", ZSH, "_kfd-preempt-sim")
