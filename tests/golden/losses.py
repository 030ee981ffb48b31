#!/usr/bin/env python3
"""Writes losses.json, as ops.py writes ops.json: inputs, value and gradients of losses in double precision."""

import torch
import torch.nn.functional as F

from samples import any_, double, found_for, positive, spread, write

labels = torch.tensor([1, 0, 3])
with_ignored = torch.tensor([1, -100, 3])
weight = torch.tensor([0.5, 2.0, 1.0, 0.25], dtype=double)
sides = torch.tensor([1, -1, 1, -1])


# Repeated labels, an empty target, a short input; in "ctc_infinite" the second target does not fit its input.
def ctc(x, lengths=(6, 5, 4), target_lengths=(3, 2, 0), blank=0, **options):
    targets = torch.tensor([[1, 1, 2], [3, 1, 3], [2, 2, 2]])
    return F.ctc_loss(F.log_softmax(x, -1), targets, torch.tensor(lengths), torch.tensor(target_lengths), blank,
                      **options)


def kl(mean, log_deviation):
    normal = torch.distributions.Normal
    return torch.distributions.kl_divergence(normal(mean, log_deviation.exp()), normal(0.0, 1.0)).sum(-1)


# Vendrov et al. 2016, eq. 5, with the right pairs on the diagonal.
def contrastive_sum(costs):
    right = costs.diagonal()
    hinges = (0.4 - costs + right[:, None]).clamp(min=0) + (0.4 - costs + right[None, :]).clamp(min=0)
    return hinges[~torch.eye(len(costs), dtype=torch.bool)].sum()


rows = {
    "cross_entropy": (lambda x: F.cross_entropy(x, labels), lambda: [any_(3, 4)]),
    "cross_entropy_smoothed": (
        lambda x: F.cross_entropy(x, torch.tensor([1, -100, 3]), label_smoothing=0.2), lambda: [any_(3, 4)]),
    "cross_entropy_soft": (lambda x, t: F.cross_entropy(x, t), lambda: [any_(3, 4), positive(3, 4)]),
    "binary_cross_entropy_with_logits": (F.binary_cross_entropy_with_logits, lambda: [any_(2, 3), positive(2, 3) / 3]),
    "mse": (F.mse_loss, lambda: [any_(2, 3), any_(2, 3)]),
    "l1": (F.l1_loss, lambda: [spread(2, 3), spread(2, 3) + 0.1]),
    "huber": (lambda x, t: F.huber_loss(x, t, delta=0.8), lambda: [spread(2, 5), spread(2, 5) + 0.1]),
    "hinge": (lambda x, t: (1 - x * t).clamp(min=0).mean(),
              lambda: [torch.tensor([[-2.0, 0.4, 3.0], [0.7, 1.6, -0.2]]),
                       torch.tensor([[1.0, -1.0, 1.0], [1.0, -1.0, -1.0]])]),
    "kl_divergence": (lambda q, p: F.kl_div(q, p, reduction="batchmean"), lambda: [any_(3, 4), positive(3, 4) / 4]),
    "mse_none": (lambda x, t: F.mse_loss(x, t, reduction="none"), lambda: [any_(2, 3), any_(2, 3)]),
    "l1_sum": (lambda x, t: F.l1_loss(x, t, reduction="sum"), lambda: [any_(2, 3), any_(2, 3) + 5]),
    "huber_none": (lambda x, t: F.huber_loss(x, t, delta=0.8, reduction="none"),
                   lambda: [torch.tensor([0.1, 3.0, -2.0, 0.3]), torch.tensor([0.4, 1.0, 1.0, -0.2])]),
    "kl_divergence_sum": (lambda q, p: F.kl_div(q, p, reduction="sum"), lambda: [any_(3, 4), positive(3, 4) / 4]),
    "cross_entropy_none": (lambda x: F.cross_entropy(x, with_ignored, reduction="none"), lambda: [any_(3, 4)]),
    "cross_entropy_weight": (lambda x: F.cross_entropy(x, labels, weight), lambda: [any_(3, 4)]),
    "cross_entropy_weight_smoothed": (
        lambda x: F.cross_entropy(x, with_ignored, weight, label_smoothing=0.2), lambda: [any_(3, 4)]),
    "cross_entropy_weight_sum": (
        lambda x: F.cross_entropy(x, labels, weight, label_smoothing=0.2, reduction="sum"), lambda: [any_(3, 4)]),
    "cross_entropy_soft_none": (
        lambda x, t: F.cross_entropy(x, t, reduction="none"), lambda: [any_(3, 4), positive(3, 4)]),
    "binary_cross_entropy_with_logits_weight": (
        lambda x, t: F.binary_cross_entropy_with_logits(
            x, t, pos_weight=torch.tensor([2.0, 0.5, 3.0], dtype=double)), lambda: [any_(2, 3), positive(2, 3) / 3]),
    "nll": (lambda x: F.nll_loss(x, with_ignored, weight), lambda: [any_(3, 4)]),
    "gaussian_nll": (F.gaussian_nll_loss, lambda: [any_(2, 3), any_(2, 3), positive(2, 3)]),
    "gaussian_nll_full": (
        lambda x, t, v: F.gaussian_nll_loss(x, t, v, full=True, reduction="none"),
        lambda: [any_(2, 3), any_(2, 3), positive(2, 1)]),
    "cosine_similarity": (lambda a, b: F.cosine_similarity(a, b, dim=-1), lambda: [any_(3, 1, 4), any_(1, 2, 4)]),
    "cosine_similarity_first": (lambda a, b: F.cosine_similarity(a, b, dim=0), lambda: [any_(3, 2), any_(3, 2)]),
    "cosine_embedding": (lambda a, b: F.cosine_embedding_loss(a, b, sides, margin=-0.4),
                         lambda: [any_(4, 3), any_(4, 3)]),
    "triplet_margin": (lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=4),
                       lambda: [any_(3, 4), any_(3, 4), any_(3, 4)]),
    "triplet_margin_swap": (
        lambda a, p, n: F.triplet_margin_loss(a, p, n, margin=5, swap=True, reduction="none"),
        lambda: [any_(4, 3), any_(4, 3), any_(4, 3)]),
    "ctc": (ctc, lambda: [any_(6, 3, 4)]),
    "ctc_none": (lambda x: ctc(x, lengths=(6, 6, 1), reduction="none"), lambda: [any_(6, 3, 4)]),
    "ctc_sum": (lambda x: ctc(x, (6, 6, 6), (2, 3, 1), reduction="sum"), lambda: [any_(6, 3, 4)]),
    "ctc_infinite": (lambda x: ctc(x, (6, 2, 4), (3, 3, 1), zero_infinity=True), lambda: [any_(6, 3, 4)]),
    "gaussian_kl": (lambda m, s: kl(m, s).mean(), lambda: [any_(3, 4), any_(3, 4)]),
    "gaussian_kl_none": (kl, lambda: [any_(2, 1, 3), any_(2, 1, 3)]),
    "l2_normalize": (F.normalize, lambda: [any_(3, 4)]),
    "l2_normalize_first": (lambda x: F.normalize(x, dim=0, eps=1.5),
                           lambda: [any_(3, 4)]),  # of columns longer and shorter
    "order_violation": (lambda g, s: (g - s).clamp(min=0).square().sum(-1), lambda: [any_(3, 1, 4), any_(1, 2, 4)]),
    "contrastive_sum": (contrastive_sum, lambda: [any_(4, 4)]),
}

write("losses.json", found_for(rows))
