#!/usr/bin/env python3
"""The rows of bench/ for PyTorch from 1.13 on, with the same flags and the same lines of JSON."""

import atexit
import itertools
import math
import os
import pathlib
import re
import tempfile

import torch
import torch.nn.functional as F
from torch import nn

import rows_of

flags = rows_of.parse(__doc__, ("--compiled", "compile everything but the optimizer's step with torch.compile"))
torch.set_num_threads(flags.threads)


def compiled(function):
    return torch.compile(function) if flags.compiled else function


def graph_breaks():
    """What torch.compile left to Python in this process, and why."""
    if not flags.compiled:
        return ""
    reasons = {re.sub(r"(?s).*?Reason: ", "", str(reason)).splitlines()[0]
               for reason in torch._dynamo.utils.counters["graph_break"]}
    return "not compiled as a whole: " + "; ".join(sorted(reasons)) if reasons else ""


def tape_megabytes(step):
    """What the operations of a step save for their backward passes, with weights and inputs; each storage once."""
    saved = {}

    def keep(tensor):
        # Before 2.0, storages have types.
        storage = tensor.untyped_storage() if hasattr(tensor, "untyped_storage") else tensor.storage().untyped()
        saved[storage.data_ptr()] = storage
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(keep, lambda tensor: tensor):
        step()
    return sum(storage.nbytes() for storage in saved.values()) / 1e6


def minimizing(net, loss_of, optimizer=torch.optim.Adam, clip=None, bf16=False, inputs=tuple):
    """A step: forward, backward, optimizer. bf16: products in bfloat16, as autocast chooses them. inputs: called in each
    step, gives the arguments of loss_of."""
    try:
        optimizer = optimizer(net.parameters(), lr=1e-3, fused=True)
    except (RuntimeError, TypeError):  # before 2.4 there are no fused optimizers for processors
        optimizer = optimizer(net.parameters(), lr=1e-3)
    loss_of = compiled(loss_of)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cpu", torch.bfloat16, enabled=bf16):
            loss = loss_of(*inputs())
        loss.backward()
        if clip:
            nn.utils.clip_grad_norm_(net.parameters(), clip)
        optimizer.step()
        return loss.detach()

    return step


def training(net, inputs, targets, **options):
    """The same for the cross entropy over the last dimension."""
    return minimizing(net, lambda: F.cross_entropy(net(inputs).flatten(0, -2), targets.flatten()), **options)


def on_images(net, batch, **options):
    return training(net, torch.rand(batch, 1, 28, 28), torch.full((batch,), 3), **options)


def mlp(batch, norm=nn.LayerNorm, **options):
    layers = [nn.Flatten()]
    for size_in, size_out in ((784, 1024), (1024, 1024)):
        layers += [nn.Linear(size_in, size_out)] + ([norm(size_out)] if norm else []) + [nn.ReLU()]
    return on_images(nn.Sequential(*layers, nn.Linear(1024, 10)), batch, **options)


