#!/usr/bin/env python3
"""Writes ops.json for the rows of lab/tests/zoo/table.cpp, as the script of the same name does for operations of the engine."""

import engine_golden  # noqa: F401
import torch
from samples import any_, double, positive, write_rows  # noqa: F401 (for rows)


# Vendrov et al. 2016, eq. 5, with the right pairs on the diagonal.
def contrastive_sum(costs):
    right = costs.diagonal()
    hinges = (0.4 - costs + right[:, None]).clamp(min=0) + (0.4 - costs + right[None, :]).clamp(min=0)
    return hinges[~torch.eye(len(costs), dtype=torch.bool)].sum()


# Windows of Gaussian filters over images, filter by filter and pixel by pixel, as Gregor et al. 2015 print them.
HEIGHT, WIDTH, FILTERS = 5, 4, 3


def bank(center, stride, deviation, filters, extent):
    rows = []
    for g, d, s in zip(center, stride, deviation):
        for i in range(1, filters + 1):
            mean = g + (i - filters / 2 - 0.5) * d
            weights = torch.stack([torch.exp(-((a - mean) ** 2) / (2 * s**2)) for a in range(1, extent + 1)])
            rows.append(weights / torch.clamp(weights.sum(), min=1e-8))
    return torch.stack(rows).reshape(len(center), filters, extent)


def window(numbers):
    x, y, log_variance, log_stride, log_intensity = numbers.T
    stride = (max(HEIGHT, WIDTH) - 1) / (FILTERS - 1) * log_stride.exp()
    return torch.stack([(WIDTH + 1) / 2 * (x + 1), (HEIGHT + 1) / 2 * (y + 1), stride, (log_variance / 2).exp(),
                        log_intensity.exp()])


def banks(numbers):
    x, y, stride, deviation, intensity = window(numbers)
    return (bank(x, stride, deviation, FILTERS, WIDTH), bank(y, stride, deviation, FILTERS, HEIGHT),
            intensity[:, None, None])


def read(images, numbers):
    along_x, along_y, intensity = banks(numbers)
    return intensity * torch.einsum("bia,bac,bjc->bij", along_y, images, along_x)


def write_back(patches, numbers):
    along_x, along_y, intensity = banks(numbers)
    return torch.einsum("bia,bij,bjc->bac", along_y, patches, along_x) / intensity


write_rows(__file__, globals())
