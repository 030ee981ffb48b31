#!/usr/bin/env python3
"""Grades a file of yours for a stage of the course, point by point.

    grade.py STAGE [FILE]     FILE: by default the stage's header in this folder
    grade.py STAGE --start    puts the header with holes and a few tests into this folder
    grade.py --list           the stages and their files
    grade.py --handout DIR    what students need, without solutions, to give away

Exit code: 0 if all points hold, 1 if one does not or the file does not compile, 2 for a wrong call."""

import argparse
import collections
import contextlib
import ctypes
import itertools
import json
import os
import pathlib
import re
import resource
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

COURSE = pathlib.Path(__file__).resolve().parent
# Of the processor and of the clock; of memory of each process; of each file; and how many processes and threads.
Limits = collections.namedtuple("Limits", "seconds waiting gibibytes megabytes processes")
POINT = Limits(4, 20, 1, 10, 8)
COMPILER = Limits(60, 120, 4, 100, None)
SHOWN = 10000  # characters of a reason
LIST = -1  # what a program is asked when it is not asked for a point
FLAGS = ["-std=c++20", "-O1", "-D_GLIBCXX_ASSERTIONS"]
STOPPED = {signal.SIGSEGV: "it reads or writes where nothing is, as by a reference to what has moved, or calls itself without end",
           signal.SIGXCPU: f"it takes more than {POINT.seconds} s",
           signal.SIGXFSZ: f"it writes more than {POINT.megabytes} MB",
           signal.SIGABRT: "it was stopped", signal.SIGFPE: "it divides an integer by 0"}
NO_MACROS = {"and", "and_eq", "bitand", "bitor", "compl", "defined", "not", "not_eq", "or", "or_eq", "xor", "xor_eq"}
STOPPED_COMPILER = r"(?m)^[\w/+.-]+: (fatal error: .* terminated program|out of memory|error: unable to execute)|^virtual memory"


class Stage:
    def __init__(self, folder):
        self.folder, self.number = folder, int(folder.name[:2])
        self.name = folder.name[3:]
        self.header = folder / f"{self.name}.h"
        self.grader = folder / "grader.cpp"


def stages():
    return {stage.number: stage for stage in map(Stage, sorted((COURSE / "stages").iterdir()))}


class DoesNotCompile(Exception):
    pass


class HasNoPoints(Exception):
    pass


def declared(stage):
    """The functions that the stage's header declares: result, name and parameters without defaults."""
    functions = re.findall(r"^inline ([^;{}]+?)\s*\{", stage.header.read_text(), re.M)
    for result, name, parameters in (re.fullmatch(r"(.+?)\s+(operator\W+?|\w+)\((.*)\)", each, re.S).groups() for each in functions):
        yield result, name, re.sub(r"\s*=[^,]*", "", " ".join(parameters.split()))


def missing(stage, own, compiler, flags):
    """Which of these functions the file lacks, or has in another form."""
    for result, name, parameters in declared(stage):
        use = f"[[maybe_unused]] static {result} (*function)({parameters}) = &{name};\n"
        if compiled(own + use, ["-fsyntax-only"], compiler, flags).returncode:
            yield f"  {result} {name}({parameters})"


class Program:
    """A stage's grader, built with a file. Throws DoesNotCompile with the compiler's words on the file alone, or with what the
    grader cannot find in it."""

    def __init__(self, stage, file, folder, compiler, flags=()):
        path = pathlib.Path(folder, "grader")
        self.key = [secrets.randbits(64), secrets.randbits(64)]
        own = f'#include "{file}"\n'
        result = compiled('#include "grader/grader.h"\n' + own + self.main_of(stage), ["-o", str(path)], compiler, flags)
        if result.returncode == 0:
            path.chmod(0o755)
            self.file = path.open("rb")  # stays, whatever becomes of the folder
            return
        alone = compiled(own, ["-fsyntax-only"], compiler, flags)
        if alone.returncode != 0:
            raise DoesNotCompile(re.sub(r"^In file included from <stdin>:1:\n", "", alone.stderr.strip())[:SHOWN])
        lacks = list(missing(stage, own, compiler, flags)) or [line for line in result.stderr.splitlines() if " error: " in line][:3]
        raise DoesNotCompile("\n".join([f"{file.name} compiles, but the stage also needs, as its {stage.header.name} declares them:",
                                        *lacks]))

    def main_of(self, stage):
        """The tests and the main function. A macro of the student's file changes none of their words."""
        main = f"""#include "{stage.grader}"
int main(int argc, char** argv) {{
  return grader::run(points, argc, argv, [] {{ return grader::Key{{{self.key[0]}u, {self.key[1]}u}}; }});
}}
"""
        words = set(re.findall(r"\b[a-z]\w*", stage.grader.read_text() + (COURSE / "grader/tensors.h").read_text() + main))
        return "".join(f"#undef {word}\n" for word in sorted(words - NO_MACROS)) + main

    def answer(self, challenge, point):
        """As in grader.h."""
        def mixed(x):
            x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9 % 2**64
            x = (x ^ x >> 27) * 0x94d049bb133111eb % 2**64
            return x ^ x >> 31
        return f"{mixed((mixed(challenge ^ self.key[0]) + self.key[1] + point) % 2**64):016x}"

    def run(self, *words):
        path = f"/proc/self/fd/{self.file.fileno()}" if sys.platform == "linux" else self.file.name
        return run([path, *map(str, words)], POINT, pass_fds=[self.file.fileno()])


