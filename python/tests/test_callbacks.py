"""Functions of Python that the library calls: of gradient checks, of recomputation, and in searches and sweeps."""

import itertools
import unittest

import numpy as np

from tapegrad import ArgumentError, ShapeError, TapeError, float32, float64


class Checks(unittest.TestCase):
    def test_right_and_wrong_gradients(self):
        for tg in (float32, float64):
            x, y = tg.Random(1).normal([2, 3]), tg.Random(2).normal([3])
            for check in (tg.check_gradient, tg.check_second_gradient, tg.check_jacobian):
                found = check(lambda x, y: tg.tanh(x) * y, [x, y])
                self.assertTrue(found and found.ok, found)
                self.assertEqual((repr(found), found.message), ("ok", ""))
                wrong = check(lambda x, y: x * y * tg.detach(x), [x, y])
                self.assertFalse(wrong)
                self.assertGreater(wrong.error, 1e-2)
                self.assertRegex(repr(wrong), r"input 0.* the gradient gives .*, differences")
                self.assertTrue(check(lambda x, y: x * y * tg.detach(x), [x, y], tolerance=1e9))

    def test_a_step_as_large_as_the_function_is_rough(self):
        tg, x = float64, float64.Tensor([0.3])
        self.assertTrue(tg.check_gradient(lambda x: tg.sin(40 * x), [x], step=1e-4))
        self.assertFalse(tg.check_gradient(lambda x: tg.sin(40 * x), [x], step=1e-1))

    def test_errors(self):
        def broken(_):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            float64.check_gradient(broken, [float64.ones([2])])
        with self.assertRaisesRegex(ArgumentError, "callback: it must return a Tensor: .*list"):
            float64.check_jacobian(lambda x: [x], [float64.ones([2])])
        with self.assertRaisesRegex(ShapeError, r"add: .*test_callbacks.py:"):
            float64.check_gradient(lambda x: x + float64.ones([3]), [float64.ones([2])])
        self.assertFalse(float64.recording())


class Recomputed(unittest.TestCase):
    def block(self, tg, random):
        """A block with dropout, which counts its calls."""
        layer, calls = tg.Linear(4, 4, random), []

        def f(x, y):
            calls.append(tg.recomputing())
            return tg.dropout(tg.tanh(layer(x)) * y, 0.5, random)

        return f, layer, calls

    def test_values_and_gradients_are_those_of_the_function(self):
        for tg in (float32, float64):
            found = []
            for by in (lambda f, xs: f(*xs), tg.recompute):
                random = tg.Random(1)
                f, layer, calls = self.block(tg, random)
                x, y = random.normal([3, 4]), random.normal([4])
                with tg.Tape() as tape:
                    leaves = [tg.watch(x), tg.watch(y)]
                    result = by(f, leaves)
                    size = tape.size
                    gradients = tg.grad(tg.sum(result), leaves)
                with tg.Tape():
                    by_parameter = tg.grad(tg.sum(by(f, [x, y])), layer.parameters())
                found.append([each.numpy().tobytes() for each in (result, *gradients, *by_parameter)])
            self.assertEqual(*found)
            self.assertEqual(calls, [False, True, False, True])
            self.assertLessEqual(size, 5)  # x, y, two parameters and the block

    def test_the_sweep_lets_go_of_the_function(self):
        """While others may run Python, so what ends with it, such as this object, needs Python's lock."""
        class Square:
            def __call__(self, x):
                return x * x

            def __del__(self):
                ended.append(type(self).__name__)

        for tg in (float32, float64):
            ended = []
            with tg.Tape():
                x = tg.watch(tg.Tensor([3.0]))
                y = tg.recompute(Square(), [x])
                self.assertEqual(ended, [])
                self.assertEqual(tg.grad(y, x).item(), 6)
                self.assertEqual(ended, ["Square"])

    def test_errors(self):
        tg, calls = float64, []

        def changing(x):
            calls.append(x)
            return x * x if len(calls) == 1 else tg.exp(x)

        def broken_again(x):
            if tg.recomputing():
                raise KeyError("again")
            return x * x

        with tg.Tape():
            x = tg.watch(tg.ones([2]))
            with self.assertRaisesRegex(TapeError, "recompute: the function did something else the second time"):
                tg.grad(tg.sum(tg.recompute(changing, [x])), x)
        with tg.Tape():
            x = tg.watch(tg.ones([2]))
            with self.assertRaisesRegex(KeyError, "again"):
                tg.grad(tg.sum(tg.recompute(broken_again, [x])), x)
        with self.assertRaisesRegex(ArgumentError, "callback: it must return a Tensor: .*NoneType"):
            tg.recompute(lambda x: None, [x])


