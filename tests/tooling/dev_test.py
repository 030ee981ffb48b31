"""./dev, with programs in the place of cmake, dpkg-query and sudo. Usage: dev_test.py ROOT"""

import contextlib
import os
import pathlib
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))

# What ./dev needs of the system; whatever else a machine has, such as sudo, it does not find.
TOOLS = "bash cat dirname env mkdir tee".split()

# Configures without a word and builds the program anew.
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
        self.tool("dpkg-query", 'echo "install ok installed"')
        self.tool("id", "echo 1000")
        shutil.copy(ROOT / "dev", self.root)
        (self.root / "examples").mkdir()
        (self.root / "examples/toy.cpp").touch()
        self.program = self.build / "release/examples/toy"
        self.program.parent.mkdir(parents=True)
        self.program.write_text("#!/usr/bin/env bash\necho old\n")
        self.program.chmod(0o755)
        self.root.chmod(0o755)

    def tool(self, name, script):
        path = self.tools / name
        path.write_text(f"#!{shutil.which('bash')}\n{script}\n")
        path.chmod(0o755)

    def dev(self, command="run toy", *, code, stderr=subprocess.PIPE, user=None, **environment):
        result = subprocess.run([self.root / "dev", *command.split()], text=True, user=user,
                                stdout=subprocess.PIPE, stderr=stderr,
                                env={"PATH": str(self.tools), **environment})
        self.assertEqual(result.returncode, code, (result.stdout, result.stderr))
        if code != 0:
            self.assertEqual(result.stdout, "", "yesterday's program ran")
        return result

    def test_a_build_names_its_log_and_leaves_stdout_alone(self):
        result = self.dev(code=0)
        self.assertEqual(result.stdout, "new\n")
        self.assertEqual(result.stderr, "dev: building release; log: build/release.log\n")
        self.assertIn("[2/2] Linking", (self.build / "release.log").read_text())

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
        self.assertIn("dev: cannot write build/release.log", result.stderr)

    def test_missing_packages_are_named_where_they_cannot_be_installed(self):
        self.tool("dpkg-query", 'case "$*" in *g++ | *catch2) ;; *) echo "install ok installed" ;; esac')
        line = "as root: apt-get install g++ catch2\n"
        self.assertIn(line, self.dev(code=1).stderr)
        self.tool("sudo", "exit 1")
        self.assertIn(line, self.dev(code=1).stderr)

    def test_arm_needs_packages_of_its_own(self):
        self.tool("dpkg-query", 'case "$*" in *aarch64* | *qemu*) ;; *) echo "install ok installed" ;; esac')
        self.dev(code=0)
        self.assertIn("apt-get install g++-aarch64-linux-gnu qemu-user\n",
                      self.dev("build arm64", code=1).stderr)

    def test_missing_packages_are_installed_by_sudo(self):
        self.tool("dpkg-query", 'case "$*" in *zlib1g-dev) ;; *) echo "install ok installed" ;; esac')
        self.tool("sudo", 'echo "sudo $*"')
        result = self.dev(code=0)
        self.assertEqual(result.stdout, "new\n")
        self.assertRegex(result.stderr, r"sudo apt-get install -y -qq zlib1g-dev\n")


if __name__ == "__main__":
    unittest.main()
