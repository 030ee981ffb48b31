#!/usr/bin/env python3
"""Writes centering.json: ten steps of PyTorch's optimizers on drawn gradients that are centered as in the reference code
of Yong et al. 2020, or with weights that are centered after each step, in double precision. PyTorch's weights are
(out, in, ...); weights of a linear layer are written as (in, out). inputs are the start and the gradients of the steps,
value is the end."""

import torch

import samples

torch.manual_seed(6)
optimizers = {
    "sgd": lambda w: torch.optim.SGD(w, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adamw": lambda w: torch.optim.AdamW(w, lr=0.1, betas=(0.9, 0.99), weight_decay=0.1),
}
shapes = {"linear": (5, 3), "filters": (3, 2, 2, 2)}


def center(x, over):
    axes = tuple(range(1, x.dim())) if over == "inputs" else 0
    x.add_(-x.mean(dim=axes, keepdim=True))


def plain(tensor):
    return samples.plain(tensor.T if tensor.dim() == 2 else tensor)


def row(make, shape, what, over):
    w = torch.randn(shape, dtype=torch.float64, requires_grad=True)
    inputs = [plain(w)]
    optimizer = make([w])
    for _ in range(10):
        w.grad = torch.randn_like(w)
        inputs.append(plain(w.grad))
        if what == "gradients":
            center(w.grad, over)
        optimizer.step()
        if what == "weights":
            center(w.data, over)
    return {"inputs": inputs, "value": plain(w), "seed": plain(w), "gradients": []}


golden = {f"{name}_{layer}_{what}_{over}": row(make, shape, what, over)
          for name, make in optimizers.items() for layer, shape in shapes.items()
          for what in ("gradients", "weights") for over in ("inputs", "outputs")}

samples.write("centering.json", golden)
