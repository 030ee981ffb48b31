"""The grader of the course is right: course_test.py [STAGE...]
course_test.py --plant STAGE NUMBER prints a wrong solution, for an exercise in finding the mistake.

In each stage every right solution (solutions/a, b and c) has all points. Every wrong one (wrong/NN_name.json: the right
one of its "in", by default a, with a piece of it replaced) fails at its point with its own words; no two fail alike."""

import concurrent.futures
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent
COURSE = TESTS.parent.parent / "course"
sys.path.insert(0, str(COURSE))
import grade  # noqa: E402

LEAST_WRONG = 12
STYLES = "abc"


def planted(wrong, style, header):
    """The solution with the fault, which must be there once."""
    source = (TESTS / "solutions" / style / header).read_text()
    assert source.count(wrong["old"]) == 1, f"{wrong['name']}: the piece to replace is there {source.count(wrong['old'])} times"
    return source.replace(wrong["old"], wrong["new"])


def failed(stage, wrong, compiler, flags):
    """The grader's verdict on a wrong solution: (point, why), ..."""
    with tempfile.TemporaryDirectory() as folder:
        style = wrong.get("in", "a")
        for other in (TESTS / "solutions" / style).iterdir():
            shutil.copy(other, folder)
        file = pathlib.Path(folder, stage.header.name)
        file.write_text(planted(wrong, style, stage.header.name))
        try:
            points = grade.grade(stage, file, compiler, flags)
        except grade.DoesNotCompile as said:
            raise AssertionError(f"{wrong['name']}: {said}") from None
        return [(point, why) for point, why in points if why is not None]


def check_wrong(stage, wrongs, pool, compiler, flags):
    assert len(wrongs) >= LEAST_WRONG, f"stage {stage.number}: {len(wrongs)} wrong solutions"
    seen = {}
    for wrong, failures in zip(wrongs, pool.map(lambda each: failed(stage, each, compiler, flags), wrongs)):
        name = f"stage {stage.number}, {wrong['name']}"
        assert failures, f"{name}: all points hold"
        why = dict(failures).get(wrong["point"])
        assert why is not None, f"{name}: {wrong['point']!r} holds; what fails: {failures}"
        assert wrong["says"] in why, f"{name}: {why}"
        other = seen.setdefault(tuple(failures), wrong["name"])
        assert other == wrong["name"], f"{name}: fails just as {other!r} does"


def check_right(stage, flags):
    for style in STYLES:
        points = grade.grade(stage, TESTS / "solutions" / style / stage.header.name, flags=flags)
        assert len(points) >= 8, f"stage {stage.number} has {len(points)} points"
        for point, why in points:
            assert why is None, f"stage {stage.number}, solution {style}: {point}: {why}"


def check_holes(stage, flags):
    """What a student begins with compiles, with the stages before it, and no point holds."""
    points = grade.grade(stage, stage.header, flags=flags)
    held = [point for point, why in points if why is None]
    assert not held, f"stage {stage.number}: nothing is written yet, and these hold: {held}"


def quick_flags(compiler, folder):
    """Not optimized, and with the standard headers precompiled."""
    headers = ("map", "memory", "numeric", "optional", "random", "stdexcept")
    common, compiled = folder / "common.h", folder / f"common.h.{'gch' if compiler == 'g++' else 'pch'}"
    common.write_text('#include "grader/grader.h"\n' + "".join(f"#include <{name}>\n" for name in headers))
    subprocess.run([compiler, *grade.FLAGS, "-O0", "-I", str(COURSE), "-x", "c++-header", str(common), "-o", str(compiled)], check=True)
    include = ["-include", str(common)] if compiler == "g++" else ["-include-pch", str(compiled)]
    # A header finds what an earlier stage asks for beside it, or in the first style.
    return ["-O0", *include, "-I", str(TESTS / "solutions" / "a")]


def wrongs_of(stage):
    return json.loads((TESTS / "wrong" / f"{stage.folder.name}.json").read_text())


def main():
    if sys.argv[1:2] == ["--plant"]:
        stage = grade.stages()[int(sys.argv[2])]
        wrong = wrongs_of(stage)[int(sys.argv[3])]
        print(planted(wrong, wrong.get("in", "a"), stage.header.name), end="")
        return
    chosen = set(map(int, sys.argv[1:]))
    os.environ["PYTHONDONTWRITEBYTECODE"] = "1"
    # Hundreds of small programs: clang takes half of the time, where there is one.
    quick = shutil.which("clang++-14") or "g++"
    with tempfile.TemporaryDirectory() as folder, concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        flags = {compiler: quick_flags(compiler, pathlib.Path(folder)) for compiler in ("g++", quick)}
        for number, stage in grade.stages().items():
            if chosen and number not in chosen:
                continue
            check_right(stage, flags["g++"])
            check_holes(stage, flags["g++"])
            wrongs = wrongs_of(stage)
            check_wrong(stage, wrongs, pool, quick, flags[quick])
            print(f"stage {number}: {len(wrongs)} wrong solutions fail, {len(STYLES)} right ones pass")


if __name__ == "__main__":
    main()
