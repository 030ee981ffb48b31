"""`lab queue` as processes share it: queue_test.py LAB"""

import fcntl
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import packed_runs

lab = sys.argv[1]
TASK = ["--size", "smoke", "--tasks", "rt", "--systems", "none", "ada", "--seeds", "2", "--threads", "1"]


def queue(runs, *flags):
    return [lab, "queue", *TASK, "--runs", str(runs), *flags]


def values(runs):
    """What each run came to, without the time that it took."""
    return {run: record["values"] for run, record in packed_runs.read(runs / "xu2019.jsonl.gz").items()}


def missing(runs, *flags):
    return subprocess.run(queue(runs, "--list", *flags), check=True, capture_output=True, text=True).stdout.splitlines()


with tempfile.TemporaryDirectory() as folder:
    alone, shared = pathlib.Path(folder, "alone"), pathlib.Path(folder, "shared")
    listed = missing(alone)
    assert len(listed) == 8 and listed[0] == "rt none@0.001 seed 101, 0 trained", listed
    subprocess.run(queue(alone, "--quiet"), check=True)
    assert len(values(alone)) == 14, values(alone)  # tries, two seeds of each system, and two baselines
    assert missing(alone) == []
    # At a rate of its own, each system lacks its two seeds.
    at_rate = [line.split()[1] for line in missing(alone, "--rate", "0.5")]
    assert len(at_rate) == 4 and all(name.endswith("@0.5") for name in at_rate), at_rate

    # Of three processes one is killed. What it was at is free again.
    workers = [subprocess.Popen(queue(shared, "--quiet")) for _ in range(3)]
    while not list(shared.glob("xu2019.jsonl.gz*")):
        time.sleep(0.01)
    workers[0].send_signal(signal.SIGKILL)
    assert [worker.wait() for worker in workers] == [-signal.SIGKILL, 0, 0]
    assert values(shared) == values(alone)
    assert missing(shared) == []
    # A process that is killed between its result and the removal of its locks leaves them, and they are free: of the run
    # and of the file.
    locks = list(shared.glob("*.lock"))
    assert len(locks) <= 2, locks
    for lock in locks:
        with open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)

    # A baseline that another process is at is waited for, since that process can be killed.
    waiting = pathlib.Path(folder, "waiting")
    baseline, seed = next((run, seed) for run, seed in values(alone) if "@" not in run)
    trained = [(run, seed) for run, seed in values(alone) if "@" in run]
    waiting.mkdir()
    with open(waiting / f"xu2019.jsonl.gz.{packed_runs.digest(f'{baseline} seed {seed}')}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        worker = subprocess.Popen(queue(waiting, "--quiet"))
        while not set(trained) <= set(values(waiting)):
            time.sleep(0.01)
        assert (baseline, seed) not in values(waiting)
    assert worker.wait() == 0
    assert values(waiting) == values(alone)

    # The experiment finds all of it trained.
    seen = subprocess.run([lab, "xu2019", "--tasks", "rt", "--seeds", "2", "--runs", str(shared), "--from-ledger"], check=True,
                          capture_output=True, text=True).stdout
    assert "Missing runs" not in seen, seen

    # A name with a comma is one name.
    form = "layer_simple:forward=identity,factor=1"
    chosen = ["--size", "smoke", "--tasks", "mnist", "--systems", form, "none", "--runs", str(alone), "--list"]
    listed = subprocess.run([lab, "queue", *chosen], check=True, capture_output=True, text=True).stdout
    assert {line.split()[1].split("@")[0] for line in listed.splitlines()} == {form, "none"}, listed

    for flags, message in ((["--tasks", "en_vi"], "en_vi"), ([], "--runs: is needed")):
        refused = subprocess.run([lab, "queue", *flags], capture_output=True, text=True)
        assert refused.returncode == 2 and message in refused.stderr, refused
