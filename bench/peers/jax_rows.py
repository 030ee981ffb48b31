#!/usr/bin/env python3
"""The rows of bench/ for JAX, with the same flags and the same lines of JSON. The whole step is compiled."""

import functools
import math

import rows_of

flags = rows_of.parse(__doc__)
rows_of.pin(flags.threads)  # before JAX makes its threads, one for each processor

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402

tree_map = jax.tree_util.tree_map
keys = iter(jax.random.split(jax.random.key(1), 200))


def normal(*shape, deviation=1.0):
    return deviation * jax.random.normal(next(keys), shape)


def uniform(*shape, bound):
    return jax.random.uniform(next(keys), shape, minval=-bound, maxval=bound)


def ids(*shape):
    return jax.random.randint(next(keys), shape, 0, 65)


def cross_entropy(logits, targets):
    chosen = jnp.take_along_axis(logits, targets[..., None], -1)[..., 0]
    return jnp.mean(jax.nn.logsumexp(logits, axis=-1) - chosen)


def training(parameters, loss_of, inputs, targets, averages=(), decay=0.0, clip=None):
    """A step of Adam, with decoupled decay, on loss_of(parameters, averages, inputs, targets) -> loss, averages."""

    @functools.partial(jax.jit, donate_argnums=0)
    def compiled(state, inputs, targets):
        parameters, first, second, count, averages = state
        (loss, averages), grads = jax.value_and_grad(loss_of, has_aux=True)(parameters, averages, inputs, targets)
        if clip:
            norm = jnp.sqrt(sum(jnp.vdot(g, g) for g in jax.tree_util.tree_leaves(grads)))
            grads = tree_map(lambda g: g * jnp.minimum(1.0, clip / (norm + 1e-6)), grads)
        count = count + 1
        first = tree_map(lambda m, g: 0.9 * m + 0.1 * g, first, grads)
        second = tree_map(lambda v, g: 0.999 * v + 0.001 * g * g, second, grads)
        rate, root = 1e-3 / (1 - 0.9**count), jnp.sqrt(1 - 0.999**count)
        parameters = tree_map(lambda w, m, v: w * (1 - 1e-3 * decay) - rate * m / (jnp.sqrt(v) / root + 1e-8),
                              parameters, first, second)
        return (parameters, first, second, count, averages), loss

    zeros = tree_map(jnp.zeros_like, parameters)
    state = (parameters, zeros, tree_map(jnp.copy, zeros), jnp.zeros(()), averages)

    def step():
        nonlocal state
        state, loss = compiled(state, inputs, targets)
        return jax.block_until_ready((state, loss))[1]

    return step


def linear(size_in, size_out, deviation=None):
    """Weight and bias, as PyTorch starts them or normal with bias 0."""
    if deviation:
        return normal(size_in, size_out, deviation=deviation), jnp.zeros(size_out)
    return uniform(size_in, size_out, bound=size_in**-0.5), uniform(size_out, bound=size_in**-0.5)


def apply(layer, x):
    return x @ layer[0] + layer[1]


def gain_and_bias(size):
    return jnp.ones(size), jnp.zeros(size)


def standardized(x):
    centered = x - x.mean(-1, keepdims=True)
    return centered / jnp.sqrt((centered * centered).mean(-1, keepdims=True) + 1e-5)


def layer_norm(norm, x):
    return jax.nn.standardize(x, axis=-1, epsilon=1e-5) * norm[0] + norm[1]


def batch_norm(norm, x, averages):
    """Normalized over the batch, and the running averages of PyTorch, with the unbiased variance."""
    mean, variance = x.mean(0), x.var(0)
    unbiased = variance * (len(x) / (len(x) - 1))
    averages = tree_map(lambda old, new: 0.9 * old + 0.1 * new, averages, jax.lax.stop_gradient((mean, unbiased)))
    return (x - mean) * jax.lax.rsqrt(variance + 1e-5) * norm[0] + norm[1], averages


