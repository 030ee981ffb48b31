"""Bound functions against formulas of NumPy on random arguments, and their gradients against differences."""

import itertools
import unittest

import numpy as np

from tapegrad import ShapeError, TapeError, float32, float64

PRECISIONS = [(float32, np.float32, 2e-5), (float64, np.float64, 1e-12)]


def softmax(x):
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


# A function of one array, what it is in NumPy, and whether its argument must be positive.
UNARY = {
    "abs": np.abs, "sign": np.sign, "floor": np.floor, "ceil": np.ceil, "round": np.round, "exp": np.exp,
    "expm1": np.expm1, "sin": np.sin, "cos": np.cos, "tanh": np.tanh, "square": np.square, "neg": np.negative,
    "reciprocal": lambda x: 1 / x, "sigmoid": lambda x: 1 / (1 + np.exp(-x)), "relu": lambda x: np.maximum(x, 0),
    "leaky_relu": lambda x: np.where(x > 0, x, 0.01 * x), "elu": lambda x: np.where(x > 0, x, np.expm1(x)),
    "silu": lambda x: x / (1 + np.exp(-x)), "softplus": lambda x: np.log1p(np.exp(x)), "softmax": softmax,
    "log_softmax": lambda x: np.log(softmax(x)), "isfinite": lambda x: np.isfinite(x) * 1.0,
    "logical_not": lambda x: (x == 0) * 1.0, "transpose": lambda x: np.swapaxes(x, -1, -2),
    "sum": np.sum, "mean": np.mean, "var": np.var, "stddev": np.std, "max": np.max, "min": np.min, "prod": np.prod,
    "norm": lambda x: np.sqrt(np.sum(x * x)), "logsumexp": lambda x: np.log(np.sum(np.exp(x))),
    "cumsum": lambda x: np.cumsum(x, -1), "cumprod": lambda x: np.cumprod(x, -1), "flip": np.flip,
    "tril": np.tril, "triu": np.triu, "diagonal": lambda x: np.diagonal(x, axis1=-2, axis2=-1),
    "detach": lambda x: x,
    "layer_norm": lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5),
    "rms_norm": lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-6),
    "l2_normalize": lambda x: x / np.sqrt((x * x).sum(-1, keepdims=True)),
}
POSITIVE = {"log": np.log, "log1p": np.log1p, "sqrt": np.sqrt, "rsqrt": lambda x: 1 / np.sqrt(x)}
BINARY = {
    "add": np.add, "sub": np.subtract, "mul": np.multiply, "div": np.divide, "minimum": np.minimum,
    "maximum": np.maximum, "equal": lambda a, b: (a == b) * 1.0, "not_equal": lambda a, b: (a != b) * 1.0,
    "less": lambda a, b: (a < b) * 1.0, "less_equal": lambda a, b: (a <= b) * 1.0,
    "greater": lambda a, b: (a > b) * 1.0, "greater_equal": lambda a, b: (a >= b) * 1.0,
    "logical_and": lambda a, b: np.logical_and(a, b) * 1.0, "logical_or": lambda a, b: np.logical_or(a, b) * 1.0,
}
# Gradients of these are checked: they are smooth at random points.
SMOOTH = [name for name in UNARY if name not in (
    "sign", "floor", "ceil", "round", "isfinite", "logical_not", "detach")]
