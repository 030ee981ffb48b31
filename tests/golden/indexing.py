#!/usr/bin/env python3
"""Writes indexing.json: as ops.json, for the rows of tests/ops/indexing_table.cpp."""

import torch

from samples import any_, found_for, write

write("indexing.json", found_for({
    "at": (lambda x: x[:, 1:, ::2], lambda: [any_(2, 3, 5)]),
    "at_position": (lambda x: x[1:, -1, 1:4:2], lambda: [any_(3, 2, 5)]),
    "at_ellipsis": (lambda x: x[..., 1:-1], lambda: [any_(2, 3, 4)]),
    "at_new_axis": (lambda x: x[:, None, ..., -2, None], lambda: [any_(2, 3, 4)]),
    "einsum_ellipsis": (lambda a, b: torch.einsum("...ij,...jk->...ik", a, b),
                        lambda: [any_(2, 1, 2, 3), any_(4, 3, 2)]),
    "einsum_ellipsis_implicit": (lambda a, b: torch.einsum("b...,...a", a, b), lambda: [any_(2, 3), any_(4, 3, 2)]),
    "einsum_ellipsis_last": (lambda a, b: torch.einsum("i...,j...->...ji", a, b), lambda: [any_(2, 3, 1), any_(3, 2)]),
    "einsum_ellipsis_summed": (lambda a, b: torch.einsum("...i,i->i", a, b), lambda: [any_(2, 3, 4), any_(4)]),
    "einsum_ellipsis_elements": (lambda a, b, c: torch.einsum("...,i...,...->i...", a, b, c),
                                 lambda: [any_(3), any_(2, 4, 1), any_(1, 3)]),
    "einsum_diagonal": (lambda x: torch.einsum("ii->i", x), lambda: [any_(3, 3)]),
    "einsum_trace": (lambda x: torch.einsum("ii", x), lambda: [any_(3, 3)]),
    "einsum_diagonals": (lambda x: torch.einsum("ibi->bi", x), lambda: [any_(3, 2, 3)]),
    "einsum_diagonal_triple": (lambda x: torch.einsum("iiji->ji", x), lambda: [any_(2, 2, 3, 2)]),
    "einsum_diagonal_product": (lambda x, y: torch.einsum("...ii,ij->...j", x, y), lambda: [any_(2, 3, 3), any_(3, 2)]),
}))
