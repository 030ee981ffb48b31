"""The grader's program: what it prints, writes and refuses."""

import contextlib
import copy
import io
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

TESTS = pathlib.Path(__file__).resolve().parent
GRADE = TESTS.parent.parent / "course/grade.py"
sys.path.insert(0, str(GRADE.parent))
import grade  # noqa: E402

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


# What a hostile file does in tanh, whose points it must not have.
IN_A_FUNCTION = [
    "std::exit(0);", "std::_Exit(0);", "std::quick_exit(0);", "std::exit(256);", "raise(SIGKILL);", "raise(SIGSTOP);",
    "sleep(100);", "signal(SIGXCPU, SIG_IGN); for (;;) {}",
    "for (;;) std::puts(\"endless\");", "for (;;) std::putchar('x');", "for (;;) std::fputs(\"endless\", stderr);",
    "for (;;) fork();", "for (;;) if (fork() == 0) setsid();",
    "if (fork() == 0) { setsid(); if (fork() == 0) { setsid(); sleep(100); } } else std::exit(0);",
    "std::vector<std::thread> all; for (;;) all.emplace_back([] { sleep(100); });",
    "std::vector<char> all(8ul << 30);", "std::vector<std::vector<int>> all; for (;;) all.emplace_back(1000000);",
    "close(1);", "dup2(open(\"/dev/null\", O_WRONLY), 1);",
    "show(\"/proc/self/cmdline\"); std::exit(0);", "show(\"/proc/self/environ\"); std::exit(0);",
    "show(\"/dev/stdin\"); std::exit(0);",
    "execl(\"/proc/self/exe\", \"grader\", words[1].c_str(), \"0\", nullptr);",  # another point's test
    "grader::run({{\"tanh\", [] {}}}, 3, list.data(), [] { return grader::Key{}; }); std::exit(0);",
    "std::set_terminate([] { std::puts(\"ok\"); std::_Exit(0); }); [&]() noexcept { throw x; }();",
]
# What does no harm to points that hold: what is left of it ends, and no file changes.
WITHOUT_HARM = [
    "if (fork() == 0) sleep(100);", "if (fork() == 0) { setsid(); sleep(100); }", "(void)!std::system(\"sleep 100 &\");",
    "std::thread([] { for (;;) {} }).detach();", "std::atexit([] { std::puts(\"0123456789abcdef\"); });",
    "std::ofstream(std::getenv(\"SCORE\")) << \"all points\";",
    "const auto self = std::filesystem::read_symlink(\"/proc/self/exe\"); std::error_code no; std::filesystem::remove(self, no);",
]
# What only a user's own processes suffer, where the grader can make one.
AS_ROOT = ["kill(getppid(), SIGKILL);", "kill(-1, SIGKILL);"]
# What it does before its main function or after it, so that no point can hold.
OUTSIDE = ["std::exit(0);", "std::exit(1);", "std::abort();", "for (;;) {}", "raise(SIGSTOP);", "show(\"/dev/stdin\"); std::exit(0);",
           "grader::run({{\"sums\", [] {}}}, 2, list.data(), [] { return grader::Key{}; }); std::exit(0);",
           "static const End last{[] { std::abort(); }};", "static const End last{[] { for (;;) {} }};"]
# What it does to the compiler, and what becomes of the points.
TO_THE_COMPILER = [
    ("#include \"/dev/zero\"", 0), ("#include \"/dev/stdin\"", 17), ("#include \"FIFO\"", 0), ("#error no", 0), ("int main() {}", 0),
    ("constexpr int endless() { for (long i = 0;; ++i) if (i < 0) return 0; }\nconstexpr int a = endless(), b = endless();", 0),
    ("template <int n, int m> struct T { static constexpr int value = T<n - 1, 2 * m>::value + T<n - 1, 2 * m + 1>::value; };\n"
     "template <int m> struct T<0, m> { static constexpr int value = 1; };\nconstexpr int a = T<30, 0>::value;", 0),
    ("asm(\".incbin \\\"/dev/zero\\\"\");", 0),
]
HOSTILE = """
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include "grader/grader.h"

inline const int number = std::getenv("HOSTILE") ? std::atoi(std::getenv("HOSTILE")) : -1;
inline std::string text_of(const char* file) {
  std::ostringstream all;
  all << std::ifstream(file).rdbuf();
  return all.str();
}
// Its words, each on a line, as an answer must be.
inline void show(const char* file) {
  for (const char c : text_of(file)) std::putchar(c == 0 || c == '=' ? '\\n' : c);
}
inline const std::vector<std::string> words = [] {
  std::vector<std::string> all;
  std::istringstream in(text_of("/proc/self/cmdline"));
  for (std::string word; std::getline(in, word, '\\0');) all.push_back(word);
  return all;
}();
inline char zero[] = "0";
inline std::vector<char*> list{zero, const_cast<char*>(words[1].c_str()), zero};
struct End {
  void (*last)();
  ~End() { last(); }
};
"""


