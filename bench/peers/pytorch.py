#!/usr/bin/env python3
"""The rows of bench/ for PyTorch, with the same flags and the same lines of JSON."""

import argparse
import json
import resource
import time

import torch
import torch.nn.functional as F
from torch import nn


def training(net, batch):
    images, labels = torch.rand(batch, 1, 28, 28), torch.full((batch,), 3)
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)

    def step():
        adam.zero_grad()
        F.cross_entropy(net(images), labels).backward()
        adam.step()

    return step


def mlp(batch, norm=nn.LayerNorm):
    layers = [nn.Flatten()]
    for size_in, size_out in ((784, 1024), (1024, 1024)):
        layers += [nn.Linear(size_in, size_out)] + ([norm(size_out)] if norm else []) + [nn.ReLU()]
    return training(nn.Sequential(*layers, nn.Linear(1024, 10)), batch)


def cnn():
    return training(nn.Sequential(
        nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(800, 500), nn.LayerNorm(500), nn.ReLU(), nn.Linear(500, 10)), 32)


class CharRnn(nn.Module):
    def __init__(self, recurrent):
        super().__init__()
        self.embedding, self.recurrent, self.output = nn.Embedding(65, 128), recurrent, nn.Linear(512, 65)

    def forward(self, ids):
        return self.output(self.recurrent(self.embedding(ids))[0])


class LayerNormLstm(nn.Module):
    """Ba et al. 2016, eq. 20-22, with the input's products before the loop."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.w_x, self.w_h = nn.Linear(inputs, 4 * hidden), nn.Parameter(torch.randn(hidden, 4 * hidden) * 0.04)
        self.norm_x, self.norm_h, self.norm_c = (nn.LayerNorm(n) for n in (4 * hidden, 4 * hidden, hidden))

    def forward(self, x):
        inputs = self.norm_x(self.w_x(x))
        h = c = torch.zeros(x.shape[1], self.w_h.shape[0])
        outputs = []
        for step in inputs:
            i, f, g, o = (step + self.norm_h(h @ self.w_h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(self.norm_c(c))
            outputs.append(h)
        return torch.stack(outputs), None


def char_rnn(recurrent):
    net = CharRnn(recurrent)
    adam = torch.optim.Adam(net.parameters(), lr=1e-3)
    ids, targets = torch.randint(65, (64, 32)), torch.randint(65, (64, 32))

    def step():
        adam.zero_grad()
        F.cross_entropy(net(ids).flatten(0, 1), targets.flatten()).backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        adam.step()

    return step


class Transformer(nn.Module):
    """Decoder-only, pre-norm, GELU, learned positions, tied embeddings; PyTorch's fused attention."""

    class Block(nn.Module):
        def __init__(self, channels, heads):
            super().__init__()
            self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(channels), nn.LayerNorm(channels)
            self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
            self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

        def forward(self, x):
            batch, length, channels = x.shape
            q, k, v = (t.reshape(batch, length, self.heads, -1).transpose(1, 2)
                       for t in self.qkv(self.norm1(x)).chunk(3, -1))
            y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + self.out(y.transpose(1, 2).reshape(batch, length, channels))
            return x + self.down(F.gelu(self.up(self.norm2(x))))

    def __init__(self, layers, channels, heads, length):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(65, channels), nn.Parameter(torch.randn(length, channels) * 0.02)
        self.blocks = nn.Sequential(*(self.Block(channels, heads) for _ in range(layers)))
        self.norm = nn.LayerNorm(channels)

    def forward(self, ids):
        return self.norm(self.blocks(self.tokens(ids) + self.positions)) @ self.tokens.weight.T


def transformer(layers, channels, heads, length, batch):
    net = Transformer(layers, channels, heads, length)
    adam = torch.optim.AdamW(net.parameters(), lr=1e-3)
    ids, targets = torch.randint(65, (batch, length)), torch.randint(65, (batch, length))

    def step():
        adam.zero_grad()
        F.cross_entropy(net(ids).flatten(0, 1), targets.flatten()).backward()
        adam.step()

    return step


def overhead():
    start, factor, seed = torch.randn(8), torch.randn(8), torch.ones(8)

    def step():
        x = start.clone().requires_grad_()
        y = x
        for _ in range(500):
            y = y * factor + x
        y.backward(seed)

    return step


def matmul1024():
    linear = nn.Linear(1024, 1024)
    x, seed = torch.randn(1024, 1024, requires_grad=True), torch.randn(1024, 1024)

    def step():
        x.grad = None
        linear.zero_grad()
        linear(x).backward(seed)

    return step


def layernorm(rows, columns, composite):
    x, seed = torch.randn(rows, columns, requires_grad=True), torch.randn(rows, columns)

    def step():
        x.grad = None
        if composite:
            centred = x - x.mean(-1, keepdim=True)
            y = centred / torch.sqrt((centred * centred).mean(-1, keepdim=True) + 1e-5)
        else:
            y = F.layer_norm(x, (columns,))
        y.backward(seed)

    return step


rows = {"mlp": lambda: mlp(128), "mlp_nonorm": lambda: mlp(128, None),
        "mlp_bn": lambda: mlp(128, nn.BatchNorm1d), "mlp_b4": lambda: mlp(4), "cnn": cnn,
        "rnn": lambda: char_rnn(nn.RNN(128, 512)), "lstm": lambda: char_rnn(nn.LSTM(128, 512)),
        "gru": lambda: char_rnn(nn.GRU(128, 512)), "lnlstm": lambda: char_rnn(LayerNormLstm(128, 512)),
        "transformer": lambda: transformer(4, 128, 4, 128, 16),
        "transformer_m": lambda: transformer(6, 384, 6, 256, 4), "overhead": overhead, "matmul1024": matmul1024}
for r, c in ((4096, 512), (128, 1024), (64, 2048)):
    rows[f"layernorm_{r}x{c}"] = lambda r=r, c=c: layernorm(r, c, False)
    rows[f"layernorm_{r}x{c}_composite"] = lambda r=r, c=c: layernorm(r, c, True)

parser = argparse.ArgumentParser(description=__doc__)
parser.add_argument("rows", nargs="*", choices=[*rows, []], help="rows to measure (all)")
parser.add_argument("--threads", type=int, default=2)
parser.add_argument("--json", help="also write an object a line to this file")
flags = parser.parse_args()
torch.set_num_threads(flags.threads)
out = open(flags.json, "w") if flags.json else None

for name in flags.rows or rows:
    step = rows[name]()
    begin = time.perf_counter()
    while time.perf_counter() - begin < 0.3:
        step()
    times = []
    begin = time.perf_counter()
    while len(times) < 10 or (time.perf_counter() - begin < 1 and len(times) < 1000):
        step_begin = time.perf_counter()
        step()
        times.append((time.perf_counter() - step_begin) * 1000)
    times.sort()
    ms = times[len(times) // 2]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{name:<28} {ms:10.3f} {times[len(times) // 10]:10.3f} {times[len(times) * 9 // 10]:10.3f} {peak:12.0f}")
    line = {"row": name, "implementation": "pytorch", "version": torch.__version__, "threads": flags.threads,
            "ms": ms, "peak_rss_mb": peak}
    if name == "overhead":
        line["us_per_op"] = ms
    if out:
        out.write(json.dumps(line) + "\n")