def compiled(source, output, compiler, flags):
    command = [compiler, *FLAGS, *flags, "-I", str(COURSE), "-x", "c++", "-", *output]
    try:
        result = run(command, COMPILER, source)
    except subprocess.TimeoutExpired:
        result = None
    if result is None or result.returncode and re.search(STOPPED_COMPILER, result.stderr):
        raise DoesNotCompile(f"the compiler needs more than {COMPILER.seconds} s, {COMPILER.gibibytes} GiB of memory or "
                             f"{COMPILER.megabytes} MB of output")
    return result


own_processes, changing_processes = set(), threading.Lock()
strangers = itertools.count(os.getpid())


def run(command, limits, source="", pass_fds=()):
    """A command's end, within the limits. Its output is a file, so no child that lives on holds it. Whatever it started ends."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(36, 1)  # PR_SET_CHILD_SUBREAPER: this process becomes the parent of orphans
    # Root's processes have no number: a user of their own, who owns nothing, bounds them.
    stranger = 60000 + next(strangers) % 5000 if limits.processes and os.geteuid() == 0 else None
    processes = limits.processes and limits.processes + (0 if stranger else tasks_of(os.geteuid()))

    def limit():
        for what, most in ((resource.RLIMIT_AS, limits.gibibytes << 30), (resource.RLIMIT_FSIZE, limits.megabytes * 10**6),
                           (resource.RLIMIT_CORE, 0), (resource.RLIMIT_NPROC, processes)):
            if most is not None:
                resource.setrlimit(what, (most, most))
        resource.setrlimit(resource.RLIMIT_CPU, (limits.seconds, limits.seconds + 1))
        if stranger:
            with contextlib.suppress(OSError):  # in a namespace that has no other user
                os.setgroups([])
                os.setresgid(stranger, stranger, stranger)
                os.setresuid(stranger, stranger, stranger)

    read, write = os.pipe()
    with open(read) as input, tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        with open(write, "w") as to:
            to.write(source)  # less than a pipe holds
        with changing_processes:
            process = subprocess.Popen(command, stdin=input, stdout=out, stderr=errors, preexec_fn=limit, start_new_session=True,
                                       pass_fds=pass_fds)
            own_processes.add(process.pid)
        try:
            process.wait(timeout=limits.waiting)
        finally:
            end(process)
        said = []
        for file in (out, errors):
            file.seek(0)
            said.append(file.read(10 * 10**6).decode(errors="replace"))
        return subprocess.CompletedProcess(command, process.returncode, *said)


def tasks_of(user):
    """How many processes and threads the user has."""
    count = 0
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            if process.stat().st_uid == user:
                count += len(list((process / "task").iterdir()))
        except OSError:
            pass  # ended
    return count


def end(process):
    """Kills its group, then what has left the group: orphans are children of this process."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()
    with changing_processes:
        own_processes.discard(process.pid)
        for _ in range(1000):  # each killed one may have left children
            lists = pathlib.Path("/proc/self/task").glob("*/children")
            orphans = {int(child) for each in lists for child in each.read_text().split()} - own_processes
            for orphan in orphans:
                os.kill(orphan, signal.SIGKILL)
            for orphan in orphans:
                os.waitpid(orphan, 0)
            if not orphans:
                return


def last_of(text):
    """The last line, of which a reason shows the beginning."""
    return text.strip().rpartition("\n")[2][:SHOWN]


def why_not(program, number):
    """Why a point does not hold; None if it does: then its test gave this run's answer at its end."""
    challenge = secrets.randbits(63)
    try:
        result = program.run(challenge, number)
    except subprocess.TimeoutExpired:
        return f"it waits for something, more than {POINT.waiting} s"
    if result.returncode == 0:
        holds = program.answer(challenge, number) in result.stdout.splitlines()
        return None if holds else "it ended with exit code 0 before the test came to its end"
    said = last_of(result.stdout)
    if result.returncode == 1:
        words = said or "it ended with exit code 1"
        return f"it needs more than {POINT.gibibytes} GiB of memory" if "bad_alloc" in words else words
    assertion = re.search(r"Assertion '(.*?)' failed", result.stderr)
    reason = STOPPED.get(-result.returncode, f"it ended with exit code {result.returncode}")
    if said:
        reason = f"{said}: {reason}"
    return f"{reason}: {assertion[1]} does not hold, as with an index that is out of range" if assertion else reason


