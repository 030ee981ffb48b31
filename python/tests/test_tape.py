"""Tapes, derivatives, scopes and threads; errors have the library's words and the line of Python."""

import contextlib
import inspect
import json
import os
import signal
import sys
import threading
import unittest

import numpy as np

from tapegrad import ArgumentError, Error, NonFiniteError, ShapeError, TapeError, float32, float64


def line():
    return inspect.currentframe().f_back.f_lineno


class Gradients(unittest.TestCase):
    def test_by_hand(self):
        for tg in (float32, float64):
            with tg.Tape():
                x, y = tg.watch(3.0), tg.watch(2.0)
                dx = tg.grad(x * x * y, x, record=True)
                self.assertEqual(dx.item(), 12)
                self.assertEqual(tg.grad(dx, [y])[0].item(), 6)

    def test_products_with_derivatives(self):
        tg, rng = float64, np.random.default_rng(1)
        a, v, w = (tg.Tensor(rng.normal(size=4)) for _ in range(3))
        slope = 1 - np.tanh(a.numpy()) ** 2
        np.testing.assert_allclose(tg.vjp(lambda x: tg.tanh(x), [a], v)[0].numpy(), slope * v.numpy())
        np.testing.assert_allclose(tg.jvp(lambda x: tg.tanh(x), [a], [v]).numpy(), slope * v.numpy())
        np.testing.assert_allclose(tg.jacobian(tg.tanh, a).numpy(), np.diag(slope))
        np.testing.assert_allclose(tg.hvp(lambda x: tg.sum(tg.exp(x)), a, v).numpy(),
                                   np.exp(a.numpy()) * v.numpy())
        both = tg.vjp(lambda x, y: x * y, [a, w], v)
        np.testing.assert_allclose(both[1].numpy(), a.numpy() * v.numpy())

    def test_errors_of_functions_pass(self):
        def broken(_):
            raise KeyError("mine")

        with self.assertRaisesRegex(KeyError, "mine"):
            float64.vjp(broken, [float64.ones([2])], float64.ones([2]))
        with self.assertRaisesRegex(ArgumentError, "must return a Tensor"):
            float64.hvp(lambda x: "text", float64.ones([2]), float64.ones([2]))
        self.assertFalse(float64.recording())

    def test_detach_and_no_grad(self):
        tg = float64
        with tg.Tape() as tape:
            x = tg.watch(tg.Tensor([1.0, 2.0]))
            np.testing.assert_array_equal(tg.grad(tg.sum(x * tg.detach(x)), x).numpy(), [1, 2])
            with tg.no_grad():
                self.assertFalse(tg.recording())
                size = tg.exp(x)
            self.assertTrue(tg.recording())
            self.assertEqual(tg.grad(tg.sum(size * x), x).shape, (2,))
            self.assertGreater(tape.size, 0)
        self.assertFalse(tg.recording())

    def test_a_gradient_checked_by_differences(self):
        tg, rng = float64, np.random.default_rng(2)
        x, seed, step = rng.normal(size=(3, 5)), rng.normal(size=(3, 5)), 1e-6
        for spec in ("layer", "layer_simple", "rms", "detach"):
            norm = tg.Norm(spec, 5)
            with tg.Tape():
                leaf = tg.watch(tg.Tensor(x))
                found = tg.grad(norm(leaf), leaf, seed=tg.Tensor(seed)).numpy()
            if spec == "detach":
                np.testing.assert_allclose(found, seed / x.std(axis=-1, keepdims=True), rtol=1e-4)
                continue
            direction = rng.normal(size=x.shape)
            values = [np.sum(seed * norm(tg.Tensor(x + sign * step * direction)).numpy()) for sign in (1, -1)]
            self.assertAlmostEqual((values[0] - values[1]) / (2 * step), np.sum(found * direction), places=6)


