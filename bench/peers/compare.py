#!/usr/bin/env python3
"""tapegrad and its peers side by side: compare.py BENCH [ROW...] [--with PEERS] [--rounds N] [--json FILE] ...

Each round of a row measures tapegrad and then each peer, so that all see the same machine; figures are medians over the
rounds. A row is ahead of a peer when the whole interval of the ratio is above 1. PYTHON names the interpreters in which
peers are looked for, separated by colons."""

import argparse
import dataclasses
import json
import math
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

import rows_of

folder = pathlib.Path(__file__).parent
debian_python, debian_packages = "/usr/bin/python3", "/usr/lib/python3/dist-packages/"
debian_libraries = pathlib.Path("/usr/lib") / f"{os.uname().machine}-linux-gnu"
# glibc keeps what is freed instead of giving it back to the system and asking for fresh pages in every step.
page_reuse = {"MALLOC_TRIM_THRESHOLD_": str(2**40), "MALLOC_TOP_PAD_": str(2**26), "MALLOC_MMAP_MAX_": "0"}
# MKL asks this function whether the processor is Intel's; on others it takes its kernels for AVX2.
mkl_everywhere = "int mkl_serv_intel_cpu_true(void) { return 1; }\n"


@dataclasses.dataclass
class Peer:
    """How a peer is found and run. environment: the best settings known for it; `settings` describes them."""
    script: str
    module: str
    install: str
    settings: str
    flags: tuple = ()
    environment: dict = dataclasses.field(default_factory=dict)
    debian: bool = False
    mkl: bool = False

    def command(self, build_folder):
        """The command that runs it, or None if it is not installed."""
        for python in [debian_python] if self.debian else interpreters():
            origin = origin_of(self.module, python)
            if origin and origin.startswith(debian_packages) == self.debian:
                if self.script.endswith(".cpp"):
                    return [built(folder / self.script, pathlib.Path(origin).parent, python, build_folder)]
                return [python, folder / self.script, *self.flags]
        return None


def blas(flavour, variable):
    """Puts a flavour of Debian's OpenBLAS before any other, for one process, if it is there."""
    directory = debian_libraries / f"openblas-{flavour}"
    if not (directory / "libblas.so.3").exists():
        return {}
    return {variable: str(directory if variable == "LD_LIBRARY_PATH" else directory / "libblas.so.3")}


def kernels():
    """Tells OpenBLAS the instruction set: for processors newer than itself, it uses its oldest kernels."""
    flags = pathlib.Path("/proc/cpuinfo").read_text().split() if pathlib.Path("/proc/cpuinfo").exists() else []
    for core, needed in ("SkylakeX", {"avx512vl", "avx512dq"}), ("Haswell", {"avx2", "fma"}):
        if needed <= set(flags):
            return {"OPENBLAS_CORETYPE": core}
    return {}


openmp, openblas = blas("openmp", "LD_LIBRARY_PATH"), blas("pthread", "LD_PRELOAD")
peers = {
    "pytorch": Peer("pytorch.py", "torch", "pip install torch numpy", "eager, pages reused",
                    environment=page_reuse, mkl=True),
    "pytorch_compiled": Peer("pytorch.py", "torch", "pip install torch numpy", "torch.compile, pages reused",
                             flags=("--compiled",), environment=page_reuse, mkl=True),
    "pytorch_debian": Peer("pytorch.py", "torch", "apt install python3-torch libopenblas0-openmp",
                           f"eager, {'OpenBLAS with OpenMP' if openmp else 'the BLAS of the system'}, pages reused",
                           environment=page_reuse | openmp | kernels(), debian=True),
    "libtorch": Peer("libtorch.cpp", "torch", "pip install torch numpy", "C++, pages reused",
                     environment=page_reuse, mkl=True),
    "jax": Peer("jax_rows.py", "jax", "pip install jax", "jit, pinned to as many processors as threads"),
    "mlx": Peer("mlx_rows.py", "mlx.core", "pip install 'mlx[cpu]'",
                f"compiled, {'OpenBLAS in the place of' if openblas else 'with'} its reference BLAS, pages reused, "
                "pinned to as many processors as threads", environment=page_reuse | openblas | kernels()),
}


def interpreters():
    return [name for name in os.environ.get("PYTHON", "").split(os.pathsep) if name] or [sys.executable]


def origin_of(module, python):
    """The file of a module of an interpreter; nothing if it has none."""
    code = f"import importlib.util; print(importlib.util.find_spec({module!r}).origin)"
    try:
        return subprocess.run([python, "-c", code], capture_output=True, text=True).stdout.strip()
    except OSError as error:
        print(f"bench: PYTHON: {error}", file=sys.stderr)
        return ""