# Calls with other arguments, and what they are in NumPy.
CALLS = [
    (lambda tg, x: tg.sum(x, 0), lambda x: x.sum(0)),
    (lambda tg, x: tg.sum(x, [0, -1], keep=True), lambda x: x.sum((0, -1), keepdims=True)),
    (lambda tg, x: tg.var(x, -1, variance="unbiased"), lambda x: x.var(-1, ddof=1)),
    (lambda tg, x: tg.reshape(x, [2, -1]), lambda x: x.reshape(2, -1)),
    (lambda tg, x: tg.permute(x, [2, 0, 1]), lambda x: x.transpose(2, 0, 1)),
    (lambda tg, x: tg.pad(x, [(1, 2)], 3), lambda x: np.pad(x, [(0, 0), (0, 0), (1, 2)], constant_values=3)),
    (lambda tg, x: tg.concat([x, x], 1), lambda x: np.concatenate([x, x], 1)),
    (lambda tg, x: tg.stack([x, x], axis=-1), lambda x: np.stack([x, x], -1)),
    (lambda tg, x: tg.split(x, [1, 2], 1)[1], lambda x: x[:, 1:]),
    (lambda tg, x: tg.sort(x, -1, True)[0], lambda x: -np.sort(-x, -1)),
    (lambda tg, x: tg.einsum("ijk,ijl->ikl", [x, x]), lambda x: np.einsum("ijk,ijl->ikl", x, x)),
    (lambda tg, x: tg.matmul(x, x, transposed_b=True), lambda x: x @ x.swapaxes(-1, -2)),
    (lambda tg, x: x[0, 1:, None, ::2], lambda x: x[0, 1:, None, ::2]),
    (lambda tg, x: x[..., -1], lambda x: x[..., -1]),
    (lambda tg, x: 2 - x * x / 3 + 1, lambda x: 2 - x * x / 3 + 1),
    (lambda tg, x: 2 ** x, lambda x: 2 ** x),
    (lambda tg, x: x @ tg.transpose(x), lambda x: x @ x.swapaxes(-1, -2)),
    (lambda tg, x: -abs(x), lambda x: -abs(x)),
    (lambda tg, x: (x > 0) + (x <= 0.5), lambda x: (x > 0) * 1.0 + (x <= 0.5)),
    (lambda tg, x: tg.where(x > 0, x, 0), lambda x: np.where(x > 0, x, 0)),
    (lambda tg, x: tg.clamp(x, -0.5, 0.5), lambda x: np.clip(x, -0.5, 0.5)),
    (lambda tg, x: tg.mse(x, 2 * x, reduction="sum"), lambda x: np.sum(x * x)),
    (lambda tg, x: tg.layer_norm(x, epsilon=0.1), lambda x: (x - x.mean(-1, keepdims=True)) / np.sqrt(
        x.var(-1, keepdims=True) + 0.1)),
    (lambda tg, x: tg.avg_pool2d(tg.reshape(x, [1, 2, 3, 4]), size=(1, 2)),
     lambda x: x.reshape(1, 2, 3, 2, 2).mean(-1)),
]


