"""The pages in a real browser: browser_test.py PAGES LAB MNIST

PAGES: a directory for each experiment, as the tests of the laboratory leave it. Needs Chromium, its driver and Selenium (Debian: chromium-driver, python3-selenium)."""

import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

sys.path.append(str(pathlib.Path(__file__).parents[3] / "tests/browser"))
from lab_scales import FLAGS
from pages import DESKTOP, NARROW, PHONE, WIDE, BrowserTest

# The pairs of texts in a drawing that lie on each other. Texts of a form for another width have no size.
OVERLAPS = """
return [...document.querySelectorAll("figure svg")].flatMap(drawing => {
  const texts = [...drawing.querySelectorAll("text")].map(text => [text.textContent, text.getBoundingClientRect()])
    .filter(([, box]) => box.width > 0);
  return texts.flatMap(([name, a], i) => texts.slice(i + 1)
    .filter(([, b]) => a.left + 1 < b.right && b.left + 1 < a.right && a.top + 1 < b.bottom && b.top + 1 < a.bottom)
    .map(([other]) => name + " lies on " + other));
})"""

PAGES, LAB, MNIST = map(pathlib.Path, (sys.argv.pop(1), sys.argv.pop(1), sys.argv.pop(1)))


class Pages(BrowserTest):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.path = pathlib.Path(folder.name)
        for program in FLAGS:
            shutil.copy(PAGES / program / f"{program}.html", cls.path)
        subprocess.run([LAB, "tape_tour", "--report", cls.path], check=True, stdout=subprocess.DEVNULL)
        cls.compare_runs()
        super().setUpClass()

    @classmethod
    def compare_runs(cls):
        """Trains twice, and makes the page of both, runs.html."""
        logs = [cls.path / name for name in ("slow", "fast")]
        for log, rate in zip(logs, ("1e-4", "1e-2")):
            subprocess.run([MNIST, "--hidden", "8", "--epochs", "1", "--lr", rate, "--log-dir", log, "--quiet"],
                           check=True, stdout=subprocess.DEVNULL)
        subprocess.run([LAB, "gradients", "--runs", *logs, "--report", cls.path], check=True, stdout=subprocess.DEVNULL)

    def open(self, page, width):
        self.show(self.path / page, width)

    def problems(self):
        """The problems of the open page."""
        found = [entry["message"] for entry in self.driver.get_log("browser") if "favicon" not in entry["message"]]
        if self.driver.execute_script("return document.documentElement.scrollWidth > window.innerWidth"):
            found.append("wider than the window")
        for figure in self.driver.find_elements(By.CSS_SELECTOR, "figure"):
            drawings = figure.find_elements(By.CSS_SELECTOR, "svg polyline, svg path, svg circle, svg rect")
            if figure.size["height"] < 50 or not drawings:
                found.append("an empty figure")
        found += self.driver.execute_script(OVERLAPS)
        return found

    def test_every_page_at_both_widths(self):
        pages = sorted(self.path.glob("*.html"))
        self.assertEqual(len(pages), len(FLAGS) + 3)
        for page in pages:
            for width in (DESKTOP, PHONE):
                with self.subTest(page=page.name, width=width):
                    self.open(page.name, width)
                    self.assertEqual(self.problems(), [])
                    if not page.name.startswith("tape_"):
                        self.assertTrue(self.driver.find_elements(By.TAG_NAME, "figure"))
                    if page.stem in FLAGS:
                        self.assertTrue(self.driver.find_elements(By.CLASS_NAME, "claim"))

    def test_what_is_broken_is_found(self):
        for name, body in {"throws": "<script>throw Error('planted')</script>", "empty": "<figure></figure>",
                           "wide": "<p style='width: 3000px'>wide</p>",
                           "labels": "<figure><svg><path d='M0 0h9'/><text y='20'>one</text><text y='25'>two</text></svg></figure>", "missing": "<img src='nowhere.png'>"}.items():
            with self.subTest(name):
                (self.path / "planted.htm").write_text(f"<!doctype html><html><body>{body}</body></html>")
                self.open("planted.htm", DESKTOP)
                self.assertNotEqual(self.problems(), [])

    # ---- The viewer ----

    def press(self, *keys):
        self.driver.find_element(By.TAG_NAME, "body").send_keys(*keys)

    def text(self, selector):
        return [found.text for found in self.driver.find_elements(By.CSS_SELECTOR, selector)]

    def count(self):
        return self.driver.find_element(By.ID, "count").text

    def test_viewer_steps_with_keys_and_mouse(self):
        self.open("tape_layer_norm.html", DESKTOP)
        self.assertEqual(self.count(), "0 of 27")
        self.press(Keys.ARROW_RIGHT, Keys.ARROW_RIGHT)
        self.assertEqual(self.count(), "2 of 27")
        self.assertTrue(self.text(".event")[0].startswith("Forward: %1 = sum %0"), self.text(".event")[0])
        self.press(Keys.ARROW_LEFT)
        self.driver.find_element(By.ID, "next").click()
        self.assertEqual(self.count(), "2 of 27")
        self.press(Keys.END)
        self.assertEqual(self.count(), "27 of 27")
        self.press(Keys.HOME)
        self.assertEqual(self.count(), "0 of 27")
        self.press(Keys.SPACE)
        self.assertEqual(self.text("#play"), ["Pause"])
        self.driver.implicitly_wait(3)
        self.driver.find_element(By.CSS_SELECTOR, ".row.forward")
        self.press(Keys.SPACE)
        self.assertEqual(self.text("#play"), ["Play"])

    def test_viewer_shows_values_and_gradients(self):
        self.open("tape_layer_norm.html", DESKTOP)
        self.press(Keys.END)
        self.driver.find_elements(By.CSS_SELECTOR, "[data-node='0']")[0].click()
        details = self.driver.find_element(By.CSS_SELECTOR, ".details").text
        for words in ("%0 x: watch, shape (1, 3)", "tape_tour.cpp:", "watch(Tensor({1, 3}, {1, 2, 6}))",
                      "by %3, sub:", "by %8, sub:"):
            self.assertIn(words, details)

    def test_viewer_explains_the_gradient_of_a_leaf(self):
        self.open("tape_layer_norm.html", DESKTOP)
        self.press(Keys.END)
        self.driver.find_elements(By.CSS_SELECTOR, "[data-node='0']")[0].click()
        self.driver.find_elements(By.CSS_SELECTOR, ".details summary")[0].click()
        self.assertIn("The gradient of %0 x has the root mean square", self.text(".details pre")[0])
        self.press(Keys.HOME)
        self.assertTrue(self.driver.find_elements(By.CSS_SELECTOR, ".details details[open]"))

    def test_viewer_shows_the_four_forms_of_layer_normalization(self):
        self.open("tape_layer_norm.html", WIDE)
        self.press(Keys.END)
        self.assertEqual(self.text("h2"), ["nothing detached", "mean detached", "deviation detached", "both detached"])
        gradients = self.text("[data-node='0'] .gradient")
        self.assertEqual(len(set(gradients)), 4)
        tops = {tape.location["y"] for tape in self.driver.find_elements(By.CLASS_NAME, "tape")}
        self.assertEqual(len(tops), 2)  # two beside two
        self.assertEqual(gradients[3], "\u2202 0.463 0 0")

    def test_viewer_shows_names_of_the_code(self):
        self.open("tape_layer_norm.html", WIDE)
        names = self.text(".tape:first-child .row b")
        self.assertEqual([name for name in names if name], ["x", "mu", "s", "y", "loss"])

    def test_viewer_draws_the_edges_that_detach_cuts(self):
        self.open("tape_layer_norm.html", WIDE)
        tapes = self.driver.find_elements(By.CLASS_NAME, "tape")
        self.assertEqual([len(tape.find_elements(By.CSS_SELECTOR, "path.cut")) for tape in tapes], [0, 1, 1, 2])
        rows = tapes[3].find_elements(By.CLASS_NAME, "row")
        mu, s = (next(row.get_attribute("data-node") for row in rows if f" {name} = " in row.text)
                 for name in ("mu", "s"))
        text = tapes[3].text
        self.assertIn(f"sub %0 detached %{mu} ", text)
        self.assertIn(f" detached %{s} ", text)

    def test_viewer_cuts_nothing_off(self):
        for page in ("tape_layer_norm.html", "tape_second_derivative.html"):
            for width in (WIDE, NARROW):
                with self.subTest(page=page, width=width):
                    self.open(page, width)
                    self.press(Keys.END)
                    self.assertEqual(self.driver.execute_script("""
                        return [...document.querySelectorAll(".program")].filter(each => each.scrollWidth > each.clientWidth ||
                          [...each.querySelectorAll(".row > span")].some(cell => cell.scrollWidth > cell.clientWidth)).length"""), 0)

    def test_viewer_shows_the_second_sweep(self):
        self.open("tape_second_derivative.html", PHONE)
        self.press(Keys.END)
        self.assertTrue(self.text(".event")[0].startswith("Sweep 2:"))
        self.assertTrue(self.text(".row .swept"))
        self.assertIn("\u2202 0.2 2 -0.13", self.text("[data-node='0'] .gradient")[0])


if __name__ == "__main__":
    unittest.main()
