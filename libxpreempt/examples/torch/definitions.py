# SPDX-License-Identifier: MIT
"""Eight models of plain torch.nn in their real widths, without pretrained weights."""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn

VOCABULARY = 10000


@dataclass
class Model:
    network: Callable
    input: Callable  # one batch, from a generator


class Residual(nn.Module):
    """relu(body(x) + shortcut(x))"""

    def __init__(self, body, shortcut=None):
        super().__init__()
        self.body, self.shortcut = body, shortcut or nn.Identity()

    def forward(self, x):
        return torch.relu(self.body(x) + self.shortcut(x))


class Tokens(nn.Module):
    """A network over the embeddings of tokens, whose attention sees earlier tokens only if it is causal."""

    def __init__(self, width, layers, causal):
        super().__init__()
        self.causal = causal
        self.embedding = nn.Embedding(VOCABULARY, width)
        layer = nn.TransformerEncoderLayer(
            width, width // 64, 4 * width, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
        )
        self.layers = nn.TransformerEncoder(layer, layers, enable_nested_tensor=False)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        x = self.embedding(tokens)
        mask = nn.Transformer.generate_square_subsequent_mask(tokens.shape[1], device=x.device) if self.causal else None
        return self.head(self.layers(x, mask=mask, is_causal=self.causal))


class Recurrent(nn.Module):
    def __init__(self, width, layers):
        super().__init__()
        self.embedding = nn.Embedding(VOCABULARY, width)
        self.lstm = nn.LSTM(width, width, layers, batch_first=True)
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, tokens):
        return self.head(self.lstm(self.embedding(tokens))[0])


def convolution(before, width, kernel, stride=1, groups=1):
    padding = kernel // 2
    return [nn.Conv2d(before, width, kernel, stride, padding, groups=groups, bias=False), nn.BatchNorm2d(width)]


class Mean(nn.Module):
    """Of each channel. AdaptiveAvgPool2d has no deterministic gradient."""

    def forward(self, x):
        return x.mean((2, 3))


def classifier(width):
    return [Mean(), nn.Linear(width, 1000)]


def basic_block(before, width, stride):
    """Returns the block and the channels of its result."""
    body = [*convolution(before, width, 3, stride), nn.ReLU(), *convolution(width, width, 3)]
    return body, width


def bottleneck(before, width, stride):
    body = [
        *convolution(before, width, 1), nn.ReLU(), *convolution(width, width, 3, stride), nn.ReLU(),
        *convolution(width, 4 * width, 1),
    ]  # fmt: skip
    return body, 4 * width


def resnet(block, counts):
    layers, before = [*convolution(3, 64, 7, 2), nn.ReLU(), nn.MaxPool2d(3, 2, 1)], 64
    for stage, count in enumerate(counts):
        for i in range(count):
            stride = 2 if i == 0 and stage > 0 else 1
            body, width = block(before, 64 << stage, stride)
            changes = before != width or stride != 1
            shortcut = nn.Sequential(*convolution(before, width, 1, stride)) if changes else None
            layers.append(Residual(nn.Sequential(*body), shortcut))
            before = width
    return nn.Sequential(*layers, *classifier(before))


def mobilenet():
    """Version 1."""
    layers, before = [*convolution(3, 32, 3, 2), nn.ReLU()], 32
    for width in (64, 128, 128, 256, 256, *[512] * 6, 1024, 1024):
        stride = 2 if width != before and before != 32 else 1
        layers += [*convolution(before, before, 3, stride, before), nn.ReLU()]
        layers += [*convolution(before, width, 1), nn.ReLU()]
        before = width
    return nn.Sequential(*layers, *classifier(before))


def mlp():
    return nn.Sequential(nn.Linear(1024, 2048), nn.ReLU(), nn.Linear(2048, 1024))


def cnn():
    return nn.Sequential(
        *convolution(1, 32, 3), nn.ReLU(), nn.MaxPool2d(2), *convolution(32, 64, 3), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(64 * 7 * 7, 128), nn.ReLU(), nn.Linear(128, 10),
    )  # fmt: skip


def numbers(*shape):
    return lambda generator: torch.randn(*shape, generator=generator)


def tokens(batch, length):
    return lambda generator: torch.randint(VOCABULARY, (batch, length), generator=generator)


MODELS = {
    "mlp": Model(mlp, numbers(64, 1024)),
    "cnn": Model(cnn, numbers(64, 1, 28, 28)),
    "transformer": Model(lambda: Tokens(512, 6, causal=False), tokens(8, 128)),
    "resnet18": Model(lambda: resnet(basic_block, (2, 2, 2, 2)), numbers(8, 3, 224, 224)),
    "resnet50": Model(lambda: resnet(bottleneck, (3, 4, 6, 3)), numbers(8, 3, 224, 224)),
    "mobilenet": Model(mobilenet, numbers(8, 3, 224, 224)),
    "lstm": Model(lambda: Recurrent(650, 2), tokens(20, 35)),
    "decoder": Model(lambda: Tokens(768, 12, causal=True), tokens(4, 128)),
}
