"""The download of MNIST, from a local server: good, damaged and missing files."""

import functools
import hashlib
import http.server
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

root = pathlib.Path(sys.argv[1])
script = (root / "cmake/download_mnist.py").read_text()
names = re.findall(r'"([\w-]+\.gz)":', script)
assert len(names) == 4, names


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    served, target = folder / "served", folder / "target"
    served.mkdir()
    # The same program with the checksums of files that are made up here.
    for name in names:
        (served / name).write_bytes(name.encode() * 1000)
        made_up = hashlib.sha256((served / name).read_bytes()).hexdigest()
        script = re.sub(rf'("{name}":\s+")\w+', rf"\g<1>{made_up}", script)
    program = folder / "download.py"
    program.write_text(script)
    server = http.server.ThreadingHTTPServer(
        ("127.0.0.1", 0), functools.partial(Quiet, directory=str(served)))
    threading.Thread(target=server.serve_forever, daemon=True).start()

    def download():
        url = f"http://127.0.0.1:{server.server_port}"
        return subprocess.run([sys.executable, program, target], capture_output=True, text=True,
                              env=os.environ | {"TAPEGRAD_MNIST_URL": url})

    damaged = (served / names[1]).read_bytes()
    (served / names[1]).write_bytes(damaged[:-1] + b"!")
    result = download()
    assert result.returncode == 1 and "is damaged" in result.stderr, result
    assert not (target / names[1]).exists() and not (target / "complete").exists()

    (served / names[1]).unlink()
    result = download()
    assert result.returncode == 1 and "404" in result.stderr, result

    (served / names[1]).write_bytes(damaged)
    result = download()
    assert result.returncode == 0 and (target / "complete").exists(), result
    assert all((target / name).read_bytes() == (served / name).read_bytes() for name in names)
    assert not list(target.glob("*.tmp"))

    server.shutdown()
    assert download().returncode == 0, "files that are there are not downloaded again"
