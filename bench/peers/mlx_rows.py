#!/usr/bin/env python3
"""The rows of bench/ for MLX on the CPU, with the same flags and the same lines of JSON. The whole step is compiled."""

import functools

import rows_of

flags = rows_of.parse(__doc__)
rows_of.pin(flags.threads)

import mlx.core as mx  # noqa: E402
import mlx.nn as nn  # noqa: E402
from mlx import optimizers  # noqa: E402

mx.set_default_device(mx.cpu)


def training(net, inputs, targets, optimizer=None, clip=None):
    """A step: forward, cross entropy over the last dimension, backward, optimizer."""
    optimizer = optimizer or optimizers.Adam(1e-3, bias_correction=True)
    mx.eval(net.parameters(), inputs, targets)
    loss_and_grad = nn.value_and_grad(
        net, lambda inputs, targets: nn.losses.cross_entropy(net(inputs), targets, reduction="mean"))
    state = [net.state, optimizer.state]

    @functools.partial(mx.compile, inputs=state, outputs=state)
    def compiled(inputs, targets):
        loss, grads = loss_and_grad(inputs, targets)
        if clip:
            grads, _ = optimizers.clip_grad_norm(grads, clip)
        optimizer.update(net, grads)
        return loss

    def step():
        loss = compiled(inputs, targets)
        mx.eval(loss, state)
        return loss.item()

    return step


def on_images(layers, batch):
    return training(nn.Sequential(*layers), mx.random.uniform(shape=(batch, 28, 28, 1)), mx.full((batch,), 3, mx.int32))


def flatten(x):
    return x.reshape(x.shape[0], -1)


def mlp(batch, norm=nn.LayerNorm):
    layers = [flatten]
    for size_in, size_out in ((784, 1024), (1024, 1024)):
        layers += [nn.Linear(size_in, size_out)] + ([norm(size_out)] if norm else []) + [nn.ReLU()]
    return on_images([*layers, nn.Linear(1024, 10)], batch)


def cnn():
    return on_images([nn.Conv2d(1, 20, 5), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(), nn.MaxPool2d(2),
                      flatten, nn.Linear(800, 500), nn.LayerNorm(500), nn.ReLU(), nn.Linear(500, 10)], 32)


class CharRnn(nn.Module):
    def __init__(self, recurrent):
        super().__init__()
        self.embedding, self.recurrent, self.output = nn.Embedding(65, 128), recurrent, nn.Linear(512, 65)
        self.embedding.weight = mx.random.normal((65, 128))  # as the others start

    def __call__(self, ids):
        outputs = self.recurrent(self.embedding(ids))
        return self.output(outputs[0] if isinstance(outputs, tuple) else outputs)


class LayerNormLstm(nn.Module):
    """Ba et al. 2016, eq. 20-22, with the input's products before the loop."""

    def __init__(self, inputs, hidden):
        super().__init__()
        self.w_x, self.w_h = nn.Linear(inputs, 4 * hidden, False), mx.random.normal((hidden, 4 * hidden)) * 0.04
        self.bias = mx.zeros(4 * hidden)
        self.norm_x, self.norm_h, self.norm_c = (nn.LayerNorm(n) for n in (4 * hidden, 4 * hidden, hidden))

    def __call__(self, x):
        inputs = self.norm_x(self.w_x(x)) + self.bias
        h = c = mx.zeros((x.shape[0], self.w_h.shape[0]))
        outputs = []
        for t in range(x.shape[1]):
            i, f, g, o = mx.split(inputs[:, t] + self.norm_h(h @ self.w_h), 4, -1)
            c = mx.sigmoid(f) * c + mx.sigmoid(i) * mx.tanh(g)
            h = mx.sigmoid(o) * mx.tanh(self.norm_c(c))
            outputs.append(h)
        return mx.stack(outputs, 1)


def char_rnn(recurrent):
    """MLX has the batch before the steps."""
    ids, targets = mx.random.randint(0, 65, (32, 64)), mx.random.randint(0, 65, (32, 64))
    return training(CharRnn(recurrent), ids, targets, clip=1.0)


