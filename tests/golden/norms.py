#!/usr/bin/env python3
"""Writes norms.json: PyTorch's normalization layers with gain and bias, in double precision: the value, and the
gradients of input, gain and bias. Batch normalization also in evaluation, after two steps of training."""

import torch
from torch import nn

from samples import double, plain, write

torch.manual_seed(4)


def row(layer, shape, training=True):
    layer = layer.double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    seen = []
    for _ in range(0 if training else 2):
        seen.append(torch.randn(*shape, dtype=double) * 2 + 1)
        layer(seen[-1])
    layer.train(training)
    x = torch.randn(*shape, dtype=double, requires_grad=True)
    value = layer(x)
    seed = torch.rand_like(value) + 0.5
    inputs = [x, *layer.parameters()]
    return {"inputs": [plain(i) for i in inputs + seen], "value": plain(value), "seed": plain(seed),
            "gradients": [plain(g) for g in torch.autograd.grad(value, inputs, seed)]}


rows = {
    "layer": row(nn.LayerNorm(5), (2, 3, 5)),
    "rms": row(nn.RMSNorm(5, eps=1e-6), (3, 5)),
    "batch": row(nn.BatchNorm1d(4), (6, 4)),
    "batch_evaluated": row(nn.BatchNorm1d(4), (6, 4), training=False),
    "batch_images": row(nn.BatchNorm2d(3), (2, 3, 2, 3)),
    "batch_images_evaluated": row(nn.BatchNorm2d(3), (2, 3, 2, 3), training=False),
    "instance": row(nn.InstanceNorm2d(3, affine=True), (2, 3, 2, 3)),
    "group": row(nn.GroupNorm(2, 4), (2, 4, 2, 3)),
    "group_features": row(nn.GroupNorm(2, 6), (3, 6)),
    "layer_images": row(nn.GroupNorm(1, 3), (2, 3, 2, 3)),
}
write("norms.json", rows)
