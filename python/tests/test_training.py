"""Layers against the functions that define them; models, schedules, checkpoints and clipping in a training loop."""

import os
import pathlib
import tempfile
import unittest

import numpy as np

from tapegrad import ArgumentError, DataError, ShapeError, float32, float64


class Layers(unittest.TestCase):
    def agree(self, found, expected, tolerance=1e-12):
        np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=tolerance, atol=tolerance)

    def test_convolutions(self):
        tg = float64
        random = tg.Random(1)
        layer, x = tg.Conv2d(2, 4, (3, 2), random, padding=1, stride=(2, 1)), random.normal([2, 2, 6, 5])
        self.agree(layer(x), tg.conv2d(x, layer.weight, stride=(2, 1), padding=1) + layer.bias)
        layer, x = tg.Conv1d(2, 4, 3, random, bias=False), random.normal([2, 2, 6])
        self.agree(layer(x), tg.conv1d(x, layer.weight))
        layer, x = tg.ConvTranspose2d(2, 4, 2, random, stride=2), random.normal([2, 2, 3, 3])
        self.agree(layer(x), tg.conv_transpose2d(x, layer.weight, stride=2) + layer.bias)

    def test_embedding_and_dropout(self):
        for tg in (float32, float64):
            random = tg.Random(1)
            layer, ids = tg.Embedding(5, 3, random), np.array([[0, 4], [2, 2]])
            np.testing.assert_array_equal(layer(tg.Indices(ids)).numpy(), layer.weight.value.numpy()[ids])
            x = tg.ones([1000])
            self.assertEqual(tg.sum(tg.Dropout(0.5)(x)).item(), 1000)
            self.assertEqual(set(tg.Dropout(0.5)(x, random).numpy()), {0, 2})

    def test_layers_one_after_another(self):
        for tg in (float32, float64):
            random = tg.Random(1)
            first, norm, last = tg.Linear(4, 8, random), tg.Norm("batch", 8), tg.Linear(8, 2, random)

            class Block:
                def __init__(self):
                    self.last = last

                def __call__(self, x, random=None):
                    self.random = random
                    return self.last(tg.dropout(x, 0.5, random) if random else x)

            block, x = Block(), tg.Random(7).normal([6, 4])
            net = tg.Sequential(first, norm, tg.relu, tg.Sequential(lambda x: 2 * x, block))
            self.assertEqual(sorted(net.fields()), [
                "layers.0.bias", "layers.0.weight", "layers.1.bias", "layers.1.gain",
                "layers.3.layers.1.last.bias", "layers.3.layers.1.last.weight"])
            self.assertEqual(tg.fields([net])["0.layers.0.weight"].value.numpy().tobytes(),
                             first.weight.value.numpy().tobytes())
            np.testing.assert_array_equal(net(x).numpy(), last(2 * tg.relu(norm(first(x)))).numpy())
            self.assertIsNone(block.random)
            np.testing.assert_array_equal(
                net(x, tg.Random(3)).numpy(),
                last(tg.dropout(2 * tg.relu(norm(first(x), random)), 0.5, tg.Random(3))).numpy())
            net(x, random)
            self.assertIs(block.random, random)
            with tg.Tape():  # training changes the layers that were given
                gradients = tg.grad(tg.sum(tg.square(net(x))), net.parameters())
                tg.Sgd(net.parameters(), learning_rate=0.01).step(gradients)
            self.assertTrue(all(np.any(gradient.numpy()) for gradient in gradients))
            np.testing.assert_array_equal(net(x).numpy(), last(2 * tg.relu(norm(first(x)))).numpy())

    def test_what_is_no_layer_is_refused(self):
        tg = float64
        for other in (3, [tg.relu], tg.Translator(7, tg.Random(1), heads=2, channels=8), None):
            with self.assertRaisesRegex(ArgumentError, "Sequential: no layer from a tensor to a tensor, and no fun"):
                tg.Sequential(tg.relu, other)
        with self.assertRaisesRegex(ArgumentError, "callback: it must return a Tensor: .*str"):
            tg.Sequential(lambda x: "text")(tg.ones([2]))
        with self.assertRaises(KeyError):
            tg.Sequential({}.__getitem__)(tg.ones([2]))

    def test_attention(self):
        tg = float64
        random = tg.Random(1)
        layer, x = tg.SelfAttention(8, random, heads=2, causal=True), random.normal([2, 3, 8])
        changed = tg.concat([x[:, :2], random.normal([2, 1, 8])], 1)
        self.agree(layer(x)[:, :2], layer(changed)[:, :2])
        weights = tg.CrossAttention(8, random, heads=2).weights(x, random.normal([2, 7, 8]))
        self.agree(tg.sum(weights, -1), tg.ones([2, 2, 3]))

    def test_recurrent_layers(self):
        tg = float64
        random = tg.Random(1)
        net, x = tg.Recurrent("gru", 3, 4, random, layers=2, bidirectional=True), random.normal([5, 2, 3])
        outputs, last = net(x)
        self.assertEqual(outputs.shape, (5, 2, 8))
        self.assertEqual([(h.shape, c) for h, c in last], [((2, 4), None)] * 4)
        whole, _ = (layer := tg.RecurrentLayer("lstm", 3, 4, random))(x)
        first, state = layer(x[:2])
        self.agree(tg.concat([first, layer(x[2:], state)[0]], 0), whole)

    def test_models(self):
        """One step of training of each: the loss falls, and every parameter has a gradient."""
        for tg in (float32, float64):
            random = tg.Random(1)
            ids = tg.Indices(np.random.default_rng(1).integers(0, 7, (4, 5)))
            lengths, labels = tg.Indices([5, 4, 3, 5]), tg.Indices([0, 1, 2, 1])
            small = {"layers": 2, "heads": 2, "channels": 8}
            models = {
                "TransformerLm": (tg.TransformerLm(7, random, norm="rms", tied=False, **small),
                                  lambda net: net(ids), ids),
                "TransformerClassifier": (tg.TransformerClassifier(7, 3, random, **small),
                                          lambda net: net(ids, lengths), labels),
                "Translator": (tg.Translator(7, random, **small), lambda net: net(ids, lengths, ids), ids),
                "TransformerXl": (tg.TransformerXl(7, random, memory=4, **small), lambda net: net(ids)[0], ids),
                "CharRnn": (tg.CharRnn(7, random, cell="gru", hidden=8, embedding=4), lambda net: net(ids)[0], ids),
                "Mlp": (tg.Mlp([6, 8, 3], random, norm="layer"), lambda net: net(tg.ones([4, 6])), labels),
                "ConvNet": (tg.ConvNet(random, norm="batch"),
                            lambda net: net(tg.Random(2).uniform([4, 1, 28, 28]), random), labels),
            }
            for name, (net, call, targets) in models.items():
                weights = net.parameters()
                optimizer, losses = tg.Adam(weights, learning_rate=1e-3), []
                for _ in range(4):
                    with tg.Tape() as tape:
                        loss = tg.cross_entropy(call(net), targets)
                        self.assertEqual(tg.unreached(tape, loss, net), [], name)
                        optimizer.step(tg.grad(loss, weights))
                    losses.append(loss.item())
                self.assertLess(losses[-1], losses[0], name)

    def test_options_within_options(self):
        with self.assertRaisesRegex(ArgumentError, "activation: unknown value: 'tanh'; available: relu, gelu, swiglu"):
            float64.TransformerLm(7, float64.Random(1), activation="tanh")
        self.assertIn("recurrent_dropout", float64.CharRnn.__init__.__doc__)


