"""The playground of the site: playground_test.py SITE LIVE [PICTURES], where LIVE is docs/live as a program of this machine, beside live32; pictures of its views go to
the folder PICTURES. Needs what site_test.py needs."""

import base64
import json
import math
import pathlib
import random
import sys
import unittest
import urllib.parse

from selenium.webdriver import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from pages import DESKTOP, PHONE, BrowserTest

sys.path.append(str(pathlib.Path(__file__).parents[1] / "docs"))
from playground_states import STATES, ask, build, steps  # noqa: E402

SITE, LIVE = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
ENGINES = {"double": LIVE, "float": LIVE.with_name("live32")}
PICTURES = pathlib.Path(sys.argv[3]) if len(sys.argv) > 3 else None
PAGE = SITE / "playground.html"
BOUNDS = {"double": 1e-6, "float": 1e-3}  # of losses after steps: compilers may fuse a product and a sum, or not
CLICKS, CHECKED = 1000, 50

# Clicks and settings, each in a frame of its own, chosen by three random numbers from those that are there. Convolutions take
# longer than all others together.
CLICK_ALL = """
  const [all, done] = arguments, root = document.getElementById("playground_page");
  const names = ["Run", "Pause", "Step", "Fork here", "Restart", "Add block", "Write", "Clear", "Tape of the next step", "Check the gradient", "Put it in the address"];
  const seen = selector => [...root.querySelectorAll(selector)].filter(each => each.offsetParent);
  const click = (kind, which, how) => {
    const one = of => of[Math.floor(how * of.length)], pick = of => of[Math.floor(which * of.length)];
    if (kind < .4) return pick(seen("button, summary").filter(each => names.includes(each.textContent) || each.dataset.at || each.tagName === "SUMMARY")).click();
    const field = pick(seen("select:not([name=tour]), input:not([type=file])"));
    field.value = field.tagName === "SELECT" ? one([...field.options].filter(each => !each.value.includes("digits"))).value :
      field.name === "position" ? Math.floor(how * (Math.min(+field.max, playground.state().step + 20) + 1)) :
      field.name === "norm" ? one(["none", "layer", "rms", "batch", "detach_mean", "group", "ada", "what"]) : one(["0", "1", "2", "3", "8", "16", "0.1", "-1", "1e9", ""]);
    field.dispatchEvent(new Event("change"));
  };
  const next = () => { if (all.length) { click(...all.shift()); requestAnimationFrame(next); } else done(); };
  next();
"""


