"""The playground's engine, asked at random: playground_random_test.py LIVE LIVE32, where LIVE is docs/live as a program and LIVE32 the same in single precision."""

import json
import math
import pathlib
import random
import subprocess
import sys
import unittest

from playground_states import block, build, norm, state, steps

ENGINES = dict(zip(("double", "float"), sys.argv[1:3], strict=True))
SEQUENCES, REQUESTS = 1_000, 6
MOST_BYTES = 400_000_000  # of an engine
NORMS = ["none", "layer", "rms", "batch", "group", "group:groups=3", "ada", "divisive", "whiten", "weight", "instance", "detach_mean", "detach:forward=identity",
         "layer:eps=-1", "layer:gain=1e308", "what", ""]
BAD = [0, -1, .5, 1e9, 1e300, math.nan, math.inf, "x", None, [], {}, True]


class Engine:
    """A program that is asked one request after another."""

    def __init__(self, program):
        self.process = subprocess.Popen([program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline(), parse_constant=lambda name: self.fail(name))

    def fail(self, name):
        raise ValueError(f"an answer has {name}")

    def most_bytes(self):
        return int(next(line for line in pathlib.Path(f"/proc/{self.process.pid}/status").read_text().splitlines() if line.startswith("VmHWM")).split()[1]) * 1024

    def end(self):
        self.process.stdin.close()
        self.process.stdout.close()
        return self.process.wait()


class Draw(random.Random):
    """Settings and requests, most of them possible."""

    def one(self, *these):
        return self.choice(these)

    def rarely(self, share, bad, good):
        return bad if self.random() < share else good

    def number(self, *these):
        return self.rarely(.01, self.choice(BAD), self.choice(these))

    def block(self):
        kind = self.choices(["linear", "activation", "norm", "dropout", "residual", "recurrent", "attention", "convolution", "pool", "what"], [9, 9, 6, 2, 2, 3, 2, 2, 1, .1])[0]
        return block(kind, **{"linear": {"out": self.number(1, 3, 8)}, "activation": {"name": self.number("relu", "tanh", "gelu", "silu")}, "norm": {"norm": self.number(*NORMS)},
                              "dropout": {"rate": self.number(0, .2, .9)}, "residual": {"over": self.number(1, 2)},
                              "recurrent": {"cell": self.number("rnn", "rnn_relu", "lstm", "gru"), "out": self.number(1, 4), "norm": self.number(*NORMS)},
                              "attention": {"heads": self.number(1, 2), "norm": self.number(*NORMS), "placement": self.number("pre", "post")},
                              "convolution": {"out": self.number(1, 2), "size": self.number(1, 3, 4)}, "pool": {"size": self.number(2, 4)}}.get(kind, {}))

    def data(self):
        kind = self.choices(["points", "digits", "text", "what"], [6, 2, 4, .05])[0]
        if kind == "digits":
            return {"kind": kind, "count": self.number(10, 30)}
        if kind == "text":
            own = self.choices(["to be or not to be. " * 9, "a", "", "\u00e9\u0000\"\\ " * 40, "ab" * 500_000, "a" * 1_000_001], [9, 1, 1, 2, .05, .05])[0]
            return {"kind": kind, "set": self.number("grammar", "own"), "text": own, "count": self.number(10, 30), "length": self.number(2, 6, 12), "channels": self.number(2, 4)}
        many = self.choices([8, 3, 10_000, 10_001], [9, 1, .1, .1])[0]
        points = [[self.uniform(-1, 1), self.uniform(-1, 1), i % 2] for i in range(many)]
        if self.random() < .05:
            points[self.randrange(many)][self.randrange(3)] = self.choice(BAD)
        own = {"kind": kind, "set": "own", "points": points}
        return self.rarely(.3, own, {"kind": kind, "set": self.number("xor", "circles", "spirals"), "count": self.rarely(.01, 10_001, self.number(8, 50)), "noise": self.number(0, .1)})

    def settings(self, precision):
        data = self.data()
        net = [self.block() for _ in range(self.choice(range(5)))]
        if data["kind"] == "points" and self.random() < .8:  # what can stand there
            net = [each for each in net if each["block"] not in ("recurrent", "attention", "convolution", "pool")]
        if self.random() < .01:
            net = [block("linear", out=4), norm("layer")] * self.choice((20, 21))
        made = state(data, *net, precision=precision, batch=self.rarely(.01, self.choice((1_024, *BAD)), self.number(1, 2, 8)), split=self.number(.5, .8),
                     rate=self.rarely(.05, self.choice((1e9, *BAD)), self.number(.01, .1)), seed=self.number(0, 1, 7), clip=self.number(0, 1), steps=self.number(1, 100),
                     init=self.number("default", "he", "xavier", "orthogonal"), schedule=self.number("constant", "cosine", "one_cycle", "warmup", "step"),
                     optimizer=self.number("sgd", "momentum", "nesterov", "adam", "adamw", "rmsprop", "adagrad", "adadelta", "lion", "lamb", "muon"))
        if self.random() < .01:
            del made[self.choice(list(made))]
        return made

    def changed(self, settings):
        """One setting is another."""
        other = self.settings(settings["precision"])
        key = self.choice(["rate", "batch", "optimizer", "schedule", "clip", "seed", "init", "net", "net", "data"])
        return {**settings, **{each: other[each] for each in (key, "net" if key == "data" else key) if each in other}}

    def line(self, built, step, precision):
        """A request."""
        what = self.choices(["build", "steps", "rewind", "fork", "look", "field", "classify", "write", "tape", "explain", "check", "program", "broken"],
                            [4, 6, 3, 3, 1, 1, 1, 1, .5, .5, .5, .3, .3])[0]
        if what == "broken":
            return self.choice(["", "{", "null", "[]", "[" * 5_000, "{}", '{"compute": "playground"}', '{"compute": "playground", "do": 5}', "\u00ff",
                                '{"compute": "playground", "do": "what"}', '{"compute": "playground", "do": "build", "settings": 5}', '{"compute": "playground", "do": "build"}'])
        request = {"compute": "playground", "do": what}
        if what == "fork" and built:
            request |= build({**self.changed(built), "fork": {"at": self.rarely(.05, self.choice(BAD), self.randrange(step + 1)), "of": built}})
        elif what in ("build", "fork"):
            request |= build(self.settings(precision))
        elif what == "program":
            request |= {"settings": built or self.settings(precision), "count": self.number(1, 50)}
        request |= {"steps": {"count": self.number(1, 3, 12)}, "rewind": {"to": self.number(*range(step + 2))}, "classify": {"picture": self.number("0" * 784, "f\n" * 392)},
                    "write": {"count": self.number(1, 20), "begin": self.number("", "to be", "\u0000?"), "temperature": self.number(.05, 1)},
                    "explain": {"node": self.number(0, 3), "step": step}}.get(what, {})
        return json.dumps(request)


class AskedAtRandom(unittest.TestCase):
    def ask_at_random(self, precision):
        draw, engine, again = Draw(f"{precision} 1"), Engine(ENGINES[precision]), Engine(ENGINES[precision])
        built, step, losses, begun, seen = None, 0, [], 0, {"answers": 0, "errors": 0, "stops": 0, "forks": 0}
        for number in range(SEQUENCES // 2):
            for _ in range(REQUESTS):
                line = draw.line(built, step, precision)
                answer = engine.ask(line)
                self.assertIsInstance(answer, dict, line[:300])
                seen["answers"] += 1
                seen["errors"] += "error" in answer
                if "error" in answer:
                    self.assertGreater(len(answer["error"]), 5, line[:300])
                    self.assertNotIn("std::", answer["error"], line[:300])
                    continue
                request = json.loads(line)
                if request["do"] == "build" and answer["fits"]:
                    built, step, losses = request["settings"], answer["step"], []
                    begun = step
                    seen["forks"] += "fork" in built
                if request["do"] == "build" and not answer["fits"]:
                    self.assertEqual(sum("error" in each for each in answer["blocks"]), 1, line[:300])
                if request["do"] == "steps":
                    losses += answer["losses"]
                if request["do"] == "rewind":
                    losses = losses[:answer["step"] - begun]
                if "step" in answer and built:
                    step = answer["step"]
                    self.assertEqual(step, begun + len(losses), line[:300])
                if "stopped" in answer:
                    seen["stops"] += 1
                    self.assertRegex(answer["stopped"], rf"^step {step}: \w+")
            if built:  # the net has the settings that are shown
                line = lambda request: json.dumps({"compute": "playground", **request})
                found = again.ask(line(build(built)))
                if losses:
                    found = again.ask(line(steps(len(losses))))
                    self.assertEqual(found["losses"], losses, built)
                self.assertEqual(found["accuracy"], engine.ask(line({"do": "rewind", "to": step}))["accuracy"], built)
        bytes_ = engine.most_bytes()
        print(f"{precision}: {seen}, {bytes_ / 1e6:.0f} MB", file=sys.stderr)
        self.assertLess(bytes_, MOST_BYTES)
        self.assertEqual((engine.end(), again.end()), (0, 0))
        self.assertGreater(min(seen.values()), 0)

    def test_double(self):
        self.ask_at_random("double")

    def test_float(self):
        self.ask_at_random("float")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
