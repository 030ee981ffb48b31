"""What these scripts share: random inputs, what PyTorch finds for them, and the files that the tests read."""

import json
import pathlib
import sys
import zlib

import torch
from table import rows_of

double = torch.float64


def away(*shape, low=-2.0, high=2.0, gap=0.15, around=(0.0,)):
    """Random numbers that keep a distance from the kinks of a function."""
    x = torch.rand(*shape, dtype=double) * (high - low) + low
    for kink in around:
        near = (x - kink).abs() < gap
        x = torch.where(near, kink + gap * torch.where(x < kink, -1.0, 1.0) * 1.5, x)
    return x


def spread(*shape, step=0.25):
    """Distinct numbers, at least `step` apart, in random order: no ties, no near ties."""
    count = torch.Size(shape).numel()
    order = torch.randperm(count).to(double)
    return ((order - count / 2) * step).reshape(shape)


def positive(*shape):
    return away(*shape, low=0.3, high=3.0, around=())


def any_(*shape):
    return away(*shape, around=())


def plain(tensor):
    return {"shape": list(tensor.shape), "values": tensor.detach().flatten().tolist()}


def found_for(rows):
    """For each row, a name with a function and what draws its inputs: the inputs, the value and the gradients. The name
    is the seed, so that rows do not depend on each other."""
    golden = {}
    for name, (function, draw) in rows.items():
        torch.manual_seed(zlib.crc32(name.encode()))
        inputs = [x.to(double).requires_grad_() for x in draw()]
        value = function(*inputs)
        seed = torch.rand_like(value) + 0.5
        gradients = torch.autograd.grad(value, inputs, seed)
        golden[name] = {
            "inputs": [plain(x) for x in inputs],
            "value": plain(value),
            "seed": plain(seed),
            "gradients": [plain(g) for g in gradients],
        }
    return golden


def write(name, golden):
    lines = ",\n".join(f"{json.dumps(row)}: {json.dumps(values)}" for row, values in golden.items())
    path = pathlib.Path(sys.argv[0]).resolve().with_name(name)  # beside the script that found them
    path.write_text("{\n" + lines + "\n}\n")
    print(f"{path.name}: {len(golden)} rows, PyTorch {torch.__version__}")


def write_rows(script, names):
    """Writes ops.json beside the script, for the rows of the tables of its project. What a row computes is an expression
    of its inputs a, b, ..., which sees the names."""
    described = rows_of(pathlib.Path(script).resolve().parents[2])

    def function(expression):
        code = compile(expression, expression, "eval")
        return lambda *inputs: eval(code, names, dict(zip("abcdefgh", inputs)))

    def drawing(inputs):
        return lambda: eval(f"[{inputs}]", names)

    golden = found_for({name: (function(torch_), drawing(inputs)) for name, (torch_, inputs) in described.items()})
    write("ops.json", {name: {"torch": " of ".join(described[name])} | values for name, values in golden.items()})