class Playground(BrowserTest):
    def open(self, width=DESKTOP, state=None):
        self.driver.get("about:blank")  # so that the same page with another address is loaded anew
        self.show(PAGE, width)
        if state:
            self.driver.get("about:blank")
            self.driver.get(PAGE.as_uri() + "#" + urllib.parse.quote(json.dumps(state)))
        self.wait_for_page()

    def wait_for_page(self):
        WebDriverWait(self.driver, 60).until(lambda driver: driver.execute_script("return !!window.playground"))
        self.settle()

    def settle(self):
        WebDriverWait(self.driver, 120, .05).until(lambda driver: driver.execute_script("return !playground.is_busy()"))

    def click(self, text):
        self.driver.execute_script("""return [...document.querySelectorAll("button")]
          .find(each => each.innerText === arguments[0] || each.ariaLabel === arguments[0])""", text).click()
        if text != "Run":
            self.settle()

    def set(self, name, value, number=0):
        field = self.driver.find_elements("name", name)[number]
        if field.tag_name == "select":
            Select(field).select_by_value(value)
        else:
            self.driver.execute_script("arguments[0].value = arguments[1]; arguments[0].dispatchEvent(new Event('change'))", field, value)
        self.settle()

    def state(self):
        return self.driver.execute_script("return playground.state()")

    def losses(self, which="curves"):
        return [loss for _, loss in self.driver.execute_script("return playground.curves()[arguments[0]].loss", which)]

    def words(self):
        return self.driver.find_element("name", "status").text

    def load(self, settings, step=0):
        self.driver.execute_async_script("playground.act(() => playground.load(arguments[0])).then(arguments[1])", {"settings": settings, "step": step})
        self.settle()

    def picture(self, name):
        if PICTURES:
            height = self.driver.execute_script("return document.documentElement.scrollHeight")
            found = self.driver.execute_cdp_cmd("Page.captureScreenshot", {"captureBeyondViewport": True, "clip": {"x": 0, "y": 0, "scale": 1, "height": min(height, 3000),
                                                "width": self.driver.execute_script("return innerWidth")}})
            (PICTURES / f"{name}.png").write_bytes(base64.b64decode(found["data"]))

    def answers(self, *requests):
        ask_page = "playground.ask(arguments[0]).then(arguments[1], error => arguments[1]({error: error.message}))"
        return [self.driver.execute_async_script(ask_page, each) for each in requests]

    def expect_net_is_the_state(self):
        """A net that is built anew and takes the same steps finds the losses that are shown, to the bit; and on this machine
        it begins with nearly the same ones. Later, the differences of two compilers may have grown."""
        state, shown = self.state(), self.losses()
        at = state["settings"].get("fork", {"at": 0})["at"]
        count, precision = state["step"] - at, state["settings"]["precision"]
        requests = [build(state["settings"]), *([{**steps(count), "precision": precision}] if count else [])]
        losses = self.answers(*requests)[-1]["losses"]
        self.assertEqual(losses, shown[len(shown) - count:])
        if not at:
            self.expect_close(losses[:5], ask(ENGINES[precision], *requests)[-1]["losses"][:5], BOUNDS[precision])
        looks = self.driver.find_element("css selector", "details.looks")
        if looks.get_attribute("open"):
            self.assertIn(f"Step {state['step']}. ", looks.text)
        axes = self.driver.execute_script("return [...document.querySelectorAll('.both .panels svg')].map(each => [...each.querySelectorAll('text.end')].slice(0, -1).map(each => each.textContent))")
        self.assertEqual([len(set(axis)) for axis in axes], [len(axis) for axis in axes], axes)

    def expect_close(self, a, b, bound):
        if isinstance(a, (list, dict)):
            self.assertEqual(len(a), len(b))
            for key in a if isinstance(a, dict) else range(len(a)):
                self.expect_close(a[key], b[key], bound)
        elif isinstance(a, float):
            self.assertAlmostEqual(a, b, delta=bound)
        else:
            self.assertEqual(a, b)

    def tearDown(self):
        self.assertEqual([each for each in self.driver.get_log("browser") if each["level"] == "SEVERE"], [])

    def test_values_are_those_of_this_machine(self):
        self.open()
        for precision, live in ENGINES.items():
            for name, settings in STATES.items():
                with self.subTest((precision, name)):
                    requests = [{**each, "precision": precision} for each in (build({**settings, "precision": precision}), {"do": "look"}, steps(10))]
                    found, wanted, bound = self.answers(*requests), ask(live, *requests), BOUNDS[precision]
                    self.assertEqual(found[0]["blocks"], wanted[0]["blocks"])
                    self.expect_close(found[0]["shown"], wanted[0]["shown"], bound)
                    if "fork" in settings and precision == "float":  # the differences of the steps before it have grown
                        continue
                    self.expect_close(found[2]["losses"], wanted[2]["losses"], bound)
                    if "fork" in settings:  # a bias before a norm has gradients of rounding errors, which some optimizers make large
                        continue
                    for a, b in zip(found[1]["blocks"], wanted[1]["blocks"], strict=True):
                        for key in ("values", "gradients"):
                            self.assertAlmostEqual(a[key]["length"], b[key]["length"], delta=bound * max(1, b[key]["length"]))

    def test_the_gradient_is_checked_and_explained(self):
        self.open()
        self.set("start", "Deep perceptron with layer norm")
        self.click("Step")
        self.click("Check the gradient")
        page = self.driver.find_element("id", "playground_page")
        self.assertIn("The derivatives are derivatives of the loss.", page.text)
        self.set("norm", "detach_mean", 7)
        self.click("Check the gradient")
        self.assertIn("block 23 (detach_mean): the mean is detached", page.text)
        self.click("Tape of the next step")
        self.driver.switch_to.frame(self.driver.find_element("css selector", "iframe"))
        WebDriverWait(self.driver, 30).until(lambda driver: driver.execute_script("""
            return document.readyState === "complete" && document.querySelector("[data-node='3']")"""))  # the page then listens to clicks
        self.driver.find_element("css selector", "[data-node='3']").click()
        self.driver.switch_to.default_content()
        WebDriverWait(self.driver, 30).until(lambda _: "The gradient of %3" in page.text)
        self.set("precision", "float")
        self.click("Step")
        self.expect_net_is_the_state()
        self.click("Check the gradient")
        self.assertIn("need double precision", self.words())

    def test_build_train_rewind_fork_share_and_load(self):
        self.open()
        self.set("start", "Layer-normalized LSTM, text")
        self.set("set", "own")
        self.set("text", "to be or not to be, that is the question. " * 20)
        self.set("out", "12")
        self.click("Run")
        WebDriverWait(self.driver, 60).until(lambda _: self.state()["step"] >= 12)
        self.click("Pause")
        self.expect_net_is_the_state()
        before = self.losses()
        self.driver.execute_script("const slider = document.querySelector('[name=position]'); slider.value = 10; slider.dispatchEvent(new Event('change'))")
        self.settle()
        self.assertEqual(self.state()["step"], 10)
        self.click("Step")
        self.assertEqual(self.losses(), before[:11])
        self.assertEqual(self.losses("before"), before)
        self.click("Fork here")
        self.set("norm", "detach_mean")
        for _ in range(5):
            self.click("Step")
        self.assertEqual(self.losses()[:11], before[:11])
        self.assertNotEqual(self.losses()[12:], before[12:16])
        self.assertEqual(self.losses("before"), before)  # to its end, though the fork is at step 11
        self.expect_net_is_the_state()
        state, losses = self.state(), self.losses()
        self.click("Put it in the address")
        address = self.driver.current_url
        self.open()
        self.driver.get("about:blank")
        self.driver.get(address)
        self.wait_for_page()
        self.assertEqual(self.state(), state)
        self.assertEqual(self.losses(), losses[11:])
        self.open()
        self.load(state["settings"], state["step"])
        self.assertEqual(self.losses(), losses[11:])
        self.click("Write")
        self.assertGreater(len(self.driver.find_element("css selector", "pre.written").text), 100)
        self.click("As a C++ program")
        self.assertIn("int main", self.driver.find_element("id", "playground_page").text)
        self.set("rate", ".02")
        self.assertNotIn("int main", self.driver.find_element("id", "playground_page").text)  # of another net

    def tour(self, name, width):
        """Goes through a tour, from its address. Of each step: accuracy, common mode, length of weights and mean of the last
        losses, the curve of loss before, and what "Look inside" finds."""
        self.driver.get("about:blank")
        self.show(PAGE, width)
        self.driver.get(f"{PAGE.as_uri()}#tour={name}")
        self.wait_for_page()
        seen = []
        while True:
            run = self.driver.execute_script("return playground.curves()")
            last = {key: run["curves"][key][-1][1] for key in ("accuracy", "common", "length")}
            losses = [loss for _, loss in run["curves"]["loss"][-10:]]
            [look] = self.answers({"do": "look"})
            look["norms"].sort(key=lambda each: each["name"])
            seen.append({**last, "loss": sum(losses) / max(1, len(losses)), "before": run["before"]["loss"], **look})
            self.picture(f"tour_{name}_{len(seen)}_{width}")
            for frame in self.driver.find_elements("css selector", "#playground_page iframe"):
                self.driver.switch_to.frame(frame)
                WebDriverWait(self.driver, 60).until(lambda driver: driver.find_elements("css selector", "[data-node='0']"))
                self.driver.execute_script("document.querySelector(\"[data-node='0']\").click()")
                seen[-1]["why"] = self.driver.find_element("css selector", "details pre").get_attribute("textContent")
                self.driver.switch_to.default_content()
            self.assertIn(f", {len(seen)} of ", self.driver.find_element("class name", "tour").text)
            if not any(each.text == "Next" for each in self.driver.find_elements("tag name", "button")):
                break
            self.click("Next")
        self.assertEqual(self.words(), "")
        self.expect_net_is_the_state()
        self.click("End of the tour")
        self.assertEqual(self.driver.find_element("class name", "tour").text, "")
        return seen

    def lengths(self, step, kind):
        return [each[kind]["length"] for each in step["blocks"]]

    def test_the_tour_of_norms(self):
        for width in (DESKTOP, PHONE):
            _, without, _, normed = self.tour("norm", width)
            self.assertAlmostEqual(without["loss"], math.log(2), delta=.02)
            self.assertLess(without["accuracy"], .75)
            self.assertGreater(normed["accuracy"], .9)
            gradients = self.lengths(without, "gradients")
            self.assertEqual(gradients, sorted(gradients))
            self.assertGreater(gradients[-1] / gradients[0], 200)
            gradients = self.lengths(normed, "gradients")
            self.assertLess(max(gradients) / min(gradients), 10)

    def test_the_tour_of_the_mean(self):
        first, attached, _, detached = self.tour("mean", PHONE)
        self.assertAlmostEqual(attached["common"], first["common"], delta=1e-9)  # the derivative of the mean keeps it
        self.assertGreater(abs(detached["common"] - first["common"]), 1e-2)
        self.assertEqual([step for step, _ in detached["before"]], list(range(1, 201)))  # the whole run that was forked at 100

    def test_the_tour_of_the_deviation(self):
        _, attached, fresh, detached = self.tour("deviation", PHONE)
        [loss, *_] = detached["before"]
        self.assertEqual(loss[1], self.losses()[0])  # the same forward pass
        self.assertLess(attached["loss"], 1)
        self.assertLess(attached["loss"], .65 * detached["loss"])
        self.assertGreater(detached["length"], 1.5 * attached["length"])
        for kind, places in (("gradients", fresh["norms"]), ("gradients", detached["norms"])):
            for place in places:
                self.assertLess(place["before"][kind]["mean"], 1e-9 * place["before"][kind]["length"])
        other = self.driver.execute_script("return playground.starts_of_tours.deviation[0]")
        attached_gradients = sorted(self.answers(build(other), {"do": "look"})[1]["norms"], key=lambda each: each["name"])
        for a, b in zip(attached_gradients, fresh["norms"], strict=True):
            self.assertEqual(a["before"]["values"], b["before"]["values"])
            self.assertLess(a["before"]["gradients"]["length"], b["before"]["gradients"]["length"])
        a, b = attached["norms"][-1]["before"], detached["norms"][-1]["before"]
        self.assertGreater(b["values"]["length"], 10 * a["values"]["length"])
        self.assertLess(b["gradients"]["length"], a["gradients"]["length"])

    def test_the_tour_of_a_zero_gradient(self):
        _, dead, asked, leaky, alive = self.tour("zero", PHONE)
        self.assertAlmostEqual(dead["loss"], math.log(2), delta=.05)
        self.assertEqual(self.lengths(dead, "values")[8], 0)
        self.assertEqual(self.lengths(dead, "gradients")[:8], [0] * 8)
        self.assertGreater(self.lengths(dead, "gradients")[8], 0)
        self.assertEqual(asked["blocks"], dead["blocks"])
        self.assertIn("blocks.layers.0.weight is zero", asked["why"])
        self.assertIn("0 of 32 inputs are positive", asked["why"])
        self.assertGreater(min(self.lengths(leaky, "gradients")), 0)
        self.assertGreater(alive["accuracy"], .9)
        settings = self.driver.execute_script("return playground.starts_of_tours.zero[0]")
        *_, later = self.answers(build(settings), steps(2040), {"do": "look"})  # the words of the tour
        self.assertEqual(self.lengths(later, "gradients")[:8], [0] * 8)
        self.assertGreater(self.answers(build({**settings, "rate": .1}), steps(300))[1]["accuracy"], .9)
        normed = [each for block in settings["net"] for each in ([block, {"block": "norm", "norm": "layer"}] if block["block"] == "linear" else [block])]
        self.assertLess(self.answers(build({**settings, "net": normed}), steps(300))[1]["accuracy"], .6)

    def test_the_tour_of_two_optimizers(self):
        normed, backward, adam, neither = self.tour("adam", PHONE)
        self.assertAlmostEqual(backward["loss"], math.log(10), delta=.05)
        self.assertLess(backward["accuracy"], .2)
        self.assertAlmostEqual(self.lengths(normed, "values")[2], math.sqrt(32), delta=.01)
        self.assertLess(max(self.lengths(backward, "values")[1:]), 1)
        gradients = self.lengths(backward, "gradients")
        self.assertGreater(gradients[-1] / gradients[0], 200)
        for each in (normed, adam, neither):
            self.assertGreater(each["accuracy"], .9)
        settings = self.driver.execute_script("return playground.starts_of_tours.adam[1]")
        for rate in (.03, .1):
            self.assertLess(self.answers(build({**settings, "rate": rate}), steps(300))[1]["accuracy"], .4)

    def test_starts_fit_in_a_phone(self):
        for width in (DESKTOP, PHONE):
            self.open(width)
            for i, name in enumerate(self.driver.execute_script("return Object.keys(playground.starts)")):
                self.set("start", name)
                self.click("Run")
                WebDriverWait(self.driver, 60).until(lambda _: self.state()["step"] >= 5)
                self.click("Pause")
                self.assertEqual(self.words(), "")
                self.assertLessEqual(self.driver.execute_script("return document.documentElement.scrollWidth"), width)
                self.picture(f"start_{i}_{width}")

    def test_all_is_reached_and_done_by_keys(self):
        self.open()
        self.set("start", "Convolutions, digits")
        pad = self.driver.find_element("css selector", "canvas")
        pad.send_keys(" ", *[Keys.ARROW_DOWN] * 15, " ", *[Keys.ARROW_RIGHT] * 3)  # a stroke, as a one has it
        self.settle()
        self.assertEqual(self.words(), "The pen is up.")
        self.assertRegex(self.driver.find_element("css selector", "canvas + p").text, r"^\d: [\d.]+ %")
        inked = self.driver.execute_script("""const picture = arguments[0].getContext('2d').getImageData(0, 0, 280, 280).data, rows = new Set();
          for (let i = 0; i < picture.length; i += 4) if (picture[i] === 255 && picture[i + 1] === 255) rows.add(Math.floor(i / 4 / 280 / 10)); return [...rows];""", pad)
        self.assertEqual(inked, list(range(5, 23)))  # 6 to 21, and the width of the pen
        self.set("start", "Perceptron, exclusive or")
        self.driver.find_element("css selector", "canvas").send_keys(Keys.ARROW_UP, Keys.ARROW_UP, Keys.ARROW_LEFT, Keys.ENTER)
        self.settle()
        self.assertEqual(self.state()["settings"]["data"]["points"][-1], [-.1, .2, 0])
        # every control is in the order of the tabulator and has a name
        self.set("tour", "mean")
        self.assertEqual(self.driver.execute_script("""return [...document.querySelectorAll("#playground_page :is(button, input, select, textarea, canvas, summary)")]
          .filter(each => each.tabIndex < 0 || !(each.getAttribute("aria-label") || each.labels?.[0]?.textContent || each.textContent).trim()).map(each => each.outerHTML)"""), [])
        self.driver.find_element("css selector", ".tour button").send_keys(Keys.ENTER)
        self.settle()
        self.assertEqual(self.driver.switch_to.active_element.text, "Next")

    def test_bad_input_is_named(self):
        self.open()
        for name, value, words in (("rate", "1e10", "rate"), ("count", "20000", "count: 20000; 4 to 10000"), ("batch", "0", "batch"), ("out", "0", "does not fit")):
            self.open()
            self.set(name, value)
            self.assertIn(words, self.words())
            self.click("Step")
            self.assertEqual(self.state()["step"], 1)
        self.open()
        self.set("optimizer", "sgd")
        self.set("rate", "1e9")
        self.set("name", "relu")
        self.click("Run")
        WebDriverWait(self.driver, 60).until(lambda _: "Stopped" in self.words() or self.state()["step"] > 200)

    def test_random_clicks(self):
        draw = random.Random(1)
        self.open()
        self.driver.execute_script("""window.longest = 0;
          new PerformanceObserver(list => { for (const each of list.getEntries()) longest = Math.max(longest, each.duration); }).observe({type: "longtask"});""")
        for _ in range(0, CLICKS, CHECKED):
            self.driver.execute_async_script(CLICK_ALL, [[draw.random() for _ in range(3)] for _ in range(CHECKED)])
            self.driver.execute_script("[...document.querySelectorAll('button')].find(each => each.textContent === 'Pause')?.click()")
            self.settle()
            self.expect_net_is_the_state()
        print(f"the page was busy for {self.driver.execute_script('return longest'):.0f} ms at most", file=sys.stderr)

    def test_a_worker_that_died_is_started_again(self):
        self.open()
        self.click("Step")
        losses = self.losses()
        self.driver.execute_script("window.first = playground.worker(); [...document.querySelectorAll('button')].find(each => each.textContent === 'Run').click(); first.postMessage(1)")  # while it runs
        WebDriverWait(self.driver, 60).until(lambda _: "started again" in self.words())
        self.settle()
        self.assertTrue(self.driver.execute_script("return first !== playground.worker()"))
        self.assertEqual(self.losses()[:1], losses)
        step = self.state()["step"]
        self.click("Step")
        self.assertEqual(self.state()["step"], step + 1)
        self.expect_net_is_the_state()

    def test_the_page_is_small_and_needs_no_network(self):
        self.assertLess(PAGE.stat().st_size, 3e6)
        self.open()
        self.assertEqual(self.driver.find_elements("css selector", "link, script[src]"), [])  # it works where it is sent alone
        self.assertEqual(self.driver.execute_script("return performance.getEntriesByType('resource').map(e => e.name).filter(n => !n.startsWith('file:') && !n.startsWith('blob:'))"), [])


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
