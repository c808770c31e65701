#!/usr/bin/env python3
"""Real TensorBoard reads what our callback writes: every kind of entry, with the values that were meant.

    tensorboard_reads.py EXAMPLE      needs tensorboard (bench/requirements.txt); EXAMPLE is example_tensorboard_logs
"""
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from tensorboard.backend.event_processing import event_accumulator
from tensorboard.plugins.hparams import plugin_data_pb2

EXAMPLE = str(Path(sys.argv.pop(1)).resolve())


def read(folder):
    reader = event_accumulator.EventAccumulator(str(folder), size_guidance={kind: 0 for kind in ("scalars", "histograms", "images", "tensors")})
    reader.Reload()
    return reader


class TensorBoardReads(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.output = subprocess.run([EXAMPLE, cls.temporary.name], check=True, capture_output=True, text=True).stdout
        cls.train = read(Path(cls.temporary.name) / "train")
        cls.validation = read(Path(cls.temporary.name) / "validation")

    @classmethod
    def tearDownClass(cls):
        cls.temporary.cleanup()

    def test_scalars(self):
        losses = self.train.Scalars("epoch_loss")
        self.assertEqual([entry.step for entry in losses], list(range(10)))
        first, last = (float(word) for word in self.output.split("loss ")[1].split(" -> "))
        self.assertAlmostEqual(losses[0].value, first, places=3)
        self.assertAlmostEqual(losses[-1].value, last, places=3)
        self.assertEqual(len(self.validation.Scalars("epoch_loss")), 10)

    def test_phases(self):
        phases = [tag for tag in self.train.Tags()["scalars"] if tag.startswith("phase/")]
        self.assertIn("phase/forward", phases)
        self.assertTrue(all(len(self.train.Scalars(tag)) <= 10 for tag in phases))

    def test_histograms_and_images_of_weights(self):
        for tag in self.train.Tags()["histograms"]:
            entries = self.train.Histograms(tag)
            self.assertEqual(len(entries), 10)
            self.assertEqual(sum(entries[0].histogram_value.bucket), entries[0].histogram_value.num)
        self.assertEqual(len(self.train.Tags()["histograms"]), 4)
        self.assertEqual(len(self.train.Tags()["images"]), 4)
        image = max((self.train.Images(tag)[0] for tag in self.train.Tags()["images"]), key=lambda entry: entry.height)
        self.assertEqual((image.height, image.width), (16, 1) if image.height == 16 else (8, 16))
        self.assertTrue(image.encoded_image_string.startswith(b"\x89PNG"))

    def test_text_and_graph(self):
        self.assertEqual(len(self.train.Tensors("notes")), 10)
        self.assertIn(b"**epoch 1**", self.train.Tensors("notes")[0].tensor_proto.string_val[0])
        self.assertEqual([node.op for node in self.train.Graph().node][-2:], ["Dense", "Dense"])

    def test_hparams(self):
        content = self.train.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
        settings = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
        self.assertEqual(settings["units"].number_value, 16)
        self.assertEqual(settings["optimizer"].string_value, "adam")
        self.assertTrue(settings["shuffle"].bool_value)


if __name__ == "__main__":
    unittest.main()
