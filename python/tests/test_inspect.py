"""The instrument: fields of nets, traces of steps and where they differ, free directions, drift and forms."""

import inspect
import math
import unittest

import numpy as np

from tapegrad import ArgumentError, Error, ShapeError, float32, float64

try:
    import torch
except ImportError:
    torch = None


class Perceptron:
    """A net of Python. Its attributes are its fields; numbers, functions and modules are none."""

    def __init__(self, tg, seed=1, norm="layer"):
        random = tg.Random(seed)
        self.width, self.library, self.activation = 8, tg, tg.relu
        self.hidden, self.norm, self.output = tg.Linear(4, 8, random), tg.Norm(norm, 8), tg.Linear(8, 3, random)

    def __call__(self, x):
        return self.output(self.activation(self.norm(self.hidden(x))))


def batch(tg, rows=16):
    rng = np.random.default_rng(1)
    return tg.Tensor(rng.normal(size=(rows, 4))), tg.Indices(rng.integers(0, 3, rows))


class Fields(unittest.TestCase):
    names = ["hidden.bias", "hidden.weight", "norm.bias", "norm.gain", "output.bias", "output.weight"]

    def test_an_object_a_dict_and_a_list(self):
        for tg in (float32, float64):
            net = Perceptron(tg)
            self.assertEqual(sorted(tg.fields(net)), self.names)
            self.assertEqual(sorted(tg.fields(vars(net))), self.names)
            self.assertEqual(len(tg.parameters(net)), 6)
            self.assertEqual(tg.parameter_count(net), 4 * 8 + 8 + 2 * 8 + 8 * 3 + 3)
            self.assertEqual(sorted(tg.fields([net.hidden, (net.norm, net.norm)])),
                             ["0.bias", "0.weight", "1.0.bias", "1.0.gain"])
            net.scale = tg.Parameter(tg.ones([3]))
            self.assertEqual(sorted(tg.fields(net)), [*self.names, "scale"])
            net.myself, net.other = net, {"net": net}
            self.assertEqual(sorted(tg.fields(net)), [*self.names, "scale"])

    def test_what_is_no_net_is_refused(self):
        for other in (3, "text", object(), Perceptron(float32), [1, 2], float64, Perceptron):
            with self.assertRaisesRegex(ArgumentError, "fields: no layer and no parameter in .*of this precision"):
                float64.fields(other)
        self.assertEqual(float64.fields([]), {})


