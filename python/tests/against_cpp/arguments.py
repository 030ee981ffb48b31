"""Arguments for test_against_cpp.py that do not follow from the types of parameters."""

import dataclasses
import pathlib


@dataclasses.dataclass(frozen=True)
class Drawn:
    """A tensor of random numbers, which is watched. No two of a call are the same."""
    draw: str
    shape: tuple
    bounds: tuple


class Written:
    """An expression of C++, and of Python where that is another."""

    def __init__(self, cpp, python=None):
        self.cpp, self.python = cpp, python or cpp

    def __repr__(self):
        return self.python


def normal(*shape):
    return Drawn("normal", shape, ())


def uniform(low, high, *shape):
    return Drawn("uniform", shape, (low, high))


def chance(*shape):
    return Drawn("bernoulli", shape, (0.6,))


# What a call gets for a parameter without a default. The net, its loss on a batch and an optimizer are in scope.
TYPES = {
    "Tensor": normal(2, 3, 4), "std::vector<Tensor>": [normal(2, 3), normal(2, 3)], "Indices": [[0, 2, 1], [1, 0, 2]],
    "bool": True, "Shape": (2, 3), "Extents": (4, -1, 3), "Axes": (0, -1), "HeightWidth": (2, 3),
    "std::vector<Index>": [1, 2], "std::vector<int>": [2, 0, 1], "std::vector<Padding>": [(1, 2), (0, 3)],
    "std::filesystem::path": "text.txt", "NormSpec": "layer", "Cell": "lstm",
    "RecurrentState": (normal(3, 4), normal(3, 4)), "std::vector<Parameter>": Written("parameters(net)"),
    "Random": Written("random"), "Random*": Written("&random", "random"), "Mode": Written("Mode{&random}", "random"),
    "Tape": Written("tape"), "Fields": Written("fields(net)", "net"), "Optimizer": Written("optimizer"),
    "std::function<Tensor()>": Written("[&] { return loss(batch); }", "lambda: loss(batch)"),
    "Function": Written("[](const std::vector<Tensor>& in) { return tanh(in[0] * in[1]); }",
                        "lambda a, b: tanh(a * b)"),
    "BeamStep": Written("[](const Indices&, const Indices& tokens) {"
                        " return log_softmax(Random(3).normal({tokens.shape()[0], 6})); }",
                        "lambda rows, tokens: log_softmax(Random(3).normal([tokens.shape[0], 6]))"),
    "NormField": Written("NormField{.axes = {1, 2}}", "NormField(axes=[1, 2])"),
    "NormFields": Written("both(NormField{.axes = {1, 2}})", "both(NormField(axes=[1, 2]))"),
    "std::function<Tensor(const Tensor&)>": Written("loss"),
    "TensorFile": Written('load_tensors("x.safetensors")'), "Trace": Written('read_trace("a.trace")'),
    "std::vector<Schedule>": [Written("constant(0.1)"), Written("exponential(0.2, 0.5)")],
    "Parameter": Written("Parameter(Random(1).normal({2, 3}))", "Parameter(Random(1).normal([2, 3]))"),
}
# Other values than the defaults.
ALTERNATIVES = {"Axes": [1, (0, -1)], "NormSpec": ["rms"], "Cell": ["gru"], "std::optional<double>": [0.25],
                "std::optional<Index>": [1], "std::uint64_t": [2],
                "AttentionCache*": [Written("std::make_unique<AttentionCache>().get()", "AttentionCache()")],
                "std::vector<AttentionCache>*": [
                    Written("std::make_unique<std::vector<AttentionCache>>().get()", "[]")],
                "std::function<void(const Tensor&)>": [Written("[](const Tensor&) {}", "lambda x: None")],
                "Random*": [TYPES["Random*"]], "Mode": [TYPES["Mode"]]}

# What every call finds.
NET = [
    Written("const Linear net(3, 2, random);", "net = Linear(3, 2, random)"),
    Written("Sgd optimizer(parameters(net));", "optimizer = Sgd(parameters(net))"),
    Written("const auto loss = [&](const Tensor& x) { return mean(square(layer_norm(net(x)) - 0.3)); };",
            "loss = lambda x: mean(square(layer_norm(net(x)) - 0.3))"),
]

EXCLUDED = {
    "write_viewer": "its file has the source of the program",
    "write_trace": "its file has the source of the program",
}

