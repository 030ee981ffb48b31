#!/usr/bin/env python3
"""Says of a stage of the course, point by point, what holds in a file of yours.

    grade.py STAGE [FILE]     FILE: by default the stage's header in this folder
    grade.py STAGE --start    puts the header with holes and a few tests into this folder
    grade.py --list           the stages and their files
    grade.py --handout DIR    what students need, without solutions, to give away

Exit code: 0 if all points hold, 1 if one does not or the file does not compile, 2 for a wrong call."""

import argparse
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

COURSE = pathlib.Path(__file__).resolve().parent
SECONDS, GIBIBYTES, MEGABYTES = 4, 1, 10  # of the processor, of memory and of output, for each point
FLAGS = ["-std=c++20", "-O1", "-D_GLIBCXX_ASSERTIONS"]
STOPPED = {signal.SIGSEGV: "it reads or writes where nothing is, as by a reference to what has moved, or calls itself without end",
           signal.SIGXCPU: f"it takes more than {SECONDS} s",
           signal.SIGXFSZ: f"it writes more than {MEGABYTES} MB",
           signal.SIGABRT: "it was stopped", signal.SIGFPE: "it divides an integer by 0"}


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
        if subprocess.run(command_of(compiler, ["-fsyntax-only"], flags), input=own + use, capture_output=True, text=True).returncode:
            yield f"  {result} {name}({parameters})"


def build(stage, file, program, compiler, flags=()):
    """Throws DoesNotCompile with the compiler's words on the file alone, or with what the grader cannot find in it."""
    own = f'#include "{file}"\n'
    result = subprocess.run(command_of(compiler, ["-o", str(program)], flags), input=own + f'#include "{stage.grader}"\n',
                            capture_output=True, text=True)
    if result.returncode == 0:
        return
    alone = subprocess.run(command_of(compiler, ["-fsyntax-only"], flags), input=own, capture_output=True, text=True)
    if alone.returncode != 0:
        raise DoesNotCompile(re.sub(r"^In file included from <stdin>:1:\n", "", alone.stderr.strip()))
    lacks = list(missing(stage, own, compiler, flags)) or [line for line in result.stderr.splitlines() if " error: " in line][:3]
    raise DoesNotCompile("\n".join([f"{file.name} compiles, but the stage also needs, as its {stage.header.name} declares them:",
                                    *lacks]))


def command_of(compiler, output, flags):
    return [compiler, *FLAGS, *flags, "-I", str(COURSE), "-x", "c++", "-", *output]


def limit():
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 1))
    resource.setrlimit(resource.RLIMIT_AS, (GIBIBYTES << 30, GIBIBYTES << 30))
    resource.setrlimit(resource.RLIMIT_FSIZE, (MEGABYTES * 10**6, MEGABYTES * 10**6))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(program, *words):
    """The program's end, within the limits. Its output is a file, so no child that lives on holds it; its process group ends."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as errors:
        process = subprocess.Popen([program, *words], stdin=subprocess.DEVNULL, stdout=out, stderr=errors, preexec_fn=limit,
                                   start_new_session=True)
        try:
            process.wait(timeout=5 * SECONDS)
        finally:
            try:
                os.killpg(process.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
            process.wait()
        said = []
        for file in (out, errors):
            file.seek(0)
            said.append(file.read(MEGABYTES * 10**6).decode(errors="replace"))
        return subprocess.CompletedProcess(program, process.returncode, *said)


def why_not(program, number):
    """Why a point does not hold; None if it does: then its test wrote this run's token at its end."""
    token = secrets.token_hex(16)
    try:
        result = run(program, token, str(number))
    except subprocess.TimeoutExpired:
        return f"it waits for something, more than {5 * SECONDS} s"
    if result.returncode == 0:
        return None if token in result.stdout.splitlines() else "it ended with exit code 0 before the test came to its end"
    said = result.stdout.strip().splitlines()
    if result.returncode == 1:
        words = said[-1] if said else "it ended with exit code 1"
        return f"it needs more than {GIBIBYTES} GiB of memory" if "bad_alloc" in words else words
    assertion = re.search(r"Assertion '(.*?)' failed", result.stderr)
    reason = STOPPED.get(-result.returncode, f"it ended with exit code {result.returncode}")
    if said:
        reason = f"{said[-1]}: {reason}"
    return f"{reason}: {assertion[1]} does not hold, as with an index that is out of range" if assertion else reason


def names_of(program):
    """The names of the points: the lines that begin with this run's token. Throws HasNoPoints with the reason."""
    token = secrets.token_hex(16)
    try:
        result = run(program, token)
    except subprocess.TimeoutExpired:
        raise HasNoPoints(f"before the first point it waits for something, more than {5 * SECONDS} s") from None
    names = [line[len(token) + 1:] for line in result.stdout.splitlines() if line.startswith(token + " ")]
    if result.returncode != 0 or not names:
        reason = STOPPED.get(-result.returncode, f"it ended with exit code {result.returncode}")
        raise HasNoPoints(f"before the first point, as in what is initialized outside of functions: {reason}")
    return names


def grade(stage, file, compiler="g++", flags=()):
    """The stage's points: a list of name, and why it does not hold or None. Throws DoesNotCompile or HasNoPoints."""
    with tempfile.TemporaryDirectory() as folder:
        program = pathlib.Path(folder, "grader")
        build(stage, file, program, compiler, flags)
        names = names_of(program)
        return [(name, why_not(program, number)) for number, name in enumerate(names)]


def write_json(path, stage, file, points, error=None, compiles=True):
    """Replaces the file at once: who reads it sees the old score or the new one."""
    score = {"stage": stage.number, "name": stage.name, "file": file.name,
             "points": [{"name": name, "holds": why is None, "why": why} for name, why in points],
             "holds": sum(why is None for _, why in points), "of": len(points), "compiles": compiles, "error": error}
    part = path.with_name(path.name + ".part")
    part.write_text(json.dumps(score, indent=1, ensure_ascii=False) + "\n")
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
