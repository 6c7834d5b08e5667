# SPDX-License-Identifier: MIT
"""The completion of bash: words as the shell reads them. A stub stands for kfd-preempt."""

from runner.paths import REPO
from runner.testing.commands import CommandTest, cases

STUB = """#!/bin/bash
[ "$1" = complete ] || exit 2
printf '%s\\n' "$0" >"$CALLED"
case $CANDIDATE in "${*: -1}"*) printf '%s\\n' "$CANDIDATE" ;; esac
"""
# COMPLETION LINE WORD...: prints what completes the last word; bash has cut the line into these words.
COMPLETE = """
. "$1"
COMP_LINE=$2 COMP_POINT=${#2}
shift 2
COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
_kfd_preempt
echo "${COMPREPLY[*]-}"
"""
NAME, POLICY, BAND = "/system.slice/web.service", "--policy=BAND", "--band=idle"
BLANK, QUOTE, AT, BACKSLASH = "/user.slice/two words", 'a"b', "/user.slice/user@1000.service", r"/gpu\x2da.service"


class Completion(CommandTest):
    def setUp(self):
        super().setUp()
        for directory in "bin", "elsewhere":
            for name in "kfd-preempt", "kfd-preempt-sim":
                self.write(f"{directory}/{name}", STUB, 0o755)
        (self.work / "home").mkdir()
        (self.work / "home/bin").symlink_to(self.work / "elsewhere")
        self.environment |= {"HOME": str(self.work / "home"), "CALLED": str(self.work / "called")}

    def completed(self, candidate, line, *words):
        arguments = (REPO / "tools/completions/kfd-preempt.bash", line, *words)
        return self.succeeds("bash", "-euc", COMPLETE, "bash", *arguments, env={"CANDIDATE": candidate}).stdout[:-1]

    @cases(
        ("the command in PATH", "bin/kfd-preempt", NAME, NAME, "kfd-preempt renice /sys", "kfd-preempt", "renice", "/sys"),
        ("the command with ~", "home/bin/kfd-preempt", NAME, NAME, "~/bin/kfd-preempt renice /sys", "~/bin/kfd-preempt", "renice",
         "/sys"),
        ("the command in a variable", "home/bin/kfd-preempt", NAME, NAME, "${HOME}/bin/kfd-preempt renice ",
         "${HOME}/bin/kfd-preempt", "renice", ""),
        ("a command that would run another one asks that in PATH", "bin/kfd-preempt", NAME, NAME,
         "$(touch x) renice /sys", "$(touch x)", "renice", "/sys"),
        ("the simulator", "bin/kfd-preempt-sim", POLICY, "BAND", "kfd-preempt-sim run --policy=B",
         "kfd-preempt-sim", "run", "--policy", "=", "B"),
        ("the simulator with ~", "home/bin/kfd-preempt-sim", POLICY, "BAND", "~/bin/kfd-preempt-sim run --policy=",
         "~/bin/kfd-preempt-sim", "run", "--policy", "="),
    )
    def asks(self, command, candidate, wanted, line, *words):
        self.assertEqual(self.completed(candidate, line, *words), wanted)
        self.assertEqual((self.work / "called").read_text(), f"{self.work}/{command}\n")

    @cases(
        ("an open single quote", NAME, NAME, "renice '/sys"),
        ("an open double quote", NAME, NAME, 'renice "/sys'),
        ("a blank in a name", BLANK, r"/user.slice/two\ words", "renice /user"),
        ("an escaped blank", BLANK, r"/user.slice/two\ words", r"renice /user.slice/two\ w", "renice", r"/user.slice/two\ w"),
        ("a blank in a quote", BLANK, BLANK, 'renice "/user.slice/two w', "renice", '"/user.slice/two w'),
        ("an escape in a quote", QUOTE, r"a\"b", r'renice "a\"'),
        ("a value behind =", BAND, "idle", "run --band=i", "run", "--band", "=", "i"),
        ("nothing behind =", BAND, "idle", "run --band=", "run", "--band", "="),
        ("a shell that does not cut at =", BAND, BAND, "run --band=i"),
        # readline replaces the part of the word behind the @.
        ("a name with @", AT, "@1000.service", "renice /user.slice/user@1", "renice", "/user.slice/user", "@", "1"),
        ("nothing behind @", AT, "@1000.service", "renice /user.slice/user@", "renice", "/user.slice/user", "@"),
        ("@ in a quote", AT, AT, 'renice "/user.slice/user@1'),
        ("a backslash in a name", BACKSLASH, r"/gpu\\x2da.service", "renice /gpu"),
        ("an escaped backslash", BACKSLASH, r"/gpu\\x2da.service", r"renice /gpu\\x2d"),
        ("a quote with $ in front", NAME, NAME, "renice $'/sys"),
        ("a quote in the middle", NAME, "system.slice/web.service", "renice /'sys"),
    )
    def words(self, candidate, wanted, line, *words):
        self.assertEqual(self.completed(candidate, f"kfd-preempt {line}", "kfd-preempt", *(words or line.split())), wanted)
