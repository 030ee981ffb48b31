#!/usr/bin/env python3
"""Writes linalg.json: the values and gradients of torch.linalg in double precision. Results of several tensors are
flattened and joined. Signs that are free are chosen as tapegrad does."""

import torch

from samples import any_, double, plain, write

torch.manual_seed(5)
linalg = torch.linalg


def definite(*shape):
    x = any_(*shape)
    return x @ x.mT + torch.eye(shape[-1], dtype=double)


def triangular(*shape):
    """Also values where they are not to be read."""
    return any_(*shape) + 3 * torch.eye(shape[-1], dtype=double)


def symmetric(x):
    return (x + x.mT) / 2


def joined(*parts):
    return torch.cat([part.flatten() for part in parts])


def qr(x):
    q, r = linalg.qr(x)
    sign = torch.sign(torch.diagonal(r, dim1=-2, dim2=-1)).detach()
    return joined(q * sign.unsqueeze(-2), r * sign.unsqueeze(-1))


def signs(vectors):
    """The signs of the greatest element of each column."""
    greatest = vectors.abs().argmax(-2, keepdim=True)
    return torch.sign(vectors.gather(-2, greatest)).detach()


def eigh(x):
    values, vectors = linalg.eigh(symmetric(x))
    return joined(values, vectors * signs(vectors))


def svd(x):
    u, s, vt = linalg.svd(x, full_matrices=False)
    sign = signs(u)
    return joined(u * sign, s, vt * sign.mT)


def row(compute, *inputs):
    inputs = [x.detach().requires_grad_() for x in inputs]
    value = compute(*inputs)
    seed = torch.rand_like(value) + 0.5
    return {"inputs": [plain(x) for x in inputs], "value": plain(value), "seed": plain(seed),
            "gradients": [plain(g) for g in torch.autograd.grad(value, inputs, seed)]}


rows = {
    "cholesky": row(lambda a: linalg.cholesky(symmetric(a)), definite(2, 3, 3)),
    "qr_tall": row(qr, any_(5, 3)),
    "qr_square": row(qr, any_(3, 3)),
    "qr_wide": row(qr, any_(3, 5)),
    "qr_batched": row(qr, any_(2, 1, 4, 3)),
    "eigh": row(eigh, any_(4, 4)),
    "eigh_batched": row(eigh, any_(2, 3, 3)),
    "eigh_values": row(lambda a: linalg.eigvalsh(symmetric(a)), any_(2, 3, 3)),
    "svd_tall": row(svd, any_(5, 3)),
    "svd_square": row(svd, any_(3, 3)),
    "svd_wide": row(svd, any_(3, 5)),
    "svd_batched": row(svd, any_(2, 4, 3)),
    "svd_values": row(linalg.svdvals, any_(2, 3, 4)),
    "solve": row(linalg.solve, any_(2, 3, 3), any_(2, 3, 2)),
    "solve_broadcast": row(linalg.solve, any_(2, 1, 3, 3), any_(4, 3, 2)),
    "solve_vector": row(linalg.solve, any_(3, 3), any_(3)),
    "triangular_lower": row(lambda a, b: linalg.solve_triangular(a.tril(), b, upper=False), triangular(2, 3, 3), any_(2, 3, 2)),
    "triangular_upper": row(lambda a, b: linalg.solve_triangular(a.triu(), b, upper=True), triangular(3, 3), any_(2, 3, 2)),
    "triangular_lower_transposed": row(lambda a, b: linalg.solve_triangular(a.tril().mT, b, upper=True),
                                       triangular(3, 3), any_(3, 2)),
    "triangular_upper_transposed": row(lambda a, b: linalg.solve_triangular(a.triu().mT, b, upper=False),
                                       triangular(3, 3), any_(3, 2)),
    "inverse": row(linalg.inv, any_(2, 3, 3)),
    "logdet": row(torch.logdet, definite(2, 3, 3)),
    "logdet_one": row(torch.logdet, definite(3, 3)),
    "lstsq_tall": row(lambda a, b: linalg.lstsq(a, b).solution, any_(2, 5, 3), any_(2, 5, 2)),
    "lstsq_wide": row(lambda a, b: linalg.lstsq(a, b).solution, any_(3, 5), any_(3, 2)),
}
write("linalg.json", rows)
