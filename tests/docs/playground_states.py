"""Settings of nets of the playground, by name, and its requests."""

import json
import subprocess

POINTS = {"kind": "points", "set": "spirals", "count": 200, "noise": .05}
DIGITS = {"kind": "digits", "count": 100}
TEXT = {"kind": "text", "set": "grammar", "count": 100, "length": 12, "channels": 8}
TRAINING = {"split": .8, "init": "default", "seed": 1, "batch": 16, "optimizer": "adam", "rate": .01, "schedule": "constant", "steps": 200, "clip": 0}


def block(kind, **settings):
    return {"block": kind, **settings}


def linear(out):
    return block("linear", out=out)


def norm(name="layer"):
    return block("norm", norm=name)


def activation(name="relu"):
    return block("activation", name=name)


def state(data, *net, **settings):
    return {**TRAINING, "data": data, "net": list(net), **settings}


def fork(of, at, **settings):
    return {**of, **settings, "fork": {"at": at, "of": of}}


DROPOUT = state({**POINTS, "set": "xor"}, linear(16), norm("batch"), activation("gelu"), block("dropout", rate=.2), linear(8), norm("weight"), activation("tanh"),
                optimizer="adamw", schedule="cosine", seed=7)
OWN_TEXT = 'Fern\u00e4 "quoted" \\ and ??= so on.\n' * 30
STATES = {
    "no block": state({"kind": "points", "set": "own", "points": [[0, 0, 0], [1, 0, 1], [0, 1, 1], [1, 1, 0], [.5, .5, 0]]}, optimizer="sgd", rate=.5),
    "residual": state(POINTS, linear(16), block("residual", over=3), norm("rms"), activation("silu"), linear(16), block("residual", over=3), norm("ada"),
                      block("residual", over=1), activation("elu"), init="orthogonal", clip=.5, optimizer="nesterov"),
    "dropout and batch": DROPOUT,
    "circles, detached": state({**POINTS, "set": "circles"}, linear(8), norm("detach_mean:forward=identity"), activation("softplus"), optimizer="momentum", init="he"),
    "digits": state(DIGITS, block("convolution", out=4, size=3), norm("group"), activation("leaky_relu"), block("pool", size=4), linear(16), activation("sigmoid"),
                    optimizer="rmsprop", init="xavier"),
    "lstm": state(TEXT, block("recurrent", cell="lstm", out=12, norm="layer"), schedule="one_cycle"),
    "gru": state(TEXT, block("recurrent", cell="gru", out=12, norm="none"), optimizer="lion", rate=.001),
    "rnn on own text": state({**TEXT, "set": "own", "text": OWN_TEXT}, block("recurrent", cell="rnn", out=8, norm="rms"), optimizer="adagrad", schedule="step"),
    "transformer": state(TEXT, block("attention", heads=2, norm="layer", placement="pre"), block("attention", heads=2, norm="rms", placement="post"),
                         norm(), optimizer="muon", rate=.02, schedule="warmup"),
    "fork": fork(DROPOUT, 20, rate=.001, batch=8),
    "fork with another net": fork(DROPOUT, 15, net=[linear(16), norm("rms"), activation("gelu"), linear(16), block("dropout", rate=.2), linear(8), norm("weight"),
                                                    activation("tanh")]),
    "fork with another optimizer": fork(fork(DROPOUT, 10, optimizer="lamb"), 30, optimizer="adadelta", rate=1),
}


def ask(live, *requests):
    """The answers of the native program."""
    lines = "".join(json.dumps({"compute": "playground", **request}) + "\n" for request in requests)
    done = subprocess.run([live], input=lines, check=True, capture_output=True, text=True)
    return [json.loads(line) for line in done.stdout.splitlines()]


def build(settings):
    return {"do": "build", "settings": settings}


def steps(count):
    return {"do": "steps", "count": count}
