# SPDX-License-Identifier: MIT
"""examples/torch on a stand-in for PyTorch: the layers of each model, the calls of each mode, the exit status."""

import contextlib
import io
import json
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
sys.path.insert(0, str(Path(__file__).parents[2] / "examples/torch"))

import stand_in_torch as stand_in  # noqa: E402 # the path first

stand_in.install()

import torch_models  # noqa: E402 # the stand-in first
from definitions import MODELS  # noqa: E402

# Parameters as torchvision's models of that name have them, or by hand; convolutions with their shortcuts.
KNOWN = {
    "mlp": (1024 * 2048 + 2048 + 2048 * 1024 + 1024, 0, (64, 1024)),
    "cnn": (32 * 9 + 64 + 64 * 32 * 9 + 128 + 3136 * 128 + 128 + 128 * 10 + 10, 2, (64, 10)),
    "transformer": (10000 * 512 + 6 * 3152384 + 512 * 10000 + 10000, 0, (8, 128, 10000)),
    "resnet18": (11689512, 20, (8, 1000)),
    "resnet50": (25557032, 53, (8, 1000)),
    "mobilenet": (4231976, 27, (8, 1000)),
    "lstm": (10000 * 650 + 2 * 4 * (2 * 650 * 650 + 2 * 650) + 650 * 10000 + 10000, 0, (20, 35, 10000)),
    "decoder": (10000 * 768 + 12 * 7087872 + 768 * 10000 + 10000, 0, (4, 128, 10000)),
}


def run(*arguments):
    """The status and the output of torch_models.py."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        status = torch_models.main([str(each) for each in arguments])
    return status, printed.getvalue()


class TorchModels(unittest.TestCase):
    def setUp(self):
        stand_in.calls.clear()
        stand_in.noise, stand_in.has_gpu = False, True
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.file = Path(directory.name) / "digests.json"

    def calls_of(self, mode):
        torch_models.run(MODELS["mlp"], mode, "gpu", 1)
        return stand_in.calls

    def assert_in_order(self, calls, *wanted):
        found = [call for call in calls if call in wanted]
        self.assertEqual(found, list(wanted))

    def test_models_have_the_parameters_of_the_known_ones(self):
        for name, model in MODELS.items():
            self.assertEqual(model.network().size(), KNOWN[name][0], name)

    def test_models_have_the_convolutions_of_the_known_ones(self):
        for name, (_, convolutions, shape) in KNOWN.items():
            with self.subTest(name):
                stand_in.calls.clear()
                result = MODELS[name].network()(MODELS[name].input(stand_in.Generator().manual_seed(1)))
                self.assertEqual(result.shape, shape)
                self.assertEqual(stand_in.calls.count("Conv2d"), convolutions)

    def test_last_image_has_7x7_pixels(self):
        for name, channels in ("resnet18", 512), ("resnet50", 2048), ("mobilenet", 1024):
            MODELS[name].network()(MODELS[name].input(stand_in.Generator().manual_seed(1)))
            self.assertEqual(stand_in.calls[-2:], [f"mean of {(8, channels, 7, 7)}", "Linear"], name)

    def test_runs_that_agree_pass(self):
        status, printed = run()
        self.assertEqual(status, 0, printed)
        self.assertEqual(len(printed.splitlines()), 8 * 5 + 1)
        self.assertIn("PASS: all runs have the same digests", printed)

    def test_kernels_are_deterministic(self):
        run("--models", "mlp", "--modes", "eager")
        self.assertEqual(stand_in.calls[0], "deterministic True")

    def test_runs_that_differ_fail(self):
        stand_in.noise = True
        status, printed = run("--models", "cnn", "--modes", "eager", "--digests", self.file)
        self.assertEqual(status, 1)
        self.assertRegex(printed, "cnn eager: [0-9a-f]{16}, then [0-9a-f]{16}, want [0-9a-f]{16}: DIFFERENT\nFAIL")
        self.assertFalse(self.file.exists())

    def test_other_modes_of_a_model_have_the_digest_of_eager(self):
        _, printed = run("--models", "lstm", "--modes", "eager", "side_stream", "loader")
        self.assertEqual(len({line.split()[-1] for line in printed.splitlines()[:-1]}), 1, printed)

    def test_digests_of_the_first_call_are_those_of_the_second(self):
        self.assertEqual(run("--models", "mlp", "--digests", self.file)[0], 0)
        self.assertEqual(set(json.loads(self.file.read_text())), {f"mlp {mode}" for mode in torch_models.MODES})
        self.assertEqual(run("--models", "mlp", "--digests", self.file)[0], 0)

    def test_call_with_other_results_than_the_first_fails(self):
        run("--models", "mlp", "--digests", self.file)
        status, printed = run("--models", "mlp", "--seed", "2", "--digests", self.file)
        self.assertEqual(status, 1)
        self.assertEqual(printed.count("DIFFERENT"), len(torch_models.MODES))

    def test_machine_without_a_GPU_is_an_error(self):
        stand_in.has_gpu = False
        self.assertEqual(run(), (2, "torch_models.py: PyTorch finds no GPU; install its ROCm build\n"))

    def test_side_stream_waits_for_the_default_stream_and_is_waited_for(self):
        self.assert_in_order(
            self.calls_of("side_stream"), "side waits for default", "begin stream side", "end stream side",
            "default waits for side", *["record_stream default"] * torch_models.BATCHES,
        )  # fmt: skip

    def test_graph_is_captured_after_runs_in_a_side_stream(self):
        calls = self.calls_of("graph")
        captured = calls.index("begin graph thread_local")
        self.assertEqual(calls[:captured].count("Sequential"), torch_models.WARM_UPS)
        self.assertEqual(calls[captured:].count("Sequential"), 1)
        self.assertLess(calls.index("end stream side"), captured)
        self.assert_in_order(calls[captured:], *["copy_", "replay"] * torch_models.BATCHES)

    def test_copies_are_from_pinned_memory_and_asynchronous(self):
        calls = self.calls_of("eager")
        self.assertEqual(calls.count("pin_memory"), torch_models.BATCHES)
        self.assertEqual(calls.count("to gpu non_blocking=True"), torch_models.BATCHES)

    def test_batches_of_the_loader_are_of_forked_workers(self):
        (loader,) = [call for call in self.calls_of("loader") if call.startswith("DataLoader")]
        for option in ("'num_workers': 2", "'pin_memory': True", "'multiprocessing_context': 'fork'"):
            self.assertIn(option, loader)

    def test_training_takes_a_step_for_each_batch(self):
        steps = ["zero_grad", "backward", "step"] * torch_models.BATCHES
        self.assert_in_order(self.calls_of("training"), "train", *steps)


if __name__ == "__main__":
    unittest.main()
