# SPDX-License-Identifier: MIT
"""Runs eight models of plain torch.nn twice each and compares the results bit by bit.

Weights and inputs are random numbers of a seed, so nothing is downloaded. Each model runs in each mode: eager in the
default stream, eager in a side stream, as a graph, fed by forked workers, and as steps of training. Prints a digest for
each, and exits with 1 if two runs differ, or differ from --digests FILE, which the first call writes.

    kfd-preempt verify -- python3 torch_models.py --digests /tmp/digests.json
"""

import argparse
import ctypes
import hashlib
import json
import os
import sys
from pathlib import Path

# PyTorch's CUDA build asks for it, and reads it once; its ROCm build does not.
os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")

import torch  # noqa: E402 # the environment first
from definitions import MODELS  # noqa: E402
from torch.utils.data import DataLoader, Dataset  # noqa: E402

BATCHES = 3
WORKERS = 2
WARM_UPS = 3


class Random(Dataset):
    """The batches of a model, each from a seed of its own. A worker makes them on the CPU."""

    def __init__(self, model, seed):
        self.model, self.seed = model, seed

    def __len__(self):
        return BATCHES

    def __getitem__(self, index):
        generator = torch.Generator().manual_seed(self.seed + 1 + index)
        return self.model.input(generator)


class Session:
    """A model on the device with its batches."""

    def __init__(self, model, device, seed):
        torch.manual_seed(seed)
        self.device = device
        self.batches = Random(model, seed)
        self.network = model.network().to(device)

    def on_gpu(self, batch):
        return batch.pin_memory().to(self.device, non_blocking=True)

    def eager(self):
        network = self.network.eval()
        with torch.no_grad():
            return [network(self.on_gpu(self.batches[i])) for i in range(BATCHES)]

    def side_stream(self):
        stream = torch.cuda.Stream(self.device)
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.cuda.stream(stream):
            results = self.eager()
        torch.cuda.current_stream(self.device).wait_stream(stream)
        for result in results:
            result.record_stream(torch.cuda.current_stream(self.device))
        return results

    def graph(self):
        network = self.network.eval()
        given = self.on_gpu(self.batches[0])
        stream = torch.cuda.Stream(self.device)
        stream.wait_stream(torch.cuda.current_stream(self.device))
        with torch.no_grad(), torch.cuda.stream(stream):
            for _ in range(WARM_UPS):
                network(given)
        torch.cuda.current_stream(self.device).wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.no_grad(), torch.cuda.graph(graph, capture_error_mode="thread_local"):
            result = network(given)
        results = []
        for i in range(BATCHES):
            given.copy_(self.on_gpu(self.batches[i]))
            graph.replay()
            results.append(result.clone())
        return results

    def loader(self):
        network = self.network.eval()
        loader = DataLoader(
            self.batches, batch_size=None, num_workers=WORKERS, pin_memory=True, multiprocessing_context="fork"
        )
        with torch.no_grad():
            return [network(batch.to(self.device, non_blocking=True)) for batch in loader]

    def training(self):
        """A step of SGD for each batch; the results are the parameters."""
        network = self.network.train()
        optimizer = torch.optim.SGD(network.parameters(), lr=0.01)
        for i in range(BATCHES):
            optimizer.zero_grad()
            network(self.on_gpu(self.batches[i])).float().square().mean().backward()
            optimizer.step()
        return [parameter.detach() for parameter in network.parameters()]


MODES = ("eager", "side_stream", "graph", "loader", "training")


def digest(results):
    """Of every bit."""
    sha = hashlib.sha256()
    for result in results:
        on_cpu = result.cpu().contiguous()
        sha.update(ctypes.string_at(on_cpu.data_ptr(), on_cpu.numel() * on_cpu.element_size()))
    return sha.hexdigest()[:16]


def run(model, mode, device, seed):
    """The digest of one run from the seed on."""
    results = getattr(Session(model, device, seed), mode)()
    torch.cuda.synchronize(device)
    return digest(results)


def compare(known, name, first, second):
    """Returns whether both runs have the digest that is known; a name without one gets it."""
    want = known.setdefault(name, first)
    right = first == second == want
    print(f"{name}: {first}" + ("" if right else f", then {second}, want {want}: DIFFERENT"), flush=True)
    return right


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--models", nargs="+", choices=sorted(MODELS), default=list(MODELS), metavar="MODEL")
    parser.add_argument("--modes", nargs="+", choices=MODES, default=list(MODES), metavar="MODE")
    parser.add_argument("--seed", type=int, default=4711)
    parser.add_argument("--device", default="cuda", help="PyTorch's name of the GPU, such as cuda:1, with ROCm too")
    parser.add_argument("--digests", type=Path, metavar="FILE", help="compare with FILE, or write it")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parse(arguments)
    if not torch.cuda.is_available():
        print("torch_models.py: PyTorch finds no GPU; install its ROCm build", file=sys.stderr)
        return 2
    # Kernels that add up in a random order would differ without any stop.
    torch.use_deterministic_algorithms(True)
    torch.backends.cudnn.benchmark = False
    device = torch.device(options.device)
    known = json.loads(options.digests.read_text()) if options.digests and options.digests.exists() else {}
    right = True
    for name in options.models:
        for mode in options.modes:
            first, second = (run(MODELS[name], mode, device, options.seed) for _ in range(2))
            right &= compare(known, f"{name} {mode}", first, second)
    if options.digests and right:
        options.digests.write_text(json.dumps(known, indent=1) + "\n")
    print("PASS: all runs have the same digests" if right else "FAIL: runs differ")
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main())
