# SPDX-License-Identifier: MIT
"""kfd-preempt in a tree that looks like /sys, a test server in the place of xpreemptd, and tables in its output."""

import shlex
import subprocess

from runner.testing.commands import CommandTest, Expected, Ran, program


def rows_of(text):
    """Cells of the lines of tables, by the names of the columns of their table."""
    rows, names = [], None
    for line in text.splitlines():
        if not line.startswith("|"):
            names = None
            continue
        cells = [cell.strip() for cell in line.split("|")[1:-1]]
        if names is None:
            names = cells
        elif not set(cells[0]) <= set("-:"):
            rows.append(dict(zip(names, cells)))
    return rows


class KfdPreemptTest(CommandTest):
    def setUp(self):
        super().setUp()
        self.device = self.work / "kfd"
        self.socket = self.work / "run/xpreemptd.sock"
        (self.work / "sys/class/kfd/kfd/proc").mkdir(parents=True)
        self.environment |= {
            "KFD_PREEMPT_SYSFS_ROOT": str(self.work / "sys"),
            "KFD_PREEMPT_DEV": str(self.device),
            "XPREEMPTD_SOCKET": str(self.socket),
        }

    def add_queue(self, pid: int, number: int = 3, gpu: int = 5230, top: str = "sys") -> None:
        """A compute queue of the process, as KFD shows it."""
        for name, value in ("gpuid", gpu), ("type", 0), ("size", 4096):
            self.write(f"{top}/class/kfd/kfd/proc/{pid}/queues/{number}/{name}", str(value))

    def check(self, words: str, expected: Expected, **options) -> Ran:
        """Runs kfd-preempt with these words, as a shell splits them."""
        return self.meets(expected, program("kfd-preempt"), *shlex.split(words), **options)

    def start(self, *command: object, **options) -> subprocess.Popen:
        """A process with pipes that ends with the test."""
        process = self.enterContext(
            subprocess.Popen(
                [str(word) for word in command],
                env=self.environment,
                text=True,
                **{"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, **options},
            )
        )
        self.addCleanup(process.kill)
        return process

    def start_server(self) -> subprocess.Popen:
        """xpreemptd_test_server; it ends when its stdin is closed."""
        server = self.start(program("xpreemptd_test_server"), self.socket)
        self.assertEqual(server.stdout.readline(), "ready\n")
        return server
