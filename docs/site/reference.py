"""The reference of the public headers, by Doxygen: reference.py FOLDER"""

import pathlib
import shutil
import subprocess
import sys

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parents[1]

HEADER = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title><script src="$relpath^jquery.js"></script><script src="$relpath^dynsections.js"></script>
$search
<link href="$relpath^$stylesheet" rel="stylesheet">
</head><body>{jump}<div class="page">{navigation}<main><div id="top">
<p class="reference"><a href="$relpath^index.html">Reference</a> &middot; <a href="$relpath^modules.html">by topic</a>
&middot; <a href="$relpath^annotated.html">types</a></p>$searchbox
"""
JUMP = '<a class="jump" href="#site">All pages</a>'
FOOTER = "</main></div></body></html>\n"


def write_reference(folder, navigation=""):
    """Writes the reference to a folder, with a navigation for all of its pages. Fails, with Doxygen's messages, if a comment refers to nothing."""
    folder.mkdir(parents=True, exist_ok=True)
    header, footer = folder / "header.tmp", folder / "footer.tmp"
    header.write_text(HEADER.format(navigation=navigation, jump=JUMP if navigation else ""))
    footer.write_text(FOOTER)
    settings = (SITE / "Doxyfile").read_text() + "".join(
        f'{name} = "{value}"\n' for name, value in
        {"OUTPUT_DIRECTORY": folder.resolve(), "HTML_HEADER": header.resolve(), "HTML_FOOTER": footer.resolve(),
         "HTML_STYLESHEET": SITE / "style.css"}.items())
    done = subprocess.run(["doxygen", "-"], input=settings, text=True, cwd=ROOT, capture_output=True)
    header.unlink()
    footer.unlink()
    if done.returncode != 0:
        sys.exit(done.stderr)
    shutil.copy(SITE / "search.css", folder / "search")


if __name__ == "__main__":
    write_reference(pathlib.Path(sys.argv[1]))
    print(pathlib.Path(sys.argv[1]) / "index.html")
