# SPDX-License-Identifier: MIT
"""A stand-in for PyTorch that computes nothing: it checks shapes, counts parameters and records calls.

install() makes it the module `torch`. The content of a tensor is a word that depends on the operations and the
seeds it is the result of, so equal runs have equal digests. While `noise` is set, each operation adds another word.
"""

import contextlib
import ctypes
import itertools
import math
import sys
import types
import zlib

calls: list[str] = []
noise = False
has_gpu = True
count = itertools.count()
state = {"seed": 0}


def record(text):
    calls.append(text)


class Tensor:
    """On the device, unless pinned."""

    def __init__(self, shape, word=""):
        self.shape = tuple(shape)
        self.word = zlib.crc32(f"{word} {next(count) if noise else ''}".encode())
        self.content = ctypes.create_string_buffer(self.word.to_bytes(8, "little"), 8)

    def like(self, shape, word):
        return Tensor(shape, f"{self.word} {word}")

    @property
    def device(self):
        return "device"

    def __add__(self, other):
        assert self.shape == other.shape, f"{self.shape} + {other.shape}"
        return self.like(self.shape, f"add {other.word}")

    def pin_memory(self):
        record("pin_memory")
        return self

    def to(self, device, non_blocking=False):
        record(f"to {device} non_blocking={non_blocking}")
        return self

    def copy_(self, other):
        assert self.shape == other.shape
        record("copy_")
        self.word = other.word
        return self

    def clone(self):
        return self

    def record_stream(self, stream):
        record(f"record_stream {stream.name}")

    def mean(self, dimensions=None):
        record(f"mean of {self.shape}")
        return self.like(() if dimensions is None else self.shape[: min(dimensions)], "mean")

    def float(self):
        return self

    def square(self):
        return self.like(self.shape, "square")

    def backward(self):
        assert self.shape == ()
        record("backward")

    def detach(self):
        return self

    def cpu(self):
        record("cpu")
        return self

    def contiguous(self):
        return self

    # A tensor and its views of another shape share one content, so they have one address.
    def data_ptr(self):
        return ctypes.addressof(self.content)

    def numel(self):
        return 1

    def element_size(self):
        return len(self.content)


class Module:
    def __init__(self):
        self.weights = []

    def __call__(self, *arguments, **options):
        record(type(self).__name__)
        return self.forward(*arguments, **options)

    def children(self):
        found = self.__dict__.values()
        return [*(each for each in found if isinstance(each, Module)), *getattr(self, "listed", [])]

    def parameters(self):
        return [*self.weights, *(weight for child in self.children() for weight in child.parameters())]

    def own(self, *shapes):
        self.weights += [Tensor(shape, f"weights {state['seed']}") for shape in shapes]

    def size(self):
        return sum(math.prod(weight.shape) for weight in self.parameters())

    def to(self, device):
        return self

    def eval(self):
        record("eval")
        return self

    def train(self):
        record("train")
        return self


class Sequential(Module):
    def __init__(self, *layers):
        super().__init__()
        self.listed = list(layers)

    def forward(self, x):
        for layer in self.listed:
            x = layer(x)
        return x


class Same(Module):
    """A layer that keeps the shape."""

    def forward(self, x):
        return x.like(x.shape, type(self).__name__)


class ReLU(Same):
    pass


class Identity(Module):
    def forward(self, x):
        return x


class Linear(Module):
    def __init__(self, before, width):
        super().__init__()
        self.before, self.width = before, width
        self.own((width, before), (width,))

    def forward(self, x):
        assert x.shape[-1] == self.before, f"Linear of {self.before} for {x.shape}"
        return x.like((*x.shape[:-1], self.width), f"Linear {self.weights[0].word}")


