"""scale_page.py PROGRAM [FLAGS]: measures, and updates the tables and pictures of docs/scale.md

A table of the page is a text block that begins with the title of a table that the program prints."""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

page = pathlib.Path(__file__).resolve().parents[2] / "docs/scale.md"
with tempfile.TemporaryDirectory() as report:
    run = subprocess.run([*sys.argv[1:], "--report", report], stdout=subprocess.PIPE, text=True)
    print(run.stdout, end="")
    if run.returncode != 0:
        sys.exit(run.returncode)
    paragraphs = {text.split("\n", 1)[0]: text.strip("\n") + "\n" for text in run.stdout.split("\n\n")}
    (page.parent / "pictures").mkdir(exist_ok=True)
    for picture in pathlib.Path(report).glob("*.svg"):
        shutil.copy(picture, page.parent / "pictures")
page.write_text(re.sub(r"(?<=```text\n)(.*)\n[^`]*(?=```)",
                       lambda block: paragraphs.get(block[1], block[0]), page.read_text()))
