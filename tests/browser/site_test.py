"""The site of ./dev site, with the deck of ./dev slides in it: site_test.py SITE. Needs Chromium, its driver and Selenium (Debian: chromium-driver, python3-selenium)."""

import html.parser
import importlib.util
import json
import pathlib
import re
import sys
import tempfile
import unittest
import urllib.parse

from selenium.webdriver import Keys

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


def tours():
    """What the address of the playground may begin: see docs/live/nets.js."""
    return {f"tour={name}" for name in re.findall(r"^  (\w+): \{title: ", (TOOLS.parent / "live/nets.js").read_text(), re.M)}


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
            anchor = urllib.parse.unquote(parts.fragment)
            if not to.is_file() or to in pages and anchor not in pages[to].anchors and not (to.name == "playground.html" and anchor in tours()):
                dead.append(f"{page.relative_to(site)}: {address}")
    return dead


class Site(BrowserTest):
    def open(self, page, width=DESKTOP):
        self.show(SITE / page, width)

    def test_no_link_is_dead(self):
        self.assertEqual(dead_links(SITE), [])

    def test_a_lesson_leads_to_each_tour(self):
        led = set()
        for page in SITE.rglob("*.html"):
            if page.name != "playground.html":
                led |= {address.split("#")[1] for address in Links(page).addresses if "playground.html#" in address}
        self.assertEqual(led, tours())
        self.assertEqual(len(led), 5)

    def test_dead_links_are_found(self):
        with tempfile.TemporaryDirectory() as folder:
            site = pathlib.Path(folder).resolve()
            (site / "other.html").write_text("<h1 id='there'></h1>")
            (site / "index.html").write_text("<a href='other.html#there'></a><a href='other.html#nowhere'></a>"
                                             "<img src='missing.svg'><a href='https://example.org'></a><a href='playground.html#tour=none'></a>")
            (site / "playground.html").touch()
            self.assertEqual(sorted(dead_links(site)), ["index.html: missing.svg", "index.html: other.html#nowhere", "index.html: playground.html#tour=none"])

    def test_a_notebook_is_a_page_with_its_output(self):
        page = (SITE / "python/notebooks/recentering.html").read_text()
        self.assertRegex(page, r"<pre><code class=\"language-text\">[^<]*nothing detached +0\.000")
        self.assertIn('<img src="data:image/svg+xml;base64,', page)
        self.assertIn('href="lstm.html"', (SITE / "python/notebooks/first_tape.html").read_text())

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
        pages = [page.relative_to(SITE) for folder in (SITE, *(SITE / name for name in ("docs", "lab", "lab/docs", "lab/reports", "python", "python/notebooks"))) for page in folder.glob("*.html")]
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
        for words, title in [("The course", "Three ways in"), ("Build your own tape", "Build your own tape"), ("Layer normalization", "Layer normalization"),
                             ("Reference", "Reference"), ("The laboratory", "The laboratory"), ("Reports", "laboratory"), ("tapegrad", "tapegrad")]:
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

    def press(self, *keys):
        for key in keys:
            self.driver.switch_to.active_element.send_keys(key)

    def search(self, words, page="index.html", width=DESKTOP):
        """Types words into the search field of a page; the addresses of what is found, the best first."""
        self.open(page, width)
        self.driver.implicitly_wait(10)
        self.driver.find_element("css selector", ".search input").send_keys(words)
        self.driver.find_element("css selector", ".found:not([hidden])")
        links = self.driver.execute_script("return [...document.querySelectorAll('.found li a')].map(e => e.href)")
        return [address.removeprefix(SITE.as_uri() + "/") for address in links]

    def test_the_search_finds_sections(self):
        for page in "index.html", "course/stages/01_tensor/index.html", "reference/index.html":
            with self.subTest(page=page):
                self.assertEqual(self.search("BFLOAT", page)[0], "docs/performance.html#bfloat16")
                self.assertEqual(self.search("differs port", page)[0], "python/notebooks/port.html#where-my-port-differs")
        self.assertLess(len(self.search("differs port")), len(self.search("differs")))
        self.assertEqual(len(self.search("gradient")), 12)
        self.assertEqual(self.search("gradient nowherewritten"), [])
        self.assertIn("Nothing found", self.driver.find_element("class name", "found").text)

    def test_the_search_shows_where_the_words_are(self):
        self.assertTrue(self.search("autocast"))
        for result in self.driver.find_elements("css selector", ".found li"):
            self.assertIn("autocast", result.find_element("css selector", "span mark").text.lower())

    def test_the_search_knows_all_sections_and_no_answers(self):
        index = (SITE / "search_index.js").read_text().removeprefix("const search_index = ").removesuffix(";\n")
        pages = {page: [anchor for anchor, _, _ in parts] for page, _, parts in json.loads(index)}
        self.assertLessEqual({"index.html", "docs/tape.html", "course/index.html"}, set(pages))
        self.assertEqual([page for page in pages if "_answers" in page], [])
        for page, anchors in pages.items():
            self.assertEqual({"", "top", "site", "viewport", *anchors}, Links(SITE / page).anchors, page)

    def test_the_search_needs_only_keys(self):
        self.open("docs/tape.html")
        self.driver.implicitly_wait(10)
        loaded = "return typeof search_index !== 'undefined'"
        self.assertFalse(self.driver.execute_script(loaded), "the index is loaded before it is used")
        self.press("/", "differs port")
        found = self.driver.find_element("css selector", ".found:not([hidden])")
        self.assertTrue(self.driver.execute_script(loaded))
        self.assertEqual(self.driver.switch_to.active_element.get_attribute("value"), "differs port")
        links = found.find_elements("css selector", "li a")
        for key, at in [(Keys.ARROW_DOWN, 0), (Keys.ARROW_DOWN, 1), (Keys.ARROW_UP, 0), (Keys.TAB, 1)]:
            self.press(key)
            self.assertEqual(self.driver.switch_to.active_element, links[at])
        self.press(Keys.ESCAPE)
        self.assertFalse(found.is_displayed())
        self.assertEqual(self.driver.switch_to.active_element.tag_name, "input")
        for keys in [Keys.ENTER], [Keys.ARROW_DOWN, Keys.ENTER]:
            self.search("differs port")
            self.press(*keys)
            self.assertTrue(self.driver.current_url.endswith("python/notebooks/port.html#where-my-port-differs"))

    def test_results_of_the_search_fit(self):
        for page in "index.html", "docs/glossary.html", "reference/index.html":
            for width in (DESKTOP, PHONE):
                with self.subTest(page=page, width=width):
                    self.search("layer_norm gradient", page, width)
                    left, right, wide = self.driver.execute_script(
                        "const box = document.querySelector('.found').getBoundingClientRect();"
                        "return [box.left, box.right, document.documentElement.scrollWidth]")
                    self.assertTrue(0 <= left < right <= width and wide <= width, (left, right, wide))


if __name__ == "__main__":
    unittest.main()
