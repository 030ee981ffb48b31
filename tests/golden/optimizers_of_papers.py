#!/usr/bin/env python3
"""Writes optimizers_of_papers.json: ten steps of optimizers on drawn gradients, in double precision. Adadelta's are
PyTorch's; the others follow the equations of their papers in NumPy.
inputs are the start and the gradients of the steps, value is the end."""

import json
import pathlib

import numpy as np
import torch

random = np.random.default_rng(4)


class Adadelta:
    """PyTorch's (Zeiler 2012)."""

    def __init__(self, w):
        self.w = torch.tensor(w, requires_grad=True)
        self.optimizer = torch.optim.Adadelta([self.w], lr=0.5, rho=0.8, eps=1e-5, weight_decay=0.01)

    def step(self, w, g):
        self.w.grad = torch.tensor(g)
        self.optimizer.step()
        return self.w.detach().numpy().copy()


class Lion:
    """Chen et al. 2023, algorithm 2."""

    def __init__(self, w):
        self.m = np.zeros_like(w)

    def step(self, w, g, rate=0.1, beta1=0.9, beta2=0.99, decay=0.1):
        c = beta1 * self.m + (1 - beta1) * g
        self.m = beta2 * self.m + (1 - beta2) * g
        return w - rate * (np.sign(c) + decay * w)


class Lamb:
    """You et al. 2020, algorithm 2, with the identity for phi."""

    def __init__(self, w):
        self.m, self.v, self.t = np.zeros_like(w), np.zeros_like(w), 0

    def step(self, w, g, rate=0.1, beta1=0.8, beta2=0.99, epsilon=1e-6, decay=0.1):
        self.t += 1
        self.m = beta1 * self.m + (1 - beta1) * g
        self.v = beta2 * self.v + (1 - beta2) * g * g
        r = (self.m / (1 - beta1**self.t)) / (np.sqrt(self.v / (1 - beta2**self.t)) + epsilon) + decay * w
        norms = np.linalg.norm(w), np.linalg.norm(r)
        return w - rate * (norms[0] / norms[1] if min(norms) > 0 else 1) * r


class Muon:
    """Jordan et al. 2024 for a matrix whose rows are inputs, or a kernel whose first axis is outputs."""

    def __init__(self, w):
        self.m = np.zeros_like(w)

    def step(self, w, g, rate=0.1, momentum=0.9, decay=0.1):
        self.m = momentum * self.m + (1 - momentum) * g
        u = momentum * self.m + (1 - momentum) * g
        u = u if u.ndim == 2 else u.reshape(len(u), -1).T
        x = u / (np.linalg.norm(u) + 1e-7)
        for _ in range(5):
            # Newton-Schulz acts on the singular values alone, so the sides do not matter.
            a = x.T @ x
            x = 3.4445 * x + x @ (-4.7750 * a + 2.0315 * a @ a)
        x *= max(1, x.shape[1] / x.shape[0]) ** 0.5
        return w * (1 - rate * decay) - rate * (x if g.ndim == 2 else x.T).reshape(w.shape)


class MuonVector:
    """AdamW (Loshchilov and Hutter 2019), at a tenth of the learning rate."""

    def __init__(self, w):
        self.m, self.v, self.t = np.zeros_like(w), np.zeros_like(w), 0

    def step(self, w, g, rate=0.01, beta1=0.9, beta2=0.95, epsilon=1e-10, decay=0.1):
        self.t += 1
        self.m = beta1 * self.m + (1 - beta1) * g
        self.v = beta2 * self.v + (1 - beta2) * g * g
        direction = (self.m / (1 - beta1**self.t)) / (np.sqrt(self.v / (1 - beta2**self.t)) + epsilon)
        return w * (1 - rate * decay) - rate * direction


def plain(array):
    return {"shape": list(array.shape), "values": array.flatten().tolist()}


golden = {}
for name, kind, shape in (("adadelta", Adadelta, (3, 5)), ("lion", Lion, (3, 5)), ("lamb", Lamb, (3, 5)),
                          ("lamb_vector", Lamb, (7,)), ("muon_wide", Muon, (3, 5)), ("muon_tall", Muon, (6, 4)),
                          ("muon_kernel", Muon, (4, 2, 3, 3)), ("muon_vector", MuonVector, (7,))):
    w = random.normal(size=shape)
    inputs = [plain(w)]
    optimizer = kind(w)
    for _ in range(10):
        g = random.normal(size=shape)
        inputs.append(plain(g))
        w = optimizer.step(w, g)
    golden[name] = {"inputs": inputs, "value": plain(w), "seed": plain(w), "gradients": []}

lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in golden.items())
path = pathlib.Path(__file__).with_name("optimizers_of_papers.json")
path.write_text("{\n" + lines + "\n}\n")
print(f"{path.name}: {len(golden)} optimizers, PyTorch {torch.__version__}, NumPy {np.__version__}")
