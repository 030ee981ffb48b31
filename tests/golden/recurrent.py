#!/usr/bin/env python3
"""Writes recurrent.json: PyTorch's RNN, GRU and LSTM with layers, directions and lengths, their outputs
and last states, and the gradients of input, first states and all weights, in double precision."""

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from samples import double, plain, write

torch.manual_seed(2)
T, B, IN, H = 4, 3, 2, 3


def row(kind, lengths=None, **options):
    net = getattr(nn, kind)(IN, H, **options).double()
    for parameter in net.parameters():
        nn.init.uniform_(parameter, -1, 1)
    states = net.num_layers * (2 if net.bidirectional else 1)
    x = torch.randn(T, B, IN, dtype=double, requires_grad=True)
    first = [torch.randn(states, B, H, dtype=double, requires_grad=True) for _ in range(2 if kind == "LSTM" else 1)]
    given = tuple(first) if kind == "LSTM" else first[0]
    if lengths:
        outputs, last = net(pack_padded_sequence(x, lengths, enforce_sorted=False), given)
        outputs = pad_packed_sequence(outputs, total_length=T)[0]
    else:
        outputs, last = net(x, given)
    last = last if kind == "LSTM" else (last,)
    value = torch.cat([outputs.flatten()] + [each.flatten() for each in last])
    seed = torch.rand_like(value) + 0.5
    named = dict(sorted(net.named_parameters()))
    inputs = [x, *first, *named.values()]
    return {"inputs": [plain(i) for i in inputs], "value": plain(value), "seed": plain(seed),
            "gradients": [plain(g) for g in torch.autograd.grad(value, inputs, seed)]}


rows = {
    "rnn_tanh": row("RNN"),
    "rnn_relu": row("RNN", nonlinearity="relu"),
    "gru": row("GRU"),
    "lstm": row("LSTM"),
    "lstm_2_layers": row("LSTM", num_layers=2),
    "gru_2_layers_bidirectional": row("GRU", num_layers=2, bidirectional=True),
    "lstm_lengths": row("LSTM", lengths=[2, 4, 1]),
    "lstm_2_layers_bidirectional_lengths": row("LSTM", lengths=[3, 1, 4], num_layers=2, bidirectional=True),
}
write("recurrent.json", rows)
