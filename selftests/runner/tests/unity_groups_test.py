# SPDX-License-Identifier: MIT
"""cmake/unity_groups.py: no file of a group means something else in the company of the others."""

import os
import subprocess
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from runner.paths import REPO

sys.path.insert(0, str(REPO / "cmake"))
import cpp_names  # noqa: E402
import unity_groups  # noqa: E402

# Pairs of files that clash: the first one declares a name for itself, the second one uses it for something else.
CLASHES = {
    "a variable": ("namespace { int limit = 1; }", "namespace { int limit = 2; }"),
    "a constant of a named namespace": ("namespace a { constexpr int limit = 1; }", "int f() { return limit; }"),
    "a second variable of a declaration": ("namespace { int a = 1, limit{2}; }", "int f() { return limit; }"),
    "an array": ("static const char* const rows[2] = {};", "int f(int rows) { return rows; }"),
    "a static function": ("static int find(int x) { return x; }", "int f() { return find(1.0); }"),
    "a function of an anonymous namespace": (
        "namespace a::b { namespace { std::vector<int> find(int); } }",
        "namespace a::b { namespace { int find(double) { return 1; } } }",
    ),
    "a function template": ("namespace { template <class T, int = (1 > 0)> T most(T x) {} }", "int f() { return most(1); }"),
    "a type": ("namespace a { struct Row { int x; }; }", "namespace { Row row; }"),
    "a fixture": (
        "class Reads : public testing::Test {};\nTEST_F(Reads, one) {}",
        "namespace { class Reads : public testing::Test {}; }\nTEST_F(Reads, two) {}",
    ),
    "an enumerator": ("namespace { enum Kind { first, second = 2 }; }", "int second() { return 1; }"),
    "an enumerator of an enum without a name": ("enum { first, second };", "int f() { return second; }"),
    "a macro": ("#define ROW(x) {x}\nint a[] = ROW(1);", "int ROW;"),
    "a macro that another one uses": ("#define ROW(x) {x}", "#define LINE ROW(2)"),
    "an alias of something else": ("using Time = int;", "using Time = double;"),
    "an alias and a type": ("namespace { using Row = int; }", "namespace { class Row {}; }"),
    "an operator": (
        "static bool operator<(const A& a, const A& b) { return a.x < b.x; }",
        "static bool operator<(const A& a, const A& b) { return a.y < b.y; }",
    ),
    "a concept": ("template <typename T> concept Small = sizeof(T) < 8;", "template <Small T> void f() {}"),
    "a variable behind a string with braces": ('const char* a = "}"; static int limit = 1;', "int x = limit;"),
    "a variable behind a raw string": ('static auto a = R"x({ " )x"; static int limit;', "int x = limit;"),
    "a variable behind a function": ("void f() try { } catch (...) { }\nstatic int limit = '{';", "int x = limit;"),
    "a variable behind a constructor": ("A::A() : x_{1}, y_{2} {}\nstatic int limit;", "int x = limit;"),
}

# And pairs that may be together.
COMPANY = {
    "the same alias": ("using std::vector; using u32 = unsigned;", "using u32 = unsigned; using std::vector;"),
    "a variable with the name of a function": ("namespace { int count(int); }", "int f(int count) { return count; }"),
    "a member with the name of a variable": ("static int limit;", "int f(A& a, A* b) { return a.limit + b->limit; }"),
    "a member function with the name of a function": ("static int find();", "int f(A& a) { return a.find(1); }"),
    "a name of another scope": ("static int limit;", "int f() { return other::limit; }"),
    "a name in a comment and in a string": ("static int limit;", '// limit\nconst char* f() { return "limit"; }'),
    "a function that everybody may call": ("namespace a { int find() { return 1; } }", "int x = a::find() + find();"),
    "a function behind an anonymous namespace": ("namespace { int a; } int find(int x) {}", "int f() { return find(1); }"),
    "a local variable": ("int f() { static int limit; return limit; }", "int f2() { int limit = 1; return limit; }"),
    "a member": ("int A::limit = 1; A::A() : limit(2) {}", "int f(int limit) { return limit; }"),
    "two suites without a fixture": ("TEST(Reads, one) {}", "TEST(Reads, two) {}"),
}


class Clashes(unittest.TestCase):
    def clash(self, first: str, second: str) -> set[str]:
        names = [cpp_names.read(text) for text in (first, second)]
        both = unity_groups.clash(*names)
        self.assertEqual(both, unity_groups.clash(*reversed(names)))
        return both

    def test_a_name_of_a_file_is_found_in_another(self):
        for kind, (first, second) in CLASHES.items():
            with self.subTest(kind):
                self.assertTrue(self.clash(first, second))

    def test_a_name_that_means_the_same_keeps_nobody_apart(self):
        for kind, (first, second) in COMPANY.items():
            with self.subTest(kind):
                self.assertEqual(self.clash(first, second), set())

    def test_a_macro_before_an_include_keeps_a_file_alone(self):
        self.assertTrue(cpp_names.read("#define _GNU_SOURCE\n#include <sched.h>\n").changes_headers)
        self.assertFalse(cpp_names.read("#include <sched.h>\n#define ROW 1\n").changes_headers)


