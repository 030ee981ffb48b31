"""./dev, with programs in the place of cmake, dpkg-query and sudo. Usage: dev_test.py ROOT"""

import contextlib
import fcntl
import os
import pathlib
import pwd
import re
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))

# The tools that ./dev needs; it finds no others that a machine may have, such as sudo.
TOOLS = "awk bash cat chmod dirname env flock grep mkdir mktemp mv nproc rm sed sort tail tee true".split()

# Configures silently and builds the program again.
CMAKE = """
[ "$1" = --build ] || exit 0
echo "[1/2] Building CXX object" && echo "[2/2] Linking"
[ -z "$BROKEN" ] || { echo "error: no"; exit 1; }
mkdir -p "$2/examples" && echo 'echo new' >"$2/examples/toy"
"""


class Dev(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.build = self.root / "build"
        self.tools = self.root / "tools"
        self.tools.mkdir()
        for tool in TOOLS:
            (self.tools / tool).symlink_to(shutil.which(tool))
        self.tool("cmake", CMAKE)
        self.lack()
        self.tool("id", "echo 1000")
        shutil.copy(ROOT / "dev", self.root)
        (self.root / "examples").mkdir()
        (self.root / "examples/toy.cpp").write_text("int main() {}\n")
        self.program = self.build / "release/examples/toy"
        self.program.parent.mkdir(parents=True)
        self.program.write_text("#!/usr/bin/env bash\necho old\n")
        self.program.chmod(0o755)
        self.root.chmod(0o755)

    def tool(self, name, script):
        path = self.tools / name
        path.unlink(missing_ok=True)  # the machine's own program, to which it may be a link, stays as it is
        path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        path.chmod(0o755)

    def lack(self, *packages):
        """A machine that has all packages but these."""
        self.tool("dpkg-query", f"""
for package; do
  case " {' '.join(packages)} " in *" $package "*) ;; *) echo "$package install ok installed" ;; esac
done""")

    def dev(self, *words, code, stderr=subprocess.PIPE, user=None, **environment):
        result = subprocess.run([self.root / "dev", *(words or ["run", "toy"])], text=True, user=user,
                                stdout=subprocess.PIPE, stderr=stderr,
                                env={"PATH": str(self.tools), **environment})
        self.assertEqual(result.returncode, code, (result.stdout, result.stderr))
        if code != 0:
            self.assertNotIn("old", result.stdout, "yesterday's program ran")
        return result

    def test_a_build_names_its_log_and_leaves_stdout_alone(self):
        result = self.dev(code=0)
        self.assertEqual(result.stdout, "new\n")
        self.assertEqual(result.stderr, "dev: building release; log: build/release.log\n")
        self.assertIn("[2/2] Linking", (self.build / "release.log").read_text())

    def test_programs_lie_in_folders_and_unknown_ones_are_named(self):
        (self.root / "examples/toys").mkdir()
        (self.root / "examples/toy.cpp").rename(self.root / "examples/toys/toy.cpp")
        (self.root / "examples/toys/no_program.cpp").touch()
        self.program.parent.joinpath("toys").mkdir()
        self.program.rename(self.program.parent / "toys/toy")
        self.tool("cmake", CMAKE.replace("examples", "examples/toys"))
        self.assertEqual(self.dev(code=0).stdout, "new\n")
        self.assertIn("unknown program no_program; available: toy\n", self.dev("run", "no_program", code=2).stderr)

    def add_experiments(self, *names, left_out=()):
        """A program lab that prints its arguments."""
        (self.root / "lab/experiments/float64").mkdir(parents=True)
        for name in (*names, *left_out):
            (self.root / f"lab/experiments/float64/{name}.cpp").touch()
        lab = self.build / "lab-release/experiments/lab"
        lab.parent.mkdir(parents=True)
        lab.write_text(f"""#!{shutil.which('bash')}
[[ $1 != --help ]] || {{ printf '  %-12s  A toy.\\n' {" ".join(names)}; exit; }}
echo "$@"
""")
        lab.chmod(0o755)

    def test_experiments_run_by_their_names(self):
        self.add_experiments("toys", "tape_tour")
        for command in "run", "lab":
            self.assertEqual(self.dev(command, "toys", "--seed", "3", code=0).stdout, "toys --seed 3\n")
        self.assertIn("available: toy tape_tour toys\n", self.dev("run", "to", code=2).stderr)

    def test_the_laboratory_writes_an_index_after_its_pages(self):
        self.add_experiments("toys", "tape_tour")
        self.assertEqual(self.dev("lab", code=0).stdout, "== toys\ntoys\n")
        self.assertEqual(self.dev("lab", "--report", "pages", code=0).stdout,
                         "== tape_tour\ntape_tour --report pages\n== toys\ntoys --report pages\n"
                         "index --report pages\n")

    def test_the_laboratory_is_built_against_the_installed_library(self):
        self.add_experiments("toys")
        self.tool("cmake", f'echo "$@" >>{self.root}/calls')
        self.dev("lab", "toys", code=0)
        calls = (self.root / "calls").read_text()
        self.assertRegex(calls, rf"--build {self.build}/release --target tapegrad_libraries\n"
                                rf"--install {self.build}/release --prefix {self.build}/release/installed --component tapegrad\n"
                                rf"--preset lab-release .*\n--build {self.build}/lab-release --target lab\n")

    def test_the_laboratory_says_what_the_program_was_built_without(self):
        self.add_experiments("toys", left_out=["linear"])
        self.assertEqual(self.dev("lab", code=0).stdout,
                         "== linear: left out, since OpenBLAS was not found\n== toys\ntoys\n")

    def test_pictures_are_drawn_where_the_pages_show_them(self):
        self.add_experiments("toys")
        (self.root / "docs/pictures").mkdir(parents=True)
        self.assertEqual(self.dev("pictures", code=0).stdout, f"pictures --report {self.root}/docs/pictures\n")

    def add_compiler(self, script=""):
        """A g++ that lists what it compiles, and makes programs that list their arguments."""
        self.tool("pkg-config", "echo -lfmt")
        self.tool("g++", script + f"""
while [ $# -gt 0 ]; do
  case $1 in *.cpp | *.h) echo "$1" >>{self.root}/compiled ;; -o) out=$2 ;; esac
  shift
done
echo '#!/usr/bin/env bash' >"$out"
echo 'echo "tried in $PWD: $@"' >>"$out"
chmod 755 "$out" 2>/dev/null""")
        (self.root / "mine.cpp").write_text("int main() {}\n")
        (self.build / "release/cluster").mkdir(parents=True)
        (self.build / "release/cluster/mpi_libraries").write_text("\n")

    def test_a_file_of_ones_own_is_compiled_and_run(self):
        self.add_compiler()
        for library in "train/libtapegrad_train.a", "libtapegrad.a":
            (self.build / "release" / library).parent.mkdir(exist_ok=True)
            (self.build / "release" / library).touch()
        header = f"{self.build}/release/include/tapegrad/tapegrad.h"
        file = str(self.root / "mine.cpp")
        for compiled in [header, file], [file]:
            (self.root / "compiled").write_text("")
            result = self.dev("try", file, "--seed", "3", code=0)
            self.assertEqual(result.stdout, f"tried in {os.getcwd()}: --seed 3\n")
            self.assertEqual((self.root / "compiled").read_text().split(), compiled)

    def test_a_cluster_divides_the_processors(self):
        self.tool("mpirun", 'echo "$@"')
        self.tools.joinpath("nproc").unlink()
        self.tool("nproc", "echo 8")
        for processes, place in (2, "--map-by slot:PE=4"), (3, "--map-by slot:PE=2"), (8, "--map-by slot:PE=1"), \
                (9, "--oversubscribe --bind-to hwthread:overload-allowed"):
            self.assertEqual(self.dev("cluster", str(processes), "toy", "--seed", "3", code=0).stdout,
                             f"--quiet -n {processes} --use-hwthread-cpus {place} {self.program} --seed 3\n")
        for words in [], ["2"], ["0", "toy"], ["x", "toy"], ["99999", "toy"]:
            self.assertIn("Usage: ./dev", self.dev("cluster", *words, code=2).stderr)
        self.assertIn("unknown program other", self.dev("cluster", "2", "other", code=2).stderr)
        self.tool("mpirun", "exit 3")
        self.dev("cluster", "2", "toy", code=3)

    def test_ctrl_c_lets_a_cluster_save(self):
        self.tools.joinpath("sleep").symlink_to(shutil.which("sleep"))
        self.tool("mpirun", """trap 'exit 99' INT TERM
trap 'echo saved; exit 130' USR1
echo started
while :; do sleep 0.01; done""")
        job = subprocess.Popen([self.root / "dev", "cluster", "2", "toy"], text=True, stdout=subprocess.PIPE,
                               stderr=subprocess.DEVNULL, env={"PATH": str(self.tools)})
        self.assertEqual(job.stdout.readline(), "started\n")
        job.send_signal(signal.SIGINT)
        self.assertEqual(job.communicate(timeout=60)[0], "saved\n")
        self.assertEqual(job.returncode, 130)

    def test_the_bench_of_clusters_needs_mpi(self):
        self.assertEqual(self.dev("bench", "--cluster", code=1).stderr,
                         "dev: bench --cluster needs MPI; on Debian: apt-get install libopenmpi-dev openmpi-bin\n")
        for tool, script in ("mpirun", ""), ("mpicxx", ""), ("python3", 'echo "${@#*/bench/}"'):
            self.tool(tool, script)
        self.assertEqual(self.dev("bench", "--cluster", "--quick", code=0).stdout,
                         "cluster.py cluster_bench --quick\n")
        self.assertEqual(self.dev("bench", "--cluster", "--network", "--rounds", "3", code=0).stdout,
                         "cluster_network.py cluster_bench --rounds 3\n")

    def test_a_stage_is_graded_where_the_student_is(self):
        self.tool("python3", 'echo "$PWD ${@#*/course/}"')
        self.assertEqual(self.dev("course", "3", "mine.h", "--json", "score.json", code=0).stdout,
                         f"{os.getcwd()} -B grade.py 3 mine.h --json score.json\n")
        self.assertEqual(self.dev("course", "--help", code=0).stdout, f"{os.getcwd()} -B grade.py --help\n")

    def test_slides_need_pandoc_and_go_where_they_are_wanted(self):
        self.lack("pandoc")
        self.assertIn("apt-get install pandoc\n", self.dev("slides", code=1).stderr)
        self.lack()
        self.tool("python3", 'echo "${@#*/docs/}"')
        self.assertEqual(self.dev("slides", "deck.html", code=0).stdout, "-B site/slides.py deck.html\n")

    def test_the_compiler_speaks_for_itself(self):
        self.add_compiler("case $* in *mine.cpp*) echo 'mine.cpp:3: error: no' >&2; exit 1 ;; esac")
        result = self.dev("try", str(self.root / "mine.cpp"), code=1)
        self.assertEqual(result.stderr.splitlines()[1:], ["mine.cpp:3: error: no"])
        self.assertEqual(result.stdout, "")

    def test_a_file_to_try_must_exist(self):
        self.assertEqual(self.dev("try", "nowhere.cpp", code=1).stderr, "dev: cannot read nowhere.cpp\n")
        self.assertIn("Usage: ./dev", self.dev("try", code=2).stderr)

    def test_a_terminal_sees_the_progress_in_place(self):
        try:
            ours, theirs = os.openpty()
        except OSError as error:
            self.skipTest(f"no pseudo-terminal: {error}")
        self.assertEqual(self.dev(code=0, stderr=theirs).stdout, "new\n")
        os.close(theirs)
        shown = b""
        with contextlib.suppress(OSError):  # how the end of a terminal is told
            while part := os.read(ours, 65536):
                shown += part
        os.close(ours)
        self.assertRegex(shown, rb"log: build/release.log\r\n\rdev: \[1/2\]\rdev: \[2/2\]\r\x1b\[K$")

    def test_a_build_that_fails_shows_its_log(self):
        self.assertIn("error: no", self.dev(code=1, BROKEN="1").stderr)

    def test_a_log_that_cannot_be_written_ends_it(self):
        (self.build / "release.log").mkdir()
        self.assertIn("dev: cannot write build/release.log", self.dev(code=1).stderr)

    def test_a_folder_of_another_user_ends_it(self):
        if os.geteuid() == 0:
            result = self.dev(code=1, user=pwd.getpwnam("nobody").pw_uid)
        else:
            self.build.chmod(stat.S_IRUSR | stat.S_IXUSR)
            result = self.dev(code=1)
        self.assertIn("dev: cannot write build/lock; make it writable", result.stderr)

    def test_a_second_build_waits_and_leaves_the_log_alone(self):
        log = self.build / "release.log"
        log.write_text("of the first\n")
        with open(self.build / "lock", "w") as first:
            fcntl.flock(first, fcntl.LOCK_EX)
            second = subprocess.Popen([self.root / "dev", "run", "toy"], text=True, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, env={"PATH": str(self.tools)})
            self.assertEqual(second.stderr.readline(), "dev: waiting for another ./dev in this clone\n")
            self.assertEqual(log.read_text(), "of the first\n")
        self.assertEqual(second.communicate(timeout=60)[0], "new\n")

    def test_a_program_that_runs_keeps_nobody_waiting(self):
        self.tool("cmake", CMAKE.replace("echo new", f"flock -n {self.build}/lock true && echo free"))
        self.assertEqual(self.dev(code=0).stdout, "free\n")

    def test_it_configures_again_only_after_a_change(self):
        asked = self.root / "asked"
        self.tool("cmake", f'[ "$1" = --build ] || echo "$*" >>{asked}\n' + CMAKE)
        presets = self.root / "CMakePresets.json"
        presets.touch()

        def configurations(**environment):
            asked.write_text("")
            self.dev(code=0, **environment)
            return asked.read_text()

        plain, strict = (f"--preset release -DCMAKE_CXX_FLAGS={flags}\n" for flags in ("", "-Werror"))
        self.assertEqual(configurations(), plain)
        self.assertEqual(configurations(), "")
        self.assertEqual(configurations(CXXFLAGS="-Werror"), strict)
        self.assertEqual(configurations(CXXFLAGS="-Werror"), "")
        self.assertEqual(configurations(), plain)
        later = (self.build / "release/configured").stat().st_mtime + 1
        os.utime(presets, (later, later))
        self.assertEqual(configurations(), plain)
        self.tool("ccache", "")
        self.assertIn("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache", configurations())

    def test_two_traces_are_compared_by_a_program(self):
        (self.root / "examples/toy.cpp").rename(self.root / "examples/diff.cpp")
        self.program.rename(self.program.parent / "diff")
        self.tool("cmake", CMAKE.replace("toy", "diff").replace("echo new", 'echo "$@"'))
        self.assertEqual(self.dev("diff", "a", "b", "--tolerance", "3", code=0).stdout, "a b --tolerance 3\n")
        self.assertEqual(self.dev("diff", "--help", code=0).stdout, "--help\n")

    def test_code_of_the_pages_that_did_not_change_is_not_written_again(self):
        out = self.root / "code"
        (self.root / "README.md").write_text("```cpp\nint main() {}\n```\n")
        extract = [sys.executable, "-B", ROOT / "tests/docs/extract.py", self.root, out]
        subprocess.run(extract, check=True, stdout=subprocess.DEVNULL)
        for file in out.iterdir():
            os.utime(file, (0, 0))
        subprocess.run(extract, check=True, stdout=subprocess.DEVNULL)
        self.assertEqual([file.stat().st_mtime for file in out.iterdir()], [0, 0])

    def test_every_command_has_help(self):
        for command in ("test", "arm", "build", "run", "cluster", "try", "lab", "fuzz", "data", "docs", "pictures",
                        "reference", "site", "slides", "format"):
            self.assertIn("Usage: ./dev", self.dev(command, "--help", code=0).stdout)
        self.tool("cmake", CMAKE.replace("echo new", "echo help of a program: $1"))
        self.assertEqual(self.dev("run", "toy", "--help", code=0).stdout, "help of a program: --help\n")

    def test_whoever_reads_the_help_may_stop(self):
        ours, theirs = os.pipe()
        os.close(ours)
        self.assertEqual(subprocess.run([self.root / "dev", "--help"], stdout=theirs, stderr=subprocess.PIPE,
                                        env={"PATH": str(self.tools)}).returncode, 0)
        os.close(theirs)

    def test_missing_packages_are_named_where_they_cannot_be_installed(self):
        self.lack("g++", "catch2")
        line = "as root: apt-get install g++ catch2\n"
        self.assertIn(line, self.dev("test", code=1).stderr)
        self.tool("sudo", "exit 1")
        self.assertIn(line, self.dev("test", code=1).stderr)

    def test_a_program_needs_only_packages_of_its_own(self):
        self.lack("catch2", "libopenblas-dev", "liblapacke-dev", "libsentencepiece-dev")
        self.dev(code=0)
        self.add_experiments("toys")
        self.assertIn("install libopenblas-dev liblapacke-dev libsentencepiece-dev\n", self.dev("run", "toys", code=1).stderr)
        (self.root / "lab/trainers").mkdir()
        (self.root / "lab/trainers/translate.cpp").write_text("int main() {}\n")
        self.assertIn("install libopenblas-dev liblapacke-dev libsentencepiece-dev\n", self.dev("run", "translate", code=1).stderr)
        self.assertIn("install catch2 libopenblas-dev liblapacke-dev\n", self.dev("build", code=1).stderr)
        self.assertIn("install catch2 libopenblas-dev liblapacke-dev libsentencepiece-dev\n",
                      self.dev("lab", "test", code=1).stderr)

    def test_arm_needs_packages_of_its_own(self):
        self.lack("g++-aarch64-linux-gnu", "qemu-user")
        self.dev(code=0)
        self.assertIn("apt-get install g++-aarch64-linux-gnu qemu-user\n",
                      self.dev("build", "arm64", code=1).stderr)

    def test_tests_end_with_the_slowest_and_their_count(self):
        # As many lines as no pipe holds at once; the second slowest fails.
        self.tool("ctest", '''for i in {1..4000}; do
  [ "$i" = 3999 ] && verdict='***Failed  ' || verdict='   Passed  '
  echo "$i/4000 Test #$i: suite:some test with a name of some words .....$verdict $i.25 sec"
done
echo "99% tests passed, 1 tests failed out of 4000"
exit 8''')
        lines = self.dev("test", code=8).stdout.splitlines()
        self.assertEqual(lines[-12], "The slowest tests, in seconds:")
        self.assertEqual(lines[-11:-8], [f"{i}.25 suite:some test with a name of some words" for i in (4000, 3999, 3998)])
        self.assertEqual(lines[-1], "3999 passed, 1 failed")

    def test_tests_save_in_memory_where_it_has_room(self):
        self.tool("ctest", 'echo "folder $TMPDIR"; [ -d "$TMPDIR" ] && echo "0% tests passed, 0 tests failed out of 1"')
        usable = os.access("/dev/shm", os.W_OK) and not re.search(
            " /dev/shm .*noexec", pathlib.Path("/proc/mounts").read_text())
        for free, in_memory in (9_000_000, usable), (60_000, False):
            self.tool("df", f"echo Avail; echo {free}")
            folder = pathlib.Path(re.search("^folder (.*)$", self.dev("test", code=0).stdout, re.M)[1])
            self.assertEqual(folder.is_relative_to("/dev/shm"), in_memory)
            self.assertFalse(folder.exists())

    def test_missing_packages_are_installed_by_sudo(self):
        self.lack("zlib1g-dev")
        self.tool("sudo", 'echo "sudo $*"')
        result = self.dev(code=0)
        self.assertEqual(result.stdout, "new\n")
        self.assertRegex(result.stderr, r"sudo apt-get install -y -qq zlib1g-dev\n")

    def fuzzer(self, name, script):
        (self.root / "tests/attack").mkdir(parents=True, exist_ok=True)
        (self.root / f"tests/attack/{name}.cpp").write_text("void attack(std::string_view) {}\n")
        program = self.build / "asan-ubsan/tests/attack" / name
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/usr/bin/env bash\n{script}\n")
        program.chmod(0o755)

    def test_fuzzers_run_for_the_time_that_is_given(self):
        self.fuzzer("one", "echo '#9 DONE cov: 33 ft: 4'; echo stat::number_of_executed_units: 9")
        self.fuzzer("two", 'echo "#7 DONE cov: ${1#*=}"; [ -d "$TMPDIR" ]')
        self.assertRegex(self.dev("fuzz", "one", code=0).stdout, r"^one +9 inputs, .* 33 edges")
        lines = self.dev("fuzz", "--seconds", "5", code=0).stdout.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex("\n".join(lines), r"two .* 5 edges, no finding")

    def test_a_finding_is_kept_and_the_command_to_repeat_it_named(self):
        self.fuzzer("good", "")
        self.fuzzer("bad", '[ $# -gt 1 ] || { echo repeated "$1"; exit 1; }\n'
                           'for word; do case $word in -artifact_prefix=*) prefix=${word#*=} ;; esac; done\n'
                           'echo x >"$prefix/crash"; echo "Test unit written to $prefix/crash"; exit 77')
        told = self.dev("fuzz", code=1).stderr
        finding = self.build / "fuzz/findings/bad/crash"
        self.assertRegex(told, rf"to reproduce it: {self.build}/asan-ubsan/tests/attack/bad {finding.parent}/+crash\n")
        self.assertRegex(told, "repeated ")
        self.assertEqual(finding.read_text(), "x\n")

    def test_unknown_fuzzers_and_a_missing_runtime_are_named(self):
        self.fuzzer("one", "")
        self.assertIn("unknown fuzzer two; available: one\n", self.dev("fuzz", "two", code=2).stderr)
        self.lack("libclang-rt-14-dev")
        self.assertIn("as root: apt-get install libclang-rt-14-dev\n", self.dev("fuzz", code=1).stderr)


if __name__ == "__main__":
    unittest.main()
