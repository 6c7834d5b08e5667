# SPDX-License-Identifier: MIT
"""`kfd-preempt metrics` against a test server: each parser of Prometheus takes the text, and finds what the server has."""

import stat

from fixture import KfdPreemptTest
from prometheus_client import parser as text_format
from prometheus_client.openmetrics import parser as openmetrics
from runner.paths import REPO
from runner.testing.commands import fails, prints, program

JOB = {"id": "1", "name": "/batch.slice"}
FORGED = {"id": "2", "name": "/tmp\\x1b[2J\\x0ax"}
VALUES = [
    ("up", {}, 1),
    ("policy", {"policy": "BAND"}, 1),
    ("decisions_total", {}, 10),
    ("switches_total", {}, 8),
    ("ready_edges_found_late_total", {}, 1),
    ("job_gpu_seconds_total", JOB, 4),
    ("job_ready_seconds_total", JOB, 9),
    ("job_held_seconds_total", JOB, 5),
    ("job_added_wait_seconds_total", JOB, 3),
    ("job_accounted_seconds_total", JOB, 10),
    ("job_stops_total", JOB, 17),
    ("job_requests_total", JOB, 2),
    ("job_processes", JOB, 2),
    ("job_queues", JOB, 5),
    ("job_weight", JOB, 100),
    ("job_priority", JOB, 0),
    ("job_band", {**JOB, "band": "idle"}, 1),
    ("job_band", {**JOB, "band": "high"}, 0),
    ("job_state", {**JOB, "state": "held"}, 1),
    ("job_stops_total", FORGED, 17),
    ("switch_cost_seconds", {}, 0.00025),
    ("ring_to_switch_seconds_count", {}, 7),
    ("ring_to_switch_seconds_sum", {}, 0.0007),
    ("ring_to_switch_seconds", {"quantile": "0.99"}, 0.00018),
    ("ring_to_stopped_seconds_count", {}, 0),
]


def samples_of(parser, text):
    families = parser.text_string_to_metric_families(text)
    return {(sample.name, *sorted(sample.labels.items())): sample.value for family in families for sample in family.samples}


class MetricsTest(KfdPreemptTest):
    def setUp(self):
        super().setUp()
        self.file = self.work / "out/x.prom"
        self.file.parent.mkdir()


class WithoutDaemon(MetricsTest):
    def test_metrics_without_a_daemon_fail(self):
        self.check("metrics", fails(1, "systemctl start xpreemptd"))

    def test_file_without_a_daemon_says_that_none_runs(self):
        self.check("metrics --output $work/out/x.prom", fails(0, "xpreempt_up 0"))
        self.assertEqual(samples_of(openmetrics, self.file.read_text()), {("xpreempt_up",): 0})


class WithDaemon(MetricsTest):
    def setUp(self):
        super().setUp()
        self.start_server()

    def text(self):
        return self.check("metrics", prints("")).stdout

    def has_values(self, parser):
        samples = samples_of(parser, self.text())
        wanted = {(f"xpreempt_{name}", *sorted(labels.items())): value for name, labels, value in VALUES}
        self.assertEqual({key: samples.get(key) for key in wanted}, wanted)

    def test_openmetrics_has_the_values_of_the_server(self):
        self.has_values(openmetrics)

    def test_text_format_has_the_values_of_the_server(self):
        self.has_values(text_format)

    def test_each_family_has_documentation_and_type_and_times_are_in_seconds(self):
        families = list(openmetrics.text_string_to_metric_families(self.text()))
        for family in families:
            self.assertTrue(family.documentation, family)
            self.assertIn(family.type, ("counter", "gauge", "summary"), family)
        times = {family.unit for family in families if family.name.endswith("_seconds")}
        self.assertEqual(times, {"seconds"})

    def test_job_has_23_series_by_its_name_and_id_only(self):
        """Prometheus keeps each for weeks after the job: kfd-preempt(8) has the number."""
        series = [dict(key[1:]) for key in samples_of(openmetrics, self.text()) if ("id", "1") in key]
        self.assertEqual(len(series), 23)
        self.assertEqual({label for labels in series for label in labels}, {"id", "name", "band", "state"})
        for label, words in ("band", 4), ("state", 5):
            self.assertEqual(len([labels for labels in series if label in labels]), words)
        self.assertIn("23 series", (REPO / "tools/man/kfd-preempt.8.scd").read_text())

    def test_file_is_replaced_readable_for_all_and_alone(self):
        before = self.write(self.file).stat().st_ino
        ran = self.succeeds(program("kfd-preempt"), "metrics", "--output", self.file)
        self.assertEqual(ran.output, "")
        self.assertEqual(self.file.read_text(), self.text())
        self.assertNotEqual(self.file.stat().st_ino, before)
        self.assertEqual(stat.S_IMODE(self.file.stat().st_mode), 0o644)
        self.assertEqual(list(self.file.parent.iterdir()), [self.file])

    def test_file_that_cannot_be_written(self):
        self.check("metrics --output $work/absent/x.prom", fails(1, "absent/x.prom: not written: No such file"))

    def test_metrics_as_json_are_a_string(self):
        self.check("-j metrics", prints('"metrics": "# HELP xpreempt_up'))
