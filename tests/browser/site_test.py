"""The site of ./dev site: site_test.py SITE. Needs what browser_test.py needs."""

import html.parser
import pathlib
import sys
import tempfile
import unittest
import urllib.parse

from pages import DESKTOP, PHONE, browser, emulate

SITE = pathlib.Path(sys.argv.pop(1)).resolve()


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


class Site(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.driver = browser()
        cls.addClassCleanup(cls.driver.quit)

    def open(self, page, width=DESKTOP):
        emulate(self.driver, width)
        self.driver.get((SITE / page).as_uri())

    def test_no_link_is_dead(self):
        self.assertEqual(dead_links(SITE), [])

    def test_dead_links_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder).resolve()
            (site / "other.html").write_text("<h1 id='there'></h1>")
            (site / "index.html").write_text("<a href='other.html#there'></a><a href='other.html#nowhere'></a>"
                                             "<img src='missing.svg'><a href='https://example.org'></a>")
            self.assertEqual(sorted(dead_links(site)), ["index.html: missing.svg", "index.html: other.html#nowhere"])

    def test_pages_fit_and_fetch_nothing(self):
        pages = [page.relative_to(SITE) for folder in (SITE, SITE / "docs", SITE / "lab") for page in folder.glob("*.html")]
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

    def test_the_navigation_leads_through_the_site(self):
        self.open("index.html")
        for words, title in [("The course", "The course"), ("Layer normalization", "Layer normalization"),
                             ("Reference", "Reference"), ("The laboratory", "laboratory"), ("tapegrad", "tapegrad")]:
            self.driver.find_element("link text", words).click()
            self.assertIn(title, self.driver.title)

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