def built(source, torch, python, build_folder):
    """The program, compiled against the C++ library inside PyTorch's package if it is not there yet."""
    text = "import torch; print(torch.__version__, int(torch.compiled_with_cxx11_abi()))"
    version, abi = subprocess.run([python, "-c", text], capture_output=True, text=True, check=True).stdout.split()
    program = pathlib.Path(build_folder) / f"{source.stem}-{version}"
    if not program.exists() or program.stat().st_mtime < source.stat().st_mtime:
        print(f"bench: compiling {source.name}", file=sys.stderr)
        subprocess.run([os.environ.get("CXX", "c++"), "-std=c++20", "-O2", f"-D_GLIBCXX_USE_CXX11_ABI={abi}", source,
                        "-o", program, "-isystem", torch / "include",
                        "-isystem", torch / "include/torch/csrc/api/include",
                        f"-L{torch / 'lib'}", f"-Wl,-rpath,{torch / 'lib'}", "-ltorch_cpu", "-lc10"], check=True)
    return program


def preloaded(source, name, build_folder):
    """The environment that puts the function of this C source before a library's own."""
    library = pathlib.Path(build_folder).resolve() / f"{name}.so"
    subprocess.run([os.environ.get("CC", "cc"), "-x", "c", "-shared", "-fPIC", "-o", library, "-"], input=source,
                   text=True, check=True)
    return {"LD_PRELOAD": str(library)}


class Failure(Exception):
    """A measurement that failed. expected: the peer cannot do the row."""

    def __init__(self, reason, expected):
        super().__init__(reason)
        self.expected = expected


