"""bench/peers: tapegrad beside its peers, with a bench and an interpreter that are made up: no framework is needed."""

import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

root = pathlib.Path(sys.argv[1])
peers = root / "bench/peers"

# Both write a time for a row; the interpreter has torch but nothing else.
bench = """#!{python}
import json, sys
if "--list" in sys.argv:
    print("fast\\nslow\\nbroken\\nforeign\\nfatal")
else:
    file = sys.argv[sys.argv.index("--json") + 1]
    line = {{"row": sys.argv[1], "implementation": "tapegrad", "version": "1", "threads": 2, "ms": 2.0,
            "peak_rss_mb": 10}}
    open(file, "w").write(json.dumps(line) + "\\n")
"""
interpreter = """#!{python}
import json, os, pathlib, signal, sys
if sys.argv[1] == "-c":
    if "'torch'" not in sys.argv[2]:
        sys.exit(1)
    print("/somewhere/torch/__init__.py")
    sys.exit()
script, row = pathlib.Path(sys.argv[1]).name, sys.argv[2]
if "--check" in sys.argv:
    print("checked", row)
    sys.exit(1 if row == "broken" else 0)
if row == "fatal":
    os.kill(os.getppid(), signal.SIGKILL)
if row == "broken":
    print("Traceback", "OutOfMemory: too large", sep="\\n", file=sys.stderr)
    sys.exit(1)
if row == "foreign":
    print("torch: foreign: there is no such operation", file=sys.stderr)
    sys.exit(3)
pathlib.Path(__file__).with_name("preloaded").write_text(os.environ.get("LD_PRELOAD", ""))
counter = pathlib.Path(__file__).with_name("calls")
calls = len(counter.read_text()) if counter.exists() else 0
counter.write_text("x" * (calls + 1))
line = {{"row": row, "implementation": script, "version": "2", "threads": 2, "ms": [3.0, 8.0, 4.0][calls % 3],
        "peak_rss_mb": 30, "tape_mb": 2.25, "note": "a note"}}
open(sys.argv[sys.argv.index("--json") + 1], "w").write(json.dumps(line) + "\\n")
"""