class Traces(unittest.TestCase):
    def trace(self, tg, norm="layer", **options):
        net, (x, labels) = Perceptron(tg, norm=norm, **options), batch(tg)
        return tg.trace(net, lambda: tg.cross_entropy(net(x), labels))

    def test_a_step_equals_itself(self):
        for tg in (float32, float64):
            step = self.trace(tg)
            found = tg.diff(step, self.trace(tg))
            self.assertTrue(found.equal(), found.report)
            self.assertEqual(found.pairs, len(step.values))
            self.assertEqual((step.framework, step.precision), ("tapegrad", tg.__name__.split(".")[1]))
            weight = next(value for value in step.values if value.name == "hidden.weight")
            self.assertEqual(weight.gradient.shape, (4, 8))

    def test_a_difference(self):
        for tg in (float32, float64):
            found = tg.diff(self.trace(tg), self.trace(tg, "layer:eps=0.001"))
            self.assertFalse(found.equal())
            self.assertEqual(found.first, "affine_norm")
            self.assertIn("ULPs", repr(found))
            self.assertIn("test_inspect.py:", repr(found))
            found = tg.diff(self.trace(tg), self.trace(tg, "detach_mean"))
            self.assertGreater(found.values + found.gradients, 0)
            self.assertTrue(tg.diff(self.trace(tg), self.trace(tg, "layer:eps=0.001"), tolerance=1e15).equal())

    def test_a_net_called_with_a_batch(self):
        """It is the step of a function that calls the net, whatever the batch is made of."""
        for tg in (float32, float64):
            net, (x, labels) = Perceptron(tg), batch(tg)

            def loss(output):
                return tg.cross_entropy(output, labels)

            weights = tg.reshape(tg.Tensor([math.cos(i) for i in range(16 * 3)]), [16, 3])
            expected = tg.trace(net, lambda: tg.mean(net(x) * weights))
            for given in (x, (x,), x.numpy(), x.numpy().tolist(), float64.Tensor(x)):
                self.assertTrue(tg.diff(expected, tg.trace(net, given), tolerance=0).equal())
            self.assertTrue(tg.diff(self.trace(tg), tg.trace(net, x, loss), tolerance=0).equal())
            self.assertFalse(tg.diff(expected, self.trace(tg)).equal())

            class Scored(Perceptron):
                def __call__(self, x, labels, random):
                    self.random = random
                    return loss(super().__call__(x))

            scored, random = Scored(tg), tg.Random(1)
            step = tg.trace(scored, (x.numpy(), labels.numpy().astype(np.uint8), random))
            self.assertTrue(tg.diff(self.trace(tg), step, tolerance=0).equal())  # the output itself is the loss
            self.assertIs(scored.random, random)

    def test_whole_numbers_are_indices(self):
        for tg in (float32, float64):
            net = tg.Embedding(5, 3, tg.Random(1))
            ids, step = tg.Indices([[0, 4], [2, 2]]), tg.trace(net, [[0, 4], [2, 2]])
            self.assertTrue(tg.diff(step, tg.trace(net, ids), tolerance=0).equal())

    def test_values_have_the_line_of_the_call(self):
        tg = float64
        line = inspect.currentframe().f_lineno + 1
        step = tg.trace(tg.Linear(2, 3, tg.Random(1)), [[1.0, 2.0]])
        self.assertEqual({value.place for value in step.values if value.operation != "parameter"},
                         {f"test_inspect.py:{line}"})

    def test_what_is_no_step_is_refused(self):
        tg = float64
        net, (x, labels) = Perceptron(tg), batch(tg)
        for layers in ([net.hidden], vars(net)):
            with self.assertRaisesRegex(ArgumentError, "trace: the net cannot be called with a batch: .* a function"):
                tg.trace(layers, x)
        with self.assertRaisesRegex(ArgumentError, "trace: a function in place of the batch .* leave `loss` out"):
            tg.trace(net, lambda: tg.sum(net(x)), tg.sum)
        with self.assertRaisesRegex(TypeError, "loss: .*Callable"):
            tg.trace(net, x, labels)
        with self.assertRaisesRegex(ArgumentError, "callback: it must return a Tensor: .*tuple"):
            tg.trace(tg.RecurrentLayer("rnn", 3, 4, tg.Random(1)), tg.ones([5, 2, 3]))
        with self.assertRaises(ShapeError):
            tg.trace(net, x, lambda output: output)
        self.assertFalse(tg.recording())

    def test_errors_of_the_loss_pass(self):
        def interrupted():
            raise KeyboardInterrupt

        net = Perceptron(float64)
        for call in (float64.trace, float64.free_directions):
            with self.assertRaises(KeyboardInterrupt):
                call(net, interrupted)
            with self.assertRaisesRegex(ArgumentError, "callback: it must return a Tensor: .*str"):
                call(net, lambda: "text")
        self.assertFalse(float64.recording())


