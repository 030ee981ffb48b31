"""The deck of ./dev slides: slides_test.py ROOT. Needs pandoc."""

import base64
import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(sys.argv.pop(1))


class Deck(html.parser.HTMLParser):
    """The titles, pictures and links of each slide, and all that a page would fetch."""

    def __init__(self, text):
        super().__init__()
        self.slides, self.fetched, self.in_title = [], [], False
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag == "section":
            self.slides.append({"title": "", "pictures": [], "links": [], "text": ""})
        elif tag == "img":
            self.slides[-1]["pictures"].append((found["src"], found["alt"]))
        elif tag == "a":
            self.slides[-1]["links"].append(found["href"])
        self.in_title = tag == "h1"
        address = found.get("src", found.get("href", "data:"))
        if tag in ("img", "script", "link") and not address.startswith("data:"):
            self.fetched.append(attributes)

    def handle_data(self, data):
        if self.slides:
            self.slides[-1]["title" if self.in_title else "text"] += data

    def handle_endtag(self, tag):
        self.in_title = False


class Slides(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = pathlib.Path(folder.name)
        self.lessons = []
        for folder in "docs", "lab/docs":
            shutil.copytree(ROOT / folder, self.root / folder)
            index = (ROOT / folder / "README.md").read_text()
            self.lessons += [f"{folder}/{page}" for page in re.findall(r"^\d+\. \[[^\]]+\]\(([\w.]+)\.md\)", index, re.M)]

    def write(self, *words):
        return subprocess.run([sys.executable, "-B", self.root / "docs/site/slides.py", self.root / "deck.html", *words],
                              capture_output=True, text=True)

    def deck(self, *words):
        done = self.write(*words)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        text = (self.root / "deck.html").read_text()
        self.assertNotRegex(text, r"url\((?!['\"]?data:)|@import")
        return Deck(text)

    def test_each_lesson_has_a_slide_with_its_picture_and_a_link(self):
        deck = self.deck()
        self.assertEqual(deck.fetched, [])
        self.assertEqual(len(deck.slides), 1 + len(self.lessons))
        for number, (lesson, slide) in enumerate(zip(self.lessons, deck.slides[1:]), 1):
            page = (ROOT / f"{lesson}.md").read_text()
            shown, picture = re.search(r"^!\[([^\]]+)\]\((.+?)\)", page, re.M).groups()
            self.assertEqual(slide["title"].strip(), f"{number}. {page.splitlines()[0][2:]}")
            self.assertEqual(slide["links"], [f"./{lesson}.html"])
            (source, alternative), = slide["pictures"]
            embedded = base64.b64decode(source.partition("base64,")[2])
            self.assertEqual(embedded, (ROOT / f"{lesson}.md").with_name("pictures").joinpath(pathlib.Path(picture).name).read_bytes())
            self.assertEqual(alternative.rstrip(".").split(), shown.rstrip(".").split())
            self.assertIn("After this lesson you can", slide["text"])
            first = re.search(r"^- (.*)", page, re.M)[1].split("`")[0].strip()
            self.assertIn(first, " ".join(slide["text"].split()))

    def test_lessons_may_be_elsewhere(self):
        links = [slide["links"] for slide in self.deck("--lessons", "https://example.org").slides[1:]]
        self.assertEqual(links, [[f"https://example.org/{lesson}.html"] for lesson in self.lessons])

    def test_a_lesson_without_a_picture_is_named(self):
        page = self.root / f"{self.lessons[3]}.md"
        page.write_text(page.read_text().replace("![", "!("))
        done = self.write()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(f"{self.lessons[3]}.md: a slide needs", done.stderr)


if __name__ == "__main__":
    unittest.main()
