#!/usr/bin/env python3
"""Writes optimizers.json: for each `check_steps` in tests/nn/optimizers/*_test.cpp ten steps on drawn gradients, in
double precision, of PyTorch's optimizer or of one that follows the equations of its paper.
inputs are the start and the gradients of the steps, value is the end."""

import pathlib
import re
import zlib

import torch

from samples import double, plain, write
from table import TEXT, joined


class OfPaper:
    """An optimizer given by its equations: `moved` returns the weight after a step."""

    def __init__(self, weights, **options):
        self.w, self.options, self.t = weights[0], options, 0
        self.m, self.v = torch.zeros_like(self.w), torch.zeros_like(self.w)

    def step(self):
        self.t += 1
        with torch.no_grad():
            self.w.copy_(self.moved(self.w, self.w.grad, **self.options))

    def adam(self, g, betas, eps):
        """The direction of Adam (Kingma and Ba 2015, algorithm 1)."""
        self.m = betas[0] * self.m + (1 - betas[0]) * g
        self.v = betas[1] * self.v + (1 - betas[1]) * g * g
        return (self.m / (1 - betas[0]**self.t)) / ((self.v / (1 - betas[1]**self.t)).sqrt() + eps)


class Lion(OfPaper):
    """Chen et al. 2023, algorithm 2."""

    def moved(self, w, g, lr, weight_decay, betas=(0.9, 0.99)):
        c = betas[0] * self.m + (1 - betas[0]) * g
        self.m = betas[1] * self.m + (1 - betas[1]) * g
        return w - lr * (c.sign() + weight_decay * w)


class Lamb(OfPaper):
    """You et al. 2020, algorithm 2, with the identity for phi."""

    def moved(self, w, g, lr, betas, weight_decay, eps=1e-6):
        r = self.adam(g, betas, eps) + weight_decay * w
        norms = w.norm(), r.norm()
        return w - lr * (norms[0] / norms[1] if min(norms) > 0 else 1) * r


class Muon(OfPaper):
    """Jordan et al. 2024 for a matrix whose rows are inputs, or a kernel whose first axis is outputs."""

    def moved(self, w, g, lr, momentum, weight_decay):
        self.m = momentum * self.m + (1 - momentum) * g
        u = momentum * self.m + (1 - momentum) * g
        u = u if u.ndim == 2 else u.reshape(len(u), -1).T
        x = u / (u.norm() + 1e-7)
        for _ in range(5):
            # Newton-Schulz acts on the singular values alone, so the sides do not matter.
            a = x.T @ x
            x = 3.4445 * x + x @ (-4.7750 * a + 2.0315 * a @ a)
        x = x * max(1, x.shape[1] / x.shape[0]) ** 0.5
        return w * (1 - lr * weight_decay) - lr * (x if g.ndim == 2 else x.T).reshape(w.shape)


def steps(expression, shape):
    torch.manual_seed(zlib.crc32(f"{expression} of {shape}".encode()))
    w = torch.randn(eval(f"({shape},)"), dtype=double, requires_grad=True)
    inputs = [plain(w)]
    optimizer = eval(expression, globals(), {"w": [w]})
    for _ in range(10):
        w.grad = torch.randn_like(w)
        inputs.append(plain(w.grad))
        optimizer.step()
    return {"inputs": inputs, "value": plain(w), "seed": plain(w), "gradients": []}


if __name__ == "__main__":
    tests = sorted((pathlib.Path(__file__).parents[1] / "nn/optimizers").glob("*_test.cpp"))
    rows = [(joined(expression), shape) for test in tests
            for expression, shape in re.findall(rf'check_steps\({TEXT},\s*"([\d, ]+)"', test.read_text())]
    write("optimizers.json", {f"{expression} of {shape}": steps(expression, shape) for expression, shape in rows})
