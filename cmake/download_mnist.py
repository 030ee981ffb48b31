#!/usr/bin/env python3
"""Downloads the four files of MNIST into a folder and checks them. Usage: download_mnist.py FOLDER

TAPEGRAD_MNIST_URL names another server. A file takes its name only when its checksum is right."""

import hashlib
import os
import pathlib
import sys
import urllib.error
import urllib.request

server = os.environ.get("TAPEGRAD_MNIST_URL", "https://ossci-datasets.s3.amazonaws.com/mnist")
checksums = {
    "t10k-images-idx3-ubyte.gz":
        "8d422c7b0a1c1c79245a5bcf07fe86e33eeafee792b84584aec276f5a2dbc4e6",
    "t10k-labels-idx1-ubyte.gz":
        "f7ae60f92e00ec6debd23a6088c31dbd2371eca3ffa0defaefb259924204aec6",
    "train-images-idx3-ubyte.gz":
        "440fcabf73cc546fa21475e81ea370265605f56be210a4024d2ca8f203523609",
    "train-labels-idx1-ubyte.gz":
        "3552534a0a558bbed6aed32b30c495cca23d567ec52cac8be1a0730e8010255c",
}
largest = 16 << 20


def is_right(path, checksum):
    return path.exists() and hashlib.sha256(path.read_bytes()).hexdigest() == checksum


def download(folder, name, checksum):
    if is_right(folder / name, checksum):
        return
    url = f"{server}/{name}"
    print(f"downloading {url}", file=sys.stderr)
    try:
        with urllib.request.urlopen(url, timeout=60) as response:
            content = response.read(largest)
    except (urllib.error.URLError, OSError, ValueError) as error:
        sys.exit(f"data: cannot download {url}: {error}")
    found = hashlib.sha256(content).hexdigest()
    if found != checksum:
        sys.exit(f"data: {url} is damaged: its sha256 is {found}, not {checksum}; nothing was kept")
    temporary = folder / (name + ".tmp")
    temporary.write_bytes(content)
    temporary.rename(folder / name)


folder = pathlib.Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
for name, checksum in checksums.items():
    download(folder, name, checksum)
(folder / "complete").touch()
print(f"MNIST is in {folder}")