def names_of(program):
    """The names of the points: the lines that begin with this run's answer. Throws HasNoPoints with the reason."""
    challenge = secrets.randbits(63)
    try:
        result = program.run(challenge)
    except subprocess.TimeoutExpired:
        raise HasNoPoints(f"before the first point it waits for something, more than {POINT.waiting} s") from None
    answer = program.answer(challenge, LIST)
    names = [line[len(answer) + 1:] for line in result.stdout.splitlines() if line.startswith(answer + " ")]
    if result.returncode != 0 or not names:
        reason = STOPPED.get(-result.returncode, f"it ended with exit code {result.returncode}")
        raise HasNoPoints(f"before the first point, as in what is initialized outside of functions: {reason}")
    return names


def grade(stage, file, compiler="g++", flags=()):
    """The stage's points: a list of name, and why it does not hold or None. Throws DoesNotCompile or HasNoPoints."""
    with tempfile.TemporaryDirectory() as folder:
        program = Program(stage, file, folder, compiler, flags)
        with program.file:
            return [(name, why_not(program, number)) for number, name in enumerate(names_of(program))]


def write_json(path, stage, file, points, error=None, compiles=True):
    """Replaces the file at once: who reads it sees the old score or the new one."""
    score = {"stage": stage.number, "name": stage.name, "file": file.name,
             "points": [{"name": name, "holds": why is None, "why": why} for name, why in points],
             "holds": sum(why is None for _, why in points), "of": len(points), "compiles": compiles, "error": error}
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=path.name)
    with open(handle, "w") as to:
        to.write(json.dumps(score, indent=1, ensure_ascii=False) + "\n")
    os.chmod(part, 0o644)
    os.replace(part, path)


def show(stage, file, points):
    for name, why in points:
        print(f"  {'ok   ' if why is None else 'FAILS'}  {name}" + (f"\n         {why}" if why else ""))
    print(f"stage {stage.number}, {file.name}: {sum(why is None for _, why in points)} of {len(points)} points hold")


def start(stage):
    """Copies what a student begins with; never over something that is there."""
    for name in (stage.header.name, "open_tests.cpp"):
        copy = pathlib.Path(name if name == stage.header.name else f"{stage.name}_tests.cpp")
        if copy.exists():
            print(f"{copy} is there already, and stays as it is")
            continue
        shutil.copyfile(stage.folder / name, copy)
        print(f"wrote {copy}")


def hand_out(folder):
    """Copies what students need. Words that would lead out of the folder lose their links, and commands are of here."""
    if folder.exists():
        sys.exit(f"grade.py: {folder} exists already; name a folder that does not")
    shutil.copytree(COURSE, folder, ignore=shutil.ignore_patterns("instructors.md", "__pycache__"))
    for page in folder.rglob("*.md"):
        text = re.sub(r"\[([^\]]+)\]\([./]*docs/[^)]*\)", r"\1", page.read_text())
        text = re.sub(r"[\w./]*/dev course", "python3 ../grade.py", text)
        page.write_text(re.sub(r"\[For instructors\]\(.*?\).*\n", "", text))


def main():
    parser = argparse.ArgumentParser(prog="grade.py", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("stage", nargs="?", type=int, metavar="STAGE")
    parser.add_argument("file", nargs="?", type=pathlib.Path, metavar="FILE")
    parser.add_argument("--start", action="store_true", help="begin the stage in this folder")
    parser.add_argument("--list", action="store_true", help="list the stages")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the score there, too")
    parser.add_argument("--compiler", default=os.environ.get("CXX", "g++"), help="by default $CXX, or g++")
    parser.add_argument("--handout", type=pathlib.Path, metavar="DIR", help="write what students need to DIR")
    flags = parser.parse_args()
    known = stages()
    if flags.handout:
        hand_out(flags.handout)
        return 0
    if flags.list:
        for stage in known.values():
            print(f"{stage.number:2}  {stage.header.name}")
        return 0
    if flags.stage not in known:
        parser.error(f"a stage is a number from 0 to {max(known)}; --list shows them")
    stage = known[flags.stage]
    if flags.start:
        start(stage)
        return 0
    file = (flags.file or pathlib.Path(stage.header.name)).resolve()
    if not file.is_file():
        parser.error(f"{file.name} is not here; --start puts a header with holes into this folder")
    if not shutil.which(flags.compiler):
        parser.error(f"the compiler {flags.compiler} is not found; name another with --compiler")
    points, error, compiles = [], None, True
    try:
        points = grade(stage, file, flags.compiler)
    except DoesNotCompile as said:
        error, compiles = str(said), False
    except HasNoPoints as said:
        error = str(said)
    if flags.json:
        write_json(flags.json, stage, file, points, error, compiles)
    if error is not None:
        print(error)
        return 1
    show(stage, file, points)
    return not points or any(why is not None for _, why in points)


if __name__ == "__main__":
    sys.exit(main())
