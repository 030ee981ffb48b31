#!/usr/bin/env python3
"""Writes attention.json: PyTorch's MultiheadAttention and TransformerEncoderLayer in double precision, with the
gradients of inputs and of all weights in the order of their sorted names."""

import json
import pathlib

import torch
from torch import nn

torch.manual_seed(3)
double = torch.float64
B, T, K, C, HEADS = 2, 3, 4, 4, 2
padded = torch.tensor([[False, False, True], [False, False, False]])


def plain(tensor):
    return {"shape": list(tensor.shape), "values": tensor.detach().flatten().tolist()}


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
path = pathlib.Path(__file__).with_name("attention.json")
path.write_text("{\n" + ",\n".join(f"{json.dumps(n)}: {json.dumps(r)}" for n, r in rows.items()) + "\n}\n")
print(f"{path.name}: {len(rows)} rows, PyTorch {torch.__version__}")