class Groups(unittest.TestCase):
    def groups(self, texts: dict[str, str]) -> list[list[str]]:
        sources = {Path(name): cpp_names.read(text) for name, text in texts.items()}
        made = unity_groups.groups(list(sources), sources.__getitem__)
        for group in made:
            self.assertLessEqual(len(group), unity_groups.MOST)
            for index, source in enumerate(group):
                for other in group[:index]:
                    self.assertFalse(unity_groups.clash(sources[source], sources[other]), (source, other))
        return [[str(source) for source in group] for group in made]

    def test_files_without_a_common_name_come_together(self):
        self.assertEqual(self.groups({"a.cpp": "int a;", "b.cpp": "int b;"}), [["a.cpp", "b.cpp"]])

    def test_files_with_a_common_name_do_not(self):
        self.assertEqual(self.groups({"a.cpp": "static int a;", "b.cpp": "static int a;"}), [])

    def test_a_file_that_clashes_with_its_neighbours_goes_to_others(self):
        texts = {f"{number:02}.cpp": f"static int a{number};" for number in range(30)}
        texts["03.cpp"] = texts["01.cpp"]
        made = self.groups(texts)
        self.assertEqual(sum(map(len, made)), 30)

    def test_no_group_takes_all_files_that_clash_elsewhere(self):
        names = [f"{number:02}.cpp" for number in range(80)]
        made = self.groups({name: f"static int a{index // 2};" for index, name in enumerate(names)})
        self.assertEqual(sorted(name for group in made for name in group), names)

    def test_each_file_is_in_one_group(self):
        names = [f"{number:02}.cpp" for number in range(50)]
        made = self.groups({name: "" for name in names})
        self.assertEqual(sorted(name for group in made for name in group), names)
        self.assertLess(len(made), 8)

    def test_a_new_file_changes_the_group_that_it_comes_into(self):
        names = [f"file_{number}.cpp" for number in range(100)]
        before = {tuple(group) for group in self.groups({name: "" for name in names})}
        changed = []
        for number in range(0, 1000, 10):
            new = f"file_{number}_new.cpp"
            after = {tuple(group) for group in self.groups({name: "" for name in [*names, new]})}
            changed.append(len(after - before))
        self.assertLessEqual(sum(changed) / len(changed), 3, changed)


class Command(unittest.TestCase):
    def run_script(self, directory: Path, alone: str) -> subprocess.CompletedProcess[str]:
        (directory / "alone").write_text(alone)
        for name in "ab":
            (directory / f"{name}.cpp").write_text("int f();\n")
        (directory / "list").write_text("".join(f"program {directory}/{name}.cpp\n" for name in "ab"))
        command = [REPO / "cmake/unity_groups.py", *(directory / name for name in ("alone", "list", "output"))]
        return subprocess.run(command, stderr=subprocess.PIPE, text=True)

    def test_the_build_gets_the_group_of_each_source(self):
        with TemporaryDirectory() as directory:
            self.run_script(Path(directory), "# nobody\n")
            output = (Path(directory) / "output").read_text().splitlines()
        self.assertEqual(len(output), 2)
        self.assertRegex(output[0], r"^program program_\w+ .*/a\.cpp$")
        self.assertEqual(output[0].split()[1], output[1].split()[1])

    def test_the_output_is_written_when_it_changes(self):
        with TemporaryDirectory() as directory:
            output = Path(directory) / "output"
            self.run_script(Path(directory), "")
            first = output.read_text()
            os.utime(output, (0, 0))
            self.run_script(Path(directory), "")
            self.assertEqual(output.stat().st_mtime, 0)
            output.write_text("another")
            self.run_script(Path(directory), "")
            self.assertEqual(output.read_text(), first)

    def test_a_listed_source_is_alone(self):
        source = "selftests/vgpu/main.cpp"
        self.assertTrue((REPO / source).exists())
        self.assertEqual(unity_groups.read_alone(["# a comment", "", f"{source}: a reason"]), {source})
        with TemporaryDirectory() as directory:
            self.assertEqual(self.run_script(Path(directory), f"{source}: a reason\n").returncode, 0)

    def test_a_listed_source_needs_a_reason_and_must_exist(self):
        with TemporaryDirectory() as directory:
            no_reason = self.run_script(Path(directory), "selftests/vgpu/main.cpp\n")
            gone = self.run_script(Path(directory), "selftests/vgpu/gone.cpp: a reason\n")
        self.assertIn("has no reason", no_reason.stderr)
        self.assertIn("gone.cpp", gone.stderr)
        self.assertTrue(no_reason.returncode and gone.returncode)
