#!/usr/bin/env python3
"""Writes attention.json: PyTorch's MultiheadAttention and TransformerEncoderLayer in double precision, with the
gradients of inputs and of all weights in the order of their sorted names."""

import torch
from torch import nn

from samples import double, plain, write

torch.manual_seed(3)
B, T, K, C, HEADS = 2, 3, 4, 4, 2
padded = torch.tensor([[False, False, True], [False, False, False]])


def row(net, inputs, call):
    net = net.double()
    for parameter in net.parameters():
        nn.init.uniform_(parameter, -1, 1)
    inputs = [torch.randn(*shape, dtype=double, requires_grad=True) for shape in inputs]
    value = call(net, *inputs)
    seed = torch.rand_like(value) + 0.5
    everything = inputs + [p for _, p in sorted(net.named_parameters())]
    return {"inputs": [plain(i) for i in everything], "value": plain(value), "seed": plain(seed),
            "gradients": [plain(g) for g in torch.autograd.grad(value, everything, seed)]}


def attention():
    return nn.MultiheadAttention(C, HEADS, batch_first=True)


def layer(**options):
    return nn.TransformerEncoderLayer(C, HEADS, 6, dropout=0.0, batch_first=True, **options)


def causal():
    return torch.ones(T, T, dtype=torch.bool).triu(1)


rows = {
    "self": row(attention(), [(B, T, C)], lambda n, x: n(x, x, x)[0]),
    "self_padded": row(attention(), [(B, T, C)], lambda n, x: n(x, x, x, key_padding_mask=padded)[0]),
    "self_causal": row(attention(), [(B, T, C)], lambda n, x: n(x, x, x, attn_mask=causal())[0]),
    "cross": row(attention(), [(B, T, C), (B, K, C)], lambda n, x, y: n(x, y, y)[0]),
    "layer_post": row(layer(), [(B, T, C)], lambda n, x: n(x)),
    "layer_pre": row(layer(norm_first=True), [(B, T, C)], lambda n, x: n(x)),
    "layer_pre_gelu_padded": row(layer(norm_first=True, activation="gelu"), [(B, T, C)],
                                 lambda n, x: n(x, src_key_padding_mask=padded)),
}
write("attention.json", rows)
