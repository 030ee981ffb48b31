"""The programs of the laboratory: every claim holds, and the page is whole. lab_test.py PROGRAM"""

import csv
import html.parser
import pathlib
import re
import unittest

from program import PROGRAM, TrainerTest, run

NAME = pathlib.Path(PROGRAM).name
# Small scales that still bear out the claims.
FLAGS = {
    "theorem1": ["--rows", "20", "--steps", "20"],
    "depth": ["--layers", "2,6", "--placements", "pre", "--quiet"],
    "mnist_norms": ["--updates", "20", "--epochs", "2", "--limit", "1500", "--quiet"],
}.get(NAME, [])


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


class Laboratory(TrainerTest):
    def test_help(self):
        self.assertIn("--report", run("--help").stdout)
        self.assertIn("--nonsense", run("--nonsense", code=2).stderr)
        run(*FLAGS, "--report", "/dev/null/page", code=1)

    def test_claims_hold_and_the_page_is_whole(self):
        result = run(*FLAGS, "--report", self.path)
        claims = re.search(r"(\d+) of (\d+) claims hold\n$", result.stdout)
        self.assertEqual(claims[1], claims[2])
        self.assertGreater(int(claims[1]), 1)
        self.assertEqual(result.stderr, "")
        text = (self.path / f"{NAME}.html").read_text()
        page = Page(text)
        self.assertEqual(page.links, [])
        self.assertEqual(page.counts["h1"], 1)
        self.assertEqual(text.count('class="claim holds"'), int(claims[1]))
        self.assertNotIn("FAILS", text)
        self.assertNotIn("nan", text.lower().replace("nanogpt", ""))
        tables = list(self.path.glob("*.csv"))
        self.assertEqual(len(tables), page.counts.get("table", 0) + page.counts.get("svg", 0))
        for table in tables:
            rows = list(csv.reader(table.open()))
            self.assertGreater(len(rows), 1, table)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, table)

    def test_reproducible(self):
        self.assertEqual(run(*FLAGS).stdout, run(*FLAGS).stdout)


if __name__ == "__main__":
    unittest.main()