class Block(nn.Module):
    def __init__(self, channels, heads):
        super().__init__()
        self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(channels), nn.LayerNorm(channels)
        self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

    def __call__(self, x):
        batch, length, channels = x.shape
        q, k, v = (t.reshape(batch, length, self.heads, -1).transpose(0, 2, 1, 3)
                   for t in mx.split(self.qkv(self.norm1(x)), 3, -1))
        scale = (channels // self.heads) ** -0.5
        y = mx.fast.scaled_dot_product_attention(q, k, v, scale=scale, mask="causal")
        x = x + self.out(y.transpose(0, 2, 1, 3).reshape(batch, length, channels))
        return x + self.down(nn.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    """Decoder-only, pre-norm, GELU, learned positions, tied embeddings."""

    def __init__(self, layers, channels, heads, length):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(65, channels), mx.random.normal((length, channels)) * 0.02
        self.tokens.weight = mx.random.normal((65, channels)) * 0.02
        self.blocks = [Block(channels, heads) for _ in range(layers)]
        self.norm = nn.LayerNorm(channels)

    def __call__(self, ids):
        x = self.tokens(ids) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.tokens.as_linear(self.norm(x))


def transformer(layers, channels, heads, length, batch):
    ids, targets = mx.random.randint(0, 65, (batch, length)), mx.random.randint(0, 65, (batch, length))
    optimizer = optimizers.AdamW(1e-3, weight_decay=0.01, bias_correction=True)
    return training(Transformer(layers, channels, heads, length), ids, targets, optimizer)


def sweep(function, seed, *inputs):
    """A step: the value of function(*inputs) and its gradients."""
    compiled = mx.compile(lambda seed, *inputs: mx.vjp(function, inputs, [seed]))
    mx.eval(seed, *inputs)

    def step():
        mx.eval(compiled(seed, *inputs))

    return step


def overhead():
    factor = mx.array([1.0, -1.0] * 4)

    def chain(x):
        y = x
        for _ in range(500):
            y = y * factor + x
        return y

    return sweep(chain, mx.ones(8), mx.random.normal((8,)))


def matmul1024():
    x, seed, weight = (mx.random.normal((1024, 1024)) for _ in range(3))
    return sweep(lambda x, w, b: mx.addmm(b, x, w), seed, x, weight, mx.zeros(1024))


def attention4096(heads):
    def attention(q, k, v):
        return mx.fast.scaled_dot_product_attention(q, k, v, scale=1 / 8, mask="causal")

    return sweep(attention, *(mx.random.normal((1, heads, 4096, 64)) for _ in range(4)))


def layernorm(rows, columns, composite):
    def composed(x):
        centered = x - x.mean(-1, keepdims=True)
        return centered / mx.sqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)

    function = composed if composite else lambda x: mx.fast.layer_norm(x, None, None, 1e-5)
    return sweep(function, mx.random.normal((rows, columns)), mx.random.normal((rows, columns)))


rows = {"mlp": lambda: mlp(128), "mlp_nonorm": lambda: mlp(128, None), "mlp_bn": lambda: mlp(128, nn.BatchNorm),
        "mlp_b4": lambda: mlp(4), "mlp_b32": lambda: mlp(32), "cnn": cnn, "rnn": lambda: char_rnn(nn.RNN(128, 512)),
        "lstm": lambda: char_rnn(nn.LSTM(128, 512)), "gru": lambda: char_rnn(nn.GRU(128, 512)),
        "lnlstm": lambda: char_rnn(LayerNormLstm(128, 512)), "transformer": lambda: transformer(4, 128, 4, 128, 16),
        "transformer_m": lambda: transformer(6, 384, 6, 256, 4), "overhead": overhead, "matmul1024": matmul1024,
        "attention4096": lambda: attention4096(4), "attention4096_h1": lambda: attention4096(1)}
for r, c in ((4096, 512), (128, 1024), (64, 2048)):
    rows[f"layernorm_{r}x{c}"] = lambda r=r, c=c: layernorm(r, c, False)
    rows[f"layernorm_{r}x{c}_composite"] = lambda r=r, c=c: layernorm(r, c, True)

rows_of.main(flags, "mlx", mx.__version__, rows)
