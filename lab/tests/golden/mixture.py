#!/usr/bin/env python3
"""Writes mixture.json: the negative log-likelihood of pen moves under a mixture, by torch.distributions."""

import engine_golden  # noqa: F401
import torch
from samples import any_, double, found_for, write
from torch.distributions import Bernoulli, Categorical, MixtureSameFamily, MultivariateNormal

M = 3
counted = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]], dtype=double)


def nll(numbers, moves):
    weight, x, y, log_s, log_t, r = numbers[..., :-1].split(M, -1)
    s, t, r = log_s.clamp(-7, 7).exp(), log_t.clamp(-7, 7).exp(), 0.999 * r.tanh()
    covariance = torch.stack([s * s, r * s * t, r * s * t, t * t], -1).unflatten(-1, (2, 2))
    normals = MultivariateNormal(torch.stack([x, y], -1), covariance, validate_args=False)
    mixture = MixtureSameFamily(Categorical(logits=weight), normals, validate_args=False)
    pen = Bernoulli(logits=numbers[..., -1], validate_args=False)
    return -mixture.log_prob(moves[..., :2]) - pen.log_prob(moves[..., 2])


def moves():
    pen = torch.randint(0, 2, (3, 2, 1)).to(double)
    return torch.cat([any_(3, 2, 2), pen], -1)


def numbers():
    return any_(3, 2, 6 * M + 1)


def beyond_limits():
    """With deviations beyond their limits."""
    drawn = numbers()
    drawn[0, 0, 3 * M:5 * M] = 7.5
    drawn[1, 1, 3 * M:5 * M] = -7.5
    return drawn


rows = {
    "mixture_nll": (lambda y, x: nll(y, x).mean(), lambda: [numbers(), moves()]),
    "mixture_nll_none": (nll, lambda: [numbers(), moves()]),
    "mixture_nll_sum": (lambda y, x: nll(y, x).sum(), lambda: [numbers(), moves()]),
    "mixture_nll_counted": (lambda y, x: (nll(y, x) * counted).sum() / counted.sum(), lambda: [numbers(), moves()]),
    "mixture_nll_limits": (nll, lambda: [beyond_limits(), moves()]),
}
write("mixture.json", found_for(rows))
