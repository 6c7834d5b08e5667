# SPDX-License-Identifier: MIT
"""kernel/apply-edits on a source of a few lines."""

from runner.paths import REPO
from runner.testing.commands import CommandTest, cases

SOURCE = r"""#define LIMIT(x) \
	((x) < 3)
int first(void)
{
	lock();
	work(1);
	unlock();
	return 0;
}
int second(void)
{
	lock();
	work(2);   /* the same lock() as in first() */
	lock();
	return 0;
}
"""
EACH_WAY = """# each way once
@ a.c first()
 lock();
+	more();
@ a.c first()
-	work(1);
+	work(10);
@ a.c second()
<work(2)
>work(20)
@ a.c LIMIT
-	((x) < 3)
+	((x) < 4)
@ a.c second() if first()
-	lock();
-	return 0;
+	return 1;
@ a.c second() unless first()
-	no such line
@ a.c *
+int zeroth;
 int first(void)
or
 int number_one(void)
"""
EDITED = r"""#define LIMIT(x) \
	((x) < 4)
int zeroth;
int first(void)
{
	lock();
	more();
	work(10);
	unlock();
	return 0;
}
int second(void)
{
	lock();
	work(20);   /* the same lock() as in first() */
	return 1;
}
"""


class ApplyEdits(CommandTest):
    def setUp(self):
        super().setUp()
        self.source = self.write("small/a.c", SOURCE)

    def edit(self, edits, *options):
        self.write("some.edits", edits)
        return self.ran(REPO / "kernel/apply-edits", *options, self.work / "small", self.work / "some.edits")

    def test_edits_insert_replace_and_remove_where_their_anchor_is(self):
        ran = self.edit(EACH_WAY)
        self.assertEqual(ran.status, 0, ran)
        self.assertEqual(self.source.read_text(), EDITED)

    def test_edits_of_the_next_file_see_what_the_file_before_made(self):
        one = self.write("one.edits", "@ a.c first()\n-\twork(1);\n+\twork(10);\n+\twork(11);\n")
        two = self.write("two.edits", "@ a.c first()\n\twork(10);\n-\twork(11);\n+\twork(12);\n")
        self.succeeds(REPO / "kernel/apply-edits", self.work / "small", one, two)
        self.assertIn("\twork(10);\n\twork(12);\n", self.source.read_text())

    def test_refused_edit_of_a_later_file_leaves_the_tree_as_it_was(self):
        one = self.write("one.edits", "@ a.c first()\n-\twork(1);\n+\twork(10);\n")
        two = self.write("two.edits", "@ a.c first()\n\twork(1);\n+\tmore();\n")
        ran = self.ran(REPO / "kernel/apply-edits", self.work / "small", one, two)
        self.assertEqual(ran.status, 1, ran)
        self.assertIn("two.edits:1: a.c, first(): its anchor is there 0 times", ran.output)
        self.assertEqual(self.source.read_text(), SOURCE)

    def test_changed_file_is_replaced_and_another_link_to_it_keeps_its_text(self):
        (self.work / "link.c").hardlink_to(self.source)
        ran = self.edit("@ a.c first()\n-\twork(1);\n+\twork(3);\n")
        self.assertEqual(ran.status, 0, ran)
        self.assertIn("work(3)", self.source.read_text())
        self.assertEqual((self.work / "link.c").read_text(), SOURCE)

    def test_edits_of_missing_files_are_ignored_for_a_part_of_a_source(self):
        ran = self.edit("@ b.c *\n lock();\n@ a.c first()\n-\twork(1);\n+\twork(3);\n", "--part")
        self.assertEqual(ran.status, 0, ran)
        self.assertIn("work(3)", self.source.read_text())

    @cases(
        ("anchor that is there twice is refused with edit, file, function and anchor",
         "@ a.c first()\n+\tthis one would fit\n work(1);\n@ a.c second()\n lock();\n+\tmore();\n",
         "some.edits:4: a.c, second(): its anchor is there 2 times, not once: lock();"),
        ("anchor of another function is refused", "@ a.c second()\n unlock();\n+\tmore();\n",
         "a.c, second(): its anchor is there 0 times"),
        ("function that is gone is refused by name", "@ a.c third()\n lock();\n", "a.c, third(): there is no such definition"),
        ("second edit of one line is refused", "@ a.c first()\n-\twork(1);\n@ a.c first()\n\tlock();\n-\twork(1);\n",
         "another edit removes the same line"),
        ("two spellings that both fit are refused", "@ a.c first()\n work(1);\nor\n unlock();\n", "2 times"),
        ("file that is gone is refused by name", "@ b.c *\n lock();\n", "b.c is missing"),
        ("line that is not of an edit is refused", "@ a.c first()\n* lock();\n", "some.edits:2: neither"),
    )
    def refused(self, edits, text):
        ran = self.edit(edits)
        self.assertEqual(ran.status, 1, ran)
        self.assertIn(text, ran.output)
        self.assertEqual(self.source.read_text(), SOURCE, "a refused edit leaves the tree as it was")
