"""What these scripts share: random inputs, what PyTorch finds for them, and the files that the tests read."""

import json
import pathlib
import zlib

import torch

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
    path = pathlib.Path(__file__).with_name(name)
    path.write_text("{\n" + lines + "\n}\n")
    print(f"{path.name}: {len(golden)} rows, PyTorch {torch.__version__}")
