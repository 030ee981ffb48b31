"""What the scripts share that write the inputs of fuzzers, of the engine and of the laboratory."""

import gzip
import pathlib
import sys


def write(fuzzer, name, content):
    """Writes an input into the folder that the script was given."""
    path = pathlib.Path(sys.argv[1]) / fuzzer / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())


def packed(content):
    return gzip.compress(content, mtime=0)
