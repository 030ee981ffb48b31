#!/usr/bin/env python3
"""Writes ops.json: for each row of tests/*/*table.cpp inputs, and the value and the gradients that PyTorch finds for them
in double precision. Run it with PyTorch installed; the tests read the committed file.

What a row computes is an expression of its inputs a, b, ..., which sees everything here."""

import torch
import torch.nn.functional as F

from samples import any_, away, double, positive, spread, write_rows  # noqa: F401 (for rows)

ids = torch.tensor([[2, 0], [1, 2]])
labels = torch.tensor([1, 0, 3])
with_ignored = torch.tensor([1, -100, 3])
weight = torch.tensor([0.5, 2.0, 1.0, 0.25], dtype=double)
positive_weight = torch.tensor([2.0, 0.5, 3.0], dtype=double)
columns = torch.tensor([[0, 2, 1], [3, 3, 0]])
first_and_last = torch.tensor([True, False, True])
sides = torch.tensor([1, -1, 1, -1])
with_zeros = torch.tensor([[1.5, 0.0, -0.7, 2.0], [0.4, 0.0, 0.0, -1.2], [0.6, -1.1, 0.9, 1.3]], dtype=double)
mask_and_bias = (torch.tensor([[0.0, 1, 2, 3], [1, -1, 0, 0.5]], dtype=double).reshape(2, 1, 4)
                 + torch.tensor([[0, 0, -torch.inf, 0], [-torch.inf, 0, 0, -torch.inf]]).reshape(2, 1, 1, 4))


def deviation(x):
    return torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5)


def grouped_detached(x):
    groups = x.reshape(2, 2, -1)
    variance = groups.var(-1, keepdim=True, unbiased=False)
    return ((groups - groups.mean(-1, keepdim=True)) / torch.sqrt(variance + 1e-5).detach()).reshape(x.shape)


def two_fields(x):
    centered = x - x.mean(1, keepdim=True)
    return centered / torch.sqrt((centered * centered).mean((2, 3), keepdim=True) + 1e-5)


def box_mean(x):
    """The mean over all channels and the 3 x 3 positions around each, as far as they exist."""
    sums = F.conv2d(x, torch.ones(1, x.shape[1], 3, 3, dtype=double), padding=1)
    return sums / F.conv2d(torch.ones_like(x), torch.ones(1, x.shape[1], 3, 3, dtype=double), padding=1)


def windowed(x):
    centered = x - box_mean(x)
    return centered / torch.sqrt(box_mean(centered * centered) + 1e-5)


def smoothed(x, s):
    return (x - x.mean(-1, keepdim=True)) / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + s * s)


def attention(q, k, v, heads, **options):
    def split(x):
        return x.reshape(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)

    y = F.scaled_dot_product_attention(split(q), split(k), split(v), **options)
    return y.transpose(1, 2).reshape(q.shape)


def rotary(x, heads, first):
    pairs = torch.view_as_complex(x.reshape(x.shape[0], x.shape[1], heads, -1, 2))
    frequencies = 1e4 ** -(torch.arange(pairs.shape[-1], dtype=double) / pairs.shape[-1])
    angles = torch.outer(torch.arange(first, first + x.shape[1], dtype=double), frequencies)
    turns = torch.polar(torch.ones_like(angles), angles)
    return torch.view_as_real(pairs * turns[:, None, :]).reshape(x.shape)


def relative_shift(x):
    rows = x.shape[-2]
    padded = F.pad(x, (1, 0))
    return padded.reshape(*x.shape[:-2], x.shape[-1] + 1, rows)[..., 1:, :].reshape(x.shape)


def normalized_parts(x, sizes):
    return torch.cat([F.layer_norm(part, (part.shape[-1],)) for part in torch.split(x, sizes, -1)], -1)


def recurrent(cell, inputs, weight, h, c=None, norm=None, cell_norm=None, parts=None, over_sum=False, lengths=None):
    """Outputs, last h and (lstm) last c, one after another along the steps."""
    size = weight.shape[0]

    def normalized(x, affine, sizes=None):
        if affine is None:
            return x
        return normalized_parts(x, sizes or (x.shape[-1],)) * affine[0] + affine[1]

    outputs = []
    for t, x in enumerate(inputs):
        product = h @ weight
        if over_sum:
            total = normalized(x + product, norm)
        elif not cell.startswith("gru"):
            total = x + normalized(product, norm)
        new_c = None
        if cell == "lstm":
            i, f, g, o = torch.split(total, size, -1)
            new_c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            new_h = torch.sigmoid(o) * torch.tanh(normalized(new_c, cell_norm))
        elif cell == "gru":
            product = normalized(product, norm, parts)
            r, z = torch.split(torch.sigmoid(x[:, :2 * size] + product[:, :2 * size]), size, -1)
            n = torch.tanh(x[:, 2 * size:] + r * product[:, 2 * size:])
            new_h = (1 - z) * n + z * h
        elif cell == "gru_reset_first":
            r, z = torch.split(torch.sigmoid(x[:, :2 * size] + product[:, :2 * size]), size, -1)
            n = torch.tanh(x[:, 2 * size:] + (r * h) @ weight[:, 2 * size:])
            new_h = (1 - z) * n + z * h
        else:
            new_h = getattr(torch, cell)(total)
        if lengths is not None:
            mask = torch.tensor([[float(t < length)] for length in lengths], dtype=double)
            new_h = mask * new_h + (1 - mask) * h
            new_c = mask * new_c + (1 - mask) * c if new_c is not None else None
        h, c = new_h, new_c
        outputs.append(h)
    return torch.stack(outputs + [h] + ([c] if c is not None else []))


# Repeated labels, an empty target, a short input; in "ctc_infinite" the second target does not fit its input.
def ctc(x, lengths=(6, 5, 4), target_lengths=(3, 2, 0), blank=0, **options):
    targets = torch.tensor([[1, 1, 2], [3, 1, 3], [2, 2, 2]])
    return F.ctc_loss(F.log_softmax(x, -1), targets, torch.tensor(lengths), torch.tensor(target_lengths), blank,
                      **options)


def kl(mean, log_deviation):
    normal = torch.distributions.Normal
    return torch.distributions.kl_divergence(normal(mean, log_deviation.exp()), normal(0.0, 1.0)).sum(-1)


write_rows(__file__, globals())