def measure(command, environment, row, threads):
    """The line that one implementation writes for one row, run in its own process to measure its peak memory."""
    with tempfile.TemporaryDirectory() as temporary:
        file = pathlib.Path(temporary) / "row.json"
        done = subprocess.run([*command, row, "--threads", str(threads), "--json", file], env=environment,
                              stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if done.returncode != 0:
            last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
            raise Failure(last, done.returncode == rows_of.CANNOT)
        return json.loads(file.read_text().splitlines()[-1])


def find(chosen, bench, threads, mkl_as_installed):
    """Command and environment of each implementation that is installed; prints the others."""
    found, build_folder = {"tapegrad": ([bench], None)}, pathlib.Path(bench).parent
    for name in chosen:
        peer = peers[name]
        try:
            command = peer.command(build_folder)
            if command and peer.mkl and not mkl_as_installed:
                peer.environment = peer.environment | preloaded(mkl_everywhere, "mkl_everywhere", build_folder)
                peer.settings += ", MKL's kernels for Intel on every processor"
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            print(f"bench: {name} is skipped: {error}", file=sys.stderr)
            continue
        if command:
            found[name] = command, os.environ | {"OMP_NUM_THREADS": str(threads)} | peer.environment
        else:
            print(f"bench: {name} is skipped: it is not installed; install it with: {peer.install}", file=sys.stderr)
    return found


def interval(ratios):
    """An interval that holds the median of ratios in 95 of 100 cases, by the sign test, which assumes no distribution;
    None for fewer than six."""
    ordered, outside, tail = sorted(ratios), 0, 0.0
    while (tail := tail + math.comb(len(ordered), outside) / 2 ** len(ordered)) <= 0.025:
        outside += 1
    return (ordered[outside - 1], ordered[-outside]) if outside else None


def judged(ratios):
    """The interval of ratios and the verdict, in words."""
    if (between := interval(ratios)) is None:
        return "-"
    least, most = between
    return f"{least:.2f} to {most:.2f}" + (" ahead" if least > 1 else " behind" if most < 1 else "")


def compare(row, found, rounds, threads):
    """The lines of each implementation, one per round, and whether all that can do the row succeeded."""
    lines, stopped, good = {name: [] for name in found}, set(), True
    for _ in range(rounds):
        for name, (command, environment) in found.items():
            if name in stopped:
                continue
            try:
                lines[name].append(measure(command, environment, row, threads))
            except Failure as failure:
                stopped.add(name)
                good = good and failure.expected
                print(f"bench: {name} {'cannot do' if failure.expected else 'fails in'} {row}: {failure}",
                      file=sys.stderr)
    return {name: [] if name in stopped else measured for name, measured in lines.items()}, good


def place():
    """The machine and the commit that figures belong to."""
    cpuinfo = pathlib.Path("/proc/cpuinfo")
    text = cpuinfo.read_text() if cpuinfo.exists() else ""
    # Virtual machines leave generations out of names.
    models = [f"{name} (family {family}, model {model})" for family, model, name in
              re.findall(r"cpu family\s*: (\d+)\nmodel\s*: (\d+)\nmodel name\s*: (.*)", text)]
    describe = ["git", "-C", folder, "describe", "--always", "--dirty"]
    commit = subprocess.run(describe, capture_output=True, text=True).stdout.strip() if shutil.which("git") else ""
    return {"machine": f"{os.cpu_count()} cores of {models[0] if models else os.uname().machine}",
            "commit": commit or "unknown"}


def save(lines, file):
    """Writes what has been measured so far."""
    if file is None:
        return
    temporary = pathlib.Path(f"{file}.part")
    try:
        temporary.write_text("".join(json.dumps(line) + "\n" for line in lines))
        temporary.replace(file)
    except OSError as error:
        sys.exit(f"bench: cannot write {file}: {error.strerror}")


def main():
    parser = argparse.ArgumentParser(
        prog="./dev bench --peers", description=__doc__.splitlines()[0].split(":")[0],
        epilog="Peers are looked for in the interpreters of PYTHON (separated by colons), by default in python3.")
    parser.add_argument("bench", help=argparse.SUPPRESS)
    parser.add_argument("rows", nargs="*", help="rows to measure (all)")
    parser.add_argument("--with", dest="peers", metavar="PEERS",
                        help=f"peers, separated by commas, of {', '.join(peers)} (all that are installed)")
    parser.add_argument("--threads", type=int, default=min(2, os.cpu_count() or 1))
    parser.add_argument("--rounds", type=int, default=7, help="of each row; six or more for an interval (7)")
    parser.add_argument("--mkl-as-installed", action="store_true",
                        help="leave MKL, in PyTorch, its slower kernels on processors of other makers than Intel")
    parser.add_argument("--json", help="also write one JSON object per row and implementation to this file")
    parser.add_argument("--check", action="store_true", help="measure nothing; check that the loss of each peer falls")
    flags = parser.parse_intermixed_args()

    listed = subprocess.run([flags.bench, "--list"], capture_output=True, text=True, check=True).stdout.split()
    for row in flags.rows:
        if row not in listed:
            parser.error(f"unknown row {row}; available: {', '.join(listed)}")
    chosen = flags.peers.split(",") if flags.peers else list(peers)
    for name in chosen:
        if name not in peers:
            parser.error(f"unknown peer {name}; available: {', '.join(peers)}")
    if flags.rounds < 1 or flags.threads < 1:
        parser.error("--rounds and --threads must be at least 1")
    found = find(chosen, flags.bench, flags.threads, flags.mkl_as_installed)
    if len(found) == 1:
        sys.exit("bench: no peer is installed")

    good = True
    if flags.check:
        for name, (command, environment) in found.items():
            if name == "tapegrad":
                continue
            print(f"== {name}", flush=True)
            words = [*command, *flags.rows, "--check", "--threads", str(flags.threads)]
            good = subprocess.run(words, env=environment).returncode in (0, rows_of.CANNOT) and good
        sys.exit(0 if good else 1)

    lines, notes, where = [], {}, place()
    save(lines, flags.json)  # fails before anything is measured if the file cannot be written
    print(f"{'row':<28} {'implementation':<17} {'ms':>10} {'spread':>7} {'ratio':>7} {'peak MB':>8} {'tape MB':>8}  95 %")
    for row in flags.rows or listed:
        measured, fine = compare(row, found, flags.rounds, flags.threads)
        good, own, own_rounds = good and fine, None, []
        for name, rounds in measured.items():
            if not rounds:
                print(f"{row:<28} {name:<17} {'-':>10} {'-':>7} {'-':>7} {'-':>8} {'-':>8}")
                continue
            times = [line["ms"] for line in rounds]
            ms, peak = statistics.median(times), max(line["peak_rss_mb"] for line in rounds)
            if name == "tapegrad":
                own, own_rounds = ms, times
            ratio = ms / own if own else None
            ratios = [time / mine for time, mine in zip(times, own_rounds)] if name != "tapegrad" else []
            tape = rounds[0].get("tape_mb")
            print(f"{row:<28} {name:<17} {ms:>10.3f} {(max(times) - min(times)) / ms:>7.0%} "
                  f"{'-' if ratio is None else format(ratio, '.2f'):>7} {peak:>8.0f} "
                  f"{'-' if tape is None else format(tape, '.1f'):>8}  {judged(ratios)}", flush=True)
            if rounds[0].get("note"):
                notes[f"{name} {row}"] = rounds[0]["note"]
            line = rounds[0] | {"implementation": name, "ms": ms, "rounds": times, "ratio": ratio,
                                "interval": interval(ratios), "peak_rss_mb": peak}
            if "us_per_op" in line:
                line["us_per_op"] = statistics.median(each["us_per_op"] for each in rounds)
            lines.append(line | where | ({"settings": peers[name].settings} if name in peers else {}))
        save(lines, flags.json)
    versions = {line["implementation"]: line["version"] for line in lines}
    for name, version in versions.items():
        print(f"{name} {version}" + (f" ({peers[name].settings})" if name in peers else ""))
    print(f"{flags.threads} threads, medians of {flags.rounds} rounds; ratio: time over tapegrad's")
    for subject, note in notes.items():
        print(f"{subject}: {note}")
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
