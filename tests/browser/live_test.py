"""The lessons of the site that compute: live_test.py SITE LIVE, where LIVE is docs/live as a program of this machine. Needs
what site_test.py needs."""

import json
import math
import pathlib
import random
import statistics
import subprocess
import sys
import time
import unittest

from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from pages import DESKTOP, PHONE, BrowserTest

SITE, LIVE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
PAGES = {"row": "recentering", "drift": "drift", "expression": "tape", "depth": "transformers"}
BOUND = 1e-9  # of the largest number: compilers may fuse a product and a sum, or not


def requests():
    """What the pages may ask, in this order."""
    draw = random.Random(1)
    yield {"compute": "norms"}
    for length in (1, 2, 16, 64):
        for mean in (False, True):
            for scale in (False, True):
                yield {"compute": "row", "x": [draw.gauss(1, 2) for _ in range(length)], "g": [draw.gauss(0, 1) for _ in range(length)],
                       "epsilon": 10 ** draw.uniform(-6, 1), "detach_mean": mean, "detach_scale": scale}
    for text in ("x", "3", "x * y + sin(x^2)", "-x^2/(1 + exp(-y))", "detach(x)*x - abs(y)", "tanh(relu(x)) * sqrt(square(y) + 1)",
                 "log(x)", "cos(sigmoid(x*y)) ", "((x", "x y", "sine(x)", "", "1..2", "x" * 201):
        for second in (False, True):
            yield {"compute": "expression", "text": text, "x": 1.5, "y": -2, "second": second}
    norms = ("none", "layer", "rms", "batch", "group", "whiten", "ada", "divisive", "detach")
    for number in range(24):
        yield {"compute": "depth", "layers": draw.randint(1, 30), "norm": norms[number % len(norms)],
               "init": draw.choice(["he", "xavier", "orthogonal", .5, 2]), "activation": draw.choice(["relu", "tanh", "gelu", "identity"]),
               "residual": draw.choice(["none", "pre", "post"])}
    yield {"compute": "depth", "layers": 31, "norm": "layer", "init": "he", "activation": "relu", "residual": "none"}
    for optimizer, rate in (("sgd", 1), ("momentum", .1), ("adam", .01), ("sign", .01), ("newton", 1)):
        for remedy in ("none", "project", "center", "penalty", "clip"):
            yield {"compute": "drift", "optimizer": optimizer, "rate": rate, "remedy": remedy, "detach_mean": True, "steps": 1}
            yield {"compute": "drift", "steps": 20}
    yield {"compute": "nothing"}


def largest_difference(a, b):
    """Of the numbers of two answers, as a share of the largest; infinite where something else differs."""
    if isinstance(a, bool) or not isinstance(a, (int, float, list, dict)):
        return 0 if a == b else math.inf
    if isinstance(a, (int, float)):
        return abs(a - b) / max(1, abs(a), abs(b)) if isinstance(b, (int, float)) else math.inf
    if type(a) is not type(b) or len(a) != len(b) or isinstance(a, dict) and a.keys() != b.keys():
        return math.inf
    return max((largest_difference(a[key], b[key]) for key in (a if isinstance(a, dict) else range(len(a)))), default=0)


