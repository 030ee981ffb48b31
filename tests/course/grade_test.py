"""The grader's program: what it says, writes and refuses."""

import json
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parent
GRADE = TESTS.parent.parent / "course/grade.py"
RIGHT = (TESTS / "solutions/a/scalar_tape.h").read_text()


class Grade(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def grade(self, *words, code, program=GRADE):
        result = subprocess.run([sys.executable, "-B", program, *map(str, words)], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(result.returncode, code, (result.stdout, result.stderr))
        return result

    def wrong(self, old, new):
        """A file with the first stage's solution, changed."""
        self.assertIn(old, RIGHT)
        (self.folder / "scalar_tape.h").write_text(RIGHT.replace(old, new, 1))

    def test_a_stage_begins_in_the_students_folder(self):
        self.grade(0, "--start", code=0)
        self.assertIn("0 of", self.grade(0, code=1).stdout)
        (self.folder / "scalar_tape.h").write_text(RIGHT)
        self.assertIn("scalar_tape.h is there already, and stays", self.grade(0, "--start", code=0).stdout)
        self.assertEqual((self.folder / "scalar_tape.h").read_text(), RIGHT)
        tests = self.folder / "scalar_tape_tests.cpp"
        subprocess.run(["g++", "-std=c++20", tests, "-o", self.folder / "tests"], check=True)
        shown = subprocess.run([self.folder / "tests"], capture_output=True, text=True, check=True).stdout
        self.assertIn("z = 8, must be 8", shown)

    def test_a_score_is_written_for_other_programs(self):
        self.wrong("{y.index, -1}", "{y.index, 1}")
        scores = []
        for _ in range(2):
            shown = self.grade(0, "--json", "score.json", code=1).stdout
            scores.append((self.folder / "score.json").read_text())
        self.assertEqual(*scores)
        score = json.loads(scores[0])
        self.assertEqual((score["stage"], score["file"], score["compiles"], score["error"]), (0, "scalar_tape.h", True, None))
        self.assertEqual(score["holds"], score["of"] - 1)
        self.assertIn(f"{score['holds']} of {score['of']} points hold", shown)
        failed = [point for point in score["points"] if not point["holds"]]
        self.assertEqual([point["name"] for point in failed], ["differences"])
        self.assertIn("d(x - y)/dy is 1, must be -1", failed[0]["why"])
        self.assertEqual([file.name for file in self.folder.glob("score*")], ["score.json"])

    def test_errors_of_the_compiler_are_those_of_the_students_file(self):
        self.wrong("double slope;", "double slope")
        said = self.grade(0, "--json", "score.json", code=1).stdout
        self.assertIn("scalar_tape.h:", said)
        self.assertNotIn("grader", said)
        score = json.loads((self.folder / "score.json").read_text())
        self.assertEqual((score["compiles"], score["points"]), (False, []))

    def test_what_the_stage_asks_for_and_the_file_lacks_is_named(self):
        self.wrong("inline Number tanh(", "inline Number tangent(")
        said = self.grade(0, code=1).stdout
        self.assertEqual(said, "scalar_tape.h compiles, but the stage also needs, as its scalar_tape.h declares them:\n"
                               "  Number tanh(Number)\n")

    def test_a_point_has_limits(self):
        for piece, words in (("for (;;) {}", "takes more than 4 s"),
                             ("std::vector<double> all(1ul << 30);", "more than 1 GiB of memory"),
                             ("const auto self = [](const auto& f) -> int { return f(f) + 1; };\n  if (self(self)) {}",
                              "calls itself without end"),
                             ("(void)std::vector<int>()[x.index + 1];", "index that is out of range")):
            with self.subTest(piece):
                self.wrong("inline Number tanh(Number x) {\n", f"inline Number tanh(Number x) {{\n  {piece}\n")
                shown = self.grade(0, code=1).stdout
                self.assertIn(words, shown)
                self.assertIn("ok     sums", shown)  # the other points do not mind

    def test_hostile_files_have_a_score(self):
        """In a function other points hold; outside of functions none does, and the score says why."""
        for piece in ("std::exit(0);", "std::_Exit(0);", "std::quick_exit(0);", "for (;;) std::puts(\"endless\");"):
            with self.subTest(piece):
                self.wrong("inline Number tanh(Number x) {\n", f"#include <cstdio>\n#include <cstdlib>\ninline Number tanh(Number x) {{\n  {piece}\n")
                self.grade(0, "--json", "score.json", code=1)
                score = json.loads((self.folder / "score.json").read_text())
                self.assertTrue(0 < score["holds"] < score["of"] == 17, score)
                self.assertTrue(all(point["holds"] or point["why"] for point in score["points"]))
        for piece, holds in (("std::exit(0);", 0), ("std::exit(1);", 0), ("std::abort();", 0), ("for (;;) {}", 0),
                             ("std::puts(\"a line\");", 17), ("if (!fork()) sleep(60);", 17)):
            with self.subTest(piece):
                (self.folder / "scalar_tape.h").write_text(
                    RIGHT + f"\n#include <cstdio>\n#include <cstdlib>\n#include <unistd.h>\ninline const int early = [] {{ {piece} return 0; }}();\n")
                self.grade(0, "--json", "score.json", code=0 if holds else 1)
                score = json.loads((self.folder / "score.json").read_text())
                self.assertEqual((score["holds"], score["compiles"], score["error"] is None), (holds, True, holds == 17), score)

    def test_a_crash_names_its_input(self):
        """In stages whose points compute with several functions; one of them ends at once."""
        for stage, header, function, said in (
                (0, "scalar_tape.h", "gradients(", "x = 3: dx/dx: it was stopped"),
                (1, "tensor.h", "int size(", "the size of (): it was stopped"),
                (2, "tape.h", "gradients(", "x = 1: chains of 10,000 and of 60 operations: it was stopped"),
                (6, "layer_norm.h", "Variable layer_norm(", "layer_norm of (1, 2) {1, 3} with epsilon 0: it was stopped"),
                (9, "recurrent.h", "Variable sigmoid(", "x = 0: the derivatives of sigmoid(x): it was stopped")):
            with self.subTest(stage=stage):
                shutil.copytree(TESTS / "solutions/a", self.folder, dirs_exist_ok=True)
                before, name, after = (self.folder / header).read_text().partition(function)
                (self.folder / header).write_text("#include <stdlib.h>\n" + before + name + after.replace("{\n", "{\n  abort();\n", 1))
                shown = self.grade(stage, code=1).stdout
                self.assertIn(said, shown)
                self.assertNotIn("\n         it was stopped", shown)  # without what was computed

    def test_wrong_calls_are_refused(self):
        for words, message in (([], "a stage is a number"), ([99], "a stage is a number"), ([0], "scalar_tape.h is not here"),
                               ([0, "nowhere.h"], "nowhere.h is not here"), (["x"], "invalid int")):
            self.assertIn(message, self.grade(*words, code=2).stderr)
        (self.folder / "scalar_tape.h").write_text(RIGHT)
        self.assertIn("no_compiler is not found", self.grade(0, "--compiler", "no_compiler", code=2).stderr)

    def test_a_handout_works_alone_and_has_no_answers(self):
        handout = self.folder / "handout"
        self.grade("--handout", handout, code=0)
        names = {file.name for file in handout.rglob("*")}
        self.assertTrue({"grade.py", "README.md", "00_scalar_tape"} <= names and "instructors.md" not in names, names)
        for page in handout.rglob("*.md"):
            self.assertNotRegex(page.read_text(), "docs/|dev course")
        (self.folder / "scalar_tape.h").write_text(RIGHT)
        self.assertIn("17 of 17", self.grade(0, code=0, program=handout / "grade.py").stdout)
        self.grade("--handout", handout, code=1)

    def test_stages_are_listed(self):
        self.assertIn(" 0  scalar_tape.h\n", self.grade("--list", code=0).stdout)


if __name__ == "__main__":
    unittest.main()
