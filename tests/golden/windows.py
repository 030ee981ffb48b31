#!/usr/bin/env python3
"""Writes windows.json: as ops.json, for the rows of tests/ops/windows_table.cpp."""

import torch
import torch.nn.functional as F

from samples import any_, found_for, spread, write

write("windows.json", found_for({
    "conv2d_extents": (lambda x, w: F.conv2d(x, w, stride=(2, 1), padding=(0, 2), dilation=(1, 2)),
                       lambda: [any_(2, 2, 6, 5), any_(3, 2, 3, 2)]),
    "conv2d_extents_grouped": (lambda x, w: F.conv2d(x, w, stride=(1, 3), padding=(2, 1), dilation=(2, 1), groups=2),
                               lambda: [any_(5, 4, 5, 7), any_(2, 2, 2, 3)]),
    "conv_transpose2d_extents": (
        lambda x, w: F.conv_transpose2d(x, w, stride=(3, 2), padding=(1, 0), output_padding=(2, 1), dilation=(1, 2)),
        lambda: [any_(2, 3, 2, 3), any_(3, 2, 3, 2)]),
    "max_pool2d_extents": (lambda x: F.max_pool2d(x, (3, 2), (1, 2), (1, 0)), lambda: [spread(2, 2, 4, 6)]),
    "max_pool2d_ceil": (lambda x: F.max_pool2d(x, 3, 2, 1, ceil_mode=True), lambda: [spread(1, 2, 6, 4)]),
    "max_pool2d_ceil_beyond": (lambda x: F.max_pool2d(x, (4, 3), (3, 2), ceil_mode=True), lambda: [spread(2, 1, 3, 6)]),
    "avg_pool2d_extents": (lambda x: F.avg_pool2d(x, (2, 3), (1, 2), (1, 0)), lambda: [any_(2, 2, 4, 6)]),
    "avg_pool2d_ceil": (lambda x: F.avg_pool2d(x, 3, 2, 1, ceil_mode=True), lambda: [any_(1, 2, 6, 4)]),
    "avg_pool2d_excluded": (lambda x: F.avg_pool2d(x, 3, 2, 1, count_include_pad=False), lambda: [any_(2, 1, 5, 4)]),
    "avg_pool2d_ceil_excluded": (
        lambda x: F.avg_pool2d(x, (2, 3), (3, 2), (1, 1), ceil_mode=True, count_include_pad=False),
        lambda: [any_(1, 2, 6, 4)]),
    "max_pool1d": (lambda x: F.max_pool1d(x, 3, 2, 1), lambda: [spread(2, 2, 6)]),
    "max_pool1d_ceil": (lambda x: F.max_pool1d(x, 2, ceil_mode=True), lambda: [spread(2, 2, 5)]),
    "avg_pool1d": (lambda x: F.avg_pool1d(x, 3, 2, 1), lambda: [any_(2, 2, 6)]),
    "avg_pool1d_excluded": (lambda x: F.avg_pool1d(x, 3, 2, 1, ceil_mode=True, count_include_pad=False),
                            lambda: [any_(2, 2, 6)]),
    "adaptive_max_pool2d": (lambda x: F.adaptive_max_pool2d(x, (2, 3)), lambda: [spread(2, 2, 5, 4)]),
    "adaptive_max_pool2d_larger": (lambda x: F.adaptive_max_pool2d(x, (5, 1)), lambda: [spread(1, 2, 3, 4)]),
    "adaptive_avg_pool2d": (lambda x: F.adaptive_avg_pool2d(x, (2, 3)), lambda: [any_(2, 2, 5, 4)]),
    "adaptive_avg_pool2d_larger": (lambda x: F.adaptive_avg_pool2d(x, (5, 1)), lambda: [any_(1, 2, 3, 4)]),
    "adaptive_max_pool1d": (lambda x: F.adaptive_max_pool1d(x, 3), lambda: [spread(2, 2, 7)]),
    "adaptive_avg_pool1d": (lambda x: F.adaptive_avg_pool1d(x, 3), lambda: [any_(2, 2, 7)]),
}))