class Values(unittest.TestCase):
    def agree(self, found, expected, tolerance, name=""):
        expected = np.asarray(expected)
        self.assertEqual(found.shape, expected.shape, name)
        np.testing.assert_allclose(found.numpy(), expected, rtol=tolerance, atol=tolerance, err_msg=name)

    def test_formulas(self):
        rng = np.random.default_rng(1)
        for tg, real, tolerance in PRECISIONS:
            x = rng.normal(size=(2, 3, 4)).astype(real)
            for name, formula in UNARY.items():
                self.agree(getattr(tg, name)(tg.Tensor(x)), formula(x), tolerance, name)
            for name, formula in POSITIVE.items():
                self.agree(getattr(tg, name)(tg.Tensor(np.abs(x))), formula(np.abs(x)), tolerance, name)
            for name, formula in BINARY.items():
                for shape in ((2, 3, 4), (3, 1), (4,), ()):
                    y = np.asarray(rng.normal(size=shape), real)
                    self.agree(getattr(tg, name)(tg.Tensor(x), tg.Tensor(y)), formula(x, y), tolerance, name)
            for i, (call, formula) in enumerate(CALLS):
                self.agree(call(tg, tg.Tensor(x)), formula(x), tolerance, f"call {i}")

    def test_gradients(self):
        rng, step, tg = np.random.default_rng(2), 1e-6, float64
        x, direction = rng.normal(size=(2, 3, 4)), rng.normal(size=(2, 3, 4))
        calls = {name: (lambda name: lambda x: getattr(tg, name)(x))(name) for name in SMOOTH}
        calls |= {f"call {i}": (lambda call: lambda x: call(tg, x))(call) for i, (call, _) in enumerate(CALLS)}
        for name, call in calls.items():
            with tg.Tape():
                leaf = tg.watch(tg.Tensor(x))
                y = call(leaf)
                seed = rng.normal(size=y.shape)
                try:
                    slope = np.sum(tg.grad(y, leaf, seed=tg.Tensor(seed)).numpy() * direction)
                except TapeError:  # comparisons are constants
                    slope = 0
            above, below = (np.sum(seed * call(tg.Tensor(x + sign * step * direction)).numpy()) for sign in (1, -1))
            self.assertAlmostEqual(slope, (above - below) / (2 * step), delta=1e-5 * max(1, abs(slope)), msg=name)

    def test_normalization_over_fields(self):
        rng = np.random.default_rng(3)
        for tg, real, tolerance in PRECISIONS:
            x = rng.normal(size=(2, 6, 4, 5)).astype(real)
            groups = x.reshape(2, 3, 2 * 4 * 5)  # three groups of two channels
            centered = groups - groups.mean(-1, keepdims=True)
            field = tg.NormField(axes=[1, 2, 3], groups=3)
            expected = centered / np.sqrt((centered**2).mean(-1, keepdims=True) + 0.1)
            for fields in (tg.both(field), tg.NormFields(center=field, scale=field)):
                self.agree(tg.normalize(tg.Tensor(x), fields, epsilon=0.1), expected.reshape(x.shape), tolerance)
            only_scaled = groups / np.sqrt((groups**2).mean(-1, keepdims=True) + 1e-5)
            fields = tg.NormFields(center=None, scale=field)
            self.agree(tg.normalize(tg.Tensor(x), fields), only_scaled.reshape(x.shape), tolerance)
            fields.center = tg.NormField(axes=[-1])
            self.assertEqual((fields.center.axes, fields.scale.groups), ([-1], 3))
            rows = x - x.mean(-1, keepdims=True)
            self.agree(tg.centered_l1(tg.Tensor(x), fields.center), np.abs(rows).mean(), tolerance)
            gain, bias = rng.normal(size=(2, 5)).astype(real)
            expected = rows / np.sqrt((rows**2).mean(-1, keepdims=True) + 1e-5) * gain + bias
            self.agree(tg.affine_norm(tg.Tensor(x), tg.both(fields.center), tg.Tensor(gain), tg.Tensor(bias)), expected,
                       tolerance)
            with self.assertRaisesRegex(ShapeError, "normalize: "):
                tg.normalize(tg.Tensor(x), tg.both(tg.NormField(axes=[1], groups=4)))

    def test_ctc_sums_over_all_alignments(self):
        rng, labels, lengths, steps = np.random.default_rng(4), [[1, 1], [2, 0]], [2, 1], [5, 4]
        for tg, real, tolerance in PRECISIONS:
            p = softmax(rng.normal(size=(5, 2, 3)).astype(real))
            losses = []
            for b in range(2):
                total = 0
                for path in itertools.product(range(3), repeat=steps[b]):
                    merged = [label for label, _ in itertools.groupby(path) if label != 0]
                    if merged == labels[b][:lengths[b]]:
                        total += np.prod([p[t, b, label] for t, label in enumerate(path)])
                losses.append(-np.log(total))
            given = {"labels": tg.Indices(labels), "lengths": tg.Indices(lengths)}
            log_p = tg.Tensor(np.log(p))
            self.agree(tg.ctc(log_p, tg.Indices(steps), reduction="none", **given), losses, tolerance)
            self.agree(tg.ctc(log_p, tg.Indices(steps), **given), np.mean(np.divide(losses, lengths)), tolerance)
            with self.assertRaisesRegex(ShapeError, "ctc: "):
                tg.ctc(log_p, tg.Indices([6, 4]), **given)

    def test_a_recurrence_without_a_layer(self):
        rng = np.random.default_rng(5)
        for tg, real, tolerance in PRECISIONS:
            inputs, weight = rng.normal(size=(3, 2, 4)).astype(real), rng.normal(size=(4, 4)).astype(real)
            h, expected, lengths = rng.normal(size=(2, 4)).astype(real), [], np.array([3, 1])
            first = h
            for t in range(3):
                h = np.where((t < lengths)[:, None], np.tanh(inputs[t] + h @ weight), h)
                expected.append(h)
            outputs, last = tg.recurrent("rnn", tg.Tensor(inputs), tg.Tensor(weight), (tg.Tensor(first), None),
                                         tg.Indices(lengths))
            self.agree(outputs, np.stack(expected), tolerance)
            self.agree(last[0], h, tolerance)
            with self.assertRaisesRegex(ShapeError, "recurrent: "):
                tg.recurrent("lstm", tg.Tensor(inputs), tg.Tensor(weight), (tg.Tensor(first), None))


if __name__ == "__main__":
    unittest.main()