def mlp(batch, norm="layer"):
    parameters = [linear(784, 1024), gain_and_bias(1024), linear(1024, 1024), gain_and_bias(1024), linear(1024, 10)]
    if norm is None:
        parameters[1] = parameters[3] = ()
    averages = [(jnp.zeros(1024), jnp.ones(1024)) for _ in range(2 if norm == "batch" else 0)]

    def loss_of(parameters, averages, images, labels):
        first, norm1, second, norm2, last = parameters
        x, found = images.reshape(batch, -1), []
        for i, (layer, affine) in enumerate(((first, norm1), (second, norm2))):
            x = apply(layer, x)
            if norm == "layer":
                x = layer_norm(affine, x)
            elif norm == "batch":
                x, average = batch_norm(affine, x, averages[i])
                found.append(average)
            x = jax.nn.relu(x)
        return cross_entropy(apply(last, x), labels), found

    images = jax.random.uniform(next(keys), (batch, 1, 28, 28))
    return training(parameters, loss_of, images, jnp.full(batch, 3), averages)


def conv(x, weight, bias):
    """Channels last, the order that JAX is fastest with on a CPU."""
    y = jax.lax.conv_general_dilated(x, weight, (1, 1), "VALID", dimension_numbers=("NHWC", "HWIO", "NHWC"))
    return y + bias