def cnn():
    return on_images(nn.Sequential(
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
        self.w_x, self.w_h = nn.Linear(inputs, 4 * hidden, False), nn.Parameter(torch.randn(hidden, 4 * hidden) * 0.04)
        self.bias = nn.Parameter(torch.zeros(4 * hidden))
        self.norm_x, self.norm_h, self.norm_c = (nn.LayerNorm(n) for n in (4 * hidden, 4 * hidden, hidden))

    def forward(self, x):
        inputs = self.norm_x(self.w_x(x)) + self.bias
        h = c = torch.zeros(x.shape[1], self.w_h.shape[0])
        outputs = []
        for step in inputs:
            i, f, g, o = (step + self.norm_h(h @ self.w_h)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(self.norm_c(c))
            outputs.append(h)
        return torch.stack(outputs), None


class BatchNormLstm(nn.Module):
    """Cooijmans et al. 2017, eq. 6 to 8: each step has statistics of its own."""

    def __init__(self, inputs, hidden, steps):
        super().__init__()
        sizes = 4 * hidden, 4 * hidden, hidden
        self.w_x, self.w_h = nn.Linear(inputs, 4 * hidden, False), nn.Parameter(torch.randn(hidden, 4 * hidden) * 0.04)
        self.gains = nn.ParameterList(torch.full((n,), 0.1) for n in sizes)
        self.bias, self.bias_c = (nn.Parameter(torch.zeros(n)) for n in sizes[1:])
        self.averages = [[(torch.zeros(n), torch.ones(n)) for n in sizes] for _ in range(steps)]

    def forward(self, x):
        h = c = torch.zeros(x.shape[1], self.w_h.shape[0])
        outputs = []
        for step, averages in zip(self.w_x(x), self.averages):
            def norm(rows, which, bias=None):
                return F.batch_norm(rows, *averages[which], self.gains[which], bias, training=True)

            i, f, g, o = (norm(step, 0) + norm(h @ self.w_h, 1, self.bias)).chunk(4, -1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(norm(c, 2, self.bias_c))
            outputs.append(h)
        return torch.stack(outputs), None


def char_rnn(recurrent):
    return training(CharRnn(recurrent), torch.randint(65, (64, 32)), torch.randint(65, (64, 32)), clip=1.0)


def causal_attention(q, k, v, dropout=0.0):
    """PyTorch's fused attention; before 2.0 there is none."""
    if hasattr(F, "scaled_dot_product_attention"):
        return F.scaled_dot_product_attention(q, k, v, is_causal=True, dropout_p=dropout)
    hidden = torch.ones(q.shape[-2], k.shape[-2], dtype=torch.bool).triu(1)
    scores = (q @ k.transpose(-2, -1)) / math.sqrt(q.shape[-1])
    return F.dropout(torch.softmax(scores.masked_fill(hidden, -math.inf), -1), dropout) @ v


class Handwriting(nn.Module):
    """Graves 2013, section 5: three LSTMs, a soft window of five bumps after the first, eight normal distributions."""

    def __init__(self, characters=10, hidden=96, bumps=5, components=8):
        super().__init__()
        self.first = nn.LSTMCell(3 + characters, hidden)
        self.window = nn.Linear(hidden, 3 * bumps)
        self.upper = nn.ModuleList(nn.LSTM(3 + characters + hidden, hidden) for _ in range(2))
        self.output = nn.Linear(3 * hidden, 6 * components + 1)
        self.components = components
        with torch.no_grad():
            self.window.bias[2 * bumps:] = math.log(0.035)

    def forward(self, before, text):
        places = torch.arange(1, text.shape[1] + 1)
        w, place, state, seen, h = text.new_zeros(text.shape[0], text.shape[2]), 0, None, [], []
        for x in before:
            state = self.first(torch.cat([x, w], -1), state)
            weight, width, advance = self.window(state[0]).exp().unsqueeze(-1).chunk(3, 1)
            place = place + advance
            phi = (weight * torch.exp(-width * (place - places) ** 2)).sum(1, keepdim=True)
            w = (phi @ text).squeeze(1)
            seen.append(w)
            h.append(state[0])
        x, outputs = torch.cat([before, torch.stack(seen)], -1), [torch.stack(h)]
        for layer in self.upper:
            outputs.append(layer(torch.cat([x, outputs[-1]], -1))[0])
        return self.output(torch.cat(outputs, -1))

    def loss(self, moves, text):
        before = torch.cat([torch.zeros_like(moves[:1]), moves[:-1]])
        *parts, pen = self(before, text).split([self.components] * 6 + [1], -1)
        weight, x, y, log_s, log_t, r = parts
        log_s, log_t, r = log_s.clamp(-7, 7), log_t.clamp(-7, 7), 0.999 * r.tanh()
        dx, dy, lifts = moves.split(1, -1)
        u, v = (dx - x) * (-log_s).exp(), (dy - y) * (-log_t).exp()
        rest = (1 - r) * (1 + r)
        density = -0.5 * ((u - r * v) ** 2 / rest + v**2 + rest.log()) - log_s - log_t - math.log(2 * math.pi)
        mixture = torch.logsumexp(F.log_softmax(weight, -1) + density, -1)
        return F.binary_cross_entropy_with_logits(pen, lifts) - mixture.mean()


def handwriting():
    net = Handwriting()
    moves = torch.cat([torch.randn(300, 8, 2), (torch.rand(300, 8, 1) < 0.1).float()], -1)
    text = F.one_hot(torch.randint(10, (8, 10)), 10).float()
    return minimizing(net, lambda: net.loss(moves, text), clip=10.0)


class Transformer(nn.Module):
    """Decoder-only, pre-norm, GELU, learned positions, tied embeddings."""

    class Block(nn.Module):
        def __init__(self, channels, heads, dropout):
            super().__init__()
            self.dropout = dropout
            self.heads, self.norm1, self.norm2 = heads, nn.LayerNorm(channels), nn.LayerNorm(channels)
            self.qkv, self.out = nn.Linear(channels, 3 * channels), nn.Linear(channels, channels)
            self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)

        def forward(self, x, attention=None):
            return self.feed_forward(self.attend(x, attention))

        def attend(self, x, attention=None):
            batch, length, channels = x.shape
            q, k, v = (t.reshape(batch, length, self.heads, -1).transpose(1, 2)
                       for t in self.qkv(self.norm1(x)).chunk(3, -1))
            y = attention(q, k, v) if attention else causal_attention(q, k, v, self.dropout)
            return x + self.dropped(self.out(y.transpose(1, 2).reshape(batch, length, channels)))

        def feed_forward(self, x):
            return x + self.dropped(self.down(self.dropped(F.gelu(self.up(self.norm2(x))))))

        def dropped(self, x):
            return F.dropout(x, self.dropout) if self.dropout > 0 else x

    def __init__(self, layers, channels, heads, length, dropout, vocabulary=65):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, channels), nn.Parameter(torch.randn(length, channels) * 0.02)
        self.blocks = nn.Sequential(*(self.Block(channels, heads, dropout) for _ in range(layers)))
        self.norm, self.dropout = nn.LayerNorm(channels), nn.Dropout(dropout) if dropout > 0 else nn.Identity()
        nn.init.normal_(self.tokens.weight, std=0.02)

    def forward(self, ids):
        x = self.dropout(self.tokens(ids) + self.positions[:ids.shape[1]])
        return self.norm(self.blocks(x)) @ self.tokens.weight.T


def transformer(layers, channels, heads, length, batch, dropout=0.0, **options):
    net = Transformer(layers, channels, heads, length, dropout)
    return training(net, torch.randint(65, (batch, length)), torch.randint(65, (batch, length)),
                    optimizer=torch.optim.AdamW, **options)


def transformer_varying():
    """Batches change their length in each step: 17 to 128, each once in 112 steps."""
    net = Transformer(4, 128, 4, 128, 0.0)
    batches = itertools.cycle([torch.randint(65, (2, 16, 17 + 37 * i % 112)) for i in range(112)])
    return minimizing(net, lambda ids, targets: F.cross_entropy(net(ids).flatten(0, -2), targets.flatten()),
                      optimizer=torch.optim.AdamW, inputs=lambda: next(batches))


def generation(batch, start):
    """A step: 1,000 characters of each text, one at a time.

    start: returns a function from the last characters, (batch), and their position to the logits of the next,
    (batch, 65)"""
    @torch.inference_mode()
    def step():
        following, last = start(), torch.zeros(batch, dtype=torch.long)
        for position in range(1000):
            last = torch.multinomial(torch.softmax(following(last, position), -1), 1).squeeze(1)

    return step


def generate_lstm(batch):
    net = CharRnn(nn.LSTM(128, 512)).eval()

    def following(last, state):
        y, state = net.recurrent(net.embedding(last[None]), state)
        return net.output(y[0]), state

    following = compiled(following)

    def start():
        state = torch.zeros(1, batch, 512), torch.zeros(1, batch, 512)

        def logits(last, position):
            nonlocal state
            values, state = following(last, state)
            return values

        return logits

    return generation(batch, start)


def attending_to(cache, position):
    """Attention of the token at a position to those before it, whose keys and values are in the cache."""
    def attention(q, k, v):
        for kept, new in zip(cache, (k, v)):
            kept[:, :, position:position + 1] = new
        return F.scaled_dot_product_attention(q, *(kept[:, :, :position + 1] for kept in cache))

    return attention


def generate_transformer(batch):
    net = Transformer(4, 128, 4, 1000, 0).eval()

    def following(last, position, caches):
        x = net.tokens(last)[:, None] + net.positions[position]
        for block, cache in zip(net.blocks, caches):
            x = block(x, attending_to(cache, position))
        return net.norm(x[:, 0]) @ net.tokens.weight.T

    following = compiled(following)

    def start():  # room for all keys and values, in heads of 32 channels
        caches = [[torch.empty(batch, 4, 1000, 32) for _ in range(2)] for _ in range(4)]
        return lambda last, position: following(last, position, caches)

    return generation(batch, start)


class CrossAttention(nn.Module):
    """Pre-norm attention of a decoder's block to the outputs of an encoder."""

    def __init__(self, channels, heads):
        super().__init__()
        self.heads, self.norm = heads, nn.LayerNorm(channels)
        self.query, self.key_value, self.out = (nn.Linear(channels, n * channels) for n in (1, 2, 1))

    def split(self, x):
        return x.reshape(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def memory(self, x):
        return [self.split(part) for part in self.key_value(x).chunk(2, -1)]

    def forward(self, x, keys, values):
        y = F.scaled_dot_product_attention(self.split(self.query(self.norm(x))), keys, values)
        return x + self.out(y.transpose(1, 2).reshape(x.shape))


def translate_beam(sentences=8, width=5, length=32, layers=4, channels=128, heads=4, vocabulary=8000):
    """A search without scores by length: no sentence ends before its last token."""
    encoder, decoder = (Transformer(layers, channels, heads, length, 0, vocabulary).eval() for _ in range(2))
    crossings = nn.ModuleList(CrossAttention(channels, heads) for _ in range(layers)).eval()
    source = torch.randint(vocabulary, (sentences, 24))
    rows = sentences * width

    def read(source):
        x = encoder.tokens(source) + encoder.positions[:24]
        for block in encoder.blocks:
            x = block(x, F.scaled_dot_product_attention)
        x = encoder.norm(x).repeat_interleave(width, 0)
        return [crossing.memory(x) for crossing in crossings]

    def following(last, position, caches, memories):
        x = encoder.tokens(last)[:, None] + encoder.positions[position]
        for block, crossing, cache, memory in zip(decoder.blocks, crossings, caches, memories):
            x = block.feed_forward(crossing(block.attend(x, attending_to(cache, position)), *memory))
        return torch.log_softmax(decoder.norm(x[:, 0]) @ encoder.tokens.weight.T, -1)

    read, following = compiled(read), compiled(following)
    first_rows = torch.arange(sentences)[:, None] * width

    @torch.inference_mode()
    def step():
        memories = read(source)
        caches = [[torch.empty(rows, heads, length, channels // heads) for _ in range(2)] for _ in range(layers)]
        # At first only one prefix of each sentence counts, since all are equal.
        totals = torch.full((sentences, width), -math.inf)
        totals[:, 0] = 0
        tokens, last = torch.zeros(rows, 0, dtype=torch.long), torch.zeros(rows, dtype=torch.long)
        for position in range(length):
            log_p = following(last, position, caches, memories)
            totals, best = (totals.reshape(rows, 1) + log_p).reshape(sentences, -1).topk(width)
            chosen, last = (first_rows + best // vocabulary).flatten(), (best % vocabulary).flatten()
            tokens = torch.cat([tokens[chosen], last[:, None]], 1)
            caches = [[kept.index_select(0, chosen) for kept in cache] for cache in caches]

    return step


def classify_batch1():
    net, output = Transformer(4, 128, 4, 32, 0, 8000).eval(), nn.Linear(128, 2)
    ids, seen = torch.randint(8000, (1, 32)), torch.ones(1, 32, dtype=torch.bool)

    def attention(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=seen[:, None, None])

    def classify(ids, seen):
        x = net.tokens(ids) + net.positions
        for block in net.blocks:
            x = block(x, attention)
        return output((net.norm(x) * seen[..., None]).sum(1) / seen.sum(1, keepdim=True))

    classify = compiled(classify)

    @torch.inference_mode()
    def step():
        classify(ids, seen)

    return step


def reading(name, write, read):
    """A row that reads a file of 100 MB, which is removed at the end."""
    file = pathlib.Path(tempfile.gettempdir()) / f"{os.getpid()}-{name}"
    atexit.register(file.unlink, missing_ok=True)
    write(file)

    def step():
        read(file)

    return step


def read_text():
    import numpy

    def read(file):
        """As numbers of the vocabulary, in the order of the bytes."""
        text = numpy.fromfile(file, dtype=numpy.uint8)
        seen = torch.bincount(torch.from_numpy(text), minlength=256) > 0
        return torch.from_numpy((seen.cumsum(0) - 1).numpy()[text])  # NumPy looks up faster than PyTorch

    return reading("read_text", lambda file: numpy.random.randint(48, 113, 100_000_000, dtype=numpy.uint8).tofile(file),
                   read)


def read_csv():
    """PyTorch has no reader; Arrow's reads blocks of lines side by side."""
    try:
        import pyarrow
        import pyarrow.csv
    except ImportError:
        raise rows_of.CannotRun("pip install pyarrow") from None
    pyarrow.set_cpu_count(flags.threads)

    def write(file):
        line = ",".join(["%.6f"] * 10)
        file.write_text("".join(line % tuple(row) + "\n" for row in (torch.rand(1_060_000, 10) * 2 - 1).tolist()))

    def read(file):
        table = pyarrow.csv.read_csv(
            file, pyarrow.csv.ReadOptions(use_threads=flags.threads > 1, autogenerate_column_names=True),
            convert_options=pyarrow.csv.ConvertOptions(column_types={f"f{i}": pyarrow.float32() for i in range(10)}))
        return torch.stack([torch.from_numpy(column.to_numpy()) for column in table.columns], 1)

    return reading("read_csv", write, read)


def read_npy():
    import numpy
    return reading("read_npy.npy", lambda file: numpy.save(file, torch.randn(25_000, 1000).numpy()),
                   lambda file: torch.from_numpy(numpy.load(file)))


def load_checkpoint():
    sizes = 2000, 4000, 4000, 250
    net = nn.Sequential(*(nn.Linear(*pair) for pair in zip(sizes, sizes[1:])))
    return reading("load_checkpoint", lambda file: torch.save(net.state_dict(), file),
                   lambda file: net.load_state_dict(torch.load(file, weights_only=True, mmap=True)))


class Draw(nn.Module):
    """Gregor et al. 2015 on images of 28 x 28 pixels, with a window over the whole image at first."""

    def __init__(self, glimpses=10, hidden=128, latent=20, read=3, write=5):
        super().__init__()
        self.glimpses, self.hidden, self.latent, self.read, self.write = glimpses, hidden, latent, read, write
        self.encoder = nn.LSTMCell(2 * read * read + hidden, hidden)
        self.decoder = nn.LSTMCell(latent, hidden)
        self.read_window, self.write_window = nn.Linear(hidden, 5), nn.Linear(hidden, 5)
        self.mean, self.log_deviation = nn.Linear(hidden, latent), nn.Linear(hidden, latent)
        self.patch = nn.Linear(hidden, write * write)
        for window in self.read_window, self.write_window:
            nn.init.zeros_(window.bias)

    @staticmethod
    def filters(numbers, count):
        """The filters along y and along x, and the intensity."""
        x, y, log_variance, log_stride, log_intensity = numbers.t().reshape(5, -1, 1, 1)
        offsets = (torch.arange(count) - (count - 1) / 2).reshape(-1, 1) * (27 / (count - 1) * log_stride.exp())
        banks = []
        for place in y, x:
            distances = torch.arange(1.0, 29.0) - 14.5 * (place + 1) - offsets
            weights = torch.exp(-0.5 * distances**2 / log_variance.exp())
            banks.append(weights / weights.sum(-1, keepdim=True).clamp(min=1e-8))
        return *banks, log_intensity.exp()

    def forward(self, images):
        batch = len(images)
        canvas, divergence = torch.zeros_like(images), 0
        encoder = decoder = (torch.zeros(batch, self.hidden),) * 2
        for _ in range(self.glimpses):
            along_y, along_x, intensity = self.filters(self.read_window(decoder[0]), self.read)
            seen = [(intensity * (along_y @ image @ along_x.mT)).flatten(1)
                    for image in (images, images - torch.sigmoid(canvas))]
            encoder = self.encoder(torch.cat([*seen, decoder[0]], 1), encoder)
            mean, log_deviation = self.mean(encoder[0]), self.log_deviation(encoder[0])
            divergence = divergence + (0.5 * (mean**2 + torch.exp(2 * log_deviation) - 1) - log_deviation).sum(1)
            decoder = self.decoder(mean + torch.exp(log_deviation) * torch.randn_like(mean), decoder)
            along_y, along_x, intensity = self.filters(self.write_window(decoder[0]), self.write)
            patch = self.patch(decoder[0]).reshape(batch, self.write, self.write)
            canvas = canvas + along_y.mT @ patch @ along_x / intensity
        nats = F.binary_cross_entropy_with_logits(canvas, images, reduction="none").sum((1, 2))
        return (nats + divergence).mean()


def draw():
    torch.set_flush_denormal(True)  # far from a filter its weights are subnormal numbers, which are slow
    net, images = Draw(), (torch.rand(128, 28, 28) < 0.13).float()
    return minimizing(net, lambda: net(images), clip=10.0)


def overhead():
    start, factor, seed = torch.randn(8), torch.tensor([1.0, -1.0] * 4), torch.ones(8)

    def chain(x):
        y = x
        for _ in range(500):
            y = y * factor + x
        return y

    chain = compiled(chain)

    def step():
        chain(start.clone().requires_grad_()).backward(seed)

    return step


def sweep(function, seed, *leaves):
    """A step: forward and backward, with gradients of the leaves."""
    function = compiled(function)

    def step():
        for leaf in leaves:
            leaf.grad = None
        function().backward(seed)

    return step


def matmul1024():
    linear, x = nn.Linear(1024, 1024), torch.randn(1024, 1024, requires_grad=True)
    return sweep(lambda: linear(x), torch.randn(1024, 1024), x, *linear.parameters())


def attention4096(heads):
    q, k, v = (torch.randn(1, heads, 4096, 64, requires_grad=True) for _ in range(3))
    return sweep(lambda: causal_attention(q, k, v), torch.randn(1, heads, 4096, 64), q, k, v)


def layernorm(rows, columns, composite):
    x = torch.randn(rows, columns, requires_grad=True)

    def normalized():
        if not composite:
            return F.layer_norm(x, (columns,))
        centered = x - x.mean(-1, keepdim=True)
        return centered / torch.sqrt((centered * centered).mean(-1, keepdim=True) + 1e-5)

    return sweep(normalized, torch.randn(rows, columns), x)


rows = {"mlp": lambda: mlp(128), "mlp_bf16": lambda: mlp(128, bf16=True), "mlp_nonorm": lambda: mlp(128, None),
        "mlp_bn": lambda: mlp(128, nn.BatchNorm1d), "mlp_b4": lambda: mlp(4), "mlp_b32": lambda: mlp(32), "cnn": cnn,
        "rnn": lambda: char_rnn(nn.RNN(128, 512)), "lstm": lambda: char_rnn(nn.LSTM(128, 512)),
        "gru": lambda: char_rnn(nn.GRU(128, 512)), "lnlstm": lambda: char_rnn(LayerNormLstm(128, 512)),
        "bnlstm": lambda: char_rnn(BatchNormLstm(128, 512, 64)),
        "handwriting": handwriting, "transformer": lambda: transformer(4, 128, 4, 128, 16),
        "transformer_dropout": lambda: transformer(4, 128, 4, 128, 16, 0.1),
        "transformer_varying": transformer_varying,
        "transformer_m": lambda: transformer(6, 384, 6, 256, 4),
        "transformer_m_bf16": lambda: transformer(6, 384, 6, 256, 4, bf16=True), "draw": draw, "overhead": overhead,
        "generate_lstm": lambda: generate_lstm(1), "generate_lstm_b32": lambda: generate_lstm(32),
        "generate_transformer": lambda: generate_transformer(1),
        "generate_transformer_b32": lambda: generate_transformer(32), "translate_beam": translate_beam,
        "classify_batch1": classify_batch1, "read_text": read_text, "read_csv": read_csv, "read_npy": read_npy,
        "load_checkpoint": load_checkpoint,
        "matmul1024": matmul1024, "attention4096": lambda: attention4096(4),
        "attention4096_h1": lambda: attention4096(1)}
for r, c in ((4096, 512), (128, 1024), (64, 2048)):
    rows[f"layernorm_{r}x{c}"] = lambda r=r, c=c: layernorm(r, c, False)
    rows[f"layernorm_{r}x{c}_composite"] = lambda r=r, c=c: layernorm(r, c, True)

rows_of.main(flags, "pytorch_compiled" if flags.compiled else "pytorch", torch.__version__, rows, graph_breaks,
             None if flags.compiled else tape_megabytes)
