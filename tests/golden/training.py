#!/usr/bin/env python3
"""Writes training.json: PyTorch's learning rate schedulers over 30 steps from a rate of 0.5, and its clipping of
gradients. For schedules value holds the rates; for clipping the inputs are gradients, as the gradients after it."""

import torch
from torch.optim import lr_scheduler

from samples import plain, write

torch.manual_seed(5)
schedulers = {
    "constant": lambda o: lr_scheduler.ConstantLR(o, factor=1.0),
    "cosine": lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=20, eta_min=0.1),
    "step": lambda o: lr_scheduler.StepLR(o, step_size=7, gamma=0.3),
    "exponential": lambda o: lr_scheduler.ExponentialLR(o, gamma=0.9),
}
clippings = {
    "clip_by_global_norm": lambda w: torch.nn.utils.clip_grad_norm_(w, 1.5),
    "clip_by_value": lambda w: torch.nn.utils.clip_grad_value_(w, 0.3),
}


def rates(make):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.5)
    scheduler = make(optimizer)
    found = []
    for _ in range(20 if make is schedulers["cosine"] else 30):  # PyTorch's cosine rises again
        found.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()
    return torch.tensor(found, dtype=torch.float64)


rows = {}
for name, make in schedulers.items():
    value = plain(rates(make))
    rows[name] = {"inputs": [], "value": value, "seed": value, "gradients": []}
for name, clip in clippings.items():
    weights = [torch.nn.Parameter(torch.zeros(*shape, dtype=torch.float64)) for shape in ((3, 2), (4,))]
    for weight in weights:
        weight.grad = torch.randn_like(weight)
    before = [plain(weight.grad) for weight in weights]
    norm = torch.cat([weight.grad.flatten() for weight in weights]).norm()
    clip(weights)
    rows[name] = {"inputs": before, "value": plain(norm), "seed": plain(norm),
                  "gradients": [plain(weight.grad) for weight in weights]}
write("training.json", rows)