class Lessons(BrowserTest):
    def open(self, lesson, width=DESKTOP):
        self.show(SITE / "docs" / f"{PAGES[lesson]}.html", width)
        return WebDriverWait(self.driver, 30).until(lambda driver: driver.find_element("css selector", ".live"))

    def compute(self, request):
        return self.driver.execute_script("try { return live.compute(arguments[0]); } catch (error) { return {error: error.message}; }", request)

    def labels(self, live):
        return [each.get_attribute("aria-label") for each in live.find_elements("css selector", "[role=img]")]

    def wait_for(self, condition):
        WebDriverWait(self.driver, 10).until(lambda _: condition())

    def test_values_are_those_of_this_machine(self):
        asked = list(requests())
        native = subprocess.run([LIVE], input="".join(json.dumps(each) + "\n" for each in asked), check=True, capture_output=True, text=True)
        self.open("row")
        most = 0
        for request, line in zip(asked, native.stdout.splitlines(), strict=True):
            with self.subTest(request=request):
                found, wanted = self.compute(request), json.loads(line)
                if request.get("second"):  # in which order a rule's operands are recorded is the compiler's choice
                    found.pop("tape", None), wanted.pop("tape", None)
                for answer in (found, wanted):
                    for node in answer["tape"]["nodes"] if "tape" in answer else []:
                        node.pop("why", None)  # in words, with rounded numbers
                difference = largest_difference(found, wanted)
                self.assertLess(difference, BOUND)
                most = max(most, difference)
        print(f"largest difference {most:.1e} in {len(asked)} answers", file=sys.stderr)

    def test_other_values_are_noticed(self):
        one = {"forms": [[1.5, 2], [3, 4]], "tape": "x"}
        for other in ({"forms": [[1.5 * (1 + 1e-8), 2], [3, 4]], "tape": "x"}, {"forms": [[1.5, 2], [3]], "tape": "x"},
                      {"forms": [[1.5, 2], [3, 4]], "tape": "y"}, {"forms": [[1.5, 2], [3, None]], "tape": "x"}):
            self.assertGreater(largest_difference(one, other), BOUND)

    def test_a_row_follows_keys_and_the_pointer(self):
        for width in (DESKTOP, PHONE):
            live = self.open("row", width)
            bar = live.find_element("css selector", "[aria-label='x, the row 3']")
            before = self.labels(live)
            bar.send_keys(Keys.PAGE_UP)
            self.assertEqual(bar.get_attribute("aria-valuenow"), "1.3")
            self.assertNotEqual(self.labels(live), before)
            bar.send_keys(Keys.ARROW_RIGHT)
            self.assertEqual(self.driver.switch_to.active_element.get_attribute("aria-label"), "x, the row 4")
            self.driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", bar)
            ActionChains(self.driver).move_to_element(bar).click_and_hold().move_by_offset(0, -20).release().perform()
            self.assertGreater(float(bar.get_attribute("aria-valuenow")), .3)
            self.assertIn("nothing detached", live.find_element("css selector", ".chosen [role=img]").get_attribute("aria-label"))
            live.find_element("name", "mean").click()
            self.assertIn("mean detached", live.find_element("css selector", ".chosen [role=img]").get_attribute("aria-label"))
            self.assertIn("detach(%", live.find_element("tag name", "table").text)

    def test_drift_plays_and_keeps_the_run_before(self):
        live = self.open("drift")
        step = lambda: int(self.driver.execute_script("return (/Step (\\d+)/.exec(arguments[0].textContent) || [0, 0])[1]", live))
        buttons = {each.text: each for each in live.find_elements("tag name", "button")}
        buttons["Play"].click()
        self.assertEqual(step(), 1)  # words only when it stands still
        time.sleep(1)
        buttons["Play"].click()
        paused = step()
        self.assertGreater(paused, 1)
        buttons["Step"].click()
        self.assertEqual(step(), paused + 1)
        live.find_element("name", "detached").click()
        self.assertEqual(step(), 0)
        buttons["Step"].click()
        self.assertEqual(step(), 1)
        self.assertEqual(len(live.find_elements("css selector", ".curve.faint")), 4)

    def test_an_expression_shows_its_tape(self):
        live = self.open("expression")
        value = lambda name: live.find_element("css selector", f"[data-value={name}]").text
        text = live.find_element("name", "text")
        text.clear()
        text.send_keys("x^3 * y")
        live.find_element("name", "second").click()
        self.assertEqual([value(name) for name in ("value", "dx", "dy", "dxx", "dxy", "dyy")], ["-6.75", "-13.5", "3.38", "-18", "6.75", "0"])
        frame = live.find_element("tag name", "iframe")
        # Each key makes a page, after a pause: wait for the last one.
        self.wait_for(lambda: not frame.get_attribute("aria-busy") and self.driver.execute_script("""
            const [frame] = arguments, tapes = /<script[^>]*json[^]*?<\\/script/.exec(frame.srcdoc)[0];
            return frame.contentDocument.readyState === "complete" && frame.contentDocument.documentElement.outerHTML.includes(tapes)""", frame))
        self.driver.switch_to.frame(frame)
        for _ in range(3):
            self.driver.find_element("id", "next").click()
        self.driver.find_element("css selector", "[data-node='0']").click()
        self.assertIn("The gradient of %0 x", self.driver.find_element("css selector", "details pre").get_attribute("textContent"))
        self.assertTrue(self.driver.find_element("id", "count").text.startswith("3 of"))
        self.driver.switch_to.default_content()
        for written, values in (("x^3", ["3.38", "6.75", "0", "9", "0", "0"]), ("x + y", ["-0.5", "1", "1", "0", "0", "0"]),
                                ("3", ["3", "0", "0", "0", "0", "0"])):
            text.clear()
            text.send_keys(written)
            self.assertEqual([value(name) for name in ("value", "dx", "dy", "dxx", "dxy", "dyy")], values)
        text.send_keys(" + x^")
        self.assertIn("character 7", live.find_element("css selector", "[role=alert]").text)

    def test_depth_follows_its_choices(self):
        live = self.open("depth")
        # Several norms are at first layer_simple.
        for name, different in (("norm", 8), ("init", 5), ("activation", 4), ("residual", 2)):
            choice, seen = Select(live.find_element("name", name)), set()
            for option in range(len(choice.options)):
                choice.select_by_index(option)
                seen.add(tuple(self.labels(live)))
            self.assertGreaterEqual(len(seen), different, name)
            choice.select_by_index(0)  # no norm: it would hide the scale of weights; without it, pre is post
        live.find_element("name", "layers").send_keys(Keys.END)
        self.assertIn("30", live.text)
        self.assertEqual(self.driver.get_log("browser"), [])

    def test_without_webassembly_the_picture_stands(self):
        script = self.driver.execute_cdp_cmd("Page.addScriptToEvaluateOnNewDocument", {"source": "delete globalThis.WebAssembly"})
        try:
            self.driver.get((SITE / "docs/recentering.html").as_uri())
            self.assertTrue(self.driver.find_element("css selector", "[data-live] img").is_displayed())
            self.assertEqual(self.driver.find_elements("css selector", ".live"), [])
        finally:
            self.driver.execute_cdp_cmd("Page.removeScriptToEvaluateOnNewDocument", script)

    def test_a_page_is_small(self):
        for page in PAGES.values():
            self.assertLess((SITE / "live.js").stat().st_size + (SITE / "docs" / f"{page}.html").stat().st_size, 3e6)  # the engine is also the playground's

    def test_steps_and_their_times(self):
        """Says how long a step takes; a test of a time would be one of the machine."""
        self.open("row")
        deepest = {"compute": "depth", "layers": 30, "norm": "layer", "init": "he", "activation": "relu", "residual": "pre"}
        row = {"compute": "row", "x": [.1 * i * i for i in range(16)], "g": [math.sin(i) for i in range(16)], "epsilon": 1e-5,
               "detach_mean": True, "detach_scale": False}
        expression = {"compute": "expression", "text": "x*y + sin(x^2)", "x": 1, "y": 2, "second": True}
        self.compute({"compute": "drift", "optimizer": "adam", "rate": .01, "remedy": "none", "detach_mean": True, "steps": 1})
        for request in (row, expression, {"compute": "drift", "steps": 2}, deepest):
            times = self.driver.execute_script("""return Array.from({length: 20}, () => {
                const begin = performance.now(); live.compute(arguments[0]); return performance.now() - begin; })""", request)
            print(f"{request['compute']}: {statistics.median(times):.1f} ms, at most {max(times):.1f} ms", file=sys.stderr)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
