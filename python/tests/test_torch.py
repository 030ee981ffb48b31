"""A norm of tapegrad in a net of PyTorch: its value and derivatives, against definitions in torch."""

import unittest

from tapegrad import ArgumentError

try:
    import torch
except ImportError:
    torch = None


@unittest.skipIf(torch is None, "PyTorch is not installed")
class TorchNorm(unittest.TestCase):
    def setUp(self):
        from tapegrad.torch import norm
        self.norm = norm
        torch.manual_seed(1)

    def test_layer_norm_is_torchs(self):
        for dtype, tolerance in ((torch.float32, 1e-5), (torch.float64, 1e-12)):
            ours, theirs = self.norm("layer", 6).to(dtype), torch.nn.LayerNorm(6, dtype=dtype)
            x, seed = torch.randn(3, 4, 6, dtype=dtype), torch.randn(3, 4, 6, dtype=dtype)
            found = []
            for net in (ours, theirs):
                leaf = x.clone().requires_grad_()
                y = net(leaf)
                y.backward(seed)
                parameters = dict(net.named_parameters())
                gain, bias = (parameters["gain"], parameters["bias"]) if net is ours else (net.weight, net.bias)
                found.append((y, leaf.grad, gain.grad, bias.grad))
            for a, b in zip(*found):
                torch.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)

    def test_an_identity_with_the_gradient_of_a_norm(self):
        net = self.norm("layer_simple:forward=identity", 6)
        x = torch.randn(5, 6, dtype=torch.float64, requires_grad=True)
        y = net(x)
        torch.testing.assert_close(y, x)
        y.backward(torch.randn(5, 6, dtype=torch.float64))
        torch.testing.assert_close(x.grad.mean(dim=-1), torch.zeros(5, dtype=torch.float64), rtol=0, atol=1e-12)
        self.assertGreater(x.grad.abs().max(), 1e-3)
        torch.testing.assert_close(self.norm("none", 6)(x), x)

    def test_derivatives(self):
        x = torch.randn(3, 6, dtype=torch.float64, requires_grad=True)
        for spec in ("layer_simple", "rms", "layer"):
            net = self.norm(spec, 6).double()
            self.assertTrue(torch.autograd.gradcheck(net, (x,)))
            self.assertTrue(torch.autograd.gradgradcheck(net, (x,)))

    def test_images(self):
        ours, theirs = self.norm("group:groups=2", 4, "second"), torch.nn.GroupNorm(2, 4)
        x = torch.randn(2, 4, 3, 3)
        gain = ours.gain.detach().flatten()
        torch.testing.assert_close(ours(x), theirs(x), rtol=1e-5, atol=1e-5)
        self.assertEqual(gain.shape, (4,))

    def test_what_torch_would_not_train_is_refused(self):
        with self.assertRaisesRegex(ArgumentError, "more than a gain and a bias: 'batch'"):
            self.norm("batch", 4)
        with self.assertRaisesRegex(ArgumentError, "float32 or float64"):
            self.norm("rms", 4)(torch.zeros(2, 4, dtype=torch.float16))


if __name__ == "__main__":
    unittest.main()
