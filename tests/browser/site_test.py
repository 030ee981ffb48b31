"""The site of ./dev site, with the deck of ./dev slides in it: site_test.py SITE. Needs what browser_test.py needs."""

import html.parser
import importlib.util
import pathlib
import sys
import tempfile
import unittest
import urllib.parse

from pages import DESKTOP, PHONE, BrowserTest

SITE = pathlib.Path(sys.argv.pop(1)).resolve()
TOOLS = pathlib.Path(__file__).resolve().parents[2] / "docs/site"


class Links(html.parser.HTMLParser):
    """The anchors of a page, and the addresses that it refers to."""

    def __init__(self, page):
        super().__init__()
        self.anchors, self.addresses = {"", "top"}, set()
        self.feed(page.read_text())

    def handle_starttag(self, tag, attributes):
        for name, value in attributes:
            if name == "id" or name == "name":
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.addresses.add(value)


def dead_links(site):
    """What the pages of a site refer to and it does not have."""
    pages = {page: Links(page) for page in site.rglob("*.html") if page.parent.name != "search"}
    dead = []
    for page, links in pages.items():
        for address in links.addresses:
            parts = urllib.parse.urlsplit(address)
            if parts.scheme:
                continue
            to = (page.parent / urllib.parse.unquote(parts.path)).resolve() if parts.path else page
            if not to.is_file() or to in pages and urllib.parse.unquote(parts.fragment) not in pages[to].anchors:
                dead.append(f"{page.relative_to(site)}: {address}")
    return dead


class Site(BrowserTest):
    def open(self, page, width=DESKTOP):
        self.show(SITE / page, width)

    def test_no_link_is_dead(self):
        self.assertEqual(dead_links(SITE), [])

    def test_dead_links_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder).resolve()
            (site / "other.html").write_text("<h1 id='there'></h1>")
            (site / "index.html").write_text("<a href='other.html#there'></a><a href='other.html#nowhere'></a>"
                                             "<img src='missing.svg'><a href='https://example.org'></a>")
            self.assertEqual(sorted(dead_links(site)), ["index.html: missing.svg", "index.html: other.html#nowhere"])

    def test_a_copy_for_students_has_no_answers(self):
        sys.path.append(str(TOOLS))
        found = importlib.util.spec_from_file_location("site_writer", TOOLS / "site.py")
        writer = importlib.util.module_from_spec(found)
        found.loader.exec_module(writer)
        body = "".join(f"<h1>Toys</h1><details><summary>{word}</summary>42</details>" for word in ("Answers", "Answer"))
        with tempfile.TemporaryDirectory() as folder:
            for with_answers in True, False:
                written = writer.Site(pathlib.Path(folder), with_answers).without_answers(pathlib.Path("toys.html"), body)
                self.assertNotIn("42", written)
                self.assertEqual(pathlib.Path(folder, "toys_answers.html").exists(), with_answers)
                for anchor in "questions", "1":
                    self.assertEqual(f"toys_answers.html#{anchor}" in written, with_answers)
                pathlib.Path(folder, "toys_answers.html").unlink(missing_ok=True)

    def test_pages_fit_and_fetch_nothing(self):
        pages = [page.relative_to(SITE) for folder in (SITE, SITE / "docs", SITE / "lab") for page in folder.glob("*.html")]
        pages += [page.relative_to(SITE) for page in (SITE / "course").rglob("*.html")]
        pages += ["reference/index.html", "reference/modules.html", "reference/group__ops__conv.html"]
        for page in pages:
            for width in (DESKTOP, PHONE):
                with self.subTest(page=page, width=width):
                    self.open(page, width)
                    self.assertEqual(self.driver.get_log("browser"), [])
                    fetched = self.driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name)")
                    self.assertEqual([name for name in fetched if not name.startswith(SITE.as_uri())], [])
                    self.assertFalse(self.driver.execute_script(
                        "return document.documentElement.scrollWidth > window.innerWidth"), "wider than the window")

    def test_a_phone_shows_labels_of_figures_and_whole_words_of_code(self):
        self.open("docs/layer_norm.html", PHONE)
        widths = self.driver.execute_script(
            "return [...document.querySelectorAll('.figure img')].map(e => e.offsetWidth)")
        self.assertTrue(widths and min(widths) > 600, widths)
        self.open("docs/glossary.html", PHONE)
        lines = self.driver.execute_script(
            "return [...document.querySelectorAll('td code')].filter(e => !/\\W/.test(e.textContent))"
            ".map(e => e.getClientRects().length)")
        self.assertEqual(set(lines), {1})

    def test_the_navigation_leads_through_the_site(self):
        self.open("index.html")
        for words, title in [("The course", "The course"), ("Build your own tape", "Build your own tape"), ("Layer normalization", "Layer normalization"),
                             ("Reference", "Reference"), ("The laboratory", "laboratory"), ("tapegrad", "tapegrad")]:
            self.driver.find_element("link text", words).click()
            self.assertIn(title, self.driver.title)

    def test_no_slide_is_cut_off(self):
        self.show(SITE / "slides.html", DESKTOP, 720)
        count = self.driver.execute_script("return document.querySelectorAll('section').length")
        self.assertEqual(count, 13)
        for number in range(1, count + 1):
            with self.subTest(slide=number):
                cut_off = self.driver.execute_script("""
                    const slide = document.querySelectorAll('section')[arguments[0] - 1];
                    const room = slide.getBoundingClientRect();
                    return [...slide.querySelectorAll('*')].filter(e => {
                      const box = e.getBoundingClientRect();
                      return box.right > room.right || box.bottom > room.bottom ||
                        e.clientWidth && e.scrollWidth > e.clientWidth + 1
                    }).map(e => e.outerHTML.slice(0, 80))""", number)
                self.assertEqual(cut_off, [])

    def test_every_header_belongs_to_a_topic(self):
        self.open("reference/modules.html")
        outside = self.driver.execute_script(
            "return [...document.querySelectorAll('.directory tr')].filter(row => row.id.split('_').length == 3)"
            ".map(row => row.querySelector('a').textContent).filter(name => name.endsWith('.h'))")
        self.assertEqual(outside, [])
        self.assertIn("nn/metrics/bleu.h", self.driver.find_element("tag name", "main").get_attribute("textContent"))

    def test_the_reference_finds_a_name(self):
        self.open("reference/index.html")
        self.driver.implicitly_wait(10)
        self.driver.find_element("id", "MSearchField").send_keys("max_pool2d")
        self.driver.switch_to.frame("MSearchResults")
        self.driver.find_element("link text", "max_pool2d").click()
        self.driver.switch_to.default_content()
        self.assertIn("max_pool2d(images, {", self.driver.find_element("tag name", "main").text)


if __name__ == "__main__":
    unittest.main()
