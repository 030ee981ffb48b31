#!/usr/bin/env python3
"""Writes schedules.json: the learning rates of PyTorch's schedulers, step by step, as values."""

import torch
from torch.optim import lr_scheduler

from samples import write


def rates(rate, make, steps):
    optimizer = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=rate)
    scheduler = make(optimizer)
    values = []
    for step in range(steps):
        values.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step + 1 < steps:
            scheduler.step()
    return values


rows = {
    "one_cycle": rates(1, lambda o: lr_scheduler.OneCycleLR(o, max_lr=0.5, total_steps=20), 20),
    "one_cycle_options": rates(1, lambda o: lr_scheduler.OneCycleLR(
        o, max_lr=0.5, total_steps=13, pct_start=0.5, div_factor=10, final_div_factor=100), 13),
    "sequential": rates(0.5, lambda o: lr_scheduler.SequentialLR(
        o, [lr_scheduler.ConstantLR(o, factor=1), lr_scheduler.ExponentialLR(o, 0.9),
            lr_scheduler.StepLR(o, 3, 0.1)], [4, 9]), 15),
}
write("schedules.json", {
    name: {"inputs": [], "value": {"shape": [len(values)], "values": values}, "seed": {"shape": [0], "values": []},
           "gradients": []} for name, values in rows.items()})