class Probes(unittest.TestCase):
    def test_values_and_gradients_are_seen(self):
        for tg in (float32, float64):
            values, gradients = [], []
            with tg.Tape():
                x = tg.watch(tg.Tensor([1.0, 2.0]))
                y = tg.probe(x * x, value=values.append, gradient=gradients.append)
                np.testing.assert_array_equal(values[0].numpy(), [1, 4])
                self.assertEqual(gradients, [])
                np.testing.assert_array_equal(tg.grad(tg.sum(3 * y), x).numpy(), [6, 12])
            np.testing.assert_array_equal(gradients[0].numpy(), [3, 3])
            self.assertEqual((len(values), len(gradients)), (1, 1))

    def test_errors_pass(self):
        def broken(_):
            raise KeyError("mine")

        tg = float64
        with tg.Tape():
            x = tg.watch(tg.ones([2]))
            with self.assertRaisesRegex(KeyError, "mine"):
                tg.probe(x, value=broken)
            y = tg.probe(x, gradient=broken)
            with self.assertRaisesRegex(KeyError, "mine"):
                tg.grad(tg.sum(y), x)


class Chosen(unittest.TestCase):
    def test_parameters_by_name(self):
        for tg in (float32, float64):
            net = [tg.Linear(2, 3, tg.Random(1)), tg.Norm("layer", 3)]
            found = tg.parameters(net, lambda name: name.startswith("1."))
            self.assertEqual([parameter.name for parameter in found], ["1.gain", "1.bias"])
            with self.assertRaisesRegex(ArgumentError, "callback: it must return a bool: .*str"):
                tg.parameters(net, lambda name: name)
            with self.assertRaisesRegex(ArgumentError, "parameters: "):
                tg.parameters(net, lambda name: False)


