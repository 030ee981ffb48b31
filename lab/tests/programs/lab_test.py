"""An experiment of the laboratory: every claim holds, and the page is whole. lab_test.py LAB EXPERIMENT PAGES

What it draws stays in the directory PAGES, for the tests of the browser."""

import csv
import html.parser
import json
import pathlib
import re
import shutil
import sys
import tempfile
import unittest
import xml.etree.ElementTree

import packed_runs
from lab_scales import FLAGS as SCALES
from program import run

NAME = sys.argv.pop(1)
PAGES = pathlib.Path(sys.argv.pop(1)) / NAME
FLAGS = [NAME, *SCALES[NAME]]


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
        cls.has_ledger = "Directory of finished runs" in run(NAME, "--help").stdout
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.runs = pathlib.Path(folder.name)
        cls.ledger = ["--runs", cls.runs] if cls.has_ledger else []
        cls.result = run(*FLAGS, *cls.ledger, "--report", PAGES)

    def test_help(self):
        self.assertIn("--report", run(NAME, "--help").stdout)
        self.assertIn("--nonsense", run(NAME, "--nonsense", code=2).stderr)
        run(*FLAGS, "--report", "/dev/null/page", code=1)

    def test_a_page_that_cannot_be_written_is_known_before_the_first_result(self):
        taken = self.runs / "taken"
        (taken / f"{NAME}.html").mkdir(parents=True)
        result = run(*FLAGS, "--report", taken, code=1)
        self.assertIn(".html", result.stderr)
        self.assertEqual(result.stdout, "")

    def test_claims_hold_and_the_page_is_whole(self):
        headline = self.result.stdout.splitlines()[-1]
        claims = re.match(r"(\d+) of (\d+) claims hold", headline)
        self.assertEqual(claims[1], claims[2])
        self.assertGreater(int(claims[1]), 1)
        self.assertEqual(self.result.stderr, "")
        text = (PAGES / f"{NAME}.html").read_text()
        page = Page(text)
        self.assertEqual(page.links, [])
        self.assertEqual(page.counts["h1"], 1)
        self.assertIn(f'<p class="headline">{headline}</p>', text)
        self.assertEqual(text.count('class="claim holds"'), int(claims[1]))
        self.assertIn(f"Made by <code>lab {NAME}", text)
        for look, words in (("holds", "supported"), ("fails", "contradicted"), ("open", "inconclusive at this scale"),
                            ("unlearned", "(?:not learned at this size|at an edge of the rates)")):
            self.assertEqual(text.count(f'class="claim published {look}"'), sum(map(int, re.findall(rf"(\d+) {words}", headline))))
        with_p = len(re.findall(r"^  measured: .*, p [-e0-9.]+$", self.result.stdout, re.M))
        if with_p:
            self.assertIn(f"\nOf {with_p} claims with a p, ", self.result.stdout)
        self.assertRegex(text, r"<p>Seeds: \d+")
        self.assertRegex(text, r"<p>Version: tapegrad \d+\.\d+\.\d+")
        self.assertRegex(text, r"<p>Machine: .*\d+ processors, \w+</p>")
        self.assertEqual(text.count("<li>"), int(claims[1]))  # a tolerance for each claim
        self.assertNotIn("FAILS", text)
        self.assertNotIn("nan", text.lower().replace("nanogpt", ""))
        tables = list(PAGES.glob("*.csv"))
        self.assertEqual(len(tables), page.counts.get("table", 0) + page.counts.get("figure", 0))
        self.assertEqual(page.counts.get("svg", 0), 2 * page.counts.get("figure", 0))  # for pages and phones
        for table in tables:
            rows = list(csv.reader(table.open()))
            self.assertGreater(len(rows), 1, table)
            self.assertEqual({len(row) for row in rows}, {len(rows[0])}, table)

    def test_curves_over_seeds_have_bands(self):
        for drawing in set(PAGES.glob("*.svg")) - set(PAGES.glob("*.talk.svg")):
            if 'class="cell"' in drawing.read_text():
                continue  # a heat map has no curves
            header = next(csv.reader(drawing.with_suffix(".csv").open()))
            deviations = [column for column in header if column.endswith(" deviation")]
            self.assertEqual(drawing.read_text().count('class="band '), len(deviations), drawing)
            self.assertEqual([header[header.index(column) - 1] + " deviation" for column in deviations], deviations)
            if NAME in ("depth", "mnist_norms"):
                self.assertEqual(1 + 2 * len(deviations), len(header), drawing)

    def test_slides_are_wide_and_light(self):
        for slide in PAGES.glob("*.talk.svg"):
            drawing = xml.etree.ElementTree.parse(slide).getroot()
            self.assertEqual(int(drawing.get("width")) * 9, int(drawing.get("height")) * 16)
            self.assertNotIn("@", slide.read_text())  # no rules for dark rooms

    def test_reproducible(self):
        self.assertEqual(run(*FLAGS).stdout, self.result.stdout)

    def test_no_training_is_repeated(self):
        if not self.has_ledger:
            self.skipTest("nothing is trained that a ledger keeps")
        file = self.runs / f"{NAME}.jsonl.gz"
        kept, written = packed_runs.repeats(file), file.stat().st_mtime_ns
        self.assertGreater(len(kept), 10)
        self.assertEqual({repeat for _, _, repeat in kept}, {1})
        self.assertEqual(file.read_bytes(), packed_runs.packed(kept))
        self.assertEqual(run(*FLAGS, *self.ledger).stdout, self.result.stdout)
        self.assertEqual(file.stat().st_mtime_ns, written)
        # A missing one is trained again, with the same result except for its seconds.
        lost = next(iter(kept))
        file.write_bytes(packed_runs.packed({key: record for key, record in kept.items() if key != lost}))
        self.assertEqual(run(*FLAGS, *self.ledger).stdout, self.result.stdout)
        again = packed_runs.repeats(file)
        self.assertEqual({**again, lost: kept[lost]}, kept)
        found, expected = json.loads(again[lost]), json.loads(kept[lost])
        self.assertGreater(found.pop("seconds"), 0)
        expected.pop("seconds")
        self.assertEqual(found, expected)
        for damage, error in {"{": "not a run of the laboratory",
                              json.dumps({**found, "seconds": 1, "data": "others"}): "trained on other data"}.items():
            file.write_bytes(packed_runs.packed({**kept, lost: damage}))
            refused = run(*FLAGS, *self.ledger, code=1).stderr
            self.assertIn(f"{file}: line 1: {lost[0]} seed {lost[1]}: ", refused)
            self.assertIn(error, refused)


if __name__ == "__main__":
    unittest.main()
