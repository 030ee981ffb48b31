#!/usr/bin/env python3
"""Writes optimizers.json: ten steps of PyTorch's optimizers on drawn gradients, in double precision.
inputs are the start and the gradients of the steps, value is the end."""

import json
import pathlib

import torch

torch.manual_seed(2)
make = {
    "sgd": lambda w: torch.optim.SGD(w, lr=0.1, weight_decay=0.01),
    "sgd_momentum": lambda w: torch.optim.SGD(w, lr=0.1, momentum=0.9),
    "sgd_nesterov": lambda w: torch.optim.SGD(w, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.01),
    "adam": lambda w: torch.optim.Adam(w, lr=0.1, betas=(0.8, 0.999), weight_decay=0.01),
    "adamw": lambda w: torch.optim.AdamW(w, lr=0.1, betas=(0.9, 0.99), weight_decay=0.1),
    "rmsprop": lambda w: torch.optim.RMSprop(w, lr=0.1, momentum=0.5, weight_decay=0.01),
    "adagrad": lambda w: torch.optim.Adagrad(w, lr=0.1, lr_decay=0.05, weight_decay=0.01),
}


def plain(tensor):
    return {"shape": list(tensor.shape), "values": tensor.detach().flatten().tolist()}


golden = {}
for name, optimizer_of in make.items():
    w = torch.randn(3, 5, dtype=torch.float64, requires_grad=True)
    inputs = [plain(w)]
    optimizer = optimizer_of([w])
    for _ in range(10):
        w.grad = torch.randn_like(w)
        inputs.append(plain(w.grad))
        optimizer.step()
    golden[name] = {"inputs": inputs, "value": plain(w), "seed": plain(w), "gradients": []}

lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(row)}" for name, row in golden.items())
path = pathlib.Path(__file__).with_name("optimizers.json")
path.write_text("{\n" + lines + "\n}\n")
print(f"{path.name}: {len(golden)} optimizers, PyTorch {torch.__version__}")
