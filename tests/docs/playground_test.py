"""The playground's engine: playground_test.py LIVE PROGRAMS LIVE32 PROGRAMS32, where LIVE is docs/live as a program, PROGRAMS what it has written, compiled,
and the others the same in single precision."""

import math
import subprocess
import sys
import unittest

from playground_states import DIGITS, POINTS, STATES, TEXT, activation, ask as ask_program, block, build, fork, linear, norm, state, steps

ENGINES = {"double": sys.argv[1:3], "float": sys.argv[3:5]}
DETACHED = ("layer_simple", "detach_mean", "detach_variance", "detach")
EVERY = {(precision, name): {**settings, "precision": precision} for precision in ENGINES for name, settings in STATES.items()}

def ask(*requests):
    """The answers of the engine that the first request asks for."""
    return ask_program(ENGINES[requests[0].get("settings", {}).get("precision", "double")][0], *requests)

class Playground(unittest.TestCase):
    def test_a_step_that_is_returned_to_has_the_same_bits(self):
        for name, settings in EVERY.items():
            with self.subTest(name):
                at = settings.get("fork", {"at": 0})["at"]
                built, straight, back, again, _, more = ask(build(settings), steps(45), {"do": "rewind", "to": at + 17}, steps(28), {"do": "look"}, steps(5))
                self.assertTrue(built["fits"], built)
                self.assertEqual((straight["step"], back["step"], again["step"]), (at + 45, at + 17, at + 45))
                self.assertEqual(straight["losses"][17:], again["losses"])
                self.assertEqual(straight["accuracy"], again["accuracy"])
                self.assertLess(min(straight["losses"]), straight["losses"][0])
                # neither a look nor the way back has moved anything
                self.assertEqual(more["losses"], ask(build(settings), steps(50))[1]["losses"][45:])

    def test_states_are_thinned_out_and_stay_exact(self):
        settings = state(POINTS, linear(4), norm("batch"), optimizer="momentum")
        _, straight, *_, again = ask(build(settings), steps(2500), {"do": "rewind", "to": 1234}, {"do": "rewind", "to": 7}, steps(2493))
        self.assertEqual(straight["losses"][7:], again["losses"])

    def test_a_program_has_the_same_losses(self):
        numbers = {name: number for number, name in enumerate(STATES)}
        for (precision, name), settings in EVERY.items():
            with self.subTest((precision, name)):
                at = settings.get("fork", {"at": 0})["at"]
                before = {**settings["fork"]["of"], "precision": precision} if at else settings
                lines = subprocess.run([ENGINES[precision][1], str(numbers[name])], check=True, capture_output=True, text=True).stdout.split()
                page = ask(build(settings), steps(50 - at))[1]["losses"]
                self.assertEqual(len(lines), 50)
                for written, shown in zip(lines[at:], page, strict=True):
                    self.assertAlmostEqual(float(written), shown, delta=1e-6)
                if "fork" not in before and at:
                    self.assertEqual(page[0] != ask(build(before), steps(50))[1]["losses"][at],
                                     any(before[key] != settings[key] for key in ("batch", "net")))

    def test_shapes_and_parameters(self):
        """By hand: weights and biases, gains and biases of norms."""
        blocks = ask(build(STATES["digits"]))[0]["blocks"]
        self.assertEqual([each["shape"] for each in blocks], [[4, 28, 28], [4, 28, 28], [4, 28, 28], [4, 7, 7], [16], [16], [10]])
        self.assertEqual([each["parameters"] for each in blocks], [4 * 9 + 4, 4 + 4, 0, 0, 4 * 7 * 7 * 16 + 16, 0, 16 * 10 + 10])
        blocks = ask(build(STATES["gru"]))[0]["blocks"]
        self.assertEqual(blocks[0], {"shape": [12, 12], "parameters": 3 * 12 * (8 + 12) + 3 * 12 + 12})  # and b_hn
        residual = ask(build(STATES["residual"]))[0]["blocks"]
        self.assertEqual([each["shape"] for each in residual], [[16]] * 9 + [[2]])

    def test_re_centering_and_re_scaling(self):
        """The derivative of the mean takes the mean out of a row's gradient (docs/recentering.md); a constant mean does not.
        The normalized rows of 32 channels have length sqrt(32), and mean 0."""
        for name in DETACHED:
            settings = state(POINTS, linear(32), norm(name), activation("tanh"))
            look = ask(build(settings), steps(3), {"do": "look"})[2]
            [place] = look["norms"]
            self.assertEqual(place["name"], "layers.1")
            self.assertEqual(sum(place["after"]["values"]["counts"]), 16 * 32)
            self.assertLess(place["after"]["values"]["mean"], 1e-12)
            self.assertAlmostEqual(place["after"]["values"]["length"], math.sqrt(32), delta=.02)
            mean, length = (place["before"]["gradients"][key] for key in ("mean", "length"))
            (self.assertLess if name in ("layer_simple", "detach_variance") else self.assertGreater)(mean, 1e-9 * length)
            self.assertGreater(place["after"]["gradients"]["mean"], 1e-6)

    def test_only_a_detached_mean_moves_the_common_mode(self):
        """Plain gradient descent through a norm that re-centers leaves the mean over outputs (docs/drift.md)."""
        for name in ("layer_simple", "detach_mean"):
            settings = state(POINTS, linear(32), norm(name), activation("tanh"), optimizer="sgd", rate=.5)
            first, last = ask(build(settings), steps(100))
            self.assertEqual(abs(last["common"] - first["common"]) < 1e-12, name == "layer_simple")

    def test_what_the_lecture_shows(self):
        """docs/playground.md: an LSTM with a detached mean from step 50 on has the same loss, and half as much again of the common mode."""
        def lstm(name):
            return state({**TEXT, "count": 400, "length": 32, "channels": 16}, block("recurrent", cell="lstm", out=32, norm=name), batch=8)

        before, after = (ask(build(settings), steps(200 - at)) for settings, at in ((lstm("layer_simple"), 0), (fork(lstm("layer_simple"), 50, net=lstm("detach_mean")["net"]), 50)))
        for same, each in zip(before[1]["losses"][-10:], after[1]["losses"][-10:], strict=True):
            self.assertAlmostEqual(same, each, delta=.05)
        self.assertGreater(after[1]["common"], 1.4 * before[1]["common"])

    def test_a_fork_continues(self):
        for name in ("dropout and batch", "lstm", "transformer"):
            settings, same = STATES[name], fork(STATES[name], 20)
            _, straight, _, forked = ask(build(settings), steps(40), build(same), steps(20))
            self.assertEqual(straight["losses"][20:], forked["losses"])
            self.assertEqual(forked["losses"], ask(build(same), steps(20))[1]["losses"])
            other = ask(build(fork(settings, 20, rate=.1)), steps(20))[1]["losses"]
            self.assertEqual(other[0], forked["losses"][0])  # the loss before its first step
            self.assertNotEqual(other[1], forked["losses"][1])

    def test_a_fork_keeps_what_both_nets_have(self):
        """The layers that stay have the weights of the run before, whatever stands between them."""
        between = lambda *blocks: {"net": [linear(16), *blocks, activation("tanh"), linear(12), activation("tanh")]}
        before = state(POINTS, optimizer="adam", **between(norm()))
        straight, _, seen = ask(build(before), steps(20), {"do": "look"})
        for blocks, added in (([norm("rms")], []), ([norm("none")], []), ([norm("layer:affine=0")], []), ([norm("layer_simple"), activation("relu")], []),
                              ([norm("batch:gain=2")], []), ([], []), ([linear(16), norm()], ["blocks.layers.1.weight", "blocks.layers.1.bias"])):
            with self.subTest(blocks):
                built, look = ask(build(fork(before, 20, **between(*blocks))), {"do": "look"})
                self.assertEqual((built["step"], built["added"]), (20, added))
                kept = [{**each, "name": ""} for each in look["weights"] if each["name"] + ".weight" not in added and "blocks." + each["name"] not in added]
                self.assertEqual(kept, [{**each, "name": ""} for each in seen["weights"]])
                self.assertTrue(all(math.isfinite(loss) for loss in ask(build(fork(before, 20, **between(*blocks))), steps(20))[1]["losses"]))
        self.assertEqual(ask(build(fork(state(POINTS, linear(4)), 5, net=[linear(5)])))[0]["added"],
                         ["blocks.layers.0.weight", "blocks.layers.0.bias", "output.weight"])
        self.assertEqual(ask(build(fork(state(POINTS, linear(4)), 5, net=[linear(4), norm()])))[0]["added"], ["blocks.layers.1.gain", "blocks.layers.1.bias"])

    def test_a_block_that_changes_nothing_continues(self):
        """relu of a relu: the layers after it have other numbers, and the moments of their weights."""
        for optimizer in ("adam", "momentum", "muon"):
            before = state(POINTS, linear(16), activation(), linear(8), norm("batch"), activation("tanh"), optimizer=optimizer)
            _, straight = ask(build(before), steps(40))
            twice = [linear(16), activation(), activation(), linear(8), norm("batch"), activation("tanh")]
            _, forked = ask(build(fork(before, 20, net=twice)), steps(20))
            self.assertEqual(straight["losses"][20:], forked["losses"])
            self.assertEqual(straight["accuracy"], forked["accuracy"])

    def test_losses_up_to_a_fork_are_those_before(self):
        for net in ([norm("rms")], [norm("none")], [norm("layer:affine=0")]):
            before = state(POINTS, linear(8), norm(), activation("tanh"))
            forked = fork(before, 12, net=[linear(8), *net, activation("tanh")])
            _, straight, _, _, back, after, *_ = ask(build(before), steps(30), build(forked), steps(5), build(before), steps(12), build(forked))
            self.assertEqual((back["step"], straight["losses"][:12]), (0, after["losses"]))

    def test_a_step_that_is_not_finite_is_named(self):
        settings = state(POINTS, linear(8), norm("batch"), block("activation", name="relu"), linear(8), optimizer="sgd", rate=1e9)
        _, found, again, back, _ = ask(build(settings), steps(1000), steps(10), {"do": "rewind", "to": 0}, {"do": "look"})
        self.assertRegex(found["stopped"], r"^step \d+: \w+")
        self.assertEqual(len(found["losses"]), found["step"])
        self.assertTrue(all(math.isfinite(loss) for loss in found["losses"]))
        self.assertEqual((again["step"], again["stopped"]), (found["step"], found["stopped"]))
        self.assertNotIn("stopped", back)

    def test_what_does_not_fit_is_said_and_the_last_net_goes_on(self):
        good = state(POINTS, linear(4))
        for net, at, words in (([linear(4), block("convolution", out=2, size=3)], 1, "conv2d"),
                               ([block("recurrent", cell="lstm", out=4, norm="none")], 0, "there is no axis 2 in (2, 2)"),
                               ([norm("layer:color=red")], 0, "layer has no option color=red"),
                               ([norm("instance")], 0, "instance"),
                               ([activation("relu"), linear(6), norm("group:groups=4")], 2, "group"),
                               ([linear(3), block("residual", over=1), linear(4)], 1, "(2, 3) and (2, 4)"),
                               ([block("residual", over=2), linear(2)], 0, "over 2 blocks"),
                               ([block("linear", out=0)], 0, "out: 0; 1 to 1024"),
                               ([block("linear", out="many")], 0, "out: is not a number"),
                               ([activation("step")], 0, "available: relu"),
                               ([block("dense")], 0, "unknown block dense")):
            with self.subTest(words):
                _, found, after = ask(build(good), build({**good, "net": net}), steps(1))
                self.assertFalse(found["fits"])
                self.assertIn(words, found["blocks"][at]["error"])
                self.assertEqual((after["step"], after["losses"]), (1, ask(build(good), steps(1))[1]["losses"]))

    def test_limits(self):
        text = {**TEXT, "set": "own"}
        for settings, words in ((state(POINTS, *[activation()] * 41), "41 blocks; at most 40"),
                                (state({**POINTS, "count": 10_001}), "count: 10001; 4 to 10000"),
                                (state({"kind": "points", "set": "own", "points": [[0, 0, 0]] * 10_001}), "10001; 4 to 10000"),
                                (state({**text, "text": "a" * 1_000_001}), "1000001 characters; at most 1000000"),
                                (state({**text, "text": "short"}), "too few for rows of 12"),
                                (state(DIGITS, batch=0), "batch: 0; 1 to 1024"),
                                (state(DIGITS, rate=1e10), "rate: 10000000000"),
                                (state(DIGITS, optimizer="newton"), "available: sgd, momentum"),
                                (state(DIGITS, schedule="linear"), "available: constant")):
            with self.subTest(words):
                self.assertIn(words, ask(build(settings))[0]["error"])
        most = ask(build(state({**text, "text": "ab" * 500_000}, block("recurrent", cell="lstm", out=4, norm="none"))), steps(1),
                   build(state(DIGITS, block("convolution", out=128, size=3), batch=1024)), build(state(POINTS, linear(1024), linear(1024))))
        self.assertEqual(len(most[1]["losses"]), 1)
        self.assertIn("at most 4000000", most[2]["blocks"][0]["error"])
        self.assertIn("at most 1000000", most[3]["blocks"][1]["error"])
        self.assertEqual(ask(steps(1))[0]["error"], "steps: no net has been built")

    def test_what_a_net_makes_of_own_data(self):
        _, _, grid = ask(build(state({**POINTS, "set": "xor"}, linear(16), activation("tanh"), rate=.05)), steps(500), {"do": "field"})
        p, side = grid["values"], grid["side"]
        corner = lambda row, column: p[row * side + column]

        self.assertGreater(corner(5, 34), .5)  # x and y positive: class 1
        self.assertLess(corner(5, 5), .5)
        built, _, sure = ask(build(state(DIGITS, linear(32), activation())), steps(300), {"do": "classify", "picture": ask(build(state(DIGITS)))[0]["shown"]["digits"][3]})
        self.assertGreater(sure["probabilities"][3], .5)
        self.assertAlmostEqual(sum(sure["probabilities"]), 1)
        line = {**TEXT, "set": "own", "text": "abcd" * 200}
        text = ask(build(state(line, block("recurrent", cell="gru", out=16, norm="none"), rate=.03)), steps(200),
                   {"do": "write", "count": 12, "begin": "ab", "temperature": .1})[2]["text"]
        self.assertEqual(text, "cdabcdabcdab")

    def test_the_tape_of_a_step(self):
        found = ask(build(state(POINTS, linear(3), norm(), activation())), {"do": "tape"})[1]["tape"]["nodes"]
        self.assertIn("affine_norm", " ".join(node["name"] for node in found))
        self.assertTrue(any("why" in node for node in found))

    def test_a_node_of_the_tape_is_explained(self):
        """By hand: the loss is -(a + b) / 2 of the two examples' log probabilities."""
        explain = lambda node, step=0: {"do": "explain", "node": node, "step": step}
        _, shown = ask(build(state(POINTS, linear(3), activation())), {"do": "tape"})
        nodes = shown["tape"]["nodes"]
        linear_, = (i for i, node in enumerate(nodes) if node["name"] == "linear" and nodes[node["inputs"][1]]["label"].endswith("layers.0.weight"))
        _, found, leaf, late, far, _ = ask(build(state(POINTS, linear(3), activation())), explain(linear_), explain(nodes[linear_]["inputs"][1]),
                                           explain(0, 1), explain(len(nodes)), steps(1))
        self.assertIn(f"The gradient of %{linear_} linear has the root mean square", found["why"])
        self.assertIn("of 6 inputs are positive", found["why"])
        self.assertRegex(found["why"], r"div +1 times 0.5 +to %\d+ sum")
        self.assertNotRegex(found["why"], r"\.(h|cpp):")
        self.assertEqual(leaf["why"], nodes[nodes[linear_]["inputs"][1]]["why"])
        self.assertIn("belongs to step 1, and the net is at 0", late["error"])
        self.assertIn(f"node: {len(nodes)}; 0 to {len(nodes) - 1}", far["error"])

    def test_derivatives_are_checked(self):
        """Against differences: weights before a detached statistic have other derivatives, weights after it do not."""
        check = {"do": "check"}
        for name in ask({"do": "choices"})[0]["norm"]:
            if name == "instance":  # of pictures alone
                continue
            constant = [words for part, words in (("detach_mean", "the mean is detached"), ("detach_variance", "the deviation is detached"),
                                                  ("identity", "its value is x"), ("factor=1", "is not divided by the deviation"), ("ada", "its factor is detached"))
                        if part in name]
            if name.split(":")[0] == "detach":
                constant += ["the mean is detached", "the deviation is detached"]
            if name == "detach:forward=identity,factor=1":  # of value x and derivative 1
                constant = []
            with self.subTest(name):
                found = ask(build(state(POINTS, linear(16), norm(name), activation("tanh"), linear(8), activation("relu"))), steps(3), check)[2]
                self.assertEqual([each["name"] for each in found["parameters"] if not each["agrees"]],
                                 ["blocks.layers.0.weight", "blocks.layers.0.bias"] if constant else [])
                for each in found["parameters"]:
                    self.assertEqual(each["agrees"], each["difference"] <= found["tolerance"])
                    self.assertEqual(each["checked"], min(8, each["size"]))
                    for words in constant:
                        self.assertEqual(words in each.get("why", ""), not each["agrees"])
                self.assertEqual(found["verdict"] == "The derivatives are derivatives of the loss.", not constant)
                self.assertTrue(all(words in found["verdict"] for words in constant))
        for name, settings in STATES.items():
            with self.subTest(name):
                at = settings.get("fork", {"at": 0})["at"]
                _, first, _, again = ask(build(settings), check, build(settings), check)
                self.assertEqual(first, again)
                detached = [each["norm"] for each in settings["net"] if each.get("norm", "").startswith(("ada", "detach"))]
                self.assertEqual([each for each in first["parameters"] if not each["agrees"]] == [], not detached)
                # it has moved nothing
                self.assertEqual(ask(build(settings), check, steps(20))[2]["losses"], ask(build(settings), steps(20))[1]["losses"])

    def test_single_precision(self):
        """The same net on the same data, up to rounding, which grows in the steps before a fork."""
        for name, settings in STATES.items():
            with self.subTest(name):
                growth = 100 if "fork" in settings else 1
                requests = [build(settings), steps(3)]
                double, single = ask(*requests), ask(build({**settings, "precision": "float"}), steps(3))
                self.assertEqual(double[0]["blocks"], single[0]["blocks"])
                for a, b in zip(double[1]["losses"], single[1]["losses"], strict=True):
                    self.assertAlmostEqual(a, b, delta=1e-4 * growth)
                self.assertNotEqual(double[1]["losses"], single[1]["losses"])
        other = ask_program(ENGINES["float"][0], build(state(POINTS)))[0]["error"]
        self.assertEqual(other, "precision: double; this engine computes in float")
        self.assertIn("need double precision", ask(build({**state(POINTS), "precision": "float"}), {"do": "check"})[1]["error"])

if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
