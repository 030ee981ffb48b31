#!/usr/bin/env python3
"""Writes skip_thoughts.json: the loss of skip-thought vectors (Kiros et al. 2015) and its gradients by PyTorch, with
torch.gru_cell or with GRUs whose products are normalized (Ba et al. 2016, eq. 26-28)."""

import engine_golden  # noqa: F401
import torch
from samples import any_, double, found_for, write
from torch.nn import functional

V, E, H = 6, 3, 4
CURRENT = [[2, 5, 0], [3, 3, 1, 0]]
PREVIOUS = [[4, 0], [1, 2, 2, 0]]
NEXT = [[5, 4, 3, 2, 0], [0]]


def gru_parameters(inputs, normalized):
    weights = [any_(inputs, 3 * H), any_(3 * H), any_(H, 3 * H)]
    if not normalized:
        return [*weights, any_(H)]
    return weights + [part for _ in range(2) for size in (2 * H, H) for part in (any_(size), any_(size))]


def normed(product, norms):
    gain_1, bias_1, gain_2, bias_2 = norms
    gates, candidate = product.split([2 * H, H], -1)
    return functional.layer_norm(gates, [2 * H], gain_1, bias_1), functional.layer_norm(candidate, [H], gain_2, bias_2)


def step(x, h, gru):
    w_x, bias, w_h, *rest = gru
    if len(rest) == 1:
        b_h = torch.cat([torch.zeros(2 * H, dtype=double), rest[0]])
        return torch.gru_cell(x[None], h[None], w_x.T, w_h.T, bias, b_h)[0]
    x_gates, x_candidate = normed(x @ w_x, rest[:4])
    h_gates, h_candidate = normed(h @ w_h, rest[4:])
    r, z = torch.sigmoid(x_gates + h_gates + bias[:2 * H]).chunk(2, -1)
    n = torch.tanh(x_candidate + bias[2 * H:] + r * h_candidate)
    return (1 - z) * n + z * h


def loss(parameters, every_step, normalized):
    size = 11 if normalized else 4
    words, rest = parameters[0], list(parameters[1:])
    encoder, before, after = (rest[i * size:(i + 1) * size] for i in range(3))
    weight, bias = rest[3 * size:]
    total, count = 0, 0
    for current, previous, following in zip(CURRENT, PREVIOUS, NEXT):
        h = torch.zeros(H, dtype=double)
        for word in current:
            h = step(words[word], h, encoder)
        for decoder, neighbour in (before, previous), (after, following):
            state, x = h, torch.zeros(E, dtype=double)
            for word in neighbour:
                state = step(torch.cat([x, h]) if every_step else x, state, decoder)
                total = total - functional.log_softmax(state @ weight + bias, -1)[word]
                x = words[word]
                count += 1
    return total / count


def row(every_step, normalized):
    inputs = E + H if every_step else E
    return (lambda *given: loss(given, every_step, normalized),
            lambda: [any_(V, E), *gru_parameters(E, normalized), *gru_parameters(inputs, normalized),
                     *gru_parameters(inputs, normalized), any_(H, V), any_(V)])


write("skip_thoughts.json", found_for({
    "start": row(False, False),
    "every_step": row(True, False),
    "start layer": row(False, True),
    "every_step layer": row(True, True),
}))