class Window(Module):
    def __init__(self, kernel, stride, padding):
        super().__init__()
        self.kernel, self.stride, self.padding = kernel, stride, padding

    def edges(self, x):
        assert len(x.shape) == 4, x.shape
        return [(edge + 2 * self.padding - self.kernel) // self.stride + 1 for edge in x.shape[2:]]


class Conv2d(Window):
    def __init__(self, before, width, kernel, stride=1, padding=0, groups=1, bias=True):
        super().__init__(kernel, stride, padding)
        assert before % groups == width % groups == 0
        self.before, self.width = before, width
        self.own((width, before // groups, kernel, kernel), *[(width,)] * bias)

    def forward(self, x):
        assert x.shape[1] == self.before, f"Conv2d of {self.before} for {x.shape}"
        return x.like((x.shape[0], self.width, *self.edges(x)), f"Conv2d {self.weights[0].word}")


class MaxPool2d(Window):
    def __init__(self, kernel, stride=None, padding=0):
        super().__init__(kernel, stride or kernel, padding)

    def forward(self, x):
        return x.like((*x.shape[:2], *self.edges(x)), "MaxPool2d")


class BatchNorm2d(Same):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.own((width,), (width,))

    def forward(self, x):
        assert x.shape[1] == self.width, f"BatchNorm2d of {self.width} for {x.shape}"
        return super().forward(x)


class Flatten(Module):
    def forward(self, x):
        return x.like((x.shape[0], math.prod(x.shape[1:])), "Flatten")


class Embedding(Module):
    def __init__(self, rows, width):
        super().__init__()
        self.width = width
        self.own((rows, width))

    def forward(self, tokens):
        return tokens.like((*tokens.shape, self.width), "Embedding")


class LSTM(Module):
    def __init__(self, before, width, layers, batch_first):
        super().__init__()
        assert batch_first
        self.before, self.width = before, width
        for layer in range(layers):
            self.own((4 * width, width if layer else before), (4 * width, width), (4 * width,), (4 * width,))

    def forward(self, x):
        assert x.shape[-1] == self.before
        return x.like((*x.shape[:-1], self.width), "LSTM"), None


class TransformerEncoderLayer(Module):
    def __init__(self, width, heads, inner, dropout, activation, batch_first, norm_first):
        super().__init__()
        assert width % heads == 0 and dropout == 0.0 and batch_first and norm_first and activation == "gelu"
        self.width = width
        self.own((3 * width, width), (3 * width,), (width, width), (width,))  # attention
        self.own((inner, width), (inner,), (width, inner), (width,), *[(width,)] * 4)


class TransformerEncoder(Module):
    def __init__(self, layer, count, enable_nested_tensor):
        super().__init__()
        self.width, self.listed = layer.width, [layer] * count

    def forward(self, x, mask=None, is_causal=False):
        assert x.shape[-1] == self.width and (mask is not None) == is_causal
        assert mask is None or mask.shape == (x.shape[1], x.shape[1])
        return x.like(x.shape, "TransformerEncoder")


class Transformer(Module):
    @staticmethod
    def generate_square_subsequent_mask(tokens, device):
        return Tensor((tokens, tokens))


class Stream:
    def __init__(self, device="", name="side"):
        self.name = name

    def wait_stream(self, other):
        record(f"{self.name} waits for {other.name}")


DEFAULT = Stream(name="default")


class CUDAGraph:
    def replay(self):
        record("replay")


@contextlib.contextmanager
def within(name):
    record(f"begin {name}")
    yield
    record(f"end {name}")


class Generator:
    def manual_seed(self, seed):
        self.seed = seed
        return self


class SGD:
    def __init__(self, parameters, lr):
        self.parameters = parameters

    def zero_grad(self):
        record("zero_grad")

    def step(self):
        record("step")
        for each in self.parameters:
            each.content = each.like((), "step").content


class Dataset:
    pass


class DataLoader:
    def __init__(self, dataset, **options):
        record(f"DataLoader {options}")
        self.dataset = dataset

    def __iter__(self):
        return (self.dataset[i] for i in range(len(self.dataset)))


def module(name, **members):
    made = types.ModuleType(name)
    made.__dict__.update(members)
    sys.modules[name] = made
    return made


def install():
    layers = [
        Module, Sequential, ReLU, Identity, Linear, Conv2d, MaxPool2d, BatchNorm2d, Flatten, Embedding, LSTM,
        TransformerEncoderLayer, TransformerEncoder, Transformer,
    ]  # fmt: skip
    data = module("torch.utils.data", DataLoader=DataLoader, Dataset=Dataset)
    cuda = module(
        "torch.cuda", Stream=Stream, CUDAGraph=CUDAGraph, is_available=lambda: has_gpu,
        current_stream=lambda device: DEFAULT, stream=lambda stream: within(f"stream {stream.name}"),
        graph=lambda graph, capture_error_mode: within(f"graph {capture_error_mode}"),
        synchronize=lambda device: record("synchronize"),
    )  # fmt: skip
    module(
        "torch", cuda=cuda, Generator=Generator, device=str,
        nn=module("torch.nn", **{each.__name__: each for each in layers}),
        utils=module("torch.utils", data=data), optim=module("torch.optim", SGD=SGD),
        backends=types.SimpleNamespace(cudnn=types.SimpleNamespace(benchmark=True)),
        no_grad=lambda: within("no_grad"), manual_seed=lambda seed: state.update(seed=seed),
        relu=lambda x: x.like(x.shape, "relu"), use_deterministic_algorithms=lambda on: record(f"deterministic {on}"),
        randn=lambda *shape, generator: Tensor(shape, f"randn {generator.seed}"),
        randint=lambda most, shape, generator: Tensor(shape, f"randint {generator.seed}"),
    )  # fmt: skip
