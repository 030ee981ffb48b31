#!/usr/bin/env python3
"""Writes pytorch/NAME.safetensors, the state_dict of a network of PyTorch's as safetensors.torch.save_file writes it, and
pytorch/NAME.io.safetensors, an input and the output that PyTorch finds for it in double precision."""

import json
import pathlib
import struct

import torch
from torch import nn

torch.manual_seed(7)
double = torch.float64
folder = pathlib.Path(__file__).with_name("pytorch")
folder.mkdir(exist_ok=True)
names = {torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16", torch.int64: "I64"}


def save_file(tensors, path):
    header, data = {"__metadata__": {"format": "pt"}}, b""
    for name, tensor in sorted(tensors.items(), key=lambda item: (-item[1].element_size(), item[0])):
        values = bytes(tensor.detach().contiguous().reshape(-1).view(torch.uint8).tolist())
        header[name] = {"dtype": names[tensor.dtype], "shape": list(tensor.shape),
                        "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def write(name, net, inputs, call=lambda net, *inputs: net(*inputs), stored=torch.float32):
    """The state_dict in one precision; the output in double precision, of the values as they are stored."""
    save_file(net.to(stored).state_dict(), folder / f"{name}.safetensors")
    net = net.to(double)
    inputs = [x.double() if x.is_floating_point() else x for x in inputs]
    io = {f"input{i}": x for i, x in enumerate(inputs)}
    save_file({**io, "output": call(net, *inputs)}, folder / f"{name}.io.safetensors")


def perceptron():
    return nn.Sequential(nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 4), nn.ReLU(), nn.Linear(4, 3))


class Convolutions(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 4, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(4)
        self.up = nn.ConvTranspose2d(4, 2, 2, stride=2)
        self.conv2 = nn.utils.weight_norm(nn.Conv2d(2, 3, 3))
        self.gn = nn.GroupNorm(3, 3)
        self.fc = nn.utils.weight_norm(nn.Linear(3 * 6 * 6, 2))

    def forward(self, x):
        x = self.up(torch.relu(self.bn1(self.conv1(x))))
        return self.fc(torch.relu(self.gn(self.conv2(x))).flatten(1))


class Signal(nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = nn.ModuleList([nn.Conv1d(2, 4, 3, groups=2), nn.Conv1d(4, 1, 2)])

    def forward(self, x):
        return self.stack[1](self.stack[0](x))


class Tagger(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(7, 3)
        self.lstm = nn.LSTM(3, 4, num_layers=2, bidirectional=True)
        self.out = nn.Linear(8, 2)

    def forward(self, ids):
        return self.out(self.lstm(self.embedding(ids))[0])


def trained(net, *shape):
    """Gains, biases and running averages as they are after some training; for evaluation."""
    for parameter in net.parameters():
        nn.init.uniform_(parameter, -0.7, 0.7)
    for _ in range(2):
        net(torch.randn(*shape) * 2 + 1)
    return net.eval()


def block(kind, **options):
    layer = kind(8, 2, 12, dropout=0.0, batch_first=True, **options)
    for parameter in layer.parameters():
        nn.init.uniform_(parameter, -0.7, 0.7)
    return layer


def causal(length):
    return torch.ones(length, length, dtype=torch.bool).triu(1)


def decode(net, x, memory):
    return net(x, memory, tgt_mask=causal(x.shape[1]))


sequence, memory = torch.randn(2, 3, 8), torch.randn(2, 4, 8)
write("mlp", perceptron(), [torch.randn(5, 4)])
write("mlp_f16", perceptron(), [torch.randn(5, 4)], stored=torch.float16)
write("mlp_bf16", perceptron(), [torch.randn(5, 4)], stored=torch.bfloat16)
write("cnn", trained(Convolutions(), 3, 1, 4, 4), [torch.randn(2, 1, 4, 4)])
write("conv1d", Signal(), [torch.randn(2, 2, 5)])
write("tagger", Tagger(), [torch.randint(7, (5, 2))])
write("gru", nn.GRU(3, 4), [torch.randn(5, 2, 3)], lambda net, x: net(x)[0])
write("encoder_pre", nn.TransformerEncoder(block(nn.TransformerEncoderLayer, norm_first=True), 2, nn.LayerNorm(8)),
      [sequence])
write("encoder_post", block(nn.TransformerEncoderLayer), [sequence])
write("decoder_pre", nn.TransformerDecoder(block(nn.TransformerDecoderLayer, norm_first=True), 2, nn.LayerNorm(8)),
      [sequence, memory], decode)
write("decoder_post", block(nn.TransformerDecoderLayer), [sequence, memory], decode)
print(f"{folder.name}: {len(list(folder.iterdir()))} files, PyTorch {torch.__version__}")
