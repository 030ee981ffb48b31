"""Writes the values and gradients of a training step in PyTorch, for `./dev diff`:

    with pytorch_trace.Trace(net, "theirs.trace"):
        loss = F.cross_entropy(net(x), y)
        loss.backward()
"""

import linecache
import sys

import torch
from torch.overrides import TorchFunctionMode


class Trace(TorchFunctionMode):
    internal = "/torch/", __file__, "<"  # parts of the names of files that no user wrote

    def __init__(self, net, file):
        super().__init__()
        self.net, self.file, self.entries, self.numbers, self.hooks = net, file, [], {}, []

    def __enter__(self):
        for name, parameter in self.net.named_parameters():
            self.add(name, "parameter", parameter, [], "", 0)
        self.hooks += [module.register_forward_hook(self.name_result(name))
                       for name, module in self.net.named_modules() if name]
        return super().__enter__()

    def __exit__(self, *error):
        super().__exit__(*error)
        for hook in self.hooks:
            hook.remove()
        if error[0] is None:
            self.write()

    def add(self, name, operation, value, inputs, path, line):
        entry = {"name": name, "tensor": value, "value": value.detach().clone(), "gradient": None,
                 "operation": operation,
                 "inputs": " ".join(str(self.numbers.get(id(x), -1)) for x in inputs if isinstance(x, torch.Tensor)),
                 "place": line and f"{path.rsplit('/', 1)[-1]}:{line}", "source": linecache.getline(path, line).strip()}
        self.numbers[id(value)] = len(self.entries)  # the entry keeps the tensor, and so its id
        self.entries.append(entry)
        if value.requires_grad:
            self.hooks.append(value.register_hook(
                lambda g: entry.update(gradient=g if entry["gradient"] is None else entry["gradient"] + g)))

    def __torch_function__(self, function, types, args=(), kwargs=None):
        result = function(*args, **(kwargs or {}))
        name = function.__name__.strip("_")
        is_new = isinstance(result, torch.Tensor) and id(result) not in self.numbers
        if is_new and result.requires_grad and name != "get":
            self.add_result(name, result, args)
        return result

    def add_result(self, name, result, inputs):
        frame = sys._getframe()
        while frame.f_back and any(part in frame.f_code.co_filename for part in self.internal):
            frame = frame.f_back
        self.add(name, name, result, inputs, frame.f_code.co_filename, frame.f_lineno)

    def name_result(self, name):  # a result has the name of the innermost module
        def hook(module, inputs, result):
            result = result[0] if isinstance(result, tuple) else result
            if id(result) not in self.numbers:
                self.add_result(type(module).__name__, result, inputs)
            entry = self.entries[self.numbers[id(result)]]
            entry["name"] = name if entry["name"] == entry["operation"] else entry["name"]
        return hook

    def write(self):
        from safetensors.torch import save_file
        tensors, about = {}, {"format": "tapegrad trace 1", "framework": "pytorch"}
        about["precision"] = str(self.entries[0]["value"].dtype).removeprefix("torch.")
        for number, entry in enumerate(self.entries):
            for kind in "value", "gradient":
                if entry[kind] is not None:
                    own = entry[kind].detach().cpu().clone(memory_format=torch.contiguous_format)  # views keep strides
                    tensors[f"{kind}/{number:06}.{entry['name']}"] = own
            about |= {f"{number:06}.{key}": entry[key] or "" for key in ("operation", "inputs", "place", "source")}
        save_file(tensors, self.file, about)