class Scopes(unittest.TestCase):
    def test_one_tape_for_a_thread(self):
        with float64.Tape():
            with self.assertRaisesRegex(TapeError, "has a tape already"):
                with float64.Tape():
                    pass
            self.assertTrue(float64.recording())

    def test_a_tape_ends_with_an_error(self):
        with contextlib.suppress(KeyError), float64.Tape():
            raise KeyError
        with float64.Tape():
            pass

    def test_scopes_end_in_order(self):
        tape, paused = float64.Tape(), float64.NoGrad()
        tape.__enter__()
        paused.__enter__()
        with self.assertRaisesRegex(TapeError, "still open"):
            tape.__exit__(None, None, None)
        paused.__exit__(None, None, None)
        tape.__exit__(None, None, None)
        with self.assertRaisesRegex(TapeError, "used already"):
            tape.__enter__()
        with self.assertRaisesRegex(TapeError, "not in scope"):
            tape.size

    def test_a_tape_belongs_to_its_thread(self):
        found = []

        def other():
            try:
                tape.size
            except TapeError as error:
                found.append(str(error))

        with float64.Tape() as tape:
            thread = threading.Thread(target=other)
            thread.start()
            thread.join()
        self.assertIn("another thread", found[0])


class Errors(unittest.TestCase):
    def test_words_kinds_and_lines(self):
        tg = float64
        with self.assertRaises(ShapeError) as caught:
            expected = line() + 1
            tg.matmul(tg.ones([2, 3]), tg.ones([2, 3]))
        self.assertIn("matmul: ", str(caught.exception))
        self.assertIn(f"[test_tape.py:{expected}]", str(caught.exception))
        self.assertIsInstance(caught.exception, ValueError)
        self.assertIsInstance(caught.exception, Error)
        with self.assertRaisesRegex(ArgumentError, "reduction: unknown value: 'average'; available: none, sum, mean"):
            tg.mse(tg.ones([2]), tg.ones([2]), reduction="average")
        with self.assertRaisesRegex(TapeError, "no tape is in scope"):
            tg.grad(tg.ones([]), tg.ones([]))
        with self.assertRaisesRegex(ArgumentError, "no_such_norm"):
            tg.Norm("no_such_norm", 4)
        with self.assertRaises(NonFiniteError), tg.Tape(check_finite=True):
            tg.log(tg.watch(-1.0))
        with self.assertRaises(TypeError):
            tg.exp("text")
        with self.assertRaises(ShapeError):
            tg.ones([2])[5]
        for index in ("a", 0.5, slice(0.5, None), [0, 1]):
            with self.assertRaisesRegex(ArgumentError, r"at: an index is a whole number.* \[test_tape.py:"):
                tg.ones([2])[index]


class Threads(unittest.TestCase):
    def setUp(self):  # since a process that a shell has started in the background ignores Ctrl-C
        self.addCleanup(signal.signal, signal.SIGINT, signal.signal(signal.SIGINT, signal.default_int_handler))

    def test_each_has_a_tape(self):
        tg = float64
        rng = np.random.default_rng(3)
        inputs = [rng.normal(size=(40, 40)) for _ in range(8)]
        results = [None] * len(inputs)

        def work(i):
            for _ in range(20):
                with tg.Tape():
                    x = tg.watch(tg.Tensor(inputs[i]))
                    results[i] = tg.grad(tg.sum(tg.tanh(x @ x)), x).numpy()

        threads = [threading.Thread(target=work, args=(i,)) for i in range(len(inputs))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for x, found in zip(inputs, results):
            slope = 1 - np.tanh(x @ x) ** 2
            np.testing.assert_allclose(found, slope @ x.T + x.T @ slope, atol=1e-12)

    def turns_during(self, call):
        """Whether another thread ran while this one called. Threads give way only where they let go of Python's lock,
        since the interval after which one takes it from another is long."""
        turns, begin = [], threading.Event()

        def other():
            begin.wait()
            turns.append(1)

        usual = sys.getswitchinterval()
        sys.setswitchinterval(1000)
        try:
            thread = threading.Thread(target=other)
            thread.start()
            begin.set()
            for _ in range(200):
                if not turns:
                    call()
            found = bool(turns)
        finally:
            sys.setswitchinterval(usual)
        thread.join()
        return found

    def test_kernels_let_others_run(self):
        for tg in (float32, float64):
            big, random = tg.ones([500, 500]), tg.Random(1)
            with tg.Tape():
                x = tg.watch(big)
                self.assertTrue(self.turns_during(lambda: tg.grad(tg.sum(x @ big), x, keep=True)))
            for call in (lambda: tg.matmul(big, big), lambda: big @ big):
                self.assertTrue(self.turns_during(call))
            self.assertFalse(self.turns_during(lambda: random.normal([500, 500])))  # it changes, so it keeps the lock

    def test_a_forked_process_computes(self):
        for tg in (float32, float64):
            x = tg.Random(1).normal([300, 300])

            def step():
                with tg.Tape():
                    leaf = tg.watch(x)
                    return tg.grad(tg.sum(tg.tanh(leaf @ leaf)), leaf).numpy()

            expected = step()
            child = os.fork()
            if child == 0:
                os._exit(0 if np.array_equal(step(), expected) else 1)
            self.assertEqual(os.waitpid(child, 0)[1], 0)

    def test_ctrl_c_ends_between_operations(self):
        for tg in (float32, float64):
            x = tg.ones([100, 100])
            threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT)).start()
            with self.assertRaises(KeyboardInterrupt):
                for _ in range(100_000):  # ends even if the interrupt is lost
                    with tg.Tape():
                        leaf = tg.watch(x)
                        tg.grad(tg.sum(leaf @ leaf), leaf)
            self.assertFalse(tg.recording())
            with tg.Tape():
                self.assertTrue(tg.recording())

    def test_ctrl_c_passes_through_the_library(self):
        def interrupted(x):
            signal.raise_signal(signal.SIGINT)
            return x

        for tg in (float32, float64):
            x = tg.ones([2])
            for call in (lambda: tg.vjp(interrupted, [x], x), lambda: tg.jvp(interrupted, [x], [x]),
                         lambda: tg.jacobian(interrupted, x), lambda: tg.hvp(interrupted, x, x)):
                self.assertRaises(KeyboardInterrupt, call)
                self.assertFalse(tg.recording())