@unittest.skipIf(torch is None, "PyTorch is not installed")
class TorchTraces(unittest.TestCase):
    def steps(self, tg, dtype, epsilon):
        """Traces of a step by PyTorch and of its port."""
        class Theirs(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.hidden, self.output = torch.nn.Linear(4, 8), torch.nn.Linear(8, 3)
                self.norm = torch.nn.LayerNorm(8, eps=epsilon)

            def forward(self, x):
                return self.output(torch.relu(self.norm(self.hidden(x))))

        torch.manual_seed(1)
        theirs, ours = Theirs().to(dtype), Perceptron(tg)
        tg.load_pytorch(ours, theirs)
        x, labels = batch(tg)
        given, targets = torch.tensor(x.numpy()), torch.tensor(labels.numpy())
        found = (tg.trace(theirs, lambda: torch.nn.functional.cross_entropy(theirs(given), targets)),
                 tg.trace(ours, lambda: tg.cross_entropy(ours(x), labels)))
        self.assertTrue(all(parameter.grad is None and not parameter._backward_hooks
                            for parameter in theirs.parameters()))
        return found

    def test_a_port_takes_the_same_step(self):
        for tg, dtype in ((float32, torch.float32), (float64, torch.float64)):
            theirs, ours = self.steps(tg, dtype, 1e-5)
            self.assertEqual((theirs.framework, theirs.precision), ("pytorch", str(dtype).removeprefix("torch.")))
            self.assertEqual(sum(value.gradient.defined for value in theirs.values), len(theirs.values))
            found = tg.diff(theirs, ours)
            self.assertTrue(found.equal(), found.report)
            self.assertGreaterEqual(found.pairs, 11)

    def test_one_batch_for_both(self):
        for tg, dtype in ((float32, torch.float32), (float64, torch.float64)):
            theirs = torch.nn.Sequential(torch.nn.Linear(4, 8, dtype=dtype), torch.nn.ReLU(),
                                         torch.nn.LayerNorm(8, dtype=dtype))
            ours = tg.Sequential(tg.Linear(4, 8, tg.Random(1)), tg.relu, tg.Norm("layer", 8))
            tg.load_pytorch(ours, theirs)
            x, labels = batch(tg)
            target = torch.tensor(labels.numpy()).long()
            for given in (x, x.numpy(), torch.tensor(x.numpy()), x.numpy().tolist()):
                step = tg.trace(theirs, given)
                found = tg.diff(step, tg.trace(ours, given))
                self.assertTrue(found.equal(), found.report)
                self.assertGreaterEqual(found.pairs, 9)
            found = tg.diff(tg.trace(theirs, x, lambda output: torch.nn.functional.cross_entropy(output, target)),
                            tg.trace(ours, x, lambda output: tg.cross_entropy(output, labels)))
            self.assertTrue(found.equal(), found.report)
            self.assertEqual({value.place.split(":")[0] for value in step.values}, {"", "test_inspect.py"})
            self.assertIn("tg.trace(theirs, given)", step.values[-1].source)
            with self.assertRaisesRegex(ArgumentError, "trace: a function in place of the batch"):
                tg.trace(theirs, lambda: theirs(given).sum(), torch.sum)

    def test_tokens_for_both(self):
        for tg in (float32, float64):
            theirs, ours = torch.nn.Embedding(5, 3), tg.Embedding(5, 3, tg.Random(1))
            tg.load_pytorch(ours, theirs)
            for ids in (torch.tensor([[0, 4], [2, 2]]), tg.Indices([[0, 4], [2, 2]]), [[0, 4], [2, 2]]):
                self.assertTrue((found := tg.diff(tg.trace(theirs, ids), tg.trace(ours, ids))).equal(), found.report)

    def test_another_epsilon_is_found(self):
        for tg, dtype in ((float32, torch.float32), (float64, torch.float64)):
            found = tg.diff(*self.steps(tg, dtype, 1e-3))
            self.assertEqual(found.first, "norm")
            self.assertFalse(found.first_is_gradient)

    def test_a_trace_is_rounded_to_the_precision_asked_for(self):
        net = torch.nn.Linear(3, 2).double()
        step = float32.trace(net, lambda: net(torch.ones(1, 3, dtype=torch.float64)).sum())
        self.assertEqual(step.precision, "float64")
        self.assertIsInstance(step.values[0].value, float32.Tensor)


class FreeDirections(unittest.TestCase):
    def test_a_shift_before_a_norm(self):
        tg = float64
        net, (x, labels) = Perceptron(tg, norm="layer_simple"), batch(tg)

        def loss():
            return tg.cross_entropy(net(x), labels)

        before = {name: value.value.numpy().copy() for name, value in tg.fields(net).items()}
        found = tg.free_directions(net, loss)
        shifts = [each for each in found if each.kind == "shift" and each.parts[0].name == "hidden.bias"]
        self.assertEqual(len(shifts), 1, found)
        self.assertIn("layer_norm at test_inspect.py:", shifts[0].removed_by)
        self.assertIn("hidden.bias", repr(shifts[0]))
        with self.assertRaisesRegex(Error, "hidden.bias"):
            tg.expect_no_free_directions(net, loss)
        for optimizer, least, most in ((tg.Adam, 1e-3, 10), (tg.Sgd, 0, 1e-9)):
            drift = tg.drift_along(net, shifts[0], optimizer(tg.parameters(net)), loss)
            self.assertTrue(least <= drift.share <= most, drift)
        for name, value in tg.fields(net).items():
            np.testing.assert_array_equal(value.value.numpy(), before[name])

    def test_directions_of_the_batch(self):
        tg = float64
        net, (x, labels) = Perceptron(tg, norm="none"), batch(tg)
        found = tg.free_directions(net, x, lambda x: tg.cross_entropy(net(tg.layer_norm(x)), labels))
        self.assertIn("batch", [part.name for each in found for part in each.parts])


class Forms(unittest.TestCase):
    def test_the_sixteen_forms(self):
        for tg in (float32, float64):
            sixteen = tg.forms("layer_simple")
            self.assertEqual(len(set(sixteen)), 16)
            self.assertIn("detach_mean:forward=identity,factor=1", sixteen)
            x, seed = tg.Random(1).normal([3, 5]), tg.Random(2).normal([3, 5])
            gradients, values = [], []
            for form in sixteen:
                with tg.Tape():
                    leaf = tg.watch(x)
                    y = tg.Norm(form, 5)(leaf)
                    values.append(y.numpy().tobytes())
                    gradients.append(tg.grad(y, leaf, seed=seed).numpy().round(4).tobytes())
            self.assertEqual((len(set(values)), len(set(gradients))), (2, 8))
            self.assertEqual(len(tg.forms("layer")), 4)
            self.assertEqual(tg.forms("batch"), ["batch"])
            with self.assertRaisesRegex(ArgumentError, "forms: give the name alone"):
                tg.forms("layer:eps=1")


if __name__ == "__main__":
    unittest.main()
