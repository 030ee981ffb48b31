"""The pictures of the course are what the laboratory draws, up to rounding: pictures_test.py LAB ROOT"""

import pathlib
import re
import subprocess
import sys
import tempfile

lab, root = sys.argv[1:]
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


def same(drawn, kept):
    numbers = [list(map(float, NUMBER.findall(text))) for text in (drawn, kept)]
    return (NUMBER.sub("", drawn) == NUMBER.sub("", kept) and
            all(abs(a - b) < 0.3 for a, b in zip(*numbers, strict=True)))  # pixels


with tempfile.TemporaryDirectory() as folder:
    subprocess.run([lab, "pictures", "--report", folder], check=True, stdout=subprocess.DEVNULL)
    pictures = sorted(pathlib.Path(folder).glob("*.svg"))
    assert pictures
    for picture in pictures:
        kept = pathlib.Path(root, "docs/pictures", picture.name)
        assert kept.exists() and same(picture.read_text(), kept.read_text()), f"{kept}: ./dev pictures draws another"
