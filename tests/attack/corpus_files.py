"""What the scripts share that write the first inputs of fuzzers, of the engine and of the laboratory."""

import gzip
import pathlib


def writer(script):
    """Writes an input of a fuzzer into the corpus beside a script."""
    def write(fuzzer, name, content):
        path = pathlib.Path(script).resolve().with_name("corpus") / fuzzer / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())

    return write


def packed(content):
    return gzip.compress(content, mtime=0)
