"""Norms of tapegrad in a net of PyTorch: `tapegrad.torch.norm("layer_simple:forward=identity", 64)`.

A net of PyTorch is also an argument of `trace` and `load_pytorch`, as in tapegrad.float32."""

import numpy
import torch

from . import float32, float64, pytorch_trace, steps

_PRECISIONS = {torch.float32: float32, torch.float64: float64}
_TYPES = {tg: dtype for dtype, tg in _PRECISIONS.items()}


def _to(tg, x):
    """A copy, rounded to the precision of tg."""
    return tg.Tensor(x.detach().to("cpu", _TYPES[tg]).contiguous().numpy())


def _from(x, like):
    return torch.tensor(x.numpy(), dtype=like.dtype, device=like.device)


class _Norm(torch.autograd.Function):
    """The norm of tapegrad. Its gradient is the vector-Jacobian product, which is differentiable again."""

    @staticmethod
    def forward(ctx, x, spec, where):
        tg = _PRECISIONS[x.dtype]
        norm = tg.Norm(spec, x.shape[1 if where == "second" else -1], where)
        ctx.save_for_backward(x)
        ctx.norm, ctx.spec, ctx.where = norm, spec, where
        with tg.NoGrad():
            return _from(norm(_to(tg, x)), x)

    @staticmethod
    def backward(ctx, arrived):
        (x,) = ctx.saved_tensors
        return _Gradient.apply(x, arrived, ctx.norm), None, None


class _Gradient(torch.autograd.Function):
    """g, x -> g^T dy/dx, with derivatives by both: one sweep over a recorded sweep."""

    @staticmethod
    def forward(ctx, x, arrived, norm):
        tg = _PRECISIONS[x.dtype]
        ctx.save_for_backward(x, arrived)
        ctx.norm = norm
        with tg.Tape():
            leaf = tg.watch(_to(tg, x))
            return _from(tg.grad(norm(leaf), leaf, seed=_to(tg, arrived)), x)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, arrived):
        x, first = ctx.saved_tensors
        tg = _PRECISIONS[x.dtype]
        with tg.Tape():
            leaves = [tg.watch(_to(tg, x)), tg.watch(_to(tg, first))]
            gradient = tg.grad(ctx.norm(leaves[0]), leaves[0], seed=leaves[1], record=True)
            by_x, by_first = tg.grad(gradient, leaves, seed=_to(tg, arrived))
            return _from(by_x, x), _from(by_first, x), None


class Norm(torch.nn.Module):
    """A normalization of tapegrad by its text (`help(tapegrad.float32.Norm)`), with gain and bias of PyTorch's where
    the text has them. It computes on the CPU, in the precision of its input, float32 or float64.

        x: (..., C), or with where="second" (N, C, H, W) or (N, C, L)   returns: x's shape

    Norms with running averages or a learned smoothing are refused: torch would neither train nor save these."""

    def __init__(self, spec, channels, where="features"):
        super().__init__()
        own = float64.Norm(spec, channels, where)
        known = set(own.fields()) <= {"gain", "bias"} and not own.has_buffers
        if not known:
            raise float64.ArgumentError(f"tapegrad.torch.norm: it has more than a gain and a bias: '{spec}'")
        self.spec, self.where = spec, where
        for name in ("gain", "bias"):
            value = own.fields().get(name)
            self.register_parameter(
                name, None if value is None else torch.nn.Parameter(torch.tensor(value.value.numpy()).float()))

    def forward(self, x):
        if x.dtype not in _PRECISIONS:
            raise float64.ArgumentError(f"tapegrad.torch.norm: it needs float32 or float64: {x.dtype}")
        spec = self.spec
        if self.gain is not None:
            spec += "," if ":" in spec else ":"
            spec += "affine=0"
        y = _Norm.apply(x, spec, self.where)
        if self.gain is not None:
            y = y * self.gain.to(x.dtype)
        if self.bias is not None:
            y = y + self.bias.to(x.dtype)
        return y

    def extra_repr(self):
        return repr(self.spec)


def norm(spec, channels, where="features"):
    """A `Norm`, as a layer of a net of PyTorch."""
    return Norm(spec, channels, where)


class _Recorder(pytorch_trace.Trace):
    """Keeps what it has seen of a step, where `pytorch_trace.Trace` writes a file."""
    internal = (*pytorch_trace.Trace.internal, __file__)

    def write(self):
        pass


def trace(net, batch, loss, tg):
    """The `Trace` of a step of a torch.nn.Module, rounded to the precision of tg, such as tapegrad.float32, as of a net
    of tapegrad (`help(tapegrad.float32.trace)`). The gradients that the parameters have already stay as they are."""
    like = next(net.parameters(), torch.empty(0))

    def converted(given):
        if isinstance(given, torch.Tensor):
            return given
        given = torch.tensor(numpy.asarray(given), device=like.device)
        return given.to(like.dtype) if given.is_floating_point() else given

    call = steps.step(net, batch, loss, converted)
    with _Recorder(net, file=None) as recorder:
        value = call()
        if loss is not None:
            value = loss(value)
        elif not callable(batch) and value.dim() > 0:
            weights = torch.cos(torch.arange(value.numel(), dtype=torch.float64)).reshape(value.shape)
            value = (value * weights.to(value)).mean()
        wanted = [parameter for parameter in net.parameters() if parameter.requires_grad]
        gradients = torch.autograd.grad(value, wanted, allow_unused=True)
    of_parameters = {id(parameter): gradient for parameter, gradient in zip(wanted, gradients)}
    values = []
    for entry in recorder.entries:
        # Before PyTorch 2, autograd.grad calls no hook of a parameter.
        entry["gradient"] = of_parameters.get(id(entry["tensor"]), entry["gradient"])
        known = {kind: _to(tg, entry[kind]) for kind in ("value", "gradient") if entry[kind] is not None}
        values.append(tg.TracedValue(name=entry["name"], operation=entry["operation"],
                                     inputs=[int(number) for number in entry["inputs"].split()],
                                     place=entry["place"] or "", source=entry["source"], **known))
    precision = str(recorder.entries[0]["value"].dtype).removeprefix("torch.")
    return tg.Trace(values=values, framework="pytorch", precision=precision, instruction_set="")


def save_state(net, path, tg):
    """Writes the state_dict of a torch.nn.Module as a safetensors file, rounded to the precision of tg."""
    tensors, indices = {}, {}
    for name, value in net.state_dict().items():
        if value.is_floating_point():
            tensors[name] = _to(tg, value)
        else:
            indices[name] = tg.Indices(value.cpu().numpy())
    tg.save_tensors(path, tg.TensorFile(tensors=tensors, indices=indices))