class BeamSearch(unittest.TestCase):
    def test_the_best_of_all_sequences(self):
        """A wide beam finds what a list of all sequences has, of a model whose next token depends on the last."""
        rng = np.random.default_rng(1)
        table = rng.normal(size=(2, 4, 4))
        table -= np.log(np.exp(table).sum(-1, keepdims=True))  # of each source
        begin, end, longest = 0, 3, 4
        for tg in (float32, float64):
            for penalty in (0, 1):
                sources = []

                def step(rows, tokens):
                    chosen = [sources[-1][row] for row in rows.numpy()] if sources else [0, 1]
                    sources.append(chosen)
                    return tg.Tensor(table[chosen, tokens.numpy()[:, 0]])

                found = tg.beam_search([longest, longest], step, begin=begin, end=end, width=300,
                                       length_penalty=penalty)
                for source, hypotheses in enumerate(found):
                    expected = {}
                    for length in range(longest):
                        for middle in itertools.product(range(3), repeat=length):
                            tokens = [*middle, end]
                            log_probability = sum(table[source, a, b] for a, b in zip([begin, *middle], tokens))
                            expected[tuple(tokens)] = log_probability / len(tokens) ** penalty
                    best = sorted(expected, key=expected.get, reverse=True)
                    self.assertEqual([tuple(each.tokens) for each in hypotheses], best)
                    np.testing.assert_allclose([each.score for each in hypotheses],
                                               [expected[tokens] for tokens in best], rtol=1e-5)
                    self.assertIn(f"tokens={hypotheses[0].tokens}", repr(hypotheses[0]))
                with self.assertRaisesRegex(ArgumentError, "width"):
                    tg.beam_search([1], step, begin=begin, end=end, width=0)
                with self.assertRaisesRegex(ArgumentError, "callback: it must return a Tensor"):
                    tg.beam_search([1], lambda rows, tokens: None, begin=begin, end=end)

    def test_a_translator_by_its_parts(self):
        """What `translate` does: beam search, with caches of the decoder that follow the rows."""
        for tg in (float32, float64):
            net = tg.Translator(7, tg.Random(1), layers=2, heads=2, channels=8)
            source, lengths = tg.Indices([[3, 4, 5], [5, 3, 0]]), np.array([3, 2])
            memory, caches, of_rows = net.encode(source, tg.Indices(lengths)), [], [lengths]

            def step(rows, tokens):
                of_rows[0] = of_rows[0][rows.numpy()]
                for cache in caches:
                    cache.select(rows)
                with tg.NoGrad():
                    logits = net.decode(memory, tg.Indices(of_rows[0]), tokens, caches=caches)
                return tg.log_softmax(logits[:, -1])

            found = tg.beam_search([4, 5], step, begin=1, end=2, width=3)
            expected = net.translate(source, tg.Indices(lengths), [4, 5], begin=1, end=2, width=3)
            self.assertEqual(len(caches), 2)
            for ours, theirs in zip(found, expected):
                self.assertEqual(len(ours), 3)
                self.assertEqual([(each.tokens, each.score) for each in ours],
                                 [(each.tokens, each.score) for each in theirs])


class Caches(unittest.TestCase):
    def test_token_by_token(self):
        for tg, tolerance in ((float32, 1e-4), (float64, 1e-12)):
            net = tg.TransformerLm(7, tg.Random(1), layers=2, heads=2, channels=8)
            ids = np.random.default_rng(1).integers(0, 7, (2, 5))
            caches = []
            parts = [net(tg.Indices(ids[:, :2]), caches=caches)]
            first = caches[0]
            for t in range(2, 5):
                parts.append(net(tg.Indices(ids[:, t:t + 1]), caches=caches))
            whole = net(tg.Indices(ids)).numpy()
            np.testing.assert_allclose(np.concatenate([part.numpy() for part in parts], 1), whole, rtol=tolerance,
                                       atol=tolerance)
            self.assertEqual([cache.length() for cache in caches], [5, 5])
            self.assertIs(caches[0], first)
            first.select(tg.Indices([1, 1, 0]))
            self.assertEqual(first.keys.shape, (3, 5, 8))

    def test_a_layer(self):
        tg = float64
        layer, x = tg.SelfAttention(8, tg.Random(1), heads=2, causal=True), tg.Random(2).normal([2, 4, 8])
        cache = tg.AttentionCache()
        parts = [layer(x[:, :3], cache=cache).numpy(), layer(x[:, 3:], cache=cache).numpy()]
        np.testing.assert_allclose(np.concatenate(parts, 1), layer(x).numpy(), rtol=1e-12)
        self.assertEqual(cache.length(), 4)
        self.assertEqual(cache.values.shape, (2, 4 + cache.room, 8))

    def test_errors(self):
        tg = float64
        net = tg.TransformerLm(7, tg.Random(1), layers=2, heads=2, channels=8)
        ids = tg.Indices([[1, 2]])
        with self.assertRaisesRegex(ArgumentError, "its elements must be of type AttentionCache: .*None"):
            net(ids, caches=[None])
        with self.assertRaisesRegex(ShapeError, "one cache for each of 2 blocks"):
            net(ids, caches=[tg.AttentionCache()])
        net(ids, caches=(caches := []))
        with self.assertRaises(ShapeError):
            caches[0].select(tg.Indices([1]))


if __name__ == "__main__":
    unittest.main()