class Hostile(unittest.TestCase):
    """Each file has a score with reasons; no point that it did not earn holds; nothing that it started lives on."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.file, cls.score = cls.folder / "scalar_tape.h", cls.folder / "score.json"
        cls.functions = IN_A_FUNCTION + WITHOUT_HARM + AS_ROOT
        switch = "inline void hostile([[maybe_unused]] double x, int which) {{\n  switch (which) {{\n{}  }}\n}}\n".format(
            "".join(f"    case {i}: {{ {piece} break; }}\n" for i, piece in enumerate(cls.functions + OUTSIDE)))
        before, function, after = RIGHT.partition("inline Number tanh(Number x) {\n")
        cls.file.write_text(before + HOSTILE + switch + function + f"  if (number < {len(cls.functions)}) hostile(0, number);\n" + after
                            + f"\ninline const int early = (number >= {len(cls.functions)} ? hostile(0, number) : void(), 0);\n")
        cls.program = grade.Program(grade.stages()[0], cls.file, cls.folder, "g++", ["-O0"])
        cls.addClassCleanup(cls.program.file.close)
        limits = {"POINT": grade.POINT._replace(seconds=1, waiting=3), "COMPILER": grade.Limits(15, 30, 1, 10, None)}
        for name, limit in limits.items():
            patch = unittest.mock.patch.object(grade, name, limit)
            patch.start()
            cls.addClassCleanup(patch.stop)

    def graded(self, number=-1):
        """The score of the file that does one thing of the list."""
        self.score.unlink(missing_ok=True)
        environment = {"HOSTILE": str(number), "SCORE": str(self.score)}
        words = ["grade.py", "0", str(self.file), "--json", str(self.score)]
        with unittest.mock.patch.dict(os.environ, environment), unittest.mock.patch.object(sys, "argv", words), \
                contextlib.redirect_stdout(io.StringIO()):
            code = grade.main()
        self.assertEqual([each.read_text() for each in pathlib.Path("/proc/self/task").glob("*/children")], [""])
        self.assertLess(self.score.stat().st_size, 1e6)
        score = json.loads(self.score.read_text())
        self.assertEqual(code, 0 if score["holds"] == 17 else 1)
        self.assertTrue(score["error"] or all(point["holds"] or point["why"] for point in score["points"]), score)
        return score

    def test_at_run_time(self):
        def program(*_):
            shared = copy.copy(self.program)
            shared.file = os.fdopen(os.dup(self.program.file.fileno()), "rb")
            return shared
        with unittest.mock.patch.object(grade, "Program", program):
            for number, piece in enumerate(self.functions + OUTSIDE):
                if piece in AS_ROOT and os.geteuid() != 0:
                    continue
                with self.subTest(piece):
                    score = self.graded(number)
                    if number >= len(self.functions):
                        self.assertEqual((score["holds"], score["of"]), (0, 0))
                    elif number >= len(IN_A_FUNCTION):
                        self.assertEqual((score["holds"], score["of"]), (17, 17), score)
                    else:
                        self.assertTrue(0 < score["holds"] < score["of"] == 17, score)
                        self.assertFalse(next(point["holds"] for point in score["points"] if point["name"] == "tanh"))

    def test_at_compile_time(self):
        os.mkfifo(self.folder / "fifo")
        for piece, holds in TO_THE_COMPILER:
            with self.subTest(piece):
                self.file.write_text(RIGHT + "\n" + piece.replace("FIFO", str(self.folder / "fifo")) + "\n")
                score = self.graded()
                self.assertEqual((score["holds"], score["compiles"]), (holds, holds > 0), score["error"])
        macros = "#define throw (void)\n#define expect_equal(...) (void)0\n#define if(...) if (false)\n"
        self.file.write_text(RIGHT.replace("{y.index, -1}", "{y.index, 1}") + macros)
        self.assertEqual(self.graded()["holds"], 16)


if __name__ == "__main__":
    unittest.main()