class Instrument(unittest.TestCase):
    def test_explain_and_show(self):
        tg = float64
        with tg.Tape(keep_values=True) as tape:
            x = tg.named(tg.watch(tg.Tensor([1.0, 2.0, 3.0, 6.0])), "input")
            y = tg.layer_norm(x)
            tg.grad(y, x, seed=tg.Tensor([3.0, 1, 0, 0]))
            words = tg.explain(x)
            self.assertIn("layer_norm", words)
            self.assertIn("layer_norm", str(tape))
            self.assertEqual(tape.gradient(x).shape, (4,))
            nodes = json.loads(tg.as_json(tape))["nodes"]
            self.assertIn("test_tape.py", nodes[0]["place"])
            inside = tape.show().text
        after = tape.show()
        self.assertEqual(inside, after.text)
        self.assertIn("test_tape.py", after.text)
        self.assertIn("tg.layer_norm(x)", after.text)  # the line of Python
        self.assertTrue(tape._repr_html_().startswith("<iframe"))

    def test_a_tape_without_values(self):
        with float64.Tape() as tape:
            x = float64.watch(1.0)
            with self.assertRaisesRegex(TapeError, "keep_values"):
                float64.explain(x)
        with self.assertRaisesRegex(TapeError, "keep_values=True"):
            tape.show()


class Training(unittest.TestCase):
    def test_a_net_with_a_norm_learns(self):
        tg = float32
        random = tg.Random(1)
        first, last = tg.Linear(2, 16, random), tg.Linear(16, 2, random)
        norm = tg.Norm("layer_simple:forward=identity", 16)
        points = np.random.default_rng(4).normal(size=(200, 2)).astype(np.float32)
        x, labels = tg.Tensor(points), tg.Indices((points.prod(axis=1) > 0).astype(int))
        weights = first.parameters() + norm.parameters() + last.parameters()
        optimizer = tg.Adam(weights, learning_rate=0.02)
        losses = []
        for _ in range(150):
            with tg.Tape():
                loss = tg.cross_entropy(last(tg.relu(norm(first(x)))), labels)
                optimizer.step(tg.grad(loss, weights))
            losses.append(loss.item())
        self.assertLess(losses[-1], losses[0] / 3)
        self.assertEqual(set(first.fields()), {"weight", "bias"})

    def test_a_cell(self):
        tg = float64
        random = tg.Random(1)
        cell = tg.RecurrentLayer("lstm", 3, 4, random)
        x = random.normal([5, 2, 3])
        outputs, last = cell(x)
        state = cell.first(2)
        for t in range(5):
            state = cell.step(x[t], state)
        np.testing.assert_allclose(outputs.numpy()[-1], state[0].numpy(), rtol=1e-12)
        np.testing.assert_allclose(last[1].numpy(), state[1].numpy(), rtol=1e-12)


if __name__ == "__main__":
    unittest.main()
