"""A deck with a slide for each lesson of the course: slides.py [FILE] [--lessons ADDRESS]

A slide has the title of its lesson, its first picture with what that shows, what one can do after the lesson, and a
link to it. All of it is taken from the lesson's page. FILE, build/site/slides.html unless given, is one page of HTML that
needs nothing else. ADDRESS is where the site is, the folder of the file unless given. Needs pandoc."""

import argparse
import base64
import pathlib
import re
import subprocess
import sys

SITE = pathlib.Path(__file__).resolve().parent
ROOT = SITE.parents[1]

SLIDE = """# {number}. {title}

::: picture
![{shown}]({picture})

{shown}
:::

::: after
After this lesson you can

{points}

[Read the lesson]({address})
:::
"""


def embedded(picture):
    """A picture as an address of its own, so that its styles stay within it."""
    return "data:image/svg+xml;base64," + base64.b64encode(picture.read_bytes()).decode()


def slide(number, page, lessons):
    text = (ROOT / page).read_text()
    title = re.match(r"# (.*)", text)
    points = re.search(r"^After this lesson you can\n\n((?:- .*\n(?:  .*\n)*)+)", text, re.M)
    picture = re.search(r"^!\[([^\]]+)\]\((pictures/[\w.]+)\)", text, re.M)
    if not (title and points and picture):
        sys.exit(f"{page}: a slide needs a title, what one can do after the lesson, and a picture")
    return SLIDE.format(number=number, title=title[1], shown=picture[1].rstrip(".") + ".",
                        picture=embedded((ROOT / page).parent / picture[2]), points=points[1],
                        address=f"{lessons}/{page.with_suffix('.html')}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("file", type=pathlib.Path, nargs="?", default=ROOT / "build/site/slides.html")
    parser.add_argument("--lessons", default=".")
    arguments = parser.parse_args()
    pages = [folder / page for folder in (pathlib.Path("docs"), pathlib.Path("lab/docs"))
             for page in re.findall(r"^\d+\. \[[^\]]+\]\(([\w.]+\.md)\)", (ROOT / folder / "README.md").read_text(), re.M)]
    deck = "\n".join(slide(number, page, arguments.lessons) for number, page in enumerate(pages, 1))
    arguments.file.parent.mkdir(parents=True, exist_ok=True)
    # Newer ones warn of the older name of the same option.
    known = subprocess.run(["pandoc", "--help"], check=True, capture_output=True, text=True).stdout
    embed = ["--embed-resources", "--standalone"] if "--embed-resources" in known else ["--self-contained"]
    plain = "markdown-implicit_figures-smart-tex_math_dollars-subscript-superscript"
    subprocess.run(["pandoc", "--from", plain, "--to", "dzslides", *embed, "--slide-level=1", "--css", SITE / "slides.css",
                    "--metadata", "title=tapegrad: the course in twelve pictures", "--metadata", "lang=en",
                    "--output", arguments.file], input=deck, text=True, check=True)
    print(arguments.file)


if __name__ == "__main__":
    main()
