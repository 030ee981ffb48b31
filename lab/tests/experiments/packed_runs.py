"""The finished runs of a study, which the laboratory keeps in STUDY.jsonl.gz: read and written without it."""

import gzip
import json

BEFORE_RECORD = ',"record":'


def digest(text):
    value = 0xCBF29CE484222325
    for byte in text.encode():
        value = (value ^ byte) * 0x100000001B3 & 0xFFFFFFFFFFFFFFFF
    return f"{value:016x}"


def repeats(path):
    """The texts of all records by run, seed and repeat, in their order in the file; none if there is no file."""
    found, last = {}, ()
    if path.exists():
        for line in gzip.decompress(path.read_bytes()).decode().removesuffix("\n").split("\n"):
            head, _, rest = line.partition(BEFORE_RECORD)
            run, record = json.loads(head + "}"), rest.removesuffix("}")
            assert run["digest"] == digest(record), (path, head)
            key = run["run"], run["seed"], run["repeat"]
            assert last < key, (path, head)
            found[key], last = record, key
    return found


def read(path):
    """The record of each run and seed: the last repeat, which counts."""
    return {(run, seed): json.loads(record) for (run, seed, _), record in repeats(path).items()}


def packed(records):
    """The bytes of a file with these texts of records by run, seed and repeat."""
    lines = ""
    for (run, seed, repeat), record in sorted(records.items()):
        head = {"run": run, "seed": seed, "repeat": repeat, "digest": digest(record)}
        lines += json.dumps(head, separators=(",", ":"), ensure_ascii=False)[:-1] + BEFORE_RECORD + record + "}\n"
    file = bytearray(gzip.compress(lines.encode(), 9, mtime=0))
    file[9] = 255  # of an unknown system
    return bytes(file)