IMAGES = normal(2, 4, 7, 6)
LENGTHS = [3, 2]
PADDED = Written("left_padded(Indices({2}, {3, 2}), 3)", "left_padded(Indices([3, 2]), 3)")
# Transformers without options have 128 channels in 4 heads.
HEADS = dict(heads=2, also=[dict(channels=8)])
MODEL = dict(vocabulary=5, length=9, lengths=LENGTHS, memory=normal(2, 3, 128), **HEADS)
BLOCK = dict(x=normal(2, 3, 128), heads=2, also=[dict(channels=8, x=normal(2, 3, 8))])
NORMS = [dict(norm="layer", placement=placement) for placement in ("cell", "sum", "per_gate")]
STATE = (normal(2, 4), normal(2, 4))
RECURRENT = dict(hidden=4, x=normal(5, 2, 3), state=STATE, lengths=[5, 3])
POSITIVE = uniform(0.3, 3, 2, 3, 4)

# For each name, the values of its parameters and options: `also` lists those that are given together, and `same` those
# that may leave the result as it is.
ARGUMENTS = {
    **dict.fromkeys(("shifted", "flipped", "cropped"), dict(images=IMAGES)),
    **dict.fromkeys(("log", "log1p", "sqrt", "rsqrt"), dict(x=POSITIVE)),
    **dict.fromkeys(("equal", "not_equal", "logical_and", "logical_or", "logical_not"), dict(
        a=chance(2, 3, 4), b=chance(2, 3, 4), x=chance(2, 3, 4))),
    **dict.fromkeys(("recall_at", "median_rank", "mean_rank"), dict(k=1, ranks=[0, 2, 7])),
    **dict.fromkeys(("max_pool1d", "avg_pool1d"), dict(
        x=normal(2, 3, 9), size=3, stride=1, also=[dict(padding=1, count_include_pad=False)])),
    **dict.fromkeys(("adaptive_max_pool2d", "adaptive_avg_pool2d"), dict(x=IMAGES)),
    **dict.fromkeys(("cross_entropy", "nll"), dict(
        logits=normal(2, 3, 5), log_p=normal(2, 3, 5), target=uniform(0, 1, 2, 3, 5), weight=uniform(0.5, 2, 5))),
    **dict.fromkeys(("pearson", "spearman", "mean_squared_error"), dict(guesses=normal(9), right=normal(9))),
    **dict.fromkeys(("TransformerClassifier", "Translator"), dict(
        MODEL, target=[[1, 1, 0, 2], [4, 3, 0, 1]], same=("recompute", "caches"))),
    "named": dict(name="x"),
    "universal_relation": dict(relation="nsubj:pass"),
    "part": dict(begin=1, end=2),
    "write_npy": dict(path="written"),
    "read_npy": dict(path="x.npy"),
    "read_npy_indices": dict(path="ids.npy"),
    "read_npz": dict(path="x.npz", name="x"),
    "read_npz_indices": dict(path="x.npz", name="ids"),
    "write_npz": dict(path="written", tensors=Written('{{"a", ones({2})}, {"b", eye(2)}}',
                                                      "{'a': ones([2]), 'b': eye(2)}"),
                      indices=Written('{{"i", Indices({1}, {3})}, {"j", Indices({1}, {4})}}',
                                      "{'i': Indices([3]), 'j': Indices([4])}")),
    "save_tensors": dict(path="written"),
    "load_tensors": dict(path="x.safetensors"),
    "checkpoint_notes": dict(path="saved.checkpoint"),
    "expect_writable": dict(path="new"),
    "make_directory": dict(path="folder"),
    "is_checkpoint": dict(file=Written('load_tensors("saved.checkpoint")')),
    "affine": dict(gain=normal(4), bias=normal(4)),
    **dict.fromkeys(("check_gradient", "check_second_gradient"), dict(step=1e-2, tolerance=1e-15)),
    "check_jacobian": dict(step=1e-2, tolerance=1e-15, same=("seed",)),
    "vjp": dict(v=normal(2, 3)),
    "jvp": dict(vs=[normal(2, 3), uniform(-1, 1, 2, 3)]),
    "jacobian": dict(x=normal(4, 3)),
    "hvp": dict(x=normal(4, 3), v=normal(4, 3)),
    "probe": dict(same=("value", "gradient")),
    "normalize": dict(smoothing=uniform(0.5, 1, 4)),
    "affine_norm": dict(gain=normal(4), bias=normal(4)),
    "parameters": dict(chosen=Written('[](const std::string& name) { return name == "bias"; }',
                                      'lambda name: name == "bias"')),
    "ctc": dict(log_p=normal(5, 2, 5), input_lengths=[5, 4], labels=[[1, 2], [3, 1]], lengths=[2, 1], blank=4,
                same=("zero_infinity",)),
    "recurrent": dict(inputs=normal(5, 2, 16), weight=normal(4, 16), first=STATE, lengths=[5, 3]),
    "beam_search": dict(longest=[4, 6]),
    "isfinite": dict(x=Written("reciprocal(Random(1).bernoulli({3, 4}, 0.5))",
                               "reciprocal(Random(1).bernoulli([3, 4], 0.5))")),
    "where": dict(condition=chance(2, 3, 4)),
    "masked_fill": dict(mask=chance(2, 3, 4)),
    "einsum": dict(equation="ij,kj->ik"),
    "pow": dict(a=POSITIVE),
    "clamp": dict(low=-0.4, high=0.5),
    "grad": dict(y=Written("loss(batch)"), x=Written("batch"),
                 xs=Written("std::vector<Tensor>{watch(2), batch}", "[watch(2), batch]"), seed=normal(),
                 same=("keep", "zeros")),
    "embedding": dict(table=normal(4, 3)),
    "gather": dict(axis=2, positions=[[[0, 3], [1, 1], [2, 0]], [[3, 2], [0, 0], [1, 2]]]),
    "scatter_add": dict(x=normal(2, 3), axis=0, shape=(4, 3)),
    "index_select": dict(positions=[2, 0, 2]),
    "put": dict(x=normal(2, 3), shape=(2, 5)),
    "slice": dict(begin=0, end=3),
    "select": dict(position=1),
    "split": dict(sizes=[1, 2], axis=1, x=normal(3, 3)),
    "broadcast_to": dict(x=normal(1, 3)),
    "sum_to": dict(x=normal(4, 2, 3)),
    "matmul": dict(a=normal(4, 4), b=normal(4, 4)),
    "linear": dict(x=normal(3, 4), weight=normal(4, 5), bias=normal(5)),
    "outer": dict(a=normal(3), b=normal(4)),
    "weight_norm": dict(v=normal(3, 4), gain=normal(4), axes=0),
    "rms_norm": dict(same=("detach_mean",)),
    "self_attention": dict(projected=normal(2, 3, 12), mask=chance(3, 3), bias=normal(3, 3)),
    "attention": dict(mask=chance(3, 3), bias=normal(3, 3)),
    "rotary": dict(x=normal(2, 3, 8), heads=2, positions=[[0, 2, 5], [1, 3, 4]]),
    "conv2d": dict(x=IMAGES, weight=normal(6, 4, 3, 2), also=[dict(groups=2, weight=normal(6, 2, 3, 2))]),
    "conv1d": dict(x=normal(2, 4, 9), weight=normal(6, 4, 3), stride=2, padding=1, dilation=2,
                   also=[dict(groups=2, weight=normal(6, 2, 3))]),
    "conv_transpose2d": dict(x=IMAGES, weight=normal(4, 6, 3, 2), groups=2,
                             also=[dict(output_padding=(1, 0), stride=(2, 1))]),
    "divisive_norm": dict(summation=normal(4, 4), suppression=uniform(0.1, 1, 4, 4)),
    "binary_cross_entropy_with_logits": dict(positive_weight=uniform(0.5, 2, 4)),
    "kl_divergence": dict(p=POSITIVE),
    "gaussian_nll": dict(variance=POSITIVE, epsilon=1),
    "max_pool2d": dict(x=IMAGES, size=(3, 2), stride=(1, 2)),
    "avg_pool2d": dict(x=IMAGES, size=(3, 2), stride=(1, 2), also=[dict(padding=1, count_include_pad=False)]),
    "running": dict(lengths=LENGTHS, first=1, end=4),
    "without_padding": dict(lengths=LENGTHS, x=normal(3, 2, 4)),
    "l2_normalize": dict(epsilon=3),
    "cosine_similarity": dict(epsilon=30),
    "cosine_embedding": dict(target=Written("Tensor({2, 3}, {1, -1, 1, -1, -1, 1})",
                                            "Tensor([[1, -1, 1], [-1, -1, 1]])")),
    "sinusoids": dict(channels=4),
    "orthogonal": dict(weight=(3, 4)),
    "used_weight": dict(gain=Written("Parameter(Random(2).normal({2, 3}))", "Parameter(Random(2).normal([2, 3]))")),
    "inverse_root": dict(covariance=Written("2 * eye(3) + 0.1 * ones({3, 3})", "2 * eye(3) + 0.1 * ones([3, 3])")),
    "bleu": dict(translations=["a b c d e f", "g h"], references=["a b c d e g", "g h i"]),
    "ranks": dict(costs=normal(3, 4), right=[2, 0, 1]),
    "threshold_accuracy": dict(positives=normal(9), negatives=normal(7)),
    "count_equal": dict(guesses=[[0, 2, 2], [2, 1, 2]]),
    "is_vector": dict(shape=(3,)),
    "sequential": dict(starts=[3]),
    "left_padded": dict(lengths=LENGTHS, steps=3),
    "padding_mask": dict(lengths=LENGTHS),
    "unreached": dict(y=Written("watch(2)")),
    "drift_along": dict(direction=Written("free_directions(fields(net), [&] { return loss(batch); }).front()",
                                          "free_directions(net, lambda: loss(batch))[0]")),
    "free_directions": dict(batch=Written("batch")),
    "expect_no_free_directions": {
        "loss": Written("[&] { return mean(square(net(batch) - 0.3)); }", "lambda: mean(square(net(batch) - 0.3))")},
    "read_trace": dict(file="a.trace"),
    "compare_traces": dict(b=Written('read_trace("b.trace")'), tolerance=1e9),
    "SelfAttention": dict(channels=8, x=normal(2, 3, 8), mask=chance(3, 3), same=("cache",), also=[
        dict(rotary=True), dict(rotary=True, positions=[[0, 1, 3], [2, 4, 5]])]),
    "CrossAttention": dict(channels=8, x=normal(2, 3, 8), memory=normal(2, 5, 8), mask=chance(3, 5), same=("cache",)),
    "RelativeAttention": dict(channels=8, x=normal(2, 3, 8), context=normal(2, 5, 8)),
    "Conv2d": {"in": 4, "out": 6, "x": IMAGES},
    "Conv1d": {"in": 4, "out": 6, "size": 3, "x": normal(2, 4, 9), "stride": 2, "padding": 1, "dilation": 2},
    "ConvTranspose2d": {"in": 4, "out": 6, "x": IMAGES, "also": [dict(output_padding=(1, 0), stride=(2, 1))]},
    "Dropout": dict(also=[dict(share=0.3, mode=TYPES["Mode"])]),
    "Embedding": dict(count=4),
    "Linear": {"in": 4, "out": 5},
    "Norm": dict(channels=4, x=normal(4, 4, 4), same=("where",)),
    "RecurrentLayer": {"in": 3, **RECURRENT, "same": ("variational",), "also": NORMS},
    "RecurrentLayer.step": {"in": 3, **RECURRENT, "x": normal(2, 3)},
    "Recurrent": {"in": 3, **RECURRENT, "states": [STATE], "also": [
        *NORMS, dict(layers=2, dropout=0.25, variational=True, mode=TYPES["Mode"])]},
    "FeedForward": dict(BLOCK, same=("layers", "heads", "norm", "placement", "attention_dropout", "causal", "rotary",
                                     "alibi", "recompute")),
    "TransformerBlock": dict(BLOCK, same=("layers", "with_cross", "recompute", "cache")),
    "TransformerStack": dict(BLOCK, same=("with_cross", "recompute", "caches")),
    "CharRnn": dict(vocabulary=5, states=[(normal(3, 512), normal(3, 512))], also=[
        *NORMS, dict(layers=2, recurrent_dropout=0.25, variational=True, mode=TYPES["Mode"])]),
    "ConvNet": dict(x=normal(2, 1, 28, 28)),
    "Mlp": dict(sizes=[12, 5, 3]),
    "TokenEmbedding": dict(vocabulary=5, channels=4, length=9, ids=[[3, 0, 1], [2, 2, 4]],
                           positions="sinusoidal", also=[
        dict(positions=each) for each in ("none", "learned", "rotary", "alibi")]),
    "TransformerLm": dict(MODEL, context=PADDED, same=("recompute", "caches")),
    "Translator.translate": dict(MODEL, longest=[4, 4], begin=1, end=2),
    "TransformerXl": dict(vocabulary=5, heads=2, same=("recompute",), also=[
        dict(memory=[normal(2, 3, 128)] * 4), dict(memory=2), dict(channels=8)]),
    "Sgd": dict(also=[dict(momentum=0.9), dict(momentum=0.9, nesterov=True)]),
}


def write_files(tg):
    """The files that calls read, in the working directory."""
    net, x, ids = tg.Linear(3, 2, tg.Random(1)), tg.Random(2).normal([4, 3]), tg.Indices([[3, 1], [0, 2]])
    pathlib.Path("text.txt").write_text("one\ntwo\n")
    tg.write_npy("x.npy", x)
    tg.write_npy("ids.npy", ids)
    tg.write_npz("x.npz", {"x": x}, {"ids": ids})
    file = tg.TensorFile(tensors={"x": x}, indices={"ids": ids}, metadata={"made": "here"})
    tg.save_tensors("x.safetensors", file)
    tg.save_checkpoint("saved.checkpoint", net, notes={"epoch": "3"})
    for name, epsilon in (("a.trace", 1e-5), ("b.trace", 1e-3)):
        with tg.Tape(keep_values=True) as tape:
            tg.grad(tg.mean(tg.square(tg.layer_norm(net(x), epsilon=epsilon))), net.parameters())
            tg.write_trace(tape, net, name)