class Loop(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "run.checkpoint"

    def test_schedules(self):
        tg = float64
        for schedule, formula in (
                (tg.constant(0.1), lambda t: 0.1), (tg.exponential(0.1, 0.9), lambda t: 0.1 * 0.9**t),
                (tg.step_decay(0.1, 3), lambda t: 0.1 * 0.1 ** (t // 3)),
                (tg.cosine(0.1, 8), lambda t: 0.05 * (1 + np.cos(np.pi * min(t, 8) / 8))),
                (tg.sequential([tg.constant(1), tg.constant(2)], [4]), lambda t: 1 if t < 4 else 2)):
            for step in range(10):
                self.assertAlmostEqual(schedule(step), formula(step))
        with self.assertRaises(ArgumentError):
            tg.cosine(0.1, 0)
        plateau = tg.Plateau(1, factor=0.5, patience=1)
        self.assertEqual([plateau.next(3) for _ in range(5)], [1, 1, 0.5, 0.5, 0.25])

    def test_clipping(self):
        for tg in (float32, float64):
            given = [tg.Tensor([3.0, 0]), tg.Tensor([4.0])]
            clipped, norm = tg.clip_by_global_norm(given, 1)
            self.assertEqual(norm, 5)
            np.testing.assert_allclose(np.concatenate([g.numpy() for g in clipped]), [0.6, 0, 0.8], rtol=1e-6)
            self.assertEqual(tg.clip_by_value(given, 2)[1].item(), 2)
            self.assertEqual(tg.clip_by_norm(given, 2)[0][0].item(), 2)
            self.assertEqual(given[0][0].item(), 3)

    def test_groups_of_parameters(self):
        for tg in (float32, float64):
            net = tg.Linear(3, 2, tg.Random(1))
            optimizer = tg.Sgd(net.parameters(), learning_rate=0.1, weight_decay=0.5)
            optimizer.set_group([net.bias], learning_rate_factor=0.5, weight_decay=0)
            optimizer.set_group([net.weight], center_gradients="outputs")
            net.bias.set(tg.Tensor([1, 2]))
            weight, bias = net.weight.value.numpy(), net.bias.value.numpy()
            slope = np.arange(6.0).reshape(3, 2) ** 2
            optimizer.step([tg.Tensor(slope), tg.ones([2])])
            centered = slope - slope.mean(1, keepdims=True) + 0.5 * weight
            np.testing.assert_allclose(net.weight.value.numpy(), weight - 0.1 * centered, rtol=1e-5, atol=1e-6)
            np.testing.assert_allclose(net.bias.value.numpy(), bias - 0.05, rtol=1e-6)
            with self.assertRaisesRegex(ArgumentError, "center_weights: unknown value: 'rows'; available: none, in"):
                optimizer.set_group([net.weight], center_weights="rows")
            with self.assertRaises(ArgumentError):
                optimizer.set_group([tg.Parameter(tg.ones([2]))], weight_decay=0)

    def run_of(self, tg, seed):
        """What a run is made of, and its steps: with dropout and an average of the weights."""
        random = tg.Random(seed)
        net = {"first": tg.Linear(4, 8, random), "norm": tg.Norm("batch", 8), "last": tg.Linear(8, 2, random)}
        run = {"net": net, "optimizer": tg.Adam(tg.parameters(net), learning_rate=0.01), "random": {"dropout": random},
               "ema": tg.Ema(net, 0.5)}
        x, labels = tg.Random(7).normal([6, 4]), tg.Indices([0, 1, 0, 1, 1, 0])

        def steps(count):
            for _ in range(count):
                with tg.Tape():
                    hidden = tg.dropout(tg.relu(net["norm"](net["first"](x), random)), 0.3, random)
                    loss = tg.cross_entropy(net["last"](hidden), labels)
                    run["optimizer"].step(tg.grad(loss, tg.parameters(net)))
                run["ema"].update()
            return loss.item(), [value.numpy().tobytes() for value in run["ema"].values()]

        return run, steps

    def test_a_run_resumes_to_the_bit(self):
        for tg in (float32, float64):
            run, steps = self.run_of(tg, 1)
            steps(3)
            tg.save_checkpoint(self.file, **run, notes={"epoch": "3"})
            expected = steps(3)
            other, resumed = self.run_of(tg, 2)
            self.assertEqual(tg.load_checkpoint(self.file, **other), {"epoch": "3"})
            self.assertEqual(other["optimizer"].steps, 3)
            self.assertEqual(resumed(3), expected)
            self.assertEqual(tg.checkpoint_notes(self.file), {"epoch": "3"})
            with self.assertRaisesRegex(DataError, "run.checkpoint"):
                tg.load_checkpoint(self.file, tg.Linear(2, 2, tg.Random(1)))
            self.assertIn("weight", tg.load_fitting(self.file, tg.Linear(2, 2, tg.Random(1))).missing)

    def test_buffers_of_an_object(self):
        class Centered:
            """Subtracts a running mean."""

            def __init__(self, tg):
                self.bias, self.mean = tg.Parameter(tg.zeros([3])), tg.Buffer(tg.zeros([3]))

            def __call__(self, x):
                self.mean.set(0.5 * self.mean.value + 0.5 * x)
                return x - self.mean.value + self.bias

        for tg in (float32, float64):
            net, again, x = Centered(tg), Centered(tg), tg.Tensor([2.0, 4, 8])
            np.testing.assert_array_equal(net(x).numpy(), [1, 2, 4])
            tg.save_checkpoint(self.file, net)
            tg.load_checkpoint(self.file, again)
            np.testing.assert_array_equal(again.mean.value.numpy(), [1, 2, 4])
            self.assertEqual([*tg.fields(net)], ["bias"])
            self.assertIn("mean", [value.name for value in tg.trace(net, x).values])
            with self.assertRaises(ShapeError):
                net.mean.set(tg.ones([2]))

    def test_files_of_tensors(self):
        for tg in (float32, float64):
            x, ids = tg.Random(1).normal([2, 3]), tg.Indices([1, 2])
            tg.save_tensors(self.file, tg.TensorFile(tensors={"x": x}, indices={"ids": ids}, metadata={"a": "b"}))
            found = tg.load_tensors(os.fspath(self.file))
            np.testing.assert_array_equal(found.tensors["x"].numpy(), x.numpy())
            np.testing.assert_array_equal(found.indices["ids"].numpy(), [1, 2])
            self.assertEqual(found.metadata, {"a": "b"})
            tg.save_pytorch(self.file, layer := tg.Linear(2, 3, tg.Random(1)))
            np.testing.assert_array_equal(tg.load_tensors(self.file).tensors["weight"].numpy(),
                                          layer.weight.value.numpy().T)
            tg.load_pytorch(again := tg.Linear(2, 3, tg.Random(2)), self.file)
            np.testing.assert_array_equal(again.weight.value.numpy(), layer.weight.value.numpy())
            with self.assertRaises(DataError):
                tg.load_tensors(self.file.parent / "none")


if __name__ == "__main__":
    unittest.main()
