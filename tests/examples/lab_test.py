"""The programs of the laboratory: every claim holds, and the page is whole. lab_test.py PROGRAM PAGES

What it draws stays in the directory PAGES, for the tests of the browser."""

import csv
import html.parser
import pathlib
import re
import shutil
import sys
import unittest

from lab_scales import FLAGS as SCALES
from program import PROGRAM, run

NAME = pathlib.Path(PROGRAM).name
PAGES = pathlib.Path(sys.argv.pop(1)) / NAME
FLAGS = SCALES[NAME]


class Page(html.parser.HTMLParser):
    """Counts elements, checks that they are closed, and that nothing is loaded from elsewhere."""

    def __init__(self, text):
        super().__init__()
        self.open, self.counts, self.links = [], {}, []
        self.feed(text)
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.links += [value for name, value in attributes if name in ("src", "href")]
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.counts[tag] = self.counts.get(tag, 0) + 1

    def handle_endtag(self, tag):
        assert self.open.pop() == tag, tag


class Laboratory(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        shutil.rmtree(PAGES, ignore_errors=True)
        cls.result = run(*FLAGS, "--report", PAGES)

    def test_help(self):
        self.assertIn("--report", run("--help").stdout)
        self.assertIn("--nonsense", run("--nonsense", code=2).stderr)
        run(*FLAGS, "--report", "/dev/null/page", code=1)

    def test_claims_hold_and_the_page_is_whole(self):
        claims = re.search(r"(\d+) of (\d+) claims hold\n$", self.result.stdout)
        self.assertEqual(claims[1], claims[2])
        self.assertGreater(int(claims[1]), 1)
        self.assertEqual(self.result.stderr, "")
        text = (PAGES / f"{NAME}.html").read_text()
        page = Page(text)
        self.assertEqual(page.links, [])
        self.assertEqual(page.counts["h1"], 1)
        self.assertEqual(text.count('class="claim holds"'), int(claims[1]))
        self.assertNotIn("FAILS", text)
        self.assertNotIn("nan", text.lower().replace("nanogpt", ""))
        tables = list(PAGES.glob("*.csv"))
        self.assertEqual(len(tables), page.counts.get("table", 0) + page.counts.get("svg", 0))
        for table in tables:
            rows = list(csv.reader(table.open()))
            self.assertGreater(len(rows), 1, table)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, table)

    def test_reproducible(self):
        self.assertEqual(run(*FLAGS).stdout, self.result.stdout)


if __name__ == "__main__":
    unittest.main()