def max_pool(x):
    batch, height, width, channels = x.shape
    return x.reshape(batch, height // 2, 2, width // 2, 2, channels).max((2, 4))


def cnn():
    def convolution(size_in, size_out):
        bound = (25 * size_in) ** -0.5
        return uniform(5, 5, size_in, size_out, bound=bound), uniform(size_out, bound=bound)

    parameters = [convolution(1, 20), convolution(20, 50), linear(800, 500), gain_and_bias(500), linear(500, 10)]

    def loss_of(parameters, averages, images, labels):
        first, second, hidden, norm, last = parameters
        x = max_pool(jax.nn.relu(conv(images, *first)))
        x = max_pool(jax.nn.relu(conv(x, *second)))
        x = layer_norm(norm, apply(hidden, x.reshape(len(x), -1)))
        return cross_entropy(apply(last, jax.nn.relu(x)), labels), averages

    return training(parameters, loss_of, jax.random.uniform(next(keys), (32, 28, 28, 1)), jnp.full(32, 3))


def rnn_cell(p, state, x):
    h = jnp.tanh(x + state @ p["w_h"])
    return h, h


def lstm_cell(p, state, x):
    h, c = state
    i, f, g, o = jnp.split(x + h @ p["w_h"], 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(c)
    return (h, c), h


def gru_cell(p, h, x):
    x_gates, x_new = jnp.split(x, [1024], -1)
    h_gates, h_new = jnp.split(h @ p["w_h"], [1024], -1)
    r, z = jnp.split(jax.nn.sigmoid(x_gates + h_gates), 2, -1)
    new = jnp.tanh(x_new + r * (h_new + p["candidate_bias"]))
    h = (1 - z) * new + z * h
    return h, h


def normalized_lstm_cell(p, state, x):
    """Ba et al. 2016, eq. 20-22; x is normalized before the loop."""
    h, c = state
    i, f, g, o = jnp.split(x + layer_norm(p["norm_h"], h @ p["w_h"]), 4, -1)
    c = jax.nn.sigmoid(f) * c + jax.nn.sigmoid(i) * jnp.tanh(g)
    h = jax.nn.sigmoid(o) * jnp.tanh(layer_norm(p["norm_c"], c))
    return (h, c), h


def char_rnn(cell, gates):
    bound, width = 512**-0.5, gates * 512
    parameters = {"embedding": normal(65, 128), "w_x": uniform(128, width, bound=bound), "bias": jnp.zeros(width),
                  "w_h": uniform(512, width, bound=bound), "output": linear(512, 65)}
    if cell is gru_cell:
        parameters["candidate_bias"] = jnp.zeros(512)
    if cell is normalized_lstm_cell:
        parameters |= {"norm_x": gain_and_bias(width), "norm_h": gain_and_bias(width), "norm_c": gain_and_bias(512)}

    def loss_of(p, averages, inputs, targets):
        x = p["embedding"][inputs] @ p["w_x"]
        if "norm_x" in p:
            x = layer_norm(p["norm_x"], x)
        zeros = jnp.zeros((32, 512))
        first = zeros if gates in (1, 3) else (zeros, zeros)
        _, outputs = jax.lax.scan(functools.partial(cell, p), first, x + p["bias"])
        return cross_entropy(apply(p["output"], outputs), targets), averages

    return training(parameters, loss_of, ids(64, 32), ids(64, 32), clip=1.0)


def transformer(layers, channels, heads, length, batch):
    """Decoder-only, pre-norm, GELU, learned positions, tied embeddings."""
    ends = 0.02 / math.sqrt(2 * layers)
    blocks = [{"norm1": gain_and_bias(channels), "qkv": linear(channels, 3 * channels, 0.02),
               "out": linear(channels, channels, ends), "norm2": gain_and_bias(channels),
               "up": linear(channels, 4 * channels, 0.02), "down": linear(4 * channels, channels, ends)}
              for _ in range(layers)]
    parameters = {"tokens": normal(65, channels, deviation=0.02), "positions": normal(length, channels, deviation=0.02),
                  "blocks": blocks, "norm": gain_and_bias(channels)}

    def loss_of(p, averages, inputs, targets):
        x = p["tokens"][inputs] + p["positions"]
        for block in p["blocks"]:
            q, k, v = (t.reshape(batch, length, heads, -1)
                       for t in jnp.split(apply(block["qkv"], layer_norm(block["norm1"], x)), 3, -1))
            y = jax.nn.dot_product_attention(q, k, v, is_causal=True)
            x = x + apply(block["out"], y.reshape(batch, length, channels))
            hidden = jax.nn.gelu(apply(block["up"], layer_norm(block["norm2"], x)), approximate=False)
            x = x + apply(block["down"], hidden)
        return cross_entropy(layer_norm(p["norm"], x) @ p["tokens"].T, targets), averages

    return training(parameters, loss_of, ids(batch, length), ids(batch, length), decay=0.01)


def sweep(function, seed, *inputs):
    """A step: the value of function(*inputs) and its gradients."""

    @jax.jit
    def compiled(seed, *inputs):
        value, backward = jax.vjp(function, *inputs)
        return value, backward(seed)

    def step():
        jax.block_until_ready(compiled(seed, *inputs))

    return step


def overhead():
    factor = jnp.array([1.0, -1.0] * 4)

    def chain(x):
        y = x
        for _ in range(500):
            y = y * factor + x
        return y

    return sweep(chain, jnp.ones(8), normal(8))


def matmul1024():
    weight, bias = linear(1024, 1024)
    return sweep(lambda x, w, b: x @ w + b, normal(1024, 1024), normal(1024, 1024), weight, bias)


def attention4096(heads):
    function = functools.partial(jax.nn.dot_product_attention, is_causal=True)
    return sweep(function, *(normal(1, 4096, heads, 64) for _ in range(4)))


def layernorm(rows, columns, composite):
    function = standardized if composite else functools.partial(jax.nn.standardize, axis=-1, epsilon=1e-5)
    return sweep(function, normal(rows, columns), normal(rows, columns))


rows = {"mlp": lambda: mlp(128), "mlp_nonorm": lambda: mlp(128, None), "mlp_bn": lambda: mlp(128, "batch"),
        "mlp_b4": lambda: mlp(4), "mlp_b32": lambda: mlp(32), "cnn": cnn, "rnn": lambda: char_rnn(rnn_cell, 1),
        "lstm": lambda: char_rnn(lstm_cell, 4), "gru": lambda: char_rnn(gru_cell, 3),
        "lnlstm": lambda: char_rnn(normalized_lstm_cell, 4), "transformer": lambda: transformer(4, 128, 4, 128, 16),
        "transformer_m": lambda: transformer(6, 384, 6, 256, 4), "overhead": overhead, "matmul1024": matmul1024,
        "attention4096": lambda: attention4096(4), "attention4096_h1": lambda: attention4096(1)}
for r, c in ((4096, 512), (128, 1024), (64, 2048)):
    rows[f"layernorm_{r}x{c}"] = lambda r=r, c=c: layernorm(r, c, False)
    rows[f"layernorm_{r}x{c}_composite"] = lambda r=r, c=c: layernorm(r, c, True)

rows_of.main(flags, "jax", jax.__version__, rows)