with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    for name, text in (("bench", bench), ("python", interpreter)):
        (folder / name).write_text(text.format(python=sys.executable))
        (folder / name).chmod(0o755)

    def compare(*arguments, python=folder / "python", **more):
        return subprocess.run([sys.executable, peers / "compare.py", folder / "bench", *arguments], capture_output=True,
                              text=True, env=os.environ | {"PYTHON": f"{folder / 'no_such'}:{python}"} | more)

    # A peer that is there and one that is not; medians, spread and ratio of three rounds, too few for an interval.
    result = compare("fast", "--with", "pytorch,jax", "--rounds", "3", "--json", folder / "lines.json")
    assert result.returncode == 0, result
    assert "jax is skipped: it is not installed; install it with: pip install jax" in result.stderr, result.stderr
    row = next(line for line in result.stdout.splitlines() if line.startswith("fast") and "pytorch" in line)
    assert row.split() == ["fast", "pytorch", "4.000", "125%", "2.00", "30", "2.2", "-"], row
    assert "pytorch 2 (eager" in result.stdout and "pytorch fast: a note" in result.stdout, result.stdout
    lines = [json.loads(line) for line in (folder / "lines.json").read_text().splitlines()]
    assert [line["implementation"] for line in lines] == ["tapegrad", "pytorch"], lines
    assert lines[1]["rounds"] == [3.0, 8.0, 4.0] and lines[1]["ratio"] == 2.0 and "eager" in lines[1]["settings"], lines

    # On a machine without git.
    (folder / "tools").mkdir()
    for tool in ("cc", "as", "ld"):
        (folder / "tools" / tool).symlink_to(shutil.which(tool))
    result = compare("fast", "--with", "pytorch", "--rounds", "1", PATH=str(folder / "tools"))
    assert result.returncode == 0, result

    # An interval of the ratio from seven rounds; with MKL at its best unless it is refused.
    result = compare("fast", "--with", "pytorch")
    row = next(line for line in result.stdout.splitlines() if line.startswith("fast") and "pytorch" in line)
    assert row.split()[4:] == ["2.00", "30", "2.2", "1.50", "to", "4.00", "ahead"], row
    assert "MKL's kernels for Intel" in result.stdout, result.stdout
    assert "mkl_everywhere" in (folder / "preloaded").read_text(), "no preloaded function"
    result = compare("fast", "--with", "pytorch", "--rounds", "1", "--mkl-as-installed")
    assert result.returncode == 0 and "MKL" not in result.stdout, result
    assert "mkl_everywhere" not in (folder / "preloaded").read_text()

    # Rows that were measured before a failure are kept; a file that cannot be written fails at once.
    result = compare("slow", "fatal", "--with", "pytorch", "--rounds", "1", "--json", folder / "lines.json")
    assert result.returncode < 0, result
    lines = [json.loads(line) for line in (folder / "lines.json").read_text().splitlines()]
    assert [line["row"] for line in lines] == ["slow", "slow"], lines
    result = compare("fast", "--with", "pytorch", "--json", folder / "nowhere" / "lines.json")
    assert result.returncode == 1 and "cannot write" in result.stderr and "fast" not in result.stdout, result

    # A row that a peer cannot do is named; so is one that fails, which also makes the run fail. The other rows continue.
    result = compare("foreign", "slow", "--with", "pytorch", "--rounds", "1")
    assert result.returncode == 0, result
    assert "pytorch cannot do foreign: torch: foreign: there is no such operation" in result.stderr, result.stderr
    result = compare("--with", "pytorch", "--rounds", "2", "broken", "slow")  # rows may stand behind flags
    assert result.returncode == 1, result
    assert result.stderr.count("pytorch fails in broken: OutOfMemory: too large") == 1, result.stderr
    assert any(line.split()[:3] == ["broken", "pytorch", "-"] for line in result.stdout.splitlines()), result.stdout
    assert any(line.split()[:2] == ["slow", "pytorch"] for line in result.stdout.splitlines()), result.stdout

    for arguments, reason in ((("nothing",), "unknown row nothing"), (("--with", "pytorch,abacus"), "unknown peer abacus"),
                              (("--rounds", "0"), "at least 1")):
        result = compare(*arguments)
        assert result.returncode == 2 and reason in result.stderr, result
    result = compare("--with", "jax,mlx")
    assert result.returncode == 1 and "no peer is installed" in result.stderr, result

    result = compare("fast", "--with", "pytorch", "--check")
    assert result.returncode == 0 and "checked fast" in result.stdout, result
    assert compare("broken", "--with", "pytorch", "--check").returncode == 1

    # The median of 6 lies between the least and the greatest in 97 of 100 cases, of 9 between the second and the last
    # but one in 96; a ratio of rounds on both sides of 1 is neither ahead nor behind.
    sys.path.insert(0, str(peers))
    import compare as program
    assert program.interval([1, 2, 3, 4, 5]) is None and program.interval([3, 1, 2, 6, 4, 5]) == (1, 6)
    assert program.interval(range(1, 10)) == (2, 8) and program.interval(range(1, 101)) == (40, 61)
    assert [program.judged([ratio] * 5 + [1.1]) for ratio in (1.2, 0.9)] == ["1.10 to 1.20 ahead", "0.90 to 1.10"]
    assert program.judged([0.9] * 6) == "0.90 to 0.90 behind"

    # What the peers in Python share.
    peer = folder / "peer.py"
    peer.write_text("""import rows_of
flags = rows_of.parse("a peer")
losses = iter(range(100, 0, -1))

def no_way():
    raise rows_of.CannotRun("there is no such operation")

rows = {"falls": lambda: lambda: next(losses), "rises": lambda: lambda: -next(losses), "sweep": lambda: lambda: None,
        "no_way": no_way}
rows_of.main(flags, "peer", "3", rows)
""")

    def run(*arguments):
        return subprocess.run([sys.executable, peer, *arguments], capture_output=True, text=True,
                              env=os.environ | {"PYTHONPATH": str(peers)})

    result = run("falls", "sweep", "--check")
    assert result.returncode == 0 and "loss 100.0000 -> 81.0000" in result.stdout and "runs" in result.stdout, result
    result = run("rises", "--check")
    assert result.returncode == 1 and "DOES NOT FALL" in result.stdout, result
    result = run("sweep", "no_way", "--json", folder / "peer.json")
    assert result.returncode == 3 and "peer: no_way: there is no such operation" in result.stderr, result
    line = json.loads((folder / "peer.json").read_text())
    assert line["row"] == "sweep" and line["implementation"] == "peer" and line["ms"] >= 0, line
    assert run("nothing").returncode == 3
