#!/usr/bin/env python3
"""Writes ops.json: for each operation inputs, the value and the gradients that PyTorch finds for
them in double precision. Run it with PyTorch installed; the tests read the committed file."""

import torch
import torch.nn.functional as F

from samples import any_, away, double, found_for, positive, spread, write


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


def recurrent(cell, inputs, weight, h, c=None, norm=None, cell_norm=None, parts=None, over_sum=False, lengths=None):
    """Outputs, last h and (lstm) last c, one after another along the steps."""
    size = weight.shape[0]

    def normalized(x, affine, pieces=None):
        if affine is None:
            return x
        pieces = pieces or (x.shape[-1],)
        rows = torch.cat([F.layer_norm(p, (p.shape[-1],)) for p in torch.split(x, pieces, -1)], -1)
        return rows * affine[0] + affine[1]

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


pad_idx = torch.tensor([[2, 0], [1, 2]])
labels = torch.tensor([1, 0, 3])
columns = torch.tensor([[0, 2, 1], [3, 3, 0]])
with_zeros = torch.tensor([[1.5, 0.0, -0.7, 2.0], [0.4, 0.0, 0.0, -1.2], [0.6, -1.1, 0.9, 1.3]], dtype=double)


def x23():
    return any_(2, 3)


# name: (function, what draws its inputs)
rows = {
    "add": (lambda a, b: a + b, lambda: [any_(2, 1, 3), any_(4, 1)]),
    "sub": (lambda a, b: a - b, lambda: [any_(3), any_(2, 3)]),
    "mul": (lambda a, b: a * b, lambda: [any_(2, 3), any_(2, 1)]),
    "div": (lambda a, b: a / b, lambda: [any_(2, 3), away(3)]),
    "pow": (torch.pow, lambda: [positive(2, 3), any_(3)]),
    "minimum": (torch.minimum, lambda: [spread(2, 3), spread(2, 3) + 0.1]),
    "maximum": (torch.maximum, lambda: [spread(2, 3), spread(2, 3) + 0.1]),
    "neg": (torch.neg, lambda: [x23()]),
    "abs": (torch.abs, lambda: [away(2, 3)]),
    "sign": (torch.sign, lambda: [away(2, 3)]),
    "exp": (torch.exp, lambda: [x23()]),
    "expm1": (torch.expm1, lambda: [x23()]),
    "log": (torch.log, lambda: [positive(2, 3)]),
    "log1p": (torch.log1p, lambda: [positive(2, 3) - 0.5]),
    "sqrt": (torch.sqrt, lambda: [positive(2, 3)]),
    "rsqrt": (torch.rsqrt, lambda: [positive(2, 3)]),
    "square": (torch.square, lambda: [x23()]),
    "reciprocal": (torch.reciprocal, lambda: [away(2, 3, gap=0.4)]),
    "sin": (torch.sin, lambda: [x23()]),
    "cos": (torch.cos, lambda: [x23()]),
    "tanh": (torch.tanh, lambda: [x23()]),
    "erf": (torch.erf, lambda: [x23()]),
    "sigmoid": (torch.sigmoid, lambda: [x23()]),
    "relu": (torch.relu, lambda: [away(2, 3)]),
    "leaky_relu": (lambda x: F.leaky_relu(x, 0.2), lambda: [away(2, 3)]),
    "elu": (lambda x: F.elu(x, 0.7), lambda: [away(2, 3)]),
    "gelu": (F.gelu, lambda: [x23()]),
    "gelu_tanh": (lambda x: F.gelu(x, approximate="tanh"), lambda: [x23()]),
    "silu": (F.silu, lambda: [x23()]),
    "softplus": (F.softplus, lambda: [x23()]),
    "clamp": (lambda x: torch.clamp(x, -0.5, 1.0), lambda: [away(3, 4, around=(-0.5, 1.0))]),
    "where": (lambda a, b: torch.where(torch.tensor([True, False, True]), a, b), lambda: [x23(), any_(2, 1)]),
    "masked_fill": (lambda x: x.masked_fill(torch.tensor([True, False, True]), -7.0), lambda: [x23()]),
    "sum": (lambda x: x.sum((0, 2)), lambda: [any_(2, 3, 4)]),
    "mean": (lambda x: x.mean(1, keepdim=True), lambda: [any_(2, 3, 4)]),
    "var": (lambda x: x.var((1, 2), unbiased=False), lambda: [any_(2, 3, 4)]),
    "var_unbiased": (lambda x: x.var(1, unbiased=True), lambda: [any_(2, 3, 4)]),
    "stddev": (lambda x: x.std(0, unbiased=True), lambda: [any_(3, 4)]),
    "norm": (lambda x: torch.linalg.vector_norm(x, dim=1), lambda: [any_(2, 3, 4)]),
    "max": (lambda x: x.amax((0, 2)), lambda: [spread(2, 3, 4)]),
    "min": (lambda x: x.amin(1), lambda: [spread(2, 3, 4)]),
    "logsumexp": (lambda x: torch.logsumexp(x, (0, 2)), lambda: [any_(2, 3, 4)]),
    "sum_to": (lambda x: x.sum(0).sum(1, keepdim=True), lambda: [any_(2, 3, 4)]),
    "reshape": (lambda x: x.reshape(4, -1), lambda: [any_(2, 3, 2)]),
    "permute": (lambda x: x.permute(2, 0, 1), lambda: [any_(2, 3, 4)]),
    "transpose": (lambda x: x.transpose(0, 2), lambda: [any_(2, 3, 4)]),
    "slice": (lambda x: x[:, 1:4:2], lambda: [any_(2, 5, 3)]),
    "select": (lambda x: x[:, -1], lambda: [any_(2, 5, 3)]),
    "concat": (lambda a, b: torch.cat([a, b, a], 1), lambda: [any_(2, 3), any_(2, 1)]),
    "stack": (lambda a, b: torch.stack([a, b], 1), lambda: [any_(2, 3), any_(2, 3)]),
    "split": (lambda x: torch.split(x, [1, 3], 1)[1], lambda: [any_(2, 4)]),
    "broadcast_to": (lambda x: x.broadcast_to(4, 2, 3), lambda: [any_(2, 1)]),
    "pad": (lambda x: F.pad(x, (1, 0, 0, 2), value=0.5), lambda: [any_(2, 3)]),
    "tril": (lambda x: torch.tril(x, -1), lambda: [any_(2, 3, 4)]),
    "triu": (lambda x: torch.triu(x, 1), lambda: [any_(3, 4)]),
    "matmul": (torch.matmul, lambda: [any_(2, 3), any_(3, 4)]),
    "matmul_batched": (torch.matmul, lambda: [any_(2, 1, 3, 2), any_(3, 2, 2)]),
    "matmul_transposed": (lambda a, b: a.mT @ b.mT, lambda: [any_(2, 3, 2), any_(2, 4, 3)]),
    "matmul_rows": (lambda a, b: a @ b.mT, lambda: [any_(2, 3, 4), any_(5, 4)]),
    "outer": (torch.outer, lambda: [any_(3), any_(2)]),
    "embedding": (lambda t: F.embedding(pad_idx, t), lambda: [any_(3, 2)]),
    "gather": (lambda x: torch.gather(x, 1, columns), lambda: [any_(2, 4)]),
    "scatter_add": (lambda x: torch.zeros(2, 4, dtype=double).scatter_add(1, columns, x), lambda: [any_(2, 3)]),
    "pick": (lambda x: x[torch.arange(3), labels], lambda: [any_(3, 4)]),
    "take": (lambda x: torch.take(x, columns), lambda: [any_(2, 4)]),
    "put": (lambda x: torch.zeros(8, dtype=double).index_add(0, columns.flatten(), x.flatten()).reshape(2, 4),
            lambda: [any_(2, 3)]),
    "conv2d": (F.conv2d, lambda: [any_(2, 2, 4, 5), any_(3, 2, 3, 2)]),
    "conv2d_strided": (lambda x, w: F.conv2d(x, w, stride=2, padding=1), lambda: [any_(2, 2, 5, 4), any_(3, 2, 3, 2)]),
    "max_pool2d": (lambda x: F.max_pool2d(x, 2), lambda: [spread(2, 1, 4, 5)]),
    "max_pool2d_padded": (lambda x: F.max_pool2d(x, 3, 2, 1), lambda: [spread(1, 2, 5, 4)]),
    "avg_pool2d": (lambda x: F.avg_pool2d(x, 3, 2, 1), lambda: [any_(2, 2, 5, 4)]),
    "softmax": (lambda x: F.softmax(x, -1), lambda: [any_(2, 3)]),
    "softmax_middle": (lambda x: F.softmax(x, 1), lambda: [any_(2, 3, 2)]),
    "log_softmax": (lambda x: F.log_softmax(x, -1), lambda: [any_(2, 5)]),
    "layer_norm": (lambda x: F.layer_norm(x, (5,), eps=1e-5), lambda: [any_(3, 5)]),
    "layer_norm_detached_mean": (
        lambda x: (x - x.mean(-1, keepdim=True).detach())
        / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5), lambda: [any_(3, 5)]),
    "layer_norm_detached_scale": (
        lambda x: (x - x.mean(-1, keepdim=True))
        / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5).detach(), lambda: [any_(3, 5)]),
    "layer_norm_detached": (
        lambda x: (x - x.mean(-1, keepdim=True).detach())
        / torch.sqrt(x.var(-1, keepdim=True, unbiased=False) + 1e-5).detach(), lambda: [any_(3, 5)]),
    "layer_norm_outside": (
        lambda x: (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 0.1), lambda: [any_(3, 5)]),
    "rms_norm": (lambda x: F.rms_norm(x, (5,), eps=1e-6), lambda: [any_(3, 5)]),
    "rms_norm_outside": (lambda x: x / (torch.sqrt((x * x).mean(-1, keepdim=True)) + 1e-5), lambda: [any_(3, 5)]),
    "rms_norm_partial": (
        lambda x: x / torch.sqrt((x[:, :2] ** 2).mean(-1, keepdim=True) + 1e-5), lambda: [any_(3, 5)]),
    "normalize_batch": (lambda x: F.batch_norm(x, None, None, training=True), lambda: [any_(3, 2, 2, 3)]),
    "normalize_instance": (lambda x: F.instance_norm(x), lambda: [any_(2, 3, 2, 3)]),
    "normalize_groups": (lambda x: F.group_norm(x, 2), lambda: [any_(2, 4, 2, 3)]),
    "normalize_detached": (lambda x: grouped_detached(x), lambda: [any_(2, 4, 2, 3)]),
    "normalize_two_fields": (lambda x: two_fields(x), lambda: [any_(2, 4, 2, 3)]),
    "normalize_window": (lambda x: windowed(x), lambda: [any_(2, 3, 3, 4)]),
    "normalize": (lambda x, s: smoothed(x, s), lambda: [any_(3, 5), positive(1)]),
    "ada_scale": (lambda y: 2 * (1 - 0.1 * y) * y, lambda: [any_(3, 5)]),
    "ada_scale_detached": (lambda y: (1 - 0.1 * y).detach() * y, lambda: [any_(3, 5)]),
    "centered_l1": (lambda x: (x - x.mean(-1, keepdim=True)).abs().mean(), lambda: [spread(3, 4, step=0.37)]),
    "divisive_norm": (
        lambda x, u, w: (x @ u.T) / torch.sqrt(1 + (x * x) @ (w * w).T), lambda: [away(2, 3), any_(3, 3), any_(3, 3)]),
    "divisive_norm_cubic": (
        lambda x, u, w: (x @ u.T) / (0.49 + x.abs() ** 3 @ (w * w).T) ** (1 / 3),
        lambda: [away(2, 3), any_(3, 3), any_(3, 3)]),
    "weight_norm": (lambda v, g: torch._weight_norm(v, g, 1), lambda: [any_(4, 3), any_(1, 3)]),
    "attention": (lambda q, k, v: attention(q, k, v, 1), lambda: [any_(2, 3, 2), any_(2, 4, 2), any_(2, 4, 2)]),
    "attention_causal": (
        lambda q, k, v: attention(q, k, v, 2, attn_mask=torch.ones(3, 4).tril(1).bool()),
        lambda: [any_(2, 3, 4), any_(2, 4, 4), any_(2, 4, 4)]),
    "attention_masked": (
        lambda q, k, v: attention(
            q, k, v, 2, scale=0.3,
            attn_mask=torch.tensor([[0.0, 1, 2, 3], [1, -1, 0, 0.5]], dtype=double).reshape(2, 1, 4)
            + torch.tensor([[0, 0, -torch.inf, 0], [-torch.inf, 0, 0, -torch.inf]]).reshape(2, 1, 1, 4)),
        lambda: [any_(2, 3, 4), any_(2, 4, 4), any_(2, 4, 4)]),
    "attention_bias": (
        lambda q, k, v, b: attention(q, k, v, 2, attn_mask=b),
        lambda: [any_(2, 3, 4), any_(2, 4, 4), any_(2, 4, 4), any_(2, 3, 4)]),
    "self_attention": (
        lambda x: attention(*torch.split(x, 4, -1), 2, is_causal=True), lambda: [any_(2, 3, 12)]),
    "rotary": (lambda x: rotary(x, 2, 3), lambda: [any_(2, 3, 8)]),
    "relative_shift": (lambda x: relative_shift(x), lambda: [any_(2, 3, 4)]),
    "recurrent": (lambda x, w, h: recurrent("tanh", x, w, h), lambda: [any_(3, 3, 2), any_(2, 2), any_(3, 2)]),
    "recurrent_relu_lengths": (
        lambda x, w, h: recurrent("relu", x, w, h, lengths=(1, 3, 2)), lambda: [any_(3, 3, 2), any_(2, 2), any_(3, 2)]),
    "recurrent_rnn_norm": (
        lambda x, w, h, a, b: recurrent("tanh", x, w, h, norm=(a, b), over_sum=True),
        lambda: [any_(3, 2, 4) * 2, any_(4, 4), any_(2, 4), any_(4) / 2, any_(4) / 2]),
    "recurrent_lstm": (
        lambda x, w, h, c: recurrent("lstm", x, w, h, c), lambda: [any_(3, 3, 8), any_(2, 8), any_(3, 2), any_(3, 2)]),
    "recurrent_lstm_norm": (
        lambda x, w, h, c, a, b, ac, bc: recurrent(
            "lstm", x, w, h, c, norm=(a, b), cell_norm=(ac, bc), lengths=(2, 1, 2)),
        lambda: [any_(2, 3, 16), any_(4, 16), any_(3, 4) * 2, any_(3, 4) * 3, any_(16) / 2, any_(16) / 2, any_(4) / 2,
                 any_(4) / 2]),
    "recurrent_gru": (lambda x, w, h: recurrent("gru", x, w, h), lambda: [any_(3, 3, 6), any_(2, 6), any_(3, 2)]),
    "recurrent_gru_norm": (
        lambda x, w, h, a, b: recurrent("gru", x, w, h, norm=(a, b), parts=(4, 2)),
        lambda: [any_(3, 3, 6), any_(2, 6), any_(3, 2), any_(6), any_(6)]),
    "recurrent_gru_reset_first": (
        lambda x, w, h: recurrent("gru_reset_first", x, w, h), lambda: [any_(3, 3, 6), any_(2, 6), any_(3, 2)]),
    "cumsum": (lambda x: torch.cumsum(x, -1), lambda: [any_(2, 3, 4)]),
    "cumsum_middle": (lambda x: torch.cumsum(x, 1), lambda: [any_(2, 3, 4)]),
    "sort": (lambda x: torch.sort(x, -1).values, lambda: [spread(2, 3, 4)]),
    "sort_descending": (lambda x: torch.sort(x, 1, descending=True).values, lambda: [spread(2, 4, 3)]),
    "top_k": (lambda x: torch.topk(x, 2).values, lambda: [spread(3, 5)]),
    "top_k_first": (lambda x: torch.topk(x, 2, 0).values, lambda: [spread(4, 3)]),
    "conv2d_dilated": (lambda x, w: F.conv2d(x, w, padding=1, dilation=2),
                       lambda: [any_(2, 2, 5, 4), any_(3, 2, 3, 2)]),
    "conv2d_grouped": (lambda x, w: F.conv2d(x, w, stride=2, padding=1, dilation=2, groups=2),
                       lambda: [any_(5, 4, 5, 6), any_(6, 2, 2, 3)]),
    "conv2d_depthwise": (lambda x, w: F.conv2d(x, w, groups=3), lambda: [any_(2, 3, 4, 3), any_(6, 1, 2, 2)]),
    "conv1d": (F.conv1d, lambda: [any_(2, 2, 6), any_(3, 2, 3)]),
    "conv1d_grouped": (lambda x, w: F.conv1d(x, w, stride=2, padding=2, dilation=2, groups=2),
                       lambda: [any_(2, 4, 6), any_(2, 2, 3)]),
    "conv_transpose2d": (F.conv_transpose2d, lambda: [any_(2, 3, 2, 3), any_(3, 2, 3, 2)]),
    "conv_transpose2d_strided": (
        lambda x, w: F.conv_transpose2d(x, w, stride=2, padding=1, output_padding=1),
        lambda: [any_(2, 3, 3, 2), any_(3, 2, 3, 2)]),
    "conv_transpose2d_grouped": (
        lambda x, w: F.conv_transpose2d(x, w, stride=3, padding=1, output_padding=2, dilation=2, groups=2),
        lambda: [any_(2, 4, 2, 3), any_(4, 3, 2, 3)]),
    "einsum": (lambda a, b: torch.einsum("bij,bjk->bik", a, b), lambda: [any_(2, 3, 2), any_(2, 2, 4)]),
    "einsum_implicit": (lambda a, b: torch.einsum("kj, ji", a, b), lambda: [any_(2, 3), any_(3, 4)]),
    "einsum_one": (lambda a: torch.einsum("ijk->ki", a), lambda: [any_(2, 3, 4)]),
    "einsum_elements": (lambda a, b, c: torch.einsum("ij,ki,j->kji", a, b, c),
                        lambda: [any_(2, 3), any_(4, 2), any_(3)]),
    "einsum_scalar": (lambda a, b: torch.einsum("ij,ij->", a, b), lambda: [any_(2, 3), any_(2, 3)]),
    "einsum_chain": (lambda a, b, c: torch.einsum("abc,cd,ade->eb", a, b, c),
                     lambda: [any_(2, 3, 2), any_(2, 3), any_(2, 3, 4)]),
    "einsum_squared": (lambda a, b: torch.einsum("ij,ik,jl->kl", a, a, b), lambda: [any_(2, 2), any_(2, 3)]),
    "affine": (lambda y, gain, bias: y * gain + bias, lambda: [any_(2, 3, 17), any_(17), any_(17)]),
    "affine_gain": (lambda y, gain: y * gain, lambda: [any_(3, 5), any_(5)]),
    "affine_norm": (lambda x, gain, bias: F.layer_norm(x, (17,), gain, bias),
                    lambda: [any_(2, 3, 17), any_(17), any_(17)]),
    "affine_norm_rms": (lambda x, gain: gain * x / torch.sqrt((x ** 2).mean(-1, keepdim=True) + 1e-5),
                        lambda: [any_(3, 5), any_(5)]),
    "affine_norm_columns": (lambda x, gain, bias: F.batch_norm(x, None, None, gain, bias, training=True),
                            lambda: [any_(5, 7), any_(7), any_(7)]),
    "linear": (lambda x, w, b: x @ w + b, lambda: [any_(5, 3), any_(3, 4), any_(4)]),
    "linear_sequences": (lambda x, w, b: x @ w + b, lambda: [any_(2, 3, 4), any_(4, 19), any_(19)]),
    "recurrent_lstm_inputs": (
        lambda x, w, h, c, ax, bx, a, b: recurrent(
            "lstm", F.layer_norm(x, (16,)) * ax + bx, w, h, c, norm=(a, b), lengths=(2, 1, 2)),
        lambda: [any_(2, 3, 16), any_(4, 16), any_(3, 4) * 2, any_(3, 4) * 3, any_(16) / 2, any_(16) / 2, any_(16) / 2,
         any_(16) / 2]),
    "recurrent_rnn_inputs": (
        lambda x, w, h, a: recurrent("tanh", x / torch.sqrt((x ** 2).mean(-1, keepdim=True) + 1e-5) * a, w, h),
        lambda: [any_(2, 2, 4), any_(4, 4), any_(2, 4), any_(4)]),
    "recurrent_gru_inputs": (
        lambda x, w, h, b: recurrent("gru", torch.cat([F.layer_norm(p, (p.shape[-1],)) for p in
                                                       torch.split(x, (8, 4), -1)], -1) + b, w, h),
        lambda: [any_(2, 3, 12), any_(4, 12), any_(3, 4), any_(12)]),
    "normalize_batch_features": (lambda x: F.batch_norm(x, None, None, training=True), lambda: [any_(5, 19)]),
    "floor": (torch.floor, lambda: [away(2, 3, around=(-1.0, 0.0, 1.0))]),
    "ceil": (torch.ceil, lambda: [away(2, 3, around=(-1.0, 0.0, 1.0))]),
    "round": (torch.round, lambda: [away(2, 3, around=(-1.5, -0.5, 0.5, 1.5))]),
    "prod": (lambda x: x.prod(1), lambda: [any_(2, 5, 3)]),
    "prod_all": (torch.prod, lambda: [any_(2, 3)]),
    "prod_zeros": (lambda x: x.prod(1), lambda: [with_zeros]),
    "cumprod": (lambda x: torch.cumprod(x, -1), lambda: [any_(2, 5)]),
    "cumprod_zeros": (lambda x: torch.cumprod(x, 1), lambda: [with_zeros]),
    "flip": (lambda x: x.flip((0, 2)), lambda: [any_(2, 3, 4)]),
    "roll": (lambda x: x.roll(2, 1), lambda: [any_(2, 5, 3)]),
    "tile": (lambda x: x.tile((2, 3, 1)), lambda: [any_(2, 3)]),
    "repeat_interleave": (lambda x: x.repeat_interleave(3, 1), lambda: [any_(2, 3, 2)]),
    "index_select": (lambda x: x.index_select(1, torch.tensor([3, 0, 3])), lambda: [any_(2, 4, 3)]),
    "diagonal": (lambda x: x.diagonal(0, -2, -1), lambda: [any_(2, 3, 4)]),
    "diagonal_offset": (lambda x: x.diagonal(-1, -2, -1), lambda: [any_(4, 3)]),
    "diag": (torch.diag_embed, lambda: [any_(2, 3)]),
    "diag_offset": (lambda x: torch.diag_embed(x, 1), lambda: [any_(3)]),
    "without_padding": (
        lambda x: x * torch.tensor([[1, 1, 1], [0, 1, 1], [0, 1, 0]], dtype=double).reshape(3, 3, 1),
        lambda: [any_(3, 3, 2)]),
}

write("ops.json", found_for(rows))
